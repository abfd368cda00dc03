"""The services that sessions, turns and tools share: providers, agents, tools, rules, usage, web.

There is one object of them. A new service of a room above is added in one place, where the
program is put together: in ``ExtensionSources.services``. Whoever holds the services
asks for it by its class, ``services.get(Weather)``; a tool does so with
``context.services.get(Weather)``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from studio.domain.agents import NO_AGENTS, OWN_TOOLS, Agent, Limits, Mode
from studio.domain.errors import FolderGone
from studio.domain.extensions import Extension, Extensions
from studio.domain.hooks import NO_HOOKS, HookEvent, Hooks
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.domain.tools import BOARD_TOOLS, CHILD_TOOLS, JOB, MEMORY_TOOLS, RUN
from studio.files.folders import delete_older_than, private_folder
from studio.mcp.catalogue import Catalogue as ServerCatalogue
from studio.mcp.entries import Entries, EntriesFile, ServerEntry
from studio.mcp.servers import ServerFolders, Servers
from studio.mcp.sign_ins import SignIns
from studio.processes.desk import Desk
from studio.processes.environment import child_environment
from studio.processes.jobs import Jobs
from studio.processes.keeper import Keeper
from studio.processes.sandbox import SandboxProbe
from studio.providers.catalogue import Catalogue
from studio.providers.model_files import TOKEN
from studio.providers.registry import KEY_TITLES
from studio.storage.boards import BoardStore
from studio.storage.config.keychain import Keychain
from studio.storage.config.permission_rules import RuleStore
from studio.storage.config.settings import SettingsFile
from studio.storage.database import Database
from studio.storage.exchanges import ExchangeStore
from studio.storage.paths import Paths
from studio.storage.remote_approvals import RemoteApprovals
from studio.storage.sessions.store import SessionStore
from studio.storage.snapshots.blob_store import BlobStore
from studio.tools import DraftTargets, Tool, Workspace
from studio.tools.discovery import Toolbox, ToolDiscovery
from studio.tools.language.language_servers import LanguageServers
from studio.tools.memory.nearness import Nearness
from studio.tools.memory.note_store import NoteStore
from studio.tools.packs.persons_act import ActBook
from studio.tools.sdk.context import ServiceRegistry
from studio.tools.web import Web
from studio.tools.workspace.editor import Editor

from .agent_files.finder import AgentFiles, Agents
from .changes.folder_tracker import FolderTracker
from .delegation.offers import may_start, with_children
from .extension_sources import ExtensionSources
from .folder_files import read_folder_files
from .instruction_files import project_paths, read_instructions, repository_root
from .models.provider_factory import ProviderFactory
from .pack_hosts import PackHosts
from .packs import Packs, PackSet
from .parallelism import Parallelism
from .permission.client_policy import client_policy
from .permission.content_filter import AnyKind, parse_kinds
from .permission.invisible_characters import escape_invisible
from .permission.policy import Policy
from .permission.rules import RuleLayers, StandingRules, TrustOffer, trust_offer
from .request_gate import NOBODY, Asker, RequestGate
from .retry_policy import RetryPolicy
from .servers.offers import ServerOffers
from .servers.server_tools import ServerTools, with_servers
from .session.model_router import ModelRouter
from .skills import with_skills
from .studios_above import STUDIOS, started_by_studios, studios_above
from .turn_budgets import Budgets
from .usage_costs import UsageCosts

PLAN = "plan"
"""The tool that every agent with tools has in an editor: editors have a place for its plan."""
FIRST_LOOK = 3.0
"""Seconds that a turn waits for servers that its agent names and whose lists were never seen."""
MOST_SHOWN = 100_000
"""Characters of what a folder tells agents that the person is shown before they trust it."""
TRASH_SECONDS = 30 * 24 * 3600.0
"""How long a deleted file can be restored."""


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """An agent and its tools as their files are now."""

    agent: Agent
    tools: dict[str, Tool]
    masks: list[AnyKind]
    """What is kept from the model in text from outside (T-9)."""
    workspace: Workspace
    layers: RuleLayers
    """The rules of its folder."""
    notice: str = ""
    """What the person has to know of the agent: whose it is."""
    skills: tuple[Extension, ...] = ()
    """Those that the agent may open by itself."""
    hooks: Hooks = NO_HOOKS


@dataclass(frozen=True, slots=True)
class _Look:
    """An agent as it was found, beside all tools. ``servers`` are those of its folder, of which
    nobody knows yet what the ``unseen`` offer."""

    toolbox: Toolbox
    loaded: LoadedAgent
    servers: Entries | None = None
    unseen: Sequence[ServerEntry] = ()


@dataclass(frozen=True, slots=True)
class FolderReading:
    """The hooks and rules of a folder, and a session's agent there, as a message found them."""

    hooks: Hooks
    layers: RuleLayers
    session: SessionInfo
    found: _Look | None

    def of(self, session: SessionInfo) -> _Look | None:
        """The agent of this session; None if it was not read, or the session has another now."""
        read = self.session
        same = (read.id, read.folder, read.agent) == (session.id, session.folder, session.agent)
        return self.found if same else None


