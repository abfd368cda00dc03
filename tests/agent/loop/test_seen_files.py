"""C-7: what somebody else changed since the model read a file is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.domain.events import Event, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.model_calls import read

LINES = [f"line {number:02}" for number in range(1, 31)]
ALLOWED = tuple(Rule("allow", name, "*") for name in ("edit", "write", "run", "move"))


def text(**changed: str) -> str:
    """The file with some lines changed: ``l3="x"``."""
    lines = [*LINES]
    for name, line in changed.items():
        lines[int(name[1:]) - 1] = line
    return "\n".join(lines) + "\n"


def edit(old: str, new: str) -> Call:
    return Call("edit", {"path": "a.txt", "old": old, "new": new})


def write(content: str, path: str = "a.txt") -> Call:
    return Call("write", {"path": path, "content": content})


def turns(*calls: Call) -> list[Turn]:
    return [part for call in calls for part in (Turn(call, stop="tool_use"), Turn(Text("Done.")))]


async def one(session: Session) -> ToolFinished:
    """The result of the one call of the next turn."""
    events: list[Event] = await say(session, rules=ALLOWED)
    (done,) = (event for event in events if isinstance(event, ToolFinished))
    return done


def file(home: EngineHome) -> Path:
    return home.folder / "a.txt"


async def test_a_file_that_was_not_read_is_not_overwritten(tmp_path: Path) -> None:
    """C-7: reading it makes the same call good; a new or empty file needs no reading."""
    script = turns(
        write("mine\n"), read("a.txt"), write("mine\n"), write("new\n", "b.txt"), write("x\n", "c")
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        (home.folder / "c").touch()
        session = await home.session()
        refused = await one(session)
        assert refused.is_error and "you have not read it" in refused.text
        assert file(home).read_text() == text()
        await one(session)
        assert not (await one(session)).is_error and file(home).read_text() == "mine\n"
        assert not (await one(session)).is_error
        assert not (await one(session)).is_error


async def test_a_change_elsewhere_is_told_and_kept(tmp_path: Path) -> None:
    """C-7, over a restart."""
    async with engine_home(tmp_path, "anthropic", turns(read("a.txt"))) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        kept = session.info.id
    script = turns(edit("line 03", "LINE 3"), edit("line 04", "LINE 4"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text(l20="theirs"))
        session = await home.engine.sessions.open(kept)
        done = await one(session)
        assert not done.is_error and "had changed elsewhere" in done.text
        assert "-20\tline 20\n+20\ttheirs" in done.text
        assert file(home).read_text() == text(l20="theirs", l3="LINE 3")
        assert "elsewhere" not in (await one(session)).text


async def test_a_change_of_the_same_lines_is_refused_once(tmp_path: Path) -> None:
    """C-7: the model is shown what is there, and may send its change again."""
    script = turns(
        read("a.txt"),
        edit("line 03", "LINE 3"),
        edit("line 3 of theirs", "both"),
        edit("line 05", "5"),
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        file(home).write_text(text(l3="line 3 of theirs"))
        refused = await one(session)
        assert refused.is_error and "where you change it" in refused.text
        assert "+3\tline 3 of theirs" in refused.text
        assert file(home).read_text() == text(l3="line 3 of theirs")
        assert not (await one(session)).is_error
        assert "changed" not in (await one(session)).text
        assert file(home).read_text() == text(l3="both", l5="5")


async def test_more_than_twenty_changed_lines_have_to_be_read(tmp_path: Path) -> None:
    """C-7."""
    script = turns(read("a.txt"), write("mine\n"), write("mine\n"), read("a.txt"), write("mine\n"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        theirs = "".join(f"{line}!\n" for line in LINES)
        file(home).write_text(theirs)
        for _ in range(2):
            refused = await one(session)
            assert refused.is_error and "more lines changed" in refused.text
        assert file(home).read_text() == theirs
        await one(session)
        assert not (await one(session)).is_error


async def test_a_branch_knows_what_was_read_before_it(tmp_path: Path) -> None:
    """C-7: and the first chat does not know what only the branch read."""
    script = turns(read("a.txt"), write("mine\n"), edit("line 03", "LINE 3"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        branch = await home.engine.sessions.branch(session.info.id)
        early = await home.engine.sessions.branch(session.info.id, session.transcript.turn_id)
        assert (await one(early)).is_error
        file(home).write_text(text(l20="theirs"))
        assert "had changed elsewhere" in (await one(branch)).text


async def test_files_that_a_command_changed_are_named_once(tmp_path: Path) -> None:
    """C-7: those that the model knows, and that have another text now."""
    script = turns(
        read("a.txt"),
        read("b.txt"),
        Call("run", {"command": "echo more >> a.txt; touch b.txt; echo new > c.txt"}),
        Call("run", {"command": "true"}),
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        (home.folder / "b.txt").write_text("b\n")
        session = await home.session()
        await one(session)
        await one(session)
        assert (await one(session)).text.endswith("[Files changed that you have read: a.txt.]")
        assert "you have read" not in (await one(session)).text


@pytest.mark.parametrize("decision", ["approve", "discard"])
async def test_a_draft_that_waits_is_what_the_model_knows(tmp_path: Path, decision: str) -> None:
    """C-7: its own draft is no change of somebody else, nor is the person's decision."""
    script = turns(read("a.txt"), edit("line 03", "LINE 3"), edit("line 09", "LINE 9"))
    script += turns(edit("line 12", "LINE 12"), write("all new\n"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        for _ in range(3):
            await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, decision)  # type: ignore[arg-type]
        for _ in range(2):
            done = await one(session)
            assert not done.is_error and "changed elsewhere" not in done.text
        assert file(home).read_text() == "all new\n"


async def test_a_draft_that_the_person_changed_by_hand_is_kept(tmp_path: Path) -> None:
    """C-7."""
    script = turns(read("a.txt"), edit("line 03", "LINE 3"), edit("LINE 3", "mine"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        for _ in range(2):
            await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.edit(draft.id, text(l3="the person's"))
        assert (await one(session)).is_error
        assert session.drafts.waiting()[0].describe().after == text(l3="the person's")


async def test_other_spellings_of_a_name_are_the_same_file(tmp_path: Path) -> None:
    """C-7: as on a file system that ignores case; here a second name for one file."""
    script = turns(read("a.txt"), write("mine\n", "A.TXT"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        (home.folder / "A.TXT").hardlink_to(file(home))
        session = await home.session()
        await one(session)
        assert not (await one(session)).is_error


async def test_a_failed_change_counts_for_nothing(tmp_path: Path) -> None:
    """C-7: a rule refuses the draft, so the model does not know that text."""
    script = turns(read("a.txt"), edit("line 03", "LINE 3"), edit("line 03", "LINE 3"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        await say(session, rules=(Rule("deny", "edit", "a.txt"),))
        done = await one(session)
        assert not done.is_error and "changed elsewhere" not in done.text


async def test_a_deleted_chat_leaves_no_texts(tmp_path: Path) -> None:
    """C-7."""
    async with engine_home(tmp_path, "anthropic", turns(read("a.txt"))) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        kept = home.engine.services.seen_texts(session.info.id)
        assert list(kept.iterdir())
        await home.engine.sessions.delete(session.info.id)
        assert not kept.exists()


async def test_a_change_right_beside_counts_as_one_of_the_same_lines(tmp_path: Path) -> None:
    """C-7: the text that the model gave is still there, but not what it stood beside."""
    async with engine_home(
        tmp_path, "anthropic", turns(read("a.txt"), edit("line 03", "LINE 3"))
    ) as home:
        file(home).write_text(text())
        session = await home.session()
        await one(session)
        file(home).write_text(text(l4="theirs"))
        refused = await one(session)
        assert refused.is_error and "+4\ttheirs" in refused.text
        assert file(home).read_text() == text(l4="theirs")


async def test_files_are_changed_where_no_text_can_be_kept(tmp_path: Path) -> None:
    """C-7: on a full disk, say; a file that changed has to be read again then."""
    script = turns(write("new\n", "b.txt"), read("a.txt"), edit("line 20", "LINE 20"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(text())
        home.engine.services.paths.cache.joinpath("seen").touch()
        session = await home.session()
        assert not (await one(session)).is_error
        done = await one(session)
        assert not done.is_error and "line 20" in done.text
        file(home).write_text(text(l4="theirs"))
        refused = await one(session)
        assert refused.is_error and "Read it again" in refused.text
