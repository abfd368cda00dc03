"""Workflows that run in a studio of their own, with the simulator as their model."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunEvent
from studio.domain.runs import Run
from studio.simulator import RequestView, Said, Text, Turn
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import EngineHome
from support.waiting import until, within


def workflow(steps: str, top: str = "", body: str = "") -> str:
    """The text of a workflow's file."""
    return f"---\nname: Story\n{top}steps:\n{steps}\n---\n{body}"


def by_words(answers: dict[str, str | Turn]) -> Callable[[RequestView], Turn]:
    """A script that answers by what a session was asked to do."""

    def script(view: RequestView) -> Turn:
        asked = asked_in(view)
        for words, answer in answers.items():
            if words in asked:
                return answer if isinstance(answer, Turn) else Turn(Text(answer))
        raise LookupError(asked)

    return script


def asked_in(view: RequestView) -> str:
    """All that was said to the model in a session."""
    said = (one for one in view.items if isinstance(one, Said) and one.role == "user")
    return "\n".join(one.text for one in said)


async def begin(home: EngineHome, text: str, **inputs: Json) -> Runner:
    """A new run of a workflow, in the folder of the studio."""
    path = home.folder / ".agents" / "workflows" / "story.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    options = RunOptions(inputs, provider=home.provider, model="sim-model")
    return await WorkflowRuns(home.engine).start(path, home.folder, options)


async def go_on(home: EngineHome, run_id: str) -> Runner:
    """A stored run, as another program finds it."""
    return await WorkflowRuns(home.engine).open(run_id)


async def carry_out(runner: Runner, answers: Callable[[RunEvent], object] | None = None) -> Run:
    """Carry a run out; nobody is there to ask, unless ``answers`` is called with each event."""
    runner.attended = answers is not None
    if answers is not None:
        runner.subscribe(lambda _, event: answers(event))
    async with within():
        return await runner.carry_out()


async def killed(
    home: EngineHome, runner: Runner, step: str, when: Callable[[], object], copy: Path
) -> None:
    """Carry a run out until then, while the step works; ``copy`` is what the disk has then."""
    runner.attended = False
    work = asyncio.ensure_future(runner.carry_out())
    async with within():
        await until(when)
        await home.engine.store.flush(runner.run.step(step, "").session_id)
        source, to = sqlite3.connect(home.engine.paths.database), sqlite3.connect(copy)
        with closing(source), closing(to):
            source.backup(to)
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


def put_back(copy: Path, database: Path) -> None:
    """Make ``copy`` the database of a studio that is closed."""
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    copy.replace(database)


def states(run: Run) -> dict[str, str]:
    """The state of each step, and of items as ``step/value``."""
    found: dict[str, str] = {}
    for (step, item), one in run.steps.items():
        found[f"{step}/{run.items[step][item]}" if item else step] = one.state
    return found


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / ".agents" / "workflows" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
