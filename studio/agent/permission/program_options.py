"""Program options: finds the arguments with which a program leaves what it usually does.

Arguments are read as ``getopt_long`` and its relatives read them: a long option by any
beginning of its name, its value after ``=`` or in the next word, short options in bundles, and
options after operands too. What is only known when the line runs counts as an option if it may
become one. In doubt an argument counts as an escape: then a rule for exactly this command is
needed, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

from .program_facts import Program, program_of
from .shell_lexer import DYNAMIC, Word

_NOWHERE = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})
"""Values with which an option that names a file to write writes none."""
_WRITES = frozenset({"-o", "--output", "--output-document"})
"""Options that name such a file, whatever the program."""
_QUOTED = lazy_pattern(r'"(?:[^"\\@]|\\.)*"|\'[^\']*\'|\\.', re.S)
_ADDRESS = lazy_pattern(r"[A-Za-z][\w+-]*::")
_LETTERS = lazy_pattern(r"-[^-].*", re.S)
_FAMILY = lazy_pattern(r"--.+-", re.S)
_DOT_COMMAND = lazy_pattern(r"\s*\.[a-z]")


def escape_of(name: str, arguments: Sequence[Word]) -> str:
    """Why no pattern with a wildcard covers this call, for the person; empty if one may."""
    program, rest = program_of(name), list(arguments)
    leads = 0
    if program.subcommands is not None:
        leads = len(leading_options(name, rest))
        if found := _Arguments(Program(escapes=program.means), rest[:leads]).escape():
            return _reason(name, found)
        if leads < len(rest) and not rest[leads].fixed:
            return _reason(name, DYNAMIC)
        sub = rest[leads].text if leads < len(rest) else ""
        if sub in program.subcommands:
            program, name = program.subcommands[sub], f"{name} {sub}"
            leads += 1
    if name in ("git config", "git-config") and not _only_reads(rest[leads:]):
        return _reason(name, "a setting")
    found = _Arguments(program, rest[leads:]).escape()
    return _reason(name, found) if found else ""


def _reason(name: str, found: str) -> str:
    if found == "*":
        return f"{name} runs other programs."
    if DYNAMIC in found:
        return f"What {name} is told is only known when it runs."
    told = found if " " in found else f"“{found}”"
    return f"With {told} {name} can run a program or write a file."


def leading_options(name: str, arguments: Sequence[Word]) -> Sequence[Word]:
    """The options, with their values, before the subcommand."""
    at, valued = 0, program_of(name).leading.split()
    while at < len(arguments) and arguments[at].text.startswith("-"):
        at += 2 if arguments[at].text in valued else 1
    return arguments[:at]


@dataclass(frozen=True, slots=True)
class _Escapes:
    """The escapes of a program; see ``Program``."""

    words: frozenset[str]
    long: frozenset[str]
    """Those with two dashes."""
    families: tuple[str, ...]
    """Beginnings of options."""
    from_files: frozenset[str]
    """Options that escape if their value begins with ``@``."""
    parts: tuple[str, ...]
    """Parts of any argument."""
    single: bool
    """Whether long options have one dash."""


@lru_cache(maxsize=512)
def _escapes(written: str) -> _Escapes:
    all_words = written.split()
    words = frozenset(word for word in all_words if not word.endswith("@") or word == "@")
    return _Escapes(
        words,
        long=frozenset(word for word in words if word.startswith("--")),
        families=tuple(word for word in words if _FAMILY.fullmatch(word)),
        from_files=frozenset(word[:-1] for word in all_words if word not in words),
        parts=tuple(word[1:-1] for word in words if word[0] == word[-1] == "*" and len(word) > 1),
        single=any(_LETTERS.fullmatch(word) and len(word) > 2 for word in words),
    )


class _Arguments:
    """The arguments of one call, read from the left."""

    def __init__(self, program: Program, arguments: Sequence[Word]) -> None:
        self._program = program
        self._escapes = _escapes(program.escapes)
        self._left = list(arguments)
        self._operands: list[str] = []
        self._scripts: list[str] = []
        """Of sed: those that options name."""

    def escape(self) -> str:
        """The argument that escapes; empty if none does."""
        words = self._escapes.words
        if not words:
            return ""
        if "*" in words:
            return "*"
        if self._program.bare and self._left and self._left[0].text[:1] != "-":
            for letter in self._left.pop(0).text:  # their values are the words that follow
                if f"-{letter}" in words or letter == DYNAMIC:
                    return f"-{letter}"
        for part in self._escapes.parts:
            if any(part in word.text for word in self._left):
                return part
        ended = False
        before = ""
        while self._left:
            word = self._left.pop(0)
            if ended or not may_be_option(word):
                found = self._operand(word)
            elif not word.fixed and not _name_is_fixed(word):
                return DYNAMIC
            elif word.text == "--" and not self._escapes.single:
                # An option before it may have taken it as its value.
                ended, found = not before.startswith("-") or "=" in before, ""
            else:
                found = self._option(word.text)
            if found:
                return found
            before = word.text
        return self._script()

    def _operand(self, word: Word) -> str:
        text = word.text
        self._operands.append(text)
        words = self._escapes.words
        if text in words:
            return text
        if "#" in words and len(self._operands) > 1:
            return "a second file"
        if "::" in words and _ADDRESS.match(text):
            return text
        if ".x" in words and _DOT_COMMAND.match(text):
            return text
        return text if text[:1] in ("+", "@") and text[:1] in words else ""

    def _option(self, text: str) -> str:
        if self._escapes.single:
            return self._one_dash(text)
        return self._long(text) if text.startswith("--") else self._letters(text)

    def _long(self, text: str) -> str:
        name, has_value, value = text.partition("=")
        named = {one for one in self._escapes.long if one.startswith(name)}
        if named:
            return "" if named <= _WRITES and self._nowhere(has_value, value) else name
        if name.startswith(self._escapes.families):
            return name
        if any(one.startswith(name) for one in self._escapes.from_files):
            return name if _is_file(value if has_value else self._value()) else ""
        if "s///" in self._escapes.words and "--expression".startswith(name):
            self._scripts.append(value if has_value else self._value())
        return ""

    def _letters(self, text: str) -> str:
        for at, letter in enumerate(text[1:], 2):
            rest = text[at:]
            if f"-{letter}" in self._escapes.words:
                if letter == "o" and self._nowhere(rest, rest):
                    return ""
                return "" if letter == "O" and rest == "-" else f"-{letter}"
            if letter in self._program.valued:
                value = rest or self._value()
                if f"-{letter}" in self._escapes.from_files and _is_file(value):
                    return f"-{letter}"
                if letter == "e" and "s///" in self._escapes.words:
                    self._scripts.append(value)
                return ""
        return ""

    def _one_dash(self, text: str) -> str:
        name = text.partition("=")[0]
        words = self._escapes.words
        short = {one for one in words if len(one) == 2 and text.startswith(one)}
        if name in words or name.replace("--", "-", 1) in words:
            return name
        return min(short, default="")

    def _nowhere(self, has_value: str, value: str) -> bool:
        """Whether the value of an option leads nowhere; takes it from the next word if need be."""
        if has_value:
            return value in _NOWHERE
        if self._left and self._left[0].text in _NOWHERE:
            self._left.pop(0)
            return True
        return False

    def _value(self) -> str:
        """The next word as the value of an option; it stays, if it may be an option itself."""
        if self._left and (self._left[0].fixed and not self._left[0].text.startswith("-")):
            return self._left.pop(0).text
        return DYNAMIC

    def _script(self) -> str:
        """What is wrong with sed's scripts."""
        if "s///" not in self._escapes.words:
            return ""
        scripts = self._scripts or self._operands[:1]
        return "" if all(map(_SED.fullmatch, scripts)) else "this script"


