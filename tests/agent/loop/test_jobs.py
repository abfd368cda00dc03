"""Jobs of a session: drafts, permission, stall, its end and its reopening (C-12, C-13)."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from studio.agent.prompts import CALL_STOPPED
from studio.domain.events import (
    AwaitingPermission,
    Event,
    Told,
    ToolFinished,
    ToolOutput,
    TurnComplete,
)
from studio.domain.messages import Text as Said
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Turn, stall
from support.command import Command, at_provider
from support.engine_home import PROTOCOLS, EngineHome, engine_home, is_locked, say
from support.job_story import RIGHT, WRONG, EditThenTest, lay_out, results_in
from support.waiting import until, within

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")
RUN = Rule("allow", "run")
HOLDS = (
    "import fcntl,signal,sys,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('up', flush=True); "
    "time.sleep(3600)"
)
SERVER = f'setsid {sys.executable} -c "{HOLDS}" one & {sys.executable} -c "{HOLDS}" two'


def finished(events: list[Event], name: str = "") -> list[ToolFinished]:
    return [one for one in events if isinstance(one, ToolFinished) and name in one.call_id]


def job_id(home: EngineHome, chat: str) -> str:
    (one,) = home.engine.services.jobs.of(chat)
    return one.id


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("mode", ["ask", "auto"])
async def test_edit_then_test_in_the_background(tmp_path: Path, provider: str, mode: str) -> None:
    """C-12, C-13: in each mode, on each wire."""
    model = EditThenTest()
    async with engine_home(tmp_path, provider, model) as home:
        calc = lay_out(home.folder)
        session = await home.session()
        await session.change(permission_mode=mode)
        end = (await say(session, rules=(RUN,)))[-1]
        assert isinstance(end, TurnComplete) and end.reason == "done"
        model.judge(drafts=mode == "ask", sandboxed=(await home.engine.sandbox()).desks)
        assert calc.read_text() == (RIGHT if mode == "auto" else WRONG)
        assert home.engine.services.jobs.of(session.info.id) == []


async def test_what_a_job_wrote_becomes_drafts_but_for_what_changed_meanwhile(
    tmp_path: Path,
) -> None:
    """C-12, C-13, T-5: and nothing that the person did meanwhile is undone by it."""

    def model(view: RequestView) -> Turn:
        results = results_in(view)
        if not results:
            return Turn(Call("write", {"path": "draft.txt", "content": "1\n"}))
        if len(results) == 1:
            return Turn(Call("run", {"command": command, "background": True}))
        if len(results) == 2:
            return Turn(Call("write", {"path": "later.txt", "content": "2\n"}))
        if view.last_user == "Stop it" and len(results) == 3:
            return Turn(Call("job", {"id": job_id(home, session.info.id), "stop": True}))
        return Turn(Text("Done."))

    command = (
        "cat draft.txt; echo made > made.txt; echo job >> kept.txt; echo job >> own.txt; "
        "echo job >> draft.txt; echo ready; sleep 3600"
    )
    async with engine_home(tmp_path, "ollama", model) as home:
        if not (await home.engine.sandbox()).desks:
            pytest.skip("there is no sandbox for that here")
        for name in ("kept.txt", "own.txt"):
            (home.folder / name).write_text("old\n")
        session = await home.session()
        events = await say(session, rules=(RUN,))
        begun = finished(events)[1]
        assert "works on a copy of the folder" in begun.text
        (one,) = home.engine.services.jobs.of(session.info.id)
        await until(lambda: "ready" in one.output)
        (home.folder / "own.txt").write_text("the person's\n")
        desk = one.desk
        assert desk is not None and desk.root.is_dir()
        (ended,) = finished(await say(session, "Stop it"))
        drafts = {draft.path: draft.after for draft in session.drafts.waiting_files()}
        assert drafts == {
            "draft.txt": "1\njob\n",
            "kept.txt": "old\njob\n",
            "made.txt": "made\n",
            "later.txt": "2\n",
        }
        assert "changed meanwhile: own.txt" in ended.text
        assert (home.folder / "own.txt").read_text() == "the person's\n"
        assert not desk.root.exists() and not (home.folder / "made.txt").exists()


async def test_two_looks_at_once_tell_once_what_a_job_wrote(tmp_path: Path) -> None:
    """C-12, C-13: both hear of its end."""

    def model(view: RequestView) -> Turn:
        results = results_in(view)
        if not results:
            return Turn(Call("write", {"path": "draft.txt", "content": "1\n"}))
        if len(results) == 1:
            return Turn(Call("run", {"command": command, "background": True}))
        if "is over" in results[-1].text:
            return Turn(Text("Done."))
        look = {"id": job_id(home, session.info.id)}
        if not any(one.text.startswith("up") for one in results):
            return Turn(Call("job", {**look, "wait": 0.2}))
        return Turn(*[Call("job", {**look, "wait": 600, "stop": stop}) for stop in (False, True)])

    command = "for n in 1 2 3 4 5 6 7 8 9; do echo $n > made$n.txt; done; echo up; sleep 3600"
    async with engine_home(tmp_path, "ollama", model) as home:
        if not (await home.engine.sandbox()).desks:
            pytest.skip("there is no sandbox for that here")
        home.engine.services.jobs.settles = 0.0
        session = await home.session()
        events = await say(session, rules=(RUN,))
        looks = [one.text for one in finished(events)[-2:]]
        assert all("is over: stopped" in one for one in looks)
        told = "".join(looks)
        assert told.count("made1.txt") == 1 and "Not kept" not in told
        paths = {draft.path for draft in session.drafts.waiting_files()}
        assert paths == {"draft.txt", *(f"made{n}.txt" for n in range(1, 10))}


async def test_what_a_stopped_command_wrote_becomes_drafts(tmp_path: Path) -> None:
    """C-12, C-25: what it did until then stays done, also on a copy of the folder."""
    script = [
        Turn(Call("write", {"path": "draft.txt", "content": "1\n"})),
        Turn(Call("run", {"command": "echo made > made.txt; echo begun; sleep 3600"})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        if not (await home.engine.sandbox()).desks:
            pytest.skip("there is no sandbox for that here")
        session = await home.session()
        events: list[Event] = []
        async for envelope in session.turn([Said("Go")], rules=[RUN]):
            events.append(envelope.event)
            if isinstance(envelope.event, ToolOutput):
                assert session.interrupt()
        stopped = finished(events)[1]
        assert stopped.is_error and stopped.summary == "stopped by you"
        assert stopped.text.startswith("begun\n") and CALL_STOPPED in stopped.text
        assert "waits as drafts: made.txt" in stopped.text and "exit" not in stopped.text
        drafts = {draft.path: draft.after for draft in session.drafts.waiting_files()}
        assert drafts == {"draft.txt": "1\n", "made.txt": "made\n"}
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert not (home.folder / "made.txt").exists()


async def test_files_that_a_stopped_command_changed_are_named(tmp_path: Path) -> None:
    """C-7, C-25."""
    script = [
        Turn(Call("read", {"path": "a.txt"})),
        Turn(Call("run", {"command": "echo two >> a.txt; echo begun; sleep 3600"})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "ollama", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        session = await home.session()
        events: list[Event] = []
        async for envelope in session.turn([Said("Go")], rules=[RUN]):
            events.append(envelope.event)
            if isinstance(envelope.event, ToolOutput):
                assert session.interrupt()
        assert finished(events)[1].text.endswith("[Files changed that you have read: a.txt.]")


async def test_looking_is_free_and_input_is_asked_about(tmp_path: Path) -> None:
    """C-13, T-7: the question names the command; a rule for it all is not offered."""
    script = [
        Turn(Call("run", {"command": "read a; echo got $a; sleep 3600", "background": True})),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id)})),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id), "input": "rm\n"})),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id), "stop": True})),
        Turn(Text("Done.")),
    ]

    def model(view: RequestView) -> Turn:
        step = script[len(results_in(view))]
        return step if isinstance(step, Turn) else step(view)

    async with engine_home(tmp_path, "ollama", model) as home:
        session = await home.session()
        events = await say(session, rules=(RUN,), answer="deny")
        (asked,) = [one.question for one in events if isinstance(one, AwaitingPermission)]
        assert asked.detail.startswith("rm")
        assert ("command", "read a; echo got $a; sleep 3600") in asked.facts
        assert asked.always == () and "type into a command" in asked.title
        _, look, denied, stopped = finished(events)
        assert not look.is_error and denied.is_error and stopped.summary == "stopped"
        assert "got" not in look.text + stopped.text


async def test_a_rule_lets_an_agent_type_into_a_job_without_network(tmp_path: Path) -> None:
    """C-13, T-7: also after it read what may be a stranger's words; with network it is asked."""
    start = {"command": "read a; echo got $a; read b", "background": True}
    script = [
        Turn(Call("read", {"path": "a.txt"})),
        Turn(Call("run", start)),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id), "input": "it\n"})),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id), "stop": True})),
        Turn(Call("run", {**start, "network": True})),
        lambda view: Turn(Call("job", {"id": job_id(home, session.info.id), "input": "it\n"})),
        Turn(Text("Done.")),
    ]

    def model(view: RequestView) -> Turn:
        step = script[len(results_in(view))]
        return step if isinstance(step, Turn) else step(view)

    async with engine_home(tmp_path, "ollama", model) as home:
        (home.folder / "a.txt").write_text("of somebody\n")
        home.engine.settings.values.sandbox = True
        session = await home.session()
        rules = (RUN, Rule.parse("job"))
        events = await say(session, rules=rules, answer="once")
        asked = [one.question for one in events if isinstance(one, AwaitingPermission)]
        assert [one.tool for one in asked] == ["run", "job"]  # those with the network
        assert "got it" in finished(events)[2].text and not finished(events)[2].is_error


