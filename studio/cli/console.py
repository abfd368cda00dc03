"""The terminal of a command: prints text, reads answers and piped input, handles signals.

Output that nobody reads, or that has no room, ends a command with a code and not an error.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from urllib.parse import quote

from studio.agent.permission.invisible_characters import CONTROLS, UNSEEN, visible
from studio.domain.errors import ConfigurationError
from studio.processes.daemon_thread import in_daemon_thread

from .exit_codes import USAGE

if TYPE_CHECKING:
    import argparse

    from studio.domain.agents import PermissionMode
    from studio.domain.drafts import Draft
    from studio.domain.messages import File, Image
    from studio.tools.packs.persons_act import ActDesk, Acts, Door


class Console:
    """Prints to standard output and error, and reads from standard input.

    Text of models and files may contain codes that move the cursor, hide text or look like
    a line of the program. What the program itself says (``row``, ``say``, ``line``) has such
    characters in visible form wherever it goes: a pipe often ends at a terminal. An answer
    or a saved conversation (``write``) has them in visible form at a terminal and goes into
    a pipe as it is, because the next program wants the text itself.
    """

    def __init__(self) -> None:
        self._open_line = False
        self._held: list[str] | None = None
        """Lines that are said while a question is open: they stand below its answer."""
        self.desk: ActDesk | None = None
        """Proves what a person at this terminal decides about drafts of packs (KZ-5)."""
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None:  # closed before we were started
                nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (kept open)
                setattr(sys, name, nowhere)

    @property
    def interactive(self) -> bool:
        """Whether a person can read a question and answer it."""
        return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)

    @property
    def is_agents(self) -> bool:
        """Whether an agent runs this command."""
        return _of_an_agent()

    def require_a_person(self) -> None:
        """Raises ConfigurationError in a command of an agent: it approves nothing (M-12, T-7)."""
        if _of_an_agent():
            raise ConfigurationError(
                "An agent runs this command, and only a person may allow this. "
                "Type it in a terminal of your own."
            )

    def permission(
        self, wanted: PermissionMode | None, otherwise: PermissionMode
    ) -> PermissionMode | None:
        """What a turn does with calls that no rule decides: what is ``wanted``, if anything.

        A command of an agent never writes drafts at once, whatever it wants or would get
        ``otherwise``: what its own chat may do, its question decided (T-7).
        """
        if not self.is_agents:
            return wanted
        if wanted == "auto":
            self.require_a_person()
        return wanted or ("ask" if otherwise == "auto" else None)

    async def agrees(self, question: str, options: argparse.Namespace) -> bool:
        """Whether the person says yes, here or by ``--yes``; see ``require_a_person``."""
        self.require_a_person()
        if options.yes:
            return True
        if not self.interactive or options.json:
            self.say("This needs your yes, and nobody is here to ask. To do it: --yes")
            return False
        line = await self.line(f"{question} [y]es, [n]o: ")
        return line is not None and line.strip().lower() in ("y", "yes")

    def decided(self, decision: str, drafts: Iterable[Draft], door: Door) -> Acts:
        """The proof of what a person typed at this terminal just now (KZ-5).

        There is none where no person is: a pipe answers, or a command that an agent runs.
        """
        if self.desk is None or not self.interactive or _of_an_agent():
            return {}
        return self.desk.decided(decision, drafts, door)

    def write(self, text: str) -> None:
        """Print a part of an answer or of a saved text on standard output."""
        if not text:
            return
        _put(sys.stdout, visible(text) if _is_terminal(sys.stdout) else text)
        self._open_line = not text.endswith("\n")

    def row(self, text: str) -> None:
        """Print one line of a table on standard output, also if the text has line breaks."""
        self.write(visible_line(text) + "\n")

    def write_json(self, value: object, *, indent: int | None = None) -> None:
        """Print a JSON value and a line end on standard output."""
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        text = json.dumps(value, ensure_ascii=not utf8, indent=indent)
        _put(sys.stdout, text.translate(_JSON_CODES) + "\n")

    def say(self, *lines: str) -> None:
        """Print lines about what happens on standard error; see ``visible_lines``."""
        if self._held is not None:
            self._held += lines
        elif lines:
            self.end_line()
            _put(sys.stderr, visible_lines(lines) + "\n")

    def say_sources(self, titles: Mapping[str, str]) -> None:
        """Print sources of packs by their addresses; one without a title leads nowhere (KZ-8).

        A terminal shows the title as a link that opens the page in the window.
        """
        plain = not _is_terminal(sys.stderr) or os.environ.get("TERM") in (None, "", "dumb")
        for address, title in titles.items():
            words = visible_line(title or address)
            if plain:
                self.say(f"  {words}  {address}" if title else f"  {words}  (not there any more)")
                continue
            self.end_line()
            link = f"agent-studio://source?at={quote(address, safe='')}"
            struck = f"\x1b[9m{words}\x1b[29m"
            shown = f"\x1b]8;;{link}\x1b\\{words}\x1b]8;;\x1b\\" if title else struck
            _put(sys.stderr, f"  {shown}  {visible_line(address) if title else ''}".rstrip() + "\n")

    def end_line(self) -> None:
        """Print a line end if the line is not empty."""
        if self._open_line:
            self.write("\n")

    async def line(self, prompt: str) -> str | None:
        """Read one line from the terminal; None at its end. Can be cancelled.

        What was typed before the prompt appeared is not taken as the answer (T-7). What is said
        meanwhile waits, so that the prompt stays the last line and is not torn.
        """
        self.end_line()
        held = self._held = list[str]()
        try:
            found = await self._read_line(prompt)
        except asyncio.CancelledError:
            held.insert(0, "")
            raise
        finally:
            self._held = None
            self.say(*held)
        return found

    async def _read_line(self, prompt: str) -> str | None:
        loop = asyncio.get_running_loop()
        file = sys.stdin.fileno()
        discard_typed(file)
        _put(sys.stderr, visible_line(prompt))
        ready = asyncio.Event()
        try:
            loop.add_reader(file, ready.set)
        except NotImplementedError:  # Windows cannot wait for a terminal without a thread
            return await in_daemon_thread(sys.stdin.readline) or None
        try:
            while (data := _waiting(file)) is None:
                ready.clear()
                await ready.wait()
        finally:
            loop.remove_reader(file)
        if not data:
            self.say("")
        return data.decode("utf-8", "replace") if data else None

    async def choice(self, prompt: str, *words: str) -> str:
        """Ask until one of ``words`` is typed, or its first letter; the letter, or "" at the end.

        Other words that begin so are no answer: “stop” is not [s]ession (T-7).
        """
        while (line := await self.line(prompt)) is not None:
            typed = line.strip().lower()
            for word in words:
                if typed in (word, word[0]):
                    return word[0]
        return ""

    async def secret(self, prompt: str) -> str | None:
        """Like ``line``, without showing what is typed."""
        try:
            import termios
        except ImportError:  # Windows
            from getpass import getpass

            return await in_daemon_thread(lambda: getpass(visible_line(prompt)))
        file = sys.stdin.fileno()
        before = termios.tcgetattr(file)
        hidden = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
        termios.tcsetattr(file, termios.TCSAFLUSH, hidden)
        try:
            return await self.line(prompt)
        finally:
            termios.tcsetattr(file, termios.TCSADRAIN, before)
            self.say("")

    def discard_rest(self) -> None:
        """Drop the rest of the output, because nobody reads it any more."""
        for stream in (sys.stdout, sys.stderr):
            discard_output(stream)


def visible_line(text: str) -> str:
    """Like ``visible``, with line breaks in visible form too."""
    return visible(text).replace("\n", "\\n")


def visible_lines(lines: Iterable[str]) -> str:
    """Lines of the program in visible form.

    Where one of them has a line break, what follows begins with a bar: a name or an error
    of others cannot look like a line of the program.
    """
    return "\n".join(visible(line).replace("\n", _CONTINUED) for line in lines)


_CONTINUED = "\n  │ "
_JSON_CODES = {
    code: "\\u007f" if code == 0x7F else json.dumps(chr(code))[1:-1] for code in CONTROLS | UNSEEN
}
"""What ``visible`` escapes, as JSON writes it: the value stays what it is."""


def _put(stream: TextIO, text: str) -> None:
    """Write and flush; raises BrokenPipeError where nobody reads, also at a closed terminal."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if error.errno == errno.EIO:
            raise BrokenPipeError(*error.args) from error
        if isinstance(error, BrokenPipeError):
            raise
        discard_output(stream)  # or the interpreter tries once more, and complains itself
        if stream is not sys.stderr:  # a log that is full is no reason to end
            raise ConfigurationError(write_error_text(error)) from error


