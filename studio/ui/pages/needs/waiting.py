"""Finds what waits for the person: questions of chats and their agents, and of runs (W-22).

Also chats and runs that a cap has stopped (L-14, W-20).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date

from studio.agent.budget import Unit
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.agent.turn_budgets import session_caps
from studio.domain.agents import NO_CAPS, Agent, Caps
from studio.domain.blocks import ToolBlock
from studio.domain.errors import StorageError, StudioError
from studio.domain.events import TurnComplete
from studio.domain.run_events import PAUSED_BY_PERSON, CapRaised, CapReached, RunQuestion, StepAsked
from studio.domain.runs import Run
from studio.domain.sessions import SessionInfo
from studio.domain.workflows import Step, Workflow
from studio.storage.config.settings import Settings
from studio.storage.runs import RunStore
from studio.ui.formatting import cap_words, caps_words
from studio.ui.translation import tr
from studio.workflows.cap_offers import CapOffer, cap_offer
from studio.workflows.kept_agents import kept_agents
from studio.workflows.missions.cycles import STALLED
from studio.workflows.run_files import RunFiles

MOST_BEFORE = 3
"""Calls that are shown before a question."""
RECENT = 7 * 86_400
"""Seconds for which a chat that a cap stopped is listed."""
LAST_EVENTS = 8
"""The end of a turn is among so many: notes may follow it."""


@dataclass(slots=True)
class Known:
    """A run after ``count`` of its events.

    ``asked`` has when each question was asked, ``steps`` those of the workflow by their ids, none
    where it cannot be read, ``agents`` those that the run keeps. ``workflow`` is None there.
    ``offer`` is what the run may be given more of after ``offered_at`` of its events.
    """

    run: Run
    steps: Mapping[str, Step]
    agents: Mapping[str, Agent] = field(default_factory=dict[str, Agent])
    count: int = 0
    asked: dict[str, float] = field(default_factory=dict[str, float])
    workflow: Workflow | None = None
    offer: CapOffer | None = None
    offered_at: int = -1


@dataclass(frozen=True, slots=True)
class Waiting:
    """One question. ``session_id`` or ``run_id`` say where it is asked and answered.

    ``group`` is the run or the chats, ``path`` who asks, from the chat or the run on; ``here``
    whether this program can take the answer. ``asker`` is the session that asks, if one does;
    ``item`` whether it works on one of several items. ``offered`` is the cap that an answer
    raises, ``setting`` the one that says how much the cap allows that was reached.
    """

    group: str
    path: tuple[str, ...]
    question: RunQuestion
    since: float
    session_id: str = ""
    run_id: str = ""
    here: bool = True
    asker: str = ""
    item: bool = False
    offered: CapRaised | Caps | None = None
    setting: str = ""


async def count_waiting(engine: Engine, known: dict[str, Known]) -> int:
    """How many questions wait for the person: a chat asks one at a time."""
    asking, capped = await _sessions(engine), await _at_caps(engine)
    return len(asking) + len(capped) + len(await _of_runs(engine, known))


async def find_waiting(engine: Engine, known: dict[str, Known]) -> list[Waiting]:
    """All questions: those of each run, then those of chats, the oldest first.

    ``known`` are the runs that waited before, by id: of these only what is new is read.
    """
    runs, found = await _of_runs(engine, known), await _at_caps(engine)
    for info, path in await _sessions(engine):
        session = await engine.sessions.open(info.id)
        found += [
            Waiting(
                *(tr("Chats"), path, question, info.updated, info.id),
                here=session.running,
                asker=info.id,
            )
            for question in _questions(session)
        ]
    return runs + sorted(found, key=lambda one: one.since)


async def _at_caps(engine: Engine) -> list[Waiting]:
    """The chats that a cap has stopped: until they are opened, go on, or the cap is lifted.

    A chat's own cap is doubled here, what an earlier version stored has its answers in its chat.
    """
    found: list[Waiting] = []
    for info in await engine.store.unseen_limits(time.time() - RECENT):
        events = await engine.store.recent_events(info.id, LAST_EVENTS)
        ends = ((at, one) for at, one in reversed(events) if isinstance(one, TurnComplete))
        at, end = next(ends, (0.0, None))
        if end is None or not end.cap or _is_lifted(info, at, end, engine.settings.values):
            continue
        offered = engine.budgets.twice_the_cap(info, end) if end.limit else None
        asks = RunQuestion(f"limit {info.id} {at} {offered}", "paused", end.detail)
        setting = _setting_of(end.cap, _unit_of(end))
        if offered is not None:  # another amount is another question
            asks = replace(asks, choices=("raise",), abouts=(cap_words(offered, end.reason),))
        elif end.limit:
            asks = replace(asks, choices=("settings",) if setting else ("go_on",))
        found.append(
            Waiting(
                *(tr("Chats"), (info.title, info.agent), asks, at, info.id),
                asker=info.id,
                offered=offered,
                setting=setting,
            )
        )
    return found


def _unit_of(end: TurnComplete) -> Unit:
    return "dollars" if end.reason == "money_limit" else "tokens"


def _setting_of(cap: str, unit: str) -> str:
    """The setting of a cap of a day, a month or an hour; empty for another one."""
    if cap == "hour":
        return "requests_per_hour"
    return f"{cap}_{unit}" if unit and cap in ("day", "month") else ""


def _is_lifted(info: SessionInfo, at: float, end: TurnComplete, values: Settings) -> bool:
    """Whether the cap that ended a turn was raised since, or its day or month is over."""
    if end.cap != "session":
        return _is_past(end.cap, at) or _is_raised(_setting_of(end.cap, _unit_of(end)), end, values)
    most = getattr(session_caps(info, values), _unit_of(end))
    return not most or 0 < end.limit < most


def _is_past(cap: str, at: float) -> bool:
    """Whether the hour, day or month is over in which a cap was reached."""
    today, then = date.today(), date.fromtimestamp(at)
    month = today.replace(day=1) != then.replace(day=1)
    over = {"hour": time.time() - at > 3600, "day": today != then, "month": month}
    return over.get(cap, False)


def _is_raised(setting: str, reached: TurnComplete | CapReached, values: Settings) -> bool:
    """Whether a setting, if the cap is one, allows more than when that was reached."""
    most = getattr(values, setting, -1)
    return not most or 0 < reached.limit < most


async def _of_runs(engine: Engine, known: dict[str, Known]) -> list[Waiting]:
    found: list[Waiting] = []
    store = RunStore(engine.database)
    files = RunFiles(engine, store)
    waiting = await store.waiting()
    for run_id in known.keys() - set(waiting):
        del known[run_id]
    for run_id in waiting:
        one = await _read(files, store, run_id, known)
        run, started = one.run, one.run.started
        if started is None:
            continue
        group = tr("{name}, run {number}").format(name=started.name, number=started.number)
        for step, question in run.questions:
            path = question.path or (started.name, step.step or tr("Merge"))
            since = one.asked.get(question.id, run.changed)
            asker, item = question.session_id, run.is_of_item(step, question)
            found.append(
                Waiting(group, path, question, since, run_id=run_id, asker=asker, item=item)
            )
        asks = started.mission or run.paused_at
        if run.end is None and asks and (run.paused or "") not in PAUSED_BY_PERSON:
            offer = await _offer(files, store, one)
            raised, way = (offer.raised, offer.way) if offer is not None else (None, ())
            pause, path = _pause(one, raised, engine.settings.values), (started.name, *way)
            waits = Waiting(group, path, pause, run.changed, run_id=run_id, offered=raised)
            found.append(replace(waits, setting=_setting_at(run)))
    return found


async def _offer(files: RunFiles, store: RunStore, one: Known) -> CapOffer | None:
    """What a paused run may be given more of: of its own caps, or those of a run below."""
    if one.workflow is not None and one.offered_at != one.count:
        one.offer = await cap_offer(files, store, one.run, one.workflow)
        one.offered_at = one.count
    return one.offer


async def just_before(engine: Engine, asker: str) -> Sequence[ToolBlock]:
    """The last calls that were over when a session asked, the newest last."""
    if not asker:
        return ()
    try:
        blocks = (await engine.sessions.transcript(asker)).blocks
    except StorageError:  # it was deleted meanwhile
        return ()
    calls = [one for one in blocks if isinstance(one, ToolBlock) and one.finished]
    return calls[-MOST_BEFORE:]


def _setting_at(run: Run) -> str:
    """The setting of the cap that a run is paused at; empty for one that is no setting."""
    return _setting_of(run.reached.cap, run.reached.unit) if run.reached is not None else ""


def _pause(one: Known, raised: CapRaised | None, values: Settings) -> RunQuestion:
    """A run does not go on at a limit, which would be reached again at once.

    Its own cap, or that of a run below, is doubled here, one of a day is a setting, and any other
    limit is raised at the run. What happens to a paused run makes it another question, as other
    answers do: an answer is for what was read.
    """
    run = one.run
    doubtful = bool(run.cycles) and run.cycles[-1].passed
    goes_on, setting, reached = run.reason == STALLED or doubtful, _setting_at(run), run.reached
    if reached is not None:
        goes_on |= _is_past(reached.cap, run.changed)
        goes_on |= _is_raised(setting, reached, values)
    choices = ("go_on", "stop") if goes_on else ("settings", "stop") if setting else ("stop",)
    if raised is not None:
        return raise_question(run, one.count, raised)
    id = f"paused {run.id} {one.count} {choices[0]}"
    return RunQuestion(id, "paused", run.reason, choices=choices, abouts=("", ""))


def raise_question(run: Run, count: int, raised: CapRaised) -> RunQuestion:
    """Whether a run that is paused at a cap may use what ``raised`` says, after ``count`` events.

    Another event, or another cap, makes it another question.
    """
    words = caps_words(raised if not raised.minutes else replace(raised, caps=NO_CAPS))
    id = f"paused {run.id} {count} raise {raised.run_id} {raised.step} {words}"
    return RunQuestion(id, "paused", run.reason, choices=("raise", "stop"), abouts=(words, ""))


async def _read(files: RunFiles, store: RunStore, run_id: str, known: dict[str, Known]) -> Known:
    one = known.get(run_id)
    new = await store.events(run_id, one.count if one is not None else 0)
    if one is None:
        run = Run(new[:1])
        workflow: Workflow | None = None
        with suppress(StudioError):
            workflow = await files.workflow_of(run)
        steps = {step.id: step for step in workflow.steps} if workflow is not None else {}
        parts = run.started.parts if run.started is not None else {}
        agents = await kept_agents(store, parts)
        one = known[run_id] = Known(Run(), steps, agents, workflow=workflow)
    for at, event in new:
        one.run.apply(at, event)
        if isinstance(event, StepAsked):
            one.asked.setdefault(event.question.id, at)
    one.count += len(new)
    return one


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
            abouts = tuple(one.about for one in asked.choices)
            found.append(RunQuestion(block.call_id, "reply", words, choices=choices, abouts=abouts))
    return found
