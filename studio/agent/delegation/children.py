"""Children: starts other agents for calls, waits for them, and tells and stops them (W-32)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from studio.agent import prompts
from studio.agent.budget import amount_text
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.services import Services
from studio.agent.session.session import Session
from studio.agent.session.sessions import Sessions
from studio.agent.session.turn_options import ParentTurn
from studio.agent.usage_costs import total
from studio.domain.agents import NO_CAPS, Agent, Caps, DefinedTool
from studio.domain.aio import BackgroundTasks
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ProviderError, StudioError, ToolFailed
from studio.domain.events import (
    ChildWorks,
    Event,
    Exposed,
    Notice,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text
from studio.domain.permissions import Question, Rule, escaped
from studio.domain.records import dataclass
from studio.domain.sessions import Caller, SessionInfo, title_of
from studio.domain.tools import DELEGATE
from studio.tools import Result
from studio.tools.sdk.context import Task

from .child import WAITS, Child, ChildRun
from .child_desk import bring_back_left
from .offers import described, may_start, task_of
from .report import answer_of, ended_as, report
from .tree import AT_A_TIME, DOLLARS, MOST, SHARE


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """Who answers a child."""

    provider: str
    model: str


class ModelChoice(Protocol):
    """Chooses the model of an agent that a session starts, or the one that is named."""

    def __call__(self, agent: str, model: str, caller: SessionInfo) -> Awaitable[ChosenModel]: ...


class WorkflowTool(Protocol):
    """Runs the workflow of a tool for a call of a session; raises ToolFailed."""

    def __call__(
        self,
        caller: Session,
        parent: ParentTurn,
        defined: DefinedTool,
        arguments: JsonObject,
        caps: Caps,
    ) -> Awaitable[Result]: ...


class LateRun(Protocol):
    """Tells what came of a session's call whose program ended while its run went on."""

    def __call__(self, caller: Session, call: ToolBlock) -> Awaitable[list[Event]]: ...


@dataclass(frozen=True, slots=True)
class WorkflowCalls:
    """What runs tools that have a workflow; see ``studio.workflows.workflow_tools``."""

    run: WorkflowTool
    late: LateRun


