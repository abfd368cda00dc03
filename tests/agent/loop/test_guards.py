"""An agent that goes round in circles is noticed, one that works is not (L-8, L-9)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.loop.guards import MAX_STEPS_WITHOUT_NEWS, RepetitionGuard
from studio.agent.loop.turn_context import FinishedCall
from studio.agent.prompts import LOOPING, NOTHING_NEW
from studio.agent.session.event_channel import EventEnvelope
from studio.domain.events import (
    StepStarted,
    Told,
    ToolFinished,
    TurnComplete,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text, ToolCall, ToolResult
from studio.domain.permissions import Rule
from studio.domain.tools import Effect
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.tools import tool
from support.engine_home import PROTOCOLS, engine_home, say


def made(
    name: str, arguments: JsonObject, text: str, effect: Effect = "read", *, error: bool = False
) -> FinishedCall:
    result = ToolResult("c", name, (Text(text),), is_error=error)
    return FinishedCall(ToolCall("c", name, arguments), result, effect)


def look(path: str = "a", text: str = "one") -> FinishedCall:
    return made("read", {"path": path}, text)


def run(command: str = "pytest", text: str = "1 failed", *, error: bool = False) -> FinishedCall:
    return made("run", {"command": command}, text, "act", error=error)


def edit(new: str, text: str = "drafted", *, error: bool = False) -> FinishedCall:
    return made("edit", {"path": "a", "new": new}, text, "draft", error=error)


def part(first: int, last: int, path: str = "a.txt") -> FinishedCall:
    """The reading of some lines, with the heading that the tool gives it."""
    lines = "\n".join(f"line {n}" for n in range(first, last + 1))
    arguments: JsonObject = {"path": path, "first_line": first, "lines": last - first + 1}
    return made("read", arguments, f"[{path}, lines {first}-{last} of 50]\n{lines}")


def search(pattern: str) -> FinishedCall:
    return made("search", {"pattern": pattern, "path": "src"}, f"No line in src matches {pattern}.")


def glob(pattern: str) -> FinishedCall:
    return made("glob", {"pattern": pattern}, f"No file matches {pattern}.")


def missing(path: str) -> FinishedCall:
    return made("read", {"path": path}, f"There is no file {path}.", error=True)


def unknown(program: str) -> FinishedCall:
    text = f"sh: 1: {program}: not found\n[exit 127]"
    return run(f"{program} --all", text, error=True)


def status(number: str | int, text: str = "open") -> FinishedCall:
    return made("ticket", {"id": number}, text)


def post(number: int) -> FinishedCall:
    return made("post", {"number": number}, '{\n"ok": true,\n"new": 1,\n"error": null\n}', "act")


def asked(question: str) -> FinishedCall:
    return replace(made("ask", {"question": question}, "No idea."), steady=False)


CIRCLES: dict[str, list[list[FinishedCall]]] = {
    "the same reading": [[look()], [look()]],
    "the same command with the same output": [[run()], [run()]],
    "the same reading with another in between": [[look("a")], [look("b")], [look("a")]],
    "both of two readings again": [[look("a"), look("b")], [look("b"), look("a")]],
    "the same refused edit": [
        [edit("x", "not there", error=True)],
        [edit("x", "not there", error=True)],
    ],
    "the same command, reading in between": [[run()], [look()], [run()]],
    "to and fro without end": [
        [edit("x")], [run()], [edit("y")], [run()], [edit("x")], [run()],
    ],
    "searches that find nothing": [[search("one")], [search("two.*")], [search("3")]],
    "names that no file has": [[glob("*.md")], [glob("src/**/x.py")], [glob("a?c")]],
    "commands without output": [[run(c, "(no output)")] for c in ("true", "find . -name x", ":")],
    "commands that find nothing": [
        [run(f"grep {word} a", "(no output)\n[exit 1]", error=True)] for word in ("x", "y", "z")
    ],
    "counts of nothing": [[run(f"grep -c {word} a", "0")] for word in ("x", "y", "z")],
    "programs that are not there": [[unknown("rg")], [unknown("ack")], [unknown("ag")]],
    "files that are not there": [[missing("a")], [missing("src/b.py")], [missing("docs/c")]],
    "edits that fail alike": [[edit(n, "“old” is not in a.", error=True)] for n in ("x", "y", "z")],
    "empty lists of another's tool": [[status(n, "[]")] for n in ("1", "2", "3")],
    "no results of another's tool": [
        [status(n, f"No results found for {n}.")] for n in ("1", "2", "3")
    ],
    "empty files": [[look(n, f"[{n} is empty.]")] for n in ("a", "b", "c")],
    "two kinds of nothing in turn": [
        [search("x")], [glob("x")], [search("y")], [glob("y")], [search("z")],
    ],
    "several a step": [[search(a), glob(a)] for a in ("x", "y", "z")],
    "parts of what was read": [[part(1, 50)], [part(1, 9)], [part(3, 4)], [part(2, 2)]],
    "what was read, by other names": [
        [part(1, 9)], [part(1, 9, "./a.txt")], [part(1, 9, "/w/a.txt")], [part(2, 8, "x/../a.txt")],
    ],
    "what was read, by commands": [
        [part(1, 9)], *([run(f"head -{n} a.txt", part(1, n).result.text.partition("\n")[2])]
        for n in (9, 8, 7)),
    ],
}  # fmt: skip


def guard() -> RepetitionGuard:
    """Of a turn in a folder in which nothing changes."""
    return RepetitionGuard(lambda: 0)


@pytest.mark.parametrize("case", CIRCLES)
def test_l8_circles_are_noticed(case: str) -> None:
    stall = guard()
    *before, last = CIRCLES[case]
    assert not any(stall.circles(step) for step in before)
    assert stall.circles(last)


WORKING: dict[str, list[list[FinishedCall]]] = {
    "the same tool, other arguments": [[look("a")], [look("b")], [look("c")], [look("d")]],
    "facts that are alike": [[status(n)] for n in "abcdef"],
    "facts by number": [[status(n, "Status:\nopen")] for n in range(6)],
    "facts of one thing by number": [
        [made("cell", {"table": "t", "row": n}, "empty")] for n in range(6)
    ],
    "changes by another's tool": [[post(n)] for n in range(6)],
    "files written one by one": [
        [made("write", {"path": n, "content": "x"}, "drafted", "draft")] for n in "abcdef"
    ],
    "notes kept one by one": [
        [made("remember", {"name": n}, "The note is kept.", "act")] for n in "abcdef"
    ],
    "the person's answers": [[asked(question)] for question in "abcdef"],
    "a search that finds nothing now and then": [
        [search("x")], [search("y")], [look("a")], [search("z")], [search("u")], [look("b")],
    ],
    "nothing, found in different ways": [[search("x")], [glob("x")], [missing("x")], [unknown("x")]],
    "nothing, and something beside it": [[search(n), look(n, n)] for n in "abcdef"],
    "a file read from top to end": [[part(n, n + 9)] for n in (1, 11, 21, 31, 41)],
    "commands that say other things": [[run(f"test -f {n}; echo {n}?", n)] for n in "abcdef"],
    "a job that is waited for": [[status("job", f"{n} %")] for n in range(6)],
    "a log that grows": [[run("tail log", "\n".join("abcdef"[:n]))] for n in range(1, 6)],
    "the tests again after an edit": [[run()], [edit("x")], [run()], [edit("y")], [run()]],
    "a file again after an edit": [[look()], [edit("x")], [look()]],
    "a file again after a command": [[look()], [run("make")], [look()]],
    "a command that waits for something": [[run("tail log", "1")], [run("tail log", "1 2")]],
    "twice in one reply": [[look(), look()]],
    "one known among new ones": [[look("a")], [look("a"), look("b")], [look("a"), look("c")]],
    "two edits of one file": [[edit("x")], [edit("y")], [edit("z")]],
}  # fmt: skip


@pytest.mark.parametrize("case", WORKING)
def test_l8_work_is_not_a_circle(case: str) -> None:
    stall = guard()
    assert not any(stall.circles(step) for step in WORKING[case])


@pytest.mark.parametrize("seen", [True, False])
def test_l8_a_silent_command_is_work_if_files_changed_or_nobody_knows(seen: bool) -> None:
    changes = iter(range(20))
    stall = RepetitionGuard(lambda: next(changes) if seen else None)
    steps = [[run(f"mkdir {name}", "(no output)")] for name in "abcdef"]
    assert not any(stall.circles(step) for step in steps)


def test_l8_failing_commands_are_no_work_where_nobody_sees_changes() -> None:
    stall = RepetitionGuard(lambda: None)
    assert [bool(stall.circles([unknown(name)])) for name in ("a", "b", "c")] == [
        False,
        False,
        True,
    ]


def test_l8_what_was_known_is_new_after_a_change_of_the_history() -> None:
    stall = guard()
    steps = [[part(1, 9)], [part(1, 8)], [part(1, 7)]]
    assert not any(stall.circles(step) for step in steps)
    stall.changed()
    assert not any(stall.circles(step) for step in steps)


def test_l8_the_order_of_keys_does_not_matter() -> None:
    stall = guard()
    assert not stall.circles([made("grep", {"a": 1, "b": {"c": 2, "d": 3}}, "x")])
    assert stall.circles([made("grep", {"b": {"d": 3, "c": 2}, "a": 1}, "x")])


def test_l8_after_the_person_did_something_it_is_new() -> None:
    stall = guard()
    assert not stall.circles([look()])
    stall.changed()
    assert not stall.repeats([look().call]) and not stall.circles([look()])
    assert stall.repeats([look().call]) and stall.circles([look()])


STEPS = st.lists(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), min_size=1, max_size=3),
    max_size=12,
)


@given(STEPS)
def test_l8_a_step_with_a_new_call_and_a_new_result_is_no_circle(
    steps: list[list[tuple[str, int]]],
) -> None:
    stall, known = guard(), set[tuple[str, int]]()
    for step in steps:
        circles = stall.circles([made(name, {"n": n}, f"{name} {n}") for name, n in step])
        if not known.issuperset(step):
            assert not circles
        known |= set(step)


def test_fruitless_steps_are_three() -> None:
    assert MAX_STEPS_WITHOUT_NEWS == 3  # the requirement's number


READ = Call("read", {"path": "a.txt"})


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_l8_h6_one_message_then_the_end(provider: str, tmp_path: Path) -> None:
    """The message reaches the provider; an agent that ignores it is stopped."""
    script = [Turn(READ, stop="tool_use") for _ in range(3)]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("one\n")
        events = await say(await home.session())
        told = [e for e in events if isinstance(e, Told) and e.topic == "stall"]
        assert [e.text for e in told] == [LOOPING]
        assert LOOPING in str(home.asked[2].json)
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "stalled" and "read" in end.detail
        # The third call was answered without being run, so that the history stays valid (H-5).
        assert [e.is_error for e in events if isinstance(e, ToolFinished)] == [False, False, True]


SILENT = [f"test {n} = {n}" for n in range(6)]
WRITING = [f"echo {n} > {n}.txt" for n in range(6)]


@pytest.mark.parametrize(("commands", "told"), [(SILENT, [NOTHING_NEW]), (WRITING, [])])
async def test_l8_commands_are_judged_by_what_came_of_them(
    commands: list[str], told: list[str], tmp_path: Path
) -> None:
    script = [Turn(Call("run", {"command": one}), stop="tool_use") for one in commands]
    async with engine_home(tmp_path, "anthropic", [*script, Turn(Words("Done."))]) as home:
        events = await say(await home.session(), rules=(Rule.parse("run"),))
        assert [e.text for e in events if isinstance(e, Told) and e.topic == "stall"] == told
        end = events[-1]
        assert isinstance(end, TurnComplete)
        assert (end.reason, end.steps) == (("stalled", 4) if told else ("done", 7))


async def test_l8_an_agent_that_heeds_the_message_is_done(tmp_path: Path) -> None:
    script = [Turn(READ, stop="tool_use"), Turn(READ, stop="tool_use"), Turn(Words("One."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        events = await say(await home.session())
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "done"


async def test_l8_another_way_after_the_message_may_go_on(tmp_path: Path) -> None:
    other = Call("list", {"path": "."})
    script = [Turn(c, stop="tool_use") for c in (READ, READ, other)] + [Turn(Words("One."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        events = await say(await home.session())
        end = events[-1]
        assert isinstance(end, TurnComplete) and (end.reason, end.steps) == ("done", 4)


async def test_l8_after_the_persons_words_the_same_call_is_no_circle(tmp_path: Path) -> None:
    script = [Turn(READ, stop="tool_use"), Turn(READ, stop="tool_use"), Turn(Words("One."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        session = await home.session()

        def once_more(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, ToolFinished) and len(home.asked) == 1:
                session.steer(session.queue.add([Text("Look once more.")]))

        session.subscribe(once_more)
        events = await say(session)
        assert not [e for e in events if isinstance(e, Told) and e.topic != "orientation"]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"


async def test_l8_l9_a_draft_that_is_approved_meanwhile_is_a_change(tmp_path: Path) -> None:
    """What was read before may come out otherwise, so it is read again."""
    listing = Call("list", {"path": "."})
    script = [
        Turn(Call("write", {"path": "b.txt", "content": "two\n"}), stop="tool_use"),
        Turn(listing, READ, stop="tool_use"),
        Turn(Call("wait", {}), stop="tool_use"),
        Turn(listing, stop="tool_use"),
        Turn(READ, stop="tool_use"),
        Turn(Words("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        waiting, decided = asyncio.Event(), asyncio.Event()

        @tool(effect="read")
        async def wait() -> str:
            """Wait."""
            waiting.set()
            await decided.wait()
            return "Waited."

        home.engine.toolbox.tools["wait"] = wait
        agent = home.engine.paths.agents / "coder.md"
        agent.parent.mkdir(exist_ok=True)
        agent.write_text("---\nname: Coder\ntools: [write, list, read, wait]\n---\nWork.\n")
        session = await home.session()
        turn = asyncio.ensure_future(say(session))
        await waiting.wait()
        (draft,) = session.drafts.waiting()
        assert await session.review.decide(draft.id, "approve") == "approved"
        decided.set()
        events = await turn
        texts = [e.text for e in events if isinstance(e, ToolFinished)]
        assert ["b.txt" in texts[1], "b.txt" in texts[4]] == [False, True]
        assert not [e for e in events if isinstance(e, Told) and e.topic == "stall"]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"


async def test_l9_reading_is_remembered_until_something_is_written(tmp_path: Path) -> None:
    """The file changes behind the program's back: only a write of the turn's own counts."""
    script = [
        Turn(READ, stop="tool_use"),
        Turn(Call("run", {"command": "printf two > a.txt"}), stop="tool_use"),
        Turn(READ, Call("read", {"path": "a.txt", "first_line": 1}), stop="tool_use"),
        Turn(Call("list", {"path": "."}), READ, stop="tool_use"),
        Turn(Words("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        file = home.folder / "a.txt"
        file.write_text("one\n")
        session = await home.session()

        def meddle(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, StepStarted) and event.step == 4:
                file.write_text("three")

        session.subscribe(meddle)
        events = await say(session, rules=(Rule.parse("run"),))
        texts = [e.text for e in events if isinstance(e, ToolFinished)]
        assert "one" in texts[0]
        assert "two" in texts[2]  # the command may have written it, and it has
        assert "two" in "".join(texts[4:])  # remembered: this turn has written nothing since
