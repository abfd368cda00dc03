"""A graph is moved through by keys and mouse, and paints only what changed (W-62, W-63, W-67)."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QPaintEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.ui.graph import pane as pane_module
from studio.ui.graph.nodes import Graph, GraphNode, WayBack
from studio.ui.graph.pane import GraphPane
from studio.ui.graph.view import ZOOMS
from studio.ui.theme import Theme
from studio.ui.widgets.painting import FRAME_MS, AnimationTimer
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
