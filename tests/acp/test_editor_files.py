"""The editors' door: what is not saved in the editor is what agents read and change (T-5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acp import resource_link_block, text_block
from acp.schema import ClientCapabilities, FileSystemCapabilities

from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from support.acp_editor import Editor, editor
from support.engine_home import reply_requests

FILES = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True))
READS = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True))


def approve(call: Any, options: list[str]) -> str:
    return "approve"


async def says(person: Editor, text: str = "Go", mode: str = "ask") -> None:
    session = await person.agent.new_session(cwd=str(person.folder))
    if mode != "ask":
        await person.agent.set_session_mode(session_id=session.session_id, mode_id=mode)
    await person.agent.prompt(session_id=session.session_id, prompt=[text_block(text)])


def told(person: Editor) -> str:
    """What the model was told last."""
    return str(reply_requests(person.simulator)[-1].json["messages"][-1])


async def test_unsaved_texts_are_read_changed_and_written_in_the_editor(tmp_path: Path) -> None:
    script = [
        Turn(Call("read", {"path": "a.txt"}), Call("read", {"path": "b.txt"})),
        Turn(Call("edit", {"path": "a.txt", "old": "typed", "new": "written"})),
        Turn(Call("write", {"path": "new/c.txt", "content": "three\n"})),
        Turn(Call("write", {"path": "d.locked", "content": "four\n"})),
        Turn(Words("Done.")),
    ]
    async with editor(tmp_path, script, approve, FILES) as person:
        a, b = person.folder / "a.txt", person.folder / "b.txt"
        a.write_bytes(b"one\r\ntwo\r\n")
        b.write_bytes(b"one\r\ntwo\r\n")
        person.files[str(a)] = "one\ntyped\n"
        await says(person)
        results = reply_requests(person.simulator)[1].json["messages"][-2:]
        unsaved, same = (str(one["content"]) for one in results)
        assert (
            "typed" in unsaved and "not saved in the editor" in unsaved and "\ntwo" not in unsaved
        )
        assert "two" in same and "not saved" not in same, "only the line ends differ"

        asked = [call.content[0] for call, _ in person.questions]
        assert (asked[0].old_text, asked[0].new_text) == ("one\r\ntyped\r\n", "one\r\nwritten\r\n")
        new, locked = person.folder / "new/c.txt", person.folder / "d.locked"
        assert person.saved == [str(a), str(new)] and not person.files
        assert a.read_bytes() == b"one\r\nwritten\r\n"
        assert new.read_text() == "three\n"
        assert locked.read_text() == "four\n", "written by the studio, as the editor did not"


async def test_t5_undo_brings_back_what_was_not_saved(tmp_path: Path) -> None:
    edit = Call("edit", {"path": "a.txt", "old": "typed", "new": "written"})
    async with editor(tmp_path, [Turn(edit), Turn(Words("Done."))], approve, FILES) as person:
        a = person.folder / "a.txt"
        a.write_bytes(b"one\r\ntwo\r\n")
        session = await person.agent.new_session(cwd=str(person.folder))
        person.files[str(a)] = "one\ntyped\n"
        for said, there in (
            ("Go", b"one\r\nwritten\r\n"),
            ("/undo", b"one\r\ntyped\r\n"),
            ("/redo", b"one\r\nwritten\r\n"),
        ):
            prompt = [text_block(said)]
            await person.agent.prompt(session_id=session.session_id, prompt=prompt)
            assert a.read_bytes() == there, said


async def test_a_search_sees_what_is_not_saved(tmp_path: Path) -> None:
    """C-19: in files that the chat was about, and in the one that is searched."""
    script = [
        Turn(Call("search", {"pattern": "typed"})),
        Turn(Call("read", {"path": "a.txt"})),
        Turn(Call("search", {"pattern": "typed|gone"})),
        Turn(Call("search", {"pattern": "typed", "path": "c.txt", "show": "counts"})),
        Turn(Words("Done.")),
    ]
    async with editor(tmp_path, script, can=FILES) as person:
        for name in "abc":
            path = person.folder / f"{name}.txt"
            path.write_text("gone\n")
            person.files[str(path)] = f"{name}\ntyped\n"
        session = await person.agent.new_session(cwd=str(person.folder))
        link = resource_link_block("b.txt", (person.folder / "b.txt").as_uri())
        none = resource_link_block("no file", "file:///a%00b")  # no system has such a name
        said = [text_block("In"), none, link]
        await person.agent.prompt(session_id=session.session_id, prompt=said)
        last = reply_requests(person.simulator)[-1].json["messages"]
        first, _, after, one = (one["content"] for one in last if one["role"] == "tool")
        assert first == "b.txt:2: typed", "the person named it"
        assert after == "a.txt:2: typed\n\nb.txt:2: typed\n\nc.txt:1: gone"
        assert one == "c.txt: 1"


async def test_what_is_typed_after_the_draft_is_kept(tmp_path: Path) -> None:
    """The draft is a conflict then, as if the file itself had changed."""
    script = [
        Turn(Call("edit", {"path": "a.txt", "old": "two", "new": "three"})),
        Turn(Words("Done.")),
        Turn(Call("delete", {"path": "a.txt"}), Call("move", {"path": "a.txt", "to": "b.txt"})),
        Turn(Words("Done.")),
    ]

    def choices(call: Any, options: list[str]) -> str:
        person.files[str(a)] = "one\ntwo\ntyped meanwhile\n"
        return "approve"

    async with editor(tmp_path, script, choices, FILES) as person:
        a = person.folder / "a.txt"
        a.write_text("one\ntwo\n")
        await says(person)
        assert len(person.questions) == 1 and not person.saved
        assert a.read_text() == "one\ntwo\n" and "typed" in person.files[str(a)]
        await says(person, "Then delete it")
        results = reply_requests(person.simulator)[-1].json["messages"][-2:]
        assert all("not saved" in str(one) for one in results), results
        assert len(person.questions) == 1 and a.exists()


async def test_an_editor_that_only_reads_leaves_the_writing_to_the_studio(tmp_path: Path) -> None:
    script = [
        Turn(Call("edit", {"path": "a.txt", "old": "typed", "new": "written"})),
        Turn(Words("Done.")),
    ]
    async with editor(tmp_path, script, can=READS) as person:
        a = person.folder / "a.txt"
        a.write_text("one\n")
        person.files[str(a)] = "one\ntyped\n"
        await says(person, mode="auto")
        assert a.read_text() == "one\nwritten\n" and not person.saved


async def test_an_editor_without_files_is_not_asked(tmp_path: Path) -> None:
    script = [Turn(Call("read", {"path": "a.txt"})), Turn(Words("Done."))]
    async with editor(tmp_path, script) as person:
        a = person.folder / "a.txt"
        a.write_text("saved\n")
        person.files[str(a)] = "typed\n"
        await says(person)
        assert "saved" in told(person) and "typed" not in told(person)
