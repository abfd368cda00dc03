"""The sidebar: chats by date, what their rows say, search, rename, delete."""

from __future__ import annotations

import cProfile
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import cast

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QRect, Qt
from PySide6.QtGui import QAction, QDropEvent, QPaintEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu
from pytestqt.qtbot import QtBot

from studio.domain.sessions import SearchHit, SessionInfo
from studio.ui.inspector.events_page import EventRow
from studio.ui.inspector.history_page import HistoryFacts
from studio.ui.inspector.inspector import Inspector
from studio.ui.inspector.run_page import RunFacts
from studio.ui.pages.registry import PAGES
from studio.ui.sidebar.chat_list_model import ChatListModel, grouped
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.theme import Theme
from studio.ui.transcript.view import FRAME
from studio.ui.widgets.painting import FRAME_MS, AnimationTimer, paint_text
from support.languages import language
from support.waiting import HANG_MS
from support.window import drag_enter

NOW = datetime(2026, 11, 21, 18, 0).timestamp()
HOUR, DAY = 3600.0, 86400.0
AGENTS = {"coder": ("code-xml", "blue")}


def chat(name: str, ago: float, state: str = "done", unread: bool = False) -> SessionInfo:
    when = NOW - ago
    return SessionInfo(
        name, name.title(), "/code", "coder", "p", "m", "ask", when, when, state, unread
    )


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    made = Theme("light")
    made.apply(qapp)
    yield made
    made.set("system")
    made.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def sidebar(theme: Theme, qtbot: QtBot) -> Sidebar:
    made = Sidebar(theme, lambda: NOW)
    qtbot.addWidget(made)
    made.resize(252, 700)
    made.show()
    return made


def shown(sidebar: Sidebar) -> list[str]:
    return [row.title for row in sidebar.chats.chats.rows]


def test_chats_stand_by_date_latest_first() -> None:
    rows = grouped(
        [
            chat("old", 90 * DAY),
            chat("month", 20 * DAY),
            chat("week", 3 * DAY),
            chat("yesterday", DAY),
            chat("now", 60),
            chat("morning", 2 * HOUR),
        ],
        NOW,
    )
    assert [row.title for row in rows] == [
        "Today", "Now", "Morning", "Yesterday", "Yesterday", "Last 7 days", "Week",
        "Last 30 days", "Month", "Older", "Old",
    ]  # fmt: skip
    assert [row.age for row in rows if row.age] == ["1m", "2h"]


def test_a_row_says_one_thing_and_says_it_aloud() -> None:
    rows = grouped(
        [
            chat("a", 1, "waiting", unread=True),
            chat("b", 2, "running"),
            chat("c", 3, "error"),
            chat("d", 4, unread=True),
            chat("e", 2 * HOUR),
        ],
        NOW,
    )[1:]
    assert [row.status for row in rows] == ["waiting", "running", "failed", "unread", "age"]
    assert rows[0].spoken.startswith("A, needs your answer")
    assert rows[4].spoken == "E, 2 h ago"
    assert grouped([chat("f", 0)], NOW)[1].spoken == "F, just now"


def test_pages_keep_their_keys(sidebar: Sidebar) -> None:
    keys = [page.keys for page in PAGES if page.in_sidebar]
    assert keys == ["Ctrl+2", "Ctrl+3", "Ctrl+4", "Ctrl+5"]


