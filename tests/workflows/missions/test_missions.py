"""Missions: cycles that end when the person's checks pass, and for no other reason (W-47 to W-52)."""

from __future__ import annotations

from pathlib import Path

from studio.domain.permissions import Rule
from studio.domain.runs import Run
from studio.simulator import Call, RequestView, Returned, Text, Turn
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in, begin, carry_out, go_on, states

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
        assert "2 of 6 passed" in script.told[2] and "There is no file report.json" in script.told[2]
        assert "cycles 5 after this one" in script.told[4]
        fix = run.step("fix")
        assert len({one.session_id for one in fix.tries}) == 6, "each cycle is a fresh session"
        assert not (home.folder / "fixed-1").exists(), "all waits as drafts"
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert (home.folder / "fixed-6").exists() and not home.simulator.violations
