"""The mouse over the canvas: hover, click, select, drag the scroll bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent

from .document import TextItem
from .items import Hit, Item
from .selection import Place

if TYPE_CHECKING:
    from .view import TranscriptView


class Mouse:
    """What the mouse is over and what it holds."""

    def __init__(self, view: TranscriptView) -> None:
        self._view = view
        self.hover: Hit | None = None
        self.pressed: Hit | None = None
        self.over_pill = False
        self._down: QPointF | None = None

    def forget(self) -> None:
        """What was under the mouse is gone."""
        self.hover = self.pressed = self._down = None

    def hit_at(self, at: QPointF) -> tuple[Item | None, Hit | None, QPointF]:
        """Item and place to click under a point of the viewport; the point in the item."""
        view = self._view
        if not view.canvas.items:
            return None, None, at
        y = at.y() + view.scroller.value
        index = view.canvas.at(y)
        item = view.canvas.items[index]
        inside = QPointF(at.x() - view.column_left, y - view.canvas.top(index))
        if isinstance(item, TextItem):
            return item, item.hit(inside.x(), inside.y(), view.context), inside
        for hit in reversed(item.hits):
            if hit.rect.contains(inside):
                return item, hit, inside
        return item, None, inside

    def place_at(self, at: QPointF) -> Place | None:
        """The place in the text nearest to a point of the viewport."""
        view = self._view
        if not view.canvas.items:
            return None
        y = at.y() + view.scroller.value
        index = view.canvas.at(y)
        item = view.canvas.items[index]
        return index, item.caret(at.x() - view.column_left, y - view.canvas.top(index))

    def press(self, event: QMouseEvent) -> None:
        view, at = self._view, event.position()
        if view.pill and view.pill[1].contains(at):
            view.follow_pill(view.pill[0].action)
            return
        bar = view.scroller.bar
        if bar.most and bar.strip.contains(at):
            thumb = bar.thumb
            inside = thumb.top() <= at.y() <= thumb.bottom()
            bar.grabbed = at.y() - thumb.top() if inside else thumb.height() / 2
            view.scroll_to(bar.value_at(at.y() - bar.grabbed))
            return
        item, hit, _ = self.hit_at(at)
        view.focus.item, view.focus.hit, view.focus.keyboard = item, None, False
        if hit is not None:
            self.pressed = hit
        else:
            self._down = at
            place = self.place_at(at)
            extend = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if place is not None and extend and view.selection.anchor:
                view.selection.extend(place)
            elif place is not None:
                view.selection.begin(place)
        view.viewport().update()

    def double_click(self, event: QMouseEvent) -> None:
        """Select the word."""
        view = self._view
        place = self.place_at(event.position())
        _, hit, _ = self.hit_at(event.position())
        if place is None or hit is not None:
            self.press(event)
            return
        index, (leaf, position) = place
        leaves = view.canvas.items[index].leaves
        if leaf < len(leaves):
            low, high = word_at(leaves[leaf].text, position)
            view.selection.begin((index, (leaf, low)))
            view.selection.extend((index, (leaf, high)))
            view.viewport().update()

    def move(self, event: QMouseEvent) -> None:
        view, at = self._view, event.position()
        bar = view.scroller.bar
        if bar.grabbed is not None:
            view.scroll_to(bar.value_at(at.y() - bar.grabbed))
        elif self._down is not None:
            beyond = at.y() if at.y() < 0 else max(0.0, at.y() - view.scroller.height)
            if beyond:
                view.scroll_by(max(-60.0, min(60.0, beyond)))
            place = self.place_at(at)
            if place is not None and place != view.selection.head:
                view.selection.extend(place)
                view.viewport().update()
        else:
            self.follow(at)

    def follow(self, at: QPointF) -> None:
        """Hover and cursor for what is under the mouse."""
        view = self._view
        bar = view.scroller.bar
        over_bar = bool(bar.most) and bar.strip.contains(at)
        over_pill = view.pill is not None and view.pill[1].contains(at)
        item, hit, inside = (None, None, at) if over_bar or over_pill else self.hit_at(at)
        shape = Qt.CursorShape.ArrowCursor
        if over_pill or hit is not None:
            shape = Qt.CursorShape.PointingHandCursor
        elif item is not None and 0 <= inside.x() <= view.context.width:
            if item.url(inside.x(), inside.y()):
                shape = Qt.CursorShape.PointingHandCursor
            elif item.over_text(inside.x(), inside.y()):
                shape = Qt.CursorShape.IBeamCursor
        if view.viewport().cursor().shape() != shape:
            view.viewport().setCursor(shape)
        same = hit.same(self.hover) if hit is not None else self.hover is None
        if not same or (over_bar, over_pill) != (bar.hover, self.over_pill):
            self.hover, bar.hover, self.over_pill = hit, over_bar, over_pill
            view.viewport().update()

    def release(self, event: QMouseEvent) -> None:
        view, at = self._view, event.position()
        bar = view.scroller.bar
        if bar.grabbed is not None:
            bar.grabbed = None
            view.viewport().update()
            return
        pressed, self.pressed = self.pressed, None
        clicked = self._down is not None and not view.selection
        self._down = None
        item, hit, inside = self.hit_at(at)
        if item is not None and pressed is not None:
            if hit is not None and hit.same(pressed):
                view.activate(item, hit)
        elif item is not None and clicked:
            url = item.url(inside.x(), inside.y())
            if url:
                view.link_activated.emit(url)
        view.viewport().update()

    def leave(self) -> None:
        self.hover, self.over_pill = None, False
        self._view.scroller.bar.hover = False
        self._view.viewport().update()


def word_at(text: str, position: int) -> tuple[int, int]:
    """Start and end of the word around a place, in UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    size = len(units) // 2

    def inside(at: int) -> bool:
        char = units[2 * at : 2 * at + 2].decode("utf-16-le", "replace")
        return char.isalnum() or char in "_\ufffd"

    low = high = max(0, min(position, size))
    while low > 0 and inside(low - 1):
        low -= 1
    while high < size and inside(high):
        high += 1
    return low, high
