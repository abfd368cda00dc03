"""Conversations to files and back, and those of other programs."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import time
import zipfile
import zlib
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.chat_files import export_chats
from studio.agent.session import import_stream
from studio.agent.session.import_export import (
    PortableConversation,
    as_json,
    conversation_of,
    of_json,
)
from studio.agent.session.import_formats import read_conversations
from studio.agent.session.import_values import ImportedConversation
from studio.domain.blocks import all_messages
from studio.domain.events import Recounted
from studio.domain.messages import (
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    with_distinct_calls,
)
from studio.domain.transcript import Transcript
from studio.simulator import Call, Think, Turn
from studio.simulator import Text as Words
from studio.storage.remote_approvals import ChangeNotifier
from support.engine_home import EngineHome, engine_home, reply_requests, say
from support.waiting import until


def place_of(tmp: Path, name: str) -> Path:
    (tmp / name).mkdir()
    return tmp / name


def chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\0"))
    + chunk(b"IEND", b"")
)


async def cli(one: EngineHome, *arguments: str) -> int:
    return await one.command(*arguments)


async def stored(one: EngineHome, session_id: str) -> PortableConversation:
    info = await one.engine.store.get(session_id)
    assert info is not None
    return conversation_of(info, await one.engine.store.events(session_id))


async def test_what_is_exported_comes_back_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Export, import elsewhere, export: the same words, calls, results, pictures, files."""
    script = [
        Turn(Think("A plan."), Words("I look."), Call("read", {"path": "a.txt"}), stop="tool_use"),
        Turn(Call("read", {"path": "no.txt"}), Call("list", {"path": "."}), stop="tool_use"),
        Turn(Words("It says **alpha**.")),
        Turn(Words("Good bye.")),
    ]
    place = tmp_path / "all.json"
    async with engine_home(place_of(tmp_path, "here"), "anthropic", script) as one:
        (one.folder / "a.txt").write_text("alpha\n")
        session = await one.session()
        said = [Image("image/png", PNG), File("n.txt", "text/plain", "ü".encode()), Text("Look")]
        [_ async for _ in session.turn(said)]
        await say(session, "Thanks")
        await session.change(subject="pack:thing/1")  # says who may see it, elsewhere too (KZ-7)
        assert await cli(one, "export", "--all", "--output", str(place)) == 0
        first = await stored(one, session.info.id)
        assert await cli(one, "import", str(place)) == 0  # it is here already
        assert len(await one.engine.sessions.list()) == 1
        assert "here already" in capsys.readouterr().err
    kinds = [type(block).__name__ for message in first.messages for block in message.blocks]
    assert {"Image", "File", "Text", "ToolCall", "ToolResult"} <= {*kinds}
    async with engine_home(place_of(tmp_path, "there"), "anthropic", [Turn(Words("On."))]) as one:
        assert await cli(one, "import", str(place)) == 0
        [info] = await one.engine.sessions.list()
        again = await stored(one, info.id)
        assert again.messages == first.messages and again.digest == first.digest
        assert (info.title, info.updated) == (first.title, first.updated)
        assert await cli(one, "export", info.id, "--output", str(tmp_path / "again.json")) == 0
        told = json.loads((tmp_path / "again.json").read_text())["conversations"][0]
        asserted = json.loads(place.read_text())["conversations"][0]
        assert told["messages"] == asserted["messages"] and told["title"] == asserted["title"]
        capsys.readouterr()
        assert await cli(one, "import", str(place), str(tmp_path / "again.json")) == 0
        assert "2 skipped" in capsys.readouterr().err
        assert len(await one.engine.sessions.list()) == 1
        session = await one.engine.sessions.open(info.id)  # and it goes on
        assert info.subject == "pack:thing/1"
        await session.change(subject="")
        await say(session, "Go on")
        assert "alpha" in str(reply_requests(one.simulator)[-1].json)
        await one.engine.sessions.delete(info.id)
        assert await cli(one, "import", str(place)) == 0  # what was deleted may come again
        assert len(await one.engine.sessions.list()) == 1


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)
IDS = st.sampled_from(["call_0", "call_1", "a"])


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """What one turn leaves: words of the person, then steps with calls, then an answer."""
    said = draw(
        st.lists(
            st.one_of(
                st.builds(Text, TEXTS),
                st.builds(Image, st.just("image/png"), st.binary(max_size=9)),
                st.builds(File, TEXTS, st.just("text/plain"), st.binary(max_size=9)),
            ),
            min_size=1,
            max_size=3,
        )
    )
    out = [Message("user", tuple(said))]
    for _ in range(draw(st.integers(0, 2))):
        ids = draw(st.lists(IDS, min_size=1, max_size=2, unique=True))
        words = draw(st.lists(st.builds(Reasoning, TEXTS), max_size=1))
        words += draw(st.lists(st.builds(Text, TEXTS), max_size=1))
        calls = [ToolCall(name, "read", {"path": draw(TEXTS)}) for name in ids]
        out.append(Message("assistant", (*words, *calls)))
        results = [
            ToolResult(name, "read", (Text(draw(TEXTS)),), is_error=draw(st.booleans()))
            for name in ids
        ]
        out.append(Message("user", tuple(results)))
    return [*out, Message("assistant", (Text(draw(TEXTS)),))]


