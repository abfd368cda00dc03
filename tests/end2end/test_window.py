"""The main job in the real window, by keys and mouse, on each of the five protocols."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.blocks import DraftBlock, TextBlock, ToolBlock
from studio.domain.events import TurnComplete
from studio.simulator import Call, Text, Think, Turn, stall
from studio.ui.transcript.items.approval_item import GUARD, PAUSE, ApprovalItem
from studio.ui.transcript.items.draft_item import DraftItem
from studio.ui.transcript.items.files_item import FilesItem
from support.engine_home import PROTOCOLS, is_locked
from support.model_calls import read
from support.waiting import HANG, until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.parametrize("provider", list(PROTOCOLS)),
]
__all__ = ["alone"]


def run(command: str) -> Turn:
    return Turn(Call("run", {"command": command}))


def watch_composer(person: Person) -> list[tuple[str, bool]]:
    """For each event: the composer's state after it, and whether the turn was complete."""
    seen: list[tuple[str, bool]] = []

    def heard(envelope: EventEnvelope) -> None:
        seen.append((person.composer.state, isinstance(envelope.event, TurnComplete)))

    person.session.subscribe(heard)
    return seen


@on_window_loop
async def test_two_steps_then_restart_and_go_on(tmp_path: Path, provider: str) -> None:
    """H-1, H-3, H-4: parallel calls in two steps; after a restart the same native history."""
    script = [
        Turn(Think("a plan"), Text("I look."), read("a.txt"), read("b.txt")),
        Turn(read("b.txt"), read("missing.txt"), read("a.txt")),
        Turn(Text("Both hold **Greek** letters.")),
    ]
    async with at_window(tmp_path, provider, script) as person:
        (person.folder / "a.txt").write_text("alpha\n")
        (person.folder / "b.txt").write_text("beta\n")
        assert person.chats() == []
        person.say("What is in the files?")
        assert person.composer.text == ""
        await person.done()
        assert not person.simulator.violations and len(person.asked) == 3
        second, third = person.asked[1:]
        assert second.index("alpha") < second.index("beta")
        assert third.count("alpha") == 2 and "missing.txt" in third
        assert person.says("I look.") and person.says("Greek") and person.says("Read")
        await until(lambda: person.chats() == ["What is in the files?"])
        native = await person.engine.store.native(person.session.info.id)
        assert native is not None
        before = list(native.items)
    async with at_window(tmp_path, provider, [Turn(Text("Gamma is next."))]) as person:
        assert person.window.chat.session is None
        await person.open_chat("What is in the files?")
        await until(lambda: person.window.chat.session is not None)
        assert [b.state for b in person.blocks(ToolBlock)].count("done") == 4
        assert person.says("I look.") and person.says("Greek")
        assert person.window.chat.header.title.accessibleName() == "What is in the files?"
        person.say("And then?")
        await person.done(2)
        assert not person.simulator.violations
        native = await person.engine.store.native(person.session.info.id)
        assert native is not None and native.epoch == 1
        assert native.items[: len(before)] == before and len(native.items) > len(before)
        assert person.says("Gamma is next.")


@on_window_loop
async def test_permission_by_keys(tmp_path: Path, provider: str) -> None:
    """L-2, T-7: the card takes the focus; keys that come too early do nothing; Enter, A, D."""
    script = [
        run("echo one"),
        run("printf two"),
        run("printf three"),
        run("touch four"),
        Turn(Text("Enough.")),
    ]
    async with at_window(tmp_path, provider, script) as person:
        view, now = person.view, [100.0]
        view.context.now = lambda: now[0]
        person.say("Run something")
        now[0] += PAUSE

        async def prompt(after: object = None) -> ApprovalItem:
            item = await until(
                lambda: (
                    (found := person.item(ApprovalItem)) is not None
                    and found is not after
                    and found.shown_at is not None
                    and view.hasFocus()
                    and view.focus.item is found
                    and found
                ),
                what="a prompt with the focus",
            )
            assert person.composer.state == "waiting" and person.status("Run something")
            return item

        first = await prompt()
        assert first.question.title.startswith("Coder wants to run") and "echo one" in first.name
        now[0] += GUARD - 0.01
        person.press(Key.Key_Return)
        assert person.session.transcript.questions  # nothing happened
        person.press(Key.Key_A)
        person.press(Key.Key_D)
        assert person.session.transcript.questions  # they were typed for a message
        assert person.composer.text == "ad" and person.composer.editor.hasFocus()
        person.composer.editor.clear()
        view.setFocus()
        now[0] += PAUSE + 0.01
        person.press(Key.Key_Return)  # once
        second = await prompt(first)
        assert "printf two" in second.name
        now[0] += 1
        person.press(Key.Key_A)  # printf from now on: three is not asked about
        fourth = await prompt(second)
        assert "touch four" in fourth.name
        now[0] += 1
        person.press(Key.Key_D)
        await person.done()
        tools = person.blocks(ToolBlock)
        assert [tool.state for tool in tools] == ["done", "done", "done", "denied"]
        assert [tool.answer for tool in tools] == ["once", "folder", None, "deny"]
        assert not (person.folder / "four").exists() and "three" in person.asked[3]
        kept = await person.engine.rules.list()
        assert [str(one.rule) for one in kept] == ["run(printf *)"]
        assert kept[0].folder == str(person.folder)
        assert person.composer.editor.hasFocus() and not person.simulator.violations


