"""User messages: describes errors and the ends of turns for the person."""

from __future__ import annotations

import logging
import math
import re

from studio.domain.errors import FolderGone, ProviderError, StorageError, StudioError, is_disk_full
from studio.domain.events import CompletionReason, Failed

log = logging.getLogger(__name__)


UNSAVED = "This could not be saved"
INTERRUPTED = "The program ended during this turn. You can go on from here."
"""The notice in a session whose program ended, or was killed, while a turn ran."""
CUT_OFF = "The program ended while this ran, which may have happened: {names}."
"""The notice beside it where a tool was acting (W-16)."""


def describe_error(error: Exception) -> Failed:
    """The message about an error that ended a turn, or kept it from beginning."""
    match error:
        case ProviderError():
            detail = f"{_wait_advice(error)} Your message is kept.".lstrip()
            return Failed(error.fault, str(error), detail, error.provider, error.retry_after)
        case StorageError():
            return Failed("storage", UNSAVED, str(error))
        case OSError() if is_disk_full(error):
            return Failed("storage", UNSAVED, "The disk is full. Free some space.")
        case FolderGone():
            return Failed("no_folder", str(error), "Your message is kept.")
        case StudioError():
            return Failed("configuration", str(error), "Your message is kept.")
        case _:
            log.error("a turn failed", exc_info=error)
            detail = f"{type(error).__name__}: {error}"
            return Failed("internal", "Something went wrong in the program", detail)


def describe_rate(error: ProviderError) -> str:
    """Why the person's own limit of requests ended a turn, and when there may be another."""
    wait = _span(error.retry_after)
    return f"{error} The next one can be sent in {wait}." if wait else str(error)


def _wait_advice(error: ProviderError) -> str:
    """The wait that a provider asks for, as a sentence; empty for less than two minutes."""
    wait = _span(error.retry_after)
    return f"It asks for a wait of {wait}." if wait else ""


def _span(seconds: float | None) -> str:
    minutes = math.ceil((seconds or 0.0) / 60)
    if minutes < 2:
        return ""
    return f"{minutes} minutes" if minutes < 120 else f"{math.ceil(minutes / 60)} hours"


_ENDS: dict[CompletionReason, str] = {
    "step_limit": "Stopped at the step limit.",
    "token_limit": "Stopped at the token limit.",
    "money_limit": "Stopped at the money limit.",
    "time_limit": "Stopped at the time limit.",
    "request_limit": "Stopped at the limit of requests an hour.",
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
"""Names for refusal categories; other categories are shown as the provider names them."""
_CATEGORY = re.compile(r"([A-Za-z_]{3,40})(?:: (.*))?", re.DOTALL)


def describe_end(reason: CompletionReason, detail: str) -> str:
    """How a turn ended, in one line. ``detail`` is from ``TurnComplete``; for a refusal it is
    the provider's category and perhaps its explanation."""
    if reason == "refused" and (found := _CATEGORY.fullmatch(detail)):
        name, why = found[1].lower(), found[2] or ""
        category = _CATEGORIES.get(name, name.replace("_", " "))
        declined = f"The model declined to answer ({category})." if category else _ENDS["refused"]
        return f"{declined} {why}".rstrip()
    return detail or _ENDS.get(reason, "The turn ended.")
