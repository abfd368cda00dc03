"""``agent-studio eval``: measures agents, models and prompts on cases (W-58, W-69)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DENIED, DONE, LIMIT, USAGE
from studio.cli.parser import (
    CommandParser,
    dollars,
    export_arguments,
    export_format,
    percent,
    provider_option,
    repeats,
    tokens,
)
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.domain.evals import Eval, EvalReport
    from studio.domain.jsonvalue import JsonObject
    from studio.storage.evals import EvalRow
    from studio.workflows.evals.eval_runs import EvalOptions, EvalRuns
    from studio.workflows.evals.figures import Difference
    from studio.workflows.runner import Runner
    from studio.workflows.workflow_runs import WorkflowRuns


def arguments(parser: CommandParser) -> None:
    found = parser.add_subcommands(
        {
            "run": "run an eval; what the record has is not asked again",
            "list": "list evals and those that ran, the last one first",
            "show": "show what an eval came to, case by case",
            "compare": "compare two variants, of one eval that ran or of two",
            "chat": "tell the chat in which a cell was answered, or make one of its answer",
            "export": "write each try of an eval as CSV or JSON lines",
        }
    )
    start = found["run"]
    start.description = (
        "Run an eval: its cases by each of its variants. It needs a limit, in its file or here. "
        "Exit codes: 0 all cells have a result, 1 a rate is below --fail-under, else those of run."
    )
    start.add_argument("eval", metavar="FILE|NAME", help="a file, or the name of an eval")
    start.add_argument("--dollars", type=dollars, metavar="N", help="what it may cost")
    start.add_argument("--tokens", type=tokens, metavar="N", help="what it may use")
    start.add_argument("--repeats", type=repeats, metavar="N", help="tries of each case")
    start.add_argument(
        "--variant", action="append", default=[], metavar="ID", help="only this; may be repeated"
    )
    start.add_argument(
        "--fail-under",
        type=percent,
        metavar="PERCENT",
        help="exit with 1 if the rate of a variant is lower",
    )
    start.add_argument("--fresh", action="store_true", help="ask all again")
    start.add_argument(
        "--cell",
        action="append",
        default=[],
        metavar="CASE[:VARIANT]",
        help="ask this alone, again; without a variant by all; may be repeated",
    )
    provider_option(start, "; default: your setting")
    start.add_argument("-m", "--model", metavar="MODEL", help="for agents without one")
    for name in ("run", "list"):
        found[name].add_argument(
            "--folder", type=Path, metavar="DIR", help="default: the current folder"
        )
    start.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="begin and ask all, without a question",
    )
    for name in ("show", "chat", "export"):
        found[name].add_argument("run", metavar="RUN", help="the beginning of its id")
    found["chat"].add_argument("cell", metavar="CASE:VARIANT")
    found["chat"].add_argument(
        "--try", dest="number", type=repeats, default=1, metavar="N", help="default: the first"
    )
    export_arguments(found["export"])
    for name in ("first", "second"):
        found["compare"].add_argument(
            name, metavar="RUN[:VARIANT]", help="without a variant its first one, the baseline"
        )
    for name in ("run", "list", "show", "compare"):
        found[name].add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Run evals, and show what they came to."""
    from studio.workflows.evals.eval_runs import EvalRuns
    from studio.workflows.workflow_runs import WorkflowRuns

    engine = await context.engine()
    runs = WorkflowRuns(engine)
    evals = EvalRuns(engine, runs)
    match options.what:
        case "run":
            return await _run(context, options, evals, runs)
        case "list":
            return await _list(context, options, evals)
        case "show":
            row = await evals.find(options.run)
            _tell(context, options, row, await evals.report(row), cases=True)
        case "chat":
            await _chat(context, options, evals)
        case "export":
            report = await evals.report(await evals.find(options.run))
            return await _export(context, options, report)
        case _:
            return await _compare(context, options, evals)
    return DONE


async def _chat(context: CommandContext, options: argparse.Namespace, evals: EvalRuns) -> None:
    from studio.workflows.evals.cells import chosen_cells

    row = await evals.find(options.run)
    report = await evals.report(row)
    chosen = chosen_cells(report.eval, [options.cell])
    found = [one for one in report.cells if (one.case, one.variant) in chosen]
    cell = next((one for one in found if one.number == options.number), None)
    if len(chosen) != 1 or cell is None:
        raise ConfigurationError(f"Name one try of {row.name}: CASE:VARIANT, and --try N.")
    context.console.row(await evals.chat(row, report, cell, "terminal"))


async def _export(context: CommandContext, options: argparse.Namespace, report: EvalReport) -> int:
    import asyncio

    from studio.cli.final_answer import check_output_path, write_answer
    from studio.workflows.evals.export import lines_of

    place, kind = options.output, export_format(options)
    text = await asyncio.to_thread(lambda: "".join(lines_of(report, kind)))
    if place is None:
        context.console.write(text)
        return DONE
    check_output_path(place)
    write_answer(text, place)
    context.console.say(f"{len(report.cells):,} tries are in {place}.")
    return DONE


