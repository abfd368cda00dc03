"""Server questions: makes what a server asks safe to show (M-19)."""

from __future__ import annotations

from dataclasses import replace

from studio.agent.permission.invisible_characters import escape_line, visible
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.domain.questions import Prompt, ServerQuestion

MOST_WORDS = 4000
MOST_FIELDS = 100
_WORDS = ("title", "description", "enumNames")


def readable(question: ServerQuestion, server: str) -> ServerQuestion:
    """A question by the name that the person gave the server, with no character hidden."""
    schema, prompt, server = question.schema, question.prompt, escape_line(server, 60)
    if prompt is not None:  # the model reads what the person reads: all of it
        prompt = _readable_prompt(prompt)
        return replace(question, server=server, message=prompt.text, prompt=prompt)
    return replace(
        question,
        server=server,
        message=visible(question.message)[:MOST_WORDS],
        schema=None if schema is None else readable_form(schema),
        url=escape_line(question.url, MOST_WORDS),
    )


def readable_form(schema: JsonObject) -> JsonObject:
    """A form with the words as they are shown; names and values stay the server's."""
    shown = as_object(_readable(schema))
    properties = list(as_object(shown.get("properties")).items())[:MOST_FIELDS]
    shown["properties"] = {
        name: {**as_object(about), "title": _title(as_object(about), name)}
        for name, about in properties
    }
    return shown


def _readable_prompt(prompt: Prompt) -> Prompt:
    messages = tuple((role, visible(words)) for role, words in prompt.messages)
    return replace(prompt, messages=messages, system=visible(prompt.system))


def _named(about: JsonObject) -> JsonObject:
    """Names for the choices of a field that would be shown by their values."""
    values, const = about.get("enum"), about.get("const")
    if isinstance(values, list) and "enumNames" not in about:
        names: list[Json] = [_shown(one) for one in values]
        return {} if all(map(_is_plain, values)) else {"enumNames": names}
    return {} if _is_plain(const) or as_text(about.get("title")) else {"title": _shown(const)}


def _shown(value: Json) -> str:
    return escape_line(value, 200) if isinstance(value, str) else ""


def _is_plain(value: Json) -> bool:
    return not isinstance(value, str) or _shown(value) == value


def _title(about: JsonObject, name: str) -> str:
    return escape_line(as_text(about.get("title")) or name, 200)


def _readable(value: Json, key: str = "") -> Json:
    match value:
        case dict():
            return {
                **{name: _readable(inner, name) for name, inner in value.items()},
                **_named(value),
            }
        case list():
            return [_readable(inner, key) for inner in value]
        case str() if key in _WORDS:
            return visible(value)[:MOST_WORDS]
        case _:
            return value
