"""The driver of a turn: runs it, prints its events and asks the person."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncGenerator, AsyncIterable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from studio.agent.loop.user_messages import describe_error
from studio.agent.prompts import NOBODY_ANSWERS
from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.session import Session
from studio.domain.agents import NO_CAPS, Caps, Limits, Mode
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import StorageError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CompletionReason,
    Event,
    Failed,
    MessageQueued,
    Notice,
    PermissionResolved,
    ToolFinished,
    TurnComplete,
    TurnStarted,
)
from studio.domain.messages import Said
from studio.domain.models import DEFAULT_GENERATION, Generation
from studio.domain.permissions import Answer as Permission
from studio.domain.permissions import Question, Rule
from studio.processes.daemon_thread import in_daemon_thread
from studio.storage.remote_approvals import TIMEOUT, RemoteApprovals

from .console import Console
from .drafts import decide_drafts, draft_lines
from .event_printer import JsonPrinter, TextPrinter, format_seconds
from .exit_codes import LIMITS, exit_code_of_turn
from .final_answer import FinalAnswer
from .json_stream import JsonStreamPrinter
from .questions import ask_form, ask_questions

T = TypeVar("T")
Printer: TypeAlias = JsonPrinter | TextPrinter | JsonStreamPrinter
NOBODY_ASKED = "nobody was there to ask"


class TurnDriver:
    """Runs turns, prints them, and passes their questions to the person.

    ``window`` is None where a person is at the terminal. Otherwise permission is asked for
    in the window, if one is open. Without a window or an answer the permission is denied.
    ``answer`` collects the text of the turns. A question waits in the window for
    ``seconds`` at most.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        printer: Printer,
        window: RemoteApprovals | None,
        answer: FinalAnswer | None = None,
        seconds: float | None = None,
    ) -> None:
        self.stopped = False
        self.capped = False
        """Whether a limit of inline mode ended the last turn (L-1)."""
        self.fault = ""
        """The kind of the last turn's error; empty if it had none."""
        self.answered = False
        """Whether the last turn ended with a possible answer."""
        self._denied = False
        self._session = session
        self._console = console
        self._printer = printer
        self._window = window
        self._answer = answer
        self._seconds = min(TIMEOUT, seconds or TIMEOUT)
        self._unanswered = False
        """Whether a question of this turn was not answered in the window; no other is put there."""
        self._questions = BackgroundTasks()
        self._question_error: BaseException | None = None

    @property
    def asks(self) -> bool:
        """Whether the person is asked something now."""
        return bool(self._questions)

    def stop(self) -> None:
        """Stop the turn, and withdraw the question that is on the screen."""
        self.stopped = True
        self._session.stop()
        self._questions.cancel()

    async def run_turn(
        self,
        message: Sequence[Said] | MessageQueued,
        rules: list[Rule],
        mode: Mode | None,
        *,
        limits: Limits | None = None,
        generation: Generation = DEFAULT_GENERATION,
        caps: Caps = NO_CAPS,
        mentions: bool = False,
        invokes: bool = False,
    ) -> int:
        """Run a turn; returns the exit code. The parameters are those of ``Session.turn``."""
        fault = ""
        reason: CompletionReason = "error"
        ran: Mode = "background"
        turn = self._session.turn(
            message,
            rules=rules,
            mode=mode,
            limits=limits,
            generation=generation,
            caps=caps,
            mentions=mentions,
            invokes=invokes,
        )
        events = _with_one_end(turn)
        try:
            async for event in events:  # also events that are not of the turn
                if self._answer is not None:
                    self._answer.event(event)
                self._printer.event(event)
                match event:
                    case TurnStarted():
                        ran = event.mode
                        if mentions and event.agent != self._session.info.agent:
                            self._console.say(f"{event.agent} answers this message.")
                    case AwaitingPermission():
                        self._ask(self._permission(event.question))
                    case AwaitingReply():
                        self._ask(self._reply(event))
                    case PermissionResolved():
                        self._denied |= event.answer == "deny"
                    case ToolFinished():
                        self._denied |= bool(event.refused_by)
                    case Failed():
                        fault = event.fault
                    case TurnComplete():
                        reason = event.reason
                        if reason == "error" and not fault:  # the answer itself is wrong
                            fault = "unfit"
                            self._console.say(event.detail)
                    case _:
                        pass
        finally:
            self._questions.cancel()
            await events.aclose()
            await turn.aclose()
        if self._question_error is not None:
            raise self._question_error
        await self._tell_sources()
        self.fault = fault
        self.answered = reason == "done" or reason in LIMITS
        self.capped = ran == "inline" and reason in ("step_limit", "time_limit")
        return exit_code_of_turn(reason, denied=self._denied, fault=fault)

    async def _tell_sources(self) -> None:
        """Print what the addresses of packs in this turn lead to (KZ-8)."""
        if isinstance(self._printer, TextPrinter) and (given := self._printer.take_sources()):
            found = await in_daemon_thread(lambda: self._session.resolve(given))
            self._console.say_sources(
                {address: one.title if one is not None else "" for address, one in found.items()}
            )

    async def ask_background(self) -> bool:
        """Ask whether a turn that reached its limit goes on in background mode (L-1)."""
        prompt = "Go on in the background? [y]es, [n]o: "
        return await self._until_stopped(self._console.choice(prompt, "yes", "no")) == "y"

    async def ask_waiting(self) -> None:
        """Ask the person what the session asks now, whose turn goes on elsewhere."""
        for one in asked_by(self._session):
            match one:
                case Question():
                    await self._until_stopped(self._permission(one))
                case AwaitingReply():
                    await self._until_stopped(self._reply(one))

    async def offer_drafts(self) -> None:
        """Show each waiting draft, and write those that the person approves."""
        await self._until_stopped(self._offer_drafts())

    async def _until_stopped(self, asking: Coroutine[Any, Any, T]) -> T | None:
        """Wait for an answer between turns; None if the person stopped instead."""
        task = self._questions.start(asking)
        await asyncio.wait([task])
        return None if task.cancelled() else task.result()

    async def _offer_drafts(self) -> None:
        session, console = self._session, self._console
        waiting = session.drafts.waiting()
        for number, draft in enumerate(waiting):
            head, *lines = await asyncio.to_thread(draft_lines, draft)
            console.say("", draft.label, *lines)
            left = [one.id for one in waiting[number:]]
            every = f", [a]ll {len(left)}" if len(left) > 1 else ""
            prompt = f"{head}? [y]es{every}, [n]ot now, [d]iscard: "
            words = ("yes", "not now", "discard", *(("all",) if every else ()))
            word = await console.choice(prompt, *words)
            if word == "a":
                await decide_drafts(session, left, "approve", console)
                return
            if word in ("y", "d"):
                await decide_drafts(
                    session, left[:1], "approve" if word == "y" else "discard", console
                )
            elif not word:
                return

    def _ask(self, question: Coroutine[Any, Any, None]) -> None:
        self._questions.start(question, self._question_failed)

    def _question_failed(self, error: BaseException) -> None:
        self._question_error = error  # the turn would wait forever
        self._session.stop()

    async def _permission(self, question: Question) -> None:
        if self._window is not None:
            await self._permission_in_window(question, self._window)
            return
        session = self._session
        scopes = ", this [s]ession, this [f]older, [a]lways" if question.always else ""
        lines = [question.title, *(f"    {line}" for line in question.detail.split("\n"))]
        lines += [question.reason] if question.reason else []
        lines += [question.why] if question.why else []
        lines += [", ".join(text for _, text in question.facts)]
        answers: dict[str, Permission] = {"yes": "once", "no": "deny"}
        if question.always:
            answers |= {"session": "session", "folder": "folder", "always": "always"}
            rules = [f"allow {rule}" for rule in question.always]
            one = len(rules) == 1
            added = f" {rules[0]}" if one else ""
            lines.append(f"A scope adds the {'rule' if one else 'rules'}:{added}")
            lines += [] if one else [f"    {rule}" for rule in rules]
            lines.append(question.warning)
        if question.covers:
            lines.append("That would also have allowed:")
            lines += [f"    {one}" for one in question.covers]
        with self._printer.quiet():
            self._console.say("", *filter(None, lines))
            letter = await self._console.choice(f"Allow? [y]es once{scopes}, [n]o: ", *answers)
            for word, answer in answers.items():
                if word[0] == letter:
                    session.answer_permission(question.id, answer)
                    return
            session.answer_permission(question.id, "deny")

    async def _permission_in_window(self, question: Question, window: RemoteApprovals) -> None:
        session, asked = self._session, f"{question.tool} {question.detail}"
        there = not self._unanswered and await window.has_window()
        if there:
            self._printer.event(Notice(f"Asked in the window: {asked}"))
            most = format_seconds(self._seconds)  # also where nothing else is printed yet
            self._console.say(f"Waiting for your answer in the window, {most} at most.")
            answer = await window.ask(
                session.info.id, question, through="terminal", seconds=self._seconds
            )
            if answer is not None:
                if answer == "deny":
                    self._console.say(f"Not allowed: {asked}", "  Denied in the window.")
                session.answer_permission(question.id, "deny" if answer == "deny" else "once")
                return
            self._unanswered = True
        session.answer_permission(question.id, "deny", NOBODY_ASKED)
        lines = [f"Not allowed: {asked}", f"  {question.why}" if question.why else ""]
        lines.append("  Nobody answered in the window." if there else "  Nobody is here to ask.")
        if question.always:
            wanted = (f"--allow {shlex.quote(str(rule))}" for rule in question.always)
            lines[-1] += f" To allow it: {' '.join(wanted)}"
        self._console.say(*filter(None, lines))

    async def _reply(self, event: AwaitingReply) -> None:
        if self._window is not None:
            if event.form is not None:
                self._console.say(f"{event.text}", "  Nobody is here to ask: declined.")
            self._session.answer_question(event.call_id, NOBODY_ANSWERS)
            return
        with self._printer.quiet():
            if event.form is not None:
                answer = await ask_form(self._console, event.form)
                self._session.answer_form(event.call_id, answer)
                return
            answers = await ask_questions(self._console, event.asked)
            left = [""] * (len(event.asked) - len(answers)) if answers else [NOBODY_ANSWERS]
            self._session.answer_question(event.call_id, *answers, *left)


