"""Note store: keeps, proposes, drops and restores notes in markdown files (W-43, W-44).

Each folder that notes are about has a folder here, in the program's own data. What an agent
proposes lies in ``proposed`` below it, where no other chat reads it, until the person keeps it.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.tools.workspace.folder import reason

from .nearness import Nearness
from .note import LARGEST, NAME, Kind, Note, Source, lowest, read_note
from .note_index import Entry, NoteIndex, State, fold

MOST = 20_000
"""Notes of one folder."""
MOST_PROPOSED = 200
"""Notes that wait in one folder, so that no agent can bury what another proposed."""
GONE_SECONDS = 30 * 24 * 3600.0
"""How long a note that was forgotten can be brought back."""
EVERYWHERE = "everywhere"
"""The folder of the notes that agents know wherever they work."""

_BEFORE = ".before"
_ABOUT = ".folder"
"""The file with the path of the folder that the notes are about."""

Step: TypeAlias = tuple[State, str, str | None]
"""A note's state and name, and the text of its file before; None if there was none."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one decision changed, so that it can be undone."""

    place: str
    steps: tuple[Step, ...]


class NoteStore:
    """All notes below ``place``. Methods touch the disk; call them in a thread."""

    def __init__(self, place: Path, nearness: Nearness | None = None) -> None:
        self.place = place
        self.index = NoteIndex(place, self._read_or_none, nearness)

    def places(self) -> list[str]:
        """The folders that have notes, by the names of theirs here."""
        try:
            return sorted(
                one.name for one in self.place.iterdir() if one.is_dir() and not one.is_symlink()
            )
        except OSError:
            return []

    def about(self, place: str) -> str:
        """The path of the folder that notes are about; empty for those known everywhere."""
        with suppress(OSError):
            return (self.place / place / _ABOUT).read_text("utf-8").strip()
        return "" if place == EVERYWHERE else place

    def all(self, place: str, state: State = "kept") -> list[Note]:
        """All notes of a folder by name; other files are left out."""
        found: list[Note] = []
        folder = self.folder(place, state)
        if folder.is_dir():
            for path in sorted(folder.glob("*.md"))[:MOST]:
                if NAME.fullmatch(path.stem) and (note := self.get(place, path.stem, state)):
                    found.append(note)
        return found

    def get(self, place: str, name: str, state: State = "kept") -> Note | None:
        """One note; None if there is none."""
        path = self.path(place, name, state)
        there = path.is_file() and not path.is_symlink()
        return self._read(place, state, name) if there else None

    def write(self, note: Note, about: Path | None = None) -> Change:
        """Keep a note; it replaces one of that name, whose trust it cannot raise."""
        note = replace(note, proposed=False, forgets=False)
        _require_size(note)
        before = self.get(note.place, note.name)
        if before is None and self._count(note.place, "kept") >= MOST:
            raise ToolFailed(f"There are {MOST:,} notes already. Forget one first.")
        if before is not None:
            # Words of the one before may be in it still.
            note = replace(
                note, told=lowest(note.trust, before.trust), origin=note.origin or before.origin
            )
        return self._change(note.place, [("kept", note.name, note.file_text)], about)

    def propose(self, note: Note, about: Path | None = None) -> Note:
        """Have a note wait for the person; it replaces one that the same chat proposed."""
        _require_size(note)
        name, number = note.name, 2
        while (other := self.get(note.place, name, "proposed")) and other.session != note.session:
            name = f"{note.name[:56]}-{number}"
            number += 1
        if other is None and self._count(note.place, "proposed") >= MOST_PROPOSED:
            raise ToolFailed(
                f"{MOST_PROPOSED} notes wait for the person already. Say here what you would note."
            )
        if other is not None and not note.forgets:
            note = replace(
                note, told=lowest(note.trust, other.trust), origin=note.origin or other.origin
            )
        note = replace(note, name=name, proposed=True)
        self._change(note.place, [("proposed", name, note.file_text)], about)
        return note

    def keep(self, place: str, name: str) -> Change:
        """Keep what was proposed: the note, or that one is forgotten. Its trust stays."""
        note = self._proposed(place, name)
        steps: list[tuple[State, str, str | None]] = [("proposed", name, None)]
        if note.forgets:
            steps.append(("kept", name, None))
        else:
            before = self.get(place, name)
            if before is not None:
                note = replace(
                    note, told=lowest(note.trust, before.trust), origin=note.origin or before.origin
                )
            elif self._count(place, "kept") >= MOST:
                raise ToolFailed(f"There are {MOST:,} notes already. Forget one first.")
            steps.append(("kept", name, replace(note, proposed=False).file_text))
        return self._change(place, steps)

    def drop(self, place: str, name: str, state: State = "kept") -> Change:
        """Drop a proposal, or forget a note. Raises ToolFailed if there is none."""
        self._require(place, name, state)
        return self._change(place, [(state, name, None)])

    def edit(self, note: Note, text: str, kind: Kind | None = None) -> Change:
        """Give a note other words of the person's; it stays as far to be trusted as it was."""
        state: State = "proposed" if note.proposed else "kept"
        self._require(note.place, note.name, state)
        changed = replace(note, text=text, kind=kind or note.kind)
        _require_size(changed)
        return self._change(note.place, [(state, note.name, changed.file_text)])

    def merge(self, note: Note, into: Note, text: str) -> Change:
        """Make one note of two, with the lowest trust of both."""
        made = replace(
            into,
            text=text,
            told=lowest(note.trust, into.trust),
            origin=into.origin or note.origin,
            by=into.by or note.by,
            written=time.time(),
            sources=(*into.sources, Source("note", note.name, note.trust)),
        )
        _require_size(made)
        gone: State = "proposed" if note.proposed else "kept"
        kept: State = "proposed" if into.proposed else "kept"
        self._require(note.place, note.name, gone)  # it may be decided elsewhere meanwhile
        self._require(into.place, into.name, kept)
        return self._change(
            into.place,
            [(kept, into.name, made.file_text), (gone, note.name, None)],
        )

    def new_name(self, place: str, text: str) -> str:
        """A name for a note that begins with these words, which no other has."""
        words = re.sub(r"[^a-z0-9]+", "-", fold(text[:200]).strip()).strip("-")
        name = first = "-".join(words.split("-")[:5])[:50].strip("-") or "note"
        number = 2
        while self.path(place, name).exists() or self.path(place, name, "proposed").exists():
            name, number = f"{first}-{number}", number + 1
        return name

    def waiting(self) -> int:
        """How many notes wait for the person."""
        return sum(1 for _ in self.place.glob("*/proposed/*.md"))

    def move(self, note: Note, place: str, about: Path | None = None) -> None:
        """Have a kept note be known in another folder."""
        if self.get(place, note.name) is not None:
            raise ToolFailed(f"There is a note {note.name} already. Rename one first.")
        self._change(place, [("kept", note.name, replace(note, place=place).file_text)], about)
        self._change(note.place, [("kept", note.name, None)])

    def undo(self, change: Change) -> None:
        """Put the files of a decision back as they were before it."""
        self._change(change.place, list(change.steps))

    def restore(self, place: str, name: str) -> None:
        """Put a note back as it was before its last change; ToolFailed if nothing is kept."""
        before = self.path(place, name).with_suffix(_BEFORE)
        if not before.is_file():
            raise ToolFailed(f"Nothing older is kept of the note {name}.")
        self._change(place, [("kept", name, before.read_text("utf-8") or None)])

    def erase(self, place: str, name: str) -> None:
        """Forget a note for good: also what ``undo`` would have brought back."""
        self.drop(place, name)
        self.path(place, name).with_suffix(_BEFORE).unlink(missing_ok=True)

    def find(
        self, places: Sequence[str], query: str, state: State = "kept", limit: int = 50
    ) -> list[Entry]:
        return self.index.find(places, query, state=state, limit=limit)

    def folder(self, place: str, state: State = "kept") -> Path:
        return self.place / place if state == "kept" else self.place / place / "proposed"

    def path(self, place: str, name: str, state: State = "kept") -> Path:
        if not NAME.fullmatch(name):
            raise ToolFailed(
                f"“{name[:80]}” is no name for a note. Use small letters, digits and -."
            )
        return self.folder(place, state) / f"{name}.md"

    def _proposed(self, place: str, name: str) -> Note:
        return self._require(place, name, "proposed")

    def _require(self, place: str, name: str, state: State) -> Note:
        note = self.get(place, name, state)
        if note is None:
            raise ToolFailed(
                f"There is no note {name}." if state == "kept" else f"No note {name} waits for you."
            )
        return note

    def _count(self, place: str, state: State) -> int:
        folder = self.folder(place, state)
        return sum(1 for _ in folder.glob("*.md")) if folder.is_dir() else 0

    def _change(self, place: str, steps: Sequence[Step], about: Path | None = None) -> Change:
        """Write and remove files; the old text of a kept note stays beside it for an undo."""
        before: list[Step] = []
        try:
            for state, name, text in steps:
                path = self.path(place, name, state)
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                if about is not None and not (mark := self.place / place / _ABOUT).exists():
                    write_atomically(mark, f"{about}\n".encode("utf-8", "surrogateescape"))
                old = path.read_text("utf-8", "replace") if path.is_file() else None
                before.append((state, name, old))
                if state == "kept":
                    kept = path.with_suffix(_BEFORE)
                    write_atomically(kept, (old or "").encode(), follow_links=False)
                if text is None:
                    path.unlink(missing_ok=True)
                    self._expire(path.parent)
                else:
                    write_atomically(path, text.encode(), follow_links=False)
        except OSError as error:
            raise ToolFailed(f"The note cannot be written: {reason(error)}.") from error
        return Change(place, tuple(reversed(before)))

    def _expire(self, folder: Path) -> None:
        """Delete what an undo would bring back of notes that are gone for long."""
        for before in folder.glob(f"*{_BEFORE}"):
            with suppress(OSError):
                old = time.time() - before.stat().st_mtime > GONE_SECONDS
                if old and not before.with_suffix(".md").exists():
                    before.unlink()

    def _read(self, place: str, state: State, name: str) -> Note | None:
        """A note that is there; None if it is gone meanwhile, as when it was kept or dropped."""
        path = self.path(place, name, state)
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(LARGEST + 8_000)
            changed = path.stat().st_mtime
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ToolFailed(f"The note {name} cannot be read: {reason(error)}.") from error
        return read_note(name, text, changed, proposed=state == "proposed", place=place)

    def _read_or_none(self, place: str, state: State, name: str) -> Note | None:
        try:
            return self._read(place, state, name)
        except ToolFailed:
            return None


def place_of(folder: Path) -> str:
    """The name of the folder here that has the notes about a folder."""
    name = re.sub(r"[^A-Za-z0-9-]+", "-", folder.name).strip("-")[:40] or "folder"
    digest = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name}-{digest}"


def _require_size(note: Note) -> None:
    if len(note.text) > LARGEST:
        raise ToolFailed(f"A note has {LARGEST:,} characters at most; this has {len(note.text):,}.")
