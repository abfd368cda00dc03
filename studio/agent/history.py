"""A session's native history, in memory and on disk."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from studio.domain.jsonvalue import JsonObject
from studio.storage.sessions import SessionStore


class StoredHistory:
    """The native history of one epoch: append-only, in memory first, then on disk."""

    def __init__(
        self, store: SessionStore, session_id: str, epoch: int, items: list[JsonObject]
    ) -> None:
        self.items = items
        self._store = store
        self._session_id = session_id
        self._epoch = epoch
        self._unsaved: list[JsonObject] = []
        self._saving = asyncio.Lock()

    async def append(self, items: Sequence[JsonObject]) -> None:
        """Durable when it returns; a cancelled caller does not undo it."""
        self.items.extend(items)
        self._unsaved.extend(items)
        await asyncio.shield(self.save())

    async def save(self) -> None:
        """Write what is not on disk yet, in order: no result is ever there without its call."""
        async with self._saving:
            batch = tuple(self._unsaved)
            if batch:
                await self._store.append_native(self._session_id, self._epoch, batch)
                del self._unsaved[: len(batch)]
