"""A session goes from any provider to any other, at any point, and loses only what is said (H-7)."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from documents import pdf, picture
from house import KEY, PROTOCOLS, House, house

from studio.agent.session import Session
from studio.agent.switching import carried_over
from studio.domain.agents import Limits
from studio.domain.blocks import NoticeBlock, ReasoningBlock, TextBlock, ToolBlock, UserBlock
from studio.domain.events import AwaitingReply, Event, HistoryBegun, TurnComplete
from studio.domain.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Said,
    ToolCall,
    ToolResult,
)
from studio.domain.messages import Text as Words
from studio.domain.models import ModelInfo
from studio.providers.anthropic import AnthropicProvider
from studio.providers.conversation import has_reasoning
from studio.providers.gemini_history import UNSIGNED
from studio.providers.http import Http
from studio.providers.simulator import (
    Call,
    RequestView,
    Text,
    Think,
    Turn,
    eof,
    tool_json,
)
from studio.providers.simulator.view import Called, Returned
from studio.providers.simulator.view import Said as Sent

MODELS = {
    "anthropic": "sim-preserved-1",
    "openai": "gpt-5.6",
    "gemini": "sim-gemini-3",
    "openai-compatible": "sim-model",
    "ollama": "sim-model",
}
PHOTO = Image("image/png", picture())
PLAN = File("plan.pdf", "application/pdf", pdf("The plan"))
NOTES = File("notes.txt", "text/plain", "früh am Morgen\n".encode())


@dataclass
class Stage:
    """One studio whose providers are all the same simulator's surfaces."""

    home: House
    replies: list[Turn] = field(default_factory=list)
    views: list[RequestView] = field(default_factory=list)

    async def session(self, provider: str, model: str = "") -> Session:
        return await self.home.studio.sessions.create(
            folder=str(self.home.folder),
            agent="Coder",
            provider=provider,
            model=model or MODELS[provider],
        )

    async def say(
        self,
        session: Session,
        *said: Said,
        replies: Sequence[Turn] = (),
        stop_at: type[Event] | None = None,  # type: ignore[valid-type]
        limits: Limits | None = None,
    ) -> list[Event]:
        self.replies[:] = replies
        events: list[Event] = []
        async for event in session.turn(said, limits=limits):
            events.append(event)
            if stop_at is not None and isinstance(event, stop_at):
                session.stop()
            elif isinstance(event, AwaitingReply):
                session.reply(event.call_id, "Blue")
        return events


@contextlib.asynccontextmanager
async def stage(home: Path) -> AsyncIterator[Stage]:
    """What is in ``home``; the simulator answers with ``replies``, then with "Done."."""
    views: list[RequestView] = []
    replies: list[Turn] = []

    def script(view: RequestView) -> Turn:
        views.append(view)
        return replies.pop(0) if replies else Turn(Text("Done."))

    async with house(home, "anthropic", script) as opened:
        for name, surface in PROTOCOLS.items():
            opened.studio.settings.values.base_urls[name] = opened.simulator.url(surface)  # type: ignore[arg-type]
            if name != "ollama":
                opened.studio.keychain.keep_for_session(name, KEY)
        (opened.folder / "a.txt").write_text("alpha\n")
        (opened.folder / "b.txt").write_text("beta\n")
        (opened.folder / "photo.png").write_bytes(PHOTO.data)
        yield Stage(opened, replies, views)
        assert not opened.simulator.violations, opened.simulator.violations


# What happens before the switch


def read(path: str, id: str = "") -> Call:
    return Call("read", {"path": path}, id=id)


async def plain(on: Stage, session: Session) -> None:
    await on.say(session, Words("What is it?"), replies=[Turn(Text("Forty-two."))])


async def thinking(on: Stage, session: Session) -> None:
    """Signed, sealed, encrypted, between calls: whatever each protocol has."""
    replies = [
        Turn(Think("Deep thoughts."), Think("", redacted=True), Text("I look."), read("a.txt")),
        Turn(Think("Deeper still."), read("b.txt")),
        Turn(Think("Enough."), Text("That is all.")),
    ]
    await on.say(session, Words("Think hard."), replies=replies)


async def stopped(on: Stage, session: Session) -> None:
    """The person stops while one tool has its result and one waits."""
    replies = [Turn(Text("I ask."), read("a.txt"), Call("ask", {"question": "Which?"}))]
    await on.say(session, Words("Ask me."), replies=replies, stop_at=AwaitingReply)


