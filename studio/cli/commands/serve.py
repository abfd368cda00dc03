"""``agent-studio serve``: lets other programs talk with the agents over HTTP."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from studio.cli.command_context import CommandContext
from studio.cli.parser import CommandParser, port


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Answer other programs in the APIs of OpenAI and Anthropic, until Ctrl-C. They can ask "
        "for agent/NAME, or for PROVIDER/MODEL."
    )
    parser.add_argument("--host", metavar="HOST", help="default: your setting, else 127.0.0.1")
    parser.add_argument("--port", type=port, metavar="PORT", help="default: your setting, or 8765")
    parser.add_argument(
        "--folder", type=Path, metavar="DIR", help="where agents work; default: your setting"
    )
    token = parser.add_mutually_exclusive_group()
    token.add_argument("--show-token", action="store_true", help="print the token and end")
    token.add_argument("--renew-token", action="store_true", help="make and print another token")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="keep the token in this file; default: AGENT_STUDIO_SERVER_TOKEN, else the keychain",
    )
    parser.add_argument(
        "--with-parent",
        action="store_true",
        help="end when standard input closes; tell the address as JSON",
    )


async def run(context: CommandContext, options: Namespace) -> int:
    """Serve until Ctrl-C."""
    return await context.run_external(options)
