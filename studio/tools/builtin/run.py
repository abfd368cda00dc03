"""Run tool: runs a command in the system's shell, which may go on in the background (C-13)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping, Sequence

from studio.domain.errors import NothingRead, ToolFailed
from studio.processes.jobs import MOST, Job, Jobs
from studio.processes.sandbox import explain_failure
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import (
    UNATTENDED,
    CommandResult,
    ShellCommand,
    Stdin,
    last_states,
)
from studio.tools import Context, Result, tool
from studio.tools.drafts.draft_desk import DraftDesk

LONGEST = 3600.0
IN_EDITOR = 120.0
"""Seconds after which a command in a terminal of the editor is stopped, if it names none."""
_EVER = 1e9


@tool(
    spare=("folder", "background", "terminal"),
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
    folder: str = "",
    background: bool = False,
    terminal: bool = False,
    time_limit: float | None = None,
    network: bool = False,
    reason: str = "",
) -> Result:
    """Run a command in the system's shell. You get what it printed and its exit code. After
    60 s it goes on as a job. In a sandbox only the working folder and /tmp can be written.

    background: Make it a job at once, which takes input.
    terminal: The same, in a terminal.
    time_limit: Seconds after which it is stopped.
    network: Whether it needs the network, which the person is asked for. Without it, no other
        command reaches its servers.
    reason: Why, in a few words for the person.
    """
    if not command.strip():
        raise NothingRead("“command” is empty.")
    if time_limit is not None and not (0 < time_limit <= LONGEST or context.waits):
        raise NothingRead(f"“time_limit” must be more than 0 and at most {LONGEST:g} seconds.")
    context.workspace.check()
    at_once = background or terminal
    if at_once and context.jobs.full(context.session_id):
        raise NothingRead(_too_many(context.jobs, context.session_id))
    inside = context.workspace.relative(context.workspace.resolve(folder or ".", write=True))
    environment = {**context.environment, **UNATTENDED}
    if context.workspace.desk is not None and not context.sandbox.desks:
        raise NothingRead("No command can run here: it would change the folder itself.")
    drafts = DraftDesk(context)
    await drafts.lay()
    job: Job | None = None
    try:
        try:
            if not (drafts.root / inside).is_dir():
                raise NothingRead(f"There is no folder {inside}.")
            limit = time_limit or IN_EDITOR
            if not at_once and (
                ended := await _run_in_editor(context, command, inside, environment, limit)
            ):
                return await _result(context, drafts, command, ended, limit, network=network)
            stdin: Stdin = "terminal" if terminal else "pipe" if background else "nothing"
            root = context.workspace.origin
            started = await ShellCommand.start(
                Launch(command, root, environment, network, desk=drafts.shown, inside=inside),
                sandbox=context.sandbox,
                keeper=context.keeper,
                stdin=stdin,
                time_limit=time_limit,
            )
        except (OSError, ValueError) as error:
            raise NothingRead(f"The command cannot be started: {error}") from error
        whose = context.session_id, context.call_id
        held = not network and context.sandbox.kind != "none"
        job = context.jobs.add(
            Job(*whose, command, started, network, drafts.desk, tuple(drafts.drafts), held)
        )
        patience = context.jobs.settles if at_once else context.jobs.patience
        patience = _EVER if context.waits else patience
        while not await started.follow(context.emit, patience, job.released):
            if not context.waits and context.jobs.keep(job):
                return _goes_on(job, drafts)
            if at_once:
                raise ToolFailed(_too_many(context.jobs, context.session_id))
            patience = _EVER
        stopped = started.stopped
        return await _result(
            *(context, drafts, command, started.result, time_limit),
            network=network,
            stopped=stopped,
        )
    finally:
        if job is None:
            await asyncio.shield(drafts.remove())
        elif not job.background:
            await asyncio.shield(context.jobs.forget(job))


async def _result(
    context: Context,
    drafts: DraftDesk,
    command: str,
    ended: CommandResult,
    time_limit: float | None,
    *,
    network: bool,
    stopped: bool = False,
) -> Result:
    """The result of a command that has ended; ``stopped``: somebody else says why."""
    failed = ended.timed_out or ended.code != 0
    about_drafts = await drafts.report(failed=failed and not stopped)
    code = ending(ended.code)
    output = last_states(ended.output).rstrip("\n")
    if stopped:
        lines = [output, f"[{about_drafts}]" if about_drafts else ""]
        return Result("\n".join(filter(None, lines)), "stopped", (command,), True, keeps_end=True)
    output = output or "(no output)"
    if ended.timed_out:
        output += (
            f"\n[Stopped after {time_limit:g} s, the time limit. This is the output until then.]"
        )
    elif failed:
        output += f"\n[{code}]"
    if failed and (why := explain_failure(context.sandbox, ended.output, network=network)):
        output += f"\n[{why}]"
    if about_drafts:
        output += f"\n[{about_drafts}]"
    summary = f"stopped after {time_limit:g} s" if ended.timed_out else code
    exit_code = None if ended.timed_out else ended.code
    return Result(output, summary, (command,), failed, keeps_end=True, code=exit_code)


def _goes_on(job: Job, drafts: DraftDesk) -> Result:
    """The result of a command that became a job."""
    about = [f"It goes on as job {job.id}. To look at it, or to stop it: job(id=“{job.id}”)."]
    if drafts.shown is None:
        about.append("What it changes in the folder from now on is not undone with the turn.")
    about.append(drafts.seen(goes_on=True))
    output = last_states(job.news()).rstrip("\n") or "(no output yet)"
    text = f"{output}\n[{' '.join(filter(None, about))}]"
    return Result(text, f"goes on as job {job.id}", (job.line,), keeps_end=True)


def names_of(jobs: Sequence[Job]) -> str:
    """The jobs for a model: each with its id and its command."""
    return ", ".join(f"{one.id} ({one.line[:40]})" for one in jobs) or "none"


def _too_many(jobs: Jobs, chat: str) -> str:
    names = names_of(jobs.running(chat))
    return f"{MOST} jobs run already: {names}. Stop one of them first."


async def _run_in_editor(
    context: Context,
    command: str,
    inside: str,
    environment: Mapping[str, str],
    time_limit: float,
) -> CommandResult | None:
    """Run a command in a terminal of the person's editor; None where that may not be.

    A command that belongs into the sandbox never leaves it.
    """
    editor = context.workspace.editor
    if editor is None or context.sandbox.kind != "none":
        return None
    folder = context.workspace.root / inside
    return await editor.run(command, context.call_id, folder, environment, time_limit)


def ending(code: int) -> str:
    """How a command ended, by its exit code."""
    return f"exit {code}" if code >= 0 else _signal_name(-code)


def _signal_name(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"
