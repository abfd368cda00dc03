"""Cluster coordinator: hands out requests to workers, and knows how they do (W-59).

A request is with one worker at a time. If that one is gone, the next gets it: it comes from an
agent without tools, so nothing but words can have come of it (W-16). An answer counts where it
belongs to a request that still waits, so none counts twice.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import field
from itertools import count
from typing import Any

from studio import __version__
from studio.agent.models.provider_factory import ProviderFactory
from studio.agent.parallelism import Lane, Parallelism
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, ProviderError, ToolFailed
from studio.domain.events import Delta, TextDelta
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Message, Said, ToolCall, ToolResult
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.providers.base import Provider, Reply, Request
from studio.tools.sdk.context import ServiceRegistry

from .lines import COORDINATOR, WORKER, Identity, Line, LineClosed, encode, listen
from .messages import VERSION, read_error, read_reply, request_message

TAKEN_BACK = "Your invitation was taken back. Ask for a new one."
SILENT = 30.0
LOOKS = 6
"""Looks at a worker before it is gone: this program may have stood still for one of the times
between, as in a computer that slept, and has not read then what came."""
BREATH = 5.0
"""Seconds after which a request that waits says so: its worker watches the provider."""
LOST = 5
"""Workers that may be lost with one request before it fails: it may be what ends them."""
SOME = 16
"""Workers of which the one with the most room gets a request: all, where there are not more."""
MEASURED = 60.0
"""Seconds over which the speed is measured."""
UNFIT = frozenset({"no_key", "bad_key", "forbidden", "not_found", "no_credit"})
"""Faults of a worker's own keys and settings: it gets no more requests."""


class SharedLane(Lane):
    """As many requests at a time as all workers take; each of them has a lane of its own."""

    def resize(self, limit: int, found: int) -> None:
        if limit > self.limit:
            self._freed.set()
        self.limit, self.found = limit, found

    def answered(self, place: int) -> None:
        self.left()

    def refused(self, place: int, wait: float | None = None) -> None:
        self.left()


@dataclass(slots=True, eq=False)
class _Joined:
    """A worker that is there."""

    name: str
    line: Line
    lanes: Parallelism
    since: float
    waiting: dict[int, asyncio.Future[JsonObject]] = field(
        default_factory=dict[int, "asyncio.Future[JsonObject]"]
    )
    ended: deque[float] = field(default_factory=deque[float])
    done: int = 0
    quiet: int = 0
    """How often was looked since it said something."""
    load: float | None = None
    cores: int | None = None
    problem: str = ""
    """Why it gets no more requests."""

    @property
    def is_fit(self) -> bool:
        """Whether it gets requests: not one that is gone, although nobody has seen it yet."""
        return not self.problem and not self.line.closed


