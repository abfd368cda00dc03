"""The budget: what a turn may use of tokens, money and requests, and what was used (L-14).

Before a request is sent, the most that it may use is reserved, and what it really used is
booked when it is done. It is booked on several accounts: the turn's, the session's,
the day's and the month's, those of a step of a workflow and its run, and those of the turn that
began this one. Where not all of an answer would fit, its output limit is lowered, so that no tree
of agents uses more than one of its caps (W-20). A request is refused only if what it probably
uses does not fit; if the most does not fit, nothing else is sent meanwhile. ``Budgets`` keeps the
accounts of the day, the month and each session, and makes the budget of a turn from them.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeAlias

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.agents import NO_CAPS, Agent, Caps
from studio.domain.errors import ProviderError, StudioError
from studio.domain.events import Cap, Routed, StepEnded
from studio.domain.models import Usage
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.providers.base import Request
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.sessions.store import SessionStore

from .context.token_count import RequestTokens
from .usage_costs import TokenRates, UsageCosts, total

Unit: TypeAlias = Literal["tokens", "dollars"]
NEARLY = 0.85
"""Of a cap, from which on an agent is told to come to an end."""
HOUR = 3600.0
OF_CAP: dict[Cap, str] = {
    "turn": "for one turn",
    "session": "for this chat",
    "day": "for today",
    "month": "for this month",
    "run": "for this run",
    "step": "for this step",
}


def amount_text(unit: Unit, amount: float) -> str:
    """“20,000 tokens” or “$5.00”."""
    if unit == "dollars":
        return f"${amount:,.2f}"
    return "1 token" if amount == 1 else f"{amount:,.0f} tokens"


@dataclass(frozen=True, slots=True)
class Amount:
    """``tokens`` sent and answered, and US ``dollars``."""

    tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.tokens + other.tokens, self.dollars + other.dollars)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.tokens - other.tokens, self.dollars - other.dollars)

    def at_least(self, other: Amount) -> Amount:
        """The larger of each."""
        return Amount(max(self.tokens, other.tokens), max(self.dollars, other.dollars))

    def over(self, caps: Caps) -> Unit | Literal[""]:
        """Which cap this is beyond, if it is beyond one."""
        if caps.tokens and self.tokens > caps.tokens:
            return "tokens"
        return "dollars" if caps.dollars and self.dollars > caps.dollars else ""


NO_AMOUNT = Amount()
LEAST_ANSWER = 256
"""Tokens that an answer has to have room for, or its request is not sent."""
ANSWER = 8_192
"""Tokens that are enough for most answers."""
SHARES = 4
"""One request gets a part of this many of what many share: the others need some, too."""
LONGEST_ANSWER = 65_536
"""Tokens that an answer may have where the model's limit is not known."""


class OverBudget(StudioError):
    """A request would go beyond a cap; ``cap`` says whose."""

    def __init__(self, cap: Cap, caps: Caps, unit: Unit, *, reached: bool = True) -> None:
        most = amount_text(unit, caps.tokens if unit == "tokens" else caps.dollars)
        if reached:
            super().__init__(f"Your limit of {most} {OF_CAP[cap]} is reached.")
        else:
            super().__init__(f"The next request may exceed your limit of {most} {OF_CAP[cap]}.")
        self.cap: Cap = cap
        self.unit: Unit = unit


class OverRate(ProviderError):
    """An hour has no more requests; ``retry_after`` is in how many seconds one may go.

    A short wait is waited for, as that of a provider; else it ends the turn at a limit.
    """

    def __init__(self, limit: int, retry_after: float) -> None:
        many = "1 request" if limit == 1 else f"{limit:,} requests"
        text = f"Your limit of {many} an hour is reached."
        super().__init__("rate_limited", text, retry_after=retry_after)


