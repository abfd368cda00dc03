"""The server in front of the simulator: what it adds, how much it stands, what it keeps.

    python benchmarks/server.py [--quick]

Simulator, server and client have a process each, and so has a bare proxy of the same libraries
that keeps nothing. The client asks all three in turns, so that a slow moment of the machine
is in all figures. Every answer is looked at: one that is lost or cut short ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from measure import Row, middle, quick, show

from studio import simulator

WORDS = "Here are a few words that come in pieces, one after the other, until the end."
MODEL = "sim-model"
GOALS = {"whole answer": "< 6 ms", "first word": "< 4 ms"}
"""Milliseconds that the server may add."""
THROUGH = f"openai-compatible/{MODEL}"


def answer(_: simulator.RequestView) -> simulator.Turn:
    return simulator.Turn(simulator.Text(WORDS))


async def simulate() -> None:
    async with simulator.Simulator(answer, pace=False) as server:
        print(server.url("chat"), flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def pass_on(provider: str) -> None:
    """A bare proxy: each request goes on to the provider, and its pieces come back."""
    headers = {"authorization": "Bearer sk-benchmark", "content-type": "application/json"}
    http = httpx2.AsyncClient(base_url=provider, headers=headers, timeout=60, trust_env=False)

    async def app(_: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        async with http.stream("POST", "chat/completions", content=body) as reply:
            kind = (b"content-type", reply.headers["content-type"].encode())
            await send({"type": "http.response.start", "status": 200, "headers": [kind]})
            async for piece in reply.aiter_bytes():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    # With the protocol named asyncio sends at once; otherwise it waits 40 ms for more.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="off", loop="asyncio", http="h11"
    )
    await uvicorn.Server(config).serve([listening])


@contextlib.contextmanager
def child(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def server(home: Path, provider: str) -> Iterator[tuple[str, str, int]]:
    """Address, token and process id of a server that asks the simulator."""
    environment = {
        "AGENT_STUDIO_HOME": str(home / "data"),
        "HOME": str(home),
        "OPENAI_BASE_URL": provider,
        "OPENAI_API_KEY": "sk-benchmark",
        "DBUS_SESSION_BUS_ADDRESS": "disabled:",  # no keychain: the token is shown
    }
    command = ("-m", "studio", "serve", "--port", "0", "--folder", str(home))
    with child(*command, **environment) as process:
        assert process.stdout is not None
        shown = ""
        while "Stop with" not in shown:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the server did not start: {shown}")
            shown += line
        address, token = re.search(r"http://[^/\s]+", shown), re.search(r"as-[\w-]+", shown)
        assert address and token
        yield address[0], token[0], process.pid


@contextlib.asynccontextmanager
async def client(address: str, key: str) -> AsyncIterator[httpx2.AsyncClient]:
    limits = httpx2.Limits(max_connections=200)
    headers = {"authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(
        base_url=address, headers=headers, timeout=60, trust_env=False, limits=limits
    ) as made:
        yield made


async def whole(http: httpx2.AsyncClient, model: str, number: int) -> float:
    """Milliseconds until the whole answer is there."""
    body = {"model": model, "messages": [{"role": "user", "content": f"Hello {number}"}]}
    began = time.perf_counter()
    reply = await http.post("chat/completions", json=body)
    took = (time.perf_counter() - began) * 1000
    if reply.json()["choices"][0]["message"]["content"] != WORDS:
        raise RuntimeError(f"another answer: {reply.text}")
    return took


async def streamed(http: httpx2.AsyncClient, model: str, number: int) -> float:
    """Milliseconds until the first word is there; the rest is read, too."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": "user", "content": f"Hello {number}"}],
        "stream": True,
    }
    began, first, words = time.perf_counter(), 0.0, ""
    async with http.stream("POST", "chat/completions", json=body) as reply:
        async for line in reply.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                more = choices[0]["delta"].get("content") if choices else ""
                if more and not first:
                    first = (time.perf_counter() - began) * 1000
                words += more or ""
    if words != WORDS or (line != "" and not line.endswith("[DONE]")):
        raise RuntimeError(f"a stream that is not whole: {words!r}")
    return first


def memory(pid: int) -> float:
    """What a process holds now, in MB (Linux)."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1024


def cpu(pid: int) -> float:
    """What a process has used so far, in ms of CPU (Linux)."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) * 1000 / os.sysconf("SC_CLK_TCK")


async def many(http: httpx2.AsyncClient, count: int, at_once: int) -> float:
    """Answers a second."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await whole(http, THROUGH, number)

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return count / (time.perf_counter() - began)


async def measure(home: Path) -> list[Row]:
    rounds, flat = (60, 600) if quick() else (300, 10_000)
    with child(__file__, "--simulate") as simulated:
        assert simulated.stdout is not None
        provider = simulated.stdout.readline().strip()
        with (
            server(home, provider) as (address, token, pid),
            child(__file__, "--proxy", provider) as proxy,
        ):
            assert proxy.stdout is not None
            async with (
                client(provider, "sk-benchmark") as direct,
                client(f"{address}/v1", token) as through,
                client(proxy.stdout.readline().strip(), "none") as bare,
            ):
                rows: list[Row] = []
                for name, ask in (("whole answer", whole), ("first word", streamed)):
                    used = [0.0, 0.0]
                    took: list[list[float]] = [[], [], []]
                    for number in range(rounds):
                        if number == 10:
                            used = [cpu(pid), cpu(proxy.pid)]
                        asked = ((direct, MODEL), (through, THROUGH), (bare, MODEL))
                        for (http, model), times in zip(asked, took, strict=True):
                            times.append(await ask(http, model, number))
                    used = [
                        (now - then) / (rounds - 10)
                        for now, then in zip((cpu(pid), cpu(proxy.pid)), used, strict=True)
                    ]
                    base, here, passed = (middle(times[10:]) for times in took)
                    goal, against = GOALS[name], "a bare proxy"
                    rows += [
                        Row(f"Server, one client: {name}", here, base, "ms", "", "the simulator"),
                        Row(f"Added: {name}", here - base, passed - base, "ms", goal, against),
                        Row(f"CPU: {name}", used[0], used[1], "ms", "", against),
                    ]
                spent = cpu(pid)
                rate = await many(through, rounds * 2, 8)
                spent = 1000 * rounds * 2 / (cpu(pid) - spent)
                rows += [
                    Row("Server, 8 clients: answers a second", rate, None, "/s"),
                    Row("The same, a second of CPU", spent, None, "/s", "> 200 /s"),
                ]
                began = time.perf_counter()
                await asyncio.gather(*(streamed(through, THROUGH, n) for n in range(50)))
                rows.append(
                    Row(
                        "Server, 50 streams at once, none lost",
                        (time.perf_counter() - began) * 1000, None, "ms",
                    )
                )  # fmt: skip
                await many(through, flat // 10, 8)
                before = memory(pid)
                await many(through, flat, 8)
                rows.append(
                    Row(
                        f"Server: memory after {flat:,} answers more",
                        memory(pid), before, "MB", "<= 1.1 x", f"after {flat // 10:,}",
                    )
                )  # fmt: skip
    return rows


def main() -> None:
    if "--simulate" in sys.argv:
        asyncio.run(simulate())
        return
    if "--proxy" in sys.argv:
        asyncio.run(pass_on(sys.argv[-1]))
        return
    with tempfile.TemporaryDirectory() as home:
        show(asyncio.run(measure(Path(home))))


if __name__ == "__main__":
    main()
