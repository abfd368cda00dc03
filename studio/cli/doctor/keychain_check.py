"""The keychain check of the doctor: says whether keys can be kept, and what to do."""

from __future__ import annotations

from studio.providers.registry import KEYED
from studio.storage.config.keychain import Keychain, Status

from .finding import Finding, State

_KEYCHAIN: dict[Status, tuple[State, str, str]] = {
    "ready": ("ok", "works", ""),
    "none": (
        "note",
        "this computer has none that can be used",
        "Set keys as environment variables, like ANTHROPIC_API_KEY, or give them for one session "
        "in the window. On Linux, gnome-keyring or KeePassXC makes a keychain.",
    ),
    "locked": ("warning", "locked", "Unlock it, or set keys as environment variables."),
    "silent": (
        "warning",
        "does not answer, or waits for you in a window of its own",
        "Look for its window, or set keys as environment variables.",
    ),
    "failed": (
        "warning",
        "reports an error",
        "Restart it, or set keys as environment variables.",
    ),
}


async def check_keychain(keychain: Keychain) -> Finding:
    """Ask the keychain for a key; the finding does not contain it."""
    await keychain.get(KEYED[0])
    state, text, advice = _KEYCHAIN.get(keychain.status, ("note", "not tried", ""))
    return Finding("Keychain", state, text, advice)