def test_a_click_opens_and_one_thing_is_selected(sidebar: Sidebar, qtbot: QtBot) -> None:
    sidebar.set_sessions([chat("a", 1), chat("b", 2)], AGENTS)
    opened: list[str] = []
    sidebar.open_session.connect(opened.append)
    sidebar.select_page("agents")
    index = sidebar.chats.chats.index_of("b")
    place = sidebar.chats.visualRect(index).center()
    qtbot.mouseClick(sidebar.chats.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == ["b"]
    sidebar.select("b")
    assert sidebar.chats.open_id == "b"
    assert "selected" not in sidebar._rows["agents"].accessibleName()
    assert (sidebar.neighbour(-1), sidebar.neighbour(1)) == ("a", "")
    heading = sidebar.chats.visualRect(sidebar.chats.chats.index(0)).center()
    qtbot.mouseClick(sidebar.chats.viewport(), Qt.MouseButton.LeftButton, pos=heading)
    assert opened == ["b"]


def test_the_row_of_a_version_that_waits_stands_for_the_open_one(sidebar: Sidebar) -> None:
    other, behind = chat("a", 1), replace(chat("b", 2, "waiting"), family="f")
    sidebar.set_sessions([other, behind], AGENTS)
    sidebar.select("c", "f")
    assert sidebar.chats.open_id == "b" and sidebar.neighbour(-1) == "a"
    sidebar.set_sessions([other, replace(behind, id="c")], AGENTS)
    assert sidebar.chats.open_id == "c"
    sidebar.select("d")
    assert sidebar.chats.open_id == "d"


def test_new_states_repaint_and_keep_the_rows(sidebar: Sidebar, qtbot: QtBot) -> None:
    resets: list[bool] = []
    sidebar.set_sessions([chat("a", 1), chat("b", 2)], AGENTS)
    sidebar.chats.chats.modelReset.connect(lambda: resets.append(True))
    sidebar.set_sessions([chat("a", 1, "running"), chat("b", 2)], AGENTS)
    assert not resets
    assert sidebar.chats.chats.rows[1].status == "running"
    ticker = AnimationTimer.of(sidebar.theme)
    qtbot.waitUntil(lambda: ticker.running, timeout=HANG_MS)
    sidebar.set_sessions([chat("a", 1), chat("b", 2)], AGENTS)
    qtbot.waitUntil(lambda: not ticker.running, timeout=HANG_MS)


def test_search_filters_as_typed_then_shows_matching_lines(sidebar: Sidebar) -> None:
    sidebar.set_sessions([chat("retry test", 1), chat("notes", 2)], AGENTS)
    asked: list[str] = []
    sidebar.search.connect(asked.append)
    QTest.keyClicks(sidebar.field, "ret")
    assert asked == ["r", "re", "ret"]
    assert shown(sidebar) == ["Retry Test"]
    sidebar.set_hits([SearchHit("notes", "Notes", "we retry twice", "text")])
    assert shown(sidebar) == ["Notes"]
    assert sidebar.chats.chats.rows[0].session is not None
    sidebar.grab()
    sidebar.set_hits([])
    assert shown(sidebar) == []
    sidebar.field.clear()
    assert shown(sidebar) == ["Today", "Retry Test", "Notes"]
    sidebar.set_hits([SearchHit("notes", "Notes", "late", "text")])  # an answer too late
    assert shown(sidebar) == ["Today", "Retry Test", "Notes"]


def test_a_title_is_edited_in_its_row(sidebar: Sidebar, qtbot: QtBot) -> None:
    sidebar.set_sessions([chat("a", 1)], AGENTS)
    sidebar.select("a")
    renamed: list[tuple[str, str]] = []
    opened: list[str] = []
    sidebar.open_session.connect(opened.append)
    sidebar.rename.connect(lambda chat_id, title: renamed.append((chat_id, title)))
    sidebar.edit_title()
    editor = sidebar.chats.viewport().findChild(QLineEdit)
    assert editor is not None and editor.text() == "A"
    editor.setText("  Better  ")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: renamed == [("a", "Better")], timeout=HANG_MS)
    assert sidebar.chats.chats.data(sidebar.chats.chats.index_of("a")) == "Better"
    assert not opened, "Enter ends the writing, and opens nothing"


def rows_of(sidebar: Sidebar) -> list[str]:
    return ["#" + row.title if not row.id else row.id for row in sidebar.chats.chats.rows]


def middle(sidebar: Sidebar, name: str) -> QPoint:
    """The middle of a chat's row, or of the heading “#…”."""
    at = rows_of(sidebar).index(name)
    return sidebar.chats.visualRect(sidebar.chats.chats.index(at)).center()


