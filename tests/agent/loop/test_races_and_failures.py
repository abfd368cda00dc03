"""What goes wrong between two steps: races with Stop, a disk that fails, readers that walk away."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from studio.agent.agent_files.finder import AgentFiles
from studio.agent.folder_files import read_folder_files
from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.agent.permission.rules import read_project
from studio.agent.session.event_channel import EventEnvelope
from studio.app import build
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.events import (
    AwaitingReply,
    Event,
    Failed,
    TextDelta,
    ToolFinished,
    ToolOutput,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.domain.permissions import Rule, Verdict
from studio.simulator import Call, Text, Turn, eof, stall
from studio.tools import Workspace
from studio.tools.builtin.run import run
from support.engine_home import KEY, EngineHome, engine_home, say
from support.model_calls import read
from support.responder_calls import answered, call_of, responder_of
from support.waiting import HANG

CHAT = "openai-compatible"


@contextmanager
def refusing(home: EngineHome, table: str, when: str = "1") -> Iterator[None]:
    """The database refuses new rows in a table for a while, as a full disk would."""
    with closing(sqlite3.connect(home.engine.paths.database, isolation_level=None)) as db:
        db.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON {table} WHEN {when} "
            "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        try:
            yield
        finally:
            db.execute("DROP TRIGGER refuse")


def ends(events: list[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, TurnComplete)]


# Stop


async def test_stop_before_the_turn_has_run_a_line(tmp_path: Path) -> None:
    """L-2: a Stop that was already on its way when the turn's task was made."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Again."))]) as home:
        session = await home.session()

        def heard(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, TurnStarted):
                session.stop()

        unsubscribe = session.subscribe(heard)
        events = await asyncio.wait_for(say(session, "Remember me"), HANG)
        assert ends(events) == ["cancelled"] and not session.running
        unsubscribe()
        assert ends(await say(session, "Go on")) == ["done"]
        assert "Remember me" in str(home.simulator.requests[-1].json)


async def test_stop_while_the_turn_is_prepared_is_never_lost(tmp_path: Path) -> None:
    """L-2, L-11: whichever moment of the preparation Stop meets, the turn ends as cancelled."""
    async with engine_home(
        tmp_path, CHAT, lambda _: Turn(Text("No."), faults=[stall(at=1)])
    ) as home:
        for moment in range(60):
            session = await home.session()
            events: list[Event] = []

            async def drive(session: object = session, events: list[Event] = events) -> None:
                async for envelope in session.turn([Words("Go")]):  # type: ignore[attr-defined]
                    event = envelope.event
                    events.append(event)

            task = asyncio.create_task(drive())
            await asyncio.sleep(0)
            for _ in range(moment):
                await asyncio.sleep(0.0003)
            session.stop()
            await asyncio.wait_for(task, HANG)
            assert ends(events) == ["cancelled"], moment
            assert isinstance(events[0], TurnStarted) and not session.running
            assert not session.transcript.running


