"""The agent's questions to the person through a turn and a restart (C-24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.agent.prompts import NOBODY_ANSWERS, NOT_ANSWERED
from studio.domain.blocks import ToolBlock
from studio.domain.codec import decode_event
from studio.domain.events import AwaitingReply, Event, ReplyGiven
from studio.domain.messages import Text as Words
from studio.domain.questions import AskedQuestion, Choice
from studio.domain.transcript import Transcript
from studio.simulator import Call, Text, Turn
from studio.storage.sessions.search import Indexer
from support.engine_home import PROTOCOLS, EngineHome, engine_home

BRANCH = {
    "question": "Which branch?",
    "choices": ["main", {"text": "next", "about": "17 commits ahead"}],
}
TESTS = {"question": "Which tests?", "choices": ["unit", "slow", "end to end"], "several": True}
NAME = {"question": "What name?"}
ASKS = Turn(Call("ask", {"questions": [BRANCH, TESTS, NAME]}), stop="tool_use")
DONE = Turn(Text("Done."))


async def answered(home: EngineHome, *answers: str) -> tuple[list[Event], str]:
    """The events of a turn whose question is answered, and what the model was told."""
    session, events = await home.session(), list[Event]()
    async for envelope in session.turn([Words("Go")]):
        events.append(envelope.event)
        if isinstance(envelope.event, AwaitingReply):
            session.answer_question(envelope.event.call_id, *answers)
    (call,) = session.transcript.last_calls
    return events, call.output


@pytest.mark.parametrize("provider", sorted(PROTOCOLS))
async def test_c24_each_question_goes_back_with_its_answer(tmp_path: Path, provider: str) -> None:
    """C-24: in one result, in plain words; what has no answer is left to the agent."""
    async with engine_home(tmp_path, provider, [ASKS, DONE]) as home:
        events, told = await answered(home, "main", "unit; slow", "")
        assert told == (
            "Question: Which branch?\nAnswer: main\n"
            "Question: Which tests?\nAnswer: unit; slow\n"
            f"Question: What name?\nAnswer: {NOT_ANSWERED}"
        )
        (asked,) = [event for event in events if isinstance(event, AwaitingReply)]
        assert asked.asked == (
            AskedQuestion("Which branch?", (Choice("main"), Choice("next", "17 commits ahead"))),
            AskedQuestion("Which tests?", tuple(map(Choice, TESTS["choices"])), several=True),
            AskedQuestion("What name?"),
        )
        assert asked.text.splitlines() == ["Which branch?", "Which tests?", "What name?"]
        assert "unit; slow" in str(home.asked[-1].json)


@pytest.mark.parametrize("answer", [NOBODY_ANSWERS, "As you like."])
async def test_c24_one_answer_is_for_all_questions(tmp_path: Path, answer: str) -> None:
    """C-24: where nobody is there the agent decides, and says what it assumed."""
    async with engine_home(tmp_path, "anthropic", [ASKS, DONE]) as home:
        _, told = await answered(home, answer)
        assert told == answer and "say what you assumed" in NOBODY_ANSWERS


async def test_c24_questions_are_in_the_chat_when_it_is_opened_again(tmp_path: Path) -> None:
    """C-24, H-1: with the words of their row, which names all of them."""
    async with engine_home(tmp_path, "anthropic", [ASKS, DONE]) as home:
        session = await home.session()
        async for envelope in session.turn([Words("Go")]):
            if isinstance(envelope.event, AwaitingReply):
                session.answer_question(envelope.event.call_id, "main", "slow", "Ada")
        await session.flush()
        again = Transcript(await home.engine.store.events(session.info.id))
        (call,) = [block for block in again.blocks if isinstance(block, ToolBlock)]
        assert call.target == "Which branch? · Which tests? · What name?"
        assert len(call.asks) == 3 and call.reply == call.output and "Ada" in call.output


def test_c24_a_question_of_an_earlier_version_is_read() -> None:
    """C-24, H-5: it was one, and its choices had no more than their words."""
    stored = {"event": "awaiting_reply", "call_id": "c", "text": "Which?", "choices": ["a", "b"]}
    event = decode_event(stored)
    assert isinstance(event, AwaitingReply)
    assert event == AwaitingReply.of("c", event.asked) and not event.questions
    assert event.asked == (AskedQuestion("Which?", (Choice("a"), Choice("b"))),)
    transcript = Transcript([event, ReplyGiven("c", "b")])
    (call,) = [block for block in transcript.blocks if isinstance(block, ToolBlock)]
    assert (call.asks, call.reply) == (event.asked, "b")


def test_c24_a_search_over_all_chats_finds_each_question_and_choice() -> None:
    """C-24: also what a choice says of itself, and of several questions."""
    event = AwaitingReply.of(
        "c", [AskedQuestion("Which?", (Choice("next", "17 ahead"),)), AskedQuestion("Why?")]
    )
    found = str(Indexer().feed(event))
    assert all(words in found for words in ("Which?", "next", "17 ahead", "Why?"))
