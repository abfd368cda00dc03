"""A long native history: what it takes in memory, and how soon the next request is ready.

    python benchmarks/history.py [rounds]

A conversation of 5,000 messages, the same for every protocol, is opened as a
session opens it: loaded, held against its chain of digests, checked for what a
provider would reject. Then the next request is made by the provider and its
SDK, up to the moment the bytes would leave. Beside it the same rows are read
plainly in the same round: SQLite and ``json.loads``, and ``json.dumps`` of them
for the body, nothing checked. Times are CPU, of all threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sqlite3
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

from measure import Row, middle, quick, show

from studio import simulator
from studio.agent.engine import Engine
from studio.agent.session.native_history import HistoryBasis, NativeHistory
from studio.app import build
from studio.domain.messages import Message, Text, ToolCall, ToolResult
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Conversation
from studio.providers.base import Provider, Request
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

MESSAGES = 5000
GOAL = "< 50 ms"
PROVIDERS = ("anthropic", "openai", "gemini", "openai-compatible", "ollama")
MODEL = "demo-tools"
NOWHERE = "http://127.0.0.1:9"  # the request never leaves
WORDS = "The retry loop waits for a clock that may step back, so we measure with another one. "


class Ready(Exception):
    """The request is built and would be sent now."""


def conversation() -> list[Message]:
    """Questions, calls, results and answers of a few hundred bytes each."""
    out: list[Message] = []
    for n in range(MESSAGES // 4):
        call = ToolCall(f"call_{n:06}", "read", {"path": f"src/module_{n}.py", "lines": [1, 80]})
        result = ToolResult(call.id, "read", (Text(f"{n}: {WORDS * 4}"),))
        out += [
            Message("user", (Text(f"Question {n}: {WORDS * 3}"),)),
            Message("assistant", (Text(f"I will look. {WORDS}"), call)),
            Message("user", (result,)),
            Message("assistant", (Text(f"Answer {n}: {WORDS * 3}"),)),
        ]
    return out


@contextlib.asynccontextmanager
async def opened(home: Path):
    paths = Paths.below(home)
    settings = SettingsFile(paths.settings)
    await settings.load()
    engine = await build(paths, settings)
    for name in PROVIDERS:
        settings.values.base_urls[name] = NOWHERE
        engine.keychain.keep_for_session(name, "sk-benchmark")
    try:
        yield engine
    finally:
        await engine.close()


def plainly(path: Path, session_id: str) -> list[Any]:
    """The baseline: the same rows, read and parsed, nothing else."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute(
            "SELECT body FROM native WHERE session_id = ? AND epoch = 1 ORDER BY seq",
            (session_id,),
        )
        return [json.loads(body) for (body,) in rows]


async def send(provider: Provider, request: Request) -> None:
    """Everything up to the first byte on the wire, as a step of a turn does it."""
    await provider.warning(request)
    stream = provider.stream(request)
    with contextlib.suppress(Exception):
        async for _ in stream:
            pass
    await stream.aclose()


async def compare(engine: Engine, path: Path, name: str, rounds: int) -> list[Row]:
    provider = await engine.provider(name)
    info = SessionInfo(name, "", "", "Coder", name, MODEL, "ask", 1.0, 1.0)
    await engine.store.create(info)
    items = provider.rebuild(conversation())
    await engine.store.begin_epoch(name, name, provider.protocol, MODEL, "You help.", [], items)
    reached: list[float] = []
    sizes: list[int] = []

    async def leaving(request: Any) -> None:
        if request.url.path == "/api/show":
            return  # Ollama is asked once what its model can
        reached.append(time.process_time())
        sizes.append(len(request.content))
        raise Ready

    http = await engine.http.client()
    http.event_hooks = {"request": [leaving]}
    await send(provider, Request(MODEL, items, "You help."))  # imports the SDK
    if not reached:
        raise SystemExit(f"{name}: no request was made")

    times: dict[str, list[float]] = {key: [] for key in ("load", "read", "build", "dump", "both")}
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        plain = await asyncio.to_thread(plainly, path, name)
        parsed = time.process_time()
        json.dumps({"messages": plain}, ensure_ascii=False, separators=(",", ":")).encode()
        dumped = time.process_time()
        del plain
        gc.collect()
        reached.clear()
        start = time.process_time()
        history = NativeHistory(engine.store, name)
        basis = HistoryBasis(provider, MODEL, "You help.", [], lambda: Conversation([], 0))
        await history.open(basis, 1)
        loaded = time.process_time()
        if len(history.items) != len(items):
            raise SystemExit(f"{name}: the history was not stored whole")
        await send(provider, Request(MODEL, history.items, history.system, session=name))
        ready = reached[0]
        del history
        for key, seconds in (
            ("read", parsed - began), ("dump", dumped - parsed), ("load", loaded - start),
            ("build", ready - loaded), ("both", ready - start),
        ):  # fmt: skip
            times[key].append(seconds * 1000)
    http.event_hooks = {}

    figures = {key: middle(values) for key, values in times.items()}
    both = figures["read"] + figures["dump"]
    what = f"{name}: {MESSAGES:,} messages, {sizes[-1] / 1e6:.1f} MB"
    return [
        Row(f"{what}, loaded and checked, CPU", figures["load"], figures["read"], "ms", "",
            "SQLite + json.loads"),
        Row(f"{name}: the next request built, CPU", figures["build"], figures["dump"], "ms", "",
            "json.dumps"),
        Row(f"{name}: both, CPU", figures["both"], both, "ms", GOAL, "both"),
        await memory(engine, path, name),
    ]  # fmt: skip


async def memory(engine: Engine, path: Path, name: str) -> Row:
    held: list[int] = []
    for checked in (True, False):
        gc.collect()
        tracemalloc.start()
        if checked:
            kept: Any = await engine.store.native(name)
        else:
            kept = await asyncio.to_thread(plainly, path, name)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        del kept
    ours, plain = (size / 1e6 for size in held)
    return Row(f"{name}: in memory", ours, plain, "MB", "", "SQLite + json.loads")


async def rows(rounds: int) -> list[Row]:
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        async with simulator.Simulator([]) as server, opened(home) as engine:
            engine.settings.values.base_urls["ollama"] = server.url("ollama")
            for name in PROVIDERS:
                out += await compare(engine, Paths.below(home).database, name, rounds)
    return out


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(asyncio.run(rows(counts[0] if counts else 5 if quick() else 15)))


if __name__ == "__main__":
    main()