class Coordinator:
    """Takes workers and hands out requests. ``say`` gets lines for the person.

    A worker that says nothing for ``silent`` seconds is gone.
    """

    def __init__(self, say: Callable[[str], None], silent: float = SILENT) -> None:
        self.address = ""
        self.on_stop: Callable[[], None] = lambda: None
        """Is called when the person stops the cluster."""
        self.taken_back: Callable[[], Collection[str]] = frozenset
        """Tells the numbers of certificates that nobody joins with any more; blocks."""
        self.run_id = ""
        """The run whose items the workers get."""
        self._say, self._silent = say, silent
        self._workers: list[_Joined] = []
        self._lanes: dict[tuple[str, str], SharedLane] = {}
        self._tickets = count(1)
        self._changed = asyncio.Event()
        self._tasks = BackgroundTasks()
        self._listener: Any = None
        self._done = 0

    async def start(self, address: str, identity: Identity) -> None:
        """Take workers at ``host:port``; raises ConfigurationError where that cannot be."""
        try:
            self._listener = await listen(address, identity, self._take_line)
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"Nothing can listen at {address}: {error}") from error
        host, port = self._listener.get_host_port()
        self.address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    async def close(self, *, leave: bool = False) -> None:
        """Take no more workers, and let go of those that are there; ``leave`` ends them."""
        if self._listener is not None:
            self._listener.stop()
        for one in [*self._workers]:
            with suppress(LineClosed):
                if leave:
                    await one.line.write(encode({"do": "leave"}))
            one.line.close()
        await self._tasks.aclose()

    async def provider(self, providers: ProviderFactory, name: str) -> RemoteProvider:
        """A provider whose requests workers send; it has no key."""
        try:
            local = await providers.provider(name)
        except ProviderError:  # a coordinator needs no key
            local = await asyncio.to_thread(providers.make, name, "", providers.base_url(name))
        return RemoteProvider(self, local)

    def lane(self, provider: str, model: str) -> SharedLane:
        lane = self._lanes.get((provider, model))
        if lane is None:
            lane = self._lanes[provider, model] = SharedLane()
            self._fit()
        return lane

    async def answer(self, provider: str, request: Request) -> tuple[str, Reply]:
        """Have a worker send a request; raises ProviderError."""
        lost, told = 0, request_message(request)
        while True:
            worker = await self._place(provider, request.model)
            lane = worker.lanes.lane(provider, request.model)
            place, left, before = lane.cuts, False, (-1, -1)
            try:
                made = await self._asked(worker, provider, told)
                before = lane.limit, lane.found
                if "fault" not in made:
                    answer = read_reply(made)
                    left = True
                    lane.answered(place)
                    worker.done, self._done = worker.done + 1, self._done + 1
                    worker.ended.append(time.monotonic())
                    return answer
                error = read_error(made, provider)
                if error.fault in ("rate_limited", "overloaded"):
                    left = True
                    lane.refused(place, error.retry_after)
                elif error.fault in UNFIT:
                    self._unfit(worker, str(error))
                    if any(one.is_fit for one in self._workers):
                        continue
                raise error
            except ValueError as error:
                words = f"The worker {worker.name} sent no answer."
                raise ProviderError("protocol", words, provider=provider) from error
            except LineClosed as error:
                lost += 1
                if lost >= LOST:
                    words = f"{lost} workers were lost while they worked on this."
                    raise ProviderError("protocol", words, provider=provider) from error
            finally:
                if not left:
                    lane.left()
                if (lane.limit, lane.found) != before:  # to look at all workers takes time
                    self._fit()
                self._changed.set()

    def status(self) -> JsonObject:
        """The workers, their load and their speed."""
        workers: list[Any] = [self._row(one) for one in self._workers]
        return {
            "address": self.address,
            "run": self.run_id,
            "workers": workers,
            "done": self._done,
            "open": sum(int(one["open"]) for one in workers),
            "items_a_second": sum(float(one["items_a_second"]) for one in workers),
        }

    def _row(self, one: _Joined) -> JsonObject:
        now = time.monotonic()
        while one.ended and one.ended[0] < now - MEASURED:
            one.ended.popleft()
        span = min(max(now - one.since, 1.0), MEASURED)
        return {
            "name": one.name,
            "from": one.line.address,
            "minutes": round((now - one.since) / 60, 1),
            "open": len(one.waiting),
            "at_a_time": sum(one.lanes.lane(*key).limit for key in self._lanes),
            "done": one.done,
            "items_a_second": round(len(one.ended) / span, 2),
            "load": one.load,
            "cores": one.cores,
            "problem": one.problem,
        }

    # Requests

    async def _place(self, provider: str, model: str) -> _Joined:
        """Wait for a worker that has room, and take a place there: the one with the most room."""
        while True:
            self._changed.clear()
            looked, wait = [self._workers], math.inf
            if len(self._workers) > SOME:  # mostly one of a few has room
                looked.insert(0, random.sample(self._workers, SOME))
            for workers in looked:
                worker, wait = self._freest(workers, provider, model)
                if worker is not None:
                    worker.lanes.lane(provider, model).busy += 1
                    return worker
            with suppress(TimeoutError):
                async with asyncio.timeout(None if wait == math.inf else wait):
                    await self._changed.wait()

    def _freest(
        self, workers: Sequence[_Joined], provider: str, model: str
    ) -> tuple[_Joined | None, float]:
        """The one of these with the most room, and how long to wait where none has any."""
        now, free = time.monotonic(), list[tuple[float, int, _Joined]]()
        wait = math.inf
        for number, one in enumerate(workers):
            lane = one.lanes.lane(provider, model)
            if not one.is_fit or lane.busy >= lane.limit:
                continue
            if lane.until > now:
                wait = min(lane.until - now, wait)
            else:
                free.append((lane.busy / lane.limit, number, one))
        return (min(free)[2] if free else None), wait

    async def _asked(self, worker: _Joined, provider: str, request: JsonObject) -> JsonObject:
        """What a worker answers; raises LineClosed if it is gone."""
        ticket = next(self._tickets)
        message = encode({"do": "ask", "ticket": ticket, "provider": provider, "request": request})
        worker.waiting[ticket] = answer = asyncio.get_running_loop().create_future()
        try:
            await worker.line.write(message)
            return await answer
        except asyncio.CancelledError:
            self._tasks.start(self._cancel(worker, ticket))
            raise
        finally:
            worker.waiting.pop(ticket, None)

    async def _cancel(self, worker: _Joined, ticket: int) -> None:
        with suppress(LineClosed):
            await worker.line.write(encode({"do": "cancel", "ticket": ticket}))

    def _unfit(self, worker: _Joined, problem: str) -> None:
        if not worker.problem:
            worker.problem = problem
            self._say(f"{worker.name} gets no more items: {problem}")

    def _fit(self) -> None:
        """Let as many requests out as the workers take now."""
        for key, lane in self._lanes.items():
            lanes = [one.lanes.lane(*key) for one in self._workers if one.is_fit]
            lane.resize(sum(one.limit for one in lanes), sum(one.found for one in lanes))
        self._changed.set()

    # Workers

    async def _take_line(self, line: Line) -> None:
        """Serve one connection until it ends."""
        self._tasks.start(self._serve(line))

    async def _serve(self, line: Line) -> None:
        try:
            async with asyncio.timeout(self._silent):
                message = await line.read()
            if line.peer == COORDINATOR:
                await self._command(line, message)
            elif line.peer.startswith(WORKER) and message.get("do") == "join":
                await self._join(line, message)
        except (LineClosed, TimeoutError):
            pass
        finally:
            line.close()

    async def _command(self, line: Line, message: JsonObject) -> None:
        """Do what the person's own program asks for."""
        match message.get("do"):
            case "stop":
                self.on_stop()
            case "invitations":
                await self._send_uninvited_away()
            case _:
                pass
        await line.write(encode(self.status()))

    async def _send_uninvited_away(self) -> None:
        """Let go of workers whose invitations were taken back; others do what they were asked."""
        gone = await asyncio.to_thread(self.taken_back)
        for one in [*self._workers]:
            if one.line.number in gone:
                with suppress(LineClosed):
                    await one.line.write(encode({"do": "refused", "reason": TAKEN_BACK}))
                one.line.close()

    async def _join(self, line: Line, message: JsonObject) -> None:
        if line.number in await asyncio.to_thread(self.taken_back):
            await line.write(encode({"do": "refused", "reason": TAKEN_BACK}))
            return
        if message.get("messages") != VERSION:
            words = f"The coordinator is Agent Studio {__version__}. Install the same version."
            await line.write(encode({"do": "refused", "reason": words}))
            return
        name = line.peer.removeprefix(WORKER)
        worker = _Joined(name, line, Parallelism(), time.monotonic())
        await line.write(encode({"do": "welcome"}))
        self._workers.append(worker)
        self._say(f"{name} joined from {line.address}.")
        self._fit()
        watch = self._tasks.start(self._watch(worker))
        try:
            while True:
                self._heard(worker, await line.read())
        finally:
            watch.cancel()
            self._workers.remove(worker)
            for answer in worker.waiting.values():
                if not answer.done():
                    answer.set_exception(LineClosed())
            self._say(f"{name} is gone.")
            self._fit()

    async def _watch(self, worker: _Joined) -> None:
        """Let go of a worker that says nothing for too long."""
        while worker.quiet < LOOKS:
            worker.quiet += 1
            await asyncio.sleep(self._silent / LOOKS)
        worker.line.close()

    def _heard(self, worker: _Joined, message: JsonObject) -> None:
        worker.quiet = 0
        match message:
            case {"do": "answer", "ticket": int(ticket)}:
                answer = worker.waiting.get(ticket)
                if answer is not None and not answer.done():
                    answer.set_result(message)
            case {"do": "beat", "load": load, "cores": cores}:
                worker.load = float(load) if isinstance(load, int | float) else None
                worker.cores = cores if isinstance(cores, int) else None
            case _:
                pass