async def limited(on: Stage, session: Session) -> None:
    """The last thing in the history is a result."""
    replies = [Turn(Text("I read."), read("a.txt"), read("b.txt"))]
    events = await on.say(session, Words("Read."), replies=replies, limits=Limits(1, 30.0))
    assert isinstance(events[-1], TurnComplete) and events[-1].reason == "step_limit"


async def enclosing(on: Stage, session: Session) -> None:
    """Only what the first provider takes itself can have been said to it."""
    known = on.home.studio
    facts = known.model(session.info.provider, session.info.model)
    provider = await known.provider(session.info.provider)
    said = [one for one in (PHOTO, PLAN, NOTES) if not provider.refuses(one, facts)]
    replies = [Turn(read("photo.png")), Turn(Text("Two squares."))]
    await on.say(session, Words("Look at these."), *said, replies=replies)


async def alike(on: Stage, session: Session) -> None:
    """Names and ids come twice in one reply, and the ids again in the next."""
    calls = [read("a.txt", "same"), read("a.txt", "same"), read("b.txt", "other")]
    replies = [Turn(*calls), Turn(Text("Again."), *calls), Turn(Text("The same."))]
    await on.say(session, Words("Read twice."), replies=replies)
    await on.say(session, Words("And again."), replies=[Turn(*calls), Turn(Text("Still."))])


async def broken(on: Stage, session: Session) -> None:
    """Half an answer stays, half a call does not."""
    replies = [Turn(Text("Half of an answer that goes on."), read("a.txt"), faults=[eof(at=-4)])]
    events = await on.say(session, Words("Tell me."), replies=replies)
    assert isinstance(events[-1], TurnComplete) and events[-1].reason == "error"
    replies = [Turn(Text("Another half of one, longer."), faults=[eof(at=4)])]
    await on.say(session, Words("Once more."), replies=replies)


async def unreadable(on: Stage, session: Session) -> None:
    replies = [
        Turn(read("a.txt"), faults=[tool_json("invalid")]),
        Turn(Text("I try again."), read("a.txt")),
        Turn(Text("Now I have it.")),
    ]
    await on.say(session, Words("Read."), replies=replies)


async def cut_short(on: Stage, session: Session) -> None:
    """The output limit in the middle of a call."""
    replies = [
        Turn(Text("I begin."), read("a.txt"), stop="max_tokens", faults=[tool_json("truncated")]),
        Turn(Text("So be it.")),
    ]
    await on.say(session, Words("Write a lot."), replies=replies)


SITUATIONS: list[Callable[[Stage, Session], Awaitable[None]]] = [
    plain,
    thinking,
    stopped,
    limited,
    enclosing,
    alike,
    broken,
    unreadable,
    cut_short,
]


# What has to be in the first request after it


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def unreadable_of(on: Stage, session: Session, blocks: Sequence[object]) -> list[Said]:
    """What of these blocks' pictures and files the session's model cannot read."""
    studio, info = on.home.studio, session.info
    return [one for one in enclosed(blocks) if await studio.refuses(info.provider, info.model, one)]


def enclosed(blocks: Sequence[object]) -> list[Image | File]:
    found: list[Image | File] = []
    for block in blocks:
        if isinstance(block, UserBlock):
            found += [part for part in block.said if not isinstance(part, Words)]
        elif isinstance(block, ToolBlock):
            found += block.images
    return found


async def is_carried(on: Stage, session: Session, before: int) -> None:
    """The request has all that the transcript had when there were ``before`` blocks."""
    view = on.views[-1]
    body = json.dumps(view.body, ensure_ascii=False)
    blocks = session.transcript.blocks[:before]
    for role, kind in (("user", UserBlock), ("assistant", TextBlock)):
        words = "\n".join(i.text for i in view.items if isinstance(i, Sent) and i.role == role)
        at = 0
        for block in blocks:
            if isinstance(block, kind) and block.text.strip():
                assert (at := words.find(block.text, at)) >= 0, f"{block.text!r} not in {words!r}"
    tools = [block for block in blocks if isinstance(block, ToolBlock) and block.whole]
    calls = [item for item in view.items if isinstance(item, Called)]
    assert [(c.name, c.arguments) for c in calls] == [(t.name, t.arguments) for t in tools]
    results = [item for item in view.items if isinstance(item, Returned)]
    assert len(results) == len(tools)
    for result, tool in zip(results, tools, strict=True):
        assert tool.output.strip() in result.text and result.text.strip()
    are_paired(view)
    lost = await unreadable_of(on, session, blocks)
    assert body.count("(Left out: ") == len(lost)
    for one in enclosed(blocks):
        if one not in lost:
            words = one.data.decode().strip() if one is NOTES else base64_of(one.data)
            assert words in body
    assert "Deep thoughts" not in body and "Deeper still" not in body


