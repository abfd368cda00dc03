"""Turn budgets: keeps what day, month and sessions used, and makes each turn's budget (L-14)."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime

from studio.agent.session.event_channel import EventEnvelope
from studio.domain.agents import NO_CAPS, Agent, Caps
from studio.domain.blocks import EndBlock
from studio.domain.events import Routed, StepEnded, TurnComplete
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.sessions.store import SessionStore

from .budget import NO_AMOUNT, Account, Amount, Budget
from .request_meter import HOUR, RequestRate
from .usage_costs import UsageCosts, total

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

    def twice_the_cap(self, session: SessionInfo, end: EndBlock | TurnComplete) -> Caps | None:
        """The session's caps with the one that ended its last turn doubled; None for another."""
        if end.cap != "session":
            return None
        caps, used = session_caps(session, self._settings.values), self.used(session.id)
        if end.reason == "money_limit":
            return replace(caps, dollars=2 * max(caps.dollars, end.limit, round(used.dollars, 2)))
        return replace(caps, tokens=2 * max(caps.tokens, int(end.limit), used.tokens))

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
