"""Completion: what may be written at the caret in a file's frontmatter (W-60). Free of Qt.

Keys and words come from the JSON Schema of the format, which is made of the tables that read it;
names of agents, models, tools and steps from what is known now.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from studio.domain.jsonvalue import Json, JsonObject

MOST = 50
"""Words that are offered at once."""
NAME_OF = {"needs": "steps", "from": "steps", "on_error": "steps", "fallback": "model"}
"""Keys whose values are names of what another key has."""
_LINE = re.compile(r"(?P<indent> *)(?P<dash>(?:- +)?)(?:(?P<key>[\w-]+):(?=\s|$))?(?P<rest>.*)")
_RESULT = re.compile(r"\bsteps\.[\w-]+\.(\w*)$")
_STEP = re.compile(r"\bsteps\.([\w-]*)$")
_INPUT = re.compile(r"\binputs\.(\w*)$")
_WORD = re.compile(r"[^\s,\[\]{}\"'#:][^,\[\]{}\"'#:]*$")
RESULTS = ("outputs", "text", "state", "cost")
Path = tuple[str, ...]
"""Keys from the outermost on; an empty one is an item of a list."""


@dataclass(frozen=True, slots=True)
class Completion:
    """``words`` may stand in place of what is typed of one, from ``start`` on."""

    start: int
    words: tuple[str, ...] = ()


def complete(
    text: str, at: int, schema: JsonObject, names: Mapping[str, Collection[str]]
) -> Completion:
    """What may be written at a place of a text; ``names`` are those that values may be, by key.

    Names of steps are under ``steps``, those of inputs under ``inputs``.
    """
    lines = text[:at].split("\n")
    dashes = [number for number, line in enumerate(lines) if line.strip() == "---"]
    here = lines[-1]
    in_front = dashes == [0] and len(lines) > 1
    if in_front or "${{" in here.rpartition("}}")[2]:
        for pattern, known in ((_RESULT, RESULTS), (_STEP, names.get("steps", ()))):
            if found := pattern.search(here):
                return _offered(found[1], at, known)
        if found := _INPUT.search(here):
            return _offered(found[1], at, names.get("inputs", ()))
    if not in_front or here.lstrip().startswith("#"):
        return Completion(at)
    path, typed, is_key = _place(lines[1:-1], here)
    if typed is None:
        return Completion(at)
    keys = [name for one in _at(schema, path) for name in _properties(one)] if is_key else []
    if keys or (is_key and path[-1:] != ("",)):  # an item of a list may be a word
        return _offered(typed, at, [f"{name}: " for name in keys])
    last = next((name for name in reversed(path) if name), "")
    words = [word for one in _at(schema, path) for word in _words(one)]
    known = names.get(NAME_OF.get(last, last), ())
    return _offered(typed, at, [*words, *sorted(known, key=str.casefold)])


def _offered(typed: str, at: int, words: Iterable[str]) -> Completion:
    """Those that begin as it is typed; none where it is all written."""
    begin = typed.casefold()
    found = [word for word in dict.fromkeys(words) if word.casefold().startswith(begin)]
    if found == [typed] or found == [f"{typed}: "]:
        found = []
    return Completion(at - len(typed), tuple(found[:MOST]))


# Where the caret is


def _place(before: Sequence[str], here: str) -> tuple[Path, str | None, bool]:
    """The keys that the caret is in, what is typed of a word, and whether that is a key.

    Nothing is typed where no word may stand.
    """
    found = _LINE.match(here)
    assert found is not None
    path = _above(before, found)
    if found["key"] is None:
        return _in_flow(path, found["rest"], is_map=not found["rest"].startswith(("[", "{")))
    rest = found["rest"]
    if not rest:
        return path, None, False
    return _in_flow((*path, found["key"]), rest.lstrip(), is_map=False)


def _above(before: Sequence[str], here: re.Match[str]) -> Path:
    """The keys above a line, by what stands further to the left."""
    path: list[str] = []
    inside = len(here["indent"]) + len(here["dash"])
    is_item = bool(here["dash"])
    if is_item:
        path, inside = [""], len(here["indent"])
    for line in reversed(before):
        found = _LINE.match(line)
        if found is None or not line.strip() or line.lstrip().startswith("#"):
            continue
        column, dashed = len(found["indent"]) + len(found["dash"]), bool(found["dash"])
        opens = found["key"] is not None and not found["rest"].partition("#")[0].strip()
        if opens and (column < inside or (is_item and column == inside and not dashed)):
            path.insert(0, cast("str", found["key"]))
            inside, is_item = column, False
        elif not (dashed and column == inside and not is_item):
            continue
        if dashed:
            path.insert(0, "")
            inside, is_item = len(found["indent"]), True
    return tuple(path)


def _in_flow(path: Path, text: str, *, is_map: bool) -> tuple[Path, str | None, bool]:
    """The same within the value of one line, such as ``{type: object, pro``."""
    open_: list[tuple[Path, bool]] = []
    """Of each bracket the place of its parts, and whether these have keys."""
    here, begin, quote, is_key = path, 0, "", is_map
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'" and not text[begin:at].strip():
            quote = sign
        elif sign in "[{":
            open_.append((here, True) if sign == "{" else ((*here, ""), False))
            (here, is_key), begin = open_[-1], at + 1
        elif sign in "]}" and open_:
            open_.pop()
            begin = at
        elif sign == "," and open_:
            (here, is_key), begin = open_[-1], at + 1
        elif sign == ":" and is_key and text[at + 1 : at + 2] in ("", " "):
            here, begin, is_key = (*here, text[begin:at].strip()), at + 1, False
    typed = text[begin:].lstrip()
    if quote or (typed and _WORD.fullmatch(typed) is None):
        return here, None, is_key
    return here, typed, is_key


# What the schema says there


def _at(schema: JsonObject, path: Path) -> list[JsonObject]:
    """What the schema says of a place: more than one where it leaves a choice."""
    found = list(_choices(schema))
    for name in path:
        inner = [_inside(one, name) for one in found]
        found = [choice for one in inner if one is not None for choice in _choices(one)]
    return found


def _inside(schema: JsonObject, name: str) -> JsonObject | None:
    more = schema.get("items") if not name else _properties(schema).get(name)
    if more is None and name:
        more = schema.get("additionalProperties")
    return more if isinstance(more, dict) else None


def _choices(schema: JsonObject) -> Iterator[JsonObject]:
    yield schema
    for several in ("anyOf", "oneOf"):
        options = schema.get(several)
        for one in options if isinstance(options, list) else ():
            if isinstance(one, dict):
                yield from _choices(one)


def _properties(schema: JsonObject) -> Mapping[str, Json]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _words(schema: JsonObject) -> Iterator[str]:
    """The words that a value may be."""
    known = schema.get("enum")
    for one in known if isinstance(known, list) else ():
        if isinstance(one, str):
            yield one
    if schema.get("type") == "boolean":
        yield from ("true", "false")
