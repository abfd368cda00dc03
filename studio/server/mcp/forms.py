"""Forms: what a call asks the person at its client's end, where no window is open (M-25).

A form is an elicitation of the protocol: a message, and a flat JSON Schema.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_invisible
from studio.agent.prompts import NOBODY_ANSWERS
from studio.agent.session.session import Session
from studio.domain.errors import StorageError
from studio.domain.events import AwaitingReply
from studio.domain.forms import SECRET, TRIES, check_form, fields_of
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects
from studio.domain.permissions import Answer, Question
from studio.domain.questions import DECLINED, ServerAnswer, ServerQuestion
from studio.domain.records import dataclass
from studio.domain.redaction import without_secrets
from studio.domain.run_events import RunQuestion
from studio.server.permission_forwarder import PermissionForwarder

ANSWER, OWN = "answer", "_own"
"""The field of a form's only question, and what ends the name of that for other words."""
ALLOW, DENY = "allow", "deny"


@dataclass(frozen=True, slots=True)
class Form:
    message: str
    schema: JsonObject


AskClient: TypeAlias = Callable[[Form], Awaitable[ServerAnswer]]
"""Has the client's person fill in a form; ``cancel`` where there is none."""


class FormQuestions(PermissionForwarder):
    """Brings the questions of one turn to the window, or else to the client for this one call."""

    def __init__(self, engine: Engine, session: Session, ask: AskClient) -> None:
        super().__init__(engine, session)
        self._form = ask

    def reply(self, asked: AwaitingReply) -> None:
        self._tasks.start(self._reply(asked))

    async def _answer(self, question: Question) -> Answer | None:
        if await has_window(self._engine):
            return await super()._answer(question)
        form = permission_form(question)
        return None if form is None else allowed(await self._form(form))

    async def _reply(self, asked: AwaitingReply) -> None:
        if asked.form is not None:
            form = server_form(asked.form)
            given = DECLINED if form is None else await filled_in(form, self._form)
            self._session.answer_form(asked.call_id, given)
            return
        answer = await self._form(questions_form(asked))
        answers = [_written(answer, f"{ANSWER}{n}") for n in range(1, len(asked.asked) + 1)]
        said = answers if any(answers) else [NOBODY_ANSWERS]
        self._session.answer_question(asked.call_id, *said)


async def has_window(engine: Engine) -> bool:
    """Whether a window is open, where the person is asked rather than at the client's end."""
    with suppress(StorageError):
        return await engine.questions.has_window()
    return False


def permission_form(question: Question) -> Form | None:
    """The question about a call. None if it holds a secret: nobody allows what they do not see."""
    lines = [f"{question.title}:", question.detail, question.reason, question.why]
    lines += [text for _, text in question.facts]
    return _yes_or_no("\n".join(filter(None, lines)))


def allowed(answer: ServerAnswer) -> Answer | None:
    """What a form about one call came to; None if nobody answered."""
    if answer.action == "accept":
        return "once" if _text(answer, ANSWER) == ALLOW else "deny"
    return "deny" if answer.action == "decline" else None


def questions_form(asked: AwaitingReply) -> Form:
    """An agent's questions, each with its suggested answers and a field for other words."""
    fields: JsonObject = {}
    for number, question in enumerate(asked.asked, 1):
        name = f"{ANSWER}{number}"
        field: JsonObject = {"type": "string", "title": _shown(question.text)}
        fields[name] = field
        lines = "; ".join(_shown(str(one)) for one in question.choices)
        if question.several and lines:
            field["description"] = f"One or more of: {lines}"
        elif lines:
            field["enum"] = [_shown(one.text) for one in question.choices]
            if any(one.about for one in question.choices):
                field["description"] = lines
            fields[f"{name}{OWN}"] = {"type": "string", "title": "Something else"}
    return Form(_shown(asked.text), {"type": "object", "properties": fields})


def server_form(asked: ServerQuestion) -> Form | None:
    """What a server asks, by its name; None for an address, which nobody here opens.

    Nor is there one for what a model would read with a secret: nobody lets it read what they do
    not see.
    """
    wants = f"wants {asked.model} to answer" if asked.model else "asks"
    text = f"{asked.server} {wants}: {asked.message}"
    if asked.schema is None or (asked.model and without_secrets(text) != text):
        return None
    if any(one.secret for one in fields_of(asked.schema)):
        text = f"{text}\n{SECRET}"
    return Form(_shown(text), _shown_schema(asked.schema))


