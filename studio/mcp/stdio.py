"""Stdio transport: runs a server as a child process, and exchanges messages with it by lines.

Reads bytes in a thread, so that neither junk nor a huge line stops anything (M-5). The keeper
starts the process, so that nothing of it is left whatever happens (M-4).
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import anyio
import mcp_types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from studio.domain.aio import settled
from studio.domain.jsonvalue import Json, sanitize_json
from studio.domain.records import dataclass
from studio.mcp.faults import ServerFailed
from studio.mcp.programs import Program
from studio.mcp.server_log import ServerLog
from studio.processes.daemon_thread import in_daemon_thread
from studio.processes.keeper import Keeper, KeptProcess
from studio.processes.sandbox import Sandbox
from studio.processes.sandbox_mounts import Launch

MOST = 8_000_000
"""Bytes of a message."""
GRACE = 0.3
"""Seconds between the end of stdin and SIGTERM, and between that and SIGKILL."""
TOO_LONG = -32010
"""The code of the error that answers a call whose result is too long."""
TOO_LONG_TEXT = f"The result is over {MOST // 1_000_000} MB."
CUT_OFF = (
    " It runs in the sandbox without network. If it has to download something first, give it a "
    "network for one start."
)
_LINGER = 0.5
"""Seconds in which a process that ended may have left something in its pipes."""
_PIECE = 1 << 16
_WAITING = 1 << 24
"""Bytes of messages that wait for the event loop; then the server waits."""
_UNSENT = 1 << 26
"""Bytes that a server has not read; then it counts as dead."""
_ENDS = 4_096
"""Bytes at both ends of a message that is too long: its id stands in one of them."""
_ID = rb'"id"\s*:\s*(-?\d+|"(?:[^"\\]|\\.)*")'
_AT_HEAD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb"\s*,")
_AT_TAIL = re.compile(rb"[}\]]\s*,\s*" + _ID + rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class Confined:
    """The sandbox in which a server is started, and what starts it there; that blocks (M-18).

    ``cut_off``: it has no network there.
    """

    sandbox: Sandbox
    launch: Callable[[], Launch]
    cut_off: bool


class StdioTransport:
    """A server's process, and the streams of its messages; an asynchronous context manager.

    A server that is ``confined`` runs in the sandbox.
    """

    def __init__(
        self,
        keeper: Keeper,
        program: Program,
        folder: Path,
        log: ServerLog,
        confined: Confined | None = None,
    ) -> None:
        self._confined = confined
        self._holds_sandbox = False
        self._keeper = keeper
        self._program = program
        self._folder = folder
        self._log = log
        self._lines = LineReader(self._message, self._junk, self._too_long)
        self._incoming = _Incoming()
        self._outgoing = _Outgoing()
        self._process: KeptProcess | None = None
        self._read = threading.Event()
        self._said = threading.Event()
        self._first_junk = ""
        self._junk_count = 0

    async def __aenter__(self) -> tuple[_Incoming, _Outgoing]:
        self._incoming.loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(in_daemon_thread(self._start))
        try:
            await settled(starting)
            starting.result()
        except asyncio.CancelledError:
            await self._ended()
            raise
        except OSError as error:
            words = f"{self._program.argv[0]} cannot be started: {error}."
            raise ServerFailed("refused", self._log.clean(words)) from error
        return self._incoming, self._outgoing

    async def __aexit__(self, *_: object) -> None:
        await self._ended()

    async def fault(self, error: BaseException | None) -> ServerFailed | None:
        """Why the connection ended, as far as the process tells; None for other errors."""
        if not (error is None or is_closed(error)):
            return None
        process = self._process
        if process is not None:
            with suppress(TimeoutError):
                exited = asyncio.shield(asyncio.wrap_future(process.exited))
                await asyncio.wait_for(exited, _LINGER)
        code = process.exited.result() if process and process.exited.done() else None
        await asyncio.to_thread(self._said.wait, _LINGER)
        line, said = self._log.last, self._first_junk
        text = f"It {_how(code)}."
        if line:
            text += f" It said last: {line}"
        elif said:
            text += f" It wrote: {said}"
        if self._confined is not None and self._confined.cut_off:
            text += CUT_OFF
        return ServerFailed("exited", text, code=code, line=line, said=said)

    # --- in threads -------------------------------------------------------------------------

    def _start(self) -> None:
        ours: list[int] = []
        theirs: list[int] = []
        try:
            for _ in range(3):
                reading, writing = os.pipe()
                ours.append(reading)
                theirs.append(writing)
            ours[0], theirs[0] = theirs[0], ours[0]  # it reads the first one
            argv: Sequence[str] | str = self._program.argv
            rules, spared = None, False
            streams = theirs[0], theirs[1], theirs[2]
            if self._confined is not None:
                argv, rules = self._enter(self._confined)
                spared = self._confined.sandbox.kind == "bubblewrap"
                theirs += [] if rules is None else [rules]
            self._process = self._keeper.start(
                *(argv, self._folder, self._program.environment, streams),
                rules=rules,
                grace=GRACE,
                spared=spared,  # its end kills all in it
            )
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            self._leave()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        for work, descriptor in (
            (self._outgoing.write_to, ours[0]),
            (self._read_output, ours[1]),
            (self._read_errors, ours[2]),
        ):
            threading.Thread(target=work, args=(descriptor,), daemon=True).start()
        self._process.exited.add_done_callback(self._on_exit)

    def _enter(self, confined: Confined) -> tuple[Sequence[str] | str, int | None]:
        """What starts it in the sandbox, and the rules that it gets."""
        argv = confined.sandbox.argv(confined.launch())
        self._holds_sandbox = True
        return argv, confined.sandbox.rules()

    def _leave(self) -> None:
        if self._confined is not None and self._holds_sandbox:
            self._holds_sandbox = False
            self._confined.sandbox.left()

    def _on_exit(self, exited: Future[int]) -> None:
        threading.Thread(target=self._end_the_rest, daemon=True).start()

    def _end_the_rest(self) -> None:
        """What it started may have its output open, and would be waited for."""
        if not self._read.wait(_LINGER) and self._process is not None:
            self._process.end()

    def _read_output(self, descriptor: int) -> None:
        try:
            with os.fdopen(descriptor, "rb", 0), suppress(OSError):
                while data := os.read(descriptor, _PIECE):
                    self._lines.feed(data)
            self._lines.finish()
            if self._junk_count > 1:
                self._log.note(f"{self._junk_count:,} lines of its output were no messages")
        finally:
            self._read.set()
            self._incoming.end()

    def _read_errors(self, descriptor: int) -> None:
        try:
            with os.fdopen(descriptor, "rb", 0), suppress(OSError):
                while data := os.read(descriptor, _PIECE):
                    self._log.feed(data)
            self._log.finish()
        finally:
            self._said.set()

    def _message(self, line: bytes) -> None:
        try:
            messages = parse_messages(line)
        except ValueError:
            self._junk(line)
            return
        for message in messages:
            self._hand_on(message, len(line))

    def _hand_on(self, message: mcp_types.JSONRPCMessage, size: int) -> None:
        if isinstance(message, mcp_types.JSONRPCResponse | mcp_types.JSONRPCError):
            self._outgoing.waiting.discard(message.id)
        self._incoming.put(SessionMessage(message), size)

    def _junk(self, line: bytes) -> None:
        self._junk_count += 1
        if not self._first_junk:
            self._first_junk = self._log.clean(line[:200].decode("utf-8", "replace")).strip()
            self._log.note(f"no message: {self._first_junk}")

    def _too_long(self, head: bytes, tail: bytes) -> None:
        found = _AT_HEAD.match(head) or _AT_TAIL.search(tail)
        named = cast("int | str", json.loads(found[1])) if found else None
        waiting = self._outgoing.waiting
        for one in [named] if named in waiting else list(waiting):
            error = mcp_types.ErrorData(code=TOO_LONG, message=TOO_LONG_TEXT)
            self._hand_on(mcp_types.JSONRPCError(jsonrpc="2.0", id=one, error=error), 0)

    # --- the end ----------------------------------------------------------------------------

    async def _ended(self) -> None:
        """End the process and all it started; returns when that is done, also if cancelled."""
        self._incoming.end()
        await settled(asyncio.ensure_future(in_daemon_thread(self._end)))

    def _end(self) -> None:
        self._outgoing.close()
        if self._process is None:
            return
        with suppress(TimeoutError):
            self._process.exited.result(GRACE)
        self._process.end()
        self._leave()


class LineReader:
    """Splits bytes into lines of at most ``MOST`` bytes; of a longer one both ends are kept."""

    def __init__(
        self,
        message: Callable[[bytes], object],
        junk: Callable[[bytes], object],
        too_long: Callable[[bytes, bytes], object],
    ) -> None:
        self._message = message
        self._junk = junk
        self._too_long = too_long
        self._pieces: list[bytes] = []
        self._size = 0
        self._head = b""
        """Of a line that is too long; then only its end is kept."""

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._add(line)
            self._line()
        self._add(rest)

    def finish(self) -> None:
        """The stream ended: what is left may be a message whose line end is missing."""
        self._line()

    def _add(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MOST:
            line = b"".join(self._pieces)
            self._head = self._head or line[:_ENDS]
            self._pieces, self._size = [line[-_ENDS:]], _ENDS
        elif self._head and len(self._pieces) > 64:
            self._pieces = [b"".join(self._pieces)[-_ENDS:]]

    def _line(self) -> None:
        line, head = b"".join(self._pieces), self._head
        self._pieces, self._size, self._head = [], 0, b""
        if head:
            self._too_long(head, line[-_ENDS:])
        elif (start := line.lstrip()[:1]) in (b"{", b"["):
            self._message(line)
        elif start:
            self._junk(line)


def parse_messages(line: bytes) -> list[mcp_types.JSONRPCMessage]:
    """The messages of a line; raises ValueError if there is none.

    What is wrong in a text (bytes that are not UTF-8, half surrogates) is replaced. An answer whose
    form is wrong becomes an error that answers the same call.
    """
    try:
        return [jsonrpc_message_adapter.validate_json(line, by_name=False)]
    except ValidationError:
        pass
    try:
        found = sanitize_json(cast("Json", json.loads(line.decode("utf-8", "replace"))))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    messages: list[mcp_types.JSONRPCMessage] = []
    for one in found if isinstance(found, list) else [found]:
        try:
            messages.append(jsonrpc_message_adapter.validate_python(one, by_name=False))
        except ValidationError:
            if isinstance(one, dict) and "method" not in one and _is_id(one.get("id")):
                fault = mcp_types.ErrorData(
                    code=mcp_types.PARSE_ERROR, message="The answer does not follow the protocol."
                )
                answers = cast("int | str", one.get("id"))
                messages.append(mcp_types.JSONRPCError(jsonrpc="2.0", id=answers, error=fault))
    if not messages:
        raise ValueError("no message")
    return messages


def _is_id(value: Json) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def is_closed(error: BaseException | None) -> bool:
    """Whether an error of the SDK means that the connection is over."""
    return isinstance(error, MCPError) and error.code == mcp_types.CONNECTION_CLOSED


def _how(code: int | None) -> str:
    if code is None:
        return "closed its output"
    if code < 0:
        return f"was ended by signal {-code}"
    return f"ended with exit code {code}"


class _Stream:
    """What the SDK closes: a context manager."""

    _over = False

    def end(self) -> None:
        """Nothing comes or goes any more."""
        self._over = True

    async def aclose(self) -> None:
        self.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.end()


class _Incoming(_Stream):
    """Messages from a thread for the event loop; a flood waits in the server's own pipe."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._items: deque[tuple[SessionMessage, int]] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()

    def put(self, item: SessionMessage, size: int) -> None:
        with self._changed:
            while self._size > _WAITING and not self._over:
                self._changed.wait()
            if self._over:
                return
            self._items.append((item, size))
            self._size += size
        self._wake()

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            if self.loop is not None:
                self.loop.call_soon_threadsafe(self._arrived.set)

    async def receive(self) -> SessionMessage:
        while True:
            self._arrived.clear()
            with self._changed:
                if self._items:
                    item, size = self._items.popleft()
                    self._size -= size
                    self._changed.notify_all()
                    more = bool(self._items)
                    break
                if self._over:
                    raise anyio.EndOfStream
            await self._arrived.wait()
        if more:
            await asyncio.sleep(0)  # others have their turn in a flood
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None


class _Outgoing(_Stream):
    """Messages of the event loop for a thread: sending never waits for the server."""

    def __init__(self) -> None:
        self.waiting: set[int | str | None] = set()
        """The ids of requests that are not answered."""
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unsent = 0

    async def send(self, item: SessionMessage, /) -> None:
        data = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if self._over or self._unsent > _UNSENT:
            raise anyio.BrokenResourceError
        if isinstance(item.message, mcp_types.JSONRPCRequest):
            self.waiting.add(item.message.id)
        self._unsent += len(data)
        self._lines.put(data)

    def close(self) -> None:
        self._over = True
        self._lines.put(None)

    def write_to(self, descriptor: int) -> None:
        """Write what is sent until the end; in a thread."""
        with os.fdopen(descriptor, "wb", 0), suppress(OSError):
            while (data := self._lines.get()) is not None:
                left = memoryview(data)
                while left:
                    left = left[os.write(descriptor, left) :]
                self._unsent -= len(data)
        self._over = True
