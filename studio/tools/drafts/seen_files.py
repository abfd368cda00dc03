"""Seen files: remembers which text of each file a model knows, and guards later ones (C-7).

A model that changes a file has a text of it in mind. What somebody else changed meanwhile is
never overwritten unseen. Everything here blocks on the disk: call it in a thread.
"""

from __future__ import annotations

import os
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from studio.domain.drafts import text_digest
from studio.domain.errors import ToolFailed
from studio.domain.line_changes import opcodes
from studio.files.folders import private_folder
from studio.tools.workspace.encodings import decode
from studio.tools.workspace.folder import Workspace
from studio.tools.workspace.text_files import WHOLE, read_whole, unsaved

from .three_way_merge import three_way

SHOWN = 20
"""Lines of what changed meanwhile that a model is shown."""
_WIDE = 300
"""Characters of such a line."""
_KEPT = 1_000_000
"""Characters of the longest text that is kept."""
_MOST = 500
"""Texts that are kept of one chat."""

Change: TypeAlias = Callable[[str], tuple[str, list[str]]]
"""What makes another text of a file's, and notes on how it did; raises ToolFailed."""
Stamp: TypeAlias = tuple[int, int, int] | None


class SeenFiles:
    """The files that a chat's model was shown, for one call.

    ``known`` has the digest of each text by its file, as the chat's events tell it. ``folder``
    is where the texts are kept; without them a file that changed has to be read again. Without
    ``known`` nothing is guarded: a person tries out a tool.
    """

    def __init__(self, known: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
        self._known = known
        self._folder = folder
        self.shown: dict[str, str] = {}
        """What the model is shown by this call, like ``known``."""
        self.drafted: dict[str, str] = {}
        """What the call makes of files; it counts if the call does not fail."""

    def saw(self, name: str, text: str, *, drafted: bool = False) -> None:
        """Remember that the model knows the text of a file, or could read on in it."""
        if self._known is None:
            return
        digest = text_digest(text)
        (self.drafted if drafted else self.shown)[name] = digest
        if self._folder is None or len(text) > _KEPT:
            return
        with suppress(OSError):
            kept = private_folder(self._folder) / digest
            if not kept.exists():
                kept.write_bytes(zlib.compress(text.encode("utf-8", "surrogatepass"), 1))
                _drop_oldest(self._folder)

    def saw_file(self, workspace: Workspace, place: Path, name: str) -> None:
        """The same of a file as it is now, if it is text in the folder that can be changed."""
        with suppress(ToolFailed, OSError):
            if place.is_relative_to(workspace.root) and place.stat().st_size <= WHOLE:
                text, encoding = decode(read_whole(place, name), name)
                now = unsaved(workspace, place, text, encoding)
                self.saw(name, text if now is None else now)

    def changed(
        self, workspace: Workspace, name: str, now: str, change: Change
    ) -> tuple[str, list[str]]:
        """What ``change`` makes of ``now``, and notes. Refused with ToolFailed where somebody
        else has changed, since the model saw them, the lines that it changes."""
        last = self._last(workspace, name)
        if not last or last == text_digest(now):
            after, notes = change(now)
            if last:
                self.saw(name, after, drafted=True)
            return after, notes
        before, told, whole = self._difference(last, name, now)
        apart, after, notes = False, "", list[str]()
        if before is not None:
            with suppress(ToolFailed):
                after, notes = change(now)
                merge = three_way(before, now, change(before)[0])
                apart = not merge.conflicts and merge.text == after
        if not apart:
            raise self._refused(name, now, told, whole=whole)
        if whole:
            self.saw(name, after, drafted=True)
        return after, [*notes, f"{name} had changed elsewhere since you read it:\n{told}"]

    def check_overwrite(self, workspace: Workspace, name: str, now: str) -> None:
        """Raise ToolFailed unless the model knows the text that it is about to replace."""
        if self._known is None or not now:
            return
        last = self._last(workspace, name)
        if not last:
            raise ToolFailed(
                f"{name} is there already, and you have not read it in this chat. Read it first, "
                "or give it another name. Nothing was changed."
            )
        if last != text_digest(now):
            _, told, whole = self._difference(last, name, now)
            raise self._refused(name, now, told, whole=whole)

    def stamps(self, workspace: Workspace) -> dict[str, Stamp]:
        """What tells that a seen file was written, before and after a command."""
        return {name: _stamp(workspace.root / name) for name in self._known or ()}

    def touched(self, workspace: Workspace, before: Mapping[str, Stamp]) -> list[str]:
        """The seen files that have another text since ``before``."""
        found: list[str] = []
        for name, stamp in before.items():
            place = workspace.root / name
            if _stamp(place) == stamp:
                continue
            text = None
            with suppress(ToolFailed, OSError):
                text, _ = decode(read_whole(place, name), name)
            if text is None or text_digest(text) != (self._known or {}).get(name):
                found.append(name)
        return sorted(found)

    def _last(self, workspace: Workspace, name: str) -> str:
        """The digest of the text that was shown last, "" if none was.

        A file may have several spellings on a file system that ignores case.
        """
        known = {**(self._known or {}), **self.shown, **self.drafted}
        if name in known:
            return known[name]
        for other, digest in known.items():
            if _folded(other) == _folded(name):
                with suppress(OSError):
                    if (workspace.root / other).samefile(workspace.root / name):
                        return digest
        return ""

    def _difference(self, last: str, name: str, now: str) -> tuple[str | None, str, bool]:
        """The text that was shown, what has changed since, and whether that is all of it."""
        before = None
        if self._folder is not None:
            with suppress(OSError, zlib.error, ValueError):
                data = zlib.decompress((self._folder / last).read_bytes())
                before = data.decode("utf-8", "surrogatepass")
        if before is None or text_digest(before) != last:
            return None, "", False
        lines = list(_difference(before, now))
        if len(lines) <= SHOWN:
            return before, "\n".join(lines), True
        more = f"[… {len(lines) - SHOWN} more lines changed: read {name} again …]"
        return before, "\n".join([*lines[:SHOWN], more]), False

    def _refused(self, name: str, now: str, told: str, *, whole: bool) -> ToolFailed:
        start = f"{name} has changed since you last read it"
        if not told:
            return ToolFailed(f"{start}. Read it again. Nothing was changed.")
        if whole:
            self.saw(name, now)
        way = "If your change still fits, send it again." if whole else "Read it again."
        return ToolFailed(f"{start}, where you change it. {way} Nothing was changed. Now:\n{told}")


def _difference(before: str, after: str) -> Iterable[str]:
    """The changed lines, numbered as they were or are now."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        yield "(only line ends)"
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag != "equal":
            yield from (f"-{n + 1}\t{old[n][:_WIDE]}" for n in range(i1, i2))
            yield from (f"+{n + 1}\t{new[n][:_WIDE]}" for n in range(j1, j2))


def _stamp(place: Path) -> Stamp:
    try:
        found = place.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


def _drop_oldest(folder: Path) -> None:
    with os.scandir(folder) as entries:
        kept = [(entry.stat().st_mtime_ns, entry.path) for entry in entries]
    for _, path in sorted(kept)[: max(len(kept) - _MOST, 0)]:
        Path(path).unlink(missing_ok=True)
