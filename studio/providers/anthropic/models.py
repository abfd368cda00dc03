"""Claude models: decide parameters by a model's name and by what is known of it.

Sources: the SDK's types (``ThinkingTypes``, ``OutputConfigParam``,
``ThinkingConfigEnabledParam``), the capabilities in the list of models, and
Anthropic's pages "Adaptive thinking", "What's new in Opus 5", "Migrating to
Claude 5.5" and "Mid-conversation system messages".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import JsonObject, as_flag, as_limit, as_object, as_objects, as_text
from studio.domain.models import EFFORTS, Effort, ModelInfo, nearest_effort
from studio.providers.base import Request

from .stream import THINKING

LEVELS: tuple[Effort, ...] = ("low", "medium", "high", "xhigh", "max")
"""What ``output_config.effort`` takes."""
BUDGETS: dict[Effort, int] = {"minimal": 1_024, "low": 4_096, "medium": 12_288, "high": 24_576}
"""Tokens of thinking, for models that take a budget; the API's least is 1,024."""
LEAST_BUDGET = 1_024

OUTPUT_LIMIT = 32_000
DEEP_OUTPUT_LIMIT = 64_000
"""Where a model thinks hard: thinking counts as output."""
OLD_LIMITS = (
    ("claude-3-7", 64_000),
    ("claude-3-5", 8_192),
    ("claude-3-", 4_096),
    ("claude-opus-4-1", 32_000),
    ("claude-opus-4-2", 32_000),  # claude-opus-4-20250514
)
"""Tokens, by the start of the model's name, for models below what later ones can say."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta by which models with budgets think between calls; adaptive ones always do."""

Kind: TypeAlias = Literal["adaptive", "budget", ""]


@dataclass(frozen=True, slots=True)
class ClaudeVersion:
    """A model's line and version: ``claude-opus-4-8`` is opus, (4, 8)."""

    line: str
    version: tuple[int, int]


_LINE = re.compile(r"opus|sonnet|haiku|fable|mythos")
_VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)")


def parse_claude(model: str) -> ClaudeVersion | None:
    """None for names that say nothing; ``claude-mythos-preview`` came just before 5."""
    line = _LINE.search(model)
    found = _VERSION.search(model)
    if found:
        version = int(found[1]), int(found[2] or 0)
        return ClaudeVersion(line[0] if line else "", version)
    return ClaudeVersion("mythos", (4, 9)) if "claude-mythos-preview" in model else None


def takes_system_messages(model: str) -> bool:
    """Whether a message in the middle of the conversation may be the system's.

    Claude 5 and later, and Opus 4.8; Sonnet 5 is left out, for reports differ.
    Others answer ``role 'system' is not supported on this model``.
    """
    known = parse_claude(model)
    if known is None or (known.line, known.version) == ("sonnet", (5, 0)):
        return False
    return known.version >= (5, 0) or (known.line, known.version) == ("opus", (4, 8))


def takes_forced_calls(model: str) -> bool:
    """Whether a request may say that a tool has to be called.

    Claude 5.1 and later answer ``tool_choice: type "tool" and "any" are not
    supported for this model``.
    """
    known = parse_claude(model)
    return known is None or known.version < (5, 1)


def takes_schemas(model: str) -> bool:
    """Whether answers can be held to a schema: from Claude 4.5 on."""
    known = parse_claude(model)
    return known is None or known.version >= (4, 5)


