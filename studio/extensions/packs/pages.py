"""Pack pages: reads the pages that a pack declares, and carries out what a person does there (X-7).

A page is a YAML file that names a table of the pack's records, and says which columns are listed,
shown and filled in, and which actions there are. It has no SQL and no code: what is done to records
is put together here, from names that were checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from studio.agent.permission.invisible_characters import escape_line
from studio.agent.yaml_text import YamlError, load_yaml
from studio.domain.errors import ConfigurationError
from studio.domain.extensions import PACK_PAGE, Value
from studio.domain.records import dataclass
from studio.storage.pack_records import PackRecords

from .installed import InstalledPack, InstalledPacks

FieldKind: TypeAlias = Literal["line", "text", "number", "date", "yes"]
MOST_BYTES = 100_000
MOST_ROWS = 5_000
"""Rows that a page lists; the words that are looked for choose among all."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_WHOLE = 2**53
"""From here on not every whole number is one that a field can hold."""
_KEYS = {"title", "icon", "table", "key", "order", "list", "detail", "labels", "form", "actions"}


@dataclass(frozen=True, slots=True)
class FormField:
    """One field of a form, for one column."""

    name: str
    label: str
    kind: FieldKind = "line"
    required: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """What a person can do with a record: set columns, or delete it, which is asked about."""

    title: str
    set: Mapping[str, Value] = field(default_factory=dict[str, Value], hash=False)
    delete: bool = False


@dataclass(frozen=True, slots=True)
class PageSpec:
    """One page. ``key`` is the column that tells records apart; ``listed`` and ``shown`` are
    columns."""

    name: str
    title: str
    table: str
    key: str = "id"
    icon: str = "list"
    order: str = ""
    listed: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    form: tuple[FormField, ...] = ()
    actions: tuple[Action, ...] = ()

    def label(self, column: str) -> str:
        return self.labels.get(column) or column.replace("_", " ").capitalize()


