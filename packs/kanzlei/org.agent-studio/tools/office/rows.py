"""Rows: what belongs to an Akte, read with the Akte, within what a person may see (KZ-13)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from studio.packs import Person, Records, ToolFailed, Value

from .akten import visible

T = TypeVar("T")
Where = tuple[str, Value | Sequence[Value]]
"""A condition and its value, or values; one whose value is None is left out."""


class AkteRows(Generic[T]):
    """Reads one table. ``make`` makes a record of a row, which also has the Akte's ``az`` and
    ``rubrum``, and ``wer``, the name of its person. ``none`` says that there is no such row:
    ``keine Zeit`` or ``keinen Termin``.
    """

    def __init__(
        self, records: Records, table: str, make: Callable[[dict[str, Value]], T], none: str
    ) -> None:
        self._records, self._table, self._make, self._none = records, table, make, none

    def find(self, person: Person, *where: Where, order: str) -> list[T]:
        """Those that a person may see and that fulfil all conditions."""
        allowed, values = visible(person)
        sql, asked = allowed, [*values]
        for words, value in where:
            if value is not None:
                sql = f"{sql} AND {words}"
                asked += [value] if isinstance(value, (str, int, float, bytes)) else value
        return self._read(f"{sql} ORDER BY {order}", *asked)

    def get(self, person: Person, number: int) -> T:
        """One by its id; raises ToolFailed where there is none to see."""
        found = self.find(person, (f"{self._table}.id = ?", number), order=f"{self._table}.id")
        if not found:
            pronoun = "er" if self._none.startswith("keinen ") else "sie"
            raise ToolFailed(
                f"Es gibt {self._none} {number}, oder {pronoun} ist für {person.name} nicht "
                "zugänglich."
            )
        return found[0]

    def of_draft(self, draft: str) -> T | None:
        """What came of a draft, whoever may see it."""
        found = self._read(f"{self._table}.entwurf = ?", draft)
        return found[0] if found else None

    def _read(self, where: str, *values: Value) -> list[T]:
        table = self._table
        sql = (
            f"SELECT {table}.*, akte.az, akte.rubrum, wer.name AS wer FROM {table} "
            f"JOIN akte ON akte.id = {table}.akte JOIN person AS wer ON wer.id = {table}.person "
            f"WHERE {where}"
        )
        return [self._make(row) for row in self._records.read(sql, *values)]
