"""One program at a time works in a session, however exactly two begin at once (H-1, H-5)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.agent.session.session_state import SessionInUse as TakenElsewhere
from studio.domain import events as ev
from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.messages import Text as Words
from studio.domain.sessions import SessionInfo
from studio.simulator import RequestView, Text, Turn, stall
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.session_lock import ExternalActivity
from studio.storage.sessions.store import SessionStore
from support.engine_home import EngineHome, engine_home
from support.fork_server import start_python
from support.waiting import HANG, within

FREE, WORKING, WENT_ON = (
    ExternalActivity(False, False),
    ExternalActivity(True, False),
    ExternalActivity(False, True),
)
OLLAMA = "ollama"

# --- two programs -----------------------------------------------------------------------------

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from studio.agent.retry_policy import RetryPolicy
from studio.app import build
from studio.domain.errors import ConfigurationError
from studio.domain.events import TurnComplete
from studio.domain.messages import Text
from studio.storage.paths import Paths
from studio.storage.config.settings import SettingsFile

async def main():
    paths = Paths.below(Path(sys.argv[1]))
    settings = SettingsFile(paths.settings)
    await settings.load()
    settings.values.base_urls["ollama"] = sys.argv[2]
    engine = await build(paths, settings)
    engine.services.retry_policy = RetryPolicy(attempts=1)
    loop = asyncio.get_running_loop()
    say = lambda *words: print(*words, flush=True)
    say("up")

    async def go(session):
        last = None
        try:
            async for last in session.turn([Text("Go")]):
                pass
        except ConfigurationError as error:
            say("refused:", error)
        else:
            say(last.event.reason)

    doing = None
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        word = json.loads(line)
        if word == "go":
            doing = asyncio.create_task(go(session))
        elif word == "stop":
            session.stop()
        else:
            session = await engine.sessions.open(word)
            say("open")
    await engine.close()

asyncio.run(main())
"""


