"""Patterns that are compiled when they are first used.

Compiling the patterns of all modules was a tenth of what a command does before its first request,
which needs few of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """What ``re.compile`` returns, except that its methods alone are used: ``found.sub(…)``."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Pattern:
    """Takes each method from the compiled pattern with its first call, and keeps it."""

    def __init__(self, text: str, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and pickling ask for what no pattern has
            raise AttributeError(name)
        if name == "_compiled":
            value: Any = re.compile(self._text, self._flags)
        else:
            value = getattr(self._compiled, name)
        setattr(self, name, value)
        return value
