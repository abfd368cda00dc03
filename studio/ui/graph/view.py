"""Graph view: paints a graph, and lets a person move, zoom and choose in it by mouse and keys.

Only what changed is painted again; a new layout is made only where nodes or edges come or go.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QNativeGestureEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip

from studio.ui.formatting import percent
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import FocusRing, IconButton, Label, plain_tip
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded
from studio.ui.widgets.roles import give_role

from .layout import Box, Edge, Gaps, GraphLayout, LayeredGraph
from .nesting import Frame, Nesting
from .node_walk import NodeWalk
from .nodes import AHEAD, Graph, GraphNode, WayBack
from .painting import (
    DETAIL,
    HEAD,
    RING,
    SIDE,
    EdgeShape,
    NodePainter,
    WayBackShape,
    edge_pen,
    fold_mark,
    node_size,
    rect_of,
)

ZOOMS = (0.25, 0.33, 0.5, 0.67, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5)
READABLE = 0.75
"""The least zoom that a graph is first shown in."""
SHARPENING = 0.004
"""Seconds of a frame for the pictures of nodes that were painted at another zoom."""
MARGIN = 28
"""Pixels that are left around the graph."""
NOTHING = GraphLayout({}, {}, frozenset(), (0.0, 0.0, 0.0, 0.0))


class ZoomStrip(PaintedWidget):
    """Smaller, the zoom, larger, and all of it."""

    def __init__(self, theme: Theme, graph: GraphView) -> None:
        super().__init__(theme, graph)
        smaller = IconButton(theme, "minus", tr("Zoom out"), 26, 14)
        larger = IconButton(theme, "plus", tr("Zoom in"), 26, 14)
        fit = IconButton(theme, "maximize", tr("Show all of the graph"), 26, 14)
        smaller.clicked.connect(lambda: graph.zoom_by(-1))
        larger.clicked.connect(lambda: graph.zoom_by(1))
        fit.clicked.connect(graph.fit)
        self.label = Label(theme, percent(1), "small", "text2", digits=True)
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.label.setMinimumWidth(theme.px(40))
        self._row = row_of([smaller, (self.label, 1), larger, 4, fit], 2, (3, 2, 3, 2), on=self)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 8, t.color("raised"), t.color("hair"))


class GraphView(PaintedWidget):
    """A canvas with a graph. One node at most is chosen, and the arrow keys go on from it."""

    ground = "canvas"

    chosen = Signal(str)
    """The person chose a node, by its id."""
    opened = Signal(str)
    """The person wants to see more of a node."""
    fold_wanted = Signal(str)
    """The person wants to see what stands inside of a node, or not any more."""
    linked = Signal(str, str)
    """The person drew an edge from one node to another."""
    menu_wanted = Signal(str, QPoint)
    """The person wants to know what can be done with a node; the place is one of the screen."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        give_role(self, QAccessible.Role.Canvas)
        self.graph = Graph()
        self.placed = NOTHING
        """Where everything stands, at zoom 1."""
        self.current = ""
        """The id of the chosen node; empty if none is."""
        self.zoom = 1.0
        self._origin = QPointF()
        """Where the scene's zero is in the widget."""
        self._own = False
        """Whether the person moved or zoomed: then a new size of the window leaves it as it is."""
        self._nodes: Mapping[str, GraphNode] = {}
        self._edges: dict[Edge, EdgeShape] = {}
        self._from_afar: dict[tuple[bool, bool], tuple[QPainterPath, QPainterPath]] = {}
        """Lines and arrows of edges that look the same, by whether their end runs or is ahead."""
        self._ways: list[WayBackShape] = []
        self._open: list[str] = []
        """The nodes that show what stands inside of them."""
        self._layers: LayeredGraph | None = None
        self._grabbed: QPointF | None = None
        self.editable = False
        """Whether edges can be drawn, with Shift and the mouse."""
        self._link: tuple[str, QPointF] | None = None
        """The node that an edge is drawn from, and where the mouse is."""
        self._painter = NodePainter(theme, self)
        self.strip = ZoomStrip(theme, self)
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self._lay_out_again)
        self.show_graph(Graph())

    # What is shown

    def show_graph(self, graph: Graph) -> None:
        """Show a graph. One with the same nodes and edges is not laid out again."""
        before, old = self.graph, self._nodes
        self.graph = graph
        self._nodes = {node.id: node for node in graph.nodes}
        same = (
            graph.edges == before.edges
            and graph.ways_back == before.ways_back
            and list(old) == list(self._nodes)
            and all(old[id].size_class == node.size_class for id, node in self._nodes.items())
        )
        self._name()
        if not same:
            self._lay_out(before, old)
            return
        for id, node in self._nodes.items():
            if node.state != old[id].state:
                self._from_afar = {}
                self.update()  # its edges too
                return
            if node != old[id]:
                self.update(self._area(self.placed.boxes[id]))

    def choose(self, id: str) -> None:
        """Mark a node, if it is there, and bring it into sight."""
        if id != self.current:
            self.current = id if id in self._nodes else ""
            self._name()
            self.update()
        if self.current:
            self._reveal(self._spot(id))

    def node(self, id: str) -> GraphNode | None:
        return self._nodes.get(id)

    def _name(self) -> None:
        steps = tr_plural("{count} step", "{count} steps", len(self.graph.nodes))
        self.setAccessibleName(tr("Graph, {steps}. L shows it as a list").format(steps=steps))
        node = self._nodes.get(self.current)
        self.setAccessibleDescription(node.spoken if node else "")

    # Layout

    def _lay_out(self, before: Graph, old: Mapping[str, GraphNode]) -> None:
        """Place all nodes; those that are new at the end only beside the others.

        A node that was unfolded or folded stays where it is seen.
        """
        stood, shapes = self.placed, self._edges
        self._place_nodes(before, old)
        boxes = self.placed.boxes
        self._edges = {
            edge: shapes[edge] if stood.routes.get(edge) == points else EdgeShape(points)
            for edge, points in self.placed.routes.items()
        }
        self._from_afar = {}
        self._ways = [
            self._shape(way, boxes)
            for way in self.graph.ways_back
            if way.start in boxes and way.end in boxes
        ]
        self._open = [id for id, node in self._nodes.items() if node.fold == "open"]
        if self.current not in self._nodes:
            self.current = ""
        turned = next(
            (id for id in boxes if id in old and (id in self._open) != (old[id].fold == "open")), ""
        )
        if turned:
            before_it, now = stood.boxes[turned], boxes[turned]
            by = QPointF(before_it.centre - now.centre, before_it.y - now.y)
            self._origin += by * self.zoom
            self._own = True
            self._reveal(now)
        elif not self._own:
            self.show_from_top()
        self.update()

    def _place_nodes(self, before: Graph, old: Mapping[str, GraphNode]) -> None:
        t = self.theme
        within = {node.id: node.within for node in self.graph.nodes}
        new = [node for node in self.graph.nodes if node.id not in old]
        grown = (
            self._layers is not None
            and not any(within.values())
            and list(self._nodes)[: len(old)] == list(old)
            and self.graph.edges[: len(before.edges)] == before.edges
            and all(old[id].size_class == self._nodes[id].size_class for id in old)
            and all(end not in old for _, end in self.graph.edges[len(before.edges) :])
        )
        if grown and self._layers is not None and len(new) <= 20:
            for node in new:
                self._layers.add(node.id, node_size(t, node), self.graph.needs(node.id))
            self.placed = self._layers.layout()
            return
        gaps = Gaps(t.px(36), t.px(36), t.px(14))
        sizes = {node.id: node_size(t, node) for node in self.graph.nodes}
        self._layers = None
        if any(within.values()):
            frame = Frame(t.px(HEAD), t.px(SIDE))
            nesting = Nesting(sizes, within, self.graph.edges, gaps, frame, self._reach)
            self.placed = nesting.layout()
        else:
            self._layers = LayeredGraph(sizes, self.graph.edges, gaps)
            self.placed = self._layers.layout()

    def _shape(self, way: WayBack, boxes: Mapping[str, Box]) -> WayBackShape:
        """A way back around the nodes that stand beside its ends."""
        within = self._nodes[way.start].within
        near = [box for id, box in boxes.items() if self._nodes[id].within == within]
        return WayBackShape(self.theme, way, near, (boxes[way.start], boxes[way.end]))

    def _reach(self, placed: GraphLayout) -> float:
        """How far to the right go the ways back between these nodes."""
        boxes = placed.boxes
        ways = [way for way in self.graph.ways_back if way.start in boxes and way.end in boxes]
        bounds = [self._shape(way, boxes).bounds for way in ways]
        return max([one.right() for one in bounds], default=placed.bounds[2])

    def _lay_out_again(self) -> None:
        """Sizes follow the size of the text."""
        self._layers = None
        self._lay_out(Graph(), {})
        self._place_strip()

    @property
    def bounds(self) -> QRectF:
        """All that is painted, at zoom 1."""
        left, top, right, bottom = self.placed.bounds
        found = QRectF(left, top, right - left, bottom - top)
        for way in self._ways:
            found = found.united(way.bounds)
        return found

    # Moving and zooming

    def fit(self) -> None:
        """Show all of the graph, as large as it can be up to its full size."""
        bounds, margin = self.bounds, 2 * self.theme.px(MARGIN)
        wide = (self.width() - margin) / max(1.0, bounds.width())
        tall = (self.height() - margin) / max(1.0, bounds.height())
        self.zoom = max(ZOOMS[0], min(1.0, wide, tall))
        self._centre(bounds)
        self._own = False
        self._zoomed()

    def show_from_top(self) -> None:
        """As ``fit``, but not so small that it could not be read: then from its top."""
        self.fit()
        if self.zoom < READABLE:
            self.zoom = READABLE
            self._centre(self.bounds)
            self._zoomed()

    def _centre(self, bounds: QRectF) -> None:
        below = self.strip.height() if self.height() > 4 * self.strip.height() else 0
        room = QPointF(self.width() / 2, (self.height() - below) / 2)
        self._origin = room - bounds.center() * self.zoom
        least = self.theme.px(MARGIN)
        if bounds.height() * self.zoom > self.height() - least:
            self._origin.setY(least - bounds.y() * self.zoom)

    def zoom_by(self, steps: int, at: QPointF | None = None) -> None:
        """Larger or smaller, with the point ``at`` of the widget where it is."""
        if steps > 0:
            wanted = next((one for one in ZOOMS if one > self.zoom + 0.005), ZOOMS[-1])
        else:
            wanted = next((one for one in ZOOMS[::-1] if one < self.zoom - 0.005), ZOOMS[0])
        self._zoom_to(wanted, at)

    def _zoom_to(self, wanted: float, at: QPointF | None = None) -> None:
        wanted = min(ZOOMS[-1], max(ZOOMS[0], wanted))
        if at is None:
            box = self.placed.boxes.get(self.current)
            here = self._area(box) if box else QRect()
            at = QPointF(here.center() if here.intersects(self.rect()) else self.rect().center())
        inside = (at - self._origin) / self.zoom
        self.zoom = wanted
        self._origin = at - inside * wanted
        self._own = True
        self._zoomed()

    def _zoomed(self) -> None:
        self.strip.label.setText(percent(self.zoom))
        self.update()

    def pan(self, by: QPointF) -> None:
        """Move the graph; some of it stays in sight."""
        bounds, least = self.bounds, self.theme.px(60)
        origin = self._origin + by
        low, high = bounds.topLeft() * self.zoom, bounds.bottomRight() * self.zoom
        x = min(max(origin.x(), least - high.x()), self.width() - least - low.x())
        y = min(max(origin.y(), least - high.y()), self.height() - least - low.y())
        self._origin = QPointF(x, y)
        self._own = True
        self.update()

    def _reveal(self, box: Box) -> None:
        area, gap = self._area(box), self.theme.px(12)
        room = self.rect().adjusted(gap, gap, -gap, -gap)
        x = y = 0
        if area.left() < room.left() or area.width() > room.width():
            x = room.left() - area.left()
        elif area.right() > room.right():
            x = room.right() - area.right()
        if area.top() < room.top() or area.height() > room.height():
            y = room.top() - area.top()
        elif area.bottom() > room.bottom():
            y = room.bottom() - area.bottom()
        if x or y:
            own = self._own
            self.pan(QPointF(x, y))
            self._own = own

    def _area(self, box: Box) -> QRect:
        """Where a node is in the widget, with its ring."""
        rect = rect_of(box).adjusted(-RING - 1, -RING - 1, RING + 1, RING + 1)
        corner = rect.topLeft() * self.zoom + self._origin
        size = rect.size() * self.zoom
        return QRectF(corner, size).toAlignedRect()

    def _spot(self, id: str) -> Box:
        """Where a node is pointed at: of an open one the head. Raises KeyError."""
        box = self.placed.boxes[id]
        return replace(box, height=self.theme.px(HEAD)) if id in self._open else box

    def place_of(self, id: str) -> QPoint:
        """The middle of a node in the widget; raises KeyError."""
        return self._area(self._spot(id)).center()

    def node_at(self, place: QPointF) -> str:
        """The node at a place of the widget; empty if there is none."""
        at = (place - self._origin) / self.zoom
        x, y = at.x(), at.y()
        for id, box in self.placed.boxes.items():
            bottom = self._spot(id).bottom if id in self._open else box.bottom
            if box.x <= x <= box.right and box.y <= y <= bottom:
                return id
        return ""

    def fold_mark_of(self, id: str) -> QRect:
        """Where the mark of a node that folds is in the widget; raises KeyError."""
        mark = fold_mark(self.theme, rect_of(self.placed.boxes[id]))
        grown = mark.adjusted(*(-5, -5, 5, 5))
        corner = grown.topLeft() * self.zoom + self._origin
        return QRectF(corner, grown.size() * self.zoom).toAlignedRect()

    # Painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self.theme.color(self.ground))
        painter.translate(self._origin)
        painter.scale(self.zoom, self.zoom)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self.zoom >= DETAIL)
        corner = (QPointF(event.rect().topLeft()) - self._origin) / self.zoom
        seen = QRectF(corner, QSizeF(event.rect().size()) / self.zoom)
        for id in self._open:
            if (rect := rect_of(self.placed.boxes[id])).intersects(seen):
                self._painter.paint(painter, rect, self._nodes[id], id == self.current)
        self._paint_edges(painter, seen)
        began, sharp = time.perf_counter(), True
        left, top, right, bottom = seen.left(), seen.top(), seen.right(), seen.bottom()
        for id, box in self.placed.boxes.items():
            if (
                box.x - RING < right
                and box.right + RING > left
                and box.y - RING < bottom
                and box.bottom + RING > top
                and self._nodes[id].fold != "open"
            ):
                fresh = time.perf_counter() - began < SHARPENING
                sharp &= self._painter.paint_at(
                    painter, rect_of(box), self._nodes[id], id == self.current, fresh
                )
        if self._link is not None:
            self._paint_link(painter, *self._link)
        painter.end()
        if not sharp:
            QTimer.singleShot(0, self, self.update)

    def _paint_link(self, painter: QPainter, start: str, place: QPointF) -> None:
        box = self.placed.boxes[start]
        painter.setPen(QPen(self.theme.color("accent_text"), 1.75))
        painter.drawLine(QPointF(box.centre, box.bottom), (place - self._origin) / self.zoom)

    def _paint_edges(self, painter: QPainter, seen: QRectF) -> None:
        t, nodes = self.theme, self._nodes
        idle, active = t.color("control"), t.color("accent_text")
        if self.zoom < DETAIL:
            self._paint_edges_from_afar(painter)
        for (_, end), shape in self._edges.items() if self.zoom >= DETAIL else ():
            if shape.bounds.intersects(seen):
                state = nodes[end].state
                running = state == "running"
                ink = active if running else idle
                shape.paint(painter, seen, ink, dashed=state in AHEAD, strong=running)
        for way in self._ways:
            if way.bounds.intersects(seen):
                way.paint(painter, words=self.zoom >= DETAIL)

    def _paint_edges_from_afar(self, painter: QPainter) -> None:
        """All edges in as many strokes as there are ways to look: most of them are in sight."""
        t = self.theme
        if not self._from_afar:
            for (_, end), shape in self._edges.items():
                state = self._nodes[end].state
                kind = state == "running", state in AHEAD
                shape.add_to(*self._from_afar.setdefault(kind, (QPainterPath(), QPainterPath())))
        for (running, ahead), (lines, arrows) in self._from_afar.items():
            ink = t.color("accent_text" if running else "control")
            painter.strokePath(lines, edge_pen(ink, dashed=ahead, strong=running))
            painter.fillPath(arrows, ink)

    # Mouse

    def mousePressEvent(self, event: QMouseEvent) -> None:
        id = self.node_at(event.position())
        middle = event.button() == Qt.MouseButton.MiddleButton
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        left = event.button() == Qt.MouseButton.LeftButton
        if id and left and not shift and self._folds_at(id, event.position()):
            self.fold_wanted.emit(id)
        elif id and shift and self.editable and not middle:
            self._link = id, event.position()
        elif id and not middle:
            self._choose(id)
        elif event.button() != Qt.MouseButton.RightButton:
            self._grabbed = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._link is not None:
            self._link = self._link[0], event.position()
            self.update()
        elif self._grabbed is not None:
            self.pan(event.position() - self._grabbed)
            self._grabbed = event.position()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        link, self._link, self._grabbed = self._link, None, None
        end = self.node_at(event.position())
        if link is not None:
            self.update()
            if end and end != link[0]:
                self.linked.emit(link[0], end)
        self.unsetCursor()

    def _folds_at(self, id: str, place: QPointF) -> bool:
        seen = bool(self._nodes[id].fold) and self.zoom >= DETAIL
        return seen and self.fold_mark_of(id).contains(place.toPoint())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if not (id := self.node_at(event.position())):
            return
        if self._folds_at(id, event.position()):
            self.fold_wanted.emit(id)  # the second of two quick clicks
        else:
            self.opened.emit(id)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Moves; with Ctrl it zooms at the pointer."""
        angle, pixels = event.angleDelta(), event.pixelDelta()
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._zoom_to(self.zoom * 1.0015 ** angle.y(), event.position())
            return
        by = QPointF(pixels) if not pixels.isNull() else QPointF(angle) / 2
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not by.x():
            by = by.transposed()
        self.pan(by)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QNativeGestureEvent):
            if event.gestureType() == Qt.NativeGestureType.ZoomNativeGesture:
                self._zoom_to(self.zoom * (1 + event.value()), event.position())
                return True
        elif isinstance(event, QHelpEvent):
            node = self._nodes.get(self.node_at(QPointF(event.pos())))
            if node is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), plain_tip(f"{node.title}\n{node.about}"))
            return True
        return super().event(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        id = self.node_at(QPointF(event.pos())) if by_mouse else self.current
        if id:
            place = event.pos() if by_mouse else self.place_of(id)
            self.menu_wanted.emit(id, self.mapToGlobal(place))

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        walk, here = self._walk, self.current
        arrows = {
            Qt.Key.Key_Up: lambda: walk.above(here),
            Qt.Key.Key_Down: lambda: walk.below(here),
            Qt.Key.Key_Left: lambda: walk.beside(here, -1),
            Qt.Key.Key_Right: lambda: walk.beside(here, 1),
        }
        move = arrows.get(Qt.Key(event.key()))
        if move is not None:
            self._choose(move(), spoken=True)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current:
            self.opened.emit(self.current)
        elif event.text() == "+":
            self.zoom_by(1)
        elif event.text() == "-":
            self.zoom_by(-1)
        elif event.key() == Qt.Key.Key_Exclam or (
            event.key() == Qt.Key.Key_1 and event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            self.fit()
        else:
            super().keyPressEvent(event)

    @property
    def _walk(self) -> NodeWalk:
        return NodeWalk(self.graph, self.placed.boxes)

    def _choose(self, id: str, *, spoken: bool = False) -> None:
        """A person's choice."""
        if not id:
            return
        new = id != self.current
        self.choose(id)
        if spoken:
            announce(self, self._nodes[id].spoken)
        if new:
            self.chosen.emit(id)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.current and event.reason() in (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
        ):
            self._choose(self._walk.first())

    # Size

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_strip()
        if not self._own:
            self.show_from_top()

    def _place_strip(self) -> None:
        gap, size = self.theme.px(12), self.strip.sizeHint()
        put(self.strip, gap, self.height() - size.height() - gap, size.width(), size.height())
