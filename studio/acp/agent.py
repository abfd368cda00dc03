"""The ACP agent creates, opens and runs the sessions of one editor."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from acp import (
    PROTOCOL_VERSION,
    RequestError,
    update_agent_message_text,
    update_agent_thought_text,
)
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AvailableCommandsUpdate,
    ClientCapabilities,
    CloseSessionResponse,
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    DeleteSessionRequest,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionInfoUpdate,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    StopReason,
    UsageUpdate,
)
from pydantic import ValidationError

from studio import __version__
from studio.agent.engine import Engine
from studio.agent.handoffs import handoff_offer, offered_handoffs, take_handoff
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.session.session import Session
from studio.domain.agents import PermissionMode
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Failed,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said, Text

from .client_requests import ClientRequests
from .editor_servers import EditorServers
from .prompt_blocks import Content, invalid, named_files, read_prompt
from .session_editor import SessionEditor
from .session_options import choose_option, chosen, session_modes, session_options
from .slash_commands import (
    DRAFTS,
    RETRY,
    available_commands,
    command_in,
    handoff_in,
    run_command,
)
from .updates import STOPS, SessionUpdates, Update, end_note

PAGE = 50
_ID = re.compile(r"[\w.-]{1,200}", re.ASCII)
_CURSOR = re.compile(r"[1-9][0-9]{0,8}")


class AcpAgent:
    """The agent's side of the protocol, for one editor."""

    def __init__(self, engine: Engine, agent: str = "") -> None:
        self._engine = engine
        self._agent = agent
        self._client: Client | None = None
        self._sessions: dict[str, Session] = {}
        self._requests: dict[str, ClientRequests] = {}
        """Of the prompts that are being worked on, by their sessions."""
        self._editors: dict[str, SessionEditor] = {}
        self._servers: dict[str, EditorServers] = {}
        self._later = BackgroundTasks()
        self._can = ClientCapabilities()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    def close(self) -> None:
        """Stop every session: the editor has gone and nobody can answer."""
        for session in self._sessions.values():
            session.stop()

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        **_: Any,
    ) -> InitializeResponse:
        self._can = client_capabilities or ClientCapabilities()
        await self._engine.look_for_providers()
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                    fork=SessionForkCapabilities(),
                    delete=SessionDeleteCapabilities(),
                ),
            ),
            auth_methods=[],  # keys are the studio's affair
            agent_info=Implementation(
                name="agent-studio", title="Agent Studio", version=__version__
            ),
        )

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Answer what the library has no method for; see ``StdioTransport``."""
        if method != "session/delete":
            raise RequestError.method_not_found(f"_{method}")
        try:
            wanted = DeleteSessionRequest.model_validate(params)
        except ValidationError as error:
            raise invalid("“sessionId” is missing.") from error
        await self._delete_session(wanted.session_id)
        return {}

    async def authenticate(self, method_id: str, **_: Any) -> None:
        raise invalid("There is nothing to log in to. Keys are set in Agent Studio.")

    # Sessions

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        folder = _folder(cwd)
        try:
            choice = await self._engine.choose(agent=self._agent, folder=folder)
            session = await self._engine.sessions.create(
                folder=str(folder),
                agent=choice.agent,
                provider=choice.provider,
                model=choice.model,
                origin="editor",
            )
        except StudioError as error:
            raise _failed(error) from error
        begun = await self._begun(session, mcp_servers)
        return NewSessionResponse(session_id=session.info.id, **begun)

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> LoadSessionResponse:
        session = await self._opened(cwd, session_id)
        for update in SessionUpdates(session.info.folder).for_blocks(session.transcript.blocks):
            await self._send(session, update)
        return LoadSessionResponse(**await self._begun(session, mcp_servers))

    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> ResumeSessionResponse:
        """Open a session that the editor shows already."""
        session = await self._opened(cwd, session_id)
        return ResumeSessionResponse(**await self._begun(session, mcp_servers))

    async def fork_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Any] | None = None, **_: Any
    ) -> ForkSessionResponse:
        """Begin a session with all that was said in another one, which stays as it is."""
        if session_id in self._requests:
            raise _busy()
        source = await self._found(session_id)
        try:
            session = await self._engine.sessions.branch(source.info.id)
        except StudioError as error:
            raise _failed(error) from error
        await self._work_in(session, _folder(cwd))
        begun = await self._begun(session, mcp_servers)
        return ForkSessionResponse(session_id=session.info.id, **begun)

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Stop a session and save it; it can be opened again."""
        self._session(session_id)
        await self._left(session_id)
        await self._engine.sessions.put_away(session_id)
        return CloseSessionResponse()

    async def _delete_session(self, session_id: str) -> None:
        """Put a session into the bin, from which the window can bring it back."""
        session = await self._found(session_id)
        await self._left(session_id)
        await self._engine.sessions.put_in_bin([session.info.id])

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
        await session.change(permission_mode=mode_id)
        await self._send(session, _mode_update(session))
        await self._send_options(session)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        session = self._session(session_id)
        before = session.info.permission_mode
        try:
            await choose_option(self._engine, session, config_id, str(value))
        except StudioError as error:
            raise _failed(error) from error
        if session.info.permission_mode != before:
            await self._send(session, _mode_update(session))
        return SetSessionConfigOptionResponse(
            config_options=await session_options(self._engine, session)
        )

    # Turns

    async def prompt(self, session_id: str, prompt: Sequence[Content], **_: Any) -> PromptResponse:
        session = self._session(session_id)
        if session.running or session_id in self._requests:
            raise _busy()
        requests = self._requests[session_id] = ClientRequests(
            session,
            self._editor,
            forms=self._can.elicitation is not None and self._can.elicitation.form is not None,
            addresses=self._can.elicitation is not None and self._can.elicitation.url is not None,
        )
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
        command = command_in(prompt)
        number = handoff_in(prompt)
        if number is not None:
            words = await self._handed_over(session, number)
            if not words:
                return "end_turn"
        else:
            words = [] if command else await read_prompt(prompt)
        if named := named_files(prompt):
            await asyncio.to_thread(self._editors[session.info.id].mentioned, named)
        if not command:

            async def tell(text: str) -> None:
                await self._send(session, update_agent_message_text(text))

            servers = self._servers[session.info.id]
            await requests.until_stopped(servers.ask(requests.server, tell))
        if requests.stopped:  # there is no turn yet that could be stopped
            return "cancelled"
        if command:
            if text := await run_command(command, session):
                await self._send(session, update_agent_message_text(text))
                return "end_turn"
            if command == DRAFTS:
                await requests.drafts()
            if command != RETRY:
                return "end_turn"
        untitled, before = not session.info.title, chosen(session)
        end = await self._turn(session, words, requests)
        if chosen(session) != before:  # by a rule that chooses models
            await self._send_options(session)
        if untitled and session.info.title:
            await self._send(
                session,
                SessionInfoUpdate(session_update="session_info_update", title=session.info.title),
            )
        await self._send_usage(session)
        if end.reason == "error":
            raise RequestError(-32603, end.detail or "The turn failed.")
        if end.reason != "cancelled":
            await requests.drafts()
            if offer := handoff_offer(await offered_handoffs(self._engine, session)):
                await self._send(session, update_agent_message_text(f"\n\n{offer}"))
        return STOPS[end.reason]

    async def _handed_over(self, session: Session, number: str) -> Sequence[Said]:
        """Give the chat to the next agent; returns the message that it gets at once, if any."""
        try:
            taken = await take_handoff(self._engine, session, number)
        except ConfigurationError as error:
            await self._send(session, update_agent_message_text(str(error)))
            return ()
        await self._send_options(session)
        if taken.prompt and taken.send:
            return [Text(taken.prompt)]
        told = f"{taken.agent} goes on with your next message."
        told += f" What to say stands in the file:\n\n{taken.prompt}" if taken.prompt else ""
        await self._send(session, update_agent_message_text(told))
        return ()

    async def _turn(
        self, session: Session, words: Sequence[Said], requests: ClientRequests
    ) -> TurnComplete:
        terminals = self._editors[session.info.id].terminals
        updates = SessionUpdates(session.info.folder, terminals)
        end = TurnComplete("error")
        fault = ""
        turn = session.turn(words, least="background", mentions=True)
        async with aclosing(turn) as envelopes:
            async for envelope in envelopes:
                event = envelope.event
                for update in updates.for_event(event):
                    await self._send(session, update)
                match event:
                    case TurnStarted(agent=agent) if agent != session.info.agent:
                        text = f"{agent} answers this message.\n\n"
                        await self._send(session, update_agent_thought_text(text))
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

    async def _send_usage(self, session: Session) -> None:
        """Tell how full the model's context is, and what the chat has cost so far.

        What cannot be told is no error of the turn before.
        """
        with suppress(ConnectionError, StudioError):
            await self._usage(session)

    async def _usage(self, session: Session) -> None:
        context = await session.context.usage()
        if context.window is None or not context.used or session.info.id not in self._sessions:
            return
        spent = (await self._engine.usage_costs.spent("session", session.info.id)).values()
        costs = [Cost(amount=one.cost, currency="USD") for one in spent if one.cost]
        await self._send(
            session,
            UsageUpdate(
                session_update="usage_update",
                used=context.used,
                size=context.window,
                cost=costs[0] if costs else None,
            ),
        )

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

    async def _opened(self, cwd: str, session_id: str) -> Session:
        folder = _folder(cwd)
        session = await self._found(session_id)
        await self._work_in(session, folder)
        return session

    async def _found(self, session_id: str) -> Session:
        """A session of the studio, open here or not; raises RequestError."""
        if not _ID.fullmatch(session_id):
            raise _unknown(session_id)
        try:
            return await self._engine.sessions.open(session_id)
        except ConfigurationError as error:
            raise _unknown(session_id) from error
        except StudioError as error:
            raise _failed(error) from error

    async def _work_in(self, session: Session, folder: Path) -> None:
        """Let the editor work in a session, in its folder."""
        if Path(session.info.folder) != folder and not session.running:
            await session.change(folder=str(folder))

    async def _begun(self, session: Session, mcp_servers: Sequence[Any] | None) -> dict[str, Any]:
        """Serve a session; returns what the answer tells of it."""
        info = session.info
        self._sessions[info.id] = session
        self._editors[info.id] = editor = SessionEditor(
            self._editor, info.id, info.folder, self._can
        )
        self._engine.services.editors[info.id] = editor
        servers = self._engine.services.servers
        self._servers[info.id] = EditorServers(servers, session, mcp_servers or ())
        options = await session_options(self._engine, session)
        # The task begins when the request is answered: the editor knows the session by then.
        self._later.start(self._send_commands(session))
        self._later.start(self._send_usage(session))
        return {"modes": session_modes(session), "config_options": options}

    async def _left(self, session_id: str) -> None:
        """Stop a session, and return when the editor has no more part in it."""
        await self.cancel(session_id)
        if requests := self._requests.get(session_id):
            await requests.closed.wait()
        self._sessions.pop(session_id, None)
        self._editors.pop(session_id, None)
        if servers := self._servers.pop(session_id, None):
            servers.close()
        self._engine.services.editors.pop(session_id, None)

    async def _send_commands(self, session: Session) -> None:
        found = await self._engine.services.extensions(Path(session.info.folder))
        with suppress(ConnectionError):
            await self._send(
                session,
                AvailableCommandsUpdate(
                    session_update="available_commands_update",
                    available_commands=available_commands(found),
                ),
            )

    async def _send_options(self, session: Session) -> None:
        await self._send(
            session,
            ConfigOptionUpdate(
                session_update="config_option_update",
                config_options=await session_options(self._engine, session),
            ),
        )


def _mode_update(session: Session) -> CurrentModeUpdate:
    mode = session.info.permission_mode
    return CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode)


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    try:
        there = folder.is_absolute() and folder.is_dir()
    except (OSError, ValueError):  # no system has a name like this
        there = False
    if not there:
        raise invalid(f"The folder {cwd} is not there. Give the whole path of one that is.")
    return folder


def _busy() -> RequestError:
    return RequestError(-32600, "This session is still working. Stop it first, or wait.")


def _unknown(session_id: str) -> RequestError:
    why = f"There is no session {escape_line(session_id, 100)}. Begin a new one."
    return RequestError(-32002, why, {"uri": session_id})


def _failed(error: StudioError) -> RequestError:
    return RequestError(-32603, str(error))
