"""Servers: the MCP servers of the program, started when they are needed and shared by all chats.

A server is one process for all chats, or one for each folder where its entry says so or where it
asks for the folder (M-6). The SDK is imported in a thread with the first start.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.domain.questions import AskForm
from studio.domain.records import dataclass
from studio.domain.secret_names import names_secret
from studio.domain.server_names import server_prefix
from studio.mcp.confinement import Confinement, confinement_of, remembered_of
from studio.mcp.entries import (
    Resolve,
    ServerEntry,
    resolve_entry,
    variable_names,
    with_variables,
)
from studio.mcp.eras import Eras
from studio.mcp.faults import GivenUp, ServerFailed
from studio.mcp.lists import Completing, ServerLists
from studio.mcp.programs import Programs
from studio.mcp.results import Blob, ServerResult
from studio.mcp.server_log import ServerLog
from studio.mcp.sign_ins import SignIn, SignIns, place_of, port_of
from studio.mcp.supervised import ServerState, ServerTimes, SupervisedServer
from studio.mcp.uv import uv_folder
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox

if TYPE_CHECKING:
    from studio.mcp.authorization import Authorization
    from studio.mcp.connection import Connection, Progress, Transport
    from studio.mcp.http import HttpTransport
    from studio.mcp.oauth import Browse
    from studio.mcp.stdio import Confined, StdioTransport

PERSON = 600.0
"""Seconds that another program's sign-in to the same server is waited for."""
_WORST_FIRST = ("failed", "sign_in", "waiting", "starting", "running", "idle")


@dataclass(frozen=True, slots=True)
class ServerFolders:
    """Where logs of servers are kept, what is remembered of them, what came in bundles, the
    person's own folder, programs that were fetched for servers, and the home folders of servers
    in the sandbox."""

    logs: Path
    cache: Path
    bundles: Path
    home: Path
    programs: Path
    homes: Path


FindSandbox: TypeAlias = Callable[[], Awaitable[Sandbox]]


async def no_sandbox() -> Sandbox:
    return NoSandbox("There is none here.")


