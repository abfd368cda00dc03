"""Turn undo: the file changes of turns are undone and redone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from .open_chat import OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.blocks import FilesBlock

Step: TypeAlias = Literal["undo", "redo"]


class TurnUndo:
    """Undoes and redoes what turns of the open chat changed in its folder."""

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat

    def do(self, turn_id: str, action: str) -> None:
        """``undo`` or ``redo`` a turn; ``later`` undoes the later turns in its way first."""
        session = self._chat.session
        if session is not None:
            self._chat.run(self._do(session, turn_id, action))

    async def _do(self, session: Session, turn_id: str, action: str) -> None:
        if action == "redo":
            await session.redo_turn(turn_id)
            return
        if action == "later":
            for other in session.files.blocking(turn_id):
                await session.undo_turn(other)
        await session.undo_turn(turn_id)

    def next(self, step: Step) -> FilesBlock | None:
        """The newest turn that can be undone, or the one that was undone last."""
        session = self._chat.session
        if session is None or session.damage or session.transcript.running:
            return None
        from studio.domain.blocks import FilesBlock  # not before there is a session

        files = [b for b in session.transcript.blocks if isinstance(b, FilesBlock) and b.paths]
        if step == "undo":
            return next((block for block in reversed(files) if not block.undone), None)
        return next((block for block in files if block.undone), None)
