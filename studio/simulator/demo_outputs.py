"""Demo outputs: fills in the JSON that a request asks for, from what the turn has found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from .json_read import Body, array, obj, text

_ASKED = re.compile(r"\AYour final answer has to be JSON that fits this schema.*?\n(\{.*)", re.S)
_WORDS_AGAIN = "Answer in words again."
MOST = 3
"""Entries of a list whose schema allows more."""
NOTHING = "nothing was found"
DEEPEST = 8
"""Levels of a schema that are filled in."""


def is_form(words: str) -> bool:
    """Whether a message says which form the answer has to have, and nothing else."""
    return words == _WORDS_AGAIN or _ASKED.match(words) is not None


def asked_schema(said: Sequence[str]) -> Body | None:
    """The schema that the answer has to fit after these messages; None for words."""
    for words in reversed(said):
        if words == _WORDS_AGAIN:
            return None
        if found := _ASKED.match(words):
            try:
                return obj(json.loads(found[1]))
            except ValueError:
                return None
    return None


def filled(schema: Body, facts: Sequence[str], sound: bool, why: str) -> str:
    """JSON that fits a schema.

    Texts are ``facts``, true or false is ``sound``; beside that a text says ``why``.
    """
    supply = cycle(facts or [NOTHING])
    return json.dumps(_value(schema, supply, sound, why, 0), ensure_ascii=False)


def _value(schema: Body, supply: Iterator[str], sound: bool, why: str, depth: int) -> object:
    if "const" in schema:
        return schema["const"]
    if choices := array(schema.get("enum")):
        return choices[0]
    named = schema.get("type")
    kinds = [named] if isinstance(named, str) else array(named)
    match text(kinds[0]) if kinds else "":
        case "object" if depth < DEEPEST:
            parts = {name: obj(part) for name, part in obj(schema.get("properties")).items()}
            judges = any(part.get("type") == "boolean" for part in parts.values())
            return {
                name: why
                if judges and part.get("type") == "string" and "enum" not in part
                else _value(part, supply, sound, why, depth + 1)
                for name, part in parts.items()
            }
        case "array" if depth < DEEPEST:
            least, most = schema.get("minItems", 0), schema.get("maxItems", MOST)
            count = max(least, min(most, MOST))
            part = obj(schema.get("items"))
            return [_value(part, supply, sound, why, depth + 1) for _ in range(count)]
        case "object":
            return {}
        case "array":
            return []
        case "boolean":
            return sound
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "null":
            return None
        case _:
            return text(next(supply))[: schema.get("maxLength")]


def facts_of(texts: Sequence[str]) -> list[str]:
    """Lines that say something, from several texts in turn: no headings, no rules."""
    rows = [
        [line.strip() for line in one.splitlines() if re.match(r"\s*\w", line)] for one in texts
    ]
    longest = max(map(len, rows), default=0)
    return list(islice((row[n] for n in range(longest) for row in rows if n < len(row)), 12))
