"""Estimate: tells from a sample what all items will cost and how many will fail (W-55)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from studio.agent.budget import amount_text
from studio.agent.parallelism import MOST, Lane
from studio.domain.agents import Caps
from studio.domain.items import ItemTally
from studio.domain.jsonvalue import JsonObject
from studio.domain.run_events import RunQuestion

Z = 1.96
"""Standard deviations on both sides that have 95 % of what is normal between them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known after a sample of ``tried`` items, of which ``failed`` failed.

    ``dollars`` is for the items that are left, ``least`` and ``most`` are its 95 % interval;
    all None where no price is known. ``seconds`` is how long these take about, ``at_a_time`` how
    many are begun with. ``took`` is how long the sample took, 0 where that is not known.
    ``fail_least`` and ``fail_most`` are the shares that fail, Wilson's 95 % interval.
    """

    count: int
    left: int
    tried: int
    failed: int
    spent: float
    took: float
    dollars: float | None
    least: float | None
    most: float | None
    seconds: float
    at_a_time: int
    fail_least: float
    fail_most: float


def wilson(some: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share of which ``some`` of ``whole`` were seen."""
    if not whole:
        return 0.0, 1.0
    share, square = some / whole, Z * Z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    half = math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    half *= Z / (1 + square / whole)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def estimate(
    tally: ItemTally,
    costs: Sequence[float | None],
    seconds: Sequence[float],
    lane: Lane,
    most: int = MOST,
    took: float = 0.0,
) -> Estimate:
    """The estimate from the costs and times of the items of a sample.

    ``lane`` is that of their requests, ``most`` how many items there may be at a time. The sample
    ``took`` so many seconds.
    """
    known = [one for one in costs if one is not None]
    dollars = least = dearest = None
    if known and len(known) == len(costs):
        mean = sum(known) / len(known)
        spread = sum((one - mean) ** 2 for one in known) / max(len(known) - 1, 1)
        half = Z * math.sqrt(spread / len(known))
        dollars = mean * tally.left
        least, dearest = max(mean - half, 0.0) * tally.left, (mean + half) * tally.left
    each = sum(seconds) / len(seconds) if seconds else 0.0
    tried, failed = len(costs), tally.failed
    shares = wilson(failed, tried)
    return Estimate(
        *(tally.count, tally.left, tried, failed, sum(known), took),
        *(dollars, least, dearest, lane.seconds_for(tally.left, each, most)),
        *(min(lane.limit, most), *shares),
    )


def sample_question(
    id: str,
    found: Estimate,
    caps: Caps,
    choices: tuple[str, ...],
    path: tuple[str, ...],
    provider: str,
) -> RunQuestion:
    """Asks the person whether the other items are to be worked on; ``form`` has the figures.

    ``provider`` is the name of the one that would answer them.
    """
    passed = found.tried - found.failed
    cost = f" The sample cost {_money(found.spent)}." if found.spent else ""
    lines = [f"{passed} passed, {found.failed} failed.{cost}"]
    if found.dollars is not None and found.least is not None and found.most is not None:
        about = duration(found.seconds)
        lines.append(f"Now, one by one: about {_money(found.dollars)}, {about}.")
        if "batch" in choices:
            half = _money(found.dollars / 2)
            lines.append(f"As a batch of the provider: about {half}, up to 24 hours.")
        lines.append(f"Between {_money(found.least)} and {_money(found.most)} (95 %).")
    else:
        lines.append(f"The price of the model is not known. It takes {duration(found.seconds)}.")
    if caps.dollars:
        lines.append(f"Never above the budget of {amount_text('dollars', caps.dollars)}.")
    if caps.tokens:
        lines.append(f"Never above the budget of {amount_text('tokens', caps.tokens)}.")
    lines.append(f"{found.fail_least:.0%} to {found.fail_most:.0%} may fail.")
    if passed < 20:
        lines.append(f"The estimate is from {passed} items that passed.")
    text = f"{found.tried} of {found.count:,} items tried. Run the rest?"
    form: JsonObject = {
        "count": found.count,
        "left": found.left,
        "tried": found.tried,
        "failed": found.failed,
        "spent": found.spent,
        "took": found.took,
        "dollars": found.dollars,
        "least": found.least,
        "most": found.most,
        "seconds": found.seconds,
        "at_a_time": found.at_a_time,
        "fail_least": found.fail_least,
        "fail_most": found.fail_most,
        "cap": caps.dollars,
        "tokens": caps.tokens,
        "provider": provider,
    }
    return RunQuestion(id, "sample", text, "\n".join(lines), choices, form, path=path)


def duration(seconds: float) -> str:
    """“about 38 min”."""
    if seconds < 90:
        return f"about {max(round(seconds), 1)} s"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min"
    return f"about {round(seconds / 3600, 1):g} h"


def _money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.1 or not dollars else f"${dollars:.4f}"
