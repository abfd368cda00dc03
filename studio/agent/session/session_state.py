"""The state of an open session: its facts, transcript, drafts and rules, and its events.

Each event is applied to the transcript, written to the journal and published on
the channel exactly once, here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from studio.agent.changes.draft_store import DraftStore
from studio.domain.envelope import EventEnvelope
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript
from studio.storage.sessions.store import SessionStore

from .event_channel import EventChannel
from .pending_input import PendingInput
from .session_rules import SessionRules


class SessionState:
    """What a session and the objects that work for it share."""

    def __init__(
        self,
        info: SessionInfo,
        store: SessionStore,
        channel: EventChannel,
        drafts: Callable[[Transcript], DraftStore],
        events: Sequence[Event],
        damage: str = "",
    ) -> None:
        self.info = info
        self.store = store
        self.damage = damage
        """What is wrong with a session that can only be read; empty for a sound one."""
        self.transcript = Transcript(events)
        self.drafts = drafts(self.transcript)
        self.pending = PendingInput(events, self.drafts)
        self.rules = SessionRules(store.rules, info.id)
        self.journal = store.journal(info.id)
        self.channel = channel
        self.working_agent = ""
        """The agent of the running turn; empty where none runs."""
        self.recorded: Callable[[Event], None] = lambda _: None
        """Called for each event before it is published."""

    def record(self, event: Event) -> None:
        """Apply an event to the transcript, save it and publish it."""
        self.publish(event, self.transcript.apply(event))

    def publish(self, event: Event, block: int | None) -> None:
        """Save and publish an event that the transcript has; ``block`` is what it changed."""
        self.journal.append(event)
        self.pending.apply(event)
        self.recorded(event)
        transcript, agent = self.transcript, self.working_agent or self.info.agent
        self.channel.publish(
            EventEnvelope(self.info.id, transcript.turn_id, agent, transcript.steps, event, block)
        )

    async def change(self, **fields: Any) -> None:
        """Change title, folder, agent, provider, model or permission mode.

        A model that is changed counts as chosen, unless ``model_chosen`` says otherwise.
        """
        if "model" in fields:
            fields.setdefault("model_chosen", True)
        self.info = replace(self.info, **fields)
        await self.store.update(self.info.id, **fields)

    async def flush(self) -> None:
        """Return when everything recorded so far is on disk."""
        await self.journal.flush()

    def require_sound(self) -> None:
        """Raises ConfigurationError if the session can only be read."""
        if self.damage:
            raise ConfigurationError(
                f"This chat is damaged and can only be read: {self.damage}. Continue in a new chat."
            )
