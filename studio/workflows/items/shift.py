"""Item shift: works on the items of a step, as many at a time as the provider takes (W-53, W-56).

What came of an item is stored with others within a tenth of a second. One that was worked on when
the program ended has no result, so it is worked on again. Nothing of an item is an event of the
run; every few seconds one tells how far the step is.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from studio.agent.attachments import attach
from studio.agent.budget import Account, Budget, OverBudget
from studio.agent.engine import Engine
from studio.agent.parallelism import MOST, Lane
from studio.agent.request_meter import OverRate
from studio.domain.aio import BackgroundTasks
from studio.domain.blocks import UserBlock
from studio.domain.errors import RETRYABLE, ConfigurationError, ProviderError, StudioError
from studio.domain.events import Exposed
from studio.domain.items import MANY, SAMPLE, Item, ItemResult, ItemTally, ItemUse
from studio.domain.jsonvalue import Json
from studio.domain.messages import Said, Text
from studio.domain.run_events import ItemsCounted, RunQuestion, StepFinished
from studio.domain.workflows import Step
from studio.storage.run_items import ItemQueue, ItemStore
from studio.workflows.expressions import ExpressionError
from studio.workflows.file_reads import FileReads
from studio.workflows.run_accounts import RunAccounts
from studio.workflows.run_recorder import RunRecorder
from studio.workflows.step_work import (
    LEFT_OUT,
    Held,
    Interrupted,
    Outcome,
    StepWork,
    Waiting,
    seconds_of,
)
from studio.workflows.unsure_actions import unsure_actions

from .answerer import ItemAnswerer, answers_itself
from .estimate import estimate, sample_question
from .sources import read_call

LOOK = 0.5
"""Seconds after which it is looked whether the person paused the step."""
STORED = 0.1
"""Seconds after which a result is stored, with those that came meanwhile."""
COUNTED = 2.0
"""Seconds between two events that tell how far a step is."""
AHEAD = 500
"""Items that are read from the table at once."""
MEASURED = 60.0
"""Seconds over which the speed is measured."""
ASKING = 20
"""Items that wait for the person's answer at a time; no more begin until some are answered."""
PATIENCE = 100
"""Refusals in a row after which the run is paused: there is no such limit, something is wrong."""
STOPPING = frozenset({"no_key", "bad_key", "forbidden", "not_found", "no_credit"})
"""Faults that are none of the item: the next one would have it too."""
KEPT_SAMPLE = "You kept only the sample."


@dataclass(frozen=True, slots=True)
class ItemParts:
    """What the items of a run are worked on with."""

    engine: Engine
    store: ItemStore
    work: StepWork
    accounts: RunAccounts
    reads: FileReads
    recorder: RunRecorder


@dataclass(order=True, slots=True)
class _Later:
    due: float
    place: int


