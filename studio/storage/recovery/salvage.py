"""Salvage: copies what can be read of a damaged database into a sound one.

What is lost is counted, and named where an index of the table still names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from sqlite3 import Connection
from typing import TypeAlias

from .pages import TABLE_LEAF, PageFile, Row, Tree, Value, read_leaf

BATCH = 500
"""Rows that are written at once."""
_SCHEMA_ROW = (str, str, str, int, str)

Build: TypeAlias = Callable[[Connection, int | None], None]
"""Makes the tables of a version in an empty database; of the newest for None or a later one."""


@dataclass(slots=True)
class Losses:
    """What a damaged database had and the salvaged one has not.

    ``broken`` are the tables that lost something. ``keys`` are the lost rows of those with a
    sound index, by the index's columns; ``unknown`` are the tables without one, of which
    nobody can say what they lost.
    """

    broken: set[str] = field(default_factory=set[str])
    keys: dict[str, list[tuple[Value, ...]]] = field(
        default_factory=dict[str, list[tuple[Value, ...]]]
    )
    unknown: set[str] = field(default_factory=set[str])
    rows: int = 0
    """How many rows were saved, of all tables."""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table as it is to be filled; ``row_id`` is the place of the column that is the number."""

    name: str
    columns: list[str]
    types: list[str]
    needed: list[bool]
    row_id: int | None

    def fits(self, values: Sequence[Value]) -> bool:
        """Whether a row can be of this table, as far as its length tells."""
        return 0 < len(values) <= len(self.columns)

    def is_likely(self, values: Sequence[Value]) -> bool:
        """Whether a row of an unknown table looks like one of this."""
        if not self.fits(values) or len(values) < sum(self.needed):
            return False
        for place, value in enumerate(values):
            if place == self.row_id:
                if value is not None:
                    return False
            elif value is None:
                if self.needed[place]:
                    return False
            elif not isinstance(value, _KINDS.get(self.types[place], object)):
                return False
        return True


_KINDS: dict[str, type | tuple[type, ...]] = {
    "TEXT": str,
    "INTEGER": int,
    "REAL": (int, float),
    "BLOB": bytes,
}


def salvage(source: Path, target: Connection, build: Build) -> Losses:
    """Fill ``target``, an empty database, with what can be read of the file ``source``.

    ``target`` must be in no transaction. Raises OSError and sqlite3.Error.
    """
    losses = Losses()
    with PageFile(source) as pages:
        target.execute(f"PRAGMA page_size = {pages.size}")
        target.execute("PRAGMA foreign_keys = 0")
        build(target, pages.version)
        target.execute("BEGIN")
        _Salvage(pages, target, losses).run()
        target.execute("COMMIT")
    return losses