class Account:
    """What one turn, session, day or month may use, and has used."""

    def __init__(self, cap: Cap, caps: Caps) -> None:
        self.cap: Cap = cap
        self.caps = self._first = caps
        self.used = self.reserved = NO_AMOUNT
        self.open = 0
        """Requests that are being answered."""
        self._settled = asyncio.Event()

    def room(self, likely: Amount, most: Amount, rate: float) -> float:
        """Tokens that an answer may have beside requests on their way.

        Sending the request probably uses no more than ``likely``, and in no case more than
        ``most``; ``rate`` are the dollars of a token of the answer. Raises OverBudget if no
        answer would probably fit even without the others.
        """
        left, rooms = self.caps_left, [math.inf]
        if self.caps.tokens:
            alone = left.tokens - likely.tokens
            beside = left.tokens - self.reserved.tokens - most.tokens
            rooms.append(self._room("tokens", alone, beside))
        if self.caps.dollars and (most.dollars or rate):
            alone = _answers(left.dollars - likely.dollars, rate)
            beside = _answers(left.dollars - self.reserved.dollars - most.dollars, rate)
            rooms.append(self._room("dollars", alone, beside))
        return min(rooms)

    def _room(self, unit: Unit, alone: float, beside: float) -> float:
        if alone < LEAST_ANSWER:
            reached = self.shares[unit] > NEARLY
            raise OverBudget(self.cap, self.caps, unit, reached=reached)
        if self.open:
            return beside
        # The other half is for more than what is likely: nothing else may use it meanwhile.
        return max(beside, LEAST_ANSWER, alone / 2)

    def reserve(self, most: Amount) -> None:
        self.open += 1
        self.reserved += most

    def settle(self, most: Amount, used: Amount) -> None:
        self.open -= 1
        self.reserved -= most
        self.used += used
        self._settled.set()
        self._settled = asyncio.Event()

    async def change(self) -> None:
        """Return when a request that was being answered is done."""
        await self._settled.wait()

    @property
    def left(self) -> Amount:
        """What is left of the caps; of no use where there is none."""
        return self.caps_left - self.reserved

    @property
    def caps_left(self) -> Amount:
        """The same, with what is reserved."""
        return Amount(self.caps.tokens, self.caps.dollars) - self.used

    @property
    def nearly(self) -> bool:
        return max(self.shares.values(), default=0.0) > NEARLY

    @property
    def shares(self) -> dict[Unit, float]:
        """How much of each cap was used; 1 is all of it."""
        used, caps = self.used, self.caps
        found: dict[Unit, float] = {}
        if caps.tokens:
            found["tokens"] = used.tokens / caps.tokens
        if caps.dollars:
            found["dollars"] = used.dollars / caps.dollars
        return found

    def raise_cap(self, unit: Unit) -> None:
        """Let this account have more of a unit, by ``more``, until its next turn begins."""
        self.caps = replace(self.caps, **{unit: getattr(self.caps, unit) + self.more(unit)})

    def more(self, unit: Unit) -> float:
        """What the person is offered beyond a cap: of a turn what it began with, else a quarter.

        Not as much again as it has come to: a few answers of yes would make a fortune of it.
        """
        caps = self._first if self.cap == "turn" else self.caps
        most = caps.tokens if unit == "tokens" else caps.dollars
        more = most if self.cap == "turn" else most / 4
        return max(round(more), 1) if unit == "tokens" else more


def _answers(dollars: float, rate: float) -> float:
    """Tokens of an answer that are to be had for so much."""
    if rate:
        return dollars / rate
    return math.inf if dollars >= 0 else -1.0


class Reservation:
    """The reserved amount of one request; ``settle`` books what it used, the first time.

    ``answer`` is how many tokens the answer may have; ``shortened`` if it might have more without
    the caps.
    """

    def __init__(
        self,
        accounts: Iterable[Account],
        most: Amount,
        answer: int = 0,
        shortened: bool = False,
    ) -> None:
        self._accounts = tuple(accounts)
        self._most = most
        self.answer = answer
        self.shortened = shortened

    def bounded(self, request: Request) -> Request:
        """The request with an output limit of no more than what is reserved."""
        if not self.shortened:
            return request
        limit = min(request.output_limit or self.answer, self.answer)
        return replace(request, output_limit=limit, ceiling=self.answer)

    def cut(self, output: int) -> bool:
        """Whether an answer of so many tokens that reached a limit had all that it was given."""
        return self.shortened and (not output or output > NEARLY * self.answer)

    def settle(self, used: Amount = NO_AMOUNT) -> None:
        for account in self._accounts:
            account.settle(self._most, used)
        self._accounts = ()


