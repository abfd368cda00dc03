"""Missions: cycles that end when the person's checks pass, and for no other reason (W-47 to W-52)."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from studio.domain.permissions import Rule
from studio.domain.runs import Run
from studio.simulator import Call, Pace, RequestView, Returned, Simulator, Text, Turn
from studio.workflows.workflow_runs import WorkflowRuns
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
    """Fixes one test in each cycle, and always says that all is done."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, view: RequestView) -> Turn:
        number = cycle_of(view)
        made = sum(isinstance(one, Returned) for one in view.items)
        if not made:
            self.told.append(asked_in(view))
            return Turn(Call("write", {"path": f"fixed-{number}", "content": "x\n"}))
        if made == 1 and number == 4:
            return Turn(Call("write", {"path": "report.json", "content": '{"fixed": 4}'}))
        return Turn(Text(DONE))


async def allow(home: EngineHome) -> None:
    (home.folder / "tests.sh").write_text(TESTS)
    await home.engine.services.rules.add(Rule.parse("run(*)"), None)


def found(run: Run) -> list[list[bool]]:
    return [[one.passed for one in cycle.checks] for cycle in run.cycles]


async def test_w47_w48_only_the_checks_end_a_mission_whatever_its_model_says(
    tmp_path: Path,
) -> None:
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
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert (home.folder / "fixed-6").exists() and not home.simulator.violations


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


async def test_w49_w51_caps_pause_and_are_raised_and_steering_is_told(tmp_path: Path) -> None:
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
        assert waiting == {"report.json", *(f"fixed-{number}" for number in range(1, 5))}
        assert await home.command("mission", "stop", info.id) == 0
        assert (await runs.read(info.id)).state == "stopped"
        assert await home.command("mission", "ledger", info.id) == 0