class _Salvage:
    def __init__(self, pages: PageFile, target: Connection, losses: Losses) -> None:
        self._pages = pages
        self._target = target
        self._losses = losses
        self._taken: set[int] = set()
        self._saved: dict[str, set[int]] = {}
        """The numbers of the rows that were saved of each table."""

    def run(self) -> None:
        tables = _tables(self._target)
        roots, indexes, whole = self._schema()
        for name, table in tables.items():
            saved = self._saved[name] = set()
            if not (root := roots.get(name)):
                if not whole:
                    self._losses.broken.add(name)
                continue  # a table that is newer than the file
            tree = Tree(self._pages, root, self._taken, table.fits)
            all_new = self._save(table, tree.rows())
            if tree.broken or not all_new:
                self._losses.broken.add(name)
            self._losses.rows += len(saved)
        if self._losses.broken:
            self._adopt([tables[name] for name in sorted(self._losses.broken)])
        for name in self._losses.broken:
            self._name_losses(name, indexes.get(name, []))

    def _schema(self) -> tuple[dict[str, int], dict[str, list[int]], bool]:
        """The first pages of tables, and of the indexes of each table; whether these are all."""
        tree = Tree(self._pages, 1, self._taken, _is_schema)
        rows = [values for _, values in tree.rows()]
        if tree.broken:
            for found in self._orphans():
                if found and all(_is_schema(values) for _, values in found):
                    rows += [values for _, values in found]
        tables: dict[str, int] = {}
        indexes: dict[str, list[int]] = {}
        for kind, name, table, root, _ in rows:
            if not isinstance(root, int):
                continue
            if kind == "table":
                tables[str(name)] = root
            elif kind == "index":
                indexes.setdefault(str(table), []).append(root)
        return tables, indexes, not tree.broken

    def _orphans(self) -> Iterator[list[Row]]:
        """The rows of each page that no tree has; pages that are free are left out."""
        for number in range(1, self._pages.count + 1):
            if number in self._taken or number in self._pages.free:
                continue
            page = self._pages.page(number)
            if page[100 if number == 1 else 0] == TABLE_LEAF:
                yield read_leaf(self._pages, number, page)[0]

    def _adopt(self, broken: Sequence[_Table]) -> None:
        """Give the rows of pages that lost their tree to the one table that they fit."""
        for rows in self._orphans():
            likely = [
                table
                for table in broken
                if rows and all(table.is_likely(values) for _, values in rows)
            ]
            if len(likely) == 1:
                before = len(self._saved[likely[0].name])
                self._save(likely[0], iter(rows))
                self._losses.rows += len(self._saved[likely[0].name]) - before

    def _save(self, table: _Table, rows: Iterator[Row]) -> bool:
        """Insert rows, but those whose number or key is there already; whether none is."""
        saved = self._saved[table.name]
        all_new = True
        for count, same in groupby(rows, key=lambda row: len(row[1])):
            names, marks = ", ".join(table.columns[:count]), ", ".join("?" * count)
            insert = f"INSERT OR IGNORE INTO {table.name} ({names}) VALUES ({marks})"
            for row_id, values in same:
                if row_id in saved:
                    all_new = False
                    continue
                if table.row_id is not None and table.row_id < count:
                    values[table.row_id] = row_id
                if self._target.execute(insert, values).rowcount > 0:
                    saved.add(row_id)
                else:
                    all_new = False
        return all_new

    def _name_losses(self, table: str, indexes: Sequence[int]) -> None:
        saved = self._saved[table]
        for root in indexes:
            tree = Tree(self._pages, root, set(), lambda _: True)
            lost = [
                tuple(entry[:-1])
                for entry in tree.entries()
                if isinstance(entry[-1], int) and entry[-1] not in saved
            ]
            if not tree.broken:
                self._losses.keys[table] = lost
                return
        self._losses.unknown.add(table)


def _is_schema(values: Sequence[Value]) -> bool:
    return len(values) == 5 and all(
        value is None or isinstance(value, kind)
        for value, kind in zip(values, _SCHEMA_ROW, strict=True)
    )


def _tables(db: Connection) -> dict[str, _Table]:
    """The tables that hold rows of their own; those of a full-text index are made from others."""
    rows = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
    virtual = [name for name, sql in rows if str(sql).upper().startswith("CREATE VIRTUAL")]
    found: dict[str, _Table] = {}
    for name, sql in rows:
        made = name in virtual or any(name.startswith(f"{one}_") for one in virtual)
        if made or name.startswith("sqlite_") or "WITHOUT ROWID" in str(sql).upper():
            continue
        columns = db.execute(f"PRAGMA table_info({name})").fetchall()
        keys = [place for place, column in enumerate(columns) if column[5]]
        single = len(keys) == 1 and columns[keys[0]][2].upper() == "INTEGER"
        found[name] = _Table(
            name,
            [column[1] for column in columns],
            [column[2].upper() for column in columns],
            [bool(column[3]) and column[4] is None for column in columns],
            keys[0] if single else None,
        )
    return found
