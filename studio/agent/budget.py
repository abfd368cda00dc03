"""The budget: what a turn may use of tokens and money, and what was used (L-14).

Before a request is sent, the most that it may use is reserved, and what it really used is
booked when it is done. It is booked on several accounts: the turn's, the session's,
the day's and the month's, those of a step of a workflow and its run, and those of the turn that
began this one. Where not all of an answer would fit, its output limit is lowered, so that no tree
of agents uses more than one of its caps (W-20). A request is refused only if what it probably
uses does not fit; if the most does not fit, nothing else is sent meanwhile.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from studio.domain.agents import Caps
from studio.domain.errors import StudioError
from studio.domain.events import Cap
from studio.domain.records import dataclass
from studio.providers.base import Request

Unit: TypeAlias = Literal["tokens", "dollars"]
NEARLY = 0.85
"""Of a cap, from which on an agent is told to come to an end."""
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


class OverBudget(StudioError):
    """A request would go beyond a cap; ``cap`` says whose, ``limit`` how much it allows."""

    def __init__(self, cap: Cap, caps: Caps, unit: Unit, *, reached: bool = True) -> None:
        self.limit = float(caps.tokens if unit == "tokens" else caps.dollars)
        most = amount_text(unit, self.limit)
        if reached:
            super().__init__(f"Your limit of {most} {OF_CAP[cap]} is reached.")
        else:
            super().__init__(f"The next request may exceed your limit of {most} {OF_CAP[cap]}.")
        self.cap: Cap = cap
        self.unit: Unit = unit


class Account:
    """What one turn, session, day or month may use, and has used."""

    def __init__(self, cap: Cap, caps: Caps) -> None:
        self.cap: Cap = cap
        self.caps = self._first = caps
        self.used = self.reserved = NO_AMOUNT
        self.open = 0
        """Requests that are being answered."""
        self._settled: asyncio.Event | None = None
        """Wakes those who wait for a request to be done; None where nobody waits."""

    def room(self, likely: Amount, most: Amount, rate: float) -> float:
        """Tokens that an answer may have beside requests on their way.

        Sending the request probably uses no more than ``likely``, and in no case more than
        ``most``; ``rate`` are the dollars of a token of the answer. Raises OverBudget if no
        answer would probably fit even without the others.
        """
        caps, used, found = self.caps, self.used, math.inf
        if caps.tokens:
            left = caps.tokens - used.tokens
            beside = left - self.reserved.tokens - most.tokens
            found = self._room("tokens", left - likely.tokens, beside)
        if caps.dollars and (most.dollars or rate):
            left = caps.dollars - used.dollars
            beside = _answers(left - self.reserved.dollars - most.dollars, rate)
            found = min(found, self._room("dollars", _answers(left - likely.dollars, rate), beside))
        return found

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
        if self._settled is not None:
            self._settled.set()
            self._settled = None

    async def change(self) -> None:
        """Return when a request that was being answered is done."""
        if self._settled is None:
            self._settled = asyncio.Event()
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
        used, caps = self.used, self.caps
        return bool(
            (caps.tokens and used.tokens / caps.tokens > NEARLY)
            or (caps.dollars and used.dollars / caps.dollars > NEARLY)
        )

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
