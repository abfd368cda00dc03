"""Notifies the desktop when a chat out of sight is done or needs an answer.

On Linux it uses the notification service of the session's D-Bus
(https://specifications.freedesktop.org/notification-spec/1.2/). Elsewhere, and where
there is no such service, it uses the system tray. Where there is neither it does
nothing: the sidebar shows the same.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QSystemTrayIcon

from studio.storage.config.settings import SettingsFile
from studio.ui.translation import tr, tr_later

from .session_bus import Service, SessionBus

if TYPE_CHECKING:
    from studio.agent.session.session import Session
    from studio.domain.events import Event, TurnComplete
    from studio.domain.sessions import SessionInfo
    from studio.ui.pages.page import Run

log = logging.getLogger(__name__)

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"
SERVICE = Service(NAME, PATH, NAME)
_ENDS = {
    "done": tr_later("{title} is done"),
    "error": tr_later("{title} failed"),
    "stalled": tr_later("{title} got stuck"),
    "refused": tr_later("{title} was refused"),
}
_AT_LIMIT = tr_later("{title} stopped at a limit")


def notification_text(event: Event, info: SessionInfo) -> str:
    """What a notification says of an event; empty for most. It never quotes a message."""
    from studio.domain.events import AwaitingPermission, AwaitingReply, TurnComplete

    if isinstance(event, AwaitingPermission | AwaitingReply):
        return tr("{agent} needs your answer").format(agent=info.agent)
    if isinstance(event, TurnComplete) and event.reason != "cancelled":
        words = tr(_ENDS.get(event.reason, _AT_LIMIT))
        return words.format(title=info.title or tr("New chat"))
    return ""


class DBusNotifications:
    """The notification service of the session's bus; raises OSError where there is none."""

    def __init__(self, clicked: Callable[[int], None]) -> None:
        self._clicked = clicked
        self._bus = SessionBus()
        self._listening = False

    async def notify(self, text: str) -> int:
        """Show a notification; returns its number."""
        if not self._listening:
            await self._bus.listen(SERVICE, "ActionInvoked", lambda said: self._clicked(said[0]))
            self._listening = True
        hints = {"desktop-entry": ("s", "agent-studio")}
        body = ("Agent Studio", 0, "agent-studio", text, "", ["default", tr("Open")], hints, -1)
        (number,) = await self._bus.call(SERVICE, "Notify", "susssasa{sv}i", body)
        return int(number)

    async def withdraw(self, number: int) -> None:
        await self._bus.call(SERVICE, "CloseNotification", "u", (number,))

    async def aclose(self) -> None:
        await self._bus.aclose()


