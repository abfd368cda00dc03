"""Transcript: folds events into the blocks that a person sees and that are saved.

Window, command line, server and database share it. ``Transcript.apply`` applies one
event and returns the index of the block that changed. Blocks grow or change their state,
but are never removed or reordered, so a view can redraw exactly that block.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from .agents import Mode
from .blocks import (
    AgentBlock,
    DraftBlock,
    EndBlock,
    FailureBlock,
    FilesBlock,
    NoticeBlock,
    PlanBlock,
    ReasoningBlock,
    RetryBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
    active_summary,
    blocks_to_messages,
)
from .drafts import Draft, FileDraft, text_digest
from .events import (
    FOLDER_NAMES,
    CallStarted,
    DraftCreated,
    DraftResolved,
    Event,
    Exposed,
    Failed,
    FilesChanged,
    FilesRestored,
    HistoryBegun,
    MessageQueued,
    MessageTaken,
    Notice,
    Pinned,
    PlanChanged,
    ReasoningDelta,
    ReasoningEnded,
    Recounted,
    Retried,
    RetryScheduled,
    Routed,
    Silent,
    Steered,
    StepEnded,
    StepStarted,
    Summarised,
    SummaryEdited,
    SummaryUndone,
    TextDelta,
    Told,
    ToolFinished,
    Topic,
    TurnComplete,
    TurnStarted,
)
from .ledger import Sent
from .messages import File, Image, Message, Reasoning, Said, Text, ToolCall, ToolResult
from .models import Usage
from .permissions import Question
from .plans import Plan
from .tool_call_state import ToolCallState
from .tools import Exposure

SUMMED_UP = "Earlier messages were summed up to save room."
TOLD = "What is above was told by the client, or imported. None of it happened here."
EDITED = "The summary of earlier messages was edited."
UNDONE = "The summary of earlier messages was undone."
PINS = "The person changed which messages are kept whole."


class Conversation(NamedTuple):
    """Messages for a new native history, and how many of the person's changes they contain."""

    messages: Sequence[Message]
    changes: int


