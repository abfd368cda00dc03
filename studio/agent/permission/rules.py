"""Permission rules: stores the person's and those of a session, and reads those of a folder (T-7).

``StandingRules`` has the person's rules and the folders they trust, ``SessionRules``
those of one session. A folder's own rules are in ``.agents/permissions.yaml``, which
has lists under ``allow``, ``ask`` and ``deny``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias
from weakref import WeakSet

from studio.agent.agent_files.finder import Agents
from studio.agent.agent_files.keys import read_rules
from studio.agent.folder_files import (
    MAX_FILE_BYTES,
    PROJECT_CHECKS,
    PROJECT_PERMISSIONS,
    FolderFiles,
    read_folder_files,
)
from studio.agent.yaml_text import load_yaml
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError
from studio.domain.hooks import Hook
from studio.domain.permissions import Layer, Rule, Verdict
from studio.domain.records import dataclass
from studio.domain.server_names import SERVER_SIGN
from studio.mcp.entries import parse_entries
from studio.storage.config.permission_rules import (
    RuleStore,
    SessionRule,
    SessionRuleStore,
)
from studio.tools.workspace.check_list import EditCheck, read_checks

from .invisible_characters import escape_line
from .policy import NETWORK, Policy

Trust: TypeAlias = Literal["nothing", "untrusted", "changed", "trusted"]
"""``nothing``: the folder has no files that could widen rights, and the person did not decide.
``changed``: the files have changed since the person trusted them."""
# ``list`` is the name of a method of ``SessionRules``.
SessionRuleList: TypeAlias = list[SessionRule]

CHANGED = (
    "The files in .agents changed since you trusted this folder. "
    "Until you trust it again, what they allow does not count, and its agents are a stranger’s."
)
MOST_EFFECTS = 12
"""Lines that say what trust in a folder brings."""


@dataclass(frozen=True, slots=True)
class RuleLayers:
    """The rules of a folder: the person's and its own. ``notices`` are for the person.

    ``files`` are those that the folder's own rules are from.
    """

    files: FolderFiles
    rules: Mapping[Layer, Sequence[Rule]] = field(default_factory=dict[Layer, Sequence[Rule]])
    trust: Trust = "nothing"
    notices: tuple[str, ...] = ()
    checks: tuple[EditCheck, ...] = ()
    """Those of the folder, if it is trusted: they run commands (C-11)."""

    @property
    def trusted(self) -> bool:
        return self.trust == "trusted"


class StandingRules:
    """Lists, adds and removes rules; trusts folders."""

    def __init__(self, store: RuleStore) -> None:
        self._store = store
        self.list, self.folders = store.all, store.folders

    async def add(self, rule: Rule, folder: Path | None = None) -> None:
        """Add a rule for all folders or for one."""
        await self._store.add(rule, await self.name_of(folder))

    async def change(self, rule_id: int, rule: Rule, folder: Path | None = None) -> None:
        """Replace a rule, at its place in the list.

        Raises ConfigurationError if there is no such rule.
        """
        if not await self._store.change(rule_id, rule, await self.name_of(folder)):
            raise ConfigurationError(f"There is no rule {rule_id}.")

    async def remove(self, rule_id: int) -> None:
        """Raises ConfigurationError if there is no such rule."""
        if not await self._store.remove(rule_id):
            raise ConfigurationError(f"There is no rule {rule_id}.")

    async def layers(self, folder: Path) -> RuleLayers:
        """The rules for a folder. Unless the folder is trusted its files can only forbid."""
        return await asyncio.to_thread(self.read_layers, folder)

    def read_layers(self, folder: Path) -> RuleLayers:
        """The same, read in the caller's thread."""
        name, project = _read_folder(folder)
        own, known = self._store.read_of(name)
        trust = _trust(known, project)
        rules: dict[Layer, Sequence[Rule]] = {
            "person": [one.rule for one in own],
            "project": [r for r in project.rules if trust == "trusted" or r.verdict != "allow"],
        }
        notices = (project.problem, CHANGED if trust == "changed" else "")
        checks = project.checks if trust == "trusted" else ()
        return RuleLayers(project.files, rules, trust, tuple(filter(None, notices)), checks)

    async def trusted(self, folder: Path) -> Trust:
        name, project = await asyncio.to_thread(_read_folder, folder)
        return _trust(await self._store.trusted(name), project)

    async def trusted_since(self, folder: Path) -> float:
        """When the person trusted the folder as it is now; 0.0 unless they did."""
        if await self.trusted(folder) != "trusted":
            return 0.0
        return await self._store.trusted_since(await self.name_of(folder))

    async def trust(self, folder: Path, digest: str = "") -> None:
        """Treat the files in the folder as the person's own, and let those in its ``.agents``
        widen rights; changed or new files there end the trust.

        ``digest`` is of the files that the person looked at, see ``TrustOffer``: if they
        have changed since, the folder is not trusted. Without it they count as they are.
        """
        name, project = await asyncio.to_thread(_read_folder, folder)
        await self._store.trust(name, digest or project.files.digest)

    async def untrust(self, folder: Path) -> None:
        await self._store.trust(await self.name_of(folder), "")

    async def name_of(self, folder: Path | None) -> str:
        """The name under which a folder's rules are kept; empty for rules that count everywhere."""
        return "" if folder is None else str(await asyncio.to_thread(folder.resolve))


