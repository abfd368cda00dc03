"""The terminal of a chat: with a prompt below the printed text, or line by line.

The prompt is always there. While the agent works it takes the next message. A question
waits until the person pauses and then gets a prompt of its own, so that nothing that was
typed before is taken as its answer (T-7).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import ClassVar

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, has_completions
from prompt_toolkit.formatted_text import ANSI, AnyFormattedText
from prompt_toolkit.history import DummyHistory, History
from prompt_toolkit.input import create_input
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.named_commands import get_by_name
from prompt_toolkit.layout import FormattedTextControl, HSplit, Window
from prompt_toolkit.output import create_output
from prompt_toolkit.renderer import CPR_Support, print_formatted_text
from prompt_toolkit.styles import Style

from studio.cli.console import Console, discard_typed, visible_line, visible_lines

from .markdown import AnsiPainter
from .mentions import open_mention

PAUSE = 0.5
"""Seconds without a key before a question takes the prompt."""
FRAME = 0.05
"""Seconds between two frames of the moving part."""
_STYLE = Style.from_dict({"bottom": "dim", "prompt": "bold"})
_ASIDE = object()
"""The result of the message prompt when a question interrupts it."""


class ChatScreen(Console, ABC):
    """A terminal for a chat."""

    types_ahead: ClassVar[bool]
    """Whether messages can be typed while the agent works."""

    def __init__(self) -> None:
        super().__init__()
        self.status: Callable[[], str] = lambda: ""
        """Returns a line about the session."""
        self.interrupt: Callable[[], bool] = lambda: False
        """Called by Ctrl-C: stops what runs, and returns whether anything did."""
        self.release: Callable[[], bool] = lambda: False
        """Called by Ctrl-B: sends commands to the background, and returns whether any ran."""
        leave = self.leave
        self.signals = {"SIGINT": self.interrupted, "SIGTERM": leave, "SIGHUP": leave}

    @abstractmethod
    async def read(self) -> str | None:
        """Read the next message; None when the person leaves."""

    @abstractmethod
    def interrupted(self) -> None:
        """Ctrl-C: stop the turn, else leave when pressed twice."""

    @abstractmethod
    def markdown(self, text: str) -> None:
        """Print a block of an answer."""

    @abstractmethod
    def give_back(self, text: str) -> None:
        """Return text that was not sent to the person."""

    @abstractmethod
    def leave(self) -> None:
        """Stop reading, as if the person had left."""

    def refresh(self) -> None:
        """Redraw the moving part soon, where there is one."""


class PromptScreen(ChatScreen):
    """A console with a prompt that can be used while text is printed."""

    types_ahead = True

    def __init__(self, history: History) -> None:
        super().__init__()
        self.live: Callable[[int, int], str] = lambda _width, _rows: ""
        """Draws the moving part for a number of columns and a most of rows."""
        self.paint = AnsiPainter(colours=not os.environ.get("NO_COLOR"))
        self._input = create_input(sys.stdin)
        self._output = create_output(sys.stdout)
        self._questions: list[tuple[str, asyncio.Future[str | None]]] = []
        """Each prompt with its answer."""
        self._line = ""
        self._blank = False
        self._tabbed = False
        self._last_key = 0.0
        self._leaves_at = 0.0
        self._left = False
        self._typed = Document()
        self._messages: PromptSession[object] = PromptSession(
            self._above("› "),
            multiline=True,
            history=history,
            complete_in_thread=True,
            complete_while_typing=Condition(self._completes),
            key_bindings=self._keys(),
            erase_when_done=True,
            style=_STYLE,
            prompt_continuation="  ",
            input=self._input,
            output=self._output,
        )
        self._answers: PromptSession[object] = PromptSession(
            history=DummyHistory(),
            key_bindings=self._stop_keys(),
            erase_when_done=True,
            style=_STYLE,
            input=self._input,
            output=self._output,
        )
        for app in (self._messages.app, self._answers.app):
            # The library's own toolbar waits until the terminal says where the cursor is.
            rows = app.layout.container
            assert isinstance(rows, HSplit)
            bottom = FormattedTextControl(self._bottom)
            rows.children.append(Window(bottom, height=1, style="class:bottom"))
            app.min_redraw_interval = FRAME
            app.renderer.cpr_support = CPR_Support.NOT_SUPPORTED  # a slow line would type it
        self._messages.app.key_processor.before_key_press += self._note_key
        self._messages.default_buffer.on_completions_changed += self._completed

    def complete(self, completer: Completer) -> None:
        """Set what completes the typed text."""
        self._messages.completer = completer

    # What is printed

    def show(self, painted: str) -> None:
        """Print finished lines above the prompt; never two blank lines in a row."""
        if self._blank:
            painted = painted.removeprefix("\n")
        if not painted:
            return
        self._blank = painted.endswith("\n\n") or painted == "\n"
        for prompt in (self._messages, self._answers):
            if prompt.app.is_running:  # also one that is about to go: its line is still there
                prompt.app.renderer.erase()
        try:
            print_formatted_text(self._output, ANSI(painted), _STYLE)
        except OSError:  # the terminal was closed
            self.leave()
        self.refresh()

    def say(self, *lines: str) -> None:
        self.end_line()
        self.show(self.paint.plain(visible_lines(lines), self.width))

    def markdown(self, text: str) -> None:
        painted = self.paint.markdown(text.strip("\n"), self.width)
        self.show(f"\n{painted}\n")

    def write(self, text: str) -> None:
        """Print whole lines; the rest waits for its line end."""
        whole, end, rest = (self._line + text).rpartition("\n")
        self._line = rest
        if end:
            self.show(self.paint.plain(whole, self.width))

    def end_line(self) -> None:
        if self._line:
            self.write("\n")

    @property
    def width(self) -> int:
        return self._output.get_size().columns

    def refresh(self) -> None:
        if (app := self._app) is not None:
            app.invalidate()

    # What is typed

    def keys(self) -> AbstractContextManager[None]:
        """Read keys without echo and without a signal of Ctrl-C, also between two prompts."""
        return self._input.raw_mode()

    async def read(self) -> str | None:
        """Read the next message, and ask questions in between."""
        while not self._left:
            typed, self._typed = self._typed, Document()
            try:
                said = await self._messages.prompt_async(
                    default=typed, pre_run=self._end_if_left, handle_sigint=False
                )
            except (EOFError, KeyboardInterrupt, OSError):  # also a closed terminal
                said = None
            if said is not _ASIDE:
                return said if isinstance(said, str) else None
            while self._questions:
                await self._ask(*self._questions.pop(0))
        return None

    async def line(self, prompt: str) -> str | None:
        """Ask for one line, typed after the prompt appeared; None at the end of the input."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        question = prompt, answer
        self._questions.append(question)
        taking = asyncio.create_task(self._interrupt_prompt())
        try:
            return await answer
        finally:
            taking.cancel()
            if question in self._questions:
                self._questions.remove(question)
            elif not answer.done() or answer.cancelled():
                self._end(self._answers, None)

    def interrupted(self) -> None:
        """Ctrl-C: stop the turn, else clear the typed text, else leave when pressed twice."""
        buffer, now = self._messages.default_buffer, time.monotonic()
        if self.interrupt():
            return
        if self._messages.app.is_running and buffer.text:
            buffer.reset()
        elif now < self._leaves_at:
            self.leave()
        else:
            self._leaves_at = now + 2.0
            self.refresh()

    def give_back(self, text: str) -> None:
        """Put text into the prompt, before what is typed there."""
        buffer = self._messages.default_buffer
        if self._messages.app.is_running:
            buffer.document = _before(text, buffer.document)
        else:
            self._typed = _before(text, self._typed)

    def leave(self) -> None:
        self._left = True
        self._end(self._answers, None)
        self._end(self._messages, None)

    async def _interrupt_prompt(self) -> None:
        """Interrupt the message prompt for a question as soon as the person pauses."""
        while self._questions:
            app, wait = self._messages.app, self._last_key + PAUSE - time.monotonic()
            if app.is_running and wait <= 0:
                self._typed = self._messages.default_buffer.document
                self._end(self._messages, _ASIDE)
                return
            await asyncio.sleep(max(wait, FRAME))

    async def _ask(self, prompt: str, answer: asyncio.Future[str | None]) -> None:
        def taken_back() -> None:  # while the prompt was being made
            if answer.done() or self._left:
                self._end(self._answers, None)

        if answer.done():
            return
        clear_typeahead(self._input)
        with suppress(OSError, ValueError):
            discard_typed(self._input.fileno())
        try:
            said = await self._answers.prompt_async(
                self._above(prompt), pre_run=taken_back, handle_sigint=False
            )
        except (EOFError, KeyboardInterrupt):
            said = None
        text = said if isinstance(said, str) else None
        if not answer.done():
            self.say(f"{prompt}{text or ''}")
            answer.set_result(text)

    def _end_if_left(self) -> None:
        """End the prompt if the person left while it was being made."""
        if self._left:
            self._end(self._messages, None)

    def _end(self, prompt: PromptSession[object], result: object) -> None:
        if prompt.app.is_running and not prompt.app.is_done:
            prompt.app.exit(result=result)

    @property
    def _app(self) -> Application[object] | None:
        for prompt in (self._messages, self._answers):
            if prompt.app.is_running and not prompt.app.is_done:
                return prompt.app
        return None

    def _above(self, prompt: str) -> Callable[[], AnyFormattedText]:
        """The moving part, and the prompt below it."""

        def fragments() -> AnyFormattedText:
            size = self._output.get_size()
            live = self.live(size.columns, max(size.rows - 8, 1))
            return [*ANSI(live).__pt_formatted_text__(), ("class:prompt", visible_line(prompt))]

        return fragments

    def _bottom(self) -> AnyFormattedText:
        text = visible_line(self.status())
        if time.monotonic() < self._leaves_at:
            text = "Ctrl-C again to leave"
        columns = self.width
        return [("", text if len(text) < columns else f"{text[: columns - 2]}…")]

    def _completes(self) -> bool:
        before = self._messages.default_buffer.document.text_before_cursor
        return before.startswith("/") or open_mention(before) is not None

    def _note_key(self, _: object) -> None:
        self._last_key = time.monotonic()
        self._tabbed = False

    def _completed(self, buffer: Buffer) -> None:
        """Insert the first completion if Tab was pressed before completions came."""
        state = buffer.complete_state
        if self._tabbed and state is not None and state.completions:
            self._tabbed = False
            if state.current_completion is None:
                buffer.complete_next()

    def _keys(self) -> KeyBindings:
        keys = self._stop_keys()

        @keys.add("enter", filter=~has_completions | ~Condition(self._chosen))
        def accept(event: KeyPressEvent) -> None:
            event.current_buffer.validate_and_handle()

        @keys.add("enter", filter=has_completions & Condition(self._chosen))
        def take(event: KeyPressEvent) -> None:
            event.current_buffer.complete_state = None

        @keys.add("tab")
        def complete(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if buffer.complete_state is not None:
                buffer.complete_next()
            else:
                self._tabbed = True
                buffer.start_completion(select_first=True)

        @keys.add("escape", "enter")
        @keys.add("c-j")
        def newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("c-b")
        def release(event: KeyPressEvent) -> None:
            if not self.release():
                get_by_name("backward-char").call(event)

        @keys.add("c-d", filter=Condition(lambda: not self._messages.default_buffer.text))
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        return keys

    def _stop_keys(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("c-c")
        def stop(_: KeyPressEvent) -> None:
            self.interrupted()

        return keys

    def _chosen(self) -> bool:
        state = self._messages.default_buffer.complete_state
        return state is not None and state.current_completion is not None


def _before(text: str, document: Document) -> Document:
    if not text:
        return document
    return Document(f"{text}\n{document.text}" if document.text else text)


class PlainScreen(ChatScreen):
    """Reads and prints lines; the next message is read when the agent is done."""

    types_ahead = False

    def __init__(self) -> None:
        super().__init__()
        self._reading: asyncio.Task[str | None] | None = None
        self._asked_to_leave = self._left = False

    async def read(self) -> str | None:
        self._asked_to_leave = False
        if self._left:
            return None
        self.say("", f"[{self.status()}]")
        self.end_line()
        # Not as a question: what is said meanwhile is printed at once.
        self._reading = asyncio.create_task(self._read_line("> "))
        await asyncio.wait([self._reading])
        return None if self._reading.cancelled() else self._reading.result()

    def interrupted(self) -> None:
        if self.interrupt():
            return
        if self._asked_to_leave:
            self.leave()
        else:
            self._asked_to_leave = True
            self.say("", "Ctrl-C again to leave")

    def give_back(self, text: str) -> None:
        self.say(*f"Not sent: {text}".split("\n"))

    def markdown(self, text: str) -> None:
        self.write(f"{text.strip()}\n\n")

    def leave(self) -> None:
        self._left = True
        if self._reading is not None:
            self._reading.cancel()
