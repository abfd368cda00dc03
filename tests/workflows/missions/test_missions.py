"""Missions: cycles that end when the person's checks pass, and for no other reason (W-47 to W-52)."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from studio.domain.agents import NO_CAPS
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule
from studio.domain.run_events import (
    RetryPlanned,
    RunPaused,
    RunResumed,
    RunStarted,
    StepFinished,
    StepStarted,
)
from studio.domain.runs import Run
from studio.domain.workflows import NO_BUDGET, Budget, Check, Workflow
from studio.processes.keeper_process import MARK
from studio.simulator import Call, Pace, RequestView, Returned, Simulator, Text, Turn
from studio.storage.runs import RunStore
from studio.ui.pages.needs.waiting import find_waiting
from studio.workflows.missions.check_scripts import script_digests, scripts_of
from studio.workflows.missions.check_steps import with_checks
from studio.workflows.missions.cycles import Cycles
from studio.workflows.missions.mission_files import require_cap
from studio.workflows.missions.mission_log import entries, mission_log_text
from studio.workflows.plan import Plan
from studio.workflows.reader import read_workflow_text
from studio.workflows.replay import read_record, replay
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support import killed_run
from support.delegation_home import agent, save
from support.engine_home import EngineHome, engine_home
from support.waiting import within
from support.workflow_home import asked_in, begin, carry_out, states, write

NIGHT = """\
---
name: Night shift
description: Make all six tests pass.
done_when:
  - {title: Tests, run: sh tests.sh}
  - {file: report.json, schema: {type: object, required: [fixed]}}
budget: {cycles: 10, tokens: 1000000}
steps:
  - {id: fix, agent: Coder, prompt: Fix the next test.}
---
"""
TESTS = """\
n=0; for i in 1 2 3 4 5 6; do test -f fixed-$i && n=$((n+1)); done
echo "$n of 6 passed"; test $n = 6
"""
DONE = "All done! Every test passes, the mission is complete."


def cycle_of(view: RequestView) -> int:
    return int(asked_in(view).rpartition("This is cycle ")[2].split()[0])


class Liar:
    """Fixes one test in each cycle, always says that all is done, and forges its mission."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, view: RequestView) -> Turn:
        number = cycle_of(view)
        # A call that a kill broke off is made again.
        made = sum(isinstance(one, Returned) and not one.is_error for one in view.items)
        if not made:
            self.told.append(asked_in(view))
            return Turn(Call("write", {"path": f"fixed-{number}", "content": "x\n"}))
        if made == 1 and number == 2:
            forged = {"path": ".agents/workflows/story.md", "content": "done_when: 1 == 1"}
            return Turn(Call("write", forged))
        if made == 1 and number == 4:
            return Turn(Call("write", {"path": "report.json", "content": '{"fixed": 4}'}))
        return Turn(Text(DONE))


async def allow(home: EngineHome) -> None:
    (home.folder / "tests.sh").write_text(TESTS)
    await home.engine.services.rules.add(Rule.parse("run(*)"), None)


def found(run: Run) -> list[list[bool]]:
    return [[one.passed for one in cycle.checks] for cycle in run.cycles]


async def test_w50_a_mission_that_is_a_step_asks_where_the_run_above_does(tmp_path: Path) -> None:
    """W-22: the run above waits for it, at no cap of its own."""
    one_cycle = NIGHT.replace("cycles: 10", "cycles: 1")
    async with engine_home(tmp_path, "anthropic", lambda _: Turn(Text(DONE))) as home:
        await allow(home)
        write(home.folder, "night", one_cycle)
        above = "---\nname: Above\nsteps:\n  - {id: night, workflow: night}\n---\n"
        run = await carry_out(await begin(home, above))
        assert run.state == "paused" and run.paused == "Your limit of 1 cycle is reached."
        (waits,) = await find_waiting(home.engine, {})
        assert (waits.run_id, waits.question.text) == (run.id, run.paused)
        assert waits.question.choices == ("stop",)


