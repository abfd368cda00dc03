"""Editor: an editor that has the files of a folder open, perhaps with unsaved changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path


class Editor(ABC):
    """What tools may ask the editor in which the person works. It blocks: call it in a thread."""

    @abstractmethod
    def text(self, path: Path) -> str | None:
        """The text of a file as the editor has it, with what is not saved; None if it has none.

        Raises ToolFailed if the editor does not answer.
        """

    @abstractmethod
    def write(self, path: Path, text: str) -> bool:
        """Have the editor write a file; False if it did not, so that somebody else has to.

        Raises ToolFailed if the editor does not answer: it may have written the file or not.
        """
