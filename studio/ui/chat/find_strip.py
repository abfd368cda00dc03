"""Find strip: the line below the header in which a person looks for words in the chat."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.ui.formatting import number
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import put
from studio.ui.transcript.find import Wanted
from studio.ui.transcript.finder import Finder
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Field, IconButton, PaintedButton, plain_tip
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

COLUMN, AVATAR = 680, 36
FIELD = 340
"""The field's width, with the count in it."""


class OptionButton(PaintedButton):
    """A word on a track, raised while the option is on."""

    def __init__(self, theme: Theme, text: str, name: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setCheckable(True)
        self.setText(text)
        self.setToolTip(plain_tip(name))
        self.setAccessibleName(name)

    def sizeHint(self) -> QSize:
        t = self.theme
        return QSize(t.metrics("small").horizontalAdvance(self.text()) + t.px(18), t.px(22))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self.isChecked():
            paint_rounded(painter, rect, 5, t.color("segment"), t.color("control"))
        self.paint_overlay(painter, rect)
        ink = "text1" if self.isChecked() else "text2"
        role = "small_medium" if self.isChecked() else "small"
        paint_text(painter, t, rect, self.text(), role, ink, Qt.AlignmentFlag.AlignCenter)


class CountField(Field):
    """The field for the words; the count of hits stands at its right end."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, tr("Find in chat"), icon="search", parent=parent)
        self._count, self._ink = "", "text2"

    def set_count(self, text: str, ink: str) -> None:
        self._count, self._ink = text, ink
        self.setAccessibleDescription(text)
        width = self.theme.metrics("small").horizontalAdvance(text)
        self.setTextMargins(self.theme.px(22), 0, width + self.theme.px(8) if text else 0, 0)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        place = QRectF(self.rect()).adjusted(0, 0, -self.theme.px(10), 0)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        paint_text(painter, self.theme, place, self._count, "small digits", self._ink, side)
        painter.end()


class FindStrip(PaintedWidget):
    """Field, steps, options and a note on hits in closed rows; 41 pixels."""

    ground = "surface"

    closed = Signal()
    """The person is done; the strip is hidden already."""

    def __init__(self, theme: Theme, finder: Finder, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._finder = finder
        self._note = ""
        self.setAccessibleName(tr("Find in chat"))
        self.field = CountField(theme, self)
        self.above = IconButton(theme, "chevron-up", tr("Previous hit (Shift+Enter)"), parent=self)
        self.below = IconButton(theme, "chevron-down", tr("Next hit (Enter)"), parent=self)
        self.case = OptionButton(theme, tr("Aa"), tr("Match case"), self)
        self.word = OptionButton(theme, tr("Word"), tr("Whole words only"), self)
        self.away = IconButton(theme, "x", tr("Close (Esc)"), parent=self)
        self.field.textChanged.connect(self._search)
        self.case.toggled.connect(self._search)
        self.word.toggled.connect(self._search)
        self.above.clicked.connect(lambda: self.step(-1))
        self.below.clicked.connect(lambda: self.step(1))
        self.away.clicked.connect(self.close_strip)
        finder.updated.connect(self._show_count)
        for part in (self.field, self.above, self.below, self.case, self.word, self.away):
            part.installEventFilter(self)
        theme.changed.connect(self._place)
        self.hide()

    def open(self, text: str = "") -> None:
        """Show the strip with the keyboard in its field; ``text`` is looked for at once."""
        self.show()
        if text:
            self.field.setText(text)
        self._search()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def close_strip(self) -> None:
        self.hide()
        self._finder.clear()
        self.closed.emit()

    def step(self, by: int) -> None:
        self._finder.step(by)

    def _search(self) -> None:
        if not self.isHidden():
            case, whole = self.case.isChecked(), self.word.isChecked()
            self._finder.look_for(Wanted(self.field.text(), case, whole))

    def _show_count(self) -> None:
        finder = self._finder
        if self.isHidden():
            return
        find, total = finder.find, finder.total
        count, ink = "", "text2"
        if find is not None:
            count = tr("{number} of {total}").format(
                number=number(finder.number), total=number(total)
            )
            if not total:
                count = tr("No hits") if find.done else tr("Searching…")
                ink = "err" if find.done else "text2"
        self.field.set_count(count, ink)
        folded = finder.folded if find is not None else 0
        one, many = tr("{count} hit in a folded row"), tr("{count} hits in folded rows")
        self._note = tr_plural(one, many, folded) if folded else ""
        self.above.setEnabled(total > 0)
        self.below.setEnabled(total > 0)
        self.update()

    # -- look -------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(400, self.theme.height(30) + 11)

    def _place(self) -> None:
        """Put the parts in a row that begins where the text's avatars do."""
        px, middle = self.theme.px, (self.height() - 1) / 2
        room = min(px(COLUMN) + px(AVATAR), self.width() - 2 * px(24))
        x = (self.width() - room) // 2
        width = min(px(FIELD), max(px(160), room - px(230)))
        tall = self.theme.height(28)
        put(self.field, x, round(middle - tall / 2), width, tall)
        x += width + px(8)
        for part in (self.above, self.below, self.case, self.word):
            size = part.sizeHint()
            x += px(8) + 2 if part is self.case else 0
            put(part, x, round(middle - size.height() / 2), size.width(), size.height())
            x += size.width()
        self._note_left = x + px(14)
        size = self.away.sizeHint()
        right = self.width() - px(10) - size.width()
        put(self.away, right, round(middle - size.height() / 2), size.width(), size.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        track = QRectF(self.case.geometry() | self.word.geometry()).adjusted(-2, -1, 2, 1)
        paint_rounded(painter, track, 6, t.color("track"))
        room = self.away.x() - t.px(12) - self._note_left
        note = elided(t.metrics("small"), self._note, room) if room > t.px(60) else ""
        place = QRectF(self._note_left, 0, max(0.0, room), rect.height() - 1)
        paint_text(painter, t, place, note, "small", "text2")
        painter.fillRect(0, self.height() - 1, self.width(), 1, t.color("hair"))

    # -- keys ---------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        key, shift = event.key(), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if key == Qt.Key.Key_Escape:
            self.close_strip()
            return True
        if watched is self.field and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.step(-1 if shift else 1)
            return True
        return False
