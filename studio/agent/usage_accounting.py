"""Usage accounting: keeps the accounts of the day and of each session (L-14)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from datetime import datetime

from studio.domain.agents import NO_CAPS, Agent, Caps
from studio.domain.envelope import EventEnvelope
from studio.domain.events import Routed, StepEnded
from studio.domain.sessions import SessionInfo
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.sessions.store import SessionStore

from .limits import HOUR, Account, Amount, Budget, RequestRate
from .usage_costs import UsageTotal, total

LOOK = 2.0
"""A day may have thousands of requests, and a server thousands of turns."""

KNOWN = 1000
"""Sessions whose account is kept at most; that of another is made of what is stored."""


def session_caps(session: SessionInfo, values: Settings) -> Caps:
    """The caps of a session: its own, else those that the settings give every one."""
    if session.caps != NO_CAPS:
        return session.caps
    return Caps(values.session_tokens, values.session_dollars)


class UsageAccounting:
    """Knows what may be used, and learns from storage what was.

    Other programs with the same data book on accounts of their own: what they
    used counts from a turn's beginning on, at most ``LOOK`` seconds late.
    """

    def __init__(
        self,
        settings: SettingsFile,
        store: SessionStore,
        spent: Callable[..., Awaitable[dict[str, UsageTotal]]],
    ) -> None:
        self.rate = RequestRate(lambda: settings.values.requests_per_hour)
        self._settings = settings
        self._store = store
        self._spent = spent
        self._day = Account("day", NO_CAPS)
        self._midnight = 0.0
        self._looked = -LOOK
        self._chats: dict[str, Account] = {}
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

    async def budget(
        self, session: SessionInfo, agent: Agent, parent: Budget | None, *, new: bool = False
    ) -> Budget:
        """What a turn may use: the agent's caps, the session's, the day's, its parent's.

        ``new``: the session has used nothing yet.
        """
        values = self._settings.values
        turn = Caps(values.turn_tokens, values.turn_dollars)
        await self._catch_up()
        chat = await self._chat(session, new)
        above = parent.accounts if parent is not None else ()
        return Budget([Account("turn", turn.within(agent.caps)), chat, *above, self._day])

    def used(self, session_id: str) -> Amount:
        """What a session has used, as far as a turn of it asked since the program started."""
        account = self._chats.get(session_id)
        return account.used if account is not None else Amount()

    async def _chat(self, session: SessionInfo, new: bool) -> Account:
        account, caps = self._chats.get(session.id), session_caps(session, self._settings.values)
        if account is None or caps != NO_CAPS:  # another program may have worked in it
            spent = {} if new else await self._spent("session", session.id)
            used = total(spent.values())
            account = self._chats.pop(session.id, None) or Account("session", caps)
            account.used = account.used.at_least(Amount(used.usage.total, used.cost))
            if len(self._chats) >= KNOWN:
                del self._chats[next(iter(self._chats))]
        self._chats.pop(session.id, None)
        self._chats[session.id] = account  # the last one used is the last to go
        account.caps = caps
        return account

    async def _catch_up(self) -> None:
        values = self._settings.values
        now = datetime.now()
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
        if midnight != self._midnight:
            self._midnight, self._day.used = midnight, Amount()
        self._day.caps = Caps(values.day_tokens, values.day_dollars)
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        if self._day.caps != NO_CAPS:
            spent = total((await self._spent("day", since=midnight)).values())
            self._day.used = self._day.used.at_least(Amount(spent.usage.total, spent.cost))
        if values.requests_per_hour:
            entries = await self._store.ledger(since=time.time() - HOUR)
            self.rate.known(entry.at for entry in entries if entry.turn_id not in self._own)
