"""Cost estimate: tells what the answers of an eval will cost, from what others did (W-58)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from studio.domain.evals import Eval, EvalReport
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass
from studio.workflows.items.estimate import Z

from .cells import Try

_JUDGES = ("grader", "pairwise")


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What ``asked`` of ``count`` cells will cost, from what ``tries`` earlier answers cost.

    ``least`` and ``most`` are the 95 % interval, None where it is from one answer; all three are
    None where the price of an answer is not known. ``judged``: agents judge the answers, too, whose
    cost is not in it.
    """

    count: int
    asked: int
    tries: int
    dollars: float | None
    least: float | None
    most: float | None
    judged: bool


def costs_before(
    every: Iterable[Try],
    record: Mapping[str, JsonObject],
    report: EvalReport | None,
    models: Mapping[str, str],
) -> dict[str, list[float | None]]:
    """What answers of each variant cost that the record has.

    Where it has none, what those of an earlier ``report`` did by the same of the ``models``.
    """
    found: dict[str, list[float | None]] = {}
    for one in every:
        if (answer := record.get(one.key)) is not None:
            cost = cast("float | None", answer.get("dollars"))
            found.setdefault(one.variant.id, []).append(cost)
    if report is not None:
        same = {one for one in models if report.models.get(one) == models[one]} - found.keys()
        for cell in report.cells:
            if cell.answered and cell.variant in same:
                found.setdefault(cell.variant, []).append(cell.dollars)
    return found


def estimate_cost(
    one: Eval, count: int, asked: Mapping[str, int], costs: Mapping[str, Sequence[float | None]]
) -> CostEstimate:
    """The estimate of an eval of ``count`` cells.

    ``asked`` has how many are asked of each variant, ``costs`` what answers of each cost before.
    """
    judged = any(grader.kind in _JUDGES for case in one.cases for grader in case.graders)
    whole, tries, mean_sum, variance = sum(asked.values()), 0, 0.0, 0.0
    sure = True
    for variant, wanted in asked.items():
        known = [cost for cost in costs.get(variant, ()) if cost is not None]
        if not known or len(known) < len(costs[variant]):
            return CostEstimate(count, whole, 0, None, None, None, judged)
        mean = sum(known) / len(known)
        spread = sum((cost - mean) ** 2 for cost in known) / max(len(known) - 1, 1)
        tries, mean_sum = tries + len(known), mean_sum + mean * wanted
        variance += spread / len(known) * wanted**2
        sure = sure and len(known) > 1
    if not sure:
        return CostEstimate(count, whole, tries, mean_sum, None, None, judged)
    half = Z * math.sqrt(variance)
    least, most = max(mean_sum - half, 0.0), mean_sum + half
    return CostEstimate(count, whole, tries, mean_sum, least, most, judged)
