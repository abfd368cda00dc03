"""What an agent in the background was doing when the program ended is asked about once (W-16)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from studio.domain.permissions import Rule
from studio.simulator import Call, Called, RequestView, Text, Turn
from support.delegation_home import agent, delegate, save
from support.engine_home import EngineHome, engine_home
from support.waiting import until, within
from support.workflow_home import asked_in, begin, carry_out, go_on, killed, put_back, workflow

FIRST = "echo child >> count.txt; sleep 600"
SECOND = "echo lead >> count.txt; sleep 600"
"""Count outside the program how often they began."""
SAME = "toolu_1"
"""Some providers number the calls of each turn anew: no old answer counts for another call."""
HOLD = "until test -e paused; do sleep 0.05; done"
STORY = workflow("  - {id: act, agent: Lead, prompt: Have it counted}")


class Script:
    """The lead has a child count in the background, and counts itself once it is told of that."""

    waits = False

    def __call__(self, view: RequestView) -> Turn:
        if "You are Counter." in view.system:
            return Turn(Call("run", {"command": FIRST}, SAME))
        calls = [one for one in view.items if isinstance(one, Called)]
        told = asked_in(view).count("The program ended while this ran")
        if told:
            return Turn(
                Call("run", {"command": SECOND}, SAME) if told == 1 else Text("It is done.")
            )
        if len(calls) < 2:
            held = Call("run", {"command": HOLD})
            return Turn(held if calls else delegate("Counter", "Count", background=True))
        self.waits = True
        return Turn(Call("wait", {"seconds": 600}))


def counted(home: EngineHome) -> list[str]:
    path = home.folder / "count.txt"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("answer", ["happened", "again"])
async def test_w16_a_child_of_an_earlier_turn_is_asked_about_once(
    tmp_path: Path, answer: str
) -> None:
    """What the run asks about after the next kill is what that broke off alone."""
    script, copy = Script(), tmp_path / "killed.db"
    async with engine_home(tmp_path, "anthropic", script) as home:
        database = home.engine.paths.database
        lead, counter = agent("Lead", "agents: [Counter]"), agent("Counter", "desk: shared")
        save(home.engine.paths.agents, lead, counter)
        for rule in ("run(*)", "delegate(Counter)"):
            await home.engine.services.rules.add(Rule.parse(rule), None)
        runner = await begin(home, STORY)
        run_id = runner.run.id
        runner.attended = False
        work = asyncio.ensure_future(runner.carry_out())
        async with within():
            await until(lambda: counted(home) == ["child"])
            await runner.pause()
            (home.folder / "paused").touch()  # the turn of the lead ends, its child works on
            await work
        await runner.resume()
        await killed(home, runner, "act", lambda: script.waits, copy)
    put_back(copy, database)
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await go_on(home, run_id)
        ((_, question),) = (await carry_out(runner)).questions
        assert (question.kind, question.detail) == ("unsure", f"Counter: {FIRST}")
        await runner.answer(question.id, answer)
        await killed(home, runner, "act", lambda: len(counted(home)) == 2, copy)
        assert counted(home) == ["child", "lead"]
    put_back(copy, database)
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await go_on(home, run_id)
        ((_, question),) = (await carry_out(runner)).questions
        assert (question.kind, question.detail) == ("unsure", SECOND)
        await runner.answer(question.id, "happened")
        run = await carry_out(runner)
        assert run.state == "done" and counted(home) == ["child", "lead"]
