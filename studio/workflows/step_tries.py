"""Step tries: begins a try of a step, or goes on with it where the program ended before.

Agents and commands work in sessions. Of the steps that take no time, ``set`` and ``check`` are over
at once, ``approve`` and ``ask`` wait for the person (W-5).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import replace
from functools import partial

from studio.agent.budget import Budget
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.events import Exposed
from studio.domain.jsonvalue import Json
from studio.domain.run_events import (
    UNSURE,
    RunEvent,
    RunQuestion,
    StepAsked,
    StepFinished,
    StepResumed,
    StepStarted,
)
from studio.domain.runs import StepKey, StepRun
from studio.domain.workflows import Step
from studio.tools import ToolFailed

from .desk import Desks
from .expressions import ExpressionError, as_words
from .file_reads import FileReads
from .missions.brief import MissionBrief
from .missions.check_steps import look_at_file
from .run_accounts import RunAccounts
from .run_questions import RunQuestions
from .run_recorder import RunRecorder
from .step_work import YOU_STOPPED, Outcome, StepWork
from .unsure_actions import REPEATED, told_about, unsure_actions, unsure_question

YOU_SAID = "You said that it happened."


class StepTries:
    """The tries of one run's steps, but for those that are runs or have many items."""

    def __init__(
        self,
        engine: Engine,
        recorder: RunRecorder,
        work: StepWork,
        accounts: RunAccounts,
        reads: FileReads,
        desks: Desks,
        questions: RunQuestions,
        brief: MissionBrief,
    ) -> None:
        self._engine = engine
        self._recorder, self._plan, self._run = recorder, recorder.plan, recorder.run
        self._work, self._accounts = work, accounts
        self._reads, self._desks = reads, desks
        self._questions, self._brief = questions, brief

    async def carry_out(self, step: Step, one: StepRun) -> Outcome:
        """Do a try in its session and at its desk, or go on with it."""
        session = await self._session(step, one)
        work = partial(self._work_in, session, step, one)
        return await self._desks.working(step, one.item, session.info.id, work)

    async def _session(self, step: Step, one: StepRun) -> Session:
        """The session of a try; a new one where it was not stored any more."""
        sessions = self._work.sessions
        session = await sessions.open(one.key, one.session_id)
        if session is None:  # killed before its first message was on the disk
            session = await sessions.begin(step, one.item)
            attempt = one.last.attempt if one.last is not None else 1
            round = self._run.round_of(step.id)
            await self._recorder.record(StepStarted(*one.key, round, attempt, session.info.id))
        return session

    async def _work_in(self, session: Session, step: Step, one: StepRun) -> Outcome:
        exposed, budget = self.exposed(step), Budget(self._accounts.of(step))
        values = self._plan.values
        answer, calls = "", await unsure_actions(session, self._engine)
        if calls and step.effects == "repeatable":
            await self._recorder.record(StepResumed(*one.key, REPEATED))
            answer = "again"
        elif calls:
            path = self._questions.path(step, one.item)
            question = unsure_question(session, calls, path)
            answer = as_words(self._run.answers.get(question.id, ""))
            if answer not in UNSURE:
                return question
            if answer == "stop":
                return StepFinished(*one.key, "stopped", YOU_STOPPED)
        if step.kind == "run":
            if answer == "happened":
                return StepFinished(*one.key, reason=YOU_SAID, outputs={"exit_code": None})
            line = await self._reads.having(lambda: values.command(self._run, step, one.item))
            return await self._work.command(
                *(step, one.item, session, line, budget, exposed), again=answer == "again"
            )
        if not session.transcript.blocks:
            said = await self._reads.having(lambda: values.prompt(self._run, step, one.item))
            if step.proves is None and (told := await self._brief.words()):
                said = f"{told}\n\n{said}"
            if sent_back := values.sent_back(self._run, step, one.item):
                said = f"{said}\n\n{sent_back}"
            return await self._work.run(step, one.item, session, said, budget, exposed)
        before = await self._engine.store.events(session.info.id)
        if (ended := await self._work.ended(step, one.item, session, before)) is not None:
            return ended
        told = told_about(calls, answer) if calls else ""
        return await self._work.run(step, one.item, session, told, budget, exposed, before)

    async def instant(self, step: Step, item: str) -> list[RunEvent]:
        """What comes of a step that takes no time: its end, or a question."""
        try:
            if step.proves is not None and step.proves.kind == "file":
                content = await self._desks.content(step, step.target)
                done = await asyncio.to_thread(look_at_file, step, content)
            else:
                done = await self._reads.having(lambda: self._computed(step, item))
        except (ExpressionError, ToolFailed) as error:
            done = StepFinished(step.id, item, "failed", str(error), fault="invalid")
        if isinstance(done, StepAsked):
            if step.kind == "approve":
                await self._desks.offer_before(step)
            return [done]
        return await self.finished(replace(done, exposed=tuple(self.exposed(step))))

    def _computed(self, step: Step, item: str) -> StepFinished | StepAsked:
        values, names = self._plan.values, self._plan.values.names(self._run, step, item)
        match step.kind:
            case "set":
                outputs = values.fill_all(dict(step.inputs), names)
                return StepFinished(step.id, item, text=as_words(outputs), outputs=outputs)
            case "check":
                holds = bool(values.compute(step.target, names))
                done = StepFinished(step.id, item, outputs={"passed": holds})
                if not holds:
                    reason = f"“{step.target}” does not hold."
                    done = replace(done, state="failed", reason=reason, fault="invalid")
                return done
            case _:
                kind = "approve" if step.kind == "approve" else "ask"
                text, path = values.words(step.target, names), self._questions.path(step, item)
                question = RunQuestion(uuid.uuid4().hex, kind, text, form=step.form, path=path)
                return StepAsked(step.id, item, question)

    async def finished(self, finish: StepFinished) -> list[RunEvent]:
        """The end of a try with what follows from it, as the plan says."""
        return await self._reads.having(lambda: self._plan.finished(self._run, finish, time.time()))

    def exposed(self, step: Step) -> list[Exposed]:
        """What a step is exposed to by the words of the steps before it (T-9)."""
        found, workflow = dict(self._reads.exposed), self._plan.workflow
        before = {*self._plan.every[step.id], self._run.sent_back.get(step.id)}
        if workflow.done_when:  # it is told notes, and what the cycles before it found
            before = {one.id for one in workflow.steps}
            found.setdefault("private", Exposed("private", "note list"))
        for one in self._run.steps.values():
            if one.step in before and one.last is not None:
                for exposed in one.last.exposed:
                    found.setdefault(exposed.exposure, exposed)
        return list(found.values())


def approved(key: StepKey, yes: bool) -> StepFinished:
    """The end of a step that asked for approval."""
    outputs: Json = {"approved": yes}
    if yes:
        return StepFinished(*key, outputs=outputs)
    return StepFinished(*key, "stopped", "You did not approve it.", "", outputs)
