"""Frontmatter: splits a markdown file at its dashes, and finds keys and values with their places.

Places are character offsets in the whole text, from 0. They come from the marks of PyYAML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

from studio.domain.records import dataclass

from .permission.invisible_characters import escape_line
from .yaml_text import YamlError, compose_yaml, construct_yaml

if TYPE_CHECKING:
    Node: TypeAlias = Any

MAX_FRONTMATTER = 10_000
"""Characters; to parse more takes seconds."""
BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
"""The end of a line, as YAML reads it."""
MOST_SHOWN = 300
"""Characters of a wrong value that are told."""
NO_DASHES = "an agent file begins with a line of three dashes"
NO_MAPPING = "the frontmatter is a list of “key: value” lines"
WITHOUT_EFFECT = "kept, and without effect so far: {names}"
_LINE = re.compile(r"[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong at a place of a text. ``line`` and ``column`` count from 1.

    ``words`` names its ``values`` and the ``fix`` in braces. ``fix`` is what to write
    instead of the place, None where that is not known. A ``warning`` does not keep the file
    from being used. A ``hint`` is a warning about no mistake: it names what is kept and has
    no effect.
    """

    words: str
    start: int
    end: int
    line: int
    column: int
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    fix: str | None = None
    warning: bool = False
    hint: bool = False

    @property
    def message(self) -> str:
        return self.words.format(**self.values)

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class ValueProblem(ValueError):
    """A value that cannot be used; ``words``, ``values`` and ``fix`` as those of ``Problem``."""

    def __init__(
        self, words: str, values: Mapping[str, str] | None = None, fix: str | None = None
    ) -> None:
        self.words, self.values, self.fix = words, values or {}, fix
        super().__init__(words.format(**self.values))


class ProblemFound(ValueError):
    """Nothing in the text can be read, because of one problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def no_such(
    words: str, name: str, known: Iterable[str], kind: type[ValueProblem] = ValueProblem
) -> ValueProblem:
    """A problem with a ``name`` that does not exist: the nearest one that does, or all."""
    known = list(known)
    fix = nearest(name, known)
    if fix is not None:
        return kind(words + ". Did you mean “{fix}”?", {"name": name, "fix": fix}, fix)
    return kind(words + ". Known are {known}", {"name": name, "known": ", ".join(known)})


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    by_case = {one.casefold(): one for one in known}
    wanted = name.casefold()[:100]
    found = get_close_matches(wanted, by_case, 3, 0.6)
    found.sort(key=lambda one: sorted(one) != sorted(wanted))  # letters that changed places
    return by_case[found[0]] if found else None


@dataclass(frozen=True, slots=True)
class Entry:
    """A key with its value's node; places as those of the text."""

    key: str
    start: int
    """Of the key."""
    key_end: int
    node: Node
    value_start: int
    value_end: int

    def value(self) -> Any:
        """Raises YamlError."""
        return construct_yaml(self.node)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A text in three parts: the YAML from ``start`` to ``end``, the body from ``body``.

    ``root`` is the mapping's node, None for an empty one.
    """

    text: str
    start: int
    end: int
    body: int
    root: Node

    @property
    def entries(self) -> list[Entry]:
        return [] if self.root is None else list(self.children(self.root))

    def entry(self, key: str) -> Entry | None:
        """The last one of a key: it is the one that counts."""
        return next((one for one in reversed(self.entries) if one.key == key), None)

    def children(self, mapping: Node) -> Iterator[Entry]:
        for key, value in mapping.value:
            name = key.value if isinstance(key.value, str) else ""
            start, end = self.span(value)
            yield Entry(name, *self.span(key), value, start, end)

    def span(self, node: Node) -> tuple[int, int]:
        """Where a node begins and ends, without what follows its last word."""
        return self.start + node.start_mark.index, self._end(node)

    def _end(self, node: Node) -> int:
        if getattr(node, "flow_style", True) is False and node.value:  # ends with its last part
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        start, end = self.start + node.start_mark.index, self.start + node.end_mark.index
        return start + len(self.text[start:end].rstrip())

    def problem(
        self,
        found: ValueProblem,
        start: int,
        end: int,
        *,
        warning: bool = False,
        hint: bool = False,
    ) -> Problem:
        """What is wrong at a place of the text."""
        told = problem_at(self.text, found, start, end, warning=warning or hint)
        return replace(told, hint=True) if hint else told


def problem_at(
    text: str, found: ValueProblem, start: int, end: int, *, warning: bool = False
) -> Problem:
    """A problem with its line and column."""
    before = list(BREAK.finditer(text, 0, start))
    column = start - (before[-1].end() if before else 0) + 1
    line = len(before) + 1
    values = {name: escape_line(value, MOST_SHOWN) for name, value in found.values.items()}
    return Problem(found.words, start, end, line, column, values, found.fix, warning)


def read_frontmatter(
    text: str,
    opening: str = NO_DASHES,
    most: int = MAX_FRONTMATTER,
    compose: Callable[[str], Node] = compose_yaml,
) -> Frontmatter:
    """Split a text and compose its YAML of at most ``most`` characters; raises ProblemFound.

    ``opening`` says of a text without frontmatter what is missing.
    """
    first = len(text) - len(text.lstrip("\ufeff"))
    line = _LINE.match(text, first)
    assert line is not None
    if line[0].strip() != "---":
        raise _found(text, opening, first, line.end())
    start = at = line.end()
    while at < len(text):
        line = _LINE.match(text, at)
        assert line is not None
        if line[0].strip() == "---":
            root = _compose(text, start, at, most, compose)
            return Frontmatter(text, start, at, line.end(), root)
        at = line.end()
    words = "no second line of three dashes closes the frontmatter"
    raise _found(text, words, first, first + len(text[first:start].rstrip()))


def _compose(text: str, start: int, end: int, most: int, compose: Callable[[str], Node]) -> Node:
    if end - start > most:
        words = "the frontmatter is longer than {most} characters"
        raise _found(text, words, start, end, {"most": f"{most:,}"})
    try:
        root = compose(text[start:end])
    except YamlError as error:
        at = min(start + error.index, max(start, end - 1))
        rest = BREAK.search(text, at)
        raise _found(
            text, "{reason}", at, rest.start() if rest else end, {"reason": str(error)}
        ) from error
    if root is not None and root.id != "mapping":
        rest = BREAK.search(text, start)
        raise _found(text, NO_MAPPING, start, rest.start() if rest else end)
    return root


def _found(
    text: str, words: str, start: int, end: int, values: Mapping[str, str] | None = None
) -> ProblemFound:
    return ProblemFound(problem_at(text, ValueProblem(words, values), start, end))
