"""Requirements of the engine, clause by clause, where no other room's tests name them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.agents import Caps, Limits, Role
from studio.domain.events import (
    AwaitingPermission,
    Event,
    Exposed,
    MessageQueued,
    PermissionResolved,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.domain.messages import Text as Words
from studio.domain.permissions import Answer, Rule
from studio.domain.tools import BOARD_TOOLS, CHILD_TOOLS
from studio.simulator import Call, Text, Turn, Usage, error_event, stall
from studio.tools import Context, Result, tool
from support.command import at_provider, screen
from support.engine_home import EngineHome, engine_home, is_locked, say
from support.waiting import until, within

QUICK = "openai-compatible"
LINES = "lines.txt"
END = Turn(Text("Done."))


def look(n: int) -> Turn:
    """The reading of a line that is new, in the file of ``lines``."""
    return Turn(Call("read", {"path": LINES, "first_line": n + 1, "lines": 1}), stop="tool_use")


def lines(folder: Path) -> None:
    (folder / LINES).write_text("".join(f"This is line {n}.\n" for n in range(40)))


def run(command: str) -> Turn:
    return Turn(Call("run", {"command": command}), stop="tool_use")


def agent(home: EngineHome, head: str) -> None:
    file = home.engine.paths.agents / "own.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"---\nname: Own\n{head}\n---\nWork.\n")


# The terminal


async def test_l1_the_terminal_offers_to_go_on_in_the_background(tmp_path: Path) -> None:
    """L-1: at the inline cap; yes goes on from there with nothing said twice, no ends."""
    script = [*map(look, range(6)), END, *map(look, range(5))]
    async with at_provider(tmp_path, QUICK, script) as (terminal, simulator):
        lines(terminal.folder)
        base = ("run", "--provider", QUICK, "--model", "m", "--mode", "inline", "Search it")
        async with screen(terminal, *base) as shown:
            assert "5 steps" in await shown.until("Go on in the background? [y]es, [n]o: ")
            shown.type("y\n")
            await shown.until("Done.")
            assert await shown.end() == 0
        assert str(simulator.requests[-1].json).count("Search it") == 1
        async with screen(terminal, *base) as shown:
            await shown.until("Go on in the background? ")
            shown.type("\n\x03")
            assert await shown.end() == 130
        assert not simulator.violations


async def test_l1_nobody_is_asked_where_nobody_is(tmp_path: Path) -> None:
    """L-1: at a pipe the turn ends with its explanation; the background has no such offer."""
    script = [*map(look, range(5)), *map(look, range(20))]
    async with at_provider(tmp_path, QUICK, script) as (terminal, _):
        lines(terminal.folder)
        base = ("run", "--provider", QUICK, "--model", "m", "Search it")
        ended = await terminal(*base, "--mode", "inline")
        assert ended.code == 3 and "all 5 steps" in ended.err and "Go on" not in ended.err
        async with screen(terminal, *base, "--mode", "background") as shown:
            await shown.until("all 20 steps")
            assert await shown.end() == 3 and "Go on in" not in shown.shown


async def test_t7_what_was_typed_for_one_question_never_answers_the_next(tmp_path: Path) -> None:
    """T-7: a second line that is already typed is no answer."""
    script = [run("echo one"), run("echo two"), END]
    async with at_provider(tmp_path, QUICK, script) as (terminal, _):
        async with screen(terminal, "run", "--provider", QUICK, "--model", "m", "Go") as shown:
            await shown.until("Allow? ")
            shown.type("y\ny\n")
            await shown.until("· Running echo one")
            await shown.until("Allow? ")
            shown.type("n\n")
            await shown.until("Done.")
            assert await shown.end() == 4
        assert "· Running echo two" not in shown.shown


async def test_l2_json_has_every_event_of_the_turn(tmp_path: Path) -> None:
    """L-2: also what is recorded beside the loop: files, exposures; the last is turn_complete."""
    script = [
        Turn(Call("read", {"path": "a.txt"}), stop="tool_use"),
        run("printf x > made.txt"),
        END,
    ]
    async with at_provider(tmp_path, QUICK, script) as (terminal, _):
        (terminal.folder / "a.txt").write_text("alpha\n")
        allowed = ("--allow", "run", "--provider", QUICK, "--model", "m")
        events = await terminal.turn(*allowed, "Go")
        kinds = [event["event"] for event in events]
        assert {"exposed", "files_changed", "history_begun"} <= set(kinds)
        assert kinds[0] == "turn_started" and kinds[-1] == "turn_complete"
        assert kinds.count("turn_complete") == 1
        session = events[0]["session_id"]
        ended = await terminal("sessions", "events", session)
        stored = [event["event"] for event in json.loads(ended.out)["events"]]
        assert {*stored} <= {*kinds}
        shown, as_json = (
            await terminal("sessions", "context", session),
            await terminal("sessions", "context", session, "--json"),
        )
        found = json.loads(as_json.out)
        assert found["used"] == sum(found["parts"].values()) > 0
        assert f"together {found['used']:,}".split() == [
            *next(row for row in shown.out.splitlines() if row.startswith("together")).split()[:2]
        ]


async def test_l2_json_has_what_happens_beside_the_turn(tmp_path: Path) -> None:
    """L-2: a message queued meanwhile is printed as well, in its place."""
    from studio.cli.console import Console
    from studio.cli.event_printer import JsonPrinter
    from studio.cli.turn_driver import TurnDriver

    printed: list[Event] = []

    class Kept(JsonPrinter):
        def event(self, event: Event) -> None:
            printed.append(event)

    async with engine_home(tmp_path, "anthropic", [look(1), END]) as home:
        session = await home.session()

        def meanwhile(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, ToolStarted):
                session.queue.add([Words("And then?")])

        session.subscribe(meanwhile)
        console = Console()
        driver = TurnDriver(session, console, Kept(console), home.engine.questions)
        assert await driver.run_turn([Words("Go")], [], None) == 0
    kinds = [type(event) for event in printed]
    assert kinds.index(ToolQueued) < kinds.index(MessageQueued) < kinds.index(ToolFinished)
    assert kinds[-1] is TurnComplete


# One end


ENDS = {
    "done": [END],
    "step_limit": [look(0), look(1)],
    "token_limit": [Turn(Text("So"), stop="max_tokens")],
    "time_limit": [Turn(Text("slow " * 50), faults=[stall(at=4)])],
    "stalled": [look(0)] * 3,
    "cancelled": [Turn(Text("slow " * 50), faults=[stall(at=4)])],
    "refused": [Turn(Text(""), stop="refusal")],
    "error": [Turn(Text("Half an answer."), faults=[error_event("overloaded")])],
}


@pytest.mark.parametrize("reason", [*ENDS, "money_limit"])
async def test_l2_one_turn_complete_ends_a_turn(reason: str, tmp_path: Path) -> None:
    """L-2: exactly one, and last, whatever ends it; in the stream and in what is stored."""
    async with engine_home(tmp_path, "anthropic", ENDS.get(reason, [END])) as home:
        session = await home.session(model="claude-sonnet-4-5")
        if reason == "money_limit":
            home.engine.settings.values.long_dollars = 0.000_001
        recorded: list[Event] = []
        session.subscribe(lambda envelope: recorded.append(envelope.event))
        limits = Limits(2 if reason == "step_limit" else 9, 0.5 if reason == "time_limit" else 30)
        events: list[Event] = []
        async for envelope in session.turn([Words("Go")], limits=limits):
            event = envelope.event
            events.append(event)
            if reason == "cancelled":
                session.stop()
        for seen in (events, recorded):
            ends = [event for event in seen if isinstance(event, TurnComplete)]
            assert [end.reason for end in ends] == [reason] and seen[-1] is ends[0]
        assert not session.running


async def test_l2_only_the_outermost_turn_emits_its_end(tmp_path: Path) -> None:
    """L-2: a turn that a tool begins ends by itself; the one around it goes on to its own end."""
    script = [Turn(Call("hand_over", {}), stop="tool_use"), Turn(Text("Inner.")), END]
    async with engine_home(tmp_path, "anthropic", script) as home:
        inner: list[Event] = []

        @tool(effect="read", time_limit=None)
        async def hand_over(context: Context) -> str:
            """Hand the task over."""
            parent = await home.engine.sessions.open(context.session_id)
            child = await home.session()
            async for envelope in child.turn([Words("You")], parent=parent.as_parent):
                event = envelope.event
                inner.append(event)
            return "It is done."

        home.engine.toolbox.tools["hand_over"] = hand_over
        agent(home, "tools: [hand_over]")
        events = await say(await home.session("Own"))
        assert [type(e) for e in events].count(TurnComplete) == 1
        assert isinstance(events[-1], TurnComplete) and events[-1].steps == 2
        assert isinstance(inner[-1], TurnComplete)


# Several calls


async def test_l3_five_at_a_time_and_results_in_call_order(tmp_path: Path) -> None:
    """L-3: five wait for each other, a sixth is never beside them; the last is done first.

    Which five begin is left open: permission is decided in threads.
    """
    numbers = [*range(10)]
    script = [Turn(*(Call("linger", {"n": n}) for n in numbers), stop="tool_use"), END]
    async with engine_home(tmp_path, "anthropic", script) as home:
        inside: set[int] = set()
        most: list[int] = []
        begun: list[int] = []
        finished = [asyncio.Event() for _ in numbers]
        """In the order in which they began."""
        five = asyncio.Barrier(5)

        @tool(effect="read")
        async def linger(n: int) -> str:
            """Wait for four others.

            n: Which.
            """
            place = len(begun)
            begun.append(n)
            inside.add(n)
            most.append(len(inside))
            await five.wait()
            if place % 5 < 4:
                await finished[place + 1].wait()
            inside.discard(n)
            finished[place].set()
            return f"result {n}"

        home.engine.toolbox.tools["linger"] = linger
        agent(home, "tools: [linger]")
        async with within():
            events = await say(await home.session("Own"))
        assert max(most) == 5
        called = [e.call_id for e in events if isinstance(e, ToolQueued)]
        done = [e.text for e in events if isinstance(e, ToolFinished)]
        assert sorted(done) == [f"result {n}" for n in numbers]
        assert done[0] != f"result {begun[0]}"
        [results] = [m for m in home.asked[-1].json["messages"] if "tool_result" in str(m)]
        assert [block["tool_use_id"] for block in results["content"]] == called
        told = [str(block["content"]) for block in results["content"]]
        assert all(f"result {n}" in text for n, text in zip(numbers, told, strict=True))


async def test_l5_a_tool_that_fails_in_any_way_is_a_result(tmp_path: Path) -> None:
    """L-5: raises, times out, does not exist, wrong arguments with the field; the loop goes on."""
    calls = [
        Call("breaks", {}),
        Call("hangs", {}),
        Call("flies", {}),
        Call("breaks", {"deep": {"level": "high"}}),
    ]
    async with engine_home(tmp_path, "anthropic", [Turn(*calls, stop="tool_use"), END]) as home:

        @tool(effect="read")
        def breaks(deep: dict[str, int] | None = None) -> str:
            """Break.

            deep: Numbers.
            """
            raise KeyError("gone")

        @tool(effect="read", time_limit=0.05)
        async def hangs() -> None:
            """Hang."""
            await asyncio.Event().wait()

        home.engine.toolbox.tools |= {"breaks": breaks, "hangs": hangs}
        agent(home, "tools: [breaks, hangs]")
        events = await say(await home.session("Own"))
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        [results] = [m for m in home.asked[-1].json["messages"] if "tool_result" in str(m)]
        assert [block.get("is_error") for block in results["content"]] == [True] * 4
        texts = [str(block["content"]) for block in results["content"]]
        for text, words in zip(
            texts,
            ["KeyError", "Timed out after 0.05 s", "no tool called flies", "level"],
            strict=True,
        ):
            assert words in text


async def test_l11_several_tools_and_their_children_stop_at_once(tmp_path: Path) -> None:
    """L-11: three commands with children, a tool that waits, one that blocks a thread."""
    child = (
        "import fcntl,sys,time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('up', flush=True); time.sleep(3600)"
    )
    names = ["c0", "c1", "c2"]
    commands = [
        Call("run", {"command": f'{sys.executable} -c "{child}" {name} & wait'}) for name in names
    ]
    script = [Turn(*commands, Call("waits", {}), stop="tool_use"), END]
    async with engine_home(tmp_path, "anthropic", script) as home:
        waiting, given_up = asyncio.Event(), asyncio.Event()

        @tool(effect="read", time_limit=None)
        async def waits() -> None:
            """Wait."""
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                given_up.set()

        home.engine.toolbox.tools["waits"] = waits
        agent(home, "tools: [waits, run]")
        session = await home.session("Own")
        up: set[str] = set()
        pressed = False
        events: list[Event] = []
        async for envelope in session.turn([Words("Go")], rules=[Rule.parse("run")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, ToolOutput) and "up" in event.text:
                up.add(event.call_id)
            if len(up) == 3 and waiting.is_set() and not pressed:
                assert all(is_locked(home.folder / name) for name in names)
                pressed = True
                session.stop()
        await until(lambda: not any(is_locked(home.folder / name) for name in names))
        assert given_up.is_set()
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "cancelled"


@pytest.mark.parametrize("unit", ["tokens", "dollars"])
@pytest.mark.parametrize("scope", ["turn", "agent", "session", "day"])
async def test_l14_every_scope_has_its_cap(scope: str, unit: str, tmp_path: Path) -> None:
    """PRE-1, L-14: in tokens and money; the agent's own is the turn's; checked before a request."""
    most = 20_000 if unit == "tokens" else 0.07
    script = [
        Turn(Call("list", {"path": "."}), stop="tool_use", usage=Usage(19_500, out=100)),
        Turn(Text("Done."), usage=Usage(19_800, out=100)),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        caps = Caps(tokens=20_000) if unit == "tokens" else Caps(dollars=0.07)
        agent(home, f"tools: [list]\n{unit}: {most}" if scope == "agent" else "tools: [list]")
        session = await home.session("Own", model="claude-sonnet-4-5")  # $3 a million
        values = home.engine.settings.values
        if scope == "session":
            await session.change(caps=caps)
        elif scope != "agent":
            setattr(values, f"{scope}_{unit}", most)
        end = (await say(session))[-1]
        assert isinstance(end, TurnComplete)
        assert end.reason == ("token_limit" if unit == "tokens" else "money_limit")
        assert end.cap == ("turn" if scope == "agent" else scope)
        assert end.limit == most
        assert len(home.asked) == 1


# Tools


BUILT_IN = {
    "list", "glob", "read", "search", "outline", "write", "edit", "apply_patch", "delete", "move", "job",
    "run", "fetch", "web_search", "ask", "plan", "remember", "notes_read", "notes_detail", "recall", "memory",
    "delegate", "children", "wait", "tell_child", "stop_child",
    "board_read", "board_write", "post", "inbox", "task_add", "task_take", "task_done",
}  # fmt: skip
PLAIN = {
    "path", "folder", "pattern", "ignore_case", "content", "old", "new", "replace_all", "edits",
    "command", "id", "stop", "question", "agent", "child", "text",
}  # fmt: skip
"""Parameters whose names say all: what they would be told in is sent with every request."""


async def test_t8_the_built_in_tools(tmp_path: Path) -> None:
    """PRE-40, T-8: each there, and said to a model what it is for and takes."""
    async with engine_home(tmp_path, "anthropic", [END]) as home:
        assert set(home.engine.tools()) == BUILT_IN
        for made in home.engine.tools().values():
            spec = made.spec
            assert spec.description and spec.verb and spec.done, spec.name
            for name, field in spec.schema["properties"].items():  # type: ignore[union-attr]
                told = field.get("description") or name in PLAIN  # type: ignore[union-attr]
                assert told, (spec.name, name)


async def test_t4_every_result_has_its_source(tmp_path: Path) -> None:
    """T-4: of each built-in tool that needs no network, and of a tool that names none."""
    calls = [
        Call("list", {"path": "."}),
        Call("glob", {"pattern": "*.txt"}),
        Call("read", {"path": "a.txt"}),
        Call("search", {"pattern": "alpha"}),
        Call("search", {"pattern": "nowhere"}),
        Call("outline", {}),
        Call("write", {"path": "n.txt", "content": "x"}),
        Call("edit", {"path": "a.txt", "old": "alpha", "new": "beta"}),
        Call("move", {"path": "b.txt", "to": "c.txt"}),
        Call("delete", {"path": "d.txt"}),
        Call("delete", {"path": "n.txt"}),
        Call("run", {"command": "echo hi"}),
        Call("ask", {"question": "Which?"}),
        Call("remember", {"name": "build", "text": "make all"}),
        Call("notes_read", {}),
        Call("plain", {}),
    ]
    script = [Turn(call, stop="tool_use") for call in calls]
    async with engine_home(tmp_path, "anthropic", [*script, END]) as home:
        for name in "abd":
            (home.folder / f"{name}.txt").write_text("alpha\n")

        @tool(effect="read")
        def plain() -> str:
            """Say something."""
            return "something"

        home.engine.toolbox.tools["plain"] = plain
        session = await home.session("Coder")
        agent(home, 'tools: ["*"]')
        await session.change(agent="Own")
        done: list[ToolFinished] = []
        rules = [Rule.parse("run"), Rule.parse("remember")]
        async for envelope in session.turn([Words("Go")], rules=rules):
            event = envelope.event
            if isinstance(event, ToolFinished):
                done.append(event)
            elif type(event).__name__ == "AwaitingReply":
                session.answer_question(event.call_id, "Blue")  # type: ignore[union-attr]
        assert len(done) == len(calls)
        for call, event in zip(calls, done, strict=True):
            assert not event.is_error, (call.name, event.text)
            assert event.sources and all(event.sources), call.name


@pytest.mark.parametrize(
    ("role", "lacking"),
    [
        ("all", set()),
        ("edits", {"run", "job"}),
        ("notes", {"run", "job", "write", "edit", "delete", "move"}),
        ("reads", {"run", "job", "write", "edit", "delete", "move", "remember", "memory"}),
    ],
)
async def test_t6_a_role_is_a_set_of_tools(role: Role, lacking: set[str], tmp_path: Path) -> None:
    """T-6: what the model is offered; an allow rule of the agent's own adds nothing."""
    async with engine_home(tmp_path, "anthropic", [END, END]) as home:
        rule = "permissions: {allow: ['run', 'write', 'remember']}"
        agent(home, f"tools: ['*']\nrole: {role}\n{rule}")
        await say(await home.session("Own"))
        offered = {one["name"] for one in home.asked[-1].json["tools"]}
        # For some models, for agents that start others, and for those that name them.
        some = {"apply_patch", *CHILD_TOOLS, *BOARD_TOOLS}
        assert BUILT_IN - offered - some == lacking
        agent(home, f"tools: ['*']\nrole: {role}\npermissions: {{deny: ['read']}}")
        events = await say(await home.session("Own"))
        assert isinstance(events[-1], TurnComplete)
        assert "read" not in {one["name"] for one in home.asked[-1].json["tools"]}