def _waiting(file: int) -> bytes | None:
    """The line that the terminal has ready, empty at its end; None if there is none.

    Does not block: Ctrl-C makes a terminal drop a line that it has announced already, and
    a blocking read would then not notice Ctrl-C.
    """
    os.set_blocking(file, False)
    try:
        return os.read(file, 4096)
    except BlockingIOError:
        return None
    except OSError:  # it was closed
        return b""
    finally:
        os.set_blocking(file, True)


def discard_typed(file: int) -> None:
    """Drop typed text that was not read yet."""
    try:
        import termios
    except ImportError:  # Windows
        return
    with suppress(termios.error):  # it was closed, which the next read tells
        termios.tcflush(file, termios.TCIFLUSH)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def discard_output(stream: TextIO) -> None:
    """Send what is left to write to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def write_error_text(error: OSError) -> str:
    """The message for a person about an output that cannot be written."""
    return f"Standard output cannot be written: {(error.strerror or str(error)).lower()}."


def handle_flush_error(stream: TextIO, error: OSError, code: int) -> int:
    """Give up what was to be written at the end; returns the exit code for that."""
    discard_output(stream)  # or the interpreter tries once more, and complains itself
    if stream is sys.stderr:
        return code
    if isinstance(error, BrokenPipeError):  # the reader has gone, and misses nothing
        return code
    print(write_error_text(error), file=sys.stderr)
    return USAGE


@contextmanager
def on_signals(actions: Mapping[str, Callable[[], object]]) -> Generator[None]:
    """Call these functions on signals, by name; signals this system lacks are left out."""
    loop = asyncio.get_running_loop()
    with ExitStack() as handlers:
        # Windows has no handlers of this kind; Ctrl-C then cancels the main task.
        with suppress(NotImplementedError):
            for name, action in actions.items():
                if number := getattr(signal, name, None):
                    loop.add_signal_handler(number, action)
                    handlers.callback(loop.remove_signal_handler, number)
        yield


FIRST_BYTE_SECONDS = 1.0
"""Seconds to wait for the first byte where no option says that input is coming."""
NO_INPUT_NOTICE = (
    "Nothing came on standard input, so the message goes without it. "
    "To wait for what comes later: --attach -"
)


async def stdin_attachment(patience: float | None = None) -> Image | File | None:
    """Read standard input as an attachment called ``stdin``; None if it is empty.

    Raises TimeoutError if neither a first byte nor the end comes within ``patience``
    seconds (a parent process may have left a pipe open), and ConfigurationError for
    input that is too large or cannot be attached.
    """
    from studio.agent.attachments import attach_bytes

    data = await read_stdin(patience)
    return await attach_bytes("stdin", data) if data.strip() else None


async def read_stdin(patience: float | None = None) -> bytes:
    """Read all of standard input; raises what ``stdin_attachment`` raises."""
    from studio.agent.attachments import LIMIT
    from studio.tools.sdk.result import size

    data = await _read(patience, LIMIT)
    if len(data) > LIMIT:
        raise ConfigurationError(
            f"Standard input has more than {size(LIMIT)}, the most for one message. "
            "Keep it in a file and name its path: the agent can read parts of it."
        )
    return data


async def _read(patience: float | None, limit: int) -> bytes:
    """Read until the end, or until there is more than ``limit``."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] (started without one)
        return b""
    try:
        # Not through sys.stdin: a thread that still reads from it when the program
        # ends holds a lock the interpreter wants.
        file = sys.stdin.fileno()
    except OSError:  # it is no file
        return b""
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    def read() -> bytes:
        data = bytearray()
        try:
            while len(data) <= limit and (part := os.read(file, 1 << 16)):
                loop.call_soon_threadsafe(begun.set)
                data += part
        except OSError:  # a folder, say, or opened for writing alone
            return b""
        return bytes(data)

    reading = asyncio.ensure_future(in_daemon_thread(read))
    waiting = asyncio.ensure_future(begun.wait())
    try:
        await asyncio.wait(
            [reading, waiting], timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        if not reading.done() and not begun.is_set():
            raise TimeoutError
        return await reading
    finally:
        reading.cancel()
        waiting.cancel()


def _of_an_agent() -> bool:
    from studio.processes.keeper_process import begun_by_a_command

    return begun_by_a_command()
