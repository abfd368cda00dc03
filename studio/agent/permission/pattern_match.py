"""Pattern matching for commands: finds other spellings that forbidding rules must match too.

This is only for rules that forbid; for a rule that allows, the omitted parts may matter.
``may_match`` says whether a pattern can match a text that is not fully known yet.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

from .shell_lexer import DYNAMIC, Unclear

_MOST = 200
"""The most words before which options are skipped; a longer row is not an accident."""
_FEW = 8
"""The most options of a possible command; more would give too many readings."""


def quote_word(text: str) -> str:
    """A word with quotes where a person would write them."""
    if DYNAMIC in text:
        return text if not re.search(r"\s", text) else f"'{text}'"
    return text if text and not re.search(r"[\s'\"]", text) else shlex.quote(text)


def without_options(arguments: Sequence[str]) -> list[list[str]]:
    """A program's arguments without options before other words, with and without their values.

    So ``git push *`` matches ``git -C there --no-pager push origin``. It is not known which
    options take a value, so both readings count. Raises Unclear for very many options.
    """
    reached = {0}
    for at, word in enumerate(arguments):  # the options at the beginning
        if at > max(reached):
            break
        if at in reached and _is_option(word):
            reached |= {at + 1, at + 2}
    if max(reached) > _MOST:
        raise Unclear("it has very many options")
    found: list[list[str]] = []
    for start in sorted(reached):
        rest = list(arguments[start:])
        found += [rest, _drop_options(rest, valued=False), _drop_options(rest, valued=True)]
    return [words for words in found if words and words != list(arguments)]


def _drop_options(arguments: Sequence[str], *, valued: bool) -> list[str]:
    """The arguments without each option that a word other than an option follows."""
    last = max((n for n, word in enumerate(arguments) if not _is_option(word)), default=-1)
    words: list[str] = []
    skipped = False
    for index, word in enumerate(arguments):
        if skipped:
            skipped = False
        elif index < last and _is_option(word):
            skipped = valued and "=" not in word and index + 1 < last
        else:
            words.append(word)
    return words


def possible_commands(command: str) -> list[str]:
    """Every part of a line that could be a command, found without parsing."""
    found: dict[str, None] = {}
    for piece in re.split(r"[;&|\n(){}`$<>]+", command):
        words = re.sub(r"[\\'\"]", "", piece).split()[:60]
        for index, word in enumerate(words):
            name, rest = word.rpartition("/")[2], words[index + 1 :]
            few = sum(map(_is_option, rest)) <= _FEW
            for fewer in (rest, *(without_options(rest) if few else ())):
                found[" ".join([name, *fewer])] = None
    return list(found)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


_OPTION = re.compile(r"--[A-Za-z][\w-]*")


def completed(pattern: str, text: str) -> str:
    """The text with its options as the pattern has them, where they are beginnings of those.

    Most programs take ``--forc`` for ``--force``.
    """
    names = _OPTION.findall(pattern)
    words = text.split(" ") if names else []
    for at, word in enumerate(words):
        option, has_value, value = word.partition("=")
        long = next((n for n in names if len(option) > 2 and n.startswith(option)), option)
        words[at] = f"{long}{has_value}{value}"
    return " ".join(words) if names else text


_LONGEST = 2_000


@lru_cache(maxsize=4096)
def may_match(pattern: str, text: str) -> bool:
    """Whether the pattern matches for some replacement of each ``DYNAMIC``.

    Never falsely False: ``?`` and ``[…]`` count as any character, and a very long text
    always counts as a match.
    """
    if DYNAMIC not in text:
        return False
    if len(pattern) > _LONGEST or len(text) > _LONGEST:
        return True
    if pattern.endswith(" *"):
        return _overlap(pattern, text) or _overlap(pattern[:-2], text)
    return _overlap(pattern, text)


def _overlap(pattern: str, text: str) -> bool:
    """Whether two texts with wildcards have a common match, by dynamic programming."""
    tokens = _tokens(pattern)
    row = [True] + [False] * len(text)
    for j, char in enumerate(text, 1):
        row[j] = row[j - 1] and char == DYNAMIC
    for token in tokens:
        before = row
        star = token == "*"
        row = [before[0] and star] + [False] * len(text)
        for j, char in enumerate(text, 1):
            if star:
                row[j] = before[j] or row[j - 1]
            elif char == DYNAMIC:
                row[j] = before[j] or row[j - 1] or before[j - 1]
            else:
                row[j] = before[j - 1] and token.casefold() in ("?", char.casefold())
    return row[-1]


def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        close = pattern.find("]", at + 2)
        if pattern[at] == "[" and close > 0:
            tokens.append("?")
            at = close + 1
        else:
            tokens.append(pattern[at])
            at += 1
    return tokens
