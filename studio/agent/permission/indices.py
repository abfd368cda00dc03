"""Builtins that take the name of a variable: bash computes its index, and runs what is in it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import DYNAMIC, Unclear, Word

_EVALUATORS = frozenset(("printf", "test", "[", "unset", "export", "readonly", "wait"))
_VARIABLE = re.compile(r"\w+|\]|!?=|==", re.A)
_ONE_WORD = re.compile(r"\$[#?$!]|\$\{#[A-Za-z_]\w*\}|~[\w./-]*|\[", re.A)
"""What is only known when the line runs, and yet is one word and no operator."""
_QUOTED = re.compile(r'"[^"@]*"')
_AFTER = re.compile(r"==?|!=|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef|a|o)|\]|\\?\)")


def refuse_computed(name: str, arguments: Sequence[Word]) -> None:
    """Raises Unclear for a call of a builtin that may run what is in an index."""
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
