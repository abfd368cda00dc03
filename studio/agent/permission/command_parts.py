"""Command parts: finds every program that a command line runs and every file it writes.

A program that runs another one (``sudo``, ``env``, ``xargs``, ``sh -c``) is a part of
the line, and so is the program that it runs. If that cannot be determined, the line is
unclear. Builtins that take the name of a variable are refused if bash would evaluate its
index, because that can run commands.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Sequence
from functools import lru_cache

from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

from .pattern_match import quote_word, without_options
from .program_facts import RUNNERS, SHELLS, program_of
from .program_options import escape_of, leading_options
from .shell_lexer import DYNAMIC, Unclear, Word
from .shell_parser import KEYWORDS, MAX_DEPTH, Redirect, SimpleCommand, parse_commands

_EVALUATORS = frozenset(("printf", "test", "[", "unset", "export", "readonly", "wait"))
_VARIABLE = lazy_pattern(r"\w+|\]|!?=|==", re.A)
_ONE_WORD = lazy_pattern(r"\$[#?$!]|\$\{#[A-Za-z_]\w*\}|~[\w./-]*|\[", re.A)
"""What is only known when the line runs, and yet is one word and no operator."""
_QUOTED = lazy_pattern(r'"[^"@]*"')
_AFTER = lazy_pattern(r"==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)|\]|\\?\)")


def refuse_computed(name: str, arguments: Sequence[Word]) -> None:
    """Raise Unclear for a call of a builtin that may run a command in an index."""
    if name not in _EVALUATORS:
        return
    for word in arguments:
        if any(mark in word.text for mark in ("$(", "`", "${")):
            raise Unclear(f"{name} is given a command")
    if name in ("test", "["):
        _tested(arguments)
    if name == "wait" and any(
        "[" in word.text or not (word.fixed or word.source == "$!") for word in arguments
    ):  # -p takes a variable
        raise Unclear("wait for something unusual")
    if name == "unset" and not all(re.fullmatch(r"-?\w+", w.text) for w in arguments):
        raise Unclear("unset of something unusual")
    first = arguments[0].text if arguments else ""
    if name == "printf" and (first.startswith("-v") or DYNAMIC in first[:2]):
        raise Unclear("printf sets a variable")


def _tested(words: Sequence[Word]) -> None:
    """Refuse what may come to ``-v`` with the index of a variable, which bash computes.

    A word without quotes may become many, one with quotes an operator where none follows it.
    """
    follows = [*(word.source for word in words[1:]), "]"]
    for word, after in zip(words, follows, strict=False):
        if word.text in ("-v", "-R") and not _VARIABLE.fullmatch(after):
            raise Unclear("a test of a variable that is only known when it runs")
        if word.fixed or _ONE_WORD.fullmatch(word.source):
            continue
        if not (_QUOTED.fullmatch(word.source) and _AFTER.fullmatch(after)):
            raise Unclear("a test of something that is only known when it runs")


@dataclass(frozen=True, slots=True)
class CommandPart:
    """One thing a line does, as rules are matched against it.

    ``text`` is the words without their quotes, one space between them, quoted
    again where a word has spaces of its own; ``DYNAMIC`` stands for what is
    only known when it runs. ``spellings`` are other ways a ``deny`` rule may
    name it. An ``allow`` pattern must begin with ``pinned``, letter by letter,
    where that is not empty; ``exact`` says why no pattern with a wildcard may
    allow it. ``file`` is set for a redirection: what is read or written.
    ``files`` are the places among the words, and the paths there, of the files
    that it runs; ``goes`` is the folder that it works in from now on.
    """

    text: str
    spellings: tuple[str, ...] = ()
    pinned: str = ""
    exact: str = ""
    file: str = ""
    writes: bool = False
    files: tuple[tuple[int, str], ...] = ()
    goes: str = ""

    @property
    def shown(self) -> str:
        return self.text.replace(DYNAMIC, "…")


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line's parts; ``unclear`` says why it cannot be told.

    ``moves`` are the folders that it changes to, ``DYNAMIC`` for one that is not known.
    """

    parts: tuple[CommandPart, ...]
    unclear: str = ""
    moves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """How a program that runs another one is called: ``flags`` and ``valued`` are letters."""

    flags: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    places: int = 0
    assigns: bool = False


