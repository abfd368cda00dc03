"""A turn's changes of files, undone and done again (T-5)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.agent.session.session_state import SessionState
from studio.domain.blocks import DraftBlock, FilesBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    Event,
    FilesChanged,
    Notice,
    ToolFinished,
    ToolOutput,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Text as Words
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.storage.snapshots.blob_store import DAY, digest_of
from studio.storage.snapshots.folder_snapshot import SnapshotLimits
from support.engine_home import engine_home, say
from support.model_calls import read, run, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")

PROVIDER = "openai-compatible"
ALLOWED = (Rule("allow", "run"), Rule("allow", "write"), Rule("allow", "edit"))


def turns(*calls: tuple[Call, ...] | Call) -> list[Turn]:
    """One turn of the person for each: its calls, then a last word."""
    script: list[Turn] = []
    for one in calls:
        for call in one if isinstance(one, tuple) else (one,):
            script.append(Turn(call, stop="tool_use"))
        script.append(Turn(Text("Done."), stop="end"))
    return script


def tree(root: Path) -> dict[str, str]:
    """What is in a folder: kinds, modes, bytes, targets."""
    found: dict[str, str] = {}
    for place in sorted(root.rglob("*")):
        info = place.lstat()
        mode = f"{stat.S_IMODE(info.st_mode):o}"
        if stat.S_ISLNK(info.st_mode):
            found[str(place)] = f"link {os.readlink(place)}"  # noqa: PTH115
        elif stat.S_ISDIR(info.st_mode):
            found[str(place)] = f"folder {mode}"
        else:
            found[str(place)] = f"file {mode} {digest_of(place.read_bytes())}"
    return found


def files(session: object) -> list[FilesBlock]:
    return [b for b in session.transcript.blocks if isinstance(b, FilesBlock)]  # type: ignore[attr-defined]


COMMAND = (
    "printf new > made; mkdir -p d/e; printf x > d/e/f; rm a.txt; mv b.txt d/b.txt;"
    " chmod +x c.sh; ln -s c.sh link; rm -r old"
)


def fill(folder: Path) -> None:
    (folder / "a.txt").write_text("alpha\n")
    (folder / "b.txt").write_text("beta\n")
    (folder / "c.sh").write_text("#!/bin/sh\n")
    (folder / "old" / "deep").mkdir(parents=True)
    (folder / "old" / "deep" / "x.bin").write_bytes(bytes(range(256)))


async def test_what_a_command_did_is_undone_and_done_again(tmp_path: Path) -> None:
    script = turns(run(COMMAND), run("true"))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        fill(home.folder)
        before = tree(home.folder)
        session = await home.session()
        events = await say(session, rules=ALLOWED)
        after = tree(home.folder)
        assert after != before
        (told,) = [e for e in events if isinstance(e, FilesChanged)]
        assert told.paths == (
            "a.txt", "b.txt", "c.sh", "d/b.txt", "d/e/f", "link", "made", "old/deep/x.bin",
        )  # fmt: skip
        assert events.index(told) == len(events) - 2, "right before the turn is complete"

        undone = await session.undo_turn(told.turn_id)
        assert undone.undone and undone.left == () and undone.paths == told.paths
        assert tree(home.folder) == before
        assert files(session)[0].undone
        redone = await session.redo_turn(told.turn_id)
        assert not redone.undone and redone.left == ()
        assert tree(home.folder) == after
        await session.undo_turn(told.turn_id)

        await say(session, "And now?", rules=ALLOWED)  # a later request tells the model
        sent = str(home.asked[-1].json)
        assert "undid what you changed" in sent and "old/deep/x.bin" in sent
        assert len(files(session)) == 1, "the second turn changed nothing"


async def test_after_a_restart_and_in_a_branch(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, turns(run(COMMAND))) as home:
        fill(home.folder)
        before = tree(home.folder)
        session = await home.session()
        await say(session, rules=ALLOWED)
        after = tree(home.folder)
        session_id, turn_id = session.info.id, files(session)[0].turn_id
    async with engine_home(tmp_path, PROVIDER, turns(run("true"))) as home:
        session = await home.engine.sessions.open(session_id)
        await session.undo_turn(turn_id)
        assert tree(home.folder) == before
        branch = await home.engine.sessions.branch(session_id)
        assert files(branch)[0].undone
        await branch.redo_turn(turn_id)
        assert tree(home.folder) == after
        await home.engine.sessions.delete(session_id)
        await branch.undo_turn(turn_id)
        assert tree(home.folder) == before
        branch_id = branch.info.id
    async with engine_home(tmp_path, PROVIDER, turns(run("true"))) as home:
        branch = await home.engine.sessions.open(branch_id)
        await say(branch, rules=ALLOWED)  # what was undone is told once, also after a restart
        assert str(home.asked[0].json).count("undid what you changed") == 1


async def test_what_another_hand_changed_since_is_left(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, turns(run(COMMAND))) as home:
        fill(home.folder)
        session = await home.session()
        await say(session, rules=ALLOWED)
        turn_id = files(session)[0].turn_id
        (home.folder / "made").write_text("mine")
        (home.folder / "a.txt").write_text("mine too")
        (home.folder / "d" / "other").write_text("and mine")
        (home.folder / "link").unlink()
        undone = await session.undo_turn(turn_id)
        assert undone.left == ("a.txt", "d", "made")
        assert (home.folder / "made").read_text() == "mine"
        assert (home.folder / "a.txt").read_text() == "mine too"
        assert (home.folder / "d" / "other").read_text() == "and mine"
        assert (home.folder / "b.txt").read_text() == "beta\n"
        assert not (home.folder / "link").is_symlink(), "it is as before the turn already"
        assert files(session)[0].left == undone.left


async def test_the_persons_edits_during_a_turn_are_not_the_turns(tmp_path: Path) -> None:
    """Between two commands somebody else works in the same folder, on other files and the same."""
    script = turns((run("echo 1 > one; echo 1 > both"), run("echo 2 > two; echo 2 > both")))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        session = await home.session()
        commands = 0
        async for envelope in session.turn([Words("Go")]):
            event = envelope.event
            if isinstance(event, AwaitingPermission):
                commands += 1
                if commands == 2:
                    (home.folder / "mine").write_text("mine")
                    (home.folder / "both").write_text("mine")
                session.answer_permission(event.question.id, "once")
        assert files(session)[0].paths == ("both", "one", "two")
        undone = await session.undo_turn(files(session)[0].turn_id)
        assert undone.left == ("both",), "somebody wrote it in between"
        assert tree(home.folder).keys() == {str(home.folder / "both"), str(home.folder / "mine")}


async def test_a_later_turn_is_undone_first(tmp_path: Path) -> None:
    script = turns(run("echo 1 > a; echo 1 > b"), run("echo 2 > a"))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        session = await home.session()
        await say(session, rules=ALLOWED)
        await say(session, "More", rules=ALLOWED)
        first, second = (block.turn_id for block in files(session))
        undone = await session.undo_turn(first)
        assert undone.left == ("a",) and undone.paths == ("b",) and undone.undone
        assert session.undo.blocking(first) == [second]
        await session.undo_turn(second)
        assert session.undo.blocking(first) == []
        assert (await session.undo_turn(first)).left == ()
        assert tree(home.folder) == {}


async def test_drafts_and_turns_agree(tmp_path: Path) -> None:
    """Written in the turn, approved after it, undone alone: the truth is in the file."""
    calls = (write("a.txt", "A\n"), run("echo C >> a.txt"), write("b.txt", "B\n"))
    script = turns((read("b.txt"), *calls))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        (home.folder / "b.txt").write_text("b\n")
        session = await home.session()
        await say(session, rules=(Rule("allow", "run"), Rule("allow", "write", "a.txt")))
        drafts = [b.draft for b in session.transcript.blocks if isinstance(b, DraftBlock)]
        assert [draft.status for draft in drafts] == ["approved", "waiting"]
        assert files(session)[0].paths == ("a.txt",)
        turn_id = files(session)[0].turn_id

        await session.review.decide(drafts[1].id, "approve")
        assert files(session)[0].paths == ("a.txt", "b.txt"), "it belongs to the draft's turn"
        await session.undo_turn(turn_id)
        assert [d.status for d in session.transcript.drafts] == ["undone", "undone"]
        assert tree(home.folder).keys() == {str(home.folder / "b.txt")}
        assert (home.folder / "b.txt").read_text() == "b\n"

        await session.redo_turn(turn_id)
        assert [d.status for d in session.transcript.drafts] == ["approved", "approved"]
        assert (home.folder / "a.txt").read_text() == "A\nC\n"

        await session.review.decide(drafts[1].id, "undo")
        assert files(session)[0].paths == ("a.txt",), "b.txt is as it was before the turn"
        await session.undo_turn(turn_id)
        await session.redo_turn(turn_id)
        assert [d.status for d in session.transcript.drafts] == ["approved", "undone"]
        assert (home.folder / "b.txt").read_text() == "b\n"


async def test_two_chats_side_by_side(tmp_path: Path) -> None:
    """A draft is its own chat's; what two commands did at the same time is never undone."""
    script = [
        Turn(
            run("echo started; until [ -e go ]; do sleep 0.02; done; echo 1 > first"),
            stop="tool_use",
        ),
        Turn(write("draft.txt", "D\n"), stop="tool_use"),
        Turn(
            run("echo 2 > second; touch go; until [ -e first ]; do sleep 0.02; done"),
            stop="tool_use",
        ),
        Turn(Text("Done."), stop="end"),
        Turn(Text("Done."), stop="end"),
    ]
    async with engine_home(tmp_path, PROVIDER, script) as home:
        (home.folder / "own").write_text("own")
        one, two = await home.session(), await home.session()
        runs = asyncio.Event()
        one.subscribe(lambda it: runs.set() if isinstance(it.event, ToolOutput) else None)
        first = asyncio.create_task(say(one, rules=ALLOWED))
        await runs.wait()
        await say(two, rules=ALLOWED)
        await first
        assert "draft.txt" in files(two)[0].paths and "draft.txt" not in files(one)[0].paths
        undone = await two.undo_turn(files(two)[0].turn_id)
        assert undone.paths == ("draft.txt",)
        assert set(undone.left) >= {"second", "go"}
        left = await one.undo_turn(files(one)[0].turn_id)
        assert "second" in left.left and (home.folder / "second").exists()
        assert (home.folder / "own").exists()


