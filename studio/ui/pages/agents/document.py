"""The text of an agent's file that is edited, and what the file said when it was read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.agent.agent_library import StoredText
from studio.domain.agents import Origin
from studio.tools.drafts.three_way_merge import with_line_ends

_MARK = "\ufeff"
"""Some programs begin a file with it."""


def as_shown(text: str) -> str:
    """A file's text as the editor has it: ``\\n`` at the ends of lines."""
    return text.removeprefix(_MARK).replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class AgentDocument:
    """One file. ``stored`` is the file as it was read or saved last, None if there is none."""

    path: Path
    origin: Origin
    stored: StoredText | None
    text: str = ""
    """What the editor shows."""

    @property
    def base(self) -> str:
        """What the editor showed when the text was as stored."""
        return as_shown(self.stored.text) if self.stored else ""

    @property
    def edited(self) -> bool:
        return self.stored is None or self.text != self.base

    @property
    def read_only(self) -> bool:
        """Agents that ship with the program are changed in a copy."""
        return self.origin == "shipped"

    def to_write(self) -> str:
        """The text with the line ends that the file has; long texts take a while."""
        if self.stored is None:
            return self.text
        old = self.stored.text
        mark = _MARK if old.startswith(_MARK) else ""
        if "\r" not in old:
            return mark + self.text
        return mark + with_line_ends(self.text, old.removeprefix(_MARK))
