"""The Search page: all chats by keys alone, with filters that are offered, opened at the hit."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from studio.simulator import Call, Text, Turn
from studio.ui.pages.search.filter_bar import Chip, completed, suggestions
from studio.ui.pages.search.page import SearchPage
from studio.ui.pages.search.results import FoundLine
from support.waiting import until
from support.window import CTRL, SHIFT, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SCRIPT = [
    Turn(Text("The zebra is first.\n\n" + "\n\n".join(f"Line {n}." for n in range(150)))),
    Turn(Call("ask", {"question": "Which zebra do you mean?", "choices": ["Grevy", "Plains"]})),
    Turn(Text("Nothing of note. 斑马在这里")),
]


async def page_of(person: Person) -> SearchPage:
    person.press(Key.Key_F, CTRL | SHIFT)
    return await until(
        lambda: p if isinstance(p := person.window.pages.currentWidget(), SearchPage) else None
    )


def lines(page: SearchPage) -> list[tuple[str, str]]:
    return [(row.hit.kind, row.hit.line) for row in page.found.lines]


@on_window_loop
async def test_all_chats_are_searched_by_keys_and_opened_at_the_hit(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", SCRIPT) as person:
        window = person.window
        person.say("About animals")
        await person.done()
        person.press(Key.Key_N, CTRL)
        await until(lambda: window.chat.session is None)
        person.say("A zebra question")
        await until(lambda: window.chat.session and person.session.info.state == "waiting")

        await person.engine.store.flush(person.session.info.id)
        page = await page_of(person)
        assert page.field.hasFocus() and page.under.isVisible()
        assert page.bar.words[:2] == ["agent:", "model:"]
        person.type("zebra")
        await until(lambda: len(page.found.lines) >= 4)
        found = lines(page)
        assert found[0] == ("title", "A zebra question"), "the title first, then its lines"
        assert ("question", "Which zebra do you mean?") in found
        assert ("answer", "The zebra is first.") in found
        assert [row.first for row in page.found.lines].count(True) == 2
        hits = len(found)
        assert page.foot.text == f"{hits} hits in 2 chats" and not page.under.isVisible()

        # What was found is marked, and the chosen line stands out.
        page.grab()
        at = next(n for n, row in enumerate(page.found.lines) if row.hit.kind == "answer")
        shot = page.list.viewport().grab().toImage()
        ratio = shot.devicePixelRatio()
        rect = page.list.visualRect(page.found.index(at))
        y = round((rect.bottom() - page.theme.height(30) / 2) * ratio)
        tints = {shot.pixelColor(x, y).name() for x in range(round(rect.width() * ratio))}
        assert page.theme.color("warn_soft").name() in tints

        for _ in range(at):
            person.press(Key.Key_Down)
        assert "The zebra is first." in page.field.accessibleDescription()
        person.press(Key.Key_Return)
        await until(lambda: person.view.finder.find is not None)
        person.view.flush()
        assert person.session.info.title == "About animals"
        assert person.view.scroller.below > 1000, "the hit is far above the end"
        assert person.view.finder.at is not None

        # As it was left: the same hit is chosen. Filters are offered, completed and shown.
        page = await page_of(person)
        assert page.field.selectedText() == "zebra"
        await until(lambda: page._work is None or page._work.done())
        row = page.list.current
        assert isinstance(row, FoundLine) and row.hit.kind == "answer"
        page.field.end(False)
        person.type(" ag")
        assert page.bar.words == ["agent:"]
        person.press(Key.Key_Tab)
        assert page.field.text() == "zebra agent:"
        agent = person.session.info.agent
        assert page.bar.words[0] == f"agent:{agent}"
        person.press(Key.Key_Tab)
        assert page.field.text() == f"zebra agent:{agent} " and page.bar.words[0].endswith(agent)
        await until(lambda: len(page.found.lines) == hits)
        person.type("has:draft")
        await until(lambda: page.under.text == "Nothing found with these filters.")
        chip = next(c for c in page.bar.findChildren(Chip) if c.word == "has:draft" and c.active)
        QTest.keyClick(chip, Key.Key_Space)
        assert page.field.text() == f"zebra agent:{agent}" and page.field.hasFocus()
        await until(lambda: len(page.found.lines) == hits)
        person.press(Key.Key_Escape)
        assert page.field.text() == "" and page.field.hasFocus()
        person.press(Key.Key_Escape)
        assert window.pages.shows_chat and person.composer.editor.hasFocus()

        # The sidebar's field is the quick way, and hands over what was typed there.
        window.sidebar.field.setFocus()
        person.type("question")
        page = await page_of(person)
        assert page.field.text() == "question"
        await until(lambda: ("title", "A zebra question") in lines(page))
        # A search that takes long says so.
        blocked = asyncio.Event()
        search = person.engine.sessions.search

        async def slow(text: str, lines: int = 1) -> object:
            await blocked.wait()
            return await search(text, lines)

        person.engine.sessions.search = slow  # type: ignore[method-assign]
        page.field.clear()
        await until(lambda: not page.found.rows)
        person.type("zebra")
        await until(lambda: page.under.busy and page.under.text.startswith("Searching…"))
        page.grab()
        blocked.set()
        await until(lambda: page.found.rows and not page.under.isVisible())
        # Enter ahead of the results waits for them, and opens the first of them.
        await until(lambda: page._work is None or page._work.done())
        blocked.clear()
        person.press(Key.Key_Down)
        person.type(" first")
        person.press(Key.Key_Return)
        assert not window.pages.shows_chat
        blocked.set()
        await until(lambda: window.pages.shows_chat and person.view.finder.find is not None)
        assert lines(page) == [("answer", "The zebra is first.")]
        assert person.session.info.title == "About animals"
        # It opens nothing for a person who is elsewhere by then.
        page = await page_of(person)
        await until(lambda: page._work is None or page._work.done())
        blocked.clear()
        person.type("zebra")
        person.press(Key.Key_Return)
        window.pages.show_page("drafts")
        blocked.set()
        await until(lambda: len(page.found.lines) == hits)
        assert window.pages.currentWidget() is not page and not window.pages.shows_chat
        page = await page_of(person)
        await until(lambda: page._work is not None and page._work.done())
        assert window.pages.currentWidget() is page
        window.pages.show_chat()
        person.press(Key.Key_L, CTRL)
        assert window.pages.shows_chat and person.composer.editor.hasFocus()


@on_window_loop
async def test_a_search_that_fails_ends_and_says_why(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", SCRIPT) as person:
        person.say("About animals")
        await person.done()
        with closing(sqlite3.connect(person.engine.paths.database)) as db:
            db.execute("DROP TABLE said")
        page = await page_of(person)
        person.type("zebra")
        await until(lambda: not page._slow.isActive())
        assert "no such table" in page.under.text and not page.under.busy


def test_a_word_is_completed_where_the_caret_is() -> None:
    known = {"agent": ["Coder", "Deep Researcher"], "has": ["file"]}
    assert suggestions("x b", 3, known) == ["before:"]
    assert suggestions("agent:", 6, known) == ["agent:Coder", 'agent:"Deep Researcher"']
    assert suggestions("agent:res", 9, known) == ['agent:"Deep Researcher"']
    assert suggestions("agent:coder", 11, known) == [] == suggestions("xb", 1, known)
    assert completed("agent:res zebra", 9, 'agent:"Deep Researcher"') == (
        'agent:"Deep Researcher" zebra',
        24,
    )
    assert completed("zebra ha", 8, "has:") == ("zebra has:", 10)
    assert completed("zebra", 5, "has:") == ("zebra has:", 10)
