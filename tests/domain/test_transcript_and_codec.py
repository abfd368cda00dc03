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
from studio.domain.drafts import FileDraft, RecordDraft
from studio.domain.events import Event
from studio.domain.messages import Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.domain.permissions import Rule
from studio.domain.transcript import Transcript
from support.event_samples import QUESTION, SAMPLES


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


def test_l14_the_end_of_a_turn_at_a_cap_keeps_how_much_that_allowed() -> None:
    """One that an earlier version stored is read: it says none."""
    now = ev.TurnComplete("money_limit", "Enough.", cap="session", limit=0.25)
    data: Any = json.loads(json.dumps(encode_event(now)))
    assert decode_event(data) == now
    del data["limit"]
    assert decode_event(data) == replace(now, limit=0.0)


def test_the_fold_tells_the_story() -> None:
    transcript = Transcript(SAMPLES)
    kinds = [type(block).__name__ for block in transcript.blocks]
    assert kinds == [
        "UserBlock", "AgentBlock", "TextBlock", "ToolBlock", "TextBlock", "NoticeBlock",
        "UserBlock", "AgentBlock", "ReasoningBlock", "TextBlock", "ToolBlock", "RetryBlock",
        "DraftBlock", "PlanBlock", "UserBlock", "SummaryBlock", "NoticeBlock", "FilesBlock",
        "NoticeBlock",
        "FailureBlock",
    ]  # fmt: skip
    tool = transcript.blocks[10]
    assert isinstance(tool, ToolBlock)
    assert (tool.state, tool.output, tool.answer, tool.question) == ("done", "a.txt", "once", None)
    assert not transcript.running and not transcript.questions
    assert all(draft.status != "waiting" for draft in transcript.drafts)
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
    assert Rule.parse("run(ls *)").matches("ls")
    assert Rule.parse("run(ls *)").matches("ls -l")
    assert not Rule.parse("run(ls *)").matches("lsof")
    assert not Rule.parse("read(src/*.py)").matches("src/a.PY")
    assert Rule.parse("read(src/*.py)").matches("src/a.PY", fold=True)
    assert Rule.parse("read(**/.env)").matches(".env")
    assert Rule.parse("read(**/.env)").matches("a/b/.env")
    assert Rule.parse("read(a[[]1].py)").matches("a[1].py")
    assert not Rule.parse("run(rm ?)").matches("rm \0")
    for text in ("run(", "", "run()", "a b"):
        with pytest.raises(ValueError, match=r"rule|pattern"):
            Rule.parse(text)


def test_a_pattern_of_many_stars_is_fitted_at_once() -> None:
    assert not Rule.parse("read(" + "*a" * 30 + "*b)").matches("a" * 5000)


def test_drafts_are_stored_by_kind_and_a_file_draft_under_its_first_name() -> None:
    """What version 0.1.0 stored opens as before, and it can read what is stored now."""
    file = ev.DraftCreated("c1", FileDraft("d1", "a.txt", None, "new\n", ""))
    record = {"type": "dict", "age": 36, "tags": ["a", {"b": None}]}
    drafts = [
        RecordDraft("d2", "people", "ada", None, record),
        RecordDraft("d3", "people", "ada", record, None, "approved"),
        RecordDraft("d4", "people", "ada", {"type": "NoneType"}, {"type": "Draft"}),
    ]
    stored = encode_event(file)
    assert stored["draft"] == {
        "type": "Draft", "id": "d1", "path": "a.txt", "before": None, "after": "new\n",
        "base_digest": "", "encoding": "utf-8", "status": "waiting", "action": "write",
        "target": "", "patch": "",
    }  # fmt: skip
    for event in (file, *(ev.DraftCreated("c1", draft) for draft in drafts)):
        assert decode_event(json.loads(json.dumps(encode_event(event)))) == event
