"""A surface's rules are a table of named checks; any one can be switched off to be tested."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from studio.providers.simulator.maker import ServerState
from studio.providers.simulator.refused import RequestRefused
from studio.providers.simulator.view import RequestView

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
