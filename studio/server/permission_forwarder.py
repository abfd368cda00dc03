"""The permission forwarder brings the questions of a client's turn to the window (S-4).

Without a window they are denied, and nobody answers the agent's own questions.
"""

from __future__ import annotations

from studio.agent.engine import Engine
from studio.agent.prompts import NOBODY_ANSWERS
from studio.agent.session.session import Session
from studio.domain.aio import BackgroundTasks
from studio.domain.events import AwaitingReply
from studio.domain.permissions import Answer, Question

NOBODY = "nobody was at the window to allow it"
"""Who denied a call where no window answers, for the audit and the model."""


class PermissionForwarder:
    """Forwards the permission questions of one turn to the window, where one is open."""

    def __init__(self, engine: Engine, session: Session) -> None:
        self._engine = engine
        self._session = session
        self._tasks = BackgroundTasks()

    def ask(self, question: Question) -> None:
        """Forward a question; the turn continues once there is an answer."""
        self._tasks.start(self._ask(question))

    def reply(self, asked: AwaitingReply) -> None:
        """Answer the agent's own questions."""
        self._session.answer_question(asked.call_id, NOBODY_ANSWERS)

    def close(self) -> None:
        """Withdraw the questions that nobody has answered."""
        self._tasks.cancel()

    async def _ask(self, question: Question) -> None:
        session = self._session
        answer = await self._answer(question)
        if answer is None:
            session.answer_permission(question.id, "deny", NOBODY)
            return
        # A client's question offers no rule, so a yes is for this one call.
        session.answer_permission(question.id, answer if answer == "deny" else "once")

    async def _answer(self, question: Question) -> Answer | None:
        """The person's answer; None if nobody answered."""
        return await self._engine.questions.ask(self._session.info.id, question)
