"""Tool search: lets a model find servers' tools and call them, where they are too many (M-17).

Skills for which their list has no room are found with them, or alone (K-5). It also says which of
the servers' tools a history can call: what it was told first stays (M-16).
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from studio.agent.context.token_count import tool_tokens
from studio.agent.prompts import (
    FIND_SKILLS_TOLD,
    FIND_TOOLS_TOLD,
    FOUND_NO_SKILL,
    FOUND_NOTHING,
    FOUND_SKILLS,
    FOUND_TOOLS,
    USE_TOOL_TOLD,
    WRONG_USE_TOOL,
)
from studio.agent.skills import fitting
from studio.domain.errors import ToolFailed
from studio.domain.extensions import Extension
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import ToolCall
from studio.domain.tools import FIND_TOOLS, USE_TOOL, ToolSpec
from studio.tools import Context, Result, Tool

MOST_TOKENS = 10_000
MOST_TOOLS = 90
"""OpenAI takes 128 tools in a request, and the agent has others."""
WINDOW_SHARE = 0.05
"""Servers' tools that take more than this are not told one by one."""
SHOWN = 5
"""Tools that one search shows."""
LONGEST_LIST = 4_000
"""Characters of the list of servers."""
_WORD = re.compile(r"[^\W_]+")


def too_many(specs: Sequence[ToolSpec], window: int | None) -> bool:
    """Whether servers' tools are more, or take more of a window, than they should."""
    if len(specs) > MOST_TOOLS:
        return True
    left = float(MOST_TOKENS)
    if window is not None:
        left = min(left, WINDOW_SHARE * window)
    for spec in specs:
        left -= tool_tokens(spec)
        if left < 0:
            return True
    return False


def callable_tools(declared: Sequence[ToolSpec], served: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Which servers' tools a history with these ``declared`` tools can call.

    Those that it names, as long as they are what they were then; all where it finds them.
    """
    if not served or USE_TOOL in [spec.name for spec in declared]:
        return [*served]
    pins = {spec.name: spec.pin for spec in declared if spec.server}
    return [spec for spec in served if pins.get(spec.name) == spec.pin]


def search_tools(
    served: Sequence[ToolSpec], skills: Sequence[Extension] = (), *, told: bool = False
) -> dict[str, Tool]:
    """The tools that find these tools and call them; none where there is nothing to find.

    They also find ``skills``, which the model was not told of. ``told``: it was told of the tools,
    one by one, so that only skills are to be found.
    """
    if not served and not skills:
        return {}
    counts: dict[str, int] = {}
    for spec in served:
        counts[spec.server] = counts.get(spec.server, 0) + 1
    servers = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))

    def find(arguments: JsonObject) -> Result:
        query = str(arguments["query"])
        found, total = find_among(served, query)
        lines = "\n".join(one.line for one in fitting(query, skills))
        more = FOUND_SKILLS.format(skills=lines) if lines else ""
        if not found:
            nothing = FOUND_NOTHING if served else FOUND_NO_SKILL
            alone = more and (told or not served)
            text = more.lstrip() if alone else nothing.format(query=query) + more
            return Result(text, "skills" if more else "nothing", ("the agent",))
        shown = "\n".join(json.dumps(_definition(spec), ensure_ascii=False) for spec in found)
        text = FOUND_TOOLS.format(shown=len(found), total=total, tools=shown) + more
        return Result(text, f"{len(found)} of {total}", ("the agent",))

    async def find_tools(context: Context, arguments: JsonObject) -> object:
        return await asyncio.to_thread(find, arguments)

    async def use_tool(context: Context, arguments: JsonObject) -> object:
        raise ToolFailed(WRONG_USE_TOOL)  # a right call is one of the tool itself

    text: JsonObject = {"type": "string"}
    find_spec = ToolSpec(
        FIND_TOOLS,
        FIND_SKILLS_TOLD
        if told or not served
        else FIND_TOOLS_TOLD.format(servers=servers[:LONGEST_LIST]),
        _schema(query={**text, "description": "words of what the tool is to do, or its name"}),
        effect="read",
        target="query",
        verb="Finding tools",
        done="Found tools",
        icon="search",
    )
    use_spec = ToolSpec(
        USE_TOOL,
        USE_TOOL_TOLD,
        _schema(name=text, arguments={"type": "object"}),
        effect="read",
        verb="Using a tool",
        done="Used a tool",
        icon="plug",
    )
    finding = {FIND_TOOLS: Tool(find_spec, find_tools)}
    return {**finding, USE_TOOL: Tool(use_spec, use_tool)} if served else finding


def _schema(**properties: JsonObject) -> JsonObject:
    required: list[Json] = [*properties]
    return {
        "type": "object",
        "properties": {**properties},
        "required": required,
        "additionalProperties": False,
    }


def unwrapped(call: ToolCall) -> ToolCall:
    """The call that ``use_tool`` means; the call itself if that is none."""
    given = call.arguments or {}
    name, arguments = given.get("name"), given.get("arguments", {})
    if isinstance(arguments, str):  # models write the object as a text
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return call
    if not isinstance(name, str) or not isinstance(arguments, dict) or name == USE_TOOL:
        return call
    return replace(call, name=name, arguments=arguments)


def find_among(served: Sequence[ToolSpec], query: str) -> tuple[list[ToolSpec], int]:
    """The tools that fit a query best, five at most, and how many fit."""
    named = [spec for spec in served if spec.name == query.strip()]
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(query)))[:20]
    if not words:
        return named, len(named)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(
            "CREATE VIRTUAL TABLE tools USING fts5(name, words, tokenize='porter unicode61')"
        )
        db.executemany(
            "INSERT INTO tools (rowid, name, words) VALUES (?, ?, ?)",
            ((number, _spaced(spec.name), _words(spec)) for number, spec in enumerate(served)),
        )
        wanted = " OR ".join(f'"{word}"*' for word in words)
        rows: list[tuple[int]] = db.execute(
            "SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY bm25(tools, 4.0, 1.0), name",
            (wanted,),
        ).fetchall()
    found = [served[row[0]] for row in rows]
    ordered = [*named, *(spec for spec in found if spec not in named)]
    return ordered[:SHOWN], len(ordered)


def _spaced(name: str) -> str:
    """A name with its words apart: ``git__listBranches`` is “git list Branches”."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+", " ", name)


def _words(spec: ToolSpec) -> str:
    return f"{_spaced(spec.name)} {spec.description} {json.dumps(spec.schema, ensure_ascii=False)}"


def _definition(spec: ToolSpec) -> JsonObject:
    return {"name": spec.name, "description": spec.description, "arguments": spec.schema}