def read_page(path: Path) -> PageSpec:
    """The page of a file; raises ConfigurationError that says what is wrong. Blocks."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES:,} bytes")
        return _page(path.stem, load_yaml(data.decode("utf-8-sig")))
    except OSError as error:
        raise ConfigurationError(f"{path.name} cannot be read: {error.strerror}.") from error
    except (ValueError, YamlError, RecursionError) as error:
        words = escape_line(str(error))
        raise ConfigurationError(f"{path.name} is no page that can be shown: {words}.") from error


def _page(name: str, found: Any) -> PageSpec:
    value = _object(found, "the file")
    if unknown := sorted(map(str, value.keys() - _KEYS)):
        raise ValueError(f"{', '.join(unknown)} is not known")
    listed, form = _columns(value, "list"), _form(value.get("form"))
    if not listed:
        raise ValueError("“list” needs the columns that are listed")
    labels = _object(value.get("labels", {}), "labels")
    labels = {str(key): escape_line(str(one), 80) for key, one in labels.items()}
    labels = {**{one.name: one.label for one in form}, **labels}
    return PageSpec(
        name,
        _words(value, "title") or name,
        _column(value.get("table"), "table"),
        _column(value.get("key", "id"), "key"),
        _icon(value.get("icon", "list")),
        _column(value["order"], "order") if "order" in value else "",
        listed,
        _columns(value, "detail") or listed,
        labels,
        form,
        tuple(_action(one) for one in _list(value.get("actions", []), "actions")),
    )


def _form(found: Any) -> tuple[FormField, ...]:
    fields: list[FormField] = []
    for name, said in _object(found or {}, "form").items():
        name, one = _column(name, "form"), _object(said or {}, f"form.{name}")
        if unknown := sorted(map(str, one.keys() - {"label", "kind", "required", "choices"})):
            raise ValueError(f"{', '.join(unknown)} of form.{name} is not known")
        kind = one.get("kind", "line")
        if kind not in get_args(FieldKind):
            raise ValueError(f"“kind” of form.{name} is none of {', '.join(get_args(FieldKind))}")
        label = _words(one, "label") or name.replace("_", " ").capitalize()
        choices = tuple(str(each) for each in _list(one.get("choices", []), "choices"))
        required = one.get("required") is True
        fields.append(FormField(name, label, cast("FieldKind", kind), required, choices))
    return tuple(fields)


def _action(found: Any) -> Action:
    one = _object(found, "an action")
    title = _words(one, "title")
    values = _object(one.get("set", {}), "set")
    delete = one.get("delete") is True
    if not title or bool(values) == delete or one.keys() - {"title", "set", "delete"}:
        raise ValueError("an action needs a “title”, and either “set” or “delete: true”")
    for column, value in values.items():
        _column(column, "set")
        if not isinstance(value, str | int | float | None):
            raise ValueError(f"the value of {column} is no text and no number")
    return Action(title, cast("dict[str, Value]", values), delete)


def _object(found: Any, what: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError(f"{what} has to be keys with values")
    return cast("dict[str, Any]", found)


def _list(found: Any, what: str) -> list[Any]:
    if not isinstance(found, list):
        raise ValueError(f"“{what}” has to be a list")
    return cast("list[Any]", found)


def _columns(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(_column(one, key) for one in _list(value.get(key, []), key))


def _column(found: Any, what: str) -> str:
    if not isinstance(found, str) or not _NAME.fullmatch(found):
        raise ValueError(f"“{what}” needs names of letters, digits and _")
    return found


def _icon(found: Any) -> str:
    if not isinstance(found, str) or not re.fullmatch(r"[a-z0-9-]{1,40}", found):
        raise ValueError("“icon” needs a name of lucide.dev, such as file-text")
    return found


def _words(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key, "")
    return escape_line(str(found), 80) if isinstance(found, str | int | float) else ""


class PageRecords:
    """The records behind one page. Blocks; raises StorageError, ToolFailed, ConfigurationError."""

    def __init__(self, spec: PageSpec, records: PackRecords) -> None:
        self.spec = spec
        self.records = records

    def list(self, words: str = "") -> list[dict[str, Value]]:
        """The records in whose listed columns every one of the words is."""
        spec = self.spec
        columns = ", ".join(_quoted(one) for one in dict.fromkeys((spec.key, *spec.listed)))
        each = [f"coalesce({_quoted(one)}, '')" for one in spec.listed]
        whole = " || ' ' || ".join(each)
        wanted = words.split()
        where = " AND ".join(f"instr(lower({whole}), lower(?)) > 0" for _ in wanted)
        return self.records.read(
            f"SELECT {columns} FROM {_quoted(spec.table)} {f'WHERE {where}' if where else ''} "
            f"ORDER BY {_quoted(spec.order or spec.key)} LIMIT {MOST_ROWS}",
            *wanted,
        )

    def get(self, id: Value) -> dict[str, Value] | None:
        """One record, with what is shown of it and what its form fills in."""
        spec = self.spec
        names = dict.fromkeys((spec.key, *spec.shown, *(one.name for one in spec.form)))
        columns = ", ".join(map(_quoted, names))
        where = f"{_quoted(spec.key)} = ?"
        rows = self.records.read(f"SELECT {columns} FROM {_quoted(spec.table)} WHERE {where}", id)
        return rows[0] if rows else None

    def save(self, id: Value, texts: Mapping[str, str]) -> Value:
        """Add a record, or change one; returns its key. ``texts`` are those of the form."""
        values = {one.name: _value(one, texts.get(one.name, "")) for one in self.spec.form}
        table = _quoted(self.spec.table)
        if id is None:
            names = ", ".join(map(_quoted, values))
            places = ", ".join("?" for _ in values)
            return self.records.write(
                f"INSERT INTO {table} ({names}) VALUES ({places})", *values.values()
            )
        self._set(id, values)
        return id

    def act(self, id: Value, action: Action) -> None:
        if action.delete:
            where = f"{_quoted(self.spec.key)} = ?"
            self.records.write(f"DELETE FROM {_quoted(self.spec.table)} WHERE {where}", id)
        else:
            self._set(id, action.set)

    def _set(self, id: Value, values: Mapping[str, Value]) -> None:
        sets = ", ".join(f"{_quoted(one)} = ?" for one in values)
        where = f"{_quoted(self.spec.key)} = ?"
        self.records.write(
            f"UPDATE {_quoted(self.spec.table)} SET {sets} WHERE {where}", *values.values(), id
        )


def _quoted(name: str) -> str:
    return f'"{name}"'


def _value(field: FormField, text: str) -> Value:
    """What a field's text means; raises ConfigurationError that names the field."""
    text = text.strip()
    if field.kind == "yes":
        return int(text == "yes")
    if not text:
        if field.required:
            raise ConfigurationError(f"{field.label} is missing.")
        return None
    if field.choices and text not in field.choices:
        raise ConfigurationError(f"{field.label} is one of: {', '.join(field.choices)}.")
    if field.kind == "date" and not _is_date(text):
        raise ConfigurationError(f"{field.label} is a date, like 2026-11-26.")
    if field.kind == "number":
        try:
            number = float(text.replace(",", "."))
            if not isfinite(number):
                raise ValueError
        except ValueError:
            raise ConfigurationError(f"{field.label} is a number.") from None
        return int(number) if number.is_integer() and abs(number) < _WHOLE else number
    return text


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:  # 31 February
        return False


@dataclass(frozen=True, slots=True)
class PackPage:
    """A page that a pack brings; ``id`` tells it apart from all others."""

    pack: InstalledPack
    spec: PageSpec

    @property
    def id(self) -> str:
        return f"{PACK_PAGE}{self.pack.id}/{self.spec.name}"

    def open(self) -> PageRecords:
        """Its records, with a connection of their own; raises StorageError."""
        return PageRecords(self.spec, self.pack.open_records())


def find_pages(packs: InstalledPacks) -> tuple[list[PackPage], list[str]]:
    """The pages of the packs that run, and what is wrong with others. Blocks."""
    found: list[PackPage] = []
    problems: list[str] = []
    for pack, part in packs.running("pages"):
        for path in part.files:
            if path.suffix.lower() != ".yaml":
                continue  # a page by widgets
            try:
                found.append(PackPage(pack, read_page(path)))
            except ConfigurationError as error:
                problems.append(f"{pack.name}, {error}")
    return found, problems