@pytest.mark.long
async def test_w47_w48_only_the_checks_end_a_mission_whatever_its_model_says(
    tmp_path: Path,
) -> None:
    """PRE-15, PRE-36."""
    script = Liar()
    async with engine_home(tmp_path, "anthropic", script) as home:
        await allow(home)
        run = await carry_out(await begin(home, NIGHT))
        assert run.end is not None and run.end.state == "done", (run.end, states(run), run.paused)
        assert run.end.reason == "All 2 checks pass."
        assert found(run) == [[False, False]] * 3 + [[False, True]] * 2 + [[True, True]]
        assert "Make all six tests pass." in script.told[0]
        assert "the command “sh tests.sh” ends with 0" in script.told[0]
        assert (
            "2 of 6 passed" in script.told[2] and "There is no file report.json" in script.told[2]
        )
        assert "cycles 5 after this one" in script.told[4]
        fix = run.step("fix")
        assert len({one.session_id for one in fix.tries}) == 6, "each cycle is a fresh session"
        assert not (home.folder / "fixed-1").exists(), "all waits as drafts"
        file = home.folder / ".agents" / "workflows" / "story.md"
        assert file.read_text() == NIGHT, "an edit of the mission waits for the person too"
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert (home.folder / "fixed-6").exists() and not home.simulator.violations


@pytest.mark.parametrize("agrees", [True, False])
async def test_w48_a_mission_whose_agent_changed_the_checks_script_is_not_over(
    tmp_path: Path, agrees: bool
) -> None:
    """The check passes because its script says so now: the person decides whether that counts."""
    told: list[str] = []

    def cheat(view: RequestView) -> Turn:
        made = sum(isinstance(one, Returned) and not one.is_error for one in view.items)
        if not made:
            told.append(asked_in(view))
            return Turn(Call("read", {"path": "tests.sh"}))
        if made == 1 and cycle_of(view) == 1:
            return Turn(Call("write", {"path": "tests.sh", "content": "exit 0\n"}))
        if made == 1:
            return Turn(Call("write", {"path": "report.json", "content": '{"fixed": 6}'}))
        return Turn(Text(DONE))

    async with engine_home(tmp_path, "anthropic", cheat) as home:
        await allow(home)
        runner = await begin(home, NIGHT)
        run = await carry_out(runner)
        assert found(run) == [[True, False], [True, True]] and run.end is None
        reason = (
            "All checks pass, but these files changed, which they run: tests.sh. Do they count?"
        )
        assert run.paused == reason
        assert [cycle.changed for cycle in run.cycles] == [("tests.sh",)] * 2
        assert "though checks run them: tests.sh" in told[1], "the next cycle is told"
        waiting = await find_waiting(home.engine, {})
        assert [(one.question.text, one.question.choices) for one in waiting] == [
            (reason, ("go_on", "stop"))
        ]
        assert (home.folder / "tests.sh").read_text() == TESTS, "its change waits as a draft"
        if agrees:
            await runner.resume()
            await runner.carry_out()
        else:
            await runner.stop()
        assert run.end is not None and run.end.state == ("done" if agrees else "stopped")
        flow, stored = runner.plan.workflow, await RunStore(home.engine.database).events(run.id)
        log = mission_log_text(flow, "", entries(flow, stored))
        assert log.count("! changed, though checks run them: tests.sh") == 2


