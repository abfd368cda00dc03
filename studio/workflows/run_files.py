"""Run files: find the file of a workflow, check it, and fit a run's inputs to it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from studio.agent.engine import Engine
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import RunResumed, RunStarted, Trigger
from studio.domain.runs import Run
from studio.domain.workflows import Input, Workflow
from studio.storage.runs import RunStore
from studio.tools import ToolFailed, Workspace

from .expressions import ExpressionError, NotRead, as_words
from .fork import edited_workflow
from .missions.check_steps import with_checks
from .missions.mission_files import text_of_agent
from .plan import Plan
from .reader import read_workflow_text
from .workflow_check import KnownNames, check_workflow
from .workflow_files import workflow_places


class RunFiles:
    """The workflows that runs are carried out by."""

    def __init__(self, engine: Engine, store: RunStore) -> None:
        self._engine = engine
        self._store = store

    async def locate(self, name: str, folder: Path) -> Path:
        """The file of a workflow: a path, or the name of one that the folder, the person or the
        program has. Also that of an agent whose file is a mission.

        Raises ConfigurationError that lists what is there.
        """
        paths, packs = self._engine.paths, self._engine.services.sources.pack_places
        agents = (await self._engine.agents(folder)).by_name.values()
        missions = {one.name: Path(one.source) for one in agents if one.done_when}

        def look() -> Path | None:
            if (given := folder / name).is_file():
                return given
            known = {**missions}
            for place, _ in workflow_places(paths, folder, packs):
                known |= {path.stem: path for path in sorted(place.glob("*.md"))}
            if name in known:
                return known[name]
            listed = f" Known are {', '.join(sorted(known))}." if known else ""
            raise ConfigurationError(f"There is no workflow {name}.{listed}")

        found = await asyncio.to_thread(look)
        assert found is not None
        return found

    async def text(self, path: Path, folder: Path) -> str:
        """The text that a run of a file runs by; raises ConfigurationError."""
        agents = (await self._engine.agents(folder)).by_name.values()
        found = (one for one in agents if one.done_when and one.source == str(path))
        if (agent := next(found, None)) is not None:
            return text_of_agent(agent)
        return await asyncio.to_thread(read_text, path)

    async def checked(self, text: str, name: str, source: str, folder: Path) -> Workflow:
        """The workflow of a text, as it is run; raises ConfigurationError for mistakes."""
        agents = await self._engine.agents(folder)
        known = KnownNames(list(agents.by_name), tools=list(self._engine.tools()))

        def check() -> tuple[Workflow | None, str]:
            found = check_workflow(read_workflow_text(text, name, source), known)
            wrong = next(iter(found.errors), None)
            return found.workflow, f"{source}:{wrong.line}: {wrong.message}" if wrong else ""

        workflow, wrong = await asyncio.to_thread(check)
        if wrong or workflow is None:
            raise ConfigurationError(wrong or f"{source} is no workflow.")
        return with_checks(workflow)

    async def open(self, run_id: str) -> tuple[Plan, Run]:
        """A stored run to go on with, claimed, with its plan; raises StudioError.

        If its program ended while steps were running, the time since then counts as none of theirs.
        """
        await self._store.claim(run_id)
        run = Run(await self._store.events(run_id))
        if run.works and run.end is None:
            now, goes_on = time.time(), RunResumed()
            run.apply(now, goes_on)
            await self._store.append(run, now, [goes_on])
        return Plan(await self.workflow_of(run)), run

    async def inputs(
        self, workflow: Workflow, given: Mapping[str, Json], folder: Path, trigger: Trigger
    ) -> JsonObject:
        """The inputs of a run, with defaults; texts become what the input is of.

        For a client files count as there only in the folder, where it may read them (S-4). Raises
        ConfigurationError for an input that is missing, unknown or does not fit.
        """
        place: Callable[[str], Path] = folder.joinpath
        if trigger == "client":
            hides = self._engine.services.client_policy().hides

            def place_for_client(name: str) -> Path:
                found = (workspace := Workspace(folder)).resolve(name)
                if hides(workspace.relative(found)):
                    raise ToolFailed(name)
                return found

            place = place_for_client
        return await asyncio.to_thread(_fit_inputs, workflow, given, place)

    async def workflow_of(self, run: Run) -> Workflow:
        """The workflow of a run as it was when the run began, with what was edited for the run.

        Raises ConfigurationError.
        """
        started = run.started
        if started is None:
            raise ConfigurationError("There is no such run.")
        workflow = self.read(await self._store.text(started.digest), started)
        return edited_workflow(workflow, run.edits.values())

    def read(self, text: str, started: RunStarted) -> Workflow:
        """The workflow of a text that a run keeps; raises ConfigurationError."""
        found = read_workflow_text(text, started.name, started.source).workflow
        if found is None:
            raise ConfigurationError("The workflow of this run cannot be read.")
        return with_checks(found)


def read_text(path: Path) -> str:
    """The text of a workflow's file; raises ConfigurationError. Blocks."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not a text in UTF-8.") from error


def group_of(plan: Plan, started: RunStarted) -> str:
    """The group of a run; empty for none. Raises ConfigurationError."""
    if plan.workflow.concurrency is None:
        return ""
    names: dict[str, Json] = {"inputs": started.inputs, "run": {"folder": started.folder}}
    try:
        return as_words(plan.values.fill(plan.workflow.concurrency.group, names))
    except (ExpressionError, NotRead) as error:
        raise ConfigurationError(f"The group of concurrency cannot be told: {error}.") from error


def _fit_inputs(
    workflow: Workflow, given: Mapping[str, Json], place: Callable[[str], Path]
) -> JsonObject:
    """See ``RunFiles.inputs``; ``place`` finds a file. Blocks."""
    known = {one.name: one for one in workflow.inputs}
    for name in given:
        if name not in known:
            listed = f" It has {', '.join(known)}." if known else " It has none."
            raise ConfigurationError(f"The workflow has no input {name}.{listed}")
    found: JsonObject = {}
    for name, one in known.items():
        if name in given:
            found[name] = _fit(one, given[name], place)
        elif one.required and one.default is None:
            about = f": {one.description}" if one.description else ""
            raise ConfigurationError(f"The workflow needs the input {name}{about}.")
        else:
            found[name] = one.default
    return found


def _fit(one: Input, value: Json, place: Callable[[str], Path]) -> Json:
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
            with suppress(ToolFailed, OSError):
                path = place(value)
                if path.is_file() if one.type == "file" else path.is_dir():
                    return value
            raise ConfigurationError(
                f"The {one.type} {value} of the input {one.name} is not there."
            )
        case _:
            article = "an" if one.type in ("integer", "object") else "a"
            raise wrong(f"{article} {one.type}")
