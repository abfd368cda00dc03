"""Session rules: stores the permission rules of one session, and applies them at once (T-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TypeAlias

from studio.agent.permission.policy import Policy
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule
from studio.storage.config.permission_rules import SessionRule, SessionRuleStore

# ``list`` is a method's name in the class below.
_Listed: TypeAlias = list[SessionRule]


class SessionRules:
    """The rules that the person gave for one chat, for example by answering “for this session”.

    Every coroutine raises StorageError.
    """

    def __init__(self, store: SessionRuleStore, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self._policy: Policy | None = None
        self._looking = asyncio.Lock()
        self.known: Sequence[Rule] = ()
        """The rules as they were read last."""

    async def list(self) -> _Listed:
        """Oldest first, the order in which they apply."""
        return await self._store.of(self._session_id)

    async def add(self, rule: Rule) -> None:
        """Keep a rule; keeping it twice is the same as once."""
        await self._store.add(self._session_id, rule)
        await self.look()

    async def change(self, rule_id: int, rule: Rule) -> None:
        """Replace a rule; raises ConfigurationError if there is no such rule."""
        changed = await self._store.change(self._session_id, rule_id, rule)
        await self._must_have(rule_id, known=changed)

    async def remove(self, rule_id: int) -> None:
        """Raises ConfigurationError if there is no such rule."""
        removed = await self._store.remove(self._session_id, rule_id)
        await self._must_have(rule_id, known=removed)

    async def look(self) -> None:
        """Read the stored rules and apply them, also in the turn that runs."""
        async with self._looking:  # what was read first may not come last
            self.known = [one.rule for one in await self.list()]
            if self._policy is not None:
                self._policy.put("session", self.known)

    def count_in(self, policy: Policy) -> None:
        """Apply later changes to the policy of a turn, too; it has the rules known now."""
        self._policy = policy

    async def _must_have(self, rule_id: int, *, known: bool) -> None:
        await self.look()  # another program may have removed it
        if not known:
            raise ConfigurationError(f"There is no rule {rule_id} in this chat.")
