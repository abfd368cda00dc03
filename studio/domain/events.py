"""Events: defines what happens in a turn, as a tagged union of small frozen values (L-2).

A turn is a stream of these. Window, command line, server and database read the
same stream; ``transcript`` folds it. Readers ``match`` and end with
``assert_never`` so that a new event cannot be forgotten.

A provider yields only ``Delta`` events. Everything else comes from the turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .agents import Mode
from .drafts import Draft, DraftStatus
from .errors import ProviderFault
from .jsonvalue import JsonObject
from .ledger import Sent
from .messages import Image, Message, Said
from .models import NO_USAGE, StopReason, Usage
from .permissions import Answer, Question
from .plans import Plan
from .questions import AskedQuestion, Choice, ServerQuestion
from .tools import Effect, Exposure

CompletionReason: TypeAlias = Literal[
    "done",
    "step_limit",
    "token_limit",
    "money_limit",
    "time_limit",
    "request_limit",
    "stalled",
    "cancelled",
    "refused",
    "error",
    "handed_over",
]
"""``handed_over``: the model called tools that the client runs; the next turn brings their
results."""

Cap: TypeAlias = Literal["turn", "session", "day", "month", "hour", "run", "step"]
"""What a cap of tokens or money applies to; the one of an hour is of requests. A ``run`` is one of
a workflow, a ``step`` is one of its steps."""

Topic: TypeAlias = Literal[
    "orientation",
    "guidance",
    "skills",
    "memory",
    "skill",
    "folder",
    "branch",
    "date",
    "mode",
    "instructions",
    "tools",
    "draft",
    "resume",
    "steer",
    "wrap_up",
    "stall",
    "files",
    "schema",
    "misfit",
    "plan",
    "plan_open",
    "child",
    "hook",
]
"""The topic of a note to the model; the newest note of a topic replaces older ones."""
FIRST_TOPICS: frozenset[Topic] = frozenset(("orientation", "guidance", "skills", "memory"))
"""Those that belong to a message of the person's and stand before its words."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A person's message was accepted; the turn that answers it begins."""

    session_id: str
    turn_id: str
    said: tuple[Said, ...]
    agent: str
    provider: str
    model: str
    mode: Mode
    by_agent: bool = False
    """Whether another agent said it, and not the person."""
    again: tuple[str, ...] = ()
    """The calls of the turn before that are made now: it ended before they began."""


@dataclass(frozen=True, slots=True)
class Recounted:
    """A conversation from outside: from a client of the server or an imported file.

    It is the first event of a session. Its calls are not in the audit and its tokens do not
    count as used, because this program did not run it.
    """

    messages: tuple[Message, ...]
    agent: str = ""
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """Request number ``step`` of the turn is sent."""

    step: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More text of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningEnded:
    """The model stopped thinking after ``seconds``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CallStarted:
    """The model began to write a call; its arguments are still coming."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class StepEnded:
    """The reply to a request is complete and stored.

    ``sent`` is the request as the ledger records it. ``cost`` is the provider's own figure
    in US dollars, None if it gives none. ``beside``: a request outside of the conversation,
    for a summary; its usage counts, but it says nothing about the context. ``stopped_at`` is
    the stop text that ended the answer, if that is known.
    """

    step: int
    stop: StopReason
    usage: Usage
    seconds: float
    sent: Sent | None = None
    cost: float | None = None
    beside: bool = False
    stopped_at: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """For ``seconds`` the provider has sent nothing to show, but perhaps pings (L-12)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """A request failed and is sent again after ``seconds`` (L-12).

    ``attempt`` is the number of the next attempt, of at most ``attempts``. Text that the
    failed attempt showed stays, and the model continues from there.
    """

    attempt: int
    attempts: int
    seconds: float
    fault: ProviderFault
    title: str
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Retried:
    """The wait is over, or the person skipped it; the next attempt is sent.

    ``seconds`` is the real length of the wait, None if it is not known.
    """

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HistoryBegun:
    """A new native history begins, built from the transcript (H-7, H-9).

    ``why`` is empty for the first one of a session. Earlier notes (``Told``) are not in it.
    ``changes`` is how many of the person's changes to the context it contains; None stands for
    all of them, as in events that older versions stored.
    """

    epoch: int
    provider: str
    model: str
    why: str = ""
    changes: int | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """The engine appended a note for the model to its history (H-6).

    ``sources`` are the files that it quotes, by name, each with a digest of its text.
    """

    topic: Topic
    text: str
    sources: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ToolQueued:
    """A call is complete and waits to run.

    The other fields are what a row shows. They are stored with the event so that an old
    transcript stays the same after a tool has changed: ``target`` (a path, a command),
    the words ``verb`` ("Reading") and ``done`` ("Read"), the icon's name.
    ``external``: the client that asked for the turn runs the call (``ToolSpec``).
    """

    call_id: str
    name: str
    arguments: JsonObject
    target: str = ""
    effect: Effect = "act"
    verb: str = ""
    done: str = ""
    icon: str = "wrench"
    external: bool = False


