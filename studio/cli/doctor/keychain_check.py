"""The check whether the system keychain can keep keys."""

from __future__ import annotations

from studio.providers.registry import KEYED
from studio.storage.config.keychain import Keychain, Status

from . import Finding, State

_FINDINGS: dict[Status, tuple[State, str, str]] = {
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
"""The state of the keychain check, its text and its advice."""


async def check_keychain(keychain: Keychain) -> Finding:
    """Ask the keychain for a key."""
    await keychain.get(KEYED[0])
    return Finding("Keychain", *_FINDINGS.get(keychain.status, ("note", "not tried", "")))
