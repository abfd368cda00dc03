"""Reports: adds the lines of trials up, with an interval, and says what they are of (C-30)."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Line = dict[str, Any]
Z = 1.96
"""Of 95 per cent."""


def counts(line: Line) -> bool:
    """Whether it is a trial: one that the budget of all ended says nothing about the model."""
    return line["end"] not in ("token_limit", "money_limit")


def pass_at_1(lines: Sequence[Line]) -> tuple[float, float, float]:
    """The share of passed tries, averaged over tasks, and its interval of 95 per cent.

    The interval is Wilson's with one observation a task: tries of one task are alike, and to
    count each would make it too narrow.
    """
    by_task: dict[str, list[bool]] = defaultdict(list)
    for line in lines:
        by_task[line["task"]].append(line["passed"])
    many = len(by_task)
    if not many:
        return 0.0, 0.0, 1.0
    share = statistics.fmean(statistics.fmean(tries) for tries in by_task.values())
    middle = (share + Z * Z / (2 * many)) / (1 + Z * Z / many)
    half = Z / (1 + Z * Z / many) * math.sqrt(share * (1 - share) / many + (Z / (2 * many)) ** 2)
    return share, max(middle - half, 0.0), min(middle + half, 1.0)


def report(lines: Sequence[Line]) -> str:
    """The report as markdown: a figure never stands without what it is of."""
    found: list[str] = []
    by_model: dict[tuple[str, ...], list[Line]] = defaultdict(list)
    for line in filter(counts, lines):
        of = (line["provider"], line["model"], line["agent"], line["effort"], line["version"])
        by_model[of].append(line)
    for (provider, model, agent, effort, version), own in by_model.items():
        share, low, high = pass_at_1(own)
        tries = max(line["try"] for line in own)
        costs = [line["dollars"] for line in own]
        cost = "price unknown" if None in costs else f"${sum(costs):.2f}"
        days = sorted({line["date"][:10] for line in own})
        thinks = f", effort {effort}" if effort else ""
        tasks = len({line["task"] for line in own})
        found += [
            f"**{provider}/{model}**, {agent or 'each task’s agent'}{thinks}, "
            f"Agent Studio {version}, "
            f"{' to '.join(dict.fromkeys((days[0], days[-1])))}: {tasks} tasks, {len(own)} trials, "
            f"at most {tries} a task, {cost}",
            "",
            f"pass@1 {share:.0%}, 95 % interval {low:.0%} to {high:.0%}"
            + ("" if all(line["sandboxed"] for line in own) else "; commands not sandboxed"),
            "",
            *_table(own),
            "",
            *_misses(own),
        ]
    return "\n".join(found).rstrip() + "\n"


def _table(lines: Sequence[Line]) -> Iterable[str]:
    yield (
        "| Kind | Passed | Steps | Tokens in | Cached | Out | Dollars | Seconds | Refused edits "
        "| Errors |"
    )
    yield "| :-- " + "| --: " * 9 + "|"
    kinds = list(dict.fromkeys(line["kind"] for line in lines))
    for kind in [*kinds, ""]:
        own = [line for line in lines if kind in ("", line["kind"])]
        sent = sum(line["input"] for line in own)
        cached = sum(line["cached"] for line in own) / sent if sent else 0.0
        known = [line["dollars"] for line in own if line["dollars"] is not None]

        def median(of: Callable[[Line], float], own: list[Line] = own) -> float:
            return statistics.median(of(line) for line in own)

        yield (
            f"| {kind or 'all'} | {sum(line['passed'] for line in own)} of {len(own)} "
            f"| {median(lambda line: line['steps']):.0f} "
            f"| {median(lambda line: line['input']):,.0f} | {cached:.0%} "
            f"| {median(lambda line: line['output']):,.0f} "
            f"| {f'{statistics.median(known):.4f}' if known else '?'} "
            f"| {median(lambda line: line['seconds']):.0f} "
            f"| {sum(line['refused_edits'] for line in own)} "
            f"| {sum(line['errors'] for line in own)} |"
        )


def _misses(lines: Sequence[Line]) -> Iterable[str]:
    missed = [line for line in lines if not line["passed"]]
    if missed:
        yield "Not passed, with how the turn ended; each is kept in `runs`:"
        yield ""
        for line in missed:
            yield f"- `{line['run']}`: {line['end']}"
