"""Puts widgets in rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, TypeVar

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

from studio.ui.theme.mirroring import put


class Stretch(int):
    """Empty room that grows; the number is its share of what there is."""


STRETCH = Stretch(1)
Part: TypeAlias = QWidget | QLayout | int
"""A number is a space in pixels."""
PlacedPart: TypeAlias = Part | tuple[Part, int | Qt.AlignmentFlag]
"""A part, perhaps with its share of the room or its alignment."""
Margins: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""
NO_MARGINS: Margins = (0, 0, 0, 0)
_Box = TypeVar("_Box", bound=QBoxLayout)


class Folding(Protocol):
    """A control that can do without its words where there is no room for them."""

    @property
    def folded(self) -> bool: ...
    def fold(self, folded: bool) -> None: ...
    def wide_size(self) -> QSize: ...
    def folded_size(self) -> QSize: ...


class FoldingRow(QHBoxLayout):
    """A row in which controls give up their words, in the order of ``folding``."""

    def __init__(self, folding: Sequence[Folding]) -> None:
        super().__init__()
        self.folding = folding

    def setGeometry(self, rect: QRect) -> None:
        if self._fold(rect.width()):
            self.invalidate()
        super().setGeometry(rect)

    def _holds(self, one: Folding) -> bool:
        """Whether a control takes room in the row."""
        items = (self.itemAt(index) for index in range(self.count()))
        return any(
            item is not None and item.widget() is one and not item.isEmpty() for item in items
        )

    def _fold(self, room: int) -> bool:
        """Fold as many as it takes; returns whether one was changed."""
        before = [one.folded for one in self.folding]
        shown = [one for one in self.folding if self._holds(one)]
        wide = self.sizeHint().width() + sum(
            one.wide_size().width() - one.folded_size().width() for one in shown if one.folded
        )
        for one in shown:
            one.fold(wide > room)
            if one.folded:
                wide -= one.wide_size().width() - one.folded_size().width()
        return before != [one.folded for one in self.folding]


class WrappingRow(QWidget):
    """Controls beside each other, on as many lines as they need.

    With ``apart`` the last one stands at the far end, where all are on one line.
    """

    def __init__(
        self, parts: Sequence[QWidget], spacing: int = 8, between: int = 6, *, apart: bool = False
    ) -> None:
        super().__init__()
        self._parts, self._spacing, self._between, self._apart = parts, spacing, between, apart
        for part in parts:
            part.setParent(self)

    def sizeHint(self) -> QSize:
        wide = sum(part.sizeHint().width() + self._spacing for part in self._shown)
        return QSize(max(0, wide - self._spacing), self.height())

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize, QEvent.Type.Show):
            self._place()
        return super().event(event)

    @property
    def _shown(self) -> list[QWidget]:
        return [part for part in self._parts if not part.isHidden()]

    def _place(self) -> None:
        shown, room = self._shown, self.width()
        x = y = line = 0
        for part in shown:
            size = part.sizeHint().boundedTo(QSize(room, 10_000))
            if x and x + size.width() > room:
                x, y, line = 0, y + line + self._between, 0
            put(part, x, y, size.width(), size.height())
            x, line = x + size.width() + self._spacing, max(line, size.height())
        if self._apart and len(shown) > 1 and not y:
            last = shown[-1].size()
            put(shown[-1], room - last.width(), 0, last.width(), last.height())
        if self.height() != y + line:
            self.setFixedHeight(y + line)


def row_of(
    parts: Sequence[PlacedPart] = (),
    spacing: int = -1,
    margins: Margins = NO_MARGINS,
    on: QWidget | None = None,
    *,
    folding: Sequence[Folding] = (),
) -> QHBoxLayout:
    """Parts from left to right, as the contents of the widget ``on`` if there is one.

    The spacing is the style's unless given. Where the row is too narrow the parts in ``folding``
    become icons, in this order.
    """
    return _fill(FoldingRow(folding) if folding else QHBoxLayout(), on, parts, spacing, margins)


def column_of(
    parts: Sequence[PlacedPart] = (),
    spacing: int = -1,
    margins: Margins = NO_MARGINS,
    on: QWidget | None = None,
) -> QVBoxLayout:
    """Parts from top to bottom, see ``row_of``."""
    return _fill(QVBoxLayout(), on, parts, spacing, margins)


def widget_of(layout: QLayout) -> QWidget:
    """A plain widget with this layout."""
    widget = QWidget()
    widget.setLayout(layout)
    return widget


def _fill(
    box: _Box, on: QWidget | None, parts: Sequence[PlacedPart], spacing: int, margins: Margins
) -> _Box:
    if on is not None:
        on.setLayout(box)
    box.setSpacing(spacing)
    box.setContentsMargins(*margins)
    for placed in parts:
        part, place = placed if isinstance(placed, tuple) else (placed, 0)
        if isinstance(part, Stretch):
            box.addStretch(part)
        elif isinstance(part, int):
            box.addSpacing(part)
        elif isinstance(part, QLayout):
            box.addLayout(part, place)
        elif isinstance(place, Qt.AlignmentFlag):
            box.addWidget(part, 0, place)
        else:
            box.addWidget(part, place)
    return box
