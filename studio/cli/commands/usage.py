"""``agent-studio usage``: what requests used and cost, as a table."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from studio.agent.engine import Engine
from studio.agent.usage_costs import UsageTotal, format_dollars, total
from studio.cli.console import Console
from studio.cli.exit_codes import DONE

from .sessions import find_session_id

_COUNTS = ("Requests", "Input", "Cached", "Written", "Output", "Thinking")
_AMOUNTS = ("Cost", "Broken caches")
_SHORT = 8
"""Letters of an id, as ``sessions list`` has them."""


async def usage(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """A line for each day, agent, model, session or turn, and one for all of them."""
    session_id = (
        await find_session_id(studio, options.session) if options.session is not None else ""
    )
    sums = await studio.books.spent(options.by, session_id, options.since)
    if options.json:
        console.write_json([{options.by: key, **_json(spent)} for key, spent in sums.items()])
        return DONE
    if not sums:
        console.say("There were no requests.")
        return DONE
    short = options.by in ("session", "turn")
    rows = [(key[:_SHORT] if short else key, *_cells(spent)) for key, spent in sums.items()]
    whole = total(sums.values())
    if len(rows) > 1:
        rows.append(("All", *_cells(whole)))
    rows.insert(0, (options.by.capitalize(), *_COUNTS, *_AMOUNTS))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, *cells in rows:
        aligned = [f"{cell:>{width}}" for cell, width in zip(cells, widths[1:], strict=True)]
        console.write("  ".join([f"{key:<{widths[0]}}", *aligned]).rstrip() + "\n")
    for note in _notes(whole):
        console.say(note)
    return DONE


def _cells(spent: UsageTotal) -> tuple[str, ...]:
    used = spent.usage
    counts = (spent.requests, used.input, used.cache_read, used.cache_write, used.output)
    cost = format_dollars(spent.cost) or ("unknown" if spent.unpriced else "$0")
    return (
        *(f"{count:,}" for count in (*counts, used.reasoning)),
        cost,
        format_dollars(spent.lost),
    )


def _notes(whole: UsageTotal) -> list[str]:
    notes = [f"Cost: {whole.source[0].lower()}{whole.source[1:]}."] if whole.source else []
    return [*notes, f"{whole.gap}."] if whole.gap else notes


def _json(spent: UsageTotal) -> dict[str, object]:
    """Amounts in US dollars; ``cost`` is the sum of ``own`` figures and ``estimate``."""
    fields = asdict(spent)
    return {"requests": fields.pop("requests"), **fields.pop("usage"), "cost": spent.cost, **fields}
