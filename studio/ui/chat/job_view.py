"""Job view: shows the commands that go on in the background, above the composer (C-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.ui.formatting import duration
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Label, plain_tip
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

from .model.chat_model import ChatModel

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.processes.jobs import Job

_LAST = 2_000
"""Characters of output that the tool tip shows."""


class JobRow(PaintedWidget):
    """One command that runs, for how long, and the button that ends it."""

    def __init__(self, theme: Theme, job: Job, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._job = job
        line = " ".join(job.line.split())
        self._line = line
        self.spent = Label(theme, "", "small", "text3", parent=self)
        self.stop = Button(theme, tr("Stop"), "ghost", parent=self)
        self.stop.setAccessibleName(tr("Stop: {text}").format(text=line))
        self._row = row_of(((QWidget(self), 1), self.spent, self.stop), on=self)
        self.setAccessibleName(line)
        self.follow()

    def follow(self) -> None:
        """Take the present text size, and what the command printed until now."""
        px = self.theme.px
        self._row.setSpacing(px(6))
        self._row.setContentsMargins(px(38), 0, px(8), 0)
        self.setFixedHeight(max(self.theme.height(28), px(34)))
        self.spent.setText(duration(self._job.command.seconds))
        self.setToolTip(plain_tip(self._job.output[-_LAST:] or tr("Nothing printed yet.")))
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        side = t.px(14)
        mark = QRectF(t.px(15), (self.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, "terminal", "text3")
        left = t.px(38)
        room = self.spent.geometry().left() - t.px(8) - left
        place = QRectF(left, rect.top(), room, rect.height())
        paint_text(painter, t, place, self._line, "code", "text2", room=room)


class JobView(PaintedWidget):
    """The commands of the chat that run in the background; hidden while there are none."""

    changed = Signal()
    """The list is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model = model
        self.rows: list[JobRow] = []
        self._column = column_of([], spacing=0, on=self)
        self.setAccessibleName(tr("Commands in the background"))
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self._follow)
        theme.changed.connect(self._restyle)
        model.subscribe(lambda _: self._listen(), "engine")
        model.subscribe(lambda _: self._refresh(), "chat")
        self.hide()

    def _listen(self) -> None:
        if (engine := self._model.engine) is not None:
            stop = engine.services.jobs.subscribe(self._told)
            self.destroyed.connect(lambda: stop())

    def _told(self, chat: str) -> None:
        session = self._model.session
        if isValid(self) and session is not None and session.info.id == chat:
            self._refresh()

    def _refresh(self) -> None:
        for row in self.rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        session = self._model.session
        jobs = session.jobs.running(session.info.id) if session is not None else []
        self.rows = [self._row(job) for job in jobs]
        for row in self.rows:
            self._column.addWidget(row)
            row.show()
        if jobs:
            self._clock.start()
        else:
            self._clock.stop()
        self.setVisible(bool(jobs))
        self.changed.emit()

    def _row(self, job: Job) -> JobRow:
        row = JobRow(self.theme, job, self)
        session = self._model.session
        assert session is not None
        row.stop.clicked.connect(lambda: self._model.run(session.jobs.stop(job)))
        return row

    def heightForWidth(self, width: int) -> int:
        return self._column.sizeHint().height()

    def _follow(self) -> None:
        for row in self.rows:
            row.follow()

    def _restyle(self) -> None:
        self._follow()
        self.changed.emit()
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 10, t.color("surface"), t.color("hair"))
