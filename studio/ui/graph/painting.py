"""Paints nodes and edges of a graph from the theme."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme, elided
from studio.ui.widgets.painting import (
    AnimationTimer,
    paint_rounded,
    paint_spinner,
    paint_tag,
    paint_text,
    paint_tile,
    tag_width,
)

from .layout import Box, Point
from .nodes import AHEAD, STATES, GraphNode, WayBack

NODE, GATE = (208, 60), (196, 40)
"""Width and height in pixels at text size 100 %."""
CARDS = (4, 8)
"""How far the two cards behind a node of many items look out below it."""
HEAD, SIDE = 42, 18
"""Room above what stands inside of an open node, and at its other sides."""
MARK = 15
"""Side of the icons at the right of a node."""
RING = 5
"""How far the ring of the chosen node lies around it, its line included."""
STOP = 16
"""Side of the mark of a breakpoint, at the upper left corner."""
NEARLY = 4
"""How far the ends of a short edge stand apart at most where it is drawn upright."""
BEND = 26
"""How far a way back swings out at the right."""
DETAIL = 0.5
"""The least zoom at which words are painted."""
SOFT: Mapping[str, str] = {
    "running": "accent_soft",
    "done": "ok_soft",
    "failed": "err_soft",
    "needs_you": "warn_soft",
    "unsure": "warn_soft",
}
"""The ground of a small node, by its state."""
MOST_PICTURES = 400
ARROW = QSizeF(9, 7)


def node_size(theme: Theme, node: GraphNode) -> tuple[float, float]:
    """The room that a node takes, with the cards behind it."""
    width, height = GATE if node.gate else NODE
    below = CARDS[1] if node.items is not None else 0
    return theme.px(width), theme.px(height) + theme.px(below)


def rect_of(box: Box) -> QRectF:
    return QRectF(box.x, box.y, box.width, box.height)


def fold_mark(theme: Theme, box: QRectF) -> QRectF:
    """Where a node that folds has the mark to do so: at the right of its title."""
    side, pad = theme.px(MARK), theme.px(12)
    middle = box.y() + theme.px(11) + theme.px(20) / 2
    return QRectF(box.right() - pad - side, middle - side / 2, side, side)


def edge_pieces(points: Sequence[Point]) -> list[QPainterPath]:
    """A line through the points, upright at each of them; it ends where its arrow begins."""
    tip = points[-1][1]
    back = ARROW.height() if tip > points[-2][1] else -ARROW.height()
    pieces: list[QPainterPath] = []
    for (x, y), (to_x, to_y) in pairwise([*points[:-1], (points[-1][0], tip - back)]):
        nearly = len(points) == 2 and abs(x - to_x) < NEARLY
        piece = QPainterPath(QPointF(to_x if nearly else x, y))
        if nearly or abs(x - to_x) < 0.5:
            piece.lineTo(to_x, to_y)
        else:
            middle = (y + to_y) / 2
            piece.cubicTo(x, middle, to_x, middle, to_x, to_y)
        pieces.append(piece)
    return pieces


def arrow_at(tip: QPointF, towards: QPointF) -> QPolygonF:
    """An arrow head with its tip at a point; ``towards`` is its direction, one pixel long."""
    base = tip - towards * ARROW.height()
    aside = QPointF(-towards.y(), towards.x()) * (ARROW.width() / 2)
    return QPolygonF([tip, base + aside, base - aside])


def paint_state(
    painter: QPainter, theme: Theme, canvas: QWidget, mark: QRectF, node: GraphNode
) -> None:
    """The icon of a node's state; what runs asks ``canvas`` for the next frame."""
    _, icon, ink = STATES.get(node.state, ("", "circle", "text2"))
    if node.wrong:
        icon, ink = "circle-alert", "err"
    if icon:
        theme.paint_icon(painter, mark, icon, ink)
    else:
        paint_spinner(painter, theme, canvas, mark, ink)


