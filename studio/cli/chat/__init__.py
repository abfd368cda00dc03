"""The conversation in the terminal, ``agent-studio chat``.

- ``chat_loop``: turns what is typed into turns of a session, one at a time.
- ``slash_commands``: runs lines that begin with a slash.
- ``screen``: the terminal of a chat, with a prompt below the text or line by line.
- ``printer``: shows the events of a turn on the screen.
- ``markdown``: cuts streamed markdown into finished blocks and renders them.
- ``completion``: completes commands, their values, and files after @.
- ``mentions``: attaches files that a message names after @.
- ``history``: stores typed messages for the arrow keys.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from prompt_toolkit.patch_stdout import patch_stdout

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.cli.console import on_signals
from studio.cli.event_printer import TextPrinter
from studio.cli.exit_codes import DONE
from studio.domain.errors import StudioError
from studio.tools.packs.persons_act import ActDesk

from .chat_loop import ChatLoop
from .completion import ChatCompleter, Offer
from .history import ChatHistory
from .printer import ChatPrinter
from .screen import PlainScreen, PromptScreen
from .slash_commands import SlashCommands

FOR_OFFERS = 3.0
"""Seconds that completion waits for a server."""


async def open_chat(engine: Engine, session: Session, desk: ActDesk | None = None) -> int:
    """Talk in this session until the person leaves; returns the exit code."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        await _chat_by_lines(engine, session, desk)
    else:
        await _chat_with_prompt(engine, session, desk)
    return DONE


async def _chat_with_prompt(engine: Engine, session: Session, desk: ActDesk | None) -> None:
    history = ChatHistory(engine.paths.data / "chat-history.jsonl", engine.keychain.known)
    await history.read()
    screen = PromptScreen(history)
    screen.desk = desk
    chat = ChatLoop(engine, session, screen, lambda: ChatPrinter(screen))
    commands = SlashCommands(chat)
    screen.complete(
        ChatCompleter(
            commands.completed,
            commands.offers,
            lambda: Path(chat.session.info.folder),
            _from_thread(commands.of_servers),
        )
    )
    # What others print, of a broken tool for example, must not run into the line.
    with on_signals(screen.signals), screen.keys(), patch_stdout():
        await commands.load_offers()
        commands.print_last_message()
        await chat.run()
    await history.saved()


def _from_thread(
    ask: Callable[[str, str], Coroutine[Any, Any, tuple[int, Sequence[Offer]]]],
) -> Callable[[str, str], tuple[int, Sequence[Offer]]]:
    """The same for a thread, which waits a little; nothing where a server does not answer."""
    loop = asyncio.get_running_loop()

    def wait(name: str, typed: str) -> tuple[int, Sequence[Offer]]:
        found = asyncio.run_coroutine_threadsafe(ask(name, typed), loop)
        try:
            return found.result(FOR_OFFERS)
        except (TimeoutError, StudioError, CancelledError):
            found.cancel()
            return 0, ()

    return wait


async def _chat_by_lines(engine: Engine, session: Session, desk: ActDesk | None) -> None:
    screen = PlainScreen()
    screen.desk = desk
    chat = ChatLoop(engine, session, screen, lambda: TextPrinter(screen))
    commands = SlashCommands(chat)
    with on_signals(screen.signals):
        commands.print_last_message()
        await chat.run()
