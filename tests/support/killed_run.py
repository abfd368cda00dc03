"""A program that carries out a run in lives of its own, each killed at a random moment (W-15).

Everything is imported once; each life is a fork of that. It prints how each life ended, a line of
JSON each.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import signal
import sqlite3
import sys
import time
import traceback
from contextlib import closing, suppress
from pathlib import Path

from studio.app import build
from studio.domain.permissions import Rule
from studio.domain.run_events import RunEvent, StepAsked
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.storage.runs import RunInUse
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import KEY, give_time

KILLED = "killed"


async def life(home: Path, url: str) -> None:
    """Carry out the last run that has no end, or a new one."""
    paths, folder = Paths.below(home / "studio"), home / "work"
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    settings.values.base_urls["anthropic"] = url
    engine = await build(paths, settings)
    engine.keychain.keep_for_session("anthropic", KEY)
    await engine.services.rules.add(Rule.parse("run(*)"), None)
    runs = WorkflowRuns(engine)
    infos = [one for one in await runs.store.list() if one.state not in ("done", "failed")]
    if infos:
        runner = await opened(runs, infos[0].id)
        await runner.resume()
    else:
        path = folder / ".agents" / "workflows" / "story.md"
        options = RunOptions({}, provider="anthropic", model="sim-model")
        runner = await runs.start(path, folder, options)
    answers: list[asyncio.Task[None]] = []

    def listen(at: float, event: RunEvent) -> None:
        if isinstance(event, StepAsked) and event.question.kind == "unsure":
            answers.append(asyncio.create_task(answer(runner, event.question.id, folder)))

    runner.subscribe(listen)
    for one in [question.id for _, question in runner.run.questions if question.kind == "unsure"]:
        answers.append(asyncio.create_task(answer(runner, one, folder)))
    await runner.carry_out()
    await engine.close()


async def opened(runs: WorkflowRuns, run_id: str) -> Runner:
    """The run, once nothing of a killed program holds it: what that was starting just then has its
    files until it is another program."""
    while True:
        with suppress(RunInUse):
            return await runs.open(run_id)
        await asyncio.sleep(0.01)


async def answer(runner: Runner, question: str, folder: Path) -> None:
    """As a person who looks whether it happened: each run adds a line."""
    started = runner.run.started
    counter = folder / f"counter-{started.number if started else 0}"
    await runner.answer(question, "happened" if counter.exists() else "again")


def unfinished(home: Path) -> bool:
    file = home / "studio" / "studio.db"
    if not file.exists():
        return True
    with closing(sqlite3.connect(file)) as db:
        try:
            rows = db.execute("SELECT state FROM runs ORDER BY rowid DESC").fetchall()
        except sqlite3.OperationalError:  # it has no tables yet
            return True
    return any(state not in ("done", "failed") for (state,) in rows) or not rows


def how_far(home: Path) -> dict[str, int | str]:
    """The last run that is on the disk, its state there, and its events with those below it."""
    found = None
    with closing(sqlite3.connect(home / "studio" / "studio.db")) as db, suppress(sqlite3.Error):
        found = db.execute(
            """SELECT number, state, (SELECT count(*) FROM run_events) FROM runs
            WHERE source LIKE '%story.md' ORDER BY rowid DESC LIMIT 1"""
        ).fetchone()
    number, state, events = found or (0, "", 0)
    return {"run": number, "state": state, "events": events}


def main(home: Path, url: str, kills: int, seed: int) -> None:
    for name in ("anthropic", "anthropic.types", "genai_prices.data", "studio.providers.anthropic"):
        importlib.import_module(name)
    chance, longest, killed = random.Random(seed), 0.0, 0
    while killed < kills or unfinished(home):
        began = time.monotonic()
        if (child := os.fork()) == 0:
            try:
                asyncio.run(life(home, url))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        if killed < kills and longest:
            wait = chance.uniform(0.0, longest)
            while (over := os.waitpid(child, os.WNOHANG)) == (0, 0):
                if time.monotonic() - began >= wait:
                    os.kill(child, signal.SIGKILL)  # it is not reaped yet
                    over = os.waitpid(child, 0)
                    break
                time.sleep(0.001)
            status = over[1]
        else:
            _, status = os.waitpid(child, 0)
            longest = longest or time.monotonic() - began
        by_us = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if status and not by_us:
            raise SystemExit(f"a life ended with {status}")
        killed += by_us
        lived = round(time.monotonic() - began, 3)
        told = {"life": KILLED if by_us else "ended", "seconds": lived, **how_far(home)}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