def parse_rule(text: str, tools: Collection[str], verdict: Verdict = "allow") -> Rule:
    """Parse a typed rule for one of ``tools``; raises ConfigurationError."""
    try:
        rule = Rule.parse(text, verdict)
    except ValueError as error:
        raise ConfigurationError(str(error)) from error
    of_server = SERVER_SIGN in rule.tool  # which may be switched off now
    if rule.tool not in ("*", NETWORK) and rule.tool not in tools and not of_server:
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
        self._policies = WeakSet[Policy]()
        """Those of the running turns: the chat's own, and its children's."""
        self._looking = asyncio.Lock()
        self.known: Sequence[Rule] = []
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
            found = [one.rule for one in await self.list()]
            if found == self.known:
                return
            self.known = found
            for policy in self._policies:
                policy.replace_layer("session", found)

    def attach(self, policy: Policy) -> None:
        """Apply later changes to the policy of a turn too; it already has the known rules."""
        self._policies.add(policy)

    def apply(self, rule: Rule) -> None:
        """Let the running turns know a standing rule that the person gave just now."""
        for policy in self._policies:
            policy.add("person", rule)

    async def _must_have(self, rule_id: int, *, known: bool) -> None:
        await self.refresh()  # another program may have removed it
        if not known:
            raise ConfigurationError(f"There is no rule {rule_id} in this chat.")


@dataclass(frozen=True, slots=True)
class TrustOffer:
    """What a person is asked to trust: files in one state, and what these would bring."""

    digest: str
    effects: tuple[str, ...]
    prose: str = ""
    """What agents would be told, file by file (K-3)."""


def trust_offer(files: FolderFiles, agents: Agents, hooks: Sequence[Hook] = ()) -> TrustOffer:
    """``agents`` and ``hooks`` are those of the folder if it is trusted."""
    allowed = [str(rule) for rule in _rules(files.permissions or b"")[0] if rule.verdict == "allow"]
    own = [one for one in agents.by_name.values() if one.origin == "folder"]
    effects = [f"Allows without asking you: {', '.join(allowed)}."] if allowed else []
    if files.prose:
        effects.append(f"Agents follow what is in {', '.join(files.prose)}.")
    effects += servers_brought(files)
    effects += [
        f"Offers a hook for {one.event}, off until you switch it on: {one.command}"
        for one in hooks
        if one.place == "folder" and one.state != "never"
    ]
    for check in _checks(files.checks or b"")[0]:
        effects.append(f"Runs after changes of {check.glob}, in the sandbox: {check.command}")
    effects += [_effect(one, replaced=one.name in agents.replaced) for one in own]
    shown = [escape_line(one) for one in effects[:MOST_EFFECTS]]
    if len(effects) > MOST_EFFECTS:
        shown.append(f"And {len(effects) - MOST_EFFECTS} agents more.")
    return TrustOffer(files.digest, tuple(shown))


