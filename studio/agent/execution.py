"""Runs the calls of one reply: side by side, asked about, never raising (L-3 to L-5)."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from studio.domain.errors import ToolFailed
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    PermissionResolved,
    ReplyGiven,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text, ToolCall, ToolResult
from studio.domain.permissions import Answer, Question, Rule
from studio.domain.tools import Draft, ToolSpec
from studio.tools import Context, Drafts, Result, Tool, Workspace
from studio.tools.result import render, shorten

from .policy import COMMAND, PATH, Policy, always_rule, target_of

log = logging.getLogger(__name__)

OUTPUT_LIMIT = 250_000
"""Characters that a running tool can show; a little more than a command does."""
RESULT_LIMIT = 30_000
"""Characters of a tool's result that reach the model; the rest is kept in a file."""


class Waiting(Protocol):
    """The turn's clock, which stands still while the person is asked."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...


class DraftBox(Protocol):
    """The session's drafts."""

    def draft_of(self, path: str) -> Draft | None: ...

    async def propose(self, call_id: str, draft: Draft, *, approve: bool) -> None: ...


class Execution:
    """The tools of one turn, with everything a call needs around it.

    ``remember`` stores a rule the person gave for the whole session.
    """

    def __init__(
        self,
        *,
        session_id: str,
        agent: str,
        tools: Mapping[str, Tool],
        offered: Sequence[ToolSpec],
        policy: Policy,
        workspace: Workspace,
        drafts: DraftBox,
        environment: dict[str, str],
        spill: Path,
        parallel: int,
        remember: Callable[[Rule], Awaitable[None]],
        emit: Callable[[Event], None],
        clock: Waiting,
    ) -> None:
        self._session_id = session_id
        self._agent = agent
        self._tools = tools
        self._offered = {spec.name for spec in offered}
        self._policy = policy
        self._workspace = workspace
        self._drafts = drafts
        self._environment = environment
        self._spill = spill
        self._remember = remember
        self._emit = emit
        self._clock = clock
        self._slots = asyncio.Semaphore(parallel)
        self._one_question = asyncio.Lock()
        self._answers: dict[str, asyncio.Future[Answer]] = {}
        self._replies: dict[str, asyncio.Future[str]] = {}

    def answer(self, question_id: str, answer: Answer) -> None:
        future = self._answers.get(question_id)
        if future is not None and not future.done():
            future.set_result(answer)

    def reply(self, call_id: str, text: str) -> None:
        future = self._replies.get(call_id)
        if future is not None and not future.done():
            future.set_result(text)

    async def run(self, calls: Sequence[ToolCall], results: list[ToolResult | None]) -> None:
        """Fill ``results`` in call order, whatever order the tools finish in (L-3).

        A call that must run alone works after all calls before it and before
        all after it: two edits of one file happen in the order they were asked.
        When cancelled, what has finished is in ``results`` and nothing runs on.
        """
        ended = [asyncio.Event() for _ in calls]
        alone: list[bool] = []
        for call in calls:
            tool = self._tools.get(call.name)
            spec = tool.spec if tool else ToolSpec(call.name, "", {}, verb=call.name)
            alone.append(spec.alone)
            arguments = call.arguments or {}
            self._emit(
                ToolQueued(
                    call.id,
                    call.name,
                    arguments,
                    target_of(spec, arguments),
                    spec.effect,
                    spec.verb,
                    spec.done,
                    spec.icon,
                )
            )
        tasks: list[asyncio.Task[None]] = []
        ended_alone: list[asyncio.Event] = []
        for index, call in enumerate(calls):
            before = ended[:index] if alone[index] else [*ended_alone]
            if alone[index]:
                ended_alone.append(ended[index])
            work = self._into(results, index, call, before, ended[index])
            tasks.append(asyncio.create_task(work))
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise

    async def _into(
        self,
        results: list[ToolResult | None],
        index: int,
        call: ToolCall,
        before: Sequence[asyncio.Event],
        ended: asyncio.Event,
    ) -> None:
        try:
            results[index] = await self._one(call, before)
        finally:
            ended.set()

    async def _one(self, call: ToolCall, before: Sequence[asyncio.Event]) -> ToolResult:
        began = time.monotonic()
        try:
            result = await self._checked(call, before)
            # Of a big or odd value this takes long, or never ends.
            text = await asyncio.to_thread(lambda: result.text)
        except ToolFailed as failure:
            text = render(str(failure))
            result = Result(text, summary=_first_line(text), is_error=True)
        except Exception as error:
            log.exception("tool %s failed", call.name)
            text = render(f"The tool failed: {type(error).__name__}: {error}")
            result = Result(text, summary=_first_line(text), is_error=True)
        if len(text) > RESULT_LIMIT:
            text = await asyncio.to_thread(shorten, text, RESULT_LIMIT, self._spill)
        seconds = time.monotonic() - began
        self._emit(
            ToolFinished(
                call.id,
                text,
                result.is_error,
                seconds,
                result.summary,
                result.sources,
                tuple(result.images),
            )
        )
        content = (Text(text), *result.images)
        return ToolResult(call.id, call.name, content, result.is_error)

    async def _checked(self, call: ToolCall, before: Sequence[asyncio.Event]) -> Result:
        tool = self._tools.get(call.name)
        if tool is None or call.name not in self._offered:
            known = ", ".join(sorted(self._offered)) or "none"
            raise ToolFailed(f"There is no tool called {call.name}. The tools are: {known}.")
        if call.arguments is None:
            raise ToolFailed(
                f"The arguments are not a JSON object, so {call.name} was not run. "
                f"Send the call again with valid JSON. Received: {call.raw[:200]}"
            )
        # In a thread: a schema is compiled, with patterns of other people in it.
        arguments = await asyncio.to_thread(tool.check, call.arguments)
        checked = replace(call, arguments=arguments)
        approve = await self._permitted(tool.spec, checked)
        for event in before:
            await event.wait()
        async with self._slots:
            return await self._work(tool, checked, approve=approve)

    async def _permitted(self, spec: ToolSpec, call: ToolCall) -> bool:
        """Wait for permission. True if a draft of this call may be written at once."""
        arguments = call.arguments or {}
        place = await self._place(spec, arguments)
        verdict = self._policy.decide(spec, arguments, place)
        if verdict == "ask" and spec.effect != "draft":
            async with self._one_question:  # questions come one at a time (T-7)
                verdict = self._policy.decide(spec, arguments, place)
                if verdict == "ask":
                    verdict = await self._question(spec, call)
        if verdict == "deny" and self._policy.mode == "plan" and spec.effect != "read":
            raise ToolFailed(f"The person wants a plan first, so {spec.name} is refused.")
        if verdict == "deny":
            raise ToolFailed(f"The person did not allow this {spec.name} call. Do not repeat it.")
        return verdict == "allow"

    async def _place(self, spec: ToolSpec, arguments: JsonObject) -> str | None:
        """Where a call's path leads, as rules name places; ToolFailed if that is outside."""
        path = arguments.get(PATH) if spec.target == PATH else None
        if not isinstance(path, str):
            return None
        workspace = self._workspace
        return workspace.relative(await asyncio.to_thread(workspace.resolve, path))

    async def _question(self, spec: ToolSpec, call: ToolCall) -> str:
        arguments = call.arguments or {}
        target = target_of(spec, arguments)
        always = always_rule(spec, arguments)
        runs = spec.target == COMMAND
        what = "run a command" if runs else f"use {spec.name}"
        facts = [("folder", str(self._workspace.root))]
        if runs:
            facts.append(("network", "Network allowed"))
            limit = arguments.get("time_limit") or spec.time_limit
            if isinstance(limit, int | float):
                facts.append(("limit", f"Stops after {_span(limit)}"))
        reason = arguments.get("reason")
        question = Question(
            id=uuid.uuid4().hex,
            call_id=call.id,
            tool=spec.name,
            title=f"{self._agent} wants to {what}",
            detail=target or render(arguments),
            reason=reason if isinstance(reason, str) else "",
            always=always,
            facts=tuple(facts),
        )
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[question.id] = future
        answer: Answer = "deny"
        self._clock.pause()
        self._emit(AwaitingPermission(question))
        try:
            answer = await future
        finally:
            self._clock.resume()
            del self._answers[question.id]
            self._emit(PermissionResolved(question.id, answer))
        if answer == "session" and always is not None:
            self._policy.rules.append(always)
            await self._remember(always)
        return "deny" if answer == "deny" else "allow"

    async def _work(self, tool: Tool, call: ToolCall, *, approve: bool) -> Result:
        """Run the tool inside its time limit."""
        context = Context(
            workspace=self._workspace,
            drafts=_CallDrafts(self._drafts, call.id, approve),
            emit=self._shown(call.id),
            ask=lambda text, choices: self._ask(call.id, text, choices),
            environment=self._environment,
            agent=self._agent,
            session_id=self._session_id,
            call_id=call.id,
        )
        self._emit(ToolStarted(call.id))
        limit = tool.spec.time_limit
        timer = asyncio.timeout(limit)
        try:
            async with timer:
                return await tool.call(context, call.arguments or {})
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise ToolFailed(f"{call.name} gave up: it was cancelled from inside.") from error
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise ToolFailed(f"Timed out after {limit:g} s.") from error

    def _shown(self, call_id: str) -> Callable[[str], None]:
        """What shows a call's output while it runs, up to a limit: all of it is kept and folded."""
        left = OUTPUT_LIMIT

        def emit(text: str) -> None:
            nonlocal left
            if left > 0:
                cut = len(text) >= left
                text = (
                    f"{text[:left]}\n[… more output follows, not shown here …]\n" if cut else text
                )
                left = 0 if cut else left - len(text)
                self._emit(ToolOutput(call_id, text))

        return emit

    async def _ask(self, call_id: str, text: str, choices: Sequence[str]) -> str:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with self._one_question:
            self._replies[call_id] = future
            self._clock.pause()
            self._emit(AwaitingReply(call_id, text, tuple(choices)))
            try:
                reply = await future
            finally:
                self._clock.resume()
                del self._replies[call_id]
            self._emit(ReplyGiven(call_id, reply))
            return reply


class _CallDrafts(Drafts):
    """The session's drafts as one call sees them."""

    def __init__(self, box: DraftBox, call_id: str, approve: bool) -> None:
        self._box = box
        self._call_id = call_id
        self._approve = approve

    def draft_of(self, path: str) -> Draft | None:
        return self._box.draft_of(path)

    async def propose(self, draft: Draft) -> None:
        await self._box.propose(self._call_id, draft, approve=self._approve)


def _span(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 120 else f"{seconds / 60:g} min"


def _first_line(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else ""
    return line if len(line) <= 80 else line[:79] + "…"
