"""What one coordinator of a cluster carries, beside plain dask (W-59).

The workers are in another process and answer at once, over TLS as real ones do, so that what is
measured is the coordinator: the run, its limits, its table and the lines to the workers.

python benchmarks/cluster.py
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from measure import Row, quick, show

from studio.app import build
from studio.domain.agents import Caps
from studio.domain.models import Usage
from studio.providers.base import Reply
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.workflows.cluster.certificates import coordinator_identity, invite, read_invitation
from studio.workflows.cluster.coordinator import Coordinator
from studio.workflows.cluster.lines import Line, LineClosed, connect, encode
from studio.workflows.cluster.messages import VERSION, reply_message
from studio.workflows.cluster.worker import BEAT
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

WORKERS = (1, 20, 100, 300)
READER = "---\nname: Reader\ntools: []\n---\nRead the invoice.\n"
FILE = """\
---
name: Invoices
steps:
  - id: read
    agent: Reader
    for_each: ${{ rows("rows.jsonl") }}
    prompt: "Invoice ${{ item.number }}: ${{ item.text }}"
---
"""
ANSWER = reply_message("It is 12 €.", Reply(usage=Usage(input=700, output=8)))


async def beat(line: Line) -> None:
    """Tell now and then that it is there, as a real one does."""
    with suppress(LineClosed):
        while True:
            await asyncio.sleep(BEAT)
            await line.write(encode({"do": "beat", "load": 0.5, "cores": 8}))


async def be_worker(address: str, invitation: Path) -> None:
    """Answer every request at once."""
    line = await connect(address, read_invitation(invitation).identity)
    await line.write(encode({"do": "join", "messages": VERSION}))
    beating = asyncio.create_task(beat(line))
    try:
        while True:
            message = await line.read()
            if message["do"] == "ask":
                await line.write(encode({**ANSWER, "do": "answer", "ticket": message["ticket"]}))
    except LineClosed:
        beating.cancel()


async def be_workers(address: str, invitation: Path, many: int) -> None:
    await asyncio.gather(*(be_worker(address, invitation) for _ in range(many)))


async def carry(home: Path, workers: int, items: int) -> tuple[float, float, float]:
    """CPU milliseconds of the coordinator per item, items a second, and megabytes at the most."""
    paths, folder = Paths.below(home / "studio"), home / "work"
    folder.mkdir(parents=True)
    paths.agents.mkdir(parents=True)
    (paths.agents / "reader.md").write_text(READER)
    (folder / "invoices.md").write_text(FILE)
    lines = (json.dumps({"number": at, "text": "A word. " * 250}) for at in range(items))
    (folder / "rows.jsonl").write_text("\n".join(lines))
    settings = SettingsFile(paths.settings)
    await settings.load()
    engine = await build(paths, settings)
    coordinator = Coordinator(lambda _: None)
    place = paths.data / "cluster"
    await coordinator.start("127.0.0.1:0", coordinator_identity(place))
    engine.services.add(coordinator)
    invite(place, "worker", coordinator.address, home / "invitation")
    words = (__file__, "workers", coordinator.address, str(home / "invitation"), str(workers))
    child = await asyncio.create_subprocess_exec(sys.executable, *words)
    try:
        while len(coordinator.status()["workers"]) < workers:  # type: ignore[arg-type]  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        options = RunOptions({}, Caps(dollars=1000), "anthropic", "claude-haiku-4-5")
        runner = await WorkflowRuns(engine).start(folder / "invoices.md", folder, options)
        runner.yes = True
        began, cpu = time.monotonic(), time.process_time()
        run = await runner.carry_out()
        cpu, took = time.process_time() - cpu, time.monotonic() - began
        assert run.end is not None and run.end.state == "done", (run.end, run.paused)
    finally:
        await coordinator.close()
        await child.wait()
        await engine.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return cpu / items * 1000, items / took, peak


async def hand_out(home: Path, items: int) -> float:
    """CPU milliseconds of the lines alone: requests handed out to a worker and answered."""
    from studio.providers.base import Request

    coordinator = Coordinator(lambda _: None)
    await coordinator.start("127.0.0.1:0", coordinator_identity(home))
    invite(home, "worker", coordinator.address, home / "invitation")
    words = (__file__, "workers", coordinator.address, str(home / "invitation"), "1")
    child = await asyncio.create_subprocess_exec(sys.executable, *words)
    lane = coordinator.lane("anthropic", "model")
    while not lane.limit or not coordinator.status()["workers"]:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    asked = Request("model", [{"role": "user", "content": "A word. " * 250}])

    async def some(many: int) -> None:
        for _ in range(many):
            await coordinator.answer("anthropic", asked)

    cpu = time.process_time()
    await asyncio.gather(*(some(items // 32) for _ in range(32)))
    cpu = time.process_time() - cpu
    await coordinator.close()
    await child.wait()
    return cpu / items * 1000


async def plain_dask(items: int) -> float:
    """CPU milliseconds of client and scheduler for a task of the same text, without TLS."""
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": 1, "processes": True, "dashboard_address": None}
    async with (
        LocalCluster(asynchronous=True, **options) as cluster,
        Client(cluster, asynchronous=True) as client,
    ):
        await client.submit(len, "ready")
        texts = [f"{at} " + "A word. " * 250 for at in range(items)]
        cpu = time.process_time()
        await client.gather(client.map(len, texts))  # type: ignore[misc]  # half typed
        return (time.process_time() - cpu) / items * 1000


def one(workers: int, items: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as home:
        cpu, rate, peak = asyncio.run(carry(Path(home), workers, items))
    return {"cpu": cpu, "rate": rate, "peak": peak}


def main() -> None:
    from measure import child

    items = 1_000 if quick() else 5_000
    with tempfile.TemporaryDirectory() as home:
        lines = asyncio.run(hand_out(Path(home) / "cluster", items))
    dask = asyncio.run(plain_dask(items))
    rows = [Row("an item handed out, CPU", lines, dask, "ms", "<= 1 x", "a task of plain dask")]
    for workers in WORKERS[:2] if quick() else WORKERS:
        found = child([__file__, "one", str(workers), str(items)])
        what = f"with {workers} workers"
        rows += [
            Row(f"an item of a run, {what}, CPU", found["cpu"], None, "ms"),
            Row(f"items a second, {what}", found["rate"], None, "items"),
            Row(f"memory, {what}", found["peak"], None, "MB"),
        ]
    show(rows)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["workers", address, invitation, many]:
            asyncio.run(be_workers(address, Path(invitation), int(many)))
        case ["one", workers, items]:
            print(json.dumps(one(int(workers), int(items))))
        case _:
            main()
