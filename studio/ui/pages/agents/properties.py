"""The values of an agent's file, to be changed one by one; the text changes only there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from studio.agent.agent_files.parser import AgentText
from studio.domain.agents import HUES
from studio.domain.tools import ToolSpec
from studio.ui.chat.model.session_options import EFFORT_NAMES
from studio.ui.formatting import number, plain, short_count
from studio.ui.theme import ICONS_OF_AGENTS, Theme
from studio.ui.translation import locale, tr, tr_later
from studio.ui.widgets import (
    Combo,
    Field,
    Hairline,
    IconButton,
    Label,
    MenuItem,
    PaintedButton,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, PlacedPart, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_tile
from studio.ui.widgets.panels import scrolled

from .agent_users import AgentUser, UserRow
from .tool_rows import FoldHead, ServerSection, ToolRow, verdicts

ROLE_NAMES = {
    "all": tr_later("Everything it has tools for"),
    "edits": tr_later("Read, draft, take notes"),
    "notes": tr_later("Read and take notes"),
    "reads": tr_later("Only read"),
}
MODE_NAMES = {
    "background": tr_later("Background: takes its time"),
    "inline": tr_later("Inline: answers soon"),
    "long": tr_later("Long: works for up to an hour"),
}
_USUAL = "usual"
LIMITS = (
    ("steps", tr_later("Steps"), True),
    ("seconds", tr_later("Seconds"), False),
    ("tokens", tr_later("Tokens"), True),
    ("dollars", tr_later("Dollars"), False),
)
"""Keys of numbers, and whether they are whole."""
CHILDREN = (("children", tr_later("At a time")), ("depth", tr_later("How deep")))
"""Keys of numbers about agents that this one starts."""


class _Swatch(PaintedButton):
    """An icon or a hue to choose."""

    radius = 6

    def __init__(self, theme: Theme, name: str, icon: str, hue: str) -> None:
        super().__init__(theme)
        self.icon_name, self.hue = icon, hue
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(name))

    def sizeHint(self) -> QSize:
        side = max(24, self.theme.px(26))
        return QSize(side, side)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.setOpacity(1.0 if self.isEnabled() else 0.6)
        ink, tile = t.hue(self.hue)
        if self.isChecked():
            paint_rounded(painter, rect, 7, None, t.color("accent_text"), 2)
        elif self.overlay():
            paint_rounded(painter, rect, 7, t.color("hover"))
        inner = rect.adjusted(3, 3, -3, -3)
        if self.icon_name:
            paint_tile(painter, t, inner, self.icon_name, self.hue)
        else:
            paint_rounded(painter, inner, 5, tile)
            side = inner.width() * 0.42
            dot = QRectF(0, 0, side, side)
            dot.moveCenter(inner.center())
            paint_rounded(painter, dot, side / 2, ink)


class Properties(PaintedWidget):
    """The column at the right of the editor."""

    ground = "window"
    values_changed = Signal(object)
    """New values by their keys, for one step; None takes a key out."""
    tool_changed = Signal(str, str)
    """The name of a tool and a verdict, or ``off``."""
    user_wanted = Signal(object)
    """An ``AgentUser``, to be opened."""

    def __init__(self, theme: Theme, tools: Sequence[ToolSpec]) -> None:
        super().__init__(theme)
        self._shown: dict[str, Any] = {}
        self._usable = False
        self._file = ""
        self._listed: set[str] = set()
        """The tools that are shown without ``more_tools``: those that the agent has, and had since
        its file is shown."""
        self.title = Label(theme, "", "heading")
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.more = IconButton(theme, "ellipsis", tr("More"))
        self.name = self._field("name", tr("Name"))
        self.about = self._field("description", tr("Description"))
        self.model = Combo(theme, tr("Model"), chosen=self._choose_model)
        self.fallback = self._names_field("fallback", tr("If it fails"))
        efforts = {_USUAL: tr_later("The model’s own"), **EFFORT_NAMES}
        self.effort = self._combo("effort", tr("Effort"), efforts)
        self.role = self._combo("role", tr("May use"), ROLE_NAMES)
        self.mode = self._combo("mode", tr("Mode"), MODE_NAMES)
        self.limits = {key: self._limit(key, tr(words), whole) for key, words, whole in LIMITS}
        self.agents = self._names_field("agents", tr("May start"))
        self.children_limits = {key: self._limit(key, tr(words), True) for key, words in CHILDREN}
        self.icons = [_Swatch(theme, icon, icon, "slate") for icon in ICONS_OF_AGENTS]
        self.hues = [_Swatch(theme, hue, "", hue) for hue in HUES]
        for swatch in self.icons:
            swatch.clicked.connect(lambda _=False, s=swatch: self._choose("icon", s.icon_name))
        for swatch in self.hues:
            swatch.clicked.connect(lambda _=False, s=swatch: self._choose("hue", s.hue))
        self.tools = {spec.name: ToolRow(theme, spec) for spec in tools}
        for name, row in self.tools.items():
            row.chosen.connect(lambda verdict, name=name: self.tool_changed.emit(name, verdict))
        self.details = FoldHead(theme, "sliders-horizontal", tr("Name, look and limits"))
        self.more_tools = FoldHead(theme, "plus", tr("More tools"))
        self.more_tools.toggled.connect(lambda _: self._show_tools(self._usable))
        self.users: list[UserRow] = []
        self.servers: dict[str, ServerSection] = {}
        self._servers = column_of(spacing=0)
        self.count = Label(theme, "", "ui", "text2", digits=True)
        self.used = [Label(theme, "", "ui_medium", digits=True) for _ in range(3)]
        self._lay_out()

    def _lay_out(self) -> None:
        t = self.theme

        def heading(text: str) -> Label:
            return Label(t, text, "small_strong")

        names = (tr("Requests"), tr("Tokens"), tr("Cost"))
        figures = [
            row_of([Label(t, name, "ui", "text2"), STRETCH, figure])
            for name, figure in zip(names, self.used, strict=True)
        ]
        used = column_of([Hairline(t), 0, heading(tr("Last 7 days")), *figures], spacing=8)
        self._used = widget_of(used)
        self._used.hide()

        def named(text: str, control: QWidget) -> QWidget:
            return widget_of(column_of([Label(t, text, "small", "text2"), control], spacing=4))

        grid = [
            row_of([(named(tr(words), self.limits[key]), 1) for key, words, _ in two], spacing=8)
            for two in (LIMITS[:2], LIMITS[2:])
        ]
        details: list[PlacedPart] = [
            named(tr("Name"), self.name),
            named(tr("Description"), self.about),
            row_of([*self.icons, STRETCH], spacing=2),
            row_of([*self.hues, STRETCH], spacing=2),
            named(tr("Effort"), self.effort),
            named(tr("May use"), self.role),
            named(tr("Mode"), self.mode),
            heading(tr("Limits of a turn")),
            *grid,
            heading(tr("Other agents")),
            named(tr("May start"), self.agents),
            row_of(
                [(named(tr(words), self.children_limits[key]), 1) for key, words in CHILDREN],
                spacing=8,
            ),
        ]
        body = widget_of(column_of(details, spacing=10, margins=(0, 6, 0, 0)))
        body.hide()
        self.details.toggled.connect(body.setVisible)
        self._users = column_of(spacing=0)
        self._used_by = widget_of(
            column_of(
                [
                    row_of([Hairline(t)], margins=(6, 0, 6, 0)),
                    0,
                    row_of([heading(tr("Used by"))], margins=(6, 0, 6, 0)),
                    self._users,
                ],
                spacing=8,
            )
        )
        self._used_by.hide()

        def inset(*inner: PlacedPart) -> QHBoxLayout:
            """Parts that begin where the words of the rows between them do."""
            return row_of([(column_of(inner, spacing=10), 1)], margins=(6, 0, 6, 0))

        fallback = row_of(
            [Label(t, tr("If it fails"), "ui", "text2"), (self.fallback, 1)], spacing=12
        )
        write = Label(t, tr("Write tools always make a draft first."), "small", "text2", wrap=True)
        parts: list[PlacedPart] = [
            inset(heading(tr("Model")), self.model, fallback),
            column_of([self.details, inset(body)], spacing=0),
            inset(Hairline(t), row_of([heading(tr("Tools")), STRETCH, self.count])),
            column_of([*self.tools.values(), self.more_tools], spacing=0),
            self._servers,
            inset(write),
            self._used_by,
            inset(self._used),
            STRETCH,
        ]
        inner = widget_of(column_of(parts, spacing=10, margins=(10, 14, 10, 20)))
        area = scrolled(inner)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head = row_of([(self.title, 1), self.more], spacing=8)
        self._head = widget_of(head)
        column_of([self._head, Hairline(t), (area, 1)], spacing=0, on=self)
        t.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))
        row = self._head.layout()
        assert row is not None
        row.setContentsMargins(self.theme.px(16), 0, self.theme.px(10), 0)

    # What it shows

    def show_servers(self, specs: Iterable[ToolSpec]) -> None:
        """Show which tools MCP servers have; what happens to them is shown with the values."""
        found: dict[str, list[ToolSpec]] = {}
        for spec in specs:
            found.setdefault(spec.server, []).append(spec)
        if {name: one.specs for name, one in self.servers.items()} == found:
            return
        for one in self.servers.values():
            self._servers.removeWidget(one)
            one.hide()
            one.deleteLater()
        self.servers = {name: ServerSection(self.theme, name, its) for name, its in found.items()}
        for one in self.servers.values():
            one.picked.connect(self.tool_changed)
            self._servers.addWidget(one)
        self._show_tools(self._usable)

    def _show_tools(self, usable: bool) -> None:
        """Show what happens to the calls of all tools; ``usable``: it can be changed."""
        self._usable = usable
        served = [spec for one in self.servers.values() for spec in one.specs]
        shown = verdicts(self._shown, [*(row.spec for row in self.tools.values()), *served])
        self._listed |= {tool for tool in self.tools if shown[tool] != "off"}
        for tool, row in self.tools.items():
            row.show_verdict(shown[tool])
            row.setEnabled(usable)
            row.setVisible(self.more_tools.isChecked() or tool in self._listed)
        more = len(self.tools) - len(self._listed)
        self.more_tools.set_count(number(more))
        self.more_tools.setVisible(more > 0)
        for one in self.servers.values():
            one.show_verdicts(shown, usable=usable)
        offered = sum(one not in ("off", "deny") for one in shown.values())
        self.count.setText(number(offered))

    def show_values(
        self,
        found: AgentText,
        name: str,
        models: Sequence[MenuItem],
        usual: Mapping[str, float],
        *,
        read_only: bool,
    ) -> None:
        """Show a file; ``name`` is the agent's where it says none, ``usual`` the usual limits."""
        values = self._shown = found.values
        if name != self._file:
            self._file = name
            self._listed.clear()
        whole = found.frontmatter is not None and found.frontmatter.root is not None
        self.title.setText(str(values.get("name", name)))
        self.name.set_unless_typing(str(values.get("name", "")))
        self.name.setPlaceholderText(name)
        self.about.set_unless_typing(str(values.get("description", "")))
        model, provider = str(values.get("model", "")), str(values.get("provider", ""))
        key = f"{provider}/{model}" if model or provider else "/"
        if all(item.key != key for item in models):
            models = [MenuItem(key, model or provider), *models]
        self.model.set_items([*models])
        self.model.set_current(key)
        self.effort.set_current(str(values.get("effort", _USUAL)))
        self.role.set_current(str(values.get("role", "all")))
        self.mode.set_current(str(values.get("mode", "background")))
        for limit, field in self.limits.items():
            value = values.get(limit)
            field.set_unless_typing("" if value is None else plain(value))
            field.setPlaceholderText(plain(usual[limit]) if usual.get(limit) else tr("None"))
        for key, field in (("agents", self.agents), ("fallback", self.fallback)):
            field.set_unless_typing(", ".join(values.get(key, ())))
            field.setPlaceholderText(tr("Nobody") if key == "agents" else tr("The chat’s choice"))
        for key, field in self.children_limits.items():
            field.set_unless_typing(plain(values[key]) if key in values else "")
            field.setPlaceholderText(plain(usual[key]) if key in usual else "")
            holder = field.parentWidget()
            assert holder is not None
            holder.setVisible("agents" in values)
        hue = str(values.get("hue", "slate"))
        for swatch in self.icons:
            swatch.hue = hue
            swatch.setChecked(swatch.icon_name == values.get("icon", "sparkle"))
            swatch.update()
        for swatch in self.hues:
            swatch.setChecked(swatch.hue == hue)
        self._show_tools(whole and not read_only)
        for control in (
            *(self.name, self.about, self.model, self.effort, self.role, self.mode),
            *(*self.limits.values(), *self.icons, *self.hues),
            *(self.fallback, self.agents, *self.children_limits.values()),
        ):
            control.setEnabled(whole and not read_only)

    def show_use(self, requests: int, tokens: int, cost: str) -> None:
        """Show what the agent used lately; nothing if it did not run."""
        figures = (number(requests), short_count(tokens), cost or "–")
        for label, figure in zip(self.used, figures, strict=True):
            label.setText(figure)
        self._used.setVisible(requests > 0)

    def show_users(self, users: Sequence[AgentUser]) -> None:
        """Show which workflows and agents name this one; nothing if none does."""
        for row in self.users:
            self._users.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.users = [UserRow(self.theme, one) for one in users]
        for row in self.users:
            row.clicked.connect(partial(self.user_wanted.emit, row.user))
            self._users.addWidget(row)
        self._used_by.setVisible(bool(users))

    def begin(self) -> None:
        """The name of a new agent is ready to be typed."""
        self.details.setChecked(True)
        self.name.setFocus(Qt.FocusReason.TabFocusReason)
        self.name.selectAll()

    # What the person changes

    def _field(self, key: str, name: str) -> Field:
        field = Field(self.theme, name=name)
        field.editingFinished.connect(lambda: self._typed(key, field))
        return field

    def _names_field(self, key: str, name: str) -> Field:
        """A field for names with commas between them."""
        field = Field(self.theme, name=name)

        def typed() -> None:
            names = [one.strip() for one in field.text().split(",") if one.strip()]
            field.setModified(False)
            if names != list(self._shown.get(key, ())):
                self.values_changed.emit({key: names or None})

        field.editingFinished.connect(typed)
        return field

    def _typed(self, key: str, field: Field) -> None:
        text = " ".join(field.text().split())
        field.setModified(False)
        if text != str(self._shown.get(key, "")):
            self.values_changed.emit({key: text or None})

    def _combo(self, key: str, name: str, names: Mapping[str, str]) -> Combo:
        combo = Combo(self.theme, name, items=[MenuItem(one, tr(names[one])) for one in names])
        combo.chosen.connect(lambda one: self._choose(key, None if one == _USUAL else one))
        return combo

    def _choose(self, key: str, value: str | None) -> None:
        self.values_changed.emit({key: value})

    def _choose_model(self, key: str) -> None:
        provider, _, model = key.partition("/")
        self.values_changed.emit({"provider": provider or None, "model": model or None})

    def _limit(self, key: str, name: str, whole: bool) -> Field:
        field = Field(self.theme, name=name)
        field.editingFinished.connect(lambda: self._number(key, field, whole))
        return field

    def _number(self, key: str, field: Field, whole: bool) -> None:
        value, right = locale().toDouble(field.text())
        written = bool(field.text().strip())
        if written and not (right and isfinite(value) and (value.is_integer() or not whole)):
            field.set_error(tr("This is not a number."))
            return
        field.set_error()
        field.setModified(False)
        value = None if not written else int(value) if whole else value
        if value != self._shown.get(key):
            self.values_changed.emit({key: value})
