"""Tool call state: folds events about tool calls into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from .blocks import ToolBlock, TranscriptBlock
from .events import (
    AwaitingPermission,
    AwaitingReply,
    CallChanged,
    CallEvent,
    CallStarted,
    ChildWorks,
    PermissionResolved,
    ReplyGiven,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
)
from .messages import Image, ToolCall, ToolResult
from .permissions import Answer, Question

_OF_PROGRAM = {"verb": "Asking", "done": "Asked", "icon": "gauge", "effect": "read"}
"""How a question that no call asks is shown."""


class ToolCallState:
    """The calls of one turn, as blocks in the transcript's list."""

    def __init__(self, blocks: list[TranscriptBlock]) -> None:
        self.count = 0
        """Whole calls of this turn."""
        self._blocks = blocks
        self._places: dict[str, int] = {}

    def begin(self, again: Sequence[str] = ()) -> None:
        """Forget the calls of the last turn, as a new one may repeat their ids; but not those
        that it makes ``again``."""
        self.count = 0
        self._places.clear()
        for call_id in again:
            for index in range(len(self._blocks) - 1, -1, -1):
                block = self._blocks[index]
                if isinstance(block, ToolBlock) and block.call_id == call_id:
                    self._places[call_id] = index
                    block.state, block.started = "queued", False
                    block.answer, block.asks = None, ()
                    break

    def recount(self, call: ToolCall, result: ToolResult | None, step: int) -> None:
        """Append a call from an imported or a client's conversation, with its result."""
        block = ToolBlock(call.id, call.name, call.arguments or {}, step=step)
        block.whole = block.external = True
        block.state = "cancelled"
        if result is not None:
            block.state = "error" if result.is_error else "done"
            block.output = result.text
            block.images = tuple(part for part in result.content if isinstance(part, Image))
            block.sources = result.sources
        self._blocks.append(block)

    @property
    def all(self) -> list[ToolBlock]:
        """The calls of this turn in order, the newest one of each id."""
        return [self._at(index) for index in self._places.values()]

    @property
    def handed_over(self) -> list[ToolBlock]:
        """The calls whose results the client still has to send."""
        return [block for block in self.all if block.external and not block.finished]

    def apply(self, event: CallEvent, step: int) -> int | None:
        """Apply an event; returns the index of the changed block, see ``Transcript.apply``."""
        match event:
            case CallStarted():
                return self._place(event.call_id, event.name, step)
            case ToolQueued():
                self._place(event.call_id, event.name, step)
                self.count += 1
                return self._change(
                    event.call_id,
                    arguments=event.arguments,
                    target=event.target,
                    effect=event.effect,
                    verb=event.verb,
                    done=event.done,
                    icon=event.icon,
                    external=event.external,
                    state="queued",
                    whole=True,
                )
            case CallChanged():
                return self._change(event.call_id, arguments=event.arguments, target=event.target)
            case ToolStarted():
                return self._change(
                    event.call_id, state="running", started=True, allowed_by=event.allowed_by
                )
            case ToolOutput():
                index = self._places.get(event.call_id)
                if index is not None:
                    self._at(index).output += event.text
                return index
            case ToolFinished():
                return self._finish(event)
            case AwaitingPermission():
                asked = event.question
                return self._change(asked.call_id, state="waiting", question=asked)
            case PermissionResolved():
                for asked in self.questions:
                    if asked.id == event.question_id:
                        return self._answered(asked.call_id, event.answer)
                return None
            case AwaitingReply():
                if event.call_id not in self._places:  # the program asks, ahead of a limit
                    self._place(event.call_id, "limit", step)
                    self._change(event.call_id, **_OF_PROGRAM)
                if event.form is not None:  # what a server asks is not what the call is about
                    return self._change(event.call_id, state="waiting", form=event.form)
                self._name_questions(event)
                return self._change(event.call_id, state="waiting", asks=event.asked)
            case ReplyGiven():
                block = self.get(event.call_id)
                if block is not None and block.form is not None:
                    state = block.state if block.finished else "running"
                    return self._change(event.call_id, state=state, form=None)
                state = "running" if block is None or block.whole else "done"  # nothing follows
                return self._change(event.call_id, state=state, reply=event.text)
            case ChildWorks():
                return self._of_child(event)
            case _:
                assert_never(event)

    def get(self, call_id: str) -> ToolBlock | None:
        index = self._places.get(call_id)
        return None if index is None else self._at(index)

    @property
    def questions(self) -> list[Question]:
        """Permission questions that wait for the person, oldest first."""
        asked = (self._at(index).question for index in self._places.values())
        return [question for question in asked if question is not None]

    def cancel(self, *, external: bool = True) -> int | None:
        """Cancel the unfinished calls of an ended turn; returns the index of the first one.

        Calls that were handed over stay open unless ``external``.
        """
        changed: list[int] = []
        for index in self._places.values():
            block = self._at(index)
            if not block.finished and (external or not block.external):
                block.state, block.question, block.form = "cancelled", None, None
                changed.append(index)
        return min(changed, default=None)

    def _answered(self, call_id: str, answer: Answer) -> int | None:
        block = self.get(call_id)
        if block is None or not block.started:
            return self._change(call_id, state="queued", question=None, answer=answer)
        # A child asked, whose call works or has begun it in the background.
        over = block.child is not None and block.child.background
        return self._change(call_id, state="done" if over else "running", question=None)

    def _of_child(self, event: ChildWorks) -> int | None:
        """Keep what a child does; it may work for a call of an earlier turn."""
        known = self.get(event.call_id)
        if known is None or known.child is None or known.child.session_id != event.session_id:
            for index in range(len(self._blocks) - 1, -1, -1):
                block = self._blocks[index]
                child = block.child if isinstance(block, ToolBlock) else None
                if child is not None and child.session_id == event.session_id:
                    self._at(index).child = event
                    return index
        return self._change(event.call_id, child=event)

    def _finish(self, event: ToolFinished) -> int | None:
        block = self.get(event.call_id)
        done = "error" if event.is_error else "done"
        return self._change(
            event.call_id,
            output=event.text,
            summary=event.summary,
            seconds=event.seconds,
            sources=event.sources,
            images=event.images,
            table=event.table,
            question=None,
            form=None,
            whole=True,
            state="denied" if block is not None and block.answer == "deny" else done,
        )

    def _name_questions(self, event: AwaitingReply) -> None:
        """Give the row of a call that asks several things their words."""
        block = self.get(event.call_id)
        if block is not None and block.whole and not block.target:
            block.target = " · ".join(one.text for one in event.asked)

    def _place(self, call_id: str, name: str, step: int) -> int:
        index = self._places.get(call_id)
        if index is None or self._at(index).finished:
            index = self._places[call_id] = len(self._blocks)
            self._blocks.append(ToolBlock(call_id, name, step=step))
        return index

    def _at(self, index: int) -> ToolBlock:
        block = self._blocks[index]
        assert isinstance(block, ToolBlock)
        return block

    def _change(self, call_id: str, **values: object) -> int | None:
        """Change the newest call with this id; returns its index."""
        index = self._places.get(call_id)
        if index is not None:
            for name, value in values.items():
                setattr(self._blocks[index], name, value)
        return index
