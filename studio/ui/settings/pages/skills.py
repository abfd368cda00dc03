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
from studio.agent.skills import list_tokens
from studio.domain.errors import StudioError
from studio.domain.extensions import NO_EXTENSIONS, Extensions, Place
from studio.domain.permissions import Rule
from studio.domain.records import dataclass
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import day_of, number, short_path
from studio.ui.settings.form import AskCard, CardGroups, FormCard, SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.settings.rows import IconTile, RowCard
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Field, IconButton, Label, Mark, Tag, Toggle, plain_tip
from studio.ui.widgets.breakable import BreakableLabel, ElidedLabel, breakable
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .pack_skills import PackSkillsRow

if TYPE_CHECKING:
    from studio.agent.permission.wishes import Wish
    from studio.domain.extensions import Extension, Finding
    from studio.extensions.packs.installed import InstalledPack

FIELD = 180
SKILL_FILE = "SKILL.md"
MOST_NAMED = 500
"""Characters of the names of a skill's scripts."""


class SkillsPage(SettingsPage):
    """The skills of the chat's folder and the person's own, each with a switch."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Skills"),
            tr("Instructions an agent opens when a task fits. Also by hand with /name."),
        )
        self._values, self._services = services.values, services
        self._found: Extensions = NO_EXTENSIONS
        self._folder = ""
        self._wishes: Mapping[str, Wished] = {}
        self._room = 0
        """Tokens that the list of skills may take in the chat's model."""
        self._scripts: Mapping[str, Sequence[str]] = {}
        """The files of each skill that are run as commands."""
        self._since = 0.0
        """When the person trusted the folder; 0.0 if they do not."""
        self._with_skills: Sequence[InstalledPack] = ()
        """The packs that bring skills."""
        self._open: set[str] = set()
        """The ids of packs whose skills are shown."""
        self._to_focus = ""
        """The pack whose skills were switched just now."""
        self.rows: dict[str, SkillRow] = {}
        """The skills that can be used, by their names."""
        self.packs: dict[str, PackSkillsRow] = {}
        """The packs that bring skills, by their ids."""
        self.left: list[LeftRow] = []
        self.asked: WishCard | None = None
        self.since: Label | None = None
        self.bring = Button(theme, tr("Import…"), clicked=self._ask_from_where)
        self.begin = Button(theme, tr("New skill…"), "primary", clicked=self._begin)
        for button in (self.bring, self.begin):
            self.head.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._above = Slot()
        self._above.hide()
        self.search = Field(theme, tr("Search skills"), icon="search")
        self.search.textChanged.connect(lambda: self._show())
        self.sum = Label(theme, "", "small", "text2", digits=True)
        self.list = CardGroups()
        self.name = Field(theme, "", role="code", name=tr("Name of the new skill"))
        self.name.setMinimumWidth(theme.px(FIELD))
        self.name.returnPressed.connect(self._create)
        self.new = Button(theme, tr("Create"), clicked=self._create)
        self.form = FormCard(theme)
        self.form.add(
            tr("Name of the new skill"),
            widget_of(row_of([self.name, self.new], spacing=8)),
            tr("Its file opens: say in it what to do, and when."),
        )
        self.form.hide()
        self.folder = Button(theme, tr("Folder…"), clicked=self._choose_folder)
        self.file = Button(theme, tr("Zip file…"), clicked=self._choose_file)
        self.sources = FormCard(theme)
        self.sources.add(
            tr("Skills from elsewhere"),
            widget_of(row_of([self.folder, self.file], spacing=8)),
            tr("Copies one skill, or all that are in there, to your own. The originals stay."),
        )
        self.sources.hide()
        self.notice = Label(theme, "", "small", "text2", wrap=True)
        self.notice.hide()
        self.column.addWidget(self.form)
        self.column.addWidget(self.sources)
        self.column.addWidget(self.notice)
        self.column.addWidget(self._above)
        middle = Qt.AlignmentFlag.AlignVCenter
        self.column.addLayout(row_of([(self.search, 1), (self.sum, middle)], spacing=10))
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
        scripts = await asyncio.to_thread(_scripts_of, found.skills)
        packs = await asyncio.to_thread(self._packs.list)
        since = await engine.rules.trusted_since(where) if folder else 0.0
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
            self._found, self._folder, self._wishes = found, folder, wishes
            self._room = list_tokens(options.model.context_window)
            self._scripts, self._since = scripts, since
            self._with_skills = [one for one in packs if "skills" in one.manifest.parts()]
            self._show()
            if (row := self.packs.get(self._to_focus)) is not None:
                row.toggle.setFocus(Qt.FocusReason.OtherFocusReason)
            self._to_focus = ""

    def _show(self) -> None:
        """Show the skills that the field above fits, and the files of those that are left out."""
        wanted = self.search.text().strip().casefold()
        rows: dict[Place, list[QWidget]] = {"folder": [], "own": [], "pack": []}
        self.rows, self.packs, self.left = {}, {}, []
        fit = [
            one
            for one in self._found.skills
            if wanted in f"{one.name} {one.description} {one.pack}".casefold()
        ]
        for pack in self._with_skills:
            place = pack.manifest.parts()["skills"].path
            its = [one for one in self._found.skills if Path(one.path).is_relative_to(place)]
            shown = [one for one in its if one in fit]
            fit = [one for one in fit if one not in its]
            if shown or wanted in pack.name.casefold():
                row = self.packs[pack.id] = self._pack_row(pack, its, shown)
                row.show_rows(pack.id in self._open or bool(wanted))
                rows["pack"].append(row)
        for one in fit:
            rows[one.place].append(self._row(one))
        for finding in self._found.findings:
            left = LeftRow(self.theme, finding)
            if finding.left_out and wanted in left.name.casefold():
                self.left.append(left)
                rows[self._place_of(finding.path)].append(left)
        titles: dict[Place, str | QWidget] = {
            "folder": self._folder_title(),
            "own": tr("Your own skills"),
            "pack": tr("From packs"),
        }
        groups: list[tuple[str | QWidget, QWidget]] = []
        for place, title in titles.items():
            if rows[place]:
                card = RowCard(self.theme)
                card.set_rows(rows[place])
                groups.append((title, card))
        self.list.show_groups(self.theme, groups)
        self._count()

    def _folder_title(self) -> QWidget:
        """The name of the folder, and since when the person trusts it."""
        name = tr("In {folder}").format(folder=short_path(self._folder))
        parts: list[QWidget] = [Label(self.theme, name, "ui_strong")]
        if self._since:
            words = tr("Trusted since {day}").format(day=day_of(self._since))
            self.since = Label(self.theme, words, "small", "text2")
            parts += [Mark(self.theme, "shield-check", "ok", 14), self.since]
        return widget_of(row_of([*parts, STRETCH], spacing=6))

    def _place_of(self, path: str) -> Place:
        """Where a file is that is left out."""
        if Path(path).is_relative_to(self._services.engine.paths.packs):
            return "pack"
        of_folder = self._folder and Path(path).is_relative_to(self._folder)
        return "folder" if of_folder else "own"

    def _pack_row(
        self, pack: InstalledPack, its: Sequence[Extension], fit: Sequence[Extension]
    ) -> PackSkillsRow:
        """The row of a pack with all ``its`` skills; those that ``fit`` the field are below it."""
        wishes = [self._wishes[one.name] for one in its if one.name in self._wishes]
        rows, tokens = [self._row(one) for one in fit], sum(one.tokens for one in its)
        wants = any(not one.is_given for one in wishes)
        row = PackSkillsRow(self.theme, pack, rows, tokens, wants)
        row.toggle.toggled.connect(partial(self._switch_pack, pack.id))
        row.opened.connect(partial(self._opened, pack.id))
        row.pack_wanted.connect(partial(self.page_wanted.emit, "packs"))
        return row

    def _opened(self, id: str, is_open: bool) -> None:
        self._open = self._open | {id} if is_open else self._open - {id}

    def _switch_pack(self, id: str, on: bool) -> None:
        """Switch all skills of a pack."""

        async def then_show() -> None:
            try:
                await asyncio.to_thread(self._packs.switch_part, id, "skills", on)
            finally:
                self._to_focus = id
                if isValid(self):
                    self.refresh()

        self._services.tasks.start(then_show())

    @property
    def _packs(self):
        from studio.extensions.packs.installed import InstalledPacks

        return self._services.engine.services.get(InstalledPacks)

    def _row(self, one: Extension) -> SkillRow:
        wished = self._wishes.get(one.name)
        row = self.rows[one.name] = SkillRow(
            self.theme, one, wished, self._scripts.get(one.name, ())
        )
        row.toggle.show_value(one.name not in self._values.skills_off)
        row.toggle.toggled.connect(partial(self._switch, one.name))
        if wished is not None:
            row.rights.clicked.connect(partial(self._ask, wished))
        return row

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

    def _count(self) -> None:
        off = self._values.skills_off
        on = [one for one in self._found.for_agent(["*"]) if one.name not in off]
        tokens = number(sum(one.tokens for one in on))
        words = tr_plural(
            "{count} skill on, {tokens} of {most} tokens",
            "{count} skills on, {tokens} of {most} tokens",
            len(on), tokens=tokens, most=number(self._room),
        )  # fmt: skip
        self.sum.setText(words if self._found.skills else tr("There are no skills yet."))

    def _switch(self, name: str, on: bool) -> None:
        off = [one for one in self._values.skills_off if one != name]
        self._values.skills_off = off if on else [*off, name]
        self.changed.emit()
        self._count()

    # A new one

    def _begin(self) -> None:
        self.sources.hide()
        self.form.show()
        self.name.setFocus(Qt.FocusReason.OtherFocusReason)

    def _create(self) -> None:
        if name := self.name.text().strip():
            self._services.tasks.start(self._write(name))

    async def _write(self, name: str) -> None:
        from studio.extensions.new_skill import write_skill

        folder = self._services.engine.paths.config / "skills"
        path = await asyncio.to_thread(write_skill, folder, name)
        if isValid(self):
            self.name.clear()
            self.form.hide()
            self.refresh()
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    # From elsewhere

    def _ask_from_where(self) -> None:
        self.form.hide()
        self.sources.show()
        self.folder.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose_folder(self) -> None:
        self.ask_for_folder(tr("Folder of the skills"), "", self.bring_in)

    def _choose_file(self) -> None:
        skills = tr("Skills")
        names = f"{skills} (*.zip *.skill)"
        self.ask_for_file(tr("Zip file of the skills"), names, self.bring_in)

    def bring_in(self, path: str) -> None:
        """Copy the skills of a folder or a zip file to the person's own."""
        self._services.tasks.start(self._copy(Path(path)))

    async def _copy(self, source: Path) -> None:
        from studio.extensions.skill_importing import import_skills

        own = self._services.engine.paths.config / "skills"
        try:
            done = await asyncio.to_thread(import_skills, source, own)
        except StudioError as error:
            lines = [tr_engine(str(error))]
        else:
            lines = (
                [tr("Copied: {names}").format(names=", ".join(done.names))] if done.names else []
            )
            lines += map(tr_engine, done.problems)
        if isValid(self):
            self.sources.hide()
            self.notice.show_text("\n".join(lines))
            self.refresh()