@given(st.lists(steps(), min_size=1, max_size=3))
def test_any_conversation_survives_the_file(turns: list[list[Message]]) -> None:
    """H-2: also where the provider's ids of calls begin anew with each turn."""
    messages = with_distinct_calls(message for turn in turns for message in turn)
    calls = [b.id for m in messages for b in m.blocks if isinstance(b, ToolCall)]
    assert len(calls) == len(set(calls))
    body = json.loads(json.dumps(as_json([PortableConversation("T", messages)])))
    [back] = of_json(body)
    assert back.messages == messages
    assert tuple(all_messages(Transcript([Recounted(back.messages)]).blocks)) == messages


async def test_a_key_is_not_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-4: whoever told a model their own key does not tell the readers of the file."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-mine-0123456789")
    script = [Turn(Words("Thanks for sk-ant-of-mine-0123456789."))] * 2
    async with engine_home(tmp_path, "ollama", script) as one:
        await say(await one.session(), "My key is sk-ant-of-mine-0123456789")
        one.engine.keychain.keep_for_session("server", "as-token-of-mine")
        session = await one.engine.sessions.open((await one.engine.sessions.list())[0].id)
        await say(session, "And as-token-of-mine")
        place = tmp_path / "out"
        for form, count in (("json", 5), ("md", 5)):
            done = await cli(one, "export", "last", "--format", form, "--output", str(place))
            text = place.read_text()
            assert done == 0 and "of-mine" not in text and text.count("[key]") == count, text


