"""Skills: tells an agent which it may open, opens them, and keeps them in long chats (K-5).

The list stands in the history once and does not change there. What was opened is a result like any
other, and is told again where a summary has taken its place.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from studio.domain.agents import Agent
from studio.domain.blocks import all_messages, blocks_to_messages
from studio.domain.extensions import Extension
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import INVOKED_SKILL, File, Message, ToolResult
from studio.domain.tools import SKILL, ToolSpec
from studio.domain.transcript import Transcript
from studio.tools import Context, Result, Tool

from .prompts import (
    NO_SUCH_SKILL,
    SKILL_BODY,
    SKILL_FILES,
    SKILL_TOOL,
    SKILLS,
    SKILLS_AGAIN,
    SKILLS_MORE,
)

WINDOW_SHARE = 0.02
"""Share of the window that the list may take."""
UNKNOWN_WINDOW = 100_000
BYTES_PER_TOKEN = 3
"""A careful estimate."""
MOST_FILES = 30
FOUND = 5
"""Skills that are named where none has the name that was asked for."""
MOST_AGAIN = 60_000
"""Characters of skills that are told again, the last ones first."""
_SKIPPED = {"node_modules", "__pycache__"}


def catalogue(skills: Sequence[Extension], window: int | None) -> str:
    """The list of skills, as far as it has room; the rest is found by the tool."""
    left = unlisted(skills, window)
    lines = [one.line for one in skills[: len(skills) - len(left)]]
    if left:
        lines.append(SKILLS_MORE.format(count=len(left)))
    return SKILLS.format(skills="\n".join(lines))


def list_tokens(window: int | None) -> int:
    """The tokens that the list of skills may take."""
    return int((window or UNKNOWN_WINDOW) * WINDOW_SHARE)


def unlisted(skills: Sequence[Extension], window: int | None) -> Sequence[Extension]:
    """The skills for which the list has no room."""
    room = list_tokens(window) * BYTES_PER_TOKEN
    for number, one in enumerate(skills):
        room -= len(one.line.encode("utf-8", "replace")) + 1
        if room < 0:
            return skills[number:]
    return ()


def with_skills(
    agent: Agent, tools: Mapping[str, Tool], skills: Sequence[Extension]
) -> tuple[Agent, dict[str, Tool]]:
    """An agent with the tool that opens skills, where there are any and it has tools."""
    if not skills or not agent.tools or SKILL in tools:
        return agent, dict(tools)
    if "*" not in agent.tools:
        agent = replace(agent, tools=(*agent.tools, SKILL))
    return agent, {**tools, SKILL: _tool(skills)}


def opened(messages: Iterable[Message]) -> dict[str, str]:
    """The skills that messages have whole, by the model's call or by hand, with their words."""
    found: dict[str, str] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.name == SKILL and not block.is_error:
                text = block.text
            elif isinstance(block, File) and block.media_type == INVOKED_SKILL:
                text = block.data.decode("utf-8", "replace")
            else:
                continue
            if name := _BODY.search(text):
                found.pop(name[1], None)
                found[name[1]] = text
    return found


def fitting(words: str, skills: Sequence[Extension]) -> list[Extension]:
    """The skills that have most of the words in their names and descriptions; five at most."""
    wanted = set(re.findall(r"\w{2,}", words.casefold()))

    def hits(one: Extension) -> int:
        name, about = one.name.casefold(), one.description.casefold()
        return sum(2 * (word in name) + (word in about) for word in wanted)

    found = [one for one in skills if hits(one)]
    return sorted(found, key=hits, reverse=True)[:FOUND]


def told_again(transcript: Transcript) -> str:
    """The skills that a summary replaced, in full; empty if there are none."""
    if transcript.summary is None:
        return ""
    kept = opened(blocks_to_messages(transcript.blocks))
    ever = opened(all_messages(transcript.blocks))
    again: list[str] = []
    room = MOST_AGAIN
    for name, text in reversed(ever.items()):
        if name not in kept and len(text) <= room:
            room -= len(text)
            again.append(text)
    return SKILLS_AGAIN.format(skills="\n".join(reversed(again))) if again else ""


async def body_of(skill: Extension, text: str = "") -> str:
    """What the model reads of a skill: its words, or ``text`` made of them, and its files."""
    files = await asyncio.to_thread(_files, skill.folder)
    more = SKILL_FILES.format(files=", ".join(files)) if files else ""
    body = (text or skill.body).replace("${CLAUDE_SKILL_DIR}", skill.folder)
    return SKILL_BODY.format(name=skill.name, folder=skill.folder, files=more, body=body)


_BODY = re.compile(r'<skill name="([a-z0-9-]+)"')


def _tool(skills: Sequence[Extension]) -> Tool:
    by_name = {one.name: one for one in skills}
    schema: JsonObject = {
        "type": "object",
        "properties": {"name": {"type": "string", "description": SKILL_TOOL["name"]}},
        "required": ["name"],
        "additionalProperties": False,
    }
    spec = ToolSpec(
        SKILL,
        SKILL_TOOL[SKILL],
        schema,
        effect="read",
        target="name",
        verb="Opening the skill",
        done="Opened the skill",
        icon="sparkle",
        steady=False,
    )

    async def run(_: Context, arguments: JsonObject) -> Result:
        wanted = str(arguments.get("name", "")).strip().lstrip("/")
        if (skill := by_name.get(wanted)) is not None:
            return Result(await body_of(skill), sources=(skill.path,))
        near = fitting(wanted, skills) or skills[:FOUND]
        lines = "\n".join(one.line for one in near)
        return Result(NO_SUCH_SKILL.format(name=wanted, skills=lines), f"{len(near)} skills")

    return Tool(spec, run)


def _files(folder: str) -> list[str]:
    """The other files of a skill, by their names in its folder; blocks."""

    def names() -> Iterable[str]:
        for place, folders, files in os.walk(folder):
            folders[:] = sorted(one for one in folders if not _hidden(one))
            for one in sorted(files):
                name = Path(place, one).relative_to(folder).as_posix()
                if name.lower() != "skill.md" and not _hidden(one):
                    yield name

    return list(islice(names(), MOST_FILES))


def _hidden(name: str) -> bool:
    return name.startswith(".") or name in _SKIPPED