def asked_by(session: Session) -> list[Question | AwaitingReply]:
    """What a session asks the person now."""
    replies = [
        AwaitingReply.of_server(one.call_id, one.form)
        if one.form is not None
        else AwaitingReply.of(one.call_id, one.asks)
        for one in session.transcript.last_calls
        if one.state == "waiting" and (one.asks or one.form)
    ]
    return [*session.transcript.questions, *replies]


async def _with_one_end(turn: AsyncIterable[EventEnvelope]) -> AsyncGenerator[Event, None]:
    """The events for a message, with one ``TurnComplete`` as the last of them (L-2).

    The end of a turn that the next tier took over (L-13) is left out, and what it used is in
    the last. A turn whose record is lost after its end is an error.
    """
    end: TurnComplete | None = None
    try:
        async for envelope in turn:
            event = envelope.event
            if isinstance(event, TurnComplete):
                end = event if end is None else _added(end, event)
            else:
                yield event
    except StorageError as error:
        if end is None:
            raise
        if end.reason != "error":
            yield describe_error(error)
        end = replace(end, reason="error", detail=str(error))
    if end is not None:
        yield end


def _added(before: TurnComplete, last: TurnComplete) -> TurnComplete:
    return replace(
        last,
        steps=before.steps + last.steps,
        usage=before.usage + last.usage,
        seconds=before.seconds + last.seconds,
        dollars=None
        if before.dollars is None or last.dollars is None
        else before.dollars + last.dollars,
    )