class Services(ServiceRegistry):
    """The shared services by name, and what needs more than one of them."""

    def __init__(
        self,
        paths: Paths,
        settings: SettingsFile,
        keychain: Keychain,
        database: Database,
        catalogue: Catalogue,
        providers: ProviderFactory,
        sources: ExtensionSources,
        forget: Callable[[str], Coroutine[Any, Any, int]],
    ) -> None:
        """``forget`` deletes the chats about something. Made on the event loop."""
        super().__init__()
        own_folders = (paths.data, paths.config, paths.cache, paths.logs)
        self.paths = paths
        self.settings = settings
        self.keychain = keychain
        self.catalogue = catalogue
        self.providers = providers
        self.provider, self.model = providers.provider, catalogue.model
        self.database = database
        self.store = SessionStore(database)
        self.exchanges = ExchangeStore(database)
        self.boards = BoardStore(database)
        """What agents of one run or chat keep for one another (W-40)."""
        self.questions = RemoteApprovals(database, paths.data / "bells")
        """Permission questions between programs that use the same data."""
        self.rules = StandingRules(RuleStore(database))
        """The person's standing rules, and the folders they trust."""
        self.usage_costs = UsageCosts(self.store, self.model)
        self.budgets = Budgets(settings, self.store, self.usage_costs)
        self.sources = sources
        """What finds what others bring."""
        for one in sources.services:
            self.add(one)
        self.router = ModelRouter(settings, providers, catalogue, self.budgets.rate, self.gate)
        self.folders = FolderTracker(
            BlobStore(paths.snapshots), self.store.changes, lambda: own_folders
        )
        self.desk_contents = BlobStore(paths.data / "desks" / "contents.db")
        """What steps of runs changed in their copies of the folder."""
        self.web = Web(lambda: settings.values, keychain.get)
        self.agent_files = AgentFiles(
            paths.resources / "agents",
            *paths.agent_places,
            packs=lambda: sources.pack_places("agents"),
        )
        self.keeper = Keeper()
        """What starts commands, so that they end with the program."""
        self.jobs = Jobs()
        """The commands that run, also in the background."""
        places = ServerFolders(
            paths.logs / "servers",
            paths.cache / "servers",
            paths.data / "bundles",
            paths.home,
            paths.programs,
            paths.data / "server-homes",
        )
        sign_ins = SignIns(keychain, paths.data / "sign-ins")
        self.servers = ServerTools(
            Servers(
                self.keeper,
                places,
                self.server_environment,
                self._secret,
                sign_ins,
                sandbox=lambda: self.sandbox_probe.sandbox(),
            ),
            EntriesFile(paths.servers, paths.data / "servers.json"),
            ServerCatalogue(paths.data / "servers"),
            self.spill,
            packs=sources.pack_servers,
            hosts=sources.pack_hosts,
        )
        """The MCP servers, and what they offer (M-1 to M-18)."""
        hosts = PackHosts(self.servers, asyncio.get_running_loop())
        self.packs = Packs(sources.pack_code, hosts, forget)
        """The packs whose code runs in the program, and the hosts of the others."""
        self.offers = ServerOffers(self.servers.servers, self.servers.catalogue)
        self.languages = LanguageServers(lambda: settings.values.language_server_commands)
        """The language servers that look at what is edited."""
        self.sandbox_probe = SandboxProbe(self.keeper, own_folders, lambda: settings.values.sandbox)
        self.sandbox = self.sandbox_probe.sandbox
        self.editors: dict[str, Editor] = {}
        """The editors that the person works in, by their sessions."""
        self.desks: dict[str, Desk] = {}
        """The desks that sessions work on instead of their folders."""
        self.kept_agents: dict[str, Mapping[str, Agent]] = {}
        """Agents as they were when a run began, by the sessions that work for it."""
        self.nearness = Nearness(self.environment)
        """Finds notes by their meaning, where that is installed (W-41)."""
        self.notes = paths.data / "notes"
        """Where agents' notes are kept, a folder for each folder they are about."""
        self._outputs = paths.cache / "outputs"
        self.note_store = NoteStore(self.notes)
        """The notes of all folders, as the person decides about them (W-44)."""
        self._toolbox = Toolbox()
        self.has_all_tools = False
        """Whether those of packs are among the tools, too."""
        self.retry_policy = RetryPolicy()
        self.parallelism = Parallelism()
        """How many requests at a time providers take for items (W-56)."""
        self.today: Callable[[], date] = date.today
        self.orientation_seconds = 0.3
        """How long a first message may wait for a look at its folder (C-17); 0: none is taken."""
        self.problem_listeners: list[Callable[[str], None]] = []
        self.acts = ActBook()
        """What checks that a person decided about drafts of packs (KZ-5)."""
        self._discovery = ToolDiscovery([paths.tools])

    def gate(self, subject: str, asker: Asker = NOBODY) -> RequestGate:
        """The way to providers for what a chat is about (KZ-7)."""
        return RequestGate(self.packs, self.providers.base_url, subject, asker)

    def report_problem(self, text: str) -> None:
        """Tell everybody who listens; on the event loop's thread."""
        for listener in self.problem_listeners:
            listener(text)

    def prepare_tools(self) -> None:
        """Find the tools as far as a start needs them; runs their files, so call it in a thread.

        Where packs are on that run in the program, theirs come with their first use (KZ-9).
        """
        if self.packs.source.are_on():
            self._toolbox = self._discovery.refresh()
        else:
            self.discover_tools()

    def discover_tools(self) -> None:
        """Find all tools; runs their files, so call it in a thread."""
        self._toolbox = self._found().toolbox
        self.has_all_tools = True

    @property
    def toolbox(self) -> Toolbox:
        """All tools; blocks if those of packs are not loaded yet."""
        if not self.has_all_tools:
            self.discover_tools()
        return self._toolbox

    @property
    def tool_problems(self) -> Sequence[str]:
        """Why tools were left out, as far as it is known."""
        return self._toolbox.problems

    def _found(self) -> PackSet:
        """All tools as their files are now, with those of packs; blocks."""
        return self.packs.refresh(self._discovery.refresh())

    async def load_tools(self) -> None:
        """Load the tools of packs, if they are not loaded yet."""
        if not self.has_all_tools:
            await self.refresh_tools()

    async def refresh_tools(self) -> None:
        """Load the person's tool files that were saved since; reports new errors in them."""
        self._take((await asyncio.to_thread(self._found)).toolbox)

    def _take(self, toolbox: Toolbox) -> None:
        known = set(self._toolbox.problems)
        self._toolbox, self.has_all_tools = toolbox, True
        for problem in toolbox.problems:
            if problem not in known:
                self.report_problem(problem)

    async def load_agent(
        self,
        session: SessionInfo,
        given: Agent | None = None,
        *,
        delegates: bool = True,
        just_read: FolderReading | None = None,
    ) -> LoadedAgent:
        """Read from the disk what a turn needs, all at once.

        ``given`` takes the place of the session's agent. Unless it ``delegates``, it is offered
        no tool that starts another. ``just_read`` is what was read a moment ago.
        Raises FolderGone, and ConfigurationError for an agent that is not there, or that masks
        what nobody knows.
        """

        def look(known: tuple[Hooks, RuleLayers] | None = None) -> _Look:
            return self._look(session, given, known, delegates=delegates)

        found = just_read and just_read.of(session)
        if found is None or given is not None or not delegates:
            known = just_read and (just_read.hooks, just_read.layers)
            found = await asyncio.to_thread(look, known)
        loaded = found.loaded
        # A folder that is not trusted any more has no servers: those that run are ended.
        if found.servers is not None:
            self.servers.use(found.servers, loaded.layers.files.place)
        if found.unseen:
            await self.servers.look(found.unseen, Path(session.folder), FIRST_LOOK)
            found = await asyncio.to_thread(look)
            loaded = found.loaded
            names = ", ".join(one.name for one in found.unseen)
            told = f"It is not known yet what {names} offers, so the agent works without it."
            notice = " ".join(filter(None, [loaded.notice, told if found.unseen else ""]))
            loaded = replace(loaded, notice=notice)
        self._take(found.toolbox)
        return loaded

    async def read_for_message(self, session: SessionInfo, *unheard: HookEvent) -> FolderReading:
        """What a message finds in the folder of its session, in one job for a thread.

        The agent is read only where no hook hears of the events ``unheard``: hooks run before a
        turn is built, and may change its files.
        """

        def read() -> FolderReading:
            hooks, layers = known = self._hooks_of(Path(session.folder))
            found = None
            if not hooks.counting(*unheard):
                with suppress(Exception):  # it is raised again where the turn is built
                    found = self._look(session, None, known, delegates=True)
            return FolderReading(hooks, layers, session, found)

        return await asyncio.to_thread(read)

    def _look(
        self,
        session: SessionInfo,
        given: Agent | None,
        known: tuple[Hooks, RuleLayers] | None,
        *,
        delegates: bool,
    ) -> _Look:
        """See ``load_agent``; blocks."""
        hooks, layers = known or self._hooks_of(Path(session.folder))
        if layers.files.gone:
            raise FolderGone(
                f"The folder {session.folder} is not there any more. Choose another folder."
            )
        agents = self.agent_files.read(layers.files, trusted=layers.trusted)
        agents = agents.with_kept(self.kept_of(session.id), trusted=layers.trusted)
        named = given or agents.named(session.agent)
        if named.bare and session.origin == "server":  # a client's model has none of our tools
            masks = parse_kinds([*self.settings.values.mask, *named.mask])
            notice = agents.notice(named)
            workspace = self.workspace(session, ())
            bare = LoadedAgent(named, {}, masks, workspace, layers, notice, hooks=hooks)
            # Policies of packs that came since count for it, too.
            return _Look(self._found().toolbox, bare)
        packs = self._found()
        toolbox, refused = packs.toolbox, packs.refused()
        servers = self.servers.read(layers.files, trusted=layers.trusted)
        servers = self.servers.with_brought(servers, chat_of(session))
        unseen = self.servers.unseen(named, servers)
        named, served = with_servers(named, self.servers.tools(servers))
        agent = with_own_tools(named, toolbox)
        if session.id in self.editors and agent.tools and PLAN not in agent.tools:
            agent = replace(agent, tools=(*agent.tools, PLAN))
        unnamed = {*BOARD_TOOLS} - {*named.tools}
        agent, tools = with_children(
            {
                name: tool
                for name, tool in {**toolbox.tools, **served}.items()
                if name not in refused and not (tool.built_in and name in unnamed)
            },
            agent,
            may_start(agent, agents),
            more=delegates,
        )
        extensions = self.sources.extensions(layers.files.folder, layers.trusted)
        skills = () if given or agent.bare else extensions.for_agent(agent.skills)
        off = self.settings.values.skills_off
        skills = tuple(one for one in skills if one.name not in off)
        agent, tools = with_skills(agent, tools, skills)
        masks = parse_kinds([*self.settings.values.mask, *agent.mask])
        folders = [Path(one.folder) for one in extensions.skills]
        workspace, notice = self.workspace(session, folders), agents.notice(agent)
        loaded = LoadedAgent(agent, tools, masks, workspace, layers, notice, skills, hooks)
        return _Look(toolbox, loaded, servers, unseen)

    async def extensions(self, folder: Path, chat: str = "") -> Extensions:
        """The skills, commands and servers' prompts that can be used in a folder now.

        ``chat`` is the session whose editor may have brought servers.
        """

        def look() -> Extensions:
            layers = self.rules.read_layers(folder)
            found = self.sources.extensions(folder, layers.trusted)
            entries = self.servers.read(layers.files, trusted=layers.trusted)
            prompts = self.offers.prompts(self.servers.with_brought(entries, chat))
            return replace(found, found=(*found.found, *prompts)) if prompts else found

        return await asyncio.to_thread(look)

    async def server_entries(self, folder: Path, chat: str = "") -> Entries:
        """The servers of a folder, and of a chat, which the pool knows from now on."""

        def look() -> tuple[Entries, str]:
            layers = self.rules.read_layers(folder)
            entries = self.servers.read(layers.files, trusted=layers.trusted)
            return self.servers.with_brought(entries, chat), layers.files.place

        return await self.servers.refresh(look)

    async def hooks(self, folder: Path) -> tuple[Hooks, RuleLayers]:
        """The hooks that count in a folder now, and its rules."""
        return await asyncio.to_thread(self._hooks_of, folder)

    def _hooks_of(self, folder: Path) -> tuple[Hooks, RuleLayers]:
        layers = self.rules.read_layers(folder)
        return self.sources.hooks(layers.files, layers.trusted), layers

    async def masks(self, session: SessionInfo, also: str = "") -> list[AnyKind]:
        """What is kept from the session's model, and from that of the agent ``also``.

        Raises ConfigurationError, see ``load_agent``.
        """
        folder, kinds = Path(session.folder), list(self.settings.values.mask)
        for name in filter(None, dict.fromkeys((session.agent, also))):
            kinds += (await self.agent(name, folder, kept=self.kept_of(session.id))).mask
        return await asyncio.to_thread(parse_kinds, kinds)

    def kept_of(self, session_id: str) -> Mapping[str, Agent]:
        """The agents that a session of a run's step has as the run keeps them (W-13)."""
        return self.kept_agents.get(session_id, NO_AGENTS)

    async def agents(
        self,
        folder: Path | None = None,
        layers: RuleLayers | None = None,
        *,
        kept: Mapping[str, Agent] = NO_AGENTS,
    ) -> Agents:
        """All agents for a folder; ``layers`` are its rules, if they are known already.

        Those that are ``kept`` are so in place of their files, see ``kept_of``.
        """
        found, served, _ = await asyncio.gather(
            self.agents_of_files(folder, layers, kept),
            asyncio.to_thread(self.served),
            self.load_tools(),
        )
        ready = {name: self._ready(one, served) for name, one in found.by_name.items()}
        return replace(found, by_name=ready)

    async def agents_of_files(
        self,
        folder: Path | None,
        layers: RuleLayers | None = None,
        kept: Mapping[str, Agent] = NO_AGENTS,
    ) -> Agents:
        """The agents as their files have them, without the person's tools and those of servers."""
        if folder is not None and layers is None:
            layers = await self.rules.layers(folder)
        if layers is None:
            return await self.agent_files.load()
        found = await self.agent_files.load(layers.files, trusted=layers.trusted)
        return found.with_kept(kept, trusted=layers.trusted)

    def _ready(self, agent: Agent, served: Mapping[str, Tool]) -> Agent:
        """An agent with the person's tools, and those of servers."""
        return with_own_tools(with_servers(agent, served)[0], self.toolbox)

    def served(self) -> dict[str, Tool]:
        """The tools of the person's own servers that are on; may read the disk."""
        return self.servers.tools(self.servers.read())

    async def served_in(self, folder: Path | None) -> dict[str, Tool]:
        """The tools of the servers that are on, also of those of a folder."""
        if folder is None:
            return await asyncio.to_thread(self.served)
        entries = await self.server_entries(folder)
        return await asyncio.to_thread(self.servers.tools, entries)

    async def _secret(self, name: str) -> str:
        """A secret for an MCP server: no server gets a key that the program itself uses."""
        from studio.storage.config.server_token import ENTRY

        own = (*KEY_TITLES, TOKEN, ENTRY)
        return "" if name in own else await self.keychain.get(name) or ""

    async def agent(
        self,
        name: str,
        folder: Path,
        layers: RuleLayers | None = None,
        *,
        kept: Mapping[str, Agent] = NO_AGENTS,
    ) -> Agent:
        """Raises ConfigurationError that lists the known ones, or says why a file was skipped."""
        found, served, _ = await asyncio.gather(
            self.agents_of_files(folder, layers, kept),
            asyncio.to_thread(self.served),
            self.load_tools(),
        )
        return self._ready(found.named(name), served)

    async def trust_offer(self, folder: Path) -> TrustOffer:
        """What the person would trust in a folder, as its files are now."""

        def look() -> TrustOffer:
            files = read_folder_files(folder)
            agents = self.agent_files.read(files, trusted=True)
            offer = trust_offer(files, agents, self.sources.hooks(files, True).found)
            texts = [
                (str(one.path), one.text)
                for one in read_instructions(project_paths(folder), repository_root(folder), folder)
            ]
            found = self.sources.extensions(folder, True).found
            texts += [(one.path, one.body) for one in found if one.place == "folder"]
            shown = "\n\n".join(f"{path}\n\n{text}" for path, text in texts)
            return replace(offer, prose=escape_invisible(shown[:MOST_SHOWN]))

        return await asyncio.to_thread(look)

    def client_policy(self) -> Policy:
        """The most that may be done for a client of the server (S-4)."""
        return client_policy(self.settings.values.server_rules, self.toolbox.tools)

    def limits(self, agent: Agent, mode: Mode) -> Limits:
        """The limits of a turn: the agent's own, or else the person's for the mode."""
        values = self.settings.values
        if mode == "inline":
            steps, seconds = values.inline_steps, values.inline_seconds
        elif mode == "background":
            steps, seconds = values.background_steps, values.background_seconds
        else:
            steps, seconds = values.long_steps, values.long_seconds
        return Limits(
            agent.steps or max(steps, 1),
            agent.seconds or max(seconds, 1.0),
            agent.parallel_tools or max(values.parallel_tools, 1),
            commands_free=mode == "long",
            extensible=mode == "long",
        )

    async def end_processes(self) -> None:
        """End what runs commands, and remove their temporary folders."""
        await self.jobs.end()
        await self.languages.end()
        await self.servers.close()
        await self.sandbox_probe.close()
        await asyncio.to_thread(self.nearness.close)
        await asyncio.to_thread(self.packs.close)
        await asyncio.to_thread(self.keeper.close)

    def environment(self) -> dict[str, str]:
        """What child processes get: no secrets, and that a studio started them."""
        found = child_environment(secrets=self.keychain.known())
        return {**found, STUDIOS: str(studios_above() + 1)}

    def server_environment(self) -> dict[str, str]:
        """The same for MCP servers, which all chats share: a call brings its number itself."""
        return {**self.environment(), STUDIOS: str(started_by_studios() + 1)}

    def workspace(self, session: SessionInfo, readable: Sequence[Path] = ()) -> Workspace:
        """Where a session's agents work; touches the disk.

        ``readable`` are folders beside it whose files they may read.
        """
        return Workspace(
            session.folder,
            readable=[self.spill(session.id), *readable],
            editor=self.editors.get(session.id),
            desk=self.desks.get(session.id),
        )

    def spill(self, session_id: str) -> Path:
        """Where a session's long results are kept whole; made when there is one."""
        return self._outputs / session_id

    def seen_texts(self, session_id: str) -> Path:
        """Where the texts of files are kept that a session's model was shown."""
        return self.paths.cache / "seen" / session_id

    def draft_targets(self, workspace: Workspace) -> DraftTargets:
        """Where the drafts of a session in this workspace are carried out; touches the disk.

        Deleted files that are too old to be restored are removed from the trash.
        """
        trash = private_folder(self.paths.data / "trash")
        delete_older_than(trash, TRASH_SECONDS)
        return DraftTargets(workspace, trash, self.toolbox.stores, self.packs.kinds(), self.acts)


