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

from studio.domain.aio import BackgroundTasks

from . import fault_injection
from .anthropic import batches as anthropic_batches
from .anthropic.endpoint import AnthropicEndpoint
from .batches import BatchDesk, BatchPlan
from .demo import demo_script
from .endpoint import Endpoint, cut_at_stop_or_limit, json_answer, tokens
from .faults import status
from .gemini import batches as gemini_batches
from .gemini.endpoint import GeminiEndpoint
from .http import (
    HEAD_LIMIT,
    Chunking,
    ChunkingName,
    Connection,
    Exchange,
    Frame,
    HttpRequest,
    HttpResponse,
    Sleep,
    Violation,
    chunking_named,
)
from .json_read import compact
from .model_lists import delete_answer, models_answer, pull_answer, show_answer
from .ollama.endpoint import OllamaEndpoint
from .openai import batches as openai_batches
from .openai.endpoint import ResponsesEndpoint
from .openai_chat.endpoint import ChatEndpoint
from .request_checks import RequestRefused
from .request_view import ApiName, RequestView, with_result_names
from .routes import Route, authorize, guess, route
from .script import Call, Pace, Player, Raw, Replay, Script
from .state import ServerState

_BatchApi: TypeAlias = tuple[
    Callable[[HttpRequest], bool], Callable[[BatchDesk, HttpRequest], HttpResponse]
]
BATCHES: dict[ApiName, _BatchApi] = {
    "anthropic": (anthropic_batches.serves, anthropic_batches.answer),
    "responses": (openai_batches.serves, openai_batches.answer),
    "gemini": (gemini_batches.serves, gemini_batches.answer),
}
"""The APIs that have batches: whether a request is about one, and its answer."""
Strictness: TypeAlias = bool | Literal["warn", "beyond"]
_SECRET = {"authorization", "x-api-key", "x-goog-api-key", "cookie"}