def _is_file(value: str) -> bool:
    """Whether the value of an option names a file to read it from, or may do so."""
    return value.startswith(("@", DYNAMIC))


_SED_PLACE = r"(?:\d+|\$|/(?:[^/\\\n\0\[]|\\[^\n\0])*/I?)"
_SED_WHERE = rf"{_SED_PLACE}?(?:,[+~]?{_SED_PLACE})?[ \t]*+(?:![ \t]*+)?"
_SED_REPLACED = "|".join(
    rf"s{mark}(?:[^{mark}\\\n\0\[]|\\[^\n\0]|\[\^?[^]{mark}\\\n\0\[^][^]{mark}\\\n\0\[]*\])*{mark}(?:[^{mark}\\\n\0]|\\[^\n\0])*{mark}[gpiI0-9]*"
    for mark in ("/", r"\|", "#", ",", ":", "@")
)
_SED_ONE = rf"[ \t]*+{_SED_WHERE}(?:[pdqDNnGHhgx=]|{_SED_REPLACED})[ \t]*+"
_SED = lazy_pattern(rf"{_SED_ONE}(?:[;\n]{_SED_ONE})*+;?")
"""Scripts of sed that print, delete and replace: no file is named, and no command run."""


def may_be_option(word: Word) -> bool:
    """Whether a word is an option, or may become one when the line runs."""
    if word.fixed:
        return word.text.startswith("-") and word.text != "-"
    if _splits(word):
        return True
    return word.text.startswith("-") or (
        word.text.startswith(DYNAMIC) and not word.source.startswith("~")
    )


def _splits(word: Word) -> bool:
    """Whether the shell may make several words of it."""
    if "(" in word.source or "`" in word.source or "@" in word.source:
        return True
    return "$" in _QUOTED.sub("", word.source)


def _name_is_fixed(word: Word) -> bool:
    """Whether only the value of a long option is unknown."""
    name, has_value, _ = word.text.partition("=")
    return bool(has_value) and name.startswith("--") and DYNAMIC not in name and not _splits(word)


_GIT_READ = frozenset(
    ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--list", "-l")
)
_GIT_MORE = frozenset(
    """
    --global --local --system --worktree --show-origin --show-scope --show-names --name-only
    --null -z --bool --int --path --includes --no-includes --all --regexp
    """.split()  # noqa: SIM905
)


def _only_reads(arguments: Sequence[Word]) -> bool:
    """Whether ``git config`` reads settings. Another one may name a program to run."""
    if not all(word.fixed for word in arguments):
        return False
    texts = [word.text for word in arguments]
    if texts[:1] in (["get"], ["list"]):
        return all(not one.startswith("-") or one in _GIT_MORE for one in texts)
    options = [one for one in texts if one.startswith("-")]
    if not all(one in _GIT_READ | _GIT_MORE for one in options):
        return False
    names = [one for one in texts if not one.startswith("-")]
    return any(one in _GIT_READ for one in options) or (len(names) == 1 and "." in names[0])
