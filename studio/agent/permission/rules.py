"""Permission rules: stores the person's and those of a session, and reads those of a folder (T-7).

``StandingRules`` has the person's rules and the folders they trust, ``SessionRules``
those of one session. A folder's own rules are in ``.agents/permissions.yaml``, which
has lists under ``allow``, ``ask`` and ``deny``.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from studio.agent.agent_files import PROJECT_AGENTS, read_rules
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Layer, Rule, Verdict
from studio.storage.config.permission_rules import (
    RuleStore,
    SessionRule,
    SessionRuleStore,
)

from .policy import NETWORK, Policy

Trust: TypeAlias = Literal["nothing", "untrusted", "changed", "trusted"]
"""``nothing``: the folder has no files that could widen rights, and the person did not decide.
``changed``: the files have changed since the person trusted them."""
# ``list`` is the name of a method of ``SessionRules``.
SessionRuleList: TypeAlias = list[SessionRule]

CHANGED = (
    "The files in .agents changed since you trusted this folder. "
    "What they allow does not count until you trust it again."
)
PROJECT_PERMISSIONS = Path(".agents") / "permissions.yaml"
MAX_FILE_BYTES = 200_000
"""Bytes of one file."""


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
        self.list, self.folders = store.all, store.folders

    async def add(self, rule: Rule, folder: Path | None = None) -> None:
        """Add a rule for all folders or for one."""
        await self._store.add(rule, await _name(folder))

    async def change(self, rule_id: int, rule: Rule, folder: Path | None = None) -> None:
        """Replace a rule, at its place in the list.

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
        name, project = await asyncio.to_thread(_read_folder, folder)
        own, known = await self._store.of(name)
        trust = _trust(known, project)
        rules: dict[Layer, Sequence[Rule]] = {
            "person": [one.rule for one in own],
            "project": [r for r in project.rules if trust == "trusted" or r.verdict != "allow"],
        }
        notice = project.problem or (CHANGED if trust == "changed" else "")
        return RuleLayers(rules, trust, notice, gone=project.gone)

    async def trusted(self, folder: Path) -> Trust:
        name, project = await asyncio.to_thread(_read_folder, folder)
        return _trust(await self._store.trusted(name), project)

    async def trust(self, folder: Path) -> None:
        """Treat the files in the folder as the person's own, and let those in its ``.agents``
        widen rights in their present state; changed or new files there end the trust."""
        name, project = await asyncio.to_thread(_read_folder, folder)
        await self._store.trust(name, project.digest)

    async def untrust(self, folder: Path) -> None:
        await self._store.trust(await _name(folder), "")


def parse_rule(text: str, tools: Collection[str], verdict: Verdict = "allow") -> Rule:
    """Parse a typed rule for one of ``tools``; raises ConfigurationError."""
    try:
        rule = Rule.parse(text, verdict)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    if rule.tool not in ("*", NETWORK) and rule.tool not in tools:
        known = ", ".join(sorted(tools))
        raise ConfigurationError(f"There is no tool {rule.tool}. Known are {known}.")
    return rule


class SessionRules:
    """The rules that the person gave for one chat, for example by answering “for this session”.

    Every coroutine raises StorageError.
    """

    def __init__(self, store: SessionRuleStore, session_id: str) -> None:
        self._store = store
        self._session_id = session_id
        self._policy: Policy | None = None
        self._looking = asyncio.Lock()
        self.known: Sequence[Rule] = ()
        """The rules as they were read last."""

    async def list(self) -> SessionRuleList:
        """Oldest first, the order in which they apply."""
        return await self._store.of(self._session_id)

    async def add(self, rule: Rule) -> None:
        """Add a rule; adding it again changes nothing."""
        await self._store.add(self._session_id, rule)
        await self.refresh()

    async def change(self, rule_id: int, rule: Rule) -> None:
        """Replace a rule; raises ConfigurationError if there is no such rule."""
        changed = await self._store.change(self._session_id, rule_id, rule)
        await self._must_have(rule_id, known=changed)

    async def remove(self, rule_id: int) -> None:
        """Raises ConfigurationError if there is no such rule."""
        removed = await self._store.remove(self._session_id, rule_id)
        await self._must_have(rule_id, known=removed)

    async def refresh(self) -> None:
        """Read the stored rules and apply them, also to the running turn."""
        async with self._looking:  # an older reading may not replace a newer one
            self.known = [one.rule for one in await self.list()]
            if self._policy is not None:
                self._policy.replace_layer("session", self.known)

    def attach(self, policy: Policy) -> None:
        """Apply later changes to the policy of a turn too; it already has the known rules."""
        self._policy = policy

    async def _must_have(self, rule_id: int, *, known: bool) -> None:
        await self.refresh()  # another program may have removed it
        if not known:
            raise ConfigurationError(f"There is no rule {rule_id} in this chat.")


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """``digest`` is of every file that could widen rights; ``empty`` if there is none.

    ``gone``: there is no such folder.
    """

    rules: tuple[Rule, ...]
    digest: str
    empty: bool = False
    problem: str = ""
    gone: bool = False


def read_project(folder: Path) -> ProjectRules:
    """Reads the disk; what is wrong with a file is in ``problem``."""
    path = folder / PROJECT_PERMISSIONS
    data = _bytes(path)
    agents = folder / PROJECT_AGENTS
    files = sorted(agents.glob("*.md")) if agents.is_dir() else []
    found = [(one.name, _bytes(one)) for one in files]
    total = hashlib.sha256()
    for name, content in (("permissions.yaml", data), *found):
        mark = content if content is not None else b""
        head = f"{name}\n{content is not None}\n{len(mark)}\n"
        total.update(head.encode(errors="surrogatepass") + mark)  # any name that a disk has
    try:
        rules = _rules(data or b"")
    except ValueError as error:
        return ProjectRules((), total.hexdigest(), problem=f"{path}: {error}")
    empty = data is None and not found
    gone = empty and not folder.is_dir()
    return ProjectRules(rules, total.hexdigest(), empty=empty, gone=gone)


def _bytes(path: Path) -> bytes | None:
    """The first ``MAX_FILE_BYTES`` + 1 bytes of a file; None if it cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None


def _rules(data: bytes) -> tuple[Rule, ...]:
    if not data:
        return ()
    import yaml

    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"the file is larger than {MAX_FILE_BYTES:,} bytes")
    try:
        loaded: Any = yaml.safe_load(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ValueError("this is not valid YAML") from error
    return read_rules(loaded, "it")


async def _name(folder: Path | None) -> str:
    return "" if folder is None else str(await asyncio.to_thread(folder.resolve))


def _read_folder(folder: Path) -> tuple[str, ProjectRules]:
    """The name under which a folder is known, and what its files say."""
    return str(folder.resolve()), read_project(folder)


def _trust(known: str, project: ProjectRules) -> Trust:
    """``known`` is the digest of the files that the person trusted; empty if none."""
    if not known:
        return "nothing" if project.empty else "untrusted"
    return "trusted" if known == project.digest else "changed"
