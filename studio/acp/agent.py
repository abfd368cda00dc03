"""The ACP agent creates, opens and runs the sessions of one editor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

from acp import PROTOCOL_VERSION, RequestError, update_agent_message_text
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    CurrentModeUpdate,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionInfo,
    SessionInfoUpdate,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    StopReason,
)

from studio import __version__
from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.session.session import Session
from studio.domain.agents import PermissionMode
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.events import AwaitingPermission, AwaitingReply, Failed, TurnComplete
from studio.domain.messages import Said

from .client_requests import ClientRequests
from .prompt_blocks import Content, invalid, read_prompt
from .updates import STOPS, SessionUpdates, Update, end_note

PAGE = 50
_ID = re.compile(r"[\w.-]{1,200}", re.ASCII)
_CURSOR = re.compile(r"[1-9][0-9]{0,8}")
UNUSED = "MCP servers of the editor are not used here: {}. Agents work with their own tools.\n\n"
MODES: dict[PermissionMode, tuple[str, str]] = {
    "ask": ("Ask", "Changes of files are drafts, and commands are asked about"),
    "auto": ("Automatic", "Drafts are written at once, and commands are asked about"),
    "plan": ("Plan", "The agent only reads, and makes a plan"),
}


class AcpAgent:
    """The agent's side of the protocol, for one editor."""

    def __init__(self, engine: Engine, agent: str = "") -> None:
        self._engine = engine
        self._agent = agent
        self._client: Client | None = None
        self._sessions: dict[str, Session] = {}
        self._requests: dict[str, ClientRequests] = {}
        """Of the prompts that are being worked on, by their sessions."""
        self._mcp_servers: dict[str, bool] = {}
        """MCP servers that the editor offers, and whether it was told of them."""

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    def close(self) -> None:
        """Stop every session: the editor has gone and nobody can answer."""
        for session in self._sessions.values():
            session.stop()

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        await self._engine.look_for_providers()
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=[],  # keys are the studio's affair
            agent_info=Implementation(
                name="agent-studio", title="Agent Studio", version=__version__
            ),
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        raise invalid("There is nothing to log in to. Keys are set in Agent Studio.")

    # Sessions

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] = (), **_: Any
    ) -> NewSessionResponse:
        folder = _folder(cwd)
        self._note_mcp_servers(mcp_servers)
        try:
            choice = await self._engine.choose(agent=self._agent, folder=folder)
            session = await self._engine.sessions.create(
                folder=str(folder),
                agent=choice.agent,
                provider=choice.provider,
                model=choice.model,
                permission_mode=self._engine.settings.values.default_permission_mode,
                origin="editor",
            )
        except StudioError as error:
            raise _failed(error) from error
        self._sessions[session.info.id] = session
        return NewSessionResponse(
            session_id=session.info.id,
            modes=_modes(session),
            config_options=await self._options(session),
        )

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] = (), **_: Any
    ) -> LoadSessionResponse:
        session = await self._opened(cwd, session_id)
        self._note_mcp_servers(mcp_servers)
        for update in SessionUpdates(session.info.folder).for_blocks(session.transcript.blocks):
            await self._send(session, update)
        return LoadSessionResponse(
            modes=_modes(session), config_options=await self._options(session)
        )

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        infos = [
            info
            for info in await self._engine.sessions.list()
            if cwd is None or Path(info.folder) == Path(cwd)
        ]
        start = int(cursor) if cursor and _CURSOR.fullmatch(cursor) else 0
        if cursor and not start:
            raise invalid("There is no such page.")
        page = infos[start : start + PAGE]
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=info.id,
                    cwd=info.folder,
                    title=info.title or None,
                    updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
                )
                for info in page
            ],
            next_cursor=str(start + PAGE) if len(infos) > start + PAGE else None,
        )

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        if mode_id not in get_args(PermissionMode):
            raise invalid(f"There is no mode {mode_id}.")
        session = self._session(session_id)
        await session.change(permission_mode=cast("PermissionMode", mode_id))
        await self._send(
            session,
            CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode_id),
        )
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        session = self._session(session_id)
        wanted = str(value)
        try:
            if config_id == "agent":
                found = await self._engine.agent(wanted, Path(session.info.folder))
                await session.change(agent=found.name)
            elif config_id == "model":
                one = await self._engine.model_names.find(wanted, first=session.info.provider)
                await session.change(provider=one.provider, model=one.model)
            else:
                raise invalid(f"There is no option {config_id} with the value {wanted}.")
        except StudioError as error:
            raise _failed(error) from error
        return SetSessionConfigOptionResponse(config_options=await self._options(session))

    # Turns

    async def prompt(self, session_id: str, prompt: Sequence[Content], **_: Any) -> PromptResponse:
        session = self._session(session_id)
        if session.running or session_id in self._requests:
            raise RequestError(-32600, "This session is still working. Stop it first, or wait.")
        requests = self._requests[session_id] = ClientRequests(session, self._editor)
        try:
            reason = await self._answered(session, prompt, requests)
        except StudioError as error:
            raise _failed(error) from error
        finally:
            await requests.close()
            del self._requests[session_id]
        return PromptResponse(stop_reason="cancelled" if requests.stopped else reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if requests := self._requests.get(session_id):
            requests.stop()
        if session := self._sessions.get(session_id):
            session.stop()

    async def _answered(
        self, session: Session, prompt: Sequence[Content], requests: ClientRequests
    ) -> StopReason:
        await self._engine.refresh_settings()
        words = await read_prompt(prompt)
        if new := [name for name, told in self._mcp_servers.items() if not told]:
            self._mcp_servers |= dict.fromkeys(new, True)
            await self._send(session, update_agent_message_text(UNUSED.format(", ".join(new))))
        if requests.stopped:  # there is no turn yet that could be stopped
            return "cancelled"
        untitled = not session.info.title
        end = await self._turn(session, words, requests)
        if untitled and session.info.title:
            await self._send(
                session,
                SessionInfoUpdate(session_update="session_info_update", title=session.info.title),
            )
        if end.reason == "error":
            raise RequestError(-32603, end.detail or "The turn failed.")
        if end.reason != "cancelled":
            await requests.drafts()
        return STOPS[end.reason]

    async def _turn(
        self, session: Session, words: Sequence[Said], requests: ClientRequests
    ) -> TurnComplete:
        updates = SessionUpdates(session.info.folder)
        end = TurnComplete("error")
        fault = ""
        async with aclosing(session.turn(words, mode="background")) as envelopes:
            async for envelope in envelopes:
                event = envelope.event
                for update in updates.for_event(event):
                    await self._send(session, update)
                match event:
                    case AwaitingPermission():
                        requests.permission(event.question)
                    case AwaitingReply():
                        requests.reply(event)
                    case Failed():
                        fault = " ".join(filter(None, (event.title, event.detail)))
                    case TurnComplete():
                        end = event
                    case _:
                        pass
        if end.reason == "error":
            return TurnComplete("error", fault or end.detail)
        if why := end_note(end.reason, end.detail):
            await self._send(session, update_agent_message_text(f"\n\n{why}"))
        return end

    async def _send(self, session: Session, update: Update) -> None:
        await self._editor.session_update(session_id=session.info.id, update=update)

    # Pieces

    @property
    def _editor(self) -> Client:
        assert self._client is not None, "the library connects before it calls"
        return self._client

    def _session(self, session_id: str) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise _unknown(session_id)
        return session

    def _note_mcp_servers(self, servers: Sequence[Any]) -> None:
        for server in servers:
            self._mcp_servers.setdefault(escape_line(server.name, 100), False)

    async def _opened(self, cwd: str, session_id: str) -> Session:
        folder = _folder(cwd)
        if not _ID.fullmatch(session_id):
            raise _unknown(session_id)
        try:
            session = await self._engine.sessions.open(session_id)
        except ConfigurationError as error:
            raise _unknown(session_id) from error
        except StudioError as error:
            raise _failed(error) from error
        if Path(session.info.folder) != folder and not session.running:
            await session.change(folder=str(folder))
        self._sessions[session_id] = session
        return session

    async def _options(self, session: Session) -> list[Any]:
        """The choices of agent and model that an editor shows."""
        info = session.info
        await self._engine.refresh_lists()
        agents = await self._engine.agents(Path(info.folder))
        models = {f"{info.provider}/{info.model}": info.model}
        for provider in self._engine.connected:
            current = info.model if provider == info.provider else ""
            for model in self._engine.offered(provider, current):
                models[f"{provider}/{model.id}"] = model.title
        by_agent = [
            SessionConfigSelectOption(
                value=agent.name, name=agent.name, description=agent.about or None
            )
            for agent in agents.by_name.values()
        ]
        by_model = [
            SessionConfigSelectOption(value=value, name=name) for value, name in models.items()
        ]
        return [
            SessionConfigOptionSelect(
                type="select", id="agent", name="Agent", current_value=info.agent, options=by_agent
            ),
            SessionConfigOptionSelect(
                type="select",
                id="model",
                name="Model",
                category="model",
                current_value=f"{info.provider}/{info.model}",
                options=by_model,
            ),
        ]


def _modes(session: Session) -> SessionModeState:
    return SessionModeState(
        current_mode_id=session.info.permission_mode,
        available_modes=[
            SessionMode(id=mode, name=name, description=description)
            for mode, (name, description) in MODES.items()
        ],
    )


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    try:
        there = folder.is_absolute() and folder.is_dir()
    except (OSError, ValueError):  # no system has a name like this
        there = False
    if not there:
        raise invalid(f"The folder {cwd} is not there. Give the whole path of one that is.")
    return folder


def _unknown(session_id: str) -> RequestError:
    why = f"There is no session {escape_line(session_id, 100)}. Begin a new one."
    return RequestError(-32002, why, {"uri": session_id})


def _failed(error: StudioError) -> RequestError:
    return RequestError(-32603, str(error))
