"""The engine: all parts of the program in one object, for the window, terminal and server."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.agents import NO_AGENTS, Agent
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
from studio.domain.events import AwaitingPermission, AwaitingReply, TurnComplete, TurnStarted
from studio.domain.messages import Said
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.files.folders import private_folder
from studio.providers.base import Provider
from studio.providers.catalogue import Catalogue, Listing
from studio.providers.registry import EMBEDDED, KEYED, PROVIDERS
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from studio.storage.database import Database
from studio.storage.paths import Paths
from studio.tools import Tool, Workspace
from studio.tools.discovery import Toolbox

from .delegation.children import ChosenModel, Delegation, WorkflowCalls
from .extension_sources import ExtensionSources
from .models.local_models import BUILT_IN, LocalModels
from .models.names import FoundModel, ModelNames
from .models.provider_factory import ProviderFactory
from .permission.policy import Policy
from .permission.rulebook import Decision
from .services import Services
from .session.session import Session
from .telemetry import Telemetry

DEFAULT_AGENT = "Coder"
DAY = 24 * 3600.0
NOTIFIED = (TurnStarted, AwaitingPermission, AwaitingReply, TurnComplete)
"""Events that other programs with the same data are notified of."""


@dataclass(frozen=True, slots=True)
class SessionDefaults:
    """What a new session runs on when the person has not said otherwise."""

    agent: str
    provider: str
    model: str
    model_named: bool = True
    """Whether the person or the agent's file named the model."""


