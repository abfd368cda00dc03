"""Drafts of a session: made by tools, decided by a person, heard of by the model (T-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.events import DraftResolved, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.waiting import until, within

CHAT = "openai-compatible"


def turn(*calls: tuple[str, dict[str, object]]) -> list[Turn]:
    """Each call in a step of its own, then a word."""
    return [*(Turn(Call(name, arguments)) for name, arguments in calls), Turn(Text("Done."))]


def write(path: str, content: str) -> tuple[str, dict[str, object]]:
    return "write", {"path": path, "content": content}


def edit(path: str, old: str, new: str) -> tuple[str, dict[str, object]]:
    return "edit", {"path": path, "old": old, "new": new}


def move(path: str, to: str) -> tuple[str, dict[str, object]]:
    return "move", {"path": path, "to": to}


def delete(path: str) -> tuple[str, dict[str, object]]:
    return "delete", {"path": path}


def read(path: str) -> tuple[str, dict[str, object]]:
    return "read", {"path": path}


def results(events: Sequence[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, ToolFinished)]


def tree(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in root.rglob("*")
        if path.is_file()
    }


def last(home: EngineHome) -> str:
    return str(home.asked[-1].json)


async def test_t5_no_session_is_put_away_while_a_draft_of_it_is_decided(tmp_path: Path) -> None:
    """A list of chats that lets one go does not make an approval fail."""
    async with engine_home(tmp_path, CHAT, turn(write("a", "one\n"))) as home:
        session, sessions = await home.session(), home.engine.sessions
        await say(session)
        (draft,) = session.drafts.waiting()
        async with within(), session.drafts._writing:  # as another draft is written
            deciding = asyncio.create_task(session.review.decide(draft.id, "approve"))
            await until(lambda: session.drafts._writing._waiters, "the decision waits")
            assert not await sessions.put_away_idle(session.info.id)
        assert await deciding == "approved" and (home.folder / "a").read_text() == "one\n"
        assert await sessions.put_away_idle(session.info.id), "nobody uses it any more"
        again = await sessions.open(session.info.id)
        assert again is not session and again.drafts.all[0].status == "approved"


async def test_delete_and_move_wait_for_the_person_and_are_undone(tmp_path: Path) -> None:
    """T-5."""
    script = [*turn(delete("a"), move("b", "new/c")), *turn()]
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / "a").write_text("one\n")
        (home.folder / "b").write_bytes(b"\0two")
        session = await home.session()
        said = results(await say(session))
        assert "Draft of a that deletes it made (+0 −1 lines). It is not deleted" in said[0]
        assert "Draft of b that moves it to new/c made" in said[1]
        assert "It is not moved to new/c: the person decides" in said[1]
        assert sorted(path.name for path in home.folder.iterdir()) == ["a", "b"]
        first, second = session.drafts.waiting()
        ids = [first.id, second.id]
        assert await session.review.decide_all("approve", ids) == dict.fromkeys(ids, "approved")
        assert not (home.folder / "a").exists()
        assert (home.folder / "new" / "c").read_bytes() == b"\0two"
        await say(session)
        assert "The person approved the draft that deletes a. It is deleted." in last(home)
        assert "approved the draft that moves b to new/c. It is moved." in last(home)
        assert await session.review.decide_all("undo", ids) == dict.fromkeys(ids, "undone")
        assert (home.folder / "a").read_text() == "one\n"
        assert (home.folder / "b").read_bytes() == b"\0two"


async def test_what_waits_is_seen_by_the_tools(tmp_path: Path) -> None:
    script = turn(
        delete("a"), read("a"), delete("a"), edit("a", "one", "1"),
        move("b", "c"), read("b"), read("c"), write("b", "x"), move("b", "d"),
        edit("c", "two", "2"), read("c"), move("c", "d"), read("d"), write("e", "new"),
        move("e", "d"), move("e", "f"), delete("f"), move("d", "b"), delete("b"), move("a", "b"),
    )  # fmt: skip
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / "a").write_text("one\n")
        (home.folder / "b").write_text("two\n")
        session = await home.session()
        said = results(await say(session, rules=()))
        assert "Your draft deletes this file, which is not done yet.\n1\tone" in said[1]
        assert "waits already" in said[2]
        assert "Draft of a made (+1 −1 lines)" in said[3]  # written, in place of deleted
        assert "Your draft moves this file to c, which is not done yet.\n1\ttwo" in said[5]
        assert "Your draft moves b here, which is not done yet. Read that." in said[6]
        assert "Your draft moves b to c. Use that path." in said[7]
        assert "Your draft moves b to c. Move it on from there." in said[8]
        assert "Draft of b that moves it to c made (+1 −1 lines)" in said[9]
        assert "This is your draft, which is not written to the file yet.\n1\t2\n" in said[10]
        assert "Draft of b that moves it to d made" in said[11]
        assert said[12].endswith("\n1\t2\n")
        assert "A draft of d waits" in said[14]
        assert "Draft of f made (new file" in said[15]
        assert "Your draft of f is taken back" in said[16]
        assert "Draft of b made (+1 −1 lines)" in said[17]  # back where it was, but changed
        assert "Draft of b that deletes it made" in said[18]
        assert "A draft of b waits" in said[19]
        assert {draft.path: draft.action for draft in session.drafts.waiting()} == {
            "a": "write",
            "b": "delete",
        }
        assert tree(home.folder) == {"a": "one\n", "b": "two\n"}


async def test_a_set_of_drafts_is_decided_together(tmp_path: Path) -> None:
    """T-5: each for itself; what failed is told, and the model hears one note."""
    script = [
        *turn(
            read("a"),
            write("a", "1\n"),
            move("b", "c"),
            edit("c", "two", "2"),
            delete("d"),
            write("e", "5"),
        ),
        *turn(),
    ]
    async with engine_home(tmp_path, CHAT, script) as home:
        for name, text in (("a", "one\n"), ("b", "two\n"), ("d", "four\n")):
            (home.folder / name).write_text(text)
        session = await home.session()
        await say(session)
        drafts = {draft.path: draft for draft in session.drafts.waiting()}
        assert list(drafts) == ["a", "b", "d", "e"]
        (home.folder / "a").write_text("mine\n")
        ids = [draft.id for draft in drafts.values()]
        decided = await session.review.decide_all("approve", ids)
        assert [decided[drafts[path].id] for path in "abde"] == [
            "conflict",
            "approved",
            "approved",
            "approved",
        ]
        assert tree(home.folder) == {"a": "mine\n", "c": "2\n", "e": "5"}
        await say(session)
        note = next(m for m in home.asked[-1].json["messages"] if "approved the draft" in str(m))
        for words in (
            "The draft of a was not carried out: the file had changed meanwhile.",
            "The person approved the draft that moves b to c. It is moved.",
            "The person approved the draft that deletes d. It is deleted.",
            "The person approved the draft of e. It is written.",
        ):
            assert words in str(note)
        with pytest.raises(ConfigurationError, match="no draft none"):
            await session.review.decide_all("approve", [drafts["b"].id, "none"])


async def test_a_set_of_drafts_is_discarded_and_outlives_the_program(tmp_path: Path) -> None:
    script = [*turn(write("a", "1"), delete("b"), move("c", "d")), *turn()]
    async with engine_home(tmp_path, CHAT, script) as home:
        for name in "bc":
            (home.folder / name).write_text(name)
        session = await home.session()
        await say(session)
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, turn()) as home:
        session = await home.engine.sessions.open(session_id)
        drafts = session.drafts.waiting()
        assert [(d.path, d.action, d.target) for d in drafts] == [
            ("a", "write", ""),
            ("b", "delete", ""),
            ("c", "move", "d"),
        ]
        await session.review.decide(drafts[2].id, "approve")
        left = await session.review.decide_all("discard", [draft.id for draft in drafts])
        assert list(left.values()) == ["discarded", "discarded", "approved"]
        assert tree(home.folder) == {"b": "b", "d": "c"}


async def test_a_conflict_has_three_sides_and_a_way_out(tmp_path: Path) -> None:
    """T-5: never overwritten; merged where the changes are in different places."""
    script = [*turn(edit("a", "two", "2")), *turn()]
    async with engine_home(tmp_path, CHAT, script) as home:
        file = home.folder / "a"
        file.write_bytes(b"one\r\ntwo\r\nthree\r\nfour\r\n")
        session = await home.session()
        await say(session)
        (draft,) = session.drafts.waiting()
        file.write_bytes(b"one\r\ntwo\r\nthree\r\nFOUR\r\n")
        assert await session.review.decide(draft.id, "approve") == "conflict"
        conflict = await session.review.conflict(draft.id)
        assert conflict.theirs == "one\r\ntwo\r\nthree\r\nFOUR\r\n"
        assert conflict.ours == draft.after
        assert conflict.base == draft.before
        assert conflict.merge is not None
        assert conflict.merge.conflicts == 0
        again = await session.review.resolve(draft.id, conflict.merge.text)
        assert [d.id for d in session.drafts.waiting()] == [again.id]
        assert session.drafts.get(draft.id).status == "superseded"  # type: ignore[union-attr]
        with pytest.raises(ConfigurationError, match="decided already"):
            await session.review.resolve(draft.id, "x")
        assert again.before == conflict.theirs
        assert await session.review.decide(again.id, "approve") == "approved"
        assert file.read_bytes() == b"one\r\n2\r\nthree\r\nFOUR\r\n"
        await say(session)
        assert "a had changed, so the person made your draft of it anew" in last(home)


async def test_conflicts_of_what_is_deleted_or_moved(tmp_path: Path) -> None:
    script = turn(delete("a"), move("b", "c"), move("d", "e"), edit("f", "six", "6"))
    async with engine_home(tmp_path, CHAT, script) as home:
        for name in "abd":
            (home.folder / name).write_text(f"{name}\n")
        (home.folder / "f").write_text("six\n")
        session = await home.session()
        await say(session)
        a, b, d, f = session.drafts.waiting()
        (home.folder / "a").write_text("mine\n")
        (home.folder / "c").write_text("mine\n")
        (home.folder / "d").write_bytes(b"\0mine")
        (home.folder / "f").unlink()
        decided = await session.review.decide_all("approve", [a.id, b.id, d.id, f.id])
        assert set(decided.values()) == {"conflict"}
        assert tree(home.folder) == {"a": "mine\n", "b": "b\n", "c": "mine\n", "d": "\0mine"}

        sides = await session.review.conflict(a.id)
        assert (sides.base, sides.theirs, sides.ours, sides.merge) == ("a\n", "mine\n", None, None)
        again = await session.review.resolve(a.id, None)
        assert await session.review.decide(again.id, "approve") == "approved"
        assert await session.review.decide(again.id, "undo") == "undone"
        assert (home.folder / "a").read_text() == "mine\n"

        with pytest.raises(ConfigurationError, match="c exists"):
            await session.review.resolve(b.id, "b\n")
        (home.folder / "c").unlink()
        again = await session.review.resolve(b.id, None)
        assert await session.review.decide(again.id, "approve") == "approved"

        assert (await session.review.conflict(d.id)).theirs is None  # no text
        again = await session.review.resolve(d.id, None)
        assert await session.review.decide(again.id, "approve") == "approved"
        assert (home.folder / "e").read_bytes() == b"\0mine"

        sides = await session.review.conflict(f.id)
        assert (sides.theirs, sides.ours, sides.merge) == (None, "6\n", None)
        with pytest.raises(ConfigurationError, match="no file f any more"):
            await session.review.resolve(f.id, None)
        again = await session.review.resolve(f.id, "6\n")
        assert (again.before, again.base_digest) == (None, "")
        assert await session.review.decide(again.id, "approve") == "approved"
        assert (home.folder / "f").read_text() == "6\n"


async def test_a_conflict_may_be_discarded_or_replaced_by_the_model(tmp_path: Path) -> None:
    script = [*turn(edit("a", "one", "1"), write("b", "x")), *turn(edit("a", "mine", "ours"))]
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / "a").write_text("one\n")
        session = await home.session()
        await say(session)
        a, b = session.drafts.waiting()
        (home.folder / "a").write_text("mine\n")
        (home.folder / "b").write_text("mine\n")
        await session.review.decide_all("approve", [a.id, b.id])
        branch = await home.engine.sessions.branch(session.info.id)
        assert {draft.status for draft in branch.drafts.all} == {"superseded"}
        assert await session.review.decide(b.id, "discard") == "discarded"
        await say(session)
        assert [draft.after for draft in session.drafts.waiting()] == ["ours\n"]
        assert session.drafts.get(a.id).status == "superseded"  # type: ignore[union-attr]


async def test_an_undo_that_meets_another_hand_changes_nothing(tmp_path: Path) -> None:
    """The draft stays approved, and says why."""
    async with engine_home(tmp_path, CHAT, [*turn(write("a", "new")), *turn()]) as home:
        session = await home.session()
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "approve")
        (home.folder / "a").write_text("mine")
        heard: list[object] = []
        session.subscribe(lambda envelope: heard.append(envelope.event))
        assert await session.review.decide(draft.id, "undo") == "approved"
        assert (home.folder / "a").read_text() == "mine"
        (event,) = [e for e in heard if isinstance(e, DraftResolved)]
        assert event.status == "approved"
        assert "a changed since the draft was approved" in event.detail
        await say(session)
        assert last(home).count("The person approved the draft of a.") == 1


async def test_a_person_edits_a_move_and_not_a_deletion(tmp_path: Path) -> None:
    async with engine_home(
        tmp_path, CHAT, turn(move("a", "b"), delete("c"), move("d", "e"))
    ) as home:
        for name in "ac":
            (home.folder / name).write_text("x\n")
        (home.folder / "d").write_bytes(b"\0")
        session = await home.session()
        await say(session)
        a, c, d = session.drafts.waiting()
        edited = await session.review.edit(a.id, "mine\n")
        assert (edited.action, edited.target) == ("move", "b")
        with pytest.raises(ConfigurationError, match="no text to edit"):
            await session.review.edit(c.id, "x")
        with pytest.raises(ConfigurationError, match="no text file"):
            await session.review.edit(d.id, "x")
        await session.review.decide(edited.id, "approve")
        assert (home.folder / "b").read_text() == "mine\n"


async def test_guarded_places_wait_whatever_a_draft_is_called(tmp_path: Path) -> None:
    """T-5: in the automatic mode, by either end of a move, and by what goes on from it."""
    script = turn(
        move("a", ".git/hooks/pre-commit"), move(".git/config", "config"), delete(".git/HEAD"),
        edit("config", "core", "x"), delete("config"), move("b", "c"), delete("d"),
    )  # fmt: skip
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / ".git").mkdir()
        for name in ("a", "b", "d", ".git/config", ".git/HEAD"):
            (home.folder / name).write_text("core\n")
        session = await home.session()
        await session.change(permission_mode="auto")
        await say(session)
        assert tree(home.folder) == {
            name: "core\n" for name in ("a", "c", ".git/config", ".git/HEAD")
        }
        waiting = {(draft.path, draft.action) for draft in session.drafts.waiting()}
        assert waiting == {
            ("a", "move"),
            (".git/HEAD", "delete"),
            (".git/config", "delete"),
        }


async def test_w21_files_of_agents_and_workflows_wait_for_the_person_also_in_auto(
    tmp_path: Path,
) -> None:
    """Whoever writes them decides what later agents may do."""
    places = (
        ".agents/agents/own.md",
        ".claude/agents/own.md",
        ".github/agents/own.agent.md",
        ".agents/workflows/own.md",
    )
    text = "---\nname: Own\n---\n"
    made = [("write", {"path": place, "content": text}) for place in (*places, "notes.md")]
    script = turn(*made, move("a", ".agents/agents/b.md"))
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / "a").write_text("x\n")
        session = await home.session()
        await session.change(permission_mode="auto")
        await say(session)
        assert set(tree(home.folder)) == {"a", "notes.md"}, "all others wait"
        waiting = {draft.path for draft in session.drafts.waiting()}
        assert waiting == {*places, "a"}
        await session.review.decide(session.drafts.waiting()[0].id, "approve")
        assert len(tree(home.folder)) == 3, "each is approved by itself"


async def test_nothing_is_drafted_in_plan_mode_or_against_a_rule(tmp_path: Path) -> None:
    script = [*turn(delete("a"), move("a", "b")), *turn(move("a", "secret/b"), delete("secret/a"))]
    async with engine_home(tmp_path, CHAT, script) as home:
        (home.folder / "secret").mkdir()
        for name in ("a", "secret/a"):
            (home.folder / name).write_text("x")
        session = await home.session()
        await session.change(permission_mode="plan")
        await say(session)
        assert session.drafts.all == []
        await session.change(permission_mode="auto")
        rules = (Rule.parse("move(secret/*)", "deny"), Rule.parse("delete(secret/*)", "deny"))
        await say(session, rules=rules)
        assert session.drafts.all == []
        assert tree(home.folder) == {"a": "x", "secret/a": "x"}


async def test_all_at_once_from_two_places_is_done_once(tmp_path: Path) -> None:
    """Two windows, or a double click."""
    async with engine_home(tmp_path, CHAT, turn(move("a", "b"), delete("c"))) as home:
        for name in "ac":
            (home.folder / name).write_text("x")
        session = await home.session()
        await say(session)
        ids = [draft.id for draft in session.drafts.waiting()]
        both = await asyncio.gather(*(session.review.decide_all("approve", ids) for _ in range(3)))
        assert both == [dict.fromkeys(ids, "approved")] * 3
        assert tree(home.folder) == {"b": "x"}


@pytest.mark.parametrize("moments", range(0, 12, 2))
async def test_what_is_written_while_the_chat_closes_is_known_to_be(
    tmp_path: Path, moments: int
) -> None:
    """T-5: whoever asked for it has gone, the program ends, and the draft's file is written."""
    async with engine_home(tmp_path, CHAT, turn(write("a", "one\n"))) as home:
        session = await home.session()
        await say(session)
        wrong: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
        asked = asyncio.create_task(
            session.review.decide_all("approve", [session.drafts.all[0].id])
        )
        for _ in range(moments):
            await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([asked])
        await home.engine.sessions.close()
        again = await home.engine.sessions.open(session.info.id)
        approved = again.drafts.all[0].status == "approved"
        assert approved == (home.folder / "a").exists()
        assert not wrong
