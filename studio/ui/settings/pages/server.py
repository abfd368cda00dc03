"""The Server page: address, token and rules for other programs (S-3, S-4)."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.domain.errors import StudioError
from studio.domain.permissions import Verdict
from studio.storage.config.server_token import ENTRY, ServerToken
from studio.storage.config.settings import Settings
from studio.ui.app.server_process import ServerProcess
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.settings.form import FormCard, SettingsPage, Slot
from studio.ui.settings.key_row import masked
from studio.ui.settings.registry import SettingsServices, SettingsTasks
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Button, Field, IconButton, Label, Status, Toggle, message_box
from studio.ui.widgets.layouts import column_of, row_of, widget_of

from .permission_rules import RULE_VERDICTS, VerdictCombo


class TokenRow(QWidget):
    """Shows, copies and renews the token; ``changed`` is emitted when it was renewed.

    Where no keychain can store a token, each run of the server makes its own.
    """

    changed = Signal()

    def __init__(
        self, theme: Theme, token: ServerToken, process: ServerProcess, tasks: SettingsTasks
    ) -> None:
        super().__init__()
        self._stored, self._process, self._tasks = token, process, tasks
        self._keychain = token.keychain
        self._token = self._problem = ""
        self._question: QMessageBox | None = None
        self.shown = Field(theme, tr("None yet"), role="code", name=tr("Token"))
        self.shown.setReadOnly(True)
        self.show_it = Button(theme, tr("Show"))
        self.show_it.setCheckable(True)
        self.show_it.toggled.connect(self._show)
        self.copy = Button(theme, tr("Copy"))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._token))
        self.renew = Button(theme, tr("Renew…"), clicked=self._ask_to_renew)
        self.remark = Label(theme, "", "small", "text2", wrap=True)
        buttons = _in_the_middle(self.show_it, self.copy, self.renew)
        column_of([row_of([(self.shown, 1), *buttons], spacing=8), self.remark], spacing=6, on=self)
        self._show()

    async def load(self) -> None:
        """Read the token, or make one."""
        if self._stored.given:
            await self._load_given()
            return
        token = self._process.token or await self._keychain.get(ENTRY) or ""
        if not token and self._process.state == "off" and not self._keychain.problem:
            token = await self._stored.get()
        self._token = token if self._process.token or self._stored.kept else ""
        self._show()

    async def _load_given(self) -> None:
        self._problem = ""
        try:
            self._token = await self._stored.get()
        except StudioError as error:
            self._token, self._problem = "", str(error)
        self._show()

    def _show(self) -> None:
        open_ = self.show_it.isChecked()
        self.show_it.set_text(tr("Hide") if open_ else tr("Show"))
        self.shown.setText(self._token if open_ or not self._token else masked(self._token))
        self.shown.setCursorPosition(0)
        for button in (self.show_it, self.copy, self.renew):
            button.setEnabled(bool(self._token))
        self.remark.show_text(self._remark())
        if self._stored.given:
            self.renew.setEnabled(False)

    def _remark(self) -> str:
        if self._problem:
            return tr_engine(self._problem)
        if self._stored.given:
            return tr("It is given in {place}.").format(place=self._stored.given)
        if problem := self._keychain.problem:
            own = tr("Each run of the server makes its own token.")
            return f"{tr_engine(problem)} {own}"
        return ""

    def _ask_to_renew(self) -> None:
        more = tr("The old one stops working. Every client needs the new one.")
        box = message_box(self, tr("Renew token"), tr("Renew the server’s token?"), more)
        yes = box.addButton(tr("Renew"), QMessageBox.ButtonRole.DestructiveRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        yes.clicked.connect(lambda: self._tasks.start(self._renew()))
        self._question = box
        box.open()

    async def _renew(self) -> None:
        if not self._process.token:
            token = await self._stored.renew()
            self._token = token if self._stored.kept else self._token
            self._show()
        self.changed.emit()


DEFAULT_RULES = tr_later(
    "Clients may have agents read in this folder. Everything else is asked in this window, "
    "or refused when it is closed."
)


class ClientRules(QWidget):
    """Lists, adds and removes ``Settings.server_rules``; ``changed`` follows each change."""

    changed = Signal()

    def __init__(
        self, theme: Theme, settings: Settings, tools: Callable[[], Collection[str]]
    ) -> None:
        super().__init__()
        self._theme, self._settings, self._tools = theme, settings, tools
        self.removes: dict[str, IconButton] = {}
        """The remove button of each rule, by its verdict and text."""
        self._listed = Slot()
        self.verdict = VerdictCombo(theme)
        name = tr("Rule for clients: TOOL or TOOL(PATTERN)")
        self.field = Field(theme, "run(pytest *)", role="code", name=name)
        self.field.returnPressed.connect(self.add)
        self.field.textChanged.connect(lambda: self._show_problem(""))
        self.button = Button(theme, tr("Add rule"), clicked=self.add)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        row = row_of([self.verdict, (self.field, 1), self.button], spacing=8)
        column_of([self._listed, row, self.problem], spacing=8, on=self)

    def show_rules(self) -> None:
        """Show the current rules."""
        rows = FormCard(self._theme)
        rows.add_text(tr(DEFAULT_RULES))
        self.removes = {}
        for verdict, label in RULE_VERDICTS:
            for text in self._settings.server_rules.get(verdict, ()):
                remove = IconButton(
                    self._theme,
                    "x",
                    tr("Remove {verdict} {rule}").format(verdict=tr(label), rule=text),
                )
                remove.clicked.connect(partial(self._remove, verdict, text))
                label_widget = Label(self._theme, tr(label), "small", "text2")
                rows.add(text, _side_by_side(label_widget, remove, spacing=12), role="code")
                self.removes[f"{verdict} {text}"] = remove
        self._listed.put(rows)

    def add(self) -> None:
        """Store the typed rule, or show what is wrong with it."""
        from studio.agent.permission.rules import parse_rule

        verdict = self.verdict.verdict
        try:
            rule = str(parse_rule(self.field.text().strip(), self._tools(), verdict))
        except StudioError as error:
            self._show_problem(tr_engine(str(error)))
            return
        stored = self._settings.server_rules
        if rule not in stored.get(verdict, []):
            stored[verdict] = [*stored.get(verdict, []), rule]
        self.field.clear()
        self.show_rules()
        self.changed.emit()

    def _remove(self, verdict: Verdict, text: str, _checked: bool = False) -> None:
        stored = self._settings.server_rules
        stored[verdict] = [rule for rule in stored.get(verdict, []) if rule != text]
        self.show_rules()
        self.changed.emit()

    def _show_problem(self, problem: str) -> None:
        self.problem.show_text(problem)
        self.field.set_error(problem)


STATES = {
    "off": (tr_later("Off"), "off"),
    "starting": (tr_later("Starting…"), "busy"),
    "running": (tr_later("Running"), "ok"),
}
OWN_FOLDER = tr_later("An empty folder of the program’s own")
FIELD = 270
"""Minimum width of the text fields."""


class ServerPage(SettingsPage):
    """The settings of the server; the server reads them again after each change."""

    affects_server = True

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Server"),
            tr(
                "Other programs use your agents and models, through the APIs of OpenAI "
                "and Anthropic."
            ),
        )
        self._settings, self._tasks = services.values, services.tasks
        self._process, engine = services.server, services.engine
        self._add_switch(ServerToken(services.keychain, engine.paths.data))
        self._add_clients(engine.tools)
        self._add_address()
        self.column.addStretch(1)
        self._process.changed.connect(self._show_state)

    def _add_switch(self, token: ServerToken) -> None:
        theme, rows = self.theme, FormCard(self.theme)
        self.status = Status(theme)
        self.on = self._toggle("server_on", tr("Run the server"))
        state = _side_by_side(self.status, self.on)
        self.about = rows.add(tr("Run the server"), state, tr("As long as this window is open."))
        self.base = Field(theme, role="code", name=tr("Base URL for clients"))
        self.base.setReadOnly(True)
        self.copy = Button(theme, tr("Copy"))
        self.copy.setAccessibleName(tr("Copy base URL"))
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.base.text()))
        address = _side_by_side(self.base, self.copy)
        self.connecting = rows.add(tr("Connect"), address, " ", least=340)
        self.token = TokenRow(theme, token, self._process, self._tasks)
        self.token.changed.connect(self.changed)
        rows.add(tr("Token"), self.token, least=430)
        self.column.addWidget(rows)

    def _add_clients(self, tools: Callable[[], Collection[str]]) -> None:
        theme, rows = self.theme, FormCard(self.theme)
        choose = Button(theme, tr("Choose…"))
        choose.setAccessibleName(tr("Choose the folder for clients"))
        choose.clicked.connect(self._choose)
        self.forget = Button(theme, tr("Use none"), "ghost", clicked=lambda: self._use(""))
        self.folder = rows.add(tr("Folder"), _side_by_side(self.forget, choose), " ")
        about = tr("As progress beside the answer, where the API has a place for it.")
        self.steps = self._add_toggle(rows, "server_steps", tr("Show tool steps to clients"), about)
        about = tr("If off, clients get the words after the last call alone, once they are whole.")
        self.words = self._add_toggle(
            rows, "server_words", tr("Send the words between tool calls"), about
        )
        about = tr("Listed with yours, marked as the server’s.")
        self.keep = self._add_toggle(rows, "server_keep", tr("Keep requests as chats"), about)
        self.chats = self._field(tr("Most chats kept"), "1000", self._chats_entered)
        about = tr("Then the oldest go to the bin. 0 keeps all.")
        rows.add(tr("Most chats kept"), self.chats, about, least=FIELD)
        self.add_group(tr("For clients"), rows)
        self.rules = ClientRules(theme, self._settings, tools)
        self.rules.changed.connect(self.changed)
        self.add_group(tr("What clients may do"), self.rules)

    def _add_address(self) -> None:
        theme, rows = self.theme, FormCard(self.theme)
        self.host = self._field(tr("Address"), "127.0.0.1", self._host_entered)
        self.where = rows.add(tr("Address"), self.host, " ", least=FIELD)
        self.port = self._field(tr("Port"), "8765", self._port_entered)
        rows.add(tr("Port"), self.port, least=FIELD)
        about = tr("Off, every program on this computer may use the server.")
        self.asks = self._add_toggle(rows, "server_token", tr("Clients need the token"), about)
        self.hosts = self._field(tr("Other host names"), "studio.local", self._hosts_entered)
        about = tr("Requests to any other name are refused.")
        rows.add(tr("Other host names"), self.hosts, about, least=FIELD)
        self.origins = self._field(tr("Web pages"), "https://example.org", self._origins_entered)
        about = tr("Pages that may ask the server. Others are refused.")
        rows.add(tr("Web pages"), self.origins, about, least=FIELD)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.add_group(tr("Where it listens"), rows)
        self.column.addWidget(self.problem)

    def _toggle(self, name: str, words: str) -> Toggle:
        """A switch of the setting ``name``."""
        toggle = Toggle(self.theme, words)
        toggle.setProperty("setting", name)
        toggle.toggled.connect(lambda on: self._set(name, on))
        return toggle

    def _add_toggle(self, rows: FormCard, name: str, title: str, line: str) -> Toggle:
        toggle = self._toggle(name, title)
        rows.add(title, toggle, line)
        return toggle

    def _field(self, name: str, placeholder: str, typed: Callable[[], None]) -> Field:
        field = Field(self.theme, placeholder, name=name)
        field.editingFinished.connect(typed)
        return field

    def refresh(self) -> None:
        values = self._settings
        for toggle in (self.on, self.steps, self.words, self.keep, self.asks):
            toggle.show_value(getattr(values, toggle.property("setting")))
        self.host.set_unless_typing(values.server_host)
        self.port.set_unless_typing(str(values.server_port))
        self.chats.set_unless_typing(str(values.server_chats))
        self.hosts.set_unless_typing(", ".join(values.server_hosts))
        self.origins.set_unless_typing(", ".join(values.server_origins))
        self.rules.show_rules()
        self._show_folder()
        self._show_state()

    def _show_state(self) -> None:
        state = self._process.state
        words, mark = STATES.get(state, (tr_later("Not running"), "err"))
        self.status.set(tr(words), mark)
        self.about.setText(
            tr_engine(self._process.problem)
            if state == "failed"
            else tr("As long as this window is open.")
        )
        values = self._settings
        host = f"[{values.server_host}]" if ":" in values.server_host else values.server_host
        address = self._process.address or f"http://{host}:{values.server_port}"
        self.base.setText(f"{address}/v1")
        self.base.setCursorPosition(0)
        needed = values.server_token or not _loopback(values.server_host)
        self.connecting.setText(
            tr("Give clients this base URL, and the token as the API key.")
            if needed
            else tr("Give clients this base URL. They need no token.")
        )
        reach = tr("Only programs on this computer reach it.")
        if not _loopback(values.server_host):
            reach = tr("Other computers reach it, unencrypted. Whoever has the token can use it.")
        self.where.setText(reach)
        self._tasks.start(self.token.load())

    # -- what the person changes ------------------------------------------------------------

    def _set(self, name: str, value: object) -> None:
        if getattr(self._settings, name) != value:
            setattr(self._settings, name, value)
            self._show_state()
            self.changed.emit()

    def _host_entered(self) -> None:
        host = self.host.text().strip() or "127.0.0.1"
        wrong = tr("An address is one word, 127.0.0.1 for this computer.") if " " in host else ""
        self._check_and_set(self.host, "server_host", host, wrong)

    def _port_entered(self) -> None:
        text = self.port.text().strip()
        fits = text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65536
        port = int(text) if fits else 0
        self._check_and_set(
            self.port, "server_port", port, "" if fits else tr("A port is 1 to 65535.")
        )

    def _chats_entered(self) -> None:
        text = self.chats.text().strip()
        fits = text.isascii() and text.isdigit() and len(text) < 8
        problem = "" if fits else tr("A whole number from 0 on.")
        self._check_and_set(self.chats, "server_chats", int(text) if fits else 0, problem)

    def _hosts_entered(self) -> None:
        hosts = _split_list(self.hosts.text())
        wrong = any("/" in host for host in hosts)
        words = tr("A host name has no slash: studio.local") if wrong else ""
        self._check_and_set(self.hosts, "server_hosts", hosts, words)

    def _origins_entered(self) -> None:
        pages = [page.rstrip("/") for page in _split_list(self.origins.text())]
        wrong = not all(page.startswith(("https://", "http://")) for page in pages)
        words = tr("A page is written https://example.org") if wrong else ""
        self._check_and_set(self.origins, "server_origins", pages, words)

    def _check_and_set(self, field: Field, name: str, value: object, problem: str) -> None:
        field.set_error(problem)
        self.problem.show_text(problem)
        if not problem:
            self._set(name, value)

    def _choose(self) -> None:
        self.ask_for_folder(tr("Folder for clients"), self._settings.last_folder, self._use)

    def _use(self, folder: str) -> None:
        self._set("server_folder", folder)
        self._show_folder()

    def _show_folder(self) -> None:
        folder = self._settings.server_folder
        self.folder.setText(short_path(folder) if folder else tr(OWN_FOLDER))
        self.forget.setVisible(bool(folder))


def _side_by_side(*widgets: QWidget, spacing: int = 8) -> QWidget:
    return widget_of(row_of(_in_the_middle(*widgets), spacing=spacing))


def _in_the_middle(*widgets: QWidget) -> list[tuple[QWidget, Qt.AlignmentFlag]]:
    return [(widget, Qt.AlignmentFlag.AlignVCenter) for widget in widgets]


def _split_list(text: str) -> list[str]:
    return list(dict.fromkeys(text.replace(",", " ").split()))


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
