"""Approval of tool calls: asks the person and waits for the answer (T-7)."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from studio.agent.prompts import ANSWERED, NOT_ANSWERED
from studio.domain.aio import BackgroundTasks
from studio.domain.drafts import Draft, FileDraft
from studio.domain.errors import ToolFailed
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    PermissionResolved,
    ReplyGiven,
)
from studio.domain.forms import fields_of, told_answer
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import ToolCall
from studio.domain.permissions import Answer, Question, Rule
from studio.domain.questions import DECLINED, AskedQuestion, ServerAnswer, ServerQuestion
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec
from studio.domain.transcript import Transcript
from studio.tools.sdk.result import render

from .invisible_characters import escape_invisible, escape_line
from .policy import COMMAND, FOLDER_OF, NETWORK, PATH, target_of
from .rule_suggestions import suggest_rules, warning_about
from .rulebook import FOLDER, LAYERS_OF_PERSON, PLAN, Decision
from .ruling import Ruling
from .tool_access import ToolAccess

AHEAD = "ahead-"
"""Begins the id of a question that no call asks."""
MAX_COVERED = 8
"""How many earlier calls that a suggested rule would have allowed are shown."""


@dataclass(frozen=True, slots=True)
class Permit:
    """The permission for one call. ``approve``: its drafts and notes need no decision later.

    ``by`` says what allowed it: “you, once”, “your rule run(pytest *)”. ``opens``
    is a path outside the folder that this call may read.
    """

    approve: bool
    by: str
    opens: Path | None = None


class Refused(ToolFailed):
    """A rule refuses the call; ``by`` names it: “your rule run(git *)”."""

    def __init__(self, text: str, by: str) -> None:
        super().__init__(text)
        self.by = by


BeforeQuestion: TypeAlias = Callable[[ToolSpec, ToolCall], Awaitable[Ruling]]
"""What hooks say of a call before the person is asked (K-8)."""


class WorkClock:
    """Counts the seconds of work; it is paused during questions to the person (L-11)."""

    def __init__(self, *, paused: bool = False) -> None:
        self._worked = 0.0
        self._since: float | None = None if paused else time.monotonic()
        self._waits = int(paused)

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.monotonic() - self._since
        return self._worked + running

    def pause(self) -> None:
        self._waits += 1
        if self._since is not None:
            self._worked += time.monotonic() - self._since
            self._since = None

    def resume(self) -> None:
        self._waits -= 1
        if self._waits == 0:
            self._since = time.monotonic()


@dataclass(frozen=True, slots=True)
class Above:
    """The turn whose call began this one: its questions reach the person there, too (W-22)."""

    approvals: Approvals
    call_id: str


class Approvals:
    """The approvals of one turn; it asks one question at a time.

    ``remember`` stores a rule of the person, for the scope of the answer. With ``above`` each
    question is asked in that turn as well, and so on up to the one that the person began.
    """

    def __init__(
        self,
        access: ToolAccess,
        transcript: Transcript,
        clock: WorkClock,
        emit: Callable[[Event], None],
        remember: Callable[[Rule, Answer], Awaitable[None]],
        above: Above | None = None,
    ) -> None:
        self._access = access
        self.policy = access.policy
        self._sandbox = access.sandbox
        self._transcript = transcript
        self.clock = clock
        self._emit = emit
        self._remember = remember
        self._above = above
        self._tasks = BackgroundTasks()
        self.over = False
        """Whether the turn has ended, so that nobody is asked here any more."""
        self._one_question = asyncio.Lock()
        self._answers: dict[str, asyncio.Future[tuple[Answer, str]]] = {}
        self._replies: dict[str, asyncio.Future[Sequence[str]]] = {}
        self._forms: dict[str, asyncio.Future[ServerAnswer]] = {}
        self._given: dict[str, Sequence[str]] = {}
        """What was answered to questions of children, until these have it."""

    def asks(self, question_id: str) -> bool:
        """Whether a question waits for its answer."""
        waiting = (self._answers, self._replies, self._forms)
        return any((one := asked.get(question_id)) and not one.done() for asked in waiting)

    def answer_permission(self, question_id: str, answer: Answer, by: str = "") -> None:
        """Answer a permission question; a late answer is ignored.

        ``by`` says who answers if that is not the person.
        """
        future = self._answers.get(question_id)
        if future is not None and not future.done():
            future.set_result((answer, by))
            if self._above is not None:
                self._above.approvals.answer_permission(question_id, answer, by)

    def answer_question(self, call_id: str, *answers: str) -> None:
        """Answer the agent's questions to the person in order; a late answer is ignored.

        An empty answer leaves the question to the agent. A single one is for all questions. What a
        server asks is not answered in words: that declines it.
        """
        self.answer_form(call_id, DECLINED)
        future = self._replies.get(call_id)
        if future is not None and not future.done():
            future.set_result(answers)
            if self._above is not None:
                self._above.approvals.answer_question(self._above.call_id, *answers)

    def answer_form(self, call_id: str, answer: ServerAnswer) -> None:
        """Answer what a server asks (M-19); a late answer is ignored."""
        future = self._forms.get(call_id)
        if future is not None and not future.done():
            future.set_result(answer)

    def end(self) -> None:
        """The turn is over: what children ask from now on, they ask for themselves."""
        self.over = True
        for asked in (self._answers, self._replies, self._forms):
            for future in asked.values():
                future.cancel()

    async def permit(
        self, spec: ToolSpec, call: ToolCall, ruling: Ruling, before_question: BeforeQuestion
    ) -> Permit:
        """Wait for permission; raises ToolFailed, with a text for the model, if there is none.

        ``ruling`` is what hooks said of the call, without a refusal.
        """
        decision = await self._decide(spec, call, ruling)
        waits = spec.effect == "draft" or spec.proposes  # the person decides about it later
        if decision.verdict == "ask" and (not waits or decision.insists):
            said = await before_question(spec, call)
            if said.verdict == "deny":
                raise refused_by_hook(said)
            if said.verdict == "allow" and ruling.verdict != "ask":
                ruling = said
            async with self._asking():
                decision = await self._decide(spec, call, ruling)  # the last answer may cover it
                if decision.verdict == "ask":
                    return await self._question(spec, call, decision)
        if decision.verdict == "deny":
            raise _refused(spec, decision)
        return Permit(decision.verdict == "allow", decision.by, decision.opens)

    async def allows_draft(self, spec: ToolSpec, draft: Draft) -> bool:
        """Whether a draft may be applied at once, judged by every path that it changes.

        These may differ from the path in the call, because a file draft can build on one that
        waits. Raises ToolFailed if one of them is refused.
        """
        if not isinstance(draft, FileDraft):
            return True  # its target is the call's, which is decided already
        places: JsonObject = {PATH: draft.path}
        if draft.target:
            places["to"] = draft.target
        # In a thread: links are followed on the disk.
        decision = await asyncio.to_thread(self.policy.decide, spec, places)
        if decision.verdict == "deny":
            raise _refused(spec, decision)
        return decision.verdict == "allow"

    async def allows_target(self, spec: ToolSpec, target: str) -> bool:
        """Whether a rule allows a call to continue with another target, such as a redirect.

        Raises ToolFailed if a rule refuses it.
        """
        decision = await asyncio.to_thread(self.policy.explain, spec, target)
        if decision.verdict == "deny":
            raise _refused(spec, decision)
        return decision.verdict == "allow"

    async def ask(self, call_id: str, questions: Sequence[AskedQuestion]) -> str:
        """Ask the person the agent's questions; ``answer_question`` brings the answers."""
        async with self._asking():
            return await self._reply(call_id, questions)

    async def ask_ahead(self, question: AskedQuestion) -> str:
        """Ask the person something of the program's own, while the agent works on (C-1)."""
        async with self._one_question:
            return await self._reply(f"{AHEAD}{uuid.uuid4().hex}", [question])

    async def ask_first(self, question: AskedQuestion) -> str:
        """Ask the person something of the program's own, without which the agent cannot go on."""
        return await self.ask(f"{AHEAD}{uuid.uuid4().hex}", [question])

    async def _reply(self, call_id: str, questions: Sequence[AskedQuestion]) -> str:
        future: asyncio.Future[Sequence[str]] = asyncio.get_running_loop().create_future()
        self._replies[call_id] = future
        self._emit(AwaitingReply.of(call_id, questions))
        above = self._above
        if above is not None and not above.approvals.over:
            asked = self._tasks.start(self._reply_above(above, call_id, questions))
        else:
            asked = None
        try:
            answers = await future
        finally:
            del self._replies[call_id]
            await _ended(asked, cut=not future.done() or future.cancelled())
        text = answers_text(questions, answers)
        self._emit(ReplyGiven(call_id, text))
        self._given[call_id] = answers
        return text

    async def _reply_above(
        self, above: Above, call_id: str, questions: Sequence[AskedQuestion]
    ) -> None:
        """Ask in the turn above, with the path to who asks."""
        name = escape_line(self._access.agent, 60)
        told = [replace(one, text=f"{name}: {one.text}") for one in questions]
        answers = await above.approvals.pass_on(above.call_id, told)
        self.answer_question(call_id, *answers)

    async def pass_on(self, call_id: str, questions: Sequence[AskedQuestion]) -> Sequence[str]:
        """Ask the questions of a child, for the call that began it."""
        async with self._asking():
            await self._reply(call_id, questions)
        return self._given.pop(call_id, ())

    async def ask_form(self, call_id: str, question: ServerQuestion) -> ServerAnswer:
        """Ask the person what a server asks during a call; ``answer_form`` brings the answer.

        A child's is asked in the turn above it, which the person sees.
        """
        above = self._above
        if above is not None and not above.approvals.over:
            return await above.approvals.ask_form(above.call_id, question)
        async with self._asking():
            future: asyncio.Future[ServerAnswer] = asyncio.get_running_loop().create_future()
            self._forms[call_id] = future
            self._emit(AwaitingReply.of_server(call_id, question))
            answer = ServerAnswer("cancel")
            try:
                answer = await future
            finally:
                del self._forms[call_id]
                self._emit(ReplyGiven(call_id, _told(question, answer)))
            return answer

    @asynccontextmanager
    async def _asking(self) -> AsyncGenerator[None]:
        """Questions come one at a time (T-7), and what waits for one takes no time (L-11)."""
        self.clock.pause()
        try:
            async with self._one_question:
                yield
        finally:
            self.clock.resume()

    async def _decide(self, spec: ToolSpec, call: ToolCall, ruling: Ruling) -> Decision:
        arguments = call.arguments or {}
        network = self._wants_network(spec, arguments)
        policy = self.policy
        # In a thread: links are followed on the disk.
        decision = await asyncio.to_thread(policy.decide, spec, arguments, network=network)
        if decision.verdict == "deny":
            return decision
        rule = decision.rule  # that of a file, or for all tools, was not made for this one
        ruled = rule is None or (rule.tool != "*" and decision.layer in LAYERS_OF_PERSON)
        if ruling.verdict == "allow" and decision.verdict == "ask":
            ruled = False  # by a hook, in the person's place
        if why := self._access.guard.objection(spec, call, ruled=ruled):
            decision = Decision("ask", why, insists=True, opens=decision.opens)
        return ruling.on(decision, network=network)

    def _wants_network(self, spec: ToolSpec, arguments: JsonObject) -> bool:
        """Whether a command asks for the network; without a sandbox every command has it anyway."""
        asks = spec.target == COMMAND and arguments.get(NETWORK) is True
        return asks and self._sandbox.kind != "none"

    async def _question(self, spec: ToolSpec, call: ToolCall, decision: Decision) -> Permit:
        arguments = call.arguments or {}
        target = target_of(spec, arguments)
        runs = spec.target == COMMAND
        network = self._wants_network(spec, arguments)
        always, covers = await asyncio.to_thread(
            self._rules,
            spec,
            arguments,
            decision,
            self._access.finished_calls(self._transcript),
            network=network,
        )
        what = "run a command" if runs else f"use {spec.name}"
        if spec.acts_with:
            what = "type into a command that runs"
        workspace = self._access.workspace
        folder = workspace.origin
        if runs and isinstance(inside := arguments.get(FOLDER_OF), str):
            found = await asyncio.to_thread(workspace.resolve, inside or ".")
            folder = workspace.in_folder(found)
        facts = [("folder", str(folder))]
        if spec.acts_with:
            lines = (job.line for job in self._access.jobs() if job.id == arguments.get("id"))
            facts += [("command", escape_line(line, 200)) for line in lines]
        if runs:
            if self._sandbox.kind == "none":
                facts.append(("sandbox", self._sandbox.label))
            else:
                facts.append(("network", "Network allowed" if network else "No network"))
            limit = arguments.get("time_limit") or spec.time_limit
            if isinstance(limit, int | float):
                facts.append(("limit", f"Stops after {_span(limit)}"))
        reason = arguments.get("reason")
        question = Question(
            id=uuid.uuid4().hex,
            call_id=call.id,
            tool=spec.name,
            title=f"{escape_line(self._access.agent, 60)} wants to {what}",
            detail=escape_invisible(target or render(arguments)),
            reason=escape_line(reason) if isinstance(reason, str) else "",
            always=always,
            facts=tuple(facts),
            why=escape_line(decision.why, 1000),
            covers=tuple(map(escape_line, covers)),
            warning=escape_line(warning_about(always), 1000) if runs else "",
        )
        answer, by = await self._answer(question)
        if answer == "deny" and by:
            raise ToolFailed(f"This {spec.name} call was not allowed: {by}. Do not repeat it.")
        if answer == "deny":
            raise ToolFailed(f"The person did not allow this {spec.name} call. Do not repeat it.")
        if answer != "once" and always:
            for rule in always:
                self.policy.add("session" if answer == "session" else "person", rule)
            for rule in always:
                await self._remember(rule, answer)
            return Permit(True, f"you, {_SCOPES[answer]}", decision.opens)
        return Permit(True, "you, once", decision.opens)

    def _rules(
        self,
        spec: ToolSpec,
        arguments: JsonObject,
        decision: Decision,
        earlier: Sequence[tuple[ToolSpec, JsonObject]],
        *,
        network: bool,
    ) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
        """The rules that “always” adds, and the earlier calls that they would have allowed."""
        always = suggest_rules(self.policy, spec, arguments, decision, network=network)
        if not always:
            return (), ()
        policy = self.policy.adding("session", *always)
        covers: dict[str, None] = {}
        for other, given in reversed(earlier[-500:]):
            if len(covers) == MAX_COVERED:
                break
            text = target_of(other, given) or other.name
            if given == arguments:
                continue
            wants = self._wants_network(other, given)
            try:
                if (
                    self.policy.decide(other, given, network=wants).verdict == "ask"
                    and policy.decide(other, given, network=wants).verdict == "allow"
                ):
                    covers[text] = None
            except ToolFailed:  # its path is not valid any more
                continue
        return always, tuple(reversed(covers))

    async def _answer(self, question: Question) -> tuple[Answer, str]:
        future: asyncio.Future[tuple[Answer, str]] = asyncio.get_running_loop().create_future()
        self._answers[question.id] = future
        answer: Answer = "deny"
        by = ""
        self._emit(AwaitingPermission(question))
        above = self._above
        if above is not None and not above.approvals.over:
            asked = self._tasks.start(self._ask_above(above, question))
        else:
            asked = None
        try:
            answer, by = await future
        finally:
            del self._answers[question.id]
            await _ended(asked, cut=not future.done() or future.cancelled())
            self._emit(PermissionResolved(question.id, answer, by))
        return answer, by

    async def _ask_above(self, above: Above, question: Question) -> None:
        """Ask in the turn above, with the path to who asks."""
        answer, by = await above.approvals.pass_question(above.call_id, question)
        self.answer_permission(question.id, answer, by)

    async def pass_question(self, call_id: str, question: Question) -> tuple[Answer, str]:
        """Ask the permission question of a child, for the call that began it."""
        name = escape_line(self._access.agent, 60)
        passed = replace(question, call_id=call_id, title=f"{name}, {question.title}")
        async with self._asking():
            return await self._answer(passed)

    async def ask_to_start(self, question: Question) -> bool:
        """Ask the person whether a child may begin in the background (W-35)."""
        async with self._asking():
            answer, _ = await self._answer(question)
        if answer not in ("once", "deny"):
            for rule in question.always:
                self.policy.add("session" if answer == "session" else "person", rule)
                await self._remember(rule, answer)
        return answer != "deny"


