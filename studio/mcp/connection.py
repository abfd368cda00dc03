"""Connection: one MCP server that is connected, in either era of the protocol (M-1).

The official SDK speaks the protocol, over our own transports. A task of its own holds the
connection; calls come from any task. Imports the SDK: import this in a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeAlias, cast

import mcp_types as types
from mcp.client.session import ClientRequestContext
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import RequestParamsMeta
from pydantic import ValidationError

from studio import __version__
from studio.domain.aio import BackgroundTasks, settled
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.questions import AskForm, nobody_fills_in
from studio.mcp.faults import NotSent, ServerFailed
from studio.mcp.list_reader import ListReader
from studio.mcp.lists import Completing, ServerLists
from studio.mcp.open_call import ROUNDS, OpenCall, OpenCalls
from studio.mcp.results import Blob, ServerResult, read_prompt, read_resource, read_result
from studio.mcp.server_log import ServerLog
from studio.mcp.server_requests import ServerRequests
from studio.mcp.session import Dispatcher, Session, is_handshake
from studio.mcp.stdio import TOO_LONG, TOO_LONG_TEXT

START = 60.0
"""Seconds that a start may take: runners download first."""
LISTS = 60.0
"""Seconds that fetching the lists may take."""
_FREED = 1.0
"""Seconds after which a cancelled call is not waited for."""
_SETTLE = 0.2
"""Seconds in which several changes of lists count as one."""
_SESSION_LOST = "Session terminated"
"""How the SDK says that a server at an address was started anew."""
_REFUSED = "Server returned an error response"
"""How the SDK says that a server at an address refused a message, whatever the reason."""
_NO_WAY_BACK = "no back-channel"
"""How servers of the SDK say that they asked in a way that only the handshake's era has."""
for _name in ("mcp", "client"):  # the SDK would write into the log what servers send
    logging.getLogger(_name).setLevel(logging.CRITICAL)


Progress: TypeAlias = Callable[[float, float | None, str], None]
"""Is told how far a call is: how much, of how much, and in words."""
_Send: TypeAlias = Callable[[Session, Any], Callable[..., Awaitable[types.Result]]]
"""Makes of the session, and of what is told the progress, what sends a request once."""


class Transport(Protocol):
    """Opens the streams of messages. Made anew for each connection."""

    async def __aenter__(self) -> tuple[Any, Any]: ...
    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> object: ...
    async def fault(self, error: BaseException | None) -> ServerFailed | None:
        """Why the connection ended, and what is wrong; None if it does not know."""
        ...