class Delegation:
    """The children of all sessions of one program, and these sessions."""

    def __init__(self, services: Services, choose: ModelChoice, workflows: WorkflowCalls) -> None:
        """``choose`` raises ConfigurationError for a model that nobody knows."""
        self.services = services
        self.sessions = Sessions(services, self)
        self.choose = choose
        self.workflows = workflows
        self.tasks = BackgroundTasks()
        self.listeners: list[Callable[[Session, Child], None]] = []
        """Called with the caller, whose turn is over, and a child that ends or asks then (W-38)."""
        self._children: dict[str, list[Child]] = {}
        self._places: dict[str, tuple[int, asyncio.Semaphore]] = {}

    def of_call(self, session_id: str, call_id: str) -> CallChildren:
        """What one call of a session may do with its children."""
        return CallChildren(self, session_id, call_id)

    def of(self, session_id: str) -> list[Child]:
        """The children of a session that began since the program started, oldest first."""
        return self._children.get(session_id, [])

    def add(self, session_id: str, child: Child) -> None:
        """Keep a child of a session, in the place of the same one before its turn was stopped."""
        others = (one for one in self.of(session_id) if one.id != child.id)
        self._children[session_id] = [*others, child]

    def tell(self, caller: Session, child: Child) -> None:
        """Call the listeners."""
        for listener in self.listeners:
            listener(caller, child)

    def stop(self, session_id: str) -> None:
        """End the children of a session, and theirs."""
        for child in self.of(session_id):
            if child.works:
                child.session.stop()

    def stop_one(self, session_id: str, child_id: str) -> bool:
        """End one child of a session, by the id of its own; whether it works here."""
        found = [one for one in self.running(session_id) if one.session.info.id == child_id]
        for child in found:
            child.session.stop()
        return bool(found)

    def running(self, session_id: str) -> list[Child]:
        return [one for one in self.of(session_id) if one.works]

    def places(self, session_id: str, most: int) -> asyncio.Semaphore:
        """The places of the children of a session that work at a time (W-34)."""
        known = self._places.get(session_id)
        if known is None or (known[0] != most and not self.running(session_id)):
            known = self._places[session_id] = most, asyncio.Semaphore(most)
        return known[1]

    def news(self, session_id: str) -> list[str]:
        """What the session's agent has not been told of ends in the background (W-38)."""
        told: list[str] = []
        for child in self.of(session_id):
            if child.background and not child.works and not child.told and child.end is not None:
                child.told = True
                told.append(prompts.CHILD_ENDED.format(name=child.name, how=ended_as(child.end)))
        return told

    async def bring_back_left(self) -> None:
        """Make drafts of what children in the background had done when their program was killed."""
        await bring_back_left(self.services, self.sessions)

    async def late_results(self, session_id: str, calls: Iterable[ToolBlock]) -> list[Event]:
        """What came of calls whose program ended while they waited for a child or a run (W-17).

        With the results comes what these expose to (T-9).
        """
        found: list[Event] = []
        for call in calls:
            child = call.child
            if call.state in ("done", "error") or (child is not None and child.background):
                continue
            if child is None:
                if call.name not in self.services.toolbox.tools:  # an agent's file defines it
                    found += await self.workflows.late(await self.sessions.open(session_id), call)
                continue
            events = await self.services.store.events(child.session_id)
            ends = [one for one in events if isinstance(one, TurnStarted | TurnComplete)]
            if not ends or not isinstance(end := ends[-1], TurnComplete) or end.reason != "done":
                continue
            session = await self.sessions.open(child.session_id)
            caller = session.info.caller
            result = await report(
                f"{child.agent} (child {child.session_id[:6]})",
                answer_of(events, one_reply=False),
                end,
                session.transcript.blocks,
                total((await self.services.usage_costs.of_tree(child.session_id)).values()),
                self.services.spill(caller.id if caller else ""),
            )
            known = (await self.sessions.open(session_id)).transcript
            exposed = (Exposed(*one) for one in session.transcript.exposed.items())
            found += [one for one in exposed if known.is_new(one)]
            found.append(ToolFinished(call.call_id, result.text, False, end.seconds, "done"))
        return found

    async def waiting(self, calls: Iterable[ToolBlock]) -> set[str]:
        """The calls whose children waited for the person when their turn was stopped (W-17)."""
        return {
            call.call_id
            for call in calls
            if call.state == "cancelled"
            and call.child is not None
            and not call.child.background
            and await self._waits(call.child.session_id)
        }

    async def _waits(self, session_id: str) -> bool:
        if await self.services.store.get(session_id) is None:  # killed before it was stored
            return False
        calls = (await self.sessions.open(session_id)).transcript.last_calls
        return any(one.unbegun for one in calls) or bool(await self.waiting(calls))


