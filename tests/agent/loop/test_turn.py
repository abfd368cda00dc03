"""The loop against a strict simulator, over real HTTP, on each of the five protocols."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import pytest

from studio.domain.agents import Limits
from studio.domain.blocks import ToolBlock
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    DraftCreated,
    Event,
    Failed,
    Notice,
    PermissionResolved,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Think, Turn, eof, error_event, stall, status
from support.engine_home import PROTOCOLS, engine_home, is_locked, say
from support.model_calls import read
from support.waiting import FOREVER, HANG, until

pytestmark = pytest.mark.parametrize("provider", list(PROTOCOLS))


async def test_two_steps_with_parallel_calls(tmp_path: Path, provider: str) -> None:
    """H-3, H-4, H-8, L-1, L-3: each request has the right results, in call order."""
    script = [
        Turn(
            Think("a plan"),
            Text("I look."),
            read("a.txt"),
            read("b.txt"),
            read("a.txt"),
            stop="tool_use",
        ),
        Turn(read("b.txt"), read("missing.txt"), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        (home.folder / "b.txt").write_text("beta\n")
        session = await home.session()
        events = await say(session)
        assert not home.simulator.violations
        assert len(home.asked) == 3
        second, third = (str(r.json) for r in home.asked[1:3])
        assert second.index("alpha") < second.index("beta") < second.rindex("alpha")
        assert second.count("alpha") == 2 and third.count("alpha") == 2
        assert third.count("beta") == 2 and "missing.txt" in third
        assert [type(e) for e in events].count(TurnComplete) == 1
        assert isinstance(events[0], TurnStarted) and isinstance(events[-1], TurnComplete)
        assert events[-1].reason == "done" and events[-1].steps == 3
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "I look.Done."
        order = [e.call_id for e in events if isinstance(e, ToolQueued)]
        assert len(order) == 5
        for started in (e for e in events if isinstance(e, ToolStarted)):
            finished = next(
                e for e in events if isinstance(e, ToolFinished) and e.call_id == started.call_id
            )
            assert events.index(started) < events.index(finished)


async def test_restart_goes_on_in_the_same_session(tmp_path: Path, provider: str) -> None:
    """PRE-1, H-1: what was stored is what the next request is made of, byte for byte."""
    script = [Turn(Think("hm"), read("a.txt"), stop="tool_use"), Turn(Text("First."), stop="end")]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        session = await home.session()
        await say(session, "One")
        before = list((await home.engine.store.native(session.info.id)).items)  # type: ignore[union-attr]
        session_id, sent = session.info.id, home.asked[-1].json
    async with engine_home(tmp_path, provider, [Turn(Text("Second."), stop="end")]) as home:
        session = await home.engine.sessions.open(session_id)
        assert session.info.title == "One" and session.info.state == "done"
        assert [b.text for b in session.transcript.blocks if hasattr(b, "live")][-1] == "First."
        events = await say(session, "Two")
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        native = await home.engine.store.native(session_id)
        assert native is not None and native.items[: len(before)] == before and native.epoch == 1
        assert not home.simulator.violations and sent
        found = await home.engine.sessions.search("alpha")
        assert [hit.session_id for hit in found] == [session_id]


async def test_permission_once_session_and_deny(tmp_path: Path, provider: str) -> None:
    """L-2, T-7: questions bracket; "always" lasts for the session; a denial reaches the model."""

    def run(command: str) -> Call:
        return Call("run", {"command": command})

    script = [
        Turn(run("echo one"), stop="tool_use"),
        Turn(Text("."), stop="end"),
        Turn(run("echo two"), stop="tool_use"),
        Turn(Text("."), stop="end"),
        Turn(run("printf no"), stop="tool_use"),
        Turn(Text("."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = await say(session, answer="session")
        asked = [e for e in events if isinstance(e, AwaitingPermission)]
        told = [e for e in events if isinstance(e, PermissionResolved)]
        assert len(asked) == 1 and [e.question_id for e in told] == [asked[0].question.id]
        assert [str(rule) for rule in asked[0].question.always] == ["run(echo *)"]
        assert any(isinstance(e, ToolOutput) and "one" in e.text for e in events)
        events = await say(session, answer="deny")
        assert not any(isinstance(e, AwaitingPermission) for e in events)
        events = await say(session, answer="deny")
        finished = next(e for e in events if isinstance(e, ToolFinished))
        assert finished.is_error and "did not allow" in finished.text
        assert "did not allow" in str(home.asked[-1].json)
        assert not home.simulator.violations
        assert [str(one.rule) for one in await session.rules.list()] == ["run(echo *)"]


async def test_draft_is_approved_and_undone(tmp_path: Path, provider: str) -> None:
    """T-5: nothing is written before approval; undo restores; the model hears of it (H-6)."""
    script = [
        Turn(Call("write", {"path": "n.txt", "content": "new\n"}), stop="tool_use"),
        Turn(read("n.txt"), stop="tool_use"),
        Turn(Text("Drafted."), stop="end"),
        Turn(Text("Good."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = await say(session)
        draft = next(e.draft for e in events if isinstance(e, DraftCreated))
        file = home.folder / "n.txt"
        assert not file.exists()
        assert "new" in str(home.asked[2].json)  # reading shows the draft
        assert (
            await session.review.decide(draft.id, "approve") == "approved"
            and file.read_text() == "new\n"
        )
        await say(session, "Well?")
        assert "approved the draft of n.txt" in str(home.asked[-1].json)
        assert await session.review.decide(draft.id, "undo") == "undone" and not file.exists()
        assert not home.simulator.violations


async def test_edits_in_one_reply_happen_in_call_order(tmp_path: Path, provider: str) -> None:
    """L-3: a tool that runs alone waits for the calls before it, and those after wait for it."""

    def edit(old: str, new: str) -> Call:
        return Call("edit", {"path": "a.txt", "old": old, "new": new})

    steps = [edit(str(number), str(number + 1)) for number in range(6)]
    script = [
        Turn(read("a.txt"), *steps, read("a.txt"), stop="tool_use"),
        Turn(Text("."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("count: 0\n")
        session = await home.session()
        events = await say(session)
        finished = [e for e in events if isinstance(e, ToolFinished)]
        assert not any(e.is_error for e in finished)
        order = {e.call_id: n for n, e in enumerate(x for x in events if isinstance(x, ToolQueued))}
        texts = sorted((order[e.call_id], e.text) for e in finished)
        assert "count: 0" in texts[0][1] and "count: 6" in texts[-1][1]
        assert [draft.after for draft in session.drafts.waiting()] == ["count: 6\n"]
        assert not home.simulator.violations


async def test_draft_never_overwrites_a_changed_file(tmp_path: Path, provider: str) -> None:
    """T-5: a file changed meanwhile is a conflict."""
    script = [
        Turn(Call("write", {"path": "n.txt", "content": "agent\n"}), stop="tool_use"),
        Turn(Text("."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        await say(session)
        (home.folder / "n.txt").write_text("person\n")
        assert await session.review.decide(session.drafts.waiting()[0].id, "approve") == "conflict"
        assert (home.folder / "n.txt").read_text() == "person\n"


async def test_cancel_in_the_stream_then_go_on(tmp_path: Path, provider: str) -> None:
    """PRE-1, H-5, L-11: the connection is closed at once, and the next request is accepted."""
    script = [
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
        Turn(Text("Here again."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = []
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            events.append(event)
            if isinstance(event, TextDelta):
                session.stop()
                session.stop()
        assert events[-1].reason == "cancelled"  # type: ignore[union-attr]
        await asyncio.wait_for(home.simulator.wait_disconnect(0), HANG)
        events = await say(session, "Again")
        assert events[-1].reason == "done"  # type: ignore[union-attr]
        assert not home.simulator.violations


async def test_cancel_in_a_command_then_go_on(tmp_path: Path, provider: str) -> None:
    """H-5, L-11: children of children are gone; every call has its result."""
    child = (
        "import fcntl,time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('up', flush=True); time.sleep(3600)"
    )
    command = f'{sys.executable} -c "{child}" & wait'
    script = [
        Turn(Call("run", {"command": command}), read("a.txt"), stop="tool_use"),
        Turn(Text("Fine."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        session = await home.session()
        pressed, up, read_done = False, False, False
        async for envelope in session.turn([Words("Go")], rules=[Rule.parse("run")]):
            event = envelope.event
            up = up or (isinstance(event, ToolOutput) and "up" in event.text)
            read_done = read_done or isinstance(event, ToolFinished)
            if up and read_done and not pressed:
                assert is_locked(home.folder / "child")
                pressed = True
                session.stop()
        assert pressed
        await until(lambda: not is_locked(home.folder / "child"))
        states = {b.name: b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)}
        assert states == {"run": "cancelled", "read": "done"}
        events = await say(session, "Again")
        assert events[-1].reason == "done" and not home.simulator.violations  # type: ignore[union-attr]
        sent = str(home.asked[-1].json)
        assert "alpha" in sent and "stopped the turn" in sent


async def test_bad_calls_reach_the_model_as_errors(tmp_path: Path, provider: str) -> None:
    """L-5: unknown tool, wrong argument, outside the folder; the loop goes on."""
    script = [
        Turn(
            Call("fly", {"to": "moon"}),
            Call("read", {"path": 5}),
            Call("read", {}),
            read("../secret"),
            stop="tool_use",
        ),
        Turn(Text("Sorry."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (tmp_path / "secret").write_text("hidden")
        session = await home.session()
        events = await say(session, answer="deny")  # a place outside is asked about (T-7)
        texts = [e.text for e in events if isinstance(e, ToolFinished) and e.is_error]
        assert len(texts) == 4
        joined = " ".join(texts)
        assert "no tool called fly" in joined and "path" in joined and "hidden" not in joined
        assert events[-1].reason == "done" and not home.simulator.violations  # type: ignore[union-attr]


async def test_step_limit_is_an_explanation(tmp_path: Path, provider: str) -> None:
    """L-1: the turn ends with a reason, not an error, and the session goes on."""
    script = [Turn(Call("list", {"path": "."}), stop="tool_use")] * 2 + [
        Turn(Text("On."), stop="end")
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = [one.event async for one in session.turn([Words("Go")], limits=Limits(2, FOREVER))]
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "step_limit"
        assert "2 steps" in events[-1].detail and not any(isinstance(e, Failed) for e in events)
        assert (await say(session, "Continue"))[-1].reason == "done"  # type: ignore[union-attr]
        assert not home.simulator.violations


async def test_time_limit_stops_but_not_while_the_person_thinks(
    tmp_path: Path, provider: str
) -> None:
    """L-11: seconds of work count, the wait for an answer does not.

    Where a busy computer has not come to the second step within the limit, a
    longer one is tried.
    """

    def play(view: RequestView) -> Turn:
        if not view.results:
            return Turn(Call("ask", {"question": "Which one?"}), stop="tool_use")
        return Turn(Text("slow " * 50), faults=[stall(at=4)])

    async with engine_home(tmp_path, provider, play) as home:
        for seconds in (0.3, 1.0, 4.0, 16.0, 64.0):
            session = await home.session()
            events: list[Event] = []
            asked = came = 0.0
            async for envelope in session.turn([Words("Go")], limits=Limits(5, seconds)):
                event = envelope.event
                events.append(event)
                if isinstance(event, AwaitingReply):
                    asked, wait = time.monotonic(), seconds * 1.2
                    asyncio.get_running_loop().call_later(
                        wait, session.answer_question, event.call_id, "Blue"
                    )
                if isinstance(event, StepStarted) and event.step == 2:
                    came = time.monotonic()
            assert isinstance(events[-1], TurnComplete) and events[-1].reason == "time_limit"
            if came:
                break
        assert came - asked >= seconds * 1.2
        assert "Blue" in str(home.asked[-1].json)


async def test_provider_errors_keep_the_message(tmp_path: Path, provider: str) -> None:
    """A failed turn is explained, and trying again answers the same message."""
    script = [Turn(Text("x"), faults=[status(500)]), Turn(Text("Now."), stop="end")]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = await say(session, "Remember me")
        failed = next(e for e in events if isinstance(e, Failed))
        assert failed.fault in ("server", "overloaded") and failed.title
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "error"
        events = await say(session, "")
        assert events[-1].reason == "done"  # type: ignore[union-attr]
        assert str(home.asked[-1].json).count("Remember me") == 1
        assert not home.simulator.violations


@pytest.mark.parametrize("fault", [eof(at=6), error_event("overloaded")], ids=["eof", "error"])
async def test_a_broken_stream_is_an_error_and_the_session_goes_on(
    tmp_path: Path, provider: str, fault: object
) -> None:
    script = [
        Turn(Text("Half an answer that breaks off somewhere."), faults=[fault]),  # type: ignore[list-item]
        Turn(Text("Whole."), stop="end"),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        events = await say(session)
        assert events[-1].reason == "error"  # type: ignore[union-attr]
        assert (await say(session, "Again"))[-1].reason == "done"  # type: ignore[union-attr]
        assert not home.simulator.violations


async def test_a_wrong_key_says_so_without_the_key(tmp_path: Path, provider: str) -> None:
    key = "bad-0123456789-secret"
    if provider == "ollama":  # has no keys: another fault of the set-up
        async with engine_home(tmp_path, provider, []) as home:
            session = await home.session(model="")
            events = await say(session)
            assert any(isinstance(e, Failed) and "model" in e.title for e in events)
        return
    async with engine_home(tmp_path, provider, [], key=key) as home:
        session = await home.session()
        events = await say(session)
        failed = next(e for e in events if isinstance(e, Failed))
        assert failed.fault == "bad_key" and "key" in failed.title
        assert key not in str(events) and "secret" not in failed.title + failed.detail


async def test_a_crash_between_call_and_result_is_repaired(tmp_path: Path, provider: str) -> None:
    """H-5: the program dies while a tool runs; the session opens, says so, and goes on."""
    script = [Turn(Call("ask", {"question": "?"}), read("a.txt"), stop="tool_use")]
    async with engine_home(tmp_path, provider, script) as home:
        session = await home.session()
        turn = session.turn([Words("Go")])
        async for envelope in turn:
            event = envelope.event
            if isinstance(event, AwaitingReply):
                break
        await session.flush()
        session_id = session.info.id
        # The process would be gone now: nothing below may write the results.
        native = await home.engine.store.native(session_id)
        assert native is not None
        items = list(native.items)
        copy = await home.session()
        await home.engine.store.begin_epoch(
            copy.info.id,
            native.provider,
            native.protocol,
            native.model,
            native.system,
            native.tools,
            items,
        )
        copied = copy.info.id
        await turn.aclose()
    async with engine_home(tmp_path, provider, [Turn(Text("Back."), stop="end")]) as home:
        session = await home.engine.sessions.open(copied)
        events = await say(session, "Go on")
        assert events[-1].reason == "done" and not home.simulator.violations  # type: ignore[union-attr]
        assert any(
            isinstance(b, Notice) or "repaired" in getattr(b, "text", "")
            for b in session.transcript.blocks
        )


async def test_another_provider_takes_over_in_the_middle(tmp_path: Path, provider: str) -> None:
    """H-7: calls and results stay together whatever the new protocol is."""
    script = [
        Turn(Think("deep"), read("a.txt"), read("b.txt"), stop="tool_use"),
        Turn(Text("So far."), stop="end"),
    ]
    names = list(PROTOCOLS)
    other = names[(names.index(provider) + 1) % len(names)]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        session = await home.session()
        await say(session)
        session_id = session.info.id
    async with engine_home(tmp_path, other, [Turn(Text("Mine now."), stop="end")]) as home:
        session = await home.engine.sessions.open(session_id)
        await session.change(provider=other, model="sim-other")
        events = await say(session, "Go on")
        assert events[-1].reason == "done" and not home.simulator.violations  # type: ignore[union-attr]
        assert "alpha" in str(home.asked[-1].json)
        assert any("carried over" in getattr(b, "text", "") for b in session.transcript.blocks)
