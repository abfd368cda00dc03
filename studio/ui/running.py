"""The chats in which a turn runs, in the Run menu: each with its Stop."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from studio.ui.chat.runs import TurnRunner


class RunningMenu(QMenu):
    """Filled when the menu that it is in opens, so that it costs nothing before."""

    def __init__(self, parent: QWidget, runs: TurnRunner, actions: Mapping[str, QAction]) -> None:
        super().__init__("Running", parent)
        self._runs = runs
        self._line, self._all = actions["running"], actions["stop_all"]
        self._line.setMenu(self)
        for menu in self._line.associatedObjects():
            if isinstance(menu, QMenu):
                menu.aboutToShow.connect(self.fill)
                menu.aboutToHide.connect(lambda: self._all.setEnabled(True))
        self.fill()

    def fill(self) -> None:
        self.clear()
        running = self._runs.running
        for session in running:
            title = (session.info.title or "New chat").replace("&", "&&")
            line = self.addAction(f"Stop “{title}”\t{self._runs.progress(session.info.id)}")
            line.triggered.connect(lambda _on=False, at=session.info.id: self._runs.stop(at))
        self._line.setEnabled(bool(running))
        self._all.setEnabled(bool(running))
