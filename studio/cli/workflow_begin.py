"""Begins and goes on with the runs of ``workflow``, ``batch`` and ``cluster``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError

from .command_context import CommandContext, chosen_folder
from .parser import (
    CommandParser,
    dollars,
    input_value,
    minutes,
    permission_option,
    provider_option,
)

if TYPE_CHECKING:
    from studio.cli.console import Console
    from studio.domain.run_events import RunStarted
    from studio.workflows.runner import Runner
    from studio.workflows.workflow_runs import WorkflowRuns


def run_arguments(start: CommandParser) -> None:
    """Add what a run is begun with."""
    start.add_argument("workflow", metavar="FILE|NAME", help="a file, or the name of a workflow")
    start.add_argument("--dollars", type=dollars, metavar="N", help="what the run may cost")
    begin_options(start)
    yes_argument(start)


def begin_options(start: CommandParser) -> None:
    """Add the inputs of a run, who answers, what is allowed, and the folder."""
    start.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        type=input_value,
        metavar="NAME=VALUE",
        help="an input of the workflow; may be repeated",
    )
    provider_option(start, "; default: your setting")
    start.add_argument("-m", "--model", metavar="MODEL", help="for steps and agents without one")
    permission_option(start)
    start.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")


def yes_argument(parser: CommandParser) -> None:
    """Add the yes to many items that is given before they are asked about."""
    parser.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="work on all items after a sample, without a question; needs a limit in dollars",
    )


def resume_arguments(resume: CommandParser) -> None:
    """Add what a run goes on with."""
    resume.add_argument("run", metavar="RUN", help="the beginning of its id")
    resume.add_argument(
        "--dollars", type=dollars, metavar="N", help="what the run may cost in all, from now on"
    )
    resume.add_argument(
        "--minutes", type=minutes, metavar="N", help="how long its steps may work in all"
    )
    resume.add_argument(
        "--raise",
        dest="raises",
        action="store_true",
        help="double the limit that it is paused at, also that of a step or of a run below it",
    )
    yes_argument(resume)


async def start(context: CommandContext, options: argparse.Namespace) -> int:
    return await carry_out(context, options, *await begin(context, options))


async def begin(
    context: CommandContext, options: argparse.Namespace
) -> tuple[WorkflowRuns, Runner]:
    """A new run, as ``run_arguments`` say."""
    from studio.domain.agents import Caps
    from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

    folder = chosen_folder(options)
    if options.yes:
        context.console.require_a_person()  # many items are theirs to agree to (W-55)
    engine = await context.engine()
    runs = WorkflowRuns(engine)
    path = await runs.locate(options.workflow, folder)
    default = engine.settings.values.default_permission_mode
    wanted = RunOptions(
        dict(options.input),
        Caps(dollars=options.dollars or 0.0),
        options.provider or "",
        options.model or "",
        context.console.permission(options.permission, default) or "",
    )
    return runs, await runs.start(path, folder, wanted)


async def go_on(
    context: CommandContext, options: argparse.Namespace
) -> tuple[WorkflowRuns, Runner]:
    """A stored run that goes on, as ``resume_arguments`` say."""
    from studio.workflows.workflow_runs import WorkflowRuns

    runs = WorkflowRuns(await context.engine())
    found = await runs.find(options.run)
    if options.dollars or options.minutes or options.raises or options.yes or found.mission:
        context.console.require_a_person()  # caps, many items, missions (W-20, W-55, W-48)
    await check_rights(context, (await runs.read(found.id)).started)
    runner = await runs.open(found.id)
    try:
        await _resume(context.console, options, runs, runner)
    except BaseException:
        await runs.close(runner)
        raise
    return runs, runner


async def _resume(
    console: Console, options: argparse.Namespace, runs: WorkflowRuns, runner: Runner
) -> None:
    from dataclasses import replace

    from studio.cli.workflow_driver import limit_place

    run, short = runner.run, runner.run.id[:8]
    if run.end is not None:
        raise ConfigurationError(f"The run {short} is {run.state}. Run it again instead.")
    offer = await runs.cap_offer(run) if options.raises else None
    if options.raises and offer is None:
        why = f" {run.reason}" if run.reason else ""
        raise ConfigurationError(f"No limit of the run {short} or of one below is reached.{why}")
    if changes := await runs.changes(run):
        again = f"agent-studio workflow fork {short} --from STEP --new-files"
        console.say(*changes, f"To begin with all that is new: {again}")
    if offer is not None:
        await runner.grant(offer.raised)
        console.say(f"The limit of {limit_place(run, offer)} is {offer.words} now.")
    if options.dollars or options.minutes:
        caps = run.caps[""]
        caps = replace(caps, dollars=options.dollars or caps.dollars)
        await runner.raise_cap(caps, minutes=options.minutes or 0.0)
    await runner.resume()


async def check_rights(context: CommandContext, started: RunStarted | None) -> None:
    """Raises ConfigurationError where an agent's command would carry out a run that writes at once.

    What such a run is told, or goes on with, would be carried out unseen (T-7).
    """
    default = (await context.engine()).settings.values.default_permission_mode
    if started is not None and (started.permission_mode or default) == "auto":
        context.console.require_a_person()


async def carry_out(
    context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns, runner: Runner
) -> int:
    from studio.cli.workflow_driver import drive_run

    runner.yes = options.what in ("run", "start", "resume", "retry") and options.yes
    if runner.yes and not runner.run.caps[""].dollars:
        await runs.close(runner)
        if options.what in ("run", "start"):  # nothing of it has begun
            await runs.delete(runner.run.id)
        raise ConfigurationError(
            "--yes needs a limit for the run: add --dollars N, or a budget to the file."
        )
    return await drive_run(context.console, runs, runner, as_json=options.json)
