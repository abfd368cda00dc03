"""The terminal: one turn or a chat with the same engine, and a look at what is saved.

- ``commands``: the commands, one module each, and their registry.
- ``chat``: the conversation in the terminal.
- ``doctor``: the checks of ``agent-studio doctor``.

What commands share:

- ``parser``: the argument parser and the types of arguments.
- ``command_context``: opens what a command works with.
- ``console``: writes to the terminal, reads lines and piped input, handles signals.
- ``exit_codes``: the exit codes.
- ``event_printer``: prints the events of a turn as text, or each as JSON.
- ``templates``: reads and fills templates of messages.
- ``turn_driver``: runs a turn, prints it, asks for permission and offers its drafts.
- ``workflow_begin``: begins and goes on with the runs of ``workflow``, ``batch`` and ``cluster``.
- ``workflow_driver``: carries out a run of a workflow, prints it and asks the person.
- ``questions``: asks what an agent or a server wants to know, one after the other (C-24).
- ``json_stream``: prints a turn as documented JSON lines.
- ``final_answer``: collects the answer of a run, and writes it to a file.
- ``server_import``: lists and takes the MCP servers that other programs know (M-23).
- ``server_login``: signs the person in to an MCP server (M-22).
- ``saved_sessions``: finds and opens sessions, prints them, undoes their turns.
- ``pack_verbs``: runs the commands that packs bring, and changes their settings (KZ-9).
- ``pack_keys``: encrypts the records of packs, shows and takes their keys (KZ-44).
- ``drafts``: prints what drafts change, and carries out decisions about them.
- ``drafts_edit``: gives drafts another text: an edited or a merged one.
"""

from __future__ import annotations

import argparse
import errno
from typing import TYPE_CHECKING

from .commands import build_parser, load_command

if TYPE_CHECKING:
    from .command_context import CommandContext

__all__ = ["build_parser", "run_command"]


async def run_command(options: argparse.Namespace, context: CommandContext) -> int:
    """Run a parsed command. Errors that a person can mend are printed, not raised."""
    from studio.domain.errors import ProviderError, StudioError

    from .exit_codes import CANCELLED, DONE, exit_code_of_error

    try:
        return await load_command(options.command).run(context, options)
    except BrokenPipeError as error:
        context.console.discard_rest()
        # A person has gone, or a reader who has all that was wanted, as `head` has.
        return CANCELLED if error.errno == errno.EIO else DONE
    except (StudioError, OSError) as error:
        context.console.say(str(error))
        return exit_code_of_error(
            error.fault if isinstance(error, ProviderError) else "configuration"
        )
