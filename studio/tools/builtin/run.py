"""Run tool: runs a command in the system's shell."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from studio.domain.errors import NothingRead
from studio.processes.sandbox import explain_failure
from studio.processes.shell_command import UNATTENDED, CommandResult, last_states, run_shell
from studio.tools import Context, Result, tool
from studio.tools.drafts.draft_desk import draft_desk

LONGEST = 3600.0


@tool(
    effect="act",
    target="command",
    verb="Running",
    done="Ran",
    icon="terminal",
    time_limit=None,  # keeps its own, so that the output until then is not lost
)
async def run(
    context: Context,
    command: str,
    time_limit: float = 120,
    network: bool = False,
    reason: str = "",
) -> Result:
    """Run a command in the system's shell, in the working folder. The answer is what it
    printed and its exit code. It gets no input, so use options that avoid questions, and
    everything it started ends with it, background processes too. It may run in a sandbox:
    only the working folder and /tmp can be written, and the home folder has programs only.

    command: The command line.
    time_limit: Seconds after which it is stopped.
    network: Whether it needs the network, which the person is asked for.
    reason: Why it is run, in a few words for the person.
    """
    if not command.strip():
        raise NothingRead("“command” is empty.")
    if not 0 < time_limit <= LONGEST:
        raise NothingRead(f"“time_limit” must be more than 0 and at most {LONGEST:g} seconds.")
    context.workspace.check()
    environment = {**context.environment, **UNATTENDED}
    async with draft_desk(context) as drafts:
        try:
            in_editor = await _run_in_editor(context, command, environment, time_limit)
            ended = in_editor or await run_shell(
                command,
                folder=context.workspace.root,
                environment=environment,
                sandbox=context.sandbox,
                keeper=context.keeper,
                network=network,
                desk=drafts.desk,
                time_limit=time_limit,
                emit=context.emit,
            )
        except (OSError, ValueError) as error:
            raise NothingRead(f"The command cannot be started: {error}") from error
        about_drafts = await drafts.report(failed=ended.timed_out or ended.code != 0)
    summary = f"stopped after {time_limit:g} s" if ended.timed_out else _code(ended)
    failed = ended.timed_out or ended.code != 0
    output = last_states(ended.output).rstrip("\n")
    if not output:
        output = "(no output)"
    if failed:
        output += f"\n[{_sentence(ended, time_limit)}]"
        if why := explain_failure(context.sandbox, ended.output, network=network):
            output += f"\n[{why}]"
    if about_drafts:
        output += f"\n[{about_drafts}]"
    return Result(output, summary, (command,), failed, keeps_end=True)


async def _run_in_editor(
    context: Context, command: str, environment: Mapping[str, str], time_limit: float
) -> CommandResult | None:
    """Run a command in a terminal of the person's editor; None where that may not be.

    A command that belongs into the sandbox never leaves it.
    """
    editor = context.workspace.editor
    if editor is None or context.sandbox.kind != "none":
        return None
    folder = context.workspace.root
    return await editor.run(command, context.call_id, folder, environment, time_limit)


def _code(ended: CommandResult) -> str:
    return f"exit {ended.code}" if ended.code >= 0 else _signal_name(-ended.code)


def _sentence(ended: CommandResult, time_limit: float) -> str:
    if ended.timed_out:
        return f"Stopped after {time_limit:g} s, the time limit. This is the output until then."
    return _code(ended)


def _signal_name(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"
