"""The Skills page: which there are, whether agents may open them, what each may do (K-4, K-6)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLayout, QWidget
from shiboken6 import isValid

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.permissions import Rule
from studio.domain.records import dataclass
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import number, short_path
from studio.ui.settings.form import AskCard, CardGroups, FormCard, SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Field, Label, Toggle
from studio.ui.widgets.breakable import BreakableLabel, breakable
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

if TYPE_CHECKING:
    from studio.agent.permission.wishes import Wish
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
        self.rights: dict[str, Button] = {}
        """Of the skills that wish for something, the buttons that show it."""
        self.asked: WishCard | None = None
        self._above = Slot()
        self._above.hide()
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
        self.column.addWidget(self._above)
        self.column.addWidget(self.sum)
        self.column.addWidget(self.list)
        self.column.addStretch(1)
        self.tab_in_order()

    def refresh(self) -> None:
        self._services.tasks.start(self._read(), cancelled_on_close=True)

    async def _read(self) -> None:
        options = self._services.chat.model.options
        folder = "" if options.uses_own_folder else options.folder
        engine, where = self._services.engine, Path(folder or Path.home())
        found = await engine.services.extensions(where)
        wishes: dict[str, Wished] = {}
        if any(one.wishes for one in found.skills):
            from studio.agent.permission.wishes import wish_of

            for one in found.skills:
                if one.wishes:
                    wish = wish_of(one, engine.tools(), where)
                    given = [each.rule for each in await wish.given(engine.rules)]
                    overruled = await wish.overruled(engine.rules)
                    wishes[one.name] = Wished(one.name, wish, given, overruled)
        if isValid(self):
            self._show(found, folder, wishes)

    def _show(self, found: Extensions, folder: str, wishes: Mapping[str, Wished]) -> None:
        groups: list[tuple[str, FormCard]] = []
        self.switches, self.rights = {}, {}
        for place, title in (
            ("folder", tr("In {folder}").format(folder=short_path(folder))),
            ("own", tr("Your own skills")),
            ("pack", tr("From packs")),
        ):
            skills = [one for one in found.skills if one.place == place]
            if skills:
                groups.append((title, self._card(skills, wishes)))
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

    def _card(self, skills: list[Extension], wishes: Mapping[str, Wished]) -> FormCard:
        card = FormCard(self.theme)
        for one in skills:
            toggle = self.switches[one.name] = Toggle(self.theme, one.name)
            toggle.show_value(one.name not in self._values.skills_off)
            toggle.toggled.connect(partial(self._switch, one.name))
            tokens = tr("{number} tokens").format(number=number(one.tokens))
            words = Label(self.theme, tokens, "small", "text2", digits=True)
            parts: list[QWidget] = [words, self._opener(one.path), toggle]
            line = one.description
            if (wished := wishes.get(one.name)) is not None:
                line = f"{line}\n{wished.line}"
                button = Button(self.theme, tr("Rights…"), clicked=partial(self._ask, wished))
                button.setAccessibleName(tr("Rights of {name}").format(name=one.name))
                self.rights[one.name] = button
                parts.insert(1, button)
            card.add(one.name, widget_of(row_of(parts, spacing=10)), line, icon="sparkle")
        return card

    # What a skill would like to use (K-6)

    def _ask(self, wished: Wished) -> None:
        self.asked = card = WishCard(self.theme, wished)
        rules = self._services.engine.rules
        card.agree.clicked.connect(lambda: self._decide(wished.wish.give(rules)))
        card.take_back.clicked.connect(lambda: self._decide(wished.wish.take_back(rules)))
        card.leave.clicked.connect(self._close)
        self._above.put(card)
        self._above.show()
        self.verticalScrollBar().setValue(0)
        card.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def _close(self) -> None:
        self.asked = None
        self._above.hide()

    def _decide(self, work: Coroutine[Any, Any, None]) -> None:
        async def then_show() -> None:
            try:
                await work
            finally:
                if isValid(self):
                    self.refresh()

        self._close()
        self._services.tasks.start(then_show())

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


@dataclass(frozen=True, slots=True)
class Wished:
    """What a skill would like to use without a question, and which of it counts already."""

    name: str
    wish: Wish
    given: Sequence[Rule]
    overruled: Sequence[Rule]

    @property
    def open(self) -> list[Rule]:
        return [one for one in self.wish.rules if one not in self.given]

    @property
    def line(self) -> str:
        if self.wish.rules and not self.open:
            return tr("Allowed without a question: {rules}").format(rules=_listed(self.given))
        words = _listed(self.open) or escape_line(", ".join(self.wish.unknown))
        return tr("Would like to use without a question: {rules}").format(rules=breakable(words))


class WishCard(AskCard):
    """The rules that a skill would like, with what each gives away; allows or takes them back."""

    def __init__(self, theme: Theme, wished: Wished) -> None:
        super().__init__(theme, "raised", "warn_line")
        wish = wished.wish
        title = tr("What {name} would like to use without a question").format(name=wished.name)
        where = tr("Everywhere")
        if wish.folder is not None:
            where = tr("In {folder}").format(folder=short_path(str(wish.folder)))
        line = tr(
            "Allowed, these are rules of yours, for every agent and not for this skill alone. "
            "They stand on the Permissions page. Where they count: {where}"
        ).format(where=where)
        parts: list[QWidget | QLayout] = [
            Label(theme, title, "ui_strong", wrap=True),
            Label(theme, line, "small", "text2", wrap=True),
        ]
        for rule in wish.rules:
            state = tr("Allowed") if rule in wished.given else tr("Not allowed")
            label = Label(theme, state, "small", "text2")
            parts.append(row_of([(BreakableLabel(theme, str(rule)), 1), label], spacing=10))
        facts = [
            tr_engine(wish.warning),
            tr("No counterpart here: {names}").format(names=escape_line(", ".join(wish.unknown)))
            if wish.unknown
            else "",
            tr("They count over rules of yours that ask: {rules}").format(
                rules=_listed(wished.overruled)
            )
            if wished.overruled
            else "",
        ]
        parts += [Label(theme, one, "small", "warn", wrap=True) for one in facts if one]
        self.agree = Button(theme, tr("Allow"), "primary")
        self.agree.setVisible(bool(wished.open))
        self.take_back = Button(theme, tr("Take back"))
        self.take_back.setVisible(bool(wished.given))
        self.leave = Button(theme, tr("Close"), "ghost")
        parts.append(row_of([self.agree, self.take_back, self.leave, STRETCH], spacing=8))
        column_of(parts, spacing=8, margins=(12, 12, 12, 12), on=self)
        self.setAccessibleName(title)


def _listed(rules: Sequence[Rule]) -> str:
    return ", ".join(map(str, rules))
