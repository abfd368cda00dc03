"""Workflow runs: finds workflows, begins their runs, and goes on with those that are stored."""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.domain.agents import NO_CAPS, Caps
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.runs import Run, RunEvent, RunStarted
from studio.domain.workflows import Input, Workflow
from studio.storage.runs import RunInfo, RunStore

from .fork import ForkPlan, ForkRequest, edited_workflow, plan_fork
from .plan import Plan
from .reader import read_workflow_text
from .runner import Runner
from .workflow_check import KnownNames, check_workflow

FOLDER = Path(".agents/workflows")
"""Where a folder has its workflows."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is begun. ``provider`` and ``model`` answer where a step names none."""

    inputs: Mapping[str, Json]
    caps: Caps = NO_CAPS
    provider: str = ""
    model: str = ""
    permission_mode: str = ""


class WorkflowRuns:
    """The runs of one program."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.store = RunStore(engine.database)
        self.sessions = engine.store
        """Where the sessions of steps are stored."""

    async def start(self, path: Path, folder: Path, options: RunOptions) -> Runner:
        """Begin a run of a workflow's file in a folder; ``carry_out`` does the rest.

        Raises ConfigurationError for a file with mistakes, and for inputs that do not fit.
        """
        text = await asyncio.to_thread(read_text, path)
        workflow = await self._workflow(text, path.stem, str(path), folder)
        inputs = fit_inputs(workflow, options.inputs, folder)
        plan = Plan(workflow)
        if plan.circle:
            raise ConfigurationError(f"These steps wait for each other: {', '.join(plan.circle)}.")
        started = RunStarted(
            *(uuid.uuid4().hex, workflow.name, workflow.digest, str(path), str(folder)),
            inputs=inputs,
            caps=options.caps.within(workflow.budget.caps),
            provider=options.provider,
            model=options.model,
            permission_mode=options.permission_mode,
        )
        return await self._begin(started, text, plan)

    async def plan_fork(self, request: ForkRequest) -> ForkPlan:
        """What a fork of a run would link and run, to be shown before ``fork`` (W-30).

        Raises ConfigurationError where there is no such run, step or item, and for a file with
        mistakes.
        """
        run = await self.read(request.run_id)
        assert run.started is not None
        source, folder = Path(run.started.source), Path(run.started.folder)
        if not request.new_files:
            text = await self.store.text(run.started.digest)
            return plan_fork(run, self._read(text, run.started), text, request)
        text = await asyncio.to_thread(read_text, source)
        workflow = await self._workflow(text, source.stem, str(source), folder)
        return plan_fork(run, workflow, text, request)

    async def fork(self, plan: ForkPlan) -> Runner:
        """Begin a fork as planned; ``carry_out`` does the rest. The run before never changes."""
        return await self._begin(plan.started, plan.text, Plan(plan.workflow), plan.events)

    async def _begin(
        self, started: RunStarted, text: str, plan: Plan, more: Sequence[RunEvent] = ()
    ) -> Runner:
        run, now = Run(), time.time()
        run.apply(now, await self.store.create(started, now, text, more))
        for event in more:
            run.apply(now, event)
        return Runner(self._engine, self.store, plan, run)

    async def read(self, run_id: str) -> Run:
        """The state of a stored run; raises ConfigurationError if there is no such run."""
        run = Run(await self.store.events(run_id))
        if run.started is None:
            raise ConfigurationError(f"There is no run {run_id}.")
        return run

    async def delete(self, run_id: str) -> None:
        """Delete a run with all that belongs to it: its sessions, and what they recorded.

        Raises RunInUse while another program carries it out.
        """
        await self.store.claim(run_id)
        await self._engine.sessions.delete_begun(run_id)
        await self.store.delete(run_id)

    async def open(self, run_id: str) -> Runner:
        """Go on with a stored run, by the file as it was when the run began (W-13).

        Raises RunInUse if another program carries it out.
        """
        await self.store.claim(run_id)
        run = Run(await self.store.events(run_id))
        return Runner(self._engine, self.store, Plan(await self.workflow_of(run)), run)

    async def workflow_of(self, run: Run) -> Workflow:
        """The workflow of a run as it was when the run began, with what was edited for the run.

        Raises ConfigurationError.
        """
        started = run.started
        if started is None:
            raise ConfigurationError("There is no such run.")
        workflow = self._read(await self.store.text(started.digest), started)
        return edited_workflow(workflow, run.edits.values())

    def _read(self, text: str, started: RunStarted) -> Workflow:
        found = read_workflow_text(text, started.name, started.source).workflow
        if found is None:
            raise ConfigurationError("The workflow of this run cannot be read.")
        return found

    async def close(self, runner: Runner) -> None:
        """Let other programs carry out a run."""
        await self.store.release(runner.run.id)

    async def changed(self, run: Run) -> bool:
        """Whether the file of a run has changed since it began, or is not there any more."""
        started = run.started
        if started is None or not started.source:
            return False
        try:
            text = await asyncio.to_thread(read_text, Path(started.source))
        except ConfigurationError:
            return True
        found = read_workflow_text(text).workflow
        return found is None or found.digest != started.digest

    async def find(self, start: str) -> RunInfo:
        """The one run whose id begins so; raises ConfigurationError if there is not one."""
        found = await self.store.list(2, start) if start else []
        if len(found) != 1:
            many = "more than one run" if found else "no run"
            raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
        return found[0]

    async def locate(self, name: str, folder: Path) -> Path:
        """The file of a workflow: a path, or the name of one in the folder or the own place.

        Raises ConfigurationError that lists what is there.
        """
        places = (folder / FOLDER, self._engine.paths.config / "workflows")

        def look() -> Path | None:
            if (given := folder / name).is_file():
                return given
            known: dict[str, Path] = {}
            for place in reversed(places):  # the folder's come last, and win
                known |= {path.stem: path for path in sorted(place.glob("*.md"))}
            if name in known:
                return known[name]
            listed = f" Known are {', '.join(sorted(known))}." if known else ""
            raise ConfigurationError(f"There is no workflow {name}.{listed}")

        found = await asyncio.to_thread(look)
        assert found is not None
        return found

    async def _workflow(self, text: str, name: str, source: str, folder: Path) -> Workflow:
        agents = await self._engine.agents(folder)
        known = KnownNames(list(agents.by_name), tools=list(self._engine.tools()))

        def check() -> tuple[Workflow | None, str]:
            found = check_workflow(read_workflow_text(text, name, source), known)
            wrong = next(iter(found.errors), None)
            return found.workflow, f"{source}:{wrong.line}: {wrong.message}" if wrong else ""

        workflow, wrong = await asyncio.to_thread(check)
        if wrong or workflow is None:
            raise ConfigurationError(wrong or f"{source} is no workflow.")
        return workflow


def read_text(path: Path) -> str:
    """The text of a workflow's file; raises ConfigurationError. Blocks."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not a text in UTF-8.") from error


