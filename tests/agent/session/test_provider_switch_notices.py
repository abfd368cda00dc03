"""What a switch leaves out is told to both sides, and the page about it is true (H-7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.session.native_history import carried_over
from studio.domain.blocks import ReasoningBlock, ToolBlock
from studio.domain.messages import (
    Block,
    File,
    Message,
    Reasoning,
    Said,
    ToolCall,
    ToolResult,
)
from studio.domain.messages import Text as Words
from studio.domain.models import ModelInfo
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.gemini.validate import UNSIGNED
from studio.providers.history_rebuild import has_reasoning
from studio.providers.http import Http
from studio.simulator import Call, Found, ServerTool, Text, Think, Turn
from support.cpu_cost import grows_linearly
from support.engine_home import PROTOCOLS
from support.provider_switch import (
    NOTES,
    PHOTO,
    PLAN,
    SwitchScene,
    base64_of,
    enclosing,
    plain,
    read,
    said_of,
    switch,
    switch_scene,
)
from support.sample_files import picture


async def test_h7_a_blind_model_gets_words_and_the_next_one_the_pictures(tmp_path: Path) -> None:
    async with switch_scene(tmp_path) as on:
        await on.home.engine.list_models("ollama")  # says which models see
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
    async with switch_scene(tmp_path) as on:
        one = await on.home.engine.provider(provider)
        body = json.dumps(one.rebuild(messages, blind), ensure_ascii=False)
        assert body.count("(Left out: picture. ") == 2 and "(Left out: plan.pdf. " in body
        assert base64_of(PHOTO.data) not in body and base64_of(PLAN.data) not in body
        assert "früh am Morgen" in body and "[photo.png]" in body
        seen = json.dumps(one.rebuild(messages))
        assert seen.count(base64_of(PHOTO.data)) == 2


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_h7_how_drafts_ended_is_told_again(tmp_path: Path, provider: str) -> None:
    """H-6: what was told beside the conversation is not in it; the next model is told anew."""
    async with switch_scene(tmp_path) as on:
        session = await on.session(provider)
        writes = [Call("write", {"path": f"{n}.txt", "content": "new"}) for n in "cdefg"]
        await on.say(session, Words("Write."), replies=[Turn(*writes), Turn(Text("Written."))])
        c, d, e, _, _ = session.transcript.drafts
        await session.review.decide(c.id, "approve")
        await session.review.decide(d.id, "discard")
        await session.review.decide(e.id, "approve")
        await on.say(session, Words("And?"))
        await session.review.decide(e.id, "undo")
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
    async with switch_scene(tmp_path) as on:
        session = await on.home.engine.sessions.open(identifier)
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
    async with switch_scene(tmp_path) as on:
        session = await on.session(first, "sim-gemini-25" if first == "gemini" else "")
        await plain(on, session)
        await session.change(model="sim-other")
        replies = [Turn(Think("", redacted=True), read("a.txt")), Turn(Text("So."))]
        await on.say(session, Words("Go on."), replies=replies)
        assert said_of(session) == "Now on sim-other. Everything was carried over."
        assert not any(isinstance(b, ReasoningBlock) for b in session.transcript.blocks)
        native = await on.home.engine.store.native(session.info.id)
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


def test_h7_the_work_grows_with_the_history_and_no_faster() -> None:
    provider = AnthropicProvider("k", "", Http())
    facts = ModelInfo("m", images=False)

    def history(size: int) -> tuple[list[Message], list[Any]]:
        messages = [
            Message("user", (Words("word " * 50), PHOTO if n % 50 == 0 else Words("more")))
            for n in range(size)
        ]
        said = {"role": "user", "content": [{"type": "text", "text": "word " * 50}]}
        return messages, [said for _ in range(size)]

    def told(of: tuple[list[Message], list[Any]]) -> str:
        messages, items = of
        thought = has_reasoning(items)
        return carried_over(
            "m", messages, lambda b: provider.media_problem(b, facts), thought=thought
        )

    assert "100 pictures" in told(history(5_000))
    assert grows_linearly(history, told, 5_000)


# The page for the person

PAGE = Path(__file__).parents[3] / "docs" / "switching.md"
OTHER = picture(size=(40, 30))
COLUMNS = {
    "Anthropic": "anthropic",
    "OpenAI": "openai",
    "Gemini": "gemini",
    "OpenAI-compatible": "openai-compatible",
    "Ollama": "ollama",
}


def table_of(page: str) -> dict[str, dict[str, str]]:
    """What the page's table says, by provider and row."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.splitlines()
        if line.startswith("|")
    ]
    titles, _, *rows = rows
    return {
        COLUMNS[title]: {row[0]: row[number] for row in rows}
        for number, title in enumerate(titles)
        if title
    }


async def found_of(on: SwitchScene, first: str, other: str) -> dict[str, str]:
    """What is really carried over, in the words of the page; None of what was not there."""
    session = await on.session(first)
    one = await on.home.engine.provider(first)
    said = [block for block in (PHOTO, PLAN, NOTES) if not one.media_problem(block)]
    searched = ServerTool(query="it", found=(Found("The title found", "https://a.example/page"),))
    await session.change(permission_mode="plan")
    replies = [
        Turn(Think("Deep thoughts."), Text("I look."), read("other.png")),
        Turn(*([] if first == "ollama" else [searched]), Text("Two squares.")),
    ]
    await on.say(session, Words("Look at these."), *said, replies=replies)
    await switch(on, session, other)
    body, view = json.dumps(on.views[-1].body, ensure_ascii=False), on.views[-1]
    words = ("Look at these.", "I look.", "Two squares.")
    (tool, *_) = [b for b in session.transcript.blocks if isinstance(b, ToolBlock)]
    there = {
        "What you wrote and what was answered": all(word in body for word in words),
        "Tool calls and their results": "other.png" in str(view.items) and tool.output in body,
        "Pictures you sent": base64_of(PHOTO.data) in body,
        "Pictures a tool returned": base64_of(tool.images[0].data) in body,
        "PDF files": base64_of(PLAN.data) in body,
        "Text files": "früh am Morgen" in body,
        "What the earlier model thought": "Deep thoughts" in body,
        "What a provider's own web search found": "The title found" in body,
    }
    found = {row: "yes" if is_there else "no" for row, is_there in there.items()}
    again = "The person wants a plan first." in body
    found["Date, mode and how drafts ended"] = "told again" if again else "no"
    if PLAN not in said:
        del found["PDF files"]
    return found


@pytest.mark.parametrize("first", PROTOCOLS)
async def test_h7_the_page_is_true(tmp_path: Path, first: str) -> None:
    """Each pair really carries what docs/switching.md says."""
    table = table_of(PAGE.read_text(encoding="utf-8"))
    assert table.keys() == PROTOCOLS.keys()
    async with switch_scene(tmp_path) as on:
        (on.home.folder / "other.png").write_bytes(OTHER)
        for other in PROTOCOLS:
            if other != first:
                found = await found_of(on, first, other)
                assert found == {row: table[other][row] for row in found}, (first, other)
                assert table[other].keys() - found.keys() <= {"PDF files"}