async def test_stop_is_lost_on_no_tick_of_the_preparation(tmp_path: Path) -> None:
    """L-2: the turn is prepared, and Stop comes before its reader has woken up."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("No."), faults=[stall(at=1)])]) as home:
        session = await home.session()
        events: list[Event] = []

        async def drive() -> None:
            async for envelope in session.turn([Words("Go")]):
                event = envelope.event
                events.append(event)

        task = asyncio.create_task(drive())
        async with asyncio.timeout(HANG):
            while (  # noqa: ASYNC110
                preparing := session._preparing  # type: ignore[reportPrivateUsage]
            ) is None:
                await asyncio.sleep(0)  # until the turn begins its preparation
        preparing.add_done_callback(lambda _: session.stop())
        await asyncio.wait_for(task, HANG)
        assert ends(events) == ["cancelled"]


async def test_a_reader_that_walks_away_leaves_a_finished_turn(tmp_path: Path) -> None:
    """L-2: the record has the turn's end, the native history every result (H-5)."""
    script = [Turn(Call("ask", {"question": "?"}), read("a.txt")), Turn(Text("Back."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        heard: list[Event] = []
        session.subscribe(lambda envelope: heard.append(envelope.event))
        turn = session.turn([Words("Go")])
        async for envelope in turn:
            event = envelope.event
            if isinstance(event, AwaitingReply):
                break
        await turn.aclose()
        assert ends(heard) == ["cancelled"] and not session.transcript.running
        assert session.info.state == "cancelled"
        assert all(b.finished for b in session.transcript.blocks if isinstance(b, ToolBlock))
        stored = await home.engine.store.get(session.info.id)
        assert stored is not None and stored.state == "cancelled"
        assert ends(await say(session, "Again")) == ["done"]
        assert not home.simulator.violations


async def test_a_reader_that_is_cancelled_while_the_turn_is_prepared(tmp_path: Path) -> None:
    """L-2: what the person typed is kept, and the turn has its end."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Yes."))]) as home:
        session = await home.session()

        async def drive() -> None:
            async for _ in session.turn([Words("Keep me")]):
                pass

        task = asyncio.create_task(drive())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert not session.running and not session.transcript.running
        events = await home.engine.store.events(session.info.id)
        assert ends(events) == ["cancelled"]
        assert ends(await say(session, "Well?")) == ["done"]
        sent = str(home.simulator.requests[-1].json)
        assert "Keep me" in sent and "Well?" in sent


async def test_closing_a_session_waits_for_its_turn(tmp_path: Path) -> None:
    """L-2: a chat that is closed or deleted while it works ends properly first."""
    async with engine_home(
        tmp_path, CHAT, [Turn(Text("long " * 50), faults=[stall(at=3)]), Turn(Text("."))]
    ) as home:
        session = await home.session()
        going = asyncio.Event()
        session.subscribe(lambda one: going.set() if isinstance(one.event, TextDelta) else None)

        async def drive() -> None:
            async for _ in session.turn([Words("Go")]):
                pass

        task = asyncio.create_task(drive())
        await asyncio.wait_for(going.wait(), HANG)
        await home.engine.sessions.close()
        await asyncio.wait_for(task, HANG)
        events = await home.engine.store.events(session.info.id)
        assert ends(events) == ["cancelled"]


async def test_two_turns_at_once_are_one_turn_and_an_error(tmp_path: Path) -> None:
    async with engine_home(tmp_path, CHAT, [Turn(Text("One."))]) as home:
        session = await home.session()
        first, second = await asyncio.gather(
            say(session, "1"), say(session, "2"), return_exceptions=True
        )
        assert isinstance(first, list) and ends(first) == ["done"]
        assert isinstance(second, ConfigurationError)
        assert not session.running and len(home.simulator.requests) == 1


async def test_a_listener_that_fails_stops_nobody(tmp_path: Path) -> None:
    async with engine_home(tmp_path, CHAT, [Turn(Text("Fine."))]) as home:
        session = await home.session()
        heard: list[Event] = []

        def broken(envelope: EventEnvelope) -> None:
            raise RuntimeError("a view that is gone")

        session.subscribe(broken)
        session.subscribe(lambda envelope: heard.append(envelope.event))
        assert ends(await say(session)) == ["done"] and ends(heard) == ["done"]


# What was said and never sent


@pytest.mark.parametrize("restart", [False, True])
async def test_a_message_of_a_turn_that_could_not_begin_reaches_the_model(
    tmp_path: Path, restart: bool
) -> None:
    """H-1: the second message of a chat, said while the folder was away, and then a retry."""
    script = [Turn(Text("First.")), Turn(Text("Second.")), Turn(Text("Third."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        await say(session, "One")
        home.folder.rename(tmp_path / "away")
        events = await say(session, "Two, while the folder is away")
        assert ends(events) == ["error"] and any(isinstance(e, Failed) for e in events)
        (tmp_path / "away").rename(home.folder)
        if not restart:
            assert ends(await say(session, "")) == ["done"]
            assert str(home.simulator.requests[-1].json).count("Two, while") == 1
            assert ends(await say(session, "Three")) == ["done"]
            assert str(home.simulator.requests[-1].json).count("Two, while") == 1
            return
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, script[1:]) as home:
        session = await home.engine.sessions.open(session_id)
        assert ends(await say(session, "")) == ["done"]
        assert str(home.simulator.requests[-1].json).count("Two, while") == 1
        assert not home.simulator.violations


# A disk that fails


async def test_s3_a_bare_models_answer_that_the_disk_refuses_is_none(tmp_path: Path) -> None:
    """L-2: its client is told so in place of the end, and the chat has it once the disk takes it."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Yes."))]) as home:
        with refusing(home, "transcript"):
            answer = await answered(responder_of(home), call_of(home, "Go"))
        assert (answer.text, answer.outcome.stop) == ("Yes.", "error")
        assert answer.outcome.code == "storage"
        await home.engine.sessions.close()
        (info,) = await home.engine.sessions.list()
        events = await home.engine.store.events(info.id)
        assert ends(events) == ["done"]


