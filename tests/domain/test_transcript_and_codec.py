"""The fold and the codec."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain import events as ev
from studio.domain.blocks import TextBlock, ToolBlock
from studio.domain.codec import decode_event, encode_event
from studio.domain.events import Event
from studio.domain.ledger import Sent
from studio.domain.messages import Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.domain.permissions import Question, Rule
from studio.domain.tools import Draft
from studio.domain.transcript import Transcript

QUESTION = Question(
    "q1", "c1", "run", "Coder wants to run a command", "ls", always=(Rule("allow", "run", "ls *"),)
)
SAMPLES: list[Event] = [
    ev.Recounted(
        (
            Message("user", (Text("before"), Image("image/png", b"\x00"))),
            Message("assistant", (Text("yo"), ToolCall("c1", "theirs", {"a": 1}))),
            Message("user", (ToolResult("c1", "theirs", (Text("one"),)),)),
            Message("assistant", (Text("so"),)),
        ),
        "a",
        "p",
        "m",
    ),
    ev.TurnStarted(
        "s", "t", (Text("hi"), Image("image/png", b"\x00\xff")), "Coder", "simulator", "m", "inline"
    ),
    ev.StepStarted(1),
    ev.ReasoningDelta("hm"),
    ev.ReasoningEnded(1.5),
    ev.TextDelta("I "),
    ev.TextDelta("look"),
    ev.CallStarted("c1", "run"),
    ev.HistoryBegun(1, "simulator", "m"),
    ev.Told("date", "Today is 2026-11-22."),
    ev.Silent(60.0),
    ev.RetryScheduled(2, 5, 1.5, "overloaded", "The demo is overloaded.", "simulator"),
    ev.Retried(),
    ev.StepEnded(1, "tool_use", Usage(10, 1, 2, 3, 1), 0.5, Sent(1, 2, "ab", 5, "tools", 0.1), 0.2),
    ev.ToolQueued("c1", "run", {"command": "ls", "deep": {"a": [1, None]}}, "ls"),
    ev.AwaitingPermission(QUESTION),
    ev.PermissionResolved("q1", "once"),
    ev.ToolStarted("c1"),
    ev.ToolOutput("c1", "a.txt\n"),
    ev.AwaitingReply("c1", "Which?", ("a", "b")),
    ev.ReplyGiven("c1", "a"),
    ev.DraftCreated("c1", Draft("d1", "a.txt", None, "new\n", "")),
    ev.ToolFinished("c1", "a.txt", False, 0.1, "1 file", ("a.txt:1-2",)),
    ev.DraftResolved("d1", "approved"),
    ev.MessageQueued("m1", (Text("later"),)),
    ev.MessageTaken("m1"),
    ev.Steered((Text("rather b"),)),
    ev.Summarised("s1", "They looked.", 4, 900, 100),
    ev.SummaryEdited("s1", "They looked around."),
    ev.SummaryUndone("s1"),
    ev.Pinned(0, True),
    ev.Exposed("untrusted", "https://example.com/"),
    ev.Routed("inline", "simulator", "m", "A short question."),
    ev.FilesChanged("t", ("a.txt",)),
    ev.FilesRestored("t", True, ("a.txt",), ("b.txt",)),
    ev.Notice("note"),
    ev.Failed("bad_key", "Rejected", "Replace it.", "anthropic"),
    ev.TurnComplete("done", "", 1, Usage(1, 0, 0, 1, 0), 2.0),
]


def test_every_event_survives_json() -> None:
    assert {type(e) for e in SAMPLES} == set(get_args(Event))
    for event in SAMPLES:
        assert decode_event(json.loads(json.dumps(encode_event(event)))) == event


@pytest.mark.parametrize("rules", [(), QUESTION.always])
def test_a_question_of_an_earlier_version_is_read(rules: tuple[Rule, ...]) -> None:
    """H-5: it held one rule, or none."""
    now = ev.AwaitingPermission(replace(QUESTION, always=rules))
    data: Any = json.loads(json.dumps(encode_event(now)))
    data["question"]["always"] = next(iter(data["question"]["always"]), None)
    assert decode_event(data) == now
    del data["question"]["always"]
    assert decode_event(data) == ev.AwaitingPermission(replace(QUESTION, always=()))


def test_the_fold_tells_the_story() -> None:
    transcript = Transcript(SAMPLES)
    kinds = [type(block).__name__ for block in transcript.blocks]
    assert kinds == [
        "UserBlock", "AgentBlock", "TextBlock", "ToolBlock", "TextBlock", "NoticeBlock",
        "UserBlock", "AgentBlock", "ReasoningBlock", "TextBlock", "ToolBlock", "RetryBlock",
        "DraftBlock", "UserBlock", "SummaryBlock", "NoticeBlock", "FilesBlock", "NoticeBlock",
        "FailureBlock",
    ]  # fmt: skip
    tool = transcript.blocks[10]
    assert isinstance(tool, ToolBlock)
    assert (tool.state, tool.output, tool.answer, tool.question) == ("done", "a.txt", "once", None)
    assert not transcript.running and not transcript.questions and not transcript.waiting_drafts
    assert transcript.total_usage == Usage(10, 1, 2, 3, 1)


@given(st.lists(st.integers(0, len(SAMPLES) - 1), max_size=40))
def test_any_order_of_events_folds_and_pairs_every_call(order: list[int]) -> None:
    """H-5, H-7: whatever a damaged log says, calls and results stay together."""
    transcript = Transcript()
    before: list[Any] = []
    for index in order:
        changed = transcript.apply(SAMPLES[index])
        assert [type(b) for b in transcript.blocks[: len(before)]] == before
        assert changed is None or 0 <= changed < len(transcript.blocks)
        before = [type(b) for b in transcript.blocks]
    messages = transcript.messages()
    for index, message in enumerate(messages):
        calls = [block.id for block in message.blocks if isinstance(block, ToolCall)]
        if calls:
            answers = [b.call_id for b in messages[index + 1].blocks if isinstance(b, ToolResult)]
            assert answers == calls


def test_two_steps_of_calls_stay_two_steps() -> None:
    transcript = Transcript(
        [
            ev.TurnStarted("s", "t", (Text("hi"),), "a", "p", "m", "inline"),
            ev.StepStarted(1), ev.ToolQueued("c1", "read", {}), ev.ToolFinished("c1", "x", False, 0),
            ev.StepStarted(2), ev.ToolQueued("c2", "read", {}), ev.ToolFinished("c2", "y", False, 0),
            ev.StepStarted(3), ev.TextDelta("done"),
        ]
    )  # fmt: skip
    assert [m.role for m in transcript.messages()] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_deltas_extend_one_block() -> None:
    transcript = Transcript([ev.TextDelta("a"), ev.TextDelta("b")])
    assert transcript.blocks == [TextBlock("ab")]


def test_a_rule_is_a_tool_and_a_pattern() -> None:
    assert str(Rule.parse(" run(ls *) ")) == "run(ls *)"
    assert Rule.parse("run(ls *)").fits("ls")
    assert Rule.parse("run(ls *)").fits("ls -l")
    assert not Rule.parse("run(ls *)").fits("lsof")
    assert not Rule.parse("read(src/*.py)").fits("src/a.PY")
    assert Rule.parse("read(src/*.py)").fits("src/a.PY", fold=True)
    assert Rule.parse("read(**/.env)").fits(".env")
    assert Rule.parse("read(**/.env)").fits("a/b/.env")
    assert Rule.parse("read(a[[]1].py)").fits("a[1].py")
    assert not Rule.parse("run(rm ?)").fits("rm \0")
    for text in ("run(", "", "run()", "a b"):
        with pytest.raises(ValueError, match=r"rule|pattern"):
            Rule.parse(text)


def test_a_pattern_of_many_stars_is_fitted_at_once() -> None:
    assert not Rule.parse("read(" + "*a" * 30 + "*b)").fits("a" * 5000)
