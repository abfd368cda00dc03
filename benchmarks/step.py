"""What a step of a turn costs beyond the raw stream of the same answers.

    python benchmarks/step.py [rounds]

A session with 200 messages and 50 tools runs turns of 40 steps against the
simulator, over real HTTP, with a tool that does nothing: folding, journal,
database, permission, budget, context, guards and the tool's call included. In
the same round the same requests go out bare: through the provider alone, and
through the vendor's SDK alone. The simulator has a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from measure import Row, middle, quick, show

from studio import simulator
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.app import build
from studio.domain.agents import Limits
from studio.domain.events import StepStarted, TurnComplete
from studio.domain.messages import Text
from studio.providers.base import Provider, Request
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.tools import tool

STEPS = 40
MESSAGES = 200
TOOLS = 50
GOAL = "< 1 ms"
WORDS = "The retry loop waits for a clock that may step back, so we measure with another. " * 4
KEY = "sk-benchmark"
APIS: dict[str, simulator.ApiName] = {"openai-compatible": "chat", "anthropic": "anthropic"}


@tool(effect="read")
async def nothing(number: int) -> str:
    """Do nothing.

    number: Any number.
    """
    return f"Nothing, {number} times."


def answer(view: simulator.RequestView) -> simulator.Turn:
    if "Prepare" in view.last_user:
        return simulator.Turn(simulator.Text(WORDS))
    done = sum(isinstance(item, simulator.Returned) for item in view.items)
    if done >= STEPS - 1:
        return simulator.Turn(simulator.Text("That is all."))
    call = simulator.Call("nothing", {"number": done})
    return simulator.Turn(simulator.Text(WORDS), call)


async def serve() -> None:
    async with simulator.Simulator(answer, pace=False) as server:
        print(json.dumps({name: server.url(name) for name in APIS.values()}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextlib.asynccontextmanager
async def opened(home: Path, provider: str, url: str) -> AsyncIterator[Engine]:
    paths = Paths.below(home)
    settings = SettingsFile(paths.settings)
    await settings.load()
    settings.values.base_urls[provider] = url
    engine = await build(paths, settings)
    engine.keychain.keep_for_session(provider, KEY)
    engine.toolbox.add(nothing, "benchmark")
    for number in range(TOOLS - len(engine.toolbox.tools)):
        spec = replace(nothing.spec, name=f"nothing_{number}")
        engine.toolbox.add(replace(nothing, spec=spec), "benchmark")
    engine.settings.values.turn_dollars = engine.settings.values.day_dollars = 1e6
    paths.agents.mkdir(exist_ok=True)
    (paths.agents / "bench.md").write_text("---\nname: Bench\ntools: '*'\n---\nWork.\n")
    try:
        yield engine
    finally:
        await engine.close()


async def prepared(engine: Engine, name: str, folder: Path) -> Session:
    """A session with so many messages in it."""
    session = await engine.sessions.create(
        folder=str(folder), agent="Bench", provider=name, model="sim-model"
    )
    for number in range(MESSAGES // 2):
        async for _ in session.turn([Text(f"Prepare, {number}.")]):
            pass
    return session


@dataclass
class Cost:
    """Of one step, in ms: on the clock, CPU of all threads, CPU of the event loop's."""

    clock: float
    cpu: float
    loop: float

    @classmethod
    def now(cls) -> Cost:
        return cls(time.perf_counter(), time.process_time(), time.thread_time())

    def since(self, began: Cost) -> Cost:
        size = 1000 / STEPS
        return Cost(
            (self.clock - began.clock) * size,
            (self.cpu - began.cpu) * size,
            (self.loop - began.loop) * size,
        )


async def in_session(engine: Engine, whole: Session) -> Cost:
    """A turn of a new branch, from its first step on."""
    session = await engine.sessions.branch(whole.info.id)
    end, began = None, Cost.now()
    async for envelope in session.turn([Text("Go")], limits=Limits(1000, 600.0)):
        event = envelope.event
        if isinstance(event, StepStarted) and event.step == 1:
            began = Cost.now()
        end = event
    cost = Cost.now().since(began)
    if not isinstance(end, TurnComplete) or end.reason != "done" or end.steps != STEPS:
        raise SystemExit(f"the turn did not run as planned: {end}")
    await engine.sessions.delete(session.info.id)
    return cost


