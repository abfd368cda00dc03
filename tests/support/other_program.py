"""Another program at the same data: a real process that asks, is stopped, or dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

from support.fork_server import start_python
from support.waiting import within

COMMAND = "pytest -q && rm -rf build"

_ASKS = """
import asyncio, json, sys
from pathlib import Path
from studio.domain.permissions import Question
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.remote_approvals import RemoteApprovals

async def main():
    home, session_id, through = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    database = Database(home / "studio.db", MIGRATIONS)
    await database.open()
    questions = RemoteApprovals(database, home / "bells")
    loop = asyncio.get_running_loop()
    asked = {}
    say = lambda *words: print(*words, flush=True)

    async def ask(name, fields):
        question = Question(id=name, call_id="c", tool="run", **fields)
        say("asking", name)
        try:
            say(name, await questions.ask(session_id, question, through=through))
        except asyncio.CancelledError:
            say(name, "withdrawn")

    while line := await loop.run_in_executor(None, sys.stdin.readline):
        word, name, *rest = json.loads(line)
        if word == "ask":
            asked[name] = asyncio.create_task(ask(name, rest[0]))
        elif word == "cancel":
            asked[name].cancel()
        elif word == "window":
            say("window", await questions.has_window())
    await asyncio.gather(*asked.values())
    await database.close()

asyncio.run(main())
"""


class OtherProgram:
    """What a server does with its questions, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def tell(self, *words: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words).encode() + b"\n")
        await self.process.stdin.drain()

    async def ask(self, name: str = "q1", detail: str = COMMAND, **fields: object) -> None:
        """Returns when it is being asked; ``heard`` reads what came of it."""
        given = {"title": f"Run {detail}?", "detail": detail, **fields}
        await self.tell("ask", name, given)
        assert await self.heard() == f"asking {name}"

    async def heard(self) -> str:
        assert self.process.stdout is not None
        async with within():
            return (await self.process.stdout.readline()).decode().strip()


@contextlib.asynccontextmanager
async def other_program(
    home: Path, session_id: str = "s1", through: str = "server"
) -> AsyncIterator[OtherProgram]:
    """A program that asks on behalf of a session; killed at the end if it still runs."""
    process = await start_python(
        "-c", _ASKS, str(home), session_id, through, stdin=asyncio.subprocess.PIPE, stderr=None
    )
    try:
        yield OtherProgram(process)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