class Program:
    """Another program with its own studio, which does what it is told."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdin is not None and process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def tell(self, word: str) -> None:
        self._stdin.write(json.dumps(word).encode() + b"\n")

    async def heard(self) -> str:
        async with within():
            return (await self._stdout.readline()).decode().strip()

    async def opens(self, session_id: str) -> None:
        self.tell(session_id)
        assert await self.heard() == "open"

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


@contextlib.asynccontextmanager
async def program(home: EngineHome) -> AsyncIterator[Program]:
    process = await start_python(
        *("-c", PROGRAM, str(home.engine.paths.data), home.simulator.url(OLLAMA)),
        stdin=asyncio.subprocess.PIPE,
        stderr=None,
    )
    started = Program(process)
    try:
        assert await started.heard() == "up"
        yield started
    finally:
        await started.kill()


def rows(home: EngineHome, query: str, *values: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(home.engine.paths.database)) as db:
        return [row[0] for row in db.execute(query, values)]


TURNS = "SELECT reason FROM turns WHERE session_id = ? ORDER BY id"
SAID = """SELECT body FROM native WHERE session_id = ?1 AND epoch =
    (SELECT max(epoch) FROM epochs WHERE session_id = ?1) ORDER BY seq"""
ROUNDS = 8


async def test_two_programs_that_begin_at_the_same_instant(tmp_path: Path) -> None:
    """H-1: one works and the other one says so; neither history has anything of both."""
    slowly, done = Turn(Text("Slowly."), faults=[stall()]), Turn(Text("Done."))
    answers = [slowly]
    async with engine_home(tmp_path, OLLAMA, lambda _: answers[0]) as home:
        async with program(home) as one, program(home) as other:
            session_id = (await home.session()).info.id
            for number in range(ROUNDS):
                for each in (one, other):
                    await each.opens(session_id)
                for each in (one, other):
                    each.tell("go")
                hearing = {asyncio.ensure_future(p.heard()): p for p in (one, other)}
                # The one that works hears nothing more before it is told to stop.
                [first], [still] = await asyncio.wait(
                    hearing, return_when=asyncio.FIRST_COMPLETED, timeout=HANG
                )
                assert first.result() == (
                    "refused: Another window or terminal is working in this chat. Wait for it."
                )
                hearing[still].tell("stop")
                assert await still == "cancelled"
                assert rows(home, TURNS, session_id) == ["cancelled"] * (number + 1)
                assert rows(home, "SELECT count(*) FROM claims") == [0]
            answers[0] = done
            for each in (one, other):
                await each.opens(session_id)
            one.tell("go")
            assert await one.heard() == "done"
            other.tell("go")  # it has the chat open as it was
            assert await other.heard() == (
                "refused: Another window or terminal went on with this chat. Open it again."
            )
            await other.opens(session_id)
            other.tell("go")
            assert await other.heard() == "done"
        said = [json.loads(body)["role"] for body in rows(home, SAID, session_id)]
        assert said[-4:] == ["user", "assistant"] * 2
        assert not home.simulator.violations


async def test_the_one_that_is_refused_goes_on_when_the_other_was_killed(tmp_path: Path) -> None:
    """H-5: a program that is gone has no claim on anything."""
    at_it = asyncio.Event()

    def script(view: RequestView) -> Turn:
        at_it.set()
        return Turn(Text("Done."), faults=[] if "now" in view.last_user else [stall()])

    async with engine_home(tmp_path, OLLAMA, script) as home:
        session = await home.session()
        async with program(home) as one:
            await one.opens(session.info.id)
            one.tell("go")
            async with within():
                await at_it.wait()
            with pytest.raises(TakenElsewhere, match="is working in this chat"):
                await anext(session.turn([Words("And I?")]))
            with pytest.raises(TakenElsewhere, match="is working in this chat"):
                await session.context.compact()
            with pytest.raises(TakenElsewhere, match="is working in this chat"):
                await session.undo_turn("t")
            for moment in range(8):  # stopped before the claim, while it is made, and after
                begun = asyncio.ensure_future(anext(session.turn([Words("And I?")])))
                for _ in range(moment):
                    await asyncio.sleep(0)
                session.stop()
                with pytest.raises(TakenElsewhere, match="is working in this chat"):
                    await begun
            assert rows(home, TURNS, session.info.id) == [None], "nothing is told in its chat"
            await one.kill()
        session = await home.engine.sessions.open(session.info.id)
        events = [one.event async for one in session.turn([Words("And now?")])]
        assert isinstance(events[-1], ev.TurnComplete) and events[-1].reason == "done"
        assert rows(home, TURNS, session.info.id) == ["error", "done"]
        assert rows(home, "SELECT count(*) FROM claims") == [0]
        assert not home.simulator.violations


# --- what a session does with its claim -------------------------------------------------------


async def test_a_claim_ends_with_what_it_was_for(tmp_path: Path) -> None:
    """Done, stopped, not prepared, refused: the session is free again, at once."""
    script = [Turn(Text("One.")), Turn(Text("Slowly."), faults=[stall()])]
    async with engine_home(tmp_path, OLLAMA, script) as home:
        session = await home.session()

        def free() -> bool:
            return rows(home, "SELECT count(*) FROM claims") == [0]

        def held() -> bool:
            return rows(home, "SELECT session_id FROM claims") == [session.info.id]

        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            if isinstance(event, ev.TurnComplete):
                await session.flush()
                assert free(), "whoever sees the end can begin"
            else:
                assert held()
        assert free()
        await session.context.compact()
        assert free()
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            if isinstance(event, ev.StepStarted):
                session.stop()
        assert free()
        database, gate = home.engine.database, threading.Event()
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            if isinstance(event, ev.TurnStarted):
                database.submit(lambda _: gate.wait(60))
            elif isinstance(event, ev.StepStarted):
                session.stop()  # while what was said is on its way to the disk
            elif isinstance(event, ev.TurnComplete):
                assert held()
                gate.set()
        assert free()
        model = session.info.model
        await session.change(model="")
        [*_, end] = [one.event async for one in session.turn([Words("Go")])]
        assert isinstance(end, ev.TurnComplete) and end.reason == "error" and free()
        with pytest.raises(ConfigurationError, match="Nothing is known"):
            await session.undo_turn("no such turn")
        assert free()
        await session.change(model=model)
        turn = session.turn([Words("Go")])
        begun = asyncio.ensure_future(anext(turn))
        await asyncio.sleep(0)
        session.stop()  # while it is being made
        await begun
        await turn.aclose()
        assert free()


# --- the claim itself -------------------------------------------------------------------------


def info(session_id: str) -> SessionInfo:
    return SessionInfo(session_id, "A chat", "/x", "Coder", OLLAMA, "m", "ask", 1.0, 2.0)


class Programs:
    """Three that have one file open, each as a program of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.databases = [Database(path, MIGRATIONS) for _ in range(3)]
        self.stores = [SessionStore(database) for database in self.databases]
        self.number = 0

    async def start(self) -> None:
        for database in self.databases:
            await database.open()

    async def restart(self, which: int) -> None:
        """It dies and begins anew: what it held it holds no more."""
        await self.databases[which].close()
        self.databases[which] = Database(self.path, MIGRATIONS)
        await self.databases[which].open()
        self.stores[which] = SessionStore(self.databases[which])

    async def stop(self) -> None:
        for database in self.databases:
            await database.close()

    async def session(self) -> str:
        self.number += 1
        session_id = f"s{self.number}"
        await self.stores[0].create(info(session_id))
        for store in self.stores:
            store.journal(session_id).newest = 0
        return session_id


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, Programs]]:
    three = Programs(tmp_path_factory.mktemp("claims") / "s.db")
    with asyncio.Runner() as runner:
        runner.run(three.start())
        yield runner, three
        runner.run(three.stop())


