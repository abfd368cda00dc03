"""One server: its tools, resources, prompts, log, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.agent.servers.facts import shown_start
from studio.domain.jsonvalue import JsonObject
from studio.domain.questions import AskForm
from studio.mcp.entries import ServerEntry
from studio.mcp.lists import ServerLists
from studio.mcp.results import ServerResult
from studio.mcp.sign_ins import SignIn
from studio.ui.engine_texts import tr_engine
from studio.ui.forms.text_area import TextArea
from studio.ui.settings.form import FormCard, Slot
from studio.ui.settings.key_row import KeyOwner, KeyRow
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Card,
    IconButton,
    Label,
    Mark,
    Segmented,
    Status,
    Toggle,
    message_box,
)
from studio.ui.widgets.breakable import BreakableLabel, ElidedLabel
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .approval import ApprovalCard, SandboxChoice, facts_of, key_rows
from .changed_tool import Change, ChangedToolCard
from .client_form import ClientForm
from .mending import ON_ITS_PAGE, MendForm, cure_text
from .offers import OfferPane, prompt_offer, resource_offer
from .rows import icon_of, picture_of, state_words
from .server_facts import Cure, ServerFacts
from .servers_model import ServersModel
from .tool_list import ToolFacts, ToolList
from .trial import TrialCard

TOOLS, RESOURCES, PROMPTS, LOG, ABOUT = range(5)
PANE_HEIGHT = 300


class ServerPane(QWidget):
    """Shows a server; ``name`` is empty until ``open``."""

    back = Signal()

    def __init__(self, theme: Theme, servers: ServersModel) -> None:
        super().__init__()
        self.theme, self._servers = theme, servers
        self.name = ""
        self.facts: ServerFacts | None = None
        self._counts: tuple[int, ...] = ()
        self._question: QMessageBox | None = None
        self._asking = self._mending = False
        self._loads = 0
        self._wanted_tab: int | None = None
        self._add_head()
        self._add_panes()
        self.approval: ApprovalCard | None = None
        self._approval = Slot()
        self._approval.hide()
        self.changed: list[ChangedToolCard] = []
        self.where: SandboxChoice | None = None
        self._changed = widget_of(column_of(spacing=8))
        self._changed.hide()
        self._add_doctor()
        panes = [(pane, 1) for pane in self._panes]
        parts = [self._head, self._tabs_row, self._approval, self._changed, *panes]
        column_of([*parts, self.doctor], spacing=12, on=self)

    # What it is made of

    def _add_head(self) -> None:
        theme, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        tip = tr("Back to the servers")
        self.leave = IconButton(theme, "chevron-left", tip, clicked=self.back.emit)
        self.tile = IconTile(theme, "globe")
        self.title = Label(theme, "", "title")
        self.line = ElidedLabel(theme, "", "small", "text2")
        self.status = Status(theme)
        self.toggle = Toggle(theme, "")
        self.toggle.toggled.connect(self._switched)
        words = column_of([self.title, self.line], spacing=0)
        self._head = widget_of(
            row_of(
                [
                    (self.leave, middle),
                    (self.tile, middle),
                    (words, 1),
                    (self.status, middle),
                    (self.toggle, middle),
                ],
                spacing=10,
            )
        )
        self.tabs: Segmented | None = None
        self._tabs = Slot()
        self.restart = Button(theme, tr("Restart"), icon="refresh-cw", clicked=self._restart)
        self._tabs_row = widget_of(row_of([self._tabs, STRETCH, self.restart], spacing=8))

    def _add_panes(self) -> None:
        theme = self.theme
        self.tools = ToolList(theme)
        self.tools.chosen.connect(self._tool_chosen)
        self.tools.picked.connect(self._picked)
        listed = Card(theme, "surface", "hair")
        column_of([self.tools], margins=(1, 4, 1, 4), on=listed)
        self.trial = TrialCard(theme, self._servers.tasks, self._call)
        self.no_tools = Label(theme, "", "ui", "text2", wrap=True)
        self._both = widget_of(row_of([(listed, 45), (self.trial, 55)], spacing=10))
        tools = widget_of(column_of([self.no_tools, (self._both, 1)], spacing=8))
        tasks = self._servers.tasks
        none, prompts = tr("It offers no resources."), tr("It offers no prompts.")
        self.resources = OfferPane(theme, tasks, self._open, none)
        self.prompts = OfferPane(theme, tasks, self._prompt, prompts)
        self.log = TextArea(
            theme, tr("Log"), tr("It wrote nothing."), lines=18, read_only=True, grows=True
        )
        self.no_log = Label(
            theme, tr("What the server writes beside its answers."), "small", "text2", wrap=True
        )
        log = widget_of(column_of([self.no_log, (self.log, 1)], spacing=6))
        self._about = Slot()
        self._panes = [tools, self.resources, self.prompts, log, self._about]
        for pane in self._panes:
            pane.hide()
        self._follow()
        theme.changed.connect(self._follow)

    def _add_doctor(self) -> None:
        theme, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        self.doctor = Card(theme, "sunken", "control")
        self.sentence = Label(theme, "", "small", "text1", wrap=True)
        self.cure = Button(theme, "", clicked=self._cure)
        self.key: KeyRow | None = None
        self.client: ClientForm | None = None
        self.form: MendForm | None = None
        self._typed_for: Cure = ""
        """What of the doctor's is being typed."""
        self._key = Slot()
        self._key.hide()
        row = row_of(
            [(Mark(theme, "stethoscope"), middle), (self.sentence, 1), (self.cure, middle)],
            spacing=10,
        )
        column_of([row, self._key], spacing=8, margins=(12, 6, 8, 6), on=self.doctor)
        self.doctor.hide()

    def _follow(self) -> None:
        self._both.setMinimumHeight(self.theme.px(PANE_HEIGHT))

    # What it shows

    def open(self, name: str, tab: int = TOOLS) -> None:
        """Show a server, from its tools on."""
        self._mending = False
        if name != self.name:
            self.name, self.facts, self._asking = name, None, False
            self._stop_typing()
        self._servers.start(self._load(tab))

    async def _load(self, tab: int | None = None) -> None:
        """Show the server as it is now; of several loads the last one started is shown."""
        if tab is not None:
            self._wanted_tab = tab
        self._loads += 1
        number = self._loads
        facts = await self._servers.facts(self.name)
        tools = await self._servers.tools(facts) if facts is not None else []
        if number != self._loads:
            return
        if facts is None:  # it was removed
            self.back.emit()
            return
        tab, self._wanted_tab = self._wanted_tab, None
        self._show(facts, tools, tab)

    def reload(self) -> None:
        if self.name:
            self._servers.start(self._load())

    def show_seconds(self) -> None:
        """Count on while it starts."""
        if self.facts is not None and self.facts.state.kind in ("starting", "waiting"):
            self.status.set(*state_words(self.facts, long=True))

    def _show(self, facts: ServerFacts, tools: list[ToolFacts], tab: int | None) -> None:
        before, self.facts = self.facts, facts
        entry = facts.entry
        self.tile.set(icon_of(entry), picture_of(facts))
        self.title.setText(entry.name)
        self.line.set_text(shown_start(entry))
        self.status.set(*state_words(facts, long=True))
        self.toggle.setAccessibleName(tr("Server {name}").format(name=entry.name))
        self.toggle.show_value(entry.on)
        runs = facts.state.kind in ("starting", "running", "waiting")
        self.restart.set_text(tr("Restart") if runs else tr("Start"))
        self.restart.setEnabled(entry.on and not facts.withheld)
        self._show_tabs(facts, tab)
        self._show_approval(facts)
        self._show_changed(facts)
        self.tools.show_tools(tools)
        self._both.setVisible(bool(tools))
        self.no_tools.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.no_tools.show_text("" if tools else _why_none(facts))
        if before is None or before.lists != facts.lists:
            lists = facts.lists or ServerLists()
            self.resources.show_offers(
                [resource_offer(one) for one in lists.resources]
                + [resource_offer(one, template=True) for one in lists.templates]
            )
            self.prompts.show_offers([prompt_offer(one) for one in lists.prompts])
        about = (facts.entry, facts.lists, facts.issuer)
        if before is None or (before.entry, before.lists, before.issuer) != about:
            self._about.put(self._about_card(facts))
        self.log.show_text(self._servers.log(entry))
        self._show_doctor(facts)

    def _show_tabs(self, facts: ServerFacts, tab: int | None) -> None:
        lists = facts.lists
        counts = (-1, -1, -1)
        if lists is not None:
            resources = len(lists.resources) + len(lists.templates)
            counts = (len(lists.tools), resources, len(lists.prompts))
        at = tab if tab is not None else self.tabs.current if self.tabs is not None else TOOLS
        if self.tabs is None or counts != self._counts:
            self._counts = counts
            titles = [tr("Tools"), tr("Resources"), tr("Prompts")]
            texts = [
                f"{title} {count}" if lists is not None else title
                for title, count in zip(titles, counts, strict=True)
            ]
            name = tr("What is shown of the server")
            self.tabs = Segmented(self.theme, [*texts, tr("Log"), tr("About")], name=name)
            self.tabs.chosen.connect(self._show_pane)
            self._tabs.put(self.tabs)
        self.tabs.set_current(at)
        self._show_pane(at)

    def _show_pane(self, at: int) -> None:
        for number, pane in enumerate(self._panes):
            pane.setVisible(number == at)
        self._changed.setVisible(bool(self.changed) and at == TOOLS)

    def _show_approval(self, facts: ServerFacts) -> None:
        wanted = self._asking or facts.withheld
        if wanted and (self.approval is None or self.approval.entry != facts.entry):
            self.approval = ApprovalCard(
                self.theme,
                facts,
                again=facts.withheld,
                keys=key_rows(self.theme, self._servers, facts),
                approve=self._approve,
                cancel=self._leave_off,
            )
            self._approval.put(self.approval)
            self._approval.show()
            self.approval.approve.setFocus(Qt.FocusReason.OtherFocusReason)
        elif not wanted:
            self.approval = None
            self._approval.hide()

    def _show_changed(self, facts: ServerFacts) -> None:
        changes = facts.changes
        if [card.change for card in self.changed] == changes:
            return
        layout = self._changed.layout()
        assert layout is not None
        for card in self.changed:
            card.hide()
            card.deleteLater()
        self.changed = []
        for one in changes:
            card = ChangedToolCard(self.theme, one)
            card.accepted.connect(self._accept)
            card.kept_off.connect(self._pick_off)
            self.changed.append(card)
            layout.addWidget(card)
        self._show_pane(self.tabs.current if self.tabs is not None else TOOLS)

    def _accept(self, change: Change) -> None:
        if self.facts is not None:
            self._do(self._servers.accept(self.facts.entry, change))

    def _show_doctor(self, facts: ServerFacts) -> None:
        sentence = "" if facts.withheld else facts.doctor
        if facts.sign_in == "stop":
            sentence = tr("Sign in in the browser window that opened.")
        self.cure.setVisible(bool(sentence and facts.cure))
        self.cure.setEnabled(True)
        self.cure.set_text(cure_text(facts))
        self.sentence.setText(tr_engine(sentence))
        self.doctor.setVisible(bool(sentence))
        if facts.cure != self._typed_for:  # what is being typed stays
            self._stop_typing()
        typed, self._mending = self._mending, False
        if typed and facts.cure in (*ON_ITS_PAGE, "client"):  # else something else is wrong by now
            self._cure()

    def _about_card(self, facts: ServerFacts) -> QWidget:
        entry, lists = facts.entry, facts.lists
        card = FormCard(self.theme)
        for name, value in facts_of(entry):
            card.add(name, BreakableLabel(self.theme, value), role="ui", least=380)
        if lists is not None and (lists.server or lists.revision):
            what = " ".join(filter(None, (lists.server, lists.version)))
            revision = tr("protocol {revision}").format(revision=lists.revision)
            value = joined((what, revision if lists.revision else ""))
            card.add(tr("It says it is"), Label(self.theme, value, "small", "text2"), role="ui")
        if facts.issuer:
            self.sign_out = Button(self.theme, tr("Sign out"), clicked=self._sign_out)
            self.sign_out.setAccessibleName(tr("Sign out of {name}").format(name=entry.name))
            card.add(tr("Signed in"), self.sign_out, facts.issuer, role="ui")
        self.where = None
        if facts.may is not None and entry.runs:
            self.where = SandboxChoice(self.theme, facts)
            self.where.chosen.connect(lambda one: self._do(self._servers.mark(one)))
            card.add(tr("Where it runs"), self.where, role="ui", least=380)
        if not entry.place:  # its entry is the person's to change
            card.add_toggle(
                tr("Start with the program"),
                lambda on: self._change(starts="program" if on else "call"),
                tr("Off, it starts with the first call of one of its tools."),
            ).show_value(entry.starts == "program")
            alone = card.add_toggle(tr("One call at a time"), lambda on: self._change(alone=on))
            alone.show_value(entry.alone)
        card.add_toggle(
            tr("May ask for a model's answers"),
            lambda on: self._change(sampling=on),
            tr("You see each request first. Answers count towards your limits."),
        ).show_value(entry.sampling)
        if entry.command and not entry.place:
            card.add_toggle(
                tr("One process for each folder"), lambda on: self._change(by_folder=on)
            ).show_value(entry.by_folder)
        if not entry.place:  # others go with their pack or folder
            remove = Button(self.theme, tr("Remove…"), "danger", clicked=self._ask_to_remove)
            remove.setAccessibleName(tr("Remove {name}").format(name=entry.name))
            line = tr("Its entry, what is remembered of it, and its keys in the keychain.")
            card.add(tr("Remove this server"), remove, line)
        parts: list[QWidget] = [card]
        if lists is not None and lists.instructions:
            parts.append(Label(self.theme, tr("What it tells agents"), "ui_strong"))
            text = TextArea(self.theme, tr("What it tells agents"), lines=5, read_only=True)
            text.show_text(lists.instructions)
            parts.append(text)
        for problem in lists.problems if lists is not None else ():
            parts.append(Label(self.theme, tr_engine(problem), "small", "warn", wrap=True))
        return widget_of(column_of([*parts, STRETCH], spacing=8))

    # What a person does

    def _switched(self, on: bool) -> None:
        facts = self.facts
        if facts is None:
            return
        if not on:
            self._asking = False
            self._do(self._servers.switch_off(facts.entry))
            return
        self.toggle.show_value(False)
        self.ask()

    def ask(self) -> None:
        """Show what the server runs, and ask whether it may."""
        self._asking = True
        if self.facts is not None:
            self._show_approval(self.facts)

    def _approve(self, entry: ServerEntry) -> None:
        self._asking = False
        self._do(self._servers.switch_on(entry))

    def _leave_off(self) -> None:
        self._asking = False
        if self.facts is not None and self.facts.entry.on:
            self._do(self._servers.switch_off(self.facts.entry))
        else:
            self.reload()
        self.toggle.setFocus(Qt.FocusReason.OtherFocusReason)

    def _restart(self) -> None:
        if self.facts is not None:
            self._do(self._servers.restart(self.facts.entry))

    def mend(self) -> None:
        """Have typed what mends it, once it is known."""
        self._mending = True

    def _cure(self) -> None:
        facts = self.facts
        if facts is None:
            return
        match facts.cure:
            case "set":
                self._enter_key(facts.missing[0])
            case "key" if facts.keys:
                self._enter_key(facts.keys[0])
            case "key":
                from studio.mcp.importing.changing import key_header

                header = key_header(facts.entry)
                form = MendForm(self.theme, tr("Key"), secret=True, header=header)
                self._enter(
                    form,
                    lambda key: self._servers.keep_key(
                        facts.entry, form.header.text().strip(), key
                    ),
                )
            case "value":
                form = MendForm(self.theme, facts.unset, secret=True)
                self._enter(form, partial(self._servers.keep_value, facts.entry, facts.unset))
            case "change":
                name = tr("Command") if facts.entry.command else tr("Address")
                form = MendForm(self.theme, name, facts.entry.shown)
                self._enter(form, partial(self._servers.change_start, facts.entry))
            case "client":
                self.client = ClientForm(self.theme)
                self.client.entered.connect(self._sign_in)
                self._type(self.client, self.client.client)
            case "sign_in" | "stop":
                self._sign_in()
            case "uv":
                self.cure.set_text(tr("Fetching uv…"))
                self.cure.setEnabled(False)
                self._do(self._servers.fetch_uv(facts.entry), cancelled_on_close=True)
            case "log" | "tool" if self.tabs is not None:
                at = LOG if facts.cure == "log" else TOOLS
                self.tabs.set_current(at)
                self._show_pane(at)
                if at == TOOLS:
                    self.tools.choose(facts.left_out[0].tool.name)
                    self.tools.setFocus(Qt.FocusReason.OtherFocusReason)
            case "place" if self.tabs is not None and self.where is not None:
                self.tabs.set_current(ABOUT)
                self._show_pane(ABOUT)
                self.where.combo.setFocus(Qt.FocusReason.OtherFocusReason)
            case _:
                self._restart()

    def _enter_key(self, name: str) -> None:
        owner = KeyOwner(name, name.rpartition("/")[2])
        self.key = KeyRow(self.theme, owner, self._servers.keychain, self._servers.tasks)
        self.key.changed.connect(self._key_set)
        self._type(self.key)
        self.key.enter()

    def _enter(self, form: MendForm, save: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Have something typed; ``save`` raises ValueError for what cannot be."""

        async def kept(text: str) -> None:
            try:
                await save(text)
            except ValueError:
                address = self.facts is not None and self.facts.entry.url
                words = tr("An address begins with http:// or https://.")
                form.show_problem(words if address else tr("A quotation mark is missing."))
                return
            self._stop_typing()

        self.form = form
        form.entered.connect(lambda text: self._do(kept(text)))
        form.left.connect(self._stop_typing)
        self._type(form, form.field)

    def _type(self, form: QWidget, field: QWidget | None = None) -> None:
        assert self.facts is not None
        self._typed_for = self.facts.cure
        self._key.put(form)
        self._key.show()
        if field is not None:
            field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _stop_typing(self) -> None:
        self._typed_for = ""
        self._key.hide()

    def _sign_in(self, client: SignIn | None = None) -> None:
        if self.facts is not None:
            self._do(self._servers.sign_in(self.facts, client), cancelled_on_close=True)

    def _sign_out(self) -> None:
        if self.facts is not None:
            self._do(self._servers.sign_out(self.facts.entry))

    def _key_set(self) -> None:
        self._stop_typing()
        self._restart()

    def _tool_chosen(self, facts: ToolFacts) -> None:
        self.trial.show_tool(facts)

    async def _call(self, tool: str, arguments: JsonObject, ask: AskForm) -> ServerResult:
        assert self.facts is not None
        return await self._servers.call(self.facts.entry, tool, arguments, ask)

    async def _open(self, uri: str, arguments: JsonObject, ask: AskForm) -> ServerResult:
        assert self.facts is not None
        return await self._servers.open(self.facts.entry, uri, arguments, ask)

    async def _prompt(self, name: str, arguments: JsonObject, ask: AskForm) -> ServerResult:
        assert self.facts is not None
        return await self._servers.prompt(self.facts.entry, name, arguments, ask)

    def _picked(self, tool: str, what: str) -> None:
        facts = self.facts
        if facts is None:
            return
        match what:
            case "allow" | "ask" | "deny":
                self._do(self._servers.set_right(facts, tool, what))
            case "reads":
                self._do(self._servers.mark(replace(facts.entry, reads=facts.entry.reads ^ {tool})))
            case _:
                self._pick_off(tool)

    def _pick_off(self, tool: str) -> None:
        if self.facts is not None:
            entry = self.facts.entry
            self._do(self._servers.switch_tool(entry, tool, off=entry.offers(tool)))

    def _change(self, **values: Any) -> None:
        if self.facts is not None:
            self._do(self._servers.change(replace(self.facts.entry, **values)))

    def _do(self, work: Coroutine[Any, Any, object], *, cancelled_on_close: bool = False) -> None:
        """Carry out a decision, and show what came of it."""

        async def then_show() -> None:
            try:
                await work
            finally:
                await self._load()

        self._servers.start(then_show(), cancelled_on_close=cancelled_on_close)

    def _ask_to_remove(self) -> None:
        name = self.name
        box = message_box(
            self,
            tr("Remove server"),
            tr("Remove {name}?").format(name=name),
            tr("Its entry and its keys in the keychain are deleted. Chats stay."),
        )
        yes = box.addButton(tr("Remove"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(self._remove)
        self._question = box
        box.open()

    def _remove(self) -> None:
        if self.facts is not None:
            self._servers.start(self._removed(self.facts))

    async def _removed(self, facts: ServerFacts) -> None:
        await self._servers.remove(facts.entry)
        self.name = ""
        self.back.emit()


def _why_none(facts: ServerFacts) -> str:
    if facts.lists is not None:
        return tr("It offers no tools.")
    if facts.state.kind == "off":
        return tr("What it offers is known once it was switched on.")
    if facts.state.kind in ("starting", "waiting"):
        return tr("What it offers is known once it has started.")
    return tr("What it offers is not known yet.")