async def _run(
    context: CommandContext, options: argparse.Namespace, evals: EvalRuns, runs: WorkflowRuns
) -> int:
    import asyncio
    from dataclasses import replace

    from studio.cli.workflow_driver import drive_run
    from studio.domain.agents import Caps
    from studio.workflows.evals.cells import chosen_cells
    from studio.workflows.evals.eval_file import locate_eval, read_eval
    from studio.workflows.evals.eval_runs import EvalOptions
    from studio.workflows.evals.figures import figures

    folder, console = chosen_folder(options), context.console
    if options.yes:
        console.require_a_person()
    path = await asyncio.to_thread(locate_eval, context.paths, folder, options.eval)
    one = await asyncio.to_thread(read_eval, path)
    if options.repeats:
        one = replace(one, repeats=options.repeats)
    if options.variant:
        known = {each.id: each for each in one.variants}
        for name in options.variant:
            if name not in known:
                raise ConfigurationError(
                    f"{one.name} has no variant {name}. It has {', '.join(known)}."
                )
        first = one.variants[0]
        one = replace(one, variants=tuple(known[name] for name in dict.fromkeys(options.variant)))
        base = one.variants[0]
        if len(one.variants) > 1 and base != first:
            console.say(f"The others are compared with {base.id}, not with {first.id}.")
        elif base != first and any(
            each.kind == "pairwise" for case in one.cases for each in case.graders
        ):
            console.say(f"{base.id} is compared with no other: {first.id} is left out.")
    caps = Caps(options.tokens or 0, options.dollars or 0.0)
    given = options.provider or "", options.model or ""
    wanted = EvalOptions(caps, *given, options.fresh, chosen_cells(one, options.cell))
    if console.interactive and not (console.is_agents or options.yes or options.json):
        words, costs = await _estimate(evals, one, path, folder, wanted)
        console.say(words)
        if costs and not await console.agrees("Begin?", options):
            return DENIED
    codes: list[int] = []

    async def drive(runner: Runner) -> None:
        runner.yes = options.yes
        codes.append(await drive_run(console, runs, runner, quiet=True))

    row, report = await evals.run(one, path, folder, wanted, drive)
    _tell(context, options, row, report, cases=False)
    if report.reason:
        console.say(report.reason, f"To go on: agent-studio eval run {options.eval}")
        return next((code for code in codes if code != DONE), LIMIT)
    if options.fail_under is not None:
        low = [
            found
            for variant in one.variants
            if (found := figures(report, variant.id)).rate * 100 < options.fail_under
        ]
        for found in low:
            rate = f"{found.rate:.1%}" if found.cases else "no case has a result"
            console.say(f"{found.variant} is below {options.fail_under:g}%: {rate}")
        return USAGE if low else DONE
    return DONE


async def _estimate(
    evals: EvalRuns, one: Eval, path: Path, folder: Path, wanted: EvalOptions
) -> tuple[str, bool]:
    """What an eval will cost, from what its last run and the record tell; whether it costs."""
    from studio.agent.usage_costs import format_dollars

    def money(amount: float) -> str:
        return format_dollars(amount) or "$0.00"

    found = await evals.estimate(one, path, folder, wanted, await evals.last_report(path))
    if not (found.asked or found.verdicts):
        return "The record has all answers: no agent is asked for one.", False
    words = f"It asks {found.asked:,} of {found.count:,} cells"
    if found.verdicts:
        words += f", and agents for at most {found.verdicts:,} verdicts"
    if found.dollars is None:
        return f"{words}. What that costs is not known.", True
    words += f": about {money(found.dollars)}"
    if found.least is not None and found.most is not None:
        words += f", between {money(found.least)} and {money(found.most)} (95%)"
    if found.verdicts and not found.basis:
        words += ", without the verdicts, whose cost is not known"
    return f"{words}.", True


async def _list(context: CommandContext, options: argparse.Namespace, evals: EvalRuns) -> int:
    import asyncio
    from dataclasses import asdict
    from datetime import datetime

    from studio.workflows.evals.eval_file import find_evals

    console = context.console
    files = await asyncio.to_thread(find_evals, context.paths, chosen_folder(options))
    ran = await evals.store.list()
    if options.json:
        console.write_json(
            {
                "files": {name: str(path) for name, path in files.items()},
                "runs": [asdict(one) for one in ran],
            }
        )
        return DONE
    for name, path in files.items():
        console.row(f"{name}  {path}")
    for one in ran:
        at = datetime.fromtimestamp(one.began).strftime("%Y-%m-%d %H:%M")
        console.row(f"{one.id[:8]}  {at}  {one.state:<10}  {one.name}, run {one.number}")
    if not files and not ran:
        console.say("There is no eval yet. Its file goes into .agents/evals or evals.")
    return DONE


