"""Opens a chat: on a screen with a prompt, or line by line where the terminal is dumb."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.patch_stdout import patch_stdout

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.cli.console import Console
from studio.cli.event_printer import TextPrinter
from studio.cli.exit_codes import DONE
from studio.cli.terminal_io import on_signals

from .chat_loop import ChatLoop
from .completion import ChatCompleter
from .history import ChatHistory
from .printer import ChatPrinter
from .screen import PromptScreen
from .slash_commands import SlashCommands


class PlainScreen(Console):
    """Reads and prints lines: asks for the next message when the agent is done."""

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


async def open_chat(engine: Engine, session: Session) -> int:
    """Talk in this session until the person leaves; returns the exit code."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return await _with_lines(engine, session)
    return await _with_screen(engine, session)


async def _with_screen(engine: Engine, session: Session) -> int:
    history = ChatHistory(engine.paths.data / "chat-history.jsonl", engine.keychain.known)
    await history.read()
    screen = PromptScreen(history)
    chat = ChatLoop(engine, session, screen, screen, lambda: ChatPrinter(screen))
    commands = SlashCommands(chat)
    chat.command = commands.handle
    screen.complete(
        ChatCompleter(
            {name: (one.takes, one.about) for name, one in commands.all.items()},
            commands.offers,
            lambda: Path(chat.session.info.folder),
        )
    )
    signals = {"SIGINT": screen.interrupted, "SIGTERM": screen.leave, "SIGHUP": screen.leave}
    # What others print, of a broken tool for example, must not run into the line.
    with on_signals(signals), screen.keys(), patch_stdout():
        await commands.load_offers()
        commands.print_last_message()
        await chat.run()
    await history.saved()
    return DONE


async def _with_lines(engine: Engine, session: Session) -> int:
    screen = PlainScreen()
    chat = ChatLoop(engine, session, screen, screen, lambda: TextPrinter(screen))
    commands = SlashCommands(chat)
    chat.command = commands.handle
    signals = {"SIGINT": screen.interrupted, "SIGTERM": screen.leave, "SIGHUP": screen.leave}
    with on_signals(signals):
        commands.print_last_message()
        await chat.run()
    return DONE
