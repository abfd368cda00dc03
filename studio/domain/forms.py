"""Forms: what the person is asked to fill in, by a JSON schema of a server (M-19).

The window, the terminal and an editor show the same fields, and check what is filled in alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import date, datetime
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.records import dataclass
from studio.domain.secret_names import names_secret

FieldKind: TypeAlias = Literal[
    "text", "integer", "number", "switch", "choice", "choices", "texts", "json"
]
"""``choices``: several may be chosen. ``texts``: a list of texts. ``json``: anything else."""
MOST_CHOICES = 200
TRIES = 3
"""How often a program shows a server's form until what is filled in fits it."""
SECRET = "This looks like a secret. A server that is to be trusted does not ask for one here."
_YES, _NO = ("yes", "y", "true", "on", "1"), ("no", "n", "false", "off", "0")


@dataclass(frozen=True, slots=True)
class FieldChoice:
    """One of the values that a field takes, and how it is called."""

    value: Json = field(hash=False)
    title: str


@dataclass(frozen=True, slots=True)
class FormField:
    """One property of a schema. ``default`` is None where there is none."""

    name: str
    title: str
    about: str = ""
    kind: FieldKind = "text"
    required: bool = False
    choices: tuple[FieldChoice, ...] = ()
    default: Json = field(default=None, hash=False)
    schema: JsonObject = field(default_factory=dict[str, Json], hash=False)

    @property
    def secret(self) -> bool:
        """Whether it seems to ask for a secret."""
        words = self.name, self.title
        return self.schema.get("format") == "password" or any(map(names_secret, words))

    def read(self, text: str) -> Json:
        """The value that a text stands for; raises ValueError that says what is wrong."""
        value = self._read(text.strip() if self.kind not in ("text", "texts") else text)
        if problem := self.problem(value):
            raise ValueError(problem)
        return value

    def shown(self, value: Json) -> str:
        """A value as the person reads it, and can write it."""
        for choice in self.choices:
            if choice.value == value:
                return choice.title
        if isinstance(value, list):
            return ", ".join(self.shown(one) for one in value)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    def problem(self, value: Json) -> str:
        """What is wrong with a value, as a sentence; empty if nothing is."""
        if wrong := self._wrong_kind(value):
            return wrong
        if value == "" and not self.schema.get("minLength"):
            return ""
        size, least, most = _measured(value)
        for (word, template), sign in ((least, 1), (most, -1)):
            limit = self.schema.get(word)
            if isinstance(limit, int | float) and (limit - size) * sign > 0:
                return template.format(name=self.title, limit=limit)
        kind = as_text(self.schema.get("format"))
        if isinstance(value, str) and kind in _FORMATS and not _has_format(kind, value):
            return _FORMATS[kind].format(name=self.title)
        return ""

    def _wrong_kind(self, value: Json) -> str:
        name, values = self.title, [one.value for one in self.choices]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        match self.kind:
            case "text" if not isinstance(value, str):
                return f"{name} is a text."
            case "integer" if not number or value != cast("float", value) // 1:
                return f"{name} is a whole number."
            case "number" if not number:
                return f"{name} is a number."
            case "switch" if not isinstance(value, bool):
                return f"{name} is yes or no."
            case "choice" if value not in values:
                return f"{name} is one of the choices."
            case "choices" if not isinstance(value, list) or any(v not in values for v in value):
                return f"{name} are some of the choices."
            case _:
                return ""

    def _read(self, text: str) -> Json:
        name = self.title
        match self.kind:
            case "text":
                return text
            case "texts":
                return [line for line in text.splitlines() if line.strip()]
            case "switch":
                if (word := text.lower()) in (*_YES, *_NO):
                    return word in _YES
                raise ValueError(f"{name} is yes or no.")
            case "choice":
                return self._choice(text)
            case "choices":
                return [self._choice(one.strip()) for one in text.split(",") if one.strip()]
            case "integer" | "number" | "json":
                return self._json(text)

    def _json(self, text: str) -> Json:
        try:
            value: Json = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            value = None
            if self.kind == "json":
                raise ValueError(f"{self.title} is written as JSON.") from None
        if self.kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        return value

    def _choice(self, text: str) -> Json:
        """The choice of a number, from 1, or of a title."""
        for choice in self.choices:
            if text in (choice.title, choice.value):
                return choice.value
        if text.isdecimal() and 0 < int(text) <= len(self.choices):
            return self.choices[int(text) - 1].value
        raise ValueError(f"{self.title} has no choice “{text[:60]}”.")


def fields_of(schema: JsonObject) -> list[FormField]:
    """The fields of an object's schema, in its order."""
    required = schema.get("required")
    names = cast("list[Json]", required) if isinstance(required, list) else []
    return [
        field_of(name, _plain(about, schema), required=name in names)
        for name, about in as_object(schema.get("properties")).items()
    ]


def field_of(name: str, about: JsonObject, *, required: bool = False) -> FormField:
    """One field, by what a schema says of it."""
    kind, choices = _kind(about), _choices(about)
    if kind == "texts":
        choices = _choices(as_object(about.get("items")))
    if choices:
        kind = "choices" if kind == "texts" else "choice"
    title = " ".join(as_text(about.get("title")).split())[:200] or name
    told = as_text(about.get("description"))
    return FormField(name, title, told, kind, required, choices, about.get("default"), about)