def test_w48_the_scripts_of_a_check_are_those_that_it_runs(tmp_path: Path) -> None:
    for name in (
        "Makefile",
        "tests/test_a.py",
        "tests/conftest.py",
        "src/a.py",
        "bin/check",
        "x.sh",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")

    def scripts(line: str) -> set[str]:
        workflow = Workflow("Story", (), done_when=(Check("run", line),))
        return {*scripts_of(script_digests(workflow, tmp_path))}

    assert scripts("sh x.sh --all") == scripts("./x.sh") == {"x.sh"}
    assert scripts("cd bin && ./check") == {"check", "bin/check"}
    assert scripts("make test") >= {"Makefile", "GNUmakefile"}, "the second is read before it"
    tests = {"tests/test_a.py", "tests/conftest.py"}
    later = {"conftest.py", "pytest.ini", "tox.ini", "noxfile.py"}
    assert scripts("python -m pytest tests") == tests | later
    assert scripts("cd tests && pytest") == tests | later | {f"tests/{one}" for one in later}
    assert scripts("test -f made.txt") == scripts("/bin/sh ../elsewhere.sh") == set()
    assert scripts("sh made-later.sh") == {"made-later.sh"}, "who makes it decides"
    assert scripts("$RUN x.sh") == {"x.sh"}, "what cannot be read is taken word by word"


def test_w48_what_a_checks_script_sources_or_has_from_the_tests_is_a_part_of_it(
    tmp_path: Path,
) -> None:
    """What else it imports is the work, which the mission is there to change."""
    for name, text in {
        "check.sh": '#!/bin/sh\n. ./lib.sh\nsource "$(dirname "$0")/bin/more.sh"; x\n. "$HERE/own.sh"\n',
        "lib.sh": "  source deep.sh  # more\n. lib.sh\n",
        "bin/more.sh": ". /etc/profile\n. later.sh\necho . lib2.sh\n",
        "deep.sh": "true\n",
        "own.sh": "true\n",
        "lib2.sh": "true\n",
        "tests/test_a.py": "import app\nfrom . import rules\nfrom helpers import given\n",
        "tests/helpers.py": "from tests.deep import more\nimport sys\n",
        "tests/rules.py": "def broken(:\n",
        "tests/deep/__init__.py": "",
        "tests/deep/more.py": "",
        "tests/unused.py": "",
        "app.py": "import helpers_of_app\n",
        "helpers_of_app.py": "",
        "verify.py": "import app, check_rules\n",
        "check_rules.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)

    def scripts(line: str) -> set[str]:
        workflow = Workflow("Story", (), done_when=(Check("run", line),))
        return {*scripts_of(script_digests(workflow, tmp_path))}

    assert scripts("sh check.sh") == {
        *("check.sh", "lib.sh", "bin/more.sh", "deep.sh", "own.sh"),
        "bin/later.sh",
    }
    assert scripts("python verify.py") == {"verify.py", "check_rules.py"}
    for odd in ("$", '"', " ", "a$/"):  # looked through in one pass, or this would take hours
        (tmp_path / "check.sh").write_text(
            f"#!/bin/sh\n. {odd * (600_000 // len(odd))}!\n. lib.sh\n"
        )
        assert scripts("sh check.sh") == {"check.sh", "lib.sh", "deep.sh"}
    parts = {f"tests/{one}" for one in ("helpers.py", "rules.py", "deep/__init__.py")}
    assert {one for one in scripts("pytest") if (tmp_path / one).is_file()} == {
        *("tests/test_a.py", "tests/deep/more.py"),
        *parts,
    }


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
async def test_w51_a_killed_mission_goes_on_in_its_cycle_and_ends_by_its_checks(
    tmp_path: Path,
) -> None:
    """Acceptance 7: failing tests, six cycles, restarts by kill -9, and a liar."""
    kills, script = 3, Liar()
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "tests.sh").write_text(TESTS)
    write(folder, "story", NIGHT)
    save(tmp_path / "studio" / "agents", agent("Coder", tools="read, write"))

    def slow(view: RequestView) -> Turn:
        turn = script(view)
        return Turn(*turn.parts, pace=Pace(0.01, 400))

    async with Simulator(slow) as simulator, within():
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, killed_run.__file__, str(tmp_path)),
            *(str(simulator.url("anthropic")), str(kills), "7"),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        out, _ = await program.communicate()
        assert program.returncode == 0, out
        assert out.decode().count(killed_run.KILLED) == kills and not simulator.violations
    with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db:
        bodies = db.execute("SELECT run_id, body FROM run_events ORDER BY run_id, seq").fetchall()
    runs: dict[str, list[dict[str, object]]] = {}
    for run_id, body in bodies:
        runs.setdefault(run_id, []).append(json.loads(body))
    for events in runs.values():
        ended = [one["number"] for one in events if one["event"] == "cycle_ended"]
        assert ended == [1, 2, 3, 4, 5, 6], "each cycle once, and none is lost"
        assert events[-1]["event"] == "run_finished" and events[-1]["state"] == "done", events[-1]