class Budget:
    """The accounts that a turn's requests are booked on."""

    def __init__(self, accounts: Iterable[Account]) -> None:
        self.accounts = tuple(dict.fromkeys(accounts))

    async def reserve(
        self,
        sent: Amount,
        wanted: int,
        rate: float = 0.0,
        *,
        likely: Amount | None = None,
        shares: int = SHARES,
    ) -> Reservation:
        """Wait until a request fits beside those being answered; raises OverBudget.

        ``sent`` is the most that sending it uses, ``likely`` what it probably uses at the most.
        ``wanted`` are the tokens that its answer may have, each for ``rate`` dollars. It gets
        fewer where that is all that is left, or where it would leave too little for others that
        work for the same run or turn: then one of so many ``shares``.
        """
        while True:
            rooms = [(one.room(likely or sent, sent, rate), one) for one in self.accounts]
            room, tight = min(rooms, key=lambda one: one[0], default=(math.inf, None))
            if tight is None or room >= shares * wanted:
                answer = wanted
                break
            shared = tight.open or tight.cap in ("run", "step")
            answer = min(wanted, int(max(ANSWER, room / shares) if shared else room))
            if answer <= room:
                break
            if not tight.open:
                answer = int(room)
                break
            await tight.change()
        most = sent + Amount(answer, answer * rate)
        for account in self.accounts:
            account.reserve(most)
        return Reservation(self.accounts, most, answer, answer < wanted)

    def take(self, most: Amount, *, anyway: bool = False) -> Reservation | None:
        """Reserve so much at once, for what is answered much later; None where it does not fit.

        ``anyway``: it is on its way already.
        """
        for one in self.accounts:
            left, caps = one.left, one.caps
            over_tokens = caps.tokens and most.tokens > left.tokens
            if not anyway and (over_tokens or (caps.dollars and most.dollars > left.dollars)):
                return None
        for one in self.accounts:
            one.reserve(most)
        return Reservation(self.accounts, most)

    def part(self, share: float) -> Caps:
        """A share of what may still be used, of all accounts the least (W-35)."""
        tokens = [one.left.tokens * share for one in self.accounts if one.caps.tokens]
        dollars = [one.left.dollars * share for one in self.accounts if one.caps.dollars]
        # 0 would be no cap.
        return Caps(
            max(int(min(tokens)), 1) if tokens else 0, max(min(dollars), 1e-6) if dollars else 0.0
        )

    @property
    def nearly(self) -> bool:
        """Whether one of the caps is nearly reached."""
        return any(account.nearly for account in self.accounts)


class RequestRate:
    """At most ``limit()`` requests an hour; 0 is no limit. Times are ``time.time``."""

    def __init__(self, limit: Callable[[], int]) -> None:
        self._limit = limit
        self._own: deque[float] = deque()
        self._others: deque[float] = deque()

    def known(self, times: Iterable[float]) -> None:
        """Requests of the last hour that other programs made, or an earlier run."""
        self._others = deque(sorted(times))

    def take(self) -> None:
        """Count a request; raises OverRate with the wait until one may go."""
        limit, now = self._limit(), time.time()
        for times in (self._own, self._others):
            while times and times[0] <= now - HOUR:
                times.popleft()
        if limit and len(self._own) + len(self._others) >= limit:
            raise OverRate(limit, sorted([*self._own, *self._others])[-limit] + HOUR - now)
        self._own.append(now)


class RequestMeter:
    """Reserves and books what the requests of one turn use. ``rates`` are the prices of tokens."""

    def __init__(
        self, budget: Budget, rate: RequestRate, rates: Awaitable[TokenRates | None]
    ) -> None:
        self.budget = budget
        self.dollars: float | None = 0.0
        """What the requests cost; None from the first one on whose price is not known."""
        self._rate = rate
        self._rates = asyncio.ensure_future(rates)

    async def reserve(
        self, tokens: RequestTokens, request: Request, *, shares: int = SHARES
    ) -> Reservation:
        """Wait until a request that sends so many tokens may go out.

        No price counts where none is known. Raises OverBudget or OverRate.
        """
        rates = await asyncio.shield(self._rates)
        dearest = max(rates.fresh, rates.written) if rates is not None else 0.0
        sent = Amount(tokens.most, tokens.most * dearest)
        likely = Amount(tokens.likely, tokens.likely * dearest)
        rate = rates.output if rates is not None else 0.0
        wanted = _longest_answer(request)
        reservation = await self.budget.reserve(sent, wanted, rate, likely=likely, shares=shares)
        try:
            self._rate.take()
        except BaseException:
            reservation.settle()
            raise
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: float | None) -> None:
        """Book what a request used; ``cost`` is the provider's own figure."""
        rates = await asyncio.shield(self._rates)
        if cost is None and rates is not None and (usage.total or not rates.output):
            cost = rates.of(usage)
        reservation.settle(Amount(usage.total, cost or 0.0))
        self.dollars = None if cost is None or self.dollars is None else self.dollars + cost


def _longest_answer(request: Request) -> int:
    """Tokens that an answer may have, with what is thought."""
    known = request.facts.output_limit if request.facts is not None else None
    most = known or LONGEST_ANSWER
    if request.output_limit is None or request.effort not in (None, "none"):
        return most  # what is thought may come on top
    return min(request.output_limit, most)


REFRESH_SECONDS = 2.0
"""How old the sum of a day or month may be: a day may have thousands of requests, and a server
thousands of turns."""
MOST_SESSIONS = 1000
"""Sessions whose account is kept at most; that of another is made of what is stored."""


def session_caps(session: SessionInfo, values: Settings) -> Caps:
    """The caps of a session: its own, else those that the settings give every one."""
    if session.caps != NO_CAPS:
        return session.caps
    return Caps(values.session_tokens, values.session_dollars)


