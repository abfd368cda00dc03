"""The state of an open session: its facts, transcript, drafts and rules, and its pending input.

Each event is applied to the transcript, written to the journal and published on
the channel exactly once, here. ``PendingInput`` keeps what the model has to be told
with the next request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from studio.agent.changes.draft_store import DraftStore
from studio.agent.permission.rules import SessionRules
from studio.agent.session.event_channel import EventEnvelope
from studio.domain.aio import settled
from studio.domain.drafts import DraftStatus
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    DraftResolved,
    Event,
    FilesRestored,
    HistoryBegun,
    StepStarted,
    Told,
    ToolFinished,
    TurnStarted,
)
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript
from studio.storage.sessions.store import SessionStore
from studio.tools import DraftTargets, Workspace

from .event_channel import EventChannel

NAMED = 40
"""Paths that a note names; it counts the others."""


class SessionInUse(ConfigurationError):
    """Another program works in this session; two at once would mix their histories."""


class SessionState:
    """What a session shares with its queue, drafts, undo, context control and turn builder."""

    def __init__(
        self,
        info: SessionInfo,
        store: SessionStore,
        channel: EventChannel,
        draft_targets: Callable[[Workspace], DraftTargets],
        events: Sequence[Event] = (),
        damage: str = "",
    ) -> None:
        self.info = info
        self.store = store
        self.damage = damage
        """What is wrong with a session that can only be read; empty for a sound one."""
        self.transcript = Transcript(events)
        self.drafts = DraftStore(self.transcript.drafts, draft_targets)
        self.pending = PendingInput(events, self.drafts)
        self.rules = SessionRules(store.rules, info.id)
        self.journal = store.journal(info.id)
        self.channel = channel
        self.working_agent = ""
        """The agent of the running turn; empty where none runs."""
        self.users = 0
        """How many work with the session at the moment, so that it is not put away."""
        self.recorded: Callable[[Event], None] = lambda _: None
        """Called for each event before it is published."""

    def record(self, event: Event) -> None:
        """Apply an event to the transcript, save it and publish it."""
        self.publish(event, self.transcript.apply(event))

    def publish(self, event: Event, block: int | None) -> None:
        """Save and publish an event that the transcript has; ``block`` is what it changed."""
        self.journal.append(event)
        if self.info.archived and isinstance(event, TurnStarted) and not event.by_agent:
            self.info = replace(self.info, archived=False)  # as it is stored then
        self.pending.apply(event)
        self.recorded(event)
        transcript, agent = self.transcript, self.working_agent or self.info.agent
        turn, steps = transcript.turn_id, transcript.steps
        self.channel.publish(
            EventEnvelope(self.info.id, turn, agent, steps, event, block, self.info.caller)
        )

    async def change(self, **fields: Any) -> None:
        """Change title, folder, agent, provider, model or permission mode.

        A model that is changed counts as chosen, unless ``model_chosen`` says otherwise.
        """
        if "model" in fields:
            fields.setdefault("model_chosen", True)
        self.info = replace(self.info, **fields)
        await self.store.update(self.info.id, **fields)

    @contextmanager
    def used(self) -> Generator[None, None, None]:
        """Keep the session from being put away."""
        self.users += 1
        try:
            yield
        finally:
            self.users -= 1

    async def flush(self) -> None:
        """Return when everything recorded so far is on disk."""
        await self.journal.flush()

    async def claim(self) -> None:
        """Reserve the session for this program until ``journal.release``.

        Raises SessionInUse if another program works in it, or went on with it.
        """
        if self.journal.unwritten:  # nobody else knows it, and the lock comes with the first write
            await self.journal.claim()
            return
        claim = asyncio.ensure_future(self.journal.claim())
        try:
            await settled(claim)  # also if cancelled: nothing is recorded in another's session
        finally:
            elsewhere = claim.result()
            if elsewhere.running:
                raise SessionInUse(
                    "Another window or terminal is working in this chat. Wait for it."
                )
            if elsewhere.changed:
                raise SessionInUse(
                    "Another window or terminal went on with this chat. Open it again."
                )

    def require_sound(self) -> None:
        """Raises ConfigurationError if the session can only be read."""
        if self.damage:
            raise ConfigurationError(
                f"This chat can only be read: {self.damage.rstrip('.')}. Continue in a new chat."
            )


class PendingInput:
    """What the model has to be told with the next request, derived from the events.

    ``notes`` are in addition to what the person says. ``epoch`` is the last epoch of the
    native history in the events, 0 before any.
    """

    def __init__(self, events: Iterable[Event], drafts: DraftStore) -> None:
        self.notes: list[Told] = []
        self.epoch = 0
        self._drafts = drafts
        self._undone: dict[str, Told] = {}
        restored: set[str] = set()
        for event in events:
            match event:
                case StepStarted() | ToolFinished():
                    self.notes.clear()  # a request or a tool's result had it
                case FilesRestored():
                    restored.update(event.drafts)  # the note on the files names them
                case DraftResolved() if event.draft_id in restored:
                    restored.remove(event.draft_id)
                case DraftResolved():
                    self.drafts_ended({event.draft_id: event.status}, event.detail)
                case _:
                    pass
            self.apply(event)

    def apply(self, event: Event) -> None:
        match event:
            case Told() if event in self.notes:
                self.notes.remove(event)
            case HistoryBegun():  # it has the calls that made drafts, not their ends
                self.epoch = event.epoch
                self.add_draft_note(self._drafts.ends())
                self.notes += (note for note in self._undone.values() if note not in self.notes)
            case FilesRestored():
                self._files_restored(event)
            case _:
                pass

    def drafts_ended(self, ends: Mapping[str, DraftStatus], reason: str = "") -> None:
        """Note how drafts ended, by id, for the model; ``reason`` is why some were discarded."""
        notes = (self._drafts.note(draft_id, status, reason) for draft_id, status in ends.items())
        self.add_draft_note("\n".join(filter(None, notes)))

    def _files_restored(self, event: FilesRestored) -> None:
        earlier = self._undone.pop(event.turn_id, None)
        if earlier in self.notes:  # the model was not told yet
            self.notes.remove(earlier)
            if not event.undone:
                return
        if text := _restored_note(event):
            note = Told("files", text)
            self.notes.append(note)
            if event.undone:
                self._undone[event.turn_id] = note

    def add_draft_note(self, text: str) -> None:
        if text:
            self.notes.append(Told("draft", text))


def _restored_note(event: FilesRestored) -> str:
    """The note about restored files for the model; empty if nothing was restored."""
    if not event.paths:
        return ""
    what, how = (
        ("undid what you changed in an earlier turn", "as they were before it")
        if event.undone
        else ("restored what you changed in an earlier turn", "as that turn left them")
    )
    text = f"The person {what}. These are {how}: {_listed(event.paths)}."
    if event.left:
        text += f" These had changed since and are left as they are: {_listed(event.left)}."
    return text


def _listed(paths: Sequence[str]) -> str:
    named = ", ".join(paths[:NAMED])
    return named if len(paths) <= NAMED else f"{named} and {len(paths) - NAMED} more"