class NodePainter:
    """Paints nodes on ``canvas``, which it asks for the next frame of what moves.

    What does not move is kept as a picture.
    """

    def __init__(self, theme: Theme, canvas: QWidget) -> None:
        self._theme, self._canvas = theme, canvas
        self._pictures: dict[tuple[GraphNode, bool], tuple[float, QPixmap]] = {}
        """By node and whether it is chosen: the zoom at which it was painted."""
        theme.changed.connect(self._pictures.clear)

    def paint_at(
        self, painter: QPainter, box: QRectF, node: GraphNode, chosen: bool, fresh: bool
    ) -> bool:
        """Paint a node, with its picture if there is one.

        One that was painted at another zoom is good enough unless it has to be ``fresh``.
        Returns whether the node is as sharp as it can be.
        """
        to_device = painter.worldTransform()
        zoom = to_device.m11()
        if node.state == "running" or node.fold == "open" or zoom < DETAIL:
            self.paint(painter, box, node, chosen)
            return True
        around = box.adjusted(-RING - 2, -RING - 2, RING + 2, RING + 2)
        known = self._pictures.get((node, chosen))
        if known is None or (fresh and known[0] != zoom):
            if len(self._pictures) >= MOST_PICTURES:
                self._pictures.clear()
            known = (zoom, self._picture(around, box, node, chosen, zoom))
            self._pictures[node, chosen] = known
        place = to_device.mapRect(around)
        painter.save()
        painter.resetTransform()
        if known[0] == zoom:
            painter.drawPixmap(place.topLeft().toPoint(), known[1])
        else:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawPixmap(place, known[1], QRectF(known[1].rect()))
        painter.restore()
        return known[0] == zoom

    def _picture(
        self, around: QRectF, box: QRectF, node: GraphNode, chosen: bool, zoom: float
    ) -> QPixmap:
        ratio = self._canvas.devicePixelRatioF()
        size = around.size() * zoom
        made = QPixmap(size.toSize() * ratio)
        made.setDevicePixelRatio(ratio)
        made.fill(Qt.GlobalColor.transparent)
        painter = QPainter(made)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(zoom, zoom)
        painter.translate(-around.topLeft())
        self.paint(painter, box, node, chosen)
        painter.end()
        return made

    def paint(self, painter: QPainter, box: QRectF, node: GraphNode, chosen: bool) -> None:
        """A node, at any zoom."""
        t = self._theme
        if node.items is not None:
            box = box.adjusted(0, 0, 0, -t.px(CARDS[1]))
        radius = box.height() / 2 if node.gate else t.px(12 if node.fold == "open" else 9)
        if painter.worldTransform().m11() < DETAIL:
            self._small(painter, box, node, chosen, radius)
            return
        if chosen:
            ring = box.adjusted(-RING, -RING, RING, RING)
            paint_rounded(painter, ring, radius + RING, None, t.color("accent_text"), 2)
        if node.items is not None:
            for down in reversed(CARDS):
                card = box.adjusted(t.px(down), t.px(down), -t.px(down), t.px(down))
                paint_rounded(painter, card, radius, t.color("canvas"), t.color("control"))
        self._ground(painter, box, node, radius)
        if node.gate:
            self._gate(painter, box, node)
        else:
            self._card(painter, box, node)
        if node.stops:
            side = t.px(STOP)
            corner = QRectF(box.x() - RING, box.y() - RING, side, side)
            paint_rounded(painter, corner, side / 2, t.color("canvas"))
            t.paint_icon(painter, corner, "octagon-pause", "text1")

    def _ink(self, node: GraphNode) -> tuple[QColor, float]:
        """Colour and width of the border."""
        t = self._theme
        match node.state:
            case "running":
                return t.color("accent_text"), 1.5
            case "needs_you" | "unsure":
                return t.color("warn"), 1.5
            case "failed":
                return t.color("err"), 1.5
            case _:
                return t.color("err" if node.wrong else "control"), 1.0

    def _ground(self, painter: QPainter, box: QRectF, node: GraphNode, radius: float) -> None:
        ahead = node.state in AHEAD
        dashed = ahead or (node.gate and node.state in ("", "needs_you"))
        fill = self._theme.color("canvas" if ahead else "raised")
        if node.fold == "open":
            fill = self._theme.color("sunken")
        ink, width = self._ink(node)
        if not dashed:
            paint_rounded(painter, box, radius, fill, ink, width)
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(ink, width)
        pen.setDashPattern([4 / width, 3 / width])
        painter.setPen(pen)
        painter.setBrush(fill)
        half = width / 2
        painter.drawRoundedRect(box.adjusted(half, half, -half, -half), radius, radius)
        painter.restore()

    def _card(self, painter: QPainter, box: QRectF, node: GraphNode) -> None:
        t = self._theme
        pad, side = t.px(12), t.px(20)
        ahead = node.state in AHEAD
        upper = QRectF(box.x() + pad, box.y() + t.px(11), box.width() - 2 * pad, side)
        tile = QRectF(upper.x(), upper.y(), side, side)
        painter.setOpacity(0.7 if ahead else 1.0)
        paint_tile(painter, t, tile, node.icon, node.hue)
        painter.setOpacity(1.0)
        row = upper
        if node.fold:
            mark = fold_mark(t, box)
            icon = "chevrons-down-up" if node.fold == "open" else "chevrons-up-down"
            t.paint_icon(painter, mark, icon, "text2")
            row = upper.adjusted(0, 0, mark.x() - t.px(7) - upper.right(), 0)
        right = row.right()
        if not (node.fold and node.state in ("waiting", "queued")):  # their dashes say so
            right = self._state(painter, row, node)
        aside = node.measure
        if aside:
            metrics = t.metrics("ui digits")
            left = tile.right() + t.px(8)
            title = t.metrics("ui_strong").horizontalAdvance(node.title) + t.px(10)
            room = max((right - left) / 2, right - left - title)
            taken = min(metrics.horizontalAdvance(aside) + t.px(4), room)
            words = QRectF(right - taken, upper.y(), taken, side)
            at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            paint_text(painter, t, words, aside, "ui digits", "text2", at_right, taken)
            right = words.x() - t.px(8)
        first = QRectF(tile.right() + t.px(8), upper.y(), 0, side)
        first.setRight(right)
        ink = "text2" if ahead else "text1"
        paint_text(painter, t, first, node.title, "ui_strong", ink, room=first.width())
        if node.fold == "open":
            return
        lower = QRectF(upper.x(), upper.bottom() + t.px(2), upper.width(), t.px(18))
        warns = {"needs_you": "warn", "unsure": "warn", "failed": "err"}
        tone = "err" if node.wrong else warns.get(node.state, "text2")
        paint_text(painter, t, lower, node.about, "small", tone, room=lower.width())
        if node.items is not None and node.items[1]:
            self._bar(painter, box, node.items[0] / node.items[1])

    def _state(self, painter: QPainter, row: QRectF, node: GraphNode) -> float:
        """The icon of the state at the right of a row; returns what is left of it."""
        if not node.state and not node.wrong:
            return row.right()
        side = self._theme.px(MARK)
        mark = QRectF(row.right() - side, row.center().y() - side / 2, side, side)
        paint_state(painter, self._theme, self._canvas, mark, node)
        if node.since:
            area = painter.worldTransform().mapRect(row).toAlignedRect()
            AnimationTimer.of(self._theme).request_frame(self._canvas, area)
        return mark.x() - self._theme.px(7)

    def _bar(self, painter: QPainter, box: QRectF, share: float) -> None:
        t, tall = self._theme, self._theme.px(3)
        track = QRectF(box.x() + t.px(12), box.bottom() - t.px(7), box.width() - t.px(24), tall)
        paint_rounded(painter, track, tall / 2, t.color("track"))
        done = QRectF(track.topLeft(), QSizeF(track.width() * share, tall))
        paint_rounded(painter, done, tall / 2, t.color("accent_text"))

    def _gate(self, painter: QPainter, box: QRectF, node: GraphNode) -> None:
        """An icon and the title, in the middle."""
        t, side, gap = self._theme, self._theme.px(16), self._theme.px(8)
        ink = "err" if node.wrong else "text1"
        if node.state in AHEAD:
            ink = "text2"
        elif node.state == "needs_you":
            ink = "warn"
        room = box.width() - side - gap - 2 * t.px(14)
        width = min(room, t.metrics("ui").horizontalAdvance(node.title) + 1)
        x = box.center().x() - (side + gap + width) / 2
        mark = QRectF(x, box.center().y() - side / 2, side, side)
        if node.wrong or node.state not in ("", *AHEAD):
            paint_state(painter, t, self._canvas, mark, node)
        else:
            t.paint_icon(painter, mark, node.icon, "text2")
        words = QRectF(mark.right() + gap, box.y(), width + 1, box.height())
        paint_text(painter, t, words, node.title, "ui", ink, room=width + 1)

    def _small(
        self, painter: QPainter, box: QRectF, node: GraphNode, chosen: bool, radius: float
    ) -> None:
        """A box in the colour of the state, where words could not be read."""
        t = self._theme
        fill = t.color("err_soft" if node.wrong else SOFT.get(node.state, "raised"))
        ink, width = self._ink(node)
        if chosen:
            ink, width = t.color("accent_text"), 6
        painter.setPen(QPen(ink, max(width, 2)))
        painter.setBrush(fill)
        painter.drawRoundedRect(box, radius, radius)
        if node.fold == "open":
            return  # what stands inside is painted over it
        words = elided(t.metrics("title"), node.title, int(box.width() - 12))
        painter.setFont(t.font("title"))
        painter.setPen(t.color("text1"))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)


