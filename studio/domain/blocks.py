"""Transcript blocks: describes what a person sees in a conversation, one item a block.

Blocks change in place while a turn runs: text grows, a tool gets its result.
Only the fold in ``transcript`` changes them. ``blocks_to_messages`` converts them to the
messages of a new native history (H-7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal, TypeAlias, assert_never

from studio.domain.records import dataclass

from .agents import Mode
from .drafts import Draft
from .events import Cap, ChildWorks, CompletionReason
from .jsonvalue import JsonObject
from .messages import Block as MessageBlock
from .messages import Image, Message, Reasoning, Said, Text, ToolCall, ToolResult
from .permissions import Answer, Question
from .plans import Plan
from .questions import AskedQuestion, ServerQuestion
from .tools import ASK, Effect


@dataclass(slots=True)
class UserBlock:
    """What the person said."""

    turn_id: str
    said: tuple[Said, ...]
    pinned: bool = False
    steered: bool = False
    """Whether it was said while the turn ran, and added to that turn."""
    by_agent: bool = False
    """Whether another agent said it, or began the turn that it was added to."""

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
    """Text of the answer, in markdown; ``live`` while more may come."""

    text: str
    live: bool = True
    pinned: bool = False
    """Whether compaction keeps it whole for the model (L-10)."""


@dataclass(slots=True)
class ReasoningBlock:
    """The model's reasoning; ``seconds`` is None while it continues."""

    text: str
    seconds: float | None = None
    live: bool = True


ToolState: TypeAlias = Literal[
    "writing", "queued", "waiting", "running", "done", "error", "denied", "cancelled"
]


@dataclass(slots=True)
class ToolBlock:
    """One tool call with its state and result.

    ``output`` is what the tool has printed, and after it ended the text that the model gets.
    ``question`` is the permission question while it is open, ``answer`` the answer to it.
    ``asks`` are the agent's questions to the person, ``reply`` is the answer to them; ``form`` is
    what a server asks, while it is open.
    ``child`` is the agent that works for it, as it was heard of last.
    ``table``: see ``ToolFinished``.
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
    table: tuple[tuple[str, ...], ...] = ()
    question: Question | None = None
    answer: Answer | None = None
    asks: tuple[AskedQuestion, ...] = ()
    form: ServerQuestion | None = None
    reply: str | None = None
    allowed_by: str = ""
    step: int = 0
    started: bool = False
    """Whether the tool began its work; one that was refused or stopped before did nothing."""
    whole: bool = False
    """Whether the model wrote the whole call."""
    external: bool = False
    """Whether the client runs it; such a call may stay open when the turn ends."""
    child: ChildWorks | None = None

    @property
    def finished(self) -> bool:
        return self.state in ("done", "error", "denied", "cancelled")

    @property
    def unbegun(self) -> bool:
        """Whether its turn ended before it did anything, such as while it waited for the person."""
        asked = self.name == ASK and self.reply is None
        return self.state == "cancelled" and not self.external and (asked or not self.started)


@dataclass(slots=True)
class DraftBlock:
    """A draft; ``draft.status`` is its present state."""

    draft: Draft
    detail: str = ""
    turn_id: str = ""


@dataclass(slots=True)
class PlanBlock:
    """The agent's plan, as it was last shown in a turn."""

    turn_id: str
    plan: Plan


@dataclass(slots=True)
class SummaryBlock:
    """A summary for the model; the person can still read the blocks above (``Summarised``)."""

    summary_id: str
    text: str
    blocks: int
    before: int = 0
    after: int = 0
    state: Literal["holds", "undone", "replaced"] = "holds"


@dataclass(slots=True)
class FilesBlock:
    """The files that a turn changed in the folder."""

    turn_id: str
    paths: tuple[str, ...]
    undone: bool = False
    left: tuple[str, ...] = ()
    """Paths that the last undo or redo did not restore."""
    drafts: tuple[str, ...] = ()
    """Ids of the drafts that were undone with it."""


@dataclass(slots=True)
class NoticeBlock:
    """A message of the program."""

    text: str


@dataclass(slots=True)
class FailureBlock:
    """An error with advice for the person."""

    fault: str
    title: str
    detail: str
    provider: str = ""


@dataclass(slots=True)
class RetryBlock:
    """A failed request and the wait before it is sent again (``RetryScheduled``)."""

    attempt: int
    attempts: int
    seconds: float
    fault: str
    title: str
    provider: str = ""
    state: Literal["waiting", "resumed", "stopped"] = "waiting"