@pytest.mark.parametrize("provider", [CHAT, "anthropic"])
async def test_a_reply_that_could_not_be_stored_never_leaves_its_results_alone(
    tmp_path: Path, provider: str
) -> None:
    """H-5: the disk refuses the reply for a moment and takes what follows it."""
    script = [Turn(read("a.txt")), Turn(Text("Done."))]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        session = await home.session()
        with refusing(home, "native", "NEW.body LIKE '%\"assistant\"%'"):
            events = await say(session)
            assert ends(events) == ["error"]
            assert any(isinstance(e, Failed) and e.fault == "storage" for e in events)
        session_id = session.info.id
        native = await home.engine.store.native(session_id)
        assert native is not None and [i["role"] for i in native.items] == ["user"]
        assert ends(await say(session, "Go on")) == ["done"]
        assert not home.simulator.violations
        native = await home.engine.store.native(session_id)
        assert native is not None and str(native.items).count("Go on") == 1
    async with engine_home(tmp_path, provider, [Turn(Text("Still here."))]) as home:
        session = await home.engine.sessions.open(session_id)
        assert ends(await say(session, "And now?")) == ["done"]
        assert not home.simulator.violations


async def test_a_message_that_could_not_be_stored_is_sent_once(tmp_path: Path) -> None:
    async with engine_home(tmp_path, CHAT, [Turn(Text("Got it."))]) as home:
        session = await home.session()
        with refusing(home, "native"):
            events = await say(session, "Only once")
            assert ends(events) == ["error"]
        assert ends(await say(session, "")) == ["done"]
        assert str(home.simulator.requests[-1].json).count("Only once") == 1


@pytest.mark.parametrize("lost", ["step_ended", "turn_complete"])
async def test_l2_a_turn_that_lost_its_record_is_not_done(tmp_path: Path, lost: str) -> None:
    """The answer is stored, and what is told of it is not: neither here nor in a script."""
    from studio.cli.console import Console
    from studio.cli.event_printer import JsonPrinter
    from studio.cli.turn_driver import TurnDriver

    printed: list[Event] = []

    class Kept(JsonPrinter):
        def event(self, event: Event) -> None:
            printed.append(event)

    async with engine_home(tmp_path, CHAT, [Turn(Text("Done."))] * 2) as home:
        session = await home.session()
        driver = TurnDriver(session, Console(), Kept(Console()), None)
        with refusing(home, "transcript", f"NEW.body LIKE '%{lost}%'"):
            assert await driver.run_turn([Words("Go")], [], None) == 1
        assert ends(printed) == ["error"] and isinstance(printed[-1], TurnComplete)
        assert [e.fault for e in printed if isinstance(e, Failed)] == ["storage"]
        assert ends(await say(session, "Go on")) == ["done"]
        events = await home.engine.store.events(session.info.id)
        told = "error" if lost == "step_ended" else "done"
        assert ends(events) == [told, "done"]
        assert not home.simulator.violations