def edge_pen(color: QColor, *, dashed: bool, strong: bool) -> QPen:
    pen = QPen(color, 1.75 if strong else 1.5)
    if dashed:
        pen.setDashPattern([3.5, 3])
    return pen


class EdgeShape:
    """An edge as it is painted, in pieces: of a long one few are in sight."""

    def __init__(self, points: Sequence[Point]) -> None:
        pieces = edge_pieces(points)
        self._pieces = [(one, one.controlPointRect().adjusted(-2, -2, 2, 2)) for one in pieces]
        (x, y), before = points[-1], points[-2]
        self._arrow = arrow_at(QPointF(x, y), QPointF(0, 1 if y > before[1] else -1))
        self.bounds = QRectF()
        for _, bounds in self._pieces:
            self.bounds = self.bounds.united(bounds.adjusted(-4, -4, 4, 8))

    def add_to(self, lines: QPainterPath, arrows: QPainterPath) -> None:
        """Add the whole of it to paths that are painted in one go."""
        for piece, _ in self._pieces:
            lines.addPath(piece)
        arrows.addPolygon(self._arrow)

    def paint(
        self, painter: QPainter, seen: QRectF, color: QColor, *, dashed: bool, strong: bool
    ) -> None:
        """Paint what is in sight."""
        pen = edge_pen(color, dashed=dashed, strong=strong)
        for piece, bounds in self._pieces:
            if bounds.intersects(seen):
                painter.strokePath(piece, pen)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawPolygon(self._arrow)