async def test_w49_w51_caps_pause_and_are_raised_and_steering_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PRE-11."""
    script = Liar()
    async with engine_home(tmp_path, "anthropic", script) as home:
        await allow(home)
        text = NIGHT.replace("cycles: 10", "cycles: 2")
        write(home.folder, "night", text)
        start = ("mission", "start", "night", "--folder", str(home.folder), "--json")
        model = ("--provider", "anthropic", "--model", "sim-model")
        assert await home.command(*start, *model) == 3
        runs = WorkflowRuns(home.engine)
        [info] = await runs.store.list(missions=True)
        assert (info.state, info.reason) == ("paused", "Your limit of 2 cycles is reached.")
        with monkeypatch.context() as command:  # an agent's own changes nothing of it (W-48)
            command.setenv(MARK, "1")
            for words in (("steer", info.id, "Stop."), ("raise", info.id, "--cycles", "9")):
                assert await home.command("mission", *words) == 1
            assert await home.command("mission", "ledger", info.id) == 0
        assert await home.command("mission", "steer", info.id, "Fix the third one first.") == 0
        assert await home.command("mission", "raise", info.id, "--cycles", "4") == 0
        assert await home.command("mission", "resume", info.id, "--json") == 3
        run = await runs.read(info.id)
        assert (run.cycle, run.paused) == (4, "Your limit of 4 cycles is reached.")
        assert all("Fix the third one first." in one for one in script.told[2:])
        assert await home.command("mission", "chat", info.id) == 0
        chat = next(one for one in await home.engine.sessions.list() if one.caller is None)
        session = await home.engine.sessions.open(chat.id)
        waiting = {one.path for one in session.drafts.waiting_files()}
        forged = ".agents/workflows/story.md"
        assert waiting == {"report.json", forged, *(f"fixed-{number}" for number in range(1, 5))}
        assert await home.command("mission", "stop", info.id) == 0
        assert (await runs.read(info.id)).state == "stopped"
        assert await home.command("mission", "ledger", info.id) == 0


AGENT = """\
---
name: Night coder
description: Codes at night
mission: Write ok.txt.
tools: [read, write, edit]
done_when:
  - {title: Right, run: grep -qx right ok.txt}
  - {check: "steps.work.text == 'Finished.'"}
  - {grader: Critic, prompt: "Is it right?"}
budget: {cycles: 5, until: 22:30}
---
You code.
"""


class Late:
    """Says that it is done, then does the work, and is judged twice."""

    def __init__(self) -> None:
        self.judged, self.told = 0, list[str]()

    def __call__(self, view: RequestView) -> Turn:
        if "You judge work that others did" in asked_in(view):
            self.judged += 1
            passed = self.judged > 1
            return Turn(Text(json.dumps({"passed": passed, "reason": "I read it."})))
        number, made = cycle_of(view), sum(isinstance(one, Returned) for one in view.items)
        if number == 1 or made:
            return Turn(Text("Finished." if number > 1 else "All done!"))
        self.told.append(asked_in(view))
        return Turn(Call("write", {"path": "ok.txt", "content": "right\n"}))


async def test_w48_w52_an_agents_mission_keeps_its_checks_and_a_grader_judges_last(
    tmp_path: Path,
) -> None:
    script = Late()
    async with engine_home(tmp_path, "anthropic", script) as home:
        await allow(home)
        home.engine.settings.values.default_permission_mode = "auto"
        save(tmp_path / "studio" / "agents", agent("Critic", tools="read"))
        own = tmp_path / "studio" / "agents" / "night-coder.md"
        own.write_text(AGENT)
        runs = WorkflowRuns(home.engine)
        path = await runs.locate("Night coder", home.folder)
        options = RunOptions({}, provider=home.provider, model="sim-model")
        run = await carry_out(await runs.start(path, home.folder, options))
        assert run.end is not None and run.end.state == "done", (run.paused, found(run))
        assert found(run) == [[False, False, False], [True, True, False], [True, True, True]]
        assert script.judged == 2, "a grader is asked only when all else passes"
        assert run.cycles[0].checks[2].words == "Right does not pass."
        assert "Write ok.txt." in script.told[0] and "the time until 22:30" in script.told[0]
        assert "I read it." in script.told[1]
        assert await runs.changes(run) == []
        report = await replay(await read_record(home.engine, run.id))
        assert report.difference is None and report.steps == 11, report
        own.write_text(AGENT.replace("right ok.txt", "wrong ok.txt"))
        assert (await runs.changes(run))[0].startswith("The workflow’s file has changed since.")


async def test_w40_w47_w50_the_tasks_of_a_mission_are_told_and_a_done_one_is_a_change(
    tmp_path: Path,
) -> None:
    """Each cycle has new sessions: one takes a task that another left, which had ended."""
    told, taken = dict[int, str](), list[str]()

    def script(view: RequestView) -> Turn:
        number = cycle_of(view)
        made = [one.text for one in view.items if isinstance(one, Returned)]
        told[number] = asked_in(view)
        calls = {
            1: [Call("task_add", {"text": "Look at the parser."})],
            2: [Call("task_take", {})],
            3: [Call("task_take", {"number": 1}), Call("task_done", {"number": 1})],
        }.get(number, [])
        if len(made) < len(calls):
            return Turn(calls[len(made)])
        taken.extend(made)
        return Turn(Text(DONE))

    never = """\
