"""Paint style: keeps fonts and colours of the theme at hand and paints small shapes."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from studio.ui.markdown.blocks import Cell
from studio.ui.theme import Theme
from studio.ui.theme.accents import blend

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter
NO_PEN = QPen(Qt.PenStyle.NoPen)


class PaintStyle:
    """Colours, fonts and lengths of one theme state, kept until ``refresh``."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.dead_links: frozenset[str] = frozenset()
        """Addresses in answers that lead nowhere (KZ-8)."""
        self.refresh()

    def refresh(self) -> None:
        """Forget everything: the theme has changed."""
        self._scale = self.theme.scale
        self._colors: dict[str, QColor] = {}
        self._fonts: dict[str, QFont] = {}
        self._metrics: dict[str, QFontMetricsF] = {}
        self.cells: dict[tuple[Cell, bool, int], tuple[float, float]] = {}
        """Widths of cells of tables, in a heading or not, with so many formulas drawn: of the
        longest word, and of all."""
        self.body_line = self.theme.line("body")
        self.code_line = self.theme.px(18)
        self.code_block_line = self.theme.px(20)
        self.canvas_bottom = self.theme.px(46)
        """Room below the last item: for the line that says that a turn works."""

    @property
    def outdated(self) -> bool:
        """Whether the theme has another text size, and ``refresh`` is still to come."""
        return self._scale != self.theme.scale

    def color(self, token: str) -> QColor:
        found = self._colors.get(token)
        if found is None:
            found = self._colors[token] = self.theme.color(token)
        return found

    def over_surface(self, percent: int) -> QColor:
        """What a veil of so many per cent makes of the ground."""
        found = self._colors.get(f"surface {percent}")
        if found is None:
            over, ground = self.theme.overlay(percent), self.color("surface")
            found = QColor(blend(over.rgb() & 0xFFFFFF, over.alphaF(), ground.rgb() & 0xFFFFFF))
            self._colors[f"surface {percent}"] = found
        return found

    def font(self, role: str) -> QFont:
        found = self._fonts.get(role)
        if found is None:
            if role == "tiny_code":
                found = self.theme.font("code")
                found.setPixelSize(max(1, found.pixelSize() - 1))
            else:  # “ui digits”: numbers that change keep their width
                name, _, digits = role.partition(" ")
                found = self.theme.font(name, bool(digits))
            if role in ("code", "tiny_code"):
                found.setFeature(QFont.Tag("calt"), 0)  # "->" is two characters
            self._fonts[role] = found
        return found

    def tint(self, name: str) -> tuple[str | QColor, str | QColor]:
        """Front and back of a tinted tile: ``warn``, ``err``, ``ok`` or ``neutral``."""
        return ("text2", self.color("track")) if name == "neutral" else (name, f"{name}_soft")

    def metrics(self, role: str) -> QFontMetricsF:
        found = self._metrics.get(role)
        if found is None:
            found = self._metrics[role] = QFontMetricsF(self.font(role))
        return found

    def width(self, role: str, text: str) -> float:
        return self.metrics(role).horizontalAdvance(text)

    def px(self, n: float) -> int:
        """A length of the interface at this text size."""
        return round(n * self._scale)

    # -- shapes -----------------------------------------------------------------

    def card(
        self, painter: QPainter, rect: QRectF, fill: str | None, border: str | None, radius: float
    ) -> None:
        """A rounded rectangle; its border lies inside."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if border is None:
            painter.setPen(Qt.PenStyle.NoPen)
        else:
            painter.setPen(QPen(self.color(border), 1))
            rect = rect.adjusted(0.5, 0.5, -0.5, -0.5)
        painter.setBrush(self.color(fill) if fill else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(rect, radius, radius)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def text(
        self,
        painter: QPainter,
        rect: QRectF,
        text: str,
        role: str = "ui",
        color: str | QColor = "text1",
        align: Qt.AlignmentFlag = LEFT,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> float:
        """One line, elided to fit; returns its width."""
        metrics = self.metrics(role)
        width = metrics.horizontalAdvance(text)
        if width > rect.width() + 0.5:
            text = metrics.elidedText(text, elide, rect.width())
            width = metrics.horizontalAdvance(text)
        painter.setFont(self.font(role))
        painter.setPen(self.color(color) if isinstance(color, str) else color)
        if align is LEFT:  # first: to look at a flag makes one
            x = rect.left()
        elif align is RIGHT or align & Qt.AlignmentFlag.AlignRight:
            x = rect.right() - width
        elif align & Qt.AlignmentFlag.AlignHCenter:
            x = rect.center().x() - width / 2
        else:
            x = rect.left()
        y = rect.center().y() + (metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(x, round(y)), text)
        return width

    def hairline(self, painter: QPainter, x: float, y: float, width: float) -> None:
        painter.fillRect(QRectF(x, round(y), width, 1), self.color("hair"))

    def icon(
        self, painter: QPainter, centre: QPointF, name: str, color: str | QColor, size: float = 16
    ) -> None:
        side = self.px(size)
        rect = QRectF(round(centre.x() - side / 2), round(centre.y() - side / 2), side, side)
        self.theme.paint_icon(painter, rect, name, color)

    def tile(
        self,
        painter: QPainter,
        rect: QRectF,
        name: str,
        icon: str | QColor,
        tile: str | QColor,
        size: float,
    ) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self.color(tile) if isinstance(tile, str) else tile)
        painter.drawRoundedRect(rect, 6, 6)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        self.icon(painter, rect.center(), name, icon, size)

    def focus_ring(self, painter: QPainter, rect: QRectF, radius: float = 8) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(self.color("accent_text"), 2))
        painter.drawRoundedRect(rect.adjusted(-3, -3, 3, 3), radius, radius)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
