"""The values of the chosen step, to be changed one by one; the text changes only there (W-61)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.agents import Agent
from studio.domain.workflows import Step
from studio.ui.formatting import plain
from studio.ui.theme import Theme
from studio.ui.translation import locale, tr, tr_in
from studio.ui.widgets import (
    Button,
    Card,
    Combo,
    Field,
    Hairline,
    IconButton,
    Label,
    MenuItem,
    PaintedButton,
    Tile,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, centred, paint_rounded, paint_text
from studio.ui.widgets.panels import scrolled

from .workflow_graph import node_of

if TYPE_CHECKING:
    from studio.workflows.editing import Path, Value

NONE = "-"
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60))
_TIME = re.compile(r"\d+([.,]\d+)?\s*[smhd]?")
CHIPS = 2
"""Steps that it needs, each with a button of its own."""
MOST_OF_CHIP = 84
"""Pixels of its name."""
OFTEN = 3
"""How often a step is done again, where the person has only said from where."""


class Chip(PaintedButton):
    """A name with a cross, which takes it out."""

    radius = 5

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__(theme)
        self.setText(text)

    def sizeHint(self) -> QSize:
        t = self.theme
        wide = min(t.metrics("small").horizontalAdvance(self.text()), t.px(MOST_OF_CHIP))
        return QSize(wide + t.px(8 + 4 + 12 + 6), t.height(22, "small"))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, side = self.theme, self.theme.px(12)
        paint_rounded(painter, rect, self.radius, t.color("track"))
        self.paint_overlay(painter, rect)
        room = rect.width() - t.px(8 + 4 + 6) - side
        words = QRectF(t.px(8), 0, room, rect.height())
        ink = "text1" if self.isEnabled() else "text3"
        paint_text(painter, t, words, self.text(), "small", ink, room=room)
        mark = QRectF(rect.right() - t.px(6) - side, 0, side, rect.height())
        t.paint_icon(painter, centred(mark, side), "x", "text2")


class StepProperties(PaintedWidget):
    """Below the canvas: agent, model, needs, limits and way back of a step."""

    ground = "window"
    changed = Signal(str, object, object)
    """A step, a key of it, or two of one in the other, and its value; None takes it out."""
    need_toggled = Signal(str, str)
    """A step and one that this one is not to need any more."""
    needs_wanted = Signal()
    """The person wants to choose what it needs."""
    text_wanted = Signal(str)
    """The person wants to write a key in the text."""
    stop_wanted = Signal()
    menu_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._step = Step("", "set")
        self._needs: list[Chip] = []
        self._named: tuple[str, ...] = ()
        """The step whose needs have buttons, and these."""
        self.tile = Tile(theme, "workflow", "slate")
        self.title = Label(theme, "", "heading")
        self.lines = Label(theme, "", "small", "text2")
        self.stop = Button(
            theme, tr("Breakpoint"), "ghost", "octagon-pause", clicked=self.stop_wanted.emit
        )
        self.stop.setCheckable(True)
        self.more = IconButton(theme, "ellipsis", tr("More"), clicked=self.menu_wanted.emit)
        self.agent = Combo(theme, tr("Agent"), chosen=lambda key: self._set(("agent",), key))
        self.model = Combo(theme, tr("Model"), chosen=self._choose_model)
        self.target = self._field(tr("What it does"), self._typed_target)
        self.need = Button(theme, tr("Add a step"), "ghost", small=True)
        self.need.setAccessibleName(tr("Needs…"))
        self.need.clicked.connect(self.needs_wanted)
        self._rest = Label(theme, "", "ui", "text2")
        self.limit = self._field(tr("Time limit"), self._typed_limit)
        self.redo = Combo(theme, tr("Do again from"), chosen=self._choose_redo)
        self.when = self._field(tr("Do again when"), self._typed_when, "code")
        self.most = self._field(tr("Times at most"), self._typed_most)
        self.budget = self._field(tr("Budget in dollars"), self._typed_budget)
        self.outputs = Label(theme, "", "small", "text2")
        self.outputs.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.edit = Button(theme, tr("Edit…"), "link")
        self.edit.clicked.connect(lambda: self.text_wanted.emit("outputs"))
        self._lay_out()

    def _field(self, name: str, typed: Callable[[Field], None], role: str = "ui") -> Field:
        field = Field(self.theme, name=name, role=role)
        field.editingFinished.connect(lambda: typed(field))
        return field

    def _lay_out(self) -> None:
        t = self.theme

        def named(text: str, part: QWidget) -> QWidget:
            return widget_of(column_of([Label(t, text, "small", "text2"), part], spacing=4))

        self._named_agent = named(tr("Agent"), self.agent)
        self._named_model = named(tr("Model"), self.model)
        self._named_target = named(tr("What it does"), self.target)
        needs = Card(t, "button", radius=6)
        self._needs_row = row_of([self._rest, self.need, STRETCH], 4, (4, 0, 4, 0), needs)
        needs.setFixedHeight(t.height(30))
        self.most.setFixedWidth(t.px(48))
        from_, when, most = (
            Label(t, words, "ui")
            for words in (
                tr_in("do again", "From"),
                tr_in("do again", "when"),
                tr_in("do again", "at most"),
            )
        )
        self._way = (from_, when, self.when, most, self.most)
        way = row_of([from_, (self.redo, 2), when, (self.when, 4), most, self.most], spacing=8)
        outputs = widget_of(row_of([(self.outputs, 1), self.edit], spacing=8))
        parts = [
            row_of([(self._named_agent, 1), (self._named_model, 1)], spacing=16),
            self._named_target,
            row_of(
                [
                    (named(tr("Needs"), needs), 1),
                    (named(tr("Time limit"), self.limit), 1),
                ],
                spacing=16,
            ),
            named(tr("Do again"), widget_of(way)),
            row_of(
                [(named(tr("Budget"), self.budget), 1), (named(tr("Outputs"), outputs), 1)],
                spacing=16,
            ),
            Label(
                t,
                tr("A change here rewrites only its own words. Comments stay."),
                *("small", "text2"),
                wrap=True,
            ),
            STRETCH,
        ]
        inner = widget_of(column_of(parts, spacing=10, margins=(16, 4, 16, 12)))
        area = scrolled(inner)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head = row_of(
            [self.tile, self.title, self.lines, STRETCH, self.stop, self.more], 8, (16, 8, 10, 4)
        )
        column_of([Hairline(t), head, (area, 1)], spacing=0, on=self)

    # What it shows

    def show_step(
        self,
        step: Step,
        others: Sequence[Step],
        agents: Mapping[str, Agent],
        models: Sequence[MenuItem],
    ) -> None:
        """Show a step; ``others`` are those that it may go back to."""
        self._step = step
        node = node_of(step, agents)
        self.tile.set(node.icon, node.hue)
        self.title.setText(step.id)
        acts = step.kind == "agent"
        self._named_agent.setVisible(acts)
        self._named_model.setVisible(acts)
        self._named_target.setVisible(step.kind in ("run", "approve", "ask", "check", "workflow"))
        self.target.set_unless_typing(step.target)
        names = sorted({*agents, step.target} - {""}, key=str.casefold) if acts else []
        self.agent.set_items([MenuItem(name, name) for name in names])
        self.agent.set_current(step.target)
        usual = agents.get(step.target)
        words = tr("As the agent")
        if usual is not None and usual.model:
            words = tr("As the agent, {model}").format(model=usual.model)
        items = [MenuItem(NONE, words), *models]
        if step.model and all(one.key != step.model for one in items):
            items.insert(1, MenuItem(step.model, step.model))
        self.model.set_items(items)
        self.model.set_current(step.model or NONE)
        self._show_needs(step)
        self.limit.set_unless_typing(_time(step.timeout))
        self.limit.setPlaceholderText(tr("No limit of its own"))
        redo = step.redo
        starts = [MenuItem(NONE, tr("Never"))]
        starts += [MenuItem(one.id, one.id) for one in (*others, step)]
        self.redo.set_items(starts)
        self.redo.set_current(redo.start if redo is not None else NONE)
        self.when.set_unless_typing(redo.when if redo is not None else "")
        self.most.set_unless_typing(str(redo.most) if redo is not None else "")
        for part in self._way:
            part.setVisible(redo is not None)
        dollars = step.budget.caps.dollars
        self.budget.set_unless_typing(plain(dollars) if dollars else "")
        self.budget.setPlaceholderText(tr("No limit of its own"))
        self.outputs.setText(outputs_of(step) or tr("None"))

    def _show_needs(self, step: Step) -> None:
        """A button for the first steps that it names among its needs, and how many others."""
        more = len(step.needs) - CHIPS
        self._rest.setText(f"+{more}" if more > 0 else "")
        if self._named == (step.id, *step.needs):
            return
        self._named = (step.id, *step.needs)
        while self._needs:
            old = self._needs.pop()
            self._needs_row.removeWidget(old)
            old.deleteLater()
        for at, need in enumerate(step.needs[:CHIPS]):
            chip = Chip(self.theme, need)
            chip.setAccessibleName(tr("Needs {step}. Press to take it out.").format(step=need))
            chip.clicked.connect(lambda _=False, need=need: self.need_toggled.emit(step.id, need))
            self._needs_row.insertWidget(at, chip)
            self._needs.append(chip)

    def show_place(self, first: int, last: int, *, stops: bool) -> None:
        """Show where the step stands in the text, and whether runs stop before it."""
        self.lines.setText(tr("lines {first} to {last}").format(first=first, last=last))
        self.stop.setChecked(stops)

    def allow(self, editable: bool) -> None:
        """Whether the text can be changed."""
        controls = (self.agent, self.model, self.target, self.need, self.limit, self.redo)
        for one in (*controls, self.when, self.most, self.budget, *self._needs):
            one.setEnabled(editable)

    # What the person changes

    def _set(self, path: Path, value: Value) -> None:
        self.changed.emit(self._step.id, path, value)

    def _choose_model(self, key: str) -> None:
        self._set(("model",), None if key == NONE else key)

    def _typed_target(self, field: Field) -> None:
        text = field.text().strip()
        field.setModified(False)
        if text and text != self._step.target:
            self._set((self._step.kind,), text)

    def _typed_limit(self, field: Field) -> None:
        text = field.text().strip().casefold().removesuffix("in").strip()
        if text and not _TIME.fullmatch(text):
            field.set_error(tr("Write a time such as 90s, 5m or 2h."))
            return
        field.set_error()
        field.setModified(False)
        value = text.replace(" ", "").replace(",", ".")
        if value != _time(self._step.timeout).replace(" ", ""):
            self._set(("timeout",), (int(value) if value.isdigit() else value) if value else None)

    def _choose_redo(self, key: str) -> None:
        redo = self._step.redo
        if key == NONE:
            self._set(("redo",), None)
        elif redo is not None:
            self._set(("redo", "from"), key)
        else:
            flags = flags_of(self._step)
            when = f"not outputs.{flags[0]}" if flags else "not outputs"
            self._set(("redo",), {"from": key, "when": when, "max": OFTEN})

    def _typed_when(self, field: Field) -> None:
        text = field.text().strip()
        field.setModified(False)
        if text and self._step.redo is not None and text != self._step.redo.when:
            self._set(("redo", "when"), text)

    def _typed_most(self, field: Field) -> None:
        text = field.text().strip()
        if not text.isdigit() or not 0 < int(text) <= 100:
            field.set_error(tr("This is not a number from 1 to 100."))
            return
        field.set_error()
        field.setModified(False)
        if self._step.redo is not None and int(text) != self._step.redo.most:
            self._set(("redo", "max"), int(text))

    def _typed_budget(self, field: Field) -> None:
        value, right = locale().toDouble(field.text())
        written = bool(field.text().strip())
        if written and not (right and 0 < value < 1_000_000):
            field.set_error(tr("This is not a number."))
            return
        field.set_error()
        field.setModified(False)
        if value != self._step.budget.caps.dollars:
            self._set(("budget", "dollars"), value if written else None)


def flags_of(step: Step) -> list[str]:
    """The outputs of a step that are true or false, by name."""
    return [name for name, one in _properties(step).items() if one.get("type") == "boolean"]


def outputs_of(step: Step) -> str:
    """“passed true or false, parts list”."""
    types = {
        "string": tr_in("a type", "text"),
        "number": tr_in("a type", "number"),
        "integer": tr_in("a type", "whole number"),
        "boolean": tr_in("a type", "true or false"),
        "array": tr_in("a type", "list"),
        "object": tr_in("a type", "values"),
    }
    return ", ".join(
        f"{name} {types.get(str(one.get('type')), '')}".strip()
        for name, one in _properties(step).items()
    )


def _properties(step: Step) -> Mapping[str, Mapping[str, object]]:
    found = (step.outputs or {}).get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {name: one for name, one in found.items() if isinstance(one, Mapping)}


def _time(seconds: float) -> str:
    """“5 m” for a time; empty for none."""
    if not seconds:
        return ""
    for unit, length in _UNITS:
        if seconds % length == 0:
            return f"{seconds // length:.0f}{unit}"
    return f"{seconds:g}s"


def line_numbers(text: str, start: int, end: int) -> tuple[int, int]:
    """The first and the last line of a part of a text."""
    return text.count("\n", 0, start) + 1, text.count("\n", 0, max(start, end - 1)) + 1
