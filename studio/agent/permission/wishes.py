"""Wishes: the rules that a skill would like, of which each is one once the person gives it (K-6).

What ``allowed-tools`` names, in Claude Code's words or in ours, is put into rules of ours. Given,
they are standing rules like any: for the folder if it is the folder's skill, else for all folders.
What the file says later is another wish.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from studio.agent.agent_files.foreign import our_tools, split_call
from studio.domain.extensions import Extension
from studio.domain.permissions import Rule, escaped
from studio.domain.records import dataclass
from studio.domain.server_names import SERVER_SIGN
from studio.domain.tools import RUN
from studio.storage.config.permission_rules import StandingRule

from .rule_suggestions import warning_about
from .rules import StandingRules

MOST_RULES = 30
"""More of one skill nobody would read; the rest is told as not understood."""
_SKILL_FOLDER = "${CLAUDE_SKILL_DIR}"
_MCP = "mcp__"
"""Before a server's tool in Claude Code's words."""


@dataclass(frozen=True, slots=True)
class Wish:
    """The rules that a skill or command would like; ``unknown`` is what cannot be one.

    ``folder`` is where they would count, None for everywhere.
    """

    rules: tuple[Rule, ...]
    unknown: tuple[str, ...]
    folder: Path | None

    async def given(self, standing: StandingRules) -> list[StandingRule]:
        """Those that count already, whoever asked for them."""
        where = await standing.name_of(self.folder)
        wanted = set(self.rules)
        return [one for one in await standing.list() if one.folder == where and one.rule in wanted]

    async def overruled(self, standing: StandingRules) -> list[Rule]:
        """Rules of the person that ask about the same tools, and count less than later ones."""
        where = await standing.name_of(self.folder)
        tools = {one.tool for one in self.rules}
        asking = [one for one in await standing.list() if one.rule.verdict == "ask"]
        return [one.rule for one in asking if one.rule.tool in tools and one.folder in ("", where)]

    async def give(self, standing: StandingRules) -> None:
        for rule in self.rules:
            await standing.add(rule, self.folder)

    async def take_back(self, standing: StandingRules) -> None:
        for one in await self.given(standing):
            await standing.remove(one.id)

    @property
    def warning(self) -> str:
        """What its rules for commands let run that they do not say; mostly empty."""
        return warning_about([one for one in self.rules if one.tool == RUN])


def wish_of(skill: Extension, tools: Collection[str], folder: Path) -> Wish:
    """What a skill or command wishes; ``folder`` is the chat's, ``tools`` are those there are."""
    rules: dict[Rule, None] = {}
    unknown: list[str] = []
    for name in skill.wishes:
        found = _rules(name, tools, skill.folder)
        if found and len(rules) + len(found) <= MOST_RULES:
            rules.update(dict.fromkeys(found))
        else:
            unknown.append(name)
    return Wish(tuple(rules), tuple(unknown), folder if skill.place == "folder" else None)


def _rules(name: str, tools: Collection[str], skill_folder: str) -> list[Rule]:
    """The rules for one name, such as ``Bash(git add:*)``; none if it has no counterpart."""
    bare, pattern = split_call(name)
    if name.endswith("()"):
        return []
    if bare.startswith(_MCP):
        server, _, tool = bare.removeprefix(_MCP).partition(SERVER_SIGN)
        ours = [f"{server}{SERVER_SIGN}{tool or '*'}"]
    else:
        ours = [bare] if bare in tools else [one for one in our_tools(bare, {}) if one in tools]
    try:
        return [Rule.parse(_written(one, pattern, skill_folder)) for one in ours]
    except ValueError:
        return []


def _written(tool: str, pattern: str, skill_folder: str) -> str:
    """A rule as people write it; raises ValueError for a pattern that means another thing here."""
    if pattern in ("", "*"):
        return tool
    if not pattern.isprintable():
        raise ValueError
    if tool == RUN:
        words = re.sub(r":\*$", " *", pattern)
        return f"{tool}({words.replace(_SKILL_FOLDER, escaped(skill_folder))})"
    if domain := re.fullmatch(r"domain:([\w.-]+)", pattern):
        return f"{tool}(https://{domain[1]}/*)"
    if re.match(r"[/~$]|\w+:(?!//)", pattern):
        raise ValueError  # a place outside the folder, or words of another program's own
    return f"{tool}({pattern.removeprefix('./')})"
