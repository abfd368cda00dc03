"""Paints the rows of the list of chats, and lets titles be edited in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtCore import QAbstractListModel, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QCursor, QPainter, QRegion
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.ui.formatting import number
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import mirrored_row, upright
from studio.ui.translation import tr
from studio.ui.widgets import Field, Index
from studio.ui.widgets.keyboard_list import paint_row_ring
from studio.ui.widgets.painting import paint_rounded, paint_spinner, paint_text

from .chat_list_model import ChatListModel, ChatRow

SIDE = 10
"""Space left and right of the rows, in pixels."""


class ChatDelegate(QStyledItemDelegate):
    """Paints a row. ``open_id`` is the chat that is open, ``query`` what was searched for.

    ``drop`` is the section into which chats are being dragged. For each painting the list says
    what is ``painted``, which chats are ``picked``, and whether the current row has a ``ring``.
    """

    def __init__(self, theme: Theme, view: QListView) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view
        self.agents: Mapping[str, tuple[str, str]] = {}
        self.open_id = ""
        self.query = ""
        self.drop = ""
        self.painted = QRegion()
        self.picked: Collection[str] = ()
        self.ring = False

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        t, row = self.theme, index.data(ChatListModel.RowRole)
        if row.hit is not None:
            height = t.height(32) + t.metrics("small").height() + 4
        else:
            height = t.height(32)  # one height for all: a view asks for that of the first row only
        return QSize(100, height)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if not self.painted.intersects(option.rect):
            return  # a view asks for all rows between two that have changed
        t, row, rect = self.theme, index.data(ChatListModel.RowRole), QRectF(option.rect)
        painter.save()
        if not row.id:
            self._paint_heading(painter, rect, row, option.rect, index)
            painter.restore()
            return
        box = rect.adjusted(SIDE, 1, 1 - SIDE, -1)  # the window's hairline is the last pixel
        chosen = row.id in self.picked if self.picked else row.id == self.open_id
        if chosen:
            paint_rounded(painter, box, 6, t.color("selected"))
        elif self._hovers(option.rect):
            paint_rounded(painter, box, 6, t.color("hover"))
        spinner = self._end_mark(box)
        painted = self.painted.intersected(option.rect).boundingRect()
        if row.status == "running" and spinner.contains(QRectF(painted)):
            paint_spinner(painter, t, self.view.viewport(), spinner)
            painter.restore()
            return
        self._paint_ring(painter, box, index)
        self._paint_chat(painter, box, row, chosen)
        painter.restore()

    def _hovers(self, place: QRect) -> bool:
        viewport = self.view.viewport()
        return viewport.underMouse() and place.contains(viewport.mapFromGlobal(QCursor.pos()))

    def _paint_ring(self, painter: QPainter, box: QRectF, index: Index) -> None:
        if self.ring and index == self.view.currentIndex():
            paint_row_ring(painter, self.theme, box)

    def _paint_heading(
        self, painter: QPainter, rect: QRectF, row: ChatRow, place: QRect, index: Index
    ) -> None:
        """The name of a section, and a chevron where it is closed or under the mouse."""
        t = self.theme
        box = rect.adjusted(SIDE, t.px(5), 1 - SIDE, -1)
        if self.drop and self.drop == row.section:
            paint_rounded(painter, box, 6, t.color("accent_soft"))
        self._paint_ring(painter, box, index)
        right = box.right() - 10
        if row.closed or self._hovers(place):
            side = t.px(14)
            mark = QRectF(right - side + 2, box.center().y() - side / 2, side, side)
            t.paint_icon(painter, mark, "chevron-right" if row.closed else "chevron-down", "text3")
            right = mark.x() - t.px(4)
        if row.closed:
            text = number(row.count)
            width = t.metrics("tiny").horizontalAdvance(text)
            box_end = QRectF(right - width - 2, box.y(), width + 3, box.height())
            paint_text(painter, t, box_end, text, "tiny digits", "text3")
            right -= width + t.px(6)
        left = box.x() + 10
        words = QRectF(left, box.y(), right - left, box.height())
        paint_text(painter, t, words, row.title, "label", "text3", room=right - left)

    def _paint_chat(self, painter: QPainter, box: QRectF, row: ChatRow, chosen: bool) -> None:
        t = self.theme
        line = t.height(32) - 2 if row.hit is not None else box.height()
        side = t.px(16)
        name = row.session.agent if row.session is not None else ""
        icon = self.agents.get(name, ("message-square", "slate"))[0]
        mark = QRectF(box.x() + 10, box.y() + (line - side) / 2, side, side)
        t.paint_icon(painter, mark, icon, "text1" if chosen else "text2")
        x = mark.right() + t.px(8)
        right = self._paint_end(painter, QRectF(box.x(), box.y(), box.width(), line), row)
        if origin := row.origin[0]:
            small = t.px(14)
            right -= small + t.px(6)
            door = QRectF(right, box.y() + (line - small) / 2, small, small)
            t.paint_icon(painter, door, origin, "text3")
        role = "ui_strong" if row.status == "unread" else "ui_medium" if chosen else "ui"
        room = right - t.px(8) - x
        place = QRectF(x, box.y(), room + 2, line)
        paint_text(painter, t, place, row.title, role, room=room)
        if row.hit is not None:
            under = QRectF(x, box.y() + line - 4, box.right() - 10 - x, box.height() - line)
            self._paint_line(painter, under, row.hit.line)

    def _paint_end(self, painter: QPainter, box: QRectF, row: ChatRow) -> float:
        """Paint what the row's end shows; returns where it begins."""
        t, right, mark = self.theme, box.right() - 10, self._end_mark(box)
        match row.status:
            case "running":
                paint_spinner(painter, t, self.view.viewport(), mark)
            case "waiting":
                t.paint_icon(painter, mark, "shield-question-mark", "warn")
            case "failed":
                t.paint_icon(painter, mark, "circle-alert", "err")
            case "unread":
                dot = QRectF(0, 0, t.px(7), t.px(7))
                dot.moveCenter(QPointF(right - t.px(6), box.center().y()))
                paint_rounded(painter, dot, dot.width() / 2, t.color("accent_text"))
                return dot.x()
            case _:
                if not row.age:
                    return right
                role = "tiny"
                width = t.metrics(f"{role} digits").horizontalAdvance(row.age)
                place = QRectF(right - width - 2, box.y(), width + 3, box.height())
                paint_text(painter, t, place, row.age, f"{role} digits", "text3")
                return right - width
        return mark.x()

    def _end_mark(self, box: QRectF) -> QRectF:
        """The place of a sign at a row's end."""
        side = float(self.theme.px(16))
        return QRectF(box.right() - 9 - side, round(box.center().y() - side / 2), side, side)

    def _paint_line(self, painter: QPainter, place: QRectF, line: str) -> None:
        """The matching line, from a little before the match, the match in strong."""
        t, text = self.theme, " ".join(line.split())
        at = text.lower().find(self.query.lower()) if self.query else -1
        if at > 18:
            text = "…" + text[at - 14 :]
            at = 15
        cut = elided(t.metrics("small"), text, place.width())
        if at < 0:
            parts = [(cut, "small", "text3")]
        else:
            end = at + len(self.query)
            parts = [
                (cut[:at], "small", "text3"),
                (cut[at:end], "small_strong", "text2"),
                (cut[end:], "small", "text3"),
            ]
        painter.setClipRect(place)
        x, base = place.x(), place.y() + t.metrics("small").ascent()
        wide = sum(t.metrics(role).horizontalAdvance(part) for part, role, _ in parts)
        with upright(painter, QRectF(x, place.y(), wide, place.height())):
            for part, role, token in parts:
                painter.setFont(t.font(role))
                painter.setPen(t.color(token))
                painter.drawText(QPointF(x, base), part)
                x += t.metrics(role).horizontalAdvance(part)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = Field(self.theme, parent=parent)
        group = index.data(ChatListModel.RowRole).group
        editor.setAccessibleName(tr("Name of the group") if group else tr("Title of the chat"))
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        assert isinstance(editor, Field)
        editor.setText(str(index.data(Qt.ItemDataRole.EditRole)))
        editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractListModel, index: Index) -> None:
        assert isinstance(editor, Field)
        model.setData(index, editor.text())

    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        place: QRect = option.rect
        editor.setGeometry(place.adjusted(SIDE, 0, -SIDE, 0))
