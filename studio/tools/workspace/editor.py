"""Editor: an editor that has the files of a folder open, perhaps with unsaved changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from studio.processes.shell_command import CommandResult


class Editor(ABC):
    """What tools may ask the editor in which the person works.

    Both questions about files block: call them in a thread.
    """

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

    def may_have(self, path: Path) -> bool:
        """Whether a file is likely to be open, so that a search of many files asks for it."""
        return False

    async def run(
        self,
        command: str,
        call_id: str,
        folder: Path,
        environment: Mapping[str, str],
        time_limit: float,
    ) -> CommandResult | None:
        """Run a command line in a terminal of the editor; None if it has none. It does not block.

        When it ends, takes longer than ``time_limit`` seconds or the caller is cancelled, the
        editor ends it. Raises ToolFailed if the editor loses the terminal.
        """
        return None
