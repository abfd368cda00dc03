"""A studio on whose stage one provider follows the other, and what must be carried over (H-7)."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.blocks import NoticeBlock, ReasoningBlock, TextBlock, ToolBlock, UserBlock
from studio.domain.events import AwaitingReply, Event, HistoryBegun, TurnComplete
from studio.domain.messages import (
    File,
    Image,
    Said,
)
from studio.domain.messages import Text as Words
from studio.providers.base import Request
from studio.simulator import Call, RequestView, Text, Turn
from studio.simulator.request_view import Called, Returned
from studio.simulator.request_view import Said as Sent
from support.engine_home import KEY, PROTOCOLS, EngineHome, engine_home
from support.sample_files import pdf, picture

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
class SwitchScene:
    """One studio whose providers are all the same simulator's surfaces."""

    home: EngineHome
    replies: list[Turn] = field(default_factory=list)
    views: list[RequestView] = field(default_factory=list)

    async def session(self, provider: str, model: str = "") -> Session:
        return await self.home.engine.sessions.create(
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
        async for envelope in session.turn(said, limits=limits):
            event = envelope.event
            events.append(event)
            if stop_at is not None and isinstance(event, stop_at):
                session.stop()
            elif isinstance(event, AwaitingReply):
                session.answer_question(event.call_id, "Blue")
        return events


@contextlib.asynccontextmanager
async def switch_scene(home: Path) -> AsyncIterator[SwitchScene]:
    """What is in ``home``; the simulator answers with ``replies``, then with "Done."."""
    views: list[RequestView] = []
    replies: list[Turn] = []

    def script(view: RequestView) -> Turn:
        views.append(view)
        return replies.pop(0) if replies else Turn(Text("Done."))

    async with engine_home(home, "anthropic", script) as opened:
        for name, api in PROTOCOLS.items():
            opened.engine.settings.values.base_urls[name] = opened.simulator.url(api)  # type: ignore[arg-type]
            if name != "ollama":
                opened.engine.keychain.keep_for_session(name, KEY)
        (opened.folder / "a.txt").write_text("alpha\n")
        (opened.folder / "b.txt").write_text("beta\n")
        (opened.folder / "photo.png").write_bytes(PHOTO.data)
        yield SwitchScene(opened, replies, views)
        assert not opened.simulator.violations, opened.simulator.violations


def read(path: str, id: str = "") -> Call:
    return Call("read", {"path": path}, id=id)


async def plain(on: SwitchScene, session: Session) -> None:
    await on.say(session, Words("What is it?"), replies=[Turn(Text("Forty-two."))])


async def enclosing(on: SwitchScene, session: Session) -> None:
    """Only what the first provider takes itself can have been said to it."""
    known = on.home.engine
    facts = known.model(session.info.provider, session.info.model)
    provider = await known.provider(session.info.provider)
    await provider.context_window(Request(session.info.model, (), facts=facts))  # some ask for it
    said = [one for one in (PHOTO, PLAN, NOTES) if not provider.media_problem(one, facts)]
    replies = [Turn(read("photo.png")), Turn(Text("Two squares."))]
    await on.say(session, Words("Look at these."), *said, replies=replies)


# What has to be in the first request after a switch


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def unreadable_of(on: SwitchScene, session: Session, blocks: Sequence[object]) -> list[Said]:
    """What of these blocks' pictures and files the session's model cannot read."""
    engine, info = on.home.engine, session.info
    return [one for one in enclosed(blocks) if await engine.refuses(info.provider, info.model, one)]


def enclosed(blocks: Sequence[object]) -> list[Image | File]:
    found: list[Image | File] = []
    for block in blocks:
        if isinstance(block, UserBlock):
            found += [part for part in block.said if not isinstance(part, Words)]
        elif isinstance(block, ToolBlock):
            found += block.images
    return found


async def is_carried(on: SwitchScene, session: Session, before: int) -> None:
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
    ids = [call.id for call in calls if call.id]
    assert len(set(ids)) == len(ids), "an id stands for two calls"
    results = [item for item in view.items if isinstance(item, Returned)]
    assert len(results) == len(tools)
    for result, tool in zip(results, tools, strict=True):
        assert tool.output.strip() in result.text and result.text.strip()
    are_paired(view)
    lost = await unreadable_of(on, session, blocks)
    assert body.count("(Left out: ") == len(lost)
    for one in enclosed(blocks):
        if one not in lost:
            words = one.data.decode().strip() if one == NOTES else base64_of(one.data)
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


async def switch(on: SwitchScene, session: Session, provider: str, model: str = "") -> None:
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