class WayBackShape:
    """An arc at the right of the nodes, from one back to another, and its label."""

    def __init__(self, theme: Theme, way: WayBack, boxes: Iterable[Box], ends: tuple[Box, Box]):
        self.way, self._theme = way, theme
        start, end = ends
        itself = start is end
        low = start.y + start.height / 2 + (theme.px(12) if itself else 0)
        high = end.y + end.height / 2 - (theme.px(12) if itself else 0)
        right = max(start.right, end.right)
        between = [box for box in boxes if end.layer < box.layer < start.layer]
        for box in sorted(between, key=lambda box: box.x):
            if box.x < right + theme.px(BEND) and box.right > right:
                right = box.right
        out = right + theme.px(BEND) * 4 / 3  # where the curve turns it is three quarters there
        tip = QPointF(end.right + 1, high)
        self.path = QPainterPath(QPointF(start.right, low))
        self.path.cubicTo(out, low, out, high, tip.x() + ARROW.height(), high)
        self.arrow = arrow_at(tip, QPointF(-1, 0))
        middle = (low + high) / 2 if itself else start.y - theme.px(20)
        height, width = theme.px(18), tag_width(theme, way.label)
        self.label = QRectF(right + theme.px(BEND) + 8, middle - height / 2, width, height)
        self.bounds = self.path.controlPointRect().united(self.label).adjusted(-6, -6, 6, 6)

    def paint(self, painter: QPainter, *, words: bool) -> None:
        t = self._theme
        ink = t.color("warn")
        painter.strokePath(self.path, QPen(ink, 1.5))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ink)
        painter.drawPolygon(self.arrow)
        if words:
            at = QPointF(self.label.x(), self.label.center().y())
            paint_tag(painter, t, at, self.way.label, "warn")
