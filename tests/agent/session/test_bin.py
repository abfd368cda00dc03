"""The bin: a deleted chat is gone everywhere, can be brought back whole, and goes in the end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.storage.completion_index import drafts, sessions
from support.engine_home import engine_home, say
from support.waiting import until

KILLED = """
    import asyncio, os, signal, sys, time
    from pathlib import Path
    from studio.storage.database import Database
    from studio.storage.migrations import MIGRATIONS
    from studio.storage.sessions.store import SessionStore

    async def main():
        database = Database(Path(sys.argv[1]), MIGRATIONS)
        await database.open()
        await SessionStore(database).update_all(sys.argv[2:], deleted=time.time())
        os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(main())
"""


async def test_a_deleted_chat_is_nowhere_and_comes_back_whole(tmp_path: Path) -> None:
    script = [
        Turn(Call("write", {"path": "a.txt", "content": "zebra"}), stop="tool_use"),
        Turn(Words("Written, zebra.")),
        Turn(Words("Again.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        engine = home.engine
        chats, database = engine.sessions, engine.database.path
        session = await home.session()
        kept = await home.session(model="other")
        await say(session, "A zebra")
        name = session.info.id
        assert len(drafts(database)) == 1 and {name[:8]} < {one for one, _ in sessions(database)}

        await chats.arrange([name, kept.info.id], pinned=True, group_name="Zoo")
        assert session.info.pinned and kept.info.group_name == "Zoo"
        await chats.put_in_bin([name])
        assert [info.id for info in await chats.list()] == [kept.info.id]
        assert await chats.search("zebra") == [] and await engine.store.drafts() == ()
        assert await engine.store.get(name) is None
        assert (await engine.store.search_values())["model"] == ["other"]
        assert drafts(database) == [] and name[:8] not in {one for one, _ in sessions(database)}
        with pytest.raises(ConfigurationError):
            await chats.open(name)

        (gone,) = await chats.bin()
        assert gone.deleted and (gone.group_name, gone.pinned) == ("Zoo", True)
        await chats.take_from_bin([name])
        again = await chats.open(name)
        assert "Written, zebra." in str(again.transcript.blocks)
        assert len(await engine.store.drafts()) == 1 and len(await chats.search("zebra")) == 1
        await say(again, "Go on")
        assert "Written, zebra." in str(home.asked[-1].json)

        # Killed after two were deleted: both are in the bin, whole.
        await asyncio.to_thread(_delete_and_die, database, name, kept.info.id)
        assert await chats.list() == [] and len(await chats.bin()) == 2
        assert await chats.empty_bin(time.time() - 60) == 0
        assert await chats.empty_bin(time.time() + 1) == 2
        assert await chats.bin() == []
        left = "SELECT (SELECT count(*) FROM transcript) + (SELECT count(*) FROM said)"
        assert await engine.database.rows(left) == [(0,)]
        await chats.take_from_bin([name])
        assert await chats.list() == []


async def test_a_chat_that_is_brought_back_while_the_bin_is_emptied_stays(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        chats = home.engine.sessions
        names = [(await home.session()).info.id for _ in range(6)]
        await chats.put_in_bin(names)
        last = (await chats.bin())[-1].id
        go_on = threading.Event()
        held = home.engine.database.submit(lambda db: go_on.wait())
        await until(held.running)
        emptying = asyncio.create_task(chats.empty_bin(time.time() + 1))
        await until(lambda: home.engine.database._jobs.qsize() == 1)  # the first is deleted next
        restoring = asyncio.create_task(chats.take_from_bin([last]))
        await until(lambda: home.engine.database._jobs.qsize() == 2)
        go_on.set()
        await restoring
        assert await emptying == len(names) - 1
        assert [info.id for info in await chats.list()] == [last]


def _delete_and_die(database: Path, *ids: str) -> None:
    program = [sys.executable, "-c", textwrap.dedent(KILLED), str(database), *ids]
    assert subprocess.run(program, check=False).returncode == -9
