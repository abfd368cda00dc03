"""Limits on tokens, money, time and requests an hour: of a turn, a session and a day (L-14).

A request is allowed before it is sent, from an estimate, and what it really used is
booked when it is done. It is booked on several accounts: the turn's, the session's,
the day's, and those of the turn that began this one. So all agents that work for
one turn stop together, at most one request beyond the limit. ``WorkClock`` counts
the seconds of work.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from studio.domain.agents import Caps
from studio.domain.errors import ProviderError, StudioError
from studio.domain.events import Cap
from studio.domain.models import ModelInfo, Usage

from .usage_costs import TokenRates

NEARLY = 0.85
"""Of a cap, from which on an agent is told to come to an end."""
HOUR = 3600.0
_OF: dict[Cap, str] = {"turn": "for one turn", "session": "for this chat", "day": "for today"}


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

    def over(self, caps: Caps) -> Literal["", "tokens", "dollars"]:
        """Which cap this is beyond, if it is beyond one."""
        if caps.tokens and self.tokens > caps.tokens:
            return "tokens"
        return "dollars" if caps.dollars and self.dollars > caps.dollars else ""


NOTHING = Amount()


class OverBudget(StudioError):
    """A request would go beyond a cap; ``cap`` says whose."""

    def __init__(self, cap: Cap, caps: Caps, unit: Literal["tokens", "dollars"]) -> None:
        most = f"{caps.tokens:,} tokens" if unit == "tokens" else f"${caps.dollars:,.2f}"
        super().__init__(f"Your limit of {most} {_OF[cap]} is reached.")
        self.cap: Cap = cap
        self.unit: Literal["tokens", "dollars"] = unit


class Account:
    """What one turn, session or day may use, and has used."""

    def __init__(self, cap: Cap, caps: Caps, used: Amount = NOTHING) -> None:
        self.cap: Cap = cap
        self.caps = caps
        self.used = used
        self.reserved = NOTHING
        self.open = 0
        """Requests that are being answered."""
        self._settled = asyncio.Event()

    def allows(self, least: Amount, most: Amount) -> bool:
        """False if it has to wait for another request to end; raises OverBudget if it never fits.

        ``most`` counts only beside other requests: one alone may go over the
        cap by what nobody could know before.
        """
        if unit := (self.used + least).over(self.caps):
            raise OverBudget(self.cap, self.caps, unit)
        return not self.open or not (self.used + self.reserved + most).over(self.caps)

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
    def nearly(self) -> bool:
        soon = Amount(round(self.used.tokens / NEARLY), self.used.dollars / NEARLY)
        return bool(soon.over(self.caps))


class Reservation:
    """The reserved amount of one request; ``settle`` books what it used, the first time."""

    def __init__(self, accounts: Iterable[Account], most: Amount) -> None:
        self._accounts = tuple(accounts)
        self._most = most

    def settle(self, used: Amount = NOTHING) -> None:
        for account in self._accounts:
            account.settle(self._most, used)
        self._accounts = ()


class Budget:
    """The accounts that a turn's requests are booked on."""

    def __init__(self, accounts: Iterable[Account]) -> None:
        self.accounts = tuple(dict.fromkeys(accounts))

    async def reserve(self, least: Amount, most: Amount) -> Reservation:
        """Wait until a request fits beside those being answered; raises OverBudget.

        ``least`` is what it will surely use, ``most`` what it may use.
        """
        while full := next((a for a in self.accounts if not a.allows(least, most)), None):
            await full.change()
        for account in self.accounts:
            account.reserve(most)
        return Reservation(self.accounts, most)

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
        """Count a request; raises ProviderError(rate_limited) with the wait until one may go."""
        limit, now = self._limit(), time.time()
        for times in (self._own, self._others):
            while times and times[0] <= now - HOUR:
                times.popleft()
        if limit and len(self._own) + len(self._others) >= limit:
            wait = sorted([*self._own, *self._others])[-limit] + HOUR - now
            many = "1 request" if limit == 1 else f"{limit:,} requests"
            text = f"Your limit of {many} an hour is reached."
            raise ProviderError("rate_limited", text, retry_after=wait)
        self._own.append(now)


ANSWER = 8_192
"""Tokens that an answer may have, where a model's limit is unknown or larger."""


class RequestMeter:
    """Reserves and books what the requests of one turn use. ``rates`` are the prices of tokens."""

    def __init__(
        self, budget: Budget, rate: RequestRate, rates: Awaitable[TokenRates | None]
    ) -> None:
        self.budget = budget
        self._rate = rate
        self._rates = asyncio.ensure_future(rates)

    async def reserve(self, tokens: int, facts: ModelInfo | None) -> Reservation:
        """Wait until a request that sends about ``tokens`` may go out.

        Raises OverBudget, or ProviderError for the rate.
        """
        rates = await asyncio.shield(self._rates)
        limit = facts.output_limit if facts is not None else None
        answer = min(limit or ANSWER, ANSWER)
        least = Amount(tokens, _dollars(rates, Usage(tokens)))
        most = Amount(tokens + answer, _dollars(rates, Usage(tokens, output=answer)))
        reservation = await self.budget.reserve(least, most)
        try:
            self._rate.take()
        except BaseException:
            reservation.settle()
            raise
        return reservation

    async def settle(self, reservation: Reservation, usage: Usage, cost: float | None) -> None:
        """Book what a request used; ``cost`` is the provider's own figure."""
        dollars = _dollars(await asyncio.shield(self._rates), usage) if cost is None else cost
        reservation.settle(Amount(usage.total, dollars))


def _dollars(rates: TokenRates | None, usage: Usage) -> float:
    """Nothing where no price is known: money caps cannot count such a model."""
    return (rates.of(usage) or 0.0) if rates is not None else 0.0


class WorkClock:
    """Counts the seconds of work; it is paused while the person is asked (L-11)."""

    def __init__(self) -> None:
        self._worked = 0.0
        self._since: float | None = time.monotonic()
        self._waits = 0

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.monotonic() - self._since
        return self._worked + running

    def pause(self) -> None:
        self._waits += 1
        if self._since is not None:
            self._worked += time.monotonic() - self._since
            self._since = None

    def resume(self) -> None:
        self._waits -= 1
        if self._waits == 0:
            self._since = time.monotonic()