def chat_of(session: SessionInfo) -> str:
    """The session itself, or the one whose agent began it."""
    caller = session.caller
    return caller.id if caller is not None and caller.kind == "session" else session.id


def with_own_tools(agent: Agent, toolbox: Toolbox) -> Agent:
    """The agent with the names of the person's tools in place of ``own``.

    An agent that runs commands also gets the tool that looks after commands in the background,
    and one that may start agents the tool that looks after these.

    The person's tools run in the program and can do what the person can: an agent of a folder
    that is not trusted gets none of them.
    """
    if agent.trusted and "*" not in agent.tools:
        more = MEMORY_TOOLS.get(agent.memory, ())
        agent = replace(agent, tools=tuple(dict.fromkeys((*agent.tools, *more))))
    if RUN in agent.tools and JOB not in agent.tools:
        agent = replace(agent, tools=(*agent.tools, JOB))
    if agent.agents and agent.trusted and "*" not in agent.tools:
        agent = replace(agent, tools=tuple(dict.fromkeys((*agent.tools, *CHILD_TOOLS))))
    if agent.trusted and OWN_TOOLS not in agent.tools:
        return agent
    own = {name for name, tool in toolbox.tools.items() if not tool.built_in}
    named = toolbox.tools if "*" in agent.tools else agent.tools
    if agent.trusted:
        names = [*(name for name in named if name != OWN_TOOLS), *sorted(own)]
    else:
        names = [name for name in named if name not in own and name != OWN_TOOLS]
    return replace(agent, tools=tuple(dict.fromkeys(names)))
