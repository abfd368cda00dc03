"""Item batches: has a provider work on items as batches, and finds them again after a crash.

A batch is on the disk with a key of ours before it is sent. If its answer is lost, by a crash or by
the network, the provider is asked for the key: it is sent again only where it is surely not there
(W-57).
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from dataclasses import dataclass, replace

from studio.agent.budget import Amount, Budget, OverBudget, Reservation
from studio.agent.context.token_count import tokens_of_request
from studio.agent.loop.structured_output import parse_answer
from studio.agent.usage_costs import TokenRates, token_rates
from studio.domain.agents import NO_CAPS
from studio.domain.errors import RETRYABLE, ProviderError, StudioError
from studio.domain.items import Item, ItemResult
from studio.domain.ledger import canonical_json
from studio.providers.base import Request
from studio.providers.batch import HALF, BatchAnswer
from studio.storage.run_items import BatchJob
from studio.workflows.expressions import ExpressionError
from studio.workflows.step_work import Held, Waiting

from .shift import Shift

FIRST_LOOK, LAST_LOOK = 0.2, 60.0
"""Seconds between two looks at a batch: each is twice the one before."""
SURELY = 120.0
"""Seconds after its sending from which on a batch that is in no list was never sent."""
ANSWER = 4_096
"""Tokens of an answer at most, where a cap has to hold: all of a batch is reserved at once."""
STORED = 500
"""Results that are stored at once."""
TRIES = 5
"""How often an item is sent again that failed by a fault of the provider."""
_TYPICAL = 4_000
_TOO_LARGE = re.compile(r"size exceeds|larger than|too large", re.IGNORECASE)
"""What providers say of a batch, or of its file, that is more than they take."""


@dataclass(slots=True)
class _Chunk:
    """Items that go out as one batch."""

    items: list[Item]
    lines: list[bytes]
    reservation: Reservation | None


class BatchWork:
    """Works on the items of one step as batches."""

    def __init__(self, shift: Shift) -> None:
        """Raises ConfigurationError where there are no batches."""
        self._shift, self._batches = shift, shift.answerer.batches
        self._store, self._queue = shift.of.store, shift.queue
        self._reserved: dict[str, Reservation] = {}
        self._tries: dict[int, int] = {}
        self._rates: TokenRates | None = None
        self._most = self._batches.most_requests

    async def carry_out(self) -> None:
        """Send what is pending and take what comes back, until there is no more.

        ``stopped`` of the shift says why it ended before.
        """
        shift, answerer = self._shift, self._shift.answerer
        facts = shift.of.engine.services.model(answerer.provider.name, answerer.model)
        target = answerer.provider.name, answerer.model
        self._rates = await token_rates(*target, _TYPICAL, facts)
        try:
            await self._reserve_again()
            look = FIRST_LOOK
            while shift.stopped is None:
                if shift.of.work.paused(shift.step.id):
                    shift.stopped = Waiting()
                    break
                try:
                    moved = await self._move_on()
                except ProviderError as error:
                    moved = self._failed(error)
                if moved is None:
                    break
                look = FIRST_LOOK if moved else min(look * 2, LAST_LOOK)
                await shift.count()
                await self._rest(look)
        finally:
            for reservation in self._reserved.values():
                reservation.settle()

    async def _rest(self, seconds: float) -> None:
        """Wait, and notice soon that the person paused the step."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._shift.of.work.paused(self._shift.step.id):
                return
            await asyncio.sleep(min(left, 0.5))

    def _failed(self, error: ProviderError) -> bool:
        """A request about a batch failed; pauses the run where trying again is of no use."""
        if error.fault not in RETRYABLE:
            self._shift.stopped = Waiting(str(error))
        return False

    async def _move_on(self) -> bool | None:
        """Look at the batches and send another; whether something changed, None at the end."""
        moved = False
        for job in await self._store.jobs(self._queue):
            moved = await self._look_at(job) or moved
        chunk = await self._next_chunk()
        if chunk is not None:
            await self._send(chunk)
            return True
        if not await self._store.jobs(self._queue):
            return True if await self._store.pending(self._queue, -1, 1) else None
        return moved

    # Sending

    async def _next_chunk(self) -> _Chunk | None:
        """The next items that fit in a batch and in the caps; None where there are none."""
        budget, size, after = Budget(self._shift.accounts), 0, -1
        found = _Chunk([], [], None)
        most = Amount()
        while len(found.items) < self._most:
            items = await self._store.pending(self._queue, after, 500)
            if not items:
                break
            for item in items:
                request = await self._request(item)
                if request is None:
                    continue
                line = canonical_json(self._batches.line(f"{'0' * 12}-{item.place}", request))
                size += len(line.encode()) + 1
                needs = most + self._amount(request)
                full = len(found.items) == self._most or size > self._batches.most_bytes
                if full or not _fits(budget, needs):
                    break
                most = needs
                found.items.append(item)
                found.lines.append(line.encode())
            else:
                after = items[-1].place
                continue
            break
        if not found.items:
            await self._hold(budget)
            return None
        found.reservation = budget.take(most)
        return found

    async def _hold(self, budget: Budget) -> None:
        """Pause the run where the caps leave no room for a single item, and none is on its way."""
        waiting = await self._store.pending(self._queue, -1, 1)
        if not waiting or await self._store.jobs(self._queue):
            return
        request = await self._request(waiting[0])
        if request is None:
            return
        needs = self._amount(request)
        for account in budget.accounts:
            try:
                account.room(needs, needs, 0.0)
            except OverBudget as error:
                held = error.cap, str(error), error.limit, error.unit
                self._shift.stopped = Held(*held)  # type: ignore[arg-type]
                return
        over = next(one for one in budget.accounts if one.caps != NO_CAPS)
        words = "A batch of one item may cost more than what is left of your limit."
        self._shift.stopped = Held(over.cap, words)  # type: ignore[arg-type]

    async def _request(self, item: Item) -> Request | None:
        """The request for an item; None for one that cannot be asked, which has failed then."""
        try:
            said = await self._shift.said(item)
            request = await self._shift.answerer.request(said)
        except (ExpressionError, StudioError) as error:
            failed = ItemResult(item.place, "failed", reason=str(error), fault="invalid")
            await self._shift.take([failed])
            return None
        if all(one.caps == NO_CAPS for one in self._shift.accounts):
            return request
        limit = min(filter(None, (request.output_limit, ANSWER)))
        return replace(request, output_limit=limit, ceiling=limit)

    def _amount(self, request: Request) -> Amount:
        """The most that a request may use in a batch."""
        sent, answer = tokens_of_request(request).most, request.ceiling or 0
        if (rates := self._rates) is None:
            return Amount(sent + answer)
        dearest = max(rates.fresh, rates.written)
        return Amount(sent + answer, HALF * (sent * dearest + answer * rates.output))

    async def _send(self, chunk: _Chunk) -> None:
        answerer, key = self._shift.answerer, uuid.uuid4().hex[:12]
        if wrong := answerer.why_no_batches():  # a pack was switched on meanwhile
            self._shift.stopped = Waiting(wrong)
            if chunk.reservation is not None:
                chunk.reservation.settle()
            return
        began = time.time()
        target = answerer.provider.name, answerer.model
        job = BatchJob(key, *target, "", len(chunk.items), began)
        await self._store.begin_job(self._queue, job, [one.place for one in chunk.items])
        if chunk.reservation is not None:
            self._reserved[key] = chunk.reservation
        lines = [line.replace(b"0" * 12 + b"-", f"{key}-".encode(), 1) for line in chunk.lines]
        try:
            remote = await self._batches.send(key, answerer.model, lines)
        except ProviderError as error:
            if error.status is None or error.status in (408, 409, 500, 502, 504):
                return  # it may be there: the next look tells
            await self._end(key)
            too_large = error.fault == "too_long" or _TOO_LARGE.search(str(error))
            if too_large and len(chunk.items) > 1:
                self._most = max(len(chunk.items) // 2, 1)
                return
            raise
        if remote:
            await self._store.sent_job(key, remote)

    # Looking

    async def _look_at(self, job: BatchJob) -> bool:
        """Find a batch, or take its results if it is over; whether something changed."""
        if not job.remote:
            others = await self._store.other_remotes(job.key)
            found = await self._batches.find(job.key, job.count, job.began, others)
            if found:
                await self._store.sent_job(job.key, found)
                return True
            if found == "" and time.time() - job.began > SURELY:
                await self._end(job.key)
                return True
            return False
        state = await self._batches.state(job.remote)
        if not state.over:
            return False
        if state.failed:
            await self._end(job.key)
            self._shift.stopped = Waiting(f"The provider did not accept the batch: {state.failed}")
            return True
        await self._take(job)
        await self._end(job.key)
        return True

    async def _take(self, job: BatchJob) -> None:
        waiting = {item.place: item for item in await self._store.of_job(job.key)}
        results, used = list[ItemResult](), Amount()
        async for answer in self._batches.answers(job.remote):
            key, _, place = answer.id.rpartition("-")
            item = waiting.pop(int(place), None) if key == job.key and place.isdecimal() else None
            if item is not None:
                result = await self._result(item, answer)
                used += Amount(result.tokens, result.dollars or 0.0)
                results.append(result)
            if len(results) >= STORED:
                await self._shift.take(results)
                results = []
        await self._shift.take(results)
        for _ in waiting:
            self._shift.note_again("expired")
        if (reservation := self._reserved.pop(job.key, None)) is not None:
            reservation.settle(used)

    async def _result(self, item: Item, answer: BatchAnswer) -> ItemResult:
        """What came of an item; one that expired is pending again."""
        answerer, schema = self._shift.answerer, self._shift.step.outputs
        if answer.error is not None:
            return self._refused(item, answer.error)
        if (reply := answer.reply) is None:
            self._shift.note_again("expired")
            return ItemResult(item.place, "pending", again=True)
        cost = self._rates.of(reply.usage) if self._rates is not None else None
        use = answerer.use(reply, 0.0, None if cost is None else cost * HALF)
        text = answer.text
        result = answerer.result(item.place, text, None, [use], 0.0)
        if reply.stop != "end":
            return replace(result, state="failed", **answerer.failure(reply, ""))
        if schema is None:
            return result
        try:
            return replace(result, outputs=await asyncio.to_thread(parse_answer, text, schema))
        except ValueError as error:
            return replace(result, state="failed", **answerer.failure(reply, str(error)))

    def _refused(self, item: Item, error: ProviderError) -> ItemResult:
        tries = self._tries[item.place] = self._tries.get(item.place, 0) + 1
        if error.fault in RETRYABLE and tries < TRIES:
            self._shift.note_again(error.fault)
            return ItemResult(item.place, "pending", again=True)
        return ItemResult(item.place, "failed", reason=str(error), fault="error")

    async def _end(self, key: str) -> None:
        await self._store.end_job(key)
        if (reservation := self._reserved.pop(key, None)) is not None:
            reservation.settle()

    async def _reserve_again(self) -> None:
        """Reserve what batches may cost that were sent before the program ended."""
        budget = Budget(self._shift.accounts)
        for job in await self._store.jobs(self._queue):
            most = Amount()
            for item in await self._store.of_job(job.key):
                if (request := await self._request(item)) is not None:
                    most += self._amount(request)
            if (reservation := budget.take(most, anyway=True)) is not None:
                self._reserved[job.key] = reservation


def _fits(budget: Budget, needs: Amount) -> bool:
    return all(
        (not one.caps.tokens or needs.tokens <= one.left.tokens)
        and (not one.caps.dollars or needs.dollars <= one.left.dollars)
        for one in budget.accounts
    )
