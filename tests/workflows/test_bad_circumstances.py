"""What a run needs is gone or changed, the disk is full, another program has it (W-13, W-15)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from studio.domain.errors import StorageError
from studio.simulator import RequestView, Text, Turn
from studio.storage.runs import RunInUse
from studio.workflows.workflow_runs import WorkflowRuns
from support.delegation_home import agent, save
from support.engine_home import engine_home
from support.workflow_home import begin, by_words, carry_out, go_on, states, workflow

STEPS = """\
  - {id: a, agent: Lead, prompt: Do a}
  - {id: ok, approve: Go on?, needs: a}
  - {id: b, agent: Helper, prompt: Do b, needs: ok, on_error: continue}
  - {id: c, agent: Lead, prompt: Do c, needs: b, model: anthropic/sim-model}
"""


async def test_w13_a_run_goes_on_by_its_file_and_says_what_has_changed(tmp_path: Path) -> None:
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
        save(agents, agent("Other").replace("You are", "You are now"))
        assert await runs.changes(run) == [
            "The workflow’s file has changed since. The run goes on without that.",
            "The agent Helper is not there any more.",
            "The agent Other has changed since. Steps that have not begun use it as it is now.",
        ]
        await runner.answer(next(run.questions)[1].id, True)
        run = await carry_out(runner)
        assert (run.end.state if run.end else "", run.step("c").text) == ("done", "C.")
        assert run.step("b").state == "failed"
        assert run.step("b").reason.startswith("There is no agent Helper"), run.step("b").reason


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
        return Turn(Text(view.last_user * 3_000))

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