def click(
    sidebar: Sidebar, name: str, keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    place = middle(sidebar, name)
    QTest.mouseClick(sidebar.chats.viewport(), Qt.MouseButton.LeftButton, keys, place)


def drag(sidebar: Sidebar, ids: list[str], onto: str) -> None:
    """Drop chats on a row."""
    viewport, action = sidebar.chats.viewport(), Qt.DropAction.MoveAction
    model = sidebar.chats.chats
    data = model.mimeData([model.index_of(one) for one in ids])
    left, no = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    place = QPointF(middle(sidebar, onto))

    class Dropped(QDropEvent):
        def source(self) -> QObject:
            return sidebar.chats

    for event in (
        drag_enter(place, data, action),
        Dropped(place, action, data, left, no),
    ):
        if isinstance(event, Dropped):
            sidebar.chats.dropEvent(event)
        else:
            QApplication.sendEvent(viewport, event)


def test_sections_stand_in_order_and_fold(sidebar: Sidebar, qtbot: QtBot) -> None:
    chats = [
        replace(chat("p", 3 * DAY), pinned=True, group_name="Zoo"),
        replace(chat("g", 2), group_name="Zoo"),
        replace(chat("h", 1), group_name="alpha"),
        chat("t", 1),
        chat("o", 90 * DAY),
    ]
    sidebar.set_sessions(chats, AGENTS, archived=2)
    whole = ["#Pinned", "p", "#alpha", "h", "#Zoo", "g", "#Today", "t", "#Older", "o", "#Archived"]
    assert rows_of(sidebar) == whole
    archive = sidebar.chats.chats.rows[-1]
    assert archive.closed and archive.spoken == "Archived, collapsed, 2 chats"
    folded: list[set[str]] = []
    sidebar.chats.folded.connect(lambda: folded.append({*sidebar.chats.closed}))
    click(sidebar, "#Zoo")
    assert rows_of(sidebar) == [name for name in whole if name != "g"]
    assert folded == [{"archived", "group:Zoo"}]
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Right)
    assert rows_of(sidebar) == whole and folded[-1] == {"archived"}
    sidebar.select("t")
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Left)
    assert "t" not in rows_of(sidebar)
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Return)  # on the heading
    assert rows_of(sidebar) == whole

    # A group is renamed in its heading, with all that is in it.
    changed: list[tuple[list[str], object]] = []
    sidebar.chats.arranging.connect(lambda ids, changes: changed.append((ids, changes)))
    sidebar.chats.edit_group("Zoo")
    editor = sidebar.chats.viewport().findChild(QLineEdit)
    assert editor is not None and editor.accessibleName() == "Name of the group"
    editor.setText("Garden")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(changed), timeout=HANG_MS)
    assert changed == [(["p", "g"], {"group_name": "Garden"})]
    drag(sidebar, ["t", "o"], "#Pinned")
    drag(sidebar, ["p"], "h")
    drag(sidebar, ["g"], "t")
    drag(sidebar, ["g"], "#Archived")
    out = {"archived": False, "pinned": False}
    assert changed[1:] == [
        (["t", "o"], {"archived": False, "pinned": True}),
        (["p"], {**out, "group_name": "alpha"}),
        (["g"], {**out, "group_name": ""}),
        (["g"], {"archived": True}),
    ]


def menu_of(sidebar: Sidebar) -> dict[str, QAction]:
    """The lines of the open menu, those of menus in it too, by their words."""
    menu = sidebar.chats.findChild(QMenu)
    assert menu is not None and menu.isVisible()
    return {
        a.text().split("\t")[0]: a for m in (menu, *menu.findChildren(QMenu)) for a in m.actions()
    }


def test_several_chats_are_picked_and_dealt_with_at_once(sidebar: Sidebar) -> None:
    listed = [chat(name, at) for at, name in enumerate("abcde")]
    sidebar.set_sessions([*listed[:4], replace(listed[4], group_name="Zoo")], AGENTS)
    opened: list[str] = []
    said: list[object] = []
    sidebar.open_session.connect(opened.append)
    sidebar.delete.connect(said.append)
    sidebar.chats.arranging.connect(lambda ids, changes: said.append((ids, changes)))
    sidebar.chats.grouping.connect(said.append)
    sidebar.chats.exporting.connect(lambda ids, form: said.append((ids, form)))
    sidebar.chats.undoing.connect(lambda: said.append("undo"))
    shift, ctrl = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
    click(sidebar, "a")
    sidebar.select("a")
    click(sidebar, "c", shift)
    click(sidebar, "b", ctrl)
    assert opened == ["a"] and sidebar.chats.picked == ["a", "c"]
    sidebar.set_sessions([*listed, chat("new", 0)], AGENTS)
    assert sidebar.chats.picked == ["a", "c"], "new rows leave what is picked"
    QTest.keyClick(sidebar.chats, Qt.Key.Key_F10, shift)
    lines = menu_of(sidebar)
    assert "Rename" not in lines
    for words in ("Pin", "New group…", "JSON…", "Archive 2 chats", "Delete 2 chats"):
        lines[words].trigger()
    both = ["a", "c"]
    assert said == [
        (both, {"pinned": True}), both, (both, "json"), (both, {"archived": True}), both,
    ]  # fmt: skip
    click(sidebar, "b")
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Down, shift)
    said.clear()
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Delete)
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Z, ctrl)
    assert said == [["b", "c"], "undo"]
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Escape)
    assert not sidebar.chats.picked


def test_arrows_and_enter_work_in_the_list(sidebar: Sidebar) -> None:
    sidebar.set_sessions([chat("a", 1), chat("b", 2)], AGENTS)
    sidebar.select("a")
    opened: list[str] = []
    sidebar.open_session.connect(opened.append)
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Down)
    QTest.keyClick(sidebar.chats, Qt.Key.Key_Return)
    assert opened == ["b"]


