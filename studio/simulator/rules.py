"""Rules: run an API's table of named checks and define their refusal.

Any check can be switched off, so that tests can show it is needed. House rules hold
for a whole session, and only in the strictest mode.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .request_view import RequestView
from .state import ServerState


class RequestRefused(Exception):
    """A request broke a rule. ``str()`` is the provider's own text.

    ``rule`` is the kind of rule, ``name`` the one rule of a surface's table.
    """

    def __init__(
        self,
        rule: str,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.name = rule
        self.status = status
        self.param = param
        self.code = code


Check: TypeAlias = Callable[[RequestView, ServerState], None]
"""Raises Refused where the request breaks this one rule. Its name is the function's."""


def enforce(
    rules: Sequence[Check], house: Sequence[Check], view: RequestView, maker: ServerState
) -> None:
    """Raises Refused for the first rule broken; house rules hold under "beyond" only."""
    for check in (*rules, *(house if maker.beyond else ())):
        name = f"{view.surface}.{check.__name__}"
        if name in maker.without:
            continue
        try:
            check(view, maker)
        except RequestRefused as refused:
            if refused.rule == "echo" and maker.sessions.foreign(view):
                continue
            refused.name = name
            raise


def word_set(words: str) -> frozenset[str]:
    """Names in a string with spaces between."""
    return frozenset(words.split())


def rule_names(surface: str, *tables: Sequence[Check]) -> list[str]:
    """What the rules of some tables are called."""
    return [f"{surface}.{check.__name__}" for table in tables for check in table]


def appended(view: RequestView, maker: ServerState) -> None:
    """House rule: a request repeats the session's one before it and only adds to its end."""
    if not maker.sessions.continues(view):
        raise RequestRefused(
            "house", "house rule: the history, the system prompt and the tools only grow at the end"
        )
