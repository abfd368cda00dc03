"""Versions of a chat: each keeps its own history, and all of them are one chat in lists."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.domain.blocks import UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, TurnComplete
from studio.domain.jsonvalue import JsonObject
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.storage.recovery.salvage import Losses
from studio.storage.sessions.mending import mend
from support.engine_home import EngineHome, engine_home, say

PROVIDERS = ("anthropic", "openai", "gemini")


def turns(session: Session) -> list[UserBlock]:
    return [block for block in session.transcript.blocks if isinstance(block, UserBlock)]


async def version(home: EngineHome, session: Session, turn: int) -> Session:
    """To edit the message of a turn in, or have it answered again."""
    turn_id = turns(session)[turn].turn_id
    return await home.engine.sessions.branch(session.info.id, turn_id, version=True)


async def test_messages_and_answers_have_versions(tmp_path: Path) -> None:
    script = [Turn(Words(f"Answer {number}.")) for number in range(1, 9)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        chats = home.engine.sessions
        first = await home.session()
        await first.change(title="Zebras")
        await say(first, "One")
        await say(first, "Two")
        assert await chats.versions(first.info.id) == []
        again, edited = await version(home, first, 1), await version(home, first, 1)
        await say(again, "Two")
        await say(edited, "Other")
        other = await version(home, edited, 1)
        await say(other, "Other")
        ids = [one.info.id for one in (first, again, edited, other)]

        (found,) = await chats.versions(first.info.id)
        assert found.turn_id == turns(first)[1].turn_id
        assert (found.answer.sessions, found.answer.shown) == ((ids[0], ids[1]), 0)
        assert (found.message.sessions, found.message.shown) == ((ids[0], ids[3]), 0)
        (found,) = await chats.versions(other.info.id)
        assert (found.answer.sessions, found.answer.shown) == ((ids[2], ids[3]), 1)
        assert (found.message.beside(-1), found.message.beside(1)) == (ids[1], "")
        assert other.info.parent == ""

        # Lists, searches and completion have one of them: the one that was seen last.
        assert [info.id for info in await chats.list()] == [ids[3]]
        await chats.show_version(ids[1])
        assert [info.id for info in await chats.list()] == [ids[1]]
        assert len(await chats.list(every_version=True)) == 4
        assert [hit.session_id for hit in await chats.search("answer")] == [ids[1]]
        await chats.arrange([ids[1]], title="Giraffes", pinned=True)
        shown = await chats.show_version(ids[0])
        assert (shown.info.title, shown.info.pinned) == ("Giraffes", True)

        # A branch is a chat of its own.
        branch = await chats.branch(ids[1])
        assert branch.info.parent == ids[1] and not branch.info.pinned
        assert {info.id for info in await chats.list()} == {ids[0], branch.info.id}
        assert await chats.versions(branch.info.id) == []

        # The bin and deletion take all of them.
        await chats.put_in_bin([ids[0]])
        assert [info.id for info in await chats.list()] == [branch.info.id]
        assert [info.id for info in await chats.bin()] == [ids[0]]
        with pytest.raises(ConfigurationError):
            await chats.open(ids[3])
        await chats.take_from_bin([ids[0]])
        assert len((await chats.versions(ids[0]))[0].answer.sessions) == 2
        await chats.delete(ids[2])
        left = await home.engine.database.rows("SELECT DISTINCT session_id FROM transcript")
        assert left == [(branch.info.id,)]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_no_version_changes_another(tmp_path: Path, provider: str) -> None:
    """H-1, H-9: edit, retry, switch and send in any order; the simulator refuses bad requests."""
    chance = random.Random(provider)
    script = [
        Turn(Call("list", {"path": "."}), stop="tool_use") if n % 4 == 1 else Turn(Words(f"{n}."))
        for n in range(80)
    ]
    async with engine_home(tmp_path, provider, script) as home:
        chats = home.engine.sessions
        session = await home.session()
        await say(session, "Begin")
        family, sent = [session], 0
        for number in range(14):
            before = {one.info.id: await native(home, one) for one in family}
            events: list[Event] = []
            step = chance.choice(("edit", "retry", "switch", "send"))
            at = chance.randrange(len(turns(session)))
            if step == "switch":
                session = await chats.show_version(chance.choice(family).info.id)
            elif step == "send":
                events = await say(session, f"Word {number}")
                sent += 1
            else:
                text = turns(session)[at].text if step == "retry" else f"Instead {number}"
                session = await version(home, session, at)
                events = await say(session, text)
                family.append(session)
            for one in family:
                old, now = before.get(one.info.id, []), await native(home, one)
                assert now[: len(old)] == old
                assert one is session or now == old
            ended = [one.reason for one in events if isinstance(one, TurnComplete)]
            assert ended == ["done"] * (step != "switch")
        assert sent and len(family) > 3
        shown = [info.id for info in await chats.list()]
        assert shown == [session.info.id]


async def native(home: EngineHome, session: Session) -> list[JsonObject]:
    await session.flush()
    found = await home.engine.store.native(session.info.id)
    return [] if found is None else list(found.items)


async def test_a_chat_whose_shown_version_was_lost_is_still_in_lists(tmp_path: Path) -> None:
    """H-5: what was damaged is no longer of the family; the others show their newest."""
    script = [Turn(Words(f"Answer {number}.")) for number in range(1, 9)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        chats, database = home.engine.sessions, home.engine.database
        first = await home.session()
        await say(first, "One")
        shown = await version(home, first, 0)
        await say(shown, "Other")
        name = shown.info.id
        await chats.close()

        def lose(db: sqlite3.Connection) -> None:
            db.execute("UPDATE sessions SET family = '' WHERE id = ?", (name,))
            mend(db, Losses(broken={"sessions"}))

        await database.write(lose)
        listing = await chats.listing(9)
        assert {info.id for info in listing.infos} == {first.info.id, name}