# Replies that are odd


async def test_calls_cut_off_by_a_fault_are_not_blamed_on_the_person(tmp_path: Path) -> None:
    """H-5: the error result says what happened."""
    script = [
        Turn(read("a.txt"), Text("and then it broke off in the middle"), faults=[eof(at=-3)]),
        Turn(Text("Whole.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        assert ends(await say(session)) == ["error"]
        assert ends(await say(session, "Again")) == ["done"]
        sent = str(home.simulator.requests[-1].json)
        assert "tool_result" in sent and "stopped the turn" not in sent
        assert not home.simulator.violations


async def test_calls_of_a_reply_that_met_its_limit_are_answered_and_shown(tmp_path: Path) -> None:
    """H-5: not run, said so to the model and in the row, and the loop goes on."""
    script = [Turn(read("a.txt"), stop="max_tokens"), Turn(Text("Done."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events = await say(session)
        assert ends(events) == ["done"] and not home.simulator.violations
        finished = [e for e in events if isinstance(e, ToolFinished)]
        assert len(finished) == 1 and finished[0].is_error and "not run" in finished[0].text


@pytest.mark.parametrize("stop", ["refusal", "context_exceeded"])
async def test_calls_of_a_refused_reply_end_the_turn(tmp_path: Path, stop: str) -> None:
    script = [Turn(Text("I will."), read("a.txt"), stop=stop), Turn(Text("Fine."))]  # type: ignore[arg-type]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session("Writer")
        assert ends(await say(session)) == ["refused" if stop == "refusal" else "token_limit"]
        assert ends(await say(session, "Else?")) == ["done"]
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", CHAT, "ollama"])
async def test_trying_again_after_half_an_answer(tmp_path: Path, provider: str) -> None:
    """H-5: what came is kept, and the request does not end with the model's own words."""
    script = [
        Turn(Text("Half an answer that breaks off somewhere."), faults=[eof(at=6)]),
        Turn(Text("Whole.")),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        assert ends(await say(session)) == ["error"]
        assert ends(await say(session, "")) == ["done"]
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", CHAT, "ollama"])
@pytest.mark.parametrize("stop", ["empty", "tool_use", "pause_turn"])
async def test_a_reply_of_nothing(tmp_path: Path, provider: str, stop: str) -> None:
    script = [Turn(stop=stop), Turn(Text("Here.")), Turn(Text("Here."))]  # type: ignore[arg-type]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        assert len(ends(await say(session))) == 1
        assert ends(await say(session, "Hello?")) == ["done"]
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", CHAT])
async def test_two_calls_under_one_id(tmp_path: Path, provider: str) -> None:
    """H-3: each has its own result and its own row, and the next request is accepted."""
    same = [Call("read", {"path": p}, id="call_1") for p in ("a.txt", "b.txt")]
    script = [Turn(*same), Turn(Text("Both.")), Turn(Text("On."))]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        (home.folder / "b.txt").write_text("beta\n")
        session = await home.session()
        assert ends(await say(session)) == ["done"]
        rows = [b for b in session.transcript.blocks if isinstance(b, ToolBlock)]
        assert [row.target for row in rows] == ["a.txt", "b.txt"]
        assert "alpha" in rows[0].output and "beta" in rows[1].output
        assert ends(await say(session, "On")) == ["done"]
        assert not home.simulator.violations


# Rules that somebody tries to trick


def test_always_never_covers_another_program() -> None:
    """T-7: what looks like a program's name may be a pattern, or a variable before it."""
    from studio.agent.permission.policy import Policy
    from studio.tools.builtin.run import run

    def always(command: str) -> str:
        policy, asked = Policy("ask"), {"command": command}
        return ", ".join(
            map(str, suggest_rules(policy, run.spec, asked, policy.decide(run.spec, asked)))
        )

    for command in ("* x", "[a-z]* x", '"a b" c', "ls; * x", "ls | x=$(y) $x"):
        assert always(command) == "", command
    assert always("X=1 ls") == "run(X=1), run(ls *)"
    assert always("nohup ls") == "run(nohup *), run(ls *)"
    assert always("ls; rm x") == "run(ls *), run(rm x)"
    assert always("ruff check") == "run(ruff *)"
    assert always("make test") == "run(make test)"


@pytest.mark.parametrize("path", ["secret/key", "./secret/key", "a/../secret/key", "link/key"])
async def test_a_denied_path_is_denied_however_it_is_written(tmp_path: Path, path: str) -> None:
    """T-6, T-7: rules are about places; a link leads to one too."""
    async with engine_home(tmp_path, CHAT, [Turn(read(path)), Turn(Text("."))]) as home:
        (home.folder / "secret").mkdir()
        (home.folder / "a").mkdir()
        (home.folder / "secret" / "key").write_text("hidden")
        (home.folder / "link").symlink_to("secret")
        session = await home.session()
        await say(session, rules=(Rule.parse("read(secret/*)", "deny"),))
        assert "hidden" not in str(home.simulator.requests[-1].json)


async def test_an_allowed_place_is_not_left_by_dots(tmp_path: Path) -> None:
    """T-5: "write(src/*)" writes nothing else without a person."""
    paths = ["src/../Makefile", "src/a.txt"]
    script = [Turn(*(Call("write", {"path": p, "content": "x"}) for p in paths)), Turn(Text("."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        await say(session, rules=(Rule.parse("write(src/*)"),))
        assert (home.folder / "src" / "a.txt").exists()
        assert not (home.folder / "Makefile").exists()
        assert [draft.path for draft in session.drafts.waiting()] == ["Makefile"]


@pytest.mark.parametrize("verdict", ["deny", "ask"])
def test_t7_no_redirection_reads_what_a_rule_protects(tmp_path: Path, verdict: Verdict) -> None:
    rules = [*map(Rule.parse, ("run(cat *)", "run(< *)")), Rule(verdict, "read", ".env")]
    policy = Policy("auto", {"person": rules}, workspace=Workspace(tmp_path))
    assert policy.explain(run.spec, "cat < notes").verdict == "allow"
    for command in ("cat < .env", "cat < ./.env", "cat < a/../.env"):
        found = policy.explain(run.spec, command)
        assert found.verdict == "ask" and ".env" in found.why


async def test_hooks_and_agents_wait_for_the_person_even_in_auto(tmp_path: Path) -> None:
    """T-5: a file that gives rights, or runs later, is never written unseen."""
    paths = [".git/hooks/pre-commit", ".agents/agents/Coder.md", "a.txt"]
    script = [Turn(*(Call("write", {"path": p, "content": "x"}) for p in paths)), Turn(Text("."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        await session.change(permission_mode="auto")
        await say(session)
        assert sorted(draft.path for draft in session.drafts.waiting()) == sorted(paths[:2])
        assert (home.folder / "a.txt").exists()


# Tools that misbehave


async def test_tools_that_misbehave_are_results(tmp_path: Path) -> None:
    """L-3 to L-5: cancelled from inside, an endless list, a flood of output."""
    names = ["cancels", "endless", "floods"]
    script = [Turn(*(Call(name, {}) for name in names)), Turn(Text("Still here."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        file = home.engine.paths.tools / "odd.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "import asyncio, itertools\n"
            "from studio.tools import Context, tool\n"
            "@tool(effect='read')\n"
            "async def cancels():\n"
            "    'Gives up.'\n"
            "    raise asyncio.CancelledError\n"
            "@tool(effect='read')\n"
            "async def endless():\n"
            "    'Counts.'\n"
            "    return itertools.count()\n"
            "@tool(effect='read')\n"
            "async def floods(context: Context):\n"
            "    'Prints.'\n"
            "    for _ in range(100):\n"
            "        context.emit('x' * 100_000)\n"
        )
        await asyncio.to_thread(home.engine.discover_tools)
        home.engine.paths.agents.mkdir(parents=True)
        (home.engine.paths.agents / "Odd.md").write_text("---\nname: Odd\n---\nUse all tools.\n")
        session = await home.session(agent="Odd")
        events = await say(session)
        assert ends(events) == ["done"]
        finished = [e for e in events if isinstance(e, ToolFinished)]
        assert len(finished) == 3 and sum(e.is_error for e in finished) == 1
        assert sum(len(e.text) for e in events if isinstance(e, ToolOutput)) < 300_000


# Drafts


async def test_approving_twice_writes_once(tmp_path: Path) -> None:
    """T-5: a double click is no conflict with oneself."""
    script = [Turn(Call("write", {"path": "n.txt", "content": "new\n"})), Turn(Text("."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        await say(session)
        draft = session.drafts.waiting()[0]
        both = await asyncio.gather(*(session.review.decide(draft.id, "approve") for _ in range(2)))
        assert both == ["approved", "approved"]
        assert await session.review.decide(draft.id, "undo") == "undone"


async def test_an_edit_of_a_draft_still_sees_that_the_file_changed(tmp_path: Path) -> None:
    """T-5: what the person wrote meanwhile is not overwritten by a further edit."""
    script = [
        Turn(Call("edit", {"path": "n.txt", "old": "one", "new": "two"})),
        Turn(Text(".")),
        Turn(Call("edit", {"path": "n.txt", "old": "two", "new": "three"})),
        Turn(Text(".")),
    ]
    async with engine_home(tmp_path, CHAT, script) as home:
        file = home.folder / "n.txt"
        file.write_text("one\n")
        session = await home.session()
        await say(session)
        file.write_text("mine\n")
        await say(session)
        draft = session.drafts.waiting()[0]
        assert draft.after == "three\n"
        assert await session.review.decide(draft.id, "approve") == "conflict"
        assert file.read_text() == "mine\n"


async def test_a_pause_without_a_tool_at_work_is_an_end(tmp_path: Path) -> None:
    """H-5: sent back as it is, such a reply would be the model's own words at the end."""
    script = [Turn(Text("Hm."), stop="pause_turn"), Turn(Text("Here."))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        assert ends(await say(session)) == ["done"]
        assert ends(await say(session, "Well?")) == ["done"]
        assert not home.simulator.violations


# Other programs, other people's files


async def test_two_programs_never_work_in_one_session_at_once(tmp_path: Path) -> None:
    """H-5: the second would close the calls that the first still runs."""
    script = [Turn(Call("ask", {"question": "?"})), Turn(Text("Done.")), Turn(Text("Mine."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        other = await build(home.engine.paths, home.engine.settings)
        other.keychain.keep_for_session(CHAT, KEY)
        try:
            same = await other.sessions.open(session.info.id)
            async for envelope in session.turn([Words("Go")]):
                event = envelope.event
                if isinstance(event, AwaitingReply):
                    with pytest.raises(ConfigurationError):
                        await say(same, "Me too")
                    session.answer_question(event.call_id, "Blue")
            assert not same.running
            with pytest.raises(ConfigurationError, match="Open it again"):
                await say(same, "Me too")  # it has not seen what the other did
            same = await other.sessions.open(session.info.id)
            assert ends(await say(same, "Me too")) == ["done"]
        finally:
            await other.close()
        assert not home.simulator.violations


def agent_file(*lines: str) -> str:
    return "\n".join(["---", *lines, "---", "Work.", ""])


async def test_files_of_a_project_cannot_harm_the_library(tmp_path: Path) -> None:
    """A link to a device, a file without an end, YAML that nests or multiplies itself."""
    project = tmp_path / ".agents" / "agents"
    project.mkdir(parents=True)
    (project / "device.md").symlink_to("/dev/zero")
    (project / "folder.md").mkdir()
    (project / "huge.md").write_text(agent_file("name: huge") + "x" * 300_000)
    (project / "deep.md").write_text(agent_file("name: " + "[" * 5000))
    bomb = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    bomb += [
        f"{n}: &{n} [{','.join(['*' + p] * 9)}]"
        for p, n in zip("bcdefghi", "abcdefgh", strict=True)
    ]
    (project / "bomb.md").write_text(agent_file(*bomb, "tools: *i").replace("a: &a", "tools: &a"))
    (project / "tools.md").write_text(agent_file("tools: &a [[x]]", "permissions: {allow: [*a]}"))
    (project / "good.md").write_text(agent_file("name: good"))
    agents = AgentFiles(tmp_path / "none", tmp_path / "none").read(read_folder_files(tmp_path))
    assert list(agents.by_name) == ["good"] and len(agents.problems) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="links and names as POSIX has them")
async def test_no_name_or_link_in_a_project_ends_a_chat(tmp_path: Path) -> None:
    folder = tmp_path / ".agents"
    folder.mkdir()
    (folder / "agents").symlink_to("agents")  # to itself
    files = read_folder_files(tmp_path)
    assert files.empty
    found = AgentFiles(tmp_path / "none", tmp_path / "none").read(files)
    assert not found.by_name and not found.problems
    (folder / "agents").unlink()
    (folder / "agents").mkdir()
    try:
        (folder / "agents" / os.fsdecode(b"odd\xff.md")).write_text(agent_file("name: odd"))
    except OSError:  # some disks have no such names
        (folder / "agents" / "odd.md").write_text(agent_file("name: odd"))
    before = read_project(tmp_path)
    assert not before.files.empty and not before.problem
    found = AgentFiles(tmp_path / "none", tmp_path / "none").read(before.files)
    assert list(found.by_name) == ["odd"]


async def test_an_agent_file_that_grows_while_it_is_read_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-6: not without the rules at its end."""
    file, size = tmp_path / "x.md", Path.stat
    file.write_text("---\nname: x\n")

    def grows(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = size(path, follow_symlinks=follow_symlinks)
        if path == file and found.st_size < 20:
            file.write_text(agent_file("name: x", "permissions:", "  deny: run(rm *)"))
        return found

    monkeypatch.setattr(Path, "stat", grows)
    found = await AgentFiles(tmp_path / "none", tmp_path).load()
    assert [str(rule) for rule in found.by_name["x"].permissions] == ["run(rm *)"]


async def test_the_model_hears_of_a_decision_after_a_restart(tmp_path: Path) -> None:
    """H-6: also if a turn that could not begin came between."""
    script = [Turn(Call("write", {"path": "n.txt", "content": "x"})), Turn(Text("."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        session = await home.session()
        await say(session)
        await session.review.decide(session.drafts.waiting()[0].id, "discard")
        await session.change(model="")
        assert ends(await say(session, "Hello?")) == ["error"]
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, [Turn(Text("I see."))]) as home:
        session = await home.engine.sessions.open(session_id)
        await session.change(model="sim-model")
        assert ends(await say(session, "Well?")) == ["done"]
        sent = str(home.simulator.requests[-1].json)
        assert "discarded the draft of n.txt" in sent and "Hello?" in sent


async def test_one_session_that_cannot_be_saved_keeps_no_other_from_it(tmp_path: Path) -> None:
    async with engine_home(tmp_path, CHAT, [Turn(Text("."))]) as home:
        first, second = await home.session(), await home.session()
        with refusing(home, "transcript", f"NEW.session_id = '{first.info.id}'"):
            with pytest.raises(StorageError):
                await say(first)
            assert ends(await say(second)) == ["done"]
            with pytest.raises(StorageError):
                await home.engine.sessions.close()
        await first.close()
        events = await home.engine.store.events(first.info.id)
        assert len(ends(events)) == 1, "kept until the disk took it"
