"""The terminal door: one turn with the same engine, and a look at what is saved.

- ``argument_types``: Values of the command line.
- ``chat``: To be described.
- ``commands``: To be described.
- ``console``: The terminal.
- ``doctor``: To be described.
- ``drafts_edit``: ``agent-studio drafts edit``.
- ``drafts_format``: What a draft changes, as lines for the terminal, also where its file
  changed too (T-5).
- ``drafts_merge``: ``agent-studio drafts resolve``.
- ``event_printer``: The events of a turn, as they are printed.
- ``exit_codes``: Exit codes of the command.
- ``final_answer``: The answer of a turn by itself.
- ``kept_options``: The command line of what is kept.
- ``parser``: The command line.
- ``run_options``: What ``run`` asks for.
- ``terminal_io``: Standard output and error where they can no longer be written to.
- ``turn_driver``: ``agent-studio run``.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .parser import build_parser

if TYPE_CHECKING:
    from studio.agent.engine import Engine

__all__ = ["build_parser", "command"]


async def command(studio: Engine, options: argparse.Namespace) -> int:
    """Run a parsed command; every error a person can mend is printed, not raised."""
    from studio.domain.errors import ProviderError, StudioError

    from .console import Console
    from .exit_codes import CANCELLED, exit_code_of_error

    console = Console()
    try:
        match options.command:
            case "run":
                from .turn_driver import run

                return await run(studio, options, console)
            case "chat":
                from .chat.main import chat

                return await chat(studio, options, console)
            case "models":
                from .commands.sessions import models

                return await models(studio, options, console)
            case "usage":
                from .commands.usage import usage

                return await usage(studio, options, console)
            case "drafts":
                from .commands.drafts import drafts

                return await drafts(studio, options, console)
            case "audit":
                from .commands.audit import audit

                return await audit(studio, options, console)
            case "export":
                from .commands.export import export

                return await export(studio, options, console)
            case "import":
                from .commands.export import import_conversations

                return await import_conversations(studio, options, console)
            case "agents":
                from .commands.agents import agents

                return await agents(studio, options, console)
            case "permissions":
                from .commands.permissions import permissions

                return await permissions(studio, options, console)
            case "tools":
                from .commands.tools import tools

                return await tools(studio, options, console)
            case _:
                from .commands.sessions import sessions

                return await sessions(studio, options, console)
    except BrokenPipeError:  # whoever read our output has gone, and will miss nothing
        console.discard_rest()
        return CANCELLED
    except (StudioError, OSError) as error:
        console.say(str(error))
        return exit_code_of_error(
            error.fault if isinstance(error, ProviderError) else "configuration"
        )
