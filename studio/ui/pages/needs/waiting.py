"""Finds what waits for the person: questions of chats and their agents, and of runs (W-22)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.blocks import ToolBlock
from studio.domain.run_events import RunQuestion
from studio.domain.runs import Run
from studio.domain.sessions import SessionInfo
from studio.storage.runs import RunStore
from studio.ui.translation import tr

Known: TypeAlias = tuple[Run, int]
"""A run after so many of its events."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One question. ``session_id`` or ``run_id`` say where it is asked and answered.

    ``group`` is the run or the chats, ``path`` who asks, from the chat or the run on; ``here``
    whether this program can take the answer.
    """

    group: str
    path: tuple[str, ...]
    question: RunQuestion
    since: float
    session_id: str = ""
    run_id: str = ""
    here: bool = True


async def count_waiting(engine: Engine) -> int:
    """How many chats, agents and runs wait for the person."""
    return len(await _sessions(engine)) + len(await RunStore(engine.database).waiting())


async def find_waiting(engine: Engine, known: dict[str, Known]) -> list[Waiting]:
    """All questions: those of each run, then those of chats, the oldest first.

    ``known`` are the runs that waited before, by id: of these only what is new is read.
    """
    found: list[Waiting] = []
    store = RunStore(engine.database)
    waiting = await store.waiting()
    for run_id in known.keys() - set(waiting):
        del known[run_id]
    for run_id in waiting:
        run = await _read(store, run_id, known)
        started = run.started
        if started is None:
            continue
        group = tr("{name}, run {number}").format(name=started.name, number=started.number)
        for step, question in run.questions:
            path = question.path or (started.name, step.step or tr("Merge"))
            found.append(Waiting(group, path, question, run.changed, run_id=run_id))
    for info, path in await _sessions(engine):
        session = await engine.sessions.open(info.id)
        found += [
            Waiting(tr("Chats"), path, question, info.updated, info.id, here=session.running)
            for question in _questions(session)
        ]
    return found


async def _read(store: RunStore, run_id: str, known: dict[str, Known]) -> Run:
    run, count = known.get(run_id) or (Run(), 0)
    new = await store.events(run_id, count)
    for at, event in new:
        run.apply(at, event)
    known[run_id] = run, count + len(new)
    return run


async def _sessions(engine: Engine) -> list[tuple[SessionInfo, tuple[str, ...]]]:
    """The sessions that wait, with who asks; what its caller asks for it too is the caller's."""
    waiting = {info.id: info for info in await engine.store.waiting()}
    found: list[tuple[SessionInfo, tuple[str, ...]]] = []
    for info in waiting.values():
        caller, path = info.caller, [info.agent]
        if caller is not None and (caller.kind == "run" or caller.id in waiting):
            continue
        while caller is not None:
            if caller.kind == "run" or not (above := await engine.store.some([caller.id])):
                break
            caller = above[0].caller
            path.insert(0, above[0].agent if caller is not None else above[0].title)
        found.append((info, tuple(path if len(path) > 1 else (info.title, info.agent))))
    return sorted(found, key=lambda one: one[0].updated)


def _questions(session: Session) -> Sequence[RunQuestion]:
    found = [
        RunQuestion(one.id, "permission", one.title, one.detail, session_id=session.info.id)
        for one in session.transcript.questions
    ]
    for block in session.transcript.blocks:
        if isinstance(block, ToolBlock) and block.state == "waiting" and block.form is not None:
            words = tr("{server} asks").format(server=block.form.server)
            found.append(RunQuestion(block.call_id, "reply", words, server=block.form))
        elif isinstance(block, ToolBlock) and block.state == "waiting" and block.asks:
            asked = block.asks[0]
            choices = tuple(one.text for one in asked.choices)
            words = asked.text if len(block.asks) == 1 else tr("Several questions")
            found.append(RunQuestion(block.call_id, "reply", words, choices=choices))
    return found
