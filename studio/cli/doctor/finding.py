"""What a check finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "note", "warning", "broken"]
"""``note``: it is so, and may be meant; ``broken``: it stops the program, or its window."""
MARKS: dict[State, str] = {"ok": "✓", "note": "·", "warning": "!", "broken": "×"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line; ``advice`` says what to do. Neither holds a secret."""

    name: str
    state: State
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """``seconds`` is what it may take; ``late`` the advice if it takes longer."""

    name: str
    run: Callable[[], Awaitable[Finding]]
    seconds: float = 4.0
    late: str = ""
