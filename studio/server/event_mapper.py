"""The event mapper turns the events of a turn into the parts of a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from studio.agent.loop.structured_output import strip_code_fence
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.events import (
    AwaitingPermission,
    ChildWorks,
    CompletionReason,
    Event,
    Failed,
    PermissionResolved,
    ReasoningDelta,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Message, Text, ToolCall
from studio.domain.models import NO_USAGE, StopReason
from studio.domain.permissions import Question
from studio.domain.redaction import without_secrets

from . import errors
from .contract import Outcome, ProgressPart, ReasoningPart, ResponsePart, TextPart, ToolCallPart

BETWEEN = "\n\n"
"""Between the words of two steps."""
NOBODY_THERE = "Nobody was at the window to allow it."
REFUSED_THERE = "The person did not allow it."
NO_CALL = "A call of a tool was required, and the model made none."
STOPPED = "The answer was stopped."


class EventMapper:
    """Maps one response: ``feed`` takes every event of its turns, ``end`` is called after them.

    ``structured``: only the last step's text is the answer, and nothing is
    added to it; that of a ``bare`` model is told as it comes. ``steps``: the steps of the
    agent's tools become parts too. Without ``all_words`` the words of the last step are the
    answer. ``forced``: the client wants a call of one of its tools.
    """

    def __init__(
        self,
        *,
        structured: bool = False,
        bare: bool = False,
        steps: bool = False,
        all_words: bool = True,
        forced: bool = False,
    ) -> None:
        self._structured = structured
        self._held = structured or not all_words
        """Whether words are told only once it is sure that they are the last ones."""
        self._undecided = structured and bare
        """Whether nothing was said yet that shows if a code fence has to be taken off."""
        self._forced = forced
        self._steps = steps
        self._words: list[str] = []
        self._calls: list[ToolCall] = []
        self._ended_step = False
        """Whether the words so far are of a step that is over."""
        self._queued: dict[str, ToolQueued] = {}
        self._doing = ""
        """What a child was said to do last."""
        self._questions: dict[str, Question] = {}
        self._denied: list[tuple[Question, str]] = []
        self._failed: Failed | None = None
        self._end: TurnComplete | None = None
        self._stop: StopReason = "end"
        self._stopped_at = ""
        self._usage = NO_USAGE

    @property
    def message(self) -> Message:
        """The answer as the client will send it back."""
        text = "".join(self._words)
        calls = self._calls if self.reason == "handed_over" else []
        return Message("assistant", (*([Text(text)] if text.strip() else []), *calls))

    @property
    def reason(self) -> CompletionReason:
        return self._end.reason if self._end is not None else "error"

    def feed(self, event: Event) -> list[ResponsePart]:
        match event:
            case TurnStarted():
                self._calls.clear()
                self._failed = self._end = None
            case TextDelta():
                return self._text(event.text)
            case ReasoningDelta():
                return [ReasoningPart(event.text)]
            case StepStarted():  # a step may end several times: its answer came in pieces
                self._ended_step = event.step > 1 or bool(self._words)
            case StepEnded() if event.beside:
                self._usage += event.usage
            case StepEnded():
                self._usage += event.usage
                self._stop = event.stop
                self._stopped_at = event.stopped_at
            case ToolQueued() if event.external:
                self._calls.append(ToolCall(event.call_id, event.name, event.arguments))
            case ToolQueued():
                self._queued[event.call_id] = event
            case ToolStarted() if self._steps and (call := self._queued.get(event.call_id)):
                return [ProgressPart(_step(call))]
            case ChildWorks() if self._steps and event.line not in ("", self._doing):
                self._doing = event.line
                doing = without_secrets(escape_line(f"{event.agent}: {event.line}"))
                return [ProgressPart(doing)]
            case AwaitingPermission():
                self._questions[event.question.id] = event.question
            case PermissionResolved() if event.answer == "deny":
                self._deny(event)
            case Failed():
                self._failed = event
            case TurnComplete():
                self._end = event
                if event.reason == "cancelled":  # its questions fell away with it
                    self._denied = [(asked, by) for asked, by in self._denied if by]
            case _:
                pass
        return []

    def end(self) -> list[ResponsePart]:
        """Return the parts that end the response, an ``Outcome`` last."""
        parts: list[ResponsePart] = []
        detail = self._limited()
        if self._structured:
            if self._held:
                self._words = [strip_code_fence("".join(self._words))]
                parts += [TextPart(text) for text in self._words if text]
            parts += [ProgressPart(text)] if self._steps and (text := self._not_allowed()) else []
        else:
            if self._held and self._words:
                parts.append(TextPart("".join(self._words)))
            parts += [self._add(text) for text in (detail, self._not_allowed()) if text]
        if self.reason == "handed_over":
            parts += [ToolCallPart(call) for call in self._calls]
        return [*parts, self._outcome(detail)]

    def _text(self, text: str) -> list[ResponsePart]:
        if self._ended_step:
            if not text.strip():
                return []
            self._ended_step = False
            if self._held:
                self._words.clear()
            elif self._words:
                return [self._add(text.lstrip("\n"))]
        self._words.append(text)
        if self._undecided and (start := "".join(self._words).lstrip()):
            self._undecided, self._held = False, start.startswith("`")
            text = start
        return [] if self._held else [TextPart(text)]

    def _add(self, text: str) -> TextPart:
        """Append a paragraph."""
        before = "".join(self._words)
        has = len(before) - len(before.rstrip("\n"))
        text = f"{BETWEEN[has:]}{text}" if before else text
        self._words.append(text)
        return TextPart(text)

    def _deny(self, event: PermissionResolved) -> None:
        question = self._questions.get(event.question_id)
        if question is not None and question.call_id in self._queued:
            self._denied.append((question, event.by))

    def _not_allowed(self) -> str:
        """A paragraph about all calls that were not allowed; empty if there were none."""
        if not self._denied:
            return ""
        places = list(self._queued)  # questions come in any order, calls in the model's
        self._denied.sort(key=lambda one: places.index(one[0].call_id))
        calls = dict.fromkeys(escape_line(f"{one.tool} {one.detail}") for one, _ in self._denied)
        nobody = any(by for _, by in self._denied)
        why = NOBODY_THERE if nobody else REFUSED_THERE
        return f"Not allowed: {', '.join(calls)}. {why}"

    def _limited(self) -> str:
        """A sentence about the limit of ours that ended the answer; empty for none."""
        ended_so = ("done", "handed_over", "refused", "error")
        if self._end is None or self._stopped_by_model or self.reason in ended_so:
            return ""
        if self._refused_by_rate:
            return ""
        return self._end.detail or STOPPED

    @property
    def _stopped_by_model(self) -> bool:
        return self._end is not None and self._end.reason == "token_limit" and not self._end.cap

    @property
    def _refused_by_rate(self) -> bool:
        """Whether the hour had no request left to begin the answer with."""
        return self.reason == "request_limit" and not self._words

    def _outcome(self, detail: str) -> Outcome:
        match self.reason:
            case "done" if self._forced and not self._queued:
                fault = errors.ApiError(NO_CALL, 502, "no_tool_call")
                return replace(fault.outcome(), usage=self._usage)
            case "done":
                return Outcome("end", self._usage, stopped_at=self._stopped_at)
            case "handed_over":
                return Outcome("calls", self._usage)
            case "refused":
                words = self._end.detail if self._end is not None else ""
                return Outcome("refused", self._usage, words)
            case "error":
                return self._error()
            case _ if self._refused_by_rate and self._end is not None:
                wait = self._end.retry_after
                return self._error(Failed("rate_limited", self._end.detail, "", retry_after=wait))
            case _ if self._stopped_by_model and self._stop != "max_tokens":
                fault = Failed("too_long", "The conversation is too long for this model.", "")
                return self._error(fault)
            case _ if self._stopped_by_model:
                return Outcome("length", self._usage)
            case _:
                return Outcome("limit", self._usage, detail)

    def _error(self, failed: Failed | None = None) -> Outcome:
        failed = failed or self._failed
        if failed is not None:
            fault = errors.error_from_failed(failed)
        else:  # the answer does not fit the schema
            words = self._end.detail if self._end is not None else ""
            fault = errors.ApiError(words or errors.INTERNAL, 502, "answer_does_not_fit")
        return replace(fault.outcome(), usage=self._usage)


def _step(call: ToolQueued) -> str:
    """What a tool does: “Reading a.txt”. A target may hold a secret."""
    return without_secrets(escape_line(f"{call.verb or call.name} {call.target}"))


def events_of_response(events: Sequence[Event], turn_id: str) -> list[Event]:
    """The events of a turn, and of the turns after it that continued where it was cut short."""
    found: list[Event] = []
    reason: CompletionReason = "error"
    within = False
    for event in events:
        if isinstance(event, TurnStarted):
            goes_on = not event.said and reason not in ("done", "handed_over")
            within = event.turn_id == turn_id or (within and goes_on)
        elif isinstance(event, TurnComplete):
            reason = event.reason
        if within:
            found.append(event)
    return found
