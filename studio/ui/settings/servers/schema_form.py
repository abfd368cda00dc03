"""Fields for the arguments of a tool, made from its schema.

Texts, numbers, switches, choices and lists of texts have fields of their own; what else a schema
may ask for is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Combo, Field, Label, MenuItem, Toggle, plain_tip
from studio.ui.widgets.layouts import STRETCH, column_of, row_of

from .text_area import TextArea

NOT_GIVEN = ""
NAMES_WIDTH = 76


class SchemaForm(QWidget):
    """A row for each property of an object's schema; ``value`` has what is filled in.

    Properties that are not filled in are left out, so that the server's defaults hold.
    """

    changed = Signal()

    def __init__(self, theme: Theme, schema: JsonObject) -> None:
        super().__init__()
        self.theme = theme
        required = schema.get("required")
        names = cast("list[Json]", required) if isinstance(required, list) else []
        self.rows: dict[str, _Property] = {}
        column = column_of(spacing=8, on=self)
        for name, about in as_object(schema.get("properties")).items():
            row = _Property(theme, name, _plain(about, schema), name in names)
            row.changed.connect(self.changed)
            self.rows[name] = row
            column.addWidget(row)
        if not self.rows:
            column.addWidget(Label(theme, tr("It takes no arguments."), "small", "text2"))

    def value(self) -> JsonObject:
        """The arguments; raises ValueError that says what is wrong with one."""
        found: JsonObject = {}
        for name, row in self.rows.items():
            given, value = row.value()
            if given:
                found[name] = value
        return found

    def show_value(self, value: JsonObject) -> None:
        for name, row in self.rows.items():
            row.show_value(value.get(name), name in value)


class _Property(QWidget):
    """One property: its name, the control, and what the schema says of it."""

    changed = Signal()

    def __init__(self, theme: Theme, name: str, about: JsonObject, required: bool) -> None:
        super().__init__()
        self._theme, self._name, self._about, self._required = theme, name, about, required
        self._kind = _kind(about)
        self._touched = False
        self._choices = _choices(about)
        told = as_text(about.get("description")) or as_text(about.get("title"))
        words = joined((name, tr("required") if required else ""))
        label = self.label = Label(theme, name, "small", wrap=True)
        label.setToolTip(plain_tip(told or words))
        self._follow()
        theme.changed.connect(self._follow)
        self.field: Field | None = None
        self.toggle: Toggle | None = None
        self.combo: Combo | None = None
        self.area: TextArea | None = None
        default = about.get("default")
        control: QWidget
        beside = ""
        if self._choices:
            control = self.combo = Combo(theme, words)
            items = [MenuItem(str(at), _shown(one)) for at, one in enumerate(self._choices)]
            self.combo.set_items([MenuItem("none", tr("Not given")), *items])
            self.combo.set_current("none")
            self.combo.chosen.connect(self._was_changed)
        elif self._kind == "boolean":
            control = self.toggle = Toggle(theme, words)
            self.toggle.show_value(default is True)
            self.toggle.toggled.connect(self._was_changed)
            if isinstance(default, bool):
                beside = tr("default on") if default else tr("default off")
        elif self._kind in ("json", "texts"):
            hint = tr("One on each line") if self._kind == "texts" else tr("JSON")
            control = self.area = TextArea(theme, words, hint, lines=2)
            self.area.edit.textChanged.connect(self._was_changed)
        else:
            hint = _shown(default) if default is not None else ""
            control = self.field = Field(theme, hint, name=words)
            self.field.textEdited.connect(self._was_changed)
        control.setToolTip(plain_tip(told))
        control.setAccessibleDescription(told)
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignVCenter
        place = top if self.area is not None else middle
        parts: list[object] = [(label, place)]
        if self.toggle is not None:
            parts += [(control, middle), Label(theme, beside, "small", "text2"), STRETCH]
        else:
            parts.append((control, 1))
        row_of(parts, spacing=10, on=self)  # type: ignore[arg-type]

    def _follow(self) -> None:
        self.label.setFixedWidth(self._theme.px(NAMES_WIDTH))

    def _was_changed(self, *_: object) -> None:
        self._touched = True
        self.changed.emit()

    def value(self) -> tuple[bool, Json]:
        """Whether a value is given, and which."""
        if self.combo is not None:
            key = self.combo.current
            return (False, None) if key in ("", "none") else (True, self._choices[int(key)])
        if self.toggle is not None:
            return self._touched or self._required, self.toggle.isChecked()
        text = self.area.text if self.area is not None else self.field.text() if self.field else ""
        if not text and not (self._touched and self._required and self._kind == "string"):
            return False, None
        return True, self._read(text)

    def _read(self, text: str) -> Json:
        if self._kind == "texts":
            return [line for line in text.splitlines() if line.strip()]
        if self._kind == "string":
            return text
        try:
            value: Json = json.loads(text)
        except ValueError:
            value = None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if self._kind == "integer" and not (number and float(cast("float", value)).is_integer()):
            raise ValueError(tr("{name} is a whole number.").format(name=self._name))
        if self._kind == "number" and not number:
            raise ValueError(tr("{name} is a number.").format(name=self._name))
        if self._kind == "json" and value is None and text.strip() != "null":
            raise ValueError(tr("{name} is written as JSON.").format(name=self._name))
        return value

    def show_value(self, value: Json, given: bool) -> None:
        self._touched = given
        if self.combo is not None:
            at = self._choices.index(value) if given and value in self._choices else -1
            self.combo.set_current(str(at) if at >= 0 else "none")
        elif self.toggle is not None:
            self.toggle.show_value(value is True if given else self._about.get("default") is True)
        elif self.area is not None:
            self.area.show_text(_lines(value, self._kind) if given else "")
        elif self.field is not None:
            self.field.setText(_shown(value) if given else "")


def _lines(value: Json, kind: str) -> str:
    if kind == "texts" and isinstance(value, list):
        return "\n".join(_shown(one) for one in value)
    return json.dumps(value, ensure_ascii=False, indent=1)


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(about: Json, root: JsonObject) -> JsonObject:
    """A property's schema, with what it refers to in the same schema put in."""
    found = as_object(about)
    for _ in range(8):
        reference = as_text(found.get("$ref"))
        if not reference.startswith("#/"):
            break
        target: Json = root
        for part in reference[2:].split("/"):
            target = as_object(target).get(part.replace("~1", "/").replace("~0", "~"))
        found = {**as_object(target), **{k: v for k, v in found.items() if k != "$ref"}}
    for word in ("anyOf", "oneOf"):
        options = found.get(word)
        if isinstance(options, list):
            real = [as_object(one) for one in options if as_object(one).get("type") != "null"]
            if len(real) == 1:  # “or nothing”
                found = {**_plain(real[0], root), **found}
    return found


def _kind(about: Mapping[str, Json]) -> str:
    kind = about.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        kind = kinds[0] if len(kinds) == 1 else "json"
    if kind == "array":
        return "texts" if as_object(about.get("items")).get("type") == "string" else "json"
    return kind if kind in ("string", "integer", "number", "boolean") else "json"


def _choices(about: JsonObject) -> list[Json]:
    choices = about.get("enum")
    return choices if isinstance(choices, list) and len(choices) <= 200 else []
