"""The tool runner: runs the calls of one reply in parallel, each with permission (L-3 to L-5).

An error of a tool becomes the result of its call. Results of tools that read are cached
for the rest of the turn, until something is written (L-9).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from studio.agent.hooks.turn_hooks import TurnHooks, arguments_text
from studio.agent.permission.approval import (
    Approvals,
    Refused,
    WorkClock,
    refused_by_hook,
)
from studio.agent.permission.policy import target_of
from studio.agent.permission.ruling import Ruling
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.prompts import (
    HOOK_CHANGED,
    NO_MORE_CALLS,
    ONE_CALL_AT_A_TIME,
)
from studio.agent.request_gate import Asker
from studio.agent.servers.tool_search import callable_tools
from studio.agent.services import Services
from studio.domain.agents import Limits
from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.events import (
    CallChanged,
    Notice,
    ToolFinished,
    ToolQueued,
    ToolStarted,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text, ToolCall, ToolResult
from studio.domain.tools import APPLY_PATCH, EDIT, Effect, ToolSpec
from studio.tools import Result, Tool
from studio.tools.drafts.seen_files import SeenFiles
from studio.tools.sdk.result import render, shorten

from .bench import Bench
from .findings import call_key
from .foreign_calls import CallInterpreter
from .working_calls import RESULT_LIMIT, WorkingCalls, failed_result

log = logging.getLogger(__name__)


class ReadCache:
    """The results of one turn's reading tools."""

    def __init__(self) -> None:
        self._kept: dict[str, Result] = {}
        self._writing = 0
        self.age = 0
        """Grows with every write; a result of a call that began at another age is not kept."""

    def get(self, spec: ToolSpec, call: ToolCall) -> Result | None:
        return self._kept.get(call_key(call)) if _reads(spec) else None

    def keep(self, spec: ToolSpec, call: ToolCall, result: Result, age: int) -> None:
        """Keep a result; ``age`` is the age of the cache when the tool began."""
        if _reads(spec) and age == self.age and not self._writing and not result.is_error:
            self._kept[call_key(call)] = result

    @contextmanager
    def around(self, spec: ToolSpec) -> Generator[None]:
        """Entered around a call; a call that writes empties the cache."""
        if _reads(spec):
            yield
            return
        self._writing += 1
        self.forget()
        try:
            yield
        finally:
            self._writing -= 1
            self.forget()

    def forget(self) -> None:
        """Empty the cache because something was written."""
        self.age += 1
        self._kept.clear()


def _reads(spec: ToolSpec) -> bool:
    return spec.effect in ("read", "fetch") and spec.steady


