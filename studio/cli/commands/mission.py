"""``agent-studio mission``: begins missions and looks after them (W-47 to W-52)."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DONE
from studio.cli.parser import (
    CommandParser,
    cycles,
    dollars,
    hours,
    time_of_day,
    tokens,
)
from studio.cli.workflow_begin import begin_options
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.domain.run_events import RunEvent
    from studio.workflows.workflow_runs import WorkflowRuns


def arguments(parser: CommandParser) -> None:
    helps = {
        "start": "begin a mission: a workflow or an agent with done_when",
        "list": "list missions, the last one first",
        "show": "show a mission: its cycle, its checks, what is left",
        "ledger": "print what a mission did, cycle by cycle",
        "resume": "go on with a mission that was paused, interrupted or killed",
        "pause": "let the replies under way end, and begin nothing more",
        "steer": "say something to who works on it, now and in the cycles that follow",
        "raise": "let a mission use more in all",
        "stop": "end a mission; what it changed waits as drafts",
        "chat": "pause a mission, and take its present session over as a chat",
    }
    found = parser.add_subcommands(helps)
    start = found["start"]
    start.description = (
        "Begin a mission. It works in cycles, each in new sessions, and ends when all of its "
        "checks pass, or you stop it. At a limit it is paused. One limit is needed, in its file "
        "or here."
    )
    start.add_argument("mission", metavar="FILE|NAME", help="a workflow or an agent")
    start.add_argument("--mission", dest="words", metavar="TEXT", help="what it has to reach")
    begin_options(start)
    for name in ("start", "raise"):
        _caps(found[name])
    for name in ("show", "ledger", "resume", "pause", "steer", "raise", "stop", "chat"):
        found[name].add_argument("run", metavar="RUN", help="the beginning of its id")
    found["steer"].add_argument("words", metavar="TEXT", help="what you say")
    for name in ("start", "list", "show", "resume", "ledger"):
        found[name].add_argument("--json", action="store_true", help="print JSON")


def _caps(parser: CommandParser) -> None:
    parser.add_argument("--dollars", type=dollars, metavar="N", help="what it may cost in all")
    parser.add_argument("--tokens", type=tokens, metavar="N", help="what it may use in all")
    parser.add_argument("--cycles", type=cycles, metavar="N", help="how many there may be")
    parser.add_argument("--hours", type=hours, metavar="N", help="how long it may work in all")
    parser.add_argument(
        "--until", type=time_of_day, metavar="HH:MM", help="when it pauses, by your clock"
    )


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Begin missions and look after them."""
    from studio.domain.run_events import YOU_PAUSED, RunPaused, RunSteered
    from studio.workflows.workflow_runs import WorkflowRuns

    runs = WorkflowRuns(await context.engine())
    if options.what == "start":
        return await _start(context, options, runs)
    if options.what == "list":
        return await _list(context, options, runs)
    if options.what not in ("show", "ledger"):
        context.console.require_a_person()  # an agent may not change what ends its mission (W-48)
    info = await runs.find(options.run)
    if not info.mission:
        raise ConfigurationError(f"The run {info.id[:8]} is no mission.")
    match options.what:
        case "show" | "ledger":
            return await _tell(context, options, runs, info.id)
        case "resume":
            return await _resume(context, options, runs, info.id)
        case "pause":
            return await _wish(context, runs, info.id, RunPaused(YOU_PAUSED), "is paused")
        case "steer":
            event = RunSteered(options.words)
            return await _wish(context, runs, info.id, event, "is told this")
        case "raise":
            return await _raise(context, options, runs, info.id)
        case "chat":
            session = await runs.take_over(info.id)
            context.console.say(
                f"The mission is paused. To talk: agent-studio chat --session {session[:8]}",
                f"To go on with the mission: agent-studio mission resume {info.id[:8]}",
            )
        case _:
            stopped = await runs.stop(info.id)
            context.console.say(f"The mission {stopped.id[:8]} is {stopped.state}.")
    return DONE