CHATGPT = [
    {
        "title": "Bread",
        "create_time": 1700000000.5,
        "update_time": 1700000100.5,
        "current_node": "d",
        "conversation_id": "c-1",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
            "s": {"message": {"author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]}, "metadata": {}}, "parent": "root", "children": ["a"]},
            "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}, "How much flour?"]}, "metadata": {"attachments": [{"name": "list.pdf"}]}}, "parent": "s", "children": ["b", "x"]},
            "x": {"message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["The branch nobody sees"]}}, "parent": "a", "children": []},
            "b": {"message": {"author": {"role": "assistant"}, "recipient": "python", "content": {"content_type": "code", "text": "print(500)"}}, "parent": "a", "children": ["c"]},
            "c": {"message": {"author": {"role": "tool"}, "content": {"content_type": "execution_output", "text": "500"}}, "parent": "b", "children": ["d"]},
            "d": {"message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["500 g."]}}, "parent": "c", "children": []},
        },
    },
    {"title": "Nothing", "mapping": {}, "current_node": None},
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "u-1",
        "name": "Tea",
        "created_at": "2026-01-02T03:04:05.000000Z",
        "updated_at": "2026-01-02T03:05:05.000000Z",
        "chat_messages": [
            {"sender": "human", "text": "Green?", "content": [{"type": "text", "text": "Green?"}], "attachments": [{"file_name": "tea.txt", "extracted_content": "Sencha"}], "files": [{"file_name": "leaf.png"}]},
            {"sender": "assistant", "text": "", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Yes."}]},
        ],
    }
]  # fmt: skip
PLAIN: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64," + base64.b64encode(PNG).decode()}}]},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a dot"},
    {"role": "assistant", "content": "A dot."},
]  # fmt: skip


def test_chatgpts_export_is_read() -> None:
    bread, other, nothing = read_conversations(json.dumps(CHATGPT).encode())
    assert other.title == "Bread (version 2)" and "The branch nobody" in other.messages[1].text
    assert (bread.title, bread.updated, nothing.messages) == ("Bread", 1700000100.5, ())
    asked, answered = bread.messages
    assert [block.text for block in asked.blocks if isinstance(block, Text)] == [
        "[A picture that is not in the export.]",
        "How much flour?",
        "[The file “list.pdf” is not in the export.]",
    ]
    assert answered.text == "```\nprint(500)\n```\n\n```\n500\n```\n\n500 g."


def test_claudes_export_is_read() -> None:
    [tea] = read_conversations(json.dumps(CLAUDE).encode())
    assert tea.title == "Tea" and tea.updated == 1767323105
    assert tea.messages == (
        Message("user", (File("tea.txt", "text/plain", b"Sencha"), Text("[The file “leaf.png” is not in the export.]"), Text("Green?"))),
        Message("assistant", (Reasoning("Hm"), Text("Yes."))),
    )  # fmt: skip


def test_what_claudes_tools_made_is_read_as_it_was() -> None:
    """An artifact has its lines, a page its address; a chat without a name what was asked."""
    poem = "# Tea\n\n```\nx\n```"
    talk = [
        {"sender": "human", "text": "Write a poem", "content": [{"type": "text", "text": "Write a poem"}], "files": [{"file_name": "leaf.png"}]},
        {"sender": "assistant", "text": "", "content": [
            {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "content": poem}},
            {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}]},
            {"type": "tool_result", "name": "web_search", "content": [{"title": "Tea", "url": "https://tea.example", "text": "A\ndrink"}, {"image": 1}]},
            {"type": "tool_result", "name": "odd", "content": [7]},
        ]},
    ]  # fmt: skip
    [one] = read_conversations(json.dumps([{"name": "", "chat_messages": talk}]).encode())
    assert one.title == "Write a poem"
    made, said, found, odd = [b.text for b in one.messages[1].blocks if isinstance(b, Text)]
    assert made == f'artifacts\n\n````\n{{"command": "create"}}\n\n{poem}\n````'
    assert said == "artifacts\n\n```\nOK\n```" and odd == "odd\n\n```\n[7]\n```"
    assert "Tea\nhttps://tea.example\nA\ndrink\n\n{" in found
    bad = [{"name": "", "chat_messages": [{**talk[1], "content": [{"type": "tool_use", "input": value}]}]} for value in (None, [{"text": 1}, 2])]  # fmt: skip
    assert len(read_conversations(json.dumps(bad[:1]).encode())) == 1
    with pytest.raises(ValueError, match="damaged"):
        read_conversations(json.dumps(bad).encode())


def test_of_chatgpts_tools_nothing_goes_unsaid() -> None:
    """A quoted page has its address; a picture of a screen and what is unknown are told."""
    parts: list[dict[str, Any]] = [
        {"content_type": "tether_quote", "title": "X", "url": "https://x.org", "text": "Quoted"},
        {"content_type": "computer_output", "screenshot": {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}},
        {"content_type": "hologram", "light": 1},
    ]  # fmt: skip
    mapping = {
        str(at): {"message": {"author": {"role": "tool"}, "content": content}, "parent": str(at - 1), "children": [str(at + 1)] if at < 2 else []}
        for at, content in enumerate(parts)
    }  # fmt: skip
    [one] = read_conversations(json.dumps([{"title": "T", "mapping": mapping}]).encode())
    assert one.messages[0].text == (
        "Quoted\n\n[X](https://x.org)\n\n[A picture that is not in the export.]"
    )
    assert isinstance(one, ImportedConversation)
    assert one.left_out == ("A picture", "A part of the kind hologram")


async def test_to_read_it_says_who_answered_and_what_was_sent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chatgpt.json"
    talk = _talk("What is this?", "A dot.", at=1e9)
    talk["mapping"]["1"]["message"]["metadata"] = {"model_slug": "gpt-5-5-thinking"}
    file.write_text(json.dumps([talk]))
    (tmp_path / "notes.txt").write_text("Of the dot")
    async with engine_home(place_of(tmp_path, "here"), "ollama", [Turn(Words("Yes."))]) as one:
        assert await cli(one, "import", "--folder", str(tmp_path), str(file)) == 0
        sent = ("-a", str(tmp_path / "notes.txt"), "-m", "ollama/sim-model", "Sure?")
        assert await cli(one, "run", "--session", "last", *sent) == 0
        capsys.readouterr()
        assert await cli(one, "export", "--format", "md", "last") == 0
        shown = capsys.readouterr().out
    assert "## ChatGPT on gpt-5-5-thinking\n\nA dot." in shown
    assert "## You\n\n> File: notes.txt\n\nSure?\n\n## " in shown and shown.count("## ") == 4


