"""A child in the background works on a copy of the folder (W-24, W-38)."""

from __future__ import annotations

import asyncio
import gc
import json
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import pytest

from studio.agent.delegation.child_desk import bring_back, lay_desk
from studio.agent.loop.user_messages import CUT_OFF, INTERRUPTED
from studio.agent.session.session import Session
from studio.agent.session.sessions import Sessions
from studio.domain.blocks import NoticeBlock
from studio.domain.errors import StorageError
from studio.domain.events import AwaitingPermission, Event, Notice, ToolFinished
from studio.domain.messages import Text
from studio.simulator import Call, Pace, RequestView, Turn
from studio.simulator import Text as Says
from studio.storage.database import Database
from studio.storage.sessions.store import SessionStore
from support.delegation_home import agent, cast, delegate, save, says
from support.engine_home import EngineHome, engine_home
from support.waiting import until, within

LEAD = agent("Lead", "agents: [Helper]\npermissions: {allow: [delegate, write, 'run(*)']}")
HELPER = agent("Helper", "permissions: {allow: ['run(*)']}")
WORK = [
    Turn(Call("write", {"path": "new.txt", "content": "by the child\n"})),
    Turn(Call("run", {"command": "cat new.txt > seen.txt; echo more >> both.txt; rm gone.txt"})),
]


async def ready(home: EngineHome) -> None:
    if not (await home.engine.services.sandbox()).desks:
        pytest.skip("no sandbox here shows a desk")
    save(home.engine.paths.agents, LEAD, HELPER)
    home.engine.settings.values.default_permission_mode = "auto"
    for name in ("both.txt", "gone.txt"):
        (home.folder / name).write_text("as it was\n")


def names(home: EngineHome) -> dict[str, str]:
    return {one.name: one.read_text() for one in home.folder.iterdir() if one.is_file()}


