"""Turn updates: what the model is told beside the person's words, before each request (H-6)."""

from __future__ import annotations

from dataclasses import replace

from studio.agent.loop.structured_output import schema_instruction
from studio.agent.prompts import ANSWER_IN_WORDS, PLAN_NOW
from studio.agent.servers.tool_search import callable_tools
from studio.agent.skills import catalogue, told_again
from studio.domain.events import Told
from studio.domain.jsonvalue import JsonObject
from studio.domain.tools import SKILL

from .agent_setup import AgentSetup
from .guidance import Guidance
from .memory import NoteTitles
from .native_history import NativeHistory
from .orientation import Orienter
from .session_state import SessionState


class TurnUpdates:
    """The updates of one turn. ``schema`` is the form of the answer that is wanted."""

    def __init__(
        self,
        session: SessionState,
        history: NativeHistory,
        setup: AgentSetup,
        schema: JsonObject | None,
        orienter: Orienter | None,
        guidance: Guidance | None,
        titles: NoteTitles,
    ) -> None:
        self._session, self._history, self._setup = session, history, setup
        self._schema, self._orienter, self._guidance = schema, orienter, guidance
        self._titles = titles

    async def untold(self) -> list[Told]:
        """What the model has not been told yet."""
        setup, history = self._setup, self._history
        transcript = self._session.transcript
        told = transcript.told
        frozen = [spec.name for spec in history.tools]
        untold = await self._orienter.untold(told) if self._orienter is not None else []
        untold += await self._guidance.untold(history.epoch) if self._guidance is not None else []
        untold += await self._titles.untold(told)
        if "skills" not in told and setup.skills and SKILL in setup.prompt.tools & {*frozen}:
            untold.append(Told("skills", catalogue(setup.skills, setup.window)))
        able = {spec.name for spec in callable_tools(history.tools, setup.served)}
        lost = {spec.name for spec in history.tools if spec.server} - able
        prompt = setup.prompt
        if lost:
            prompt = replace(prompt, tools=prompt.tools - lost)
        untold += prompt.untold(told, history.system, frozen)
        if "skill" not in told and (again := told_again(transcript)):
            untold.append(Told("skill", again))
        if told.get("schema", ANSWER_IN_WORDS) != (form := schema_instruction(self._schema)):
            untold.append(Told("schema", form))
        if (plan := transcript.plan) is not None and not transcript.plan_told:
            untold.append(Told("plan", PLAN_NOW.format(lines="\n".join(plan.lines))))
        return [*untold, *self._session.pending.notes]
