"""Working calls: runs the tools of a turn, each inside its time limit, and stops them (C-25).

What a tool prints is shown while it works, and what a result exposes the chat to is recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from studio.agent.delegation.board import SessionBoard
from studio.agent.packs import person_here
from studio.agent.permission.approval import Approvals, Permit, WorkClock
from studio.agent.permission.policy import COMMAND
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.prompts import CALL_STOPPED, CALL_STOPPED_AFTER
from studio.agent.services import Services
from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.events import Event, PlanChanged, ToolOutput
from studio.domain.messages import ToolCall
from studio.domain.questions import DECLINED, AskedQuestion, ServerAnswer, ServerQuestion
from studio.domain.tools import JOB, ToolSpec
from studio.processes.environment import EnvironmentOnDemand
from studio.processes.shell_command import last_states
from studio.tools import Context, Result, Tool, Workspace
from studio.tools.drafts.seen_files import SeenFiles, Stamp

from .bench import Bench, CallDrafts

OUTPUT_LIMIT = 250_000
"""Characters of output that a running tool can show; a command shows fewer."""
RESULT_LIMIT = 30_000
"""Characters of a tool's result that reach the model; the rest is kept in a file. A tool that
divides what it has into parts may use all of ``Context.room``, which a small window lowers."""


class WorkingCalls:
    """The calls of one turn whose tools work.

    ``call_id`` is the call that began the turn, if its drafts are made for that: else they are
    of the calls here. ``commands_free``: the time that commands take is not the turn's.
    """

    def __init__(
        self,
        services: Services,
        access: ToolAccess,
        approvals: Approvals,
        bench: Bench,
        emit: Callable[[Event], None],
        call_id: str,
        *,
        commands_free: bool,
    ) -> None:
        self._services = services
        self._access = access
        self._approvals = approvals
        self._bench = bench
        self._emit = emit
        self._call_id = call_id
        self._commands_free = commands_free
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """Those of the calls, by their ids."""
        self._asking: set[str] = set()
        """Calls of these that wait for an answer of the person."""
        self._stopped: set[str] = set()
        """Calls of these that the person stopped."""

    def stop(self, call_id: str = "") -> bool:
        """End the tools that work now, or that of one call; the turn goes on (C-25).

        The model gets what they printed as a failed result, and hears of what a command wrote.
        Without a name, calls that wait for the person's answer are left alone. Returns whether
        that call works, or whether there was one that was not stopped before.
        """
        named = self._tasks.keys() & {call_id}
        found = named if call_id else self._tasks.keys() - self._asking
        fresh = found - self._stopped  # the others need a moment to end
        for one in fresh:
            self._stopped.add(one)
            if not self._services.jobs.interrupt(self._access.session_id, one):
                self._tasks[one].cancel()
        return bool(fresh or named)

    async def run(
        self, tool: Tool, call: ToolCall, permit: Permit, clock: WorkClock, seen: SeenFiles
    ) -> Result:
        """Run the tool; ``clock`` stands while the person is asked."""
        try:
            result = await self._run(tool, call, permit, clock, seen)
        except NothingRead:
            raise
        except ToolFailed as failure:  # its text may quote what was read
            self._record_exposures(tool.spec, call, failed_result(str(failure)))
            raise
        self._record_exposures(tool.spec, call, result)
        return result

    async def _run(
        self, tool: Tool, call: ToolCall, permit: Permit, clock: WorkClock, seen: SeenFiles
    ) -> Result:
        @contextmanager
        def asking() -> Generator[None]:
            clock.pause()
            self._asking.add(call.id)
            try:
                yield
            finally:
                self._asking.discard(call.id)
                clock.resume()

        async def ask(questions: Sequence[AskedQuestion]) -> str:
            with asking():
                return await self._approvals.ask(call.id, questions)

        async def ask_form(question: ServerQuestion) -> ServerAnswer:
            if question.prompt is None:
                return await ask_person(question)
            sampling = self._access.sampling
            if sampling is None:
                return DECLINED
            return await sampling.answer(question, ask_person, self._emit)

        async def ask_person(question: ServerQuestion) -> ServerAnswer:
            with asking():
                return await self._approvals.ask_form(call.id, question)

        access, workspace = self._access, self._access.workspace
        printed: list[str] = []
        context = Context(
            workspace=workspace if permit.opens is None else workspace.opened(permit.opens),
            drafts=CallDrafts(
                self._bench,
                access,
                self._approvals,
                tool.spec,
                self._call_id or call.id,
                permit.approve,
            ),
            emit=self._output_emitter(tool.spec, call, printed),
            show_plan=lambda plan: self._emit(PlanChanged(call.id, plan)),
            ask_all=ask,
            ask_form=ask_form,
            may=lambda target: self._approvals.allows_target(tool.spec, target),
            environment=EnvironmentOnDemand(self._services.environment),
            sandbox=access.sandbox,
            keeper=self._services.keeper,
            checks=access.checks,
            languages=self._services.languages if access.languages else None,
            seen=seen,
            jobs=self._services.jobs,
            web=self._services.web,
            notes=access.notes.of_call(access.agent, keeps=permit.approve),
            children=access.children(call.id),
            board=SessionBoard(
                self._services.boards, access.session_id, access.agent, access.guard, call.id
            ),
            services=self._services,
            room=access.room,
            numbered=access.numbered,
            waits=access.waits,
            agent=access.agent,
            session_id=access.session_id,
            call_id=call.id,
            person=person_here(),
            subject=access.subject,
        )
        limit = tool.spec.time_limit
        timer = asyncio.timeout(limit)
        acts = tool.spec.effect == "act"
        task = asyncio.current_task()
        assert task is not None, "each call is run by a task of its own"
        self._tasks[call.id] = task
        waits = tool.spec.target == COMMAND or (tool.built_in and tool.spec.name == JOB)
        # A child has a limit of its own.
        untimed = (self._commands_free and waits) or tool.waits
        if untimed:
            self._approvals.clock.pause()
        try:
            if tool.spec.effect not in ("read", "draft") or permit.approve:
                # The audit has its row before anything can come of it, whatever kills the program.
                await self._services.store.flush(access.session_id)
            stamps = await asyncio.to_thread(seen.stamps, workspace) if acts else {}
            drafting = self._bench.drafting if tool.spec.effect == "draft" else nullcontext()
            async with drafting, self._bench.acting() if acts else nullcontext(), timer:
                result = await tool.call(context, call.arguments or {})
            if call.id in self._stopped and not task.cancelling():  # its command was ended
                result = _stopped(result.text)
            if not stamps:  # what is read and drafted changes no file
                return result
            return await asyncio.to_thread(_naming_changed, result, seen, workspace, stamps)
        except asyncio.CancelledError as error:
            if call.id in self._stopped and task.uncancel() == 0:  # else the turn is stopped too
                return _stopped(last_states("".join(printed)).strip("\n"))
            if task.cancelling():
                raise
            raise ToolFailed(f"{call.name} gave up: it was cancelled from inside.") from error
        except TimeoutError as error:
            if not timer.expired():
                raise
            raise ToolFailed(f"Timed out after {limit:g} s.") from error
        finally:
            if untimed:
                self._approvals.clock.resume()
            del self._tasks[call.id]
            self._stopped.discard(call.id)

    def _record_exposures(self, spec: ToolSpec, call: ToolCall, result: Result | None) -> None:
        for exposed in self._access.guard.new_exposures(spec, call, result):
            self._emit(exposed)

    def _output_emitter(
        self, spec: ToolSpec, call: ToolCall, printed: list[str]
    ) -> Callable[[str], None]:
        """A function that emits a running call's output, up to ``OUTPUT_LIMIT``.

        ``printed`` gets all of it, shown or not, but no more than its end.

        The session is exposed to it from its first piece on. Where the filter needs the whole
        output, because a value to mask may be split between two pieces, it emits nothing.
        """
        masks = self._access.content_filter
        hidden = bool(masks.kinds) and (spec.untrusted or masks.own)
        begun, left = False, 0 if hidden else OUTPUT_LIMIT

        def emit(text: str) -> None:
            nonlocal begun, left
            if not begun:
                begun = True
                self._record_exposures(spec, call, None)
            printed[:] = ["".join([*printed, text])[-RESULT_LIMIT:]]
            if left > 0:
                cut = len(text) >= left
                text = (
                    f"{text[:left]}\n[… more output follows, not shown here …]\n" if cut else text
                )
                left = 0 if cut else left - len(text)
                self._emit(ToolOutput(call.id, text))

        return emit


def _naming_changed(
    result: Result, seen: SeenFiles, workspace: Workspace, stamps: Mapping[str, Stamp]
) -> Result:
    """The result, which names the files known to the model that were changed meanwhile (C-7)."""
    if not stamps or not (changed := seen.touched(workspace, stamps)):
        return result
    names = ", ".join(changed[:20]) + (f" and {len(changed) - 20} more" if changed[20:] else "")
    return replace(result, value=f"{result.text}\n[Files changed that you have read: {names}.]")


def _stopped(output: str) -> Result:
    """The result of a call that the person stopped, with its output until then."""
    text = CALL_STOPPED_AFTER.format(output=output) if output else CALL_STOPPED
    return Result(text, "stopped by you", is_error=True, keeps_end=True)


def failed_result(text: str) -> Result:
    """An error, with its first line for the row."""
    line = text.strip().splitlines()[0] if text.strip() else ""
    return Result(text, line if len(line) <= 80 else line[:79] + "…", is_error=True)
