"""``agent-studio workflow``: checks and runs workflows, and looks after their runs (W-69)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import CANCELLED, DONE, USAGE
from studio.cli.parser import CommandParser, step_output
from studio.cli.workflow_begin import (
    carry_out,
    check_rights,
    go_on,
    resume_arguments,
    run_arguments,
    start,
)
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.frontmatter import Problem
    from studio.cli.console import Console
    from studio.workflows.bundle import RecordedRun
    from studio.workflows.fork import ForkPlan
    from studio.workflows.replay import ReplayReport
    from studio.workflows.workflow_check import KnownNames
    from studio.workflows.workflow_runs import RunOptions, WorkflowRuns


def arguments(parser: CommandParser) -> None:
    helps = {
        "run": "run a workflow",
        "list": "list runs, the last one first",
        "show": "show a run and its steps",
        "resume": "go on with a run that was paused, interrupted or killed",
        "stop": "end a run that waits",
        "delete": "delete runs with their chats and what they recorded, for good",
        "fork": "repeat a run from a step on, with something changed if you like",
        "diff": "compare two runs, and mark where they differ first",
        "export": "write a run to one file, which anyone can replay without a key",
        "replay": "do a recorded run again without keys and network, and compare",
        "triggers": "switch on what begins runs of a file by itself, or off",
        "watch": "begin the runs of triggers that are on, until Ctrl-C",
        "check": "look for mistakes in workflow files",
        "import": "make workflows and agents of goose's recipes and of Markdown Agent Studio",
        "schema": "print the JSON Schema of a workflow's frontmatter, for editors",
    }
    found = parser.add_subcommands(helps)
    start = found["run"]
    start.description = (
        "Run a workflow: its outputs go to standard output, its steps to standard error. Exit "
        "codes are those of run; 5: something may have happened, and nobody is here to ask."
    )
    run_arguments(start)
    for name in ("show", "stop"):
        found[name].add_argument("run", metavar="RUN", help="the beginning of its id")
    found["delete"].add_argument("runs", nargs="+", metavar="RUN", help="the beginning of its id")
    found["delete"].add_argument("-y", "--yes", action="store_true", help="without a question")
    resume_arguments(found["resume"])
    _fork_arguments(found["fork"])
    for name in ("first", "second"):
        found["diff"].add_argument(name, metavar="RUN", help="the beginning of its id")
    export = found["export"]
    export.description = (
        "Write a run to one file: its steps, what was sent to models and what came back. Keys, and "
        "what you have masked, are not in it."
    )
    export.add_argument("run", metavar="RUN", help="the beginning of its id")
    export.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: run-ID.studio-run"
    )
    again = found["replay"]
    again.description = (
        "Do a recorded run again: answers of models and results of tools come from the record, and "
        "each prompt, request and decision has to be the same. Exit codes: 0 the same, 1 not."
    )
    again.add_argument("run", metavar="RUN|FILE", help="the beginning of its id, or a bundle")
    how = again.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="print only what differs, for tests")
    how.add_argument(
        "--fill",
        action="store_true",
        help="send the requests that differ or have no record, as a new run that is recorded",
    )
    again.add_argument(
        "--tools",
        choices=("record", "live"),
        default="record",
        help="live: read the folder again, up to the first change of the run",
    )
    again.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="of a bundle: where --fill runs and --tools live reads; default: the current folder",
    )
    again.add_argument("-y", "--yes", action="store_true", help="fill without a question")
    for name in ("run", "list", "show", "resume", "fork", "diff", "replay"):
        found[name].add_argument("--json", action="store_true", help="print JSON")
    imported = found["import"]
    imported.description = (
        "Make workflows of goose's recipes, and workflows and agents of a folder of Markdown Agent "
        "Studio, in .agents of the folder. What has no counterpart is listed; nothing that is "
        "there already is written over."
    )
    imported.add_argument("source", type=Path, metavar="FILE|DIR", help="what to import")
    imported.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    watch = found["watch"]
    watch.description = (
        "Begin the runs of triggers that are on, as a window and a server do while they are open. "
        "With --at-login the system begins this from your next login on, and now where it can."
    )
    watch.add_argument("--at-login", choices=("on", "off", "show"), help="instead of watching now")
    triggers = found["triggers"]
    triggers.description = (
        "A file's triggers begin nothing before you switch them on, and an edit of the file "
        "switches them off. They work while a window, a server or `workflow watch` is open."
    )
    triggers.add_argument("workflow", metavar="FILE|NAME", help="a file, or a workflow's name")
    triggers.add_argument("state", nargs="?", choices=("list", "on", "off"), default="list")
    triggers.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    check = found["check"]
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a workflow's file")
    check.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    check.add_argument("--json", action="store_true", help="print JSON")


def _fork_arguments(fork: CommandParser) -> None:
    fork.description = (
        "Repeat a run from a step on, as a new run; the old one stays as it is. What does not "
        "depend on the step is taken over and not run again. The steps to run are shown first, "
        "with what they cost last."
    )
    fork.add_argument("run", metavar="RUN", help="the beginning of its id")
    fork.add_argument("--from", dest="step", required=True, metavar="STEP", help="its id")
    fork.add_argument("--item", default="", metavar="KEY", help="of its items only this one")
    fork.add_argument("--prompt", metavar="TEXT", help="another prompt for the step")
    fork.add_argument("--agent", metavar="AGENT", help="another agent for the step")
    fork.add_argument("-m", "--model", metavar="MODEL", help="another model for the step")
    fork.add_argument(
        "--output",
        action="append",
        default=[],
        type=step_output,
        metavar="STEP=JSON",
        help="what a step is to have come to, so that it does not run; may be repeated",
    )
    fork.add_argument(
        "--new-files", action="store_true", help="run by the workflow's file as it is now"
    )
    fork.add_argument("-y", "--yes", action="store_true", help="begin without a question")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Run and check workflows, and look after their runs."""
    console = context.console
    match options.what:
        case "run":
            return await start(context, options)
        case "list":
            return await _list(context, options)
        case "show":
            return await _show(context, options)
        case "resume":
            return await carry_out(context, options, *await go_on(context, options))
        case "stop":
            return await _stop(context, options)
        case "delete":
            return await _delete(context, options)
        case "fork":
            return await _fork(context, options)
        case "diff":
            return await _diff(context, options)
        case "export":
            return await _export(context, options)
        case "replay":
            return await _replay(context, options)
        case "import":
            return await _import(context, chosen_folder(options), options.source)
        case "triggers":
            return await _triggers(context, options)
        case "watch":
            return await _watch(context, options)
        case _:
            pass
    if options.what == "schema":
        from studio.workflows.workflow_keys import json_schema

        console.write_json(json_schema(), indent=2)
        return DONE
    return await _check(context, chosen_folder(options), options, console)


