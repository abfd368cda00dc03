"""What the person said while the agent works: it waits above the composer (L-1).

What is said while a turn runs: it waits, goes out at the next step, or comes back (L-1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.ui.theme import Theme, elided
from studio.ui.widgets import Button, IconButton, Label, paint_rounded

from .composer import Composer
from .turn_runner import TurnRunner

if TYPE_CHECKING:
    from studio.agent.session.session import Session
    from studio.domain.messages import Said

MOST_SHOWN = 4
"""As many are shown; the others are counted."""


class _MessageLine(QWidget):
    """One message in one line, cut to what fits."""

    def __init__(self, theme: Theme, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme, self.text = theme, text
        self.setToolTip(text)
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        text = elided(t.metrics("ui"), self.text, self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()


class QueueRow(QWidget):
    """One message that waits, with what can be done about it."""

    def __init__(self, theme: Theme, text: str, way: str, tip: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words = _MessageLine(theme, text, self)
        self.send = Button(theme, way, "ghost", parent=self)
        self.send.setVisible(bool(way))
        self.send.setToolTip(tip)
        self.send.setAccessibleName(f"{way}: {text}")
        self.remove = IconButton(theme, "x", "Take back", size=24, icon_size=14, parent=self)
        self.remove.setAccessibleName(f"Take back: {text}")
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.px(38), 0, theme.px(8), 0)
        row.setSpacing(theme.px(6))
        row.addWidget(self.words, 1)
        row.addWidget(self.send)
        row.addWidget(self.remove)
        self.setFixedHeight(max(theme.height(28), theme.px(34)))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        side = t.px(14)
        mark = QRectF(t.px(15), (self.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, "clock", "text3")
        painter.end()


class QueueView(QWidget):
    """The messages that wait, the oldest first; hidden while there are none."""

    send_wanted = Signal(str)
    """The id of a message that is to go out now."""
    back_wanted = Signal(str)
    """The id of a message that the person takes back."""
    changed = Signal()
    """It came, went, or needs another height."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: object = None
        self.rows: list[QueueRow] = []
        self._more = Label(theme, "", "small", "text3", parent=self)
        self._column = QVBoxLayout(self)
        self._column.setSpacing(0)
        self._column.addWidget(self._more)
        self.setAccessibleName("Queued messages")
        theme.changed.connect(self._anew)
        self.hide()

    def show_queue(
        self, queued: Mapping[str, Sequence[Said]], steering: frozenset[str], running: bool
    ) -> None:
        """``steering`` are those that go out with the running turn’s next step."""
        shown = (tuple(queued), steering & queued.keys(), running)
        if shown == self._shown:
            return
        self._shown = shown
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.rows = []
        for at, (message_id, said) in enumerate(list(queued.items())[:MOST_SHOWN]):
            row = self._row(message_id, message_in_short(said), message_id in steering, running)
            self._column.insertWidget(at, row)
            row.show()
            self.rows.append(row)
        more = len(queued) - len(self.rows)
        self._more.setText(f"{more} more queued")
        self._more.setVisible(more > 0)
        self._space()
        self.setVisible(bool(queued))
        self.changed.emit()
        self.update()

    def _row(self, message_id: str, text: str, steers: bool, running: bool) -> QueueRow:
        if steers:
            row = QueueRow(self._theme, f"Goes out at the next step: {text}", "", "", self)
        elif running:
            tip = "The agent reads it at its next step"
            row = QueueRow(self._theme, f"Queued: {text}", "Send now", tip, self)
        else:
            row = QueueRow(self._theme, f"Queued: {text}", "Send", "", self)
        row.send.clicked.connect(lambda: self.send_wanted.emit(message_id))
        row.remove.clicked.connect(lambda: self.back_wanted.emit(message_id))
        return row

    def tall(self) -> int:
        """Its height."""
        return self._column.sizeHint().height()

    def _anew(self) -> None:
        for row in self.rows:
            row.setFixedHeight(max(self._theme.height(28), self._theme.px(34)))
        self._space()
        self.changed.emit()
        self.update()

    def _space(self) -> None:
        px = self._theme.px
        self._column.setContentsMargins(0, px(2), 0, px(2))
        self._more.setContentsMargins(px(38), px(2), 0, px(6))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        paint_rounded(painter, QRectF(self.rect()), 10, t.color("surface"), t.color("hair"))
        painter.end()


def message_in_short(said: Sequence[Said]) -> str:
    """A message in one line: its words, else the names of what is attached."""
    from studio.domain.messages import Text

    words = " ".join(part.text for part in said if isinstance(part, Text)).split()
    names = [getattr(part, "name", "") or "Picture" for part in said if not isinstance(part, Text)]
    return ", ".join(filter(None, [" ".join(words)[:400], *names]))


class Page(Protocol):
    """What the queue needs of the chat page."""

    session: Session | None
    composer: Composer
    queue: QueueView

    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...


class MessageQueue:
    """Keeps the rows above the composer as the session's queue is, and does what they say."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._runs: TurnRunner | None = None
        self._steering: tuple[str, frozenset[str]] = ("", frozenset())
        """A turn, and the messages that are to reach it."""
        page.composer.queued.connect(self._queued)
        page.queue.send_wanted.connect(self._send)
        page.queue.back_wanted.connect(self._back)

    def live(self, runs: TurnRunner) -> None:
        self._runs = runs

    def show(self) -> None:
        session = self._page.session
        if session is None or session.damage:
            self._page.queue.show_queue({}, frozenset(), running=False)
            return
        steering = self._steered(session) if self._running else frozenset[str]()
        self._page.queue.show_queue(session.transcript.queued, steering, self._running)

    @property
    def _running(self) -> bool:
        """Whether a turn can still be steered; one that is only being saved can not."""
        return self._page.composer.state != "idle"

    def _steered(self, session: Session) -> frozenset[str]:
        turn_id, steering = self._steering
        return steering if turn_id == session.transcript.turn_id else frozenset()

    def _queued(self, text: str, now: bool) -> None:
        """The person typed while a turn runs; without a session yet, the words stay typed."""
        page, session = self._page, self._page.session
        if session is None or session.damage:
            return
        from studio.domain.messages import Text

        attached = page.composer.attachments.take()
        page.composer.clear()
        words = [Text(text)] if text else []
        message_id = session.queue([*(one.block for one in attached), *words])
        if now:
            self._steer(session, message_id)
        self.show()

    def _send(self, message_id: str) -> None:
        session, runs = self._page.session, self._runs
        if session is None or runs is None:
            return
        if self._running:
            self._steer(session, message_id)
            self.show()
        elif said := session.unqueue(message_id):
            self._page.composer.set_state("running")
            runs.start(session, said)

    def _steer(self, session: Session, message_id: str) -> None:
        session.steer(message_id)
        turn_id = session.transcript.turn_id
        self._steering = turn_id, self._steered(session) | {message_id}

    def _back(self, message_id: str) -> None:
        """Take a message out; into the composer, if nothing is typed there."""
        page, session = self._page, self._page.session
        if session is None:
            return
        said = session.unqueue(message_id)
        composer = page.composer
        if said and not composer.text and not composer.attachments.blocks:
            self._put_back(said)
        composer.setFocus()

    def _put_back(self, said: Sequence[Said]) -> None:
        from studio.domain.messages import Text

        composer = self._page.composer
        composer.attachments.replace([part for part in said if not isinstance(part, Text)])
        composer.set_text("\n".join(part.text for part in said if isinstance(part, Text)))