async def filled_in(form: Form, ask: AskClient) -> ServerAnswer:
    """What the person fills in for a server, its fields alone; what is wrong is asked for again."""
    fields, shown = fields_of(form.schema), form
    names = {one.name for one in fields}
    for _ in range(TRIES):
        answer = await ask(shown)
        if answer.action != "accept":
            return answer
        given = answer.content or {}
        content = {name: value for name, value in given.items() if name in names}
        if not (wrong := check_form(fields, content)):
            return ServerAnswer("accept", content)
        shown = replace(form, message=f"{form.message}\n{wrong}")
    return ServerAnswer("cancel")


def run_form(question: RunQuestion) -> Form | None:
    """The question of a run; None if it is one for the window alone."""
    if question.server is not None:
        return server_form(question.server)
    lines = [", ".join(question.path), question.text, question.detail]
    text = "\n".join(filter(None, lines))
    match question.kind:
        case "permission" | "approve":
            return _yes_or_no(text)
        case "reply":
            field: JsonObject = {"type": "string", "title": "Answer"}
            if question.choices:
                field["description"] = f"For example: {_shown('; '.join(question.choices))}"
            schema: JsonObject = {"type": "object", "properties": {ANSWER: field}}
            return Form(_shown(text), schema)
        case _:
            return None


def run_answer(question: RunQuestion, answer: ServerAnswer) -> Json:
    """What the run is answered; None if nobody answered, and the run waits for the person."""
    if question.server is not None:
        return None if answer.action == "cancel" else answer.told
    if question.kind == "reply":
        return _written(answer, ANSWER) or (None if answer.action == "cancel" else NOBODY_ANSWERS)
    given = allowed(answer)
    if question.kind == "approve":
        return None if given is None else given == "once"
    return given


def _shown(text: str) -> str:
    return escape_invisible(without_secrets(text))


def _shown_schema(schema: JsonObject, deep: int = 8) -> JsonObject:
    """A server's schema as it is shown, with plain words; the names and values that go back stay.

    Such a name or value that is not plain gets a title that is, and such a default is left out.
    A form is flat: what lies deeper than one can is left out, too.
    """
    found: JsonObject = {}
    for word, value in schema.items():
        match value:
            case str() if word in ("title", "description"):
                found[word] = _shown(value)
            case list() if word == "enumNames":
                found[word] = [_shown(str(one)) for one in value]
            case str() | list() if word == "default" and not _is_plain(value):
                pass
            case dict() if deep:
                found[word] = _shown_schema(value, deep - 1)
            case list() if deep and word in ("oneOf", "anyOf"):
                found[word] = [_shown_schema(one, deep - 1) for one in as_objects(value)]
            case dict():
                pass
            case list() if any(isinstance(one, dict | list) for one in value):
                pass
            case str() if word not in ("const", "pattern") and not _is_plain(value):
                pass
            case _:
                found[word] = value
    values = schema.get("enum")
    if isinstance(values, list) and "enumNames" not in found and not _is_plain(values):
        found["enumNames"] = [_shown(str(one)) for one in values]
    value = schema.get("const")
    if isinstance(value, str) and "title" not in found and not _is_plain(value):
        found["title"] = _shown(value)
    for name, field in as_object(found.get("properties")).items():
        if isinstance(field, dict) and "title" not in field and not _is_plain(name):
            field["title"] = _shown(name)
    return found


def _is_plain(value: Json) -> bool:
    """Whether a value is shown as it is."""
    texts = value if isinstance(value, list) else [value]
    return all(_shown(one) == one for one in texts if isinstance(one, str))


def _yes_or_no(text: str) -> Form | None:
    if without_secrets(text) != text:
        return None
    field: JsonObject = {"type": "string", "title": "This one time", "enum": [ALLOW, DENY]}
    schema: JsonObject = {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}
    return Form(escape_invisible(text), schema)


def _text(answer: ServerAnswer, name: str) -> str:
    value = (answer.content or {}).get(name)
    return value.strip() if isinstance(value, str) and answer.action == "accept" else ""


def _written(answer: ServerAnswer, name: str) -> str:
    """What was chosen and written for a question; own words replace the choice."""
    return _text(answer, f"{name}{OWN}") or _text(answer, name)
