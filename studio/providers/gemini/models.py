"""Gemini models: decide parameters by a model's name and by what is known of it.

Sources: the SDK's types (``ThinkingConfig``, ``ThinkingLevel``, ``Model``) and
Google's pages "Gemini thinking" (levels of 3.x, budgets of 2.5) and "Thought
signatures".
"""

from __future__ import annotations

import re
from typing import TypeAlias

from studio.domain.jsonvalue import Json, JsonObject, as_flag, as_limit, as_text
from studio.domain.models import Effort, ModelInfo, nearest_effort
from studio.providers.base import Request
from studio.providers.structured_output import sendable_schema

Version: TypeAlias = tuple[int, int]

LATEST: Version = (3, 0)
"""What names without a number stand for, ``gemini-flash-latest``, at the least."""
LEVELS: tuple[Effort, ...] = ("minimal", "low", "medium", "high", "xhigh")
"""What ``thinkingLevel`` takes."""
BUDGETS: dict[Effort, int] = {
    "none": 0,
    "minimal": 512,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 24_576,
    "max": 32_768,
}
"""Tokens of thinking for models of 2.5, cut to what each takes."""

STOPS = 5
"""Stop texts that a request may have."""

_VERSION = re.compile(r"gemini-(\d+)(?:\.(\d+))?")
_SILENT = re.compile(r"image|tts|audio|live|embedding")


def version(model: str) -> Version | None:
    """None for models that are no Gemini, such as Gemma."""
    found = _VERSION.search(model)
    if found:
        return int(found[1]), int(found[2] or 0)
    return LATEST if "gemini-" in model else None


def wants_signatures(model: str) -> bool:
    """Whether calls of the current turn are rejected without a signature: from 3 on."""
    return (version(model) or (0, 0)) >= (3, 0)


def generation_config(request: Request) -> JsonObject:
    """``generationConfig``: how much to think and say, how freely, and in which form."""
    config: JsonObject = {}
    thinking = _thinking(request)
    if thinking:
        config["thinkingConfig"] = thinking
    if request.output_limit:
        # What is thought counts as output: without room for it there would be no answer.
        budget = thinking.get("thinkingBudget")
        limit = request.output_limit + (budget if isinstance(budget, int) else 0)
        most = request.facts.output_limit if request.facts else None
        config["maxOutputTokens"] = min(filter(None, (limit, most, request.ceiling)))
    refused = request.facts is not None and request.facts.sampling is False
    if request.temperature is not None and not refused:
        config["temperature"] = request.temperature
    if request.top_p is not None and not refused:
        config["topP"] = request.top_p
    if request.stop:
        config["stopSequences"] = list[Json](request.stop[:STOPS])
    schema = sendable_schema(request)
    # "Function calling with a response mime type: 'application/json' is unsupported", up to 2.5
    if schema is not None and (not request.tools or wants_signatures(request.model)):
        config["responseMimeType"] = "application/json"
        if schema:
            config["responseJsonSchema"] = schema
    return config


def _thinking(request: Request) -> JsonObject:
    """Empty where a model does not think, or shall not: thoughts cannot be asked for then."""
    facts, effort = request.facts, request.effort
    efforts = _efforts(request.model) if facts is None or facts.efforts is None else facts.efforts
    if not efforts or (facts and facts.reasoning is False):
        return {"includeThoughts": True} if facts and facts.reasoning else {}
    shown: JsonObject = {"includeThoughts": True}
    if effort is None:
        # Flash-Lite thinks only when told to, and has no thoughts to show before.
        return {} if _is_lite(request.model) else shown
    if (version(request.model) or LATEST) >= (3, 0):
        level = nearest_effort(effort, set(efforts).intersection(LEVELS) or LEVELS)
        return shown | {"thinkingLevel": level.upper()}
    chosen = nearest_effort(effort, efforts)
    budget = _budget(request.model, chosen)
    return shown | {"thinkingBudget": budget} if budget else {"thinkingBudget": 0}


def _is_lite(model: str) -> bool:
    return "flash-lite" in model and (version(model) or LATEST) < (3, 0)


def _budget(model: str, effort: Effort) -> int:
    if "pro" in model:
        return min(max(BUDGETS[effort], 128), 32_768)
    return min(BUDGETS[effort], 24_576)


def _efforts(model: str) -> tuple[Effort, ...] | None:
    """By the name; None for one that says nothing, empty for one that does not think."""
    known = version(model)
    if known is None:
        return None
    if known < (2, 5) or _SILENT.search(model):
        return ()
    if known < (3, 0):
        efforts = tuple(BUDGETS)
        return efforts[1:] if "pro" in model else efforts
    if "pro" in model:
        return ("low", "high") if known == (3, 0) else ("low", "medium", "high")
    return ("minimal", "low", "medium", "high")


def facts_of(model: JsonObject) -> ModelInfo:
    """One entry of the list of models."""
    id_ = as_text(model.get("name")).removeprefix("models/")
    thinks = as_flag(model.get("thinking"))
    is_gemini = True if version(id_) else None  # all of them read pictures and PDF
    return ModelInfo(
        id=id_,
        name=as_text(model.get("displayName")),
        context_window=as_limit(model.get("inputTokenLimit")),
        output_limit=as_limit(model.get("outputTokenLimit")),
        images=is_gemini,
        documents=is_gemini,
        reasoning=thinks,
        sampling=True if _is_number(model.get("temperature")) else None,
        efforts=() if thinks is False else None,  # the list does not say which
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
