"""What a server turned out to refuse: left out, or put otherwise, from then on.

Servers of one protocol differ in what they take. What is not needed for an
answer is sent, and when a 400 names it, remembered and left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_REFUSES = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed"
    r"|extra (?:inputs|fields)|additional propert|invalid (?:parameter|argument|field)"
    r"|deprecated|unavailable|cannot unmarshal|must be verified",
    re.IGNORECASE,
)


class UnsupportedParameters:
    """What each model of a server does not take, learned from its refusals."""

    def __init__(self) -> None:
        self._refused: set[tuple[str, str]] = set()
        self._alternates: set[str] = set()

    def needs_alternation(self, model: str) -> bool:
        """Whether no role may come twice in a row."""
        return model in self._alternates

    def learn_alternation(self, model: str, words: str) -> bool:
        """Whether a refusal is the chat template's, about roles that do not alternate."""
        if model in self._alternates or "roles must alternate" not in words.lower():
            return False
        self._alternates.add(model)
        return True

    def accepts(self, model: str, parameter: str) -> bool:
        return (model, parameter) not in self._refused

    def learn(self, model: str, sent: Iterable[str], words: str, parameter: str = "") -> bool:
        """Whether a refusal is about optional parameters that were ``sent``; remembers which.

        ``parameter`` is what the server says it is about: ``reasoning`` means
        ``reasoning.effort`` too. Where it says nothing, its ``words`` must name
        one. A value out of range is no refusal.
        """
        if not _REFUSES.search(words):
            return False
        sent = set(sent)
        found = {name for name in sent if parameter and f"{name}.".startswith(f"{parameter}.")}
        found = found or {name for name in sent if _named(name, words)}
        found = {name for name in found if self.accepts(model, name)}
        self._refused |= {(model, name) for name in found}
        return bool(found)


def _named(parameter: str, words: str) -> bool:
    # "max_tokens" is not named by "max_completion_tokens", but "think" is by "thinking".
    return re.search(rf"(?<![\w.]){re.escape(parameter)}", words) is not None