async def bare(work: Awaitable[None]) -> Cost:
    began = Cost.now()
    await work
    return Cost.now().since(began)


async def through_provider(provider: Provider, requests: list[Request]) -> None:
    for request in requests:
        stream = provider.stream(request)
        async for _ in stream:
            pass
        stream.reply()
        await stream.aclose()


def sdk(name: str, http: Any, url: str) -> Callable[[dict[str, Any]], Awaitable[Any]]:
    """The vendor's own call, on the same connections."""
    if name == "anthropic":
        from anthropic import AsyncAnthropic

        client = AsyncAnthropic(api_key=KEY, base_url=url, http_client=http, max_retries=0)
        return lambda body: client.messages.create(**body)
    from openai import AsyncOpenAI

    other = AsyncOpenAI(api_key=KEY, base_url=url, http_client=http, max_retries=0)
    return lambda body: other.chat.completions.create(**body)


async def through_sdk(
    call: Callable[[dict[str, Any]], Awaitable[Any]], bodies: list[dict[str, Any]]
) -> None:
    for body in bodies:
        async with await call(body) as stream:
            async for _ in stream:
                pass


async def recorded(
    engine: Engine, name: str, whole: Session
) -> tuple[list[Request], list[dict[str, Any]]]:
    """One turn whose requests are kept, as the provider saw them and as they went out."""
    requests: list[Request] = []
    bodies: list[dict[str, Any]] = []
    provider = await engine.provider(name)
    stream = provider.stream

    def keep(request: Request):
        requests.append(replace(request, history=list(request.history)))
        return stream(request)

    async def sent(request: Any) -> None:
        bodies.append(json.loads(request.content))

    http = await engine.http.client()
    provider.stream = keep
    http.event_hooks = {"request": [sent]}
    await in_session(engine, whole)
    http.event_hooks = {}
    provider.stream = stream
    return requests, [body for body in bodies if body.get("stream")]


async def compare(home: Path, name: str, url: str, rounds: int) -> list[Row]:
    folder = home / "work"
    folder.mkdir(parents=True)
    async with opened(home, name, url) as engine:
        whole = await prepared(engine, name, folder)
        requests, bodies = await recorded(engine, name, whole)
        provider = await engine.provider(name)
        call = sdk(name, await engine.http.client(), url)
        await through_sdk(call, bodies[:2])
        ways: dict[str, Callable[[], Awaitable[Cost]]] = {
            "session": lambda: in_session(engine, whole),
            "provider": lambda: bare(through_provider(provider, requests)),
            "sdk": lambda: bare(through_sdk(call, bodies)),
        }
        found: dict[str, list[Cost]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, run in ways.items():
                found[way].append(await run())
    out: list[Row] = []
    api = APIS[name]
    vendor = "anthropic SDK" if name == "anthropic" else "openai SDK"
    kinds = {"clock": "clock", "cpu": "CPU of all threads", "loop": "CPU of the loop's thread"}
    for base, what in (("provider", "raw provider stream"), ("sdk", f"raw {vendor}")):
        for kind, words in kinds.items():
            ours = [getattr(cost, kind) for cost in found["session"]]
            other = [getattr(cost, kind) for cost in found[base]]
            own = middle(a - b for a, b in zip(ours, other, strict=True))
            goal = GOAL if (base, kind) == ("provider", "loop") else ""
            out += [
                Row(f"{api}: a step, {words}", middle(ours), middle(other), "ms", "", what),
                Row(f"{api}: the program's own, {words}", own, None, "ms", goal, what),
            ]
    return out


def rows(rounds: int) -> list[Row]:
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    out: list[Row] = []
    with server, tempfile.TemporaryDirectory() as folder:
        assert server.stdout is not None
        urls: dict[str, str] = json.loads(server.stdout.readline())
        for name, api in APIS.items():
            out += asyncio.run(compare(Path(folder) / name, name, urls[api], rounds))
    return out


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve())
        return
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 3 if quick() else 9))


if __name__ == "__main__":
    main()
