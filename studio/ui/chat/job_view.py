"""Job view: shows the commands that go on in the background, above the composer (C-13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QScrollArea, QSizePolicy, QWidget
from shiboken6 import isValid

from studio.ui.formatting import duration
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    FocusRing,
    Label,
    OverlayBar,
    PaintedButton,
    make_transparent,
    plain_tip,
)
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

from .model.chat_model import ChatModel

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.processes.jobs import Job

LINES = 8
"""The most lines of output that are shown at once."""
SHARE = 0.35
"""Of the page's height that the list may take; the rest of it is scrolled to."""


class _JobLine(PaintedButton):
    """The command in one line, cut to what fits; a click shows or hides its output."""

    def __init__(self, theme: Theme, line: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._line = line
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(plain_tip(line))
        self.setAccessibleName(tr("Output: {text}").format(text=line))

    def sizeHint(self) -> QSize:
        return QSize(0, self.theme.height(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        self.paint_overlay(painter, rect)
        side, y = t.px(14), rect.center().y() - t.px(14) / 2
        t.paint_icon(painter, QRectF(t.px(5), y, side, side), "terminal", "text3")
        chevron = "chevron-down" if self.isChecked() else "chevron-right"
        right = rect.right() - t.px(5) - side
        t.paint_icon(painter, QRectF(right, y, side, side), chevron, "text2")
        left = t.px(28)
        room = right - t.px(8) - left
        place = QRectF(left, rect.top(), room, rect.height())
        paint_text(painter, t, place, self._line, "code", "text2", room=room)


class JobRow(QWidget):
    """One command that runs, for how long, the button that ends it, and what it printed."""

    resized = Signal()
    """Its output is shown or hidden."""

    def __init__(self, theme: Theme, job: Job, parent: QWidget) -> None:
        super().__init__(parent)
        self.theme, self.job = theme, job
        text = " ".join(job.line.split())
        self.line = _JobLine(theme, text, self)
        self.line.toggled.connect(self._toggled)
        self.spent = Label(theme, "", "small", "text3", digits=True, parent=self)
        self.stop = Button(theme, tr("Stop"), "ghost", parent=self)
        self.stop.setAccessibleName(tr("Stop: {text}").format(text=text))
        self.output = QPlainTextEdit(self)
        self.output.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self.output.setReadOnly(True)
        self.output.setTabChangesFocus(True)
        self.output.setFrameShape(QFrame.Shape.NoFrame)
        self.output.setPlaceholderText(tr("Nothing printed yet."))
        self.output.setAccessibleName(self.line.accessibleName())
        make_transparent(self.output)
        FocusRing.of(theme).follow(self.output, inside=False)
        self.output.hide()
        self._row = row_of(((self.line, 1), self.spent, self.stop))
        self._column = column_of((self._row, self.output), spacing=0, on=self)
        self.setAccessibleName(text)
        self.follow()

    def _toggled(self) -> None:
        self.output.setVisible(self.line.isChecked())
        self._show_output()
        self._fit_output()
        bar = self.output.verticalScrollBar()
        bar.setValue(bar.maximum())
        self.resized.emit()

    def follow(self) -> None:
        """Take the present text size, and what the command printed until now."""
        px = self.theme.px
        self._row.setSpacing(px(6))
        self._row.setContentsMargins(px(10), px(3), px(8), px(3))
        self.spent.setText(duration(self.job.command.seconds))
        self.output.setFont(self.theme.font("code"))
        self.output.setViewportMargins(px(34), 0, px(8), 0)
        self._show_output()
        self._fit_output()

    def _fit_output(self) -> None:
        """Give its output the room that it needs, up to ``LINES``."""
        lines = min(LINES, max(1, self.output.blockCount()))
        tall = lines * self.output.fontMetrics().lineSpacing() + self.theme.px(12)
        if tall != self.output.height():
            self.output.setFixedHeight(tall)
            self.resized.emit()

    def _show_output(self) -> None:
        """Show what it printed; at its end the view stays there, elsewhere where it is."""
        text = self.job.output if self.line.isChecked() else ""
        if text == self.output.toPlainText():
            return
        bar = self.output.verticalScrollBar()
        place, at_end = bar.value(), bar.value() >= bar.maximum() - 1
        selected = self.output.textCursor().hasSelection()
        if selected:
            return  # what is marked to be copied stays marked
        self.output.setPlainText(text)
        bar.setValue(bar.maximum() if at_end else place)


class JobView(PaintedWidget):
    """The commands of the chat that run in the background; hidden while there are none."""

    changed = Signal()
    """The list is shown, hidden, or needs another height."""
    left = Signal()
    """The row with the keyboard has gone, and no other is there."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model, self._page = model, parent
        self.rows: list[JobRow] = []
        self._inner = QWidget()
        self._column = column_of([], spacing=0, on=self._inner)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its rows have it, and move it
        make_transparent(self._area)
        self._area.setWidget(self._inner)
        self._inner.setAutoFillBackground(False)
        self._inner.installEventFilter(self)
        OverlayBar(self._area)
        column_of([self._area], spacing=0, on=self)
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
        """Show the jobs that run; rows that stay keep what is open in them."""
        session = self._model.session
        jobs = session.jobs.running(session.info.id) if session is not None else []
        rows = {id(row.job): row for row in self.rows}
        focused = self.window().focusWidget()
        self.rows = [rows.pop(id(job), None) or self._row(job, at) for at, job in enumerate(jobs)]
        gone = focused is not None and any(row.isAncestorOf(focused) for row in rows.values())
        for row in rows.values():
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        if gone and self.rows:
            self.rows[0].stop.setFocus(Qt.FocusReason.OtherFocusReason)
        elif gone:
            self.left.emit()
        if jobs:
            self._clock.start()
        else:
            self._clock.stop()
        self.setVisible(bool(jobs))
        self.changed.emit()

    def _row(self, job: Job, at: int) -> JobRow:
        row = JobRow(self.theme, job, self._inner)
        session = self._model.session
        assert session is not None
        row.stop.clicked.connect(lambda: self._model.run(session.jobs.stop(job)))
        row.line.toggled.connect(lambda shown: self._close_others(row) if shown else None)
        row.resized.connect(self.changed)
        row.resized.connect(lambda: QTimer.singleShot(0, row, lambda: self._reveal(row)))
        self._column.insertWidget(at, row)
        row.show()
        return row

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Tell when rows are as high as the present text size wants, which is after this."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.changed.emit()
        return super().eventFilter(watched, event)

    def _close_others(self, opened: JobRow) -> None:
        """Show the output of one command at a time, so that the chat keeps its room."""
        for row in self.rows:
            if row is not opened:
                row.line.setChecked(False)

    def _reveal(self, row: JobRow) -> None:
        """Scroll to a row with its output, once it has its height."""
        if row.line.isChecked():
            self._area.ensureWidgetVisible(row, 0, 0)

    def heightForWidth(self, width: int) -> int:
        most = max(self.theme.height(34), round(SHARE * self._page.height()))
        return min(self._column.sizeHint().height(), most)

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
