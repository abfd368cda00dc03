"""Events: say what happens in a turn, as a tagged union of small frozen values (L-2).

A turn is a stream of these. Window, command line, server and database read the
same stream; ``transcript`` folds it. Readers ``match`` and end with
``assert_never`` so that a new event cannot be forgotten.

A provider yields only ``Delta`` events. Everything else comes from the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .agents import Mode
from .drafts import Draft, DraftStatus
from .errors import ProviderFault
from .jsonvalue import JsonObject
from .ledger import Sent
from .messages import Image, Message, Said
from .models import NO_USAGE, StopReason, Usage
from .permissions import Answer, Question
from .tools import Effect, Exposure

CompletionReason: TypeAlias = Literal[
    "done",
    "step_limit",
    "token_limit",
    "money_limit",
    "time_limit",
    "stalled",
    "cancelled",
    "refused",
    "error",
    "handed_over",
]
"""``handed_over``: the model called tools that whoever asked runs; the next turn
brings their results."""

Cap: TypeAlias = Literal["turn", "session", "day"]
"""Whose cap of tokens or money."""

Topic: TypeAlias = Literal[
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
]
"""What a text of the engine is about; the last one of a topic holds."""


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


@dataclass(frozen=True, slots=True)
class Recounted:
    """A conversation as somebody else tells it: the client of the server, an imported file.

    It comes first in a session. Nothing of it happened here: its calls are in no
    audit and its tokens were not used.
    """

    messages: tuple[Message, ...]
    agent: str = ""
    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """Request number ``step`` of the turn goes out."""

    step: int


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks."""

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
    """The reply to a request is whole and stored.

    ``sent`` is the request as the ledger knows it. ``cost`` is the provider's
    own figure in US dollars, where it gave one. A request ``beside`` the
    conversation, for a summary, counts as used and says nothing of the context.
    ``stopped_at`` is the stop text that the answer came to, where that is known.
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
    """For ``seconds`` nothing to show has come from the provider; it may send pings (L-12)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RetryScheduled:
    """A request failed and is made again after ``seconds`` (L-12).

    ``attempt`` is the number of the attempt to come, of at most ``attempts``.
    What was shown of the failed one stays, and the model goes on from there.
    """

    attempt: int
    attempts: int
    seconds: float
    fault: ProviderFault
    title: str
    provider: str = ""


@dataclass(frozen=True, slots=True)
class Retried:
    """The wait is over, or the person skipped it; the next attempt goes out.

    ``seconds`` is how long the wait was, where it was cut short.
    """

    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class HistoryBegun:
    """The native history begins anew, from the transcript (H-7, H-9).

    ``why`` is empty for a session's first. What was told before (``Told``) does
    not count any more.
    """

    epoch: int
    provider: str
    model: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """The engine told the model something, in words appended to its history (H-6)."""

    topic: Topic
    text: str


@dataclass(frozen=True, slots=True)
class ToolQueued:
    """A call is known and waits for its turn.

    The rest is what a row shows, kept with the event so that an old transcript
    reads the same after a tool has changed: ``target`` (a path, a command),
    the words ``verb`` ("Reading") and ``done`` ("Read"), the icon's name.
    ``external``: whoever asked for the turn runs it (``ToolSpec``).
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
class ToolStarted:
    """A tool begins its work (sent before the work does, L-3).

    ``allowed_by`` says in a few words who or what allowed it, for the audit (L-15).
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
    """A call has its result: the text and pictures the model gets, one line for the row.

    ``sources`` say where the result is from (T-4): ``src/a.py:1-80``, a URL.
    ``refused_by`` says whose rule forbade the call; empty for one that was not.
    """

    call_id: str
    text: str
    is_error: bool
    seconds: float
    summary: str = ""
    sources: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    refused_by: str = ""


@dataclass(frozen=True, slots=True)
class AwaitingPermission:
    """The turn waits for the person's answer to a question."""

    question: Question


@dataclass(frozen=True, slots=True)
class PermissionResolved:
    """The question has its answer, or fell away when the turn ended.

    ``by`` says who answered where that was not the person.
    """

    question_id: str
    answer: Answer
    by: str = ""


@dataclass(frozen=True, slots=True)
class AwaitingReply:
    """The agent asks the person something, with suggested answers or none."""

    call_id: str
    text: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplyGiven:
    """The person answered the agent's question."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class DraftCreated:
    """A tool proposes a file change."""

    call_id: str
    draft: Draft


@dataclass(frozen=True, slots=True)
class DraftResolved:
    """A draft was approved, discarded, replaced, undone, or met a changed file."""

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
    """A queued message waits no longer: it was sent, taken into the turn, or removed."""

    message_id: str


@dataclass(frozen=True, slots=True)
class Steered:
    """The person's words were given to the running turn, before its next request."""

    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Summarised:
    """Everything in the transcript's first ``blocks`` blocks now stands in ``text`` (L-10).

    For the model only: the person still sees it all. ``before`` and ``after``
    are the tokens of the context, estimates. A later one takes the place of an
    earlier one.
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
    """The summary is dropped: the model gets again what it stood for.

    Where that was an earlier summary and what followed it, the earlier one holds again.
    """

    summary_id: str


@dataclass(frozen=True, slots=True)
class Pinned:
    """The block of the transcript with this index is kept whole for the model, or no longer."""

    block: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class Exposed:
    """The session has met something that makes sending anything out a risk (T-7).

    ``source`` names it: a path, an address, a server. ``own``: strangers' words
    only as long as the person does not trust the folder.
    """

    exposure: Exposure
    source: str
    own: bool = False


@dataclass(frozen=True, slots=True)
class Routed:
    """The program chose how a turn is worked on (L-13); ``why`` is one sentence for the person.

    ``asked`` is the ``provider/model`` that was asked how hard the message is,
    empty where rules decided alone; the rest is what that request used.
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
    """What a turn changed in the folder, so that it can be undone; ``paths`` are relative.

    A later one of the same turn takes its place: a draft was approved since.
    """

    turn_id: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesRestored:
    """A turn's changes were undone, or done again (``undone`` False).

    ``left`` are paths that were not touched, because they had changed since.
    ``drafts`` are the ids of the turn's drafts that went along.
    """

    turn_id: str
    undone: bool
    paths: tuple[str, ...]
    left: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """The program says something in the transcript: a repair, a change of provider."""

    text: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn met an error that is shown to the person; the message is kept.

    ``retry_after`` is the wait that a provider asks for, in seconds.
    """

    fault: ProviderFault | Literal["storage", "configuration", "no_folder", "internal"]
    title: str
    detail: str
    provider: str = ""
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class TurnComplete:
    """The end of a turn, exactly one each; only this releases the composer.

    ``cap`` says whose cap a ``token_limit`` or ``money_limit`` was; empty for
    the model's own limits.
    """

    reason: CompletionReason
    detail: str = ""
    steps: int = 0
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    cap: Cap | Literal[""] = ""


Delta: TypeAlias = TextDelta | ReasoningDelta | CallStarted
Event: TypeAlias = (
    TurnStarted
    | Recounted
    | StepStarted
    | TextDelta
    | ReasoningDelta
    | ReasoningEnded
    | CallStarted
    | StepEnded
    | Silent
    | RetryScheduled
    | Retried
    | HistoryBegun
    | Told
    | ToolQueued
    | ToolStarted
    | ToolOutput
    | ToolFinished
    | AwaitingPermission
    | PermissionResolved
    | AwaitingReply
    | ReplyGiven
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