def test_a_plain_list_is_read() -> None:
    for body in (PLAIN, {"messages": PLAIN}, [{"messages": PLAIN}]):
        [one] = read_conversations(json.dumps(body).encode())
        assert one.instructions == "Be brief." and [m.role for m in one.messages] == [
            *("user", "assistant", "user", "assistant")
        ]
        see, picture = one.messages[0].blocks
        assert see == Text("See") and isinstance(picture, Image)
        assert one.messages[1].blocks == (ToolCall("c1", "look", {"at": 1}),)
        assert one.messages[2].blocks == (ToolResult("c1", "look", (Text("a dot"),)),)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PK\x03\x04", "it is a damaged archive"),
        (b"\xff\xfe{", "it is not UTF-8"),
        (b"{", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it holds no conversation"),
        (b'"words"', "it holds no conversation"),
        (b'[{"a": 1}]', "conversation 1: this is no conversation"),
        (b'[{"role": "wizard", "content": "x"}]', "message 1: its role is 'wizard'"),
        (b'[{"role": "user", "content": "x"}, {"role": "user", "content": 7}]', "message 2: "),
        (b'{"messages": [7]}', "message 1 has no role"),
        (b'[{"title": "T", "mapping": {"a": {"message": 7}}}]', "conversation 1 “T”"),
        (b'{"agent_studio": 9}', "it is of version 9"),
        (b'{"agent_studio": 1, "conversations": [{"title": 7}]}', "conversation 1: "),
        (b'{"session": {}, "events": [{"event": "x"}]}', "the session is damaged"),
    ],
)
def test_a_bad_file_says_what_is_wrong(data: bytes, words: str) -> None:
    with pytest.raises(ValueError) as error:
        read_conversations(data)
    assert words in str(error.value)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "content", "messages", "mapping", "chat_messages", "message", "author", "parts", "type", "text", "sender", "agent_studio", "conversations", "current_node", "tool_calls"]), inner, max_size=4), max_leaves=20))  # fmt: skip
def test_no_file_is_worse_than_refused(value: Any) -> None:
    try:
        read_conversations(json.dumps(value).encode())
    except ValueError as error:
        assert str(error)


async def test_of_a_bad_file_nothing_is_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps([*CLAUDE, {"name": "X", "chat_messages": [{"sender": "cat"}]}]))
    good = tmp_path / "good.json"
    good.write_text(json.dumps(CHATGPT))
    async with engine_home(place_of(tmp_path, "here"), "ollama", []) as one:
        assert await cli(one, "import", str(bad), str(good), str(tmp_path / "no.json")) == 1
        told = capsys.readouterr()
        assert "conversation 2 “X”: a message is from 'cat'" in told.err
        assert "Nothing of it was imported" in told.err and "it cannot be read" in told.err
        assert "Skipped, because it is empty: Nothing" in told.err and "Bread" in told.out
        other, info = sorted(await one.engine.sessions.list(), key=lambda info: not info.archived)
        assert (info.title, info.origin) == ("Bread", "terminal")
        assert other.archived and other.title == "Bread (version 2)"
        await one.engine.sessions.delete(other.id)  # for “last” below
        assert await cli(one, "import", "--json", str(good)) == 0
        rows = json.loads(capsys.readouterr().out)
        assert [row["skipped"] for row in rows] == ["it is here already", "", "it is empty"]
        assert rows[0]["left_out"] == ["A picture", "The file “list.pdf”"]
        await one.engine.sessions.delete(rows[1]["session"])
        assert await cli(one, "export", "--format", "md", "last") == 0
        text = capsys.readouterr().out
        assert "# Bread" in text and "How much flour?" in text and "500 g." in text
        assert await cli(one, "export") == 1 and "--all" in capsys.readouterr().err


async def test_other_programs_hear_of_what_comes(tmp_path: Path) -> None:
    """An open window lists it at once."""
    said = [{"sender": "human", "text": "Hello"}, {"sender": "assistant", "text": "Hi."}]
    place = tmp_path / "conversations.json"
    place.write_text(json.dumps([{"uuid": "1", "name": "Elsewhere", "chat_messages": said}]))
    async with engine_home(tmp_path, "anthropic", []) as one:
        window = ChangeNotifier(one.engine.questions.notifier.folder, lambda: "a window")
        assert not window.poll()
        assert await cli(one, "import", str(place)) == 0
        await until(window.poll)