_WRAPPERS: dict[str, _Wrapper] = {
    "env": _Wrapper("iv0", "u", frozenset({"ignore-environment", "null", "debug"}), assigns=True),
    "sudo": _Wrapper("nEHSkKbAPB", "ugpCT", assigns=True),
    "doas": _Wrapper("n", "u"),
    "nohup": _Wrapper(),
    "setsid": _Wrapper("cfw"),
    "time": _Wrapper("pv", assigns=True),
    "timeout": _Wrapper("v", "ks", frozenset({"foreground", "preserve-status"}), places=1),
    "nice": _Wrapper("", "n"),
    "ionice": _Wrapper("t", "cn"),
    "stdbuf": _Wrapper("", "ioe"),
    "xargs": _Wrapper(
        "0rtpx", "nLPsdEaI", frozenset({"null", "no-run-if-empty", "verbose", "exit"})
    ),
    "command": _Wrapper("p"),
    "builtin": _Wrapper(),
    "exec": _Wrapper("cl", "a"),
    "busybox": _Wrapper(),
    "toybox": _Wrapper(),
}
_SHAPERS = frozenset(
    """
    alias trap enable hash fc bind complete compgen compopt shopt declare typeset local let
    read mapfile readarray getopts set setopt emulate autoload zmodload
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Builtins that change what later words mean, or run text as commands."""
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_PROGRAM = lazy_pattern(r"[\w./+@:,%\[-]+", re.A)  # other letters look like these
_OWN_NAME = lazy_pattern(r"[a-z_][a-z0-9_]*")
_HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_LOOP = lazy_pattern(r"\bdo\b|\(\s*\)")
"""A loop or a function, in which a ``cd`` may run again and again."""
_SHELL_OPTION = lazy_pattern(r"-[eufxvnl]*(?:c[eufxvnl]*)?")


def analyze_command(command: str, *, windows: bool = sys.platform == "win32") -> CommandLine:
    """Analyse a command line; never raises."""
    return _windows(command) if windows else _posix(command)


@lru_cache(maxsize=4096)
def _posix(command: str) -> CommandLine:
    analyzer = _Analyzer()
    try:
        analyzer.line(command, 0)
    except Unclear as why:
        return CommandLine(tuple(analyzer.parts), str(why), (DYNAMIC,))
    moves = tuple(analyzer.moves)
    if moves and analyzer.loops:
        moves = (DYNAMIC,)
    return CommandLine(tuple(dict.fromkeys(analyzer.parts)), "", moves)


_WINDOWS_PLAIN = lazy_pattern(r"[\w./\\:+@,= -]+")


@lru_cache(maxsize=4096)
def _windows(command: str) -> CommandLine:
    """One plain program call; anything that ``cmd`` might read otherwise is unclear."""
    words = command.split()
    if not words or not _WINDOWS_PLAIN.fullmatch(command):
        return CommandLine((), "it holds characters that are special in this shell")
    name = re.split(r"[\\/]", words[0])[-1].lower()
    name = re.sub(r"\.(?:exe|com|bat|cmd)$", "", name)
    if name in RUNNERS | SHELLS | {"start", "call", "for", "if", "forfiles", "runas", "wsl"}:
        return CommandLine((), f"{name} runs other programs")
    text = " ".join(words)
    rest = " ".join(words[1:])
    exact = escape_of(name, [Word(word, word) for word in words[1:]])
    goes = rest if name in ("cd", "chdir", "pushd") else ""
    files = ((0, words[0]),) if re.search(r"[\\/]", words[0]) else ()
    part = CommandPart(text, (f"{name} {rest}".rstrip(),), exact=exact, files=files, goes=goes)
    return CommandLine((part,), "", (goes,) if goes else ())


class _Analyzer:
    def __init__(self) -> None:
        self.parts: list[CommandPart] = []
        self.moves: list[str] = []
        self.loops = False

    def line(self, text: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise Unclear("it is nested too deeply")
        self.loops = self.loops or _LOOP.search(text) is not None
        for simple in parse_commands(text):
            self._simple(simple, depth)

    def _simple(self, simple: SimpleCommand, depth: int) -> None:
        for word in simple.assigned:
            self._assigned(word, passed_on=bool(simple.words))
        for redirect in simple.redirects:
            self._redirect(redirect)
        if simple.test:
            self._add(simple.words)
        elif simple.words:
            self._program(simple.words, depth)

    def _assigned(self, word: Word, *, passed_on: bool) -> None:
        own = _OWN_NAME.fullmatch(word.name) and not word.name.endswith("_proxy")
        if passed_on or not own:  # others change how programs are found, or what they do
            text = quote_word(word.text)
            self.parts.append(CommandPart(text, pinned=f"{word.name}="))

    def _redirect(self, redirect: Redirect) -> None:
        file = redirect.file
        if file.text in _HARMLESS:
            return
        text = f"{redirect.operator} {quote_word(file.text)}"
        writes = redirect.operator == ">"
        self.parts.append(
            CommandPart(text, pinned=f"{redirect.operator} ", file=file.text, writes=writes)
        )

    def _program(self, words: Sequence[Word], depth: int) -> None:
        """Add a program with its arguments, and the programs that it runs."""
        if depth > MAX_DEPTH:
            raise Unclear("it is nested too deeply")
        if not words[0].fixed:
            raise Unclear("which program runs is only known when it runs")
        program = words[0].text
        if not _PROGRAM.fullmatch(program) or program in KEYWORDS:
            raise Unclear(f"“{program}” is not the name of a program")
        name = program.rpartition("/")[2].lower()  # some systems find ENV where env is meant
        if name in _SHAPERS:
            raise Unclear(f"{name} changes what commands mean")
        refuse_computed(name, words[1:])
        if name in ("export", "readonly"):
            for word in words[1:]:
                if not word.name and not (word.fixed and re.fullmatch(r"-?\w+", word.text)):
                    raise Unclear(f"{name} of something unusual")
                if word.name:
                    self._assigned(word, passed_on=True)
        if name == "eval":
            self._evaluated(words, depth)
        elif name in SHELLS:
            self._shell(words, depth)
        elif name == "find":
            self._find(words, depth)
        elif name in _WRAPPERS:
            self._wrapped(name, words, depth)
        else:
            self._add(words, files=_scripts(name, words))

    def _add(
        self, words: Sequence[Word], *, pinned: str = "", files: tuple[tuple[int, str], ...] = ()
    ) -> None:
        name = words[0].text.rpartition("/")[2]
        exact = escape_of(name, words[1:])
        goes = _goes(name, words[1:])
        if goes and name != "git":
            self.moves.append(goes)
        if "/" in words[0].text:
            files = ((0, words[0].text), *files)
        text = " ".join(quote_word(word.text) for word in words)
        rest = [word.text for word in words[1:]]
        spellings = (
            " ".join([name, *rest]),
            " ".join([name, *(quote_word(one) for one in rest)]),
            " ".join(word.source for word in words),
            *(" ".join([name, *fewer]) for fewer in without_options(rest)),
        )
        if exact:  # what it runs is among its words
            spellings += tuple(" ".join(rest[index:]) for index in range(len(rest)))
        others = tuple(one for one in dict.fromkeys(spellings) if one != text)
        part = CommandPart(text, others, pinned, exact, files=files, goes=goes)
        self.parts.append(part)

    def _evaluated(self, words: Sequence[Word], depth: int) -> None:
        if not all(word.fixed for word in words):
            raise Unclear("eval of something only known when it runs")
        self._add(words[:1])
        self.line(" ".join(word.text for word in words[1:]), depth + 1)

    def _shell(self, words: Sequence[Word], depth: int) -> None:
        at, command = 1, False
        while at < len(words) and words[at].text.startswith(("-", "+", DYNAMIC)):
            option = words[at].text
            if option == "--":
                at += 1
                break
            if option == "-o" and at + 1 < len(words) and words[at + 1].text.isalnum():
                at += 2
                continue
            if len(option) < 2 or not _SHELL_OPTION.fullmatch(option):
                raise Unclear("a shell with unusual options")
            command = command or "c" in option
            at += 1
        if at >= len(words):
            raise Unclear("a shell reads its commands from elsewhere")
        if not words[at].fixed:
            raise Unclear("what the shell runs is only known when it runs")
        if command:
            self._add(words[:at])
            self.line(words[at].text, depth + 1)
        else:
            script = " ".join(quote_word(word.text) for word in words[: at + 1])
            self._add(words, pinned=script, files=((at, words[at].text),))

    def _find(self, words: Sequence[Word], depth: int) -> None:
        self._add(words)
        at = 1
        while at < len(words):
            word = words[at]
            at += 1
            if word.text in _FIND_WRITES and at < len(words):
                self._redirect(Redirect(">", words[at]))
            if word.text not in _FIND_RUNS:
                # A variable may become many words, a glob the name of a file.
                if not word.fixed and (
                    "$" in word.source or "`" in word.source or word.text[0] == DYNAMIC
                ):
                    raise Unclear("what find is told is only known when it runs")
                continue
            inner: list[Word] = []
            while at < len(words) and not (
                words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}")
            ):
                text = words[at].text
                inner.append(Word(text.replace("{}", DYNAMIC), words[at].source))
                at += 1
            at += 1
            if not inner:
                raise Unclear("find runs nothing")
            if word.text.endswith("dir"):
                self.moves.append(DYNAMIC)
            self._program(inner, depth + 1)

    def _wrapped(self, name: str, words: Sequence[Word], depth: int) -> None:
        how = _WRAPPERS[name]
        at, replaced = self._options(name, words)
        if name == "command" and at < 0:
            self._add(words)
            return
        for _ in range(how.places):
            if at < len(words) and not words[at].fixed:
                raise Unclear(f"what {name} runs is only known when it runs")
            at += 1
        taken = at
        while how.assigns and at < len(words) and words[at].name:
            self._assigned(words[at], passed_on=True)
            at += 1
        inner = list(words[at:])
        self._add([*words[:taken]])
        if not inner:
            return
        if name == "xargs":
            if replaced:
                inner = [Word(w.text.replace(replaced, DYNAMIC), w.source, w.name) for w in inner]
            else:
                inner.append(Word(DYNAMIC, "$"))
        if name in ("builtin", "busybox", "toybox") and not inner[0].fixed:
            raise Unclear(f"what {name} runs is only known when it runs")
        self._program(inner, depth + 1)

    def _options(self, name: str, words: Sequence[Word]) -> tuple[int, str]:
        """The index of the inner command, -1 if none runs, and the text that ``xargs`` replaces."""
        how = _WRAPPERS[name]
        at, replaced = 1, ""
        while at < len(words):
            text = words[at].text
            if not words[at].fixed:
                raise Unclear(f"what {name} runs is only known when it runs")
            if text == "--":
                return at + 1, replaced
            if not text.startswith("-") or text == "-":
                if text == "-":
                    raise Unclear(f"{name} with unusual options")
                return at, replaced
            at += 1
            if text.startswith("--"):
                if text[2:] not in how.long:
                    raise Unclear(f"{name} with the option {text}")
                continue
            if name == "command" and text in ("-v", "-V"):
                return -1, ""
            if name == "nice" and re.fullmatch(r"-\d+", text):
                continue
            for index, letter in enumerate(text[1:], 1):
                if letter in how.flags:
                    continue
                if letter not in how.valued:
                    raise Unclear(f"{name} with the option {text}")
                value = text[index + 1 :]
                if not value:
                    if at >= len(words) or not words[at].fixed:
                        raise Unclear(f"{name} with unusual options")
                    value = words[at].text
                    at += 1
                if letter == "I":
                    replaced = value
                break
        return at, replaced


def _scripts(name: str, words: Sequence[Word]) -> tuple[tuple[int, str], ...]:
    """The script that an interpreter runs, with its place among the words."""
    reads = program_of(name).scripted or name in ("source", ".")
    if not reads or len(words) < 2 or not words[1].fixed or words[1].text.startswith("-"):
        return ()
    return ((1, words[1].text),)


def _goes(name: str, arguments: Sequence[Word]) -> str:
    """The folder that a command changes to; empty if it stays."""
    if name == "git":
        before = leading_options("git", arguments)
        texts = [word.text for word in before]
        folders = [texts[at + 1] for at, text in enumerate(texts[:-1]) if text == "-C"]
        return DYNAMIC if DYNAMIC in "".join(folders) else posixpath.join("", *folders)
    if name == "popd":
        return DYNAMIC
    if name not in ("cd", "pushd"):
        return ""
    folders = [word for word in arguments if word.text not in ("-P", "-L", "-e", "--")]
    known = len(folders) == 1 and folders[0].fixed and folders[0].text[:1] not in ("-", "+", "")
    return folders[0].text if known else DYNAMIC