def test_keys_go_on_at_the_next_row_when_a_chat_is_gone(sidebar: Sidebar) -> None:
    view, (a, b, c) = sidebar.chats, (chat("a", 1), chat("b", 2), chat("c", 3))
    sidebar.set_sessions([a, b, c], AGENTS)
    view.setFocus()
    view.setCurrentIndex(view.chats.index_of("b"))
    for left, chosen in (([a, c], ["c"]), ([a], ["a"]), ([], [])):
        sidebar.set_sessions(left, AGENTS)
        assert view.chosen_ids() == chosen
    sidebar.set_sessions([a, b], AGENTS)
    view.setCurrentIndex(view.chats.index(0))
    sidebar.set_sessions([a, b, c], AGENTS)
    assert view.currentIndex().row() == 0, "a heading stays the current row"


def test_places_drafts_and_cost(sidebar: Sidebar) -> None:
    went: list[str] = []
    sidebar.page.connect(went.append)
    sidebar.new_chat.connect(lambda: went.append("new"))
    for row in sidebar._rows.values():
        row.click()
    assert went == ["new", "needs", *(page.key for page in PAGES if page.in_sidebar)]
    sidebar.set_drafts(3)
    assert sidebar._rows["drafts"].accessibleName() == "Drafts, 3 waiting"
    sidebar.set_cost(0.84)
    assert sidebar._cost.isVisible() and sidebar._cost.text() == "$0.84 today"
    with language("de"):
        sidebar.set_cost(0.84)
        assert sidebar._cost.text() == "heute 0,84\N{NO-BREAK SPACE}$"
    sidebar.set_cost(0.0)
    assert not sidebar._cost.isVisible()


def test_an_edited_row_with_an_unknown_agent_still_paints(sidebar: Sidebar) -> None:
    sidebar.set_sessions([replace(chat("a", 1), agent="gone", title="")], AGENTS)
    assert shown(sidebar) == ["Today", "New chat"]
    assert not sidebar.grab().isNull()
    assert sidebar.chats.indexAt(QPoint(30, 45)).data(ChatListModel.RowRole).id == "a"


def test_the_inspector_shows_run_events_and_history(theme: Theme, qtbot: QtBot) -> None:
    inspector = Inspector(theme)
    qtbot.addWidget(inspector)
    inspector.resize(320, 600)
    inspector.show()
    inspector.run.set(RunFacts("running", "Running", "1:12", 14, 9, used=76_200, window=200_000))
    assert inspector.run.accessibleName() == "Running, 1:12, 14 steps, context 76.2k"
    inspector.events.add(EventRow(NOW, "terminal", "Ran pytest", "2.4 s"))
    inspector.history.set(HistoryFacts("anthropic", [{"role": "user", "content": "x" * 9000}]))
    inspector.show_page(2)
    text = inspector.history.text.toPlainText()
    assert "5,000 more characters" in text and len(text) < 5000
    assert not inspector.grab().isNull()


class Painted(QObject):
    """Sums up the pixels that a widget is asked to paint."""

    pixels = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.pixels += sum(rect.width() * rect.height() for rect in regions(event))
        return False


def regions(event: QPaintEvent) -> list[QRect]:
    return list(cast("Iterable[QRect]", event.region()))


def test_spinners_paint_their_own_pixels_and_a_tenth_of_the_frames(
    sidebar: Sidebar, qtbot: QtBot
) -> None:
    assert FRAME_MS >= 10 * 1000 * FRAME
    rows = [chat(f"c{n}", n, "running" if n in (1, 5) else "done") for n in range(12)]
    sidebar.set_sessions(rows, AGENTS)
    ticker, list_ = AnimationTimer.of(sidebar.theme), sidebar.chats
    qtbot.waitUntil(lambda: ticker.running, timeout=HANG_MS)
    painted, texts = Painted(), cProfile.Profile()

    def frame() -> None:
        with qtbot.waitSignal(ticker._timer.timeout, timeout=HANG_MS):
            pass

    frame()
    frame()  # all that the new rows asked for is painted
    list_.viewport().installEventFilter(painted)
    texts.enable()
    for _ in range(5):
        frame()
    texts.disable()
    assert painted.pixels
    side = sidebar.theme.px(16) + 1
    assert painted.pixels <= 6 * 2 * side * side
    words = [one for one in texts.getstats() if one.code is paint_text.__code__]  # type: ignore[attr-defined]
    assert not words, "no title is painted again for a spinner"
