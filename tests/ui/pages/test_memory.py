"""The Memory page: what waits, what it was made from, and what the person decides (W-43, W-44)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit

from studio.domain.boards import BoardAuthor
from studio.domain.sessions import Caller
from studio.tools.memory.note import Source
from studio.tools.memory.note_store import place_of
from studio.tools.memory.notes import Notes, Writer
from studio.ui.pages.memory.board_pane import about, title_of
from studio.ui.pages.memory.page import MemoryPage
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def notes_of(person: Person, by: str = "Coder", origin: str = "", keeps: bool = False) -> Notes:
    source = Source("file", "tests/test_retry.py:40-71", "yours")
    writer = Writer(by, "chat", keeps=keeps, origin=lambda: origin, sources=lambda: [source])
    return Notes(person.engine.services.notes, person.folder, writer=writer)


async def page_of(person: Person) -> MemoryPage:
    person.press(Key.Key_5, CTRL)
    pages = person.window.pages
    return await until(
        lambda: page if isinstance(page := pages.currentWidget(), MemoryPage) else None
    )


async def shows(page: MemoryPage, title: str) -> None:
    await until(lambda: page.detail.shown and page.detail.title.text() == title, what=title)


def offered(page: MemoryPage) -> list[str]:
    return [name for name, button in page.detail.buttons.items() if not button.isHidden()]


async def write(person: Person, page: MemoryPage, words: str) -> None:
    """Type other words into the dialog that is open, and accept it; the list has the keys then."""
    dialog = await until(
        lambda: next(
            (w for w in QApplication.topLevelWidgets() if isinstance(w, QDialog) and w.isVisible()),
            None,
        )
    )
    editor = dialog.findChild(QPlainTextEdit, "edited")
    assert editor is not None
    editor.setPlainText(words)
    dialog.accept()
    person.window.activateWindow()
    await until(lambda: person.focused() is page.list)


@on_window_loop
async def test_notes_are_decided_by_keys_alone(tmp_path: Path) -> None:
    """W-44: J, K, A, D, E, M, N and Ctrl+Z; trust stays, and the sidebar counts what waits."""
    async with at_window(tmp_path, "anthropic", []) as person:
        store, place = person.engine.services.note_store, place_of(person.folder)
        page = await page_of(person)
        await until(lambda: page.detail.note.text().startswith("Nothing remembered yet."))
        notes_of(person).remember("clock", "# A fake clock\n\nNever sleep in a test.", "mistake")
        notes_of(person, origin="https://evil.example/").remember("rates", "Rate limits.")
        notes_of(person, keeps=True).remember("suite", "Sleep makes the fake clock suite slow.")
        page.refresh()
        await until(lambda: len(page.list.entries) == 3)
        assert [one.state for one in page.list.entries] == ["proposed", "proposed", "kept"]
        person.press(Key.Key_K)
        person.press(Key.Key_K)
        names = [one.name for one in page.list.entries]
        for _ in range(names.index("clock")):
            person.press(Key.Key_J)
        await shows(page, "A fake clock")
        assert offered(page) == ["drop", "edit", "keep"]
        shown = page.detail.shown
        assert shown and [mark.words for mark in shown.marks] == ["Never sleep in a test"]
        assert [one.name for one in shown.close] == ["suite"]
        assert [one.name for one in shown.note.sources] == ["tests/test_retry.py:40-71"]
        person.press(Key.Key_E)
        await write(
            person, page, "# A fake clock\n\nTests that sleep are slow; a fake clock is there."
        )
        await until(lambda: page.detail.shown and not page.detail.shown.marks)
        person.press(Key.Key_A)
        await until(lambda: store.get(place, "clock"))
        kept = store.get(place, "clock")
        assert kept and kept.trust == "agent", "an edit and a yes make it nobody else's"
        await until(lambda: store.waiting() == 1 and len(page.list.entries) == 3)
        await until(lambda: "undo" in offered(page))
        person.press(Key.Key_Z, CTRL)
        await until(lambda: store.get(place, "clock", "proposed"))
        await until(lambda: page.detail.shown and page.detail.shown.note.proposed)
        await shows(page, "A fake clock")
        person.press(Key.Key_M)
        await write(person, page, "Use the fake clock, the suite is slow otherwise.")
        await until(lambda: not store.get(place, "clock", "proposed"))
        merged = store.get(place, "suite")
        assert merged and merged.text.startswith("Use the fake") and len(merged.sources) == 2
        await shows(page, "Use the fake clock, the suite is slow otherwise.")
        person.press(Key.Key_D)
        await until(lambda: not store.get(place, "suite"))
        await shows(page, "Rate limits.")
        assert page.detail.shown and page.detail.shown.note.trust == "strangers"
        person.press(Key.Key_D)
        await until(lambda: not store.waiting())
        await until(lambda: not page.list.entries)
        person.press(Key.Key_N)
        await write(person, page, "Short commits, no emoji.")
        await shows(page, "Short commits, no emoji.")
        assert (own := store.get(place, "short-commits-no-emoji")) and own.trust == "yours"
        assert page.facts.place.isEnabled()


@on_window_loop
async def test_what_is_set_beside_a_note(tmp_path: Path) -> None:
    """W-42 to W-44: its kind, where it is known, the agent's next notes; and a search."""
    async with at_window(tmp_path, "anthropic", []) as person:
        store, place = person.engine.services.note_store, place_of(person.folder)
        notes_of(person, keeps=True).remember("build", "The build takes a minute.")
        notes_of(person, keeps=True).remember("rates", "The rate was 7 in May.")
        page = await page_of(person)
        await until(lambda: len(page.list.entries) == 2 and page.detail.shown)
        page.search.setText("Built")
        await until(lambda: [one.name for one in page.list.entries] == ["build"])
        await shows(page, "The build takes a minute.")
        assert page.facts.titles.text() == "2 titles"
        page.facts.kind_chosen.emit("procedure")
        await until(lambda: (note := store.get(place, "build")) and note.kind == "procedure")
        page.facts.keeps.click()
        await until(lambda: person.engine.settings.values.keep_notes_of == ["Coder"])
        page.facts.place_chosen.emit("everywhere")
        await until(lambda: store.get("everywhere", "build") and not store.get(place, "build"))
        page.search.setText("zebra")
        await until(lambda: page.detail.note.text() == "No note has these words.")