async def _start(context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns) -> int:
    from studio.cli.workflow_driver import drive_run
    from studio.domain.agents import Caps
    from studio.domain.workflows import Budget
    from studio.workflows.reader import read_workflow_text
    from studio.workflows.workflow_runs import RunOptions

    folder = chosen_folder(options)
    path = await runs.locate(options.mission, folder)
    default = (await context.engine()).settings.values.default_permission_mode
    wanted = RunOptions(
        dict(options.input),
        Caps(options.tokens or 0, options.dollars or 0.0),
        options.provider or "",
        options.model or "",
        context.console.permission(options.permission, default) or "",
        mission=options.words or "",
        more=Budget(
            minutes=(options.hours or 0.0) * 60,
            cycles=options.cycles or 0,
            until=options.until or "",
        ),
    )
    read = read_workflow_text(await runs.files.text(path, folder)).workflow
    if read is not None and not read.done_when:
        raise ConfigurationError(f"{path} has no done_when, so it is no mission.")
    runner = await runs.start(path, folder, wanted)
    return await drive_run(context.console, runs, runner, as_json=options.json)


async def _resume(
    context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns, run_id: str
) -> int:
    from studio.cli.workflow_driver import drive_run

    runner = await runs.open(run_id)
    if runner.run.end is not None:
        await runs.close(runner)
        raise ConfigurationError(f"The mission {run_id[:8]} is {runner.run.state}.")
    context.console.say(*await runs.changes(runner.run))
    await runner.resume()
    return await drive_run(context.console, runs, runner, as_json=options.json)


async def _raise(
    context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns, run_id: str
) -> int:
    from studio.domain.agents import Caps
    from studio.domain.run_events import CapRaised

    caps = (await runs.read(run_id)).caps[""]
    caps = Caps(options.tokens or caps.tokens, options.dollars or caps.dollars)
    minutes = (options.hours or 0.0) * 60
    event = CapRaised(caps, "", minutes, options.cycles or 0, options.until or "")
    given = (options.tokens, options.dollars, options.hours, options.cycles, options.until)
    if not any(given):
        raise ConfigurationError("Say what is raised: --dollars, --tokens, --cycles, --hours.")
    return await _wish(context, runs, run_id, event, "may use more")


async def _wish(
    context: CommandContext, runs: WorkflowRuns, run_id: str, event: RunEvent, told: str
) -> int:
    await runs.wish(run_id, event)
    context.console.say(f"The mission {run_id[:8]} {told}.")
    return DONE


async def _list(context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns) -> int:
    from dataclasses import asdict
    from datetime import datetime

    from studio.agent.usage_costs import format_dollars

    found = await runs.store.list(missions=True)
    console = context.console
    if options.json:
        console.write_json([asdict(one) for one in found])
        return DONE
    for one in found:
        broken_off = one.state == "running" and not one.live
        state = "interrupted" if broken_off else one.state.replace("_", " ")
        at = datetime.fromtimestamp(one.updated).strftime("%Y-%m-%d %H:%M")
        what = f"{one.name}, run {one.number}  {one.reason}".rstrip()
        cost = format_dollars(one.dollars)
        console.row(f"{one.id[:8]}  {at}  {state:<11}  {what}  {cost}".rstrip())
    if not found:
        console.say("There is no mission yet.")
    return DONE


async def _tell(
    context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns, run_id: str
) -> int:
    from dataclasses import asdict

    from studio.cli.workflow_driver import describe_run
    from studio.domain.runs import Run
    from studio.workflows.missions.brief import left_of
    from studio.workflows.missions.cycles import Cycles
    from studio.workflows.missions.mission_log import entries, mission_log_text

    console, events = context.console, await runs.store.events(run_id)
    run = Run(events)
    workflow = await runs.workflow_of(run)
    assert run.started is not None
    if options.what == "ledger":
        found = entries(workflow, events)
        if options.json:
            console.write_json([asdict(one) for one in found])
        else:
            console.write(mission_log_text(workflow, run.started.mission, found))
        return DONE
    cycles = Cycles(workflow, run)
    left = left_of(run, cycles.most, run.minutes or workflow.budget.minutes, cycles.until)
    checks = run.cycles[-1].checks if run.cycles else ()
    if options.json:
        console.write_json(
            {
                "id": run.id,
                "mission": run.started.mission,
                "state": run.state,
                "reason": run.reason,
                "cycle": run.cycle,
                "checks": [asdict(one) for one in checks],
                "left": left,
            }
        )
        return DONE
    info = await runs.find(run_id)
    console.row(run.started.mission)
    for line in describe_run(workflow, run, live=info.live):
        console.row(line)
    console.row(f"Cycle {run.cycle}" + (f"; left: {left}" if left else ""))
    for one in checks:
        console.row(f"  {'✓' if one.passed else '×'} {one.title}")
    return DONE
