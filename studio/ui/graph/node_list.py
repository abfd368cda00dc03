"""Node list: the nodes of a graph below each other, with all that the graph shows of them."""

from __future__ import annotations

from typing import Any, cast

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPoint, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import FocusRing, Index, OverlayBar, make_transparent
from studio.ui.widgets.painting import AnimationTimer, paint_text, paint_tile
from studio.ui.widgets.row_list import RowDelegate, paint_row_ground

from .nodes import STATES, Graph, GraphNode
from .painting import paint_state

INDENT = 22
"""Pixels that a node inside of another is set in."""


class _Nodes(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self.graph = Graph()
        self.depths: dict[str, int] = {}

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        return 0 if parent.isValid() else len(self.graph.nodes)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid() or index.row() >= len(self.graph.nodes):
            return None
        node = self.graph.nodes[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return node
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return joined((node.spoken, *self.ways(node)))
        return None

    def ways(self, node: GraphNode) -> list[str]:
        """What a node needs, what needs it, and where it may go back to, in words."""
        titles = {one.id: one.title for one in self.graph.nodes}
        needs = [titles[id] for id in self.graph.needs(node.id) if id in titles]
        then = [titles[id] for id in self.graph.needed_by(node.id) if id in titles]
        found: list[str] = []
        if node.within:
            found.append(tr("inside {step}").format(step=titles[node.within]))
        if needs:
            found.append(tr("needs {steps}").format(steps=", ".join(needs)))
        if then:
            found.append(tr("then {steps}").format(steps=", ".join(then)))
        for way in self.graph.ways_back:
            if way.start == node.id and way.end in titles:
                words = tr("back to {step}, {tries}")
                found.append(words.format(step=titles[way.end], tries=way.label))
        return found

    def show(self, graph: Graph) -> None:
        self.depths = {"": -1}
        for node in graph.nodes:
            self.depths[node.id] = self.depths[node.within] + 1
        same = [one.id for one in graph.nodes] == [one.id for one in self.graph.nodes]
        if same and (graph.edges, graph.ways_back) == (self.graph.edges, self.graph.ways_back):
            before, self.graph = self.graph, graph
            for row, (old, new) in enumerate(zip(before.nodes, graph.nodes, strict=True)):
                if old != new:
                    self.dataChanged.emit(self.index(row), self.index(row))
            return
        self.beginResetModel()
        self.graph = graph
        self.endResetModel()


class _Row(RowDelegate):
    """Tile and title, state and time at the right, what it needs below.

    What stands inside of a node is set in.
    """

    def __init__(self, theme: Theme, nodes: _Nodes) -> None:
        super().__init__(theme)
        self._nodes = nodes

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t = self._theme
        node: GraphNode = index.data(Qt.ItemDataRole.UserRole)
        box = self._box(option.rect)
        paint_row_ground(painter, t, option, box)
        side, depth = t.px(24), self._nodes.depths[node.id]
        tile = QRectF(box.x() + t.px(10 + INDENT * depth), box.center().y() - side / 2, side, side)
        paint_tile(painter, t, tile, node.icon, node.hue)
        top, lower = t.metrics("ui_medium").height(), t.metrics("small").height()
        y = box.center().y() - (top + lower + t.px(1)) / 2
        left, right = tile.right() + t.px(10), box.right() - t.px(10)
        canvas = cast("QListView", option.widget).viewport()
        if node.fold:
            mark = self.fold_mark(option.rect)
            icon = "chevrons-down-up" if node.fold == "open" else "chevrons-up-down"
            t.paint_icon(painter, mark, icon, "text2")
            right = mark.x() - t.px(10)
        end = self._state(painter, QRectF(left, y, right - left, top), node, canvas)
        first = QRectF(left, y, end - left, top)
        paint_text(painter, t, first, node.title, "ui_medium", room=first.width())
        second = QRectF(left, y + top + t.px(1), right - left, lower)
        words = "  ·  ".join(part for part in (node.about, *self._nodes.ways(node)) if part)
        paint_text(painter, t, second, words, "small", "text2", room=second.width())

    def _box(self, rect: QRect) -> QRectF:
        return QRectF(rect).adjusted(self._theme.px(8), 1, -self._theme.px(8), -1)

    def fold_mark(self, rect: QRect) -> QRectF:
        """Where a row has the mark to fold or unfold its node."""
        t, box = self._theme, self._box(rect)
        side = t.px(16)
        return QRectF(box.right() - t.px(10) - side, box.center().y() - side / 2, side, side)

    def _state(self, painter: QPainter, row: QRectF, node: GraphNode, canvas: QWidget) -> float:
        """The state with its icon, and what stands beside the title; returns where they begin."""
        t = self._theme
        words, ink = (tr(STATES[node.state][0]), STATES[node.state][2]) if node.state else ("", "")
        right = row.right()
        if words:
            side = t.px(15)
            mark = QRectF(right - side, row.center().y() - side / 2, side, side)
            paint_state(painter, t, canvas, mark, node)
            right = mark.x() - t.px(6)
        text = "  ".join(part for part in (node.measure, words) if part)
        if not text:
            return right
        width = min(row.width() / 2, t.metrics("small digits").horizontalAdvance(text) + t.px(6))
        place = QRectF(right - width, row.y(), width, row.height())
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, place, text, "small digits", ink or "text2", at_right, width)
        if node.since:
            AnimationTimer.of(t).request_frame(canvas, row.toAlignedRect())
        return place.x() - t.px(8)


class NodeList(QListView):
    """The list twin of ``GraphView``: the same nodes, the same choice."""

    radius = 7
    chosen = Signal(str)
    opened = Signal(str)
    fold_wanted = Signal(str)
    menu_wanted = Signal(str, QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._nodes = _Nodes()
        self.setModel(self._nodes)
        self._row = _Row(theme, self._nodes)
        self.setItemDelegate(self._row)
        self.setMouseTracking(True)
        self.setAccessibleName(tr("Steps. L shows them as a graph"))
        make_transparent(self)
        self._bar = OverlayBar(self)
        self.selectionModel().currentChanged.connect(self._current_changed)
        self.activated.connect(lambda index: self.opened.emit(self._id(index)))
        FocusRing.of(theme).follow(self)
        theme.changed.connect(self.doItemsLayout)

    @property
    def current(self) -> str:
        return self._id(self.currentIndex())

    def show_graph(self, graph: Graph) -> None:
        before = self.current
        self._nodes.show(graph)
        self.choose(before)

    def place_of(self, id: str) -> QPoint:
        """The middle of a node's row in the viewport."""
        return self.visualRect(self._index(id)).center()

    def _index(self, id: str) -> QModelIndex:
        ids = [node.id for node in self._nodes.graph.nodes]
        return self._nodes.index(ids.index(id) if id in ids else -1)

    def choose(self, id: str) -> None:
        if id == self.current:
            return
        self.selectionModel().blockSignals(True)
        self.setCurrentIndex(self._index(id))
        self.selectionModel().blockSignals(False)
        self.viewport().update()

    def _id(self, index: Index) -> str:
        node = index.data(Qt.ItemDataRole.UserRole)
        return node.id if node is not None else ""

    def _current_changed(self, index: QModelIndex) -> None:
        if id := self._id(index):
            self.chosen.emit(id)

    def fold_mark_of(self, index: Index) -> QRect:
        """Where the mark of a row that folds is in the viewport."""
        rect = self.visualRect(index)
        mark = self._row.fold_mark(rect).adjusted(-6, -6, 6, 6).toAlignedRect()
        return QStyle.visualRect(self.layoutDirection(), rect, mark)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = event.position().toPoint()
        index = self.indexAt(place)
        node = index.data(Qt.ItemDataRole.UserRole)
        if node is not None and node.fold and self.fold_mark_of(index).contains(place):
            self.fold_wanted.emit(node.id)
        else:
            super().mousePressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if id := self._id(index):
            place = event.pos() if by_mouse else self.visualRect(index).center()
            self.menu_wanted.emit(id, self.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.text() and event.text().isprintable() and event.key() != Qt.Key.Key_Space:
            event.ignore()  # letters are keys of its page; a list would look for a row with them
        else:
            super().keyPressEvent(event)
