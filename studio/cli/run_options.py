"""What ``run`` asks for: the message with what belongs to it, and bounds for its turn."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from studio.agent.attachments import attach, check_total_size
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.errors import ConfigurationError
from studio.domain.messages import Said, Text

from .console import Console
from .terminal_io import FIRST_BYTE_SECONDS, NO_INPUT_NOTICE, read_stdin, stdin_attachment

PIPE = Path("-")


async def build_message(options: argparse.Namespace, console: Console) -> list[Said]:
    """The message, after what is attached to it; raises ConfigurationError if that is nothing."""
    message: str | None = options.message
    blocks: list[Said] = []
    for path in dict.fromkeys(options.attach):
        if path != PIPE:
            blocks.append(await attach(path))
        elif message in (None, "-"):
            raise ConfigurationError(
                "Standard input is either the message or attached to one. Give a message."
            )
        elif (block := await stdin_attachment()) is not None:
            blocks.append(block)
    if message in (None, "-"):
        if console.interactive:
            console.say("Your message, ended by Ctrl-D on a line of its own:")
        message = (await read_stdin()).decode("utf-8-sig", "replace")
    elif PIPE not in options.attach and not _at_terminal():
        try:
            block = await stdin_attachment(FIRST_BYTE_SECONDS)
            blocks += [block] if block is not None else []
        except TimeoutError:
            if not options.quiet:
                console.say(NO_INPUT_NOTICE)
    check_total_size(blocks)
    # An argument that is not UTF-8 arrives as halves of characters nobody can store.
    message = message.encode("utf-8", "replace").decode().strip()
    if not message and not blocks:
        raise ConfigurationError("There is nothing to say. Give a message, or pipe one in.")
    return [*blocks, *([Text(message)] if message else [])]


async def turn_limits(
    studio: Engine, session: Session, options: argparse.Namespace
) -> Limits | None:
    """The agent's own with other steps; None where nothing was said of steps."""
    if options.max_steps is None:
        return None
    agent = await studio.agent(session.info.agent, Path(session.info.folder))
    return replace(studio.limits(agent, options.mode or agent.mode), steps=options.max_steps)


def _at_terminal() -> bool:
    # None where the program was started without one.
    return sys.stdin is None or sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]
