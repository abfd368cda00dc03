"""What must hold of a story's session whenever nothing runs."""

from __future__ import annotations

import asyncio
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from studio.agent.changes.undo import paths_to_show
from studio.domain.blocks import FilesBlock, ToolBlock
from studio.domain.events import (
    FilesRestored,
    MessageTaken,
    Steered,
    TurnComplete,
    TurnStarted,
)
from studio.domain.transcript import Transcript
from support.waiting import HANG

if TYPE_CHECKING:
    from support.story_runner import StoryRunner


async def check_all(world: StoryRunner) -> None:
    session = world.session
    assert not world.wrong, world.wrong
    assert not world.simulator.violations, world.simulator.violations
    for one in (session, *world.children):
        assert not one.running
        assert not one.transcript.running
        assert one.as_parent is None
        assert all(b.finished for b in one.transcript.blocks if isinstance(b, ToolBlock))
        assert one.info.state not in ("running", "waiting")
    await check_storage(world)
    await check_histories(world)
    await check_usage(world)
    await check_files(world)
    await check_nothing_runs()


async def check_storage(world: StoryRunner) -> None:
    """What is on disk says the same as what is shown; every turn ended once (L-2)."""
    session, store = world.session, world.engine.store
    await session.drafts.settled()  # a stopped turn leaves the file that it writes to its end
    await session.flush()
    events = await store.events(world.session_id)
    again = Transcript(events)
    live = session.transcript
    for number, (stored, shown) in enumerate(zip(again.blocks, live.blocks, strict=False)):
        assert stored == shown, f"block {number} of {len(live.blocks)}"
    assert len(again.blocks) == len(live.blocks), (again.blocks[-3:], live.blocks[-3:])
    assert (again.told, again.stale, again.queued) == (live.told, live.stale, live.queued)
    assert (again.exposed, again.total_usage) == (live.exposed, live.total_usage)
    assert live.drafts == session.drafts.all or world.torn
    if not world.torn:
        ends = [type(e) for e in events if isinstance(e, TurnStarted | TurnComplete)]
        assert ends == [TurnStarted, TurnComplete] * (len(ends) // 2)
        for taken, begun in pairwise(events):  # one write, or a crash between them loses it
            if isinstance(taken, MessageTaken) and taken.message_id not in world.removed:
                assert isinstance(begun, TurnStarted | Steered), begun
    assert not await store.damage(world.session_id)
    assert world.session_id not in await store.interrupted()


async def check_histories(world: StoryRunner) -> None:
    """H-1, H-9: what is stored is sound, and each request's prefix lies on its chain."""
    store = world.engine.store
    chains: dict[int, list[str]] = {}
    native = None
    for info in await store.epochs(world.session_id):
        native = await store.native(world.session_id, info.number)
        assert native is not None
        if (world.session_id, info.number) not in world.damaged:
            assert native.damage == ""
            chains[info.number] = native.chain
    for entry in await store.ledger(world.session_id):
        sent = entry.sent
        if sent is not None and sent.epoch in chains:
            assert chains[sent.epoch][sent.items] == sent.prefix
    if native is not None and native.epoch in chains:
        provider = await world.engine.provider(native.provider)
        assert provider.history_problem(native.items) == ""


async def check_usage(world: StoryRunner) -> None:
    """L-14: no request is on its way, so nothing is set aside for one."""
    info = world.session.info
    agent = await world.engine.agent("Coder", world.work)
    for account in (await world.engine.services.budgets.for_turn(info, agent, None)).accounts:
        assert account.open == 0
        assert account.reserved.tokens == 0 and abs(account.reserved.dollars) < 1e-9
        assert account.used.tokens >= 0


async def check_files(world: StoryRunner) -> None:
    """T-5: what drafts and turns say of files is what is there."""
    for path, expected in world.written.items():
        file = world.work / path
        assert (file.read_bytes() if file.is_file() else None) == expected, path
    if world.torn:
        return
    changes = world.engine.store.changes
    for block in world.session.transcript.blocks:
        if isinstance(block, FilesBlock):
            assert (
                paths_to_show(await changes.of_turn(world.session_id, block.turn_id)) == block.paths
            )


async def check_restored_files(world: StoryRunner, event: FilesRestored) -> None:
    """What was undone is as it was before the turn; what was done again, as after it."""
    for change in await world.engine.store.changes.of_turn(world.session_id, event.turn_id):
        if change.path in event.paths and event.paths:
            entry = change.before if event.undone else change.after
            assert (world.work / change.path).exists() == (entry is not None), change.path


async def check_nothing_runs() -> None:
    """L-11: nothing that was begun runs on; a look at the folder may come to its end."""
    own = asyncio.current_task()
    loop = asyncio.get_running_loop()
    until = loop.time() + HANG
    while left := [task for task in asyncio.all_tasks() if task is not own and not _stays(task)]:
        assert loop.time() < until, left
        await asyncio.wait(left, timeout=0.05)
    if sys.platform == "linux":
        while alive := _children():
            assert loop.time() < until, alive
            await asyncio.sleep(0.005)


def _stays(task: asyncio.Task[object]) -> bool:
    """Of the simulator, which keeps its connections, or of the test."""
    code = getattr(task.get_coro(), "cr_code", None)
    file = Path(code.co_filename) if code else Path()
    return "simulator" in file.parts or Path(__file__).parent in file.parents


def _text(file: Path) -> str:
    """What a file of a process says; nothing if the process is gone."""
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _children(parent: str = "self") -> list[str]:
    """The names of child processes that are not over; the keeper counts by its own children."""
    found: list[str] = []
    for listed in Path(f"/proc/{parent}/task").glob("*/children"):
        for number in _text(listed).split():
            _, _, rest = _text(Path(f"/proc/{number}/stat")).partition("(")
            name, _, state = rest.rpartition(")")
            if name == "studio-keeper" and parent == "self":
                found += _children(number)
            elif state and state.split()[0] != "Z":
                found.append(name)
    return found
