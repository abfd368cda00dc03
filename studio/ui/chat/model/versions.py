"""Message versions: knows the versions of messages and answers, and shows another.

The list has one row for a chat. It stands for the version that somebody opened or wrote in last;
windows that show other versions of the chat keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from .open_chat import Change, OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.sessions import TurnVersions, Versions

VersionOf: TypeAlias = Literal["message", "answer"]


class MessageVersions:
    """Knows the versions in the open chat once they are read, and goes from one to another."""

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self._known: dict[str, TurnVersions] = {}
        """By the id of the turn."""
        chat.subscribe(self._changed, "chat", "turn", "sent")

    def of(self, turn_id: str, kind: VersionOf) -> Versions | None:
        """The versions of a turn's message, or of its answer; None if there is only one."""
        found = self._known.get(turn_id)
        versions = getattr(found, kind) if found is not None else None
        return versions if versions is not None and len(versions.sessions) > 1 else None

    def show(self, session_id: str) -> None:
        """Put another version of the chat on screen."""
        self._chat.run(self._show(session_id))

    async def _show(self, session_id: str) -> None:
        engine, before = self._chat.engine, self._chat.session
        assert engine is not None
        session = await engine.sessions.show_version(session_id)
        if self._chat.session is before:
            self._chat.show(session)
            self._chat.notify("session")

    def _changed(self, change: Change) -> None:
        session = self._chat.session
        if change.part == "chat":
            self._known = {}
        chosen = change.part == "sent" or (change.part == "chat" and not change.reloaded)
        if session is not None:
            self._chat.run(self._read(session, chosen=chosen))

    async def _read(self, session: Session, *, chosen: bool) -> None:
        engine = self._chat.engine
        if engine is None or not session.info.family:
            return
        if chosen and session.info.behind:
            await engine.sessions.show_version(session.info.id)
            self._chat.notify("session")
        found = await engine.sessions.versions(session.info.id)
        known = {one.turn_id: one for one in found}
        if session is self._chat.session and known != self._known:
            self._known = known
            self._chat.notify("versions")
