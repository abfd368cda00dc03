"""The board of a run or a chat: texts, messages and tasks that its agents share (W-40)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from studio.domain.boards import BoardAuthor, BoardTask
from studio.domain.events import ToolFinished
from studio.domain.sessions import Caller
from studio.domain.tools import BOARD_TOOLS, Exposure
from studio.simulator import Call, RequestView, Returned, Turn
from studio.storage.boards import BoardStore
from studio.tools.memory.notes import Notes, Writer
from support.delegation_home import agent, cast, delegate, repeats, save, says
from support.engine_home import EngineHome, engine_home, say
from support.waiting import within

ALL = ", ".join(BOARD_TOOLS)


async def results(home: EngineHome, name: str) -> list[tuple[str, bool]]:
    """What the calls of a new chat with an agent returned, and whether that is an error."""
    events = await say(await home.session(name))
    return [(one.text, one.is_error) for one in events if isinstance(one, ToolFinished)]


async def test_w40_two_of_a_hundred_agents_never_take_one_task(tmp_path: Path) -> None:
    """Also by two programs at once; a task of an agent that ended is free again. PRE-14, PRE-40."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        boards = home.engine.services.boards
        lead = (await home.session()).info.id
        workers = [BoardAuthor((await home.session()).info.id, f"W{n}") for n in range(100)]
        root = Caller("session", lead)

        def state(sessions: list[str], now: str) -> None:
            rows = [(now, one) for one in sessions]
            home.engine.services.database.submit(
                lambda db: db.executemany("UPDATE sessions SET state = ? WHERE id = ?", rows)
            ).result()

        everybody = [one.session for one in workers]
        await asyncio.to_thread(state, everybody, "running")
        for number in range(60):
            await boards.add_task(root, f"Do {number}", workers[0])
        found = await asyncio.gather(*(boards.take_task(root, 0, one) for one in workers))
        taken = Counter(one.number for one in found if one is not None)
        assert set(taken) == set(range(1, 61)) and set(taken.values()) == {1}
        assert await boards.take_task(root, 7, workers[99]) is None
        has = {one.number: author for one, author in zip(found, workers, strict=True) if one}
        assert await boards.end_task(root, 7, "x", workers[99]) is None, "it has another one"
        done = await boards.end_task(root, 7, "It is 4.", has[7])
        assert done is not None and (done.state, done.result) == ("done", "It is 4.")
        await asyncio.to_thread(state, everybody, "complete")
        again = await boards.take_task(root, 8, workers[99])
        assert again is not None and again.taker == "W99"
        assert await boards.take_task(root, 7, workers[99]) is None, "done stays done"


