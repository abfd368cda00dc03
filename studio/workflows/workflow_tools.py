"""Workflow tools: a call of an agent that is a run of a workflow (W-2).

The run may do no more than the agent that calls it, is booked on what that one may use, and asks
what its agents ask in the caller's chat. What only a person can move on, such as a step that wants
approval, leaves the run waiting: the call ends and says so. A call that the program's end broke off
gets its result late (W-17).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from studio.agent.delegation.report import LONGEST, NAMED, NOTE
from studio.agent.delegation.session_tree import WORKFLOW
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import parse_answer
from studio.agent.prompts import CHILD_MISFIT, CHILD_SAID_NOTHING, WORKFLOW_END, WORKFLOW_WAITS
from studio.agent.session.session import Session
from studio.agent.session.turn_options import ParentTurn
from studio.domain.agents import Caps, DefinedTool
from studio.domain.aio import settled
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.events import Event, Exposed, ToolFinished
from studio.domain.jsonvalue import JsonObject
from studio.domain.run_events import RunEvent, StepAsked
from studio.domain.runs import Run
from studio.domain.tools import Exposure
from studio.domain.workflows import Workflow
from studio.tools import Result, shorten

from .runner import Runner
from .workflow_runs import RunOptions, WorkflowRuns, answer_of_run

CALLER_STOPPED = "The agent that began it was stopped."
NO_SCHEMA: JsonObject = {}
PROGRAM_ENDED = "The program ended meanwhile."


async def run_for_call(
    engine: Engine,
    caller: Session,
    parent: ParentTurn,
    defined: DefinedTool,
    arguments: JsonObject,
    caps: Caps,
) -> Result:
    """Run the workflow of a tool; ``parent`` is what the call hands on, ``caps`` the run's most.

    Raises ToolFailed where it cannot begin.
    """
    runs, info = WorkflowRuns(engine), caller.info
    folder = Path(info.folder)
    options = RunOptions(
        arguments,
        caps,
        info.provider,
        defined.model or info.model,
        info.permission_mode,
        "client" if info.origin == "server" else "manual",
        subject=info.subject,
        called_by=info.id,
        call_id=parent.call_id,
    )
    try:
        path = await runs.locate(defined.workflow, folder)
        trust = (await engine.rules.layers(folder)).trust
        if path.is_relative_to(folder) and trust != "trusted":
            if trust != "nothing":
                raise ConfigurationError("It is a file of this folder, which you do not trust.")
            for exposed in parent.guard.exposed_by_folder(str(path)):
                parent.record(exposed)
        runner = await runs.start(path, folder, options, caller=replace(parent, bench=None))
    except ConfigurationError as error:
        raise ToolFailed(f"{defined.name} was not started: {error}") from error
    try:
        run = await _carried_out(runner)
    finally:
        await runs.close(runner)
    for exposed in parent.guard.inherited_exposures(_exposures(run)):
        parent.record(exposed)
    return await _result(engine, caller, runner.run, runner.plan.workflow, defined.returns)


async def late_result(engine: Engine, caller: Session, call: ToolBlock) -> list[Event]:
    """What came of a call that its program's end broke off, with what that exposes to (W-17).

    Nothing where no run began, or where its caller stopped it. Servers may use an id again: then
    each of its calls has to have its run.
    """
    runs, info = WorkflowRuns(engine), caller.info
    known = await runs.store.of_call(info.id, call.call_id)
    made = [one for one in caller.transcript.blocks if isinstance(one, ToolBlock)]
    if not known or len(known) != sum(one.call_id == call.call_id for one in made):
        return []
    run = await runs.read(known[-1])
    if run.end is not None and run.end.state == "stopped":
        return []
    kept = engine.services.kept_of(info.id)
    agent = await engine.agent(info.agent, Path(info.folder), kept=kept)
    returns = next((one.returns for one in agent.define if one.name == call.name), NO_SCHEMA)
    workflow = await runs.workflow_of(run)
    result = await _result(engine, caller, run, workflow, returns, left=PROGRAM_ENDED)
    exposed = [Exposed(kind, source) for kind, source in _exposures(run).items()]
    seconds = run.changed - run.began
    return [
        *(one for one in exposed if caller.transcript.is_new(one)),
        ToolFinished(call.call_id, result.text, result.is_error, seconds, result.summary),
    ]


async def _carried_out(runner: Runner) -> Run:
    """Carry a run out as far as it goes without the person; stop it where the call is stopped."""

    def leave(at: float, event: RunEvent) -> None:
        if isinstance(event, StepAsked) and not event.question.session_id:
            runner.leave_to_person()  # its agents ask in the chat, this one waits in the run

    unsubscribe = runner.subscribe(leave)
    work = asyncio.ensure_future(runner.carry_out())
    try:
        await settled(work)
        return runner.run
    except asyncio.CancelledError:
        await settled(asyncio.ensure_future(runner.stop(CALLER_STOPPED)))
        raise
    finally:
        unsubscribe()


async def _result(
    engine: Engine,
    caller: Session,
    run: Run,
    workflow: Workflow,
    returns: JsonObject,
    *,
    left: str = "It is paused.",
) -> Result:
    """The outputs of a run, or why there are none, and a line about it (W-37).

    ``left`` says why it has no end where nothing else does.
    """
    assert run.started is not None
    failed, answer = run.end is None or run.end.state != "done", run.reason
    if run.end is None:
        asked = "; ".join(question.text for _, question in run.questions)
        answer = WORKFLOW_WAITS.format(why=asked or run.reason or left)
    elif not failed and returns:
        said = json.dumps(run.end.outputs, ensure_ascii=False)
        try:
            answer = json.dumps(await asyncio.to_thread(parse_answer, said, returns))
        except ValueError as error:
            failed, answer = True, CHILD_MISFIT.format(wrong=error, answer=said)
    elif not failed:
        answer = answer_of_run(workflow, run)
    if len(answer) > LONGEST:
        spill = engine.services.spill(caller.info.id)
        answer = await asyncio.to_thread(shorten, answer, LONGEST - NOTE, spill)
    files = list(dict.fromkeys(file.path for one in run.changes.values() for file in one.files))
    used = f"{run.tokens:,} tokens, ${run.dollars:,.4f}"
    tail = WORKFLOW_END.format(
        name=f"{run.started.name}, run {run.started.number}",
        how=run.state.replace("_", " "),
        drafts=", ".join(files[:NAMED]) or "none",
        used=used,
    )
    return Result(
        f"{answer or CHILD_SAID_NOTHING}\n{tail}",
        f"{run.state.replace('_', ' ')}, {used}",
        (WORKFLOW,),
        failed,
        keeps_end=True,
    )


def _exposures(run: Run) -> dict[Exposure, str]:
    """What the steps of a run read, each kind with its first source (T-9)."""
    found: dict[Exposure, str] = {}
    for one in run.steps.values():
        for exposed in one.last.exposed if one.last is not None else ():
            found.setdefault(exposed.exposure, exposed.source)
    return found
