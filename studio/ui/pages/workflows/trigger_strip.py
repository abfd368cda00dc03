"""Trigger strip: what begins runs of a file by itself, and the switch for it (W-9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.domain.workflows import WorkflowTrigger
from studio.storage.triggers import TriggerMark
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Label, Toggle
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget
from studio.workflows.triggers import day_of, next_time

from .runs.run_record import when


class TriggerStrip(PaintedWidget):
    """A line for each trigger; hidden for a file without one."""

    switched = Signal(bool)
    """The person wants the triggers on, or off."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.lines = Label(theme, "", "ui", wrap=True)
        self.wrong = Label(theme, "", "ui", "err", wrap=True)
        self.wrong.show_text("")
        self.switch = Toggle(theme, tr("Begin runs by itself"))
        self.switch.toggled.connect(self.switched)
        column_of(
            [row_of([(self.lines, 1), self.switch], 8), self.wrong],
            spacing=4,
            margins=(44, 7, 16, 8),
            on=self,
        )
        self.hide()

    def show_triggers(
        self, found: Sequence[WorkflowTrigger], on: Mapping[int, TriggerMark], now: float
    ) -> None:
        """Show the triggers of a file; ``on`` are the marks of those that are, by their places."""
        lines = [described(one, on.get(place), now) for place, one in enumerate(found)]
        self.lines.setText("\n".join(lines))
        self.switch.show_value(bool(on))
        self.setVisible(bool(found))

    def show_error(self, text: str) -> None:
        self.wrong.show_text(text)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.fillRect(rect, t.color("sunken"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("hair"))
        mark = QRectF(t.px(20), 0, t.px(16), rect.height() - 1)
        ink = "accent_text" if self.switch.isChecked() else "text2"
        t.paint_icon(painter, mark, "calendar-clock", ink)


def described(trigger: WorkflowTrigger, mark: TriggerMark | None, now: float) -> str:
    """A trigger in a line; ``mark`` is its own if it is on."""
    if trigger.change:
        what = tr("When {files} change").format(files=", ".join(trigger.change))
    else:
        what = tr("At {schedule}").format(schedule=joined((trigger.schedule, trigger.zone)))
    if mark is None:
        return joined((what, tr("off")))
    begun = mark.begun_on(day_of(trigger, now))
    runs = tr("{count} of {most} runs today").format(count=begun, most=trigger.per_day)
    at = math.inf if trigger.change else next_time(trigger, now)
    follows = tr("next {time}").format(time=when(at)) if at < math.inf else ""
    return joined((what, follows, runs))