class Budgets:
    """Makes the budget of each turn; keeps the accounts of day, month and each session.

    What other programs with the same data used is read from storage when a turn
    begins, and may be ``REFRESH_SECONDS`` old.
    """

    def __init__(
        self, settings: SettingsFile, store: SessionStore, usage_costs: UsageCosts
    ) -> None:
        self.rate = RequestRate(lambda: settings.values.requests_per_hour)
        self._settings = settings
        self._store = store
        self._usage_costs = usage_costs
        self._day = _Period(Account("day", NO_CAPS))
        self._month = _Period(Account("month", NO_CAPS))
        self._refreshed = -REFRESH_SECONDS
        self._limits: tuple[Caps, Caps, int] | None = None
        """Those of the last refresh: without one, nothing is read for it."""
        self._sessions: dict[str, Account] = {}
        self._own: dict[str, float] = {}
        """Turns whose requests this program made, and when it made the last one."""

    def count_request(self, envelope: EventEnvelope) -> None:
        """Remember which of the stored requests are this program's own."""
        if isinstance(envelope.event, StepEnded | Routed):
            turn_id, now = envelope.run_id, time.time()
            self._own.pop(turn_id, None)
            self._own[turn_id] = now
            while self._own[oldest := next(iter(self._own))] < now - HOUR:
                del self._own[oldest]

    async def for_turn(
        self,
        session: SessionInfo,
        agent: Agent,
        parent: Budget | None,
        *,
        new: bool = False,
        long: bool = False,
    ) -> Budget:
        """The budget of a turn: the agent's caps, the session's, its parent's, day's and month's.

        ``new``: the session has used nothing yet. ``long``: the turn has the mode ``long``.
        """
        values = self._settings.values
        turn = Caps(values.turn_tokens, values.long_dollars if long else values.turn_dollars)
        await self._refresh()
        own = await self._of_session(session, new)
        above = parent.accounts if parent is not None else ()
        turns = Account("turn", turn.within(agent.caps))
        return Budget([turns, own, *above, self._day.account, self._month.account])

    async def for_item(self, agent: Agent, parent: Budget, turn_id: str) -> Budget:
        """The budget of a request without a session: the agent's caps, its parent's, day's and
        month's.

        ``turn_id`` is where its usage is stored.
        """
        values = self._settings.values
        await self._refresh()
        self._own[turn_id] = time.time()
        one = Account("turn", Caps(values.turn_tokens, values.turn_dollars).within(agent.caps))
        return Budget([one, *parent.accounts, self._day.account, self._month.account])

    def used(self, session_id: str) -> Amount:
        """What a session has used; nothing if it had no turn since the program started."""
        account = self._sessions.get(session_id)
        return account.used if account is not None else Amount()

    async def _of_session(self, session: SessionInfo, new: bool) -> Account:
        account, caps = self._sessions.get(session.id), session_caps(session, self._settings.values)
        if account is None or caps != NO_CAPS:  # another program may have worked in it
            spent = {} if new else await self._usage_costs.spent("session", session.id)
            used = total(spent.values())
            account = self._sessions.pop(session.id, None) or Account("session", caps)
            account.used = account.used.at_least(Amount(used.usage.total, used.cost))
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[next(iter(self._sessions))]
        self._sessions.pop(session.id, None)
        self._sessions[session.id] = account  # the last one used is the last to go
        account.caps = caps
        return account

    async def _refresh(self) -> None:
        values = self._settings.values
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        first = midnight.replace(day=1)
        day = Caps(values.day_tokens, values.day_dollars)
        month = Caps(values.month_tokens, values.month_dollars)
        self._day.begin(midnight.timestamp(), day)
        self._month.begin(first.timestamp(), month)
        limits = day, month, values.requests_per_hour
        if limits == self._limits and time.monotonic() - self._refreshed < REFRESH_SECONDS:
            return
        self._refreshed, self._limits = time.monotonic(), limits
        for period in (self._day, self._month):
            if period.account.caps != NO_CAPS:
                sums = await self._usage_costs.spent("day", since=period.since)
                spent = total(sums.values())
                used = Amount(spent.usage.total, spent.cost)
                period.account.used = period.account.used.at_least(used)
        if values.requests_per_hour:
            entries = await self._store.ledger(since=time.time() - HOUR)
            self.rate.known(entry.at for entry in entries if entry.turn_id not in self._own)


@dataclass(slots=True)
class _Period:
    """The account of a day or a month; ``since`` is its first moment, seconds of the epoch."""

    account: Account
    since: float = 0.0

    def begin(self, since: float, caps: Caps) -> None:
        """Use these caps; a new period has used nothing."""
        self.account.caps = caps
        if since != self.since:
            self.since, self.account.used = since, NO_AMOUNT
