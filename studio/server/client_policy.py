"""The policy for clients limits what an agent may do for a client of the server (S-4).

Reading in the folder is allowed. Everything else is a permission question: the window
shows it, and without a window it is denied. Only the rules that the person made for
clients allow more; their other rules, the agent's file and the project's rules do not.
"""

from __future__ import annotations

from typing import cast, get_args

from studio.agent.engine import Engine
from studio.agent.permission.policy import Policy
from studio.agent.permission.rules import parse_rule
from studio.agent.session.session import Session
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Question, Rule, Verdict

NOBODY = "nobody was at the window to allow it"
"""Who denied a call where no window answers, for the audit and the model."""


def client_policy(engine: Engine) -> Policy:
    """The limits of one turn, in its folder; raises ConfigurationError for a rule that
    cannot be parsed.

    Such a rule may be one that denies, so no request is answered then.
    """
    rules: list[Rule] = []
    tools = engine.tools()
    for verdict, texts in engine.settings.values.server_rules.items():
        if verdict not in get_args(Verdict):
            raise ConfigurationError(
                f"“{verdict}” in the rules for the server’s clients is no verdict. "
                f"Known are {', '.join(get_args(Verdict))}."
            )
        rules += [parse_rule(text, tools, cast("Verdict", verdict)) for text in texts]
    return Policy("ask", {"server": rules}, cautious=True)


class PermissionForwarder:
    """Forwards the permission questions of one turn to the window, where one is open."""

    def __init__(self, engine: Engine, session: Session) -> None:
        self._engine = engine
        self._session = session
        self._tasks = BackgroundTasks()

    def ask(self, question: Question) -> None:
        """Forward a question; the turn continues once there is an answer."""
        self._tasks.start(self._ask(question))

    def close(self) -> None:
        """Withdraw the questions that nobody has answered."""
        self._tasks.cancel()

    async def _ask(self, question: Question) -> None:
        session = self._session
        answer = await self._engine.questions.ask(session.info.id, question)
        if answer is None:
            session.answer_permission(question.id, "deny", NOBODY)
            return
        # A client's question offers no rule, so a yes is for this one call.
        session.answer_permission(question.id, answer if answer == "deny" else "once")
