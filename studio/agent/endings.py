"""How a turn ended, in words for the person, whichever door they came through."""

from __future__ import annotations

import re

from studio.domain.events import CompletionReason

_ENDS: dict[CompletionReason, str] = {
    "step_limit": "Stopped at the step limit.",
    "token_limit": "Stopped at the token limit.",
    "money_limit": "Stopped at the money limit.",
    "time_limit": "Stopped at the time limit.",
    "handed_over": "The tools that were called are run by whoever asked.",
    "stalled": "Stopped, because nothing new came of it.",
    "cancelled": "Stopped.",
    "refused": "The model declined to answer.",
}
_CATEGORIES = {
    "bio": "biology",
    "blocklist": "forbidden words",
    "content_filter": "content filter",
    "cyber": "computer security",
    "other": "",
    "recitation": "quoting too closely",
    "spii": "personal data",
}
"""Reasons of refusals whose names do not say it; the others are plain words."""
_CATEGORY = re.compile(r"([A-Za-z_]{3,40})(?:: (.*))?", re.DOTALL)


def describe_end(reason: CompletionReason, detail: str) -> str:
    """One line. ``detail`` is what ``TurnComplete`` says; of a refusal it is the
    provider's category, then perhaps its explanation."""
    if reason == "refused" and (found := _CATEGORY.fullmatch(detail)):
        name, why = found[1].lower(), found[2] or ""
        category = _CATEGORIES.get(name, name.replace("_", " "))
        declined = f"The model declined to answer ({category})." if category else _ENDS["refused"]
        return f"{declined} {why}".rstrip()
    return detail or _ENDS.get(reason, "The turn ended.")
