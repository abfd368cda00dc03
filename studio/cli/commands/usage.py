"""``agent-studio usage``: adds up tokens and costs of requests."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, get_args

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import SESSION, CommandParser, day

if TYPE_CHECKING:
    from studio.agent.usage_costs import UsageTotal
    from studio.cli.console import Console
    from studio.storage.sessions.usage import UsageKey

_COUNTS = ("Requests", "Input", "Cached", "Written", "Output", "Thinking")
_AMOUNTS = ("Cost", "Broken caches")
_SHORT = 8
"""Letters of an id, as ``sessions list`` has them."""


def arguments(parser: CommandParser) -> None:
    from studio.storage.sessions.usage import UsageKey

    parser.add_argument("--by", choices=get_args(UsageKey), default="day", help="default: day")
    parser.add_argument("--since", type=day, default=0.0, metavar="DATE", help="from a day on")
    parser.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """Print a line for each day, agent, model, session or turn, and one for all of them."""
    from studio.cli.saved_sessions import find_session_id

    engine, console = await context.engine(), context.console
    session_id = (
        await find_session_id(engine, options.session) if options.session is not None else ""
    )
    sums = await engine.usage_costs.spent(options.by, session_id, options.since)
    if options.json:
        console.write_json([{options.by: key, **_json(spent)} for key, spent in sums.items()])
    else:
        print_usage(sums, options.by, console)
    return DONE


def print_usage(sums: Mapping[str, UsageTotal], by: UsageKey, console: Console) -> None:
    """Print a table of usage, and below it how the costs were found."""
    from studio.agent.usage_costs import total

    if not sums:
        console.say("There were no requests.")
        return
    short = by in ("session", "turn")
    rows = [(key[:_SHORT] if short else key, *_cells(spent)) for key, spent in sums.items()]
    whole = total(sums.values())
    if len(rows) > 1:
        rows.append(("All", *_cells(whole)))
    rows.insert(0, (by.capitalize(), *_COUNTS, *_AMOUNTS))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, *cells in rows:
        aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        console.row("  ".join([f"{key:<{widths[0]}}", *aligned]).rstrip())
    if whole.source:
        console.say(f"Cost: {whole.source[0].lower()}{whole.source[1:]}.")
    if whole.gap:
        console.say(f"{whole.gap}.")


def _cells(spent: UsageTotal) -> tuple[str, ...]:
    from studio.agent.usage_costs import format_dollars

    used = spent.usage
    counts = (spent.requests, used.input, used.cache_read, used.cache_write, used.output)
    cost = format_dollars(spent.cost) or ("unknown" if spent.unpriced else "$0")
    counted = (f"{count:,}" for count in (*counts, used.reasoning))
    return (*counted, cost, format_dollars(spent.lost))


def _json(spent: UsageTotal) -> dict[str, object]:
    """Amounts in US dollars; ``cost`` is the sum of ``own`` figures and ``estimate``."""
    fields = asdict(spent)
    return {"requests": fields.pop("requests"), **fields.pop("usage"), "cost": spent.cost, **fields}