def output_limit(request: Request) -> int:
    """``max_tokens``, which this API demands: room for an answer, a quarter of the window."""
    facts, limit = request.facts, request.output_limit
    most = _most(request)
    if limit is None:
        deep = request.effort in ("high", "xhigh", "max") and _kind(request) == "adaptive"
        limit = DEEP_OUTPUT_LIMIT if deep else OUTPUT_LIMIT
    if facts and facts.context_window:
        limit = min(limit, max(facts.context_window // 4, 1))
    return min(limit, most) if most else limit


def stated_limit(words: str) -> int | None:
    """The most tokens of an answer that a refusal says the model has; None for another one."""
    found = re.search(r"max_tokens: \d+ > (\d{1,9}), which is the maximum", words)
    return int(found[1]) or None if found else None


def _most(request: Request) -> int | None:
    if request.facts and request.facts.output_limit:
        return request.facts.output_limit
    return next((most for start, most in OLD_LIMITS if request.model.startswith(start)), None)


def thinking_parameters(request: Request) -> JsonObject:
    """The parameters that say how much to think, ``max_tokens`` among them.

    Without an effort a model thinks as much as it does by itself; only that it
    shows its thinking is asked for, where it thinks by itself. One that has to
    call a tool does not think first: older models answer "Thinking may not be
    enabled when tool_choice forces tool use", newer ones leave it or the call out.
    """
    limit, effort = output_limit(request), request.effort
    body: JsonObject = {"max_tokens": limit}
    if request.forced and takes_forced_calls(request.model):
        off = _off(request) if _thinks_by_itself(request.model) else ""
        if off:
            body["thinking"] = {"type": off}
        return body
    match _kind(request):
        case "adaptive" if effort is None:
            if _thinks_by_itself(request.model):
                body["thinking"] = _shown()
        case "adaptive" if effort == "none" and (off := _off(request)):
            body["thinking"] = {"type": off}
        case "adaptive":
            body["thinking"] = _shown()
            body["output_config"] = {"effort": nearest_effort(effort or "none", _levels(request))}
        case "budget" if effort not in (None, "none") and _may_think(request.history):
            budget = BUDGETS[nearest_effort(effort, tuple(BUDGETS))]
            most = min(filter(None, (limit + budget, _most(request), request.ceiling)))
            budget = min(budget, most // 2)
            if budget >= LEAST_BUDGET:
                body["max_tokens"] = most
                body["thinking"] = {"type": "enabled", "budget_tokens": budget}
        case _:
            pass
    return body


def _shown() -> JsonObject:
    return {"type": "adaptive", "display": "summarized"}


def beta_headers(request: Request, parameters: JsonObject) -> dict[str, str]:
    """The headers these parameters need."""
    known = parse_claude(request.model)
    with_budget = as_object(parameters.get("thinking")).get("type") == "enabled"
    if with_budget and request.tools and known and known.version >= (4, 0):
        return {"anthropic-beta": INTERLEAVED}
    return {}


def _kind(request: Request) -> Kind:
    facts, known = request.facts, parse_claude(request.model)
    if facts and (facts.reasoning is False or facts.efforts == ()):
        return ""
    if known is not None:
        if known.version >= (4, 6):
            return "adaptive"
        return "budget" if known.version >= (3, 7) else ""
    if facts and facts.efforts and "minimal" not in facts.efforts:
        return "adaptive"  # no adaptive model has a minimal effort, see facts_of
    return "budget" if facts and facts.reasoning else ""


def _thinks_by_itself(model: str) -> bool:
    """Up to Opus 4.8 a request without ``thinking`` runs without; from 5 on it thinks."""
    known = parse_claude(model)
    return known is not None and (known.version >= (5, 0) or known.line == "mythos")


def _off(request: Request) -> str:
    """The type that turns thinking off; empty for models that always think."""
    facts, known = request.facts, parse_claude(request.model)
    if facts and facts.efforts:
        if "none" not in facts.efforts:
            return ""
    elif known and (
        known.line in ("fable", "mythos") or (known.line == "opus" and known.version >= (5, 5))
    ):
        return ""
    between = known and known.line == "sonnet" and known.version >= (5, 5)
    return "between_tools" if between else "disabled"


def _levels(request: Request) -> tuple[Effort, ...]:
    facts, known = request.facts, parse_claude(request.model)
    efforts = facts.efforts if facts and facts.efforts else ()
    levels: list[Effort] = [effort for effort in LEVELS if effort in efforts]
    if levels:
        return tuple(levels)
    if known and known.version == (4, 6):
        return ("low", "medium", "high", "max") if known.line == "opus" else LEVELS[:3]
    return LEVELS


def _may_think(history: Sequence[JsonObject]) -> bool:
    """Whether thinking with a budget may be on: not in a turn that began without.

    ``When thinking is enabled, a final assistant message must start with a
    thinking block``: a turn of calls and results counts as one message.
    """
    first: JsonObject | None = None
    answers = False
    for message in reversed(history):
        content = as_objects(message.get("content"))
        if message.get("role") == "assistant":
            if not answers:
                break
            first, answers = message, False
        elif any(block.get("type") == "tool_result" for block in content):
            answers = True
    if first is None:
        return True
    content = as_objects(first.get("content"))
    return bool(content) and content[0].get("type") in THINKING


def facts_of(model: JsonObject) -> ModelInfo:
    """One entry of the list of models."""
    able = as_object(model.get("capabilities"))
    thinking = as_object(able.get("thinking"))
    return ModelInfo(
        id=as_text(model.get("id")),
        name=as_text(model.get("display_name")),
        context_window=as_limit(model.get("max_input_tokens")),
        output_limit=as_limit(model.get("max_tokens")),
        images=_supported(able, "image_input"),
        documents=_supported(able, "pdf_input"),
        reasoning=as_flag(thinking.get("supported")),
        # Since version 2026-10-21 of the API every model rejects a temperature.
        sampling=False,
        efforts=_efforts(able),
        lifecycle=as_text(model.get("lifecycle")),
        retires=as_text(model.get("retires_at"))[:10],
    )


def _supported(of: JsonObject, name: str) -> bool | None:
    return as_flag(as_object(of.get(name)).get("supported"))


def _efforts(able: JsonObject) -> tuple[Effort, ...] | None:
    thinking = as_object(able.get("thinking"))
    if (thinks := as_flag(thinking.get("supported"))) is None:
        return None
    types = as_object(thinking.get("types"))
    if not thinks:
        return ()
    if not _supported(types, "adaptive"):
        return ("none", *BUDGETS)
    effort = as_object(able.get("effort"))
    off = _supported(types, "disabled") or _supported(types, "between_tools")
    found = {level for level in LEVELS if _supported(effort, level)}
    efforts: list[Effort] = [e for e in EFFORTS if e in found or (e == "none" and off)]
    return tuple(efforts) or None