@on_window_loop
async def test_w40_the_boards_of_chats_and_runs_are_read_whole(tmp_path: Path) -> None:
    """As picture 23 has it: by mouse and by J and K; Open leads to the chat."""
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        person.click(page.kind.segment(1))
        await until(lambda: "shared nothing yet" in page.board_pane.note.text())
        boards, whole = person.engine.services.boards, "\n".join(map(str, range(60)))
        chats = list[Caller]()
        for title, stranger in (("Fix the parser", ""), ("Plan the talk", "a page")):
            session = await person.engine.sessions.create(
                folder=str(person.folder),
                agent="Coder",
                provider="anthropic",
                model="sim-model",
                title=title,
            )
            await session.flush()
            chats.append(Caller("session", session.info.id))
            author = BoardAuthor(session.info.id, "Coder", stranger)
            await boards.write(chats[-1], "found", whole, 0, author)
        await boards.add_task(chats[-1], "Look at the first line", author)
        page.refresh()
        await until(lambda: len(page.boards.boards.rows) == 2, "both are listed")
        found = [(title_of(one), about(one)) for one in page.boards.boards.rows]
        assert found == [("Plan the talk", "1 task, 1 text"), ("Fix the parser", "1 text")]
        assert page.list.isHidden() and page.detail.isHidden() and page.board_pane.isVisible()
        rows = page.board_pane.board
        await until(lambda: len(rows.facts.rows) == 2, "the newest one")
        assert [one.fact.about for one in rows.facts.rows] == ["from strangers"] * 2
        page.boards.setFocus()
        person.press(Key.Key_J)
        await until(lambda: page.board_pane.title.text() == "Fix the parser", "the next one")
        await until(lambda: len(rows.facts.rows) == 1, "what is on it")
        assert [box.edit.toPlainText() for box in rows.boxes] == [whole]
        opened: list[str] = []
        page.open_wanted.connect(opened.append)
        person.click(page.board_pane.open)
        assert opened == [chats[0].id]
        person.click(page.kind.segment(0))
        await until(lambda: page.list.isVisible() and page.board_pane.isHidden(), "the notes")