class ToolRunner:
    """Runs the tools of one turn. ``hooks`` are asked before each call, and told of its result.

    ``most`` is the highest number of calls; later calls fail. For ``call_id`` see ``WorkingCalls``.
    """

    def __init__(
        self,
        services: Services,
        access: ToolAccess,
        approvals: Approvals,
        bench: Bench,
        limits: Limits,
        hooks: TurnHooks,
        most: int | None = None,
        call_id: str = "",
    ) -> None:
        self.approvals = approvals
        self.hooks = hooks
        self._services = services
        self._access = access
        self._tools = access.tools
        self._offered = {spec.name for spec in access.offered}
        self._served = {spec.name for spec in access.served}
        self._known = self._offered | self._served
        """The tools that are run if they are called; models know the other way to edit, too."""
        if self._offered & {EDIT, APPLY_PATCH}:
            self._known |= {EDIT, APPLY_PATCH} & self._tools.keys()
        self._external = {spec.name for spec in access.offered if spec.external}
        self._interpreter = CallInterpreter(
            access.tools, access.offered, self._known - self._served
        )
        self._guard = access.guard
        self._bench = bench
        self._emit = hooks.emit
        self.working = WorkingCalls(
            services,
            access,
            approvals,
            bench,
            hooks.emit,
            call_id,
            commands_free=limits.commands_free,
        )
        self._calls_left = most
        self._slots = asyncio.Semaphore(limits.parallel_tools)
        self.reads = ReadCache()
        self._age = bench.age
        """That of the bench when the cache was looked at last: others may write there."""

    def nature(self, name: str) -> tuple[Effect, bool]:
        """The effect of a tool and whether it is steady; an unknown one only reads."""
        tool = self._tools.get(name)
        if tool is None or name not in self._known:
            return "read", True
        return tool.spec.effect, tool.spec.steady

    def understood(self, calls: Sequence[ToolCall], declared: Sequence[ToolSpec]) -> list[ToolCall]:
        """The calls of a reply as calls of our tools, where they are in other words.

        ``declared`` are the tools that the history names: of the servers' tools only these are
        run, and only as what they were then (M-16).
        """
        self._known -= self._served
        self._known |= {spec.name for spec in callable_tools(declared, self._access.served)}
        return self._interpreter.understood(calls, [spec.name for spec in declared])

    async def run(
        self,
        calls: Sequence[ToolCall],
        results: list[ToolResult | None],
        *,
        parallel: bool = True,
    ) -> None:
        """Fill ``results`` in the order of the calls, which are ``understood`` (L-3).

        A call that has a result already is not made.

        Calls that the client runs are announced and get no result here. Without ``parallel`` only
        the first of these is announced, and the others fail.

        A call that must run alone waits for all calls before it, and all calls after it wait
        for it: two edits of one file happen in order. If cancelled, ``results`` has the
        results of finished calls, and no call continues.
        """
        self._guard.update()
        ended = [asyncio.Event() for _ in calls]
        alone: list[bool] = []
        outside: list[bool] = []
        for call, made in zip(calls, results, strict=True):
            if made is not None:
                outside.append(False)
                alone.append(False)
                continue
            external = call.name in self._external and call.arguments is not None
            external = external and (parallel or not any(outside))
            tool = None if external else self._tools.get(call.name)
            spec = tool.spec if tool else ToolSpec(call.name, "", {}, verb=call.name)
            outside.append(external)
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
                    external,
                )
            )
        tasks: list[asyncio.Task[None]] = []
        ended_alone: list[asyncio.Event] = []

        async def fill(index: int, before: Sequence[asyncio.Event]) -> None:
            try:
                await self._run_call(calls[index], before, results, index)
            finally:
                ended[index].set()

        for index in range(len(calls)):
            if outside[index] or results[index] is not None:
                ended[index].set()
                continue
            before = ended[:index] if alone[index] else [*ended_alone]
            if alone[index]:
                ended_alone.append(ended[index])
            tasks.append(asyncio.create_task(fill(index, before)))
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)
            raise

    async def _run_call(
        self,
        call: ToolCall,
        before: Sequence[asyncio.Event],
        results: list[ToolResult | None],
        index: int,
    ) -> None:
        """Run a call; its result stands also if the hooks that hear of it are cancelled."""
        refused_by = ""
        clock = WorkClock(paused=True)  # before it starts it may wait for the person
        seen = self._access.seen()
        begun: list[tuple[ToolSpec, ToolCall]] = []
        try:
            result = await self._check_and_run(call, before, clock, seen, begun)
            if isinstance(result.value, str) and len(result.value) <= RESULT_LIMIT:
                text = result.text
            else:  # a big or unusual value can take long
                text = await asyncio.to_thread(lambda: result.text)
        except ToolFailed as failure:
            refused_by = failure.by if isinstance(failure, Refused) else ""
            text = render(str(failure))
            result = failed_result(text)
        except Exception as error:
            log.exception("tool %s failed", call.name)
            text = render(f"The tool failed: {type(error).__name__}: {error}")
            result = failed_result(text)
        room = self._access.room
        limit = room + room // 4 if result.fits else min(RESULT_LIMIT, room)
        if len(text) > limit:
            text = await asyncio.to_thread(
                shorten, text, limit, self._access.spill, keeps_end=result.keeps_end
            )
        content = (Text(text), *result.images)
        results[index] = ToolResult(call.id, call.name, content, result.is_error, call.as_text)
        try:
            for spec, made in begun if self.hooks.hears_results else ():
                changes = spec.effect in ("act", "draft")  # a hook may, say, format what it wrote
                async with self._bench.acting() if changes else nullcontext():
                    await self.hooks.after_call(spec, made, text, failed=result.is_error)
        finally:
            self._emit(
                ToolFinished(
                    call.id,
                    text,
                    result.is_error,
                    clock.seconds,
                    result.summary,
                    result.sources or self._source(call, result),
                    tuple(result.images),
                    refused_by,
                    tuple((seen.shown if result.is_error else seen.shown | seen.drafted).items()),
                    result.code,
                    result.table,
                )
            )

    def _source(self, call: ToolCall, result: Result) -> tuple[str, ...]:
        """The source of a result that names none: the target of the call, or the tool (T-4)."""
        if result.is_error:
            return ()
        spec = self._tools[call.name].spec
        return (target_of(spec, call.arguments or {}) or spec.name,)

    async def _check_and_run(
        self,
        call: ToolCall,
        before: Sequence[asyncio.Event],
        clock: WorkClock,
        seen: SeenFiles,
        begun: list[tuple[ToolSpec, ToolCall]],
    ) -> Result:
        """Make a call; ``begun`` gets it as it is made, once its tool begins."""
        if call.name not in self._known:
            raise ToolFailed(self._interpreter.no_such_tool(call.name))
        if call.arguments is None:
            raise ToolFailed(
                f"The arguments are not a JSON object, so {call.name} was not run. "
                f"Send the call again with valid JSON. Received: {call.raw[:200]}"
            )
        if call.name in self._external:
            raise ToolFailed(ONE_CALL_AT_A_TIME)
        if self._calls_left is not None:
            if self._calls_left <= 0:
                raise ToolFailed(NO_MORE_CALLS)
            self._calls_left -= 1
        tool = self._tools[call.name]
        arguments = await _checked(tool, call.arguments)
        checked = replace(call, arguments=arguments)
        told = _as_given(checked, call.arguments)
        ruling = await self.hooks.before_call(tool.spec.of_call(arguments), told)
        if ruling.verdict == "deny":
            raise refused_by_hook(ruling)
        if ruling.arguments is not None:
            arguments = await self._changed(tool, checked, ruling.arguments, ruling)
            checked = replace(call, arguments=arguments)
            told = _as_given(checked, ruling.arguments)
        if (spec := tool.spec.of_call(arguments)) is not tool.spec:
            tool = replace(tool, spec=spec)
        if tool.spec.effect == "draft":
            self._access.content_filter.refuse_placeholders(arguments)
        permit = await self.approvals.permit(
            tool.spec,
            checked,
            await self._held_back(tool.spec, told) or ruling,
            self.hooks.before_question,
        )
        for event in before:
            await event.wait()
        # A child's calls take slots of their own.
        async with nullcontext() if tool.waits else self._slots:
            self._emit(ToolStarted(call.id, permit.by))
            clock.resume()
            if self._age != self._bench.age:
                self._age = self._bench.age
                self.reads.forget()
            begun.append((tool.spec, told))
            if known := self.reads.get(tool.spec, checked):
                return known
            age = self.reads.age
            try:
                with self.reads.around(tool.spec):
                    self._bench.age += not _reads(tool.spec)
                    result = await self.working.run(tool, checked, permit, clock, seen)
            except NothingRead:
                raise
            except ToolFailed as failure:  # its text may quote what was read
                if not tool.spec.untrusted and not self._access.content_filter.own:
                    raise
                failed = failed_result(str(failure))
                return await self._filtered(tool.spec, checked, failed)
            result = await self._filtered(tool.spec, checked, result)
            if ruling.arguments is not None:
                words = arguments_text(told.arguments or {})
                words = HOOK_CHANGED.format(hook=ruling.by, arguments=words)
                result = replace(result, value=f"{result.text}\n{words}")
            self.reads.keep(tool.spec, checked, result, age)
            return result

    async def _held_back(self, spec: ToolSpec, call: ToolCall) -> Ruling | None:
        """That the person is asked, if a pack wants that for a call that can send data out (KZ-40).

        Raises ToolFailed for one that a pack refuses.
        """
        if spec.effect != "fetch" and not self._guard.way_out(spec, call):
            return None
        asker = Asker(self._access.agent)
        gate = self._services.gate(self._access.subject, asker)
        arguments = call.arguments or {}
        words = json.dumps(arguments, ensure_ascii=False)
        why = await gate.ask_about_call(spec.name, target_of(spec, arguments), words)
        return Ruling("ask", "a pack", why) if why else None

    async def _changed(
        self, tool: Tool, call: ToolCall, wanted: JsonObject, ruling: Ruling
    ) -> JsonObject:
        """The arguments that a hook wants in the place of a call's, if the tool takes them."""
        try:
            arguments = await _checked(tool, wanted)
        except ToolFailed as failure:
            why = f"It wants to change the call to what is not valid: {failure}"
            raise refused_by_hook(replace(ruling, why=why)) from failure
        target = target_of(tool.spec, arguments)
        self._emit(CallChanged(call.id, wanted, target, ruling.by))
        who = f"{ruling.by[:1].upper()}{ruling.by[1:]}"
        self._emit(Notice(f"{who} changed a call of {call.name}."))
        return arguments

    async def _filtered(self, spec: ToolSpec, call: ToolCall, result: Result) -> Result:
        """Filter a result that contains text from outside, or of the person's own (T-9)."""
        content_filter = self._access.content_filter
        if not spec.untrusted and not result.untrusted:
            if content_filter.own:
                return await asyncio.to_thread(content_filter.mask_result, result)
            return result
        source = next(iter(result.sources), "") or target_of(spec, call.arguments or {})
        source = source if len(result.sources) < 2 else spec.name
        return await asyncio.to_thread(content_filter.filter_result, result, source or spec.name)


async def _checked(tool: Tool, given: JsonObject) -> JsonObject:
    """The arguments as the tool takes them; raises ToolFailed."""
    if tool.patterns:  # written by others; a pattern may take without end
        return await asyncio.to_thread(tool.check, given)
    return tool.check(given)


def _as_given(call: ToolCall, given: JsonObject) -> ToolCall:
    """A checked call without the arguments that nobody gave."""
    return replace(call, arguments={k: v for k, v in (call.arguments or {}).items() if k in given})
