"""Palette: the box over the window in which a person types what to do or where to go."""

from __future__ import annotations

from PySide6.QtCore import (
    QEasingCurve,
    QEvent,
    QModelIndex,
    QObject,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    QVariantAnimation,
    Signal,
)
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import mirrored_row, put, upright
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import HeadedList, HeadedView, Index
from studio.ui.widgets.painting import (
    PaintedWidget,
    keycaps_width,
    paint_keycaps,
    paint_rounded,
    paint_text,
    paint_tile,
)
from studio.ui.widgets.shadow import paint_shadow

from .entries import GROUPS, Entries, FoundEntry

WIDTH = 620
TOP = 0.16
"""The top edge, as a part of the window's height."""
FADE = 90
"""Milliseconds in which the page behind is dimmed."""
REACH = 24
"""Pixels that the box's shadow goes beyond it."""
FIELD, FOOT, PAD = 51, 37, 8
ROW, HEADING = 36, 26


class ResultList(HeadedList[FoundEntry]):
    """What was found, by groups."""

    def show(self, found: list[FoundEntry]) -> None:
        rows: list[str | FoundEntry] = []
        group = ""
        for one in found:
            if one.entry.group != group:
                group = one.entry.group
                rows.append(tr(GROUPS[group]))
            rows.append(one)
        self.set_rows(rows)

    def describe(self, row: FoundEntry) -> str:
        return joined((row.entry.title, row.entry.detail, row.entry.keys))


class ResultRow(QStyledItemDelegate):
    """Paints an entry with its matching letters strong, and headings."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        entry = isinstance(index.data(ResultList.RowRole), FoundEntry)
        return QSize(100, self._theme.height(ROW if entry else HEADING))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, rect = self._theme, QRectF(option.rect)
        row = index.data(ResultList.RowRole)
        if isinstance(row, str):
            place = rect.adjusted(t.px(18), t.px(4), -t.px(18), 0)
            paint_text(painter, t, place, row, "label", "text2")
            return
        if not isinstance(row, FoundEntry):
            return
        entry = row.entry
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            paint_rounded(painter, rect.adjusted(8, 0, -8, 0), 6, t.color("accent_soft"))
        side = t.px(20 if entry.hue else 16)
        middle = t.px(26)
        mark = QRectF(middle - side / 2, rect.center().y() - side / 2, side, side)
        if entry.hue:
            paint_tile(painter, t, mark, entry.icon, entry.hue)
        else:
            t.paint_icon(painter, mark, entry.icon, "accent_text" if chosen else "text2")
        left, right = float(t.px(46)), rect.right() - t.px(18)
        if entry.keys:
            right -= keycaps_width(t, entry.keys)
            at = QPointF(right, rect.center().y())
            paint_keycaps(painter, t, at, entry.keys)
            right -= t.px(12)
        left += self._paint_title(
            painter, row, QRectF(left, rect.top(), right - left, rect.height())
        )
        place = QRectF(left + t.px(10), rect.top(), right - left - t.px(10), rect.height())
        if place.width() > t.px(30):
            detail = " ".join(entry.detail.split())
            paint_text(painter, t, place, detail, "small", "text2", room=place.width())

    def _paint_title(self, painter: QPainter, row: FoundEntry, place: QRectF) -> float:
        """The title in its place, cut to fit; returns its width."""
        t = self._theme
        text = elided(t.metrics("ui_strong"), " ".join(row.entry.title.split("\n")), place.width())
        x, at = place.x(), 0
        y = place.center().y() + (t.metrics("ui").ascent() - t.metrics("ui").descent()) / 2
        pieces: list[tuple[float, str, str]] = []
        while at < len(text):
            strong, end = at in row.letters, at
            while end < len(text) and (end in row.letters) == strong:
                end += 1
            role = "ui_strong" if strong else "ui"
            pieces.append((x, role, text[at:end]))
            x += t.metrics(role).horizontalAdvance(text[at:end])
            at = end
        painter.setPen(t.color("text1"))
        with upright(painter, QRectF(place.x(), place.y(), x - place.x(), place.height())):
            for left, role, piece in pieces:
                painter.setFont(t.font(role))
                painter.drawText(QPointF(left, round(y)), piece)
        return x - place.x()


class PaletteField(QLineEdit):
    """The field at the top of the box, without a border of its own."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setProperty("plain", True)
        self.setPlaceholderText(tr("Search actions, chats, agents and files"))
        self.setAccessibleName(tr("Search actions, chats, agents and files"))
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        font = self._theme.font("body")
        font.setPixelSize(self._theme.px(16))
        self.setFont(font)


