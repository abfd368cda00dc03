"""Client requests ask the editor's user: permissions, the agent's questions, drafts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine, Mapping
from typing import Any, cast

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    DeclineElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    ElicitationUrlSessionMode,
    EnumOption,
    PermissionOption,
    TitledMultiSelectItems,
    ToolCallUpdate,
)
from pydantic import AnyUrl, ValidationError

from studio.agent.changes.draft_review import DraftDecision
from studio.agent.permission.invisible_characters import escape_invisible
from studio.agent.prompts import EDITOR_NO_ANSWER
from studio.agent.servers.facts import shown_server
from studio.agent.servers.server_tools import ServerView
from studio.agent.session.session import Session
from studio.domain.aio import BackgroundTasks
from studio.domain.drafts import KindDraft
from studio.domain.events import AwaitingReply
from studio.domain.forms import SECRET, TRIES, check_form, fields_of, is_web_address
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Answer, Question
from studio.domain.questions import (
    DECLINED,
    AskedQuestion,
    ServerAnswer,
    ServerQuestion,
    joined_answers,
)

from .updates import SessionUpdates, text_content

UNANSWERED = "nobody answered in the editor"
ANSWER = "answer"
"""Begins the name of a form's field, before the number of the question."""
OWN, ELSE = "_own", "Something else"
"""An answer that is none of the choices: what ends the name of its field, and what it is called."""
OPENED = [
    PermissionOption(option_id="opened", name="I opened it", kind="allow_once"),
    PermissionOption(option_id="no", name="Decline", kind="reject_once"),
]
ANSWERED = [
    PermissionOption(option_id="answer", name="Let it answer", kind="allow_once"),
    PermissionOption(option_id="no", name="Decline", kind="reject_once"),
]
DRAFT = [
    PermissionOption(option_id="approve", name="Write it", kind="allow_once"),
    PermissionOption(option_id="discard", name="Discard it", kind="reject_once"),
]


SERVER = [
    PermissionOption(option_id="run", name="Let it run", kind="allow_always"),
    PermissionOption(option_id="leave", name="Leave it off", kind="reject_once"),
]


