"""At the window: the queue, steering, ends of turns that go on, and chats that run (L-1, L-14)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu

from studio.domain.blocks import EndBlock, TextBlock, UserBlock
from studio.domain.events import TurnStarted
from studio.simulator import Call, Text, Turn, Usage, stall
from studio.ui.app.actions import Action
from studio.ui.transcript.items.turn_items import EndItem
from support.waiting import until
from support.window import (
    CTRL,
    Key,
    Person,
    alone,
    at_window,
    on_window_loop,
    popup,
    row_of,
)

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"
HANGS = Turn(Text("I am on it."), faults=[stall(at=-1)])


def runs(command: str = "sleep 3600") -> Turn:
    return Turn(Call("run", {"command": command}), stop="tool_use")


def look(path: str) -> Turn:
    return Turn(Call("search", {"pattern": path}), stop="tool_use")


def texts(person: Person) -> list[str]:
    return [block.text for block in person.blocks() if isinstance(block, UserBlock | TextBlock)]


def queued(person: Person) -> list[str]:
    """What the rows above the composer say."""
    queue = person.window.chat.queue
    return [row.message.text for row in queue.rows] if queue.isVisible() else []


async def hang(person: Person, words: str = "Go") -> None:
    person.composer.setFocus()
    person.say(words)
    await until(lambda: person.window.chat.session is not None and person.asked)
    await until(lambda: person.composer.state == "running" and person.session.transcript.steps)


@on_window_loop
async def test_l1_what_is_typed_meanwhile_is_queued_and_follows_when_the_turn_is_done(
    tmp_path: Path,
) -> None:
    script = [look("a"), Turn(Text("One.")), Turn(Text("Two."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("Go")
        await until(lambda: person.window.chat.session is not None)
        await until(lambda: person.session.running)
        person.say("Then this")
        assert person.composer.text == "" and queued(person) == ["Queued: Then this"]
        view, queue = person.view.geometry(), person.window.chat.queue.geometry()
        assert view.bottom() < queue.top() and queue.bottom() < person.composer.y()
        await person.done(2)
        assert texts(person) == ["Go", "One.", "Then this", "Two."]
        assert queued(person) == [] and not person.simulator.violations


@on_window_loop
async def test_l1_after_stop_the_queue_stays_is_taken_back_sent_and_outlives_the_window(
    tmp_path: Path,
) -> None:
    script = [HANGS, Turn(Text("Two."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await hang(person)
        for words in ("One", "Two", "Three", "Four", "Five"):
            person.say(words)
        assert len(queued(person)) == 4 and person.window.chat.queue._more.text() == "1 more queued"
        person.click(person.window.chat.queue.rows[0].remove)
        assert person.composer.text == "One" and len(queued(person)) == 4
        person.click(person.window.chat.queue.rows[3].remove)  # typed words are not replaced
        assert person.composer.text == "One" and len(queued(person)) == 3
        person.press(Key.Key_Escape)
        await person.done()
        assert len(person.asked) == 1 and person.composer.text == "One"
        row = person.window.chat.queue.rows[0]
        assert row.message.text == "Queued: Two" and row.send.text() == "Send"
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text(str(n))) for n in range(3)]) as person:
        assert queued(person) == []
        await person.open_chat("Go")
        await until(lambda: len(queued(person)) == 3)
        person.click(person.window.chat.queue.rows[1].send)
        await person.done(4)  # this one, and the others after it
        said = [block.text for block in person.blocks(UserBlock)]
        assert said == ["Go", "Three", "Two", "Four"] and queued(person) == []


@on_window_loop
async def test_l1_words_steer_the_running_turn(tmp_path: Path) -> None:
    """Ctrl+Enter, or Send now on a queued message: read at the next step of this turn."""
    script = [runs("while [ ! -e go ]; do sleep 0.02; done"), Turn(Text("As you wish."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("Go")
        await until(lambda: person.window.chat.session is not None)
        await until(lambda: person.session.transcript.questions)
        person.session.answer_permission(person.session.transcript.questions[0].id, "once")
        await until(lambda: person.composer.state == "running")
        person.composer.setFocus()
        person.say("Louder")
        person.type("And faster")
        person.press(Key.Key_Return, CTRL)
        assert queued(person) == ["Queued: Louder", "Goes out at the next step: And faster"]
        send = person.window.chat.queue.rows[0].send
        assert send.text() == "Send now"
        person.click(send)
        assert queued(person)[0] == "Goes out at the next step: Louder"
        (person.folder / "go").touch()
        await person.done()
        said = [(block.text, block.steered) for block in person.blocks(UserBlock)]
        assert said == [("Go", False), ("And faster", True), ("Louder", True)]
        assert "Louder" in person.asked[1] and len(person.asked) == 2
        assert person.says("You: Louder") and queued(person) == []


@on_window_loop
async def test_l1_words_instead_of_an_answer_still_deny_and_redirect(tmp_path: Path) -> None:
    script = [runs(), Turn(Text("Fine."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("Go")
        await until(lambda: person.composer.state == "waiting")
        person.composer.setFocus()
        person.say("Rather not")
        await person.done(2)
        assert texts(person) == ["Go", "Rather not", "Fine."] and queued(person) == []


@on_window_loop
async def test_l1_an_inline_turn_goes_on_in_the_background(tmp_path: Path) -> None:
    """The mode is chosen below the agents; its end offers the other one."""
    script = [look(str(n)) for n in range(6)] + [Turn(Text("Done."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        (person.folder / "numbers.txt").write_text("0\n1\n2\n3\n4\n5\n")  # each is found
        await person.choose(person.composer.agent, "Inline")
        assert person.composer.agent.text() == "Coder, inline"
        person.composer.setFocus()
        person.say("Go")
        await person.done()
        end = person.blocks(EndBlock)[-1]
        assert (end.reason, end.mode) == ("step_limit", "inline")
        begun: list[TurnStarted] = []
        person.session.subscribe(
            lambda e: begun.append(e.event) if isinstance(e.event, TurnStarted) else 0
        )
        item = await until(lambda: person.item(EndItem))
        assert [hit.text for hit in item.hits] == ["Continue in background"]
        await person.click_hit(EndItem, "go_on_background")
        await person.done(2)
        assert [event.mode for event in begun] == ["background"] and texts(person)[-1] == "Done."
        assert not person.item(EndItem).hits
        await person.choose(person.composer.agent, "As the agent")
        assert person.composer.agent.text() == "Coder"


@on_window_loop
async def test_l14_a_chats_limit_is_raised_and_it_goes_on(tmp_path: Path) -> None:
    def setup(file: object) -> None:
        file.values.session_tokens = 20_000  # type: ignore[attr-defined]

    used = Usage(inp=19_000, out=500)
    script = [
        Turn(Call("search", {"pattern": "a"}), stop="tool_use", usage=used),
        Turn(Text("On.")),
    ]
    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        person.window.chat.model.options.choose_turn_mode("background")  # nobody is asked
        person.say("Go")
        await person.done()
        end = person.blocks(EndBlock)[-1]
        assert (end.reason, end.cap) == ("token_limit", "session")
        item = await until(lambda: person.item(EndItem))
        assert [hit.text for hit in item.hits] == ["Raise to 40,000 tokens", "Settings…"]
        await person.click_hit(EndItem, "raise_cap")
        await person.done(2)
        assert person.session.info.caps.tokens == 40_000 and texts(person)[-1] == "On."


@on_window_loop
async def test_l14_a_turns_limit_that_one_request_exceeds_is_raised_in_the_settings(
    tmp_path: Path,
) -> None:
    """To go on would meet it again: the way to raise it is at hand."""

    def setup(file: object) -> None:
        file.values.turn_tokens = 10  # type: ignore[attr-defined]

    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("On."))], setup=setup) as person:
        person.window.chat.model.options.choose_turn_mode("background")  # nobody is asked
        person.say("Go")
        await person.done()
        end = person.blocks(EndBlock)[-1]
        assert (end.reason, end.cap) == ("token_limit", "turn") and not person.asked
        item = await until(lambda: person.item(EndItem))
        assert [hit.text for hit in item.hits] == ["Go on", "Settings…"]
        await person.click_hit(EndItem, "settings")
        dialog = await until(lambda: person.window.preferences.dialog)
        field = dialog.pages["budgets"].caps.fields["turn_tokens"]
        await until(field.hasFocus)
        await until(lambda: not field.visibleRegion().isEmpty())
        field.setText("No limit")
        person.press(Key.Key_Return)
        assert person.engine.settings.values.turn_tokens == 0
        dialog.close()
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        await person.click_hit(EndItem, "go_on")
        await person.done(2)
        assert texts(person)[-1] == "On."


@on_window_loop
async def test_l1_chats_that_run_are_listed_and_stopped_one_by_one(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, [HANGS, HANGS, HANGS]) as person:
        await hang(person, "First")
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        await hang(person, "Second")
        chats = person.window.sidebar.chats
        await until(lambda: person.status("First") == person.status("Second") == "running")
        first = row_of(chats, "First")
        assert re.match(r"Step 1, \d+:\d\d", first.data(3))  # the tooltip
        menu = person.window.menu_actions.by_action[Action.RUNNING].menu()
        assert isinstance(menu, QMenu)
        menu.fill()
        lines = [action.text().partition("\t")[0] for action in menu.actions()]
        assert lines == ["Stop “First”", "Stop “Second”"]
        chats.setCurrentIndex(first)
        chats.setFocus()
        chats._ask_for_menu()
        of_row = await until(popup)
        next(action for action in of_row.actions() if action.text() == "Stop").trigger()
        of_row.close()
        await until(lambda: person.status("First") == "unread")
        assert person.session.running
        person.window.menu_actions.by_action[Action.STOP_ALL].trigger()
        await person.done()
        menu.fill()
        assert (
            not menu.actions()
            and not person.window.menu_actions.by_action[Action.STOP_ALL].isEnabled()
        )


@on_window_loop
async def test_l14_the_inspector_sets_what_a_chat_may_cost(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("One."))]) as person:
        person.press(Key.Key_I, CTRL)
        inspector = person.window.inspector
        assert inspector is not None and inspector.cap.isHidden()
        person.composer.setFocus()
        person.say("Go")
        await person.done()
        amount = inspector.cap.amount
        await until(amount.isVisible)
        assert amount.text() == "No limit"
        amount.setFocus()
        person.type("2")
        person.press(Key.Key_Return)
        await until(lambda: person.session.info.caps.dollars == 2.0)
        assert amount.text() == "$2.00"
