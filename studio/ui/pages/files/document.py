"""The text of a file that is edited, and what the file said when it was read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.agent.agent_files.foreign import dialect_of
from studio.agent.agent_files.library import StoredText
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Origin
from studio.tools.drafts.three_way_merge import three_way, with_line_ends
from studio.ui.translation import tr

_MARK = "\ufeff"
"""Some programs begin a file with it."""


def as_shown(text: str) -> str:
    """A file's text as the editor has it: ``\\n`` at the ends of lines."""
    return text.removeprefix(_MARK).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class FileDocument:
    """One file. ``stored`` is the file from which the text was made, None if there is none.

    ``outside`` is the file as another program left it since, until the person has decided.
    """

    path: Path
    origin: Origin
    stored: StoredText | None
    text: str = ""
    """What the editor shows."""
    outside: StoredText | None = None

    @property
    def shown_name(self) -> str:
        """The name of the file, whoever chose it."""
        return escape_line(self.path.name, 80)

    @property
    def base(self) -> str:
        """What the editor showed when the text was as stored."""
        return as_shown(self.stored.text) if self.stored else ""

    @property
    def edited(self) -> bool:
        return self.stored is None or self.text != self.base

    @property
    def foreign(self) -> bool:
        """Whether the file is in another program's format, and so never rewritten (W-4)."""
        return bool(dialect_of(self.path))

    @property
    def whose(self) -> str:
        """Why a file that is read-only is so, for the strip above it."""
        if self.origin == "pack":
            return tr("Comes with a pack. Duplicate it to change it.")
        return tr("Comes with the studio. Duplicate it to change it.")

    @property
    def read_only(self) -> bool:
        """What ships with the program, or is another program's, is changed in a copy."""
        return self.origin in ("shipped", "pack") or self.foreign

    def is_known(self, now: StoredText | None) -> bool:
        """Whether the file is as it was when it was looked at last."""
        last = self.outside or self.stored
        return (now and now.stamp.digest) == (last and last.stamp.digest)

    def take_outside(self, *, merge: bool) -> str:
        """Go on from the file as it is on the disk; the text, with its changes to ``merge``.

        Where both changed the same lines, both stand in it between marks.
        """
        assert self.outside is not None
        theirs, base = as_shown(self.outside.text), self.base
        self.stored, self.outside = self.outside, None
        return three_way(base, theirs, self.text).text if merge else self.text

    def to_write(self) -> str:
        """The text with the line ends that the file has; long texts take a while."""
        if self.stored is None:
            return self.text
        old = self.stored.text
        mark = _MARK if old.startswith(_MARK) else ""
        if "\r" not in old:
            return mark + self.text
        return mark + with_line_ends(self.text, old.removeprefix(_MARK))
