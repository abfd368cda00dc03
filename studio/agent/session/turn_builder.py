"""The turn builder: chooses the model, agent, history, rules, limits and guards of a turn."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from studio.agent.agent_files.finder import place
from studio.agent.budget import Budget
from studio.agent.changes.undo import Undo
from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.context.compaction import Compactor
from studio.agent.context.summarizer import ModelAccess
from studio.agent.delegation.offers import Delegation
from studio.agent.delegation.tree import DEPTH, Tree
from studio.agent.loop.agent_loop import AgentLoop, CallLoop
from studio.agent.loop.bench import Bench
from studio.agent.loop.guards import AnswerGuard, NewsGuard, PlanGuard, RepetitionGuard
from studio.agent.loop.model_request import ModelRequests
from studio.agent.loop.tool_runner import ToolRunner
from studio.agent.loop.turn import Turn
from studio.agent.loop.turn_context import Guard, TurnContext, TurnEvents, TurnFrame, TurnState
from studio.agent.loop.wrap_up import WrapUpGuard
from studio.agent.permission.approval import Above, Approvals
from studio.agent.permission.policy import COMMAND
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.prompts import RESULT_MISSING, TAKE_OVER
from studio.agent.request_gate import Asker
from studio.agent.request_meter import RequestMeter
from studio.agent.services import Services
from studio.agent.usage_costs import token_rates
from studio.domain.agents import Agent, longer
from studio.domain.aio import BackgroundTasks
from studio.domain.blocks import ToolBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    CompletionReason,
    Event,
    Exposed,
    MessageQueued,
    Notice,
    Routed,
    Told,
    ToolFinished,
    TurnStarted,
)
from studio.domain.messages import File, Image, Said, ToolCall, ToolResult
from studio.domain.models import Generation
from studio.domain.permissions import Answer, Layer, Rule
from studio.domain.questions import AskedQuestion, Choice
from studio.domain.sessions import SessionInfo
from studio.domain.tools import RUN
from studio.processes.environment import EnvironmentOnDemand
from studio.tools import Workspace

from .agent_setup import AgentSetup, ToolSetup, load_agent_setup, load_call_setup
from .chat_hooks import ChatHooks
from .guidance import Guidance, Sources
from .memory import NoteTitles
from .model_router import STUCK
from .native_history import HistoryBasis, NativeHistory, is_blank
from .orientation import Ground, Orienter
from .session_state import SessionState
from .turn_options import ParentTurn, TurnOptions
from .turn_rights import TurnRights
from .turn_updates import TurnUpdates

SEND, NO_SENDING = "Yes, send it", "No, send nothing"
_AGREES = re.compile(rf"\s*(?:y|yes|{SEND}|ja|ja, senden)[.!]?\s*", re.I)
"""All of such an answer: “yes, but without the name” is none."""
FOUND = Exposed("untrusted", "what the provider finds on the web")


class TurnBuilder:
    """Builds the turns of one session, and holds what they share."""

    def __init__(
        self,
        session: SessionState,
        services: Services,
        delegation: Delegation,
        undo: Undo,
        *,
        new: bool = False,
    ) -> None:
        self.history = NativeHistory(session.store, session.info.id, new=new)
        self.hooks = ChatHooks(session, services)
        self.compactor = Compactor(
            session,
            self.history,
            lambda: services.settings.values.summarise,
            self.hooks.compacting,
        )
        self.opened: list[Event] = []
        """The events of opening the history for the turn that is being built."""
        self.steering: deque[MessageQueued] = deque()
        """Queued messages that the running turn reads with its next request."""
        self.escalates: tuple[CompletionReason, ...] = ()
        """The ends of the running turn after which the next tier takes over."""
        self.parent: ParentTurn | None = None
        """What the running turn hands on to the turns that it begins."""
        self._session = session
        self._services = services
        self._delegation = delegation
        self._undo = undo
        self._rights = TurnRights(session, services, delegation)
        self.content_filter = self._rights.content_filter
        self._ledger: CacheLedger | None = None
        self._notices: tuple[str, ...] = ()
        """The last notices about the folder's rules and the agent; each is shown once."""
        self._message_budget: Budget | None = None
        self._approvals: Approvals | None = None
        """Those of the running turn."""
        self._let_go: set[str] = set()
        """The reasons against a request that the person was asked about, and let go."""
        self._rules = session.rules
        """Those of the chat: its own, or of the one whose child it is."""
        self._tasks = BackgroundTasks()
        self.recorder = services.exchanges.recorder(session.info.id, new=new)

    async def turn(self, started: TurnStarted, options: TurnOptions) -> Turn:
        """Build the next turn; raises ConfigurationError or ProviderError for what is missing."""
        self._services.acts.close()  # no code of an agent may get what a door has
        if options.call is not None:
            return await self._turn_of_call(started, options, options.call)
        self._add_client_results(options.results)
        calls = self._session.transcript.last_calls
        for late in await self._delegation.late_results(self._session.info.id, calls):
            self._session.record(late)
        if not options.escalated:
            self._message_budget = None
        routed = await self._route(started.said, options)
        setup = await self.setup(options)
        budget = await self._budget(setup.agent, options)
        session, info = self._session, self._session.info
        # A client that asks a bare model has the conversation, and its answer once that is stored.
        asked_by_client = info.origin == "server" and options.within is not None
        self.history.awaits_disk = not (asked_by_client and setup.agent.bare)
        again = await self._unended(started, options)
        is_new = await self._open(started, setup, routed, again)
        if self._ledger is None:
            self._ledger = CacheLedger(None if is_new else await session.store.last_sent(info.id))
        mode = routed[0].mode if routed else options.mode or setup.agent.mode
        mode = longer(mode, options.least)
        limits = options.limits or self._services.limits(setup.agent, mode)
        state = TurnState(limits)
        model = self.model_access(setup, budget, self._ledger.sent_last)
        access = await self._rights.access(setup, options, self._rules, model)
        if options.opening and RUN not in {one.name for one in access.offered}:
            raise ConfigurationError(
                f"What you called runs commands, and {setup.agent.name} may run none now. Choose "
                "another agent, or leave the plan mode."
            )
        schema = options.generation.schema
        orienter = self._orienter(setup, access)
        guidance = self._guidance(setup, access) if orienter is not None else None
        titles = NoteTitles(
            setup.agent, access.notes, access.guard, self.content_filter, session.record
        )
        await self._begin(started, setup, access, options)
        updates = TurnUpdates(session, self.history, setup, schema, orienter, guidance, titles)
        context = TurnContext(
            started=replace(
                started,
                provider=info.provider,
                model=info.model,
                mode=mode,
                again=tuple(call.id for call, made in self.history.unmade if made is None),
            ),
            access=model,
            history=self.history,
            compactor=self.compactor,
            ledger=self._ledger,
            updates=updates.untold,
            close=lambda: self._close(started.turn_id, options.parent),
            generation=_generation(options.generation, info, setup.agent),
            steering=self.steering,
            opened=self.opened,
            recorder=self.recorder if self._services.settings.values.records_exchanges else None,
            opening=options.opening,
            resumable=options.resumable,
        )
        guards: list[Guard] = []
        events, tools = self._tools(access, state, budget, guards, options, setup)
        guards[:0] = [
            RepetitionGuard(self._undo.found),
            WrapUpGuard(budget, tools.approvals.ask_ahead if limits.extensible else None),
            PlanGuard(session.transcript),
            NewsGuard(lambda: self._delegation.news(info.id)),
            *([guidance] if guidance is not None else []),
            *(options.parent.guards if options.parent is not None else ()),
            *([AnswerGuard(schema)] if schema is not None and options.generation.corrected else []),
        ]
        requests = ModelRequests(context, state)
        return Turn(AgentLoop(context, state, events, requests, tools, guards))

    async def _turn_of_call(
        self, started: TurnStarted, options: TurnOptions, call: ToolCall
    ) -> Turn:
        """A turn that makes one call, without a model and without an agent's file."""
        if not self._session.journal.unwritten:
            await self._session.rules.refresh()  # another program may have changed them
        setup = await load_call_setup(self._session.info, self._services, call.name)
        budget = await self._budget(setup.agent, options)
        access = await self._rights.access(setup, options, self._rules)
        await self._begin(started, setup, access, options)
        context = TurnFrame(
            started=started,
            history=self.history,
            close=lambda: self._close(started.turn_id, options.parent),
            opened=self.opened,
        )
        limits = options.limits or self._services.limits(setup.agent, "background")
        state = TurnState(limits)
        events, tools = self._tools(access, state, budget, [], options, setup)
        return Turn(CallLoop(context, state, events, tools, call))

    async def _begin(
        self, started: TurnStarted, setup: ToolSetup, access: ToolAccess, options: TurnOptions
    ) -> None:
        """Collect what the turn is exposed to in ``opened``, and look at the folder's files."""
        self.opened += self.hooks.taken_notices()
        if options.parent is not None:
            self.opened += access.guard.inherited_exposures(options.parent.guard.exposed)
        if not setup.agent.trusted:
            self.opened += access.guard.exposed_by_folder(place(setup.agent))
        acts = access.acts and access.workspace.desk is None
        await self._undo.begin(started.turn_id, str(access.workspace.origin), acts=acts)

    def _tools(
        self,
        access: ToolAccess,
        state: TurnState,
        budget: Budget,
        guards: list[Guard],
        options: TurnOptions,
        setup: ToolSetup,
    ) -> tuple[TurnEvents, ToolRunner]:
        session, agent = self._session, setup.agent
        events = TurnEvents(session.record, state, guards)
        parent, asked = options.parent, None
        hooks = self.hooks.of_turn(
            setup.hooks, access, events.emit, child=bool(parent and parent.call_id)
        )
        guards.append(hooks)  # the last one: it hears of an answer that all others take
        if parent is not None and parent.approvals is not None:
            asked = Above(parent.approvals, parent.call_id)
        approvals = Approvals(
            access, session.transcript, state.clock, events.emit, self._remember, asked
        )
        bench, bench_call = parent.bench if parent else None, parent.bench_call if parent else ""
        if bench is None:
            acting = self._undo.acting if access.workspace.desk is None else nullcontext
            bench, bench_call = Bench(session.drafts, events.emit, acting), ""
        ceiling = access.policy.for_children()
        self._rules.attach(ceiling)
        self.parent = ParentTurn(
            budget,
            ceiling,
            access.guard,
            events.emit,
            approvals,
            bench,
            bench_call,
            rules=self._rules,
            masks=self.content_filter.kinds,
            tree=parent.tree if parent is not None else Tree(),
            depth=_depth(parent, agent),
            agent=agent.name,
            children=agent.children,
            resumable=options.resumable,
        )
        self._approvals = approvals
        return events, ToolRunner(
            self._services,
            access,
            approvals,
            bench,
            state.limits,
            hooks,
            options.generation.calls,
            bench_call,
        )

    async def _open(
        self,
        started: TurnStarted,
        setup: AgentSetup,
        routed: Sequence[Routed],
        again: Collection[str],
    ) -> bool:
        """Open the history for a message, and collect the events of that in ``opened``.

        Returns whether nothing was ever sent before.
        """
        for block in started.said:
            if reason := setup.provider.media_problem(block, setup.facts):
                raise ConfigurationError(f"{reason} Remove it, or choose another model.")
        is_new = self.history.new
        self.opened = [*routed, *await self.open(setup, again)]
        self.opened += [Notice(one) for one in setup.notices if one not in self._notices]
        self._notices = setup.notices
        if any(spec.hosted for spec in setup.offered):  # its results do not pass the content filter
            seen = self._session.transcript
            known = "untrusted" in seen.exposed and not seen.exposed_by_own
            self.opened += [] if known else [FOUND]
        if is_blank(started.said) and (started.said or not self.history.items):
            raise ConfigurationError("There is nothing to send. Write a message first.")
        return is_new

    async def _unended(self, started: TurnStarted, options: TurnOptions) -> set[str]:
        """The calls to make again of a turn that was stopped: they, or who works for them, waited.

        A child that is told something new was stopped itself, and not with its caller.
        """
        caller = self._session.info.caller
        stopped = bool(started.said) and caller is not None and caller.kind == "session"
        if not options.resumable or stopped:
            return set()
        blocks = self._session.transcript.blocks
        newest = {one.call_id: one for one in blocks if isinstance(one, ToolBlock)}
        unbegun = {id for id, one in newest.items() if one.unbegun}
        return unbegun | await self._delegation.waiting(newest.values())

    async def _remember(self, rule: Rule, answer: Answer) -> None:
        if answer == "session":
            await self._rules.add(rule)
        else:
            folder = Path(self._session.info.folder) if answer == "folder" else None
            await self._services.rules.add(rule, folder)
            self._rules.apply(rule)

    async def setup(self, options: TurnOptions | None = None) -> AgentSetup:
        """The agent with its provider and tools; raises ConfigurationError or ProviderError."""
        options = options or TurnOptions()
        above = options.parent
        rules = self._rules = (above.rules if above else None) or self._session.rules
        if not self._session.journal.unwritten:
            await rules.refresh()  # another program may have changed them
        given: dict[Layer, Sequence[Rule]] = {"session": rules.known, "turn": options.rules}
        info = self._session.info
        if options.agent:
            info = replace(info, agent=options.agent)
        return await load_agent_setup(
            info,
            self._services,
            given,
            options.ceiling,
            options.tools,
            delegates=above is None or above.may_start,
            just_read=self.hooks.taken_reading(),
        )

    def _add_client_results(self, results: Sequence[ToolResult]) -> None:
        """Record the results of the calls that the last turn handed over to the client."""
        brought = {result.call_id: result for result in results}
        for call in self._session.transcript.handed_over:
            result = brought.get(call.call_id)
            if result is None:
                self._session.record(
                    ToolFinished(call.call_id, RESULT_MISSING, is_error=True, seconds=0.0)
                )
                continue
            images = tuple(part for part in result.content if isinstance(part, Image))
            self._session.record(
                ToolFinished(call.call_id, result.text, result.is_error, 0.0, images=images)
            )
            self._session.record(Exposed("private", f"{call.name}, a tool of the client"))
            self._session.record(Exposed("untrusted", f"{call.name}, a tool of the client"))

    async def _route(self, said: Sequence[Said], options: TurnOptions) -> list[Routed]:
        """Choose the model for this turn, and change the session to it (L-13)."""
        routing = self._services.router
        self.escalates = ()
        if not routing.on:
            return []
        info, routed = self._session.info, None
        agent = await self._services.agent(
            options.agent or info.agent, Path(info.folder), kept=self._services.kept_of(info.id)
        )
        if options.escalated:
            routed = await routing.escalate(info, agent, said, options.mode)
            self._session.pending.notes.append(Told("stall", TAKE_OVER))
        elif said:
            begun = bool(self._session.transcript.total_usage.total)
            budget = await self._budget(agent, options)
            routed = await routing.route(
                info, agent, said, begun=begun, mode=options.mode, budget=budget
            )
        if routed and (routed.provider, routed.model) != (info.provider, info.model):
            await self._session.change(
                provider=routed.provider, model=routed.model, model_chosen=False
            )
        if not options.bounded and await routing.escalate(
            self._session.info, agent, said, options.mode
        ):
            self.escalates = STUCK[routed.mode if routed else options.mode or agent.mode]
        return [routed] if routed else []

    async def _budget(self, agent: Agent, options: TurnOptions) -> Budget:
        """The budget of all requests for one message (L-14)."""
        if self._message_budget is None:
            caps = options.caps.within(agent.caps)
            capped = agent if caps == agent.caps else replace(agent, caps=caps)
            above = options.parent.budget if options.parent else None
            new = self.history.new
            self._message_budget = await self._services.budgets.for_turn(
                self._session.info,
                capped,
                above,
                new=new,
                long=(options.mode or agent.mode) == "long",
            )
        return self._message_budget

    async def _close(self, turn_id: str, parent: ParentTurn | None) -> Sequence[Event]:
        """Record what a turn changed, and pass on to its parent what it was exposed to."""
        if self._approvals is not None:
            self._approvals.end()
        await self.hooks.end_turn()
        if parent is not None and self.parent is not None:
            for exposed in parent.guard.inherited_exposures(self.parent.guard.exposed):
                parent.record(exposed)
        return await self._undo.end(turn_id)

    async def open(self, setup: AgentSetup, again: Collection[str] = ()) -> list[Event]:
        """Open the native history, or begin a new one; returns the events of that."""
        transcript = self._session.transcript
        stale = transcript.stale
        basis = HistoryBasis(
            setup.provider,
            setup.model,
            setup.prompt.instructions,
            setup.offered,
            transcript.conversation,
            setup.facts,
        )
        epoch = self._session.pending.epoch
        calls = [block for block in transcript.blocks if isinstance(block, ToolBlock)]
        events = await self.history.open(basis, epoch, calls, again)
        if stale:
            events += await self.history.renew(stale, quiet=True)
        return events

    def model_access(self, setup: AgentSetup, budget: Budget, size: int) -> ModelAccess:
        """The model for a turn's requests, which send some ``size`` tokens."""
        info, facts = self._session.info, setup.facts
        rates = token_rates(info.provider, setup.model, max(size, 1), facts)
        meter = RequestMeter(budget, self._services.budgets.rate, rates)
        policy = self._services.retry_policy
        asker = Asker(setup.agent.name, self._said, self._may_send)
        gate = self._services.gate(info.subject, asker)
        return ModelAccess(setup.provider, setup.model, facts, info.id, meter, policy, gate)

    def _said(self) -> str:
        """All that was said to the agent in this chat, also in text files."""
        texts: list[str] = []
        for block in self._session.transcript.blocks:
            if isinstance(block, UserBlock):
                files = [one for one in block.said if isinstance(one, File)]
                texts.append(block.text)
                texts += [
                    one.data.decode(errors="replace")
                    for one in files
                    if one.media_type.startswith("text/")
                ]
        return "\n\n".join(texts)

    async def _may_send(self, why: str) -> bool:
        """Whether the person lets a request go that a pack holds back; asked once a reason."""
        if why not in self._let_go and self._approvals is not None:
            choices = Choice(SEND), Choice(NO_SENDING)
            answer = await self._approvals.ask_first(AskedQuestion(why, choices))
            if _AGREES.fullmatch(answer):
                self._let_go.add(why)
        return why in self._let_go

    async def workspace(self) -> Workspace:
        return await asyncio.to_thread(self._services.workspace, self._session.info)

    def _orienter(self, setup: AgentSetup, access: ToolAccess) -> Orienter | None:
        """Tells the model where it works; None where it gets only what is said."""
        if setup.agent.bare or not setup.provider.takes_orientation(setup.model):
            return None
        services = self._services
        may_use = {tool.effect for tool in access.offered if not (tool.external or tool.hosted)}
        ground = Ground(
            access.workspace,
            setup.layers.trusted,
            access.sandbox,
            services.keeper,
            EnvironmentOnDemand(services.environment),
            services.today(),
            looks=bool(may_use & {"read", "act"}) and services.orientation_seconds > 0,
            runs=any(tool.target == COMMAND for tool in access.offered),
            window=setup.facts.context_window,
            seconds=services.orientation_seconds,
        )
        return Orienter(
            ground, access.guard, self.content_filter, self._session.record, self._tasks
        )

    def _guidance(self, setup: AgentSetup, access: ToolAccess) -> Guidance:
        """Tells the model what instruction files say."""
        sources = Sources(
            access.workspace.origin,
            setup.layers.trusted,
            self._services.paths.instruction_places,
            setup.window,
        )
        session = self._session
        return Guidance(
            sources, session.transcript, self.content_filter, access.guard, session.record
        )


def _generation(asked: Generation, info: SessionInfo, agent: Agent) -> Generation:
    """The options of this turn, or else the session's, or else those of the agent's file."""
    temperature = agent.temperature if asked.temperature is None else asked.temperature
    effort = asked.effort or info.effort or agent.effort
    if (effort, temperature) == (asked.effort, asked.temperature):
        return asked
    return replace(asked, effort=effort, temperature=temperature)


def _depth(parent: ParentTurn | None, agent: Agent) -> int:
    """How many levels of children may be below a turn."""
    if parent is not None and parent.depth is not None:
        return parent.depth
    return agent.depth or DEPTH
