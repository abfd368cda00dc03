"""The exit codes of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from studio.domain.events import CompletionReason

DONE: Final = 0
USAGE: Final = 1
"""Wrong use, or something is not set up: a key, a folder, the database."""
PROVIDER: Final = 2
LIMIT: Final = 3
DENIED: Final = 4
"""The turn ended, but something that it asked permission for was denied; or
``permissions test``: it would be."""
ASK: Final = 5
"""``permissions test``: the person would be asked."""
UNSURE: Final = 5
"""``workflow run`` and ``resume``: something may have happened, and nobody is there to ask."""
CANCELLED: Final = 130

LIMITS: frozenset[CompletionReason] = frozenset(
    {"step_limit", "token_limit", "money_limit", "time_limit", "request_limit", "stalled"}
)


def exit_code_of_turn(reason: CompletionReason, *, denied: bool, fault: str) -> int:
    """The exit code of a turn; ``fault`` is the kind of its error, empty for none."""
    if reason == "cancelled":
        return CANCELLED
    if reason in LIMITS:
        return LIMIT
    if reason == "refused":
        return PROVIDER
    if reason == "error":
        return exit_code_of_error(fault)
    return DENIED if denied else DONE


def exit_code_of_error(fault: str) -> int:
    """The exit code of an error: the provider's, or one that the person can mend."""
    mine = ("", "no_key", "configuration", "no_folder", "storage", "internal")
    return USAGE if fault in mine else PROVIDER
