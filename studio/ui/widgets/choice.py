"""Controls to choose with: segments, switches, check boxes, and buttons that open a menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QKeyEvent, QPainter
from PySide6.QtWidgets import QButtonGroup, QMenu, QSizePolicy, QWidget

from studio.domain.records import dataclass
from studio.ui.theme import Theme, joined

from .buttons import FoldingButton, PaintedButton
from .layouts import row_of
from .painting import PaintedWidget, centred, paint_check, paint_rounded, paint_text, paint_tile
from .shadow import cast_shadow


class _Segment(FoldingButton):
    radius = 5

    def __init__(
        self, theme: Theme, text: str, icon: str, parent: QWidget, *, marked: bool
    ) -> None:
        super().__init__(theme, parent)
        self._icon, self._marked = icon, marked
        self.setText(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)  # what makes it a radio button for screen readers
        self.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)

    def wide_size(self) -> QSize:
        t = self.theme
        width = t.metrics("small_medium").horizontalAdvance(self.text()) + 2 * t.px(10)
        return QSize(width + self._mark, t.height(28) - 4)

    def folded_size(self) -> QSize:
        t = self.theme
        return QSize(t.px(16) + 2 * t.px(8), t.height(28) - 4)

    @property
    def _mark(self) -> int:
        """Room for the icon before the words."""
        return self.theme.px(14 + 6) if self._marked else 0

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, on = self.theme, self.isChecked()
        if on:
            border = None if t.dark else t.color("hair")
            paint_rounded(painter, rect, self.radius, t.color("segment"), border)
        else:
            self.paint_overlay(painter, rect)
        ink = "text1" if on else "text2"
        if not self.isEnabled():
            painter.setOpacity(0.5)
        if self.folded:
            t.paint_icon(painter, centred(rect, t.px(16)), self._icon, ink)
            return
        width = t.metrics("small_medium").horizontalAdvance(self.text())
        left = (rect.width() - width - self._mark) / 2
        if self._marked:
            mark = centred(QRectF(left, 0, t.px(14), rect.height()), t.px(14))
            t.paint_icon(painter, mark, self._icon, ink)
        words = QRectF(left + self._mark, 0, width + 4, rect.height())
        paint_text(painter, t, words, self.text(), "small_medium", ink)


class Segmented(PaintedWidget):
    """One of a few, side by side. ``chosen`` tells the index a person chose.

    ``name`` says what is chosen, where its words alone do not. With ``icons`` it can be folded:
    they stand for the words then. Where it is ``marked`` they stand before the words, too.
    """

    chosen = Signal(int)

    def __init__(
        self,
        theme: Theme,
        segments: Sequence[str],
        wide: bool = False,
        name: str = "",
        parent: QWidget | None = None,
        *,
        icons: Sequence[str] = (),
        marked: bool = False,
    ) -> None:
        super().__init__(theme, parent)
        self.folded = False
        self.setAccessibleName(name)
        width = QSizePolicy.Policy.Expanding if wide else QSizePolicy.Policy.Maximum
        self.setSizePolicy(width, QSizePolicy.Policy.Fixed)
        row = row_of(spacing=0, margins=(2, 2, 2, 2), on=self)
        self._group = QButtonGroup(self)
        self._segments: list[_Segment] = []
        for index, text in enumerate(segments):
            icon = icons[index] if icons else ""
            segment = _Segment(theme, text, icon, self, marked=marked)
            self._segments.append(segment)
            segment.setAccessibleName(joined((name, text)))
            self._group.addButton(segment, index)
            row.addWidget(segment, 1 if wide else 0)
            segment.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._group.idToggled.connect(self._toggled)
        self.set_current(0)
        self._group.idClicked.connect(self.chosen)

    @property
    def current(self) -> int:
        return self._group.checkedId()

    def set_current(self, index: int) -> None:
        button = self._group.button(index)
        if button is not None:
            button.setChecked(True)

    def set_words(self, index: int, text: str) -> None:
        """Show other words on a segment, such as with a number."""
        segment = self._segments[index]
        if text != segment.text():
            segment.setText(text)
            segment.setAccessibleName(joined((self.accessibleName(), text)))
            segment.updateGeometry()

    def fold(self, folded: bool) -> None:
        self.folded = folded
        for segment in self._segments:
            segment.fold(folded)

    def wide_size(self) -> QSize:
        """The size with words."""
        return self._around([segment.wide_size() for segment in self._segments])

    def folded_size(self) -> QSize:
        """The size with icons alone."""
        return self._around([segment.folded_size() for segment in self._segments])

    @staticmethod
    def _around(sizes: Sequence[QSize]) -> QSize:
        wide, tall = sum(size.width() for size in sizes), max(size.height() for size in sizes)
        return QSize(wide + 4, tall + 4)

    def segment(self, index: int) -> PaintedButton:
        """The button of one segment, to disable it for example."""
        button = self._group.button(index)
        assert isinstance(button, PaintedButton)
        return button

    def _toggled(self, index: int, on: bool) -> None:
        """Tab goes to the chosen one, the arrows to the others."""
        policy = Qt.FocusPolicy.TabFocus if on else Qt.FocusPolicy.NoFocus
        self.segment(index).setFocusPolicy(policy)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_rounded(painter, rect, 6, self.theme.color("track"))


class Toggle(PaintedButton):
    """A switch. Its name is what it switches."""

    radius = 10

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setCheckable(True)
        self.setAccessibleName(name)

    def show_value(self, on: bool) -> None:
        """Show what is set, without the signal that a person's click sends."""
        self.blockSignals(True)
        self.setChecked(on)
        self.blockSignals(False)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(34), max(self.theme.px(20), 20))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        on = self.isChecked()
        painter.setOpacity(1.0 if self.isEnabled() else 0.5)
        fill, line = ("accent", "accent_line") if on else ("strong", "strong")
        paint_rounded(painter, rect, rect.height() / 2, t.color(fill), t.color(line))
        if over := self.overlay():
            paint_rounded(painter, rect, rect.height() / 2, t.color(over))
        side = rect.height() - 4
        x = rect.width() - side - 2 if on else 2
        knob = t.color("accent_on") if on else QColor(Qt.GlobalColor.white)
        paint_rounded(painter, QRectF(x, 2, side, side), side / 2, knob)


