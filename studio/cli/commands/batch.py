"""``agent-studio batch``: runs workflows over many items, and writes their results (W-54, W-69)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser, export_arguments, export_format
from studio.cli.workflow_begin import (
    carry_out,
    check_rights,
    run_arguments,
    start,
    yes_argument,
)
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.domain.items import ItemTally
    from studio.domain.jsonvalue import JsonObject
    from studio.domain.runs import Run
    from studio.storage.run_items import ItemQueue, ItemStore
    from studio.workflows.items.results import FailureKind
    from studio.workflows.workflow_runs import WorkflowRuns


def arguments(parser: CommandParser) -> None:
    found = parser.add_subcommands(
        {
            "run": "run a workflow; its items are tried with a sample first",
            "status": "show how far the items of a run are, and what failed",
            "retry": "do the failed items of a run once more",
            "export": "write the results of items as CSV or JSON lines",
        }
    )
    found["run"].description = (
        "Run a workflow with a step for each of many items. After 20 of more than 50 items you are "
        "asked whether the others are worth their price. What an earlier run did is not done again."
    )
    run_arguments(found["run"])
    for name in ("status", "retry", "export"):
        found[name].add_argument("run", metavar="RUN", help="the beginning of its id")
        found[name].add_argument("--step", default="", metavar="STEP", help="default: the first")
    yes_argument(found["retry"])
    export_arguments(found["export"])
    found["export"].add_argument("--only", choices=("done", "failed"), help="only these items")
    for name in ("run", "status", "retry"):
        found[name].add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Run workflows over many items, and look after their results."""
    if options.what == "run":
        return await start(context, options)
    from studio.workflows.workflow_runs import WorkflowRuns

    runs = WorkflowRuns(await context.engine())
    found = await runs.find(options.run)
    if options.what == "retry":
        if options.yes:
            context.console.require_a_person()
        await check_rights(context, (await runs.read(found.id)).started)
        runner = await runs.retry(found.id)
        await runner.resume()
        return await carry_out(context, options, runs, runner)
    store, queue, run_ = await _queue(runs, found.id, options.step)
    if options.what == "status":
        return await _status(context, options, store, queue, run_)
    return await _export(context, options, store, queue)


async def _queue(runs: WorkflowRuns, run_id: str, step: str) -> tuple[ItemStore, ItemQueue, Run]:
    from studio.storage.run_items import ItemStore

    run_, store = await runs.read(run_id), ItemStore(runs.database)
    step = step or next(iter(run_.tallies), "")
    queue = await store.queue(run_id, step)
    if queue is None:
        raise ConfigurationError(
            f"The run {run_id[:8]} has no step with many items. To see its steps: "
            f"agent-studio workflow show {run_id[:8]}"
        )
    return store, queue, run_


async def _status(
    context: CommandContext,
    options: argparse.Namespace,
    store: ItemStore,
    queue: ItemQueue,
    run_: Run,
) -> int:
    from dataclasses import replace

    from studio.cli.workflow_driver import describe_tally
    from studio.workflows.items.results import failure_kinds

    console, told = context.console, run_.tallies[queue.step]
    now = await store.tally(queue)
    tally = replace(told, **{name: getattr(now, name) for name in _COUNTED})
    kinds = failure_kinds(await store.failures(queue))
    if options.json:
        console.write_json(_as_json(run_, queue, tally, kinds), indent=2)
        return DONE
    state = f": {run_.reason}" if run_.reason else ""
    console.row(f"{run_.id[:8]} {run_.state.replace('_', ' ')}{state}")
    console.row(f"{queue.step}: {describe_tally(tally)}")
    if tally.linked:
        console.row(f"{tally.linked:,} were done by an earlier run")
    for one in kinds:
        example = f": {one.reason}" if one.reason != one.title else ""
        console.row(f"{one.count:>8,}  {one.title}{example}")
    return DONE


_COUNTED = ("count", "done", "failed", "skipped", "linked", "sent", "tokens", "dollars")


def _as_json(
    run_: Run, queue: ItemQueue, tally: ItemTally, kinds: Sequence[FailureKind]
) -> JsonObject:
    return {
        "run": run_.id,
        "state": run_.state,
        "step": queue.step,
        **{name: getattr(tally, name) for name in _COUNTED},
        "left": tally.left,
        "dollars_left": tally.dollars_left,
        "seconds_left": tally.seconds_left,
        "at_a_time": tally.at_a_time,
        "failures": [
            {"kind": one.title, "example": one.reason, "count": one.count} for one in kinds
        ],
    }


async def _export(
    context: CommandContext, options: argparse.Namespace, store: ItemStore, queue: ItemQueue
) -> int:
    from studio.cli.final_answer import check_output_path
    from studio.files.atomic_write import new_file, temporary_beside
    from studio.workflows.items.results import lines_of

    place: Path | None = options.output
    shown = options.only or "all"
    kind = export_format(options)
    if place is None:
        async for line in lines_of(store, queue, kind, shown):
            context.console.write(line)
        return DONE
    check_output_path(place)
    count = 0
    with temporary_beside(place.resolve()) as temporary:
        with new_file(temporary, 0o666) as file:
            async for line in lines_of(store, queue, kind, shown):
                file.write(line.encode())
                count += 1
        temporary.replace(place.resolve())
    count -= kind == "csv"
    context.console.say(f"{count:,} results are in {place}.")
    return DONE