class Connection:
    """A connected server: ``open`` it first. Belongs to the event loop.

    ``make`` makes a transport. ``era`` is ``handshake`` where the server is known to want that.
    ``folder`` is the root that the server is told. ``sampling``: the person lets it ask for
    answers of a model (M-20). ``changed`` is called when the lists changed,
    ``ended`` when the connection is over and nobody closed it.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Transport],
        log: ServerLog,
        *,
        era: str = "",
        folder: Path | None = None,
        sampling: bool = False,
    ) -> None:
        self.name = name
        self.era = era
        self.lists = ServerLists()
        self.fetched = 0.0
        """When the fetching of the lists began, by the loop's clock."""
        self.asked_for_roots = False
        """Whether the server wanted to know the folder: it serves no other then."""
        self.on_lists: Callable[[], object] = _nothing
        self.on_end: Callable[[ServerFailed], object] = _nothing
        self._make = make
        self._log = log
        self._folder = folder
        self._session: Session | None = None
        self._transport: Transport | None = None
        self._closing = asyncio.Event()
        self._lost = asyncio.Event()
        self._live: asyncio.Task[None] | None = None
        self._tasks = BackgroundTasks()
        self._calls = OpenCalls()
        self._requests = ServerRequests(name, self._calls, log, sampling=sampling)
        self._reader = ListReader()
        self._fetching = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None
        self._stale = False

    @property
    def running(self) -> bool:
        return self._session is not None

    async def open(self, seconds: float = START) -> None:
        """Connect and fetch the lists, in so many seconds; raises ServerFailed."""
        try:
            async with asyncio.timeout(seconds):
                try:
                    await self._connect()
                except _EndedInProbe:
                    self.era = "handshake"
                    await self._connect()
                await self.refresh(seconds)
        except TimeoutError:
            await self.close()
            line = self._log.last
            words = f"The server {self.name} did not answer within {seconds:g} seconds."
            words += f" It said last: {line}" if line else ""
            raise ServerFailed("silent", words, line=line) from None
        except BaseException:
            await self.close()
            raise

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        seconds: float = 60.0,
        progress: Progress | None = None,
        ask: AskForm | None = None,
        meta: JsonObject | None = None,
    ) -> ServerResult:
        """Call a tool by the server's own name; raises ToolFailed.

        Progress extends the time. If the caller is cancelled the server is told. ``meta`` goes
        with the call, beside its arguments.
        """
        given, about = cast("dict[str, Any]", arguments), cast("RequestParamsMeta | None", meta)
        raw = await self._request(
            OpenCall(seconds, ask or nobody_fills_in),
            lambda session, moved: partial(
                session.call_tool, tool, given, progress_callback=moved, meta=about
            ),
            progress,
        )
        return await asyncio.to_thread(read_result, raw)

    async def read(
        self, uri: str, seconds: float = 60.0, ask: AskForm | None = None
    ) -> tuple[Blob, ...]:
        """What a resource holds; raises ToolFailed (M-21)."""
        raw = await self._request(
            OpenCall(seconds, ask or nobody_fills_in),
            lambda session, _: partial(session.read_resource, uri),
        )
        return await asyncio.to_thread(read_resource, raw)

    async def prompt(
        self,
        name: str,
        arguments: Mapping[str, str],
        seconds: float = 60.0,
        ask: AskForm | None = None,
    ) -> ServerResult:
        """The words of a prompt; raises ToolFailed (M-21)."""
        raw = await self._request(
            OpenCall(seconds, ask or nobody_fills_in),
            lambda session, _: partial(session.get_prompt, name, dict(arguments) or None),
        )
        return await asyncio.to_thread(read_prompt, raw)

    async def complete(self, wanted: Completing, seconds: float = 60.0) -> tuple[str, ...]:
        """What a value may be; empty where the server does not say. Raises ToolFailed (M-21)."""
        can = self._open_session().server_capabilities
        if can is None or can.completions is None:
            return ()
        if wanted.kind == "prompt":
            about = types.PromptReference(type="ref/prompt", name=wanted.name)
        else:
            about = types.ResourceTemplateReference(type="ref/resource", uri=wanted.name)
        value = {"name": wanted.argument, "value": wanted.value}

        async def send(session: Session, **_: object) -> types.CompleteResult:
            return await session.complete(about, value, dict(wanted.given) or None)

        raw = await self._request(
            OpenCall(seconds, nobody_fills_in), lambda session, _: partial(send, session)
        )
        values = as_object(raw.get("completion")).get("values")
        found = values if isinstance(values, list) else []
        return tuple(one for one in found if isinstance(one, str))

    async def _request(
        self, call: OpenCall, send: _Send, progress: Progress | None = None
    ) -> JsonObject:
        """Send what takes its time. If the caller is cancelled it is free within a second."""
        work = self._tasks.start(self._call(call, send, progress))
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait([work], timeout=_FREED)
            raise
        if work.cancelled():
            raise ServerFailed("off", f"The server {self.name} was stopped during the call.")
        return work.result()

    async def refresh(self, seconds: float = LISTS) -> None:
        """Fetch the lists anew, in so many seconds and once at a time; raises ServerFailed."""
        asked = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(seconds), self._fetching:
                if self.fetched <= asked:  # else another task fetched them meanwhile
                    await self._refresh()
        except TimeoutError:
            words = f"The server {self.name} did not answer within {seconds:g} seconds."
            raise ServerFailed("silent", words) from None

    async def _refresh(self) -> None:
        session = self._open_session()
        began = asyncio.get_running_loop().time()
        try:
            lists = await self._reader.fetch(session)
        except (MCPError, ValidationError) as error:
            raise await self._failed(error, "cannot list what it offers") from error
        self.fetched = began
        changed, self.lists = lists != self.lists, lists
        if changed:
            self.on_lists()

    async def close(self) -> None:
        """End the connection and, with it, a process; returns when that is done."""
        self._closing.set()
        if self._live is not None:
            if self._session is None:
                self._live.cancel()
            await settled(self._live)
        await self._tasks.aclose()

    # --- the connection ---------------------------------------------------------------------

    async def _connect(self) -> None:
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._live = asyncio.ensure_future(self._hold(ready))
        try:
            await asyncio.wait([ready, self._live], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._live.cancel()
            await settled(self._live)
            raise
        if not ready.done():
            self._live.result()  # raises what went wrong
            raise ServerFailed("exited", f"The server {self.name} ended.")
        if self._session is not None and self._changes_are_told(self._session):
            self._tasks.start(self._listen(self._session))

    async def _hold(self, ready: asyncio.Future[None]) -> None:
        """Keep the connection until it is closed or over; the one task that enters it."""
        transport = self._transport = self._make()
        probing = True
        try:
            async with transport as (read, write):
                dispatcher = Dispatcher(read, write, self._reader.leave_out)
                async with self._session_over(dispatcher) as session:
                    await session.negotiate(self.era)
                    probing = False
                    version = session.protocol_version or ""
                    self.era = "handshake" if is_handshake(version) else "modern"
                    self._session = session
                    ready.set_result(None)
                    await _first(dispatcher.over, self._closing, self._lost)
                    self._session = None
            fault = await self._failed(None, "ended")
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._session = None
            fault = await self._failed(_inner(error), "does not connect")
            if not ready.done():
                if probing and self.era != "handshake" and fault.kind == "exited":
                    raise _EndedInProbe from fault
                raise fault from error
        if not self._closing.is_set():
            self.on_end(fault)

    def _session_over(self, dispatcher: Dispatcher) -> Session:
        return Session(
            dispatcher=dispatcher,
            client_info=types.Implementation(name="agent-studio", version=__version__),
            list_roots_callback=self._roots if self._folder else None,
            elicitation_callback=self._requests.elicit,
            sampling_callback=self._requests.sample if self._requests.sampling else None,
            logging_callback=self._said,
            message_handler=self._heard,
        )

    def _open_session(self) -> Session:
        if self._session is None:
            raise ServerFailed("exited", f"The server {self.name} is not connected.")
        return self._session

    # --- calls ------------------------------------------------------------------------------

    async def _call(self, call: OpenCall, send: _Send, progress: Progress | None) -> JsonObject:
        session = self._open_session()

        async def moved(done: float, total: float | None, message: str | None) -> None:
            call.extend()
            if progress is not None:
                progress(done, total, self._log.clean(message or "")[:500])

        try:
            async with call.limit():
                self._calls.begin(call)
                result = await self._rounds(session, call, send(session, moved))
        except TimeoutError:
            raise ToolFailed(
                f"The server {self.name} did not answer within {call.seconds:g} seconds, so the "
                "call was cancelled. It may have acted all the same."
            ) from None
        except (MCPError, ValidationError) as error:
            if isinstance(error, MCPError) and error.code == types.URL_ELICITATION_REQUIRED:
                raise await self._to_be_opened(call, error) from error
            raise await self._call_failed(error) from error
        finally:
            self._calls.end(call)
        return cast("JsonObject", result.model_dump(by_alias=True, mode="json", exclude_none=True))

    async def _rounds(
        self, session: Session, call: OpenCall, send: Callable[..., Awaitable[types.Result]]
    ) -> types.Result:
        """Send, and answer what the server asks in between."""
        answers: types.InputResponses | None = None
        state: str | None = None
        for _ in range(ROUNDS):
            result = await send(
                input_responses=answers, request_state=state, allow_input_required=True
            )
            if not isinstance(result, types.InputRequiredResult):
                return result
            answers, state = {}, result.request_state
            for key, request in (result.input_requests or {}).items():
                if isinstance(request, types.ElicitRequest):
                    answers[key] = await self._requests.asked(call, request.params)
                    continue
                if isinstance(request, types.CreateMessageRequest):
                    answers[key] = await self._requests.answered(call, request.params)
                    continue
                meta = request.params.meta if request.params else None
                context = ClientRequestContext(session=session, request_id=key, meta=meta)
                answer = await session.dispatch_input_request(context, request)
                if isinstance(answer, types.ErrorData):
                    raise MCPError.from_error_data(answer)
                answers[key] = answer
            if not answers:
                answers = None
                await asyncio.sleep(0.1)
        raise MCPError(types.INVALID_REQUEST, "It asks for more again and again.")

    async def _to_be_opened(self, call: OpenCall, error: MCPError) -> ToolFailed:
        """Ask the person to open the addresses without which the server does nothing."""
        try:
            wanted = UrlElicitationRequiredError.from_error(error.error).elicitations
        except ValidationError:
            wanted = []
        for one in wanted[:ROUNDS]:
            if (await self._requests.asked(call, one)).action != "accept":
                return ToolFailed(
                    f"The server {self.name} wanted an address opened first, and the person did "
                    "not open it."
                )
        return ToolFailed(
            f"The server {self.name} wanted an address opened first. The person opened it: call "
            "again when they have done there what it asks for."
        )

    async def _call_failed(self, error: MCPError | ValidationError) -> ToolFailed:
        if isinstance(error, ValidationError):
            return ToolFailed(f"The result of the server {self.name} does not follow the protocol.")
        if error.code == TOO_LONG or TOO_LONG_TEXT in error.error.message:
            return ToolFailed(f"{TOO_LONG_TEXT} It is not kept; ask for less.")
        if error.error.message == _SESSION_LOST and self._live is not None:
            self._lost.set()
            await asyncio.wait([self._live], timeout=_FREED)
            return NotSent("exited", f"The server {self.name} knows the connection no more.")
        if error.error.message == _REFUSED and self._transport is not None:
            fault = await self._transport.fault(error)
            if fault is not None:
                return fault
        if error.code == types.CONNECTION_CLOSED and self._live is not None:
            await asyncio.wait([self._live], timeout=_FREED)
            if self._session is None:
                return ServerFailed(
                    "exited",
                    f"The connection to the server {self.name} ended during the call. It may have "
                    "acted all the same.",
                )
        said = self._log.clean(error.error.message)
        if _NO_WAY_BACK in said and self.era == "modern":
            said = f'{said} It asks by older rules: "handshake": true in its entry allows that.'
        return ToolFailed(f"The server {self.name} says: {said}")

    async def _failed(self, error: BaseException | None, what: str) -> ServerFailed:
        """What went wrong with the server as a whole."""
        if isinstance(error, ServerFailed):
            return error
        fault = await self._transport.fault(error) if self._transport else None
        if fault is not None and fault.kind in ("sign_in", "rights"):
            return fault
        if fault is not None:
            words = f"The server {self.name} does not work. {self._log.clean(str(fault))}"
            return ServerFailed(
                fault.kind, words, code=fault.code, line=fault.line, said=fault.said
            )
        if isinstance(error, MCPError):
            reason = error.error.message
        elif isinstance(error, ValidationError):
            reason = f"what it says does not follow the protocol ({error.title})"
        else:
            reason = f"{error}" or type(error).__name__
        words = f"The server {self.name} {what}: {self._log.clean(reason)}"
        return ServerFailed("protocol", words, line=self._log.last)

    # --- lists ------------------------------------------------------------------------------

    def _changes_are_told(self, session: Session) -> bool:
        """Whether changes of lists come by a subscription, as in the era without handshake."""
        can = session.server_capabilities
        wanted = (can.tools, can.prompts, can.resources) if can else ()
        return self.era == "modern" and any(one and one.list_changed for one in wanted)

    async def _listen(self, session: Session) -> None:
        """Follow the changes of lists; a lost subscription is made anew, and all fetched again."""
        wait = 1.0
        while self._session is session:
            try:
                async with listen(
                    session,
                    tools_list_changed=True,
                    prompts_list_changed=True,
                    resources_list_changed=True,
                ) as changes:
                    wait = 1.0
                    async for _ in changes:
                        self._lists_changed()
                return
            except (SubscriptionLost, MCPError, TimeoutError):
                await asyncio.sleep(wait)
                wait = min(2 * wait, 60.0)
                if wait > 60.0:
                    return
                self._lists_changed()

    def _lists_changed(self) -> None:
        self._stale = True
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = self._tasks.start(self._refresh_soon())

    async def _refresh_soon(self) -> None:
        while self._stale:
            await asyncio.sleep(_SETTLE)
            self._stale = False
            try:
                await self.refresh()
            except ServerFailed as error:
                self._log.note(f"{error}")

    # --- what the server says -------------------------------------------------------

    async def _heard(self, message: object) -> None:
        if isinstance(
            message,
            types.ToolListChangedNotification
            | types.PromptListChangedNotification
            | types.ResourceListChangedNotification,
        ):
            self._lists_changed()

    async def _said(self, params: types.LoggingMessageNotificationParams) -> None:
        self._log.note(f"{params.level}: {params.data}")

    async def _roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        self.asked_for_roots = True
        assert self._folder is not None
        root = types.Root(uri=cast("Any", self._folder.as_uri()), name=self._folder.name)
        return types.ListRootsResult(roots=[root])


class _EndedInProbe(Exception):
    """The server ended because it was asked for its era: it is asked no more."""


async def _first(*events: asyncio.Event) -> None:
    """Return when one of the events is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


def _inner(error: BaseException) -> BaseException:
    """The first error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return error


def _nothing(*_: object) -> None:
    return
