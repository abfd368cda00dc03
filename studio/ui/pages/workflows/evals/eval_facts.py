"""Eval facts: what the view says of an eval that ran. Free of Qt."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import TypeAlias

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.evals import Case, Cell, Eval, EvalReport, Grader, Variant
from studio.storage.evals import EvalRow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars, duration, number, percent
from studio.ui.pages.files.row import FileRow
from studio.ui.pages.workflows.runs.sample_words import money
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.workflows.evals.cost_estimate import CostEstimate
from studio.workflows.evals.figures import VariantFigures, difference
from studio.workflows.evals.graders import target_words

VERDICTS = {
    "better": ("ok", tr_later("better"), "arrow-up"),
    "worse": ("err", tr_later("worse"), "arrow-down"),
    "unclear": ("neutral", tr_later("unclear"), ""),
}
"""The kind of a verdict's tag, its word and its icon."""
ALL, FLIPPED, FAILED = range(3)
WORDS = re.compile(r"\S+")
LETTERS = "ABC"
"""Of the variants that stand side by side, the baseline first."""
SURE = 20
"""Answers from which on an estimate does not say from how many it is."""
LISTED = 7
"""Cases of a section that are listed at first, where one more at least is left out."""


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


SECTIONS = {
    1: tr_later("Flipped to passed"),
    -1: tr_later("Flipped to failed"),
    0: tr_later("Unchanged"),
}


@dataclass(frozen=True, slots=True)
class SectionRow:
    """Heads the cases that flipped alike from A to B. ``folds``: some of them can be hidden."""

    flip: int
    count: int
    folds: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class MoreRow:
    """Stands for the cases of a section that are not listed."""

    flip: int
    count: int


ListRow: TypeAlias = CaseRow | SectionRow | MoreRow


def in_sections(
    rows: Sequence[CaseRow], unfolded: Container[int] = (), *, folds: bool = False
) -> list[ListRow]:
    """The cases below what became of them with B; without a B as they are.

    Of a long section the first ones are listed, and with ``folds`` none of the unchanged ones,
    until it is ``unfolded``.
    """
    if not any(row.flips for row in rows):
        return [*rows]
    found: list[ListRow] = []
    for flip in SECTIONS:
        if not (some := [row for row in rows if row.flip == flip]):
            continue
        short = len(some) if len(some) <= LISTED + 1 else LISTED
        if folds and not flip and len(some) < len(rows):
            short = 0
        shown = some if flip in unfolded else some[:short]
        left = len(some) - len(shown)
        found += [SectionRow(flip, len(some), short < len(some), left > 0), *shown]
        if left and shown:
            found.append(MoreRow(flip, left))
    return found


def section_words(row: SectionRow) -> tuple[str, str]:
    """“Flipped to passed” and “18, A to B”; of one that lists nothing “98, folded”."""
    words = tr("{count}, folded") if row.folded and not row.flip else tr("{count}, A to B")
    return tr(SECTIONS[row.flip]), words.format(count=number(row.count))


def more_words(row: MoreRow) -> str:
    return tr_plural("{count} more", "{count} more", row.count)


def spoken_case(row: ListRow) -> str:
    if isinstance(row, SectionRow):
        return joined(section_words(row))
    if isinstance(row, MoreRow):
        return joined((more_words(row), tr(SECTIONS[row.flip])))
    said = [spoken_cell(row, at) for at in range(len(row.tries))]
    return joined((escape_line(row.case.label, 200), row.checks, *said))


def spoken_cell(row: CaseRow, at: int) -> str:
    """A cell of a row in words: “B 3 of 3, flipped to passed”."""
    flip = (0, *row.flips)[at]
    words = {1: tr("flipped to passed"), -1: tr("flipped to failed"), 0: ""}[flip]
    return joined((f"{LETTERS[at]} {passed_of(row.tries[at])}", words))


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


def case_groups(
    one: Eval, report: EvalReport | None, variants: Sequence[str], chosen: CaseRow | None
) -> dict[str, tuple[str, tuple[Case, ...]]]:
    """The cases of an eval that can be run by themselves, with their title; all of them first."""
    found = {"all": (tr("All"), one.cases)}
    if report is None:
        return found
    kinds = {"flipped": (tr("Flipped"), FLIPPED), "failed": (tr("Failed"), FAILED)}
    wanted = {
        key: (title, {row.case.id for row in case_rows(report, variants, kind)})
        for key, (title, kind) in kinds.items()
    }
    if chosen is not None:
        wanted["chosen"] = tr("The chosen one"), {chosen.case.id}
    for key, (title, names) in wanted.items():
        if cases := tuple(case for case in one.cases if case.id in names):
            found[key] = title, cases
    return found


def figure_words(found: VariantFigures) -> tuple[str, str, str, str]:
    """The rate, its interval, what it is of with the time of a try, and what a try costs.

    Of a variant that no case has a result of there are none of these.
    """
    if not found.cases:
        return "–", "", tr("No case has a result."), ""
    interval = tr("{low} to {high}").format(low=percent(found.low), high=percent(found.high))
    of = tr("{passed} of {cases} cases").format(
        passed=number(found.passed), cases=number(found.cases)
    )
    cost = tr("no price known")
    if found.dollars is not None:
        cost = tr("{cost} a try").format(cost=dollars(found.dollars, 4))
    return percent(found.rate), interval, f"{of} · {duration(found.seconds)}", cost


def variant_title(report: EvalReport, variant: str) -> str:
    one = next(one for one in report.eval.variants if one.id == variant)
    return escape_line(one.label, 80)


