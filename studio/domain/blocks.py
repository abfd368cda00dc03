"""Transcript blocks: hold what a person sees, one block for each thing.

Blocks change in place while a turn runs: text grows, a tool gets its result.
Only the fold in ``transcript`` changes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .agents import Mode
from .drafts import Draft
from .events import Cap, CompletionReason
from .jsonvalue import JsonObject
from .messages import Image, Said, Text
from .permissions import Answer, Question
from .tools import Effect


@dataclass(slots=True)
class UserBlock:
    """What the person said."""

    turn_id: str
    said: tuple[Said, ...]
    pinned: bool = False
    steered: bool = False
    """Said while the turn ran, and taken up by it."""

    @property
    def text(self) -> str:
        return "\n\n".join(part.text for part in self.said if isinstance(part, Text))


@dataclass(slots=True)
class AgentBlock:
    """The line above an answer: which agent, on which model."""

    turn_id: str
    agent: str
    provider: str
    model: str


@dataclass(slots=True)
class TextBlock:
    """Words of the answer, in markdown; ``live`` while more may come."""

    text: str
    live: bool = True
    pinned: bool = False
    """Kept whole for the model, whatever is summed up (L-10)."""


@dataclass(slots=True)
class ReasoningBlock:
    """What the model thought; ``seconds`` is None while it still does."""

    text: str
    seconds: float | None = None
    live: bool = True


ToolState: TypeAlias = Literal[
    "writing", "queued", "waiting", "running", "done", "error", "denied", "cancelled"
]


@dataclass(slots=True)
class ToolBlock:
    """One call and what came of it.

    ``output`` is what the tool printed so far, then the text the model got.
    ``question`` is the permission question while it is open; ``answer`` how it
    was answered. ``asks`` and ``choices`` are the agent's question to the
    person, ``reply`` what was answered.
    """

    call_id: str
    name: str
    arguments: JsonObject = field(default_factory=dict)  # type: ignore[arg-type]
    target: str = ""
    effect: Effect = "act"
    verb: str = ""
    done: str = ""
    icon: str = "wrench"
    state: ToolState = "writing"
    output: str = ""
    summary: str = ""
    seconds: float = 0.0
    sources: tuple[str, ...] = ()
    images: tuple[Image, ...] = ()
    question: Question | None = None
    answer: Answer | None = None
    asks: str | None = None
    choices: tuple[str, ...] = ()
    reply: str | None = None
    allowed_by: str = ""
    step: int = 0
    whole: bool = False
    """Whether the model wrote the call to its end."""
    external: bool = False
    """Whoever asked for the turn runs it; it may stay open when the turn ends."""

    @property
    def finished(self) -> bool:
        return self.state in ("done", "error", "denied", "cancelled")


@dataclass(slots=True)
class DraftBlock:
    """A proposed file change; ``draft.status`` says what became of it."""

    draft: Draft
    detail: str = ""
    turn_id: str = ""


@dataclass(slots=True)
class SummaryBlock:
    """Where the model's history was summed up; what is above stays readable (``Summarised``)."""

    summary_id: str
    text: str
    blocks: int
    before: int = 0
    after: int = 0
    state: Literal["holds", "undone", "replaced"] = "holds"


@dataclass(slots=True)
class FilesBlock:
    """What a turn changed in the folder, at its end."""

    turn_id: str
    paths: tuple[str, ...]
    undone: bool = False
    left: tuple[str, ...] = ()
    """Paths that were not touched when it was undone (or done again) last."""
    drafts: tuple[str, ...] = ()
    """Ids of the drafts that were undone with it."""


@dataclass(slots=True)
class NoticeBlock:
    """A remark of the program itself."""

    text: str


@dataclass(slots=True)
class FailureBlock:
    """An error shown in place, with what to do about it."""

    fault: str
    title: str
    detail: str
    provider: str = ""


@dataclass(slots=True)
class RetryBlock:
    """A failed request and the wait before it is made again (``RetryScheduled``)."""

    attempt: int
    attempts: int
    seconds: float
    fault: str
    title: str
    provider: str = ""
    state: Literal["waiting", "resumed", "stopped"] = "waiting"


@dataclass(slots=True)
class EndBlock:
    """How a turn ended, where that needs saying (every reason but ``done``)."""

    reason: CompletionReason
    detail: str
    mode: Mode = "background"
    cap: Cap | Literal[""] = ""


TranscriptBlock: TypeAlias = (
    UserBlock
    | AgentBlock
    | TextBlock
    | ReasoningBlock
    | ToolBlock
    | DraftBlock
    | SummaryBlock
    | FilesBlock
    | NoticeBlock
    | FailureBlock
    | RetryBlock
    | EndBlock
)