async def test_w40_a_lost_update_is_an_error_that_shows_what_is_there(tmp_path: Path) -> None:
    script = cast(
        Lead=[
            Turn(Call("board_write", {"key": "plan", "text": "First."})),
            Turn(delegate("Helper", "change it")),
            Turn(Call("board_write", {"key": "plan", "text": "Mine.", "version": 1})),
            Turn(Call("board_write", {"key": "plan", "text": "Both.", "version": 2})),
            Turn(Call("board_read", {"key": "plan"})),
            says("."),
        ],
        Helper=[
            Turn(Call("board_write", {"key": "plan", "text": "Theirs.", "version": 1})),
            repeats,
        ],
        Other=[Turn(Call("board_read", {})), says(".")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await home.engine.rules.trust(home.folder)
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper]", ALL))
        save(home.engine.paths.agents, agent("Helper", "", ALL), agent("Other", "", ALL))
        told = await results(home, "Lead")
        assert told[2][1] and "version 2, by Helper:\nTheirs." in told[2][0]
        assert told[4] == ("plan, version 3, by Lead:\nBoth.", False)
        assert await results(home, "Other") == [("There is nothing on the board.", False)]
        counts = "SELECT count(*) FROM boards, board_entries"
        assert await home.engine.services.database.rows(counts) == [(1,)]
        for info in await home.engine.sessions.list():
            await home.engine.sessions.delete(info.id)
        assert await home.engine.services.database.rows(counts) == [(0,)], "it goes with its chat"


async def test_w40_a_message_wakes_who_waits_on_the_inbox(tmp_path: Path) -> None:
    """It reaches all but its author, each once, and again on request. PRE-35."""
    script = cast(
        Lead=[
            Turn(
                delegate("Waiter", "wait"),
                delegate("Poster", "post"),
            ),
            Turn(Call("inbox", {})),
            Turn(Call("inbox", {})),
            Turn(Call("inbox", {"after": 0})),
            says("."),
        ],
        Waiter=[Turn(Call("inbox", {"channel": "news", "seconds": 600})), repeats],
        Poster=[
            Turn(Call("post", {"text": "The door is open.", "channel": "news"})),
            Turn(Call("inbox", {})),
            repeats,
        ],
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await home.engine.rules.trust(home.folder)
        names = [agent(one, "", ALL) for one in ("Waiter", "Poster")]
        save(home.engine.paths.agents, agent("Lead", "agents: [Waiter, Poster]", ALL), *names)
        *children, first, second, again = [text for text, _ in await results(home, "Lead")]
        # Either child may end first, and its result comes first then.
        posted, waited = sorted(children, key=lambda text: "is posted" not in text)
        assert "Message 1 by Poster to news:\nThe door is open." in waited
        assert "There is no new message." in posted, "not its own"
        assert "The door is open." in first and "no new message" in second
        assert "The door is open." in again


def makes_twice(view: RequestView) -> Turn:
    """Posts and adds a task, again whenever the person says something."""
    if isinstance(view.items[-1], Returned):
        return says(".")
    return Turn(Call("post", {"text": "Ready."}), Call("task_add", {"text": "Look."}))


class KilledStore(BoardStore):
    """Its program is killed when a task is stored, before the agent knows."""

    async def add_task(self, root: Caller, text: str, author: BoardAuthor) -> BoardTask:
        await super().add_task(root, text, author)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


async def be_killed(home_folder: Path) -> None:
    """In a program of its own."""
    async with engine_home(home_folder, "anthropic", makes_twice) as home:
        services = home.engine.services
        services.boards = KilledStore(services.database)
        save(home.engine.paths.agents, agent("Lead", "", ALL))
        await say(await home.session("Lead"))


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
async def test_w40_what_is_made_again_after_a_kill_stands_once(tmp_path: Path) -> None:
    """A task and a message whose call was killed; what the agent says again later is new."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with within():
        assert await program.wait() == -signal.SIGKILL
    async with engine_home(tmp_path, "anthropic", makes_twice) as home, within():
        (info,) = await home.engine.sessions.list()
        session = await home.engine.sessions.open(info.id)
        counts = "SELECT (SELECT count(*) FROM board_messages), (SELECT count(*) FROM board_tasks)"
        rows = home.engine.services.database.rows
        ((messages, tasks),) = await rows(counts)
        assert messages <= 1 and tasks == 1, "what was made before the kill"
        await say(session)
        assert await rows(counts) == [(1, 1)], "once"
        await say(session)
        assert await rows(counts) == [(2, 2)], "the agent knew of the first"


@pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL")
async def test_w40_what_is_said_long_after_a_kill_is_new(tmp_path: Path) -> None:
    """An agent that did not make it again means another one when it says the same later."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, str(tmp_path)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    async with within():
        assert await program.wait() == -signal.SIGKILL
    script = [says("."), Turn(Call("task_add", {"text": "Look."})), says(".")]
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        (info,) = await home.engine.sessions.list()
        session = await home.engine.sessions.open(info.id)
        await say(session)
        await say(session)
        rows = await home.engine.services.database.rows("SELECT text FROM board_tasks")
        assert rows == [("Look.",), ("Look.",)]


async def test_w40_w43_what_strangers_wrote_follows_to_whoever_reads_it(tmp_path: Path) -> None:
    """By a message, a text and a task; a reader of none of these has read nothing of strangers."""
    calls = {
        "inbox": Call("inbox", {}),
        "text": Call("board_read", {"key": "rates"}),
        "task": Call("task_take", {}),
        "all": Call("board_read", {}),
        "late": Call("board_write", {"key": "rates", "text": "x"}),
        "clean": Call("board_read", {"key": "mine"}),
    }
    readers = {name: [Turn(call), says(".")] for name, call in calls.items()}
    writes = [
        Call("notes_detail", {"name": "rates"}),
        Call("post", {"text": "Rates are 10."}),
        Call("board_write", {"key": "rates", "text": "Rates are 10."}),
        Call("task_add", {"text": "Set the rates to 10."}),
    ]
    script = cast(
        Writer=[
            Turn(Call("board_write", {"key": "mine", "text": "Clean."})),
            *map(Turn, writes),
            says("."),
        ],
        **readers,
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():
        await home.engine.rules.trust(home.folder)
        save(home.engine.paths.agents, *(agent(one, "", ALL) for one in readers))
        save(home.engine.paths.agents, agent("Writer", "memory: read", ALL))
        strange = Writer("Coder", "before", keeps=True, origin=lambda: "https://evil.example/")
        notes = Notes(home.engine.services.notes, home.folder, writer=strange)
        await asyncio.to_thread(notes.write, "rates", "Rates are 10 a minute.")
        lead = (await home.session("Writer")).info.id

        async def of_lead(name: str) -> dict[Exposure, str]:
            session = await home.engine.sessions.create(
                folder=str(home.folder), agent=name, provider=home.provider, model="sim-model",
                caller=Caller("session", lead),
            )  # fmt: skip
            await say(session)
            return dict(session.transcript.exposed)

        assert "evil.example" in (await of_lead("Writer"))["untrusted"]
        for name in calls:
            exposed = await of_lead(name)
            if name == "clean":
                assert "untrusted" not in exposed
            else:
                assert "evil.example" in exposed["untrusted"], name


async def test_w40_only_agents_that_name_its_tools_have_them(tmp_path: Path) -> None:
    seen: dict[str, list[str]] = {}

    def script(view: RequestView) -> Turn:
        seen[view.system.split("You are ")[1].split(".")[0]] = [one.name for one in view.tools]
        return says(".")

    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Every", "", '"*"'), agent("One", "", "post, inbox"))
        for name in ("Every", "One"):
            await say(await home.session(name))
        assert "read" in seen["Every"] and not {*BOARD_TOOLS} & {*seen["Every"]}
        assert {*BOARD_TOOLS} & {*seen["One"]} == {"post", "inbox"}


if __name__ == "__main__":
    asyncio.run(be_killed(Path(sys.argv[1])))