class DesktopNotifier(QObject):
    """Shows one notification for each chat, and withdraws those that are out of date.

    ``clicked`` names the chat to open. ``later`` runs a coroutine on the event loop.
    The service is connected to with the first notification.
    """

    clicked = Signal(str)

    def __init__(self, later: Run, icon: Callable[[], QIcon]) -> None:
        super().__init__()
        self._later, self._icon = later, icon
        self._service = (
            DBusNotifications(self._pressed) if sys.platform.startswith("linux") else None
        )
        self.reachable = self._service is not None
        """Whether the service can be reached, as far as is known."""
        self._tray: QSystemTrayIcon | None = None
        self._tray_chat = ""
        self._shown: dict[str, int] = {}
        """Numbers of the service's notifications, by chat."""
        self._newest: dict[str, object] = {}
        """A token of the newest notification, by chat: one that is slow may be out of date."""

    def notify(self, session_id: str, text: str) -> None:
        self.withdraw(session_id)
        self._newest[session_id] = token = object()
        self._later(self._notify(session_id, text, token))

    def withdraw(self, session_id: str) -> None:
        """Take back a chat's notification: the person has seen it, or it is over."""
        self._newest.pop(session_id, None)
        if session_id == self._tray_chat and self._tray is not None:
            self._tray.hide()
        if (number := self._shown.pop(session_id, 0)) and self._service is not None:
            self._later(self._withdraw(self._service, number))

    async def aclose(self, *, keep: bool = False) -> None:
        """Withdraw all notifications, unless they are to tell of what was done."""
        if self._tray is not None:
            self._tray.hide()
        if self._service is not None:
            for number in () if keep else self._shown.values():
                await self._withdraw(self._service, number)
            self._shown.clear()
            await self._service.aclose()

    async def _notify(self, session_id: str, text: str, token: object) -> None:
        if self._service is not None:
            try:
                number = await self._service.notify(text)
            except OSError as error:
                log.info("no desktop notification: %s", error)
                self.reachable = False
            else:
                self.reachable = True
                if self._newest.get(session_id) is token:
                    self._shown[session_id] = number
                else:
                    await self._withdraw(self._service, number)
                return
        if self._newest.get(session_id) is token:
            self._notify_by_tray(session_id, text)

    async def _withdraw(self, service: DBusNotifications, number: int) -> None:
        with suppress(OSError):
            await service.withdraw(number)

    def _notify_by_tray(self, session_id: str, text: str) -> None:
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._icon(), self)
            self._tray.messageClicked.connect(lambda: self.clicked.emit(self._tray_chat))
        self._tray_chat = session_id
        self._tray.show()
        self._tray.showMessage("Agent Studio", text, self._icon())

    def _pressed(self, number: int) -> None:
        for session_id, shown in list(self._shown.items()):
            if shown == number:
                del self._shown[session_id]
                self.clicked.emit(session_id)


class ChatNotifications(QObject):
    """Notifies of chats that nobody looks at, and withdraws what was seen or answered.

    ``on_screen`` returns the chats that windows show.
    """

    chat_wanted = Signal(str)
    """The person clicked the notification of a chat."""

    def __init__(
        self,
        on_screen: Callable[[], Sequence[Session]],
        settings: SettingsFile,
        notifier: DesktopNotifier,
    ) -> None:
        super().__init__()
        self._on_screen, self._settings, self._notifier = on_screen, settings, notifier
        notifier.clicked.connect(self.chat_wanted)

    def on_event(self, session: Session, event: Event) -> None:
        """Notify of what happened in a chat, on screen or not, if it calls for that."""
        from studio.domain.events import PermissionResolved, ReplyGiven, TurnComplete, TurnStarted

        if isinstance(event, PermissionResolved | ReplyGiven | TurnStarted):
            self._notifier.withdraw(session.info.id)
        text = notification_text(event, session.info)
        done = isinstance(event, TurnComplete) and event.reason == "done"
        goes_on = (done and session.transcript.queued) or session.escalating
        seen = session in self._on_screen() and QApplication.activeWindow() is not None
        if text and not goes_on and not seen:
            self._tell(session.info.id, text)

    def of_child(self, session: Session, agent: str, end: TurnComplete | None) -> None:
        """Notify of an agent in the background that ended, or asks, in a chat at rest (W-38)."""
        seen = session in self._on_screen() and QApplication.activeWindow() is not None
        if seen:
            return
        words = tr("{agent} needs your answer")
        if end is not None:
            done, failed = tr("{agent} is done, for {title}"), tr("{agent} failed, for {title}")
            words = done if end.reason == "done" else failed
        title = session.info.title or tr("New chat")
        self._tell(session.info.id, words.format(agent=agent, title=title))

    def tell(self, key: str, text: str) -> None:
        """Notify of a run that nobody looks at; without words, withdraw what was told of it."""
        if not text:
            self._notifier.withdraw(key)
        else:
            self._tell(key, text)

    def _tell(self, key: str, text: str) -> None:
        """Notify and play the system's sound, as the person wants it."""
        values = self._settings.values
        if values.notify:
            self._notifier.notify(key, text)
        if values.sounds:
            QApplication.beep()

    def seen(self) -> None:
        """Withdraw the notifications of the chats on screen: the person looks at them."""
        for session in self._on_screen():
            self._notifier.withdraw(session.info.id)