def _scripts_of(skills: Sequence[Extension]) -> dict[str, Sequence[str]]:
    from studio.extensions.finder import scripts_of

    return {one.name: scripts_of(one) for one in skills}


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
    def is_given(self) -> bool:
        return bool(self.wish.rules) and not self.open

    @property
    def line(self) -> str:
        if self.is_given:
            return tr("Allowed without a question: {rules}").format(rules=_listed(self.given))
        words = _listed(self.open) or escape_line(", ".join(self.wish.unknown))
        return tr("Would like to use without a question: {rules}").format(rules=breakable(words))


class SkillRow(QWidget):
    """A skill: what it is for, what it takes, what it would like, and its switch."""

    def __init__(
        self, theme: Theme, skill: Extension, wished: Wished | None, scripts: Sequence[str] = ()
    ) -> None:
        super().__init__()
        middle = Qt.AlignmentFlag.AlignVCenter
        title = row_of([(Label(theme, skill.name, "ui_medium"), middle)], spacing=8)
        self.scripts = Tag(theme, tr_plural("{count} script", "{count} scripts", len(scripts)))
        names = escape_line(", ".join(scripts), MOST_NAMED)
        how = tr("Run as commands, so they ask and are in the sandbox: {names}")
        self.scripts.setToolTip(plain_tip(how.format(names=names)))
        if not scripts:
            self.scripts.hide()
        title.addWidget(self.scripts, 0, middle)
        words: list[QWidget | QLayout] = [title]
        words.append(ElidedLabel(theme, skill.description, "small", "text2"))
        if wished is not None:
            kind = "neutral" if wished.is_given else "warn"
            tag = Tag(theme, tr("Has rights") if wished.is_given else tr("Wants rights"), kind)
            tag.setToolTip(plain_tip(wished.line))
            title.addWidget(tag, 0, middle)
            words.append(ElidedLabel(theme, wished.line, "small", "text2"))
        title.addStretch(1)
        tokens = tr("{number} tokens").format(number=number(skill.tokens))
        self.rights = Button(theme, tr("Rights…"))
        self.rights.setAccessibleName(tr("Rights of {name}").format(name=skill.name))
        if wished is None:
            self.rights.hide()
        self.toggle = Toggle(theme, skill.name)
        name = tr("Open the file of {name}").format(name=skill.name)
        self.open = IconButton(
            theme, "chevron-right", name, 24, 14, clicked=partial(_open, skill.path)
        )
        parts = [(IconTile(theme, "sparkles"), middle), (column_of(words, spacing=0), 1)]
        beside = (Label(theme, tokens, "small", "text2", digits=True), self.rights)
        parts += [(one, middle) for one in (*beside, self.toggle, self.open)]
        row_of(parts, spacing=10, margins=(0, 8, 0, 8), on=self)


