"""Accessible text: what a block shows in words, for screen readers, and where each letter is."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QAccessibleTextInterface
from PySide6.QtWidgets import QWidget

from studio.ui.markdown.spoken import SpokenText

from .items.answer_item import TextItem
from .items.base import Hit, Item
from .items.draft_item import DraftItem
from .items.reasoning_item import ReasoningItem
from .items.summary_item import SummaryItem
from .items.tool_item import ToolsItem
from .items.user_item import UserItem
from .text.leaf import Leaf
from .viewport import Viewport

_OPENS = ToolsItem | ReasoningItem | SummaryItem
"""Items whose name leaves out what they show once they are opened."""


class ItemText(QAccessibleTextInterface):
    """The text of an item, to be read by letters, words and lines, also far from the window.

    Qt finds words and lines in it. Nothing is selected here: what is selected in the transcript
    goes across blocks. Offsets count UTF-16 units, places are on the screen.
    """

    def __init__(self, item: Item, viewport: Viewport, widget: QWidget) -> None:
        super().__init__()
        self._item, self._viewport, self._widget = item, viewport, widget
        self._spoken = SpokenText()
        self._made_of: tuple[str, list[Leaf]] | None = None

    def characterCount(self) -> int:
        return self._read().size

    def text(self, startOffset: int, endOffset: int) -> str:
        spoken = self._read()
        return spoken.cut(startOffset, spoken.size if endOffset < 0 else endOffset)

    def characterRect(self, offset: int) -> QRect:
        """Where a character is; its paragraph where that is not laid out."""
        inside, top = self._rect(offset), self._top()
        if top is None:
            return QRect()
        place = inside.translated(QPointF(top)).toAlignedRect()
        return QRect(self._widget.mapToGlobal(place.topLeft()), place.size())

    def offsetAtPoint(self, point: QPoint) -> int:
        top = self._top()
        if top is None:
            return -1
        inside = self._widget.mapFromGlobal(point) - top
        if not QRectF(0, 0, self._viewport.context.width, self._item.height).contains(inside):
            return -1
        return self._read().offset(*self._item.caret(inside.x(), inside.y()))

    def scrollToSubstring(self, startIndex: int, endIndex: int) -> None:
        index = self._viewport.canvas.index(self._item)
        if index is not None:
            self._viewport.reveal(index)
            self._viewport.reveal_hit(index, Hit(self._rect(startIndex), ""))

    def cursorPosition(self) -> int:
        return 0

    def setCursorPosition(self, position: int) -> None:
        self.scrollToSubstring(position, position)

    def selectionCount(self) -> int:
        return 0

    def addSelection(self, startOffset: int, endOffset: int) -> None: ...
    def removeSelection(self, selectionIndex: int) -> None: ...
    def setSelection(self, selectionIndex: int, startOffset: int, endOffset: int) -> None: ...

    def _read(self) -> SpokenText:
        item = self._item
        if isinstance(item, TextItem | UserItem):
            return item.spoken()
        made_of = (item.name, [*item.leaves])
        if made_of != self._made_of:
            self._made_of, self._spoken = made_of, _spoken(item)
        return self._spoken

    def _top(self) -> QPoint | None:
        """The top left corner of the item in the widget; None if the item is gone."""
        index = self._viewport.canvas.index(self._item)
        return None if index is None else self._viewport.place_of(index).topLeft()

    def _rect(self, offset: int) -> QRectF:
        """Where a character is in its item."""
        item, spoken, width = self._item, self._read(), self._viewport.context.width
        piece = spoken.piece(min(max(0, offset), max(0, spoken.size - 1)))
        if piece is None or piece.block >= len(item.leaves):
            return QRectF(0, 0, width, item.height)
        leaf = item.leaves[piece.block]
        if isinstance(item, TextItem):
            corner = QPointF(0, item.leaf_top(piece.block))
        else:
            corner = item.places[piece.block]
        shown = piece.shown_at(min(offset, piece.start + piece.size - 1))
        if rects := leaf.rects(piece.part, *shown):
            return rects[0].translated(corner)
        return QRectF(corner.x(), corner.y(), width, leaf.height)


def _spoken(item: Item) -> SpokenText:
    if isinstance(item, DraftItem):
        return SpokenText(before=f"{item.name}\n{item.source()}")
    shown = [leaf.block for leaf in item.leaves] if isinstance(item, _OPENS) else []
    return SpokenText(shown, before=item.name)
