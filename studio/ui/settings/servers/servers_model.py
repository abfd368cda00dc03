"""What the page knows of the MCP servers, and what it does with them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from studio.agent.servers.address_templates import expanded
from studio.agent.servers.advice import advice
from studio.agent.servers.offers import shown
from studio.agent.servers.questions import readable
from studio.agent.servers.server_calls import ToolView
from studio.agent.servers.server_tools import ServerTools, ServerView
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule, Verdict, covers
from studio.domain.questions import DECLINED, AskForm, ServerAnswer, ServerQuestion
from studio.files.unpacking import UnpackError
from studio.mcp.entries import ServerEntry, key_prefix, keychain_names
from studio.mcp.faults import GivenUp, ServerFailed
from studio.mcp.naming import pool_name
from studio.mcp.results import ServerResult
from studio.mcp.sign_ins import SignIn
from studio.mcp.supervised import SIGN_IN
from studio.storage.config.keychain import KeychainUnavailable
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_plural

from .changed_tool import Change
from .server_facts import ServerFacts, left_out
from .tool_list import ToolFacts

if TYPE_CHECKING:
    from studio.mcp.importing.found import Found, Surroundings


class ServersModel:
    """Reads the servers with all that a person decides about them, and carries decisions out."""

    def __init__(self, services: SettingsServices) -> None:
        self._services = services
        self.tasks, self.keychain = services.tasks, services.keychain
        self.session_only = False
        """Whether a secret could only be kept until the program ends."""
        self._clients_wanted: dict[str, str] = {}
        """Servers where the person has to register this program, and what they are told."""

    @property
    def _tools(self) -> ServerTools:
        return self._services.engine.services.servers

    @property
    def folder(self) -> Path | None:
        """The folder of the open chat."""
        folder = self._services.chat.model.options.folder
        return Path(folder) if folder else None

    def start(
        self, work: Coroutine[Any, Any, object], *, cancelled_on_close: bool = False
    ) -> asyncio.Task[None]:
        """Run ``work``; the window shows the error it ends with."""
        return self.tasks.start(work, cancelled_on_close=cancelled_on_close)

    def listen(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` when a server's state or lists change; returns what ends that."""
        return self._tools.servers.listen(lambda _name: callback())

    # What there is

    async def load(self) -> tuple[list[ServerFacts], tuple[str, ...]]:
        """The person's servers in the order of their file, then those of the open chat's folder,
        if they trust it (M-12); and what is wrong with the files."""
        services, folder = self._services.engine.services, self.folder
        reading = services.server_entries(folder) if folder is not None else self._tools.refresh()
        entries = await reading
        names = [*self._services.engine.tools()]
        views = await asyncio.to_thread(self._tools.views, entries, names)
        return [await self._facts(view) for view in views], entries.problems

    async def entries(self) -> list[ServerEntry]:
        return [*(await self._tools.refresh()).by_name.values()]

    async def facts(self, name: str) -> ServerFacts | None:
        """One server; None if there is no such one any more."""
        facts, _ = await self.load()
        found = next((one for one in facts if one.entry.name == name), None)
        if found is None or not found.entry.may_sign_in:
            return found
        known = await self._tools.servers.signed_in(found.entry)
        return replace(found, issuer=known.issuer if known is not None else "")

    async def _facts(self, view: ServerView) -> ServerFacts:
        wanted = keychain_names(view.entry) if not view.entry.place else []  # others may have none
        missing = [name for name in wanted if not await self.keychain.get(name)]
        doctor, fault = view.state.reason, view.state.fault
        asked = self._clients_wanted.get(view.entry.name, "")
        if fault is not None and fault.kind in SIGN_IN:
            doctor = asked or advice(fault, view.entry)
        elif doctor and fault is not None:
            # Each by itself: the end of the first may be anything, such as the last of a list.
            what = tr_engine(f"{doctor.rstrip('.')}.")
            doctor = f"{what} {tr_engine(advice(fault, view.entry))}"
        if missing and (not doctor or view.state.kind == "failed"):
            short = missing[0].rpartition("/")[2]
            doctor = tr("{name} is missing, which the server needs.").format(name=short)
        if not doctor and view.entry.on and (tools := left_out(view)):
            doctor = tr_plural(
                "{count} tool is left out. {name}: {why}",
                "{count} tools are left out. {name}: {why}",
                len(tools), name=tools[0].tool.name, why=tr_engine(tools[0].withheld),
            )  # fmt: skip
        logged = bool(self.log(view.entry))
        confinement = self._tools.servers.confinement
        here = bool(view.entry.command)
        may = await asyncio.to_thread(confinement, view.entry) if here else None
        return ServerFacts(
            view,
            doctor,
            tuple(missing),
            logged,
            client_wanted=bool(asked),
            unset=self._tools.servers.unset(view.entry),
            may=may,
        )

    async def tools(self, facts: ServerFacts) -> list[ToolFacts]:
        """A server's tools with their rights."""
        rights = await self._rights(facts.entry.name, facts.view.tools)
        return [_tool(one, rights[one.name]) for one in facts.view.tools]

    def log(self, entry: ServerEntry) -> str:
        """The latest lines that a server wrote to stderr."""
        return self._tools.servers.log(pool_name(entry))

    # What a person decides

    async def switch_on(self, entry: ServerEntry) -> None:
        """The person saw what runs, and wants it: it starts at once, so that its tools show."""
        await self._connect(await self._tools.switch_on(entry))

    async def switch_off(self, entry: ServerEntry) -> None:
        await self._tools.switch_off(entry)

    async def restart(self, entry: ServerEntry) -> None:
        await self._tools.servers.stop(pool_name(entry))
        await self._connect(entry)

    async def change_start(self, entry: ServerEntry, text: str) -> None:
        """Start or reach a server otherwise, as the person typed it; ValueError if it is wrong."""
        from studio.mcp.importing.changing import with_start

        await self._changed(entry, *with_start(entry, text, os.environ))

    async def keep_key(self, entry: ServerEntry, header: str, key: str) -> None:
        from studio.mcp.importing.changing import with_key

        await self._changed(entry, *with_key(entry, header, key))

    async def keep_value(self, entry: ServerEntry, variable: str, value: str) -> None:
        from studio.mcp.importing.changing import with_value

        await self._changed(entry, *with_value(entry, variable, value))

    async def _changed(
        self, before: ServerEntry, entry: ServerEntry, secrets: Mapping[str, str]
    ) -> None:
        for name, secret in secrets.items():
            await self._keep(name, secret)
        if entry == before:
            await self.restart(entry)
        else:
            await self._tools.put(entry)  # what is another one now waits to be approved

    async def _connect(self, entry: ServerEntry) -> None:
        try:
            await self._tools.connect(entry, self.folder if entry.of_folder else None)
        except ServerFailed:  # its row says why
            return

    async def fetch_uv(self, entry: ServerEntry) -> None:
        """The person wants uv, which starts this server."""
        await self._services.engine.fetch_uv()
        await self._connect(entry)

    async def sign_in(self, facts: ServerFacts, client: SignIn | None = None) -> None:
        """The person wants to sign in: their browser opens, unless another window did it."""
        entry, servers = facts.entry, self._tools.servers
        name = pool_name(entry)
        if facts.state.kind == "signing_in":
            servers.give_up_sign_in(name)
            return  # who began it shows that
        fault = facts.state.fault
        if client is None and not (fault is not None and fault.kind == "rights"):
            await self._connect(entry)
            if servers.state(name).kind != "sign_in":
                return
        self._clients_wanted.pop(entry.name, None)
        try:
            await servers.sign_in(name, self._browse, client)
        except ServerFailed as error:
            if error.kind == "client":
                self._clients_wanted[entry.name] = str(error)
                return
            if not isinstance(error, GivenUp):
                raise
        if self.keychain.problem:
            self.session_only = True
        await self._connect(entry)

    async def _browse(self, url: str) -> None:
        if not QDesktopServices.openUrl(QUrl(url)):
            raise ConfigurationError(
                tr("No browser opens. Sign in with “agent-studio mcp login” in a terminal.")
            )

    async def sign_out(self, entry: ServerEntry) -> None:
        await self._tools.servers.sign_out(pool_name(entry))

    async def change(self, entry: ServerEntry) -> None:
        await self._tools.put(entry)

    async def switch_tool(self, entry: ServerEntry, tool: str, *, off: bool) -> None:
        await self._tools.switch_tools(entry, [tool], off=off)

    async def mark(self, entry: ServerEntry) -> None:
        """Keep what the person said of it: which tools read, whether it is in the sandbox."""
        await self._tools.say(entry)

    async def accept(self, entry: ServerEntry, change: Change) -> None:
        """The person saw how a tool changed, and wants it so."""
        shown = {change.name: change.pin}
        await asyncio.to_thread(self._tools.catalogue.accept, entry, shown)

    async def remove(self, entry: ServerEntry) -> None:
        """Forget a server, and its keys in the keychain."""
        await self._tools.remove(entry)
        left: list[str] = []
        for name in keychain_names(entry):
            if name.startswith(key_prefix(entry.name)):
                try:
                    await self.keychain.delete(name)
                except KeychainUnavailable:
                    left.append(name)
        if left:
            words = tr("The keychain cannot be used, and may still have {names}.")
            raise ConfigurationError(words.format(names=joined(left)))

    def surroundings(self, folder: Path | None) -> Surroundings:
        """This computer, and a project's folder."""
        from studio.mcp.importing.found import Surroundings

        environment = dict(os.environ)
        bundles = self._tools.servers.bundles
        return Surroundings(Path.home(), environment, sys.platform, folder, bundles)

    async def take(self, found: Sequence[Found]) -> list[ServerEntry]:
        """Write servers that were read, and put their secrets into the keychain."""
        from studio.mcp.importing.taking import take

        try:
            written = await take(found, self._tools.file, self._keep)
        except UnpackError as error:
            raise ConfigurationError(tr_engine(str(error))) from error
        await self._tools.refresh()
        return written

    async def _keep(self, name: str, secret: str) -> None:
        try:
            await self.keychain.set(name, secret)
        except KeychainUnavailable:
            self.keychain.keep_for_session(name, secret)
            self.session_only = True

    async def call(
        self, entry: ServerEntry, tool: str, arguments: JsonObject, ask: AskForm
    ) -> ServerResult:
        """Call a tool as the person wants it; raises ToolFailed."""
        return await self._tools.servers.call(
            pool_name(entry),
            tool,
            arguments,
            folder=self.folder,
            seconds=entry.seconds,
            ask=_readable(entry, ask),
        )

    async def open(
        self, entry: ServerEntry, uri: str, arguments: JsonObject, ask: AskForm
    ) -> ServerResult:
        """A resource, or that of a template with its variables, to look at; raises ToolFailed."""
        whole = expanded(uri, _texts(arguments)) if arguments else uri
        name, asks = pool_name(entry), _readable(entry, ask)
        return shown(await self._tools.servers.read(name, whole, self.folder, asks))

    async def prompt(
        self, entry: ServerEntry, prompt: str, arguments: JsonObject, ask: AskForm
    ) -> ServerResult:
        """The words of a prompt, to look at; raises ToolFailed."""
        name, asks = pool_name(entry), _readable(entry, ask)
        given = _texts(arguments)
        return await self._tools.servers.prompt(name, prompt, given, self.folder, asks)

    # Rights

    async def _rights(self, server: str, tools: Sequence[ToolView]) -> Mapping[str, Verdict]:
        """What the person's rules for everywhere say of each tool."""
        rules = [one.rule for one in await self._own_rules()]
        return {one.name: _right(one.name, server, rules) for one in tools}

    async def _own_rules(self):
        stored = await self._services.engine.rules.list()
        return [one for one in stored if not one.folder and one.rule.pattern == "*"]

    async def set_right(self, facts: ServerFacts, tool: str, right: Verdict) -> None:
        """Put a rule for everywhere in the place of those for a tool."""
        name = next(one.name for one in facts.view.tools if one.tool.name == tool)
        rules = self._services.engine.rules
        stored = await self._own_rules()
        others = [one.rule for one in stored if one.rule.tool != name]
        if right != _right(name, facts.entry.name, others):
            await rules.add(Rule(right, name))
        for one in stored:
            if one.rule.tool == name and one.rule.verdict != right:
                await rules.remove(one.id)


def _texts(arguments: JsonObject) -> dict[str, str]:
    return {name: str(value) for name, value in arguments.items()}


def _readable(entry: ServerEntry, ask: AskForm) -> AskForm:
    """The same for a server's words, made safe to show; no model is here to answer."""

    async def shown(question: ServerQuestion) -> ServerAnswer:
        return DECLINED if question.prompt else await ask(readable(question, entry.name))

    return shown


def _right(name: str, server: str, rules: Sequence[Rule]) -> Verdict:
    """The strictest rule of those that are about a tool; it asks where there is none."""
    found = [rule.verdict for rule in rules if covers(rule.tool, name, server)]
    if "deny" in found:
        return "deny"
    return "ask" if "ask" in found or not found else "allow"


def _tool(view: ToolView, right: Verdict) -> ToolFacts:
    changed = view.before is not None
    return ToolFacts(
        view.tool,
        right,
        view.reads,
        view.off,
        changed,
        "" if changed else view.withheld,
        view.flags,
    )
