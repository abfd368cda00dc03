"""A sample of every event, in an order that tells a story."""

from __future__ import annotations

from studio.domain import events as ev
from studio.domain.drafts import FileDraft
from studio.domain.events import Event
from studio.domain.ledger import Sent
from studio.domain.messages import Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import Usage
from studio.domain.permissions import Question, Rule
from studio.domain.plans import Plan, PlanItem
from studio.domain.questions import AskedQuestion, Choice, ServerQuestion

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
    ev.CallChanged("c1", {"command": "ls -a"}, "ls -a", "the hook check.sh (yours)"),
    ev.AwaitingPermission(QUESTION),
    ev.PermissionResolved("q1", "once"),
    ev.ToolStarted("c1"),
    ev.ToolOutput("c1", "a.txt\n"),
    ev.ChildWorks("c1", "s2", "Researcher", "telescope", "plum", "m", "Reading", "a", "", 10, 0.1),
    ev.AwaitingReply.of("c1", [AskedQuestion("Which?", (Choice("a", "or b"),), several=True)]),
    ev.AwaitingReply.of_server("c1", ServerQuestion("shop", "How many?", {"type": "object"})),
    ev.ReplyGiven("c1", "a"),
    ev.DraftCreated("c1", FileDraft("d1", "a.txt", None, "new\n", "")),
    ev.PlanChanged("c1", Plan((PlanItem("look", "active"), PlanItem("end")), "asked")),
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