@dataclass(slots=True)
class EndBlock:
    """How a turn ended; shown for the reasons that need an explanation."""

    reason: CompletionReason
    detail: str
    mode: Mode = "background"
    cap: Cap | Literal[""] = ""
    limit: float = 0.0


TranscriptBlock: TypeAlias = (
    UserBlock
    | AgentBlock
    | TextBlock
    | ReasoningBlock
    | ToolBlock
    | DraftBlock
    | PlanBlock
    | SummaryBlock
    | FilesBlock
    | NoticeBlock
    | FailureBlock
    | RetryBlock
    | EndBlock
)

SUMMARY = '<summary of="the earlier conversation" by="the program">\n{text}\n</summary>'


def active_summary(blocks: Sequence[TranscriptBlock]) -> SummaryBlock | None:
    """The summary that replaces the beginning for the model, if there is one."""
    summaries = (block for block in reversed(blocks) if isinstance(block, SummaryBlock))
    return next((block for block in summaries if block.state == "holds"), None)


def blocks_to_messages(blocks: Sequence[TranscriptBlock], end: int | None = None) -> list[Message]:
    """The messages of a new native history, from the blocks before ``end``.

    Every call is followed by its result in the next message; a call without a result gets
    an error as its result (H-5). A call that the model did not finish writing is left out.

    An active summary comes first, as a user message. After it come the pinned messages and
    the person's message that the turn answers, both unchanged, then everything after the
    summarised blocks.
    """
    summary = active_summary(blocks)
    blocks = blocks[:end]
    if summary is None:
        return all_messages(blocks)
    words = Message("user", (Text(SUMMARY.format(text=summary.text)),))
    kept = _kept(blocks, summary.blocks)
    return [words, *all_messages([*kept, *blocks[summary.blocks :]])]


def _kept(blocks: Sequence[TranscriptBlock], cut: int) -> list[TranscriptBlock]:
    """The blocks to keep before ``cut``: pinned ones, and the message that the turn answers."""
    before = blocks[:cut]
    asked = len(before)
    if not _begins(blocks[cut:]):
        while asked and not _is_message(before[asked - 1]):
            asked -= 1
        asked = max(asked - 1, 0)
    return [
        block
        for index, block in enumerate(before)
        if (isinstance(block, UserBlock) and (block.pinned or index >= asked))
        or (isinstance(block, TextBlock) and block.pinned)
    ]


def _begins(blocks: Sequence[TranscriptBlock]) -> bool:
    """Whether the blocks begin with a message of the person, not within an answer."""
    for block in blocks:
        if isinstance(block, UserBlock | TextBlock | ReasoningBlock | ToolBlock):
            return _is_message(block)
    return False


def _is_message(block: TranscriptBlock) -> bool:
    return isinstance(block, UserBlock) and not block.steered


def all_messages(blocks: Sequence[TranscriptBlock]) -> list[Message]:
    """The messages of all blocks, without regard to summaries."""
    out: list[Message] = []
    said: list[MessageBlock] = []
    results: list[ToolResult] = []
    step = 0

    def flush() -> None:
        if said:
            out.append(Message("assistant", tuple(said)))
            said.clear()
        if results:
            out.append(Message("user", tuple(results)))
            results.clear()

    for block in blocks:
        match block:
            case UserBlock():
                flush()
                out.append(Message("user", block.said))
            case TextBlock():
                if results:
                    flush()
                if block.text.strip():
                    said.append(Text(block.text))
            case ReasoningBlock():
                if results:
                    flush()
                said.append(Reasoning(block.text))
            case ToolBlock():
                if not block.whole:
                    continue
                if results and block.step != step:
                    flush()
                step = block.step
                said.append(ToolCall(block.call_id, block.name, block.arguments))
                results.append(
                    ToolResult(
                        block.call_id,
                        block.name,
                        (Text(_outcome(block)), *block.images),
                        is_error=block.state != "done",
                        sources=block.sources,
                    )
                )
            case AgentBlock() | DraftBlock() | NoticeBlock() | SummaryBlock() | FilesBlock():
                pass
            case PlanBlock() | FailureBlock() | RetryBlock() | EndBlock():
                pass
            case _:
                assert_never(block)
    flush()
    return out


def _outcome(tool: ToolBlock) -> str:
    """The result of a call as a text for the model."""
    if tool.finished and tool.state != "cancelled":
        return tool.output or "(no output)"
    ended = "The turn ended before this was done. What it did by then is not known."
    return f"{tool.output}\n\n{ended}".lstrip()
