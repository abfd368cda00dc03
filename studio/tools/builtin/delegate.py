"""Delegation tools: have other agents do tasks, and look after those in the background (W-32).

The program adds the agents that may be started to the description of ``delegate``.
"""

from __future__ import annotations

from typing import Any

from studio.domain.errors import NothingRead
from studio.tools import Context, Result, tool
from studio.tools.sdk.context import Task

LONGEST_WAIT = 600.0


@tool(
    effect="read",
    target="agent",
    verb="Delegating to",
    done="Delegated to",
    icon="bot",
    time_limit=None,
    steady=False,
    waits=True,
    spare=("files", "schema", "background", "dollars"),
)
async def delegate(
    context: Context,
    agent: str,
    task: str,
    files: list[str] | None = None,
    schema: dict[str, Any] | None = None,
    background: bool = False,
    dollars: float | None = None,
) -> Result:
    """Have another agent do a task, and get its answer. It knows nothing of this conversation,
    and may do no more than you. Several in one reply work side by side.

    task: What to do and what to answer, complete in itself.
    files: Those that it needs.
    schema: A JSON Schema of its answer.
    background: Go on meanwhile; you are told of its end.
    dollars: Its cap.
    """
    if not task.strip():
        raise NothingRead("The task is empty. Say what the agent has to do.")
    return await context.children.delegate(
        Task(agent, task.strip(), files or (), schema, background, max(dollars or 0.0, 0.0))
    )


@tool(
    effect="read",
    verb="Looking after",
    done="Looked after",
    icon="bot",
    steady=False,
    waits=True,
)
async def children(context: Context) -> Result:
    """List the agents that you started."""
    return await context.children.list()


@tool(
    effect="read",
    target="child",
    verb="Waiting for",
    done="Waited for",
    icon="hourglass",
    time_limit=None,
    steady=False,
    waits=True,
)
async def wait(context: Context, child: str = "", seconds: float = 60) -> Result:
    """Wait for an agent in the background, and get its answer.

    child: Its id; without it, all.
    seconds: Up to 600.
    """
    if not 0 <= seconds <= LONGEST_WAIT:
        raise NothingRead(f"“seconds” must be 0 to {LONGEST_WAIT:g}.")
    return await context.children.wait(child, seconds)


@tool(
    effect="read",
    target="child",
    verb="Telling",
    done="Told",
    icon="bot",
    time_limit=None,
    steady=False,
    waits=True,
)
async def tell_child(context: Context, child: str, text: str) -> Result:
    """Tell an agent that you started something more. One that has ended goes on and answers."""
    if not text.strip():
        raise NothingRead("There is nothing to tell.")
    return await context.children.tell(child, text.strip())


@tool(
    effect="read",
    target="child",
    verb="Stopping",
    done="Stopped",
    icon="bot",
    steady=False,
    waits=True,
)
async def stop_child(context: Context, child: str) -> Result:
    """End an agent that you started, with all that it started."""
    return await context.children.stop(child)
