"""How a turn is made: on which ground, with what history, rules and limits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from studio.agent.attachments import readable
from studio.agent.changes.draft_store import DraftStore
from studio.agent.changes.undo import Undo
from studio.agent.context import Compactor, ContextUsage, ModelAccess
from studio.agent.context.cache_ledger import CacheLedger
from studio.agent.limits import Budget, RequestMeter, WorkClock
from studio.agent.loop.prompts import ANSWER_IN_WORDS, RESULT_MISSING, TAKE_OVER
from studio.agent.loop.structured_output import in_words
from studio.agent.loop.tool_runner import ToolRunner
from studio.agent.loop.turn import Turn, TurnContext
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.policy import Policy
from studio.agent.usage_costs import token_rates
from studio.domain.agents import NO_CAPS, Agent, Caps, Limits, Mode
from studio.domain.errors import ConfigurationError, ProviderError, StudioError
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
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import LedgerEntry
from studio.domain.messages import Image, Said, ToolResult
from studio.domain.models import AS_IT_IS, Generation, ModelInfo
from studio.domain.permissions import Layer, Rule
from studio.domain.sessions import SessionInfo
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.providers.base import Request
from studio.storage.sessions.store import SessionStore
from studio.tools import Workspace

from .agent_setup import AgentSetup, Services, load_agent_setup
from .model_router import STUCK
from .native_history import NativeHistory
from .pending_input import PendingInput
from .session_rules import SessionRules
from .system_prompt import SystemPrompt
from .tool_access import ToolAccessBuilder

FOUND = Exposed("untrusted", "what the provider finds on the web")


@dataclass(frozen=True, slots=True)
class ParentTurn:
    """What a turn that another one begins has of it.

    It draws on the same budget, may never do more (T-6), and has met what the
    other has. ``record`` takes what it meets itself.
    """

    budget: Budget
    policy: Policy
    risk: ExfiltrationGuard
    record: Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a door asks of one turn; the agent's file and the settings say the rest.

    ``rules`` count on top of the agent's and the session's. ``parent`` is of the
    turn that begins this one, ``within`` a ceiling of its own. ``tools`` and
    ``results`` are of the one who asks, see ``Session.turn``.
    """

    rules: Sequence[Rule] = ()
    mode: Mode | None = None
    limits: Limits | None = None
    parent: ParentTurn | None = None
    within: Policy | None = None
    tools: Sequence[ToolSpec] = ()
    results: Sequence[ToolResult] = ()
    generation: Generation = AS_IT_IS
    caps: Caps = NO_CAPS
    rises: bool = False
    """The turn before got stuck: the next tier takes over."""

    @property
    def bounded(self) -> bool:
        """Whether it has bounds of its own, which no other turn may go beyond."""
        return self.limits is not None or self.caps != NO_CAPS

    @property
    def ceiling(self) -> Policy | None:
        """What the turn may do at most."""
        above = self.parent.policy if self.parent is not None else None
        if above is None or self.within is None:
            return self.within or above
        return self.within.within(above)


class Chat(Protocol):
    """What preparing reads of a session."""

    info: SessionInfo
    transcript: Transcript
    drafts: DraftStore
    files: Undo
    rules: SessionRules

    async def change(self, **fields: Any) -> None: ...
    async def flush(self) -> None: ...


