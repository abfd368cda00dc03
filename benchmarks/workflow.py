"""What a run of a workflow costs beside its agents' work (W-8, W-14, W-19, W-27).

    python benchmarks/workflow.py [rounds]

Steps of one agent each, against the simulator over real HTTP, which has a process of its own. The
same sessions with one turn each are the baseline, so that what is left is the run's: its plan, its
events, its accounts and what it stores. The makespan of a graph stands beside its longest way, and
beside the same sessions, each begun by hand when those before it end. Recording is measured by
itself: a history that grows by 1 KB a request, up to 200 KB, and answers of 8 KB.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import Row, middle, quick, show
from step import Cost, opened

from studio import simulator
from studio.agent.engine import Engine
from studio.domain.exchanges import Exchange
from studio.domain.messages import Text
from studio.workflows.reader import read_workflow_text
from studio.workflows.runner import Runner
from studio.workflows.workflow_check import KnownNames, check_workflow
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

STEPS, BUSY, LONG, REQUESTS = 100, 100, 200, 200
PACE = re.compile(r"Take ([\d.]+) seconds")


def answer(view: simulator.RequestView) -> simulator.Turn:
    """Says little, after as many seconds as it was asked to take."""
    found = PACE.search(view.last_user)
    pace = simulator.Pace(float(found[1]), 1e6) if found else None
    return simulator.Turn(simulator.Text("Done."), pace=pace)


async def serve() -> None:
    async with simulator.Simulator(answer) as server:
        print(json.dumps(server.url("anthropic")), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def text_of(steps: list[str], parallel: int) -> str:
    lines = "\n".join(f"  - {{{one}}}" for one in steps)
    return f"---\nname: Bench\nmax_parallel: {parallel}\nsteps:\n{lines}\n---\n"


def chain(count: int) -> list[str]:
    """Steps that need the one before."""
    return [
        f"id: s{at}, agent: Bench, prompt: 'Step {at}.'" + (f", needs: s{at - 1}" if at else "")
        for at in range(count)
    ]


def graph(seed: int) -> tuple[list[str], float]:
    """Steps that need some of those before, and the seconds of the longest way through them."""
    chance, ends, steps = random.Random(seed), list[float](), list[str]()
    for at in range(LONG):
        needs = sorted({chance.randrange(max(0, at - 40), at) for _ in range(2)}) if at > 4 else []
        seconds = round(chance.uniform(0.5, 1.5), 2)
        ends.append(max((ends[one] for one in needs), default=0.0) + seconds)
        named = f", needs: [{', '.join(f's{one}' for one in needs)}]" if needs else ""
        steps.append(f"id: s{at}, agent: Bench, prompt: 'Take {seconds} seconds.'{named}")
    return steps, max(ends)


async def begun(engine: Engine, folder: Path, text: str) -> Runner:
    path = folder / "bench.md"
    path.write_text(text)
    options = RunOptions({}, provider="anthropic", model="sim-model")
    return await WorkflowRuns(engine).start(path, folder, options)


async def carried_out(runner: Runner) -> None:
    run = await runner.carry_out()
    if run.end is None or run.end.state != "done":
        raise SystemExit(f"the run did not go as planned: {run.end}")


async def as_run(engine: Engine, folder: Path) -> Cost:
    runner = await begun(engine, folder, text_of(chain(STEPS), 8))
    began = Cost.now()
    await carried_out(runner)
    return _each(Cost.now(), began)


async def as_sessions(engine: Engine, folder: Path) -> Cost:
    began = Cost.now()
    for at in range(STEPS):
        session = await engine.sessions.create(
            folder=str(folder), agent="Bench", provider="anthropic", model="sim-model", held=True
        )
        async for _ in session.turn([Text(f"Step {at}.")], least="background"):
            pass
        await session.flush()
    return _each(Cost.now(), began)


async def bare_makespan(engine: Engine, folder: Path, steps: list[str]) -> float:
    """Seconds that the sessions of a graph take where each begins when those before it end."""
    tasks: dict[str, asyncio.Task[None]] = {}

    async def work(line: str, needs: list[str]) -> None:
        await asyncio.gather(*(tasks[name] for name in needs))
        session = await engine.sessions.create(
            folder=str(folder), agent="Bench", provider="anthropic", model="sim-model", held=True
        )
        said = line.partition("prompt: '")[2].partition("'")[0]
        async for _ in session.turn([Text(said)], least="background"):
            pass
        await session.flush()

    began = time.perf_counter()
    for line in steps:
        name, *needs = re.findall(r"\bs\d+\b", line)
        tasks[name] = asyncio.create_task(work(line, needs))
    await asyncio.gather(*tasks.values())
    return time.perf_counter() - began


def _each(now: Cost, began: Cost) -> Cost:
    found = (getattr(now, kind) - getattr(began, kind) for kind in ("clock", "cpu", "loop"))
    return Cost(*(one * 1000 / STEPS for one in found))


async def stopped(engine: Engine, folder: Path) -> float:
    """Seconds until a run with so many agents at work has ended."""
    steps = [f"id: s{at}, agent: Bench, prompt: 'Take 600 seconds.'" for at in range(BUSY)]
    runner = await begun(engine, folder, text_of(steps, BUSY))
    work = asyncio.create_task(runner.carry_out())
    await asyncio.sleep(5.0)
    assert sum(one.state == "running" for one in runner.run.busy) == BUSY
    began = time.perf_counter()
    await runner.stop()
    await work
    return time.perf_counter() - began


async def recorded(engine: Engine, folder: Path) -> float:
    """Milliseconds of CPU to record a request, with what compresses and stores it."""
    session = await engine.sessions.create(
        folder=str(folder), agent="Bench", provider="anthropic", model="sim-model"
    )
    recorder = engine.services.exchanges.recorder(session.info.id)
    chance, words = random.Random(7), (folder / "bench.md").read_text().split()
    said = [" ".join(chance.choices(words, k=150)) for _ in range(REQUESTS)]
    answer = "\n".join(f"data: {word}" for word in chance.choices(words, k=700)).encode()
    bodies = [json.dumps({"messages": said[:at]}).encode() for at in range(1, REQUESTS + 1)]
    began = time.process_time()
    for at, body in enumerate(bodies):
        recorder.begin("turn", str(at), dict)
        recorder.take(Exchange("POST", "https://x/v1/messages", body, 200, (), answer), ())
        await asyncio.sleep(0)
    await recorder.settled()
    return (time.process_time() - began) * 1000 / REQUESTS


def checked() -> float:
    """Milliseconds of CPU to check a file of 200 steps."""
    text, known = text_of(graph(5)[0], 8), KnownNames(["Bench"], tools=["read"])
    began = time.process_time()
    found = check_workflow(read_workflow_text(text, "bench", "bench.md"), known)
    spent = (time.process_time() - began) * 1000
    if any(found.errors):
        raise SystemExit(f"the file has mistakes: {[*found.errors]}")
    return spent


async def measured(home: Path, url: str, rounds: int) -> list[Row]:
    folder = home / "work"
    folder.mkdir(parents=True)
    runs, bare, kept = list[Cost](), list[Cost](), list[float]()
    async with opened(home, "anthropic", url) as engine:
        (engine.paths.agents / "bench.md").write_text("---\nname: Bench\ntools: []\n---\nWork.\n")
        await as_sessions(engine, folder)
        for _ in range(rounds):
            runs.append(await as_run(engine, folder))
            bare.append(await as_sessions(engine, folder))
            kept.append(await recorded(engine, folder))
        steps, critical = graph(3)
        runner = await begun(engine, folder, text_of(steps, 100))
        began = time.perf_counter()
        await carried_out(runner)
        span = time.perf_counter() - began
        by_hand = await bare_makespan(engine, folder, steps)
        stop = await stopped(engine, folder)
    out: list[Row] = []
    for kind, words in (("clock", "clock"), ("cpu", "CPU of all threads")):
        ours, other = ([getattr(one, kind) for one in found] for found in (runs, bare))
        own = middle(a - b for a, b in zip(ours, other, strict=True))
        out += [
            Row(f"a step of a run, {words}", middle(ours), middle(other), "ms", "", "a session"),
            Row(f"the run's own of that, {words}", own, None, "ms", "< 3 ms"),
        ]
    least = min(checked() for _ in range(rounds))
    against = "the longest way through it"
    return [
        *out,
        Row("a request recorded, CPU of all threads", middle(kept), None, "ms", "< 0.5 ms"),
        Row(f"{LONG} steps, makespan", span, critical, "s", "<= 1.02 x", against),
        Row(f"{LONG} steps, makespan", span, by_hand, "s", "<= 1.02 x", "their sessions alone"),
        Row(f"{BUSY} agents at work stopped", stop, None, "s", "< 1 s"),
        Row(f"a file of {LONG} steps checked, CPU, least", least, None, "ms", "<= 50 ms"),
    ]


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve())
        return
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    rounds = counts[0] if counts else 2 if quick() else 5
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server, tempfile.TemporaryDirectory() as folder:
        assert server.stdout is not None
        url: str = json.loads(server.stdout.readline())
        show(asyncio.run(measured(Path(folder) / "home", url, rounds)))


if __name__ == "__main__":
    main()
