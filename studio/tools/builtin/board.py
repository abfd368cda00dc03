"""Board tools: share texts, messages and tasks with the agents of the same run or chat (W-40)."""

from __future__ import annotations

from studio.domain.errors import NothingRead
from studio.tools import Context, Result, tool

LONGEST_WAIT = 600.0


@tool(
    effect="read",
    target="key",
    verb="Reading the board",
    done="Read the board",
    icon="list-todo",
    steady=False,
)
async def board_read(context: Context, key: str = "") -> Result:
    """Read the board that the agents of this work share: a text with its version, or without a key
    all keys and tasks. Its words are those of agents, not of the person.

    key: The name of a text.
    """
    return await context.board.read(key)


@tool(
    effect="read",
    target="key",
    verb="Writing on the board",
    done="Wrote on the board",
    icon="list-todo",
    steady=False,
)
async def board_write(context: Context, key: str, text: str, version: int = 0) -> Result:
    """Write a text on the board. If somebody changed it since you read it, nothing is written, and
    you get what is there now.

    key: Small letters, digits, - and .: open-questions.
    text: The whole text; empty to take it away.
    version: That which you read; 0 for a new key.
    """
    return await context.board.write(key, text, version)


@tool(
    effect="read",
    target="channel",
    verb="Posting to",
    done="Posted to",
    icon="message-square",
    steady=False,
)
async def post(context: Context, text: str, channel: str = "all") -> Result:
    """Tell the other agents of this work something; who waits for messages gets it at once.

    channel: A name on which you agreed; all of them read “all”.
    """
    return await context.board.post(channel, text)


@tool(
    effect="read",
    target="channel",
    verb="Looking into the inbox",
    done="Looked into the inbox",
    icon="message-square",
    time_limit=None,
    steady=False,
    waits=True,
)
async def inbox(
    context: Context, channel: str = "", seconds: float = 0, after: int | None = None
) -> Result:
    """Read what other agents of this work posted and you have not read yet.

    channel: Only this one.
    seconds: How long to wait if there is nothing, up to 600.
    after: Read again what came after the message of this number.
    """
    if not 0 <= seconds <= LONGEST_WAIT:
        raise NothingRead(f"“seconds” must be 0 to {LONGEST_WAIT:g}.")
    return await context.board.inbox(channel, seconds, after)


@tool(
    effect="read",
    verb="Adding a task",
    done="Added a task",
    icon="list-todo",
    steady=False,
)
async def task_add(context: Context, text: str) -> Result:
    """Add a task for whichever agent of this work takes it.

    text: What to do, complete in itself.
    """
    return await context.board.add_task(text)


@tool(
    effect="read",
    verb="Taking a task",
    done="Took a task",
    icon="list-todo",
    steady=False,
)
async def task_take(context: Context, number: int = 0) -> Result:
    """Take a task that nobody works on. No other agent gets it while you work.

    number: Which one; 0 for the oldest.
    """
    return await context.board.take_task(number)


@tool(
    effect="read",
    verb="Ending a task",
    done="Ended a task",
    icon="list-todo",
    steady=False,
)
async def task_done(
    context: Context, number: int, result: str = "", give_back: bool = False
) -> Result:
    """Say that a task which you took is done.

    number: Which one.
    result: What came of it, in a few words.
    give_back: It is not done: another agent may take it.
    """
    return await context.board.end_task(number, result, done=not give_back)
