"""Tables: reads the rows of CSV tables of other programs, by columns that are remembered (KZ-51).

A file is a stranger's: what is wrong in a row is told and stops nothing.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field

from studio.packs import Records, ToolFailed, dataclass

MOST = 50_000
"""Rows of one file."""
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

Line = tuple[int, dict[str, str]]
"""Fields with the number of their line."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Where columns may go: ``known`` are heads by field, ``needed`` one of which has to be there.

    ``joined`` are fields of which several columns are all kept. ``kind`` tells what is remembered
    for these rows from what is for others.
    """

    known: Mapping[str, str]
    needed: tuple[str, ...]
    joined: tuple[str, ...] = ()
    kind: str = ""

    def target(self, head: str) -> str:
        """The field that a head names; empty for none."""
        plain = re.sub(r"[^a-z_]", "", head.lower().translate(_UMLAUTS))
        return next((name for name, words in self.known.items() if plain in words.split()), "")


@dataclass(slots=True)
class Table:
    """What a file has: fields by their line, columns that go nowhere, and what could not be read.

    ``head`` is what a mapping of columns is remembered by; empty for vCards.
    """

    lines: list[Line] = field(default_factory=list[Line])
    left: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    head: str = ""
    mapping: dict[str, str] = field(default_factory=dict[str, str])


def read_mapping(text: str, columns: Columns) -> dict[str, str]:
    """The mapping of ``Zuname=name; Tel. privat=telefon``; raises ToolFailed."""
    found: dict[str, str] = {}
    for part in (one.strip() for one in text.split(";") if one.strip()):
        column, _, target = part.rpartition("=")
        if not column or target.strip() not in (*columns.known, ""):
            names = ", ".join(columns.known)
            raise ToolFailed(f"„{part}“: geschrieben wird Spalte=Feld. Felder: {names}.")
        found[column.strip()] = target.strip()
    return found


def read_csv(text: str, columns: Columns, records: Records, own: str = "") -> Table:
    """The rows of a table with a head. ``own`` says where columns go, else what was remembered for
    such a head, else their names. Raises ToolFailed where there is no table."""
    first = text.partition("\n")[0]
    separator = max(";,\t", key=lambda one: first.count(one))
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=separator)
    table = Table()
    try:
        heads = [one.strip() for one in next(rows, list[str]())]
        if len(heads) < 2:
            raise ToolFailed("Das ist keine Tabelle: ihre erste Zeile nennt die Spalten.")
        table.head = columns.kind + "\t".join(heads)
        kept = _remembered(records, table.head)
        table.mapping = _mapping(heads, columns, kept, read_mapping(own, columns))
        table.left = [one for one in heads if one and not table.mapping.get(one)]
        if not set(columns.needed) & set(table.mapping.values()):
            raise ToolFailed(
                f"Keine Spalte heißt wie {columns.needed[0]}. Sag es mit --spalten "
                f"„SPALTE={columns.needed[0]}“. Es gibt: {', '.join(filter(None, heads))}."
            )
        for row in rows:
            if len(table.lines) >= MOST:
                table.problems.append(f"Mehr als {MOST} Zeilen; die übrigen blieben liegen.")
                break
            if any(map(str.strip, row)):
                values = dict(zip(heads, row, strict=False))
                fields = _fields(values, table.mapping, columns.joined)
                table.lines.append((rows.line_num, fields))
    except csv.Error:
        table.problems.append(f"Ab Zeile {rows.line_num} ist die Tabelle beschädigt.")
    return table


def remember(records: Records, table: Table) -> None:
    """Keep where the columns of a table went, for the next one with such a head. Blocks."""
    if table.head:
        told = json.dumps(table.mapping, ensure_ascii=False)
        records.write("INSERT OR REPLACE INTO einlesung_spalten VALUES (?, ?)", table.head, told)


def _remembered(records: Records, head: str) -> dict[str, str]:
    rows = records.read("SELECT zuordnung FROM einlesung_spalten WHERE kopf = ?", head)
    return json.loads(str(rows[0]["zuordnung"])) if rows else {}


def _mapping(
    heads: Sequence[str], columns: Columns, kept: Mapping[str, str], own: Mapping[str, str]
) -> dict[str, str]:
    if wrong := [one for one in own if one not in heads]:
        raise ToolFailed(f"Es gibt keine Spalte „{wrong[0]}“, sondern: {', '.join(heads)}.")
    return {one: own.get(one, kept.get(one, columns.target(one))) for one in heads}


def _fields(
    row: Mapping[str, str], mapping: Mapping[str, str], joined: Sequence[str]
) -> dict[str, str]:
    """The fields of a row; of several columns for one the first that is not empty counts."""
    found: dict[str, str] = {}
    for column, value in row.items():
        target, value = mapping.get(column, ""), " ".join(value.split())
        if target and value:
            known = found.get(target, "")
            more = f"{known}; {value}" if known and target in joined else known or value
            found[target] = more
    return found
