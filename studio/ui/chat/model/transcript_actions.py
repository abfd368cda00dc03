"""Transcript actions: answers, drafts, undo of files, summaries and pins in the open chat."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from studio.ui.translation import tr

from .open_chat import ExternalChanges, OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.changes.draft_review import DraftDecision
    from studio.agent.session.session import Session
    from studio.domain.blocks import FilesBlock, SummaryBlock
    from studio.domain.permissions import Answer

UndoStep: TypeAlias = Literal["undo", "redo"]


class TranscriptActions:
    """Does in the session what a person clicks in the transcript; nothing without a session."""

    def __init__(self, chat: OpenChat, external: ExternalChanges) -> None:
        self._chat, self._external = chat, external
        self._summarising: set[str] = set()
        """The ids of the sessions that are being summed up."""

    # Answers and drafts

    def answer_permission(self, question_id: str, answer: Answer) -> None:
        """Answer a permission question of this program or of another one."""
        session = self._chat.session
        if session is not None and session.running:
            session.answer_permission(question_id, answer)
        else:
            self._chat.run(self._external.answer(question_id, answer))

    def answer_question(self, call_id: str, answers: Sequence[str]) -> None:
        """Answer what the agent asked, question by question."""
        if self._chat.session is not None:
            self._chat.session.answer_question(call_id, *answers)

    def decide_draft(self, draft_id: str, decision: DraftDecision) -> None:
        """Approve, discard or undo a draft."""
        if (session := self._chat.session) is not None:
            acts = self._chat.decided(decision, session, [draft_id])
            self._chat.run(session.review.decide(draft_id, decision, acts))

    def approve_drafts(self) -> None:
        """Approve every draft that waits in the open chat."""
        session = self._chat.session
        if session is not None and (waiting := session.drafts.waiting()):
            ids = [draft.id for draft in waiting]
            acts = self._chat.decided("approve", session, ids)
            self._chat.run(session.review.decide_all("approve", ids, acts))

    # Tools that work

    def change_call(self, call_id: str, action: str) -> None:
        """``stop_call`` ends a call that runs, ``release_call`` lets its command go on as a job."""
        session = self._chat.session
        if session is None:
            return
        if action == "stop_call":
            if not session.stop_calls(call_id):
                self._chat.report(tr("It does not run in this program."))
        elif not session.jobs.release(session.info.id, call_id):
            self._chat.report(tr("This command cannot go on in the background now."))

    def stop_child(self, session_id: str) -> None:
        """End an agent that works for this chat, and let the chat go on."""
        session, engine = self._chat.session, self._chat.engine
        if session is None or engine is None:
            return
        if not engine.delegation.stop_one(session.info.id, session_id):
            self._chat.report(tr("It does not run in this program."))

    # The files that turns changed

    def undo_files(self, turn_id: str, action: str) -> None:
        """``undo`` or ``redo`` a turn; ``later`` undoes the later turns in its way first."""
        if self._chat.session is not None:
            self._chat.run(self._undo_files(self._chat.session, turn_id, action))

    async def _undo_files(self, session: Session, turn_id: str, action: str) -> None:
        if action == "redo":
            await session.redo_turn(turn_id)
            return
        if action == "later":
            for other in session.undo.blocking(turn_id):
                await session.undo_turn(other)
        await session.undo_turn(turn_id)

    def next_files(self, step: UndoStep) -> FilesBlock | None:
        """What the newest turn changed that can be undone, or the one that was undone last."""
        session = self._chat.session
        if session is None or session.damage or session.transcript.running:
            return None
        from studio.domain.blocks import FilesBlock  # not before there is a session

        files = [b for b in session.transcript.blocks if isinstance(b, FilesBlock) and b.paths]
        if step == "undo":
            return next((block for block in reversed(files) if not block.undone), None)
        return next((block for block in files if block.undone), None)

    # What the model keeps of a long chat

    def summarising(self, session: Session) -> bool:
        """Whether a summary is being written."""
        return session.info.id in self._summarising

    def summarise(self) -> None:
        """Have the model sum up the chat, except for its end."""
        session = self._chat.session
        if session is not None and not self.summarising(session):
            self._chat.run(self._summarise(session))

    async def _summarise(self, session: Session) -> None:
        self._summarising.add(session.info.id)
        self._chat.notify("summary")
        try:
            await session.context.summarise()
        finally:
            self._summarising.discard(session.info.id)
            self._chat.notify("summary")

    def summary(self, summary_id: str) -> SummaryBlock | None:
        """The block of a summary, if there is one."""
        from studio.domain.blocks import SummaryBlock

        session = self._chat.session
        blocks = session.transcript.blocks if session is not None else ()
        found = (block for block in blocks if isinstance(block, SummaryBlock))
        return next((block for block in found if block.summary_id == summary_id), None)

    def undo_summary(self, summary_id: str) -> None:
        if self._chat.session is not None:
            self._chat.run(self._keep(self._chat.session.context.undo_summary(summary_id)))

    def pin(self, block: int, pinned: bool) -> None:
        """Keep a message whole for the model, or no longer."""
        if self._chat.session is not None:
            self._chat.run(self._keep(self._chat.session.context.pin(block, pinned)))

    async def _keep(self, change: Coroutine[Any, Any, None]) -> None:
        """Change what the model keeps. The new history is there only at the end of that."""
        try:
            await change
        finally:
            self._chat.notify("summary")
