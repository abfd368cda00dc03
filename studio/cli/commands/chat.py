"""``agent-studio chat``: opens a conversation in the terminal."""

from __future__ import annotations

import sys
from argparse import Namespace

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import USAGE
from studio.cli.parser import (
    CommandParser,
    answerer_options,
    permission_option,
    session_options,
)


def arguments(parser: CommandParser) -> None:
    parser.description = "Talk with an agent until you leave with Ctrl-D; /help lists the commands."
    answerer_options(parser)
    permission_option(parser)
    session_options(parser)


async def run(context: CommandContext, options: Namespace) -> int:
    """Talk until the person leaves; ends with 1 where nobody can type."""
    from studio.cli.chat import open_chat
    from studio.cli.saved_sessions import open_session

    engine, console = await context.engine(), context.console
    if not (console.interactive and sys.stdout.isatty()):
        console.say('A chat needs a terminal. For one message there is: agent-studio run "…"')
        return USAGE
    await engine.delegation.bring_back_left()
    session = await open_session(engine, options, console, console.say)
    return await open_chat(engine, session, console.desk)
