"""Hook consents: keeps which hooks the person approved, and what these were (K-9).

A hook is known by its file, event, matcher and command; what was approved is the sum of its words
and of the files that it runs. Methods block on the disk.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from studio.domain.errors import StorageError
from studio.domain.hooks import Hook
from studio.domain.jsonvalue import JsonObject, as_object, as_text
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access

UNREADABLE = "*"
"""Stands among the ids where what was approved was lost: hooks are asked about again."""
UNREAD = (
    "what you approved cannot be read ({why}). Calls that hooks guard are refused until you said "
    "again in the settings, under Hooks, what is to run"
)


class HookConsents:
    """What the person said, in one file of the program's own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def known(self) -> tuple[JsonObject, str]:
        """What is approved, by id, and why that cannot be read.

        Then each hook counts as changed: one that guards calls refuses them, until the person
        said again what is to run.
        """
        try:
            return as_object(json.loads(self.path.read_text("utf-8"))), ""
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            return {UNREADABLE: True}, UNREAD.format(why=why)

    def agreed(self, hook: Hook, known: JsonObject) -> Hook:
        """A hook as the person sees it: on, off, or changed since they approved it."""
        if hook.state == "never":
            return hook
        said = as_object(known.get(hook.id))
        if not said and known.get(UNREADABLE):
            return replace(hook, state="changed")
        approved = as_text(said.get("approved"))
        if not approved:
            return replace(hook, state="off" if said else "new")
        if said.get("on") is not True:
            return replace(hook, state="off")
        return replace(hook, state="on" if approved == hook.digest else "changed")

    def say(self, hook: Hook, *, on: bool) -> None:
        """Approve a hook as it is and switch it on, or switch it off. Raises StorageError."""
        try:
            with exclusive_access(self.path):
                known, _ = self.known()
                approved = (
                    hook.digest if on else as_text(as_object(known.get(hook.id)).get("approved"))
                )
                known[hook.id] = {"on": on, "approved": approved, "command": hook.command[:200]}
                text = json.dumps(known, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self.path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise StorageError(f"{self.path} cannot be written: {error.strerror}.") from error


def id_of(hook: Hook, folder: str) -> str:
    """What a hook is known by; ``folder`` is empty for the person's own."""
    words = [hook.place, folder, hook.path, hook.event, hook.matcher, hook.command]
    return hashlib.sha256(json.dumps(words).encode("utf-8", "surrogatepass")).hexdigest()[:12]
