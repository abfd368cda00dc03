"""The MCP servers page: all servers, and one of them, or a new one, in their place."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from studio.mcp.entries import ServerEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.settings.form import SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.settings.rows import RowCard
from studio.ui.settings.servers.adding import AddView
from studio.ui.settings.servers.approval import ApprovalCard, key_rows
from studio.ui.settings.servers.rows import ServerRow
from studio.ui.settings.servers.server_facts import ServerFacts
from studio.ui.settings.servers.server_view import LOG, TOOLS, ServerPane
from studio.ui.settings.servers.servers_model import ServersModel
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

SOON = 60
"""Milliseconds in which several changes of servers are shown at once."""


class ServersPage(SettingsPage):
    """Lists the servers; adds and opens them."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("Servers add tools. They run on this computer or at a web address.")
        super().__init__(theme, tr("MCP servers"), line)
        self.servers = ServersModel(services)
        self.rows: dict[str, ServerRow] = {}
        self.approval: ApprovalCard | None = None
        self._asking = ""
        """The server that the person is about to switch on."""
        self._at = ""
        self._loads = 0
        self.add = Button(theme, tr("Add server…"), "primary", clicked=self.show_adding)
        self.head.addWidget(self.add, 0, Qt.AlignmentFlag.AlignTop)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self._approval = Slot()
        self._approval.hide()
        self.card = RowCard(theme)
        self.whose = Label(theme, "", "ui_strong", wrap=True)
        self.whose.hide()
        self.brought = RowCard(theme)
        """The servers of the chat's folder."""
        self.none = widget_of(self._nothing())
        foot = tr("New servers start switched off. Their tools ask before each use.")
        self.foot = Label(theme, foot, "small", "text2", wrap=True)
        parts = [self.problem, self._approval, self.card, self.whose, self.brought]
        parts += [self.none, self.foot]
        self.all = widget_of(column_of([*parts, STRETCH], spacing=10))
        self.one = ServerPane(theme, self.servers)
        self.one.back.connect(self.show_all)
        self.adding = AddView(theme, self.servers)
        self.adding.back.connect(self.show_all)
        self.adding.added.connect(self._added)
        for view in (self.all, self.one, self.adding):
            self.column.addWidget(view, 1)
        self._soon = QTimer(self, interval=SOON, singleShot=True)
        self._soon.timeout.connect(self._reload)
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._count)
        self.destroyed.connect(self.servers.listen(self._changed_elsewhere))
        for key in ("Alt+Left", "Back"):
            back = QShortcut(QKeySequence(key), self, self.show_all)
            back.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self._show(self.all)

    def _nothing(self):
        text = tr("No servers yet. Add one, or import what other programs know.")
        first = Button(self.theme, tr("Add server…"), clicked=self.show_adding)
        label = Label(self.theme, text, "ui", "text2", wrap=True)
        return column_of([label, row_of([first, STRETCH])], spacing=10, margins=(0, 24, 0, 24))

    # Which of its views is shown

    def refresh(self) -> None:
        self._reload()
        self._seconds.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._seconds.stop()

    def show_at(self, name: str) -> None:
        """Show a server, or the way to add one for ``add``."""
        if name == "add":
            self.show_adding()
        elif name:
            self.show_one(name)
        else:
            self.show_all()

    def show_all(self) -> None:
        """Show the list, with the focus on the server that was open."""
        name, shown = self._at, self.all.isVisible()
        self._at = ""
        self._show(self.all)
        self._reload()
        if not shown and name in self.rows:
            self.rows[name].open.setFocus(Qt.FocusReason.BacktabFocusReason)

    def show_one(self, name: str, tab: int = TOOLS) -> None:
        self._at = name
        self._show(self.one)
        self.one.open(name, tab)
        self.one.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_adding(self) -> None:
        self._at = ""
        self._show(self.adding)
        self.adding.open()

    def _show(self, shown: QWidget) -> None:
        for view in (self.all, self.one, self.adding):
            view.setVisible(view is shown)
        self.show_head(shown is self.all)
        self.verticalScrollBar().setValue(0)

    def _added(self, name: str) -> None:
        self.show_one(name)
        self.one.ask()

    # The list

    def _changed_elsewhere(self) -> None:
        if self.isVisible() and not self._soon.isActive():
            self._soon.start()

    def _reload(self) -> None:
        if self.one.isVisible():
            self.one.reload()
        self.servers.start(self._load())

    async def _load(self) -> None:
        """Show the servers as they are now; of several loads the last one started is shown."""
        self._loads += 1
        number = self._loads
        facts, problems = await self.servers.load()
        if number != self._loads:
            return
        self._show_rows(facts)
        lines = [tr_engine(one) for one in problems]
        if self.servers.session_only:
            lines.append(tr("Keys can be kept for this session only."))
        self.problem.show_text("\n".join(lines))

    def _show_rows(self, facts: list[ServerFacts]) -> None:
        """Rows stay where nothing changed: one of them may have the focus."""
        before, self.rows = self.rows, {}
        for one in facts:
            name = one.entry.name
            row = before.get(name)
            if row is None or _what(row.facts) != _what(one):
                row = self._row(one)
            elif row.facts != one:
                row.show_facts(one)
            self.rows[name] = row
        if list(self.rows.values()) != list(before.values()):
            rows = list(self.rows.values())
            theirs = [row for row in rows if row.facts.entry.of_folder]
            self.card.set_rows([row for row in rows if row not in theirs])
            self.brought.set_rows(theirs)
            folder = short_path(theirs[0].facts.entry.place) if theirs else ""
            self.whose.show_text(tr("In {folder}").format(folder=folder) if folder else "")
            self.tab_in_order()
        self.none.setVisible(not facts)
        self.foot.setVisible(bool(facts))
        self.add.setVisible(bool(facts) and self.all.isVisible() and not self._asking)
        asked = self.rows.get(self._asking)
        if asked is not None:
            self._ask(asked.facts)

    def _row(self, facts: ServerFacts) -> ServerRow:
        row, name = ServerRow(self.theme, facts), facts.entry.name
        row.switched.connect(partial(self._switched, name))
        row.opened.connect(partial(self.show_one, name))
        row.look_wanted.connect(partial(self.show_one, name))
        row.log_wanted.connect(partial(self.show_one, name, LOG))
        row.restart_wanted.connect(partial(self._restart, name))
        row.sign_in_wanted.connect(partial(self._sign_in, name))
        row.mend_wanted.connect(partial(self._mend, name))
        row.uv_wanted.connect(partial(self._fetch_uv, name))
        return row

    def _count(self) -> None:
        for row in self.rows.values():
            row.show_seconds()
        self.one.show_seconds()

    # Switching

    def _switched(self, name: str, on: bool) -> None:
        row = self.rows[name]
        if on:
            row.toggle.show_value(False)
            self._asking = name
            self._ask(row.facts)
        else:
            self._stop_asking()
            self._do(self.servers.switch_off(row.facts.entry))

    def _restart(self, name: str) -> None:
        self._do(self.servers.restart(self.rows[name].facts.entry))

    def _fetch_uv(self, name: str) -> None:
        row = self.rows[name]

        async def fetch() -> None:
            row.show_fetching(True)
            try:
                await self.servers.fetch_uv(row.facts.entry)
            finally:
                if isValid(row):
                    row.show_fetching(False)

        self._do(fetch(), cancelled_on_close=True)

    def _sign_in(self, name: str) -> None:
        facts = self.rows[name].facts
        if facts.sign_in == "client":  # the server's page has the fields
            self._mend(name)
        else:
            self._do(self.servers.sign_in(facts), cancelled_on_close=True)

    def _mend(self, name: str) -> None:
        self.show_one(name)
        self.one.mend()

    def _ask(self, facts: ServerFacts) -> None:
        """Show above the list what a server runs."""
        if self.approval is not None and self.approval.entry == facts.entry:
            return
        self.approval = ApprovalCard(
            self.theme,
            facts,
            keys=key_rows(self.theme, self.servers, facts),
            approve=self._approve,
            cancel=self._leave_off,
        )
        self._approval.put(self.approval)
        self._approval.show()
        self.add.hide()  # one primary button is enough
        self.approval.approve.setFocus(Qt.FocusReason.OtherFocusReason)

    def _approve(self, entry: ServerEntry) -> None:
        self._stop_asking()
        self._do(self.servers.switch_on(entry))

    def _leave_off(self) -> None:
        row = self.rows.get(self._asking)
        self._stop_asking()
        if row is not None:
            row.toggle.setFocus(Qt.FocusReason.OtherFocusReason)

    def _stop_asking(self) -> None:
        self._asking, self.approval = "", None
        self._approval.hide()
        self.add.setVisible(bool(self.rows))

    def _do(self, work, *, cancelled_on_close: bool = False) -> None:
        async def then_show() -> None:
            try:
                await work
            finally:
                await self._load()

        self.servers.start(then_show(), cancelled_on_close=cancelled_on_close)


def _what(facts: ServerFacts) -> tuple[str, str]:
    """What a row is about as long as it stays."""
    return facts.entry.shown, facts.entry.place
