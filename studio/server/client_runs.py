"""Client runs: workflows that clients have run, as a model or by ``/v1/runs`` (W-70).

What a run may do is what a client may (S-4), also when the person goes on with it in the window.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.usage_costs import total
from studio.domain.aio import BackgroundTasks, settled
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Text
from studio.domain.models import NO_USAGE, Usage
from studio.domain.redaction import without_secrets
from studio.domain.run_events import (
    MERGE,
    RunEvent,
    RunQuestion,
    StepAsked,
    StepFinished,
    StepStarted,
)
from studio.domain.runs import Run
from studio.domain.workflows import Workflow
from studio.storage.runs import RunInUse
from studio.workflows.runner import Runner
from studio.workflows.workflow_files import WorkflowFile, find_workflows
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns, answer_of_run

from .contract import (
    WORKFLOW,
    ApiRequest,
    BadRequest,
    ListedModel,
    Outcome,
    ProgressPart,
    ResponseInfo,
    ResponsePart,
    TextPart,
    TurnRef,
)
from .dialects.responses import stored_response
from .housekeeping import is_housekeeping

REQUEST = "request"
"""The input that a message which is no JSON object is."""
NO_TURN = "0" * 32
"""In place of a turn: the answer is a run."""
STOPPED = "The client that began it has gone."
SERVER_STOPPED = "The server was stopped."
LISTED = 100
"""Runs that are listed at most."""
AskRun: TypeAlias = Callable[[RunQuestion], Awaitable[Json]]
"""Asks a run's question at the client's end; None if nobody answers."""
_MARKS = {"done": "✓", "failed": "×", "skipped": "–", "stopped": "–"}


class ClientRuns:
    """The runs of the clients of one server; ``folder`` is where they work."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._runs = WorkflowRuns(engine)
        self._live: dict[str, tuple[Runner, asyncio.Task[Run]]] = {}
        self._leaving = BackgroundTasks()
        self._closed = False

    async def files(self) -> dict[str, WorkflowFile]:
        """The file of each workflow by its name here, in order, also where it has mistakes."""
        paths, packs = self._engine.paths, self._engine.services.sources.pack_places
        files = await asyncio.to_thread(find_workflows, paths, self._folder, packs)
        return dict(sorted({one.path.stem: one for one in files}.items()))

    async def workflows(self) -> dict[str, Workflow]:
        """The workflows that a client can run, by their names here."""
        return {
            name: one.workflow
            for name, one in (await self.files()).items()
            if one.workflow is not None and not one.broken
        }

    async def listed(self) -> list[ListedModel]:
        """The workflows that a client can name as a model."""
        return [
            ListedModel(f"{WORKFLOW}{name}", one.name, "agent-studio")
            for name, one in (await self.workflows()).items()
        ]

    # Answers

    async def answer(
        self, request: ApiRequest, begun: Callable[[TurnRef], None], ask: AskRun | None = None
    ) -> AsyncGenerator[ResponsePart, None]:
        """Run a workflow for a request, and tell its steps as they come.

        Its questions are asked with ``ask``, or wait for the person.

        Raises BadRequest before the first part where there is no such workflow, or the inputs do
        not fit. Closing the parts stops the run, unless it was begun in the background.
        """
        if is_housekeeping(request):
            raise BadRequest("A workflow makes no titles, tags or summaries of chats.")
        runner = await self._begin(request.model.strip()[len(WORKFLOW) :], request, ask)
        try:
            begun(TurnRef(runner.run.id, NO_TURN))
            started = runner.run.started
            assert started is not None
            yield ProgressPart(f"{escape_line(started.name)}, run {started.number}")
            async for part in self._followed(runner):
                yield part
        finally:
            if runner.run.id in self._live and not request.background and not self._closed:
                await self._stop(runner.run.id, STOPPED)
        for part in await self._end(runner):
            yield part

    async def repeat(self, run_id: str) -> AsyncGenerator[ResponsePart, None]:
        """Answer a request once more whose run was begun before: it is never begun again."""
        if run_id not in self._live and (run := await self._runs.read(run_id)).end is not None:
            for part in await self._parts(await self._runs.workflow_of(run), run):
                yield part
            return
        runner = self._live[run_id][0] if run_id in self._live else await self._runs.open(run_id)
        self._carry_out(runner)
        async for part in self._followed(runner):
            yield part
        for part in await self._end(runner):
            yield part

    async def stored(self, run_id: str) -> JsonObject:
        """The response that a run is, as far as it has come; raises BadRequest."""
        workflow, run = await self._found(run_id)
        goes_on = run_id in self._live and run.end is None
        parts = [] if goes_on else await self._parts(workflow, run)
        assert run.started is not None
        name = f"{WORKFLOW}{Path(run.started.source).stem}"
        about = ResponseInfo(TurnRef(run_id, NO_TURN).number, name, int(run.began))
        body = stored_response(parts, about, run.changed, {"background": True})
        if run.end is not None and run.end.state == "stopped":
            body |= {"status": "cancelled", "incomplete_details": None}
        return body

    # Runs

    async def start(self, body: JsonObject) -> JsonObject:
        """Begin a run, as ``POST /v1/runs`` asks for it; returns it as ``get`` does."""
        name, inputs = body.get("workflow"), body.get("inputs", {})
        if not isinstance(name, str) or not name:
            raise BadRequest("“workflow” is the name of a workflow.", param="workflow")
        if not isinstance(inputs, dict):
            raise BadRequest("“inputs” is an object.", param="inputs")
        if unknown := body.keys() - {"workflow", "inputs"}:
            raise BadRequest(f"“{min(unknown)}” is not known here.", param=min(unknown))
        runner = await self._start(name.removeprefix(WORKFLOW), inputs, "inputs", stays=True)
        return await self.get(runner.run.id)

    async def list(self) -> JsonObject:
        """The newest runs that clients have begun."""
        rows = await self._runs.store.list(LISTED, trigger="client")
        data: list[Json] = [
            {
                "id": one.id,
                "object": "run",
                "workflow": one.name,
                "state": one.state,
                "reason": one.reason,
                "created": int(one.created),
                "updated": int(one.updated),
                "tokens": one.tokens,
                "dollars": one.dollars,
            }
            for one in rows
        ]
        return {"object": "list", "data": data}

    async def get(self, run_id: str) -> JsonObject:
        """A run with its steps, and what it waits for; raises BadRequest."""
        workflow, run = await self._found(run_id)
        state = run.state
        if state == "running" and run_id not in self._live:
            state = "interrupted"
        steps: list[Json] = [
            {
                "id": step.id,
                "title": step.label,
                "state": (one := run.step(step.id)).state,
                "tries": len(one.tries),
                "reason": one.reason,
                "text": one.text,
                "outputs": one.outputs,
            }
            for step in workflow.steps
        ]
        asked: list[Json] = [question.text for _, question in run.questions]
        return {
            "id": run.id,
            "object": "run",
            "workflow": workflow.name,
            "state": state,
            "reason": run.reason,
            "created": int(run.began),
            "inputs": run.started.inputs if run.started is not None else {},
            "outputs": run.end.outputs if run.end is not None else None,
            "answer": answer_of_run(workflow, run) if run.end is not None else None,
            "questions": asked,
            "steps": steps,
            "tokens": run.tokens,
            "dollars": run.dollars,
        }

    async def cancel(self, run_id: str) -> JsonObject:
        """Stop a run; one that is over stays as it is. Raises BadRequest."""
        _, run = await self._found(run_id)
        if run.end is None:
            await self._stop(run_id, "A client stopped it.")
            if (await self._runs.read(run_id)).end is None:
                await self._runs.stop(run_id)
        return await self.get(run_id)

    async def close(self) -> None:
        """Pause the runs, so that the person can go on with them; no more begin."""
        self._closed = True

        async def leave(runner: Runner, work: asyncio.Task[Run]) -> None:
            with suppress(StudioError):
                await runner.pause(SERVER_STOPPED)
            work.cancel()
            await settled(work)

        await asyncio.gather(*(leave(*one) for one in self._live.values()))
        await self._leaving.settled()

    # Below

    async def _begin(self, name: str, request: ApiRequest, ask: AskRun | None) -> Runner:
        last = request.messages[-1] if request.messages else None
        said = "".join(one.text for one in last.blocks if isinstance(one, Text)) if last else ""
        inputs: Json = None
        with suppress(ValueError, RecursionError):
            inputs = json.loads(said)
        if not isinstance(inputs, dict):
            inputs = {REQUEST: said}
        return await self._start(name, inputs, "messages", ask, stays=request.background)

    async def _start(
        self,
        name: str,
        inputs: JsonObject,
        param: str,
        ask: AskRun | None = None,
        *,
        stays: bool,
    ) -> Runner:
        """Begin a run; unless it ``stays``, one whose client leaves just then is stopped."""
        if self._closed:
            raise BadRequest("The server is being stopped.", status=503, code="busy")
        if name not in await self.files():  # one with mistakes says them
            listed = ", ".join(await self.workflows())
            known = f" Known are {listed}." if listed else ""
            shown = escape_line(name, 100)
            raise BadRequest(
                f"There is no workflow “{shown}”.{known}",
                status=404,
                param="model",
                code="model_not_found",
            )
        path = await self._runs.locate(name, self._folder)
        options = RunOptions(inputs, trigger="client")

        async def begin() -> Runner:
            runner = await self._runs.start(path, self._folder, options)
            self._carry_out(runner, ask)
            return runner

        beginning = self._leaving.start(begin())
        try:
            return await asyncio.shield(beginning)
        except asyncio.CancelledError:
            if not stays:
                self._leaving.start(self._stop_begun(beginning))
            raise
        except ConfigurationError as error:
            raise BadRequest(
                f"{error} A message is the input “{REQUEST}”, or a JSON object with all inputs.",
                param=param,
            ) from error

    async def _stop_begun(self, beginning: asyncio.Future[Runner]) -> None:
        with suppress(StudioError):
            await self._stop((await beginning).run.id, STOPPED)

    async def _stop(self, run_id: str, reason: str) -> None:
        """Stop a run that goes on here, and return when it has ended."""
        if (live := self._live.get(run_id)) is not None:
            with suppress(RunInUse):  # it has come to a question just now, and is released
                await live[0].stop(reason)
            await settled(live[1])

    def _carry_out(self, runner: Runner, ask: AskRun | None = None) -> None:
        run_id = runner.run.id
        if run_id in self._live:
            return
        runner.attended = ask is not None
        asking = RunAsking(runner, ask) if ask is not None else None
        work = asyncio.create_task(self._carried_out(runner))
        if asking is not None:
            work.add_done_callback(lambda _: asking.close())
        self._live[run_id] = runner, work
        work.add_done_callback(lambda _: self._live.pop(run_id, None))

    async def _carried_out(self, runner: Runner) -> Run:
        try:
            return await runner.carry_out()
        except StudioError as error:
            self._engine.services.report_problem(str(error))
            return runner.run
        finally:
            await self._runs.close(runner)

    async def _followed(self, runner: Runner) -> AsyncGenerator[ResponsePart, None]:
        """The steps of a run as they come, until it does not go on by itself."""
        parts: asyncio.Queue[ProgressPart | None] = asyncio.Queue()
        labels = {step.id: step.label for step in runner.plan.workflow.steps}

        def heard(_: float, event: RunEvent) -> None:
            if line := _line(event, labels):
                parts.put_nowait(ProgressPart(line))

        unsubscribe = runner.subscribe(heard)
        if (live := self._live.get(runner.run.id)) is not None:
            live[1].add_done_callback(lambda _: parts.put_nowait(None))
        else:
            parts.put_nowait(None)
        try:
            while (part := await parts.get()) is not None:
                yield part
        finally:
            unsubscribe()

    async def _end(self, runner: Runner) -> Sequence[ResponsePart]:
        return await self._parts(runner.plan.workflow, runner.run)

    async def _parts(self, workflow: Workflow, run: Run) -> list[ResponsePart]:
        """The words of a run that does not go on by itself, and how it ended."""
        usage = await self._usage(run)
        if run.end is not None and run.end.state == "done":
            answer = answer_of_run(workflow, run)
            return [*([TextPart(answer)] if answer else []), Outcome("end", usage)]
        if run.end is not None:
            what = "failed" if run.end.state == "failed" else "was stopped"
            words = f"The workflow {what}. {run.end.reason}".rstrip()
        else:
            asked = [f"\n\n{question.text}" for _, question in run.questions]
            waits = "waits for the person" if asked else f"is paused. {run.paused or ''}".rstrip()
            goes_on = f"To go on: agent-studio workflow resume {run.id[:8]}"
            words = f"The workflow {waits}.{''.join(asked)}\n\n{goes_on}".replace("..", ".")
        words = without_secrets(words)
        return [TextPart(words), Outcome("limit", usage, words)]

    async def _usage(self, run: Run) -> Usage:
        used = NO_USAGE
        for one in run.steps.values():
            for made in one.tries:
                if made.session_id and not made.linked:
                    spent = await self._engine.usage_costs.spent("session", made.session_id)
                    used += total(spent.values()).usage
        return used

    async def _found(self, run_id: str) -> tuple[Workflow, Run]:
        """A run that a client began; the person's are none of theirs."""
        if run_id in self._live:
            runner = self._live[run_id][0]
            return runner.plan.workflow, runner.run
        run = Run(await self._runs.store.events(run_id))
        if run.started is None or run.started.trigger != "client":
            raise BadRequest(
                f"There is no run {escape_line(run_id, 100)}.", status=404, code="not_found"
            )
        return await self._runs.workflow_of(run), run