async def test_a_folder_that_is_too_big_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = turns((write("a.txt", "A\n"), run("echo 1 > b.txt")), run("true"))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        for number in range(30):
            (home.folder / f"f{number}").touch()
        home.engine.services.folders.limits = SnapshotLimits(files=20)
        session = await home.session()
        events = await say(session, rules=ALLOWED)
        assert [e.text for e in events if isinstance(e, Notice)] == [
            "Changes by commands in this folder cannot be undone: it has too many files."
        ]
        assert files(session)[0].paths == ("a.txt",)
        await session.undo_turn(files(session)[0].turn_id)
        assert not (home.folder / "a.txt").exists() and (home.folder / "b.txt").exists()
        assert not [e for e in await say(session, "Again", rules=ALLOWED) if isinstance(e, Notice)]


async def test_what_cannot_be_undone_says_why(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, turns(run("true"))) as home:
        session = await home.session()
        events = await say(session, rules=ALLOWED)
        assert not [e for e in events if isinstance(e, FilesChanged)]
        with pytest.raises(ConfigurationError, match="Nothing is known of files"):
            await session.undo_turn(session.transcript.turn_id)
        with pytest.raises(ConfigurationError, match="Nothing is known of files"):
            await session.redo_turn("unknown")


async def test_a_stopped_command_can_be_undone(tmp_path: Path) -> None:
    script = turns(run("echo 1 > a; echo started; sleep 3600"))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        session = await home.session()

        session.subscribe(lambda one: session.stop() if isinstance(one.event, ToolOutput) else None)
        await say(session, rules=ALLOWED)
        assert files(session)[0].paths == ("a",)
        await session.undo_turn(files(session)[0].turn_id)
        assert tree(home.folder) == {}


