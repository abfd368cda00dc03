"""Request checks: define a check and its refusal.

Any check can be switched off, so that tests can show it is needed. House rules hold
for a whole session, and only in the strictest mode. What several tables look at is
here too: pictures and files in base64, JSON schemas.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from .json_read import Body, array, obj, objs
from .request_view import RequestView
from .state import ServerState


class RequestRefused(Exception):
    """A request broke a rule. ``str()`` is the provider's own text.

    ``rule`` is the kind of rule, ``name`` the one rule of an API's table.
    """

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.name = rule
        self.status = status
        self.param = param
        self.code = code


Check: TypeAlias = Callable[[RequestView, ServerState], None]
"""Raises RequestRefused where the request breaks this one rule. Its name is the function's."""


def word_set(words: str) -> frozenset[str]:
    """Names in a string with spaces between."""
    return frozenset(words.split())


def appended(view: RequestView, state: ServerState) -> None:
    """House rule: a request repeats the session's one before it and only adds to its end."""
    if not state.sessions.continues(view):
        raise RequestRefused(
            "house", "house rule: the history, the system prompt and the tools only grow at the end"
        )


def one_message_a_turn(view: RequestView, state: ServerState) -> None:
    """House rule, where the request has ``messages``: no two of one side in a row."""
    found = [message.get("role") for message in objs(view.body.get("messages"))]
    for role, following in pairwise(found):
        if role == following and role in ("user", "assistant"):
            words = f"house rule: consecutive {role} messages"
            raise RequestRefused("house", words, param="messages")


_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(.*)", re.S)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def decoded(data: object) -> bytes | None:
    """The bytes of strict base64 with its padding; None if it is none, or empty."""
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def data_url(url: str) -> tuple[str, bytes | None]:
    """The media type and the bytes of a ``data:`` URL; None where they cannot be read."""
    found = _DATA_URL.fullmatch(url)
    return (found[1] or "", decoded(found[2])) if found else ("", None)


def sniffed(data: bytes) -> str:
    """The media type the first bytes tell of; empty if they tell nothing."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")


LIMITS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
)
_NOT_STRICT = ("allOf", "oneOf", "not", "if", "patternProperties", "propertyNames", "default")


def plain_schemas(view: RequestView, state: ServerState) -> None:
    """House rule: schemas of tools have nothing that some compatible servers refuse."""
    for tool in view.tools:
        for part in schema_parts(tool.schema):
            wrong = {"$ref", "exclusiveMinimum", "exclusiveMaximum"}.intersection(part)
            if isinstance(part.get("type"), list):
                wrong.add("a list of types")
            if wrong:
                words = f"house rule: compatible servers refuse {min(wrong)} in a tool's schema"
                raise RequestRefused("house", words, param="tools")


def schema_parts(schema: Any) -> Iterator[Body]:
    """A schema and every schema in it."""
    if not isinstance(schema, dict):
        return
    one = obj(schema)
    yield one
    for key in ("items", "anyOf", "allOf", "oneOf"):
        within: list[Any] = (
            [one.get(key)] if isinstance(one.get(key), dict) else array(one.get(key))
        )
        for inner in within:
            yield from schema_parts(inner)
    for key in ("properties", "$defs", "definitions"):
        for inner in obj(one.get(key)).values():
            yield from schema_parts(inner)


def has_type(schema: Body, kind: str) -> bool:
    """Whether this type is one of the schema's own."""
    found = schema.get("type")
    return kind == found or kind in array(found)


def not_strict(schema: Any) -> str:
    """Why strict mode does not take a schema; empty if it does."""
    for part in schema_parts(schema):
        for key in part:
            if key in _NOT_STRICT:
                return f"'{key}' is not permitted."
        if not has_type(part, "object"):
            continue
        if part.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false."
        properties, required = obj(part.get("properties")), array(part.get("required"))
        missing = [name for name in properties if name not in required]
        if missing or "required" not in part:
            return (
                "'required' is required to be supplied and to be an array including every key in "
                f"properties. Missing '{(missing or ['?'])[0]}'."
            )
    return ""
