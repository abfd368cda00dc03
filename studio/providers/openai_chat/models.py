"""Models of OpenAI and of servers like it: reads a list of models, and says which of them think.

OpenAI's own list says nothing of thinking. Where the catalogue knows no more, names
decide: the table is what the API answered, model by model, up to GPT-5.2
(https://community.openai.com/t/1371738); later models take what GPT-5.2 does.
"""

from __future__ import annotations

import re

from studio.domain.jsonvalue import Json, JsonObject, as_flag, as_limit, as_object
from studio.domain.models import Effort, ModelInfo

_REASONS = re.compile(r"^(gpt-([5-9]|\d\d)|codex-|o\d)")

_USUAL: tuple[Effort, ...] = ("low", "medium", "high")
_BY_NAME: tuple[tuple[re.Pattern[str], tuple[Effort, ...]], ...] = (
    (re.compile(r"-chat"), ()),  # one effort only, not to be named
    (re.compile(r"^gpt-5-pro"), ("high",)),
    (re.compile(r"^gpt-5(\.1)?-codex-max"), (*_USUAL, "xhigh")),
    (re.compile(r"^(o\d|codex-|gpt-5(\.1)?-codex)"), _USUAL),
    (re.compile(r"^gpt-5\.1"), ("none", *_USUAL)),
    (re.compile(r"^gpt-5(-|$)"), ("minimal", *_USUAL)),
    (re.compile(r"-pro\b"), ("medium", "high", "xhigh")),
    (re.compile(r"-codex\b"), (*_USUAL, "xhigh")),
)
_NEWEST: tuple[Effort, ...] = ("none", *_USUAL, "xhigh")


_WRITES_TEXT = re.compile(r"^(gpt-([5-9]|\d\d)|codex-(?!mini))")


def writes_text_input(model: str) -> bool:
    """Whether a model of OpenAI's calls custom tools, whose input is plain text: GPT-5 on."""
    return _WRITES_TEXT.match(model) is not None and "-chat" not in model


def is_reasoning_model(model: str, facts: ModelInfo | None) -> bool:
    """Whether a model of OpenAI's thinks before it answers."""
    if facts is not None and facts.efforts is not None:
        return bool(facts.efforts)
    if facts is not None and facts.reasoning is not None:
        return facts.reasoning
    return _REASONS.match(model) is not None and "-chat" not in model


def efforts_of(model: str, facts: ModelInfo | None) -> tuple[Effort, ...]:
    """What may be asked of a model, least first; empty where nothing may."""
    if facts is not None and facts.efforts is not None:
        return facts.efforts
    if not is_reasoning_model(model, facts):
        return ()
    return next((efforts for named, efforts in _BY_NAME if named.search(model)), _NEWEST)


def facts_of(entry: JsonObject) -> ModelInfo | None:
    """One listed model; vendors add its facts under several names.

    OpenRouter lists what a model reads and which parameters it takes
    (https://openrouter.ai/docs/models), Mistral its capabilities.
    """
    identifier = entry.get("id") or entry.get("name")
    if not isinstance(identifier, str) or not identifier:
        return None
    name = entry.get("name")
    window = next(
        (
            value
            for key in ("context_length", "max_model_len", "context_window", "max_context_length")
            if (value := as_limit(entry.get(key)))
        ),
        None,
    )
    reads = as_object(entry.get("architecture")).get("input_modalities")
    takes = entry.get("supported_parameters")
    able = as_object(entry.get("capabilities"))
    return ModelInfo(
        identifier,
        name=name if isinstance(name, str) and name != identifier else "",
        context_window=window,
        output_limit=as_limit(as_object(entry.get("top_provider")).get("max_completion_tokens")),
        images="image" in reads if isinstance(reads, list) else as_flag(able.get("vision")),
        documents="file" in reads if isinstance(reads, list) else None,
        tools=_among(takes, "tools", able.get("function_calling")),
        reasoning=_among(takes, "reasoning", able.get("reasoning")),
        sampling=_among(takes, "temperature", None),
    )


def _among(names: Json, name: str, flag: Json) -> bool | None:
    """Whether a list of abilities has this one; where there is no list, the flag says so."""
    return name in names if isinstance(names, list) else as_flag(flag)