def test_of_many_that_take_a_session_at_once_one_has_it(programs: tuple[Any, Programs]) -> None:
    runner, three = programs

    async def go() -> None:
        for _ in range(100):
            session_id = await three.session()
            journals = [store.journal(session_id) for store in three.stores]
            found = await asyncio.gather(*(journal.claim() for journal in journals))
            assert sorted(found, key=str) == sorted([FREE, WORKING, WORKING], key=str)
            assert [journal.claimed for journal in journals] == [one == FREE for one in found]

    runner.run(go())


OPERATIONS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(["claim", "claim", "work", "leave", "open", "die"])
    ),
    max_size=25,
)


@settings(max_examples=30, deadline=None)
@given(operations=OPERATIONS)
def test_never_two_and_never_behind(
    programs: tuple[Any, Programs], operations: list[tuple[int, str]]
) -> None:
    """Whatever programs do in turn: who has a session has it alone and has seen all of it."""
    runner, three = programs

    async def go() -> None:
        session_id = await three.session()
        stored = 0
        knows = [0, 0, 0]
        holder: int | None = None
        for which, what in operations:
            store = three.stores[which]
            journal = store.journal(session_id)
            if what == "claim":
                taken = holder not in (None, which)
                found = await journal.claim()
                assert found == ExternalActivity(taken, knows[which] != stored)
                holder = which if found == FREE else holder
            elif what == "work" and holder == which:
                journal.append(ev.Notice(f"{which}"))
                stored += 1
                knows[which] = stored
            elif what == "leave":
                journal.release()
                await journal.flush()
                holder = None if holder == which else holder
            elif what == "open":
                knows[which] = journal.newest = await store.newest(session_id)
            elif what == "die":
                await journal.flush()
                await three.restart(which)
                journal = three.stores[which].journal(session_id)
                knows[which] = journal.newest = stored
                holder = None if holder == which else holder
            await journal.flush()
            assert [one.journal(session_id).claimed for one in three.stores] == [
                one == holder for one in range(3)
            ]
        assert len(await three.stores[0].events(session_id)) == stored

    runner.run(go())


async def test_a_session_is_let_go_with_the_last_word_or_not_at_all(tmp_path: Path) -> None:
    """A disk that fails at the end keeps the others out until everything is stored."""
    three = Programs(tmp_path / "s.db")
    await three.start()
    session_id = await three.session()
    mine, theirs = (store.journal(session_id) for store in three.stores[:2])
    database = three.databases[2]
    assert await mine.claim() == FREE
    await database.write(lambda db: db.execute("ALTER TABLE transcript RENAME TO away") and None)
    mine.append(ev.Notice("The end."))
    mine.release()
    with pytest.raises(StorageError):
        await mine.flush()
    await database.write(lambda db: db.execute("ALTER TABLE away RENAME TO transcript") and None)
    assert await theirs.claim() == WORKING
    await mine.flush()
    assert await theirs.claim() == WENT_ON
    theirs.newest = await three.stores[1].newest(session_id)
    assert await theirs.claim() == FREE
    # A release that waits is void once the session is taken again.
    theirs.release()
    assert await theirs.claim() == FREE
    await theirs.flush()
    assert await mine.claim() == WORKING
    await theirs.close()
    assert await mine.claim() == FREE
    await three.stores[2].delete(session_id)
    assert await mine.claim() == WENT_ON
    mine.newest = 0  # as of a session in which nothing was said yet
    with pytest.raises(StorageError, match="was deleted"):
        await mine.claim()
    await three.stop()