def are_paired(view: RequestView) -> None:
    """No call is split from its result, and results keep call order."""
    open_: list[Called] = []
    names: list[Called] = []
    for item in view.items:
        if isinstance(item, Called):
            assert not open_ or names == open_, "a call before the results of those before it"
            names.append(item)
            open_.append(item)
        elif isinstance(item, Returned):
            call = open_.pop(0)
            assert item.name in ("", call.name)
            assert item.id == call.id or not (item.id and call.id)
            names = []
        else:
            assert not open_ or names == open_, "words between a call and its result"
            assert not open_ or item.role == "assistant", "words before the results"
    assert not open_


def said_of(session: Session) -> str:
    notices = [b.text for b in session.transcript.blocks if isinstance(b, NoticeBlock)]
    return [text for text in notices if text.startswith("Now on ")][-1]


async def switch(on: Stage, session: Session, provider: str, model: str = "") -> None:
    """Go on elsewhere with a turn that uses tools itself; all that is asked is accepted."""
    before, first = len(session.transcript.blocks), len(on.views)
    thought = any(isinstance(b, ReasoningBlock) for b in session.transcript.blocks)
    await session.change(provider=provider, model=model or MODELS[provider])
    replies = [Turn(Text("Mine now."), read("b.txt"), read("b.txt")), Turn(Text("Done there."))]
    events = await on.say(session, Words(f"On with {provider}."), replies=replies)
    assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-3:]
    assert sum(isinstance(event, HistoryBegun) for event in events) == 1
    assert len(on.views) == first + 2
    assert ("what the earlier model thought" in said_of(session)) >= thought
    last = on.views.pop()
    await is_carried(on, session, before)
    on.views.append(last)
    are_paired(last)


@pytest.mark.parametrize("first", PROTOCOLS)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_h7_every_pair_there_and_back(
    tmp_path: Path, first: str, situation: Callable[[Stage, Session], Awaitable[None]]
) -> None:
    async with stage(tmp_path) as on:
        for other in PROTOCOLS:
            if other == first:
                continue
            session = await on.session(first)
            await situation(on, session)
            await switch(on, session, other)
            await switch(on, session, first)
            assert not on.home.simulator.violations, (first, other, on.home.simulator.violations)


@pytest.mark.parametrize("first", PROTOCOLS)
async def test_h7_a_crash_in_the_middle_of_tools(tmp_path: Path, first: str) -> None:
    """The program dies while a tool runs; after the restart another provider goes on."""
    sessions: dict[str, str] = {}
    async with stage(tmp_path) as on:
        database = on.home.studio.paths.database
        crashed = database.with_name("crashed.db")
        turns = []
        for other in PROTOCOLS:
            session = await on.session(first)
            sessions[other] = session.info.id
            on.replies[:] = [Turn(Think("Hm."), read("a.txt"), Call("ask", {"question": "Which?"}))]
            turn = session.turn([Words("Ask me.")])
            turns.append(turn)
            async for _ in turn:
                done = [b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)]
                if {"done", "waiting"} <= set(done):
                    break
            await session.flush()
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(crashed)) as to:
            source.backup(to)
        for turn in turns:
            await turn.aclose()
    for companion in ("-wal", "-shm"):
        database.with_name(database.name + companion).unlink(missing_ok=True)
    shutil.move(crashed, database)
    async with stage(tmp_path) as on:
        for other, identifier in sessions.items():
            if other != first:
                session = await on.home.studio.sessions.open(identifier)
                assert [b.state for b in session.transcript.blocks if isinstance(b, ToolBlock)] == [
                    "done",
                    "cancelled",
                ]
                await switch(on, session, other)
                assert "What it did by then is not known" in json.dumps(on.views[-1].body)
                await switch(on, session, first)