class RemoteStream:
    """A reply that a worker fetches; its words come at once."""

    def __init__(self, coordinator: Coordinator, provider: str, request: Request) -> None:
        self._of = coordinator, provider, request
        self._work: asyncio.Task[tuple[str, Reply]] | None = None
        self._reply: Reply | None = None
        self.last_event_at = 0.0

    async def __aiter__(self) -> AsyncIterator[Delta]:
        coordinator, provider, request = self._of
        self._work = work = asyncio.create_task(coordinator.answer(provider, request))
        while not work.done():
            await asyncio.wait([work], timeout=BREATH)
            if not work.done():
                yield TextDelta("")
        text, self._reply = work.result()
        self.last_event_at = time.monotonic()
        yield TextDelta(text)

    def reply(self) -> Reply:
        if self._reply is None:
            raise ProviderError("protocol", "The answer is not here.", provider=self._of[1])
        return self._reply

    def interrupted(self) -> Reply:
        return Reply()

    async def aclose(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])


class RemoteProvider(Provider):
    """A provider whose requests workers send, with keys of their own."""

    def __init__(self, coordinator: Coordinator, local: Provider) -> None:
        self.name, self.protocol, self.cache = local.name, local.protocol, local.cache
        self._coordinator, self._local = coordinator, local

    def lane(self, model: str) -> Lane:
        return self._coordinator.lane(self.name, model)

    def stream(self, request: Request) -> RemoteStream:
        return RemoteStream(self._coordinator, self.name, request)

    def user_items(self, blocks: Sequence[Said]) -> list[JsonObject]:
        return self._local.user_items(blocks)

    def result_items(self, results: Sequence[ToolResult]) -> list[JsonObject]:
        return self._local.result_items(results)

    def open_calls(self, history: Sequence[JsonObject]) -> list[ToolCall]:
        return self._local.open_calls(history)

    def rebuild(
        self, messages: Sequence[Message], facts: ModelInfo | None = None
    ) -> list[JsonObject]:
        return self._local.rebuild(messages, facts)

    async def models(self) -> list[ModelInfo]:
        return await self._local.models()

    def media_problem(self, block: Said, facts: ModelInfo | None = None) -> str:
        return self._local.media_problem(block, facts)


def coordinator_of(services: ServiceRegistry) -> Coordinator | None:
    """The coordinator of this program, if it has one."""
    try:
        return services.get(Coordinator)
    except ToolFailed:
        return None