class Check(PaintedButton):
    """A check box with words."""

    radius = 4

    def __init__(
        self, theme: Theme, text: str, parent: QWidget | None = None, *, role: str = "ui"
    ) -> None:
        super().__init__(theme, parent)
        self._role = role
        self.setCheckable(True)
        self.setText(text)
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:
        t = self.theme
        width = t.px(16)
        if self.text():
            width += t.px(8) + t.metrics(self._role).horizontalAdvance(self.text()) + 2
        return QSize(width, t.height(24))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        side = t.px(16)
        box = QRectF(0, (rect.height() - side) / 2, side, side)
        paint_check(painter, t, box, self.isChecked(), self.isEnabled())
        words = rect.adjusted(side + t.px(8), 0, 0, 0)
        ink = "text1" if self.isEnabled() else "text3"
        paint_text(painter, t, words, self.text(), self._role, ink)


@dataclass(frozen=True, slots=True)
class MenuItem:
    """One line of a menu. ``detail`` stands at its right; an empty ``key`` heads a section.

    ``checked`` marks a line whatever the menu's current one is. A line with
    ``items`` opens a menu of its own.
    """

    key: str
    text: str
    icon: str = ""
    detail: str = ""
    enabled: bool = True
    checked: bool = False
    items: tuple[MenuItem, ...] = ()