def fit_inputs(workflow: Workflow, given: Mapping[str, Json], folder: Path) -> JsonObject:
    """The inputs of a run, with defaults; texts become what the input is of.

    Raises ConfigurationError for one that is missing, unknown or does not fit.
    """
    known = {one.name: one for one in workflow.inputs}
    for name in given:
        if name not in known:
            listed = f" It has {', '.join(known)}." if known else " It has none."
            raise ConfigurationError(f"The workflow has no input {name}.{listed}")
    found: JsonObject = {}
    for name, one in known.items():
        if name in given:
            found[name] = _fit(one, given[name], folder)
        elif one.required and one.default is None:
            about = f": {one.description}" if one.description else ""
            raise ConfigurationError(f"The workflow needs the input {name}{about}.")
        else:
            found[name] = one.default
    return found


def _fit(one: Input, value: Json, folder: Path) -> Json:
    def wrong(what: str) -> ConfigurationError:
        return ConfigurationError(f"The input {one.name} is {what}, not “{value}”.")

    if isinstance(value, str) and one.type in ("number", "integer", "boolean", "list", "object"):
        with suppress(ValueError):
            value = json.loads(value)
    match one.type:
        case "string" if isinstance(value, str):
            return value
        case "enum":
            if value in one.choices:
                return value
            raise wrong(f"one of {', '.join(one.choices)}")
        case "number" if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        case "integer" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "list" if isinstance(value, list):
            return value
        case "object" if isinstance(value, dict):
            return value
        case "file" | "folder" if isinstance(value, str):
            path = folder / value
            if path.is_file() if one.type == "file" else path.is_dir():
                return value
            raise ConfigurationError(
                f"The {one.type} {value} of the input {one.name} is not there."
            )
        case _:
            article = "an" if one.type in ("integer", "object") else "a"
            raise wrong(f"{article} {one.type}")
