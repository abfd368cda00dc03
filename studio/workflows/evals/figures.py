"""Figures of evals: rates with intervals, flipped cases and what speaks for a difference (W-58).

They count cases, not tries: tries of one case are alike, and would feign more than they tell. A
case passes if most of its tries pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, sqrt
from typing import Literal, TypeAlias

from studio.domain.evals import Cell, EvalReport
from studio.domain.records import dataclass

Verdict: TypeAlias = Literal["better", "worse", "unclear"]
SURE = 0.05
"""The chance of no difference below which a verdict is better or worse."""
_Z = 1.959964
"""The quantile of the normal distribution for 95 %."""
CaseTries: TypeAlias = "dict[str, list[Cell]]"


@dataclass(frozen=True, slots=True)
class VariantFigures:
    """What one variant came to. ``dollars`` and ``seconds`` are for one try, on the average.

    ``dollars`` is None where no price is known. ``low`` and ``high`` are Wilson's interval, 95 %.
    """

    variant: str
    cases: int
    passed: int
    low: float
    high: float
    tries: int
    dollars: float | None
    seconds: float

    @property
    def rate(self) -> float:
        return self.passed / self.cases if self.cases else 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One variant against another, over the cases that both have.

    A case is flipped if the majority of its tries changed: ``better`` to passed, ``worse`` to
    failed. ``chance`` is the one of as many flips where there is no difference (sign test).
    """

    first: str
    second: str
    cases: int
    better: tuple[str, ...]
    worse: tuple[str, ...]
    chance: float

    @property
    def verdict(self) -> Verdict:
        if self.chance >= SURE:
            return "unclear"
        return "better" if len(self.better) > len(self.worse) else "worse"


def tries_of(report: EvalReport, variant: str) -> CaseTries:
    """The tries of each case by a variant that are graded."""
    found: CaseTries = {}
    for cell in report.cells:
        if cell.variant == variant and cell.graded:
            found.setdefault(cell.case, []).append(cell)
    return found


def passes(tries: Iterable[Cell]) -> bool:
    """Whether most of these tries passed; half of them is not most."""
    found = [one.passed for one in tries]
    return 2 * sum(found) > len(found)


def figures(report: EvalReport, variant: str) -> VariantFigures:
    tries = tries_of(report, variant)
    passed = sum(map(passes, tries.values()))
    cells = [one for each in tries.values() for one in each]
    costs = [one.dollars for one in cells]
    known = [one for one in costs if one is not None]
    return VariantFigures(
        *(variant, len(tries), passed, *wilson(passed, len(tries)), len(cells)),
        dollars=sum(known) / len(known) if known and len(known) == len(costs) else None,
        seconds=sum(one.seconds for one in cells) / len(cells) if cells else 0.0,
    )


def wilson(passed: int, count: int) -> tuple[float, float]:
    """Wilson's interval of a rate, 95 %."""
    if not count:
        return 0.0, 1.0
    rate, z2 = passed / count, _Z * _Z
    middle = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z * sqrt(rate * (1 - rate) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def difference(first: EvalReport, second: EvalReport, variant: str, against: str) -> Difference:
    """The variant ``against`` of the second report beside ``variant`` of the first."""
    before, after = tries_of(first, variant), tries_of(second, against)
    both = [case for case in before if case in after]
    better = [one for one in both if not passes(before[one]) and passes(after[one])]
    worse = [one for one in both if passes(before[one]) and not passes(after[one])]
    chance = no_difference(len(better), len(worse))
    return Difference(variant, against, len(both), tuple(better), tuple(worse), chance)


def no_difference(better: int, worse: int) -> float:
    """The chance of flips as uneven as these, or more, if either way is as likely."""
    count = better + worse
    tail = sum(comb(count, one) for one in range(min(better, worse) + 1))
    return min(2 * tail / 2**count, 1.0)
