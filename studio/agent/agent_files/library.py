"""Agent library: saves, copies, deletes and restores agent files, and keeps unsaved texts.

A file is written only if it is still as it was read. Deleted files go to the trash. All of it
blocks on the disk: call it in a thread.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.agent.folder_files import MAX_FILE_BYTES
from studio.domain.errors import ConfigurationError
from studio.domain.redaction import holds_secret
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder
from studio.tools.drafts import draft_write
from studio.tools.drafts.draft_write import DraftConflict, FileStamp

__all__ = ["AgentLibrary", "Discarded", "DraftConflict", "StoredText", "UnsavedText"]


@dataclass(frozen=True, slots=True)
class StoredText:
    """A file as it was read: its text with its own line ends, and its stamp."""

    text: str
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class UnsavedText:
    """What is written and not saved; ``base`` is the file's text from which it was made."""

    path: Path
    base: str
    text: str


@dataclass(frozen=True, slots=True)
class Discarded:
    """A file in the trash: where it was, and where it is."""

    path: Path
    kept: Path


class AgentLibrary:
    """Files of agents; ``own`` is the folder of the person's, ``data`` that of the program."""

    def __init__(self, own: Path, data: Path) -> None:
        self.own = own
        self._trash = data / "trash"
        self._unsaved = data / "unsaved-agents"
        self._in_memory: dict[Path, UnsavedText] = {}
        """Unsaved texts with a secret."""

    def read(self, path: Path) -> StoredText | None:
        """A file's text, None if there is none; raises ToolFailed or ConfigurationError.

        A file of the person's own may be a link, such as into a repository of their settings.
        """
        path = self._target(path)
        stamp = draft_write.read_stamp(path, path.name)
        if stamp is None:
            return None
        try:
            with path.open("rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
            if len(data) > MAX_FILE_BYTES:
                most = f"{MAX_FILE_BYTES:,} bytes"
                raise ConfigurationError(f"{path.name} is larger than {most}, too large to edit.")
            text = data.decode("utf-8")
        except OSError as error:
            raise ConfigurationError(f"{path.name}: {error.strerror or error}.") from error
        except UnicodeDecodeError as error:
            raise ConfigurationError(f"{path.name} is not UTF-8 text.") from error
        return StoredText(text, stamp)

    def save(self, path: Path, text: str, seen: FileStamp | None) -> StoredText:
        """Write a file that is as it was ``seen``, or was not there for None.

        Raises DraftConflict if it changed meanwhile, ToolFailed if it cannot be written.
        """
        if path.parent == self.own:
            private_folder(self.own)
        path = self._target(path)
        present = draft_write.read_stamp(path, path.name)
        if (present.digest if present else None) != (seen.digest if seen else None):
            raise DraftConflict(f"{path.name} changed on disk. Nothing was written.")
        draft_write.replace(path, path.name, text.encode("utf-8"), present)
        stored = self.read(path)
        if stored is None:
            raise DraftConflict(f"{path.name} was deleted on disk.")
        return stored

    def _target(self, path: Path) -> Path:
        return path.resolve() if path.parent == self.own else path

    def unused_path(self, name: str, folder: Path | None = None) -> Path:
        """A file that is not there yet, named after an agent, by default of the person's own."""
        folder = folder or self.own
        stem = re.sub(r"[^\w-]+", "-", name.lower()).strip("-")[:60] or "agent"
        path, number = folder / f"{stem}.md", 2
        while path.exists():
            path = folder / f"{stem}-{number}.md"
            number += 1
        return path

    def discard(self, path: Path) -> Discarded:
        """Move a file to the trash; raises ToolFailed or DraftConflict."""
        stamp = draft_write.read_stamp(path, path.name)
        if stamp is None:
            raise ConfigurationError(f"{path.name} is not there any more.")
        kept = private_folder(self._trash) / f"{uuid.uuid4().hex}-{path.name}"
        draft_write.copy(path, kept, path.name, over=False)
        draft_write.remove(path, path.name, stamp)
        return Discarded(path, kept)

    def restore(self, discarded: Discarded) -> None:
        """Take a file back; DraftConflict if another one has its place by now."""
        draft_write.copy(discarded.kept, discarded.path, discarded.path.name, over=False)
        with suppress(OSError):
            discarded.kept.unlink()

    # Unsaved texts

    def keep_unsaved(self, unsaved: UnsavedText) -> None:
        """Keep a text through quits and kills, one with a secret until the end of the program.

        Raises OSError.
        """
        if holds_secret(unsaved.text) or holds_secret(unsaved.base):
            self.forget_unsaved(unsaved.path)
            self._in_memory[unsaved.path] = unsaved
            return
        self._in_memory.pop(unsaved.path, None)
        body = {"path": str(unsaved.path), "base": unsaved.base, "text": unsaved.text}
        write_atomically(self._place(unsaved.path), json.dumps(body).encode())

    def forget_unsaved(self, path: Path) -> None:
        self._in_memory.pop(path, None)
        with suppress(OSError):
            self._place(path).unlink()

    def unsaved(self) -> dict[Path, UnsavedText]:
        """All texts that are kept, by the path of their file; damaged ones are left out."""
        found: dict[Path, UnsavedText] = {}
        with suppress(OSError):
            for place in self._unsaved.glob("*.json"):
                with suppress(OSError, ValueError, KeyError, TypeError):
                    body = json.loads(place.read_bytes())
                    one = UnsavedText(Path(body["path"]), str(body["base"]), str(body["text"]))
                    found[one.path] = one
        return found | self._in_memory

    def _place(self, path: Path) -> Path:
        name = hashlib.sha256(str(path).encode(errors="surrogatepass")).hexdigest()[:32]
        return self._unsaved / f"{name}.json"