@dataclass(frozen=True, slots=True)
class CallChanged:
    """A hook changed a call before it was decided about; it is run like this (K-9)."""

    call_id: str
    arguments: JsonObject
    target: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is about to begin its work (L-3).

    ``allowed_by`` says in a few words what allowed it, for the audit (L-15).
    """

    call_id: str
    allowed_by: str = ""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A running tool printed something."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result: text and pictures for the model, ``summary`` for the row.

    ``sources`` lists the origins of the result (T-4): ``src/a.py:1-80``, a URL.
    ``refused_by`` names the rule that refused the call, if one did. ``seen`` has the files that
    the model knows by this call, each with the digest of its text. ``code`` is the exit code of a
    command, None for other calls and for one that was stopped. ``table`` has the rows of a result
    that is a table, the names of the columns first, for the person alone (M-11).
    """

    call_id: str
    text: str
    is_error: bool
    seconds: float
    summary: str = ""
    sources: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    refused_by: str = ""
    seen: tuple[tuple[str, str], ...] = ()
    code: int | None = None
    table: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class AwaitingPermission:
    """The turn waits for the person's answer to a question."""

    question: Question


@dataclass(frozen=True, slots=True)
class PermissionResolved:
    """The question has its answer, or the turn ended without one.

    ``by`` says who answered if that was not the person.
    """

    question_id: str
    answer: Answer
    by: str = ""


