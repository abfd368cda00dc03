"""What takes how much of the context, and what a shortened conversation keeps (L-10)."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.context.compaction import WindowBudget
from studio.agent.context.summarizer import summarize_in_lines
from studio.agent.context.token_count import MARGIN, PAGE, blob_tokens, tokens_of_request
from studio.agent.context.truncation import (
    KEPT_RESULTS,
    TRUNCATION_LENGTHS,
    shorten_results,
    truncate_results,
)
from studio.domain.blocks import (
    AgentBlock,
    NoticeBlock,
    ReasoningBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
    blocks_to_messages,
)
from studio.domain.events import Pinned, Summarised, SummaryUndone, TextDelta, TurnStarted
from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.transcript import Transcript
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Provider, Request
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.simulator import Call, RequestView, Turn
from studio.simulator import Text as Answer
from support import sample_files
from support.engine_home import PROTOCOLS, engine_home, say

HTTP = Http()
PROVIDERS: list[Provider] = [
    AnthropicProvider("sk", "", HTTP),
    OpenAIProvider("sk", "", HTTP),
    GeminiProvider("sk", "", HTTP),
    CompatibleProvider("sk", "http://127.0.0.1/v1", HTTP),
    OllamaProvider("", "", HTTP),
]

WORDS = st.sampled_from(["Read it", "früh 😀", "Why?", "x" * 900])


@st.composite
def transcripts(draw: st.DrawFn) -> list[TranscriptBlock]:
    """Exchanges with steps, calls in all states, pins, and perhaps a summary somewhere."""
    blocks: list[TranscriptBlock] = []
    step = 0
    for turn in range(draw(st.integers(1, 4))):
        said = (Text(f"(m{turn}) {draw(WORDS)}"),)
        blocks.append(UserBlock(f"t{turn}", said, pinned=draw(st.booleans())))
        blocks.append(AgentBlock(f"t{turn}", "Coder", "p", "m"))
        for _ in range(draw(st.integers(0, 3))):
            step += 1
            if draw(st.booleans()):
                blocks.append(ReasoningBlock("Hm.", 1.0, live=False))
            if draw(st.booleans()):
                pinned = draw(st.booleans())
                blocks.append(TextBlock(f"(a{step}) {draw(WORDS)}", live=False, pinned=pinned))
            for _ in range(draw(st.integers(0, 3))):
                state = draw(st.sampled_from(["done", "error", "denied", "cancelled"]))
                blocks.append(
                    ToolBlock(
                        f"c{draw(st.integers(0, 5))}",
                        draw(st.sampled_from(["read", "run"])),
                        {"path": "a"},
                        state=state,
                        output=draw(WORDS) * 3,
                        step=step,
                        whole=draw(st.integers(0, 9)) > 0,
                    )
                )
            if draw(st.integers(0, 5)) == 0:
                text = f"(s{turn}.{step}) Also this"
                blocks.append(UserBlock(f"t{turn}", (Text(text),), steered=True))
        if draw(st.booleans()):
            blocks.append(NoticeBlock("Noted."))
    if draw(st.booleans()):
        end = draw(st.integers(1, len(blocks)))
        at = draw(st.integers(end, len(blocks)))
        blocks.insert(at, SummaryBlock("s", "What was before.", end))
    return blocks


@given(
    blocks=transcripts(), keep=st.integers(0, 3), most=st.sampled_from([None, *TRUNCATION_LENGTHS])
)
def test_whatever_is_shortened_is_still_a_conversation(
    blocks: list[TranscriptBlock], keep: int, most: int | None
) -> None:
    """L-10, H-3: pairs stay whole, and so do pins and the person's message, on every protocol."""
    messages = shorten_results(blocks_to_messages(blocks), keep)
    messages = messages if most is None else truncate_results(messages, most)
    calls = [b.id for m in messages for b in m.blocks if isinstance(b, ToolCall)]
    results = [b.call_id for m in messages for b in m.blocks if isinstance(b, ToolResult)]
    assert calls == results
    for before, after in zip(messages, [*messages[1:], Message("user", ())], strict=True):
        made = [b.id for b in before.blocks if isinstance(b, ToolCall)]
        given = [b.call_id for b in after.blocks if isinstance(b, ToolResult)]
        assert made == given or not made
    text = json.dumps([[getattr(b, "text", "") for b in m.blocks] for m in messages])
    summary = next((b for b in blocks if isinstance(b, SummaryBlock)), None)
    asked = [n for n, b in enumerate(blocks) if isinstance(b, UserBlock) and not b.steered]
    for index, block in enumerate(blocks):
        if isinstance(block, UserBlock | TextBlock):
            kept = summary is None or index >= summary.blocks or block.pinned
            kept = kept or index == asked[-1]
            mark = (block.text).split()[0]
            assert text.count(mark) == 1 if kept else text.count(mark) <= 1, (mark, text)
    if summary is not None:
        assert messages[0].role == "user" and "What was before." in messages[0].text
    for provider in PROVIDERS:
        history = provider.rebuild(messages)
        assert provider.history_problem(history) == "" and not provider.open_calls(history)