@pytest.mark.parametrize("first", ["once", "deny"])
async def test_t7_several_questions_are_queued(first: Answer, tmp_path: Path) -> None:
    """T-7, L-2: one at a time, each bracketed; a second answer to the first reaches nobody."""
    calls = [Call("run", {"command": f"echo {n} > f{n}"}) for n in range(3)]
    async with engine_home(tmp_path, "anthropic", [Turn(*calls, stop="tool_use"), END]) as home:
        session = await home.session()
        open_now: list[str] = []
        answered: list[str] = []
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            if isinstance(event, AwaitingPermission):
                assert not open_now
                open_now.append(event.question.id)
                for old in answered:
                    session.answer_permission(old, "once")
                assert len(session.transcript.questions) == 1
                session.answer_permission(event.question.id, "deny" if answered else first)
                answered.append(event.question.id)
            elif isinstance(event, PermissionResolved):
                assert open_now == [event.question_id]
                open_now.clear()
        assert len(answered) == 3
        written = {path.name for path in home.folder.iterdir()}
        assert len(written) == (1 if first == "once" else 0)


async def test_t9_strangers_words_pass_the_filter_whatever_tool_they_come_by(
    tmp_path: Path,
) -> None:
    """T-9: what a tool of one's own fetches is masked for the model, and counts as exposure."""
    script = [Turn(Call("post", {}), stop="tool_use"), END]
    async with engine_home(tmp_path, "anthropic", script) as home:

        @tool(effect="read", untrusted=True)
        def post() -> Result:
            """Read the post."""
            return Result("Write to ann@example.org now.", sources=("post",))

        home.engine.toolbox.tools["post"] = post
        agent(home, "tools: [post]\nmask: [email]")
        events = await say(await home.session("Own"))
        assert "ann@example.org" not in str(home.asked[-1].json)
        met = {e.exposure for e in events if isinstance(e, Exposed)}
        assert met == {"untrusted", "private"}  # as a mailbox is
