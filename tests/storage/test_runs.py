"""Saved runs: what they did, the files they run by, and who carries them out (W-13, W-15)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.domain.errors import StorageError
from studio.domain.run_events import RunEvent, RunStarted, StepFinished, StepStarted
from studio.domain.runs import Run
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.runs import NewRun, RunInUse, RunStore


@contextlib.asynccontextmanager
async def store(home: Path) -> AsyncIterator[tuple[RunStore, Database]]:
    database = Database(home / "s.db", MIGRATIONS)
    await database.open()
    try:
        yield RunStore(database), database
    finally:
        await database.close()


async def begin(runs: RunStore, run_id: str = "r1", text: str = "steps") -> Run:
    run = Run()
    started = RunStarted(run_id, "Release", f"digest of {text}", "a.md", "/work")
    run.apply(1.0, await runs.create(NewRun(started, text), 1.0))
    return run


async def add(runs: RunStore, run: Run, at: float, *events: RunEvent) -> None:
    for event in events:
        run.apply(at, event)
    await runs.append(run, at, events)


async def test_w15_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, _):
        run = await begin(runs)
        await add(runs, run, 2.0, StepStarted("a", session_id="s"))
        await add(runs, run, 3.0, StepFinished("a", text="\udfff", tokens=5, dollars=0.25))
    async with store(tmp_path) as (runs, _):
        again = Run(await runs.events("r1"))
        assert again.steps == run.steps and again.began == 1.0
        assert await runs.text(again.started.digest) == "steps"  # type: ignore[union-attr]
        (info,) = await runs.list()
        assert (info.id, info.tokens, info.dollars, info.updated) == ("r1", 5, 0.25, 3.0)
        assert not info.live and info.state == "running"
        assert await runs.events("r2") == []


async def test_runs_of_one_workflow_are_numbered_and_found_by_their_beginning(
    tmp_path: Path,
) -> None:
    async with store(tmp_path) as (runs, _):
        found = [await begin(runs, run_id) for run_id in ("aa1", "ab2", "b%3")]
        assert [run.started.number for run in found] == [1, 2, 3]  # type: ignore[union-attr]
        assert {info.id for info in await runs.list(start="a")} == {"aa1", "ab2"}
        assert [info.id for info in await runs.list(start="b%")] == ["b%3"]


async def test_w13_one_program_at_a_time_carries_out_a_run(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, _), store(tmp_path) as (others, _):
        run = await begin(runs)
        assert (await others.list())[0].live
        with pytest.raises(RunInUse):
            await others.claim("r1")
        with pytest.raises(RunInUse):  # not even by mistake
            await add(others, Run(await others.events("r1")), 2.0, StepStarted("a"))
        assert len(await runs.events("r1")) == 1
        await runs.release("r1")
        await others.claim("r1")
        with pytest.raises(RunInUse):
            await add(runs, run, 2.0, StepStarted("a"))
        with pytest.raises(StorageError):
            await runs.claim("nothing")


async def test_w13_the_claim_of_a_program_that_ended_does_not_count(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, _):
        await begin(runs)
    async with store(tmp_path) as (runs, _):
        await runs.claim("r1")


async def test_a_run_that_cannot_be_read_is_not_guessed(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, database):
        await begin(runs)
        await database.execute("UPDATE run_events SET body = ?", '{"event": "unheard_of"}')
        with pytest.raises(StorageError, match="cannot be read"):
            await runs.events("r1")


async def test_files_that_no_run_has_go_with_the_last(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, database):
        for run_id in ("a", "b"):
            await begin(runs, run_id)
        await runs.delete("a")
        assert await runs.text("digest of steps") == "steps"
        await runs.delete("b")
        assert await database.rows("SELECT * FROM run_files") == []
        assert await database.rows("SELECT * FROM run_events") == []


async def test_w66_the_runs_of_a_file_say_what_began_them(tmp_path: Path) -> None:
    async with store(tmp_path) as (runs, database):
        for run_id, source, trigger in (("a", "x.md", "manual"), ("b", "x.md", "schedule")):
            started = RunStarted(run_id, "Notes", "d", source, trigger=trigger)
            await runs.create(NewRun(started, "steps"), 5.0 + ord(run_id))
        await begin(runs, "c")
        assert [(one.id, one.trigger) for one in await runs.list(source="x.md")] == [
            ("b", "schedule"),
            ("a", "manual"),
        ]
        # A run of an older version says nothing of it: a person began it.
        await database.execute("UPDATE run_events SET body = json_remove(body, '$.trigger')")
        assert {one.trigger for one in await runs.list()} == {"manual"}
        assert len(await runs.events("a")) == 1 and not await runs.events("a", 1)
