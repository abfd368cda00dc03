"""Cost estimate: tells what an eval will cost, from what was paid before (W-58)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal, TypeAlias, cast

from studio.domain.evals import EvalReport
from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass
from studio.workflows.items.estimate import Z

from .cells import Try
from .graders import JUDGES

Basis: TypeAlias = Literal["verdicts", "answers", ""]
"""What the cost of verdicts is known from: earlier ones, or answers of the same model."""
Costs: TypeAlias = "Mapping[str, Sequence[float | None]]"
"""What each of several pieces of work cost, by who did it; None where no price is known."""


@dataclass(frozen=True, slots=True)
class Judging:
    """The verdicts that an agent is asked for, at most, and what ``costs`` says of each of them."""

    asked: int
    costs: Sequence[float | None] = ()
    basis: Basis = ""


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What ``asked`` of ``count`` cells and ``verdicts`` of agents about them will cost.

    It is from what ``tries`` earlier answers and ``judged`` earlier verdicts cost. ``least`` and
    ``most`` are the 95 % interval, None where it is from one answer; all three are None where the
    cost of an answer is not known, ``unseen`` where a variant has given none yet. ``basis`` is
    empty where the cost of some verdicts is not known: they are not in it then. An agent is asked
    for fewer verdicts where answers fail before.
    """

    count: int
    asked: int
    tries: int
    dollars: float | None
    least: float | None
    most: float | None
    verdicts: int = 0
    judged: int = 0
    basis: Basis = ""
    unseen: bool = False


@dataclass(slots=True)
class _Sum:
    """A sum of costs that are each known from a sample."""

    dollars: float = 0.0
    variance: float = 0.0
    sure: bool = field(default=True)

    def add(self, wanted: int, known: Sequence[float]) -> None:
        mean = sum(known) / len(known)
        spread = sum((cost - mean) ** 2 for cost in known) / max(len(known) - 1, 1)
        self.dollars += mean * wanted
        self.variance += spread / len(known) * wanted**2
        self.sure = self.sure and len(known) > 1


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


def judgings(
    wanted: Mapping[str, int],
    recorded: Costs,
    report: EvalReport | None,
    judges: Mapping[str, str],
    answers: Costs,
    models: Mapping[str, str],
) -> list[Judging]:
    """The verdicts ``wanted`` of each agent that judges, and what one costs.

    It is known from verdicts that are ``recorded`` or that an earlier ``report`` has by the same of
    the models of ``judges``, else from ``answers`` of variants whose model is the same.
    """
    reported = _reported(report, judges)
    found: list[Judging] = []
    for judge, count in wanted.items():
        model = judges[judge]
        if costs := recorded.get(judge) or reported.get(judge):
            found.append(Judging(count, costs, "verdicts"))
            continue
        alike = [cost for one in answers if models[one] == model for cost in answers[one]]
        found.append(Judging(count, alike, "answers") if alike else Judging(count))
    return found


def _reported(report: EvalReport | None, judges: Mapping[str, str]) -> dict[str, list[float]]:
    """What verdicts of an earlier eval cost, by the agent that told them."""
    found: dict[str, list[float]] = {}
    graders = {one.id: one.graders for one in report.eval.cases} if report is not None else {}
    for cell in report.cells if report is not None else ():
        for grader, its in zip(graders[cell.case], cell.grades, strict=False):
            judge = str(grader.target)
            if grader.kind not in JUDGES or its.dollars is None or report is None:
                continue
            if report.judges.get(judge) == judges.get(judge, ""):
                found.setdefault(judge, []).append(its.dollars)
    return found


def estimate_cost(
    count: int, asked: Mapping[str, int], costs: Costs, judging: Sequence[Judging] = ()
) -> CostEstimate:
    """The estimate of an eval of ``count`` cells.

    ``asked`` has how many are asked of each variant, ``costs`` what answers of each cost before,
    ``judging`` the same of the agents that judge.
    """
    whole, verdicts = sum(asked.values()), sum(one.asked for one in judging)
    found, tries, judged = _Sum(), 0, 0
    basis: Basis = ""
    for one in judging:
        known = [cost for cost in one.costs if cost is not None]
        if not known or len(known) < len(one.costs):
            judged, basis = 0, ""
            break
        found.add(one.asked, known)
        judged += len(known) if one.basis == "verdicts" else 0
        basis = one.basis if basis in ("", one.basis) else "answers"
    if not basis:
        found = _Sum()
    for variant, wanted in asked.items():
        known = [cost for cost in costs.get(variant, ()) if cost is not None]
        if not known or len(known) < len(costs[variant]):
            unseen = not costs.get(variant)
            return CostEstimate(count, whole, 0, None, None, None, verdicts, judged, basis, unseen)
        tries += len(known)
        found.add(wanted, known)
    if not (asked or basis):
        return CostEstimate(count, whole, 0, None if verdicts else 0.0, None, None, verdicts)
    least = most = None
    if found.sure:
        half = Z * math.sqrt(found.variance)
        least, most = max(found.dollars - half, 0.0), found.dollars + half
    return CostEstimate(count, whole, tries, found.dollars, least, most, verdicts, judged, basis)
