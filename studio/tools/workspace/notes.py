"""Agent notes: keeps what agents note about a folder, as markdown files.

They are in the program's own data, not in the folder. Each begins with lines that say who
wrote it, when, and which text of strangers had been read by then: such a note may be a prompt
injection, and counts as the strangers' text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically

from .folder import reason

LARGEST = 20_000
"""Characters of one note."""
MOST = 200
"""Notes of one folder."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_BEFORE = ".before"


@dataclass(frozen=True, slots=True)
class Note:
    """One note. ``origin`` names the text of strangers that had been read when it was written,
    or is empty; ``written`` is in seconds since 1970."""

    name: str
    text: str
    origin: str
    written: float

    @property
    def about(self) -> str:
        """The first line that is not empty."""
        lines = (line.strip("#*- \t") for line in self.text.splitlines())
        first = next((line for line in lines if line), "")
        return first if len(first) <= 100 else f"{first[:99]}…"


class Notes:
    """The notes of one folder, below ``place``. Methods touch the disk; call them in a thread.

    Without a place there are none and none can be kept. ``origin`` returns the text of
    strangers that the writing chat has read, see ``Note``.
    """

    def __init__(
        self,
        place: Path | None = None,
        folder: Path = Path(),
        origin: Callable[[], str] = lambda: "",
    ) -> None:
        name = re.sub(r"[^A-Za-z0-9-]+", "-", folder.name).strip("-")[:40] or "folder"
        digest = hashlib.sha256(str(folder).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.folder = place / f"{name}-{digest}" if place else None
        self._origin = origin

    def all(self) -> list[Note]:
        """All notes by name; other files are left out."""
        found: list[Note] = []
        if self.folder is not None and self.folder.is_dir():
            for path in sorted(self.folder.glob("*.md"))[:MOST]:
                if _NAME.fullmatch(path.stem) and path.is_file() and not path.is_symlink():
                    found.append(self._read(path))
        return found

    def get(self, name: str) -> Note:
        """One note; raises ToolFailed that names the existing notes."""
        path = self._path(name)
        if not path.is_file() or path.is_symlink():
            known = ", ".join(note.name for note in self.all()) or "none yet"
            raise ToolFailed(f"There is no note {name}. There are: {known}.")
        return self._read(path)

    def write(self, name: str, text: str, by: str = "") -> None:
        """Keep a note; it replaces one of that name, which ``undo`` restores."""
        path = self._path(name)
        if len(text) > LARGEST:
            raise ToolFailed(f"A note has {LARGEST:,} characters at most; this has {len(text):,}.")
        if not path.exists() and len(self.all()) >= MOST:
            raise ToolFailed(f"There are {MOST} notes already. Forget one first.")
        head = [f"written: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"]
        head += [f"by: {_line(by)}"] if by else []
        if origin := self._origin() or (path.is_file() and self._read(path).origin):
            head.append(f"origin: {_line(origin)}")
        body = text.strip().encode("utf-8", "replace").decode()
        self._replace(path, "\n".join(["---", *head, "---", body, ""]))

    def forget(self, name: str) -> None:
        """Remove a note, which ``undo`` restores. Raises ToolFailed if there is none."""
        self.get(name)
        self._replace(self._path(name), None)

    def undo(self, name: str) -> None:
        """Put a note back as it was before the last change; ToolFailed if nothing is kept."""
        path = self._path(name)
        before = path.with_suffix(_BEFORE)
        if not before.is_file():
            raise ToolFailed(f"Nothing older is kept of the note {name}.")
        self._replace(path, before.read_text("utf-8") or None)

    def _replace(self, path: Path, text: str | None) -> None:
        """Write or remove a note; the old text is kept beside it, empty if there was none."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            old = path.read_text("utf-8", "replace") if path.is_file() else ""
            write_atomically(path.with_suffix(_BEFORE), old.encode(), follow_links=False)
            if text is None:
                path.unlink(missing_ok=True)
            else:
                write_atomically(path, text.encode(), follow_links=False)
        except OSError as error:
            raise ToolFailed(f"The note cannot be written: {reason(error)}.") from error

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise ToolFailed(
                f"“{name[:80]}” is no name for a note. Use small letters, digits and -."
            )
        if self.folder is None:
            raise ToolFailed("No notes are kept here.")
        return self.folder / f"{name}.md"

    def _read(self, path: Path) -> Note:
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                text = file.read(LARGEST + 2_000)
            written = path.stat().st_mtime
        except OSError as error:
            raise ToolFailed(f"The note {path.stem} cannot be read: {reason(error)}.") from error
        head, body = _split_head(text)
        return Note(path.stem, body[:LARGEST], head.get("origin", ""), written)


def _split_head(text: str) -> tuple[dict[str, str], str]:
    """The fields at the head, if there are any, and the rest."""
    lines = text.splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:10]:
        return {}, text.strip()
    end = lines.index("---", 1)
    pairs = (line.partition(":") for line in lines[1:end])
    head = {key.strip(): value.strip() for key, _, value in pairs}
    return head, "\n".join(lines[end + 1 :]).strip()


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
