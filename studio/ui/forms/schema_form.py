"""Fields for the properties of a schema.

Texts, numbers, switches, choices and lists of texts have fields of their own; what else a schema
may ask for is written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.domain.forms import SECRET, FormField, fields_of
from studio.domain.jsonvalue import Json, JsonObject
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Check, Combo, Field, Label, MenuItem, Toggle, plain_tip
from studio.ui.widgets.breakable import breakable
from studio.ui.widgets.layouts import STRETCH, PlacedPart, WrappingRow, column_of, row_of, widget_of

from .text_area import TextArea

NAMES = 76, 168
"""The narrowest and the widest column of names, in pixels."""


class SchemaForm(QWidget):
    """A row for each property of an object's schema; ``value`` has what is filled in.

    Properties that are not filled in are left out, so that the server's defaults hold. With
    ``asked`` the person is asked for all of it: defaults are filled in already, what is required
    is checked, and what the schema says of a property stands below it.
    """

    changed = Signal()
    entered = Signal()
    """Enter was pressed in a field of one line."""

    def __init__(self, theme: Theme, schema: JsonObject, *, asked: bool = False) -> None:
        super().__init__()
        self.theme = theme
        self.rows: dict[str, _Property] = {}
        column = column_of(spacing=8, on=self)
        for one in fields_of(schema):
            row = _Property(theme, one, asked=asked)
            row.changed.connect(self.changed)
            row.entered.connect(self.entered)
            self.rows[one.name] = row
            column.addWidget(row)
        if not self.rows and not asked:
            column.addWidget(Label(theme, tr("It takes no arguments."), "small", "text2"))
        self._follow()
        theme.changed.connect(self._follow)

    @property
    def warns(self) -> bool:
        """Whether it seems to ask for a secret."""
        return any(row.field.secret for row in self.rows.values())

    def value(self) -> JsonObject:
        """What is filled in; raises ValueError that says what is wrong, and goes there."""
        found: JsonObject = {}
        wrong: list[tuple[_Property, str]] = []
        for name, row in self.rows.items():
            problem = ""
            try:
                given, value = row.value()
                if given:
                    found[name] = value
            except ValueError as error:
                problem = tr_engine(str(error))
                wrong.append((row, problem))
            row.show_problem(problem)
        if wrong:
            wrong[0][0].control.setFocus(Qt.FocusReason.OtherFocusReason)
            raise ValueError(wrong[0][1])
        return found

    def show_value(self, value: JsonObject) -> None:
        for name, row in self.rows.items():
            row.show_value(value.get(name), name in value)

    def focus_first(self) -> None:
        for row in self.rows.values():
            row.control.setFocus(Qt.FocusReason.OtherFocusReason)
            return

    def _follow(self) -> None:
        """Give all names the width of the longest, within bounds; longer ones wrap."""
        t = self.theme
        least, most = map(t.px, NAMES)
        wide = [t.metrics("small").horizontalAdvance(row.field.title) for row in self.rows.values()]
        width = min(max([least, *wide]) + 2, most)
        for row in self.rows.values():
            row.names.setFixedWidth(width)


class _Property(QWidget):
    """One property: its name, the control, and what the schema says of it."""

    changed = Signal()
    entered = Signal()

    def __init__(self, theme: Theme, field: FormField, *, asked: bool) -> None:
        super().__init__()
        self._theme, self.field, self._asked = theme, field, asked
        self._touched = False
        needed = tr("required") if field.required else ""
        self._words = joined((field.title, needed))
        name = Label(theme, breakable(field.title), "small", wrap=True)
        name.setToolTip(plain_tip(field.about or self._words))
        mark = Label(theme, needed, "label", "text3")
        if not field.required:
            mark.hide()
        self.names = widget_of(column_of([name, mark], spacing=0))
        self.line: Field | None = None
        self.toggle: Toggle | None = None
        self.combo: Combo | None = None
        self.area: TextArea | None = None
        self.checks: list[Check] = []
        self._default = Label(theme, "", "small", "text2")
        self.control = self._made()
        self.control.setToolTip(plain_tip(field.about))
        self.control.setAccessibleDescription(field.about)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.fill_in()
        middle = Qt.AlignmentFlag.AlignVCenter
        control: PlacedPart = self._placed()
        if self.toggle is not None:
            control = row_of([(self.toggle, middle), (self._default, middle), STRETCH], spacing=8)
        parts: list[PlacedPart] = [control]
        if asked and field.about:
            parts.append(Label(theme, field.about, "small", "text2", wrap=True))
        if field.secret:
            parts.append(Label(theme, tr_engine(SECRET), "small", "warn", wrap=True))
        beside = column_of([*parts, self.problem], spacing=3)
        plain = len(parts) == 1 and self.area is None and not self.checks
        place = middle if plain else Qt.AlignmentFlag.AlignTop
        row_of([(self.names, place), (beside, 1)], spacing=10, on=self)

    def _made(self) -> QWidget:
        """The control for the kind of the field; of several checks the first."""
        theme, field = self._theme, self.field
        match field.kind:
            case "choice":
                self.combo = Combo(theme, self._words, tr("Not given"))
                items = [MenuItem(str(at), one.title) for at, one in enumerate(field.choices)]
                none = [] if self._asked and field.required else [MenuItem("none", tr("Not given"))]
                self.combo.set_items([*none, *items])
                self.combo.chosen.connect(self._was_changed)
                return self.combo
            case "choices":
                self.checks = [Check(theme, one.title) for one in field.choices]
                for check in self.checks:
                    check.setAccessibleName(joined((self._words, check.text())))
                    check.toggled.connect(self._was_changed)
                return self.checks[0]
            case "switch":
                self.toggle = Toggle(theme, self._words)
                self.toggle.toggled.connect(self._was_changed)
                return self.toggle
            case "json" | "texts":
                hint = tr("One on each line") if field.kind == "texts" else tr("JSON")
                self.area = TextArea(theme, self._words, hint, lines=2)
                self.area.edit.textChanged.connect(self._was_changed)
                return self.area.edit
            case _:
                default = field.default
                hint = "" if default is None or self._asked else field.shown(default)
                self.line = Field(theme, hint, name=self._words)
                self.line.textEdited.connect(self._was_changed)
                self.line.returnPressed.connect(self.entered)
                return self.line

    def _placed(self) -> QWidget:
        if self.checks:
            return WrappingRow(self.checks, spacing=14, between=2)
        return self.area or self.control

    def _was_changed(self, *_: object) -> None:
        self._touched = True
        self.show_problem("")
        self.changed.emit()

    def show_problem(self, problem: str) -> None:
        """Mark the value as wrong, with what is wrong below; empty marks it as right."""
        self.problem.show_text(problem)
        if self.line is not None and self.line.error != problem:
            self.line.set_error(problem)
        elif self.area is not None:
            self.area.set_error(problem)

    def fill_in(self) -> None:
        """Begin with the default: filled in where the person is asked, else told beside it."""
        default = self.field.default
        self.show_value(default, self._asked and default is not None)
        if isinstance(default, bool) and not self._asked:
            self._default.setText(tr("default on") if default else tr("default off"))
        self._touched = False

    def value(self) -> tuple[bool, Json]:
        """Whether a value is given, and which; raises ValueError that says what is wrong."""
        field, given, value = self.field, True, None
        if self.combo is not None:
            key = self.combo.current
            given = key not in ("", "none")
            value = field.choices[int(key)].value if given else None
        elif self.toggle is not None:
            given = self._touched or field.required or self._asked
            value = self.toggle.isChecked()
        elif self.checks:
            pairs = zip(field.choices, self.checks, strict=True)
            chosen: list[Json] = [one.value for one, check in pairs if check.isChecked()]
            given, value = bool(chosen) or self._touched, chosen
        else:
            text = (
                self.area.text if self.area is not None else self.line.text() if self.line else ""
            )
            empty_text = field.kind == "text" and self._touched and field.required
            given = bool(text) or (empty_text and not self._asked)
            value = field.read(text) if given else None
        if self._asked and field.required and (not given or value == []):
            raise ValueError(f"{field.title} is needed.")
        if self._asked and given and (problem := field.problem(value)):
            raise ValueError(problem)
        return given, value

    def show_value(self, value: Json, given: bool) -> None:
        self._touched = given
        field = self.field
        if self.combo is not None:
            values = [one.value for one in field.choices]
            at = str(values.index(value)) if given and value in values else "none"
            self.combo.set_current(at)
        elif self.toggle is not None:
            self.toggle.show_value(value is True if given else field.default is True)
        elif self.checks:
            chosen: Sequence[Json] = value if given and isinstance(value, list) else ()
            for one, check in zip(field.choices, self.checks, strict=True):
                check.setChecked(one.value in chosen)
        elif self.area is not None:
            self.area.show_text(_lines(value, field.kind) if given else "")
        elif self.line is not None:
            self.line.setText(_shown(value) if given else "")


def _lines(value: Json, kind: str) -> str:
    if kind == "texts" and isinstance(value, list):
        return "\n".join(_shown(one) for one in value)
    return json.dumps(value, ensure_ascii=False, indent=1)


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
