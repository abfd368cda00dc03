"""``agent-studio simulate``: runs the provider simulator."""

from __future__ import annotations

from argparse import Namespace

from studio.cli.command_context import CommandContext
from studio.cli.parser import CommandParser, port


def arguments(parser: CommandParser) -> None:
    parser.add_argument("--port", type=port, default=8799, help="0 takes a free one")


async def run(context: CommandContext, options: Namespace) -> int:
    """Serve until Ctrl-C, and print each request."""
    from studio.domain.errors import ConfigurationError
    from studio.simulator import serve

    try:
        await serve(options.port, show=lambda line: print(line, flush=True))
    except BrokenPipeError:  # nobody reads what it shows
        raise
    except OSError as error:
        why = f"Port {options.port} cannot be used: {error.strerror}."
        raise ConfigurationError(why) from error
    return 0
