"""House rules about a whole session."""

from __future__ import annotations

from studio.providers.simulator.maker import ServerState
from studio.providers.simulator.refused import RequestRefused
from studio.providers.simulator.view import RequestView


def appended(view: RequestView, maker: ServerState) -> None:
    """House rule: a request repeats the session's one before it and only adds to its end."""
    if not maker.sessions.continues(view):
        raise RequestRefused(
            "house", "house rule: the history, the system prompt and the tools only grow at the end"
        )
