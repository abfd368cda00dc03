"""Shows the events of a turn in a chat: finished blocks above, moving parts below."""

from __future__ import annotations

from studio.agent.services import PLAN
from studio.cli.event_printer import TextPrinter, format_seconds, one_line, task_of
from studio.domain.blocks import ReasoningBlock, TextBlock, ToolBlock
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallStarted,
    ChildWorks,
    Event,
    ReasoningDelta,
    ReasoningEnded,
    Silent,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)

from .markdown import MarkdownStream
from .screen import PromptScreen

_MARKS = {"done": "✓", "denied": "–", "cancelled": "–"}
_THOUGHT = 3
"""Rows of reasoning that are shown while it streams."""


class ChatPrinter(TextPrinter):
    """Prints what is finished; ``live`` draws what is not."""

    def __init__(self, screen: PromptScreen) -> None:
        super().__init__(screen)
        self._screen = screen
        self._stream = MarkdownStream()
        self._state = ""
        """What the turn waits for, shown where nothing else moves."""
        self._silence = ""
        self._painted: tuple[object, str] = (None, "")
        screen.live = self.live

    def live(self, width: int, rows: int) -> str:
        """The moving part: the block being written, running tools, or what the turn waits for."""
        key = (width, rows, self._stream.rest, self._state, self._silence, *self._open_tools())
        thinking = self._thinking()
        if self._painted[0] != (key, thinking):
            self._painted = ((key, thinking), self._paint(width, rows, thinking))
        return self._painted[1]

    def _paint(self, width: int, rows: int, thinking: str) -> str:
        paint, out = self._screen.paint, ""
        if self._stream.rest.strip():
            out += paint.markdown(self._stream.rest, width)
        elif thinking:
            thought = paint.plain(thinking[-width * _THOUGHT :], width, "dim italic")
            out += "".join(thought.splitlines(keepends=True)[-_THOUGHT:])
        for head, printed in self._open_tools():
            out += paint.plain(head, width)
            out += paint.plain(f"  {printed}"[:width], width, "dim") if printed else ""
        if told := self._silence or (self._state if not out else ""):
            out += paint.plain(told, width, "dim")
        return "".join(out.splitlines(keepends=True)[-rows:])

    def _show(self, event: Event, index: int | None) -> None:
        last = self._transcript.blocks[-1] if self._transcript.blocks else None
        if not (isinstance(last, TextBlock) and last.live):
            self._settle()
        self._silence = ""
        match event:
            case TurnStarted() | StepStarted():
                self._state = "Waiting for the answer…"
                super()._show(event, index)
            case TextDelta():
                for block in self._stream.add(event.text):
                    self._screen.markdown(block)
            case ReasoningEnded():
                if event.seconds >= 1:
                    self._dim(f"Thought for {format_seconds(event.seconds)}")
            case ToolFinished():
                tool = self._tool(index)
                if tool is not None and not (tool.name == PLAN and tool.state == "done"):
                    self._say_tool(tool)
            case Silent():
                self._silence = (
                    f"Nothing from {self._provider} for {format_seconds(event.seconds)}."
                )
            case AwaitingPermission() | AwaitingReply():
                self._state = ""
            case TurnComplete():
                self._state = ""
                super()._show(event, index)
            case ReasoningDelta() | CallStarted() | ToolQueued() | ToolStarted() | ToolOutput():
                pass  # ``live`` draws them
            case ChildWorks() if not event.background:
                pass
            case _:
                super()._show(event, index)
        self._screen.refresh()

    def _settle(self) -> None:
        """Print the rest of the text, because something else follows."""
        for block in self._stream.end():
            self._screen.markdown(block)

    def _say_tool(self, tool: ToolBlock) -> None:
        mark = _MARKS.get(tool.state, "×")
        done = tool.done if tool.state == "done" else tool.name
        what = f"{mark} {done or tool.name} {one_line(tool.target)}".rstrip()
        if tool.child is not None:
            what = f"{mark} {_of_child(tool)}"
        summary = one_line(tool.summary) or ("" if tool.state == "done" else tool.state)
        self._dim(f"{what}  {summary}".rstrip())

    def _dim(self, text: str) -> None:
        screen = self._screen
        screen.show(screen.paint.plain(text, screen.width, "dim"))

    def _open_tools(self) -> list[tuple[str, str]]:
        """The row of each running tool, and the last line of its output."""
        return [
            (
                f"◌ {_of_child(block)}"
                if block.child is not None
                else f"◌ {block.verb if block.state == 'running' else block.name} "
                f"{one_line(block.target)}",
                _now(block),
            )
            for block in self._transcript.blocks
            if isinstance(block, ToolBlock) and not block.finished
        ]

    def _thinking(self) -> str:
        last = self._transcript.blocks[-1] if self._transcript.blocks else None
        if isinstance(last, ReasoningBlock) and last.live:
            return " ".join(last.text[-2000:].split()) or "Thinking…"
        return ""


def _of_child(tool: ToolBlock) -> str:
    """“Helper: Count the files”, or what else is done with another agent."""
    assert tool.child is not None
    return f"{one_line(tool.child.agent)}: {task_of(tool) or tool.verb}"


def _now(block: ToolBlock) -> str:
    """What a call does: its agent's doing, or the last line of its output."""
    if block.child is not None:
        return one_line(block.child.line)
    return block.output[-500:].rstrip().rpartition("\n")[2]