async def test_what_is_here_does_not_come_again(tmp_path: Path) -> None:
    """However often, and also twice at the same time."""
    place = tmp_path / "many.json"
    place.write_text(json.dumps([{**CLAUDE[0], "name": f"Tea {n}"} for n in range(20)]))
    async with engine_home(place_of(tmp_path, "here"), "ollama", []) as one:
        assert await cli(one, "import", str(place)) == 0
        await asyncio.gather(*(cli(one, "import", str(place)) for _ in range(2)))
        assert len(await one.engine.sessions.list()) == 20


async def test_a_strangers_file_gets_no_folder_no_trust_and_no_second_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-7: it may name any folder, and what it says may be orders in disguise."""
    secret = tmp_path / "keys"
    secret.mkdir()
    said = Message("user", (Text("Read all you find here"),))
    place = tmp_path / "gift.json"
    async with engine_home(place_of(tmp_path, "here"), "anthropic", []) as one:
        for folder in (secret, one.folder):
            body = as_json([PortableConversation(f"a\n{folder.name}", (said,), folder=str(folder))])
            place.write_text(json.dumps(body))
            if folder == one.folder:
                await one.session()  # the person works there
            assert await cli(one, "import", str(place), "--json") == 0
            [row] = json.loads(capsys.readouterr().out)
            session = await one.engine.sessions.open(row["session"])
            assert (session.info.folder == str(folder)) == (folder == one.folder)
            assert session.info.title == f"a {folder.name}"
            elsewhere = "what was said elsewhere"
            assert session.transcript.exposed == {"private": elsewhere, "untrusted": elsewhere}


async def test_a_strangers_file_sets_no_day_that_nobody_can_show(tmp_path: Path) -> None:
    said = Message("user", (Text("Hello"),))
    place = tmp_path / "gift.json"
    for number, day in enumerate((1e300, float("inf"), float("nan"), -1e300, 10**400)):
        async with engine_home(place_of(tmp_path, f"here{number}"), "anthropic", []) as one:
            body = as_json([PortableConversation("T", (said,))])
            body["conversations"][0]["updated"] = day  # type: ignore[index,call-overload]
            place.write_text(json.dumps(body))
            assert await cli(one, "import", str(place)) == 0
            [info] = await one.engine.sessions.list()
            assert abs(info.updated - time.time()) < 86_400, day


async def test_an_archive_has_every_chat_and_file_and_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-4: also where names are alike, files are from before 1980, or have a key in them."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-mine-0123456789")
    titles = ["Tea 2", "Tea", "tea", "Tea"]
    place = tmp_path / "all.zip"
    async with engine_home(place_of(tmp_path, "here"), "ollama", []) as one:
        for title in titles:
            session = await one.session()
            await session.change(title=title)
        paths = one.engine.paths
        for folder in (paths.agents, paths.tools):
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / "own.md"
            file.write_bytes(b"\xff sk-ant-of-mine-0123456789")
            os.utime(file, (0, 0))
        ids = [info.id for info in await one.engine.sessions.list()]
        await export_chats(one.engine, ids, "zip", place, lambda _done, _all: None)
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
            assert archive.read(f"{paths.tools.name}/own.md") == b"\xff [key]"
            assert not any(b"of-mine" in archive.read(name) for name in names)
    assert len({name.casefold() for name in names}) == len(names) == len(titles) + 4


async def test_an_export_that_is_stopped_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    place = place_of(tmp_path, "out") / "all.zip"
    async with engine_home(place_of(tmp_path, "here"), "ollama", []) as one:
        ids = [(await one.session()).info.id]
        for number in range(5):
            file = one.engine.paths.agents / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(os.urandom(4_000_000))
        work = asyncio.ensure_future(
            export_chats(one.engine, ids, "zip", place, lambda _done, _all: None)
        )
        await until(lambda: any(part.stat().st_size > 1_000_000 for part in place.parent.iterdir()))
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert not list(place.parent.iterdir())


async def test_arguments_that_nobody_can_read_are_no_fault_of_the_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "deep.json"
    function = {"name": "f", "arguments": '{"a":' + "[" * 800 + "]" * 800 + "}"}
    call = {"id": "1", "type": "function", "function": function}
    place.write_text(json.dumps([{"role": "assistant", "content": "", "tool_calls": [call]}]))
    async with engine_home(place_of(tmp_path, "here"), "anthropic", []) as one:
        assert await cli(one, "import", str(place)) == 1
        assert "nested too deeply" in capsys.readouterr().err
        assert not await one.engine.sessions.list()


def zipped(name: str, data: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "not this")
        archive.writestr(name, data)
    return out.getvalue()


def test_an_archive_is_read_without_being_unpacked() -> None:
    data = json.dumps([{"title": "T", "messages": PLAIN}]).encode()
    for name in ("conversations.json", "export-2026/conversations.json"):
        [one] = read_conversations(zipped(name, data))
        assert one.title == "T" and len(one.messages) == 4
    with pytest.raises(ValueError, match=r"an archive without conversations\.json"):
        read_conversations(zipped("chats.json", data))
    broken = bytearray(zipped("conversations.json", data * 50))
    broken[120:160] = bytes(40)
    with pytest.raises(ValueError, match="archive"):
        read_conversations(bytes(broken))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("conversations.json", data * 50)
    broken = bytearray(out.getvalue())
    broken[60:90] = bytes(30)
    with pytest.raises(ValueError, match="archive"):
        read_conversations(bytes(broken))


def test_an_archive_that_grows_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes may unpack to gigabytes: no more is held than one conversation may have."""
    monkeypatch.setattr(import_stream, "LARGEST", 4_000_000)
    for data in (b" " * 6_000_000, b'["' + b"x" * 6_000_000, b"[[" + b"1," * 3_000_000):
        bomb = zipped("conversations.json", data)
        assert len(bomb) < 100_000
        with pytest.raises(ValueError, match="has more than 4 MB"):
            read_conversations(bomb)


