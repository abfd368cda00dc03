"""The shell lexer: reads one word of a command line, with its quotes and expansions.

It expands nothing: ``DYNAMIC`` marks what is only known when the line runs.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import NoReturn

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

DYNAMIC = "\0"
"""Stands in a word for what a variable, a glob or a substitution puts there."""

_ASSIGNS = lazy_pattern(r"([A-Za-z_]\w*)\+?=(?!\()", re.A)
_PARAMETER = lazy_pattern(
    r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!-]"
    r"|\{#?[A-Za-z_]\w*\}|\{[0-9@*#?$!-]\}"
    r"|\{[A-Za-z_]\w*(?::?[-+?]|%%?|\#\#?)[\w./@ ,:*-]*\})",
    re.A,
)
_SUM = re.compile(r"\$\(\([0-9\s+*/%<>=&|^!~?:-]*\)\)")
_PLAIN = lazy_pattern(r"[\w./:,=+%@-]+", re.A)
"""What stands for itself wherever it is in a word."""
_QUOTED_PLAIN = lazy_pattern(r'[^"\\$`]+')
_ENDS_WORD = frozenset(" \t\n;&|<>()")


class Unclear(Exception):
    """This line is not read; the text says at what, in a few words."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word without its quotes. ``source`` is how it was written."""

    text: str
    source: str
    name: str = ""
    """Of ``NAME=value``, where a shell would assign it."""

    @property
    def fixed(self) -> bool:
        return DYNAMIC not in self.text


class WordReader(ABC):
    """Reads words of ``text``, from ``at`` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @abstractmethod
    def _deeper(self, until: str) -> None:
        """Read the commands of a substitution, past the ``until`` that closes it."""

    @abstractmethod
    def _inner(self, text: str) -> None:
        """Read the commands in a text."""

    @property
    @abstractmethod
    def _in_document(self) -> bool:
        """Whether a here-document is open: its text begins with the next line."""

    def _next(self) -> str:
        return self.text[self.at : self.at + 1]

    def _fail(self, what: str) -> NoReturn:
        raise Unclear(what)

    def _word(self) -> Word:
        start = self.at
        assigns = _ASSIGNS.match(self.text, start)
        text: list[str] = []
        while char := self._next():
            if plain := _PLAIN.match(self.text, self.at):
                text.append(plain[0])
                self.at = plain.end()
            elif self.text.startswith(("<(", ">("), self.at):
                self.at += 2
                self._deeper(")")
                text.append(DYNAMIC)
            elif char in _ENDS_WORD:
                break
            elif char == "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    self._fail("a quote that does not end")
                text.append(self.text[self.at + 1 : end])
                self.at = end + 1
            elif char == '"':
                text.append(self._double())
            elif char == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                if not follows:
                    self._fail("a backslash at the end")
                if follows == "\n":  # it may have split a keyword
                    self._fail("a word on two lines")
                text.append(follows)
                self.at += 2
            elif char == "$":
                if self.text[self.at + 1 : self.at + 2] in ("'", '"'):
                    self._fail("a quote after $")
                text.append(self._dollar())
            elif char == "`":
                text.append(self._backticks())
            elif char in "*?[{":
                text.append(char if self._literal(start) else DYNAMIC)
                self.at += 1
            elif char == "~" and self.at in (start, assigns.end() if assigns else start):
                text.append(DYNAMIC)
                self.at += 1
            elif char.isspace():
                self._fail("an unusual space")
            else:
                text.append(char)
                self.at += 1
        if self.at == start:
            self._fail(f"“{self._next()}”")
        source = self.text[start : self.at]
        if "\n" in source and self._in_document:
            self._fail("a here-document on a line that goes on")
        return Word("".join(text), source, assigns[1] if assigns else "")

    def _literal(self, start: int) -> bool:
        """Whether a glob or a brace is meant as itself: ``[``, ``{``, ``{}``."""
        rest = self.text[self.at : self.at + 3]
        if self.at == start and rest[:1] in ("[", "{") and rest[1:2] in ("", " ", "\t", "\n"):
            return True
        return rest[:2] == "{}" and (rest[2:] == "" or rest[2] in _ENDS_WORD)

    def _double(self) -> str:
        text: list[str] = []
        self.at += 1
        while (char := self._next()) != '"':
            if not char:
                self._fail("a quote that does not end")
            if char == "\\":
                follows = self.text[self.at + 1 : self.at + 2]
                if follows and follows in '$`"\\':
                    text.append(follows)
                elif follows != "\n":
                    text.append(char + follows)
                self.at += 2
            elif char == "$":
                text.append(self._dollar())
            elif char == "`":
                text.append(self._backticks())
            elif plain := _QUOTED_PLAIN.match(self.text, self.at):  # all that is left
                text.append(plain[0])
                self.at = plain.end()
        self.at += 1
        return "".join(text)

    def _dollar(self) -> str:
        for known in (_PARAMETER, _SUM):
            if match := known.match(self.text, self.at):
                self.at = match.end()
                return DYNAMIC
        if self.text.startswith("$((", self.at):
            self._fail("a calculation")
        if self.text.startswith("$(", self.at):
            self.at += 2
            self._deeper(")")
            return DYNAMIC
        if self.text.startswith(("${", "$["), self.at):
            self._fail("an unusual expansion")
        self.at += 1
        return "$"

    def _backticks(self) -> str:
        end = self.text.find("`", self.at + 1)
        if end < 0:
            self._fail("a quote that does not end")
        inner = self.text[self.at + 1 : end]
        if "\\" in inner:
            self._fail("backslashes in backticks")
        self._inner(inner)
        self.at = end + 1
        return DYNAMIC
