"""Printers of a turn's events: as text for people, or as JSON lines."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from studio.agent.loop.user_messages import describe_end
from studio.agent.services import PLAN
from studio.domain.blocks import ToolBlock
from studio.domain.codec import encode_event
from studio.domain.events import (
    ChildWorks,
    Event,
    Failed,
    Notice,
    PlanChanged,
    RetryScheduled,
    Routed,
    Silent,
    StepStarted,
    Summarised,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.pack_addresses import linked, pack_of
from studio.domain.tools import DELEGATE
from studio.domain.transcript import Transcript
from studio.providers.registry import PROVIDER_TITLES

from .console import Console


class JsonPrinter:
    """Prints an event a line; the first names the session, the last is ``turn_complete``."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def event(self, event: Event) -> None:
        self._console.write_json(encode_event(event))

    @contextmanager
    def quiet(self) -> Generator[None]:
        yield


class TextPrinter:
    """Prints the answer on standard output and everything about it on standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._transcript = Transcript()
        self._held: list[Event] | None = None
        self._spoke = self._pause = False
        self._doing: dict[str, str] = {}
        """What each child of the chat was said to do last."""
        self._provider = ""
        self._text: list[str] = []
        self._sources: dict[str, None] = {}

    def take_sources(self) -> list[str]:
        """The addresses that may be of packs, of results and answers since the last call."""
        found = [*self._sources, *linked("".join(self._text))]
        self._sources, self._text = {}, []
        return list(dict.fromkeys(found))

    def event(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ToolFinished):
            self._sources |= dict.fromkeys(filter(pack_of, event.sources))
        if self._held is not None:
            self._held.append(event)
        else:
            self._show(event, self._transcript.apply(event))

    @contextmanager
    def quiet(self) -> Generator[None]:
        """Hold events back while a question is on the screen."""
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            for event in held:
                self._show(event, self._transcript.apply(event))

    def _show(self, event: Event, index: int | None) -> None:
        """Print an event; ``index`` is the transcript's block that it changed."""
        match event:
            case StepStarted():
                self._pause = self._spoke
            case TextDelta():
                if self._pause:  # texts of two steps are two paragraphs
                    self._console.end_line()
                    self._console.write("\n")
                    self._pause = False
                self._console.write(event.text)
                self._spoke = True
            case ToolStarted():
                tool = self._tool(index)
                if tool is not None and tool.name != PLAN:
                    task = f": {task}" if (task := task_of(tool)) else ""
                    self._console.say(f"· {tool.verb} {one_line(tool.target)}".rstrip() + task)
            case ToolFinished():
                tool = self._tool(index)
                if tool is not None and event.is_error and tool.state != "denied":
                    what = f"{tool.name} {one_line(tool.target)}".rstrip()
                    self._console.say(f"× {what}: {event.summary or 'failed'}")
            case ChildWorks() if event.doing and event.line != self._doing.get(event.session_id):
                self._doing[event.session_id] = event.line
                self._console.say(f"  {one_line(event.agent)}: {one_line(event.line)}")
            case ChildWorks() if event.reason and event.background:
                how = "done" if event.reason == "done" else "has ended early"
                self._console.say(f"  {one_line(event.agent)}: {how}")
            case PlanChanged():
                why = [f"  {event.plan.why}"] if event.plan.why else []
                lines = [f"  {one_line(line)}" for line in event.plan.lines]
                self._console.say(f"Plan, {event.plan.progress}:", *lines, *why)
            case Notice():
                self._console.say(event.text)
            case Routed():
                self._console.say(event.why)
            case Summarised():
                sizes = f"{event.before:,} → {event.after:,} tokens"
                self._console.say(f"Earlier messages were summed up for the model, {sizes}.")
            case TurnStarted():
                self._provider = PROVIDER_TITLES.get(event.provider, event.provider)
            case RetryScheduled():
                when = f"Trying again in {format_seconds(event.seconds)}"
                self._console.say(
                    f"{event.title} {when} (attempt {event.attempt} of {event.attempts})."
                )
            case Silent():
                self._console.say(
                    f"Nothing from {self._provider} for {format_seconds(event.seconds)}."
                )
            case Failed():
                end = "" if event.title.endswith(".") else ":"
                self._console.say(f"{event.title}{end} {event.detail}")
            case TurnComplete():
                self._console.end_line()
                if event.reason not in ("done", "error"):
                    self._console.say(describe_end(event.reason, event.detail))
            case _:
                pass

    def _tool(self, index: int | None) -> ToolBlock | None:
        block = self._transcript.blocks[index] if index is not None else None
        return block if isinstance(block, ToolBlock) else None


class AnswerPrinter(TextPrinter):
    """Prints everything but the answer on standard error; ``brief`` prints only failures."""

    def __init__(self, console: Console, *, brief: bool) -> None:
        super().__init__(console)
        self._brief = brief

    def _show(self, event: Event, index: int | None) -> None:
        if isinstance(event, TextDelta | StepStarted):
            return
        if not self._brief or isinstance(event, Failed | TurnComplete):
            super()._show(event, index)


def format_seconds(seconds: float) -> str:
    """“12 s” or “1 m 30 s”; at least one second."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} m {whole % 60} s"


def task_of(tool: ToolBlock) -> str:
    """What another agent is to do for a call, on one line; empty if none is named."""
    task = tool.arguments.get("task")
    return one_line(task) if tool.name == DELEGATE and isinstance(task, str) else ""


def one_line(text: str) -> str:
    """The beginning of a text, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= 100 else f"{words[:99]}…"
