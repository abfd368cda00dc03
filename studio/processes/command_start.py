"""Command start: begins a command in the sandbox, with pipes or a terminal as its streams.

Blocks, unless it is awaited. On Windows a terminal is made by ``windows_terminal``.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from .command_streams import BegunCommand, DescriptorStreams
from .daemon_thread import in_daemon_thread
from .keeper import GRACE, Keeper
from .sandbox import Sandbox
from .sandbox_mounts import Launch

Stdin: TypeAlias = Literal["nothing", "pipe", "terminal"]
"""What a command reads: nothing, a pipe or a terminal of ``COLUMNS`` and ``ROWS``."""
Errors: TypeAlias = Literal["joined", "lost", "apart"]
"""Where goes what a command says apart from its output: to the same stream, nowhere, to its own."""
COLUMNS, ROWS = 120, 40


async def start_command(
    launch: Launch, *, sandbox: Sandbox, keeper: Keeper, stdin: Stdin, errors: Errors = "joined"
) -> BegunCommand:
    """Begin a command in a thread; if the caller is cancelled, it is ended.

    Raises OSError if the shell cannot be started.
    """
    begun: list[BegunCommand] = []
    left = False
    handing = threading.Lock()

    def work() -> BegunCommand:
        command = begin_command(launch, sandbox=sandbox, keeper=keeper, stdin=stdin, errors=errors)
        with handing:
            begun.append(command)
            wanted = not left
        if not wanted:
            abandon(command)
        return command

    def abandon(command: BegunCommand) -> None:
        command.streams.abandon()
        if command.errors is not None:
            command.errors.abandon()
        command.end()

    try:
        return await in_daemon_thread(work)
    except BaseException:
        with handing:
            left = True
            for command in begun:
                threading.Thread(target=abandon, args=(command,), daemon=True).start()
        raise


def begin_command(
    launch: Launch, *, sandbox: Sandbox, keeper: Keeper, stdin: Stdin, errors: Errors = "joined"
) -> BegunCommand:
    """Begin a command. Blocks; raises OSError if the shell cannot be started."""
    if stdin == "terminal" and sys.platform == "win32":
        from .windows_terminal import begin_in_terminal

        return begin_in_terminal(launch, sandbox, COLUMNS, ROWS)
    held: list[bool] = []

    def argv() -> Sequence[str] | str:
        words = sandbox.argv(launch)
        held.append(True)
        return words

    ours: list[int] = []
    theirs: list[int] = []
    terminal = stdin == "terminal"
    said: int | None = None
    try:
        if terminal:
            name = _open_terminal(ours, theirs)
            # Ctrl+C is for what the shell runs: else its own end would hide how that ends.
            begins = f"{{ true <>{name}; }} 2>/dev/null; trap : INT"
            launch = replace(launch, command=f"{begins}\n{launch.command}", terminal=True)
            streams = theirs[0], theirs[0], theirs[0]
        else:
            ours[:0], theirs[:0] = ([end] for end in os.pipe())
            if stdin == "pipe":
                reading, writing = os.pipe()
                theirs.append(reading)
                ours.append(writing)
            else:
                theirs.append(os.open(os.devnull, os.O_RDONLY))
            if errors == "lost":
                theirs.append(os.open(os.devnull, os.O_WRONLY))
            elif errors == "apart":
                said, saying = os.pipe()
                theirs.append(saying)
            streams = theirs[1], theirs[0], theirs[0] if errors == "joined" else theirs[2]
        if (rules := sandbox.rules()) is not None:
            theirs.append(rules)
        confined = sandbox.kind == "bubblewrap"
        # Its end kills all in it, so it gets no SIGTERM: they need time to react to theirs.
        process = keeper.start(
            *(argv, launch.folder if confined else launch.begins, launch.environment, streams),
            rules=rules,
            grace=GRACE,
            spared=confined,
            leads=terminal,
        )
    except BaseException:
        for descriptor in (*ours, *(() if said is None else (said,))):
            os.close(descriptor)
        if held:
            sandbox.left()
        raise
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    streams_of_ours = DescriptorStreams(ours[0], ours[1] if len(ours) > 1 else None)
    apart = None if said is None else DescriptorStreams(said, None)
    return BegunCommand(process, sandbox.left, streams_of_ours, terminal, apart)


def _open_terminal(ours: list[int], theirs: list[int]) -> str:
    """Open a pseudo-terminal; the name by which whoever has it makes it its own.

    The first process of a session does that by opening it. Inside a sandbox it has no path.
    """
    if sys.platform == "win32":
        raise OSError("A terminal is made in another way there.")
    import fcntl
    import struct
    import termios

    outer, inner = os.openpty()
    theirs.append(inner)
    ours += [outer, os.dup(outer)]
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    return "/proc/self/fd/0" if sys.platform.startswith("linux") else os.ttyname(inner)
