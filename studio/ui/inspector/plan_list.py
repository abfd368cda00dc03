"""Shows the whole plan of a chat's agent, as it is now (C-2)."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.plans import Plan
from studio.ui.plan_text import ITEM_MARKS, item_look, progress, spoken_plan
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import draw_text
from studio.ui.translation import tr
from studio.ui.widgets.painting import PaintedWidget, paint_text

from .run_page import AT_RIGHT, HEADING, MARGIN

_WORDS, _ANYWHERE = int(Qt.TextFlag.TextWordWrap), int(Qt.TextFlag.TextWrapAnywhere)


class _Line(NamedTuple):
    """A text in its place, and the mark before it."""

    text: str
    place: QRect
    role: str
    color: str
    mark: tuple[str, str] | None = None


class PlanList(PaintedWidget):
    """The items with their states, and below them why the plan changed last; hidden without one."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._plan: Plan | None = None
        self.hide()
        self._height = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._measure)
        self._name()
        self._measure()

    @property
    def plan(self) -> Plan | None:
        """What is shown; None while there is none."""
        return self._plan

    def set(self, plan: Plan | None) -> None:
        """Show a plan, the whole of it."""
        if plan == self._plan:
            return
        self._plan = plan
        self._name()
        self._measure()
        self.setVisible(plan is not None)

    def sizeHint(self) -> QSize:
        return QSize(240, self._height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._measure()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, plan, width = self.theme, self._plan, self.width()
        painter.fillRect(MARGIN, t.px(9), width - 2 * MARGIN, 1, t.color("hair"))
        head = QRectF(MARGIN, t.px(20), width - 2 * MARGIN, t.px(HEADING.pitch))
        (role, color), (beside, figures) = HEADING.left, HEADING.right
        paint_text(painter, t, head, tr("Plan"), role, color)
        if plan is not None:
            paint_text(painter, t, head, progress(plan), f"{beside} digits", figures, AT_RIGHT)
        for line in self._lines():
            if line.mark is not None:
                side = t.px(14)
                middle = line.place.top() + (t.metrics("ui").height() - side) / 2
                t.paint_icon(painter, QRectF(MARGIN, middle, side, side), *line.mark)
            painter.setFont(t.font(line.role))
            painter.setPen(t.color(line.color))
            wrap = self._wrap(line.text, line.role, line.place.width())
            draw_text(painter, QRectF(line.place), wrap, line.text)

    def _lines(self) -> list[_Line]:
        t, plan, y = self.theme, self._plan, self.theme.px(20 + HEADING.pitch + 2)
        lines: list[_Line] = []
        if plan is None:
            return lines
        for item in plan.items:
            role, color = item_look(item.status)
            place = self._place(item.text, role, t.px(22), y)
            lines.append(_Line(item.text, place, role, color, ITEM_MARKS[item.status]))
            y = place.top() + place.height() + t.px(6)
        if plan.why:
            place = self._place(plan.why, "small", t.px(22), y)
            lines.append(_Line(plan.why, place, "small", "text2"))
        return lines

    def _place(self, text: str, role: str, indent: int, y: int) -> QRect:
        room = QRect(MARGIN + indent, y, max(80, self.width() - 2 * MARGIN - indent), 10_000)
        wrap = self._wrap(text, role, room.width())
        tall = self.theme.metrics(role).boundingRect(room, wrap, text).height()
        return QRect(room.left(), y, room.width(), tall)

    def _wrap(self, text: str, role: str, room: int) -> int:
        """How lines are broken: between words, unless one is longer than a line."""
        metrics = self.theme.metrics(role)
        fits = all(metrics.horizontalAdvance(word) <= room for word in text.split())
        return _WORDS if fits else _ANYWHERE

    def _measure(self) -> None:
        lines = self._lines()
        end = lines[-1].place.top() + lines[-1].place.height() if lines else 0
        self._height = end + self.theme.px(8)
        self.setFixedHeight(self._height)
        self.update()

    def _name(self) -> None:
        plan = self._plan
        self.setAccessibleName(spoken_plan(plan) if plan else tr("Plan"))
        self.setAccessibleDescription(plan.why if plan else "")
