"""Many sessions at once, through every provider of our own, against the strict simulator.

    python benchmarks/sessions.py [sessions]

Each session asks, answers two calls at once, then one more, and reads the
last words. The simulator has a process of its own and refuses whatever a
provider would. Any error, and any answer that is another session's, ends the
run. The baseline is the same sessions one after another.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from measure import Row, quick, show

from studio import simulator
from studio.domain.messages import Text, ToolResult
from studio.domain.tools import ToolSpec
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Provider, Reply, Request
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider

SESSIONS = 200
KEY = "sk-benchmark"
MODELS: dict[simulator.ApiName, str] = {
    "anthropic": "sim-preserved-1",
    "responses": "gpt-5.6",
    "chat": "demo-tools",
    "gemini": "sim-gemini-3",
    "ollama": "demo-tools",
}
READ = ToolSpec(
    "read",
    "Read a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def answer(view: simulator.RequestView) -> simulator.Turn:
    """Two files, one more, and what the person called the session."""
    name = view.last_user
    done = [item.text for item in view.items if isinstance(item, simulator.Returned)]
    if not done:
        calls = (simulator.Call("read", {"path": f"{name}/{part}"}) for part in "ab")
        return simulator.Turn(simulator.Think("Two files."), *calls)
    if len(done) == 2:
        return simulator.Turn(
            simulator.Text("One more."), simulator.Call("read", {"path": f"{name}/c"})
        )
    return simulator.Turn(simulator.Text(f"{name}: {' '.join(done)}"))


async def serve() -> None:
    async with simulator.Simulator(answer, pace=False) as server:
        print(json.dumps({name: server.url(name) for name in MODELS}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


@contextlib.contextmanager
def server() -> Iterator[dict[str, str]]:
    """The addresses of a simulator in a process of its own."""
    with subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())


def providers(urls: dict[str, str], http: Http) -> list[tuple[Provider, str]]:
    """One provider for each API with a model, on one HTTP client."""
    made: dict[simulator.ApiName, Provider] = {
        "anthropic": AnthropicProvider(KEY, urls["anthropic"], http),
        "responses": OpenAIProvider(KEY, urls["responses"], http),
        "chat": CompatibleProvider(KEY, urls["chat"], http),
        "gemini": GeminiProvider(KEY, urls["gemini"], http),
        "ollama": OllamaProvider(KEY, urls["ollama"], http),
    }
    return [(provider, MODELS[name]) for name, provider in made.items()]


async def session(provider: Provider, model: str, name: str) -> None:
    """One session; RuntimeError if it ends in other words than its own."""
    history = provider.user_items([Text(name)])
    while True:
        stream = provider.stream(Request(model, history, "Be brief.", (READ,)))
        words = ""
        async for delta in stream:
            words += getattr(delta, "text", "")
        reply: Reply = stream.reply()
        history += reply.items
        if not reply.calls:
            break
        results = [
            ToolResult(call.id, call.name, (Text(f"<{(call.arguments or {}).get('path')}>"),))
            for call in reply.calls
        ]
        history += provider.result_items(results)
    if not words.endswith(f"{name}: <{name}/a> <{name}/b> <{name}/c>"):
        raise RuntimeError(f"{provider.name} answered another session: {words!r}")


def peak() -> float:
    """The most memory this process had, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 * 1024 if sys.platform == "darwin" else 1024)


async def measure(count: int, urls: dict[str, str]) -> Sequence[Row]:
    http = Http()
    made = providers(urls, http)
    try:
        for number, (provider, model) in enumerate(made):  # imports, connections
            await session(provider, model, f"warm-{number}")
        few = max(len(made), count // 5)
        before = time.perf_counter()
        for number in range(few):
            await session(*made[number % len(made)], f"row-{number}")
        alone = few / (time.perf_counter() - before)
        quiet = peak()
        before = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(count):
                group.create_task(session(*made[number % len(made)], f"session-{number}"))
        together = count / (time.perf_counter() - before)
    finally:
        await http.aclose()
    return [
        Row(f"{count} sessions at once", together, alone, "sessions/s", "", "one at a time"),
        Row(f"peak memory of {count} sessions", peak(), quiet, "MB", "", "one at a time"),
    ]


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve())
        return
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    count = counts[0] if counts else SESSIONS // 4 if quick() else SESSIONS
    with server() as urls:
        rows = asyncio.run(measure(count, urls))
    show(rows)


if __name__ == "__main__":
    main()
