"""Graph pane: a graph and its list twin in one place, with one choice; speaks new states."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAccessible, QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import MenuItem
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.roles import give_role

from .node_list import NodeList
from .nodes import FOLDS, STATES, Graph, GraphNode, NodeState
from .view import GraphView

SPOKEN: frozenset[NodeState] = frozenset(
    {"running", "needs_you", "done", "failed", "skipped", "stopped", "unsure"}
)


def fold_item(node: GraphNode) -> MenuItem:
    """The line of a node's menu that unfolds or folds it."""
    open_ = node.fold == "open"
    words, icon = tr("Fold"), "chevrons-down-up"
    if not open_:
        words, icon = tr("Unfold"), "chevrons-up-down"
    return MenuItem("fold", words, icon, "F", enabled=bool(node.fold))


class _Ground(PaintedWidget):
    ground = "canvas"


class GraphPane(QStackedWidget):
    """Shows one of the two; ``L`` changes between them, ``F`` folds and unfolds."""

    chosen = Signal(str)
    """The person chose a node."""
    opened = Signal(str)
    fold_wanted = Signal(str)
    """The person wants to see what stands inside of a node, or not any more."""
    menu_wanted = Signal(str, QPoint)
    turned = Signal()
    """The other of the two is shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        give_role(self, QAccessible.Role.Client)
        self.view, self.list = GraphView(theme), NodeList(theme)
        self._ground = _Ground(theme)
        self._column = column_of([(self.list, 1)], margins=(0, 8, 0, 8), on=self._ground)
        self.addWidget(self.view)
        self.addWidget(self._ground)
        for part, other in ((self.view, self.list), (self.list, self.view)):
            part.chosen.connect(other.choose)
            part.chosen.connect(self.chosen)
            part.opened.connect(self.opened)
            part.fold_wanted.connect(self.fold_wanted)
            part.menu_wanted.connect(self.menu_wanted)

    @property
    def graph(self) -> Graph:
        return self.view.graph

    @property
    def current(self) -> str:
        return self.view.current

    @property
    def lists(self) -> bool:
        return self.currentWidget() is self._ground

    @property
    def shown(self) -> GraphView | NodeList:
        """That of the two which is seen."""
        return self.list if self.lists else self.view

    def take_focus(self, reason: Qt.FocusReason = Qt.FocusReason.OtherFocusReason) -> None:
        self.shown.setFocus(reason)

    def place_of(self, id: str) -> QPoint:
        """Where a node is on the screen; raises KeyError."""
        part = self.list.viewport() if self.lists else self.view
        return part.mapToGlobal(self.shown.place_of(id))

    def add_above_list(self, button: QWidget) -> None:
        """Give the list a button that the graph has too."""
        self._column.insertLayout(0, row_of([button, STRETCH], margins=(12, 4, 12, 8)))

    def show_graph(self, graph: Graph) -> None:
        """Show a graph; what changed of states since is spoken once, and what unfolded."""
        before = {node.id: node for node in self.graph.nodes}
        self.view.show_graph(graph)
        self.list.show_graph(graph)
        for node in graph.nodes:
            old = before.get(node.id)
            if old is None:
                continue
            if old.state != node.state and node.state in SPOKEN:
                words = joined((node.title, tr(STATES[node.state][0])))
                announce(self, words, urgent=node.state == "needs_you")
            if old.fold and node.fold and old.fold != node.fold:
                announce(self, joined((node.title, tr(FOLDS[node.fold]))))

    def choose(self, id: str) -> None:
        self.view.choose(id)
        self.list.choose(self.view.current)

    def show_list(self, wanted: bool) -> None:
        if wanted == self.lists:
            return
        had_focus = self.isAncestorOf(self.focusWidget()) if self.focusWidget() else False
        self.setCurrentWidget(self._ground if wanted else self.view)
        if had_focus:
            self.take_focus()
        self.turned.emit()

    def ask_fold(self) -> None:
        """Fold or unfold the chosen node, or fold the one that it stands inside of."""
        if (node := self.view.node(self.current)) is not None and (node.fold or node.within):
            self.fold_wanted.emit(node.id if node.fold else node.within)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_L and not event.modifiers():
            self.show_list(not self.lists)
            self.take_focus(Qt.FocusReason.TabFocusReason)
        elif event.key() == Qt.Key.Key_F and not event.modifiers():
            self.ask_fold()
        else:
            super().keyPressEvent(event)
