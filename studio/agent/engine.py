"""Everything a door needs, in one hand: made by ``app``, given to window, server, terminal."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from studio.domain.agents import Agent, Limits, Mode
from studio.domain.envelope import EventEnvelope
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import LedgerEntry
from studio.domain.messages import Said
from studio.domain.models import ModelInfo
from studio.domain.sessions import SessionInfo
from studio.files.folders import delete_older_than, private_folder
from studio.processes.sandbox import Sandbox
from studio.providers.base import Provider
from studio.providers.catalogue import Catalogue, Listing
from studio.providers.http import Http
from studio.providers.registry import EMBEDDED, KEYED, PROVIDERS
from studio.storage.config.keychain import Keychain, child_environment
from studio.storage.config.permission_rules import RuleStore
from studio.storage.config.settings import SettingsFile
from studio.storage.database import Database
from studio.storage.ipc.remote_approvals import RemoteApprovals
from studio.storage.paths import Paths
from studio.storage.sessions.audit_log import EVERYTHING, PAGE, AuditEntry, AuditFilter
from studio.storage.sessions.store import SessionStore
from studio.storage.snapshots.blob_store import BlobStore
from studio.tools import DraftTargets, Tool, Workspace
from studio.tools.discovery import Toolbox, ToolDiscovery
from studio.tools.web import Web

from .agent_files import AgentFiles, Agents
from .changes.folder_tracker import FolderTracker
from .limits import Budget, RequestRate
from .permission.content_filter import kinds_of
from .permission.policy import Policy
from .permission.rulebook import Decision
from .permission.rules import StandingRules, Trust
from .provider_factory import ProviderFactory, no_key
from .retry_policy import RetryPolicy
from .sandbox_probe import SandboxProbe
from .session.agent_setup import LoadedAgent
from .session.model_router import ModelRouter
from .session.sessions import Sessions
from .telemetry import Telemetry
from .usage_accounting import UsageAccounting
from .usage_costs import UsageCosts

DEFAULT_AGENT = "Coder"
NOTIFIED = (TurnStarted, AwaitingPermission, AwaitingReply, TurnComplete)
"""What other programs at the same data are told of."""
KEPT = 30 * 24 * 3600.0
"""Seconds for which a deleted file can be restored."""


@dataclass(frozen=True, slots=True)
class SessionDefaults:
    """What a new session runs on when the person has not said otherwise."""

    agent: str
    provider: str
    model: str


class Engine:
    """The pieces, and the few questions that need more than one of them.

    Also what a session's turns ask of their surroundings (``Services``).
    """

    def __init__(
        self,
        *,
        paths: Paths,
        settings: SettingsFile,
        keychain: Keychain,
        http: Http,
        database: Database,
        catalogue: Catalogue,
        connections: ProviderFactory,
        snapshot_date: str = "",
    ) -> None:
        self.paths = paths
        self.settings = settings
        self.keychain = keychain
        self.http = http
        self.database = database
        self.catalogue = catalogue
        self.connections = connections
        self.patience = RetryPolicy()
        """How long providers are waited for; tests and doors may change it."""
        self.today: Callable[[], date] = date.today
        self.snapshot_date = snapshot_date
        """When the built-in list of models was made, ``2026-11``."""
        self.store = SessionStore(database)
        self.rules = StandingRules(RuleStore(database))
        """The person's standing rules, and the folders they trust."""
        self.books = UsageCosts(self.store, self.model)
        self.accounts = UsageAccounting(settings, self.store, self.books.spent)
        self.folders = FolderTracker(
            BlobStore(paths.snapshots),
            self.store.changes,
            lambda: (paths.data, paths.config, paths.cache, paths.logs),
        )
        self.routing = ModelRouter(settings, self)
        self.web = Web(lambda: settings.values, keychain.get)
        self.sessions = Sessions(self.store, self)
        self.library = AgentFiles(paths.resources / "agents", paths.agents)
        self.toolbox = Toolbox()
        self._finder = ToolDiscovery([paths.tools])
        self._troubled: list[Callable[[str], None]] = []
        self.sessions.events.subscribe(self.accounts.count_request)
        self.tracing = Telemetry(lambda: settings.values, self.report_problem)
        self.sessions.events.subscribe(self.tracing.record)
        self.questions = RemoteApprovals(database, paths.data / "bells")
        """Permission questions between programs that use the same data."""
        self.sessions.events.subscribe(self._notify_programs)
        self._confinement = SandboxProbe(
            (paths.data, paths.config, paths.cache, paths.logs), lambda: settings.values.sandbox
        )
        self.connected = [name for name, found in PROVIDERS.items() if found.ready]
        """Providers that can be used as they are; see ``look_for_providers``."""

    def _notify_programs(self, envelope: EventEnvelope) -> None:
        """Wake other programs at the same data where a turn began, ended or waits."""
        if isinstance(envelope.event, NOTIFIED):
            self.questions.notifier.notify_soon()

    def discover_tools(self) -> None:
        """Find the tools; runs their files, so call it in a thread."""
        self.toolbox = self._finder.refresh()

    async def refresh_tools(self) -> None:
        """Take what was saved in the person's tool files since; says what is newly broken."""
        self._take(await asyncio.to_thread(self._finder.refresh))

    def _take(self, toolbox: Toolbox) -> None:
        known = set(self.toolbox.problems)
        self.toolbox = toolbox
        for problem in toolbox.problems:
            if problem not in known:
                self.report_problem(problem)

    async def load_agent(self, session: SessionInfo, trust: Trust) -> LoadedAgent:
        """Everything that a turn needs of the disk, looked at in one go.

        Raises ConfigurationError for an agent that is not there, or that masks
        what nobody knows.
        """

        def look() -> tuple[Toolbox, LoadedAgent]:
            agents = self.library.read(Path(session.folder), trusted=trust == "trusted")
            agent, toolbox = _named(session.agent, agents), self._finder.refresh()
            masks = kinds_of([*self.settings.values.mask, *agent.mask])
            return toolbox, LoadedAgent(agent, toolbox.tools, masks, self.workspace(session))

        toolbox, found = await asyncio.to_thread(look)
        self._take(toolbox)
        return found

    async def agents(self, folder: Path | None = None, trust: Trust | None = None) -> Agents:
        """``trust`` is the person's in the folder, where that was looked up already."""
        if folder is not None and trust is None:
            trust = await self.rules.trusted(folder)
        return await self.library.load(folder, trusted=trust == "trusted")

    async def agent(self, name: str, folder: Path, trust: Trust | None = None) -> Agent:
        """Raises ConfigurationError that lists the known ones, or says why a file was skipped."""
        return _named(name, await self.agents(folder, trust))

    async def provider(self, name: str) -> Provider:
        return await self.connections.provider(name)

    def model(self, provider: str, model: str) -> ModelInfo:
        return self.catalogue.model(provider, model)

    def offered(self, provider: str, current: str = "") -> list[ModelInfo]:
        """A provider's models that the person lets choose from, as they are known now.

        All it lists, or of these the enabled ones and the ``current`` one; then
        the person's own.
        """
        values = self.settings.values
        enabled = values.enabled_models.get(provider)
        found = [
            model
            for model in self.catalogue.listing(provider).models
            if enabled is None or model.id in (*enabled, current)
        ]
        known = {model.id for model in found}
        own = [name for name in values.own_models.get(provider, []) if name not in known]
        return [*found, *map(ModelInfo, own)]

    async def refuses(self, provider: str, model: str, block: Said) -> str:
        """Why a model cannot read a picture or file; empty if it can, or nobody can say."""
        try:
            found = await self.connections.provider(provider)
        except StudioError:  # no key, say: that is told where it matters
            return ""
        return found.media_problem(block, self.model(provider, model))

    async def look_for_providers(self) -> None:
        """Find which providers have what they need: a key, an address, the person's word."""
        self.connected = [name for name in PROVIDERS if await self.connections.is_connected(name)]

    async def refresh_settings(self) -> None:
        """Have what was changed elsewhere count here too: caps, rules, addresses, models."""
        if await self.settings.refresh():
            with suppress(StudioError):
                await self.look_for_providers()

    async def keep_key(self, name: str, key: str, session_only: bool = False) -> None:
        """Into the keychain, or for this session; raises KeychainUnavailable."""
        if session_only:
            self.keychain.keep_for_session(name, key)
        else:
            await self.keychain.set(name, key)

    async def ledger(self, session_id: str) -> list[LedgerEntry]:
        """Every request of a session, oldest first."""
        return await self.store.ledger(session_id)

    async def audit(
        self,
        wanted: AuditFilter = EVERYTHING,
        *,
        beyond: int = 0,
        limit: int = PAGE,
        newest_first: bool = True,
    ) -> list[AuditEntry]:
        """A page of every call of a tool, without secrets (L-15); see ``storage.audit.read``."""
        return await self.store.audit(wanted, beyond=beyond, limit=limit, newest_first=newest_first)

    async def refresh_models(self, name: str, *, force: bool = False) -> None:
        """Have a provider's list brought up to date; the catalogue tells when it is."""
        if name in EMBEDDED:
            provider = await self.connections.provider(name)
            self.catalogue.refresh(name, lambda: provider, "", force)
            return
        key, address = await self.connections.key(name), self.connections.base_url(name)

        def make() -> Provider:
            if not key and name in KEYED:
                raise no_key(name)
            return self.connections.make(name, key, address)

        self.catalogue.refresh(name, make, key, force, address)

    async def refresh_lists(self) -> None:
        """The same for all connected providers, but those whose list is the program's own."""
        await self.catalogue.load()
        for name in self.connected:
            if name not in EMBEDDED:
                await self.refresh_models(name)

    async def list_models(self, name: str, *, refresh: bool = False) -> Listing:
        """A provider's list, once the answer is there or has failed to come."""
        await self.catalogue.load()
        settled = asyncio.Event()

        def look(changed: str) -> None:
            if changed == name and self.catalogue.listing(name).state != "loading":
                settled.set()

        unsubscribe = self.catalogue.subscribe(look)
        try:
            await self.refresh_models(name, force=refresh)
            if self.catalogue.listing(name).state == "loading":
                await settled.wait()
        finally:
            unsubscribe()
        return self.catalogue.listing(name)

    async def explain(
        self, tool: str, target: str, where: Path | SessionInfo, agent: str = ""
    ) -> Decision:
        """What would happen if an agent called ``tool`` on ``target`` in a folder or chat (T-7).

        Of a chat its mode and its rules count too, and its agent if none is named.
        Raises ConfigurationError for an unknown tool or agent.
        """
        if tool not in self.tools():
            known = ", ".join(sorted(self.tools()))
            raise ConfigurationError(f"There is no tool {tool}. Known are {known}.")
        spec = self.tools()[tool].spec
        if isinstance(where, Path):
            chat, folder, wanted = None, where, self.settings.values.default_agent or DEFAULT_AGENT
        else:
            chat, folder, wanted = where, Path(where.folder), where.agent
        found = await self.agent(agent or wanted, folder)
        layers = await self.rules.layers(folder)
        given = await self.store.rules.of(chat.id) if chat else []

        def explained() -> Decision:
            policy = Policy(
                chat.permission_mode if chat else "ask",
                {
                    **layers.rules,
                    "agent": found.permissions,
                    "session": [one.rule for one in given],
                },
                workspace=self.workspace(chat) if chat else Workspace(folder),
                role=found.role,
                tools=found.tools,
            )
            return policy.explain(spec, target)

        return await asyncio.to_thread(explained)

    def tools(self) -> dict[str, Tool]:
        return self.toolbox.tools

    def limits(self, agent: Agent, mode: Mode) -> Limits:
        """The agent's own ends of a turn, else the person's for the mode."""
        values = self.settings.values
        if mode == "inline":
            steps, seconds = values.inline_steps, values.inline_seconds
        else:
            steps, seconds = values.background_steps, values.background_seconds
        return Limits(
            agent.steps or max(steps, 1),
            agent.seconds or max(seconds, 1.0),
            agent.parallel_tools or max(values.parallel_tools, 1),
        )

    async def budget(
        self, session: SessionInfo, agent: Agent, parent: Budget | None, *, new: bool = False
    ) -> Budget:
        """``new``: the session has used nothing yet."""
        return await self.accounts.budget(session, agent, parent, new=new)

    @property
    def rate(self) -> RequestRate:
        return self.accounts.rate

    @property
    def notes(self) -> Path:
        """Where agents' notes are kept, a folder for each folder they are about."""
        return self.paths.data / "notes"

    def environment(self) -> dict[str, str]:
        return child_environment(secrets=self.keychain.known())

    async def sandbox(self) -> Sandbox:
        return await self._confinement.sandbox()

    @property
    def summarise(self) -> bool:
        """Whether the person lets long conversations be summed up."""
        return self.settings.values.summarise

    def workspace(self, session: SessionInfo) -> Workspace:
        """Where a session's agents work; touches the disk."""
        return Workspace(session.folder, readable=[self.spill(session.id)])

    def spill(self, session_id: str) -> Path:
        """Where a session's long results are kept whole; made when there is one."""
        return self.paths.cache / "outputs" / session_id

    def draft_targets(self, workspace: Workspace) -> DraftTargets:
        """Where the drafts of a session in this workspace are carried out; touches the disk.

        Deleted files that are too old to be restored are removed from the trash.
        """
        trash = private_folder(self.paths.data / "trash")
        delete_older_than(trash, KEPT)
        return DraftTargets(workspace, trash, self.toolbox.stores)

    def own_folder(self) -> Path:
        """An empty folder of the studio's own, for chats that are about no folder."""
        return private_folder(self.paths.data / "chats")

    def demo_folder(self) -> Path:
        """A copy of the demo's files, made on first use; changes to it stay."""
        folder = self.paths.data / "demo"
        if not folder.is_dir():
            shutil.copytree(
                self.paths.resources / "demo", private_folder(folder), dirs_exist_ok=True
            )
        return folder

    async def choose(
        self, *, agent: str = "", provider: str = "", model: str = "", folder: Path | None = None
    ) -> SessionDefaults:
        """Fill in what was not said: the agent's wish, the person's setting, what works.

        Raises ConfigurationError for an unknown agent or where no model is known.
        """
        wanted = agent or self.settings.values.default_agent or DEFAULT_AGENT
        found = await self.agent(wanted, folder or Path.cwd())
        provider = provider or found.provider or await self.connections.default()
        model = model or (found.model if found.provider in ("", provider) else "")
        return SessionDefaults(found.name, provider, model or await self.default_model(provider))

    async def default_model(self, provider: str) -> str:
        """The person's choice for a provider, else the first it lists.

        Raises ConfigurationError if it lists nothing, and says why.
        """
        if model := self.settings.values.default_model.get(provider, ""):
            return model
        if known := self.catalogue.listing(provider).models:
            return known[0].id
        listing = await self.list_models(provider)
        if not listing.models:
            reason = listing.reason or "It lists no model."
            raise ConfigurationError(f"{reason} Name a model, or choose one in the settings.")
        return listing.models[0].id

    def on_problem(self, listener: Callable[[str], None]) -> None:
        """Tell what was found wrong while starting, and what is from now on.

        A damaged file, a broken tool, a collector of traces that does not answer.
        """
        self._troubled.append(listener)
        for notice in (self.database.notice, self.settings.notice, *self.toolbox.problems):
            if notice:
                listener(notice)

    def report_problem(self, text: str) -> None:
        """Tell everybody who listens; on the event loop's thread."""
        for listener in self._troubled:
            listener(text)

    async def close(self) -> None:
        """Stop and save everything; each part gets its chance whatever the others do."""
        steps = (
            self.sessions.close,
            self.questions.notifier.aclose,
            self.tracing.close,
            self._confinement.close,
            self.folders.close,
            self.connections.close,
            self.catalogue.close,
            self.http.aclose,
            self.database.close,
        )
        first: Exception | None = None
        for step in steps:
            try:
                await step()
            except (StudioError, ProviderError, OSError) as error:
                first = first or error
        if first is not None:
            raise first


def _named(name: str, agents: Agents) -> Agent:
    """Raises ConfigurationError that lists the known ones, or says why a file was skipped."""
    agent = agents.get(name)
    if agent is None:
        known = ", ".join(sorted(agents.by_name))
        problems = "".join(f" {problem}." for problem in agents.problems)
        raise ConfigurationError(f"There is no agent {name}. Known are {known}.{problems}")
    return agent