def answers_text(questions: Sequence[AskedQuestion], answers: Sequence[str]) -> str:
    """The answers as the model reads them, each below its question if there are several."""
    words = [answer or NOT_ANSWERED for answer in answers]
    if len(words) != len(questions) or len(words) < 2:
        return "\n".join(words) or NOT_ANSWERED
    pairs = zip(questions, words, strict=True)
    return "\n".join(ANSWERED.format(question=one.text, answer=word) for one, word in pairs)


def _told(question: ServerQuestion, answer: ServerAnswer) -> str:
    """The answer to a server, for the record."""
    if answer.action != "accept":
        return "Declined" if answer.action == "decline" else "Put away"
    if question.model:
        return f"Let {question.model} answer"
    if question.schema is None:
        return f"Opened {question.url}"
    return f"Sent {told_answer(fields_of(question.schema), answer.content or {})}".rstrip()


_SCOPES: dict[Answer, str] = {
    "once": "once",
    "session": "for this chat",
    "folder": "for this folder",
    "always": "always",
}


def refused_by_hook(ruling: Ruling) -> Refused:
    """What the model and the person are told of a call that a hook refuses."""
    text = f"Refused by a hook: {ruling.why}"
    return Refused(f"{text}\n[It was {ruling.by}. Do not repeat the call.]", ruling.by)


def _refused(spec: ToolSpec, decision: Decision) -> ToolFailed:
    if decision.by == PLAN:
        return ToolFailed(f"The person wants a plan first, so {spec.name} is refused.")
    if decision.by == FOLDER:
        return ToolFailed(f"{decision.why} Use a path inside the folder.")
    text = f"This {spec.name} call is not allowed. {decision.why} Do not repeat it."
    return Refused(text, decision.by)


def _span(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"


async def _ended(asked: asyncio.Task[None] | None, *, cut: bool) -> None:
    """Withdraw a question from the turn above, or let it end with the answer."""
    if asked is not None:
        if cut:
            asked.cancel()
        with suppress(asyncio.CancelledError):
            await asked