class MenuButton(FoldingButton):
    """A button that shows a choice and opens a menu of others.

    ``chosen`` tells the key a person chose; the button then shows it.
    ``opening`` comes before the menu shows: the place to refresh the items, or, for a button
    without items, to show something else. ``spare_icon`` stands for the words where there is
    no other icon and the button is folded.
    """

    chosen = Signal(str)
    opening = Signal()

    def __init__(
        self,
        theme: Theme,
        name: str,
        text: str = "",
        icon: str = "",
        hue: str = "",
        boxed: bool = False,
        parent: QWidget | None = None,
        *,
        spare_icon: str = "",
    ) -> None:
        super().__init__(theme, parent)
        self._spare_icon = spare_icon
        self._name = name
        self._icon = icon
        self._hue = hue
        self._boxed = boxed
        self._items: list[MenuItem] = []
        self._current = ""
        self._menu: QMenu | None = None
        self._face_is_fixed = False
        if boxed:
            self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_face(text, icon, hue)
        self._face_is_fixed = False
        self.clicked.connect(self.open)

    @property
    def current(self) -> str:
        return self._current

    def set_items(self, items: Sequence[MenuItem]) -> None:
        self._items = list(items)
        if self._current:
            self.set_current(self._current)

    def set_current(self, key: str) -> None:
        self._current = key
        if self._face_is_fixed:
            return
        for item in self._items:
            if item.key == key and key:
                self._show_face(item.text, self._icon if not item.icon else item.icon, self._hue)

    def set_face(self, text: str, icon: str = "", hue: str = "") -> None:
        """Words and icon of the button itself, whatever is chosen in the menu."""
        self._face_is_fixed = True
        self._show_face(text, icon, hue)

    def _show_face(self, text: str, icon: str, hue: str) -> None:
        self.setText(text)
        self._icon, self._hue = icon, hue
        self.setAccessibleName(f"{self._name}, {text}" if text else self._name)
        self.updateGeometry()
        self.update()

    @property
    def _mark(self) -> int:
        """Side of the chevron, in pixels."""
        return self.theme.px(14 if self._boxed else 12)

    def folded_size(self) -> QSize:
        t = self.theme
        return QSize(t.px(16) + self._mark + t.px(4) + 2 * t.px(6), t.height(28))

    def wide_size(self) -> QSize:
        t = self.theme
        role, pad = ("ui", t.px(10)) if self._boxed else ("small_medium", t.px(8))
        width = pad + t.metrics(role).horizontalAdvance(self.text()) + t.px(4) + self._mark + pad
        if self._icon:  # before it there is less, as it is painted: sums of rounded lengths differ
            width += t.px(16) + t.px(6) - (0 if self._boxed else pad - t.px(6))
        if self._boxed:
            return QSize(max(width, t.px(120)), t.height(30))
        return QSize(width, t.height(28))

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), self.theme.px(64)), self.sizeHint().height())

    def open(self) -> None:
        """Open the menu below the button, or above where there is more room."""
        self.opening.emit()
        if not self._items:
            return
        menu = QMenu(self)
        menu.setFont(self.theme.font("ui"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self.theme, self._items, self._pick, self._current)
        if self._boxed:
            menu.setMinimumWidth(self.width())
        menu.aboutToHide.connect(self.find_mouse)
        self._menu = menu
        place = self.mapToGlobal(QPoint(0, self.height() + 4))
        screen = self.screen().availableGeometry()
        height = menu.sizeHint().height()
        if place.y() + height > screen.bottom():
            place = self.mapToGlobal(QPoint(0, -height - 4))
        menu.popup(place)

    def _pick(self, key: str) -> None:
        self.set_current(key)
        self.chosen.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open()
            return
        super().keyPressEvent(event)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self._boxed:
            paint_rounded(painter, rect, self.radius, t.color("button"), t.color("control"))
        self.paint_overlay(painter, rect)
        ink = "text3" if not self.isEnabled() else "text1" if self._boxed else "text2"
        role = "ui" if self._boxed else "small_medium"
        pad = t.px(10 if self._boxed else 6 if self.folded else 8)
        x = float(pad)
        if icon := self._icon or (self._spare_icon if self.folded else ""):
            x = float(pad if self._boxed else t.px(6))
            side = t.px(16)
            box = QRectF(x, (rect.height() - side) / 2, side, side)
            if self._hue:
                paint_tile(painter, t, box, icon, self._hue)
            else:
                t.paint_icon(painter, box.adjusted(1, 1, -1, -1), icon, "text2")
            x += side + t.px(6)
        mark = self._mark
        end = rect.width() - pad - mark
        room = end - t.px(4) - x
        if not self.folded:
            words = QRectF(x, 0, room + 2, rect.height())
            paint_text(painter, t, words, self.text(), role, ink, room=room + 1)
        arrow = "chevrons-up-down" if self._boxed else "chevron-down"
        t.paint_icon(painter, QRectF(end, (rect.height() - mark) / 2, mark, mark), arrow, "text2")


class Combo(MenuButton):
    """A field that is one of a list; as wide as there is room, or ``width`` pixels.

    ``chosen`` gets the key that a person chose.
    """

    def __init__(
        self,
        theme: Theme,
        name: str,
        text: str = "",
        width: int = 0,
        items: Sequence[MenuItem] = (),
        *,
        chosen: Callable[..., object] | None = None,
    ) -> None:
        self._width = width
        super().__init__(theme, name, text, boxed=True)
        self.set_items(items)
        if chosen is not None:
            self.chosen.connect(chosen)
        if width:
            self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def wide_size(self) -> QSize:
        hint = super().wide_size()
        return QSize(self.theme.px(self._width), hint.height()) if self._width else hint


def fill_menu(
    menu: QMenu,
    theme: Theme,
    items: Sequence[MenuItem],
    picked: Callable[[str], None],
    current: str = "",
) -> None:
    """Put ``items`` into ``menu``, which gets a shadow; ``current`` is marked."""
    cast_shadow(menu)
    for item in items:
        if not item.key:
            if menu.actions():
                menu.addSeparator()
            if item.text:
                head = menu.addAction(item.text)
                head.setEnabled(False)
            continue
        words = item.text.replace("&", "&&")
        if item.items:
            fill_menu(menu.addMenu(words), theme, item.items, picked, current)
            continue
        action = QAction(f"{words}\t{item.detail}" if item.detail else words, menu)
        if item.icon:
            action.setIcon(theme.icon(item.icon))
        elif item.checked or (current and item.key == current):
            action.setIcon(theme.icon("check", "accent_text"))
        action.setEnabled(item.enabled)
        action.triggered.connect(lambda _on=False, key=item.key: picked(key))
        menu.addAction(action)