class Engine:
    """All parts of the program, and what needs more than one of them."""

    def __init__(
        self,
        *,
        paths: Paths,
        settings: SettingsFile,
        keychain: Keychain,
        database: Database,
        catalogue: Catalogue,
        providers: ProviderFactory,
        snapshot_date: str,
        sources: ExtensionSources,
    ) -> None:
        self.paths = paths
        self.settings = settings
        self.keychain = keychain
        self.http = providers.http
        self.database = database
        self.catalogue = catalogue
        self.providers = providers
        self.snapshot_date = snapshot_date
        """When the built-in list of models was made, ``2026-11``."""
        self.services = services = Services(
            paths, settings, keychain, database, catalogue, providers, sources, self._forget
        )
        self.store = services.store
        self.rules = services.rules
        self.usage_costs = services.usage_costs
        self.budgets = services.budgets
        self.agent, self.agents = services.agent, services.agents
        self.trust_offer = services.trust_offer
        self.model, self.provider = services.model, services.provider
        self.limits, self.sandbox = services.limits, services.sandbox
        self.environment, self.workspace = services.environment, services.workspace
        self.model_names = ModelNames(settings, catalogue, providers, self.list_models)
        self.local_models = LocalModels(paths, settings, keychain, services.environment)
        self.discover_tools = services.discover_tools
        database.on_notice = services.report_problem
        self.refresh_tools = services.refresh_tools
        workflows = WorkflowCalls(
            partial(sources.run_workflow, self), partial(sources.late_run, self)
        )
        self.delegation = Delegation(services, self._choose_model, workflows)
        self.sessions = self.delegation.sessions
        self.sessions.events.subscribe(services.budgets.count_request)
        self.telemetry = Telemetry(
            lambda: settings.values,
            services.report_problem,
            lambda session_id: bool(self.sessions.subject_of(session_id)),
        )
        self.sessions.events.subscribe(self.telemetry.record)
        self.questions = services.questions
        self.sessions.events.subscribe(self._notify_programs)
        self.connected = [name for name, found in PROVIDERS.items() if found.ready]
        """Providers that can be used as they are; see ``look_for_providers``."""

    def _notify_programs(self, envelope: EventEnvelope) -> None:
        """Wake other programs at the same data where a turn began, ended or waits."""
        if isinstance(envelope.event, NOTIFIED):
            self.questions.notifier.notify_soon()

    def offered(self, provider: str, current: str = "") -> list[ModelInfo]:
        """A provider's models to choose from, as they are known now.

        All that it lists, or of these the enabled ones and the ``current`` one; then
        the ones that the person added.
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
        """Why a model cannot read a picture or file; empty if it can, or that is not known."""
        try:
            found = await self.providers.provider(provider)
        except StudioError:  # such as a missing key, which is reported with the request
            return ""
        return found.media_problem(block, self.model(provider, model))

    async def look_for_providers(self) -> None:
        """Find which providers can be used, see ``ProviderFactory.is_connected``."""
        self.connected = [name for name in PROVIDERS if await self.providers.is_connected(name)]

    async def use_new_key(self) -> str:
        """Let new chats use a provider whose key is new, if so far they only tried the program.

        The key may be anywhere: in the keychain, the environment, a command. Who chose a model file
        of this computer sends nothing elsewhere unasked. Returns the provider's title; empty if new
        chats go on with what they used.
        """
        values = self.settings.values
        new = [
            name
            for name in KEYED
            if name not in values.keys_found and await self.providers.is_connected(name)
        ]
        if not new:
            return ""
        values.keys_found = [*values.keys_found, *new]
        own = values.builtin_model or values.default_model.get(BUILT_IN)
        tried = values.default_provider in EMBEDDED and not own
        if tried:
            values.default_provider = new[0]
        await self.settings.save()
        return PROVIDERS[new[0]].title if tried else ""

    async def refresh_settings(self) -> None:
        """Read settings that another program changed: caps, rules, addresses, models."""
        if await self.settings.refresh():
            with suppress(StudioError):
                await self.look_for_providers()

    async def keep_key(self, name: str, key: str, session_only: bool = False) -> None:
        """Store a key in the keychain, or keep it until the program ends.

        Raises KeychainUnavailable.
        """
        if session_only:
            self.keychain.keep_for_session(name, key)
        else:
            await self.keychain.set(name, key)

    async def refresh_models(self, name: str, *, force: bool = False) -> None:
        """Begin to bring a provider's list up to date; the catalogue notifies when it is."""
        if name in EMBEDDED:
            provider = await self.providers.provider(name)
            self.catalogue.refresh(name, lambda: provider, "", force)
            return
        key, address = await self.providers.key(name), self.providers.base_url(name)

        def make() -> Provider:
            if not key and name in KEYED:
                raise self.providers.no_key(name)
            return self.providers.make(name, key, address)

        self.catalogue.refresh(name, make, key, force, address)

    async def refresh_lists(self) -> None:
        """Refresh the lists of all connected providers outside this program.

        One that failed rests for a while, see ``Catalogue.failed_lately``.
        """
        await self.catalogue.load()
        for name in self.connected:
            if name not in EMBEDDED and not self.catalogue.failed_lately(name):
                await self.refresh_models(name)

    async def list_models(self, name: str, *, refresh: bool = False) -> Listing:
        """A provider's list, once its answer has arrived or failed."""
        await self.catalogue.load()
        settled = asyncio.Event()

        def on_change(changed: str) -> None:
            if changed == name and self.catalogue.listing(name).state != "loading":
                settled.set()

        unsubscribe = self.catalogue.subscribe(on_change)
        try:
            await self.refresh_models(name, force=refresh)
            if self.catalogue.listing(name).state == "loading":
                await settled.wait()
        finally:
            unsubscribe()
        return self.catalogue.listing(name)

    def tools(self) -> dict[str, Tool]:
        return self.toolbox.tools

    @property
    def toolbox(self) -> Toolbox:
        return self.services.toolbox

    async def explain(
        self, tool: str, target: str, where: Path | SessionInfo, agent: str = ""
    ) -> Decision:
        """What would happen if an agent called ``tool`` on ``target`` in a folder or session (T-7).

        In a session its mode and rules count too, and its agent if none is named.
        Raises ConfigurationError for an unknown tool or agent.
        """
        tools = {**self.tools(), **await asyncio.to_thread(self.services.served)}
        if tool not in tools:
            known = ", ".join(sorted(tools))
            raise ConfigurationError(f"There is no tool {tool}. Known are {known}.")
        spec = tools[tool].spec
        session = None if isinstance(where, Path) else where
        folder = where if isinstance(where, Path) else Path(where.folder)
        default = self.settings.values.default_agent or DEFAULT_AGENT
        layers = await self.rules.layers(folder)
        found = await self.agent(agent or (session.agent if session else default), folder, layers)
        given = await self.store.rules.of(session.id) if session else []

        def explained() -> Decision:
            policy = Policy(
                session.permission_mode
                if session
                else self.settings.values.default_permission_mode,
                {
                    **layers.rules,
                    "agent": found.permissions,
                    "session": [one.rule for one in given],
                },
                workspace=self.workspace(session) if session else Workspace(folder),
                role=found.role,
                tools=found.tools,
            )
            return policy.explain(spec, target)

        return await asyncio.to_thread(explained)

    def own_folder(self) -> Path:
        """An empty folder of the studio's own, for chats that are about no folder."""
        return private_folder(self.paths.chats)

    def demo_folder(self) -> Path:
        """A copy of the demo's files, made on first use; changes to it stay."""
        folder = self.paths.demo
        if not folder.is_dir():
            shutil.copytree(
                self.paths.resources / "demo", private_folder(folder), dirs_exist_ok=True
            )
        return folder

    async def choose(
        self,
        *,
        agent: str | Agent = "",
        provider: str = "",
        model: str = "",
        folder: Path | None = None,
        kept: Mapping[str, Agent] = NO_AGENTS,
    ) -> SessionDefaults:
        """Fill in what is not given: from the agent's file, the settings, or what is available.

        ``model`` is a name as ``ModelNames.find`` takes it, ``kept`` are agents in place of
        their files. Raises ConfigurationError for an
        unknown agent or model, or where no model is known.
        """
        found = agent or self.settings.values.default_agent or DEFAULT_AGENT
        if not isinstance(found, Agent):
            files = await self.services.agents_of_files(folder or Path.cwd(), kept=kept)
            found = files.named(found)
        if not agent and not found.trusted:
            raise ConfigurationError(
                f"Your default agent {found.name} is this folder’s here, and you do not trust the "
                "folder. Choose an agent, or trust the folder."
            )
        if not model and (not provider or found.provider in ("", provider)):
            if found.fallback and (one := await self._reachable(found, provider)) is not None:
                return SessionDefaults(found.name, one.provider, one.model)
            model, provider = found.model, provider or found.provider
        if model:
            one = await self.model_names.find(model, provider)
            return SessionDefaults(found.name, one.provider, one.model)
        provider = provider or await self.providers.default()
        default = await self.default_model(provider)
        return SessionDefaults(found.name, provider, default, model_named=False)

    async def _reachable(self, agent: Agent, provider: str) -> FoundModel | None:
        """The first of an agent's models whose provider is connected, or is ``provider``."""
        own = "/".join(filter(None, (agent.provider, agent.model))) if agent.model else ""
        for name in filter(None, (own, *agent.fallback)):
            one = await self.model_names.reachable(name)
            if one is not None and provider in ("", one.provider):
                return one
        return None

    async def _choose_model(self, agent: str, model: str, caller: SessionInfo) -> ChosenModel:
        """The model of a child, see ``Delegation``."""
        kept = self.services.kept_of(caller.id)
        found = await self.choose(agent=agent, model=model, folder=Path(caller.folder), kept=kept)
        return ChosenModel(found.provider, found.model)

    async def _forget(self, subject: str) -> int:
        """Delete the chats about something, for a pack."""
        return await self.sessions.delete_about(subject)

    async def default_model(self, provider: str) -> str:
        """The person's choice for a provider, else the first it lists.

        Raises ConfigurationError if it lists nothing, and says why.
        """
        if model := self.settings.values.default_model.get(provider, ""):
            return (await self.model_names.find(model, provider)).model
        if known := self.catalogue.listing(provider).models:
            return known[0].id
        listing = await self.list_models(provider)
        if not listing.models:
            reason = listing.reason or "It lists no model."
            raise ConfigurationError(f"{reason} Name a model, or choose one in the settings.")
        return listing.models[0].id

    def on_problem(self, listener: Callable[[str], None]) -> None:
        """Call ``listener`` with each problem found while starting, and each later one.

        Problems are a damaged file, a broken tool, a collector of traces that does not answer.
        """
        self.services.problem_listeners.append(listener)
        for notice in (self.database.notice, self.settings.notice, *self.services.tool_problems):
            if notice:
                listener(notice)

    async def name_chat(self, session: Session) -> bool:
        """Have a model write the title of a chat, if it may; whether it has a new one."""
        from .session.title_writer import wants_title, write_title

        if not self.settings.values.write_titles or not wants_title(session):
            return False
        provider = session.info.provider
        return await write_title(self.services, session, self.offered(provider))

    async def fetch_uv(self) -> None:
        """Fetch uv for servers and packs, as the person wants (X-3); raises ConfigurationError."""
        from studio.mcp.uv import fetch_uv

        await fetch_uv(await self.http.client(), self.paths.programs)
        await self.services.servers.refresh()
        await self.refresh_tools()

    async def purge_bin(self) -> None:
        """Delete for good what is in the bin or recorded for longer than the person wants."""
        values, now = self.settings.values, time.time()
        await self.sessions.empty_bin(now - values.bin_days * DAY)
        before = now - values.exchange_days * DAY
        await self.services.exchanges.purge(before, values.exchange_megabytes * 1_000_000)

    async def close(self) -> None:
        """Stop and save everything. Every part is closed, also if another one fails."""
        steps = (
            self.sessions.close,
            self.services.exchanges.settled,
            self.questions.notifier.aclose,
            self.telemetry.close,
            self.services.end_processes,
            self.services.folders.close,
            lambda: asyncio.to_thread(self.services.desk_contents.close),
            self.local_models.aclose,
            self.model_names.close,
            self.providers.close,
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
        self.keychain.close()
        if first is not None:
            raise first
