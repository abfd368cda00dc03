"""The standing rules: stores the person's, and combines them with those of a folder (T-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Layer, Rule, Verdict
from studio.storage.config.permission_rules import RuleStore, StandingRule

from .policy import NETWORK
from .project_rules import ProjectRules, read_project

Trust: TypeAlias = Literal["nothing", "untrusted", "changed", "trusted"]
"""``nothing``: no file there could widen rights, and the person said nothing. ``changed``:
they were trusted, and are not what they were."""
Listed: TypeAlias = "list[StandingRule]"

CHANGED = (
    "The files in .agents changed since you trusted this folder. "
    "What they allow does not count until you trust it again."
)


@dataclass(frozen=True, slots=True)
class RuleLayers:
    """The rules of a folder: the person's and its own. ``notice`` is for the person.

    ``gone``: there is no such folder.
    """

    rules: Mapping[Layer, Sequence[Rule]] = field(default_factory=dict[Layer, Sequence[Rule]])
    trust: Trust = "nothing"
    notice: str = ""
    gone: bool = False


class StandingRules:
    """Lists, adds and removes rules; trusts folders."""

    def __init__(self, store: RuleStore) -> None:
        self._store = store

    async def list(self) -> Listed:
        """Those for everywhere first, then folder by folder, as they are listened to."""
        return await self._store.all()

    async def add(self, rule: Rule, folder: Path | None = None) -> None:
        """Keep a rule of the person's, everywhere or in a folder."""
        await self._store.add(rule, await _name(folder))

    async def change(self, rule_id: int, rule: Rule, folder: Path | None = None) -> None:
        """Have a rule be another, in its place in the list.

        Raises ConfigurationError if there is no such rule.
        """
        if not await self._store.change(rule_id, rule, await _name(folder)):
            raise ConfigurationError(f"There is no rule {rule_id}.")

    async def remove(self, rule_id: int) -> None:
        """Raises ConfigurationError if there is no such rule."""
        if not await self._store.remove(rule_id):
            raise ConfigurationError(f"There is no rule {rule_id}.")

    async def layers(self, folder: Path) -> RuleLayers:
        """The rules for a folder. Unless the folder is trusted its files can only forbid."""
        name, project = await asyncio.to_thread(_look, folder)
        own, known = await self._store.of(name)
        trust = _trust(known, project)
        rules: dict[Layer, Sequence[Rule]] = {
            "person": [one.rule for one in own],
            "project": [r for r in project.rules if trust == "trusted" or r.verdict != "allow"],
        }
        notice = project.problem or (CHANGED if trust == "changed" else "")
        return RuleLayers(rules, trust, notice, gone=project.gone)

    async def trusted(self, folder: Path) -> Trust:
        name, project = await asyncio.to_thread(_look, folder)
        return _trust(await self._store.trusted(name), project)

    async def folders(self) -> Sequence[str]:
        """The folders the person trusted, whatever became of their files."""
        return await self._store.folders()

    async def trust(self, folder: Path) -> None:
        """Take the files in the folder for the person's own, and let those in its
        ``.agents`` widen rights, as they are now: a change of these, or new ones, end it."""
        name, project = await asyncio.to_thread(_look, folder)
        await self._store.trust(name, project.digest)

    async def untrust(self, folder: Path) -> None:
        await self._store.trust(await _name(folder), "")


def parse_rule(text: str, tools: Collection[str], verdict: Verdict = "allow") -> Rule:
    """A rule as it is typed, about one of the tools there are; raises ConfigurationError."""
    try:
        rule = Rule.parse(text, verdict)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if rule.tool not in ("*", NETWORK) and rule.tool not in tools:
        known = ", ".join(sorted(tools))
        raise ConfigurationError(f"There is no tool {rule.tool}. Known are {known}.")
    return rule


async def _name(folder: Path | None) -> str:
    return "" if folder is None else str(await asyncio.to_thread(folder.resolve))


def _look(folder: Path) -> tuple[str, ProjectRules]:
    """The name under which a folder is known, and what its files say."""
    return str(folder.resolve()), read_project(folder)


def _trust(known: str, project: ProjectRules) -> Trust:
    """``known`` is the digest of the files that the person trusted; empty if none."""
    if not known:
        return "nothing" if project.empty else "untrusted"
    return "trusted" if known == project.digest else "changed"
