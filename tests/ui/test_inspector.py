"""The inspector: what requests cost and why, the histories a chat had, events in words."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from studio.agent.usage_costs import request_total
from studio.domain.ledger import LedgerEntry, Sent
from studio.domain.models import Usage
from studio.simulator import Call, Text, Turn, stall, status
from studio.simulator import Usage as Used
from studio.tools.memory.notes import Notes
from studio.ui.inspector.facts import ChatCosts, request_rows
from studio.ui.inspector.inspector import Inspector
from studio.ui.inspector.run_page import RunFacts, RunPage
from studio.ui.theme import Theme
from support.languages import language
from support.model_calls import read
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop, popup

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def request(number: int, sent: Sent | None = None, cost: float | None = None) -> LedgerEntry:
    usage = Usage(76_200, 58_000, 2_000, 1_200, 400)
    return LedgerEntry(0.0, "t", number, "Coder", "anthropic", "opus", usage, 2.0, sent, cost)


BROKEN = Sent(1, 4, "ab", 70_000, "The model changed.", 0.042)


def test_each_request_says_what_it_used_and_why_its_cache_broke() -> None:
    """H-9: what was cached, and when a cache broke which part changed and what it cost."""
    asked = [(request(1), 0.5), (request(2, BROKEN, 0.31), 0.31)]
    costs = ChatCosts([(entry, request_total(entry, cost)) for entry, cost in asked], "$0.84")
    newest, oldest = request_rows(costs)
    assert (oldest.title, oldest.right) == ("1. opus", "≈ $0.50")
    assert oldest.tokens == "76.2k in, 58.0k cached, 1.2k out" and not oldest.broke
    assert newest.right == "$0.31"
    assert newest.broke == "The cache broke. The model changed. It cost about $0.042."
    both = costs.total
    assert both.source == "Partly an estimate" and both.cost == 0.81 and both.lost == 0.042


def test_the_run_page_counts_each_token_in_one_line() -> None:
    theme = Theme("light")
    page = RunPage(theme)
    page.set(RunFacts(input=100, cached=60, written=10, output=20, reasoning=5, today="$0.84"))
    assert page._tokens() == [
        ("Input", "30"), ("Cached input", "60"), ("Written to cache", "10"), ("Output", "20"),
        ("Of that, thinking", "5"), ("All chats today", "$0.84"),
    ]  # fmt: skip
    tall = page.sizeHint().height()
    page.set(RunFacts(input=100, output=20))
    low = page.sizeHint().height()
    assert low < tall
    page.set(RunFacts(input=100, output=20, notes=["Estimate", "1 request has no known price"]))
    assert page.sizeHint().height() - low == 2 * theme.px(24)
    page.deleteLater()
    theme.deleteLater()


def lines(inspector: Inspector) -> list[str]:
    return [row.text for row in inspector.events.rows]


async def inspected(person: Person) -> Inspector:
    person.press(Key.Key_I, CTRL)
    return await until(lambda: person.window.inspector)


@on_window_loop
async def test_requests_and_histories_of_a_chat(tmp_path: Path) -> None:
    """H-9: every epoch stays readable, and says why it was begun."""
    script = [
        Turn(Text("One."), faults=[status(529, times=1)], usage=Used(inp=9_000, out=20)),
        Turn(Text("Two."), usage=Used(inp=9_100, cache_read=9_000, out=20)),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        inspector = await inspected(person)
        person.composer.setFocus()
        person.say("First")
        await person.done()
        requests = inspector.requests
        await until(lambda: len(requests._rows) == 1)
        assert requests.isVisible() and requests.accessibleName() == "Requests, 1"
        assert requests._rows[0].tokens == "9.0k in, 20 out"
        heard = lines(inspector)
        assert "Trying again" in heard and "History begins" in heard
        assert any(line.startswith("Anthropic is overloaded. Trying again in") for line in heard)
        history = inspector.history
        await until(lambda: "First" in json.dumps(list(history._items)))
        assert not history.epochs.isVisibleTo(history) and not history.remark.isVisibleTo(history)

        await person.session.context.compact()
        person.composer.setFocus()
        person.say("Second")
        await person.done(2)
        await until(lambda: len(requests._rows) == 2)
        await until(lambda: history.epochs.isVisibleTo(history))
        assert history.epochs.text() == "History 2 of 2, Anthropic"
        assert history.remark.text().startswith("Begun anew. ")
        assert "Second" in json.dumps(list(history._items))
        inspector.show_page(2)
        history.epochs.setFocus()
        person.press(Key.Key_Return)
        menu = await until(popup)
        menu.actions()[0].trigger()
        menu.close()
        await until(lambda: "Second" not in history.text.toPlainText())
        assert history.remark.text() == "An earlier history, no longer sent."
        assert "First" in history.text.toPlainText()
        person.window.new_chat()
        person.window.activateWindow()


@on_window_loop
async def test_events_come_from_what_is_stored_with_their_details(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("the word is heron")
    script = [Turn(read("gone.txt")), Turn(read("a.txt")), Turn(Text("It is heron."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        inspector = await inspected(person)
        person.composer.setFocus()
        person.say("Which word?")
        await person.done()
        heard = lines(inspector)
        assert "Message sent" in heard and "Done" in heard
        assert any(line.endswith("a.txt") for line in heard)
        assert any("<orientation>" in line for line in heard)
        assert not any("\n" in line for line in heard), "each is one line"
        person.press(Key.Key_I, CTRL)

    before_restart = time.time()
    async with at_window(tmp_path, "anthropic", []) as person:
        window = person.window
        await person.open_chat("Which word?")
        await until(lambda: window.chat.session is not None)
        inspector = await inspected(person)
        await until(lambda: lines(inspector))
        assert lines(inspector) == heard, "each event once, as it was seen live"
        assert all(row.at <= before_restart for row in inspector.events.rows), "its own time"

        inspector.show_page(1)
        page = inspector.events
        assert page.list.model().seconds(0) == 0.0, "times count from the message"
        lost = next(row for row in page.rows if row.text.startswith("read  gone"))
        assert lost.failed and not any(row.failed for row in page.rows if row is not lost)
        page.list.setFocus()
        person.press(Key.Key_Home)
        number = next(n for n, line in enumerate(heard) if line.startswith("read  a.txt"))
        for _ in range(number):
            person.press(Key.Key_Down)
        assert page.details.isVisible()
        assert "heron" in page.details.toPlainText() and "a.txt" in page.details.toPlainText()
        person.press(Key.Key_Escape)
        assert not page.details.isVisible()
        page.filter.setText("message")
        assert [row for row in range(len(heard)) if not page.list.isRowHidden(row)] == [
            n for n, line in enumerate(heard) if "message" in line.lower()
        ]

        person.click(window.sidebar._rows["agents"])
        await until(lambda: not window.pages.shows_chat)
        assert not inspector.isVisible(), "it is about the chat, and another page is shown"
        person.press(Key.Key_I, CTRL)
        assert not inspector.isVisible()
        person.press(Key.Key_1, CTRL)
        await until(inspector.isVisible)

        window.new_chat()
        await until(lambda: window.chat.session is None)
        assert lines(inspector) == []
        window.activateWindow()


def plan(why: str, *states: str) -> Turn:
    items = [{"text": f"step {n}", "status": state} for n, state in enumerate(states)]
    return Turn(Call("plan", {"items": items, "why": why}), stop="tool_use")


@on_window_loop
async def test_c2_the_whole_plan_is_shown_and_changes_while_a_turn_goes_on(tmp_path: Path) -> None:
    """C-2: with why it changed last; empty in a new chat, and there again with the old one."""
    script = [
        plan("", "active", "pending"),
        plan("The second is not needed.", "done", "dropped", "active"),
        Turn(Text("It never ends. " * 20), faults=[stall(at=6)]),
    ]
    async with at_window(tmp_path, "openai-compatible", script) as person:
        shown = (await inspected(person)).plan
        person.composer.setFocus()
        assert shown.plan is None and not shown.isVisible()
        person.say("Go")
        await until(lambda: shown.plan is not None and len(shown.plan.items) == 3)
        assert person.session.running and shown.isVisible()
        assert "Plan, 1 of 2 done; step 0, done; step 1, dropped; step 2, being done" in (
            shown.accessibleName()
        )
        assert shown.accessibleDescription() == "The second is not needed."
        texts = [line.text for line in shown._lines()]
        assert texts == ["step 0", "step 1", "step 2", "The second is not needed."]
        assert shown._lines()[-1].place.bottom() < shown.height()
        title = person.session.info.title
        person.session.stop()
        await person.done()
        person.window.chat.model.start_new().close()
        await until(lambda: shown.plan is None)
        assert not shown.isVisible()
        await person.open_chat(title)
        await until(lambda: shown.plan is not None)


@on_window_loop
async def test_what_a_chat_has_seen_is_told_in_german(tmp_path: Path) -> None:
    with language("de"):
        script = [Turn(Call("list", {"path": "."})), Turn(Text("Nothing."))]
        async with at_window(tmp_path, "ollama", script) as person:
            (person.folder / "a.txt").write_text("a")
            inspector = await inspected(person)
            person.composer.setFocus()
            person.say("Look")
            await person.done()
            seen = await until(lambda: inspector.run._facts.seen)
            assert {source for _, source in seen} <= {"Namen im Ordner", "Dateien im Ordner"}, seen


@on_window_loop
async def test_w40_w42_the_board_of_a_chat_and_the_notes_it_was_told_of(tmp_path: Path) -> None:
    """The board is read whole; the event of what was told names the notes."""
    whole = "\n".join(f"{number}. A line of what was found." for number in range(40))
    script = [
        Turn(
            Call("task_add", {"text": "Look at the parser"}),
            Call("board_write", {"key": "found", "text": whole, "version": 0}),
        ),
        Turn(Text("Both stand there.")),
    ]
    agents = tmp_path / "studio" / "agents"
    agents.mkdir(parents=True)
    tools = "task_add, board_write, notes_read"
    (agents / "keeper.md").write_text(
        f"---\nname: Keeper\ntools: [{tools}]\nmemory: index\n---\nWork.\n"
    )
    async with at_window(tmp_path, "anthropic", script) as person:
        Notes(person.engine.services.notes, person.folder).write("style", "Short commits.")
        inspector = await inspected(person)
        assert inspector.board.isHidden()
        await person.choose(person.composer.agent, "Keeper")
        person.composer.setFocus()
        person.say("Go")
        await person.done()
        await until(lambda: len(inspector.board.facts.rows) == 2, "the board")
        assert [one.fact.left for one in inspector.board.facts.rows] == [
            "Look at the parser",
            "found",
        ]
        assert inspector.board.isVisible()
        (box,) = (one for one in inspector.board.boxes if one.isVisible())
        assert box.edit.toPlainText() == whole
        assert box.height() < person.window.theme.px(200), "the rest is scrolled to"
        told = [line for line in lines(inspector) if line.startswith("Told the titles of notes")]
        assert len(told) == 1 and "style" in told[0]
        person.window.chat.model.start_new().close()
        await until(inspector.board.isHidden, "a new chat has none")
