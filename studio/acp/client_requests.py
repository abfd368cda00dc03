"""Client requests ask the editor's user: permissions, the agent's questions, drafts."""

from __future__ import annotations

import asyncio
from typing import cast

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    PermissionOption,
    ToolCallUpdate,
)
from pydantic import ValidationError

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.permission.invisible_characters import escape_invisible
from studio.agent.session.session import Session
from studio.domain.aio import BackgroundTasks
from studio.domain.events import AwaitingReply
from studio.domain.permissions import Answer, Question

from .updates import SessionUpdates, text_content

CANNOT_ASK = "The editor cannot show questions. Decide yourself, or stop and say what you need."
UNANSWERED = "nobody answered in the editor"
ANSWER = "answer"
"""The only field of a form."""
DRAFT = [
    PermissionOption(option_id="approve", name="Write it", kind="allow_once"),
    PermissionOption(option_id="discard", name="Discard it", kind="reject_once"),
]


class ClientRequests:
    """Asks the questions of one prompt. A question without an answer counts as denied.

    ``forms``: the editor can have its user fill in a form.
    """

    def __init__(self, session: Session, editor: Client, *, forms: bool = False) -> None:
        self._session = session
        self._editor = editor
        self._forms = forms
        self._updates = SessionUpdates(session.info.folder)
        self._tasks = BackgroundTasks()
        self._draft_task: asyncio.Task[None] | None = None
        self.stopped = False
        self.closed = asyncio.Event()
        """Set when the prompt is answered."""

    def permission(self, question: Question) -> None:
        """Ask while the turn goes on with what needs no answer."""
        self._tasks.start(self._permission(question))

    def reply(self, asked: AwaitingReply) -> None:
        """Pass on the agent's own question."""
        self._tasks.start(self._reply(asked))

    async def close(self) -> None:
        """Withdraw the questions that are still open when the turn ends."""
        await self._tasks.aclose()
        self.closed.set()

    def stop(self) -> None:
        """Withdraw the question about drafts: the editor cancelled the prompt."""
        self.stopped = True
        if self._draft_task is not None:
            self._draft_task.cancel()

    async def drafts(self) -> None:
        """Ask about each waiting draft; one that nobody decides keeps waiting."""
        if self.stopped:
            return
        self._draft_task = task = asyncio.create_task(self._drafts())
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _drafts(self) -> None:
        decided: set[str] = set()
        for draft in self._session.drafts.waiting():
            if draft.id in decided:
                continue
            files = self._session.drafts.together(draft.id)  # those of a patch are one question
            decided |= {one.id for one in files}
            label = ", ".join(one.label for one in files)
            verb = "Change" if len(files) > 1 else draft.action.capitalize()
            call = ToolCallUpdate(
                tool_call_id=f"draft-{draft.id}",
                title=escape_invisible(f"{verb} {label}"),
                kind="edit",
                content=[self._updates.change(one) for one in files],
            )
            chosen = await self._chosen(call, DRAFT)
            if not chosen:
                return
            await self._session.review.decide(draft.id, cast("DraftDecision", chosen))

    async def _permission(self, question: Question) -> None:
        options = [PermissionOption(option_id="once", name="Allow once", kind="allow_once")]
        if rules := question.always:
            always = rules[0] if len(rules) == 1 else f"these {len(rules)} rules"
            for scope, name in (
                ("session", f"Allow {always} in this chat"),
                ("folder", f"Allow {always} in this folder"),
                ("always", f"Always allow {always}"),
            ):
                options.append(PermissionOption(option_id=scope, name=name, kind="allow_always"))
        options.append(PermissionOption(option_id="deny", name="Deny", kind="reject_once"))
        lines = [question.reason, question.why, *(text for _, text in question.facts)]
        if len(question.always) > 1:
            lines += ["The rules are:", *(f"allow {rule}" for rule in question.always)]
        lines.append(question.warning)
        if question.covers:
            lines += ["That would also have allowed:", *question.covers]
        call = ToolCallUpdate(
            tool_call_id=question.call_id,
            title=f"{question.title}: {question.detail}",
            status="pending",
            content=text_content("\n".join(filter(None, lines))),
        )
        chosen = ""
        try:
            chosen = await self._chosen(call, options)
        finally:
            by = "" if chosen else UNANSWERED
            self._session.answer_permission(question.id, cast("Answer", chosen or "deny"), by)

    async def _reply(self, asked: AwaitingReply) -> None:
        """Ask the agent's question, whose suggested answers any editor can show."""
        text = CANNOT_ASK
        try:
            if asked.choices:
                options = [
                    PermissionOption(option_id=str(number), name=choice, kind="allow_once")
                    for number, choice in enumerate(asked.choices)
                ]
                call = ToolCallUpdate(
                    tool_call_id=asked.call_id, title=escape_invisible(asked.text)
                )
                if chosen := await self._chosen(call, options):
                    text = asked.choices[int(chosen)]
            elif self._forms:
                text = await self._words(asked) or text
        finally:
            self._session.answer_question(asked.call_id, text)

    async def _words(self, asked: AwaitingReply) -> str:
        """What the editor's user writes in answer; empty if they do not."""
        field = ElicitationStringPropertySchema(type="string", title="Your answer")
        form = ElicitationSchema(properties={ANSWER: field}, required=[ANSWER])
        mode = ElicitationFormSessionMode(
            session_id=self._session.info.id,
            tool_call_id=asked.call_id,
            requested_schema=form,
        )
        try:
            answer = await self._editor.create_elicitation(escape_invisible(asked.text), mode)
        except (RequestError, ValidationError, ConnectionError):
            return ""
        content = answer.content if isinstance(answer, AcceptElicitationResponse) else None
        words = (content or {}).get(ANSWER)
        return words.strip() if isinstance(words, str) else ""

    async def _chosen(self, call: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """The id of the option that was chosen; empty if none was."""
        try:
            answer = await self._editor.request_permission(
                session_id=self._session.info.id, tool_call=call, options=options
            )
        except (RequestError, ValidationError, ConnectionError):  # it cannot ask, or has gone
            return ""
        outcome = answer.outcome
        chosen = outcome.option_id if isinstance(outcome, AllowedOutcome) else ""
        return chosen if chosen in {option.option_id for option in options} else ""
