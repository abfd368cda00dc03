"""``agent-studio acp``: lets an editor work with the agents (Agent Client Protocol)."""

from __future__ import annotations

from argparse import Namespace

from studio.cli.command_context import CommandContext
from studio.cli.parser import CommandParser


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Speak the Agent Client Protocol over standard input and output, so that an editor can "
        "work with your agents. The editor starts this command."
    )
    parser.add_argument(
        "--agent", metavar="AGENT", default="", help="default: your setting, else Coder"
    )


async def run(context: CommandContext, options: Namespace) -> int:
    """Speak with the editor until it hangs up."""
    return await context.run_external(options)
