"""A graph is moved through by keys and mouse, and paints only what changed (W-62, W-63, W-67)."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QImage, QPaintEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.graph import pane as pane_module
from studio.ui.graph.nodes import Graph, GraphNode, WayBack
from studio.ui.graph.pane import GraphPane
from studio.ui.graph.view import ZOOMS
from studio.ui.theme import Theme
from studio.ui.widgets.painting import FRAME_MS, AnimationTimer
from support.pixels import pixels
from support.waiting import HANG_MS

Key = Qt.Key
RUN = Graph(
    (
        GraphNode("plan", "Plan", about="Split into parts", aside="0:14", state="done"),
        GraphNode("code", "Code", state="running", since=time.time() - 61),
        GraphNode("read", "Read", state="running", items=(9, 12)),
        GraphNode("test", "Test", state="waiting"),
        GraphNode("ok", "You approve", "hand", gate=True, state="waiting"),
    ),
    (("plan", "code"), ("plan", "read"), ("code", "test"), ("read", "ok"), ("test", "ok")),
    (WayBack("test", "code", "try 2 of 3"),),
)
STILL = replace(RUN, nodes=tuple(replace(node, state="done", since=0.0) for node in RUN.nodes))


@pytest.fixture
def pane(qtbot: QtBot) -> Iterator[GraphPane]:
    theme = Theme("light")
    made = GraphPane(theme)
    qtbot.addWidget(made)
    made.resize(900, 620)
    made.show_graph(RUN)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow, timeout=HANG_MS)
    yield made
    theme.deleteLater()


class Painted(QObject):
    """The areas of a widget that are painted."""

    def __init__(self, watched: QObject) -> None:
        super().__init__(watched)
        self.areas: list[QRect] = []
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.areas.append(event.rect())
        return False


def changed(graph: Graph, id: str, **values: object) -> Graph:
    nodes = [replace(node, **values) if node.id == id else node for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes))


def test_w67_arrows_follow_edges_and_enter_opens(pane: GraphPane) -> None:
    chosen, opened = list[str](), list[str]()
    pane.chosen.connect(chosen.append)
    pane.opened.connect(opened.append)
    pane.view.clearFocus()
    pane.view.setFocus(Qt.FocusReason.TabFocusReason)
    assert pane.current == "plan", "the first step, where a person comes by key"
    ways = [Key.Key_Down, Key.Key_Down, Key.Key_Down, Key.Key_Down, Key.Key_Up]
    for key in (*ways, Key.Key_Up, Key.Key_Right, Key.Key_Left, Key.Key_Up, Key.Key_Return):
        QTest.keyClick(pane.view, key)
    assert chosen == ["plan", "code", "test", "ok", "test", "code", "read", "code", "plan"]
    assert opened == ["plan"]
    assert "Plan" in pane.view.accessibleDescription()


def test_w67_the_list_has_every_step_with_its_state_and_what_it_needs(
    pane: GraphPane, qtbot: QtBot
) -> None:
    pane.view.setFocus()
    QTest.keyClick(pane.view, Key.Key_L)
    assert pane.lists and pane.list.hasFocus()
    rows = [str(pane.list.model().index(row, 0).data()) for row in range(5)]
    assert rows[0] == "Plan, done, 0:14, Split into parts, then Code, Read"
    assert re.fullmatch(r"Code, running, \d+:\d\d, needs Plan, then Test", rows[1])
    assert rows[2] == "Read, running, 9 of 12, needs Plan, then You approve"
    assert rows[3] == "Test, waiting, needs Code, then You approve, back to Code, try 2 of 3"
    QTest.keyClick(pane.list, Key.Key_End)
    opened = list[str]()
    pane.opened.connect(opened.append)
    QTest.keyClick(pane.list, Key.Key_Return)
    QTest.keyClick(pane.list, Key.Key_L)
    assert not pane.lists and pane.view.hasFocus()
    assert pane.current == "ok" and opened == ["ok"]


def test_w67_a_new_state_is_spoken_once(pane: GraphPane, monkeypatch: pytest.MonkeyPatch) -> None:
    spoken: list[tuple[str, bool]] = []
    monkeypatch.setattr(
        pane_module, "announce", lambda _, text, urgent=False: spoken.append((text, urgent))
    )
    now = changed(RUN, "code", state="needs_you")
    for graph in (now, now, changed(now, "read", items=(10, 12)), now):
        pane.show_graph(graph)
    assert spoken == [("Code, needs you", True)]


def test_w63_what_streams_lays_nothing_out_and_idle_paints_nothing(
    pane: GraphPane, qtbot: QtBot
) -> None:
    pane.show_graph(STILL)
    frames = AnimationTimer.of(pane.view.theme)
    qtbot.waitUntil(lambda: not frames.running, timeout=HANG_MS)
    placed, seen = pane.view.placed, Painted(pane.view)
    QTest.qWait(3 * FRAME_MS)
    assert not seen.areas, "nothing is painted while nothing happens"
    for number in range(5):
        pane.show_graph(changed(STILL, "code", about=f"word {number}"))
        QApplication.processEvents()
    assert pane.view.placed is placed
    code = pane.view._area(placed.boxes["code"])
    assert seen.areas and all(code.contains(area) for area in seen.areas)


def test_w63_a_new_step_moves_no_other_to_another_layer(pane: GraphPane) -> None:
    """PRE-37."""
    before = pane.view.placed.boxes
    new = GraphNode("more", "More")
    pane.show_graph(replace(RUN, nodes=(*RUN.nodes, new), edges=(*RUN.edges, ("code", "more"))))
    after = pane.view.placed.boxes
    assert {id: box.layer for id, box in after.items() if id != "more"} == {
        id: box.layer for id, box in before.items()
    }
    assert after["more"].layer == after["test"].layer


def test_w62_zoom_and_moving_by_wheel_keys_and_mouse(pane: GraphPane) -> None:
    view = pane.view
    place = view.place_of("read")
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=place)
    assert pane.current == "read" and pane.list.current == "read"
    wheel(view, place, 120, Qt.KeyboardModifier.ControlModifier)
    assert view.zoom > 1 and (view.place_of("read") - place).manhattanLength() < 3
    before = view.place_of("plan")
    wheel(view, place, -120)
    assert view.place_of("plan").y() < before.y()
    for _ in range(12):
        QTest.keyClick(view, Key.Key_Plus)
    assert view.zoom == ZOOMS[-1]
    for _ in range(12):
        QTest.keyClick(view, Key.Key_Minus)
    assert view.zoom == ZOOMS[0]
    QTest.keyClick(view, Key.Key_Exclam, Qt.KeyboardModifier.ShiftModifier)
    assert all(view.rect().contains(view.place_of(node.id)) for node in RUN.nodes)
    empty = QPoint(5, 5)
    QTest.mousePress(view, Qt.MouseButton.LeftButton, pos=empty)
    start = view.place_of("plan")
    QTest.mouseMove(view, QPoint(45, 25))
    QTest.mouseRelease(view, Qt.MouseButton.LeftButton, pos=QPoint(45, 25))
    assert view.place_of("plan") - start == QPoint(40, 20)


def wheel(
    view: QObject,
    at: QPoint,
    angle: int,
    held: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    none = Qt.MouseButton.NoButton
    place = QPointF(at)
    turn = QPoint(0, angle)
    phase = Qt.ScrollPhase.NoScrollPhase
    QApplication.sendEvent(
        view, QWheelEvent(place, place, QPoint(), turn, none, held, phase, False)
    )


FOLDED = replace(
    RUN,
    nodes=tuple(
        replace(one, fold="folded" if one.id == "test" else "", since=0.0) for one in RUN.nodes
    ),
)
INSIDE = (
    GraphNode("test/unit", "Unit", state="running", within="test"),
    GraphNode("test/all", "All", state="waiting", within="test"),
)
OPEN = replace(
    FOLDED,
    nodes=(
        *FOLDED.nodes[:3],
        replace(FOLDED.nodes[3], fold="open"),
        *INSIDE,
        *FOLDED.nodes[4:],
    ),
    edges=(*FOLDED.edges, ("test/unit", "test/all")),
    ways_back=(*FOLDED.ways_back, WayBack("test/all", "test/unit", "try 1 of 2")),
)


def test_w62_a_node_unfolds_in_place_by_key_and_mouse(
    pane: GraphPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W-67: its head stays where it is seen, the arrows lead through it, the list has it all."""
    spoken = list[str]()
    monkeypatch.setattr(pane_module, "announce", lambda _, text, urgent=False: spoken.append(text))
    view, wanted = pane.view, list[str]()
    pane.show_graph(FOLDED)
    pane.fold_wanted.connect(wanted.append)
    pane.fold_wanted.connect(lambda _: pane.show_graph(OPEN if pane.graph == FOLDED else FOLDED))
    view.setFocus()
    pane.choose("test")
    assert "folded" in view.accessibleDescription()
    spoken.clear()
    before = view.place_of("test")
    QTest.keyClick(view, Key.Key_F)
    assert pane.graph == OPEN and spoken == ["Test, unfolded"]
    seen = view.place_of("test")
    assert abs(seen.x() - before.x()) <= 1 and abs(seen.y() - before.y()) <= 20
    frame = view._area(view.placed.boxes["test"])
    assert all(frame.contains(view._area(view.placed.boxes[one.id])) for one in INSIDE)
    assert view.node_at(QPointF(view.place_of("test/unit"))) == "test/unit"
    below_head = QPointF(frame.left() + 10, view.place_of("test/unit").y())
    assert view.node_at(below_head) == "", "between what stands inside, the graph is moved"
    chosen = list[str]()
    pane.chosen.connect(chosen.append)
    for key in (*[Key.Key_Down] * 3, *[Key.Key_Up] * 4):
        QTest.keyClick(view, key)
    assert chosen == ["test/unit", "test/all", "ok", "test/all", "test/unit", "test", "code"]
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.fold_mark_of("test").center())
    assert pane.graph == FOLDED and pane.current == "code"

    pane.show_list(True)
    rows = pane.list.model()
    index = rows.index(3, 0)
    place = pane.list.fold_mark_of(index).center()
    QTest.mouseClick(pane.list.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert pane.graph == OPEN and pane.list.current == "code"
    assert str(rows.index(4, 0).data()) == "Unit, running, inside Test, then All"
    pane.choose("test/all")
    pane.list.setFocus()
    QTest.keyClick(pane.list, Key.Key_F)
    assert wanted == ["test"] * 4, "from inside the node itself is folded"
    assert pane.graph == FOLDED


def test_w63_news_from_inside_of_a_node_lays_nothing_out(pane: GraphPane) -> None:
    pane.show_graph(OPEN)
    placed = pane.view.placed
    pane.show_graph(changed(OPEN, "test/unit", state="done", about="All good"))
    assert pane.view.placed is placed


def test_w63_a_large_graph_from_afar_takes_few_strokes(pane: GraphPane) -> None:
    """However many edges it has; they still show where the work is."""
    nodes = tuple(GraphNode(f"s{at}", f"Step {at}", state="done") for at in range(120))
    edges = tuple((f"s{at // 3}", f"s{at}") for at in range(1, 120))
    view = pane.view
    pane.show_graph(Graph(nodes, edges))
    view._zoom_to(0.33)
    strokes, looks = list[str](), list[QImage]()

    def count(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__name__", "") == "strokePath":
            strokes.append(event)

    for state in ("done", "running"):
        pane.show_graph(changed(Graph(nodes, edges), "s119", state=state))
        sys.setprofile(count)
        try:
            looks.append(view.grab().toImage())
        finally:
            sys.setprofile(None)
    assert 0 < len(strokes) <= 6
    ink = view.theme.color("accent_text").rgba()
    assert [ink in pixels(look) for look in looks] == [False, True]
