"""Cards of rows with lines between them, and the icon at the beginning of such a row."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme
from studio.ui.widgets import Card, Hairline
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded
from studio.ui.widgets.thumbnails import paint_image


class IconTile(PaintedWidget):
    """An icon on a small square ground; one of another ``kind`` is ``warn``."""

    def __init__(self, theme: Theme, icon: str, kind: str = "") -> None:
        super().__init__(theme)
        self._icon = icon
        self._picture = QImage()
        self._fill, self._ink = (f"{kind}_soft", kind) if kind else ("track", "text1")
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def set(self, icon: str, picture: QImage | None = None) -> None:
        """Show an icon, or a picture in its place."""
        picture = picture or QImage()
        if (icon, picture) != (self._icon, self._picture):
            self._icon, self._picture = icon, picture
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(26), self.theme.px(26))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, inset = self.theme, self.theme.px(5)
        if not self._picture.isNull():
            paint_image(painter, rect, self._picture, QRectF(self._picture.rect()), t.px(6))
            return
        paint_rounded(painter, rect, 6, t.color(self._fill))
        box = rect.adjusted(inset, inset, -inset, -inset)
        t.paint_icon(painter, box, self._icon, self._ink)


class RowCard(Card):
    """A card of rows with lines between them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "hair")
        self._column = column_of(spacing=0, margins=(14, 0, 14, 0), on=self)

    def set_rows(self, rows: Sequence[QWidget]) -> None:
        """Show these rows; others that were shown are deleted."""
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None and widget not in rows:
                widget.hide()
                widget.deleteLater()
        for index, row in enumerate(rows):
            if index:
                self._column.addWidget(Hairline(self.theme))
            self._column.addWidget(row)
            row.show()
        if self.parentWidget() is not None or not rows:  # else it would be a window of its own
            self.setVisible(bool(rows))
