"""Waiting list: the rows of what waits for the person, below their runs or by age (W-22)."""

from __future__ import annotations

import time
from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import Index
from studio.ui.widgets.painting import paint_ends, paint_text
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground

from .waiting import Waiting


class WaitingRows(RowModel):
    def __init__(self) -> None:
        super().__init__(lambda row: joined((title_of(row), row.group, *row.path)))
        self.grouped = True
        self.asides: Mapping[str, str] = {}
        """What stands at the right of a group's heading."""

    def heads(self, at: int) -> bool:
        """Whether a row is the first of its group."""
        return self.grouped and (not at or self.rows[at - 1].group != self.rows[at].group)


def title_of(row: Waiting) -> str:
    if row.question.kind == "unsure":
        return tr("This may have happened")
    return tr_engine(row.question.text)


class WaitingDelegate(RowDelegate):
    least, around = 56, 14

    def __init__(self, theme: Theme, questions: WaitingRows) -> None:
        super().__init__(theme)
        self._questions = questions

    @property
    def _head(self) -> int:
        return self._theme.height(30, "label")

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        head = self._head if self._questions.heads(index.row()) else 0
        return super().sizeHint(option, index) + QSize(0, head)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        whole = QRectF(option.rect)
        if self._questions.heads(index.row()):
            place = QRectF(t.px(16), whole.y() + t.px(4), whole.width() - t.px(32), self._head)
            aside = self._questions.asides.get(row.run_id, "")
            paint_ends(painter, t, place, (row.group, "label", "text2"), (aside, "small", "text2"))
            whole.setTop(whole.top() + self._head)
        box = whole.adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        top, lower, side = (
            t.metrics("ui_medium").height(),
            t.metrics("small").height(),
            t.px(16),
        )
        y = box.center().y() - (top + lower) / 2
        mark = QRectF(box.x() + t.px(8), y + (top - side) / 2, side, side)
        unsure = row.question.kind == "unsure"
        icon = "circle-alert" if unsure else "shield-question-mark"
        t.paint_icon(painter, mark, icon, "err" if unsure else "warn")
        left, right = mark.right() + t.px(10), box.right() - t.px(8)
        age = clock(max(0.0, time.time() - row.since))
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        line = QRectF(left, y, right - left, top)
        paint_text(painter, t, line, age, "ui digits", "text2", at_right)
        room = line.width() - t.metrics("ui digits").horizontalAdvance(age) - t.px(14)
        paint_text(painter, t, line, title_of(row), "ui_medium", room=room)
        line = QRectF(left, y + top, right - left, lower)
        below = self._questions.grouped and row.run_id  # the run is in the heading above
        words = " › ".join(row.path[1:] if below and row.path[1:] else row.path)
        paint_text(painter, t, line, words, "small", "text2", room=line.width())
