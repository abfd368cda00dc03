"""Export: writes what an eval came to, a line for each try of each cell (W-58)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from studio.domain.evals import Cell, EvalReport
from studio.domain.jsonvalue import Json, JsonObject
from studio.workflows.items.results import csv_cell, csv_line

_COLUMNS = (
    *("case", "title", "variant", "model", "try", "result", "reason"),
    *("answer", "dollars", "seconds", "recorded", "chat"),
)


def lines_of(report: EvalReport, kind: str) -> Iterator[str]:
    """The tries as lines of ``csv`` or ``jsonl``, in the order of the cases."""
    titles = {one.id: one.label for one in report.eval.cases}
    if kind == "csv":
        yield csv_line(_COLUMNS)
    for cell in report.cells:
        found = _values(report, cell, titles[cell.case])
        if kind == "csv":
            found["reason"] = why_failed(cell)
            yield csv_line(csv_cell(found[name]) for name in _COLUMNS)
            continue
        found["graders"] = [
            {"kind": one.kind, "title": one.label, "passed": one.passed, "reason": one.words}
            for one in cell.grades
        ]
        yield f"{json.dumps(found, ensure_ascii=False)}\n"


def _values(report: EvalReport, cell: Cell, title: str) -> JsonObject:
    result: Json = "passed" if cell.passed else "failed"
    return {
        "case": cell.case,
        "title": title,
        "variant": cell.variant,
        "model": report.models.get(cell.variant, ""),
        "try": cell.number,
        "result": result if cell.graded else "none",
        "reason": cell.reason,
        "answer": cell.text,
        "dollars": cell.dollars,
        "seconds": round(cell.seconds, 3),
        "recorded": cell.answered and not cell.fresh,
        "chat": cell.session_id,
    }


def why_failed(cell: Cell) -> str:
    """Why a try did not pass, in one text; empty if it did."""
    failed = (f"{one.label}: {one.words}" for one in cell.grades if not one.passed)
    return cell.reason or "; ".join(failed)
