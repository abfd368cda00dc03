"""The terminal door: one turn with the same engine, and a look at what is saved.

``options``, ``kept_options`` and ``values`` read the command line, ``run`` drives a turn,
``asking`` gathers what it says, also what is ``piped`` in, ``printing`` shows its
events, ``answer`` is what came of it, ``console`` the terminal itself. ``transfer``
takes conversations out and in, ``agents`` looks at agents; ``config`` (settings) and
``completion`` (Tab) begin without the rest. ``listings`` prints what is
saved and which models there are, ``usage`` what requests used and cost,
``drafts`` decides what is written (``draft_showing`` shows it, ``resolving`` is for a
file that changed meanwhile, ``editing`` for the person's own text), ``audit`` which
tools were called, ``tools`` which there are, ``permissions`` what agents may do.
``chat`` is a conversation, ``chat_screen`` its terminal; ``doctor`` looks at what the
program needs, and is called by ``app`` before anything is built.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .options import build_parser

if TYPE_CHECKING:
    from studio.agent.studio import Engine

__all__ = ["command", "build_parser"]


async def command(studio: Engine, options: argparse.Namespace) -> int:
    """Run a parsed command; every error a person can mend is printed, not raised."""
    from studio.domain.errors import ProviderError, StudioError

    from .console import Console
    from .exits import CANCELLED, exit_code_of_error

    console = Console()
    try:
        match options.command:
            case "run":
                from .run import run

                return await run(studio, options, console)
            case "chat":
                from .chat import chat

                return await chat(studio, options, console)
            case "models":
                from .listings import models

                return await models(studio, options, console)
            case "usage":
                from .usage import usage

                return await usage(studio, options, console)
            case "drafts":
                from .drafts import drafts

                return await drafts(studio, options, console)
            case "audit":
                from .audit import audit

                return await audit(studio, options, console)
            case "export":
                from .transfer import export

                return await export(studio, options, console)
            case "import":
                from .transfer import import_conversations

                return await import_conversations(studio, options, console)
            case "agents":
                from .agents import agents

                return await agents(studio, options, console)
            case "permissions":
                from .permissions import permissions

                return await permissions(studio, options, console)
            case "tools":
                from .tools import tools

                return await tools(studio, options, console)
            case _:
                from .listings import sessions

                return await sessions(studio, options, console)
    except BrokenPipeError:  # whoever read our output has gone, and will miss nothing
        console.discard_rest()
        return CANCELLED
    except (StudioError, OSError) as error:
        console.say(str(error))
        return exit_code_of_error(error.fault if isinstance(error, ProviderError) else "configuration")
