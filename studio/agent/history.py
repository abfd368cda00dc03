"""A session's native history, in memory and on disk: one epoch after the other (H-1, H-9)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from studio.domain.codec import decode, encode
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Said, Text, ToolResult
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.providers.base import Provider
from studio.storage.sessions import Native, SessionStore

CLOSED = "The program ended before this tool finished. Its effect is unknown."
CARRIED_OVER = (
    "Now on {model}. The conversation was carried over; what the earlier model thought was not."
)


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


@dataclass(frozen=True, slots=True)
class Epoch:
    """A history to go on with, and the system prompt and tools that it began with.

    ``notices`` tell the person what was carried over or repaired.
    """

    history: StoredHistory
    system: str
    tools: list[ToolSpec]
    notices: tuple[str, ...] = ()


class Epochs:
    """The native histories of one session."""

    def __init__(self, store: SessionStore, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self._current: StoredHistory | None = None

    async def open(
        self,
        provider: Provider,
        model: str,
        system: str,
        tools: list[ToolSpec],
        transcript: Transcript,
        unsent: list[Said],
    ) -> Epoch:
        """The stored epoch if this provider wrote it for this agent and model, else a new one.

        System prompt and tools are those the epoch began with, to the letter.
        A new epoch is built from the transcript (H-7). ``unsent`` is what was
        said and may be in no request yet; what the history has of it is taken out.
        """
        await self.save()  # what a failing disk left behind
        stored = await self._store.native(self._session_id)
        if stored is not None and (
            epoch := await self._go_on(stored, provider, model, system, tools)
        ):
            added = provider.said(unsent) if unsent else []
            if added and epoch.history.items[-len(added) :] == added:
                unsent.clear()  # stored, but the turn ended before it said so
            return epoch
        items = provider.rebuild(transcript.messages()) if transcript.blocks else []
        number = await self._store.begin_epoch(
            self._session_id,
            provider.name,
            provider.protocol,
            model,
            system,
            cast("list[JsonObject]", encode(tools)),
            items,
        )
        unsent.clear()  # the transcript had it
        self._current = StoredHistory(self._store, self._session_id, number, items)
        other = stored is not None and (stored.provider, stored.model) != (provider.name, model)
        notices = (CARRIED_OVER.format(model=model),) if other else ()
        return Epoch(self._current, system, tools, notices)

    async def save(self) -> None:
        """Write what is not on disk yet; raises StorageError."""
        if self._current is not None:
            await self._current.save()

    async def _go_on(
        self, stored: Native, provider: Provider, model: str, system: str, tools: list[ToolSpec]
    ) -> Epoch | None:
        written_by = (stored.provider, stored.protocol, stored.model, stored.system)
        if written_by != (provider.name, provider.protocol, model, system):
            return None
        frozen = cast("list[ToolSpec]", decode(tuple[ToolSpec, ...], cast("Json", stored.tools)))
        if [spec.name for spec in frozen] != [spec.name for spec in tools]:
            return None
        history = StoredHistory(self._store, self._session_id, stored.epoch, stored.items)
        self._current = history
        return Epoch(history, stored.system, list(frozen), await _repair(provider, history))


async def _repair(provider: Provider, history: StoredHistory) -> tuple[str, ...]:
    """Close calls that never got their results (H-5); says so, if there were any."""
    calls = provider.open_calls(history.items)
    if not calls:
        return ()
    closed = [ToolResult(c.id, c.name, (Text(CLOSED),), is_error=True) for c in calls]
    await history.append(provider.results(closed))
    many = "a tool call" if len(calls) == 1 else f"{len(calls)} tool calls"
    return (f"The last turn ended in the middle of {many}. That was repaired.",)
