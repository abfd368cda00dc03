"""``agent-studio chat``: a conversation in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from studio.agent.session import Session
from studio.agent.studio import Engine

from .chat_plain import PlainScreen
from .chat_talk import ChatLoop
from .console import Console
from .exits import DONE, USAGE
from .printing import TextPrinter
from .run import open_session
from .signals import on_signals


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

    from .chat_commands import SlashCommands
    from .chat_completion import ChatCompleter
    from .chat_history import ChatHistory
    from .chat_printing import ChatPrinter
    from .chat_screen import PromptScreen

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
    from .chat_commands import SlashCommands

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