class Transcript:
    """The blocks of a session, and the state of its turns."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.blocks: list[TranscriptBlock] = []
        self.running = False
        self.last_usage = Usage()
        """The usage of the last request: it tells how full the model's context is."""
        self.last_sent: Sent | None = None
        """The last request as the ledger records it."""
        self.total_usage = Usage()
        self.steps = 0
        self.told: dict[Topic, str] = {}
        """The newest note on each topic in the present native history."""
        self.guided: dict[str, str] = {}
        """The digests of the instruction files that the present native history quotes, by name."""
        self.guides: dict[str, None] = {}
        """The names of all that any history of the session quoted."""
        self.stale = ""
        """Why the native history is out of date and has to be rebuilt; empty if it is not."""
        self.changes = 0
        """How often the person changed what the model gets: summaries and pins."""
        self._summaries: list[SummaryBlock] = []
        """Those among the blocks: there are few, and each step looks for the one that holds."""
        self.silent = 0.0
        """Seconds for which the provider has been silent, once that is shown; else 0."""
        self.queued: dict[str, tuple[Said, ...]] = {}
        """Messages that wait for the end of the turn, by id, oldest first."""
        self.exposed: dict[Exposure, str] = {}
        """What the session was exposed to, with the first source of each."""
        self.exposed_by_server: dict[Exposure, str] = {}
        """The MCP server that all of an exposure came from; empty for any other source."""
        self.exposed_by_own = False
        """Whether all untrusted text came from files that the person may decide to trust."""
        self.seen: dict[str, str] = {}
        """The digest of the text of each file that the model saw last (C-7)."""
        self.plan: Plan | None = None
        """The newest plan of the agent (C-2)."""
        self.plan_told = True
        """Whether it is in the present native history (C-3)."""
        self.turn_id = ""
        """The id of the last turn; empty before the first."""
        self.attached = ""
        """The name of the first file or picture that the person attached."""
        self._mode: Mode = "background"
        self._by_agent = False
        self._calls = ToolCallState(self.blocks)
        self._drafts: dict[str, int] = {}
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> int | None:
        """Apply one event; returns the index of the block that changed or was added, or None.

        Blocks after that index are new. An event about an unknown call is ignored, so that a
        damaged log still shows everything else.
        """
        self.silent = event.seconds if isinstance(event, Silent) else 0.0
        match event:
            case TurnStarted():
                self.running = True
                self.turn_id, self._mode = event.turn_id, event.mode
                self.steps = 0
                self._by_agent = event.by_agent
                self._calls.begin(event.again)
                first = len(self.blocks)
                self._attach(event.said)
                if event.said:  # a retry says nothing new
                    self.blocks.append(
                        UserBlock(event.turn_id, event.said, by_agent=event.by_agent)
                    )
                self.blocks.append(
                    AgentBlock(event.turn_id, event.agent, event.provider, event.model)
                )
                return first
            case Recounted():
                return self._recount(event)
            case StepStarted():
                self.steps = event.step
                return None
            case TextDelta():
                return self._grow(TextBlock, event.text)
            case ReasoningDelta():
                return self._grow(ReasoningBlock, event.text)
            case ReasoningEnded():
                for index in range(len(self.blocks) - 1, -1, -1):
                    block = self.blocks[index]
                    if isinstance(block, ReasoningBlock):
                        block.seconds, block.live = event.seconds, False
                        return index
                    if isinstance(block, AgentBlock):
                        break
                return None
            case StepEnded():
                if not event.beside:
                    self.last_usage, self.last_sent = event.usage, event.sent
                self.total_usage += event.usage
                return self._settle()
            case Silent():
                return None
            case RetryScheduled():
                return self._add(
                    RetryBlock(
                        event.attempt,
                        event.attempts,
                        event.seconds,
                        event.fault,
                        event.title,
                        event.provider,
                    )
                )
            case Retried():
                return self._waited("resumed", event.seconds)
            case HistoryBegun():
                self.told.clear()
                self.guided.clear()
                if event.changes in (None, self.changes):  # else one came while it was built
                    self.stale = ""
                self.plan_told = False
                return None
            case Told():
                self.told[event.topic] = event.text
                if event.topic == "guidance":
                    self.guided |= dict(event.sources)
                    self.guides |= dict.fromkeys(self.guided)
                self.plan_told |= event.topic == "plan"
                return None
            case PlanChanged():
                self.plan, self.plan_told = event.plan, True
                for index in range(len(self.blocks) - 1, -1, -1):
                    block = self.blocks[index]
                    if isinstance(block, PlanBlock) and block.turn_id == self.turn_id:
                        block.plan = event.plan
                        return index
                    if isinstance(block, AgentBlock):
                        break
                return self._add(PlanBlock(self.turn_id, event.plan))
            case DraftCreated():
                index = self._add(DraftBlock(event.draft, turn_id=self.turn_id))
                self._drafts[event.draft.id] = index
                return index
            case DraftResolved():
                index = self._drafts.get(event.draft_id)
                if index is not None:
                    block = self.blocks[index]
                    assert isinstance(block, DraftBlock)
                    block.draft = replace(block.draft, status=event.status)
                    block.detail = event.detail
                    self._see_resolved(block.draft)
                return index
            case MessageQueued():
                self.queued[event.message_id] = event.said
                return None
            case MessageTaken():
                self.queued.pop(event.message_id, None)
                return None
            case Steered():
                self._attach(event.said)
                return self._add(
                    UserBlock(self.turn_id, event.said, steered=True, by_agent=self._by_agent)
                )
            case Summarised():
                if (held := self.summary) is not None:
                    held.state = "replaced"
                self.stale = SUMMED_UP
                block = SummaryBlock(
                    event.summary_id, event.text, event.blocks, event.before, event.after
                )
                self._summaries.append(block)
                return self._add(block)
            case SummaryEdited():
                return self._edited(event)
            case SummaryUndone():
                return self._undone(event)
            case Pinned():
                if not 0 <= event.block < len(self.blocks):
                    return None
                block = self.blocks[event.block]
                if not isinstance(block, UserBlock | TextBlock):
                    return None
                summary = self.summary
                if summary is not None and event.block < summary.blocks:
                    self.stale = self.stale or PINS
                self.changes += block.pinned != event.pinned
                block.pinned = event.pinned
                return event.block
            case Exposed():
                if self.is_new(event):
                    first = event.exposure not in self.exposed
                    self.exposed[event.exposure] = event.source
                    self.exposed_by_server[event.exposure] = event.server if first else ""
                    if event.exposure == "untrusted":
                        self.exposed_by_own = event.own and (first or self.exposed_by_own)
                return None
            case Routed():
                self.total_usage += event.usage
                return self._add(NoticeBlock(event.why))
            case FilesChanged():
                index, block = self._files(event.turn_id)
                block.paths, block.undone, block.left = event.paths, False, ()
                return index
            case FilesRestored():
                index, block = self._files(event.turn_id)
                block.undone, block.left, block.drafts = event.undone, event.left, event.drafts
                return index
            case Notice():
                return self._add(NoticeBlock(event.text))
            case Failed():
                return self._add(
                    FailureBlock(event.fault, event.title, event.detail, event.provider)
                )
            case TurnComplete():
                return self._end(event)
            case _:  # all others are about calls
                if isinstance(event, CallStarted):
                    self._settle()
                if isinstance(event, ToolFinished):
                    self.seen |= dict(event.seen)
                return self._calls.apply(event, self.steps)

    def is_new(self, exposed: Exposed) -> bool:
        """Whether it tells more than is known: the person's own files are less than a stranger's,
        names less than what is in the files, and what one server said less than anything else."""
        known = self.exposed.get(exposed.exposure)
        server = self.exposed_by_server.get(exposed.exposure)
        if server and server != exposed.server:
            return True
        if known is None or exposed.exposure == "private":
            return known is None
        told_names = known == FOLDER_NAMES != exposed.source
        return self.exposed_by_own and (told_names or not exposed.own)

    def tool(self, call_id: str) -> ToolBlock | None:
        """The newest call with this id."""
        return self._calls.get(call_id)

    @property
    def tool_calls(self) -> int:
        """The number of complete calls of the last turn."""
        return self._calls.count

    @property
    def questions(self) -> list[Question]:
        """Permission questions that wait for the person, oldest first."""
        return self._calls.questions

    def _see_resolved(self, draft: Draft) -> None:
        """A draft that was not kept leaves the file as the model saw it before."""
        if not isinstance(draft, FileDraft) or draft.status not in ("discarded", "undone"):
            return
        known = [self.seen.pop(path, "") for path in draft.paths]
        if any(known) and draft.before is not None:
            self.seen[draft.path] = text_digest(draft.before)

    @property
    def drafts(self) -> list[Draft]:
        """Every draft in its present state, oldest first."""
        return [block.draft for block in self.blocks if isinstance(block, DraftBlock)]

    @property
    def draft_details(self) -> list[tuple[Draft, str]]:
        """Each draft with the newest detail of its state, such as why it could not be written."""
        return [(b.draft, b.detail) for b in self.blocks if isinstance(b, DraftBlock)]

    @property
    def last_end(self) -> EndBlock | None:
        """How the last turn ended; None where that needs no explanation, or while one runs."""
        for block in reversed(self.blocks):
            if isinstance(block, EndBlock):
                return block
            if isinstance(block, AgentBlock):
                break
        return None

    @property
    def last_calls(self) -> list[ToolBlock]:
        """Every call of the last turn, in order."""
        return self._calls.all

    @property
    def handed_over(self) -> list[ToolBlock]:
        """Calls of the last turn whose results the client has to send."""
        return self._calls.handed_over

    def messages(self) -> list[Message]:
        """The conversation as messages, for a new native history (H-7) and for export."""
        return blocks_to_messages(self.blocks)

    def conversation(self) -> Conversation:
        """The messages of now, for a new native history."""
        return Conversation(self.messages(), self.changes)

    @property
    def summary(self) -> SummaryBlock | None:
        """The summary that replaces the beginning for the model (L-10)."""
        return active_summary(self._summaries)

    def _recount(self, event: Recounted) -> int | None:
        self._settle()
        first = len(self.blocks)
        results = {
            block.call_id: block
            for message in event.messages
            for block in message.blocks
            if isinstance(block, ToolResult)
        }
        by = AgentBlock("", event.agent, event.provider, event.model)
        for step, message in enumerate(event.messages):
            said = tuple(b for b in message.blocks if isinstance(b, Text | Image | File))
            if message.role == "user":
                if said:
                    self._attach(said)
                    self.blocks.append(UserBlock("", said))
                continue
            if not isinstance(self.blocks[-1] if self.blocks else None, ToolBlock):
                self.blocks.append(replace(by))
            for block in message.blocks:
                match block:
                    case Text():
                        self.blocks.append(TextBlock(block.text, live=False))
                    case Reasoning():
                        self.blocks.append(ReasoningBlock(block.text, 0.0, live=False))
                    case ToolCall():
                        self._calls.recount(block, results.get(block.id), step)
                    case Image() | File() | ToolResult():
                        pass  # no model says these
        if len(self.blocks) == first:
            return None
        self.blocks.append(NoticeBlock(TOLD))
        return first

    def _edited(self, event: SummaryEdited) -> int | None:
        index, block = self._summary(event.summary_id)
        if block is not None:
            block.text = event.text
            if block.state == "holds":
                self.stale = EDITED
                self.changes += 1
        return index

    def _undone(self, event: SummaryUndone) -> int | None:
        """Make the previous summary active again; returns the index of the first changed block."""
        index, block = self._summary(event.summary_id)
        if index is None or block is None:
            return None
        held, block.state = block.state == "holds", "undone"
        if held:
            self.stale = UNDONE
            self.changes += 1
            for earlier in range(index - 1, -1, -1):
                other = self.blocks[earlier]
                if isinstance(other, SummaryBlock) and other.state == "replaced":
                    other.state = "holds"
                    return earlier
        return index

    def _summary(self, summary_id: str) -> tuple[int, SummaryBlock] | tuple[None, None]:
        for index, block in enumerate(self.blocks):
            if isinstance(block, SummaryBlock) and block.summary_id == summary_id:
                return index, block
        return None, None

    def _files(self, turn_id: str) -> tuple[int, FilesBlock]:
        for index, block in enumerate(self.blocks):
            if isinstance(block, FilesBlock) and block.turn_id == turn_id:
                return index, block
        made = FilesBlock(turn_id, ())
        return self._add(made), made

    def _attach(self, said: Sequence[Said]) -> None:
        for part in said:
            if isinstance(part, Text) or (isinstance(part, File) and not part.strange):
                continue
            if not self.attached:
                self.attached = part.name if isinstance(part, File) else "a picture"

    def _add(self, block: TranscriptBlock) -> int:
        """Close the live block, and add one after it; returns its index."""
        self._settle()
        self.blocks.append(block)
        return len(self.blocks) - 1

    def _grow(self, kind: type[TextBlock] | type[ReasoningBlock], text: str) -> int:
        """Add text to the live block of this kind, or begin one."""
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, kind) and last.live:
            last.text += text
            return len(self.blocks) - 1
        return self._add(kind(text))

    def _settle(self) -> int | None:
        """Close the live block at the end, if there is one."""
        if self.blocks:
            last = self.blocks[-1]
            if isinstance(last, TextBlock | ReasoningBlock) and last.live:
                last.live = False
                return len(self.blocks) - 1
        return None

    def _waited(
        self, state: Literal["resumed", "stopped"], seconds: float | None = None
    ) -> int | None:
        """End the wait before another attempt; it can only be the last block."""
        last = self.blocks[-1] if self.blocks else None
        if isinstance(last, RetryBlock) and last.state == "waiting":
            last.state = state
            last.seconds = last.seconds if seconds is None else seconds
            return len(self.blocks) - 1
        return None

    def _end(self, event: TurnComplete) -> int | None:
        self.running = False
        self._waited("stopped")
        changed = [self._settle(), self._calls.cancel(external=event.reason != "handed_over")]
        if self.blocks and isinstance(self.blocks[-1], RetryBlock):
            changed.append(len(self.blocks) - 1)  # nothing came of the attempt, not even words
        if event.reason not in ("done", "error", "handed_over"):
            why = event.reason, event.detail, self._mode, event.cap, event.limit
            changed.append(self._add(EndBlock(*why)))
        return min((index for index in changed if index is not None), default=None)
