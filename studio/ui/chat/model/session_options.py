"""Session options: the agent, model, thinking, permission mode and folder of the open chat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.agents import addressed
from studio.domain.errors import ConfigurationError, StudioError
from studio.ui.formatting import folder_name
from studio.ui.translation import tr, tr_later

from .open_chat import Change, OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.agents import Agent, Handoff, Mode, PermissionMode, Role
    from studio.domain.models import Effort, ModelInfo
    from studio.domain.sessions import SessionInfo

NAME_WAIT = 0.3
"""Seconds a new chat waits for the name of its model before it is shown without."""

PERMISSION_MODES: dict[PermissionMode, tuple[str, str]] = {
    "ask": (
        tr_later("Ask first"),
        tr_later("Reads the folder; drafts wait, the rest is asked about"),
    ),
    "auto": (
        tr_later("Automatic"),
        tr_later("Drafts are written at once, the rest is asked about"),
    ),
    "plan": (tr_later("Plan"), tr_later("Only reads, and proposes what to do")),
}
ROLE_LIMITS: dict[Role, str] = {
    "all": "",
    "edits": tr_later("Reads and drafts"),
    "notes": tr_later("Reads and takes notes"),
    "reads": tr_later("Only reads"),
}
"""What an agent may use at most, where that is not everything (T-6)."""

EFFORT_NAMES: dict[Effort, str] = {
    "none": tr_later("Off"),
    "minimal": tr_later("Minimal"),
    "low": tr_later("Low"),
    "medium": tr_later("Medium"),
    "high": tr_later("High"),
    "xhigh": tr_later("Extra high"),
    "max": tr_later("Maximum"),
}


def efforts(model: ModelInfo) -> tuple[Effort, ...]:
    """The efforts that can be chosen; for an unknown model those that most models have."""
    if model.efforts is None:
        return () if model.reasoning is False else ("low", "medium", "high")
    return model.efforts


class SessionOptions:
    """Keeps what the chat runs on, and saves what the person chooses in the session.

    The options of a chat that has not begun come from the settings and its folder.
    """

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self.agents: Sequence[Agent] = ()
        """The agents that the folder offers."""
        self.agent = "Coder"
        self.provider = ""
        self.model_id = ""
        self.permission_mode: PermissionMode = "ask"
        self.effort: Effort | None = None
        """How much the model is to think; None leaves it its default."""
        self.folder = ""
        self.subject = ""
        """What the new chat is about, as a pack writes it (KZ-3)."""
        self._wanted = ""
        """The agent that a new chat was begun for or that was chosen for it, if any."""
        self._title = ""
        """The title of the session when its options were taken over."""
        self.model_chosen = False
        """Whether the person chose the model of the new chat themselves (L-13)."""
        self._unchanged = True
        """Whether the new chat has what the settings say, for the person chose nothing else."""
        self._new_provider = ""
        """The provider that a new chat was begun for, if any."""
        self._lookup: asyncio.Task[None] | None = None
        chat.subscribe(self._changed, "engine", "chat")

    def _changed(self, change: Change) -> None:
        session, engine = self._chat.session, self._chat.engine
        if change.part == "engine" and engine is not None:
            engine.catalogue.subscribe(lambda _: self._chat.notify("options"))
            self.folder = engine.settings.values.last_folder
            self.permission_mode = engine.settings.values.default_permission_mode
        elif change.part == "chat" and session is not None:
            self.use_session(session.info)

    # What is chosen

    @property
    def model(self) -> ModelInfo:
        """What is known of the chosen model."""
        assert self._chat.engine is not None
        return self._chat.engine.model(self.provider, self.model_id)

    @property
    def turn_mode(self) -> Mode | None:
        """The mode chosen for the next turns; None leaves it to the agent's file."""
        return self._chat.runner.modes.get(self._session_id)

    @property
    def _session_id(self) -> str:
        """The session's id; the mode of a chat that has not begun is kept under no id."""
        return "" if self._chat.session is None else self._chat.session.info.id

    @property
    def uses_own_folder(self) -> bool:
        """Whether no folder was chosen: the chat works in one of the program's own."""
        engine = self._chat.engine
        return engine is not None and engine.paths.owns(self.folder)

    async def in_repository(self) -> bool:
        """Whether the folder is in a git repository."""
        folder = Path(self.folder)

        def found() -> bool:
            return any((place / ".git").exists() for place in (folder, *folder.parents))

        return bool(self.folder) and await asyncio.to_thread(found)

    async def latest_workflow(self) -> tuple[str, str]:
        """Name and file of the workflow that ran last in the folder; empty where none is left."""
        from studio.storage.runs import RunStore

        engine, folder = self._chat.engine, self.folder
        if engine is None or self.uses_own_folder:
            return "", ""
        runs = [run for run in await RunStore(engine.database).list() if run.folder == folder]

        def found() -> tuple[str, str]:
            there = (run for run in runs if not run.mission and Path(run.source).is_file())
            return next(((run.name, Path(run.source).name) for run in there), ("", ""))

        return await asyncio.to_thread(found)

    @property
    def folder_name(self) -> str:
        """The folder as a person reads it."""
        return self.name_folder(self.folder)

    def name_folder(self, folder: str) -> str:
        """A folder in words, see ``formatting.folder_name``."""
        engine = self._chat.engine
        return folder if engine is None else folder_name(folder, engine.paths)

    @property
    def chooser_folder(self) -> str:
        """Where a file dialog begins."""
        return str(Path.home()) if self.uses_own_folder else self.folder

    @property
    def offered_agents(self) -> list[Agent]:
        """The agents that the person is offered: those whose file allows it, and the chat's."""
        return [one for one in self.agents if one.user_invocable or one.name == self.agent]

    @property
    def handoffs(self) -> Sequence[Handoff]:
        """What the file of the chat's agent says may come next, to agents that are there."""
        agents = {one.name: one for one in self.agents}
        found = agents[self.agent].handoffs if self.agent in agents else ()
        return [one for one in found if one.agent in agents]

    def agent_icon(self, name: str) -> tuple[str, str]:
        """Icon and hue of an agent; a plain one if the agent is not there any more."""
        agent = next((agent for agent in self.agents if agent.name == name), None)
        return (agent.icon, agent.hue) if agent else ("bot", "slate")

    def addressed(self, text: str) -> str:
        """The agent that a message is for alone; empty if it is for the chat's agent."""
        return addressed(text, (agent.name for agent in self.agents))

    # A new chat, and its session

    def reset(self, folder: str = "", subject: str = "", agent: str = "") -> None:
        """Set the options of a new chat to the defaults; ``find`` looks up the rest."""
        self._chat.runner.modes.pop("", None)
        self.model_chosen = False
        self._unchanged = True
        if self._chat.engine is not None:
            self.permission_mode = self._chat.engine.settings.values.default_permission_mode
        self.effort = None
        self.folder = folder or self.folder
        self.subject = subject
        self._wanted = agent
        self.agent = agent or self.agent

    async def begin_session(self, engine: Engine) -> Session:
        """Make the session of the new chat on screen.

        Raises ConfigurationError if another chat was opened before it could be made.
        """
        subject = self.subject
        await self.found()
        if self._chat.session is not None or self.subject != subject:
            raise ConfigurationError(
                tr(
                    "Another chat was opened before the message was sent. "
                    "It is kept in the new chat."
                )
            )
        session = await engine.sessions.create(
            folder=self.folder,
            agent=self.agent,
            provider=self.provider,
            model=self.model_id,
            permission_mode=self.permission_mode,
            model_chosen=self.model_chosen,
            subject=self.subject,
        )
        if self.effort is not None:
            await session.change(effort=self.effort)
        modes = self._chat.runner.modes
        if (mode := modes.pop("", None)) is not None:
            modes[session.info.id] = mode
        self._chat.show(session, begun=True)
        if not self.uses_own_folder:
            engine.settings.values.use_folder(self.folder)
            self._chat.run(engine.settings.save())
        return session

    def use_session(self, info: SessionInfo) -> None:
        """Take the options of a session."""
        self.folder, self.subject = info.folder, info.subject
        self.agent, self.provider, self.model_id = info.agent, info.provider, info.model
        self.permission_mode = info.permission_mode
        self.effort = info.effort
        self._title = info.title

    def follow_session(self) -> None:
        """Take over what was changed in the session of this chat from another window."""
        session = self._chat.session
        if session is None:
            return
        info = session.info
        shown = (self.folder, self.agent, self.provider, self.model_id, self._title)
        same = shown == (info.folder, info.agent, info.provider, info.model, info.title)
        if not same or (self.permission_mode, self.effort) != (info.permission_mode, info.effort):
            self.use_session(info)
            self._chat.notify("options")

    def settings_changed(self) -> None:
        """Apply the settings to a new chat for which nothing was chosen."""
        engine = self._chat.engine
        new = self._chat.session is None and self._unchanged
        if new and engine is not None and self._lookup is not None:
            self.permission_mode = engine.settings.values.default_permission_mode
            self._lookup.cancel()
            self._lookup = self._chat.run(self._find(self._new_provider))
        self._chat.notify("options")

    async def find(self, provider: str) -> None:
        """Look up folder, agents and model of a new chat.

        Returns after ``NAME_WAIT`` at the latest; a slow lookup goes on in a task.
        """
        self._new_provider = provider
        self._lookup = self._chat.run(self._find(provider))
        await asyncio.wait([self._lookup], timeout=NAME_WAIT)

    @property
    def looked_up(self) -> bool:
        """Whether the look-up for a new chat was begun at least; ``found`` waits for its end."""
        return self._lookup is not None

    async def found(self) -> None:
        """Wait until the options of a new chat are looked up."""
        if self._lookup is not None:
            await asyncio.wait([self._lookup])

    async def _find(self, provider: str) -> None:
        engine = self._chat.engine
        assert engine is not None
        default = provider or await engine.providers.default()
        if self.folder == str(engine.paths.demo) and default != "simulator":
            self.folder = engine.settings.values.last_folder  # other chats are not about its files
        if not self.folder or not Path(self.folder).is_dir():
            self.folder = str(await asyncio.to_thread(engine.own_folder))
        await self._load_agents()
        wanted = self._wanted
        there = any(one.name == wanted and one.trusted for one in self.agents)
        agent = wanted if there else ""
        try:
            choice = await engine.choose(agent=agent, provider=provider, folder=Path(self.folder))
            found = choice.agent, choice.provider, choice.model
        except StudioError as error:
            self._chat.report(str(error))
            found = agent or self._default_agent(engine), default, ""
        if self._chat.session is None:
            name, self.provider, self.model_id = found
            if self._wanted == wanted:  # else another was chosen meanwhile
                self.agent = name
            self._chat.notify("options")

    def _default_agent(self, engine: Engine) -> str:
        """The person's choice for new chats; never an agent of a folder that is not trusted."""
        name = engine.settings.values.default_agent or self.agent
        strange = any(one.name == name and not one.trusted for one in self.agents)
        return "Coder" if strange else name

    def load_agents(self) -> None:
        """Read again which agents the folder offers."""
        self._chat.run(self._load_agents())

    async def _load_agents(self) -> None:
        assert self._chat.engine is not None
        # Without their tools: a start needs no code of packs for the names (KZ-9).
        found = await self._chat.engine.services.agents_of_files(Path(self.folder))
        self.agents = list(found.by_name.values())
        for problem in found.problems:
            self._chat.report(problem)
        self._chat.notify("options")

    # What the person chooses

    def choose_agent(self, name: str) -> None:
        self.agent = self._wanted = name
        self._keep(agent=name)

    def choose_turn_mode(self, mode: str) -> None:
        """Choose how long the next turns may take; an empty one leaves it to the agent's file."""
        if mode == "inline" or mode == "background" or mode == "long":
            self._chat.runner.modes[self._session_id] = mode
        else:
            self._chat.runner.modes.pop(self._session_id, None)
        self._chat.notify("options")

    def choose_effort(self, effort: Effort | None) -> None:
        self.effort = effort
        self._keep(effort=effort)

    def choose_model(self, provider: str, model: str) -> None:
        """Choose a model for this chat; later ones begin with that of the settings."""
        if self._lookup is not None:
            self._lookup.cancel()
        self.provider, self.model_id = provider, model
        self.model_chosen = True
        if self.effort not in (None, *efforts(self.model)):
            self.effort = None
        self._keep(provider=provider, model=model, effort=self.effort)

    def choose_permission_mode(self, mode: PermissionMode) -> None:
        self.permission_mode = mode
        self._keep(permission_mode=mode)

    def choose_folder(self, folder: str) -> None:
        self.folder = folder
        if (engine := self._chat.engine) is not None and not self.uses_own_folder:
            engine.settings.values.use_folder(folder)
            self._chat.run(engine.settings.save())
        self._keep(folder=folder)
        self.load_agents()

    def _keep(self, **fields: str | None) -> None:
        if "folder" not in fields:
            self._unchanged = False
        if self._chat.session is not None:
            self._chat.run(self._chat.session.change(**fields))
            if "model" in fields:
                self._retry_with_model()
            self._chat.notify("session")
        self._chat.notify("chosen")
        self._chat.notify("options")

    def _retry_with_model(self) -> None:
        """Repeat a request that waits for its next attempt with the chosen model."""
        from studio.domain.blocks import RetryBlock

        session = self._chat.session
        if session is not None:
            self._chat.runner.look_again(session.info.id)
        if session is None or not session.running or not session.transcript.blocks:
            return
        last = session.transcript.blocks[-1]
        if isinstance(last, RetryBlock) and last.state == "waiting":
            session.stop()
            self._chat.runner.start(session, [])
