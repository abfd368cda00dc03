"""Event envelope: names the run, agent and step that an event comes from.

The one channel of events (``agent.session.event_channel``) carries envelopes to
the window, the terminal, the server, the editor protocol and whatever else follows
a session.
"""

from __future__ import annotations

from dataclasses import dataclass

from .events import Event


@dataclass(frozen=True, slots=True)
class EventEnvelope:
    """One event of one session, folded and on its way to the disk.

    ``run_id`` is the id of the turn that the event belongs to, or of the last turn
    before it; empty where the session has had none. ``agent`` is the name of the
    agent that works in the session, ``step`` the number of the turn's model request
    (0 before the first). ``block`` is the index of the transcript block that the
    event changed, None where it changed none.
    """

    session_id: str
    run_id: str
    agent: str
    step: int
    event: Event
    block: int | None = None