class TurnBuilder:
    """Makes the turns of one session; holds what they share."""

    def __init__(
        self,
        chat: Chat,
        store: SessionStore,
        surroundings: Services,
        unheard: PendingInput,
        record: Callable[[Event], None],
        *,
        new: bool = False,
    ) -> None:
        self.history = NativeHistory(store, chat.info.id, new=new)
        self.room = Compactor(
            chat.transcript, self.history, lambda: surroundings.summarise, chat.flush
        )
        self.opened: list[Event] = []
        """What happened when the history was opened for the turn that is being made."""
        self._chat = chat
        self._store = store
        self._around = surroundings
        self._unheard = unheard
        self._record = record
        self._ledger: CacheLedger | None = None
        self._equipping = ToolAccessBuilder(chat, surroundings)
        self.steering: deque[MessageQueued] = deque()
        """Queued messages that are to reach the running turn."""
        self._noticed = ""
        """What was last said of the rules in the folder."""
        self.rises: tuple[CompletionReason, ...] = ()
        """The ends of the running turn after which the next tier takes over."""
        self._allowed: Budget | None = None
        self.parent: ParentTurn | None = None
        """What the turns have that are begun by the one that runs."""

    async def turn(self, started: TurnStarted, wish: TurnOptions) -> Turn:
        """Raises ConfigurationError or ProviderError for whatever is missing."""
        self._bring(wish.results)
        if not wish.rises:
            self._allowed = None
        routed = await self._routed(started.said, wish)
        info = self._chat.info
        ground = await self.ground(wish)
        agent, provider = ground.agent, ground.provider
        budget = await self._budget(agent, wish)
        fact = self._around.model(info.provider, info.model)
        for block in started.said:
            if reason := provider.media_problem(block, fact):
                raise ConfigurationError(f"{reason} Remove it, or choose another model.")
        new, said = self.history.new, self._unheard.said
        said[:] = [readable(block, provider, fact) for block in said]
        self.opened = [*routed, *await self.open(ground)]
        if ground.layers.notice and ground.layers.notice != self._noticed:
            self.opened.append(Notice(ground.layers.notice))
        self._noticed = ground.layers.notice
        if any(spec.hosted for spec in ground.offered):  # what it finds is not seen here
            seen = self._chat.transcript
            known = "untrusted" in seen.exposed and not seen.exposed_by_own
            self.opened += [] if known else [FOUND]
        words = self._unheard.words(started.said)
        if not words and (started.said or not self.history.items):
            raise ConfigurationError("There is nothing to send. Write a message first.")
        last = None if new else await self._store.last_sent(info.id)
        if self._ledger is None:
            self._ledger = CacheLedger(last)
        parent = wish.parent
        purse = self._purse(budget, ground, last)
        mode = routed[0].mode if routed else wish.mode or agent.mode
        limits = wish.limits or self._around.limits(agent, mode)
        setting = TurnContext(
            started=replace(started, provider=info.provider, model=info.model, mode=mode),
            limits=limits,
            news=lambda: self._news(ground.standing, wish.generation.schema),
            patience=self._around.patience,
            facts=fact,
            generation=_generation(wish.generation, info, agent),
            opened=self.opened,
            tokens=self.room.tokens,
            room=partial(self.room.make, self._means(ground, purse)),
            closing=lambda: self._close(started.turn_id, parent),
            steering=self.steering,
        )
        equipment = await self._equipping.equipment(ground, wish.rules, wish.ceiling)
        if parent is not None:
            self.opened += equipment.risk.taken(parent.risk.exposed)

        def execution(emit: Callable[[Event], None], clock: WorkClock) -> ToolRunner:
            self.parent = ParentTurn(budget, equipment.policy, equipment.risk, emit)
            most = wish.generation.calls
            return self._equipping.execution(equipment, ground, limits, emit, clock, most)

        root = str(equipment.workspace.root)
        await self._chat.files.begin(started.turn_id, root, acts=equipment.acts)
        return Turn(setting, provider, self.history, self._ledger, purse, execution, self._record)

    async def ground(self, wish: TurnOptions | None = None) -> AgentSetup:
        """What a turn stands on; raises ConfigurationError or ProviderError."""
        rules = self._chat.rules
        await rules.look()  # another program may have changed them
        given: dict[Layer, Sequence[Rule]] = {"session": rules.known}
        if wish is not None:
            given["turn"] = wish.rules
        wish = wish or TurnOptions()
        return await load_agent_setup(
            self._chat.info, self._around, given, wish.ceiling, wish.tools
        )

    def _bring(self, results: Sequence[ToolResult]) -> None:
        """Whoever asked for the last turn ran the calls that were handed over, or did not."""
        brought = {result.call_id: result for result in results}
        for call in self._chat.transcript.handed_over:
            result = brought.get(call.call_id)
            if result is None:
                self._record(ToolFinished(call.call_id, RESULT_MISSING, is_error=True, seconds=0.0))
                continue
            images = tuple(part for part in result.content if isinstance(part, Image))
            self._record(
                ToolFinished(call.call_id, result.text, result.is_error, 0.0, images=images)
            )
            self._record(Exposed("untrusted", f"{call.name}, a tool of the client"))

    async def _routed(self, said: Sequence[Said], wish: TurnOptions) -> list[Routed]:
        """What the program chose for this turn, and the chat changed to it (L-13)."""
        routing = self._around.routing
        self.rises = ()
        if not routing.on:
            return []
        info, routed = self._chat.info, None
        agent = await self._around.agent(info.agent, Path(info.folder))
        if wish.rises:
            routed = await routing.rise(info, agent, said, wish.mode)
            self._unheard.notes.append(Told("stall", TAKE_OVER))
        elif said:
            begun = bool(self._chat.transcript.total_usage.total)
            budget = await self._budget(agent, wish)
            routed = await routing.route(
                info, agent, said, begun=begun, mode=wish.mode, budget=budget
            )
        if routed and (routed.provider, routed.model) != (info.provider, info.model):
            await self._chat.change(
                provider=routed.provider, model=routed.model, model_chosen=False
            )
        if not wish.bounded and await routing.rise(self._chat.info, agent, said, wish.mode):
            self.rises = STUCK[routed.mode if routed else wish.mode or agent.mode]
        return [routed] if routed else []

    async def _budget(self, agent: Agent, wish: TurnOptions) -> Budget:
        """What one message may use, whoever is asked about it and works on it (L-14)."""
        if self._allowed is None:
            capped = replace(agent, caps=wish.caps.within(agent.caps))
            above = wish.parent.budget if wish.parent else None
            new = self.history.new
            self._allowed = await self._around.budget(self._chat.info, capped, above, new=new)
        return self._allowed

    async def _close(self, turn_id: str, parent: ParentTurn | None) -> Sequence[Event]:
        """What a turn changed is kept; what it met is known to the one that began it."""
        if parent is not None and self.parent is not None:
            for exposed in parent.risk.taken(self.parent.risk.exposed):
                parent.record(exposed)
        return await self._chat.files.end(turn_id)

    async def open(self, ground: AgentSetup) -> list[Event]:
        """Have a native history that fits; returns what had to be done for it."""
        info, stale = self._chat.info, self._chat.transcript.stale
        events = await self.history.open(
            ground.provider,
            ground.model,
            ground.standing.system,
            ground.offered,
            self._chat.transcript.messages,
            self._unheard.said,
            self._unheard.epoch,
            self._around.model(info.provider, info.model),
            self._chat.transcript.last_calls,
        )
        if stale:
            events += await self.history.renew(stale, quiet=True)
            self._unheard.said.clear()  # the conversation had it
        return events

    async def summarise(self, ground: AgentSetup) -> None:
        """Sum up the beginning of the conversation; see ``Compactor.summarise``."""
        info = self._chat.info
        budget = await self._around.budget(info, ground.agent, None)
        purse = self._purse(budget, ground, await self._store.last_sent(info.id))
        await self.room.summarise(self._means(ground, purse), self._record)
        self._unheard.said.clear()

    async def stub(self, _: AgentSetup) -> None:
        """Begin a history with old results shortened."""
        await self.room.stub(self._record)
        self._unheard.said.clear()

    async def context(self) -> ContextUsage:
        """What takes how much of the model's context, as the next request would be."""
        info, history = self._chat.info, self.history
        facts = self._around.model(info.provider, info.model)
        window = facts.context_window
        if not history.epoch:
            history = NativeHistory(self._store, info.id)
            await history.look()
        with suppress(StudioError, ProviderError):  # no key, say: that is told where it matters
            provider = await self._around.provider(info.provider)
            window = await provider.context_window(
                Request(info.model, (), facts=facts, session=info.id)
            )
        return await self.room.view(history, window)

    def _purse(self, budget: Budget, ground: AgentSetup, last: LedgerEntry | None) -> RequestMeter:
        provider, facts = self._chat.info.provider, self._facts
        size = max(last.usage.input if last else 0, 1)
        rates = asyncio.to_thread(token_rates, provider, ground.model, size, facts)
        return RequestMeter(budget, self._around.rate, rates)

    def _means(self, ground: AgentSetup, purse: RequestMeter) -> ModelAccess:
        session_id, patience = self._chat.info.id, self._around.patience
        return ModelAccess(ground.provider, ground.model, self._facts, session_id, purse, patience)

    @property
    def _facts(self) -> ModelInfo:
        return self._around.model(self._chat.info.provider, self._chat.info.model)

    async def workspace(self) -> Workspace:
        return await asyncio.to_thread(self._around.workspace, self._chat.info)

    def _news(self, standing: SystemPrompt, schema: JsonObject | None) -> list[Told]:
        """What the model has not been told yet."""
        history, told = self.history, self._chat.transcript.told
        frozen = [spec.name for spec in history.tools]
        untold = standing.untold(told, history.system, frozen)
        if told.get("schema", ANSWER_IN_WORDS) != (form := in_words(schema)):
            untold.append(Told("schema", form))
        return [*untold, *self._unheard.notes]


def _generation(wanted: Generation, info: SessionInfo, agent: Agent) -> Generation:
    """What was asked for this turn, else what the chat says, else the agent's file."""
    warmth = agent.temperature if wanted.temperature is None else wanted.temperature
    return replace(wanted, effort=wanted.effort or info.effort or agent.effort, temperature=warmth)