class Simulator:
    """The server. Use as an async context manager, or ``start`` and ``stop``.

    ``strict`` False checks nothing, "warn" records and answers, "beyond" adds
    house rules. ``pace`` False ignores the turns' own pace; ``sleep`` waits for
    it. ``seed`` None makes ids that no other run makes. ``page_size`` bounds
    the pages of model lists; with ``endless_models`` there is always one more.
    ``refused`` hears of every violation; ``without`` names rules that do not
    hold, such as ``gemini.roles``. ``window`` is how many tokens a request may have; one that
    has more is refused in the provider's words. ``at_a_time`` is how many replies it gives
    at a time; one more is refused (429). ``batches`` says how batches go. A
    model whose name begins with
    ``missing`` is not found; any other name is.
    """

    def __init__(
        self,
        script: Script,
        *,
        strict: Strictness = True,
        seed: int | None = 0,
        chunking: ChunkingName | Chunking = "event",
        pace: bool = True,
        sleep: Sleep = asyncio.sleep,
        page_size: int = 50,
        endless_models: bool = False,
        refused: Callable[[Violation], None] = lambda violation: None,
        without: Collection[str] = (),
        window: int | None = None,
        at_a_time: int | None = None,
        batches: BatchPlan | None = None,
    ) -> None:
        self.requests: list[Exchange] = []
        self.violations: list[Violation] = []
        self.port = 0
        self._strict: Strictness = strict
        self._player = Player(script)
        self.chunking = chunking_named(chunking)
        self._pace = pace
        self.sleep = sleep
        self._page_size = page_size
        self._endless = endless_models
        self._refused = refused
        self.window = window
        self.at_a_time = at_a_time
        self.batches = {
            api: BatchDesk(batches or BatchPlan(), self._answer_alone) for api in BATCHES
        }
        """The batches of each API that has them."""
        self._open: list[Exchange] = []
        """Replies that are being given."""
        number = int.from_bytes(os.urandom(8), "big") if seed is None else seed
        self.chance = random.Random(number)
        self._state = ServerState(
            random.Random(number),
            beyond=strict == "beyond",
            without=frozenset(without),
        )
        endpoints: list[Endpoint] = [
            AnthropicEndpoint(),
            ResponsesEndpoint(),
            ChatEndpoint(),
            GeminiEndpoint(),
            OllamaEndpoint(),
        ]
        self._endpoints: dict[ApiName, Endpoint] = {one.name: one for one in endpoints}
        self._deleted: set[str] = set()
        """Ollama's models that a client deleted."""
        self._server: asyncio.Server | None = None
        self._tasks = BackgroundTasks()
        self._arrived = asyncio.Condition()

    async def start(self, port: int = 0) -> int:
        """Listen on this computer's loopback; returns the port. OSError if it is taken."""
        # In two steps: it drops its open socket where it is cancelled or fails while it starts.
        self._server = server = await asyncio.start_server(
            self._accept, "127.0.0.1", port, limit=HEAD_LIMIT, start_serving=False
        )
        self.port = server.sockets[0].getsockname()[1]
        try:
            await server.start_serving()
        except BaseException:
            self._server = None
            server.close()
            raise
        return self.port

    async def stop(self) -> None:
        """Stop listening and close what is still open."""
        if self._server is None:
            return
        server, self._server = self._server, None
        try:
            for listening in server.sockets:
                with contextlib.suppress(NotImplementedError):  # Windows waits in another way
                    asyncio.get_running_loop().remove_reader(listening.fileno())
            for _ in range(3):  # a call that was taken has a transport then, which can be closed
                await asyncio.sleep(0)
        finally:
            server.close()
        await self._tasks.aclose()
        await server.wait_closed()
        await asyncio.sleep(0)  # what was aborted is closed in the loop's next round

    async def __aenter__(self) -> Simulator:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def url(self, api: ApiName) -> str:
        """The base URL in the form that the SDK of this API takes."""
        root = f"http://127.0.0.1:{self.port}"
        return f"{root}/v1" if api in ("chat", "responses") else root

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
        task = self._tasks.start(self._serve(reader, writer))
        # A task that is cancelled at once never runs a line.
        task.add_done_callback(lambda _: writer.transport.abort())

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
            if (batch := self._batch_answer(request, exchange)) is not None:
                exchange.status = batch.status
                return exchange, batch, None
            target = route(request)
            exchange.api = target.api
            authorize(request, target.api)
            answer, pace = self._reply(target, request, exchange)
        except RequestRefused as refused:
            exchange.violation = self._violation(refused, exchange)
            answer = self._endpoints[exchange.api].failure(refused)
        exchange.status = answer.status
        return exchange, answer, pace if self._pace else None

    def _batch_answer(self, request: HttpRequest, exchange: Exchange) -> HttpResponse | None:
        """The answer to a request about batches and their files; None to any other."""
        for api, (serves, answer) in BATCHES.items():
            if serves(request):
                exchange.api = api
                authorize(request, api)
                return answer(self.batches[api], request)
        return None

    def _answer_alone(self, request: HttpRequest) -> HttpResponse:
        """The answer to a request of a batch, when that is worked on."""
        exchange = Exchange(-1, request.method, request.path, {}, {}, guess(request))
        try:
            target = route(request)
            exchange.api = target.api
            exchange.done.set()  # whoever asked is gone
            return self._reply(target, request, exchange)[0]
        except RequestRefused as refused:
            exchange.violation = self._violation(refused, exchange)
            return self._endpoints[exchange.api].failure(refused)

    def _record(self, request: HttpRequest) -> Exchange:
        exchange = Exchange(
            number=len(self.requests),
            method=request.method,
            path=request.path,
            query={name: value for name, value in request.query.items() if name != "key"},
            headers={name: value for name, value in request.headers.items() if name not in _SECRET},
            api=guess(request),
        )
        self.requests.append(exchange)
        self._tasks.start(self._announce())
        return exchange

    def _violation(self, refused: RequestRefused, exchange: Exchange) -> Violation:
        violation = Violation(refused.rule, str(refused), exchange.api, exchange.path, refused.name)
        if refused.rule not in ("auth", "model", "route", "fault", "window"):
            self.violations.append(violation)
            self._refused(violation)
        return violation

    def _reply(
        self, target: Route, request: HttpRequest, exchange: Exchange
    ) -> tuple[HttpResponse, Pace | None]:
        if target.action == "models":
            endless = self._endless
            return models_answer(target.api, request, self._page_size, endless, self._deleted), None
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
        if target.action == "delete":
            return delete_answer(body, self._deleted), None
        endpoint = self._endpoints[target.api]
        view = endpoint.view(request, body)
        view = replace(
            view,
            nth=self._player.nth,
            model=target.model or view.model,
            items=with_result_names(view.items),
        )
        if view.model.startswith("missing"):
            raise endpoint.no_model(view)
        if target.action == "count":
            return json_answer(endpoint.count(tokens(compact(body)))), None
        self._check(endpoint, view, exchange)
        if self.at_a_time is not None:
            self._open = [one for one in self._open if not one.over]
            if len(self._open) >= self.at_a_time:
                return endpoint.status(status(429)), None
            self._open.append(exchange)
        if self.window is not None and (size := tokens(compact(body))) > self.window:
            text = endpoint.too_long.format(size=size, window=self.window)
            raise RequestRefused("window", text)
        return self._play(endpoint, view)

    def _check(self, endpoint: Endpoint, view: RequestView, exchange: Exchange) -> None:
        if not self._strict:
            return
        try:
            endpoint.check(view, self._state)
        except RequestRefused as refused:
            if self._strict != "warn":
                raise
            exchange.violation = self._violation(refused, exchange)
        except (TypeError, ValueError) as error:
            raise RequestRefused(
                "content", f"the request has an unreadable shape: {error}"
            ) from error

    def _play(self, endpoint: Endpoint, view: RequestView) -> tuple[HttpResponse, Pace | None]:
        try:
            reply = self._player.reply(view)
        except LookupError as error:
            raise RequestRefused("script", str(error)) from None
        except Exception as error:  # a script may raise anything
            raise RequestRefused("script", f"the script failed: {error!r}") from error
        for number, expected in enumerate(reply.expect):
            if not expected(view):
                raise RequestRefused("expect", f"expectation {number} of the script's turn failed")
        if fault := self._player.failing(reply):
            return fault_injection.page() if fault.kind == "html" else endpoint.status(fault), None
        self._player.nth += 1
        view = replace(view, cached=self._state.sessions.cached(view))
        self._state.sessions.remember(view)
        if isinstance(reply, Raw):
            if isinstance(reply, Replay):
                self._state.sessions.replays(view)
            answer = HttpResponse([Frame(reply.data)], reply.content_type, reply.status)
        else:
            if not view.may_call and any(isinstance(part, Call) for part in reply.parts):
                raise RequestRefused(
                    "script", "the script calls a tool where the request forbids it"
                )
            turn = fault_injection.damage(cut_at_stop_or_limit(reply, view))
            answer = endpoint.render(turn, view, self._state)
        self._state.replies += 1
        return fault_injection.spoil(answer, reply.faults, endpoint), reply.pace


BASES = (
    ("Anthropic Messages", ""),
    ("OpenAI Responses", "/v1"),
    ("OpenAI Chat Completions", "/v1"),
    ("Gemini", ""),
    ("Ollama", ""),
)


async def serve(
    port: int = 0,
    *,
    show: Callable[[str], None] = print,
    pace: bool = True,
) -> None:
    """Serve the demo on 127.0.0.1 until cancelled; port 0 takes a free one.

    ``show`` gets one line for each base URL and for each request refused by a
    rule. Raises OSError if the port is taken.
    """
    simulator = Simulator(
        demo_script, seed=None, pace=pace, refused=lambda v: show(f"Refused {v.path}: {v.message}")
    )
    await simulator.start(port)
    try:
        width = max(len(name) for name, _ in BASES)
        for name, path in BASES:
            show(f"{name:<{width}}  http://127.0.0.1:{simulator.port}{path}")
        show("Any key works, except one that begins with “bad”. Stop with Ctrl+C.")
        await asyncio.Event().wait()
    finally:
        await simulator.stop()