async def test_w24_a_child_in_the_background_works_on_a_desk(tmp_path: Path) -> None:
    """Its caller changes the same file meanwhile; neither loses a line."""
    script = cast(
        Lead=[
            Turn(delegate("Helper", "work", background=True)),
            Turn(Call("write", {"path": "own.txt", "content": "by the caller\n"})),
            Turn(Call("wait", {"seconds": 600})),
            says("There."),
        ],
        Helper=[*WORK, says("Done.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await ready(home)
        session = await home.session("Lead")
        events: list[Event] = []
        async for envelope in session.turn([Text("Go")]):
            events.append(envelope.event)
            if isinstance(envelope.event, AwaitingPermission):
                session.answer_permission(envelope.event.question.id, "once")
        waited = [one.text for one in events if isinstance(one, ToolFinished)][-1]
        assert "new.txt" in waited and "seen.txt" in waited, waited
        before = {"both.txt": "as it was\n", "gone.txt": "as it was\n"}
        assert names(home) == {**before, "own.txt": "by the caller\n"}
        child = home.engine.delegation.of(session.info.id)[0].session
        waiting = {one.path: (one.action, one.after) for one in child.drafts.waiting_files()}
        assert waiting == {
            "new.txt": ("write", "by the child\n"),
            "seen.txt": ("write", "by the child\n"),
            "both.txt": ("write", "as it was\nmore\n"),
            "gone.txt": ("delete", ""),
        }
        assert not list((home.engine.paths.data / "desks").glob("*/folder"))
        ids = [one.id for one in child.drafts.waiting_files()]
        states = await child.review.decide_all("approve", ids)
        assert set(states.values()) == {"approved"}
        assert names(home) == {
            "own.txt": "by the caller\n",
            "new.txt": "by the child\n",
            "seen.txt": "by the child\n",
            "both.txt": "as it was\nmore\n",
        }


async def test_w24_what_it_did_is_there_though_its_program_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slow = Turn(Says("Slow."), pace=Pace(600.0, 1.0))
    script = cast(
        Lead=[Turn(delegate("Helper", "work", background=True)), says("Later.")],
        Helper=[*WORK, slow],
    )
    async with engine_home(tmp_path, "anthropic", script, pace=True) as home, within():
        await ready(home)
        session = await home.session("Lead")
        async for envelope in session.turn([Text("Go")]):
            if isinstance(envelope.event, AwaitingPermission):
                session.answer_permission(envelope.event.question.id, "once")
        desks = home.engine.paths.data / "desks"
        await until(lambda: list(desks.glob("*/folder/new.txt")), "its desk")
        await until(lambda: not list(desks.glob("*/folder/gone.txt")), "its command")
        child = home.engine.delegation.of(session.info.id)[0].session.info.id
        home.engine.delegation.tasks.cancel()
    async with engine_home(tmp_path, "anthropic", script) as home:
        assert await home.command("drafts", "list", "--json") == 0
        listed = json.loads(capsys.readouterr().out)
        found = {one["path"] for one in listed if one["session_id"] == child}
        assert found == {"new.txt", "seen.txt", "both.txt", "gone.txt"}
        assert "new.txt" not in names(home) and not list(desks.glob("*/folder"))


async def test_w16_what_it_was_doing_when_its_program_was_killed_is_told(tmp_path: Path) -> None:
    """Nobody knows whether that happened, so its chat says so."""
    script = cast(
        Lead=[Turn(delegate("Helper", "work", background=True)), says("Later.")],
        Helper=[Turn(Call("run", {"command": "echo it > began.txt; sleep 600"}))],
    )
    killed = tmp_path / "killed.db"
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await ready(home)
        session = await home.session("Lead")
        async for envelope in session.turn([Text("Go")]):
            if isinstance(envelope.event, AwaitingPermission):
                session.answer_permission(envelope.event.question.id, "once")
        desks, database = home.engine.paths.data / "desks", home.engine.paths.database
        await until(lambda: list(desks.glob("*/folder/began.txt")), "its command")
        child = home.engine.delegation.of(session.info.id)[0].session.info.id
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(killed)) as to:
            source.backup(to)
        home.engine.delegation.tasks.cancel()
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    killed.replace(database)
    async with engine_home(tmp_path, "anthropic", script) as home:
        await home.engine.delegation.bring_back_left()
        events = await home.engine.store.events(child)
        told = [one.text for one in events if isinstance(one, Notice)]
        assert told == [CUT_OFF.format(names="echo it > began.txt; sleep 600"), INTERRUPTED]
        above = (await home.engine.sessions.open(session.info.id)).transcript.blocks
        named = CUT_OFF.format(names="Helper: echo it > began.txt; sleep 600")
        assert [one.text for one in above if isinstance(one, NoticeBlock)] == [named]
        drafts = (await home.engine.sessions.open(child)).drafts.waiting_files()
        assert [one.path for one in drafts] == ["began.txt"]


Script: TypeAlias = Callable[[RequestView], Turn]
COMMAND = "echo it > began.txt; sleep 600"
DEEP = CUT_OFF.format(names=f"Middle: Helper: {COMMAND}")


async def killed_below(tmp_path: Path, *, background: bool) -> tuple[Script, str, Path]:
    """The script, the chat and the database of a program that was killed in a child's child."""
    script = cast(
        Lead=[Turn(delegate("Middle", "work", background=background)), says("Later.")],
        Middle=[Turn(delegate("Helper", "work"))],
        Helper=[Turn(Call("run", {"command": COMMAND}))],
    )
    killed = tmp_path / "killed.db"
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await ready(home)
        save(
            home.engine.paths.agents,
            agent("Lead", "agents: [Middle]\npermissions: {allow: [delegate, 'run(*)']}"),
            agent("Middle", "agents: [Helper]\npermissions: {allow: [delegate, 'run(*)']}"),
            agent("Helper", "desk: shared\npermissions: {allow: ['run(*)']}"),
        )
        session = await home.session("Lead")

        async def go() -> None:
            async for envelope in session.turn([Text("Go")]):
                if isinstance(envelope.event, AwaitingPermission):
                    session.answer_permission(envelope.event.question.id, "once")

        work = asyncio.ensure_future(go())
        places = home.folder, home.engine.paths.data / "desks"
        await until(lambda: any([*one.rglob("began.txt")] for one in places), "its command")
        if background:
            await work
        database = home.engine.paths.database
        assert len(await home.engine.store.descendants((session.info.id,))) == 2  # all is stored
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(killed)) as to:
            source.backup(to)
        session.stop()
        home.engine.delegation.stop(session.info.id)
        home.engine.delegation.tasks.cancel()
        await work
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    killed.replace(database)
    return script, session.info.id, database


@pytest.mark.parametrize("background", [False, True])
async def test_w16_a_chat_tells_what_children_of_its_children_may_have_done(
    tmp_path: Path, background: bool
) -> None:
    """Where it waited for them, and where its turn was over; once, and without looking at them."""
    script, chat, _ = await killed_below(tmp_path, background=background)
    for _ in range(2):  # the second time it is there already
        async with engine_home(tmp_path, "anthropic", script) as home:
            sessions = home.engine.sessions

            async def told(sessions: Sessions = sessions) -> list[str]:
                blocks = (await sessions.open(chat)).transcript.blocks
                return [one.text for one in blocks if isinstance(one, NoticeBlock)]

            for each in await asyncio.gather(told(), told()):  # none gets the chat before
                assert each == ([DEEP] if background else [INTERRUPTED, DEEP])
            await sessions._putting_away.settled()
            assert [*sessions._open] == [chat], "nobody looks at those that were opened to tell"


async def test_w16_a_child_and_the_chats_above_are_told_in_one_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is killed while it tells of it leaves all of it to the next one."""
    script, chat, database = await killed_below(tmp_path, background=True)
    seen: list[int] = []
    submit = Database.submit

    def look(_: object) -> None:  # after each transaction, before the next one
        with closing(sqlite3.connect(database)) as other:
            query = "SELECT count(*) FROM transcript WHERE body LIKE '%may have happened%'"
            seen.append(other.execute(query).fetchone()[0])

    def watched(db: Database, work: Callable[[sqlite3.Connection], object]) -> Future[object]:
        done = submit(db, work)
        done.add_done_callback(look)
        return done

    monkeypatch.setattr(Database, "submit", watched)
    async with engine_home(tmp_path, "anthropic", script) as home:
        await (await home.engine.sessions.open(chat)).flush()
    assert {*seen} - {0} == {3}, "the chat, the child and its child"


@pytest.mark.parametrize("fails", [False, True])
async def test_w16_it_is_told_though_the_one_who_opened_the_chat_left_or_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Another row was chosen meanwhile, say, or the files that were changed cannot be read."""
    script, chat, _ = await killed_below(tmp_path, background=False)
    find, found, gate = Session.find_changes, asyncio.Event(), asyncio.Event()

    async def held(session: Session) -> None:
        found.set()
        await gate.wait()
        await find(session)

    monkeypatch.setattr(Session, "find_changes", held)
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        sessions, db = home.engine.sessions, home.engine.services.store.changes._db
        opening = asyncio.ensure_future(sessions.open(chat))
        await found.wait()
        if fails:
            await db.execute("ALTER TABLE file_changes RENAME TO away")
            gate.set()
            with pytest.raises(StorageError):
                await opening
            await db.execute("ALTER TABLE away RENAME TO file_changes")
        else:
            opening.cancel()
            await asyncio.wait([opening])
            gate.set()
        blocks = (await sessions.open(chat)).transcript.blocks
        assert DEEP in [one.text for one in blocks if isinstance(one, NoticeBlock)]


async def test_w16_nobody_waits_until_those_that_told_are_put_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chat is there before, and one that is deleted meanwhile disturbs nothing."""
    script, chat, _ = await killed_below(tmp_path, background=True)
    close, closing_, gate = Session.close, asyncio.Event(), asyncio.Event()
    wrong: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))

    async def held(session: Session) -> None:
        first = not closing_.is_set()
        closing_.set()
        if first:
            await gate.wait()
        await close(session)

    monkeypatch.setattr(Session, "close", held)
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        sessions = home.engine.sessions
        await sessions.open(chat)
        await closing_.wait()
        await sessions.put_in_bin([chat])
        gate.set()
        await sessions.close()
        gc.collect()  # what a task raised and nobody heard is told of then
        assert not wrong and not sessions._open


async def test_w16_a_chat_above_that_is_closed_meanwhile_does_not_keep_a_child_from_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, chat, _ = await killed_below(tmp_path, background=True)
    looked = SessionStore.running_elsewhere
    async with engine_home(tmp_path, "anthropic", script) as home:
        sessions, store = home.engine.sessions, home.engine.store
        child = (await store.descendants((chat,)))[-1]

        async def look(stored: SessionStore, session_id: str) -> bool:
            if session_id == chat and len(sessions._open) == 2:  # those above are found
                await sessions.put_in_bin([chat])
            return await looked(stored, session_id)

        monkeypatch.setattr(SessionStore, "running_elsewhere", look)
        blocks = (await sessions.open(child)).transcript.blocks
        told = [one.text for one in blocks if isinstance(one, NoticeBlock)]
        assert CUT_OFF.format(names=COMMAND) in told


async def test_w24_what_stands_in_its_way_takes_nothing_of_it_silently(tmp_path: Path) -> None:
    """A file of the same name came meanwhile: a conflict. What no draft can hold is told of."""
    async with engine_home(tmp_path, "anthropic", cast()) as home:
        await ready(home)
        services, session = home.engine.services, await home.session("Helper")
        told: list[str] = []
        services.problem_listeners.append(told.append)
        desk = await lay_desk(services, await home.engine.agent("Helper", home.folder), session)
        assert desk is not None
        for place, words in ((desk.root, "by the child\n"), (home.folder, "by the person\n")):
            (place / "new.txt").write_text(words)
        (desk.root / "big.bin").write_bytes(bytes(8_000_001))
        (desk.root / "link").symlink_to("both.txt")
        names_, left = await bring_back(services, session, desk)
        assert names_ == ["new.txt"] and sorted(left) == ["big.bin", "link"]
        assert "big.bin" in told[0] and "link" in told[0]
        (draft,) = session.drafts.waiting_files()
        assert draft.after == "by the child\n"
        assert await session.review.decide_all("approve", [draft.id]) == {draft.id: "conflict"}
        assert names(home)["new.txt"] == "by the person\n"


async def test_w24_the_desk_of_a_child_is_its_own_programs(tmp_path: Path) -> None:
    """Another program that starts meanwhile leaves it alone, also where nothing was done yet."""
    async with engine_home(tmp_path, "anthropic", cast()) as home:
        await ready(home)
        services, session = home.engine.services, await home.session("Helper")
        desk = await lay_desk(services, await home.engine.agent("Helper", home.folder), session)
        async with engine_home(tmp_path, "anthropic", cast()) as other:
            await other.engine.delegation.bring_back_left()
            assert desk is not None and (desk.root / "both.txt").is_file()


async def test_w24_a_child_of_a_child_has_a_desk_of_its_own(tmp_path: Path) -> None:
    """It begins with what its caller did, and goes on after the end of that one."""
    script = cast(
        Lead=[Turn(delegate("Helper", "work", background=True)), says("Later.")],
        Helper=[*WORK, Turn(delegate("Third", "more", background=True)), says("Done.")],
        Third=[Turn(Call("run", {"command": "cat new.txt > third.txt"})), says("Done.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await ready(home)
        allow = "permissions: {allow: [delegate, write, 'run(*)']}"
        helper = agent("Helper", f"agents: [Third]\n{allow}")
        save(home.engine.paths.agents, helper, agent("Third", allow))
        session = await home.session("Lead")
        async for envelope in session.turn([Text("Go")]):
            if isinstance(envelope.event, AwaitingPermission):
                session.answer_permission(envelope.event.question.id, "once")
        delegation = home.engine.delegation
        (first,) = delegation.of(session.info.id)
        await first.ended.wait()
        (third,) = delegation.of(first.session.info.id)
        await third.ended.wait()
        made = {one.path: one.after for one in third.session.drafts.waiting_files()}
        assert made == {"third.txt": "by the child\n"}
        assert "third.txt" not in [one.path for one in first.session.drafts.waiting_files()]