@on_window_loop
async def test_draft_approved_and_undone_by_mouse(tmp_path: Path, provider: str) -> None:
    """T-5: the file is written by the click alone; Undo takes it back."""
    script = [
        Turn(Call("write", {"path": "n.txt", "content": "new\n"}), read("n.txt")),
        Turn(Text("Drafted.")),
        Turn(Text("I see.")),
    ]
    async with at_window(tmp_path, provider, script) as person:
        file = person.folder / "n.txt"
        person.say("Write it")
        await person.done()
        await until(lambda: person.item(DraftItem))
        assert not file.exists()
        await until(lambda: person.window.sidebar._rows["drafts"].accessibleName().count("1"))
        await person.click_hit(DraftItem, "approve")
        await until(file.exists)
        assert file.read_text() == "new\n"
        await until(lambda: person.blocks(DraftBlock)[0].draft.status == "approved")
        person.composer.setFocus()
        person.say("Well?")
        await person.done(2)
        assert "approved the draft of n.txt" in person.asked[-1]
        await until(lambda: person.hit(DraftItem, "undo") is None)  # one Undo, not two
        await person.click_hit(FilesItem, "undo_files")
        await until(lambda: not file.exists())
        await until(lambda: person.blocks(DraftBlock)[0].draft.status == "undone")
        assert not person.simulator.violations


@on_window_loop
async def test_stop_in_the_stream_and_in_a_command(tmp_path: Path, provider: str) -> None:
    """G-2, H-5, L-11: Esc and Stop; the composer waits for ``turn_complete``; then it goes on."""
    child = (
        "import fcntl,time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('up', flush=True); time.sleep(3600)"
    )
    script = [
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
        run(f'{sys.executable} -c "{child}" & wait'),
        Turn(Text("Still here.")),
    ]
    async with at_window(tmp_path, provider, script) as person:
        person.say("Talk")
        assert person.composer.state == "running" or not person.blocks()
        await until(lambda: person.blocks(TextBlock))
        assert person.composer.send.accessibleName() == "Stop"
        seen = watch_composer(person)
        person.press(Key.Key_Escape)
        person.press(Key.Key_Escape)
        await person.done()
        assert seen[-1] == ("idle", True) and all(state == "running" for state, _ in seen[:-1])
        assert person.composer.send.accessibleName() == "Send" and person.says("Stopped.")
        await asyncio.wait_for(person.exchanges[0].gone.wait(), HANG)

        lock = Path(person.session.info.folder) / "child"
        person.say("Run")
        await until(lambda: person.session.transcript.questions)
        await until(lambda: person.item(ApprovalItem) and person.item(ApprovalItem).shown_at)
        await person.click_hit(ApprovalItem, "allow_once")
        await until(lambda: "up" in person.blocks(ToolBlock)[-1].output)
        assert person.composer.state == "running" and is_locked(lock)
        seen.clear()
        person.click(person.composer.send)
        await person.done(2)
        assert seen[-1] == ("idle", True) and all(state == "running" for state, _ in seen[:-1])
        await until(lambda: not is_locked(lock))
        assert person.blocks(ToolBlock)[-1].state == "cancelled"

        person.say("Go on")
        await person.done(3)
        assert person.says("Still here.") and not person.simulator.violations
        assert "stopped the turn" in person.asked[-1]


@on_window_loop
async def test_words_instead_of_an_answer(tmp_path: Path, provider: str) -> None:
    """A typed message says no to the question and sends the agent another way."""
    script = [run("touch made"), Turn(Text("Fine, I only look."))]
    async with at_window(tmp_path, provider, script) as person:
        person.say("Make a file")
        await until(lambda: person.composer.state == "waiting")
        await until(person.view.hasFocus)
        assert "tell Coder what to do instead" in person.composer.editor.placeholder
        person.press(Key.Key_Escape)  # back to the composer; the question stays
        assert person.composer.editor.hasFocus() and person.session.transcript.questions
        person.say("No, only look")
        await person.done(2)
        assert not (person.folder / "made").exists()
        assert "No, only look" in person.asked[1] and len(person.asked) == 2
        assert person.says("Fine, I only look.") and not person.session.transcript.questions
        tool = person.blocks(ToolBlock)[0]
        assert (tool.answer, tool.state) == ("deny", "cancelled")
        assert not person.simulator.violations
