"""The Skills page: which there are, whether agents may open them, what is wrong (K-4)."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import number, short_path
from studio.ui.settings.form import CardGroups, FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Field, Label, Toggle
from studio.ui.widgets.layouts import row_of, widget_of

if TYPE_CHECKING:
    from studio.domain.extensions import Extension, Extensions

FIELD = 180


class SkillsPage(SettingsPage):
    """The skills of the chat's folder and the person's own, each with a switch."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Skills"),
            tr("Instructions that an agent opens when a task fits. Also by hand with /name."),
        )
        self._values, self._services = services.values, services
        self.switches: dict[str, Toggle] = {}
        self.sum = Label(theme, "", "small", "text2", digits=True)
        self.list = CardGroups()
        self.name = Field(theme, "", role="code", name=tr("Name of the new skill"))
        self.name.setMinimumWidth(theme.px(FIELD))
        self.name.returnPressed.connect(self._begin)
        self.new = Button(theme, tr("New skill"), clicked=self._begin)
        card = FormCard(theme)
        card.add(
            tr("New skill"),
            widget_of(row_of([self.name, self.new], spacing=8)),
            tr("Its file opens: say in it what to do, and when."),
        )
        self.column.addWidget(card)
        self.column.addWidget(self.sum)
        self.column.addWidget(self.list)
        self.column.addStretch(1)
        self.tab_in_order()

    def refresh(self) -> None:
        self._services.tasks.start(self._read(), cancelled_on_close=True)

    async def _read(self) -> None:
        options = self._services.chat.model.options
        folder = "" if options.uses_own_folder else options.folder
        found = await self._services.engine.services.extensions(Path(folder or Path.home()))
        if isValid(self):
            self._show(found, folder)

    def _show(self, found: Extensions, folder: str) -> None:
        groups: list[tuple[str, FormCard]] = []
        self.switches = {}
        for place, title in (
            ("folder", tr("In {folder}").format(folder=short_path(folder))),
            ("own", tr("Your own skills")),
            ("pack", tr("From packs")),
        ):
            skills = [one for one in found.skills if one.place == place]
            if skills:
                groups.append((title, self._card(skills)))
        left = FormCard(self.theme)
        wrong = [one for one in found.findings if one.left_out]
        for one in wrong:
            path = Path(one.path)
            name = path.parent.name if path.name == "SKILL.md" else path.name
            words = tr_engine(one.words).replace(str(Path.home()), "~")
            left.add(name, self._opener(one.path), words)
        if wrong:
            groups.append((tr("Left out"), left))
        self.list.show_groups(self.theme, groups)
        self._count(found)

    def _card(self, skills: list[Extension]) -> FormCard:
        card = FormCard(self.theme)
        for one in skills:
            toggle = self.switches[one.name] = Toggle(self.theme, one.name)
            toggle.show_value(one.name not in self._values.skills_off)
            toggle.toggled.connect(partial(self._switch, one.name))
            tokens = tr("{number} tokens").format(number=number(one.tokens))
            words = Label(self.theme, tokens, "small", "text2", digits=True)
            control = row_of([words, self._opener(one.path), toggle], spacing=10)
            card.add(one.name, widget_of(control), one.description, icon="sparkle")
        return card

    def _opener(self, path: str) -> QWidget:
        url = QUrl.fromLocalFile(path)
        return Button(self.theme, tr("Open file"), clicked=lambda: QDesktopServices.openUrl(url))

    def _count(self, found: Extensions) -> None:
        on = [one for one in found.for_agent(["*"]) if one.name not in self._values.skills_off]
        tokens = number(sum(one.tokens for one in on))
        words = tr_plural(
            "{count} skill on, {tokens} tokens", "{count} skills on, {tokens} tokens", len(on),
            tokens=tokens,
        )  # fmt: skip
        self.sum.setText(words if found.skills else tr("There are no skills yet."))

    def _switch(self, name: str, on: bool) -> None:
        off = [one for one in self._values.skills_off if one != name]
        self._values.skills_off = off if on else [*off, name]
        self.changed.emit()
        self.refresh()

    def _begin(self) -> None:
        if name := self.name.text().strip():
            self._services.tasks.start(self._write(name))

    async def _write(self, name: str) -> None:
        from studio.extensions.new_skill import write_skill

        folder = self._services.engine.paths.config / "skills"
        path = await asyncio.to_thread(write_skill, folder, name)
        if isValid(self):
            self.name.clear()
            self.refresh()
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