def check_form(fields: list[FormField], content: JsonObject) -> str:
    """What is wrong with the values of a form, as a sentence; empty if nothing is."""
    for one in fields:
        value = content.get(one.name)
        given = one.name in content and value not in ("", [])
        if one.required and not given and not (one.kind == "text" and one.name in content):
            return f"{one.title} is needed."
        if one.name in content and (problem := one.problem(value)):
            return problem
    return ""


def told_answer(fields: list[FormField], content: JsonObject) -> str:
    """What was sent, in a line for the record; secrets are not in it."""
    known = {one.name: one for one in fields}
    words = [
        f"{name}: {'…' if name in known and known[name].secret else _short(value)}"
        for name, value in content.items()
    ]
    return ", ".join(words)


def is_web_address(url: str) -> bool:
    """Whether an address is one that a browser may open, with a host and without a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if not url.isprintable() or " " in url or "\\" in url:  # a browser may read it otherwise
        return False
    return parts.scheme in ("https", "http") and bool(parts.hostname) and "@" not in parts.netloc


def plain_host(url: str) -> str:
    """The host of an address; letters that look like others are in their ASCII form."""
    host = urlsplit(url).hostname or ""
    try:
        return host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return ascii(host)[1:-1]


def _short(value: Json) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))[:200]


def _no_constant(name: str) -> Json:
    raise ValueError(name)


def _measured(value: Json) -> tuple[float, tuple[str, str], tuple[str, str]]:
    """How large a value is, the words of a schema for the least and the most, and what they say."""
    if isinstance(value, str):
        return (
            len(value),
            ("minLength", "{name} has at least {limit} characters."),
            ("maxLength", "{name} has at most {limit} characters."),
        )
    if isinstance(value, list):
        return (
            len(value),
            ("minItems", "{name} needs at least {limit} of them."),
            ("maxItems", "{name} takes at most {limit} of them."),
        )
    size = value if isinstance(value, int | float) else 0
    return (
        size,
        ("minimum", "{name} is at least {limit}."),
        ("maximum", "{name} is at most {limit}."),
    )


_FORMATS = {
    "email": "{name} is an e-mail address.",
    "uri": "{name} is an address such as https://example.com.",
    "date": "{name} is a day such as 2026-12-31.",
    "date-time": "{name} is a time such as 2026-12-31T18:00:00Z.",
}


def _has_format(kind: str, value: str) -> bool:
    try:
        match kind:
            case "email":
                return re.fullmatch(r"[^@\s]+@[^@\s]+", value) is not None
            case "uri":
                return bool(urlsplit(value).scheme) and " " not in value
            case "date":
                return bool(date.fromisoformat(value)) and len(value) == 10
            case _:
                return bool(datetime.fromisoformat(value)) and len(value) > 10
    except ValueError:
        return False


def _plain(about: Json, root: JsonObject, deep: int = 8) -> JsonObject:
    """A property's schema, with what it refers to in the same schema put in.

    What refers to itself is followed so many times.
    """
    found = as_object(about)
    for _ in range(8):
        reference = as_text(found.get("$ref"))
        if not reference.startswith("#/"):
            break
        target: Json = root
        for part in reference[2:].split("/"):
            target = as_object(target).get(part.replace("~1", "/").replace("~0", "~"))
        found = {**as_object(target), **{k: v for k, v in found.items() if k != "$ref"}}
    for word in ("anyOf", "oneOf"):
        options = as_objects(found.get(word))
        real = [one for one in options if one.get("type") != "null"]
        if deep and len(real) == 1 and "const" not in real[0]:  # “or nothing”
            inner = _plain(real[0], root, deep - 1)
            found = {**inner, **{k: v for k, v in found.items() if k != word}}
    return found


def _kind(about: Mapping[str, Json]) -> FieldKind:
    kind = about.get("type")
    if isinstance(kind, list):
        kinds = [one for one in kind if one != "null"]
        kind = kinds[0] if len(kinds) == 1 else "json"
    match kind:
        case "string":
            return "text"
        case "boolean":
            return "switch"
        case "integer" | "number":
            return kind
        case "array":
            items = as_object(about.get("items"))
            plain = items.get("type") == "string" or bool(_choices(items))
            return "texts" if plain else "json"
        case _:
            return "json"


def _choices(about: JsonObject) -> tuple[FieldChoice, ...]:
    """The values that a schema allows, with their titles in each of the ways to write them."""
    for word in ("oneOf", "anyOf"):
        titled = as_objects(about.get(word))
        if titled and all("const" in one for one in titled):
            found = [
                FieldChoice(one["const"], as_text(one.get("title")) or _short(one["const"]))
                for one in titled
            ]
            return tuple(found) if len(found) <= MOST_CHOICES else ()
    values = about.get("enum")
    if not isinstance(values, list) or not values or len(values) > MOST_CHOICES:
        return ()
    names = about.get("enumNames")
    titles = [as_text(one) for one in names] if isinstance(names, list) else []
    titles += [""] * (len(values) - len(titles))
    return tuple(
        FieldChoice(value, title or _short(value))
        for value, title in zip(values, titles, strict=False)
    )
