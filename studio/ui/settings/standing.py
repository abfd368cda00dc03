"""The rules that stand: a list with a way to remove each, and a line to add one (T-7)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.domain.errors import StudioError
from studio.domain.permissions import Verdict
from studio.storage.rules import StandingRule
from studio.ui.controls import Button, Combo, Field, IconButton, Label, MenuItem
from studio.ui.folders import short_path
from studio.ui.theme import Theme

from .rows import Place, Rows
from .tasks import Tasks

if TYPE_CHECKING:
    from studio.agent.studio import Studio

GROUPS: tuple[tuple[Verdict, str], ...] = (
    ("allow", "Always allowed"),
    ("ask", "Always asked about"),
    ("deny", "Never allowed"),
)
EVERYWHERE = "everywhere"


class Standing(QWidget):
    """``fill`` shows rules; ``look`` is run after one came or went."""

    def __init__(
        self, theme: Theme, studio: Studio, tasks: Tasks, look: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._theme, self._studio, self._tasks, self._look = theme, studio, tasks, look
        self.removes: dict[str, IconButton] = {}
        """The button of each rule, by how it is written."""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        self._lists = Place()
        column.addWidget(self._lists)
        column.addLayout(self._adding())

    def _adding(self) -> QVBoxLayout:
        theme = self._theme
        made = QVBoxLayout()
        made.setSpacing(6)
        made.addWidget(Label(theme, "Add rule", "ui_strong"))
        row = QHBoxLayout()
        row.setSpacing(8)
        self.verdict = Combo(theme, "What the rule does", width=90)
        words = (("allow", "Allow"), ("ask", "Ask"), ("deny", "Never"))
        self.verdict.set_items([MenuItem(key, text) for key, text in words])
        self.verdict.set_current("allow")
        self.field = Field(theme, "run(git status *)", role="code")
        self.field.setAccessibleName("Rule: TOOL or TOOL(PATTERN)")
        self.field.returnPressed.connect(self.add)
        self.field.textChanged.connect(lambda: self._say(""))
        self.where = Combo(theme, "Where the rule counts", width=170)
        self.button = Button(theme, "Add rule")
        self.button.clicked.connect(self.add)
        row.addWidget(self.verdict)
        row.addWidget(self.field, 1)
        row.addWidget(self.where)
        row.addWidget(self.button)
        made.addLayout(row)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        made.addWidget(self.problem)
        about = "A tool, or a tool with a pattern for its command, path or address. * is any text."
        made.addWidget(Label(theme, about, "small", "text2", wrap=True))
        return made

    def fill(self, standing: Sequence[StandingRule]) -> None:
        self.removes = {}
        groups = QWidget()
        column = QVBoxLayout(groups)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        for verdict, title in GROUPS:
            rules = [one for one in standing if one.rule.verdict == verdict]
            if rules or verdict == "allow":
                column.addLayout(self._list(title, rules))
        self._lists.put(groups)
        values = self._studio.settings.values
        current = self.where.current or EVERYWHERE
        folders = [MenuItem(folder, short_path(folder)) for folder in values.recent_folders]
        self.where.set_items([MenuItem(EVERYWHERE, "Everywhere"), *folders])
        self.where.set_current(current)

    def _list(self, title: str, rules: Sequence[StandingRule]) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(6)
        column.addWidget(Label(self._theme, title, "ui_strong"))
        rows = Rows(self._theme)
        tools = self._studio.tools()
        for one in rules:
            tool = tools.get(one.rule.tool)
            beside = QWidget()
            row = QHBoxLayout(beside)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(12)
            row.addWidget(Label(self._theme, about(one), "small", "text2"))
            name = str(one.rule)
            remove = IconButton(self._theme, "x", f"Remove {name}")
            remove.clicked.connect(lambda _on=False, one=one: self._remove(one))
            row.addWidget(remove, 0, Qt.AlignmentFlag.AlignVCenter)
            rows.add(name, beside, icon=tool.spec.icon if tool else "globe", role="code")
            self.removes[name] = remove
        if not rules:
            rows.say("Nothing yet. “Always allow” in a question adds a rule here.")
        column.addWidget(rows)
        return column

    def _remove(self, one: StandingRule) -> None:
        async def work() -> None:
            await self._studio.rules.remove(one.id)
            await self._look()

        self._tasks.start(work())

    def add(self) -> None:
        """Keep the rule that was typed, or say what is wrong with it."""
        from studio.agent.permission.rules import rule_of

        verdict = next(one for one, _ in GROUPS if one == self.verdict.current)
        try:
            rule = rule_of(self.field.text().strip(), self._studio.tools(), verdict)
        except StudioError as error:
            self._say(str(error))
            return
        where = None if self.where.current == EVERYWHERE else Path(self.where.current)

        async def work() -> None:
            await self._studio.rules.add(rule, where)
            self.field.clear()
            await self._look()

        self._tasks.start(work())

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.field.set_error(problem)


def about(one: StandingRule) -> str:
    """Where a rule counts, and since when."""
    where = f"In {short_path(one.folder)}" if one.folder else "Everywhere"
    if not one.added:
        return where
    day, today = time.localtime(one.added), time.localtime()
    year = f" {day.tm_year}" if day.tm_year != today.tm_year else ""
    return f"{where}, since {day.tm_mday} {time.strftime('%b', day)}{year}"
