"""Which of what happens in chats the desktop is told, and what a click on that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QStackedWidget, QWidget

from studio.storage.settings import SettingsFile
from studio.ui.chat.page import ChatPage
from studio.ui.notifying import DesktopNotifier, notification_text

if TYPE_CHECKING:
    from studio.agent.session import Session
    from studio.domain.events import Event


class ChatNotifications(QObject):
    """Tells of chats that nobody looks at, and takes back what was seen or answered."""

    def __init__(
        self,
        window: QWidget,
        pages: QStackedWidget,
        chat: ChatPage,
        settings: SettingsFile,
        notifier: DesktopNotifier,
    ) -> None:
        super().__init__(window)
        self._window, self._pages, self._chat = window, pages, chat
        self._settings, self._notifier = settings, notifier
        notifier.clicked.connect(self._show)
        chat.opened.connect(self._seen)
        window.installEventFilter(self)

    def on_event(self, session: Session, event: Event) -> None:
        """Something happened in a chat, on screen or not."""
        from studio.domain.events import PermissionResolved, ReplyGiven, TurnStarted

        if isinstance(event, PermissionResolved | ReplyGiven | TurnStarted):
            self._notifier.withdraw(session.info.id)
        text = notification_text(event, session.info)
        goes_on = (text.endswith("is done") and session.transcript.queued) or session.escalating
        if text and not goes_on and self._settings.values.notify and not self._looks_at(session):
            self._notifier.notify(session.info.id, text)

    def _looks_at(self, session: Session) -> bool:
        return self._on_screen(session) and QApplication.activeWindow() is not None

    def _on_screen(self, session: Session) -> bool:
        return session is self._chat.session and self._pages.currentWidget() is self._chat

    def _seen(self) -> None:
        """The chat on screen needs no notification any more."""
        session = self._chat.session
        if session is not None and self._on_screen(session):
            self._notifier.withdraw(session.info.id)

    def _show(self, session_id: str) -> None:
        """Bring the window to the front, with a chat."""
        window = self._window
        window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
        window.show()
        window.raise_()
        window.activateWindow()
        self._chat.open_wanted.emit(session_id)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowActivate:
            self._seen()
        return False
