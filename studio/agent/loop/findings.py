"""Findings: what the results of a turn have told so far, and whether another tells more (L-8)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence

from studio.domain.jsonvalue import Json
from studio.domain.messages import Image, ToolCall, ToolResult
from studio.domain.patterns import lazy_pattern

from .turn_context import FinishedCall

KNOWN_LINES = 3
"""So many lines, all of them known, are known whatever call they answer; fewer may be a fact."""
COMMAND = "run"
"""The tool whose calls may change files or only look; the folder tells which."""

_NOTHING = lazy_pattern(
    r"[\W0]*|\W*(?:null|none)\W*|\W*(?:there (?:is|are) )?(?:no|none|nothing)\s.*|.*\bis empty\W*",
    re.IGNORECASE,
)
_SHORT = 500
"""Characters; a longer result is not empty, however it begins."""
_WORD = lazy_pattern(r"\w+")


class Findings:
    """The results that the model has seen in a turn, step by step.

    A call brings something new

    - if it was made before: with a result that it never had. So an agent may wait for
      something with the same call as long as that moves.
    - if it is a change that succeeds, however that is confirmed: a draft, a note, an
      action of a tool that acts, a command after which the folder is not what it was.
    - if it asks the person, whatever the answer is.
    - if it is any other look (reading, fetching, a command that changed no file) and its
      answer is of use: not if it found nothing or failed in the same words as a call of this
      tool before, their own arguments apart; not if all its lines are known, ``KNOWN_LINES``
      or more, or fewer below a heading in another portion of what was asked for before.
    """

    def __init__(self) -> None:
        self._results: dict[str, set[str]] = {}
        self._lines: set[str] = set()
        self._asked: set[str] = set()
        self._fruitless: set[str] = set()

    def forget(self) -> None:
        """The model may have to look at everything again, and it may have changed."""
        for known in (self._results, self._lines, self._asked, self._fruitless):
            known.clear()

    def new_in(self, step: Sequence[FinishedCall], moved: bool | None) -> bool:
        """Whether a step brings something new; it is remembered.

        ``moved``: whether the files of the folder changed meanwhile; None where nobody looks.
        """
        new = [self._is_new(made, moved) for made in step]
        for made in step:
            self._results.setdefault(call_key(made.call), set()).add(digest(made.result))
            self._asked |= {_question(made.call)} - {""}
            self._lines |= _lines(made)
            self._fruitless.add(fruitless(made))
        return any(new)

    def _is_new(self, made: FinishedCall, moved: bool | None) -> bool:
        had = self._results.get(call_key(made.call))
        if had is not None:
            return digest(made.result) not in had
        if not made.steady or _changed(made, moved):
            return True
        if answer := fruitless(made):
            return answer not in self._fruitless
        lines = _lines(made)
        portion = "\n" in made.result.text.strip() and _question(made.call) in self._asked
        return not ((portion or len(lines) >= KNOWN_LINES) and lines <= self._lines)


def call_key(call: ToolCall) -> str:
    """A key that is equal for equal calls, whatever the order of their arguments."""
    arguments = call.raw if call.arguments is None else call.arguments
    return f"{call.name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False)}"


def digest(result: ToolResult) -> str:
    """Equal for results of equal text and pictures."""
    found = hashlib.sha256(result.text.encode("utf-8", "surrogatepass"))
    for part in result.content:
        if isinstance(part, Image):
            found.update(part.data)
    return found.hexdigest()


def fruitless(made: FinishedCall) -> str:
    """How a call failed or found nothing, in words without its own; empty for any other."""
    text = made.result.text.strip()
    pictures = any(isinstance(part, Image) for part in made.result.content)
    empty = len(text) <= _SHORT and not pictures and _NOTHING.fullmatch(text.replace("\n", " "))
    if not (made.result.is_error or empty):
        return ""
    own = {word for value in _values(made.call.arguments) for word in _words(str(value))}
    return " ".join([made.call.name, *(word for word in _words(text) if word not in own)])


def _changed(made: FinishedCall, moved: bool | None) -> bool:
    if made.call.name == COMMAND and moved is not None:
        return moved
    return made.effect in ("act", "note", "draft") and not made.result.is_error


def _question(call: ToolCall) -> str:
    """What a call asks for: its texts. Numbers beside them say which part, or how much."""
    texts = [value for value in _values(call.arguments) if isinstance(value, str)]
    return json.dumps([call.name, *texts]) if texts else ""


def _lines(made: FinishedCall) -> set[str]:
    """The lines of a result without its heading, which says which part it is."""
    lines = [line.strip() for line in made.result.text.splitlines()]
    heading = made.effect == "read" and len(lines) > 1
    return {line for line in lines[heading:] if line}


def _values(value: Json) -> Iterator[str | int | float]:
    """The texts and numbers in arguments, by key."""
    if isinstance(value, dict):
        inner: Iterable[Json] = (value[key] for key in sorted(value))
    elif isinstance(value, list):
        inner = value
    else:
        if value is not None and not isinstance(value, bool):
            yield value
        return
    for one in inner:
        yield from _values(one)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
