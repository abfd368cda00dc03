"""Job tool: looks after a command that goes on in the background, see ``run`` (C-13)."""

from __future__ import annotations

import asyncio

from studio.domain.errors import NothingRead, ToolFailed
from studio.processes.sandbox import explain_failure
from studio.processes.shell_command import last_states
from studio.tools import Context, Result, tool
from studio.tools.drafts.draft_desk import DraftDesk

from .run import ending, names_of

LONGEST_WAIT = 600.0


@tool(
    spare=("input",),
    effect="act",
    target="input",
    acts_with="input",
    verb="Checking",
    done="Checked",
    icon="terminal",
    time_limit=None,
    steady=False,  # to look again at what goes on is no stall
)
async def job(
    context: Context, id: str, input: str = "", wait: float = 1, stop: bool = False
) -> Result:
    """Look at a job of run: what it printed since the last look, and whether it runs. It ends
    30 minutes after the last look.

    input: What to type, with “\\n” for Enter; “\\u0004” ends it. In a terminal control keys too.
    wait: Seconds to wait for its end, up to 600.
    """
    if not 0 <= wait <= LONGEST_WAIT:
        raise NothingRead(f"“wait” must be 0 to {LONGEST_WAIT:g} seconds.")
    jobs = context.jobs
    found = next((one for one in jobs.of(context.session_id) if one.id == id), None)
    if found is None:
        raise NothingRead(
            f"There is no job “{id}” now. A job is gone once you saw its end, 30 minutes after "
            "the last look, and when the chat or the program was closed. There are: "
            f"{names_of(jobs.of(context.session_id))}."
        )
    command = found.command
    if input:
        try:
            await command.write(input)
        except OSError as error:
            raise ToolFailed(
                f"Job {id} got not all of this input: {error}. Only one that runs, begun with "
                "background or terminal, takes any."
            ) from error
    if stop:
        await jobs.stop(found)
    await command.wait(wait)
    output = last_states(found.news()).strip("\n") or "(nothing new)"
    spent = f"{command.seconds:.1f} s"  # so that no two looks are the same
    if command.running:
        text = f"{output}\n[Job {id} runs, {spent} by now.]"
        return Result(text, "runs", (found.line,), keeps_end=True)
    failed = command.timed_out or (command.code != 0 and not command.stopped)
    how = "stopped" if command.stopped or command.timed_out else ending(command.code)
    text = f"{output}\n[Job {id} is over: {how} after {spent}.]"
    if failed and (why := explain_failure(context.sandbox, output, network=found.network)):
        text += f"\n[{why}]"
    async with found.closing:  # two looks at once tell once what it wrote
        if found.desk is not None:
            desk = DraftDesk(context, found.desk, found.drafts)
            text += f"\n[{await desk.report(failed=failed)}]"
        await asyncio.shield(jobs.forget(found))
    return Result(text, how, (found.line,), failed, keeps_end=True)
