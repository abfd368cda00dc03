"""Lets turns go on without the window: asks when it is closed, and shows the way back.

The way back is an icon in the system's tray where there is one, a notification, or another
start of the program.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu, QMessageBox, QSystemTrayIcon, QWidget

from studio.ui.chat.model.turn_runner import TurnRunner
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import message_box

if TYPE_CHECKING:
    from studio.ui.pages.page import Run


class BackgroundTurns(QObject):
    """Asks once what becomes of the turns that run when the window is closed."""

    end_wanted = Signal()
    """The program is to end: the person said so, or nothing runs any more."""
    window_wanted = Signal()
    """The person wants the window back."""
    hide_wanted = Signal()
    """All windows are to be hidden."""

    def __init__(self, runner: TurnRunner, later: Run, calls_back: Callable[[], bool]) -> None:
        """``calls_back`` returns whether a notification would tell that a chat needs an answer."""
        super().__init__()
        self._runner, self._later, self._calls_back = runner, later, calls_back
        self.question: QMessageBox | None = None
        self._tray: QSystemTrayIcon | None = None
        self._menu: QMenu | None = None
        self._waiting: asyncio.Task[None] | None = None
        self.done = False
        """Whether all turns came to their end without the window."""

    @property
    def active(self) -> bool:
        """Whether turns go on without the window."""
        return self._waiting is not None

    def ask(self, window: QWidget, jobs: int = 0) -> bool:
        """Ask over a window if turns or ``jobs`` run; False if the program may end at once.

        Jobs are commands of chats that go on without a turn; they end with the program.
        """
        running = len(self._runner.running)
        if self.active or not (running or jobs):
            return self.active
        if self.question is not None:
            self.question.raise_()
            return True
        text, more = [], []
        if running:
            text.append(
                tr_plural(
                    "{count} turn is still running.", "{count} turns are still running.", running
                )
            )
            more.append(
                tr(
                    "In the background they go on until they are done, and then the program ends. "
                    "Start it again to get the window back."
                )
            )
        if jobs:
            text.append(
                tr_plural(
                    "{count} command of an agent is still running.",
                    "{count} commands of agents are still running.",
                    jobs,
                )
            )
            more.append(tr("Such commands end with the program."))
        if running and not (QSystemTrayIcon.isSystemTrayAvailable() or self._calls_back()):
            more.append(
                tr(
                    "Neither a tray nor a notification can call you here. A chat that needs your "
                    "answer waits until you start the program again."
                )
            )
        box = message_box(
            window,
            tr("Close the window"),
            " ".join(text),
            "\n\n".join(more),
        )
        stop = box.addButton(tr("Stop and quit"), QMessageBox.ButtonRole.DestructiveRole)
        stop.clicked.connect(self.end_wanted)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        if running:
            go_on = box.addButton(tr("Go on in the background"), QMessageBox.ButtonRole.AcceptRole)
            go_on.clicked.connect(lambda: self._begin(window.windowIcon()))
            box.setDefaultButton(go_on)
        box.finished.connect(self._answered)
        self.question = box
        box.open()
        return True

    def _answered(self) -> None:
        self.question = None

    def _begin(self, icon: QIcon) -> None:
        if not self._runner.running:  # the last turn ended meanwhile
            self.end_wanted.emit()
            return
        self._waiting = self._later(self._wait())
        self.hide_wanted.emit()
        if QSystemTrayIcon.isSystemTrayAvailable():
            self._show_tray(icon)

    async def _wait(self) -> None:
        await self._runner.finish()
        self.done = True
        self.end_wanted.emit()

    def _show_tray(self, icon: QIcon) -> None:
        self._menu = menu = QMenu()
        menu.addAction(tr("Show the window"), self.window_wanted.emit)
        menu.addAction(tr("Stop and quit"), self.end_wanted.emit)
        self._tray = QSystemTrayIcon(icon, self)
        self._tray.setToolTip(tr("Agent Studio works in the background"))
        self._tray.setContextMenu(menu)
        self._tray.activated.connect(self._tray_clicked)
        self._tray.show()

    def _tray_clicked(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        if reason != QSystemTrayIcon.ActivationReason.Context:
            self.window_wanted.emit()

    def stop(self) -> None:
        """The window is back, or the program ends."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if self.question is not None:
            self.question.close()
        if self._tray is not None:
            self._tray.hide()
            self._tray.deleteLater()
            self._tray = None
