"""Verbs: makes functions of a pack commands of the terminal, ``agent-studio notes list`` (KZ-9).

A verb is described as a tool is: its parameters are arguments, those with a default are options. No
model is offered it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

from studio.domain.records import dataclass
from studio.tools.sdk.definition import Tool, tool


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A command of the terminal. One that ``changes`` something is refused to agents."""

    tool: Tool
    changes: bool = True

    @property
    def name(self) -> str:
        return self.tool.spec.name.replace("_", "-")


@overload
def verb(function: Callable[..., Any], /) -> Verb: ...
@overload
def verb(
    *, name: str = "", effect: Literal["read", "act"] = "act"
) -> Callable[[Callable[..., Any]], Verb]: ...
def verb(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    effect: Literal["read", "act"] = "act",
) -> Verb | Callable[[Callable[..., Any]], Verb]:
    """Make a command of a function, which is written as a tool is.

    ``effect="read"`` says that it changes nothing: then commands of agents may use it too.
    """

    def make(function: Callable[..., Any]) -> Verb:
        return Verb(tool(name=name, effect=effect)(function), effect != "read")

    return make if function is None else make(function)
