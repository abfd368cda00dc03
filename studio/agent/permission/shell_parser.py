"""The shell parser: reads a command line into the simple commands it would run.

It accepts only what POSIX shells and bash read the same way, and raises ``Unclear``
for everything else, so that no rule is ever matched against a guess. It expands
nothing: ``DYNAMIC`` marks what is only known when the line runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

from .shell_lexer import DYNAMIC, Unclear, Word, WordReader

MAX_LENGTH = 20_000
"""Characters of a command line; a longer one is unclear."""
MAX_DEPTH = 20

_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_OPERATOR = lazy_pattern(r"&&|\|\||\|&|;(?![;&])|&(?!>)|\|")
_BOTH = lazy_pattern(r"&>>?")
_REDIRECT = lazy_pattern(r"(\d*)(<<<|<<-|<<|<>|<&|>>|>&|>\||<|>)")
_TWICE = lazy_pattern(r"[\w@%+=:,./-]+")
"""A file after ``>&``: bash expands it a second time, quoted or not."""
_NAME = lazy_pattern(r"[A-Za-z_]\w*", re.A)
_DELIMITER = lazy_pattern(r"[ \t]*(?:'([\w.-]+)'|\"([\w.-]+)\"|(\w+))(?=[\s;&|<>)]|$)", re.A)
_FUNCTION = lazy_pattern(r"[ \t]*\([ \t]*\)")
_OPENERS = {"if", "while", "until", "then", "else", "elif", "do", "!", "{"}
_CLOSERS = {"fi", "done", "}"}
_OTHER_WORDS = {"select", "function", "coproc", "in", "]]"}
KEYWORDS = frozenset(_OPENERS | _CLOSERS | _OTHER_WORDS | {"for", "case", "esac", "[["})
_IN = lazy_pattern(r"in(?=[ \t\n;]|\\\n)")
_ABOUT_ONE = lazy_pattern(r"-[bcdefghknprsuwxzLSGNO]")
_ABOUT_TWO = lazy_pattern(r"==?|!=|=~|-(?:nt|ot|ef)")
_AS_NUMBERS = lazy_pattern(r"-(?:eq|ne|lt|le|gt|ge)")
_NUMBER = lazy_pattern(r"(\"?)(?:-?\d+|\$[#?]|\$\{#[A-Za-z_]\w*\})\1", re.A)


@dataclass(frozen=True, slots=True)
class Redirect:
    """``operator`` with its file; ``>`` also for ``>>``, ``>|``, ``&>`` and ``<>``."""

    operator: str
    file: Word


@dataclass(slots=True)
class SimpleCommand:
    """A simple command: what is assigned, its words, its files."""

    assigned: list[Word] = field(default_factory=list[Word])
    words: list[Word] = field(default_factory=list[Word])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    test: bool = False
    """``[[ … ]]``, which runs nothing itself; a shell that has none runs a program of that name."""


def parse_commands(text: str) -> list[SimpleCommand]:
    """Every simple command of a line, those in substitutions too; raises Unclear."""
    if len(text) > MAX_LENGTH:
        raise Unclear("it is very long")
    if _CONTROL.search(text):
        raise Unclear("it holds control characters")
    reader = _Reader(text, 0)
    reader.commands(until="")
    return reader.found


class _Reader(WordReader):
    def __init__(self, text: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unclear("it is nested too deeply")
        super().__init__(text)
        self.found: list[SimpleCommand] = []
        self._depth = depth
        self._cases = 0
        """Open ``case`` blocks."""
        self._documents: list[tuple[str, bool, bool]] = []
        """Here-documents whose text follows the line: end, tabs stripped, literal."""

    @property
    def _in_document(self) -> bool:
        return bool(self._documents)

    def _inner(self, text: str) -> None:
        reader = _Reader(text, self._depth + 1)
        reader.commands(until="")
        self.found += reader.found

    def _blanks(self) -> None:
        while True:
            if self._next() in (" ", "\t"):
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.at += 2
            else:
                return

    def _line_end(self) -> None:
        """Past a line break, and the here-documents that begin after it."""
        self.at += 1
        for end, stripped, literal in self._documents:
            body: list[str] = []
            while True:
                if self.at >= len(self.text):
                    self._fail("a here-document does not end")
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at : stop]
                self.at = min(stop + 1, len(self.text))
                if (line.lstrip("\t") if stripped else line) == end:
                    break
                body.append(line)
            if not literal:
                self._document("\n".join(body))
        self._documents = []

    def _document(self, body: str) -> None:
        if "`" in body or "\\" in body:
            self._fail("a here-document with quoting")
        reader = _Reader(body, self._depth + 1)
        while reader.at < len(body):
            if reader._next() == "$":
                reader._dollar()
            else:
                reader.at += 1
        self.found += reader.found

    def commands(self, until: str) -> None:
        """Read commands up to the closing ``until`` (``)``), or the end of the text."""
        if until and self._depth > MAX_DEPTH:
            self._fail("it is nested too deeply")
        fresh, closed = True, False
        while True:
            self._blanks()
            char = self._next()
            if not char or char == ")":
                if char != until:
                    self._fail("brackets that do not match")
                if self._documents:
                    self._fail("a here-document without its text")
                if self._cases:
                    self._fail("a case that does not end")
                self.at += len(char)
                return
            if char == "\n":
                self._line_end()
                fresh, closed = True, False
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self._cases and self.text.startswith(";;", self.at):
                self.at += 2
                fresh, closed = self._patterns()
            elif operator := _OPERATOR.match(self.text, self.at):
                if fresh:
                    self._fail("an operator where a command is expected")
                self.at = operator.end()
                fresh, closed = True, False
            elif char == "(":
                if not fresh or self.text.startswith("((", self.at):
                    self._fail("brackets")
                self.at += 1
                self._deeper(")")
                fresh, closed = False, True
            elif closed:
                simple = SimpleCommand()
                if not self._redirect(simple):
                    self._fail("words after the end of a block")
                self.found.append(simple)
            elif not fresh:
                self._fail("a command that does not end")
            else:
                fresh, closed = self._command()

    def _deeper(self, until: str) -> None:
        if self._documents:
            self._fail("a here-document beside brackets")
        cases, self._cases = self._cases, 0
        self._depth += 1
        self.commands(until)
        self._depth -= 1
        self._cases = cases

    def _command(self) -> tuple[bool, bool]:
        """One simple command or keyword; whether a command may follow, or only a block's end."""
        simple = SimpleCommand()
        sealed = False
        while True:
            self._blanks()
            if not self._next() or self._next() in "\n;|)#":
                break
            if both := _BOTH.match(self.text, self.at):
                self.at = both.end()
                simple.redirects.append(Redirect(">", self._file()))
                sealed = True  # other shells end the command at the &
                continue
            if self._next() == "&":
                break
            if self._redirect(simple):
                continue
            if sealed:
                self._fail("words after &>")
            if self._next() == "(":
                self._fail("brackets")
            word = self._word()
            first = not simple.words and not simple.assigned and not simple.redirects
            if first and word.source in _OTHER_WORDS:
                self._fail(f"the word “{word.source}”")
            if first and word.source == "for":
                self._for()
                return True, False
            if first and word.source == "case":
                return self._case()
            if first and word.source == "esac":
                return self._esac()
            if first and word.source == "[[":
                self._test()
                return False, True
            if first and word.source in _OPENERS:
                return True, False
            if first and word.source in _CLOSERS:
                return False, True
            if first and _FUNCTION.match(self.text, self.at) and _NAME.fullmatch(word.source):
                self.at = _FUNCTION.match(self.text, self.at).end()  # type: ignore[union-attr]
                self._to_body()
                return True, False
            if word.name and not simple.words:
                simple.assigned.append(word)
            else:
                simple.words.append(word)
        self.found.append(simple)
        return False, False

    def _to_body(self) -> None:
        """A function's body is a block in braces or brackets, perhaps on the next line."""
        while self._next() in (" ", "\t", "\n"):
            self.at += 1
        if self._next() not in ("{", "("):
            self._fail("a function without braces")

    def _for(self) -> None:
        self._blanks()
        name = _NAME.match(self.text, self.at)
        if name is None:
            self._fail("a loop of an unusual form")
        self.at = name.end()
        loop = SimpleCommand()
        self._blanks()
        if _IN.match(self.text, self.at):
            self.at += 2
            values: list[Word] = []
            while True:
                self._blanks()
                if self._next() in ("", "\n", ";", "#", "&", "|", "<", ">", "(", ")"):
                    break
                values.append(self._word())
        loop.assigned.append(Word(f"{name[0]}={DYNAMIC}", name[0], name[0]))
        self.found.append(loop)
        self._blanks()
        if self._next() == ";":
            self.at += 1
        while self._next() in (" ", "\t", "\n"):
            if self._next() == "\n" and self._documents:
                self._fail("a here-document in a loop’s head")
            self.at += 1
        if not re.compile(r"do(?=[ \t\n])").match(self.text, self.at):
            self._fail("a loop of an unusual form")

    def _case(self) -> tuple[bool, bool]:
        """The head of a ``case``; then as ``_patterns``."""
        if self._depth:  # old shells take the bracket of a pattern for the end of $(
            self._fail("a case inside brackets")
        self._blanks()
        if self._next() != "#":
            self._word()
            self._blanks()
        if not _IN.match(self.text, self.at):
            self._fail("a case of an unusual form")
        self.at += 2
        self._cases += 1
        return self._patterns()

    def _patterns(self) -> tuple[bool, bool]:
        """What a branch is for, or the end of the ``case``; as ``_command``."""
        if self._documents:
            self._fail("a here-document in a case’s head")
        while self._next() in (" ", "\t", "\n"):
            self.at += 1
        bracket = self._next() == "("
        self.at += bracket
        while True:
            self._blanks()
            pattern = self._word()
            if pattern.source == "esac" and not bracket:
                return self._esac()
            if pattern.source == "esac" or pattern.source.startswith("#"):
                self._fail("a case of an unusual form")
            self._blanks()
            ends = self._next()
            self.at += 1
            if ends == ")":
                return True, False
            if ends != "|":
                self._fail("a case of an unusual form")
            bracket = True

    def _esac(self) -> tuple[bool, bool]:
        if not self._cases:
            self._fail("the word “esac”")
        self._cases -= 1
        return False, True

    def _test(self) -> None:
        """``[[ … ]]`` of one condition, which a shell without it reads as a program's words."""
        words = [Word("[[", "[[")]
        while words[-1].source != "]]":
            self._blanks()
            if self._next() in ("", "#"):
                self._fail("a test of an unusual form")
            words.append(self._word())
        about = words[2:-1] if words[1].source == "!" else words[1:-1]
        if not _condition(about):
            self._fail("a test of an unusual form")
        self.found.append(SimpleCommand(words=words, test=True))

    def _redirect(self, simple: SimpleCommand) -> bool:
        """Take a redirection, if one begins here."""
        match = _REDIRECT.match(self.text, self.at)
        if match is None or self.text.startswith(("<(", ">("), self.at):
            return False
        operator = match[2]
        self.at = match.end()
        if operator in ("<<", "<<-"):
            end = _DELIMITER.match(self.text, self.at)
            if end is None:
                self._fail("a here-document with an unusual end")
            self.at = end.end()
            literal = end[3] is None
            self._documents.append((end[1] or end[2] or end[3], operator == "<<-", literal))
            return True
        file = self._file()
        if operator == "<<<":
            return True
        if operator in ("<&", ">&") and re.fullmatch(r"\d+-?|-", file.text):
            return True
        if operator == ">&" and not _TWICE.fullmatch(file.text):
            self._fail("a redirection of an unusual form")
        simple.redirects.append(Redirect("<" if operator in ("<", "<&") else ">", file))
        return True

    def _file(self) -> Word:
        self._blanks()
        if not self._next():
            self._fail("a redirection without a file")
        return self._word()


def _condition(words: Sequence[Word]) -> bool:
    """Whether a test runs nothing: bash computes what it compares as numbers, and runs what
    stands in the index of a variable there."""
    match [word.source for word in words]:
        case [one]:
            return not one.startswith(("-", "!"))
        case [operator, _]:
            return _ABOUT_ONE.fullmatch(operator) is not None
        case [one, operator, other]:
            if _AS_NUMBERS.fullmatch(operator):
                return bool(_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other))
            return not one.startswith(("-", "!")) and _ABOUT_TWO.fullmatch(operator) is not None
        case _:
            return False
