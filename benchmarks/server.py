"""The server in front of the simulator: what it adds, how much it stands, what it keeps.

    python benchmarks/server.py [--quick]

Simulator, server and client have a process each. The client asks both in
turns, so that a slow moment of the machine is in both figures. Every answer is
looked at: one that is lost or cut short ends the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
from measure import Row, middle, quick, show

from studio import simulator

WORDS = "Here are a few words that come in pieces, one after the other, until the end."
MODEL = "sim-model"
THROUGH = f"openai-compatible/{MODEL}"


def answer(_: simulator.RequestView) -> simulator.Turn:
    return simulator.Turn(simulator.Text(WORDS))


async def simulate() -> None:
    async with simulator.Simulator(answer, pace=False) as server:
        print(server.url("chat"), flush=True)
        await asyncio.to_thread(sys.stdin.read)


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
        with server(home, provider) as (address, token, pid):
            async with (
                client(provider, "sk-benchmark") as direct,
                client(f"{address}/v1", token) as through,
            ):
                rows: list[Row] = []
                for name, ask in (("whole answer", whole), ("first word", streamed)):
                    used = 0.0
                    ours: list[float] = []
                    theirs: list[float] = []
                    for number in range(rounds):
                        if number == 10:
                            used = cpu(pid)
                        theirs.append(await ask(direct, MODEL, number))
                        ours.append(await ask(through, THROUGH, number))
                    used = (cpu(pid) - used) / (rounds - 10)
                    here, base = middle(ours[10:]), middle(theirs[10:])
                    rows.append(
                        Row(f"Server, one client: {name}", here, base, "ms", "", "the simulator")
                    )
                    rows.append(
                        Row(f"Added by the server: {name}", here - base, None, "ms", "< 3 ms")
                    )
                    rows.append(Row(f"The server's CPU: {name}", used, None, "ms"))
                rows.append(
                    Row(
                        "Server, 8 clients: answers a second",
                        await many(through, rounds * 2, 8), None, "/s",
                    )
                )  # fmt: skip
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
    with tempfile.TemporaryDirectory() as home:
        show(asyncio.run(measure(Path(home))))


if __name__ == "__main__":
    main()
