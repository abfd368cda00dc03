"""Lists: what an MCP server offers, as plain values."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool by the server's own words. ``annotations`` are claims that decide nothing (M-13).

    ``only_tasks``: it can only be run as a task, which is not offered (M-20).
    """

    name: str
    title: str = ""
    description: str = ""
    schema: JsonObject = field(default_factory=dict[str, Json], hash=False)
    output_schema: JsonObject | None = field(default=None, hash=False)
    annotations: JsonObject = field(default_factory=dict[str, Json], hash=False)
    only_tasks: bool = False


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt. ``arguments`` are objects with ``name``, ``description`` and ``required``."""

    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[JsonObject, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class ServerResource:
    """A resource; ``uri`` is a pattern where it is one of the ``templates``."""

    uri: str
    name: str = ""
    title: str = ""
    description: str = ""
    media_type: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Completing:
    """A value that the person is typing: of a prompt's argument, or of a template's variable.

    ``name`` is the prompt's or the template. ``given`` are the values before it.
    """

    kind: Literal["prompt", "resource"]
    name: str
    argument: str
    value: str
    given: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ServerLists:
    """All that a server offers. ``problems`` are sentences about what was left out.

    ``seconds`` is for how long the server says that this holds; 0 if it does not say. ``icon`` is
    a ``data:`` address of a small picture; others are never fetched (M-20).
    """

    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[ServerResource, ...] = ()
    templates: tuple[ServerResource, ...] = ()
    instructions: str = ""
    revision: str = ""
    server: str = ""
    version: str = ""
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
    icon: str = ""