class CallChildren:
    """What one call may do with the children of its session."""

    def __init__(self, delegation: Delegation, session_id: str, call_id: str) -> None:
        self._all = delegation
        self._services = delegation.services
        self._session_id = session_id
        self._call_id = call_id

    async def delegate(self, task: Task) -> Result:
        caller, parent = await self._turn()
        agents = await self._services.agents(
            Path(caller.info.folder), kept=self._services.kept_of(self._session_id)
        )
        starts = may_start(agents.by_name[parent.agent], agents)
        agent = next((a for a in starts if a.name.casefold() == task.agent.casefold()), None)
        if not starts:
            raise ToolFailed(prompts.NO_CHILDREN_HERE)
        if agent is None:
            known = described(starts)
            raise ToolFailed(prompts.NO_SUCH_AGENT.format(agent=task.agent, agents=known))
        await self._require_files(caller, parent, agent, task.files)
        return await self._start(caller, parent, agent, task)

    async def use(self, defined: DefinedTool, arguments: JsonObject) -> Result:
        """Do what a tool does that the agent's file defines: its agent, or the same one."""
        caller, parent = await self._turn()
        if defined.workflow:
            return await self._run_workflow(caller, parent, defined, arguments)
        folder = Path(caller.info.folder)
        agent = await self._services.agent(
            defined.agent or parent.agent, folder, kept=self._services.kept_of(self._session_id)
        )
        if not agent.trusted:
            raise ToolFailed(prompts.NO_CHILDREN_HERE)
        task = Task(agent.name, task_of(defined, arguments), schema=defined.returns or None)
        return await self._start(caller, parent, agent, task, defined.model)

    async def _run_workflow(
        self, caller: Session, parent: ParentTurn, defined: DefinedTool, arguments: JsonObject
    ) -> Result:
        """Do what a tool does that is a workflow: it counts as a child, with a child's cap."""
        places = self._all.places(self._session_id, self._most(parent))
        async with places:
            self._require_room(parent)
            parent.tree.started += 1
            caps = parent.budget.part(SHARE)
            caps = Caps(dollars=DOLLARS) if caps == NO_CAPS else caps
            own = parent.for_call(self._call_id, 0)
            return await self._all.workflows.run(caller, own, defined, arguments, caps)

    async def list(self) -> Result:
        lines: list[str] = []
        for one in self._all.of(self._session_id):
            used = self._services.budgets.used(one.session.info.id)
            how = ended_as(one.end) if one.end is not None else "works"
            cost = f"{used.tokens:,} tokens, ${used.dollars:,.4f}"
            lines.append(f"{one.name} {how}. {cost}. Task: {title_of([Text(one.task)])}")
        return Result("\n".join(lines) or prompts.NO_CHILDREN_YET, f"{len(lines)}", _AGENT)

    async def wait(self, child: str, seconds: float) -> Result:
        found = [self._child(child)] if child else self._all.of(self._session_id)
        if not found:
            raise ToolFailed(prompts.NO_CHILDREN_YET)
        waited = [one for one in found if child or one.background]
        ends = [asyncio.ensure_future(one.ended.wait()) for one in waited]
        try:
            if ends:
                await asyncio.wait(ends, timeout=seconds)
        finally:
            for end in ends:
                end.cancel()
        _, parent = await self._turn()
        texts: list[str] = []
        for one in waited:
            if one.result is not None and (child or not one.given):
                one.told = one.given = True
                texts.append(one.result.text)
                self._take_over(parent, one)
            elif one.works:
                texts.append(prompts.CHILD_WORKS.format(name=one.name))
            elif not one.given:
                one.told = one.given = True
                how = ended_as(one.end) if one.end is not None else "has ended"
                texts.append(f"{one.name} {how}.")
        still = sum(one.works for one in waited)
        summary = f"{still} still at work" if still else "all have ended"
        told = "\n\n".join(texts) or prompts.NO_CHILDREN_YET
        return Result(told, summary, _AGENT, keeps_end=True)

    async def tell(self, child: str, text: str) -> Result:
        one = self._child(child)
        if one.works:
            one.session.steer(one.session.queue.add([Text(text)]))
            return Result(prompts.CHILD_TOLD.format(name=one.name), "told", _AGENT)
        caller, parent = await self._turn()
        one.session = await self._all.sessions.open(one.session.info.id)
        one.call_id, one.background = self._call_id, False
        async with self._all.places(self._session_id, self._most(parent)):
            return await self._work(caller, parent, one, text)

    async def stop(self, child: str) -> Result:
        one = self._child(child)
        one.session.stop()
        await one.ended.wait()
        one.told = True
        return Result(prompts.CHILD_STOPPED.format(name=one.name), "stopped", _AGENT)

    # The pieces

    async def _turn(self) -> tuple[Session, ParentTurn]:
        """The session of the call, and what its running turn hands on."""
        session = await self._all.sessions.open(self._session_id)
        parent = session.as_parent
        if parent is None:
            raise ToolFailed(prompts.NO_CHILDREN_HERE)
        return session, parent

    def _child(self, child: str) -> Child:
        known = self._all.of(self._session_id)
        wanted = child.strip().casefold()
        found = [one for one in known if wanted and one.session.info.id.startswith(wanted)]
        if len(found) != 1:
            names = ", ".join(one.name for one in known) or "none"
            raise ToolFailed(prompts.NO_SUCH_CHILD.format(child=child, known=names))
        return found[0]

    def _most(self, parent: ParentTurn) -> int:
        return parent.children or AT_A_TIME

    async def _require_files(
        self, caller: Session, parent: ParentTurn, agent: Agent, files: Sequence[str]
    ) -> None:
        """Raises ToolFailed for a file that is not there, also as a draft."""
        workspace = await asyncio.to_thread(self._services.workspace, caller.info)

        def look() -> None:
            for path in files:
                if parent.bench is not None and parent.bench.drafts.draft_of(path) is not None:
                    continue
                if not workspace.resolve(path).exists():
                    raise ToolFailed(prompts.NO_SUCH_FILE.format(path=path, agent=agent.name))

        await asyncio.to_thread(look)

    async def _start(
        self, caller: Session, parent: ParentTurn, agent: Agent, task: Task, model: str = ""
    ) -> Result:
        self._require_room(parent)
        most = self._most(parent)
        places = self._all.places(self._session_id, most)
        background = task.background or agent.background
        if background and places.locked():
            raise ToolFailed(prompts.TOO_MANY_AT_A_TIME.format(most=most))
        await places.acquire()
        kept = False
        try:
            self._require_room(parent)  # others may have begun meanwhile
            parent.tree.started += 1
            text = task.text
            if task.files:
                files = "\n".join(f"- {path}" for path in task.files)
                text = prompts.CHILD_TASK.format(task=text, files=files)
            caps = self._caps(parent, agent, task.dollars)
            chosen = await self._chosen(caller, agent, model)
            if background:
                await self._ask(parent, agent, chosen, caps, task)
            left = None if background else await self._left(caller, agent, caps, text)
            child = left or await self._make(caller, agent, chosen, caps, text)
            child.schema, child.background = task.schema, background
            self._all.add(self._session_id, child)
            if not background:
                return await self._work(caller, parent, child, "" if left else text)
            kept = True
            run = self._aside(caller, parent, child)
            caller.state.record(run.news)  # the row of the call names who works from its end on
            self._all.tasks.start(self._work_aside(caller, child, run, text, places))
            if self._session_id in self._services.desks:
                await child.begun.wait()  # it copies this one, which may be gone soon
        finally:
            if not kept:
                places.release()
        return Result(
            prompts.CHILD_STARTED.format(name=child.name, cap=_cap_text(caps)), "started", _AGENT
        )

    def _require_room(self, parent: ParentTurn) -> None:
        if parent.depth == 0:
            raise ToolFailed(prompts.TOO_DEEP)
        if parent.tree.full:
            raise ToolFailed(prompts.TOO_MANY_CHILDREN.format(most=MOST))

    def _caps(self, parent: ParentTurn, agent: Agent, dollars: float) -> Caps:
        """The cap of a child: its own, or a part of what its caller has left (W-35)."""
        caps = agent.caps if agent.caps != NO_CAPS else parent.budget.part(SHARE)
        if caps == NO_CAPS:
            caps = Caps(dollars=DOLLARS)
        return caps.within(Caps(dollars=dollars))

    async def _chosen(self, caller: Session, agent: Agent, model: str) -> ChosenModel:
        """The model that the file names, or that of the caller."""
        if not (model or agent.model or agent.fallback):
            return ChosenModel(caller.info.provider, caller.info.model)
        try:
            return await self._all.choose(agent.name, model, caller.info)
        except (StudioError, ProviderError) as error:
            raise ToolFailed(f"{agent.name} was not started: {error}") from error

    async def _left(self, caller: Session, agent: Agent, caps: Caps, text: str) -> Child | None:
        """The child of this call if it is made again: it waited when its turn was stopped."""
        call = caller.transcript.tool(self._call_id)
        if call is None or call.child is None or call.child.background:
            return None
        session = await self._all.sessions.open(call.child.session_id)
        self._keep_agents(caller, session)
        return Child(session, agent, text, self._call_id, caps)

    async def _make(
        self, caller: Session, agent: Agent, chosen: ChosenModel, caps: Caps, text: str
    ) -> Child:
        info = caller.info
        session = await self._all.sessions.create(
            folder=info.folder,
            agent=agent.name,
            provider=chosen.provider,
            model=chosen.model,
            permission_mode=info.permission_mode,
            title=title_of([Text(text)]),
            model_chosen=True,
            origin=info.origin,
            held=True,
            caller=Caller("session", info.id, self._call_id),
            subject=info.subject,
        )
        self._keep_agents(caller, session)
        return Child(session, agent, text, self._call_id, caps)

    def _keep_agents(self, caller: Session, session: Session) -> None:
        """Let a child work with the agents as its caller has them (W-13)."""
        if (kept := self._services.kept_agents.get(caller.info.id)) is not None:
            self._services.kept_agents[session.info.id] = kept

    async def _ask(
        self, parent: ParentTurn, agent: Agent, chosen: ChosenModel, caps: Caps, task: Task
    ) -> None:
        """Ask the person before a child works on the side, unless a rule allows it (W-35)."""
        if parent.approvals is None:
            raise ToolFailed(prompts.NOT_STARTED)
        spec = self._services.toolbox.tools[DELEGATE].spec
        arguments: JsonObject = {"agent": agent.name}
        decision = await asyncio.to_thread(parent.approvals.policy.decide, spec, arguments)
        if decision.verdict == "allow" and decision.rule is not None:
            return
        question = Question(
            uuid.uuid4().hex,
            self._call_id,
            DELEGATE,
            f"{escape_line(parent.agent, 60)} wants to start {escape_line(agent.name, 60)} in the "
            "background",
            task.text,
            always=(Rule("allow", DELEGATE, escaped(agent.name)),),
            facts=(
                ("model", f"{chosen.provider}/{chosen.model}"),
                ("limit", f"At most {_cap_text(caps)}"),
            ),
        )
        if not await parent.approvals.ask_to_start(question):
            raise ToolFailed(prompts.NOT_STARTED)

    async def _work(self, caller: Session, parent: ParentTurn, child: Child, text: str) -> Result:
        """Run a child while its call waits for it; with no text it goes on."""
        own = parent.for_call(self._call_id, child.agent.depth)
        run = ChildRun(self._services, child, own, parent.record)
        self._share_desk(caller, child)
        try:
            return await run.run([Text(text)] if text else ())
        finally:
            child.told = child.given = True
            self._services.desks.pop(child.session.info.id, None)
            if not caller.state.journal.closed:
                await self._all.sessions.put_away(child.session.info.id)

    def _share_desk(self, caller: Session, child: Child) -> None:
        """Let a child work where its caller does, if that is a desk."""
        desk = self._services.desks.get(caller.info.id)
        if desk is not None:
            self._services.desks[child.session.info.id] = desk

    def _aside(self, caller: Session, parent: ParentTurn, child: Child) -> ChildRun:
        """A child that works in the background."""

        def nobody(event: Event) -> None:
            """Its caller hears with its answer what it was exposed to."""

        def tell(event: Event) -> None:
            if caller.as_parent is not None and not caller.state.journal.closed:
                caller.state.record(event)
            elif isinstance(event, ChildWorks) and event.doing == WAITS:
                self._all.tell(caller, child)

        own = replace(
            parent.for_call(self._call_id, child.agent.depth),
            bench=None,
            bench_call="",
            record=nobody,
        )
        run = ChildRun(self._services, child, own, tell)
        run.wants_desk = True
        return run

    async def _work_aside(
        self, caller: Session, child: Child, run: ChildRun, text: str, places: asyncio.Semaphore
    ) -> None:
        """Run a child in the background, and tell when it has ended (W-38)."""
        try:
            await run.run([Text(text)])
        except StudioError as error:  # it cannot be stored, say
            self._services.report_problem(f"{child.name} has failed: {error}")
        finally:
            places.release()
            child.begun.set()
            self._services.desks.pop(child.session.info.id, None)
        if caller.as_parent is None and child.end is not None:
            with suppress(StudioError):
                how = ended_as(child.end)
                words = f"{child.agent.name}, in the background, {how}."
                await caller.note(run.news, Notice(words))
            self._all.tell(caller, child)

    def _take_over(self, parent: ParentTurn, child: Child) -> None:
        """Its answer exposes the caller to what the child was exposed to (T-9)."""
        exposed = child.session.transcript.exposed
        for one in parent.guard.inherited_exposures(exposed):
            parent.record(one)


_AGENT = ("the agent",)


def _cap_text(caps: Caps) -> str:
    tokens = [amount_text("tokens", caps.tokens)] if caps.tokens else []
    return " and ".join([*tokens, *([f"${caps.dollars:,.4g}"] if caps.dollars else [])])
