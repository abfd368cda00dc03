"""The Hooks page: which there are, what each runs, and a switch that approves it (K-8, K-9)."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.agent.permission.invisible_characters import escape_invisible, escape_line
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.settings.form import CardGroups, FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, Label, Toggle
from studio.ui.widgets.breakable import BreakableLabel, breakable
from studio.ui.widgets.layouts import row_of, widget_of

if TYPE_CHECKING:
    from studio.agent.hooks.answers import HookAnswer
    from studio.domain.hooks import Hook, Hooks

EVENTS = {
    "SessionStart": tr_later("When a chat begins"),
    "UserPromptSubmit": tr_later("Before your message"),
    "PreToolUse": tr_later("Before a call"),
    "PermissionRequest": tr_later("Before you are asked"),
    "PostToolUse": tr_later("After a call"),
    "PostToolUseFailure": tr_later("After a call that failed"),
    "Notification": tr_later("When you are asked"),
    "Stop": tr_later("When an agent is done"),
    "SubagentStop": tr_later("When an agent that was started is done"),
    "PreCompact": tr_later("Before a chat is summed up"),
    "SessionEnd": tr_later("When a chat is closed"),
}
CHANGED = tr_later("Changed since you approved it. Look at it, and switch it on again.")


class HooksPage(SettingsPage):
    """The hooks of the chat's folder, the person's own and those of packs."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Hooks"),
            tr(
                "Commands that are told what agents do, and may refuse it. Each runs once you "
                "switch it on, as it is now; what changes waits for you again."
            ),
        )
        self._services = services
        self.switches: dict[str, Toggle] = {}
        self.tries: dict[str, Button] = {}
        self.lines: dict[str, Label] = {}
        """What stands below the command of each hook, by its id."""
        self.sum = Label(theme, "", "small", "text2", digits=True)
        self.list = CardGroups()
        self.take = Button(theme, tr("Import"), clicked=self._import)
        card = FormCard(theme)
        self.taken = card.add(
            tr("Hooks of Claude Code"),
            self.take,
            tr("Takes over those in ~/.claude, which stay as they are."),
        )
        self.column.addWidget(card)
        self.column.addWidget(self.sum)
        self.column.addWidget(self.list)
        self.column.addStretch(1)
        self.tab_in_order()

    def refresh(self) -> None:
        self._services.tasks.start(self._read(), cancelled_on_close=True)

    @property
    def _folder(self) -> str:
        options = self._services.chat.model.options
        return "" if options.uses_own_folder else options.folder

    async def _read(self) -> None:
        folder = self._folder
        services = self._services.engine.services
        found, layers = await services.hooks(Path(folder or Path.home()))
        waits = layers.files.hooks is not None and not layers.trusted
        if isValid(self):
            self._show(found, folder, waits=waits and bool(folder))

    def _show(self, found: Hooks, folder: str, *, waits: bool) -> None:
        groups: list[tuple[str, FormCard]] = []
        self.switches, self.tries, self.lines = {}, {}, {}
        packs = dict.fromkeys(one.pack for one in found.found if one.place == "pack")
        for place, pack, title in (
            ("folder", "", tr("In {folder}").format(folder=short_path(folder))),
            *(("pack", name, tr("From the pack {name}").format(name=name)) for name in packs),
            ("own", "", tr("Your own hooks")),
        ):
            hooks = [
                one
                for one in found.found
                if (one.place, one.pack) == (place, pack) and one.state != "never"
            ]
            if hooks:
                groups.append((title, self._card(hooks)))
        left = FormCard(self.theme)
        never = [one for one in found.found if one.state == "never"]
        for one in never:
            left.add(
                self._command(one.command or one.event),
                widget_of(row_of([])),
                tr_engine(one.reason),
            )
        for finding in found.findings:
            name, words = Path(finding.path).name, tr_engine(finding.words)
            left.add(name, widget_of(row_of([])), words)
        if never or found.findings:
            groups.append((tr("Not run here"), left))
        self.list.show_groups(self.theme, groups)
        on = sum(one.state == "on" for one in found.found)
        words = tr_plural("{count} hook on", "{count} hooks on", on)
        words = words if found.found else tr("There are no hooks yet.")
        if waits:
            words = tr("This folder brings hooks. They are left out until you trust it.")
        self.sum.setText(words)

    def _card(self, hooks: list[Hook]) -> FormCard:
        card = FormCard(self.theme)
        for one in hooks:
            toggle = self.switches[one.id] = Toggle(self.theme, escape_line(one.command))
            toggle.show_value(one.state == "on")
            toggle.toggled.connect(partial(self._switch, one))
            button = self.tries[one.id] = Button(
                self.theme, tr("Try"), clicked=partial(self._try, one)
            )
            control: QWidget = widget_of(row_of([button, toggle], spacing=10))
            self.lines[one.id] = card.add(self._command(one.command), control, self._line(one))
        return card

    def _command(self, text: str) -> QWidget:
        """A command, all of which is seen, whatever it is made of."""
        return BreakableLabel(self.theme, escape_invisible(text))

    def _line(self, one: Hook) -> str:
        """When it runs and for what, which files are in it, and what there is to know."""
        when = tr(EVENTS.get(one.event, one.event))
        facts = [f"{when}: {breakable(one.matcher)}" if one.matcher else when]
        if one.files:
            facts.append(breakable(", ".join(short_path(name) for name in one.files)))
        if one.state == "changed":
            facts.append(tr(CHANGED))
        if one.reason:
            facts.append(tr_engine(one.reason))
        return "\n".join(facts)

    def _switch(self, hook: Hook, on: bool) -> None:
        self._services.tasks.start(self._say(hook, on))

    async def _say(self, hook: Hook, on: bool) -> None:
        from studio.extensions.hooks.finder import HookFinder

        finder = HookFinder(self._services.engine.paths)
        try:
            await asyncio.to_thread(finder.switch, hook, on)
        finally:
            if isValid(self):
                self.refresh()

    def _try(self, hook: Hook) -> None:
        self._services.tasks.start(self._answer(hook), cancelled_on_close=True)

    async def _answer(self, hook: Hook) -> None:
        from studio.extensions.hooks.trial import try_hook

        folder = Path(self._folder or Path.home())
        self.lines[hook.id].setText(tr("Running…"))
        answer = await try_hook(self._services.engine.services, hook, folder)
        if isValid(self) and hook.id in self.lines:
            self.lines[hook.id].setText(f"{self._line(hook)}\n{said(answer)}")

    def _import(self) -> None:
        self._services.tasks.start(self._take())

    async def _take(self) -> None:
        from studio.extensions.hooks.finder import HookFinder
        from studio.extensions.hooks.importing import settings_of, take_over

        paths = self._services.engine.paths
        sources = await asyncio.to_thread(settings_of, paths.home)
        if sources:
            done = await asyncio.to_thread(take_over, sources, HookFinder(paths).own)
            words = tr_plural(
                "{count} hook taken over. It waits for its switch.",
                "{count} hooks taken over. They wait for their switches.",
                len(done.hooks),
            )
            words = words if done.hooks else tr("There is nothing that you do not have already.")
        else:
            words = tr("There are no settings of Claude Code in your home folder.")
        if isValid(self):
            self.taken.setText(words)
            self.refresh()


def said(answer: HookAnswer) -> str:
    """What a hook said when it was tried, in a line or two."""
    seconds = f"{answer.seconds:.2f} s"
    if answer.fault:
        return tr("Tried: it failed, {fault} ({seconds}).").format(
            fault=tr_engine(answer.fault), seconds=seconds
        )
    words = {
        "deny": tr("Tried: it refuses ({seconds})."),
        "ask": tr("Tried: it wants you to be asked ({seconds})."),
        "allow": tr("Tried: it allows ({seconds})."),
    }.get(answer.verdict, tr("Tried: it lets this through ({seconds})."))
    more = answer.reason or answer.context or answer.message
    return "\n".join(filter(None, [words.format(seconds=seconds), breakable(more[:300])]))