@pytest.mark.parametrize(
    ("provider", "models"),
    [
        ("anthropic", ("claude-haiku-4-5-20251001", "sim-preserved-1", "claude-opus-5-5")),
        ("openai", ("gpt-4o", "gpt-5.6", "o4-mini")),
        ("gemini", ("sim-gemini-25", "sim-gemini-3", "sim-gemini-3-mixed")),
        ("openai-compatible", ("sim-one", "sim-two", "sim-three")),
        ("ollama", ("demo-fast:latest", "demo-thinker:latest", "sim-model")),
    ],
)
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.__name__)
async def test_h7_from_model_to_model(
    tmp_path: Path,
    provider: str,
    models: Sequence[str],
    situation: Callable[[Stage, Session], Awaitable[None]],
) -> None:
    """Plain thinking to preserved thinking and back, unsigned calls to signed ones."""
    async with stage(tmp_path) as on:
        session = await on.session(provider, models[0])
        await situation(on, session)
        for model in (*models[1:], *models):
            await switch(on, session, provider, model)


async def test_h7_a_blind_model_gets_words_and_the_next_one_the_pictures(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.home.studio.list_models("ollama")  # says which models see
        session = await on.session("anthropic")
        await enclosing(on, session)
        await switch(on, session, "ollama", "demo-thinker:latest")
        assert said_of(session) == (
            "Now on demo-thinker:latest. Everything was carried over except "
            "2 pictures and plan.pdf that this model cannot read."
        )
        assert base64_of(PHOTO.data) not in json.dumps(on.views[-1].body)
        await switch(on, session, "ollama", "sim-model")
        assert said_of(session) == (
            "Now on sim-model. Everything was carried over except "
            "plan.pdf that this model cannot read."
        )
        await switch(on, session, "openai")
        assert said_of(session) == "Now on gpt-5.6. Everything was carried over."
        assert base64_of(PLAN.data) in json.dumps(on.views[-1].body)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_h7_rebuilt_for_a_model_that_reads_only_words(tmp_path: Path, provider: str) -> None:
    blind = ModelInfo("m", images=False, documents=False)
    messages = [
        Message("user", (Words("Look."), PHOTO, PLAN, NOTES)),
        Message("assistant", (ToolCall("c", "read", {"path": "photo.png"}),)),
        Message("user", (ToolResult("c", "read", (Words("[photo.png]"), PHOTO)),)),
    ]
    async with stage(tmp_path) as on:
        one = await on.home.studio.provider(provider)
        body = json.dumps(one.rebuild(messages, blind), ensure_ascii=False)
        assert body.count("(Left out: picture. ") == 2 and "(Left out: plan.pdf. " in body
        assert base64_of(PHOTO.data) not in body and base64_of(PLAN.data) not in body
        assert "früh am Morgen" in body and "[photo.png]" in body
        seen = json.dumps(one.rebuild(messages))
        assert seen.count(base64_of(PHOTO.data)) == 2


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_h7_how_drafts_ended_is_told_again(tmp_path: Path, provider: str) -> None:
    """H-6: what was told beside the conversation is not in it; the next model is told anew."""
    async with stage(tmp_path) as on:
        session = await on.session(provider)
        writes = [Call("write", {"path": f"{n}.txt", "content": "new"}) for n in "cdefg"]
        await on.say(session, Words("Write."), replies=[Turn(*writes), Turn(Text("Written."))])
        c, d, e, _, _ = session.transcript.drafts
        await session.decide(c.id, "approve")
        await session.decide(d.id, "discard")
        await session.decide(e.id, "approve")
        await on.say(session, Words("And?"))
        await session.decide(e.id, "undo")
        await session.change(permission_mode="plan")
        other = "openai" if provider != "openai" else "gemini"
        await switch(on, session, other)
        body = json.dumps(on.views[-1].body)
        assert "The draft of c.txt is written." in body
        assert "The draft of d.txt was discarded, and the file is unchanged." in body
        assert "The draft of e.txt was undone, and the file is as it was before." in body
        assert "The draft of f.txt" not in body
        assert "The person wants a plan first." in body
        identifier, told = session.info.id, body.count("The draft of c.txt is written.")
        await on.say(session, Words("More?"))
        assert json.dumps(on.views[-1].body).count("The draft of c.txt is written.") == told == 1
    async with stage(tmp_path) as on:
        session = await on.home.studio.sessions.open(identifier)
        await on.say(session, Words("And now?"))
        assert json.dumps(on.views[-1].body).count("The draft of c.txt is written.") == 1


def a_file(name: str) -> File:
    return File(name, "application/pdf", b"%PDF-")


@pytest.mark.parametrize(
    ("blocks", "thought", "words"),
    [
        ([], False, "."),
        ([Words("Hello.")], False, "."),
        ([], True, " except what the earlier model thought."),
        ([Reasoning("Hm.")], False, " except what the earlier model thought."),
        ([PHOTO], False, " except 1 picture that this model cannot read."),
        ([PHOTO, PHOTO], False, " except 2 pictures that this model cannot read."),
        ([PLAN, PLAN], False, " except plan.pdf that this model cannot read."),
        ([NOTES], False, "."),
        (
            [Reasoning("Hm."), PHOTO, PLAN],
            True,
            " except what the earlier model thought, "
            "and 1 picture and plan.pdf that this model cannot read.",
        ),
        (
            [a_file(f"{n}.pdf") for n in range(8)],
            False,
            " except 0.pdf, 1.pdf, 2.pdf, 3.pdf, 4.pdf and 3 more files"
            " that this model cannot read.",
        ),
        (
            [ToolResult("c", "read", (Words("x"), PHOTO))],
            False,
            " except 1 picture that this model cannot read.",
        ),
    ],
)
def test_h7_what_is_left_out_is_named(blocks: list[Block], thought: bool, words: str) -> None:
    messages = [Message("user", tuple(blocks))]

    def refuses(block: Said) -> str:
        return "" if block is NOTES else "No."

    said = carried_over("gpt-6.1", messages, refuses, thought=thought)
    assert said == f"Now on gpt-6.1. Everything was carried over{words}"


@pytest.mark.parametrize("first", PROTOCOLS)
async def test_h7_sealed_thoughts_are_missed_too(tmp_path: Path, first: str) -> None:
    """What a model thought is lost also where the person was never shown it, and only then said."""
    async with stage(tmp_path) as on:
        session = await on.session(first, "sim-gemini-25" if first == "gemini" else "")
        await plain(on, session)
        await session.change(model="sim-other")
        replies = [Turn(Think("", redacted=True), read("a.txt")), Turn(Text("So."))]
        await on.say(session, Words("Go on."), replies=replies)
        assert said_of(session) == "Now on sim-other. Everything was carried over."
        assert not any(isinstance(b, ReasoningBlock) for b in session.transcript.blocks)
        native = await on.home.studio.store.native(session.info.id)
        assert native is not None
        sealed = has_reasoning(native.items)
        assert sealed == (first in ("anthropic", "openai"))  # others seal nothing
        await switch(on, session, "gemini" if first != "gemini" else "openai")
        assert ("thought" in said_of(session)) == sealed


@pytest.mark.parametrize(
    ("item", "thought"),
    [
        ({"role": "assistant", "content": "Yes."}, False),
        ({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}, False),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": ""}]}, True),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, True),
        ({"type": "reasoning", "summary": []}, True),
        ({"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}, True),
        ({"role": "assistant", "content": "Yes.", "reasoning_content": ""}, False),
        ({"role": "assistant", "content": "Yes.", "thinking": "Hm."}, True),
        ({"role": "model", "parts": [{"text": "Hm.", "thought": True}]}, True),
        ({"role": "model", "parts": [{"text": "Yes.", "thoughtSignature": "abc="}]}, True),
        ({"role": "model", "parts": [{"text": "", "thoughtSignature": UNSIGNED}]}, False),
        (7, False),
    ],
)
def test_h7_where_a_history_holds_thoughts(item: Any, thought: bool) -> None:
    assert has_reasoning([{"role": "user", "content": "Hello."}, item]) is thought


def test_h7_five_thousand_messages_take_milliseconds() -> None:
    messages = [
        Message("user", (Words("word " * 50), PHOTO if n % 50 == 0 else Words("more")))
        for n in range(5_000)
    ]
    items: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "word " * 50}]} for _ in range(5_000)
    ]
    provider = AnthropicProvider("k", "", Http())
    facts = ModelInfo("m", images=False)
    taken: list[float] = []
    for _ in range(5):
        start = time.perf_counter()
        thought = has_reasoning(items)
        said = carried_over("m", messages, lambda b: provider.refuses(b, facts), thought=thought)
        taken.append(time.perf_counter() - start)
    assert "100 pictures" in said
    assert min(taken) < 0.05
