"""The simulator: a local server that speaks like the providers and is as strict as they are.

It is the test double, the demo provider that needs no key, and a check on the
program's own requests: each request is validated before the script is asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import random
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Literal, TypeAlias

from . import chunking as chunks
from . import fault_injection, http
from .anthropic.surface import Anthropic
from .connection import Connection, Sleep
from .gemini.surface import Gemini
from .http import Exchange, Frame, HttpRequest, HttpResponse, Violation
from .json_read import compact
from .model_lists import models_answer, pull_answer, show_answer
from .ollama.surface import Ollama
from .openai.surface import Responses
from .openai_chat.surface import Chat
from .request_view import RequestView, SurfaceName
from .routes import Route, authorize, guess, route
from .rules import RequestRefused
from .script import Call, Pace, Player, Raw, Replay, Script
from .state import ServerState, Signer
from .surface import Surface, json_answer, tokens

Strictness: TypeAlias = bool | Literal["warn", "beyond"]
_TOO_LONG: dict[SurfaceName, str] = {
    "anthropic": "prompt is too long: {size} tokens > {window} maximum",
    "responses": (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again."
    ),
    "chat": (
        "This model's maximum context length is {window} tokens. However, your messages resulted "
        "in {size} tokens. Please reduce the length of the messages."
    ),
    "gemini": (
        "The input token count ({size}) exceeds the maximum number of tokens allowed ({window})."
    ),
    "ollama": "the input length exceeds the context length",
}
_SECRET = {"authorization", "x-api-key", "x-goog-api-key", "cookie"}


class Simulator:
    """The server. Use as an async context manager, or ``start`` and ``stop``.

    ``strict`` False checks nothing, "warn" records and answers, "beyond" adds
    house rules. ``pace`` False ignores the turns' own pace; ``sleep`` waits for
    it. ``seed`` None makes ids that no other run makes. ``page_size`` bounds
    the pages of model lists; with ``endless_models`` there is always one more.
    ``refused`` hears of every violation; ``without`` names rules that do not
    hold (``rules.table``). ``window`` is how many tokens a request may have; one
    that has more is refused in the provider's words. A model whose name begins
    with ``missing`` is not found; any other name is.
    """

    def __init__(
        self,
        script: Script,
        *,
        strict: Strictness = True,
        seed: int | None = 0,
        chunking: chunks.Name | chunks.Chunking = "event",
        pace: bool = True,
        key: bytes = b"agent studio simulator",
        sleep: Sleep = asyncio.sleep,
        page_size: int = 50,
        endless_models: bool = False,
        refused: Callable[[Violation], None] = lambda violation: None,
        without: Collection[str] = (),
        window: int | None = None,
    ) -> None:
        self.requests: list[Exchange] = []
        self.violations: list[Violation] = []
        self.port = 0
        self._strict: Strictness = strict
        self._player = Player(script)
        self.chunking = chunks.chunking(chunking)
        self._pace = pace
        self.sleep = sleep
        self._page_size = page_size
        self._endless = endless_models
        self._refused = refused
        self.window = window
        number = int.from_bytes(os.urandom(8), "big") if seed is None else seed
        self.chance = random.Random(number)
        self._maker = ServerState(
            random.Random(number),
            Signer(key),
            beyond=strict == "beyond",
            without=frozenset(without),
        )
        surfaces: list[Surface] = [Anthropic(), Responses(), Chat(), Gemini(), Ollama()]
        self._surfaces: dict[SurfaceName, Surface] = {s.name: s for s in surfaces}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()

    async def start(self, port: int = 0) -> int:
        """Listen on this computer's loopback; returns the port. OSError if it is taken."""
        self._server = await asyncio.start_server(
            self._accept, "127.0.0.1", port, limit=http.HEAD_LIMIT
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    async def stop(self) -> None:
        """Stop listening and close what is still open."""
        if self._server is None:
            return
        server, self._server = self._server, None
        for listening in server.sockets:
            with contextlib.suppress(NotImplementedError):  # Windows waits in another way
                asyncio.get_running_loop().remove_reader(listening.fileno())
        for _ in range(3):  # a call that was taken has a transport then, which can be closed
            await asyncio.sleep(0)
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next round

    async def __aenter__(self) -> Simulator:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def url(self, surface: SurfaceName) -> str:
        """The base URL in the form this surface's SDK wants it."""
        root = f"http://127.0.0.1:{self.port}"
        return f"{root}/v1" if surface in ("chat", "responses") else root

    async def wait_requests(self, count: int) -> Exchange:
        """Wait until this many requests have come; returns the last of them."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.requests) >= count)
        return self.requests[count - 1]

    async def wait_disconnect(self, number: int = -1) -> Exchange:
        """Wait until the client of an exchange hung up; its ``sent`` says how much had gone."""
        exchange = self.requests[number]
        await exchange.gone.wait()
        return exchange

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peername")
        if self._server is None or not peer or not ipaddress.ip_address(peer[0]).is_loopback:
            writer.transport.abort()
            return

        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            writer.transport.abort()  # a task that is cancelled at once never runs a line

        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(ended)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(
            reader,
            writer,
            chunking=self.chunking,
            chance=self.chance,
            sleep=self.sleep,
        )
        try:
            await connection.serve(self.answer)
        except asyncio.CancelledError:
            writer.transport.abort()  # a client that does not read must not keep us
            raise
        finally:
            # A client may be gone already; closing then has nothing left to do.
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def _announce(self) -> None:
        async with self._arrived:
            self._arrived.notify_all()

    def answer(self, request: HttpRequest) -> tuple[Exchange, HttpResponse, Pace | None]:
        """What a request is answered with; every way to reach the simulator asks this."""
        exchange = self._record(request)
        pace = None
        try:
            target = route(request)
            exchange.surface = target.surface
            authorize(request, target.surface)
            answer, pace = self._reply(target, request, exchange)
        except RequestRefused as refused:
            exchange.violation = self._violation(refused, exchange)
            answer = self._surfaces[exchange.surface].failure(refused)
        exchange.status = answer.status
        return exchange, answer, pace if self._pace else None

    def _record(self, request: HttpRequest) -> Exchange:
        exchange = Exchange(
            number=len(self.requests),
            method=request.method,
            path=request.path,
            query={name: value for name, value in request.query.items() if name != "key"},
            headers={name: value for name, value in request.headers.items() if name not in _SECRET},
            surface=guess(request),
        )
        self.requests.append(exchange)
        task = asyncio.get_running_loop().create_task(self._announce())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return exchange

    def _violation(self, refused: RequestRefused, exchange: Exchange) -> Violation:
        violation = Violation(
            refused.rule, str(refused), exchange.surface, exchange.path, refused.name
        )
        if refused.rule not in ("auth", "model", "route", "fault", "window"):
            self.violations.append(violation)
            self._refused(violation)
        return violation

    def _reply(
        self, target: Route, request: HttpRequest, exchange: Exchange
    ) -> tuple[HttpResponse, Pace | None]:
        if target.action == "models":
            return models_answer(target.surface, request, self._page_size, self._endless), None
        if target.action == "version":
            return json_answer({"version": "0.99.0"}), None
        try:
            body = request.json()
        except ValueError:
            raise RequestRefused("json", "The request body is not valid JSON.") from None
        exchange.json = body
        if target.action == "show":
            return show_answer(body), None
        if target.action == "pull":
            return pull_answer(body), None
        surface = self._surfaces[target.surface]
        view = surface.view(request, body)
        view = replace(view, nth=self._player.nth, model=target.model or view.model)
        if view.model.startswith("missing"):
            raise surface.no_model(view)
        if target.action == "count":
            return json_answer(surface.count(tokens(compact(body)))), None
        self._check(surface, view, exchange)
        if self.window is not None and (size := tokens(compact(body))) > self.window:
            text = _TOO_LONG[target.surface].format(size=size, window=self.window)
            raise RequestRefused("window", text)
        return self._play(surface, view)

    def _check(self, surface: Surface, view: RequestView, exchange: Exchange) -> None:
        if not self._strict:
            return
        try:
            surface.check(view, self._maker)
        except RequestRefused as refused:
            if self._strict != "warn":
                raise
            exchange.violation = self._violation(refused, exchange)
        except (TypeError, ValueError) as error:
            raise RequestRefused(
                "content", f"the request has an unreadable shape: {error}"
            ) from error

    def _play(self, surface: Surface, view: RequestView) -> tuple[HttpResponse, Pace | None]:
        try:
            reply = self._player.reply(view)
        except LookupError as error:
            raise RequestRefused("script", str(error)) from None
        except Exception as error:  # a script is somebody else's code
            raise RequestRefused("script", f"the script failed: {error!r}") from error
        for number, expected in enumerate(reply.expect):
            if not expected(view):
                raise RequestRefused("expect", f"expectation {number} of the script's turn failed")
        if fault := self._player.failing(reply):
            return fault_injection.page() if fault.kind == "html" else surface.status(fault), None
        self._player.nth += 1
        view = replace(view, cached=self._maker.sessions.cached(view))
        self._maker.sessions.remember(view)
        if isinstance(reply, Raw):
            if isinstance(reply, Replay):
                self._maker.sessions.replays(view)
            answer = HttpResponse([Frame(reply.data)], reply.content_type, reply.status)
        else:
            if not view.may_call and any(isinstance(part, Call) for part in reply.parts):
                raise RequestRefused(
                    "script", "the script calls a tool where the request forbids it"
                )
            turn = fault_injection.damage(fault_injection.ended(reply, view))
            answer = surface.render(turn, view, self._maker)
        self._maker.replies += 1
        return fault_injection.spoil(answer, reply.faults, surface), reply.pace