def servers_brought(files: FolderFiles) -> list[str]:
    """What the servers of a folder run, or where they are; each waits for its own switch."""
    return [
        f"Offers the MCP server {entry.name}, off until you switch it on: {entry.shown}"
        for path, data in files.servers
        for entry in parse_entries(data.decode("utf-8-sig", "replace"), str(path)).by_name.values()
    ]


def _effect(agent: Agent, *, replaced: bool) -> str:
    """What an agent of a folder does with trust."""
    allowed = ", ".join(str(rule) for rule in agent.permissions if rule.verdict == "allow")
    model = "/".join(filter(None, (agent.provider, agent.model)))
    model = ", else on ".join(filter(None, (model, *agent.fallback)))
    facts = (
        "takes the place of the one you have" if replaced else "",
        f"begins chats on {model}" if model else "",
        f"may start {', '.join(agent.agents)}" if agent.agents else "",
        f"allows without asking you: {allowed}" if allowed else "",
    )
    told = "; ".join(filter(None, facts)) or "can be chosen"
    return f"Agent {agent.name}: {told}."


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """The rules in a folder's files; ``problem`` says what is wrong with them."""

    files: FolderFiles
    rules: tuple[Rule, ...]
    problem: str = ""
    checks: tuple[EditCheck, ...] = ()


def read_project(folder: Path) -> ProjectRules:
    """Reads the disk; what is wrong with a file is in ``problem``."""
    files = read_folder_files(folder)
    rules, problem = _rules(files.permissions or b"")
    checks, wrong = _checks(files.checks or b"")
    told = [
        escape_line(f"{folder / place}: {text}")
        for place, text in ((PROJECT_PERMISSIONS, problem), (PROJECT_CHECKS, wrong))
        if text
    ]
    return ProjectRules(files, rules, "\n".join(told), checks)


@lru_cache(maxsize=16)  # every turn reads them, and to parse many takes seconds
def _rules(data: bytes) -> tuple[tuple[Rule, ...], str]:
    """The rules in a file, or what is wrong with it."""
    if not data:
        return (), ""
    if len(data) > MAX_FILE_BYTES:
        return (), f"the file is larger than {MAX_FILE_BYTES:,} bytes"
    try:
        return read_rules(load_yaml(data.decode("utf-8-sig")), "it"), ""
    except UnicodeDecodeError:
        return (), "this is not UTF-8 text"
    except ValueError as error:
        return (), str(error)


@lru_cache(maxsize=16)
def _checks(data: bytes) -> tuple[tuple[EditCheck, ...], str]:
    """The checks in a file, or what is wrong with it."""
    if len(data) > MAX_FILE_BYTES:
        return (), f"the file is larger than {MAX_FILE_BYTES:,} bytes"
    try:
        return (read_checks(load_yaml(data.decode("utf-8-sig"))) if data else ()), ""
    except UnicodeDecodeError:
        return (), "this is not UTF-8 text"
    except ValueError as error:
        return (), str(error)


def _read_folder(folder: Path) -> tuple[str, ProjectRules]:
    """The name under which a folder is known, and what its files say."""
    project = read_project(folder)
    return project.files.place, project


def _trust(known: str, project: ProjectRules) -> Trust:
    """``known`` is the digest of the files that the person trusted; empty if none."""
    if not known:
        return "nothing" if project.files.empty else "untrusted"
    return "trusted" if known == project.files.digest else "changed"
