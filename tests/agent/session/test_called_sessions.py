"""Sessions that an agent or a run began: in no list of chats, and gone with whoever began them."""

from __future__ import annotations

from pathlib import Path

from studio.agent.session.session import Session
from studio.agent.session.title_writer import wants_title
from studio.domain.sessions import Caller
from studio.simulator import Text, Turn
from studio.storage.completion_index import sessions
from support.engine_home import EngineHome, engine_home, say


async def begun(home: EngineHome, caller: Caller) -> Session:
    session = await home.engine.sessions.create(
        folder=str(home.folder),
        agent="Coder",
        provider=home.provider,
        model="sim-model",
        caller=caller,
    )
    await say(session, "A zebra")
    return session


async def test_w36_a_called_session_is_in_no_list_and_goes_with_its_caller(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", lambda view: Turn(Text("Zebra."))) as home:
        engine, chats = home.engine, home.engine.sessions
        chat = await home.session()
        await say(chat, "A horse")
        child = await begun(home, Caller("session", chat.info.id, "call"))
        grandchild = await begun(home, Caller("session", child.info.id, "other"))
        ids = [chat.info.id, child.info.id, grandchild.info.id]

        assert [one.id for one in await chats.list()] == ids[:1]
        assert [one.id for one in (await chats.listing(50, 50)).infos] == ids[:1]
        assert {hit.session_id for hit in await chats.search("zebra")} == {ids[0]}
        assert [one for one, _ in sessions(engine.database.path)] == [ids[0][:8]]
        assert (await engine.store.prompts(2**40, "", 9))[0] == ["A horse"]
        assert await engine.store.beyond("window", 0) == ids[:1]
        assert not wants_title(child)
        found = await engine.store.called_by(Caller("session", ids[0], "call"))
        assert [one.id for one in found] == [ids[1]] and found[0].caller == child.info.caller
        assert await engine.store.called_by(Caller("session", ids[0], "none")) == []

        await chats.put_in_bin(ids[:1])
        assert [one.id for one in await chats.bin()] == ids[:1]
        assert await engine.store.some(ids) == []
        await chats.take_from_bin(ids[:1])
        assert len(await engine.store.some(ids)) == 3
        await chats.delete(ids[0])
        assert await engine.store.some(ids) == [] and await engine.store.bin() == []


async def test_w13_sessions_of_a_run_go_with_it_and_a_branch_of_one_is_a_chat(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", lambda view: Turn(Text("Zebra."))) as home:
        chats = home.engine.sessions
        step = await begun(home, Caller("run", "r1", "plan"))
        child = await begun(home, Caller("session", step.info.id, "call"))
        other = await begun(home, Caller("run", "r2", "plan"))
        chat = await chats.branch(step.info.id)
        assert [one.id for one in await chats.list()] == [chat.info.id]

        await chats.delete_begun("r1")
        left = await home.engine.store.some([one.info.id for one in (step, child, other, chat)])
        assert {one.id for one in left} == {other.info.id, chat.info.id}
