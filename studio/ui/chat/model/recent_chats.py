"""Recent chats: keeps those open that were on screen last; a chat takes memory while it is open."""

from __future__ import annotations

from .open_chat import Change, OpenChat

KEPT = 8
"""Chats that can be shown again at once."""


class RecentChats:
    """The chats that one window showed, the latest last; those before them are put away."""

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self._ids = dict[str, None]()
        chat.subscribe(self._changed, "chat")

    def _changed(self, _: Change) -> None:
        if (session := self._chat.session) is None:
            return
        self._ids.pop(session.info.id, None)
        self._ids[session.info.id] = None
        if len(self._ids) > KEPT:
            self._chat.run(self._put_away(list(self._ids)[:-KEPT]))

    async def _put_away(self, ids: list[str]) -> None:
        engine = self._chat.engine
        assert engine is not None  # there is a session
        for one in ids:
            works = self._chat.runner.works_on(one)
            if not works and await engine.sessions.put_away_idle(one):
                self._ids.pop(one, None)