async def test_a_program_that_dies_in_a_turn(tmp_path: Path) -> None:
    """What its commands did until then is known, and can be undone with the next start."""
    async with engine_home(tmp_path, PROVIDER, turns((run("echo 1 > a"), run("true")))) as home:
        session = await home.session()
        await say(session, rules=ALLOWED)
        info, turn_id = session.info, files(session)[0].turn_id
        events = await home.engine.store.events(info.id)
        end = next(n for n, event in enumerate(events) if isinstance(event, FilesChanged))
        services, channel = home.engine.services, home.engine.sessions.events
        state = SessionState(info, home.engine.store, channel, services.draft_targets, events[:end])
        dead = Session(state, services, home.engine.delegation, interrupted=True)
        await dead.find_changes()
        assert [block.turn_id for block in files(dead)] == [turn_id]
        assert (await dead.undo_turn(turn_id)).paths == ("a",)
        assert tree(home.folder) == {}


async def test_nothing_is_undone_while_a_turn_runs(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, turns(run("echo 1 > a"), run("true"))) as home:
        session = await home.session()
        await say(session, rules=ALLOWED)
        async for envelope in session.turn([Words("More")], rules=ALLOWED):
            event = envelope.event
            if isinstance(event, TurnStarted):
                with pytest.raises(ConfigurationError, match="still working"):
                    await session.undo_turn(files(session)[0].turn_id)
        assert (home.folder / "a").exists()


