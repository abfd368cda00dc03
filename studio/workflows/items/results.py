"""Item results: writes what came of items as CSV and JSONL, and names the kinds of failures."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, replace

from studio.domain.jsonvalue import Json, JsonObject
from studio.storage.run_items import CHUNK, ItemQueue, ItemRow, ItemStore, Shown

FAULTS = {
    "invalid": "Answer not valid",
    "timeout": "Timed out",
    "limit": "Too long, or a limit was reached",
    "unsure": "May have happened",
}
_NUMBER = re.compile(r"\d+")
_RESERVED = ("state", "reason", "text", "dollars", "tokens", "seconds")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How texts begin that spreadsheets compute."""


@dataclass(frozen=True, slots=True)
class FailureKind:
    """Failures of one kind; ``reason`` is an example.

    ``words`` are in the reasons of all where no ``fault`` tells them from others.
    """

    title: str
    reason: str
    count: int
    fault: str = ""
    words: str = ""


def failure_kinds(failures: Iterable[tuple[str, str, int]]) -> list[FailureKind]:
    """The kinds of failures, of which fault, reason and number are given, most first.

    Reasons that differ in numbers alone are one kind.
    """
    kinds: dict[tuple[str, str], FailureKind] = {}
    for fault, reason, count in failures:
        title = FAULTS.get(fault, "")
        key = (title, "" if title else _NUMBER.sub("#", reason)[:80])
        if (known := kinds.get(key)) is not None:
            kinds[key] = replace(known, count=known.count + count)
        elif title:
            kinds[key] = FailureKind(title, reason, count, fault)
        else:
            words = max(_NUMBER.split(reason[:80]), key=len).strip()
            kinds[key] = FailureKind(title_of(fault, reason), reason, count, words=words)
    return sorted(kinds.values(), key=lambda one: -one.count)


def title_of(fault: str, reason: str) -> str:
    """A failure in a few words."""
    return FAULTS.get(fault) or reason[:80]


async def all_rows(
    store: ItemStore, queue: ItemQueue, shown: Shown = "all"
) -> AsyncIterator[ItemRow]:
    """All results in the order of the items, read piece by piece."""
    after = -1
    while rows := await store.rows(queue, after=after, shown=shown):
        for row in rows:
            yield row
        after = rows[-1].place


async def lines_of(
    store: ItemStore, queue: ItemQueue, kind: str, shown: Shown = "all"
) -> AsyncIterator[str]:
    """The results as lines of ``csv`` or ``jsonl``; the columns are those of the first rows."""
    if kind == "csv":
        first = await store.rows(queue, most=CHUNK, shown=shown)
        table = CsvTable([*first, *await store.newest(queue, CHUNK, "done")])
        yield table.head
        async for row in all_rows(store, queue, shown):
            yield table.line(row)
    else:
        async for row in all_rows(store, queue, shown):
            yield f"{jsonl_line(row)}\n"


def jsonl_line(row: ItemRow) -> str:
    """One result as a line of JSON."""
    found: JsonObject = {"item": row.value, "state": row.state}
    if row.outputs is not None:
        found["outputs"] = row.outputs
    else:
        found["text"] = row.text
    if row.reason:
        found["reason"] = row.reason
    found |= {"dollars": row.dollars, "tokens": row.tokens, "seconds": round(row.seconds, 3)}
    return json.dumps(found, ensure_ascii=False)


class CsvTable:
    """Results as lines of CSV; its columns are those of the item and of the outputs."""

    def __init__(self, rows: Iterable[ItemRow]) -> None:
        """``rows`` are some of them, which tell the columns."""
        self._items, self._outputs = dict[str, None](), dict[str, None]()
        for row in rows:
            self._items |= dict.fromkeys(_fields(row.value, "item"))
            self._outputs |= dict.fromkeys(_fields(row.outputs, "output"))
        taken = {*self._items, *_RESERVED}
        self._names = [f"output {name}" if name in taken else name for name in self._outputs]

    @property
    def head(self) -> str:
        return csv_line([*self._items, *self._names, *_RESERVED])

    def line(self, row: ItemRow) -> str:
        item, outputs = _fields(row.value, "item"), _fields(row.outputs, "output")
        text = "" if row.outputs is not None else row.text
        return csv_line(
            [
                *(csv_cell(item.get(name)) for name in self._items),
                *(csv_cell(outputs.get(name)) for name in self._outputs),
                *(row.state, row.reason, text, csv_cell(row.dollars), row.tokens),
                round(row.seconds, 3),
            ]
        )


def _fields(value: Json, name: str) -> dict[str, Json]:
    if value is None:
        return {}
    return value if isinstance(value, dict) else {name: value}


def csv_cell(value: Json) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return json.dumps(value, ensure_ascii=False)
    return value


def csv_line(cells: Iterable[str | int | float]) -> str:
    """A line of CSV; no cell is a formula, whatever a model wrote."""
    safe = [
        f"'{one}" if isinstance(one, str) and one.startswith(_FORMULA) else one for one in cells
    ]
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(safe)
    return out.getvalue()
