"""Triggers begin runs at their times, once, and only where the person switched them on (W-9)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule
from studio.domain.workflows import WorkflowTrigger
from studio.storage.triggers import TriggerMark, TriggerStore
from studio.workflows.reader import read_workflow_text
from studio.workflows.trigger_clock import LONGEST, TriggerClock, Triggers, UnattendedRuns
from studio.workflows.triggers import last_time, next_time
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.waiting import until, within
from support.workflow_home import workflow, write

BERLIN = "Europe/Berlin"
HOUR = 3600.0
STEPS = "  - {id: note, set: {n: 1}}"


def at(text: str, zone: str = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, ZoneInfo(BERLIN)).isoformat()


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # 2026-03-29: two o'clock is three o'clock.
        ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]),
        ("0 9 * * *", "2026-03-28T12:00", ["2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"]),
        ("*/30 * * * *", "2026-03-29T01:15", ["2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"]),
        # 2026-10-25: the hour from two to three comes twice.
        ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("0 * * * *", "2026-10-25T01:30", ["2026-10-25T02:00:00+02:00", "2026-10-25T02:00:00+01:00"]),
        ("0 9 29 2 *", "2026-01-01T00:00", ["2028-02-29T09:00:00+01:00"]),
    ],
)  # fmt: skip
def test_w9_times_of_a_schedule_over_changes_of_the_clock(
    cron: str, start: str, expected: list[str]
) -> None:
    trigger = WorkflowTrigger(cron, BERLIN)
    now = at(start)
    for one in expected:
        now = next_time(trigger, now)
        assert shown(now) == one
        assert last_time(trigger, now) == now == last_time(trigger, now + 59)
        assert last_time(trigger, now - 1) < now


def test_w9_mistakes_in_triggers_are_told() -> None:
    def problems(triggers: str) -> list[str]:
        found = read_workflow_text(workflow(STEPS, f"triggers: {triggers}\n"))
        return [one.message for one in found.problems]

    assert (
        problems("[{schedule: 0 9 * * 1-5, zone: Europe/Berlin, catch_up: one, per_day: 3}]") == []
    )
    (fields,) = problems("[{schedule: 0 9 * *}]")
    assert "five fields" in fields
    (bad,) = problems("[{schedule: 0 25 * * *}]")
    assert "Bad hour" in bad
    (never,) = problems("[{schedule: 0 0 31 2 *}]")
    assert "day" in never
    (zone,) = problems("[{schedule: 0 9 * * *, zone: Europe/Berln}]")
    assert "no time zone Europe/Berln" in zone
    (missing,) = problems("[{zone: Europe/Berlin}]")
    assert "either “schedule” or “change”" in missing
    (both,) = problems("[{schedule: 0 9 * * *, change: '*.md'}]")
    assert both == missing
    (glob,) = problems("[{change: ['*.md', '[z-a]']}]")
    assert "no glob pattern" in glob
    (key,) = problems("[{schedule: 0 9 * * *, cach_up: one}]")
    assert "cach_up" in key


class Home:
    """A studio with a clock that the test sets."""

    def __init__(self, studio: EngineHome) -> None:
        self.studio = studio
        self.now = at("2026-11-26T08:00")
        self.triggers = Triggers(studio.engine, lambda: self.now)
        self.runs = UnattendedRuns(studio.engine)
        self.clock = self.another_clock()
        self.told: list[str] = []
        studio.engine.on_problem(self.told.append)

    def another_clock(self) -> TriggerClock:
        return TriggerClock(self.studio.engine, self.runs.begin, lambda: self.now)

    def file(self, trigger: str, steps: str = STEPS, top: str = "") -> Path:
        triggers = f"triggers:\n  - {{{trigger}, zone: {BERLIN}}}\n"
        return write(self.studio.folder, "story", workflow(steps, top + triggers))

    async def switch_on(self, trigger: str, steps: str = STEPS) -> Path:
        path = self.file(trigger, steps)
        await self.studio.engine.rules.trust(self.studio.folder)
        await self.triggers.switch_on(path, self.studio.folder)
        return path

    async def look(self, time: str) -> float:
        """Look at a time; runs that this begins have ended or wait."""
        self.now = at(time)
        wait = await self.clock.look()
        async with within():
            await self.runs.settled()
        return wait

    async def begun(self) -> list[tuple[str, str]]:
        found = await WorkflowRuns(self.studio.engine).store.list()
        return [(one.trigger, one.state) for one in found]


@contextlib.asynccontextmanager
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with engine_home(tmp_path, "ollama", []) as studio:
        one = Home(studio)
        yield one
        await one.runs.close()


async def test_w9_a_schedule_begins_a_run_at_its_time_and_once(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        await one.switch_on("schedule: 0 9 * * *")
        assert await one.look("2026-11-26T08:59:30") == 30
        assert await one.begun() == []
        assert await one.look("2026-11-26T09:00:00") == LONGEST
        assert await one.begun() == [("schedule", "done")]
        await one.look("2026-11-26T09:00:01")
        assert len(await one.begun()) == 1
        await one.look("2026-11-27T09:00:02")
        assert len(await one.begun()) == 2 and not one.told


@pytest.mark.parametrize(("catch_up", "begun"), [("none", 0), ("one", 1)])
async def test_w9_times_that_passed_while_nothing_was_open(
    tmp_path: Path, catch_up: str, begun: int
) -> None:
    async with home(tmp_path) as one:
        await one.switch_on(f"schedule: 0 9 * * *, catch_up: {catch_up}")
    async with home(tmp_path) as one:
        await one.look("2026-11-30T12:00")  # four times have passed
        assert len(await one.begun()) == begun
        await one.look("2026-11-30T12:01")
        assert len(await one.begun()) == begun
        await one.look("2026-12-01T09:00")
        assert len(await one.begun()) == begun + 1


async def test_w9_an_edit_switches_off(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        path = await one.switch_on("schedule: 0 9 * * *")
        path.write_text(path.read_text() + "\nMore words.\n")
        await one.look("2026-11-26T09:00")
        assert await one.begun() == [] == await one.triggers.store.all()
        (told,) = one.told
        assert str(path) in told and "the file was changed" in told
        await one.look("2026-11-27T09:00")
        assert await one.begun() == [] and len(one.told) == 1


async def test_w9_a_file_that_is_away_is_not_edited(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        path = await one.switch_on("schedule: 0 9 * * *")
        aside = path.rename(path.with_suffix(".away"))
        await one.look("2026-11-26T09:00")
        aside.rename(path)
        await one.look("2026-11-26T09:00:30")
        assert len(await one.begun()) == 1 and not one.told


async def test_w9_two_programs_begin_one_run(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        await one.switch_on("schedule: 0 9 * * *")
        store, (mark,) = one.triggers.store, await one.triggers.store.all()
        due, day = at("2026-11-26T09:00"), "2026-11-26"
        # Both have read the same mark before one of them wrote.
        assert await store.claim(mark, due, "", day, 5)
        assert not await store.claim(mark, due, "", day, 5)
        assert not await TriggerStore(one.studio.engine.database).advance(mark, due)
        await one.look("2026-11-26T09:00")
        await one.another_clock().look()
        assert await one.begun() == []
        await one.look("2026-11-27T09:00")
        await one.another_clock().look()
        assert len(await one.begun()) == 1


async def test_w9_a_day_has_no_more_runs_than_the_file_says(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        await one.switch_on("schedule: 0 * * * *, per_day: 2")
        for hour in range(9, 13):
            await one.look(f"2026-11-26T{hour:02}:00")
        assert len(await one.begun()) == 2
        await one.look("2026-11-27T00:00")
        assert len(await one.begun()) == 3


async def test_w9_what_needs_a_yes_waits_for_the_person(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        await one.switch_on("schedule: 0 9 * * *", "  - {id: yes, approve: Go on?}")
        await one.look("2026-11-26T09:00")
        assert await one.begun() == [("schedule", "needs_you")]
        (run_id,) = await WorkflowRuns(one.studio.engine).store.waiting()
        runner = await WorkflowRuns(one.studio.engine).open(run_id)
        ((_, question),) = runner.run.questions
        await runner.answer(question.id, True)
        async with within():
            assert (await runner.carry_out()).state == "done"


async def test_w9_files_of_a_folder_begin_nothing_before_it_is_trusted(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        rules, folder = one.studio.engine.rules, one.studio.folder
        path = one.file("schedule: 0 9 * * *")
        with pytest.raises(ConfigurationError, match="do not trust"):
            await one.triggers.switch_on(path, folder)
        assert await one.triggers.store.all() == []
        await rules.trust(folder)
        await one.triggers.switch_on(path, folder)
        await rules.untrust(folder)
        await one.look("2026-11-26T09:00")
        assert await one.begun() == [] == await one.triggers.store.all()
        assert "do not trust" in one.told[0]


async def test_w9_what_cannot_run_by_itself_is_not_switched_on(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        await one.studio.engine.rules.trust(one.studio.folder)
        path = one.file("schedule: 0 9 * * *", top="inputs: {about: {required: true}}\n")
        with pytest.raises(ConfigurationError, match="about"):
            await one.triggers.switch_on(path, one.studio.folder)
        path = write(one.studio.folder, "story", workflow(STEPS))
        with pytest.raises(ConfigurationError, match="has no “triggers”"):
            await one.triggers.switch_on(path, one.studio.folder)


async def test_w9_a_text_that_changes_between_the_look_and_the_run_does_not_run(
    tmp_path: Path,
) -> None:
    async with home(tmp_path) as one:
        path = await one.switch_on("schedule: 0 9 * * *")
        (mark,) = await one.triggers.store.all()
        path.write_text(path.read_text() + "\nMore words.\n")
        await one.clock._begin_run(mark, "schedule")
        assert await one.begun() == [] and "was changed meanwhile" in one.told[0]


async def test_w9_the_terminal_switches_triggers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with home(tmp_path) as one:
        path = one.file("schedule: 0 9 * * *, per_day: 3")
        words = ("workflow", "triggers", str(path), "--folder", str(one.studio.folder))
        command = one.studio.command
        assert await command(*words) == 0
        assert capsys.readouterr().out.startswith("off  0 9 * * *  Europe/Berlin")
        await one.studio.engine.rules.trust(one.studio.folder)
        assert await command(*words[:3], "on", *words[3:]) == 0
        told = capsys.readouterr().out
        assert told.startswith("on   0 9 * * *  Europe/Berlin  next ") and "0 of 3 runs" in told
        path.write_text(path.read_text() + "\nMore words.\n")
        assert await command(*words) == 0
        assert capsys.readouterr().out.startswith("off")
        assert await command(*words[:3], "off", *words[3:]) == 0
        assert "Switched off." in capsys.readouterr().err
        assert await one.triggers.store.all() == []


async def test_w9_the_terminal_begins_runs_until_it_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with home(tmp_path) as one:
        one.now = at("2020-11-01T00:00")  # on for years, by the clock of the computer
        await one.switch_on("schedule: 0 0 1 1 *, catch_up: one")
        watching = asyncio.create_task(one.studio.command("workflow", "watch"))
        said: list[str] = []

        def has_begun() -> bool:
            said.append(capsys.readouterr().err)
            return "A run of story.md has begun" in "".join(said)

        await until(has_begun)
        signal.raise_signal(signal.SIGTERM)
        async with within():
            assert await watching == 0
        ((trigger, _),) = await one.begun()
        assert trigger == "schedule"


class Watched:
    """A studio with a trigger for changes of texts, whose clock looks every three seconds."""

    def __init__(self, one: Home) -> None:
        self.one, self.folder = one, one.studio.folder
        self.seconds = 0

    async def look(self, times: int = 2) -> list[tuple[str, str]]:
        """Look until a change would have begun a run; what has begun."""
        for _ in range(times):
            self.seconds += 3
            await self.one.look(f"2026-11-26T09:{self.seconds // 60:02}:{self.seconds % 60:02}")
        return await self.one.begun()


async def test_w9_a_changed_file_begins_a_run_when_all_is_quiet(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        watched, folder = Watched(one), one.studio.folder
        (folder / "docs").mkdir()
        (folder / "docs" / "a.txt").write_text("a")
        await one.switch_on("change: ['docs/**/*.{txt,md}', x.txt]")
        assert await watched.look() == []
        (folder / "other.txt").write_text("not watched")
        (folder / ".x.txt").write_text("begins with a dot")
        assert await watched.look() == []
        (folder / "docs" / "b.md").write_text("b")
        assert await watched.look(1) == [], "it may change again"
        (folder / "docs" / "b.md").write_text("b and more")
        assert await watched.look(1) == [], "it did"
        assert await watched.look(1) == [("change", "done")]
        assert len(await watched.look()) == 1
        (folder / "docs" / "a.txt").unlink()
        assert len(await watched.look()) == 2 and not one.told


async def test_w9_what_a_run_writes_begins_no_other(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        watched, folder = Watched(one), one.studio.folder
        await one.studio.engine.services.rules.add(Rule.parse("run(*)"), None)
        await one.switch_on("change: '*.txt'", "  - {id: note, run: 'echo n >> log.txt'}")
        await watched.look()
        (folder / "x.txt").write_text("x")
        assert await watched.look() == [("change", "done")]
        assert (folder / "log.txt").is_file()
        assert len(await watched.look(3)) == 1
        (folder / "log.txt").write_text("of the person")
        assert len(await watched.look()) == 2 and not one.told


@pytest.mark.parametrize(("catch_up", "begun"), [("none", 0), ("one", 1)])
async def test_w9_files_that_changed_while_nothing_was_open(
    tmp_path: Path, catch_up: str, begun: int
) -> None:
    async with home(tmp_path) as one:
        await one.switch_on(f"change: '*.txt', catch_up: {catch_up}, per_day: 2")
    async with home(tmp_path) as one:
        watched, file = Watched(one), one.studio.folder / "x.txt"
        file.write_text("x")
        os.utime(file, (0, at("2026-11-26T08:30")))
        assert len(await watched.look()) == begun
        for number in range(3):
            file.write_text("x" * (number + 2))
            await watched.look()
        assert len(await one.begun()) == 2


async def test_w9_of_two_programs_one_begins_the_run_of_a_change(tmp_path: Path) -> None:
    async with home(tmp_path) as one:
        watched, other = Watched(one), one.another_clock()
        await one.switch_on("change: '*.txt'")
        await watched.look()
        await other.look()
        (one.studio.folder / "x.txt").write_text("x")
        for _ in range(2):
            await watched.look(1)
            await other.look()
        assert await one.begun() == [("change", "done")]


def test_w9_a_mark_counts_for_its_day() -> None:
    mark = TriggerMark("a.md", "/work", 0, "d", 1.0, day="2026-11-26", begun=3)
    assert (mark.begun_on("2026-11-26"), mark.begun_on("2026-11-27")) == (3, 0)