class Shift:
    """Works on the items of one step until there are no more, or it has to stop."""

    def __init__(self, of: ItemParts, step: Step, queue: ItemQueue) -> None:
        self.of, self.step, self.queue = of, step, queue
        self.plan, self.run = of.recorder.plan, of.recorder.run
        self.tally = ItemTally(queue.count)
        self.in_batches = False
        """Whether the provider is to work on them as batches."""
        self.stopped: Outcome | None = None
        """Why nothing more begins."""
        self.answerer: ItemAnswerer
        self.lane: Lane
        self.waits = False
        """Whether all that is worked on waits for the person, and nothing more can begin."""
        self.left_out: set[str] = set()
        """The keys of items that the person leaves out, and whose turns end."""
        self._exposed: Sequence[Exposed] = ()
        self._others: dict[str, Json] = {}
        self._told = ""
        self._tasks = BackgroundTasks()
        self._active: dict[int, Item] = {}
        """Items that are worked on, wait for their next try, or are not stored yet."""
        self._asking: set[str] = set()
        """The keys of those that wait for the person."""
        self._later: list[_Later] = []
        self._tries: dict[int, int] = {}
        self._refusals = 0
        self._results: list[ItemResult] = []
        self._ended: deque[float] = deque()
        self._changed = asyncio.Event()
        self._from = -1
        """The last place that was read from the table."""
        self._reads_on = False
        """Whether there may be more in the table."""

    async def begin(self, answerer: ItemAnswerer, exposed: Sequence[Exposed]) -> Outcome | None:
        """Try a sample, and ask the person; None where the items are to be worked on."""
        of, step = self.of, self.step
        self.answerer, self._exposed = answerer, exposed
        self.lane = answerer.lane
        self._others = self.plan.values.names(self.run, step)
        self._told = self.plan.values.sent_back(self.run, step, "")
        self.tally = await of.store.tally(self.queue)
        question = f"{self.run.id}:{step.id}:{self.run.round_of(step.id)}"
        answer = self.run.answers.get(question)
        if answer is None and self.queue.count - self.queue.linked > MANY and self.tally.left:
            began, missing = time.monotonic(), SAMPLE - self.tally.paid
            if missing > 0:
                await self.work_on(await of.store.spread(self.queue, missing))
            whole = missing == SAMPLE  # else a part of it was tried before a restart
            took = time.monotonic() - began if whole else 0.0
            return self.stopped or await self._ask(question, took)
        self.in_batches = answer == "batch" or (answer is None and step.via == "batch")
        if answer == "keep":
            return await self.finished("stopped", KEPT_SAMPLE)
        return None

    async def take(self, results: Sequence[ItemResult]) -> None:
        """Store results of a batch."""
        if results:
            await self.of.store.record(self.queue, results)
            self.tally = replace(
                await self.of.store.tally(self.queue), tried_again=self.tally.tried_again
            )

    async def retry_failed(self) -> int:
        await self._store()
        count = await self.of.store.retry_failed(self.queue)
        self.tally = replace(await self._tally(), failed=0)
        self._from, self._reads_on = -1, True
        self._changed.set()
        return count

    async def work_on(self, only: Sequence[Item] | None) -> None:
        """Work on these items, or on all that are pending."""
        keeping = asyncio.create_task(self._keep_storing())
        try:
            await self._give_out(only)
        finally:
            self._tasks.cancel()
            await self._tasks.settled()
            keeping.cancel()
            with suppress(asyncio.CancelledError):
                await keeping
            await self._store()
            await self.count()

    # Which item is next

    async def _give_out(self, only: Sequence[Item] | None) -> None:
        waiting = deque(only or ())
        if only is None:
            self._from, self._reads_on = -1, True
        while self.stopped is None:
            self._changed.clear()
            if self.of.work.paused(self.step.id):
                self.stopped = Waiting()
                break
            item = self._due() or (waiting.popleft() if waiting else None)
            if item is None and self._reads_on:
                found = await self.of.store.pending(self.queue, self._from, AHEAD)
                self._from = found[-1].place if found else -1
                self._reads_on = bool(found)
                waiting.extend(one for one in found if one.place not in self._active)
                continue
            if item is None and not self._active:
                break
            if item is None or not await self._begin(item):
                if item is not None:
                    waiting.appendleft(item)
                    self._active.pop(item.place, None)
                await self._wait()
        while len(self._tasks):  # what is under way is finished
            self._changed.clear()
            await self._wait()

    def _due(self) -> Item | None:
        """An item whose next try is due."""
        if not self._later or self._later[0].due > time.monotonic():
            return None
        return self._active[heapq.heappop(self._later).place]

    async def _begin(self, item: Item) -> bool:
        """Begin a try, if there is a place for it now."""
        self._active[item.place] = item
        most = (self.step.max_parallel or max(MOST, self.lane.limit)) - len(self._asking)
        if most <= 0 or len(self._asking) >= ASKING:
            return False
        try:
            async with asyncio.timeout(LOOK):
                place = await self.lane.take(most)
        except TimeoutError:
            return False
        self._tasks.start(self._one(item, place))
        return True

    async def _wait(self) -> None:
        """Wait until a try has ended or another is due, and not for long."""
        self.waits = 0 < len(self._asking) == len(self._tasks) and not self._later
        wait = LOOK
        if self._later:
            wait = min(max(self._later[0].due - time.monotonic(), 0.0), wait)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._changed.wait()

    def note_question(self, key: str, *, asks: bool) -> None:
        """An item waits for the person, and takes no place meanwhile; or it goes on."""
        if asks and key not in self._asking:
            self._asking.add(key)
            self.lane.left()
        elif not asks and key in self._asking:
            self._asking.remove(key)
            self.lane.back()
        self._changed.set()

    def value_of(self, key: str) -> Json:
        """The value of an item that is worked on."""
        return next((one.value for one in self._active.values() if one.key == key), "")

    def _try_later(self, item: Item, wait: float) -> None:
        heapq.heappush(self._later, _Later(time.monotonic() + wait, item.place))

    # One try

    async def _one(self, item: Item, place: int) -> None:
        """Do one try, and say what comes of it."""
        began = time.monotonic()
        self._tries[item.place] = self._tries.get(item.place, 0) + 1
        left = False
        try:
            result = await self._tried(item)
        except OverRate as error:
            self.lane.wait(error.retry_after or LOOK)
            self._try_later(item, 0.0)
        except ProviderError as error:
            left = self._refused(item, place, error, began)
        except OverBudget as error:
            if error.cap == "turn":
                self._end(_failed(item, str(error), "limit", began))
            else:
                self._halt(item, Held(error.cap, str(error), error.limit, error.unit))
        except (ExpressionError, StudioError) as error:
            self._end(_failed(item, str(error), "invalid", began))
        except TimeoutError:
            reason = f"It was stopped after {seconds_of(self.step):g} s."
            self._end(_failed(item, reason, "timeout", began))
        else:
            left, self._refusals = True, 0
            self.lane.answered(place)
            if result is not None:
                self._end(result)
        finally:
            if not left:
                self.lane.left()
            self._changed.set()

    async def _tried(self, item: Item) -> ItemResult | None:
        said = await self.said(item)
        if not answers_itself(self.answerer.agent):
            return await self._in_session(item, UserBlock("", said).text)
        budget, result = await self._budget(), None
        uses = list[ItemUse]()
        try:
            async with asyncio.timeout(seconds_of(self.step) or None):
                result = await self.answerer.ask(item.place, said, budget, uses)
        finally:
            if result is None and uses:  # what came before the error is paid all the same
                used = self.answerer.result(item.place, "", None, uses, 0.0)
                self._results.append(replace(used, again=True))
        return result

    async def said(self, item: Item) -> tuple[Said, ...]:
        """What the agent is told about an item; raises ExpressionError and ConfigurationError."""
        values = self.plan.values
        names = {**self._others, "item": item.value, "key": item.key}
        prompt = await self.of.reads.having(lambda: values.words(self.step.prompt, names))
        said = Text(f"{prompt}\n\n{self._told}" if self._told else prompt)
        call = read_call(self.step)
        if call is None or call[0] != "files" or not answers_itself(self.answerer.agent):
            return (said,)
        workspace = await self.of.reads.workspace("files", str(item.value))
        path = workspace.file(str(item.value))
        if workspace.hidden(workspace.relative(path)):
            raise ConfigurationError("A rule keeps it from being read.")
        return said, await attach(Path(path))

    async def _budget(self) -> Budget:
        parent = Budget(self.accounts)
        turn_id = f"{self.run.id}:{self.step.id}"
        return await self.of.engine.budgets.for_item(self.answerer.agent, parent, turn_id)

    @property
    def accounts(self) -> list[Account]:
        return self.of.accounts.of(self.step)

    async def _in_session(self, item: Item, said: str) -> ItemResult | None:
        """Do a try in a session of its own; None if it goes on later."""
        of, key = self.of, (self.step.id, item.key)
        session = await of.work.sessions.open(key, item.session_id) if item.session_id else None
        if session is None:
            session = await of.work.sessions.begin(self.step, item.key)
            await of.store.begin_session(self.queue, item.place, session.info.id)
            self._active[item.place] = replace(item, session_id=session.info.id)
        before = await of.engine.store.events(session.info.id)
        if self.step.effects == "ask" and await unsure_actions(session, of.engine):
            reason = "It ended in the middle of an action that may have happened."
            return ItemResult(item.place, "failed", reason=reason, fault="unsure")
        words = "" if session.transcript.blocks else said
        budget = Budget(self.accounts)
        try:
            ended = await of.work.ended(self.step, item.key, session, before) if before else None
            outcome = ended or await of.work.run(
                *(self.step, item.key, session, words, budget, self._exposed, before)
            )
        finally:
            of.work.sessions.let_go(key)
            self.note_question(item.key, asks=False)
        match outcome:
            case StepFinished():
                state = "done" if outcome.state == "done" else "failed"
                made = (outcome.text, outcome.outputs, outcome.reason, outcome.fault)
                used = (outcome.tokens, outcome.dollars, outcome.seconds)
                return ItemResult(item.place, state, *made, *used)
            case Interrupted() if item.key in self.left_out:
                return left_out(item, *await of.work.spent(session.info.id))
            case Interrupted():
                self._active.pop(item.place, None)
            case _:
                self._halt(item, outcome)
        return None

    def _refused(self, item: Item, place: int, error: ProviderError, began: float) -> bool:
        """Decide about a failed request; whether its place was given back."""
        policy, tries = self.of.engine.services.retry_policy, self._tries[item.place]
        if error.fault in ("rate_limited", "overloaded"):
            self._refusals += 1
            self.note_again(error.fault)
            self.lane.refused(place, error.retry_after)
            if self._refusals >= PATIENCE:
                self._halt(item, Waiting(str(error)))
                return True
            self._tries[item.place] -= 1
            often = min(self._refusals, 6)
            self._try_later(item, 0.0 if error.retry_after else policy.base * 2.0 ** (often - 6))
            return True
        if error.fault in STOPPING:
            self._halt(item, Waiting(str(error)))
        elif error.fault in RETRYABLE and (wait := policy.wait(error, tries)) is not None:
            self.note_again(error.fault)
            self._try_later(item, wait)
        else:
            self._end(_failed(item, str(error), "error", began))
        return False

    def note_again(self, kind: str) -> None:
        again = self.tally.tried_again
        self.tally = replace(self.tally, tried_again={**again, kind: again.get(kind, 0) + 1})

    def _halt(self, item: Item, outcome: Outcome) -> None:
        self._active.pop(item.place, None)
        self.stopped = self.stopped or outcome

    def _end(self, result: ItemResult) -> None:
        """A try is over: store its result, or plan another one, as the step says."""
        retry, tries = self.step.retry, self._tries.get(result.place, 1)
        failed = result.state == "failed"
        if retry is not None and failed and result.fault in retry.on and tries <= retry.most:
            self._results.append(replace(result, again=True))
            self.note_again(result.fault)
            wait = retry.wait * retry.backoff ** (tries - 1)
            again = self._active[result.place] = replace(self._active[result.place], session_id="")
            self._try_later(again, wait)
            return
        self._results.append(result)
        self._ended.append(time.monotonic())
        tally = self.tally
        self.tally = replace(
            tally,
            done=tally.done + (result.state == "done"),
            failed=tally.failed + failed,
            skipped=tally.skipped + (result.state == "skipped"),
        )

    # Results

    async def _keep_storing(self) -> None:
        counted = time.monotonic()
        while True:
            await asyncio.sleep(STORED)
            await self._store()
            if time.monotonic() - counted >= COUNTED:
                counted = time.monotonic()
                await self.count()

    async def _store(self) -> None:
        if results := self._results:
            self._results = []
            tokens = sum(one.tokens for one in results)
            dollars = sum(one.dollars or 0.0 for one in results)
            tally = self.tally
            self.tally = replace(
                tally, tokens=tally.tokens + tokens, dollars=tally.dollars + dollars
            )
            await self.of.store.record(self.queue, results)
            for one in results:
                if not one.again:
                    self._active.pop(one.place, None)
            self._changed.set()

    async def _tally(self) -> ItemTally:
        now = time.monotonic()
        while self._ended and self._ended[0] < now - MEASURED:
            self._ended.popleft()
        span = now - self._ended[0] if len(self._ended) > 1 else 0.0
        return replace(
            self.tally,
            at_a_time=min(self.lane.busy, self.lane.limit),
            found=self.lane.found,
            rate=len(self._ended) / span if span else 0.0,
        )

    async def count(self) -> None:
        await self.of.recorder.record(ItemsCounted(self.step.id, await self._tally()))

    # Ends

    async def _ask(self, id: str, took: float) -> RunQuestion:
        rows = await self.of.store.newest(self.queue, SAMPLE)
        tried = [one for one in rows if not one.linked and one.state != "skipped"]
        costs, seconds = [one.dollars for one in tried], [one.seconds for one in tried]
        tally = await self.of.store.tally(self.queue)
        most = self.step.max_parallel or MOST
        found = estimate(tally, costs, seconds, self.lane, most, took)
        choices = ("all", "batch", "keep")
        if self.step.via == "batch":
            choices = ("batch", "all", "keep")
        if self.answerer.why_no_batches():
            choices = ("all", "keep")
        path = (self.plan.workflow.name, self.step.label)
        provider = self.answerer.provider.name
        return sample_question(id, found, self.run.caps[""], choices, path, provider)

    async def finished(self, state: str = "", reason: str = "") -> StepFinished:
        tally = await self.of.store.tally(self.queue)
        if not state:
            state = "failed" if tally.failed else "done"
            if tally.failed:
                first = (await self.of.store.failures(self.queue))[0]
                reason = f"{tally.failed:,} of {tally.count:,} items failed: {first[1]}"
        fault = "error" if state == "failed" else ""
        return StepFinished(
            *(self.step.id, "", state, reason),  # type: ignore[arg-type]
            fault=fault,
            tokens=tally.tokens,
            dollars=tally.dollars,
            exposed=tuple(self._exposed),
        )


def left_out(item: Item, tokens: int, dollars: float | None) -> ItemResult:
    """That the person left an item out, after its session had used so much."""
    return ItemResult(item.place, "skipped", reason=LEFT_OUT, tokens=tokens, dollars=dollars)


def _failed(item: Item, reason: str, fault: str, began: float) -> ItemResult:
    took = time.monotonic() - began
    return ItemResult(item.place, "failed", reason=reason, fault=fault, seconds=took)
