"""Whatever happens to a session, every request is accepted and each turn ends once.

H-1 to H-9, L-2, L-12. A failing story is printed as code: put it into ``test_found.py``.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import builds, integers, just, lists, sampled_from, tuples

from studio.simulator import (
    Byte,
    Call,
    Found,
    ServerTool,
    Text,
    Think,
    Usage,
    content_type,
    cut,
    drip,
    dup,
    eof,
    error_event,
    garbage,
    html,
    reorder,
    stall,
    status,
    tool_json,
    unknown,
    usage_odd,
)
from support.engine_home import PROTOCOLS
from support.story_runner import CHUNKING, MODELS, StoryRunner
from support.story_steps import (
    Act,
    Branch,
    Change,
    Compact,
    Damage,
    Day,
    Decide,
    Edit,
    Meddle,
    Pin,
    Preference,
    Reply,
    Restart,
    Restore,
    Rework,
    Say,
    Step,
    Summary,
    Switch,
    Trust,
    Window,
)

EXAMPLES = max(150, settings.default.max_examples) // len(PROTOCOLS)  # type: ignore[union-attr]

PARTS = [
    Text("Some words of the answer."),
    Call("read", {"path": "a.txt"}),
    Think("Hm, let me see."),
    Call("read", {"path": "b ä😀.txt"}, id="call_same"),
    Call("list", {}),
    Text(" früh 😀 \\u20ac \u2028 \n\n"),
    Call("read", {"path": "a.txt"}, id="call_same"),
    Call("read", {"path": "missing.txt"}),
    Call("read", {"path": 5}),
    Call("fly", {"to": "moon"}),
    Call("read", {"path": "long.txt"}),
    Call("ask", {"question": "Which?"}),
    Call("write", {"path": "n.txt", "content": "new\n"}),
    Call("edit", {"path": "a.txt", "old": "alpha", "new": "beta"}),
    Call("run", {"command": "printf here"}),
    Call("run", {"command": "printf there"}),
    Call("run", {"command": "printf never"}),
    Call("run", {"command": "printf new >> made.txt; rm -f n.txt"}),
    Call("write", {"path": "a.txt", "content": "other\n"}),
    Call("move", {"path": "a.txt", "to": "deep/b.txt"}),
    Call("delete", {"path": "long.txt"}),
    Call("delegate", {}),
    Call("delegate", {}, id="call_child"),
    Call("outside", {}),
    Call("run", {"command": "sleep 0.2"}),
    Call("search", {"pattern": "("}),
    Call("read", {}, raw='{"path": "a.txt",}'),
    Call("read", {}, raw="[1]"),
    Call("", {}),
    Call("fly away, é", {"to": "moon"}, id="so odd an id: é"),
    Think("Sealed.", redacted=True),
    Think(""),
    Text(""),
    Text("   "),
    Text('{"name": "read", "arguments": {"path": "a.txt"}}'),
    ServerTool("web_search", "sea", (Found("The sea", "https://sea.example/"),)),
]
STOPS = [
    "end",
    "tool_use",
    "max_tokens",
    "refusal",
    "pause_turn",
    "context_exceeded",
    "content_filter",
    "safety",
    "malformed_function_call",
    "empty",
]
PLACES = st.one_of(integers(0, 12), integers(-3, -1), builds(Byte, integers(0, 1500)))
EVENTS = st.one_of(integers(0, 12), integers(-3, -1))
RETRIED = builds(
    status,
    sampled_from([429, 500, 503, 529, 408, 409]),
    retry_after=sampled_from([None, 0, 0.02, 3600, "Sun, 22 Nov 2026 10:00:00 GMT", "soon"]),
)
FAULTS = st.one_of(
    builds(eof, PLACES),
    builds(cut, PLACES, reset=st.booleans()),
    builds(
        error_event,
        sampled_from(["overloaded", "rate_limit", "server", "invalid_request", "timeout"]),
        EVENTS,
    ),
    builds(error_event, just("server"), EVENTS, variant=just("failed")),
    builds(garbage, EVENTS, sampled_from(["json", "utf8", "truncated"])),
    builds(stall, st.one_of(PLACES, just("headers"))),
    builds(stall, PLACES, just(0.05)),
    RETRIED,
    builds(status, sampled_from([400, 401, 402, 403, 404, 413, 418])),
    builds(status, just(429), variant=just("insufficient_quota")),
    builds(html, sampled_from([200, 502])),
    builds(tool_json, sampled_from(["truncated", "invalid", "empty", "null", "double_encoded"])),
    builds(dup, EVENTS),
    builds(unknown, EVENTS, sampled_from(["event", "block", "delta", "stop"])),
    builds(reorder, sampled_from(["gap", "stranger", "same_id"])),
    builds(usage_odd, sampled_from(["missing", "zero", "late", "decreasing"])),
    builds(drip, sampled_from([50_000, 500_000])),
    builds(content_type),
)


def mix(*strategies: st.SearchStrategy) -> st.SearchStrategy:
    """One of these, each as often as it is named; ``one_of`` counts each once."""
    return sampled_from(strategies).flatmap(lambda chosen: chosen)


def some(of: st.SearchStrategy, most: int) -> st.SearchStrategy[tuple]:
    """Mostly several, for little happens in short lives; but shrinks to none."""
    few, many = lists(of, max_size=most), lists(of, min_size=most // 2, max_size=most)
    return mix(few, many, many).map(tuple)


def seldom(of: st.SearchStrategy) -> st.SearchStrategy[tuple]:
    """None, one or two."""
    return mix(just(()), just(()), tuples(of), tuples(of, of))


REPLIES = builds(
    Reply,
    some(sampled_from(PARTS), 5),
    sampled_from([None, None, None, None, *STOPS]),
    seldom(FAULTS),
    sampled_from([None, None, Usage(inp=50_000, cache_read=40_000, out=900)]),
)
KINDS = sampled_from(
    [
        "words",
        "words",
        "words",
        "picture",
        "pdf",
        "note",
        "empty_note",
        "space",
        "blank",
        "odd",
        "long",
    ]
)
WHAT = sampled_from(
    [
        *["stop"] * 3,
        *["crash"] * 2,
        *["steer"] * 3,
        "leave",
        "quit",
        "try_now",
        "queue",
        "unqueue",
        "approve",
        "undo",
    ]
)
ACTS = st.one_of(
    builds(Act, WHAT, integers(0, 20), just(""), integers(0, 20), KINDS),
    builds(
        Act,
        WHAT,
        integers(0, 2),
        sampled_from(
            [
                "TextDelta",
                "ReasoningDelta",
                "CallStarted",
                "ToolQueued",
                "ToolStarted",
                "ToolFinished",
                "AwaitingPermission",
                "AwaitingReply",
                "StepStarted",
                "StepEnded",
                "RetryScheduled",
                "Retried",
                "Silent",
                "HistoryBegun",
                "Told",
                "Steered",
                "Summarised",
                "DraftCreated",
                "FilesChanged",
                "Exposed",
                "stalled",
                "Asked",
                "Asked",
                "AskedToSum",
                "AskedToSum",
            ]
        ),
        integers(0, 14),
        KINDS,
    ),
)
SAYS = builds(
    Say,
    mix(*[just(("words",))] * 3, lists(KINDS, max_size=3).map(tuple)),
    mix(some(REPLIES, 4), some(REPLIES, 4), REPLIES.map(lambda reply: (reply,) * 4)),
    seldom(ACTS),
    sampled_from(["once", "session", "folder", "always", "deny", "stop"]),
    sampled_from([4, 4, 2, 1]),
    sampled_from([3.0, 3.0, 3.0, 0.05]),
    sampled_from(["background", "inline"]),
    sampled_from([False, False, True]),
    seldom(REPLIES),
)
PREFERENCES = st.one_of(
    builds(Preference, just("turn_tokens"), sampled_from([0, 3_000, 20_000, 60_000])),
    builds(Preference, just("session_tokens"), sampled_from([0, 3_000, 60_000])),
    builds(Preference, just("day_tokens"), sampled_from([0, 10_000, 60_000])),
    builds(Preference, just("turn_dollars"), sampled_from([0.0, 0.01, 0.2])),
    builds(Preference, just("requests_per_hour"), sampled_from([0, 3, 8])),
    builds(Preference, just("summarise"), st.booleans()),
    builds(Preference, just("sandbox"), st.booleans()),
    builds(Preference, just("mask"), sampled_from([[], ["email"], ["email", "phone"]])),
)
FILES = st.one_of(
    builds(Decide, sampled_from(["approve", "discard", "undo"]), st.booleans()),
    builds(Rework, sampled_from([None, "mine\n", "alpha\nmine\n", ""])),
    builds(
        Meddle,
        sampled_from(["a.txt", "n.txt", "long.txt", "made.txt"]),
        sampled_from([None, "theirs\n", "alpha\ntheirs\n"]),
    ),
    builds(Restore, integers(0, 3), st.booleans()),
)
CONTEXT = st.one_of(
    builds(Window, sampled_from([0, 2_000, 6_000, 6_000, 30_000])),
    builds(
        Summary, just("write"), just(-1), seldom(REPLIES), sampled_from([None, None, 0, 3, 8, 20])
    ),
    builds(Summary, sampled_from(["edit", "undo"]), sampled_from([-1, -1, 0])),
    builds(Pin, integers(0, 6), sampled_from([True, True, False])),
)
CHANGES = st.one_of(
    builds(Change, just("permission_mode"), sampled_from(["ask", "auto", "plan"])),
    builds(Change, just("agent"), sampled_from(["Coder", "Reviewer", "Assistant", "Writer"])),
    builds(Change, just("effort"), sampled_from([None, "none", "low", "high", "max"])),
)
SWITCHES = st.one_of(
    *(builds(Switch, just(name), integers(0, len(models) - 1)) for name, models in MODELS.items())
)
STEPS = some(
    mix(
        *[SAYS] * 8,
        SWITCHES,
        SWITCHES,
        CHANGES,
        PREFERENCES,
        FILES,
        FILES,
        CONTEXT,
        CONTEXT,
        builds(Edit, integers(0, 5), SAYS),
        sampled_from([Day(), Compact(), Branch(), Restart(), Trust(), Trust(False)]),
        builds(
            Damage,
            sampled_from(["native", "native", "epochs", "transcript"]),
            sampled_from(["changed", "unreadable", "gone"]),
            integers(0, 20),
        ),
    ),
    6,
)
WORLDS = tuples(
    integers(0, 3),  # the model
    sampled_from([True, True, "beyond"]),
    sampled_from(sorted(CHUNKING)),
    sampled_from([False, False, True]),  # over a socket
)


@pytest.mark.parametrize("provider", PROTOCOLS)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(world=WORLDS, steps=STEPS)
def test_every_request_is_accepted_and_every_turn_ends_once(
    provider: str, world: tuple, steps: tuple[Step, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(StoryRunner(Path(folder), provider, *world).live(steps))
