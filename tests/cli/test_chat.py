"""``agent-studio chat``: the real program at a real pseudo-terminal, over the strict simulator (S-5)."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.simulator import Call, Text, Turn, stall
from studio.storage.paths import Paths
from support.command import ROOT, Command, at_provider
from support.engine_home import KEY, reply_requests
from support.mcp_servers import sdk_server
from support.model_calls import reading, run
from support.server_home import ListedServer, tool
from support.terminal_emulator import TerminalEmulator, at_terminal
from support.waiting import HANG, until, within

BASE = ("chat", "--provider", "ollama", "--model", "m")
"""The protocol without an SDK: the process starts in no time."""


def at_rest(glass: TerminalEmulator) -> bool:
    """Whether the agent is done."""
    return "/help" in glass.shown[-1] or "…" in glass.shown[-1]


async def test_two_turns_and_a_question(tmp_path: Path) -> None:
    """S-5, T-7: markdown is laid out, a question is answered, the conversation goes on."""
    script = [
        Turn(Text("Hello **you**.\n\n```python\nx = 1\n```\n"), run("echo one"), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
        Turn(Call("ask", {"question": "Which colour?", "choices": ["Red", "Blue"]})),
        Turn(Text("And again."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            text = await person.until("Allow? [y]es once, this [s]ession, this [f]older")
            assert "Hello you.\n\n  x = 1\n" in text  # printed before the question
            assert "Coder wants to run a command\n    echo one\n" in text
            assert "No rule allows this command." in text
            person.type("y\r")
            text = await person.until("Done.")
            assert "✓ Ran echo one  exit 0" in text
            person.type("more\r")
            text = await person.until("Answer:")
            assert "Which colour?\n  1. Red\n  2. Blue\n" in text
            person.type("2\r")
            await person.until("And again.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
            assert "To go on: agent-studio chat --session " in person.glass.text
        assert (
            "hello" in str(reply_requests(simulator)[2].json)
            and len(reply_requests(simulator)) == 4
        )
        assert "Blue" in str(reply_requests(simulator)[3].json["messages"][-1])
        assert not simulator.violations


async def test_t7_only_a_letter_or_its_word_answers_a_permission(tmp_path: Path) -> None:
    """T-7: “stop” is not [s]ession, nor “always ask” [a]lways, nor “you may not” yes."""
    script = [Turn(Call("run", {"command": "echo one"})), Turn(Text("Done."))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            for times, words in enumerate(("stop", "always ask", "forget it", "you may not"), 1):
                await person.until(lambda glass, most=times: glass.text.count("Allow?") >= most)
                person.type(f"{words}\r")
            await person.until(lambda glass: glass.text.count("Allow?") >= 5)
            person.type("no\r")
            await person.until("Done.")
            person.type("\x04")
            assert await person.end() == 0
        assert "The person did not allow" in str(reply_requests(simulator)[1].json)


def asked(question: str, prompt: str) -> Callable[[TerminalEmulator], object]:
    """Returns whether a question stands above its prompt, with or without the row of its call."""
    shown = re.compile(rf"{re.escape(question)}\n(?:◌.*\n)?{re.escape(prompt)}")
    return lambda glass: shown.search(glass.text)


async def test_c24_several_questions_are_asked_one_after_the_other(tmp_path: Path) -> None:
    """C-24: numbers take choices, more than one where that may be; other words are an answer."""
    questions = [
        {"question": "Which branch?", "choices": ["main", {"text": "next", "about": "17 ahead"}]},
        {"question": "Which tests?", "choices": ["unit", "slow", "all"], "several": True},
        {"question": "What name?"},
        {"question": "And now?", "choices": ["stop"]},
    ]
    script = [Turn(Call("ask", {"questions": questions})), Turn(Text("Thanks."))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            await person.until(asked("17 ahead", "Answer:"))
            assert "1 of 4. Which branch?\n  1. main\n  2. next: 17 ahead\n" in person.glass.text
            person.type("2\r")
            await person.until(asked("3. all", "Answer, or numbers such as 1,2:"))
            person.type("3, 1\r")
            await person.until(asked("3 of 4. What name?", "Answer:"))
            person.type("7 dwarfs\r")
            await person.until(asked("4 of 4. And now?\n  1. stop", "Answer:"))
            person.type("\x04")  # the end of the input leaves the rest to the agent
            await person.until("Thanks.")
        told = str(reply_requests(simulator)[-1].json["messages"][-1])
        pairs = ("branch?\\nAnswer: next", "tests?\\nAnswer: all; unit", "name?\\nAnswer: 7 dwarfs")
        assert all(pair in told for pair in pairs) and "now?\\nAnswer: No answer: decide" in told
        assert not simulator.violations


@pytest.mark.parametrize(("typed", "end"), [("1", "All done."), ("2", "all 4 steps")])
async def test_c1_the_person_is_asked_ahead_of_a_limit(
    tmp_path: Path, typed: str, end: str
) -> None:
    """C-1: by number as any question; the agent goes on, or its turn ends at the limit."""
    async with at_provider(tmp_path, "ollama", reading(5, tmp_path / "work")) as (
        terminal,
        simulator,
    ):
        terminal.change(long_steps=4)
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            await person.until(asked("2. No, come to an end", "Answer:"))
            text = person.glass.text
            assert "of 4 in this turn. May it go on?\n  1. Yes, 4 more steps\n" in text
            person.type(f"{typed}\r")
            await person.until(end)
            await person.until(at_rest)
        assert len(reply_requests(simulator)) == (5 if typed == "1" else 4)
        assert not simulator.violations


async def test_c1_a_question_that_the_end_of_the_turn_takes_back_leaves_no_trace(
    tmp_path: Path,
) -> None:
    """C-1: the agent works on meanwhile; what it says then does not stand in the prompt's line."""
    script = [
        *(Turn(run(f"echo {number}"), stop="tool_use") for number in range(5)),
        Turn(run("until [ -e go ]; do sleep 0.05; done"), stop="tool_use"),
        Turn(Text("I am done.")),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        terminal.change(long_steps=8)  # it is asked at step 6
        assert (await terminal("permissions", "add", "run")).code == 0
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            await person.until("Answer:")
            (tmp_path / "work" / "go").touch()
            await person.until("I am done.")
            await person.until(at_rest)
            assert "Answer:" not in person.glass.text and "Ctrl-C" not in person.glass.text
        assert not simulator.violations


async def test_what_is_changed_elsewhere_holds_for_the_next_turn(tmp_path: Path) -> None:
    """L-14: a cap set in the window stops a chat that was open before."""
    async with at_provider(tmp_path, "ollama", lambda _: Turn(Text("Hello."))) as (
        terminal,
        simulator,
    ):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("one\r")
            await person.until("Hello.")
            await person.until(at_rest)
            terminal.change(day_tokens=1)
            person.type("two\r")
            await person.until("Answer:")
            person.type("2\r")
            await person.until("is reached")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
        assert len(reply_requests(simulator)) == 1


async def test_c25_ctrl_c_stops_the_tool_and_the_chat_goes_on(tmp_path: Path) -> None:
    """C-25: the model hears what was printed; the next one, with no tool at work, is the turn's."""
    script = [
        Turn(run("echo begun; sleep 3600"), stop="tool_use"),
        Turn(Text("Then not. This answer never ends. " * 20), faults=[stall(at=6)]),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("talk\r")
            await person.until("Allow? [y]es once")
            person.type("y\r")
            await person.until(lambda glass: "  begun" in glass.shown)
            person.type("\x03")
            await person.until("The tool is stopped. Ctrl-C again stops the agent.")
            await person.until("Then not. This answer never ends.")
            person.type("\x03")
            await person.until("Stopped.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
        heard = str(reply_requests(simulator)[1].json["messages"][-1])
        assert "begun" in heard and "The person stopped this call, not your turn." in heard
        assert not simulator.violations


async def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(tmp_path: Path) -> None:
    """L-11: the answer would never end by itself; what was queued comes back into the line; twice at the prompt leaves."""
    script = [
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
        Turn(Text("Here again."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("talk\r")
            await person.until("This answer never ends.")
            person.type("and then\r")
            await person.until("Queued: and then")
            person.type("\x03")
            await person.until("Stopped.")
            await person.until("› and then")
            person.type(" this\r")
            await person.until("Here again.")
            await person.until(at_rest)
            person.type("\x03")
            await person.until("Ctrl-C again to leave")
            person.type("\x03\x03")  # the first one is late if that took two seconds
            assert await person.end() == 0
        assert "and then this" in str(reply_requests(simulator)[1].json["messages"][-1])
        assert not simulator.violations


async def test_the_agents_plan_is_shown_as_it_changes(tmp_path: Path) -> None:
    """C-2: in a chat and a single run, with how far it is; the call has no line of its own."""

    def plan(state: str, why: str = "") -> Turn:
        items = [{"text": "look", "status": state}, {"text": "write", "status": "dropped"}]
        return Turn(Call("plan", {"items": items, "why": why}))

    script = [plan("active"), plan("done", "Nobody needs it"), Turn(Text("Done."))]
    first = "Plan, 0 of 1 done:\n  [>] look\n  [-] write\n"
    then = "Plan, 1 of 1 done:\n  [x] look\n  [-] write\n  Nobody needs it\n"
    async with at_provider(tmp_path, "ollama", script * 2) as (terminal, simulator):
        ended = await terminal("run", *BASE[1:], "--agent", "Coder", "Go")
        assert first + then in ended.err and "·" not in ended.err, ended
        async with at_terminal(terminal, *BASE, "--agent", "Coder") as person:
            await person.until("›")
            person.type("Go\r")
            await person.until("Done.")
            text = await person.until(at_rest)
            assert first in text and then in text and "\n· " not in text and "✓" not in text
            person.type("\x04")
            assert await person.end() == 0
        assert not simulator.violations


async def test_what_is_typed_ahead_answers_no_question(tmp_path: Path) -> None:
    """T-7: keys typed while the agent works stay in the line for the next message."""
    script = [
        Turn(
            Text("I look." * 3), run("echo one"), stop="tool_use", faults=[stall(at=2, seconds=0.3)]
        ),
        Turn(Text("Well."), stop="end"),
        Turn(Text("So."), stop="end"),
    ]
    held = asyncio.Event()
    async with at_provider(tmp_path, "ollama", script, sleep=lambda _: held.wait()) as (
        terminal,
        simulator,
    ):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("go\r")
            for letter in ("y\ry", "es", "\ry"):  # a person in a hurry
                person.type(letter)
            await person.until("Queued: yes")
            held.set()
            text = await person.until("Allow?")
            assert "Queued: y\n" in text and "Queued: yes" in text
            assert "one  exit" not in text and "Allow? [y]es once" in person.glass.shown[-2]
            person.type("n\r")
            await person.until("So.")
        said = [str(one.json["messages"][-1]) for one in reply_requests(simulator)]
        assert "did not allow" in said[1] and "'y'" in said[2]
        assert not simulator.violations


async def test_steering_and_stopping_at_a_question(tmp_path: Path) -> None:
    """L-11, T-7: words for the agent at work go with its next step; Ctrl-C takes a question back."""
    script = [
        Turn(Text("One sentence that "), Text("goes on."), Call("search", {"pattern": "x"}),
             stop="tool_use", faults=[stall(at=2, seconds=1.0)]),
        Turn(run("echo one"), stop="tool_use"),
        Turn(Text("Well."), stop="end"),
    ]  # fmt: skip
    held = asyncio.Event()
    async with at_provider(tmp_path, "ollama", script, sleep=lambda _: held.wait()) as (
        terminal,
        simulator,
    ):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("go\r")
            await person.until("One sentence")
            person.type("/undo\r/steer use blue\r")
            text = await person.until("With its next step: use blue")
            assert "/undo has to wait until the agent is done." in text
            held.set()
            text = await person.until("Allow?")
            assert "One sentence that goes on." in text  # what was typed did not break it
            person.type("\x03")
            await person.until("Stopped.")
            await person.until(at_rest)
            person.type("on\r")
            await person.until("Well.")
            person.type("\x04")
            assert await person.end() == 0
        assert "use blue" in str(reply_requests(simulator)[1].json)
        assert "stopped the turn" in str(reply_requests(simulator)[2].json)
        assert not simulator.violations


async def test_nothing_that_a_model_says_is_obeyed(tmp_path: Path) -> None:
    """T-7: codes in answers, entities, links, tools' targets and questions are shown."""
    evil = "a\x1b]0;title\x07b \x1b[2J\x1b[31mred &#x202e;flip &#27;[2J\n\n```\n\x9b2J\n```\n\nend"
    script = [
        Turn(Text(evil), run("echo \x1b[2K\x1b[1A harmless"), stop="tool_use"),
        Turn(Text("[safe](https://evil.example/\x1b[0m)"), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        assert not simulator.requests
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("go\r")
            text = await person.until("Allow?")
            for shown in (r"a\x1b]0;title\x07b", r"\x1b[31mred", r"\u202eflip", r"\x9b2J"):
                assert shown in text
            assert r"echo \x1b[2K\x1b[1A harmless" in text
            person.type("n\r")
            text = await person.until("safe (https://evil.example/")
            assert not person.glass.titles and "31" not in person.glass.colours
            assert text.count("Coder on m") == 1  # nothing was cleared


async def test_long_answers_are_printed_once_while_they_come(tmp_path: Path) -> None:
    """Each block stands there once; only what is still being written moves."""
    rows = [f"line {number} of it\n\n" for number in range(60)]
    code = "```python\n" + "".join(f"x{number} = {number}\n" for number in range(150)) + "```\n"
    script = [Turn(Text("".join(rows)), Text(code), Text("\n\nfinally"), stop="end")]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        assert not simulator.requests
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("go\r")
            await person.until("finally")
            text = await person.until(at_rest)
            for number in range(60):
                assert text.count(f"line {number} of it\n") == 1
            for number in range(150):
                assert text.count(f"  x{number} = {number}\n") == 1
            assert text.count("finally") == 1 and text.index("x149") < text.index("finally")


async def test_history_and_completion(tmp_path: Path) -> None:
    """P-4: kept for the next chat in a file of the person's own, never what looks like a key."""
    script = [Turn(Text("Yes."), stop="end"), Turn(Text("No."), stop="end")]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        (terminal.folder / "notes.txt").write_text("Buy milk\n")
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("first\n  second\r")  # Ctrl-J is a new line
            await person.until("Yes.")
            await person.until(at_rest)
            person.type(f"use {KEY} for it\r")
            await person.until("No.")
            await person.until(at_rest)
            person.type("/ag\t")
            await person.until(lambda glass: any("› /agent" in line for line in glass.shown))
            person.type(" pla\t")
            await person.until(lambda glass: any("› /agent Pla" in line for line in glass.shown))
            person.type("\r")  # takes the name, and again sends
            person.type("\r")
            await person.until("Agent: Plain")
            person.type("read @no\t")
            await person.until("› read @notes.txt")
            person.type("\x03\x04")
            assert await person.end() == 0
        kept = terminal.home / "chat-history.jsonl"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        assert KEY not in kept.read_text() and "first" in kept.read_text()
        async with at_terminal(terminal, *BASE, "--session", "last") as person:
            await person.until("No.")  # where the chat was
            await person.until(at_rest)
            person.type("\x1b[A\x1b[A")
            await person.until("› first\n    second")
            person.type("\x03\x04")
            assert await person.end() == 0
        assert "first\\n  second" in str(reply_requests(simulator)[0].json["messages"][-1])


async def test_commands(tmp_path: Path) -> None:
    """S-5: undo and redo, a summary, another folder, an attachment, export, usage, a new chat."""
    script = [
        Turn(Call("write", {"path": "n.txt", "content": "new\n"}), stop="tool_use"),
        Turn(Text("Drafted."), stop="end"),
        Turn(Text("I see it."), stop="end"),
        Turn(Text("A file was **drafted**."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        note = terminal.folder / "n.txt"
        async with at_terminal(terminal, *BASE, rows=40, columns=200) as person:

            async def told(command: str, answer: str) -> None:
                known = person.glass.text.count(answer)
                person.type(f"{command}\r")
                await person.until(lambda glass: glass.text.count(answer) > known)
                await person.until(at_rest)

            await person.until("›")
            person.type("write it\r")
            text = await person.until("Write n.txt (+1 −0)? [y]es, [n]ot now, [d]iscard:")
            assert "  + new\n" in text and not note.exists()
            person.type("y\r")
            await person.until("Written: n.txt")
            await person.until(at_rest)
            assert note.read_text() == "new\n"
            await told("/undo", "Undone: n.txt")
            assert not note.exists()
            await told("/redo", "Done again: n.txt")
            assert note.read_text() == "new\n"
            await told("/undo", "Undone: n.txt")
            await told("/undo", "Nothing is left to undo.")
            await told("/attach nothing.txt", "\nnothing.txt cannot be read")
            await told("/attach a.txt", "Goes with your next message: a.txt")
            assert "1 attached" in person.glass.shown[-1]
            await told("look", "I see it.")
            await told("/summary", "Nothing of this chat is summed up.")
            await told("/compact", "Earlier messages were summed up for the model")
            await told("/summary", "A file was drafted.")
            await told("/summary edit Only n.txt", "The model gets your summary from now on.")
            await told("/summary show", "Only n.txt")
            await told("/summary undo", "The model gets the whole conversation again.")
            await told("/summary", "Nothing of this chat is summed up.")
            await told("/pin answer", "Kept whole for the model.")
            await told("/mode plan", "/mode is now /permission.")
            await told("/permission plan", "Permission: plan")
            assert "plan" in person.glass.shown[-1]
            await told("/permission wild", "The permission is one of ask, auto, plan.")
            await told("/context", "together")
            await told("/usage", "Requests")
            await told("/export out.md", "Written: ")
            await told(
                "/export out.md", "already."
            )  # a word: where the line breaks depends on the path
            await told("/steer x", "The agent is not at work.")
            await told("/nonsense", "There is no command /nonsense.")
            await told("/sessions", "write it")
            await told("/help", "leave; so does Ctrl-D")
            documented = (ROOT / "docs" / "chat.md").read_text()
            helped = person.glass.text.rpartition("› /help")[2]
            for name in re.findall(r"^(/[a-z]+)", helped, re.M):
                assert f"`{name}" in documented
            person.type("/quit\r")
            assert await person.end() == 0
        assert "alpha" in str(reply_requests(simulator)[2].json["messages"][-1])
        assert "I see it." in (terminal.folder / "out.md").read_text()
        assert not simulator.violations


async def test_what_is_typed_while_a_command_works_goes_out_after_it(tmp_path: Path) -> None:
    """S-5: no message stays behind in the queue, whatever kept the chat; who leaves finds it in the line the next time."""
    held = asyncio.Event()
    endless = Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)])
    script = [
        Turn(Text("Before."), stop="end"),
        Turn(Text("First."), stop="end"),
        Turn(Text("Summed."), stop="end", faults=[stall(at=0, seconds=0.3)]),
        Turn(Text("Second."), stop="end"),
        endless,
        Turn(Text("Fourth."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script, sleep=lambda _: held.wait()) as (
        terminal,
        simulator,
    ):
        async with at_terminal(terminal, *BASE) as person:
            for typed, answer in (("zero", "Before."), ("one", "First.")):
                await person.until("›")
                person.type(f"{typed}\r")
                await person.until(answer)
                await person.until(at_rest)
            person.type("/compact\r")
            await until(lambda: len(reply_requests(simulator)) == 3)
            person.type("two\r")
            await person.until("Queued: two")
            held.set()
            await person.until("Second.")
            await person.until(at_rest)
            person.type("three\r")
            await person.until("This answer never ends.")
            person.type("four\r")
            await person.until("Queued: four")
            person.type("\x04")
            assert await person.end() == 0
        async with at_terminal(terminal, *BASE, "--session", "last") as person:
            await person.until("› four")
            person.type("!\r")
            await person.until("Fourth.")
            person.type("\x04")
            assert await person.end() == 0
        said = [str(one.json["messages"][-1]) for one in reply_requests(simulator)]
        assert "two" in said[3] and "four!" in said[5]
        assert not simulator.violations


async def test_l1_k8_a_queued_message_that_a_hook_refuses_comes_back_once(tmp_path: Path) -> None:
    """It could not leave the queue, so that it was refused again and again without an end."""
    held = asyncio.Event()
    script = [Turn(Text("First."), stop="end", faults=[stall(at=0, seconds=0.3)])]
    async with at_provider(tmp_path, "ollama", script, sleep=lambda _: held.wait()) as (
        terminal,
        simulator,
    ):
        refuses = "grep -q password && { echo 'no secrets here' >&2; exit 2; }; exit 0"
        entry = {"hooks": [{"type": "command", "command": refuses}]}
        hooks = Paths.below(terminal.home).config / "hooks.json"
        hooks.parent.mkdir(parents=True, exist_ok=True)
        hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [entry]}}))
        (hook,) = json.loads((await terminal("hooks", "list", "--json")).out)["hooks"]
        async with at_terminal(terminal, "hooks", "on", hook["id"]) as person:
            assert await person.end() == 0
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("one\r")
            await until(lambda: len(reply_requests(simulator)) == 1)
            person.type("My password is x\r")
            await person.until("Queued: My password is x")
            held.set()
            await person.until("› My password is x")
            await person.until(at_rest)
            assert person.glass.text.count("no secrets here") == 1
            person.type("\x15\x04")
            assert await person.end() == 0
        assert len(reply_requests(simulator)) == 1


@pytest.mark.parametrize("columns", [20, 200])
async def test_narrow_wide_and_resized(tmp_path: Path, columns: int) -> None:
    """It fits the terminal it has, and another one after a resize."""
    words = "one two three four five six seven eight nine ten " * 3
    script = [Turn(Text(words), stop="end")] * 2
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        assert not simulator.requests
        async with at_terminal(terminal, *BASE, columns=columns) as person:
            await person.until("›")
            person.type("go\r")
            await person.until("ten")
            await person.until(at_rest)
            assert all(len(line) <= columns for line in person.glass.text.split("\n"))
            person.resize(30, 60)
            person.type("again\r")
            await person.until(lambda glass: glass.text.count("ten") >= 6 and at_rest(glass))
            assert "one two three four five six seven eight nine ten one" in person.glass.text
            person.type("\x04")
            assert await person.end() == 0


async def test_without_colours(tmp_path: Path) -> None:
    """NO_COLOR: no colour is asked for, what is bold stays bold."""
    code = "**bold**\n\n```python\nx = 'text'\n```\n\nend"
    script = [Turn(Text(code), stop="end")] * 2
    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        for colour, environment in ((True, {}), (False, {"NO_COLOR": "1"})):
            async with at_terminal(terminal, *BASE, **environment) as person:  # type: ignore[arg-type]
                await person.until("›")
                person.type("go\r")
                await person.until("end")
                await person.until(at_rest)
                assert bool(person.glass.colours) == colour
                assert "\x1b[0;1mbold" in person.raw


async def test_on_the_plainest_terminal(tmp_path: Path) -> None:
    """TERM=dumb gets lines and not one code; questions, Ctrl-C and commands work."""
    script = [
        Turn(run("echo one"), stop="tool_use"),
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE, TERM="dumb") as person:
            await person.until(">")
            person.type("go\n")
            await person.until("Allow?")
            person.type("y\n")
            await person.until("This answer never ends.")
            person.type("\x03")
            await person.until("Stopped.")
            await person.until(lambda glass: glass.shown[-1] == ">")
            person.type("/permission plan\n")
            await person.until("Permission: plan")
            await person.until(lambda glass: glass.shown[-1] == ">")
            person.type("\x03")
            await person.until("Ctrl-C again to leave")
            person.type("\x03")
            assert await person.end() == 0
            assert "\x1b" not in person.raw
        assert not simulator.violations


async def test_a_closed_terminal_ends_it(tmp_path: Path) -> None:
    """L-11: the window of the terminal is closed in the middle of an answer."""
    script = [Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)])]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("go\r")
            await person.until("This answer never ends.")
            person.hang_up()
            async with within():
                await person.process.wait()
        await asyncio.wait_for(simulator.wait_disconnect(0), HANG)
        listed = json.loads((await terminal("sessions", "list", "--json")).out)
        assert [one["state"] for one in listed] == ["cancelled"]
        assert [one["origin"] for one in listed] == ["terminal"]


async def test_without_a_terminal(tmp_path: Path) -> None:
    """S-5: it says what to use instead, and ends with 1."""
    terminal = Command(tmp_path)
    ended = await terminal("chat", "--provider", "simulator", said=b"hello\n")
    assert ended.code == 1 and ended.out == ""
    assert ended.err == 'A chat needs a terminal. For one message there is: agent-studio run "…"\n'
    unknown = await terminal("chat", "--agent", "Nobody", said=b"")
    assert unknown.code == 1


async def test_other_commands_do_not_pay_for_it(tmp_path: Path) -> None:
    """What a chat draws with is imported for a chat alone."""
    terminal = Command(tmp_path, PYTHONPROFILEIMPORTTIME="1")
    ended = await terminal("run", "--provider", "simulator", "Hello")
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in ended.err.splitlines()
    }
    assert ended.code == 0 and "studio" in imported
    assert not imported & {"prompt_toolkit", "rich", "markdown_it"}


async def test_a_command_goes_to_the_background_and_is_listed_and_stopped(tmp_path: Path) -> None:
    """C-13: by a key while the agent waits for it, and by a command at any time."""
    script = [
        Turn(run("echo first-$((40 + 2)); sleep 3600")),
        Turn(Text("It runs."), stop="end"),
        Turn(Call("run", {"command": "sleep 3601", "background": True})),
        Turn(Text("Both run."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with at_terminal(terminal, *BASE, columns=120) as person:
            await person.until("›")
            person.type("/jobs\r")
            await person.until("No command goes on in the background.")
            person.type("ac\x02b\r")  # nothing runs: it moves the cursor
            await person.until("Allow?")
            person.type("s\r")
            await person.until(lambda glass: "Ctrl-B" in glass.shown[-1])
            person.type("\x02")
            await person.until("goes on as job")
            await person.until("It runs.")
            await person.until(lambda glass: "1 in the background: /jobs" in glass.shown[-1])
            person.type("/jobs\r")
            listed = await person.until(
                lambda glass: re.search(r"(\w{4})  runs, \d+ s  echo first", glass.text)
            )
            found = re.search(r"(\w{4})  runs, \d+ s  echo first", listed)
            assert found is not None
            times = 0
            while "first-42" not in person.glass.text:  # its shell may begin late
                times += 1
                person.type(f"/jobs {found[1]}\r")
                await person.until(
                    lambda glass, times=times: (
                        "first-42" in glass.text
                        or glass.text.count("Nothing printed yet.") == times
                    )
                )
            person.type("/jobs halt it\r")
            await person.until("Say which: /jobs ID or /jobs stop ID.")
            person.type(f"/jobs stop {found[1]}\r")
            await person.until("Stopped: echo first-$((40 + 2)); sleep 3600")
            await person.until(lambda glass: "in the background" not in glass.shown[-1])
            person.type("/jobs\r")
            await person.until(f"{found[1]}  is over")
            person.type("more\r")
            await person.until("Both run.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
            assert "Ends with the chat: sleep 3601" in person.glass.text
        first = reply_requests(simulator)
        assert "abc" in str(first[0].json["messages"][-1])
        assert "It goes on as job" in str(first[1].json["messages"][-1])
        assert not simulator.violations


async def test_m19_a_server_asks_at_the_terminal(tmp_path: Path) -> None:
    """M-19: field by field, with defaults and limits; what is wrong is said and asked again."""
    form = {
        "type": "object",
        "properties": {
            "size": {"type": "integer", "title": "Size", "maximum": 9},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
            "password": {"type": "string"},
        },
        "required": ["size"],
    }
    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": {"message": "Which one?", "schema": form}})
    script = [Turn(Call("shop__order", {})), Turn(Text("Ordered."))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        add = ["--", shop.entry.command, *shop.entry.arguments]
        assert (await terminal("mcp", "add", "shop", *add)).code == 0
        assert (await terminal("mcp", "on", "shop", "--yes")).code == 0
        assert (await terminal("mcp", "test", "shop")).code == 0
        assert (await terminal("permissions", "add", "shop__*")).code == 0
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("order\r")
            text = await person.until("[a]nswer, [d]ecline, [c]ancel:")
            assert "The server shop asks:\n    Which one?" in text
            person.type("a\r")
            await person.until(asked("Size", "Answer:"))
            person.type("10\r")
            await person.until(asked("Size is at most 9.", "Answer:"))
            person.type("4\r")
            text = await person.until("Answer [red]:")
            assert "1. red\n  2. blue" in text
            person.type("\r")
            await person.until(asked("here.", "Answer:"))
            assert "This looks like a secret." in person.glass.text
            person.type("\r")
            await person.until("Ordered.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
        told = str(reply_requests(simulator)[-1].json["messages"][-1])
        assert '"content": {"size": 4, "color": "red"}' in told


async def test_m20_a_model_answers_a_server_at_the_terminal(tmp_path: Path) -> None:
    """M-20: what it would read is shown, and the person says yes."""
    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": {"prompt": "Which is best?"}})
    script = [Turn(Call("shop__order", {})), Turn(Text("The red one.")), Turn(Text("Ordered."))]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        add = ["--", shop.entry.command, *shop.entry.arguments]
        assert (await terminal("mcp", "add", "shop", *add)).code == 0
        assert (await terminal("mcp", "on", "shop", "--yes")).code == 0
        assert (await terminal("mcp", "on", "shop", "--sampling")).code == 0
        assert (await terminal("permissions", "add", "shop__*")).code == 0
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("order\r")
            text = await person.until("[l]et it answer, [d]ecline:")
            assert "to answer:\n    Which is best?" in text
            person.type("l\r")
            await person.until("Ordered.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
        assert "The red one." in str(reply_requests(simulator)[-1].json["messages"][-1])


async def test_resources_and_prompts_of_a_server(tmp_path: Path) -> None:
    """M-21: a resource after @ goes along, and what a prompt needs is asked for."""
    script = [Turn(Text("Milk it is.")), Turn(Text("It rains."))]
    entry = sdk_server()
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        add = ["--", entry.command, *entry.arguments]
        assert (await terminal("mcp", "add", "simple", *add)).code == 0
        assert (await terminal("mcp", "on", "simple", "--yes")).code == 0
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("buy @simple:note://today\r")
            await person.until("Milk it is.")
            assert "Attached: simple:note://today" in person.glass.text
            await person.until(at_rest)
            person.type("/simple:forecast unit=F\r")
            await person.until("Answer:")
            person.type("New York\r")
            await person.until("It rains.")
            await person.until(at_rest)
            person.type("\x04")
            assert await person.end() == 0
        first, second = reply_requests(simulator)
        assert "From the MCP server" in str(first.json) and "Milk" in str(first.json)
        assert "Tell the weather of New York in F." in str(second.json)
