"""Mouse input: hovers, clicks, selects and drags the scroll bar."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QWidget

from studio.ui.transcript.items.base import Hit, Item
from studio.ui.transcript.items.text_item import TextItem
from studio.ui.transcript.viewport import TextPosition, Viewport

from .actions import Actions


class MouseInput:
    """Points, clicks and drags on the stage."""

    def __init__(self, stage: Viewport, actions: Actions, window: QWidget) -> None:
        self._stage = stage
        self._actions = actions
        self._window = window
        """What shows the stage, and the cursor."""
        self._down: QPointF | None = None

    def forget(self) -> None:
        """What was under the mouse is gone."""
        self._down = None

    def hit_at(self, at: QPointF) -> tuple[Item | None, Hit | None, QPointF]:
        """Item and place to click under a point of the viewport; the point in the item."""
        stage = self._stage
        if not stage.canvas.items:
            return None, None, at
        y = at.y() + stage.scroller.value
        index = stage.canvas.at(y)
        item = stage.canvas.items[index]
        inside = QPointF(at.x() - stage.column_left, y - stage.canvas.top(index))
        if isinstance(item, TextItem):
            return item, item.hit(inside.x(), inside.y(), stage.context), inside
        for hit in reversed(item.hits):
            if hit.rect.contains(inside):
                return item, hit, inside
        return item, None, inside

    def place_at(self, at: QPointF) -> TextPosition | None:
        """The place in the text nearest to a point of the viewport."""
        stage = self._stage
        if not stage.canvas.items:
            return None
        y = at.y() + stage.scroller.value
        index = stage.canvas.at(y)
        item = stage.canvas.items[index]
        return index, item.caret(at.x() - stage.column_left, y - stage.canvas.top(index))

    def press(self, event: QMouseEvent) -> None:
        stage, at = self._stage, event.position()
        if stage.pill and stage.pill[1].contains(at):
            stage.follow_pill(stage.pill[0].action)
            return
        bar = stage.scroller.bar
        if bar.most and bar.strip.contains(at):
            thumb = bar.thumb
            inside = thumb.top() <= at.y() <= thumb.bottom()
            bar.grabbed = at.y() - thumb.top() if inside else thumb.height() / 2
            stage.scroll_to(bar.value_at(at.y() - bar.grabbed))
            return
        item, hit, _ = self.hit_at(at)
        stage.focus.item, stage.focus.hit, stage.focus.keyboard = item, None, False
        if hit is not None:
            stage.pressed = hit
        else:
            self._down = at
            place = self.place_at(at)
            extend = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            if place is not None and extend and stage.selection.anchor:
                stage.selection.extend(place)
            elif place is not None:
                stage.selection.begin(place)
        stage.outdated.emit()

    def double_click(self, event: QMouseEvent) -> None:
        """Select the word."""
        stage = self._stage
        place = self.place_at(event.position())
        _, hit, _ = self.hit_at(event.position())
        if place is None or hit is not None:
            self.press(event)
            return
        index, (leaf, position) = place
        leaves = stage.canvas.items[index].leaves
        if leaf < len(leaves):
            low, high = word_at(leaves[leaf].text, position)
            stage.selection.begin((index, (leaf, low)))
            stage.selection.extend((index, (leaf, high)))
            stage.outdated.emit()

    def move(self, event: QMouseEvent) -> None:
        stage, at = self._stage, event.position()
        bar = stage.scroller.bar
        if bar.grabbed is not None:
            stage.scroll_to(bar.value_at(at.y() - bar.grabbed))
        elif self._down is not None:
            beyond = at.y() if at.y() < 0 else max(0.0, at.y() - stage.scroller.height)
            if beyond:
                stage.scroll_by(max(-60.0, min(60.0, beyond)))
            place = self.place_at(at)
            if place is not None and place != stage.selection.head:
                stage.selection.extend(place)
                stage.outdated.emit()
        else:
            self.follow(at)

    def follow(self, at: QPointF) -> None:
        """Hover and cursor for what is under the mouse."""
        stage = self._stage
        bar = stage.scroller.bar
        over_bar = bool(bar.most) and bar.strip.contains(at)
        over_pill = stage.pill is not None and stage.pill[1].contains(at)
        item, hit, inside = (None, None, at) if over_bar or over_pill else self.hit_at(at)
        shape = Qt.CursorShape.ArrowCursor
        if over_pill or hit is not None:
            shape = Qt.CursorShape.PointingHandCursor
        elif item is not None and 0 <= inside.x() <= stage.context.width:
            if item.url(inside.x(), inside.y()):
                shape = Qt.CursorShape.PointingHandCursor
            elif item.over_text(inside.x(), inside.y()):
                shape = Qt.CursorShape.IBeamCursor
        if self._window.cursor().shape() != shape:
            self._window.setCursor(shape)
        same = hit.same(stage.hover) if hit is not None else stage.hover is None
        if not same or (over_bar, over_pill) != (bar.hover, stage.over_pill):
            stage.hover, bar.hover, stage.over_pill = hit, over_bar, over_pill
            stage.outdated.emit()

    def release(self, event: QMouseEvent) -> None:
        stage, at = self._stage, event.position()
        bar = stage.scroller.bar
        if bar.grabbed is not None:
            bar.grabbed = None
            stage.outdated.emit()
            return
        pressed, stage.pressed = stage.pressed, None
        clicked = self._down is not None and not stage.selection
        self._down = None
        item, hit, inside = self.hit_at(at)
        if item is not None and pressed is not None:
            if hit is not None and hit.same(pressed):
                self._actions.do(item, hit)
        elif item is not None and clicked:
            url = item.url(inside.x(), inside.y())
            if url:
                self._actions.link_activated.emit(url)
        stage.outdated.emit()

    def leave(self) -> None:
        stage = self._stage
        stage.hover, stage.over_pill, stage.scroller.bar.hover = None, False, False
        stage.outdated.emit()


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
