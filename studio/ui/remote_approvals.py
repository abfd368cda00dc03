"""Watches for permission questions and chats of other programs on the same data.

Other programs signal a change in a folder (``storage.remote_approvals``). The window watches
that folder, which costs nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from studio.ui.app.notifications import DesktopNotifier
from studio.ui.chat.composer import Composer
from studio.ui.formatting import folder_name
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets.announcement import announce

from .remote_approval_card import ORIGIN_TEXTS, RemoteApprovalCard

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.permissions import Answer
    from studio.storage.remote_approvals import RemoteQuestion
    from studio.ui.pages.page import Run

SOON = 50
"""Milliseconds that a change in the folder waits for others: they are read together."""
AGAIN = 1000
"""Milliseconds between two readings while a question is shown: its program may have died."""
PART = 300
"""The same while a part of the question is not known yet."""


class RemoteApprovals(QObject):
    """Shows what other programs ask; ``notified`` says that their chats may have changed.

    The question stands at the top of ``column``. It takes the keyboard only
    while nothing is being written in ``composer``. ``later`` runs a coroutine
    on the event loop.
    """

    notified = Signal()

    def __init__(
        self,
        theme: Theme,
        column: QVBoxLayout,
        notifier: DesktopNotifier,
        composer: Composer,
        later: Run,
    ) -> None:
        super().__init__(composer.window())
        self.window = composer.window()
        self._theme, self._column, self._composer = theme, column, composer
        self._notifier, self._later = notifier, later
        self.card: RemoteApprovalCard | None = None
        """None before the first question."""
        self._engine: Engine | None = None
        self._watcher: QFileSystemWatcher | None = None
        self._notified_chat = ""
        self._refreshing = asyncio.Lock()
        self._soon = self._timer(lambda: self._later(self._poll()))
        self._again = self._timer(lambda: self._later(self.refresh()))

    def _timer(self, due: Callable[[], object]) -> QTimer:
        timer = QTimer(self, singleShot=True)
        timer.timeout.connect(due)
        return timer

    async def start(self, engine: Engine) -> None:
        """Register this program as one that can answer, and watch for questions."""
        questions = engine.questions
        await questions.register()
        self._engine = engine
        self._watcher = QFileSystemWatcher([str(questions.notifier.folder)], self)
        self._watcher.directoryChanged.connect(self._schedule_poll)
        await self.refresh()
        await self._poll()  # chats were listed before others were heard

    def stop(self) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.deleteLater()
            self._watcher = None
        self._soon.stop()
        self._again.stop()
        self._engine = None

    def _schedule_poll(self) -> None:
        if not self._soon.isActive():
            self._soon.start(SOON)

    async def _poll(self) -> None:
        if self._engine is None:
            return
        if await asyncio.to_thread(self._engine.questions.notifier.poll):
            await self.refresh()
            self.notified.emit()

    async def refresh(self) -> None:
        """Show the question that waits longest, if any does."""
        async with self._refreshing:
            if self._engine is not None:
                self._show(await self._engine.questions.waiting())

    def take_focus(self) -> bool:
        """Give the question the keyboard; False if there is none."""
        if self.card is None or self.card.asked is None:
            return False
        self.window.activateWindow()
        self.card.take_focus()
        return True

    def _show(self, waiting: list[RemoteQuestion]) -> None:
        if self.card is None:
            if not waiting:
                return
            self.card = self._make_card()
        card, shown = self.card, self.card.asked
        still = (one for one in waiting if shown is not None and one.id == shown.id)
        first = next(still, waiting[0] if waiting else None)
        focused = QApplication.focusWidget()
        had_focus = focused is not None and card.isAncestorOf(focused)
        card.show_question(first, len(waiting) - 1)
        if first is None:
            self._again.stop()
            self._withdraw()
            if had_focus:
                self._composer.setFocus()
            return
        self._again.start(AGAIN if first.whole else PART)
        if shown is None or shown.id != first.id:
            self._notify(card, first)
            if had_focus or self._nothing_written(focused):
                card.take_focus()

    def _make_card(self) -> RemoteApprovalCard:
        card = RemoteApprovalCard(self._theme)
        if self._engine is not None:
            card.folder_name = partial(folder_name, paths=self._engine.paths)
        card.answered.connect(self._answered)
        card.left.connect(self._composer.setFocus)
        card.typed.connect(self._go_on)
        card.seen.connect(self._withdraw)
        self._column.insertWidget(1, card)  # below the banner
        return card

    def _go_on(self, text: str) -> None:
        """Write in the message what was typed on the card, unless another page is shown."""
        if self._composer.isVisible():
            self._composer.editor.go_on(text)

    def _nothing_written(self, focused: QWidget | None) -> bool:
        return focused is self._composer.editor and not self._composer.text

    def _notify(self, card: RemoteApprovalCard, asked: RemoteQuestion) -> None:
        announce(card, card.spoken, urgent=True)
        if QApplication.activeWindow() is None and self._engine is not None:
            self._withdraw()
            if self._engine.settings.values.notify:
                self._notified_chat = asked.session_id
                words = tr("{agent} needs your answer. {origin}.").format(
                    agent=asked.agent or tr("An agent"), origin=tr(ORIGIN_TEXTS[asked.through])
                )
                self._notifier.notify(asked.session_id, words)

    def _withdraw(self) -> None:
        """Withdraw the notification: the person has seen the question, or it is over."""
        if self._notified_chat:
            self._notifier.withdraw(self._notified_chat)
            self._notified_chat = ""

    def _answered(self, asked: str, answer: Answer) -> None:
        async def work() -> None:
            if self._engine is not None:
                await self._engine.questions.answer(asked, answer)
                await self.refresh()

        self._withdraw()
        self._later(work())