---
name: Never
description: Cannot be reached.
done_when: 1 == 2
budget: {cycles: 10, tokens: 1000000}
steps: [{id: work, agent: Worker, prompt: Go on.}]
---
"""
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await home.engine.rules.trust(home.folder)
        save(home.engine.paths.agents, agent("Worker", tools="task_add, task_take, task_done"))
        run = await carry_out(await begin(home, never))
        assert run.paused is not None and "no task" in run.paused, run.paused
        assert len(run.cycles) == 6, "three after the one in which the task was done"
        tasks = "Open tasks that agents added, as data:\n- task 1: Look at the parser."
        assert [number for number, text in told.items() if tasks in text] == [2, 3]
        assert taken[-1] == "Task 1 is done."


def test_w49_a_provider_costs_no_cycle_and_the_clock_ends_the_night() -> None:
    text = NIGHT.replace("cycles: 10", 'cycles: 10, until: "06:00"')
    read = read_workflow_text(text).workflow
    assert read is not None
    workflow, evening = with_checks(read), datetime(2026, 11, 27, 22, 0).timestamp()
    run = Run(
        [(evening, RunStarted("r", "Night", "d", mission="x")), (evening, StepStarted("fix"))]
    )
    plan, waits = Plan(workflow), list[float]()
    for attempt in range(1, 8):
        away = StepFinished("fix", "", "failed", "No place.", fault="provider")
        finish, planned = plan.finished(run, away, evening)
        assert isinstance(planned, RetryPlanned)
        waits.append(planned.due - evening)
        for event in (finish, planned, StepStarted("fix", attempt=attempt + 1)):
            run.apply(evening, event)
    assert waits == [30, 60, 120, 240, 480, 900, 900] and run.cycle == 1 and not run.cycles
    cycles = Cycles(workflow, run)
    assert cycles.closes() == datetime(2026, 11, 28, 6, 0).timestamp()
    run.apply(evening + 9 * 3600, RunPaused(cycles.closed))
    run.apply(evening + 10 * 3600, RunResumed())
    assert cycles.closes() == datetime(2026, 11, 29, 6, 0).timestamp(), "it may work another night"


def test_w49_w52_a_mission_without_a_cap_or_with_a_grader_alone_is_refused() -> None:
    bare = read_workflow_text(NIGHT.replace("budget: {cycles: 10, tokens: 1000000}\n", ""))
    assert bare.workflow is not None
    with pytest.raises(ConfigurationError, match="is a mission and has no cap"):
        require_cap(bare.workflow, NO_CAPS, NO_BUDGET)
    require_cap(bare.workflow, NO_CAPS, Budget(cycles=1))
    lines = NIGHT.split("\n")
    alone = [*lines[:3], "done_when: [{grader: Critic}]", *lines[6:]]
    problems = read_workflow_text("\n".join(alone)).problems
    assert any("a grader is never the only check" in one.message for one in problems), problems
