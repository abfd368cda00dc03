"""``agent-studio chat``: a conversation in the terminal.

A chat on a terminal that can do nothing but print lines (``TERM=dumb``).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.cli.console import Console
from studio.cli.event_printer import TextPrinter
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.terminal_io import on_signals
from studio.cli.turn_driver import open_session

from .chat_loop import ChatLoop


class PlainScreen(Console):
    """Lines in, lines out: the next message is asked for when the agent is done."""

    types_ahead = False

    def __init__(self) -> None:
        super().__init__()
        self.status: Callable[[], str] = lambda: ""
        self.interrupt: Callable[[], bool] = lambda: False
        self._reading: asyncio.Task[str | None] | None = None
        self._asked_to_leave = self._left = False

    async def read(self) -> str | None:
        """The next message; None when the person leaves."""
        self._asked_to_leave = False
        if self._left:
            return None
        self.say(f"\n[{self.status()}]")
        self._reading = asyncio.create_task(self.line("> "))
        await asyncio.wait([self._reading])
        return None if self._reading.cancelled() else self._reading.result()

    def interrupted(self) -> None:
        """Ctrl-C: stops the turn, else twice to leave."""
        if self.interrupt():
            return
        if self._asked_to_leave:
            self.leave()
        else:
            self._asked_to_leave = True
            self.say("\nCtrl-C again to leave")

    def give_back(self, text: str) -> None:
        self.say(f"Not sent: {text}")

    def markdown(self, text: str) -> None:
        self.write(f"{text.strip()}\n\n")

    def refresh(self) -> None:
        return

    def leave(self) -> None:
        self._left = True
        if self._reading is not None:
            self._reading.cancel()


async def chat(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """Talk until the person leaves; ends with 1 where nobody can type."""
    if not (console.interactive and sys.stdout.isatty()):
        console.say('A chat needs a terminal. For one message there is: agent-studio run "…"')
        return USAGE
    session = await open_session(studio, options)
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return await _plainly(studio, session)
    return await _with_screen(studio, session)


async def _with_screen(studio: Engine, session: Session) -> int:
    from prompt_toolkit.patch_stdout import patch_stdout

    from .completion import ChatCompleter
    from .history import ChatHistory
    from .printer import ChatPrinter
    from .screen import PromptScreen
    from .slash_commands import SlashCommands

    history = ChatHistory(studio.paths.data / "chat-history.jsonl", studio.keychain.known)
    await history.read()
    screen = PromptScreen(history)
    talk = ChatLoop(studio, session, screen, screen, lambda: ChatPrinter(screen))
    commands = SlashCommands(talk)
    talk.command = commands.handle
    screen.complete(
        ChatCompleter(
            {name: (one.takes, one.about) for name, one in commands.all.items()},
            commands.offers,
            lambda: Path(talk.session.info.folder),
        )
    )
    signals = {"SIGINT": screen.interrupted, "SIGTERM": screen.leave, "SIGHUP": screen.leave}
    # What others print, of a broken tool for example, must not run into the line.
    with on_signals(signals), screen.keys(), patch_stdout():
        await commands.load_offers()
        commands.print_last_message()
        await talk.run()
    await history.saved()
    return DONE


async def _plainly(studio: Engine, session: Session) -> int:
    from .slash_commands import SlashCommands

    screen = PlainScreen()
    talk = ChatLoop(studio, session, screen, screen, lambda: TextPrinter(screen))
    commands = SlashCommands(talk)
    talk.command = commands.handle
    signals = {
        "SIGINT": screen.interrupted,
        "SIGTERM": screen.leave,
        "SIGHUP": screen.leave,
    }
    with on_signals(signals):
        commands.print_last_message()
        await talk.run()
    return DONE