class Palette(PaintedWidget):
    """Covers the window; a click beside the box, Escape or a choice closes it."""

    window_wanted = Signal(str)
    """The id of a chat that is to be shown in a window of its own."""

    def __init__(self, theme: Theme, entries: Entries, window: QWidget) -> None:
        super().__init__(theme, window)
        self.entries, self._window = entries, window
        self._before: QWidget | None = None
        self._dim = 1.0
        self.field = PaletteField(theme, self)
        self.results = ResultList(self)
        self.list = HeadedView(
            self.results, lambda parent: ResultRow(theme, parent), self.field, self
        )
        self.list.setAccessibleName(tr("Results"))
        self.list.clicked.connect(self._clicked)
        self.field.textChanged.connect(self._search)
        self.field.installEventFilter(self)
        window.installEventFilter(self)
        entries.changed.connect(self._refresh)
        theme.changed.connect(self._place)
        theme.changed.connect(self.list.scheduleDelayedItemsLayout)
        self._fade = QVariantAnimation(self, startValue=0.0, endValue=1.0, duration=FADE)
        self._fade.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._fade.valueChanged.connect(self._faded)
        self.hide()

    def open(self, text: str = "") -> None:
        """Show the box; what had the keyboard before gets it back."""
        if self.isHidden():
            self._before = self._window.focusWidget()
        self.field.setText(text)
        self._search()
        self.setGeometry(self._window.rect())
        self._place()
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._dim = 1.0
        if not self.theme.still:
            self._fade.start()

    def close_palette(self) -> None:
        """Hide the box and give the keyboard back."""
        if self.isHidden():
            return
        before, self._before = self._before, None
        self.hide()
        if before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def run(self, *, beside: bool = False) -> None:
        """Do what the chosen line stands for; ``beside`` opens a chat in a window of its own."""
        row = self.list.current
        if row is None:
            return
        self.close_palette()
        self.entries.chosen(row.entry)
        if beside and row.entry.group == "chats":
            self.window_wanted.emit(row.entry.name)
        else:
            row.entry.run()

    # -- list ---------------------------------------------------------------------

    @property
    def _has_chats(self) -> bool:
        rows = self.results.rows
        return any(isinstance(row, FoundEntry) and row.entry.group == "chats" for row in rows)

    def _search(self) -> None:
        self.results.show(self.entries.find(self.field.text()))
        self.list.choose()
        self._place()
        self.update()

    def _refresh(self) -> None:
        """Show what has come; the person's choice stays, if it is another than the first line."""
        entries = [row.entry for row in self.results.rows if isinstance(row, FoundEntry)]
        row = self.list.current
        chosen = row.entry if row is not None and row.entry is not entries[0] else None
        self._search()
        if chosen is not None:
            self.list.choose(lambda one: one.entry.key == chosen.key)

    def _clicked(self, index: QModelIndex) -> None:
        if self.list.choice(index) is not None:
            self.list.setCurrentIndex(index)
            self.run()

    # -- look ---------------------------------------------------------------------

    def _box(self) -> QRect:
        t = self.theme
        width = min(t.px(WIDTH), self.width() - 2 * t.px(24))
        top = round(self.height() * TOP)
        field, foot = t.height(FIELD), t.height(FOOT)
        rows = self.list.rows_height() or t.height(ROW)
        room = self.height() - top - t.px(24) - field - foot - PAD
        tall = min(rows, max(t.height(ROW), min(room, t.px(440))))
        return QRect((self.width() - width) // 2, top, width, field + tall + PAD + foot)

    def _place(self) -> None:
        t, box = self.theme, self._box()
        field, foot = t.height(FIELD), t.height(FOOT)
        esc = keycaps_width(t, "Esc") + t.px(24)
        left = t.px(44)
        put(self.field, box.x() + left, box.y() + 6, box.width() - left - esc, field - 12)
        top = box.y() + field + 1
        put(self.list, box.x(), top, box.width(), box.bottom() + 2 - foot - PAD - top)

    def _faded(self, part: object) -> None:
        self._dim = float(part) if isinstance(part, float) else 1.0
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, box = self.theme, QRectF(self._box())
        scrim = QColor(t.color("scrim"))
        scrim.setAlphaF(scrim.alphaF() * self._dim)
        painter.fillRect(rect, scrim)
        paint_shadow(painter, box, 12, REACH)
        paint_rounded(painter, box, 12, t.color("raised"), t.color("control"))
        field, foot = t.height(FIELD), t.height(FOOT)
        side = t.px(18)
        mark = QRectF(box.x() + t.px(17), box.y() + (field - side) / 2, side, side)
        t.paint_icon(painter, mark, "search", "text2")
        esc = QPointF(box.right() - t.px(16) - keycaps_width(t, "Esc"), box.y() + field / 2)
        paint_keycaps(painter, t, esc, "Esc")
        hair = t.color("hair")
        painter.fillRect(QRectF(box.x() + 1, box.y() + field, box.width() - 2, 1), hair)
        painter.fillRect(QRectF(box.x() + 1, box.bottom() - foot, box.width() - 2, 1), hair)
        if not self.results.rows:
            place = QRectF(self.list.geometry()).adjusted(t.px(18), 0, -t.px(18), 0)
            paint_text(painter, t, place, tr("Nothing found."), "ui", "text2")
        self._paint_foot(painter, QRectF(box.x(), box.bottom() - foot, box.width(), foot))

    def _paint_foot(self, painter: QPainter, foot: QRectF) -> None:
        t = self.theme
        x, middle = foot.x() + t.px(16), foot.center().y()
        hints = [("↑+↓", tr("Move")), ("Enter", tr("Open"))]
        if self._has_chats:
            hints.append(("Ctrl+Enter", tr("Open in new window")))
        for keys, text in hints:
            paint_keycaps(painter, t, QPointF(x, middle), keys)
            x += keycaps_width(t, keys) + t.px(7)
            width = t.metrics("small").horizontalAdvance(text)
            place = QRectF(x, foot.y(), width + 2, foot.height())
            paint_text(painter, t, place, text, "small", "text2")
            x += width + t.px(14)
        entries = sum(isinstance(row, FoundEntry) for row in self.results.rows)
        count = tr_plural("{count} result", "{count} results", entries)
        said = count if self.field.text() else tr("> actions  @ agents, files  # chats")
        right = QRectF(x, foot.y(), foot.right() - t.px(16) - x, foot.height())
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if t.metrics("small").horizontalAdvance(said) <= right.width():
            paint_text(painter, t, right, said, "small", "text2", side)

    # -- keys and mouse -------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self._box().contains(event.position().toPoint()):
            self.close_palette()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window:
            if event.type() == QEvent.Type.Resize and self.isVisible():
                self.setGeometry(self._window.rect())
                self._place()
            return False
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        stays = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
        if (
            isinstance(event, QFocusEvent)
            and event.type() == QEvent.Type.FocusOut
            and event.reason() not in stays
            and self.isVisible()
        ):
            self._before = None  # something else has taken the keyboard
            self.close_palette()
        return False

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.close_palette()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.run(beside=bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
        elif key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.list.move(1 if key == Qt.Key.Key_Tab else -1)
        else:
            return self.list.key(event)
        return True