async def _fork(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.domain.run_events import StepEdited
    from studio.workflows.fork import ForkRequest
    from studio.workflows.workflow_runs import WorkflowRuns

    runs = WorkflowRuns(await context.engine())
    edit = StepEdited(options.step, options.prompt, options.agent, options.model)
    edits = () if edit == StepEdited(options.step) else (edit,)
    request = ForkRequest(
        (await runs.find(options.run)).id,
        options.step,
        options.item,
        edits,
        dict(options.output),
        options.new_files,
    )
    return await _begin_fork(context, options, runs, await runs.plan_fork(request))


async def _begin_fork(
    context: CommandContext, options: argparse.Namespace, runs: WorkflowRuns, plan: ForkPlan
) -> int:
    """Show what would run, and carry it out if the person wants that."""
    from studio.cli.workflow_driver import describe_fork

    console = context.console
    await check_rights(context, plan.started)
    console.say(*describe_fork(plan))
    if console.interactive and not (options.json or options.yes):
        line = await console.line("Begin? [y]es, [n]o: ")
        if (line or "").strip().lower() not in ("y", "yes"):
            return CANCELLED
    return await carry_out(context, options, runs, await runs.fork(plan))


async def _diff(context: CommandContext, options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from studio.cli.workflow_driver import describe_comparison
    from studio.workflows.compare import compare_runs
    from studio.workflows.workflow_runs import WorkflowRuns

    runs, console = WorkflowRuns(await context.engine()), context.console
    first, second = [(await runs.find(start)).id for start in (options.first, options.second)]
    found = await compare_runs(runs, first, second)
    if options.json:
        console.write_json(asdict(found))
    else:
        for line in describe_comparison(found):
            console.row(line)
    return DONE


async def _export(context: CommandContext, options: argparse.Namespace) -> int:
    import asyncio

    from studio.cli.final_answer import check_output_path
    from studio.files.atomic_write import write_atomically
    from studio.workflows.replay import export_run
    from studio.workflows.workflow_runs import WorkflowRuns

    engine = await context.engine()
    found = await WorkflowRuns(engine).find(options.run)
    place: Path = options.output or Path(f"run-{found.id[:8]}.studio-run")
    check_output_path(place)
    bundle = await export_run(engine, found.id)
    await asyncio.to_thread(write_atomically, place, bundle)
    context.console.say(f"{found.name}, run {found.number}, is in {place} ({len(bundle):,} bytes).")
    return DONE


async def _import(context: CommandContext, folder: Path, source: Path) -> int:
    import asyncio

    from studio.workflows.imports import import_from

    def write(path: Path, text: str) -> bool:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            if path.exists():
                return False
            raise ConfigurationError(f"{path.parent} is no folder.") from None
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from error
        return True

    made = await asyncio.to_thread(import_from, source)
    console = context.console
    for place, text in made.files.items():
        path = folder / ".agents" / place
        if await asyncio.to_thread(write, path, text):
            console.row(str(path))
        else:
            console.say(f"{path} is there already, and stays as it is.")
    for name, left_out in made.left_out.items():
        console.say(f"Not taken over from {name}:", *(f"- {one}" for one in left_out))
    return DONE


async def _replay(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.live_reads import LiveReads
    from studio.workflows.live_steps import fork_to_fill, half_done
    from studio.workflows.replay import read_record, replay
    from studio.workflows.workflow_runs import WorkflowRuns

    path, live = Path(options.run), options.tools == "live"
    if path.is_file():
        return await _replay_bundle(context, options, await _read_bundle(path))
    if options.folder is not None:
        raise ConfigurationError("A run has its folder. --folder is for an exported one.")
    engine = await context.engine()
    runs = WorkflowRuns(engine)
    run = await runs.read((await runs.find(options.run)).id)
    assert run.started is not None
    if options.fill and run.end is None:
        raise ConfigurationError(
            f"This run is not over. To go on: agent-studio workflow resume {run.id[:8]}"
        )
    reads = LiveReads(engine, run.started) if live else None
    report = await replay(await read_record(engine, run.id), fill=options.fill, reads=reads)
    code = _tell_replay(context.console, options, report)
    if code != DONE or not report.missing:
        return code
    plan = await runs.plan_fork(fork_to_fill(run.id, report))
    return await _begin_fork(context, options, runs, half_done(plan, report))


async def _replay_bundle(
    context: CommandContext, options: argparse.Namespace, record: RecordedRun
) -> int:
    """Replay an exported run; without ``--fill`` and ``--tools live`` nothing here is needed."""
    from studio.workflows.live_reads import LiveReads
    from studio.workflows.live_steps import miss_changes, plan_of_bundle, started_in
    from studio.workflows.replay import replay
    from studio.workflows.workflow_runs import WorkflowRuns

    live, folder = options.tools == "live", chosen_folder(options)
    if not (options.fill or live):
        return _tell_replay(context.console, options, await replay(record))
    engine = await context.engine()
    reads = LiveReads(engine, started_in(record, folder)) if live else None
    report = await replay(record, fill=options.fill, reads=reads)
    if report.missing:
        miss_changes(record, report)
    code = _tell_replay(context.console, options, report)
    if code != DONE or not report.missing:
        return code
    plan = await plan_of_bundle(engine, record, report, folder)
    return await _begin_fork(context, options, WorkflowRuns(engine), plan)


async def _read_bundle(path: Path) -> RecordedRun:
    import asyncio

    from studio.workflows.bundle import read_bundle

    return await asyncio.to_thread(lambda: read_bundle(path.read_bytes()))


def _tell_replay(console: Console, options: argparse.Namespace, report: ReplayReport) -> int:
    from studio.cli.workflow_driver import describe_replay
    from studio.workflows.replay import report_json

    if options.json:
        console.write_json(report_json(report))
    elif report.difference is not None or not options.check:
        for line in describe_replay(report):
            console.row(line)
    return DONE if report.difference is None else USAGE


async def _stop(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.workflow_runs import WorkflowRuns

    runs = WorkflowRuns(await context.engine())
    run = await runs.stop((await runs.find(options.run)).id)
    context.console.say(f"The run {run.id[:8]} is {run.state}.")
    return DONE


async def _delete(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.workflows.workflow_runs import WorkflowRuns

    runs, console = WorkflowRuns(await context.engine()), context.console
    found = {info.id: info for info in [await runs.find(start) for start in options.runs]}
    for info in found.values():
        if info.live:
            raise ConfigurationError(f"{info.id[:8]} is running. Stop it first; none was deleted.")
        started = (await runs.read(info.id)).started
        if started is not None and started.parent:
            raise ConfigurationError(
                f"{info.id[:8]} is a step of the run {started.parent[:8]}. Delete that one."
            )
    for info in found.values():
        if not options.yes:
            if not console.interactive:
                raise ConfigurationError("Nobody is here to ask. To delete it for good: --yes")
            line = await console.line(f"Delete {info.name}, run {info.number}? [y]es, [n]o: ")
            if (line or "").strip().lower() not in ("y", "yes"):
                return CANCELLED
        await runs.delete(info.id)
        console.say(f"{info.name}, run {info.number} ({info.id[:8]}) is deleted.")
    return DONE


async def _list(context: CommandContext, options: argparse.Namespace) -> int:
    from dataclasses import asdict
    from datetime import datetime

    from studio.agent.usage_costs import format_dollars
    from studio.workflows.workflow_runs import WorkflowRuns

    found = await WorkflowRuns(await context.engine()).store.list()
    console = context.console
    if options.json:
        console.write_json([asdict(one) for one in found])
        return DONE
    for one in found:
        broken_off = one.state == "running" and not one.live
        state = "interrupted" if broken_off else one.state.replace("_", " ")
        at = datetime.fromtimestamp(one.updated).strftime("%Y-%m-%d %H:%M")
        cost = format_dollars(one.dollars)
        console.row(
            f"{one.id[:8]}  {at}  {state:<11}  {one.name}, run {one.number}  {cost}".rstrip()
        )
    if not found:
        console.say("There is no run yet.")
    return DONE


async def _show(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.cli.workflow_driver import describe_run
    from studio.domain.codec import encode_event
    from studio.domain.runs import Run
    from studio.workflows.workflow_runs import WorkflowRuns

    runs, console = WorkflowRuns(await context.engine()), context.console
    info = await runs.find(options.run)
    events = await runs.store.events(info.id)
    if options.json:
        console.write_json([{"at": at, **encode_event(event)} for at, event in events])
        return DONE
    workflow = await runs.workflow_of(Run(events))
    for line in describe_run(workflow, Run(events), live=info.live):
        console.row(line)
    return DONE


async def _triggers(context: CommandContext, options: argparse.Namespace) -> int:
    import asyncio
    import time

    from studio.workflows.reader import read_workflow_text
    from studio.workflows.run_files import read_text
    from studio.workflows.trigger_clock import Triggers, describe_trigger
    from studio.workflows.workflow_runs import WorkflowRuns

    engine, folder, console = await context.engine(), chosen_folder(options), context.console
    triggers = Triggers(engine)
    path = (await WorkflowRuns(engine).locate(options.workflow, folder)).resolve()
    if options.state == "on":
        console.require_a_person()
        await triggers.switch_on(path, folder)
    elif options.state == "off":
        was_on = await triggers.switch_off(path, folder)
        console.say("Switched off." if was_on else "Nothing was switched on.")
        return DONE
    text = await asyncio.to_thread(read_text, path)
    workflow = read_workflow_text(text, path.stem, str(path)).workflow
    found = workflow.triggers if workflow is not None else ()
    marks = await triggers.marks(path, folder)
    for number, trigger in enumerate(found):
        mark = marks.get(number)
        on = mark if mark and workflow and mark.digest == workflow.digest else None
        console.row(describe_trigger(trigger, on, time.time()))
    if not found:
        console.say(f"{path} has no “triggers”.")
    return DONE


async def _watch(context: CommandContext, options: argparse.Namespace) -> int:
    import asyncio

    if options.at_login:
        return await asyncio.to_thread(_at_login, context.console, options.at_login)

    from studio.cli.console import on_signals
    from studio.workflows.trigger_clock import TriggerClock, UnattendedRuns

    engine, console = await context.engine(), context.console
    engine.on_problem(console.say)
    runs = UnattendedRuns(engine)

    async def begin(path: Path, folder: Path, options: RunOptions) -> None:
        await runs.begin(path, folder, options)
        console.say(f"A run of {path.name} has begun. To see it: agent-studio workflow list")

    clock = asyncio.ensure_future(TriggerClock(engine, begin).follow())
    console.say("Begins the runs of triggers that are on. Stop with Ctrl-C.")
    try:
        with on_signals(dict.fromkeys(("SIGINT", "SIGTERM", "SIGHUP"), clock.cancel)):
            await asyncio.wait([clock])
    finally:
        clock.cancel()
        await runs.close()
    if not clock.cancelled():
        clock.result()  # raises what it ended with
    return DONE


def _at_login(console: Console, wanted: str) -> int:
    from studio.workflows import at_login

    if wanted == "on":
        console.require_a_person()
    was_on = at_login.is_on()
    try:
        if wanted == "on":
            at_login.switch_on()
        elif wanted == "off":
            at_login.switch_off()
    except OSError as error:
        raise ConfigurationError(
            f"That could not be changed: {error.strerror or error}."
        ) from error
    if at_login.is_on():
        console.say("From login on, the runs of triggers that are on begin by themselves.")
    else:
        console.say("Switched off." if was_on else "Nothing begins at login.")
    return DONE


async def _check(
    context: CommandContext, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    import asyncio

    from studio.workflows.workflow_check import KnownNames

    engine = await context.engine()
    agents = await engine.agents(folder)
    known = KnownNames(list(agents.by_name), tools=list(engine.tools()))
    found = {path: await asyncio.to_thread(_problems, path, known) for path in options.files}
    if options.json:
        console.write_json(
            {
                str(path): [
                    {
                        "line": one.line,
                        "column": one.column,
                        "message": one.message,
                        "fix": one.fix,
                        "warning": one.warning,
                    }
                    for one in problems
                ]
                for path, problems in found.items()
            }
        )
    else:
        for path, problems in found.items():
            for one in problems:
                kind = "warning: " if one.warning else ""
                console.row(f"{path}:{one.line}:{one.column}: {kind}{one.message}")
    errors = sum(not one.warning for problems in found.values() for one in problems)
    if not any(found.values()) and not options.json:
        files = "1 workflow file" if len(found) == 1 else f"{len(found)} workflow files"
        console.say(f"{files}, no mistakes.")
    return USAGE if errors else DONE


def _problems(path: Path, known: KnownNames) -> tuple[Problem, ...]:
    """Raises ConfigurationError for a file that cannot be read."""
    from studio.workflows.reader import read_workflow_text
    from studio.workflows.run_files import read_text
    from studio.workflows.workflow_check import check_workflow

    text = read_text(path)
    return check_workflow(read_workflow_text(text, path.stem, str(path)), known).problems