class LeftRow(QWidget):
    """A file that is left out, and why."""

    def __init__(self, theme: Theme, finding: Finding) -> None:
        super().__init__()
        path = Path(finding.path)
        self.name = path.parent.name if path.name == SKILL_FILE else path.name
        middle = Qt.AlignmentFlag.AlignVCenter
        title = row_of([(Label(theme, self.name, "ui_medium"), middle)], spacing=8)
        icon = "circle-alert"
        if finding.shadowed_by:
            icon = "sparkles" if path.name == SKILL_FILE else "terminal"
            title.addWidget(Tag(theme, tr("Shadowed")), 0, middle)
            first = short_path(str(Path(finding.shadowed_by).parent))
            words = tr("Not used here: the one in {folder} comes first").format(folder=first)
            self.why = Label(theme, words, "small", "text2", wrap=True)
        else:
            words = tr_engine(finding.words).replace(str(Path.home()), "~")
            words = tr("Left out: {why}").format(why=words)
            self.why = Label(theme, words, "small", "err", wrap=True)
        title.addStretch(1)
        self.open = Button(theme, tr("Open file"), clicked=partial(_open, finding.path))
        self.open.setAccessibleName(tr("Open the file of {name}").format(name=self.name))
        text = column_of([title, self.why], spacing=0)
        parts = [(IconTile(theme, icon), middle), (text, 1), (self.open, middle)]
        row_of(parts, spacing=10, margins=(0, 8, 0, 8), on=self)


def _open(path: str) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(path))


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