async def test_json_lists_the_files_of_an_archive_that_are_not_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "chatgpt.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
        archive.writestr("chat.html", "<html>")
    async with engine_home(place_of(tmp_path, "here"), "ollama", []) as one:
        assert await cli(one, "import", "--json", str(packed)) == 0
        *chats, rest = json.loads(capsys.readouterr().out)
        assert chats and not any(row["not_taken"] for row in chats)
        assert rest.keys() == chats[0].keys() and rest["session"] == ""
        assert (rest["file"], rest["not_taken"]) == (str(packed), ["chat.html"])


def _talk(*said: str, at: float) -> dict[str, Any]:
    """A conversation of ChatGPT's, of which one side after the other says something."""
    mapping: dict[str, Any] = {}
    for number, text in enumerate(said):
        role = "assistant" if number % 2 else "user"
        content = {"content_type": "text", "parts": [text]}
        mapping[str(number)] = {
            "message": {"author": {"role": role}, "content": content},
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)] if number + 1 < len(said) else [],
        }
    last = str(len(said) - 1)
    return {
        "title": "Rye", "conversation_id": "c-1", "mapping": mapping, "current_node": last,
        "update_time": at,
    }  # fmt: skip


async def test_a_conversation_that_grew_takes_the_place_of_its_earlier_state(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is twice, and nothing that was said here is lost."""
    file = tmp_path / "conversations.json"

    async def take(one: EngineHome, *said: str, at: float) -> list[dict[str, Any]]:
        file.write_text(json.dumps([_talk(*said, at=at)]))
        assert await cli(one, "import", "--json", str(file)) == 0
        return json.loads(capsys.readouterr().out)

    async with engine_home(place_of(tmp_path, "here"), "ollama", [Turn(Words("On."))]) as one:
        sessions = one.engine.sessions
        [first] = await take(one, "What is rye?", "A grain.", at=1e9)
        await sessions.arrange([first["session"]], pinned=True, title="Mine", titled_by="person")
        grown = ("What is rye?", "A grain.", "And spelt?", "One, too.")
        [second] = await take(one, *grown, at=2e9 - 1)
        assert second["replaces"] == first["session"] and not second["skipped"]
        [info] = await sessions.list()
        assert (info.id, info.title, info.pinned) == (second["session"], "Mine", True)
        assert [one.text for one in (await stored(one, info.id)).messages] == [*grown]
        assert [old.id for old in await sessions.bin()] == [first["session"]]

        [older] = await take(one, "What is rye?", "A grain.", at=1e9)  # an archive of before
        assert older["skipped"] == "it is here already" and len(await sessions.list()) == 1

        await say(await sessions.open(info.id), "Here")
        [kept] = await take(one, *grown, "And oats?", "Also.", at=2e9)
        assert kept["skipped"] == "you went on with it here" and kept["session"] == info.id
        assert len(await sessions.list()) == 1
