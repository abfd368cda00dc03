"""The options of a run: makes its message, its session and the limits of its turn."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from studio.agent.attachments import attach, check_total_size
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.agents import Limits
from studio.domain.errors import ConfigurationError
from studio.domain.messages import Said, Text

from .console import Console
from .saved_sessions import find_session_id
from .terminal_io import FIRST_BYTE_SECONDS, NO_INPUT_NOTICE, read_stdin, stdin_attachment

PIPE = Path("-")


async def build_message(options: argparse.Namespace, console: Console) -> list[Said]:
    """The attachments and the message; raises ConfigurationError if there is neither."""
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
    # An argument that is not UTF-8 has broken characters, which cannot be stored.
    message = message.encode("utf-8", "replace").decode().strip()
    if not message and not blocks:
        raise ConfigurationError("There is no message. Give one, or pipe one in.")
    return [*blocks, *([Text(message)] if message else [])]


async def turn_limits(
    engine: Engine, session: Session, options: argparse.Namespace
) -> Limits | None:
    """The agent's limits with the steps of ``--max-steps``; None without that option."""
    if options.max_steps is None:
        return None
    agent = await engine.agent(session.info.agent, Path(session.info.folder))
    return replace(engine.limits(agent, options.mode or agent.mode), steps=options.max_steps)


def _at_terminal() -> bool:
    # None if the program was started without standard input.
    return sys.stdin is None or sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison]


async def open_session(engine: Engine, options: argparse.Namespace) -> Session:
    """Create a session, or open a saved one and change what the options name."""
    if options.folder is not None and not options.folder.is_dir():
        raise ConfigurationError(f"The folder {options.folder} is not there.")
    if options.session is None:
        folder = (options.folder or Path.cwd()).resolve()
        choice = await engine.choose(
            agent=options.agent or "",
            provider=options.provider or "",
            model=options.model or "",
            folder=folder,
        )
        return await engine.sessions.create(
            folder=str(folder),
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            model_chosen=bool(options.provider or options.model),
            origin="terminal",
        )
    session = await engine.sessions.open(await find_session_id(engine, options.session))
    changes: dict[str, Any] = {}
    if options.folder is not None:
        changes["folder"] = str(options.folder.resolve())
    if options.agent:
        folder = Path(changes.get("folder", session.info.folder))
        changes["agent"] = (await engine.agent(options.agent, folder)).name
    if options.provider and options.provider != session.info.provider:
        model = options.model or await engine.default_model(options.provider)
        changes |= {"provider": options.provider, "model": model}
    elif options.model:
        changes["model"] = options.model
    if changes:
        await session.change(**changes)
    return session
