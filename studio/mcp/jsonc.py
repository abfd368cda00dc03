"""JSON with comments: reads it, and changes one member and none of its other words."""

from __future__ import annotations

import json
import re
from json.decoder import JSONDecodeError, JSONDecoder
from typing import Any, cast

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.records import dataclass

_PIECES = re.compile(
    r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.S
)
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_SPACE = re.compile(r"\s*")
_FIRST_INDENT = re.compile(r"\n([ \t]+)\S")


def read_jsonc(text: str) -> Json:
    """The value of a text; raises ValueError that says in which line what is wrong."""
    try:
        return cast("Json", json.loads(_without_comments(text)))
    except JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("line 1: it is nested too deeply") from error


def with_member(text: str, path: tuple[str, str], value: JsonObject | None) -> str:
    """The text with another object at ``path``, two names deep; None removes it.

    Comments and the order of the rest stay. Raises ValueError if the text is no object of objects.
    """
    outer_name, name = path
    if not text.strip():
        text = "{\n}\n"
    outer = _members(text, _start(text))
    if outer_name not in outer.values:
        if value is None:
            return text
        text = _put(text, outer, outer_name, {}, 1)
        outer = _members(text, _start(text))
    inner = _members(text, outer.values[outer_name][0])
    if value is None:
        return _without(text, inner, name)
    return _put(text, inner, name, value, 2)


@dataclass(frozen=True, slots=True)
class _Members:
    """Where the members of one object are: the values, whole members, and the object's end."""

    opens: int
    closes: int
    values: dict[str, tuple[int, int]]
    starts: dict[str, int]


def _without_comments(text: str) -> str:
    """The text as plain JSON of the same length."""

    def blank(match: re.Match[str]) -> str:
        found = match[0]
        return found if found[0] == '"' else re.sub(r"[^\n]", " ", found)

    return _PIECES.sub(blank, text)


def _start(text: str) -> int:
    return cast("re.Match[str]", _SPACE.match(_without_comments(text))).end()


def _members(text: str, at: int) -> _Members:
    read_jsonc(text)  # so that what follows finds a valid text
    plain, opens = _without_comments(text), at
    if plain[at] != "{":
        raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: an object is needed here")
    decoder: Any = JSONDecoder()
    values: dict[str, tuple[int, int]] = {}
    starts: dict[str, int] = {}

    def skip(place: int) -> int:
        return cast("re.Match[str]", _SPACE.match(plain, place)).end()

    at = skip(at + 1)
    while plain[at] != "}":
        start = at
        name, at = decoder.raw_decode(plain, at)
        begins = skip(skip(at) + 1)
        _, ends = decoder.raw_decode(plain, begins)
        values[name], starts[name] = (begins, ends), start
        at = skip(ends)
        if plain[at] == ",":
            at = skip(at + 1)
    return _Members(opens, at, values, starts)


def _put(text: str, members: _Members, name: str, value: JsonObject, depth: int) -> str:
    indent = found[1] if (found := _FIRST_INDENT.search(text)) else "  "
    shown = json.dumps(value, indent=indent, ensure_ascii=False)
    shown = shown.replace("\n", f"\n{indent * depth}")
    if name in members.values:
        begins, ends = members.values[name]
        return text[:begins] + shown + text[ends:]
    line = f"\n{indent * depth}{json.dumps(name, ensure_ascii=False)}: {shown}"
    after = text[members.closes :]
    closing = f"\n{indent * (depth - 1)}"
    if not members.values:
        between = text[members.opens + 1 : members.closes].rstrip()
        return f"{text[: members.opens + 1]}{between}{line}{closing}{after}"
    last = max(ends for _, ends in members.values.values())
    between = text[last : members.closes].rstrip()  # comments, or a comma too many
    comma = "" if "," in _COMMENTS.sub("", between) else ","
    return f"{text[:last]}{comma}{between}{line}{closing}{after}"


def _without(text: str, members: _Members, name: str) -> str:
    if name not in members.values:
        return text
    begins, ends = members.starts[name], members.values[name][1]
    plain = _without_comments(text)
    following = cast("re.Match[str]", re.compile(r"\s*,").match(plain, ends) or _SPACE.match(""))
    if following.end() > ends:
        ends = following.end()
    elif len(members.values) > 1:  # the last one: the comma before it goes
        comma = plain.rstrip().rfind(",", 0, begins)
        if comma >= 0:
            text = text[:comma] + " " + text[comma + 1 :]
    head = text[:begins].rstrip(" \t")
    return head.removesuffix("\n") + text[ends:]