@dataclass(frozen=True, slots=True)
class AwaitingReply:
    """The agent asks the person something, with suggested answers or none.

    ``questions`` are empty for one question whose choices say all in their words. ``form`` is what
    a server asks (M-19); ``text`` says it in words.
    """

    call_id: str
    text: str
    choices: tuple[str, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    form: ServerQuestion | None = None

    @classmethod
    def of(cls, call_id: str, questions: Sequence[AskedQuestion]) -> AwaitingReply:
        """The event for one question or several."""
        text = "\n".join(one.text for one in questions)
        choices = questions[0].choices if len(questions) == 1 else ()
        plain = cls(call_id, text, tuple(choice.text for choice in choices))
        same = plain.asked == tuple(questions)
        return plain if same else replace(plain, questions=tuple(questions))

    @classmethod
    def of_server(cls, call_id: str, form: ServerQuestion) -> AwaitingReply:
        """The event for what a server asks."""
        wants = f"wants {form.model} to answer" if form.model else "asks"
        return cls(call_id, f"{form.server} {wants}: {form.message}", form=form)

    @property
    def asked(self) -> tuple[AskedQuestion, ...]:
        """The questions."""
        choices = tuple(Choice(text) for text in self.choices)
        return self.questions or (AskedQuestion(self.text, choices),)


@dataclass(frozen=True, slots=True)
class ReplyGiven:
    """The person answered the agent's question; ``text`` is what the model reads."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The agent shows its plan, the whole of it (C-2)."""

    call_id: str
    plan: Plan


@dataclass(frozen=True, slots=True)
class ChildWorks:
    """Another agent works for a call, in a session of its own (W-32).

    It comes when the child begins, with each thing that it does, and when it ends: ``reason`` is
    empty until then. ``doing`` is what it does now, to ``target``. ``dollars`` are estimated.
    """

    call_id: str
    session_id: str
    agent: str
    icon: str = "sparkle"
    hue: str = "slate"
    model: str = ""
    doing: str = ""
    target: str = ""
    reason: CompletionReason | Literal[""] = ""
    tokens: int = 0
    dollars: float = 0.0
    background: bool = False

    @property
    def line(self) -> str:
        """“Reading a.txt”."""
        return f"{self.doing} {self.target}".rstrip()


@dataclass(frozen=True, slots=True)
class DraftCreated:
    """A tool proposes a file change."""

    call_id: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class DraftResolved:
    """The status of a draft changed; ``detail`` says why it could not be carried out."""

    draft_id: str
    status: DraftStatus
    detail: str = ""


@dataclass(frozen=True, slots=True)
class MessageQueued:
    """The person said something while a turn runs; it is sent when the turn is done (L-1)."""

    message_id: str
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class MessageTaken:
    """A queued message left the queue: it was sent, used for steering, or removed."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Steered:
    """The person's message was added to the running turn, before its next request."""

    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Summarised:
    """The summary ``text`` replaces the transcript's first ``blocks`` blocks (L-10).

    This applies to the model only: the person still sees the blocks. ``before`` and
    ``after`` are estimates of the context in tokens. A later summary replaces an earlier one.
    """

    summary_id: str
    text: str
    blocks: int
    before: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class SummaryEdited:
    """The person changed a summary's text."""

    summary_id: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryUndone:
    """The summary is dropped: the model gets the summarised blocks again.

    If they include an earlier summary, that one applies again.
    """

    summary_id: str


@dataclass(frozen=True, slots=True)
class Pinned:
    """The person pinned or unpinned a block; compaction keeps pinned blocks whole."""

    block: int
    pinned: bool


FOLDER_NAMES = "names in the folder"
"""Of files, the branch and commits: a model is told them with the first message (C-17)."""


@dataclass(frozen=True, slots=True)
class Exposed:
    """The session was exposed to something that makes it risky to send data out (T-7).

    ``source`` names it: a path, an address, a server. ``own``: the text comes from the folder
    and is untrusted only while the person does not trust the folder. ``server`` is the MCP server
    whose answer it was.
    """

    exposure: Exposure
    source: str
    own: bool = False
    server: str = ""


@dataclass(frozen=True, slots=True)
class Routed:
    """The router chose the mode and model of a turn (L-13); ``why`` is one sentence for the person.

    ``asked`` is the ``provider/model`` that judged how hard the message is, empty if rules
    decided alone; the fields after it are the usage of that request.
    """

    mode: Mode
    provider: str
    model: str
    why: str
    asked: str = ""
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class FilesChanged:
    """The files that a turn changed in the folder, for undo; ``paths`` are relative.

    A later event of the same turn replaces it, for example after a draft was approved.
    """

    turn_id: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesRestored:
    """A turn's changes were undone, or redone (``undone`` False).

    ``left`` lists paths that were not restored because they had changed since.
    ``drafts`` lists the ids of the turn's drafts that were undone or redone too.
    """

    turn_id: str
    undone: bool
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """A message of the program in the transcript: a repair, a change of provider."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn failed with an error that the person sees; the message is kept.

    ``retry_after`` is the wait that a provider asks for, in seconds.
    """

    fault: ProviderFault | Literal["storage", "configuration", "no_folder", "internal"]
    title: str
    detail: str
    provider: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class TurnComplete:
    """The end of a turn; each turn has exactly one, and only it enables the composer again.

    ``cap`` says which cap a ``token_limit``, ``money_limit`` or ``request_limit`` was; it is
    empty for the model's own limits. ``limit`` is how many tokens, US dollars or requests it
    allowed; 0 where none was reached, or an earlier version stored the end. ``retry_after`` is
    in how many seconds a ``request_limit`` allows another request. ``dollars`` is what its
    requests cost, by the provider's figures or estimated; None if the price of one is not known.
    """

    reason: CompletionReason
    detail: str = ""
    steps: int = 0
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    cap: Cap | Literal[""] = ""
    retry_after: float | None = None
    dollars: float | None = None
    limit: float = 0.0


Delta: TypeAlias = TextDelta | ReasoningDelta | CallStarted
CallEvent: TypeAlias = (
    CallStarted
    | ToolQueued
    | CallChanged
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | AwaitingPermission
    | PermissionResolved
    | AwaitingReply
    | ReplyGiven
    | ChildWorks
)
Event: TypeAlias = (
    TurnStarted
    | Recounted
    | StepStarted
    | TextDelta
    | ReasoningDelta
    | ReasoningEnded
    | StepEnded
    | Silent
    | RetryScheduled
    | Retried
    | HistoryBegun
    | Told
    | CallEvent
    | PlanChanged
    | DraftCreated
    | DraftResolved
    | MessageQueued
    | MessageTaken
    | Steered
    | Summarised
    | SummaryEdited
    | SummaryUndone
    | Pinned
    | Exposed
    | Routed
    | FilesChanged
    | FilesRestored
    | Notice
    | Failed
    | TurnComplete
)
