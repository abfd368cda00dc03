"""Note: writes a bill as a Kostennote has to have it by § 10 II RVG (KZ-25)."""

from __future__ import annotations

from .. import _german as german
from .bill import Bill, Row
from .costs import FREE

NAMES = {"aussergerichtlich": "Außergerichtlich", "erste Instanz": "Erste Instanz"}


def statement(bill: Bill) -> str:
    """Each fee and cost with its number, its name, its value and its amount, as lines with tabs;
    the sum of each matter where there are several, and what is to be paid."""
    lines: list[str] = []
    for section in bill.sections:
        if len(bill.sections) > 1:
            lines.append(NAMES.get(section.name, section.name))
        lines += [_line(row) for row in section.rows]
        if len(bill.sections) > 1:
            lines += [f"\tZwischensumme\t{german.euros(section.total)}", ""]
    return "\n".join([*lines, f"\tRechnungsbetrag\t{german.euros(bill.total)}"])


def _line(row: Row) -> str:
    number = "" if row.number in FREE else row.number
    parts = [row.words]
    if row.rate is not None:
        parts.append(f"{german.number(row.rate)} aus {german.euros(row.value or row.amount)}")
    return f"{number}\t{', '.join(parts)}\t{german.euros(row.amount)}"
