"""Step sessions: the sessions that the steps of one run work in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from studio.agent.engine import Engine, SessionDefaults
from studio.agent.session.session import Session
from studio.domain.agents import NO_AGENTS, Agent
from studio.domain.jsonvalue import Json
from studio.domain.messages import Message, Text
from studio.domain.permissions import Answer, Rule
from studio.domain.questions import ServerAnswer
from studio.domain.run_events import RunQuestion, RunStarted
from studio.domain.runs import StepKey
from studio.domain.sessions import Caller
from studio.domain.workflows import Step

from .expressions import as_words


class StepSessions:
    """The sessions of one run's tries, by step and item, from the beginning of a try to its end."""

    def __init__(self, engine: Engine, started: RunStarted) -> None:
        self._engine, self._started = engine, started
        self.kept: Mapping[str, Agent] = NO_AGENTS
        """The agents as they were when the run began (W-13)."""
        self._sessions: dict[StepKey, Session] = {}
        self._keys: dict[str, StepKey] = {}
        """The same by the ids of the sessions."""

    async def agent(self, name: str) -> Agent:
        """An agent as the run has it; raises ConfigurationError."""
        return await self._engine.agent(name, Path(self._started.folder), kept=self.kept)

    async def choose(self, step: Step) -> SessionDefaults:
        """Who works on a step; raises ConfigurationError for an unknown agent or model."""
        started = self._started
        if step.kind == "run":  # no agent and no model works in it
            return SessionDefaults(started.name, started.provider, started.model)
        return await self._engine.choose(
            agent=step.target,
            provider="" if step.model else started.provider,
            model=step.model or started.model,
            folder=Path(started.folder),
            kept=self.kept,
        )

    async def create(self, step: Step, told: Sequence[Message] = ()) -> Session:
        """A new session of a step, which may go on from what is ``told``.

        Raises ConfigurationError as ``choose`` does.
        """
        started, engine = self._started, self._engine
        choice = await self.choose(step)
        mode = started.permission_mode
        session = await engine.sessions.create(
            folder=started.folder,
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            permission_mode=mode if mode in ("ask", "auto", "plan") else None,
            title=f"{started.name}, {step.label}",
            model_chosen=choice.model_named,
            told=told,
            held=True,
            caller=Caller("run", started.run_id, step.id),
            subject=started.subject,
        )
        engine.services.kept_agents[session.info.id] = self.kept
        return session

    async def begin(self, step: Step, item: str) -> Session:
        """The new session of a try; raises ConfigurationError as ``create`` does."""
        return self._use((step.id, item), await self.create(step))

    async def open(self, key: StepKey, session_id: str) -> Session | None:
        """The session of a try that began before; None if it was never stored."""
        if (session := self._sessions.get(key)) is not None:
            return session
        if await self._engine.store.get(session_id) is None:
            return None
        session = await self._engine.sessions.open(session_id)
        self._engine.services.kept_agents[session_id] = self.kept
        return self._use(key, session)

    def key_of(self, session_id: str) -> StepKey | None:
        """The step and item that work in a session here."""
        return self._keys.get(session_id)

    def let_go(self, key: StepKey) -> None:
        """Keep the session of a try no longer, which is over."""
        if (session := self._sessions.pop(key, None)) is not None:
            self._keys.pop(session.info.id, None)
            self._engine.services.kept_agents.pop(session.info.id, None)

    async def allow(self, rules: Iterable[Rule]) -> None:
        """Let all that works now use these rules."""
        for session in tuple(self._sessions.values()):  # tries begin and end meanwhile
            if session.running:
                for rule in rules:
                    await session.rules.add(rule)

    def steer(self, key: StepKey, text: str) -> None:
        """Tell a running session something with its next request."""
        session = self._sessions.get(key)
        if session is not None and session.running:
            session.steer(session.queue.add([Text(text)]))

    def stop(self, question: RunQuestion) -> None:
        """End the turn that asks a question, if it is still here."""
        if (session := self._of(question)) is not None:
            session.stop()

    def asks(self, question: RunQuestion) -> bool:
        """Whether the session of a try waits for the answer to its question."""
        session = self._of(question)
        return session is not None and session.asks(question.id)

    def answer(self, question: RunQuestion, answer: Json, by: str) -> None:
        """Hand the person's answer to the session that asks, if it is still here."""
        if (session := self._of(question)) is None:
            return
        if question.kind == "permission":
            permitted: Answer = "deny"
            if answer in ("once", "session", "folder", "always"):
                permitted = answer
            elif answer == "run":
                permitted = "session"
            session.answer_permission(question.id, permitted, by)
        elif question.server is not None:
            session.answer_form(question.id, ServerAnswer.of(answer))
        else:
            session.answer_question(question.id, as_words(answer))

    def _of(self, question: RunQuestion) -> Session | None:
        key = self._keys.get(question.session_id)
        return self._sessions[key] if key is not None else None

    def _use(self, key: StepKey, session: Session) -> Session:
        self._sessions[key], self._keys[session.info.id] = session, key
        return session
