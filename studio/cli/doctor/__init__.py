"""The checks of ``agent-studio doctor``, and what a check finds.

- ``local_checks``: checks this computer: folders, database, sandbox, tools, clock.
- ``network_checks``: checks the keychain, the providers and the network.
- ``display``: checks the display and the libraries that the window needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

State: TypeAlias = Literal["ok", "note", "warning", "broken"]
"""``note`` may be intended; ``broken`` stops the program or its window."""
MARKS: dict[State, str] = {"ok": "✓", "note": "·", "warning": "!", "broken": "×"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``advice`` says what to do. Contains no secret."""

    name: str
    state: State
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A check. ``seconds`` is its time limit, ``late`` the advice if it takes longer."""

    name: str
    run: Callable[[], Awaitable[Finding]]
    seconds: float = 4.0
    late: str = ""
