"""Editor servers: the MCP servers that an editor brings to a session (M-24).

They are off until the editor's user has seen what runs, once for each folder and each change, as
servers of a folder are. They end with the chat.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from studio.agent.permission.invisible_characters import escape_line
from studio.agent.servers.advice import advice
from studio.agent.servers.server_tools import ServerTools, ServerView
from studio.agent.session.session import Session
from studio.domain.errors import StorageError
from studio.domain.jsonvalue import Json, JsonObject
from studio.mcp.entries import EDITOR, Entries, ServerEntry, parse_entry
from studio.mcp.faults import ServerFailed

Approve: TypeAlias = Callable[[ServerView], Awaitable[bool]]
"""Shows what runs, and asks whether it may."""


class EditorServers:
    """The servers that the editor brought to one session."""

    def __init__(self, servers: ServerTools, session: Session, brought: Sequence[Any]) -> None:
        self._servers = servers
        self._session = session
        self._asked = False
        self._problems: list[str] = []
        found: list[ServerEntry] = []
        for one in brought:
            try:
                found.append(_entry(one, session.info.folder))
            except ValueError as error:
                name = escape_line(getattr(one, "name", ""), 100)
                self._problems.append(f"The server “{name}” {escape_line(str(error))}.")
        servers.bring(session.info.id, found)

    def close(self) -> None:
        """The editor has left the session: the servers end."""
        self._servers.take_away(self._session.info.id)

    async def ask(self, approve: Approve, tell: Callable[[str], Awaitable[None]]) -> None:
        """Ask about those that may not run yet, once; those that may then start.

        ``tell`` shows a problem.
        """
        if self._asked:
            return
        self._asked = True
        views, problems = await asyncio.to_thread(self._look)
        for problem in (*self._problems, *problems):
            await tell(f"{problem}\n\n")
        for view in views:
            if (view.entry.runs and not view.changed) or not await approve(view):
                continue
            shown = {name: view.known.pins[name] for name in view.changed}
            try:
                entry = await self._servers.switch_on(view.entry, shown)
                await self._servers.connect(entry)
            except ServerFailed as error:
                await tell(f"{error} {advice(error)}\n\n")
            except StorageError as error:
                await tell(f"{error}\n\n")

    def _look(self) -> tuple[list[ServerView], list[str]]:
        own = self._servers.read()
        chat = self._session.info.id
        views = self._servers.views(self._servers.with_brought(Entries(), chat))
        left = [
            f"You have a server {one.entry.name} already, so the editor’s is left out."
            for one in views
            if one.entry.name in own.by_name
        ]
        return [one for one in views if one.entry.name not in own.by_name], left


def _entry(server: Any, folder: str) -> ServerEntry:
    """A server as the editor describes it; raises ValueError that goes on after its name."""
    value: JsonObject
    match server:
        case McpServerStdio():
            env: dict[str, Json] = {one.name: one.value for one in server.env}
            value = {"command": server.command, "args": [*server.args], "env": env, "cwd": folder}
        case HttpMcpServer() | SseMcpServer():
            headers: dict[str, Json] = {one.name: one.value for one in server.headers}
            value = {"type": server.type, "url": server.url, "headers": headers}
        case _:
            raise ValueError("is reached in a way that is not known here")
    entry = parse_entry(server.name, value)
    return replace(entry, place=f"{EDITOR}{folder}")
