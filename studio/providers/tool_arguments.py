"""Tool arguments: parses a call's arguments from the text that a model wrote (L-6).

Models stream arguments as pieces of JSON; only a complete text comes here. What
is not JSON gets one deterministic repair: trailing commas, single quotes,
missing closing brackets, code fences. What still is no object is for the model
to send again.
"""

from __future__ import annotations

import json
import re
from typing import NoReturn, cast

from studio.domain.jsonvalue import JsonObject, is_clean_json
from studio.domain.patterns import lazy_pattern

REPAIR_LIMIT = 20_000
"""Characters. A longer text that is not JSON is for the model to send again."""

_TOKEN = lazy_pattern(
    r"""\s++|(?P<fence>```\w*)|(?P<text>"(?:[^"\\]|\\.)*+")|(?P<single>'(?:[^'\\]|\\.)*+')"""
    r"""|(?P<mark>[{}\[\]:,])|(?P<word>[^\s{}\[\]:,"'`]++)|(?P<other>.)""",
    re.DOTALL,
)
_QUOTE = lazy_pattern(r"""\\(.)|(")""", re.DOTALL)
_CLOSING = {"{": "}", "[": "]"}
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_KEY = lazy_pattern(r"[A-Za-z_]\w*")


def parse_arguments(raw: str) -> JsonObject | None:
    """The object that ``raw`` stands for; None if it cannot be read as one.

    An empty text is an empty object: that is how a call without arguments
    arrives. The result can always be written as JSON in UTF-8.
    """
    text = raw.strip()
    if not text:
        return {}
    try:
        value: object = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        value = repair_json(text)
    if not isinstance(value, dict):
        return None
    found = cast("JsonObject", value)
    return found if is_clean_json(found) else None


def is_whole_object(raw: str) -> bool:
    """Whether a text is one finished JSON object as it stands, unrepaired."""
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def repair_json(text: str) -> object:
    """What a text that is nearly JSON stands for; None if it is not, or ends inside a string.

    Read are commas too many before a bracket and too few between values, single quotes,
    names without quotes, Python's constants, line breaks in strings, code fences around
    the whole, and closing brackets that are missing or too many. Takes time in proportion to
    the length.
    """
    if len(text) > REPAIR_LIMIT:
        return None
    try:
        return json.loads(_repaired(text), strict=False, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> str:
    """The text as JSON, if it can be; ValueError for what nobody can be sure about."""
    written: list[str] = []
    open_brackets: list[str] = []
    comma = ended = False
    for token in _TOKEN.finditer(text):
        kind, piece = token.lastgroup, token[0]
        if kind is None:  # blanks
            continue
        if kind == "fence":
            ended = bool(written)
            continue
        if kind == "other" or (ended and piece not in "}]"):
            raise ValueError("not nearly JSON")
        if piece in "}]":
            comma = False
            while open_brackets and (closing := _CLOSING[open_brackets.pop()]) != piece:
                written.append(closing)
            if not ended:
                written.append(piece)
            ended = not open_brackets
        elif piece == ",":
            if comma or not written or written[-1] in "{[:":
                raise ValueError("a value is missing")
            comma = True
        elif piece == ":":
            written[-1:] = [_as_key(written[-1]) if written else "", piece]
        else:
            if written and written[-1] not in "{[:":
                written.append(",")
            comma = False
            written.append(_value(kind, piece))
            open_brackets += piece if piece in _CLOSING else ""
    written += [_CLOSING[bracket] for bracket in reversed(open_brackets)]
    return "".join(written)


def _value(kind: str, piece: str) -> str:
    if kind == "single":
        return f'"{_QUOTE.sub(_requoted, piece[1:-1])}"'
    return _PYTHON.get(piece, piece)


def _requoted(mark: re.Match[str]) -> str:
    """A quote or an escape of a text in single quotes, as double quotes need it."""
    if mark[2]:
        return '\\"'
    return "'" if mark[1] == "'" else mark[0]


def _as_key(written: str) -> str:
    return f'"{written}"' if _KEY.fullmatch(written) else written


def reject_constant(constant: str) -> NoReturn:
    """For ``parse_constant``: ``NaN`` and ``Infinity`` are what Python reads beside JSON."""
    raise ValueError(f"{constant} is not JSON")
