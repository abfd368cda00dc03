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


class HookConsents:
    """What the person said, in one file of the program's own."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> JsonObject:
        """What is approved, by id; nothing if the file cannot be read."""
        try:
            return as_object(json.loads(self._path.read_text("utf-8")))
        except (OSError, ValueError, RecursionError):
            return {}

    def agreed(self, hook: Hook, known: JsonObject) -> Hook:
        """A hook as the person sees it: on, off, or changed since they approved it."""
        if hook.state == "never":
            return hook
        said = as_object(known.get(hook.id))
        approved = as_text(said.get("approved"))
        if not approved:
            return replace(hook, state="off" if said else "new")
        if said.get("on") is not True:
            return replace(hook, state="off")
        return replace(hook, state="on" if approved == hook.digest else "changed")

    def say(self, hook: Hook, *, on: bool) -> None:
        """Approve a hook as it is and switch it on, or switch it off. Raises StorageError."""
        try:
            with exclusive_access(self._path):
                known = self.known()
                approved = (
                    hook.digest if on else as_text(as_object(known.get(hook.id)).get("approved"))
                )
                known[hook.id] = {"on": on, "approved": approved, "command": hook.command[:200]}
                text = json.dumps(known, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self._path, text.encode("utf-8", "replace"))
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error.strerror}.") from error


def id_of(hook: Hook, folder: str) -> str:
    """What a hook is known by; ``folder`` is empty for the person's own."""
    words = [hook.place, folder, hook.path, hook.event, hook.matcher, hook.command]
    return hashlib.sha256(json.dumps(words).encode("utf-8", "surrogatepass")).hexdigest()[:12]
