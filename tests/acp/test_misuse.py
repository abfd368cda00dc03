"""Editors that cancel, answer and send what they should not: the real command at the other end."""

from __future__ import annotations

import asyncio
import base64
import os
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, embedded_blob_resource, image_block, resource_block, text_block
from acp.schema import (
    AgentMessageChunk,
    McpServerStdio,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from studio.acp.agent import AcpAgent
from studio.simulator import Call, Turn, stall
from studio.simulator import Text as Words
from support.acp_editor import Editor, editor
from support.command import Command, finish
from support.engine_home import engine_home, reply_requests
from support.sample_files import picture
from support.waiting import HANG

WRITES = Turn(Call("write", {"path": "b.txt", "content": "two\n"}))
RUNS = Turn(Call("run", {"command": "touch ran"}))
DONE = Turn(Words("Done."))


async def begun(person: Editor) -> str:
    session = await person.agent.new_session(cwd=str(person.folder))
    return session.session_id


async def ended(work: Any) -> Any:
    """What a request came to, soon."""
    return await asyncio.wait_for(work, HANG)


def says(person: Editor, session_id: str, text: str = "Go") -> asyncio.Task[Any]:
    return asyncio.create_task(
        person.agent.prompt(session_id=session_id, prompt=[text_block(text)])
    )


async def test_cancel_takes_back_any_question(tmp_path: Path) -> None:
    """L-11, T-5: also where the editor never answers; nothing else begins meanwhile."""
    async with editor(tmp_path, [RUNS, WRITES, DONE, DONE]) as person:
        person.away = True
        name = await begun(person)
        work = says(person, name)
        await person.until(lambda: len(person.questions) == 1)
        await person.agent.cancel(session_id=name)
        assert (await ended(work)).stop_reason == "cancelled"
        ends = [u.status for u in person.updates if isinstance(u, ToolCallProgress)]
        assert ends[-1] == "failed", "the call is open no longer"

        work = says(person, name)
        await person.until(lambda: len(person.questions) == 2)
        assert person.questions[-1][1] == ["approve", "discard"]
        with pytest.raises(RequestError, match="still working"):
            await ended(says(person, name))
        await person.agent.cancel(session_id=name)
        assert (await ended(work)).stop_reason == "cancelled"
        person.away = False
        assert (await ended(says(person, name))).stop_reason == "end_turn"
        assert not (person.folder / "ran").exists() and not (person.folder / "b.txt").exists()
        assert not person.simulator.violations


async def test_an_editor_that_cannot_ask_has_allowed_nothing(tmp_path: Path) -> None:
    """T-5, T-7, L-15: the turn ends well all the same, and nobody is said to have said no."""

    def choices(call: Any, options: list[str]) -> str:
        raise RequestError.method_not_found("session/request_permission")

    async with editor(tmp_path, [RUNS, WRITES, DONE], choices) as person:
        end = await ended(says(person, await begun(person)))
        assert end.stop_reason == "end_turn" and person.words == "Done."
        assert not (person.folder / "ran").exists() and not (person.folder / "b.txt").exists()
        told = str(reply_requests(person.simulator)[1].json)
        assert "nobody answered in the editor" in told and "person did not allow" not in told


async def test_an_editor_that_goes_leaves_a_chat_that_can_go_on(tmp_path: Path) -> None:
    """L-11: standard input closes in the middle of an answer."""
    script = [Turn(Words("Never ends " * 50), faults=[stall(at=3)]), DONE]
    async with editor(tmp_path, script) as person:
        name = await begun(person)
        lost = says(person, name)
        await person.until(lambda: bool(person.words))
    with pytest.raises(ConnectionError):
        await lost
    async with editor(tmp_path, [DONE]) as person:
        await person.agent.load_session(cwd=str(person.folder), session_id=name)
        assert (await ended(says(person, name))).stop_reason == "end_turn"
        assert "Never ends" in str(reply_requests(person.simulator)[0].json)


async def test_an_editor_that_closes_both_pipes_ends_the_command_well(tmp_path: Path) -> None:
    """Its output is gone before its input: nothing can be flushed any more."""
    ours, theirs = os.pipe()
    process = await Command(tmp_path).start("acp", stdin=PIPE, stdout=theirs)
    os.close(theirs)
    assert process.stdin is not None
    process.stdin.write(b"{\n")
    assert await asyncio.to_thread(os.read, ours, 1)  # it listens
    os.close(ours)
    process.stdin.close()
    ended = await finish(process)
    assert (ended.code, ended.err) == (0, "")


async def test_what_is_opened_again_shows_pictures_and_changes(tmp_path: Path) -> None:
    """T-5: each with what became of it; a change is still there when its call has ended."""
    script = [
        WRITES,
        Turn(Call("read", {"path": "p.png"})),
        DONE,
        Turn(Call("write", {"path": "c", "content": "x"})),
        DONE,
    ]

    def choices(call: Any, options: list[str]) -> str:
        return "approve" if call.title == "Write b.txt" else "discard"

    async with editor(tmp_path, script, choices) as person:
        (person.folder / "p.png").write_bytes(picture())
        name = await begun(person)
        data = base64.b64encode(picture()).decode()
        await person.agent.prompt(session_id=name, prompt=[image_block(data, "image/png")])
        await person.agent.prompt(session_id=name, prompt=[text_block("Again")])
        live = [u for u in person.updates if getattr(u, "status", "") == "completed"]
        assert [[part.type for part in one.content] for one in live] == [
            ["diff", "content"],
            ["content", "content"],
            ["diff", "content"],
        ]
        assert live[1].content[1].content.type == "image"
        person.updates.clear()
        await person.agent.load_session(cwd=str(person.folder), session_id=name)
        said = [u.content for u in person.updates if isinstance(u, UserMessageChunk)]
        assert [part.type for part in said] == ["image", "text"] and said[0].data == data
        drafts = [
            (u.title, u.status, (u.content or [])[0].new_text)
            for u in person.updates
            if isinstance(u, ToolCallStart) and u.tool_call_id.startswith("draft-")
        ]
        assert drafts == [
            ("Write b.txt (approved)", "completed", "two\n"),
            ("Write c (discarded)", "failed", "x"),
        ]


async def test_what_cannot_be_sent_reaches_no_model(tmp_path: Path) -> None:
    """H-2, H-5: a provider that refuses a part of the history would refuse every later message."""
    async with editor(tmp_path, [DONE]) as person:
        name = await begun(person)
        nonsense = base64.b64encode(b"\0nonsense").decode()
        large = base64.b64encode(b"x" * 20_000_001).decode()
        for prompt, words in (
            ([], "nothing to send"),
            ([text_block(""), text_block(" \n")], "nothing to send"),
            ([text_block("See"), image_block(nonsense, "image/png")], "no picture"),
            ([image_block("%", "image/png")], "not base64"),
            ([resource_block(embedded_blob_resource("file:///a.bin", nonsense))], "a.bin is a bin"),
            ([resource_block(embedded_blob_resource("file:///a.txt", large))], "20 MB is the most"),
        ):
            with pytest.raises(RequestError, match=words):
                await ended(person.agent.prompt(session_id=name, prompt=prompt))
        assert not reply_requests(person.simulator)
        link = {"type": "resource_link", "uri": "http://[", "name": "n"}
        jpeg = image_block(base64.b64encode(picture()).decode(), "text/html")
        await person.agent.prompt(session_id=name, prompt=[link, jpeg, text_block("")])
        body = reply_requests(person.simulator)[0].json["messages"][-1]
        assert "[n](http://[)" in str(body) and "data:image/png;base64," in str(body)
        assert len(body["content"]) == 3  # where the agent works comes first


async def test_sessions_that_are_not_there(tmp_path: Path) -> None:
    async with editor(tmp_path, []) as person:
        name = await begun(person)
        for wrong in ("none", "", "last", "../x", "\0", "\ud800", name[:8], name + " "):
            for work in (
                person.agent.load_session(cwd=str(person.folder), session_id=wrong),
                person.agent.prompt(session_id=wrong, prompt=[text_block("Go")]),
                person.agent.set_session_mode(session_id=wrong, mode_id="auto"),
            ):
                with pytest.raises(RequestError, match="There is no session") as raised:
                    await ended(work)
                assert raised.value.code == -32002
            await person.agent.cancel(session_id=wrong)


class Hasty(Editor):
    """An editor whose person cancels as soon as they read the first words."""

    door: AcpAgent

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        if isinstance(update, AgentMessageChunk):
            await self.door.cancel(session_id)


async def test_cancel_counts_before_the_turn_has_begun(tmp_path: Path) -> None:
    """What the door says first, of servers that cannot be used, is a moment like any other."""
    async with engine_home(tmp_path, "ollama", []) as there:
        engine, person = there.engine, Hasty()
        engine.settings.values.default_provider = there.provider
        engine.settings.values.default_model = {there.provider: "sim-model"}
        await engine.look_for_providers()
        door = person.door = AcpAgent(engine)
        door.on_connect(person)  # type: ignore[arg-type]  # what the door needs of an editor
        server = McpServerStdio(name="a\nb", command="/bin/mcp", args=[], env=[])
        session = await door.new_session(str(there.folder), [server])
        answer = await door.prompt(session.session_id, [text_block("Go")])
        said = [one for one in person.updates if isinstance(one, AgentMessageChunk)]
        assert answer.stop_reason == "cancelled" and len(said) == 1
        assert not there.asked
