"""OpenAI models: say which of them think, and how hard each can be asked to.

The model list says nothing of it. Where the catalogue knows no more, names
decide: the table is what the API answered, model by model, up to GPT-5.2
(https://community.openai.com/t/1371738); later models take what GPT-5.2 does.
"""

from __future__ import annotations

import re

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
