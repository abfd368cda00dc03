"""What a run needs is gone or changed, the disk is full, another program has it (W-13, W-15)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from studio.domain.errors import StorageError
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.storage.runs import RunInUse
from studio.workflows.workflow_runs import WorkflowRuns
from support.delegation_home import agent, save
from support.engine_home import engine_home
from support.workflow_home import (
    asked_in,
    begin,
    by_words,
    carry_out,
    go_on,
    states,
    workflow,
    write,
)

STEPS = """\
  - {id: a, agent: Lead, prompt: Do a}
  - {id: ok, approve: Go on?, needs: a}
  - {id: b, agent: Helper, prompt: Do b, needs: ok, on_error: continue}
  - {id: c, agent: Lead, prompt: Do c, needs: b, model: anthropic/sim-model}
"""


async def test_w13_a_run_goes_on_by_its_file_and_says_what_has_changed(tmp_path: Path) -> None:
    """PRE-19."""
    script = by_words({"Do a": "A.", "Do b": "B.", "Do c": "C."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        agents = home.engine.paths.agents
        save(agents, agent("Lead", "agents: [Other]"), agent("Helper"), agent("Other"))
        runner = await begin(home, workflow(STEPS))
        run = await carry_out(runner)
        runs = WorkflowRuns(home.engine)
        assert run.state == "needs_you" and await runs.changes(run) == []
        async with engine_home(tmp_path, "anthropic", script) as other:
            with pytest.raises(RunInUse, match="Another window or terminal carries out this run"):
                await go_on(other, run.id)
        path = Path(run.started.source if run.started else "")
        path.write_text(path.read_text().replace("Do c", "Do something else"))
        (agents / "helper.md").unlink()
        save(agents, agent("Lead", "agents: [Other]").replace("You are", "You are now"))
        save(agents, agent("Other").replace("You are", "You are now"))
        assert await runs.changes(run) == [
            "The workflow’s file has changed since. The run goes on without that.",
            "The agent Helper is not there any more. The run goes on with it as it was.",
            "The agent Lead has changed since. The run goes on with it as it was.",
            "The agent Other has changed since. The run goes on with it as it was.",
        ]
        await runner.answer(next(run.questions)[1].id, True)
        run = await carry_out(runner)
        assert (run.end.state if run.end else "", run.step("c").text) == ("done", "C.")
        assert run.step("b").state == "done"
        assert not any("You are now" in str(one.json) for one in home.asked)
        save(agents, agent("Helper"))
        await carry_out(await begin(home, workflow(STEPS)))
        assert "You are now" in str(home.asked[-1].json), "another run has them as they are now"


async def test_w13_a_run_keeps_its_agents_for_children_and_runs_below(tmp_path: Path) -> None:
    """Also after a restart; of a folder that is not trusted any more they are as its files are."""
    told: dict[str, str] = {}

    def script(view: RequestView) -> Turn:
        asked = asked_in(view)
        for words in ("Do a", "Help", "Do w"):
            if words in asked:
                told[words] = view.system
        if "Do a" in asked and not any(isinstance(one, Returned) for one in view.items):
            return Turn(Call("delegate", {"agent": "Helper", "task": "Help"}))
        return Turn(Text("Done."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        await home.engine.rules.trust(home.folder)
        agents = home.folder / ".agents" / "agents"
        save(agents, agent("Lead", "agents: [Helper]"), agent("Helper"))
        write(home.folder, "inner", workflow("  - {id: i, agent: Lead, prompt: Do w}\n"))
        await home.engine.rules.trust(home.folder)
        steps = """\
  - {id: ok, approve: Go on?}
  - {id: a, agent: Lead, prompt: Do a, needs: ok}
  - {id: w, workflow: inner, needs: a}
"""
        run = await carry_out(await begin(home, workflow(steps)))
        for name in ("Lead", "Helper"):
            more = "agents: [Helper]" if name == "Lead" else ""
            save(agents, agent(name, more).replace("You are", "You are now"))
        await home.engine.rules.trust(home.folder)
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await go_on(home, run.id)
        await runner.answer(next(run.questions)[1].id, True)
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", run.end
        assert all("You are" in one and "You are now" not in one for one in told.values()), told
        assert set(told) == {"Do a", "Help", "Do w"}
        runs = WorkflowRuns(home.engine)
        await runs.delete(run.id)
        assert await home.engine.database.rows("SELECT digest FROM run_files") == []


@pytest.mark.parametrize("model", ["nobody/has-this", "anthropic/sim-model"])
async def test_w15_a_model_or_a_folder_that_is_gone_fails_the_step_in_words(
    tmp_path: Path, model: str
) -> None:
    steps = f"  - {{id: a, agent: Lead, prompt: Do a, model: {model}}}\n"
    async with engine_home(tmp_path, "anthropic", by_words({"Do a": "A."})) as home:
        save(home.engine.paths.agents, agent("Lead"))
        runner = await begin(home, workflow(steps))
        if not model.startswith("nobody"):
            shutil.rmtree(home.folder)
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "failed", run.end
        expected = "nobody" if model.startswith("nobody") else str(home.folder)
        assert expected in run.end.reason, run.end.reason


async def test_w15_a_full_disk_ends_the_work_and_nothing_is_lost_or_done_twice(
    tmp_path: Path,
) -> None:
    asked: list[str] = []

    def script(view: RequestView) -> Turn:
        asked.append(view.last_user)
        return Turn(Text("word " * 3_000))

    steps = "".join(
        f"  - {{id: s{n}, agent: Lead, prompt: Do {n}{f', needs: s{n - 1}' if n else ''}}}\n"
        for n in range(4)
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead"))
        database = home.engine.database
        runner = await begin(home, workflow(steps))
        ((pages,),) = await database.rows("PRAGMA page_count")
        await database.execute(f"PRAGMA max_page_count = {pages + 40}")
        with pytest.raises(StorageError, match="full"):
            await carry_out(runner)
        done = [id for id, state in states(runner.run).items() if state == "done"]
        await database.execute("PRAGMA max_page_count = 1073741823")
        before = len(asked)
        stored = await go_on(home, runner.run.id)
        kept = [id for id, state in states(stored.run).items() if state == "done"]
        assert set(kept) <= set(done) and len(kept) < 4
        run = await carry_out(stored)
        assert run.end is not None and run.end.state == "done", run.end
        again = " ".join(asked[before:])
        assert not any(f"Do {id[1:]}" in again for id in kept), (kept, again)