CHECKS = {
    "equals": tr_later("Must be"),
    "contains": tr_later("Must contain"),
    "pattern": tr_later("Must match"),
    "schema": tr_later("Must fit"),
    "expression": tr_later("Must hold"),
    "command": tr_later("Must succeed"),
    "cost": tr_later("Costs at most"),
    "time": tr_later("Takes at most"),
    "grader": tr_later("Judged by"),
    "pairwise": tr_later("Compared by"),
}
"""What graders of each kind want, before that."""
MARKED = 20_000
"""Characters of an answer in which differences are looked for."""
ALIKE = 0.5
"""The part of their words that two answers share at least where differences are marked."""


def check_words(grader: Grader, case: Case) -> tuple[str, str]:
    """“Must contain” and “await pool.close()”."""
    wanted = grader.target
    if grader.kind == "cost" and isinstance(wanted, int | float):
        wanted = dollars(wanted)
    elif grader.kind == "time" and isinstance(wanted, int | float):
        wanted = duration(wanted)
    else:
        wanted = target_words(grader, case)
    return grader.title or tr(CHECKS[grader.kind]), escape_line(wanted, 200)


def answer_marks(text: str, other: str, case: Case) -> list[tuple[int, int]]:
    """What is marked in an answer: what a check wants to be in it, else what another has not."""
    for grader in case.graders:
        if grader.kind == "contains":
            wanted = target_words(grader, case)
            if wanted and (at := text.find(wanted)) >= 0:
                return [(at, at + len(wanted))]
    if not text or not other or text == other or len(text) + len(other) > MARKED:
        return []
    mine = [*WORDS.finditer(text)]
    matcher = SequenceMatcher(
        None, WORDS.findall(other), [one.group() for one in mine], autojunk=False
    )
    if matcher.ratio() < ALIKE:
        return []
    return [
        (mine[first].start(), mine[last - 1].end())
        for what, _, _, first, last in matcher.get_opcodes()
        if what in ("replace", "insert")
    ]


def counts_words(report: EvalReport) -> str:
    """“120 cases, 3 tries each, 642 of 1,080 from the record”, and what is missing."""
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
    return f"{words} · {tr_engine(report.reason)}" if report.reason else words


def estimate_words(found: CostEstimate) -> tuple[str, list[str]]:
    """“About $1.20 for 42 of 378 cells”, and how sure that is."""
    asked = {"asked": number(found.asked), "count": number(found.count)}
    if not (found.asked or found.verdicts):
        return tr("The record has all answers: no agent is asked for one."), []
    notes: list[str] = []
    if not found.asked:
        words = tr("The record has all answers")
        if found.dollars is not None:
            words = tr("The record has all answers: about {amount} for verdicts on them")
            words = words.format(amount=money(found.dollars))
    elif found.dollars is None:
        words = tr("Asks {asked} of {count} cells").format(**asked)
        unseen = tr("What an answer costs is known once there is one")
        notes.append(unseen if found.unseen else tr("The price of the model is not known"))
    else:
        words = tr("About {amount} for {asked} of {count} cells")
        words = words.format(amount=money(found.dollars), **asked)
    if found.least is not None and found.most is not None:
        between = tr("Between {least} and {most} (95%)")
        notes.append(between.format(least=money(found.least), most=money(found.most)))
    if found.asked and found.dollars is not None and found.tries < SURE:
        notes.append(
            tr_plural(
                "The estimate is from {count} try",
                "The estimate is from {count} tries",
                found.tries,
            )
        )
    return words, notes + _judged(found)


def _judged(found: CostEstimate) -> list[str]:
    """What agents that judge add, and what is known of that."""
    if not found.verdicts:
        return []
    verdicts = tr_plural(
        "{count} verdict of agents at most", "{count} verdicts of agents at most", found.verdicts
    )
    if found.dollars is None:
        unknown = tr("{verdicts}, whose cost is not known").format(verdicts=verdicts)
        return [verdicts if found.basis else unknown]
    if not found.basis:
        return [tr("Not in it: {verdicts}, whose cost is not known").format(verdicts=verdicts)]
    if found.basis == "answers":
        words = tr("With {verdicts}, at what answers of the same model cost")
        if found.judged:
            words = tr("With {verdicts}, in part at what answers of the same model cost")
        return [words.format(verdicts=verdicts)]
    return [
        tr_plural(
            "With {verdicts}, at what {count} earlier one cost",
            "With {verdicts}, at what {count} earlier ones cost",
            found.judged,
            verdicts=verdicts,
        )
    ]


def compared_words(one: Eval, first: Variant) -> str:
    """With which variant others are compared, where it is not the ``first`` one of the file."""
    base = one.variants[0] if one.variants else first
    judged = any(each.kind == "pairwise" for case in one.cases for each in case.graders)
    if base == first or (len(one.variants) < 2 and not judged):
        return ""
    if len(one.variants) < 2:
        return tr("It is compared with no other: {first} is left out").format(
            first=escape_line(first.label, 80)
        )
    return tr("Compared with {base}: {first} is left out").format(
        base=escape_line(base.label, 80), first=escape_line(first.label, 80)
    )


def verdict_words(cell: Cell) -> list[tuple[bool | None, str]]:
    """What each grader says of a try: whether it passed, and its words."""
    if cell.reason:
        return [(False, tr_engine(cell.reason))]
    if not cell.answered:
        return [(None, tr("no result"))]
    return [(one.passed, joined((one.label, tr_engine(one.words)))) for one in cell.grades]


def use_words(cell: Cell) -> str:
    """“$0.041 · 18 s · from the record”."""
    cost = dollars(cell.dollars, 4) if cell.dollars is not None else tr("no price known")
    kept = "" if cell.fresh or not cell.answered else tr("from the record")
    return " · ".join(filter(None, (cost, duration(cell.seconds), kept)))


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