class RunAsking:
    """Has a client's person answer the questions of a run, one after the other."""

    def __init__(self, runner: Runner, ask: AskRun) -> None:
        self._runner = runner
        self._ask = ask
        self._tasks = BackgroundTasks()
        self._one = asyncio.Lock()
        self._unsubscribe = runner.subscribe(self._heard)

    def close(self) -> None:
        """Withdraw what is still asked."""
        self._unsubscribe()
        self._tasks.cancel()

    def _heard(self, at: float, event: RunEvent) -> None:
        if isinstance(event, StepAsked):
            self._tasks.start(self._asked(event.question))

    async def _asked(self, question: RunQuestion) -> None:
        async with self._one:
            if all(one.id != question.id for _, one in self._runner.run.questions):
                return
            answer = await self._ask(question)
            if answer is None:
                self._runner.leave_to_person()
                return
            with suppress(ConfigurationError):  # it was answered elsewhere meanwhile
                await self._runner.answer(question.id, answer)


def _line(event: RunEvent, labels: dict[str, str]) -> str:
    """What a client is told of a step; it may hold a secret."""
    match event:
        case StepStarted() if event.step != MERGE and not event.item:
            again = f", try {event.attempt}" if event.attempt > 1 else ""
            again += f", round {event.round}" if event.round > 1 else ""
            return escape_line(f"{labels[event.step]}{again}")
        case StepFinished() if event.step != MERGE and not event.item:
            reason = f": {event.reason}" if event.reason else ""
            line = f"{_MARKS[event.state]} {labels[event.step]}{reason}"
            return without_secrets(escape_line(line))
        case _:
            return ""
