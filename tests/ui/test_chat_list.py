"""Chats are archived, grouped, deleted and brought back in the window, and long lists stay light."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from studio.agent.engine import Engine
from studio.domain.sessions import SessionInfo
from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.app.actions import Action
from studio.ui.sidebar.chat_list import ChatList
from studio.ui.sidebar.chat_list_model import ChatRow
from studio.ui.sidebar.controller import PAGE
from studio.ui.theme import Theme
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
PROVIDER = "anthropic"
__all__ = ["alone"]
MANY = 10_000


def chats(person: Person) -> ChatList:
    return person.window.sidebar.chats


def rows(person: Person) -> list[str]:
    return [row.title for row in chats(person).chats.rows]


def editor_of(view: ChatList, title: str) -> QLineEdit | None:
    """The field in which this title is edited; the one before it may still be there."""
    editors = view.viewport().findChildren(QLineEdit)
    return next((editor for editor in editors if editor.text() == title), None)


async def listed(engine: Engine, titles: str) -> None:
    """A chat for each letter, the first the newest."""
    for at, title in enumerate(titles):
        when = time.time() - at
        await engine.store.create(
            SessionInfo(title, title, "/x", "Coder", PROVIDER, "m", "ask", when, when)
        )


@on_window_loop
async def test_chats_are_put_away_and_brought_back(tmp_path: Path) -> None:
    async def prepare(engine: Engine) -> None:
        await listed(engine, "bcd")

    script = [Turn(Text("One."))]
    async with at_window(tmp_path, PROVIDER, script, prepare=prepare) as person:
        person.say("Hello")
        await person.done(1)
        await until(lambda: rows(person) == ["Today", "Hello", "b", "c", "d"])
        view, bar, session = chats(person), person.window.sidebar.undo, person.session
        everything, store = person.window.sidebar.undo.words, person.engine.store

        # Two are deleted at once, the open one among them, and come back with one key.
        person.click(view.viewport(), view.visualRect(view.chats.index_of("b")).center())
        await until(lambda: person.session.info.id == "b")
        person.click(view.viewport(), view.visualRect(view.chats.index(1)).center())
        await until(lambda: person.session.info.id == session.info.id)
        below = view.visualRect(view.chats.index_of("b")).center()
        QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, CTRL, below)
        QTest.keyClick(view, Key.Key_Delete)
        await until(lambda: rows(person) == ["Today", "c", "d"])
        assert bar.isVisible() and everything.text() == "Deleted 2 chats"
        assert person.window.chat.session is None
        assert {one.id for one in await store.bin()} == {session.info.id, "b"}
        QTest.keyClick(view, Key.Key_Z, CTRL)
        await until(lambda: rows(person) == ["Today", "Hello", "b", "c", "d"])
        assert not bar.isVisible() and not await store.bin()

        # A title that the person wrote is theirs.
        view.setCurrentIndex(view.chats.index_of("b"))
        person.window.sidebar.edit_title()
        editor = await until(lambda: editor_of(view, "b"))
        editor.setText("Bee")
        QTest.keyClick(editor, Key.Key_Return)
        await until(lambda: "Bee" in rows(person))

        # A new group is named at once; its state is kept.
        view.grouping.emit(["c", "d"])
        editor = await until(lambda: editor_of(view, "New group"))
        editor.setText("Zoo")
        QTest.keyClick(editor, Key.Key_Return)
        await until(lambda: rows(person) == ["Zoo", "c", "d", "Today", "Hello", "Bee"])
        view.fold("group:Zoo", closed=True)
        view.arranging.emit(["b"], {"archived": True})
        await until(lambda: rows(person) == ["Zoo", "Today", "Hello", "Archived"])
        await until(lambda: everything.text() == "Archived 1 chat")
        assert view.chats.rows[-1].count == 1

        # Of the archive as of others: opened, exported, found.
        view.fold("archived", closed=False)
        await until(lambda: rows(person)[-2:] == ["Archived", "Bee"])
        view.exporting.emit(["b"], "json")
        box = await until(lambda: person.window.findChild(QFileDialog))
        box.fileSelected.emit(str(tmp_path / "b.json"))
        box.close()
        await until(lambda: everything.text().startswith("1 chat is in"))
        written = json.loads((tmp_path / "b.json").read_text())
        assert [one["title"] for one in written["conversations"]] == ["Bee"]
        undo = QKeySequence(QKeySequence.StandardKey.Undo)
        assert bar.undo.toolTip() == undo.toString(QKeySequence.SequenceFormat.NativeText)

        # Without a sidebar the page says it, also in its own colour.
        window = person.window
        window.sides.show_sidebar(False)
        view.exporting.emit(["c", "d"], "md")
        box = window.findChildren(QFileDialog)[-1]
        box.fileSelected.emit(str(tmp_path / "two.md"))
        box.close()
        await until(lambda: window.banner.text.startswith("2 chats are in"))
        assert "two.md" in window.banner.text
        assert window.banner.grab().toImage().pixelColor(1, 2) == person.window.theme.color(
            "ok_soft"
        )
        window.sides.show_sidebar(True)
        view.fold("archived", closed=True)
        person.window.sidebar.field.setText("bee")
        await until(lambda: rows(person) == ["Bee"] and view.chats.rows[0].session is not None)
    async with at_window(tmp_path, PROVIDER, [Turn(Text("Yes."))]) as person:
        await until(lambda: rows(person) == ["Zoo", "Today", "Hello", "Archived"])
        (bee,) = await person.engine.store.some(["b"])
        assert (bee.titled_by, bee.archived) == ("person", True)

        # Who writes in a chat of the archive has it in the list again.
        person.window.open_session("b")
        await until(lambda: person.window.chat.session and person.session.info.id == "b")
        person.composer.setFocus()
        person.say("Back again")
        await person.done()
        await until(lambda: rows(person) == ["Zoo", "Today", "Bee", "Hello"])
        (bee,) = await person.engine.store.some(["b"])
        assert not bee.archived and not person.session.info.archived


@on_window_loop
async def test_the_file_of_a_chat_whose_row_is_folded_has_its_title(tmp_path: Path) -> None:
    async with at_window(tmp_path, PROVIDER, [Turn(Text("Yes."))]) as person:
        person.say("Is it ready?")
        await person.done()
        chats(person).fold("today", closed=True)
        person.window.menu_actions.by_action[Action.EXPORT_CHAT].trigger()
        box = await until(lambda: person.window.findChild(QFileDialog))
        assert box.selectedFiles() == [str(Path.home() / "Is it ready.md")]
        box.close()


@on_window_loop
async def test_a_chat_gets_a_title_in_the_list(tmp_path: Path) -> None:
    script = [Turn(Text("One.")), Turn(Text("Plants and light"))]

    def setup(settings: SettingsFile) -> None:
        settings.values.write_titles = True

    async with at_window(tmp_path, PROVIDER, script, setup=setup) as person:
        person.say("Why are plants green?")
        await until(lambda: person.chats() == ["Plants and light"])
        title = person.window.chat.header.title
        await until(lambda: title.accessibleName() == "Plants and light")


@on_window_loop
async def test_of_many_chats_those_in_view_are_read(tmp_path: Path) -> None:
    """Counted in rows: neither the database nor the view is asked for the others."""

    async def prepare(engine: Engine) -> None:
        now = time.time()
        values = [
            (f"c{at}", f"Chat {at}", "/x", "Coder", PROVIDER, "m", "ask", now - at, now - at)
            for at in range(MANY)
        ]
        insert = """INSERT INTO sessions (id, title, folder, agent, provider, model,
            permission_mode, created, updated, state, unread)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'done', 0)"""
        await engine.database.write(lambda db: db.executemany(insert, values) and None)

    async with at_window(tmp_path, PROVIDER, [], prepare=prepare) as person:
        view = chats(person)
        await until(lambda: len(person.chats()) == PAGE)
        bar = view.verticalScrollBar()
        bar.setValue(bar.maximum())
        await until(lambda: len(person.chats()) == 2 * PAGE)
        assert person.chats()[-1] == f"Chat {2 * PAGE - 1}"
        assert len((await person.engine.sessions.listing(PAGE)).infos) == PAGE


def test_a_row_stays_that_of_its_chat_when_another_version_is_opened(qapp: QApplication) -> None:
    """The current row does not get lost where the list has another version of the open chat."""

    def listed(name: str, family: str) -> ChatRow:
        info = SessionInfo(name, "First", "/x", "Coder", PROVIDER, "m", "ask", 1.0, 1.0)
        return ChatRow("First", replace(info, family=family))

    assert listed("old", "one").is_of(listed("edited", "one"))
    assert not listed("old", "one").is_of(listed("other", "two"))
    assert not listed("old", "").is_of(listed("other", ""))


def test_what_an_empty_list_says_begins_with_its_first_letter(qapp: QApplication) -> None:
    """Also where people read from the right: the full stop does not stand before it."""
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    shown = ChatList(Theme())
    shown.set_sessions([], {})
    shown.resize(240, 200)
    image = shown.grab().toImage()
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    ground = image.pixel(0, 199)
    ink = [[image.pixel(x, y) != ground for y in range(60)] for x in range(240)]
    tops = [column.index(True) for column in ink if any(column)]
    assert tops[0] <= min(tops) + 2, "a capital letter, not a full stop"
    shown.deleteLater()


@on_window_loop
async def test_g3_a_new_list_reads_no_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-3: it is read several times for a message; of agents it shows only how they look."""
    async with at_window(tmp_path, "openai-compatible", [Turn(Text("Hello."))]) as person:
        person.say("Hi")
        await person.done()
        read: list[str] = []
        monkeypatch.setattr(person.engine.services, "served", lambda: read.append("read") or {})
        await person.window.chat_list.refresh()
        assert not read and len(person.chats()) == 1
