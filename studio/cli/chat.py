"""``agent-studio chat``: a conversation in the terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from studio.agent.session import Session
from studio.agent.studio import Studio

from .chat_plain import PlainScreen
from .chat_talk import Talk
from .console import Console
from .exits import DONE, USAGE
from .printing import TextPrinter
from .run import session_for
from .signals import on_signals


async def chat(studio: Studio, options: argparse.Namespace, console: Console) -> int:
    """Talk until the person leaves; ends with 1 where nobody can type."""
    if not (console.interactive and sys.stdout.isatty()):
        console.say('A chat needs a terminal. For one message there is: agent-studio run "…"')
        return USAGE
    session = await session_for(studio, options)
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown"):
        return await _plainly(studio, session)
    return await _with_screen(studio, session)


async def _with_screen(studio: Studio, session: Session) -> int:
    from prompt_toolkit.patch_stdout import patch_stdout

    from .chat_commands import Commands
    from .chat_completion import Completions
    from .chat_history import Kept
    from .chat_printing import ChatPrinter
    from .chat_screen import Screen

    history = Kept(studio.paths.data / "chat-history.jsonl", studio.keychain.known)
    await history.read()
    screen = Screen(history)
    talk = Talk(studio, session, screen, screen, lambda: ChatPrinter(screen))
    commands = Commands(talk)
    talk.command = commands.take
    screen.complete(
        Completions(
            {name: (one.takes, one.about) for name, one in commands.all.items()},
            commands.offers,
            lambda: Path(talk.session.info.folder),
        )
    )
    signals = {"SIGINT": screen.interrupted, "SIGTERM": screen.leave, "SIGHUP": screen.leave}
    # What others print, of a broken tool for example, must not run into the line.
    with on_signals(signals), screen.keys(), patch_stdout():
        await commands.look()
        commands.recall()
        await talk.go_on()
    await history.saved()
    return DONE


async def _plainly(studio: Studio, session: Session) -> int:
    from .chat_commands import Commands

    screen = PlainScreen()
    talk = Talk(studio, session, screen, screen, lambda: TextPrinter(screen))
    commands = Commands(talk)
    talk.command = commands.take
    signals = {
        "SIGINT": screen.interrupted,
        "SIGTERM": screen.leave,
        "SIGHUP": screen.leave,
    }
    with on_signals(signals):
        commands.recall()
        await talk.go_on()
    return DONE
