"""Item answerer: asks a model about one item of a step, without a session (W-53).

For agents without tools: what they are told is their instructions and the step's prompt, and what
they answer is the item's result. All else is as in a session: caps, masks, what packs allow.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from studio.agent.budget import Budget, Reservation
from studio.agent.context.token_count import tokens_of_request
from studio.agent.engine import Engine
from studio.agent.loop.structured_output import MAX_CORRECTIONS, parse_answer, schema_instruction
from studio.agent.models.family import model_family
from studio.agent.parallelism import Lane
from studio.agent.permission.content_filter import ContentFilter, parse_kinds
from studio.agent.prompts import ANSWER_MISFIT
from studio.agent.request_gate import Asker
from studio.agent.request_meter import RequestMeter
from studio.agent.session.system_prompt import instructions
from studio.agent.usage_costs import token_rates
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import TextDelta
from studio.domain.items import ItemResult, ItemUse
from studio.domain.jsonvalue import Json
from studio.domain.ledger import canonical_json, digest
from studio.domain.messages import Said, Text
from studio.domain.transcript import Transcript
from studio.domain.workflows import Step
from studio.providers.base import Provider, Reply, ReplyStream, Request
from studio.providers.batch import Batches, HasBatches
from studio.workflows.cluster.coordinator import RemoteProvider

TURN_FAULTS = {"max_tokens": "limit", "refusal": "error", "content_filter": "error"}
_TYPICAL = 4_000
"""Tokens of a request, where the price of a token depends on that."""


def answers_itself(agent: Agent) -> bool:
    """Whether an agent answers with words alone, so that its items need no session."""
    return not agent.tools and not agent.agents and not agent.define


class ItemAnswerer:
    """Asks the model of one step. ``base`` is a digest of all that is the same for every item."""

    def __init__(self, engine: Engine, step: Step, agent: Agent, provider: Provider) -> None:
        self.agent, self.provider = agent, provider
        self.model = ""
        self.subject = ""
        self.lane: Lane
        """How many requests at a time may go out."""
        self._engine, self._step = engine, step
        self._system = ""
        self._filter = ContentFilter(Transcript())

    async def begin(self, model: str, subject: str) -> None:
        """Ask this model, for what a chat with this subject may send."""
        self.model, self.subject = model, subject
        self.lane = self._engine.services.parallelism.lane(self.provider.name, model)
        if isinstance(self.provider, RemoteProvider):
            self.lane = self.provider.lane(model)
        parts = [instructions(self.agent, "", model_family(model), brief=False)]
        if self._step.outputs is not None:
            parts.append(schema_instruction(self._step.outputs))
        self._system = "\n\n".join(filter(None, parts))
        values = self._engine.settings.values
        if values.mask_own:
            kinds = [*values.mask, *self.agent.mask]
            self._filter.own = True
            self._filter.kinds = await asyncio.to_thread(parse_kinds, kinds)

    def base(self, *more: Json) -> str:
        """A digest of all that makes a result beside the item."""
        agent, step = self.agent, self._step
        same: list[Json] = [self._system, agent.effort, agent.temperature, self.provider.name]
        return digest(canonical_json([*same, self.model, step.prompt, step.outputs, *more]))

    async def request(self, said: Sequence[Said]) -> Request:
        """The request for one item; ``said`` is its prompt."""
        if self._filter.own:
            said = await asyncio.to_thread(self._filter.mask_words, tuple(said))
        return Request(
            self.model,
            self.provider.user_items(said),
            self._system,
            facts=self._engine.services.model(self.provider.name, self.model),
            effort=self.agent.effort,
            temperature=self.agent.temperature,
            schema=self._step.outputs,
        )

    def meter(self, budget: Budget) -> RequestMeter:
        """What reserves and books the requests of one item."""
        facts = self._engine.services.model(self.provider.name, self.model)
        rates = token_rates(self.provider.name, self.model, _TYPICAL, facts)
        return RequestMeter(budget, self._engine.budgets.rate, rates)

    async def ask(
        self, place: int, said: Sequence[Said], budget: Budget, uses: list[ItemUse]
    ) -> ItemResult:
        """Ask about one item; a misfit is asked again. Raises ProviderError and OverBudget.

        ``uses`` gets what each answer used: it is to be counted also where an error follows.
        """
        request, meter = await self.request(said), self.meter(budget)
        began = time.monotonic()
        schema, wrong = self._step.outputs, ""
        text, reply = "", Reply()
        for _ in range(MAX_CORRECTIONS + 1):
            sent = time.monotonic()
            text, reply, cost = await self._send(request, meter)
            uses.append(self.use(reply, time.monotonic() - sent, cost))
            if reply.stop != "end":
                break
            if schema is None:
                return self.result(place, text, None, uses, time.monotonic() - began)
            try:
                outputs = await asyncio.to_thread(parse_answer, text, schema)
            except ValueError as error:
                wrong = str(error)
                told = self.provider.user_items([Text(ANSWER_MISFIT.format(wrong=wrong))])
                request = replace(request, history=[*request.history, *reply.items, *told])
            else:
                return self.result(place, text, outputs, uses, time.monotonic() - began)
        found = self.result(place, text, None, uses, time.monotonic() - began)
        return replace(found, state="failed", **self.failure(reply, wrong))

    def failure(self, reply: Reply, wrong: str) -> dict[str, str]:
        """Why an answer is none: ``fault`` and ``reason``."""
        if reply.stop == "end":
            reason = f"The answer does not fit the outputs: {wrong}"
            return {"fault": "invalid", "reason": reason}
        words = {
            "max_tokens": "The answer was longer than it may be.",
            "refusal": "The model refused to answer.",
            "content_filter": "The provider stopped the answer because of what it says.",
            "context_full": "The item is longer than the model reads.",
        }.get(reply.stop, "The model gave no answer.")
        detail = f" {reply.detail}" if reply.detail else ""
        return {"fault": TURN_FAULTS.get(reply.stop, "error"), "reason": f"{words}{detail}"}

    def why_no_batches(self) -> str:
        """Why items cannot be worked on as batches; empty if they can."""
        if not answers_itself(self.agent):
            return f"{self.agent.name} has tools, and batches take agents without any."
        if not isinstance(self.provider, HasBatches):
            return f"{self.provider.name} has no batches. Use via: live."
        if self.subject or self._engine.services.packs.has_policies:
            return "A pack decides about each request, so nothing goes out as a batch."
        return ""

    @property
    def batches(self) -> Batches:
        """The batches of the provider; raises ConfigurationError where there are none."""
        if wrong := self.why_no_batches():
            raise ConfigurationError(wrong)
        assert isinstance(self.provider, HasBatches)
        return self.provider.batches()

    def use(self, reply: Reply, seconds: float, cost: float | None) -> ItemUse:
        """One answer as it is counted in the usage."""
        used = reply.usage
        counts = (used.input, used.cache_read, used.cache_write, used.output, used.reasoning)
        return ItemUse(self.agent.name, self.provider.name, self.model, *counts, seconds, cost)

    def result(
        self, place: int, text: str, outputs: Json, uses: Sequence[ItemUse], seconds: float
    ) -> ItemResult:
        """The result of an item that was answered."""
        tokens = sum(one.input + one.output for one in uses)
        costs = [one.cost for one in uses]
        dollars = None if None in costs else sum(cost or 0.0 for cost in costs)
        made = (text, outputs, "", "", tokens, dollars, seconds, tuple(uses))
        return ItemResult(place, "done", *made)

    async def _send(self, request: Request, meter: RequestMeter) -> tuple[str, Reply, float | None]:
        """The words and the reply of one request, and what it cost."""
        reservation = await meter.reserve(tokens_of_request(request), request)
        text, reply = "", Reply()
        before = meter.dollars
        try:
            text, reply = await self._answered(reservation, request)
        finally:
            await meter.settle(reservation, reply.usage, reply.cost)
        spent = None if meter.dollars is None or before is None else meter.dollars - before
        return text, reply, spent

    async def _answered(self, reservation: Reservation, request: Request) -> tuple[str, Reply]:
        asker = Asker(self.agent.name, lambda: json.dumps(request.history, ensure_ascii=False))
        gate = self._engine.services.gate(self.subject, asker)
        stream = await gate.stream(self.provider, reservation.bounded(request), "turn")
        limit = self._engine.services.retry_policy.limit
        return await whole_answer(stream, limit, self.provider.name)


async def whole_answer(stream: ReplyStream, silence: float, provider: str) -> tuple[str, Reply]:
    """The words and the reply of a stream; raises ProviderError, also after so long a silence."""
    text = ""
    try:
        async with asyncio.timeout(None) as limit:
            loop = asyncio.get_running_loop()
            limit.reschedule(loop.time() + silence)
            async for delta in stream:
                limit.reschedule(loop.time() + silence)
                if isinstance(delta, TextDelta):
                    text += delta.text
        return text, stream.reply()
    except TimeoutError as error:
        raise ProviderError("network", "It stopped answering.", provider=provider) from error
    finally:
        with suppress(ProviderError):
            await stream.aclose()
