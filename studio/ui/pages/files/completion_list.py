"""Completion list: the words that may stand at the caret of an editor, below it (W-60)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QRectF, QSize, QStringListModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QListView, QStyleOptionViewItem, QWidget

from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import Index, make_transparent
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text
from studio.ui.widgets.row_list import RowDelegate, paint_row_ground

WIDTH, ROW, PAD = 260, 26, 5
MOST_ROWS = 8
"""Words that are seen at once."""
ENTERS = (Qt.Key.Key_Return, Qt.Key.Key_Enter)
MOVES = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: MOST_ROWS,
    Qt.Key.Key_PageUp: -MOST_ROWS,
}


class _Word(RowDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(ROW, "code"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, box = self._theme, QRectF(option.rect).adjusted(4, 0, -4, 0)
        paint_row_ground(painter, t, option, box, 5)
        words = box.adjusted(t.px(8), 0, -t.px(8), 0)
        paint_text(painter, t, words, str(index.data()).rstrip(), "code", room=words.width())


class CompletionList(PaintedWidget):
    """Lies over the editor, which keeps the keyboard and hands keys on to ``key``."""

    taken = Signal(str)

    def __init__(self, theme: Theme, editor: QWidget) -> None:
        super().__init__(theme, editor)
        self._chosen = False
        """Whether Enter takes the marked word."""
        self._model = QStringListModel(self)
        self.list = QListView()
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Word(theme))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName(tr("Suggestions"))
        self.list.clicked.connect(lambda index: self.taken.emit(str(index.data())))
        make_transparent(self.list)
        column_of([self.list], margins=(1, PAD, 1, PAD), on=self)
        self.hide()

    @property
    def words(self) -> list[str]:
        return self._model.stringList()

    def offer(self, words: Sequence[str], caret: QRect, room: QRect, *, chosen: bool) -> None:
        """Show words below the caret, or above it where there is no room; nothing for none.

        Until one is ``chosen`` Enter begins a new line, as ever.
        """
        self._chosen = chosen
        self._model.setStringList(words)
        self.setVisible(bool(words))
        if not words:
            return
        t = self.theme
        frame = 2 * (PAD + self.list.frameWidth())
        tall = min(len(words), MOST_ROWS) * t.height(ROW, "code") + frame
        wide = min(t.px(WIDTH), room.width())
        x = max(room.left(), min(caret.left() - t.px(8), room.right() - wide))
        below = caret.bottom() + t.px(4)
        y = below if below + tall <= room.bottom() else caret.top() - t.px(4) - tall
        put(self, x, max(room.top(), y), wide, tall)
        self.list.setCurrentIndex(self._model.index(0))
        self.raise_()

    def take(self) -> None:
        """Take the marked word."""
        self.taken.emit(str(self.list.currentIndex().data()))

    def key(self, event: QKeyEvent) -> bool:
        """Do what a key means while words are shown; whether it means something."""
        key = Qt.Key(event.key())
        if self.isHidden() or event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if key in MOVES:
            at = self.list.currentIndex().row() + MOVES[key]
            at = min(max(at, 0), len(self.words) - 1)
            self.list.setCurrentIndex(self._model.index(at))
            self._chosen = True
        elif key in ENTERS and self._chosen:
            self.take()
        elif key == Qt.Key.Key_Escape:
            self.hide()
        else:
            return False
        return True

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, t.px(8), t.color("raised"), t.color("control"))
