"""Against a server nobody here wrote, in three dialects: each turn ends in a defined state."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from studio.agent.engine import Engine
from studio.agent.retry_policy import RetryPolicy
from studio.agent.session.session import Session
from studio.app import build
from studio.domain.agents import Limits
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ProviderError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallStarted,
    Event,
    Failed,
    HistoryBegun,
    ReasoningDelta,
    TextDelta,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Message, Text, ToolCall, ToolResult
from studio.domain.tools import ToolSpec
from studio.providers.base import Provider, Reply, Request
from studio.providers.local_model.process import Running
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from support.engine_home import give_time
from support.llama_server import RESOURCES, llama_server, random_gguf, smollm2_gguf
from support.waiting import FOREVER, within

DIALECTS = {"anthropic": "", "openai": "/v1", "openai-compatible": "/v1"}
"""Each dialect and where it lives: Messages, Responses, Chat Completions."""
REASONS = {"done", "step_limit", "token_limit", "time_limit", "cancelled", "refused", "error"}
CLERK = """---
name: Clerk
tools: [list, read, write, ask]
---
You work in the person's folder."""
"""An agent with a short prompt, for a processor reads it anew after each change of dialect."""
BRIEF = Limits(steps=2, seconds=0.5)
ENDLESS = Limits(steps=2, seconds=FOREVER)


@contextlib.asynccontextmanager
async def engine_at(home: Path, server: Running) -> AsyncIterator[Engine]:
    """A studio all of whose clouds are the peer; opened a second time, a restart."""
    paths = Paths.below(home / "studio")
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    engine = await build(paths, settings)
    engine.services.retry_policy = RetryPolicy(2, base=0.0)
    paths.agents.mkdir(parents=True, exist_ok=True)
    (paths.agents / "clerk.md").write_text(CLERK)
    for name, place in DIALECTS.items():
        settings.values.base_urls[name] = server.url + place
        engine.keychain.keep_for_session(name, server.key)
    try:
        yield engine
    finally:
        await engine.close()


@contextlib.asynccontextmanager
async def peer(folder: Path, kind: str) -> AsyncIterator[Running]:
    """A model as a file of the person's: its server keeps what it has read for the next request."""
    file, template = folder / f"{kind}.gguf", RESOURCES / "builtin" / "chat.jinja"
    if kind == "noise":
        await asyncio.to_thread(random_gguf, file, seed=1)
    else:
        await asyncio.to_thread(smollm2_gguf, file, template=template)
    async with llama_server(file) as running:
        yield running


async def turn(session: Session, text: str, *, stop: bool = False) -> list[Event]:
    """One turn; with ``stop`` it is stopped at the first word."""
    events: list[Event] = []
    async with within():
        async for envelope in session.turn([Text(text)], limits=ENDLESS if stop else BRIEF):
            event = envelope.event
            events.append(event)
            if stop and isinstance(event, TextDelta | ReasoningDelta | CallStarted):
                session.stop()
            if isinstance(event, AwaitingPermission):
                session.answer_permission(event.question.id, "deny")
            elif isinstance(event, AwaitingReply):
                session.answer_question(event.call_id, "Blue")
    defined(session, events)
    return events


def defined(session: Session, events: list[Event]) -> None:
    """L-2, L-5, H-5: one end, nothing half done, no fault of the program's own."""
    ends = [event for event in events if isinstance(event, TurnComplete)]
    assert ends == events[-1:] and ends[0].reason in REASONS
    assert isinstance(events[0], TurnStarted) and not session.running
    assert all(b.finished for b in session.transcript.blocks if isinstance(b, ToolBlock))
    for event in events:
        if isinstance(event, Failed):  # what the peer did; never a history it refused
            assert event.fault in ("server", "protocol", "network", "too_long"), event


@pytest.mark.parametrize(
    ("kind", "provider"),
    # Each goes on in the other two dialects; what a real model says is slow to come by.
    [("smollm2", "openai-compatible"), *(("noise", provider) for provider in DIALECTS)],
)
async def test_every_turn_ends_in_a_defined_state(tmp_path: Path, kind: str, provider: str) -> None:
    """Tools, a stop, a restart and a change of dialect, whatever comes back."""
    async with peer(tmp_path, kind) as server:
        await _every_turn_ends_in_a_defined_state(tmp_path, server, provider)


async def _every_turn_ends_in_a_defined_state(
    tmp_path: Path, server: Running, provider: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("alpha\n")
    async with engine_at(tmp_path, server) as engine:
        session = await engine.sessions.create(
            folder=str(folder), agent="Clerk", provider=provider, model="peer"
        )
        await turn(session, "List the files here.")
        await turn(session, "Go on.", stop=True)
        identifier = session.info.id
    async with engine_at(tmp_path, server) as engine:
        session = await engine.sessions.open(identifier)
        assert not session.damage
        again = await turn(session, "And now?")
        assert not any(isinstance(event, HistoryBegun) for event in again)
        for other in DIALECTS:
            if other != provider:
                await session.change(provider=other)
                events = await turn(session, "Once more.")
                # Once more if the noise has filled the model's context meanwhile.
                assert {e.provider for e in events if isinstance(e, HistoryBegun)} == {other}
        native = await engine.store.native(identifier)
        assert native is not None and not native.damage


LIST = ToolSpec(
    "list",
    "see which files there are",
    {"type": "object", "properties": {"path": {"type": "string"}}},
)
ASKED = "What files are in this folder?"
SYSTEM = "You help in a folder of files. You cannot see the files. To see them, write a tool call:"


def worked() -> list[Message]:
    """Examples that so small a model needs before it calls a tool itself."""
    messages: list[Message] = []
    for number, files in enumerate(("garden.txt", "plan.md", "boat.txt\n- sea.md", "cake.py")):
        call = ToolCall(f"call_{number}", "list", {"path": "."})
        result = ToolResult(call.id, "list", (Text(f"- {files}"),))
        messages += [
            Message("user", (Text(ASKED if number % 2 else "Show me the files"),)),
            Message("assistant", (call,)),
            Message("user", (result,)),
        ]
    return messages


async def replied(provider: Provider, request: Request) -> Reply:
    """The peer hangs up between two requests now and then, as any server may: asked twice."""
    for last in (False, True):
        stream = provider.stream(request)
        try:
            async for _ in stream:
                pass
            break
        except ProviderError as error:
            if last or error.fault != "network":
                raise
    return stream.reply()


async def test_a_real_model_calls_a_tool_twice(tmp_path: Path) -> None:
    """H-1, H-3, H-8 with a peer: call, result under its id, and the next request is taken."""
    async with peer(tmp_path, "smollm2") as server, engine_at(tmp_path, server) as engine:
        for dialect in DIALECTS:
            await _calls_a_tool_twice(await engine.provider(dialect))


async def _calls_a_tool_twice(provider: Provider) -> None:
    history = provider.rebuild([*worked(), Message("user", (Text(ASKED),))])
    for files in ("green.txt", "red.txt"):
        reply = await replied(provider, Request("peer", history, SYSTEM, [LIST], output_limit=60))
        assert reply.stop == "tool_use" and reply.usage.input > 100
        assert [(call.name, call.arguments) for call in reply.calls] == [("list", {"path": "."})]
        history += reply.items
        assert provider.open_calls(history) == reply.calls
        history += provider.result_items([ToolResult(reply.calls[0].id, "list", (Text(files),))])
        assert not provider.history_problem(history) and not provider.open_calls(history)
        history += provider.user_items([Text(ASKED)])
