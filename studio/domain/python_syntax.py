"""Python syntax: parses Python's words into a tree, also beside other threads that do."""

from __future__ import annotations

import ast
import threading
import warnings
from contextlib import suppress
from typing import Literal

TRIES = 10
_LOCK = threading.Lock()


def parse_python(text: str, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """The tree of a text; warnings about it are not shown. Blocks.

    Raises SyntaxError, and ValueError, RecursionError or MemoryError for a hostile text.
    Python 3.11 counts in one place how deep each thread's tree is, so that of two at a time
    either may fail with a SystemError (python/cpython#106905); others than ours may parse too.
    """
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(TRIES):
            with suppress(SystemError):
                return ast.parse(text, mode=mode)
        return ast.parse(text, mode=mode)
