"""Command line of a step: puts values into it so that a shell never carries them out (W-7).

What a model wrote may stand in such a value. Each becomes a part of one word, quoted as the place
needs it. Where no quoting helps, such as inside ``$( )``, no expression may stand.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import Json

from .expressions import Expression, ExpressionError, Reads, as_words, parse_template

_Quotes: TypeAlias = Literal["", '"', "'"]
_PLAIN = re.compile(r"\\.|\$[({'\"]|[`'\"]|<<|[<>]\(|(?<!\S)#", re.DOTALL)
_DOUBLE = re.compile(r"\\.|\$[({]|[`\"]", re.DOTALL)
_SPECIAL = re.compile(r"[\\\"$`]")
_WINDOWS = re.compile(r"[\"%&|<>^!\r\n]")


def fill_command(
    template: str, names: Mapping[str, Json], reads: Mapping[str, Reads] | None = None
) -> str:
    """A command line with its expressions computed; raises ExpressionError."""
    quotes: _Quotes = ""
    words: list[str] = []
    for at, part in parse_template(template).parts:
        if isinstance(part, Expression):
            value = as_words(part.evaluate(names, reads))
            words.append(_quoted(value, quotes, at))
        else:
            words.append(part)
            rest = template[at + len(part) :]
            quotes = _quotes_after(part, quotes, at, followed="${{" in rest)
    return "".join(words)


def _quotes_after(text: str, quotes: _Quotes, at: int, *, followed: bool) -> _Quotes:
    """The quotes that are open after a text; raises ExpressionError if none can be sure."""
    position = 0
    while True:
        if quotes == "'":
            end = text.find("'", position)
            if end < 0:
                return quotes
            quotes, position = "", end + 1
            continue
        found = (_DOUBLE if quotes else _PLAIN).search(text, position)
        if found is None:
            return quotes
        position = found.end()
        match found[0]:
            case '"':
                quotes = "" if quotes else '"'
            case "'":
                quotes = "'"
            case mark if not mark.startswith("\\") and followed:
                told = "an expression may not stand behind {mark} in a command"
                raise ExpressionError(told, at + found.start(), {"mark": mark})
            case _:
                pass


def _quoted(value: str, quotes: _Quotes, at: int) -> str:
    if "\0" in value:
        raise ExpressionError("a command cannot have a value with a zero byte", at)
    if sys.platform == "win32":
        if found := _WINDOWS.search(value):
            told = "a command cannot have a value with {mark}"
            raise ExpressionError(told, at, {"mark": found[0]})
        return value if quotes else f'"{value}"'
    if quotes == '"':
        return _SPECIAL.sub(r"\\\g<0>", value)
    return value.replace("'", "'\\''") if quotes else shlex.quote(value)