async def _compare(context: CommandContext, options: argparse.Namespace, evals: EvalRuns) -> int:
    from studio.workflows.evals.figures import difference

    sides: list[tuple[EvalReport, str]] = []
    for text in (options.first, options.second):
        start, _, variant = text.partition(":")
        report = await evals.report(await evals.find(start))
        known = [one.id for one in report.eval.variants]
        if variant and variant not in known:
            raise ConfigurationError(
                f"{start} has no variant {variant}. It has {', '.join(known)}."
            )
        sides.append((report, variant or known[0]))
    (first, variant), (second, against) = sides
    found = difference(first, second, variant, against)
    if options.json:
        context.console.write_json(
            {
                "first": _figures(first, variant),
                "second": _figures(second, against),
                **_difference(found),
            },
            indent=2,
        )
        return DONE
    for report, name in sides:
        context.console.row(_line(report, name))
    titles = {one.id: one.label for one in first.eval.cases}
    for word, cases in (("passed", found.better), ("failed", found.worse)):
        for case in cases:
            context.console.row(f"  flipped to {word}: {titles[case]}")
    context.console.row(_words(found))
    return DONE


def _tell(
    context: CommandContext,
    options: argparse.Namespace,
    row: EvalRow,
    report: EvalReport,
    *,
    cases: bool,
) -> None:
    from dataclasses import asdict

    from studio.agent.usage_costs import format_dollars
    from studio.workflows.evals.figures import difference

    console, variants = context.console, report.eval.variants
    base, *others = [one.id for one in variants]
    differences = [difference(report, report, base, one) for one in others]
    if options.json:
        console.write_json(
            {
                "id": row.id,
                "name": row.name,
                "number": row.number,
                "state": row.state,
                "dollars": report.dollars,
                "variants": [_figures(report, one.id) for one in variants],
                "differences": [_difference(one) for one in differences],
                "cells": [asdict(one) | {"passed": one.passed} for one in report.cells],
            },
            indent=2,
        )
        return
    fresh = sum(one.fresh for one in report.cells)
    old = sum(one.answered for one in report.cells) - fresh
    cost = format_dollars(report.dollars) or "$0.00"
    console.row(f"{row.name}, run {row.number} ({row.id[:8]}): {row.state}, {cost}")
    cases_of, tries = len(report.eval.cases), report.eval.repeats
    console.row(
        f"{cases_of:,} {'case' if cases_of == 1 else 'cases'}, "
        f"{tries} {'try' if tries == 1 else 'tries'} each, "
        f"{old:,} of {len(report.cells):,} from the record"
    )
    for one in variants:
        console.row(_line(report, one.id))
    for one in differences:
        console.row(_words(one))
    if cases:
        _tell_cases(context, report, differences)


def _tell_cases(context: CommandContext, report: EvalReport, differences: list[Difference]) -> None:
    flips = {(one.second, case): " ↑ flip" for one in differences for case in one.better}
    flips |= {(one.second, case): " ↓ flip" for one in differences for case in one.worse}
    for case in report.eval.cases:
        parts: list[str] = []
        for variant in report.eval.variants:
            cells = [
                one for one in report.cells if (one.case, one.variant) == (case.id, variant.id)
            ]
            marks = "".join("·" if not one.graded else "✓" if one.passed else "×" for one in cells)
            parts.append(f"{variant.id} {marks}{flips.get((variant.id, case.id), '')}")
        context.console.row(f"  {case.label}: {'  '.join(parts)}")
        for one in report.cells:
            if one.case == case.id and not one.passed:
                why = one.reason or "; ".join(
                    f"{each.label}: {each.words}" for each in one.grades if not each.passed
                )
                context.console.row(f"      {one.variant}, try {one.number}: {_one_line(why)}")


def _one_line(text: str) -> str:
    from studio.cli.event_printer import one_line

    return one_line(text)[:200] or "no result"


def _line(report: EvalReport, variant: str) -> str:
    from studio.agent.usage_costs import format_dollars
    from studio.workflows.evals.figures import figures

    found = figures(report, variant)
    title = next(one.label for one in report.eval.variants if one.id == variant)
    head = f"{title} ({report.models.get(variant, '')})"
    if not found.tries:
        return f"{head}: no cell has a result"
    cost = "no price known"
    if found.dollars is not None:
        cost = f"{format_dollars(found.dollars) or '$0.00'} a try"
    return (
        f"{head}: {found.rate:.0%}, "
        f"{found.low:.0%} to {found.high:.0%}, {found.passed} of {found.cases} cases, "
        f"{cost}, {found.seconds:.1f} s"
    )


def _words(found: Difference) -> str:
    if not found.cases:
        return f"{found.second} is not compared with {found.first}: no case has a result from both."
    return (
        f"{found.second} compared with {found.first}: {found.verdict}, {len(found.better)} better, "
        f"{len(found.worse)} worse of {found.cases}, chance of no difference {found.chance:.1%}"
    )


def _figures(report: EvalReport, variant: str) -> JsonObject:
    from dataclasses import asdict

    from studio.workflows.evals.figures import figures

    found = figures(report, variant)
    return {**asdict(found), "rate": found.rate, "model": report.models.get(variant, "")}


def _difference(found: Difference) -> JsonObject:
    from dataclasses import asdict

    return {
        **asdict(found),
        "better": list(found.better),
        "worse": list(found.worse),
        "verdict": found.verdict,
    }