class ClientRequests:
    """Asks the questions of one prompt. A question without an answer counts as denied.

    ``forms``: the editor can have its user fill in a form; ``addresses``: open an address.
    """

    def __init__(
        self, session: Session, editor: Client, *, forms: bool = False, addresses: bool = False
    ) -> None:
        self._session = session
        self._editor = editor
        self._forms = forms
        self._addresses = addresses
        self._updates = SessionUpdates(session.info.folder)
        self._tasks = BackgroundTasks()
        self._outside: asyncio.Task[None] | None = None
        """Questions that belong to no turn: about drafts and servers."""
        self.stopped = False
        self.closed = asyncio.Event()
        """Set when the prompt is answered."""

    def permission(self, question: Question) -> None:
        """Ask while the turn goes on with what needs no answer."""
        self._tasks.start(self._permission(question))

    def reply(self, asked: AwaitingReply) -> None:
        """Pass on the agent's own question, or a server's."""
        if asked.form is not None:
            self._tasks.start(self._form(asked.call_id, asked.form))
        else:
            self._tasks.start(self._reply(asked))

    async def close(self) -> None:
        """Withdraw the questions that are still open when the turn ends."""
        await self._tasks.aclose()
        self.closed.set()

    def stop(self) -> None:
        """Withdraw a question that belongs to no turn: the editor cancelled the prompt."""
        self.stopped = True
        if self._outside is not None:
            self._outside.cancel()

    async def drafts(self) -> None:
        """Ask about each waiting draft; one that nobody decides keeps waiting."""
        await self.until_stopped(self._drafts())

    async def server(self, view: ServerView) -> bool:
        """Show what an MCP server of the editor runs, or how it changed; whether it may (M-12)."""
        entry = view.entry
        what = "has changed. Let it run" if entry.runs else "is brought by the editor. Let it run"
        call = ToolCallUpdate(
            tool_call_id=f"server-{uuid.uuid4().hex}",
            title=escape_invisible(f"The MCP server {entry.name} {what}?"),
            kind="other",
            status="pending",
            content=text_content(escape_invisible("\n".join(shown_server(view)))),
        )
        return await self._chosen(call, SERVER) == "run"

    async def until_stopped(self, work: Coroutine[Any, Any, None]) -> None:
        """Ask something that belongs to no turn, until it is done or the prompt is cancelled."""
        if self.stopped:
            work.close()
            return
        self._outside = task = asyncio.create_task(work)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()

    async def _drafts(self) -> None:
        decided: set[str] = set()
        for draft in self._session.drafts.waiting():
            if draft.id in decided or isinstance(draft, KindDraft):
                continue  # an editor's answer is no proof that a person gave it (KZ-5)
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
        """Ask the agent's questions: in a form, or one after the other as any editor can."""
        answers, first = [EDITOR_NO_ANSWER], asked.asked[0]
        one_of = len(asked.asked) == 1 and first.choices and not first.several
        try:
            if self._forms and not one_of:
                found = await self._filled_in(asked)
            else:
                found = [await self._one_of(asked.call_id, one) for one in asked.asked]
            answers = found if any(found) else answers
        finally:
            self._session.answer_question(asked.call_id, *answers)

    async def _form(self, call_id: str, question: ServerQuestion) -> None:
        """Have the editor's user answer a server (M-19); what it cannot show is declined."""
        answer = DECLINED
        try:
            if question.model:
                answer = await self._let_answer(call_id, question)
            elif question.schema is not None and self._forms:
                answer = await self._server_form(call_id, question, question.schema)
            elif question.schema is None and is_web_address(question.url):
                answer = await self._address(call_id, question)
        finally:
            self._session.answer_form(call_id, answer)

    async def _let_answer(self, call_id: str, question: ServerQuestion) -> ServerAnswer:
        """Have the user say whether the model may answer a server (M-20)."""
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=f"The server {question.server} wants {question.model} to answer",
            status="pending",
            content=text_content(escape_invisible(question.message)),
        )
        chosen = await self._chosen(call, ANSWERED)
        return ServerAnswer("accept") if chosen == "answer" else DECLINED

    async def _server_form(
        self, call_id: str, question: ServerQuestion, schema: JsonObject
    ) -> ServerAnswer:
        fields = fields_of(schema)
        warned = [SECRET] if any(one.secret for one in fields) else []
        wrong = ""
        for _ in range(TRIES):
            words = [f"The server {question.server} asks: {question.message}", *warned, wrong]
            try:
                mode = ElicitationFormSessionMode(
                    session_id=self._session.info.id,
                    tool_call_id=call_id,
                    requested_schema=ElicitationSchema.model_validate(schema),
                )
                text = escape_invisible("\n".join(filter(None, words)))
                found = await self._editor.create_elicitation(text, mode)
            except (RequestError, ValidationError, ConnectionError):
                return DECLINED
            if not isinstance(found, AcceptElicitationResponse):
                declined = isinstance(found, DeclineElicitationResponse)
                return DECLINED if declined else ServerAnswer("cancel")
            names = {one.name for one in fields}
            given = cast("JsonObject", found.content or {})
            content = {name: value for name, value in given.items() if name in names}
            if not (wrong := check_form(fields, content)):
                return ServerAnswer("accept", content)
        return ServerAnswer("cancel")

    async def _address(self, call_id: str, question: ServerQuestion) -> ServerAnswer:
        """Have the user open an address: by the editor, or by themselves."""
        text = f"The server {question.server} asks: {question.message}"
        if not self._addresses:
            call = ToolCallUpdate(
                tool_call_id=call_id, title=escape_invisible(f"{text}\n{question.url}")
            )
            chosen = await self._chosen(call, OPENED)
            actions: dict[str, ServerAnswer] = {"opened": ServerAnswer("accept"), "no": DECLINED}
            return actions.get(chosen, ServerAnswer("cancel"))
        try:
            mode = ElicitationUrlSessionMode(
                session_id=self._session.info.id,
                tool_call_id=call_id,
                elicitation_id=uuid.uuid4().hex,
                url=AnyUrl(question.url),
            )
            found = await self._editor.create_elicitation(escape_invisible(text), mode)
        except (RequestError, ValidationError, ConnectionError):
            return DECLINED
        if isinstance(found, AcceptElicitationResponse):
            return ServerAnswer("accept")
        return DECLINED if isinstance(found, DeclineElicitationResponse) else ServerAnswer("cancel")

    async def _one_of(self, call_id: str, question: AskedQuestion) -> str:
        """The suggested answer that is chosen, or free words; empty if there is no answer."""
        if not question.choices:
            return ""
        options = [
            PermissionOption(
                option_id=str(number), name=escape_invisible(str(choice)), kind="allow_once"
            )
            for number, choice in enumerate(question.choices)
        ]
        if self._forms:
            options.append(PermissionOption(option_id=OWN, name=ELSE, kind="allow_once"))
        call = ToolCallUpdate(tool_call_id=call_id, title=escape_invisible(question.text))
        chosen = await self._chosen(call, options)
        if chosen == OWN:
            return (await self._filled_in(AwaitingReply(call_id, question.text)))[0]
        return question.choices[int(chosen)].text if chosen else ""

    async def _filled_in(self, asked: AwaitingReply) -> list[str]:
        """What the editor's user fills in for each question; empty texts if they do not."""
        fields: dict[str, Any] = {}
        for number, question in enumerate(asked.asked, 1):
            fields |= _fields(f"{ANSWER}{number}", question)
        mode = ElicitationFormSessionMode(
            session_id=self._session.info.id,
            tool_call_id=asked.call_id,
            requested_schema=ElicitationSchema(properties=fields),
        )
        try:
            answer = await self._editor.create_elicitation(escape_invisible(asked.text), mode)
        except (RequestError, ValidationError, ConnectionError):
            answer = None
        content = answer.content if isinstance(answer, AcceptElicitationResponse) else None
        numbers = range(1, len(asked.asked) + 1)
        return [_answer(content or {}, f"{ANSWER}{number}") for number in numbers]

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


def _fields(name: str, question: AskedQuestion) -> dict[str, Any]:
    """The fields of a form for a question: its choices, and one for free words."""
    text = escape_invisible(question.text)
    if not question.choices:
        return {name: ElicitationStringPropertySchema(type="string", title=text)}
    options = [
        EnumOption(
            const=one.text,
            title=escape_invisible(one.text),
            description=escape_invisible(one.about) or None,
        )
        for one in question.choices
    ]
    if question.several:
        items = TitledMultiSelectItems(any_of=options)
        choices = ElicitationMultiSelectPropertySchema(type="array", title=text, items=items)
    else:
        choices = ElicitationStringPropertySchema(type="string", title=text, one_of=options)
    own = ElicitationStringPropertySchema(type="string", title=ELSE)
    return {name: choices, f"{name}{OWN}": own}


def _answer(content: Mapping[str, object], name: str) -> str:
    """What was chosen and written as an answer; own words replace the only choice."""
    given, own = content.get(name), content.get(f"{name}{OWN}")
    written = own.strip() if isinstance(own, str) else ""
    if isinstance(given, list):
        chosen = [one for one in cast("list[object]", given) if isinstance(one, str)]
        return joined_answers([*chosen, *filter(None, [written])])
    return written or (given.strip() if isinstance(given, str) else "")