class Servers:
    """The MCP servers. Belongs to the event loop.

    ``environment`` returns what child processes get, without secrets; ``resolve`` the secret that
    the keychain has under a name; ``sign_ins`` has what signing in to servers gave. ``sandbox``
    finds the one in which servers run that the person confines (M-18).
    """

    def __init__(
        self,
        keeper: Keeper,
        folders: ServerFolders,
        environment: Callable[[], Mapping[str, str]],
        resolve: Resolve,
        sign_ins: SignIns,
        times: ServerTimes | None = None,
        sandbox: FindSandbox = no_sandbox,
    ) -> None:
        self._keeper = keeper
        self._sandbox = sandbox
        self._folders = folders
        self.bundles = folders.bundles
        self._environment = environment
        self._resolve = resolve
        self._sign_ins = sign_ins
        self.times = times or ServerTimes()
        self._programs = Programs(keeper, folders.home, uv_folder(folders.programs))
        self._eras = Eras(folders.cache / "eras.json")
        self._entries: dict[str, ServerEntry] = {}
        self._running: dict[tuple[str, str], SupervisedServer] = {}
        self._by_folder: set[str] = set()
        """Servers that asked for the folder."""
        self._authorizations: dict[str, Authorization] = {}
        self._signing: dict[str, tuple[asyncio.Task[None], float]] = {}
        """Who is signing in to a server, and since when."""
        self._listeners: list[Callable[[str], object]] = []
        self._tasks = BackgroundTasks()

    @property
    def entries(self) -> Mapping[str, ServerEntry]:
        return self._entries

    def unset(self, entry: ServerEntry) -> str:
        """The first variable that a server needs and does not get; empty if there is none."""
        known = self._environment()
        return next((one for one in variable_names(entry) if one not in known), "")

    def use(self, entries: Iterable[ServerEntry]) -> None:
        """Take over these servers; one that runs and is gone, or has changed, is ended."""
        self._entries = {entry.name: entry for entry in entries}
        for key, server in list(self._running.items()):
            entry = self._entries.get(key[0])
            if entry is None or not entry.runs or not _same(entry, server.entry):
                del self._running[key]
                self._tasks.start(server.close())
                self._tell(key[0])

    def listen(self, callback: Callable[[str], object]) -> Callable[[], None]:
        """Call ``callback`` with a server's name when its state or its lists change."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    async def start(self, name: str, folder: Path | None = None) -> ServerLists:
        """Start a server, also one that failed; returns what it offers. Raises ServerFailed."""
        server = self._server(name, folder)
        server.forgive()
        return (await server.connection()).lists

    async def call(
        self,
        name: str,
        tool: str,
        arguments: JsonObject,
        *,
        folder: Path | None = None,
        progress: Progress | None = None,
        seconds: float | None = None,
        ask: AskForm | None = None,
        meta: JsonObject | None = None,
    ) -> ServerResult:
        """Call a tool by the server's own name; it starts the server. Raises ToolFailed.

        A call that may have acted is never sent again. ``ask`` asks the person what the server
        wants to know meanwhile; without it that is declined. ``meta`` goes with the call.
        """
        server = await self._started(name, folder)
        limit = seconds or server.entry.seconds
        return await server.use(lambda one: one.call(tool, arguments, limit, progress, ask, meta))

    async def read(
        self, name: str, uri: str, folder: Path | None = None, ask: AskForm | None = None
    ) -> tuple[Blob, ...]:
        """What a resource holds (M-21); as ``call``."""
        server = await self._started(name, folder)
        return await server.use(lambda one: one.read(uri, server.entry.seconds, ask))

    async def prompt(
        self,
        name: str,
        prompt: str,
        arguments: Mapping[str, str],
        folder: Path | None = None,
        ask: AskForm | None = None,
    ) -> ServerResult:
        """The words of a prompt (M-21); as ``call``."""
        server = await self._started(name, folder)
        return await server.use(
            lambda one: one.prompt(prompt, arguments, server.entry.seconds, ask)
        )

    async def complete(
        self, name: str, wanted: Completing, folder: Path | None = None
    ) -> tuple[str, ...]:
        """What a value that the person is typing may be (M-21); as ``call``."""
        server = await self._started(name, folder)
        return await server.use(lambda one: one.complete(wanted, server.entry.seconds))

    async def list(self, name: str, folder: Path | None = None) -> ServerLists:
        """What a server offers, fetched again where it says that its last answer is too old."""
        server = await self._started(name, folder)
        connection = await server.connection()
        age = asyncio.get_running_loop().time() - connection.fetched
        if 0 < connection.lists.seconds < age:
            try:
                await connection.refresh(server.entry.seconds)
            except ServerFailed as error:
                server.note(error)
                raise
        return connection.lists

    def lists(self, name: str) -> ServerLists | None:
        """What a server that runs offers; None if none does."""
        return next((found for one in self._of(name) if (found := one.lists)), None)

    def state(self, name: str) -> ServerState:
        """How a server is; of several processes, the one that is worst off."""
        entry = self._entries.get(name)
        if entry is None or not entry.on:
            return ServerState("off")
        if not entry.runs:
            return ServerState("withheld", reason="It changed since you approved it.")
        if name in self._signing:
            return ServerState("signing_in", self._signing[name][1])
        states = [server.state for server in self._of(name)]
        return min(
            states, key=lambda one: _WORST_FIRST.index(one.kind), default=ServerState("idle")
        )

    def log(self, name: str) -> str:
        """The last lines of a server's stderr; the file has more, also of earlier runs."""
        return "\n".join(text for server in self._of(name) if (text := server.log.text()))

    def log_file(self, name: str) -> Path:
        return self._folders.logs / f"{server_prefix(name)}.log"

    # Signing in

    async def sign_in(
        self, name: str, browse: Browse, client: SignIn | None = None, scope: str = ""
    ) -> None:
        """Let the person sign in to a server; only a person's click or command may call this.

        ``browse`` opens their browser. ``client`` is how they registered this program there,
        ``scope`` what they want beside what the server asks for. Raises ServerFailed, see
        ``oauth.sign_in``, and ConfigurationError.
        """
        if name in self._signing:
            raise ServerFailed("sign_in", f"You are signing in to the server {name} already.")
        entry = self._at_address(name)
        work = asyncio.ensure_future(self._sign_in(entry, browse, client or SignIn(), scope))
        self._signing[name] = work, time.time()
        self._tell(name)
        try:
            await work
        except asyncio.CancelledError:
            if not work.cancelled():
                work.cancel()
                raise
            raise GivenUp("sign_in", "The sign-in was given up.") from None
        finally:
            del self._signing[name]
            self._tell(name)
        await self.stop(name)

    def give_up_sign_in(self, name: str) -> None:
        """The person does not want to sign in after all."""
        if name in self._signing:
            self._signing[name][0].cancel()

    async def sign_out(self, name: str) -> bool:
        """Forget the sign-in to a server; whether there was one. Raises ConfigurationError."""
        entry = self._entries.get(name)
        if entry is None or not entry.url:
            return False
        place = place_of(name, entry.url)
        async with self._sign_ins.alone(place, PERSON):
            known = await self._sign_ins.read(place)
            if known is None:
                return False
            await self._sign_ins.forget(place)
        await self.stop(name)
        await (await asyncio.to_thread(_revoke))(known)
        return known.is_signed_in

    async def signed_in(self, entry: ServerEntry) -> SignIn | None:
        """The sign-in to a server, if there is one."""
        known = await self._sign_ins.read(place_of(entry.name, entry.url)) if entry.url else None
        return known if known is not None and known.is_signed_in else None

    def _at_address(self, name: str) -> ServerEntry:
        """The entry of a server that a person can sign in to."""
        entry = self._entries.get(name)
        if entry is None:
            raise ServerFailed("off", f"There is no MCP server {name}.")
        if not entry.runs:
            raise ServerFailed("off", f"Switch the MCP server {name} on first.")
        if not entry.url:
            raise ConfigurationError(f"{name} runs on this computer: there is no sign-in to it.")
        if not entry.may_sign_in:
            raise ConfigurationError(
                f"{name} has a key in its headers. Remove that header to sign in instead."
            )
        return entry

    async def _sign_in(
        self, entry: ServerEntry, browse: Browse, client: SignIn, scope: str
    ) -> None:
        oauth = await asyncio.to_thread(_oauth)
        try:
            whole = await resolve_entry(entry, self._resolve, self._environment())
        except ConfigurationError as error:
            raise ServerFailed("variable", str(error)) from error
        place = place_of(entry.name, entry.url)
        before = await self._sign_ins.read(place)
        async with self._sign_ins.alone(f"{place} person", PERSON):
            known = await self._sign_ins.read(place)
            if known is not None and known.is_signed_in and known != before:
                return  # it was done in another window meanwhile
            given = whole.oauth
            if not client.client_id and given.get("clientId"):
                client = SignIn(
                    client_id=given["clientId"],
                    client_secret=given.get("clientSecret", ""),
                    client_source="entry",
                )
            open_request = self._authorizations.get(entry.name)
            wanted = (given.get("scopes", ""), scope, open_request.wanted if open_request else "")
            wish = oauth.Wish(
                entry.name,
                whole.url,
                client,
                " ".join(filter(None, wanted)),
                int(given.get("callbackPort", 0)) or port_of(place),
                fixed="callbackPort" in given,
                events=entry.transport == "sse",
            )
            found = await oauth.sign_in(wish, known, browse)
            async with self._sign_ins.alone(place, PERSON):
                await self._sign_ins.keep(place, found)

    # Ending

    async def stop(self, name: str) -> None:
        """End a server; the next call starts it again."""
        ending = self._of(name)
        self._running = {key: one for key, one in self._running.items() if key[0] != name}
        await asyncio.gather(*(server.close() for server in ending))
        self._tell(name)

    async def close(self) -> None:
        """End all servers; returns when that is done. No server starts after that."""
        self._entries = {}
        for name in list(self._signing):
            self.give_up_sign_in(name)
        ending, self._running = list(self._running.values()), {}
        await asyncio.gather(*(server.close() for server in ending))
        await self._tasks.settled()

    def _of(self, name: str) -> list[SupervisedServer]:
        return [server for key, server in self._running.items() if key[0] == name]

    async def _started(self, name: str, folder: Path | None) -> SupervisedServer:
        """A server that runs, and that knows of this folder if it wants to know it."""
        server = self._server(name, folder)
        await server.connection()
        if server.roots and name not in self._by_folder:
            self._by_folder.add(name)
            shared = self._running.pop((name, ""), server)
            if server.entry.sandbox:  # it was started without the folder
                self._tasks.start(shared.close())
            else:
                self._running[name, str(server.folder or "")] = shared
        if (own := self._server(name, folder)) is not server:
            await own.connection()
        return own

    def _server(self, name: str, folder: Path | None) -> SupervisedServer:
        entry = self._entries.get(name)
        if entry is None:
            raise ServerFailed("off", f"There is no MCP server {name}.")
        if not entry.on:
            raise ServerFailed("off", f"The MCP server {name} is switched off.")
        if not entry.runs:
            raise ServerFailed(
                "off", f"The MCP server {name} changed since it was approved: look at it first."
            )
        key = name, str(folder or "") if self._is_apart(entry) else ""
        if key not in self._running:
            log = ServerLog(self.log_file(name))
            self._running[key] = SupervisedServer(
                entry, folder, log, self._connect, lambda: self._tell(name), self.times
            )
        return self._running[key]

    def _is_apart(self, entry: ServerEntry) -> bool:
        """Whether each folder has a process of its own."""
        return entry.by_folder or entry.name in self._by_folder

    async def _connect(self, server: SupervisedServer) -> Connection:
        """Connect a server; raises ServerFailed."""
        entry, log = server.entry, server.log
        variables = self._environment()
        secrets: list[str] = []

        async def resolve(name: str) -> str:
            secrets.append(await self._resolve(name))
            return secrets[-1]

        try:
            whole = await resolve_entry(entry, resolve, variables)
        except ConfigurationError as error:
            raise ServerFailed("variable", str(error)) from error
        pairs = {**whole.environment, **whole.headers}
        log.hide(*secrets, *(value for name, value in pairs.items() if names_secret(name)))
        folder = server.folder if self._is_apart(entry) else None
        make = await self._transport(whole, log, variables, folder)
        try:
            return await self._opened(server, make)
        except ServerFailed as error:
            if whole.transport != "http" or error.kind != "address":
                raise
        make = await self._transport(replace(whole, transport="sse"), log, variables)
        return await self._opened(server, make)

    async def _opened(self, server: SupervisedServer, make: Callable[[], Transport]) -> Connection:
        connect = await asyncio.to_thread(_connection_class)
        entry = server.entry
        era = "handshake" if entry.handshake else await self._eras.of(entry.digest)
        connection = connect(
            entry.name, make, server.log, era=era, folder=server.folder, sampling=entry.sampling
        )
        await connection.open(self.times.start)
        if not entry.handshake:
            await self._eras.keep(entry.digest, connection.era)
        return connection

    async def _transport(
        self,
        entry: ServerEntry,
        log: ServerLog,
        variables: Mapping[str, str],
        chat_folder: Path | None = None,
    ) -> Callable[[], Transport]:
        """Who makes the transports of an entry whose values are filled in."""
        if entry.transport != "stdio":
            http = await asyncio.to_thread(_http_transport)
            events = entry.transport == "sse"
            access = await self._access(entry, log)
            return lambda: http(entry.url, entry.headers, access, events=events)
        folder = Path(entry.folder).expanduser() if entry.folder else self._folders.home
        if not await asyncio.to_thread(folder.is_dir):
            raise ServerFailed("not_found", f"There is no folder {folder}.")
        program = await self._programs.find(
            entry.command, entry.arguments, folder, variables, entry.environment
        )
        stdio, confined = await asyncio.to_thread(_stdio_transport)
        if not entry.sandbox:
            return lambda: stdio(self._keeper, program, folder, log)
        sandbox = await self._sandbox()
        if sandbox.kind == "none":
            raise ServerFailed(
                "sandbox",
                f"The server {entry.name} is to run in the sandbox, which cannot be used: "
                f"{sandbox.reason}",
            )
        may = await asyncio.to_thread(self._confinement, entry, chat_folder)
        inside = folder if entry.folder else may.own
        launch = may.launch
        variables = may.environment(program.environment, entry.environment)
        return lambda: stdio(
            self._keeper,
            replace(program, environment=variables),
            folder,
            log,
            confined(sandbox, lambda: launch(program.argv, inside, variables), not may.network),
        )

    def confinement(self, entry: ServerEntry) -> Confinement:
        """What a server will reach in the sandbox, with its variables; reads the disk."""
        return self._confinement(with_variables(entry, self._environment()))

    def _confinement(self, entry: ServerEntry, chat_folder: Path | None = None) -> Confinement:
        own = self._folders.homes / server_prefix(entry.name)
        return confinement_of(entry, self._folders.home, own, chat_folder)

    def remove_home(self, name: str) -> None:
        """Remove what a server kept in the sandbox; blocks."""
        own = self._folders.homes / server_prefix(name)
        shutil.rmtree(own, ignore_errors=True)
        remembered_of(own).unlink(missing_ok=True)

    async def _access(self, entry: ServerEntry, log: ServerLog) -> Authorization | None:
        """What has the token of a server, unless its headers have a key."""
        if not entry.may_sign_in:
            return None
        place = place_of(entry.name, self._entries.get(entry.name, entry).url)
        authorization = await asyncio.to_thread(_authorization)
        found = authorization(entry.name, place, self._sign_ins, log.hide)
        self._authorizations[entry.name] = found
        return found

    def _tell(self, name: str) -> None:
        for listener in list(self._listeners):
            listener(name)


def _connection_class() -> type[Connection]:
    """Imports the SDK, which takes most of a second: call it in a thread."""
    from studio.mcp.connection import Connection

    return Connection


def _stdio_transport() -> tuple[type[StdioTransport], type[Confined]]:
    from studio.mcp.stdio import Confined, StdioTransport

    return StdioTransport, Confined


def _oauth():
    from studio.mcp import oauth

    return oauth


def _revoke() -> Callable[[SignIn], Coroutine[object, object, None]]:
    from studio.mcp.oauth_tokens import revoke

    return revoke


def _authorization() -> type[Authorization]:
    from studio.mcp.authorization import Authorization

    return Authorization


def _http_transport() -> type[HttpTransport]:
    from studio.mcp.http import HttpTransport

    return HttpTransport


def _same(one: ServerEntry, other: ServerEntry) -> bool:
    """Whether a running server may go on with a changed entry: what it was given is the same."""
    what = "digest environment headers alone by_folder starts seconds handshake sampling sandbox"
    return all(getattr(one, name) == getattr(other, name) for name in what.split())