def test_the_newest_results_stay_whole() -> None:
    blocks: list[TranscriptBlock] = [UserBlock("t", (Text("Go"),))]
    for step in range(6):
        blocks.append(
            ToolBlock(f"c{step}", "read", output="x" * 1000, state="done", step=step, whole=True)
        )
    results = [
        b
        for m in shorten_results(blocks_to_messages(blocks))
        for b in m.blocks
        if isinstance(b, ToolResult)
    ]
    assert [len(r.text) < 200 for r in results] == [True] * 3 + [False] * KEPT_RESULTS
    assert "Call it again" in results[0].text
    short = [
        b.text
        for m in truncate_results(blocks_to_messages(blocks), 400)
        for b in m.blocks
        if hasattr(b, "text")
    ]
    assert "600 characters were left out here" in short[1]


def test_undone_the_summary_before_holds_again() -> None:
    transcript = Transcript()
    transcript.apply(TurnStarted("s", "t1", (Text("One"),), "Coder", "p", "m", "background"))
    transcript.apply(TextDelta("Yes"))
    transcript.apply(TurnStarted("s", "t2", (Text("Two"),), "Coder", "p", "m", "background"))
    transcript.apply(Summarised("a", "First.", 2))
    transcript.apply(Summarised("b", "Second.", 3))
    assert transcript.summary is not None and transcript.summary.text == "Second."
    transcript.apply(SummaryUndone("b"))
    assert transcript.summary.text == "First." and transcript.stale
    transcript.apply(SummaryUndone("a"))
    assert transcript.summary is None
    transcript.apply(SummaryUndone("nobody"))
    assert transcript.apply(Pinned(99, True)) is None


def test_a_summary_without_a_model_has_a_line_for_each() -> None:
    messages = [
        Message("user", (Text("Read a.txt"), File("plan.pdf", "application/pdf", b""))),
        Message("assistant", (Text("I look."), ToolCall("c", "read", {"path": "a.txt"}))),
        Message("user", (ToolResult("c", "read", (Text("alpha"),)),)),
        Message("assistant", (Text("It says alpha. " * 40),)),
    ]
    lines = summarize_in_lines(messages, "Before that they met.").splitlines()
    assert lines[:3] == [
        "Before that they met.",
        "The person: Read a.txt (a file: plan.pdf)",
        "The agent called read, and said: I look.",
    ]
    assert lines[3].startswith("The agent said: It says alpha.") and lines[3].endswith("…")
    many = summarize_in_lines(messages * 200).splitlines()
    assert len(many) == 201 and "earlier lines are left out" in many[0]


def test_pictures_and_documents_have_known_sizes() -> None:
    picture = base64.b64encode(sample_files.picture()).decode()
    assert 85 <= blob_tokens(picture) <= 1_600
    assert blob_tokens(f"data:image/png;base64,{picture}") == blob_tokens(picture)
    paper = base64.b64encode(sample_files.pdf("A page", "Another")).decode()
    assert blob_tokens(paper) == 2 * PAGE
    assert blob_tokens("These are only words.") == 0
    assert blob_tokens("https://example.org/a.png") == 0


def test_room_is_made_later_where_tools_take_half() -> None:
    assert WindowBudget(100_000, 5_000).trigger == 75_000
    assert WindowBudget(8_000, 6_000).trigger == 7_000
    assert WindowBudget(8_000, 6_000).goal < 7_000


def worker(view: RequestView) -> Turn:
    if view.results:
        return Turn(Answer("Done."))
    return Turn(Call("read", {"path": "a.txt"}), Call("search", {"pattern": "alpha"}))


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_the_parts_add_up_to_what_the_provider_counted(tmp_path: Path, provider: str) -> None:
    async with engine_home(tmp_path, provider, worker) as home:
        home.engine.settings.values.models[f"{provider}/sim-model"] = {"context_window": 50_000}
        (home.folder / "a.txt").write_text("alpha is what stands in this line\n" * 200)
        session = await home.session()
        assert (await session.context.usage()).parts == ()
        image = Image("image/png", sample_files.picture())
        note = File("note.txt", "text/plain", b"A note. " * 500)
        said = [Text("Look " * 300), note]
        if provider != "ollama":
            said.append(image)  # type: ignore[arg-type]
        async for _ in session.turn(said):
            pass
        context = await session.context.usage()
        parts = {part.kind: part.tokens for part in context.parts}
        usage = session.transcript.last_usage
        assert usage.input <= context.used <= usage.input + 60, "the answer is the only gap"
        assert list(parts) == ["instructions", "tools", "messages", "files", "results"]
        assert parts["files"] > 1_000 and 100 < parts["messages"] < 1_500
        assert parts["tools"] > parts["instructions"]
        assert context.window == 50_000 and context.free == 50_000 - context.used
        identifier = session.info.id
    async with engine_home(tmp_path, provider, worker, seed=1) as home:
        home.engine.settings.values.models[f"{provider}/sim-model"] = {"context_window": 50_000}
        session = await home.engine.sessions.open(identifier)
        again = await session.context.usage()
        assert again == context, "the same after a restart"
        await say(session, "Again")
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda one: one.name)
def test_w20_a_picture_has_no_more_tokens_than_its_size_tells(provider: Provider) -> None:
    """Of its text each byte may be a token, which would make four pictures of one."""
    picture = Image("image/png", sample_files.picture(size=(1200, 900)))
    plain = tokens_of_request(Request("m", provider.user_items([Text("Look")])))
    seen = tokens_of_request(Request("m", provider.user_items([Text("Look"), picture])))
    tokens = 1200 * 900 // 750
    assert tokens <= seen.likely - plain.likely < 1.1 * MARGIN * tokens
    assert tokens <= seen.most - plain.most < 1.1 * MARGIN * tokens
