"""Whether the folder of the chat on screen is to be trusted, asked in the strip (T-7).

Trusting a folder: what it means, asked before it is done (T-7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.ui.formatting import short_path

from .session_options import SessionOptions

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.permission.rules import Trust


def trust_box(parent: QWidget, folder: str) -> QMessageBox:
    """Asks whether to trust a folder, and says what that means; accepted if so."""
    box = QMessageBox(parent.window())
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Trust folder")
    box.setText(f"Trust {short_path(folder)}?")
    box.setInformativeText(
        "Trust says that its files are your own, not the words of strangers. "
        ".agents/permissions.yaml may then allow calls without asking you, and the agents in "
        ".agents/agents may bring rights of their own. Look at these files first. "
        "When one of them changes, trust ends until you give it again."
    )
    yes = box.addButton("Trust folder", QMessageBox.ButtonRole.AcceptRole)
    yes.setObjectName("trust")
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    return box


class Shower(Protocol):
    """What has the strip."""

    def show(self) -> None: ...


class Page(Protocol):
    """What trusting needs of the chat page."""

    choices: SessionOptions
    ways: Shower

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...


class FolderTrust:
    """Looks at the folder's files, and remembers what the person put off in this chat."""

    def __init__(self, page: Page, window: QWidget) -> None:
        self._page, self._window = page, window
        self._studio: Engine | None = None
        self._looking: asyncio.Task[Any] | None = None
        self._folder = ""
        self._found: Trust = "nothing"
        self._put_off: set[tuple[str, Trust]] = set()
        self.question: QMessageBox | None = None

    def live(self, studio: Engine) -> None:
        self._studio = studio

    @property
    def asks(self) -> Trust:
        """What the person is to be asked about: files they never trusted, or that changed."""
        here = self._folder == self._page.choices.folder
        if not here or self._found == "trusted" or (self._folder, self._found) in self._put_off:
            return "nothing"
        return self._found

    def begin(self) -> None:
        """Another chat comes on screen: what was put off in the last one is asked again."""
        self._put_off.clear()

    def look(self) -> None:
        """Read again what is in the folder; what is found shows in the strip."""
        if self._studio is not None and (self._looking is None or self._looking.done()):
            self._looking = self._page.later(self._look())

    async def _look(self) -> None:
        assert self._studio is not None
        while True:
            folder = self._page.choices.folder
            found: Trust = await self._studio.rules.trusted(Path(folder)) if folder else "nothing"
            if folder == self._page.choices.folder:
                break
        if (folder, found) != (self._folder, self._found):
            self._folder, self._found = folder, found
            self._page.ways.show()

    def put_off(self) -> None:
        self._put_off.add((self._folder, self._found))
        self._page.ways.show()

    def ask(self) -> None:
        """Say what trust means, and trust the folder if the person wants that."""

        folder = self._folder
        self.question = trust_box(self._window, folder)
        self.question.accepted.connect(lambda: self._page.later(self._trust(folder)))
        self.question.open()

    async def _trust(self, folder: str) -> None:
        assert self._studio is not None
        await self._studio.rules.trust(Path(folder))
        self._page.choices.load_agents()  # they may bring more now
        self.look()
