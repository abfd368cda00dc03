"""Eval facts: what the view says of an eval that ran. Free of Qt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.evals import Case, Cell, EvalReport
from studio.storage.evals import EvalRow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import decimal, dollars, duration, number, percent
from studio.ui.pages.files.row import FileRow
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.workflows.evals.figures import Difference, VariantFigures, difference

VERDICTS = {
    "better": ("ok", tr_later("better")),
    "worse": ("err", tr_later("worse")),
    "unclear": ("neutral", tr_later("unclear")),
}
"""The kind of a verdict's tag, and its word."""
ALL, FLIPPED, FAILED = range(3)
LETTERS = "ABC"
"""Of the variants that stand side by side, the baseline first."""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case with its tries by each variant that is shown, A first.

    ``flips`` has for each after A 1 if the case flipped to passed, -1 to failed, else 0.
    """

    case: Case
    tries: Sequence[Sequence[Cell]]
    flips: Sequence[int] = ()

    @property
    def flip(self) -> int:
        """From A to B."""
        return self.flips[0] if self.flips else 0

    @property
    def checks(self) -> str:
        return ", ".join(dict.fromkeys(one.kind for one in self.case.graders))

    @property
    def failed(self) -> bool:
        return any(one.graded and not one.passed for cells in self.tries for one in cells)


@dataclass(frozen=True, slots=True)
class SectionRow:
    """Heads the cases that flipped alike from A to B."""

    flip: int
    count: int


SECTIONS = {
    1: tr_later("Flipped to passed"),
    -1: tr_later("Flipped to failed"),
    0: tr_later("Unchanged"),
}


def in_sections(rows: Sequence[CaseRow]) -> list[CaseRow | SectionRow]:
    """The cases below what became of them with B; without a B as they are."""
    if not any(row.flips for row in rows):
        return [*rows]
    found: list[CaseRow | SectionRow] = []
    for flip in SECTIONS:
        if some := [row for row in rows if row.flip == flip]:
            found += [SectionRow(flip, len(some)), *some]
    return found


def section_words(row: SectionRow) -> tuple[str, str]:
    """“Flipped to passed” and “18, A to B”."""
    return tr(SECTIONS[row.flip]), tr("{count}, A to B").format(count=number(row.count))


def spoken_case(row: CaseRow | SectionRow) -> str:
    if isinstance(row, SectionRow):
        return joined(section_words(row))
    flips = {1: tr("flipped to passed"), -1: tr("flipped to failed"), 0: ""}
    said: list[str] = []
    for letter, cells, flip in zip(LETTERS, row.tries, (0, *row.flips), strict=False):
        said += [f"{letter} {passed_of(cells)}", flips[flip]]
    return joined((escape_line(row.case.label, 200), row.checks, *said))


def passed_of(cells: Sequence[Cell]) -> str:
    passed = sum(one.graded and one.passed for one in cells)
    return tr("{done} of {count}").format(done=number(passed), count=number(len(cells)))


def case_rows(report: EvalReport, variants: Sequence[str], shown: int) -> list[CaseRow]:
    """The cases of some variants, those that flipped from the first to the second first."""
    tries: dict[tuple[str, str], list[Cell]] = {}
    for cell in report.cells:
        tries.setdefault((cell.case, cell.variant), []).append(cell)
    found = [difference(report, report, variants[0], one) for one in variants[1:]]
    flipped = [(set(one.better), set(one.worse)) for one in found]
    rows = [
        CaseRow(
            case,
            [tries.get((case.id, one), []) for one in variants],
            [(case.id in better) - (case.id in worse) for better, worse in flipped],
        )
        for case in report.eval.cases
    ]
    if shown == FLIPPED:
        rows = [row for row in rows if any(row.flips)]
    elif shown == FAILED:
        rows = [row for row in rows if row.failed]
    return sorted(rows, key=lambda row: [*SECTIONS].index(row.flip))


def figure_words(found: VariantFigures) -> tuple[str, str, str]:
    """The rate, its interval, and what a try costs and takes."""
    interval = tr("{low} to {high}, {passed} of {cases} cases").format(
        low=percent(found.low),
        high=percent(found.high),
        passed=number(found.passed),
        cases=number(found.cases),
    )
    cost = tr("no price known")
    if found.dollars is not None:
        cost = tr("{cost} a try").format(cost=dollars(found.dollars, 4))
    return percent(found.rate), interval, f"{cost} · {duration(found.seconds)}"


def variant_title(report: EvalReport, variant: str) -> str:
    one = next(one for one in report.eval.variants if one.id == variant)
    return escape_line(one.label, 80)


def difference_words(found: Difference) -> str:
    return tr("{better} better, {worse} worse, chance of no difference {chance}").format(
        better=number(len(found.better)),
        worse=number(len(found.worse)),
        chance=tr("{number}%").format(number=decimal(100 * found.chance)),
    )


def counts_words(row: EvalRow, report: EvalReport) -> str:
    """“120 cases, 3 tries each, 642 of 1,080 from the record”."""
    cells = report.cells
    old = sum(one.answered and not one.fresh for one in cells)
    cases = tr_plural("{count} case", "{count} cases", len(report.eval.cases))
    tries = tr_plural("{count} try each", "{count} tries each", report.eval.repeats)
    words = tr("{cases}, {tries}, {old} of {count} from the record, {cost}").format(
        cases=cases,
        tries=tries,
        old=number(old),
        count=number(len(cells)),
        cost=dollars(report.dollars),
    )
    left = sum(not one.graded for one in cells)
    if row.state != "done" and left:
        open_ = tr("{count} without a result").format(count=number(left))
        words = f"{words} · {open_}"
    return words


def why_failed(cell: Cell) -> str:
    """Why a try did not pass; empty if it did."""
    if cell.reason:
        return tr_engine(cell.reason)
    if not cell.answered:
        return tr("no result")
    return "\n".join(
        f"{one.label}: {tr_engine(one.words)}" for one in cell.grades if not one.passed
    )


def eval_rows(files: Mapping[str, Path], ran: Mapping[str, EvalRow]) -> list[FileRow]:
    """The group of the list that has evals; ``ran`` has the last one of each file that ran."""
    found: list[FileRow] = []
    for name, path in sorted(files.items()):
        row = ran.get(str(path))
        about = tr("has not run yet")
        if row is not None:
            about = tr("run {number}").format(number=number(row.number))
        found.append(FileRow(path, escape_line(name, 80), about=about, icon="list-todo"))
    return [FileRow(None, tr("Evals")), *found] if found else []