async def test_waiting_for_a_job_is_no_stall(tmp_path: Path) -> None:
    """C-13, L-8: the same look again and again, until it is over."""

    def model(view: RequestView) -> Turn:
        if not results_in(view):
            return Turn(Call("run", {"command": "sleep 3600", "background": True}))
        if len(results_in(view)) < 9:
            return Turn(Call("job", {"id": job_id(home, session.info.id), "wait": 0.15}))
        return Turn(Text("It takes long."))

    async with engine_home(tmp_path, "ollama", model) as home:
        session = await home.session()
        events = await say(session, rules=(RUN,))
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "done" and end.steps == 10
        topics = [one.topic for one in events if isinstance(one, Told)]
        assert topics == ["orientation"], "nothing was said about repeating itself"


async def test_a_reopened_chat_hears_that_its_job_is_gone(tmp_path: Path) -> None:
    """C-13, H-5: with the chat its jobs end, and the history stays valid."""
    ids: list[str] = []

    def model(view: RequestView) -> Turn:
        if not results_in(view):
            return Turn(Call("run", {"command": SERVER, "background": True}))
        if view.last_user == "Look" and len(results_in(view)) == 1:
            return Turn(Call("job", {"id": ids[0]}))
        return Turn(Text("Good."))

    async with engine_home(tmp_path, "anthropic", model) as home:
        session = await home.session()
        await say(session, rules=(RUN,))
        ids.append(job_id(home, session.info.id))
        await until(lambda: all((home.folder / name).exists() for name in ("one", "two")))
        await home.engine.sessions.put_away(session.info.id)
        assert home.engine.services.jobs.of(session.info.id) == []
        assert not any(is_locked(home.folder / name) for name in ("one", "two"))
        again = await home.engine.sessions.open(session.info.id)
        (told,) = finished(await say(again, "Look"))
        assert told.is_error and f"no job “{ids[0]}” now" in told.text


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
async def test_nothing_is_left_of_jobs_when_the_program_is_killed(tmp_path: Path) -> None:
    """C-13, L-11: kill -9, with children that ignore SIGTERM and one in its own session."""
    script = [
        Turn(Call("run", {"command": SERVER, "background": True})),
        Turn(Text("slow " * 50), faults=[stall(at=4)]),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        await killed_while_it_runs(terminal)


async def killed_while_it_runs(terminal: Command) -> None:
    words = ("--provider", "ollama", "--model", "m", "--allow", "run", "Go")
    process = await terminal.start("run", "--json", *words)
    assert process.stdout is not None
    places = [terminal.folder / name for name in ("one", "two")]
    async with within():
        while b'"tool_finished"' not in await process.stdout.readline():
            pass
    await until(lambda: all(place.exists() and is_locked(place) for place in places))
    process.send_signal(signal.SIGKILL)
    await process.communicate()
    await until(lambda: not any(map(is_locked, places)))