async def test_what_is_too_old_is_let_go(tmp_path: Path) -> None:
    async with engine_home(tmp_path, PROVIDER, turns(run("rm a.txt"))) as home:
        fill(home.folder)
        session = await home.session()
        await say(session, rules=ALLOWED)
        turn_id, engine = files(session)[0].turn_id, home.engine
        wanted = await engine.store.changes.expire()
        assert digest_of(b"alpha\n") in wanted
        await engine.database.write(
            lambda db: db.execute("UPDATE file_changes SET at = at - ?", (31 * DAY,)) and None
        )
        assert await engine.store.changes.expire() == set()
        with pytest.raises(ConfigurationError, match="Nothing is known"):
            await session.undo_turn(turn_id)


async def test_in_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = turns(run("echo 1 > a; echo 1 > b"), run("echo 2 > a"))
    async with engine_home(tmp_path, PROVIDER, script) as home:
        session = await home.session()
        await say(session, rules=ALLOWED)
        await say(session, "More", rules=ALLOWED)
        start, (first, second) = session.info.id[:8], (b.turn_id for b in files(session))

        async def typed(*words: str) -> tuple[int, str, str]:
            code = await home.command("sessions", *words)
            out, err = capsys.readouterr()
            return code, out, err

        code, out, err = await typed("undo", start, first[:10])
        assert (code, out) == (0, "Undone: b\n")
        assert "Left as it is, because it changed since: a\n" in err and second in err
        assert await typed("undo", start) == (0, "Undone: a\n", "")
        assert await typed("undo", start, first) == (0, "Undone: a\nUndone: b\n", "")
        assert tree(home.folder) == {}
        code, out, err = await typed("undo", start)
        assert code == 1 and "Nothing is left to undo." in err and first[:8] in err
        code, out, err = await typed("redo", start, "--json")
        assert code == 0 and '"paths": ["a", "b"]' in out
        assert await typed("redo", start) == (0, "Done again: a\n", "")
        assert (home.folder / "a").read_text() == "2\n"


async def test_h5_what_could_not_be_recorded_is_said(tmp_path: Path) -> None:
    """The turn ends as it did; only its undo is lost, and the person knows."""
    async with engine_home(tmp_path, PROVIDER, turns(run("echo x > b.txt"))) as home:
        session = await home.session()
        events: list[Event] = []
        async for envelope in session.turn([Words("Go")], rules=ALLOWED):
            event = envelope.event
            events.append(event)
            if isinstance(event, ToolFinished):
                with contextlib.closing(sqlite3.connect(home.engine.paths.database)) as db, db:
                    db.execute("ALTER TABLE file_changes RENAME TO gone")
        told = "What this turn changed was not recorded, so it cannot be undone."
        assert [e.text for e in events if isinstance(e, Notice)] == [told]
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "done"
