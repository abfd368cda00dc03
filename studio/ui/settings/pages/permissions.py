"""The Permissions page: mode, sandbox, trusted folders, tools and rules (T-7).

The list of rules and their tester are in ``permission_rules``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox

from studio.agent.folder_files import PROJECT_PERMISSIONS
from studio.agent.permission.rules import Trust, TrustOffer
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, ToolStarted
from studio.domain.permissions import Rule, Verdict
from studio.domain.server_names import SERVER_SIGN, server_prefix
from studio.domain.tools import BOARD_TOOLS, CHILD_TOOLS
from studio.storage.config.permission_rules import StandingRule
from studio.tools import Tool
from studio.ui.chat.dialogs import trust_box
from studio.ui.chat.model.session_options import PERMISSION_MODES
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.settings.form import FormCard, SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import Button, Combo, MenuItem, Segmented, Tag, Toggle
from studio.ui.widgets.layouts import row_of, widget_of

from .permission_rules import (
    CHAT,
    EVERYWHERE,
    RULE_VERDICTS,
    ListedRule,
    RuleList,
    RuleTester,
    scope_text,
)


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """Tools that one row sets the rules of.

    ``default`` is the verdict where no rule applies. ``drafts`` says that their calls make
    drafts, which are approved later.
    """

    title: str
    icon: str
    tools: tuple[str, ...]
    default: Verdict
    drafts: bool = False
    proposes: bool = False
    """Whether what its calls keep waits for the person, so that nobody is asked before."""


_GROUPS = (
    ToolGroup(
        tr_later("Read files"), "file-text", ("read", "list", "glob", "search", "outline"), "allow"
    ),
    ToolGroup(tr_later("Search the web"), "search", ("web_search",), "ask"),
    ToolGroup(tr_later("Fetch pages"), "globe", ("fetch",), "ask"),
    ToolGroup(tr_later("Run commands"), "terminal", ("run", "job"), "ask"),
    ToolGroup(
        tr_later("Write files"), "file-pen-line", ("write", "edit", "move"), "ask", drafts=True
    ),
    ToolGroup(tr_later("Delete files"), "trash-2", ("delete",), "ask", drafts=True),
    ToolGroup(tr_later("Keep notes"), "feather", ("remember", "memory"), "ask", proposes=True),
    ToolGroup(tr_later("Read notes"), "files", ("notes_read", "notes_detail", "recall"), "allow"),
    ToolGroup(tr_later("Share a board"), "list-todo", BOARD_TOOLS, "allow"),
    ToolGroup(tr_later("Start other agents"), "bot", CHILD_TOOLS, "allow"),
)
_UNLISTED = ("apply_patch", "ask", "plan")
"""Tools without a row: asking and telling the person needs no permission, and for patches the
rules of other tools hold."""


def tool_groups(tools: Mapping[str, Tool]) -> list[ToolGroup]:
    """The groups of the existing tools, and a group for each tool of the person's own."""
    listed = {name for group in _GROUPS for name in group.tools} | set(_UNLISTED)
    own = [
        ToolGroup(
            name.replace("_", " ").capitalize(),
            tool.spec.icon,
            (name,),
            "allow" if tool.spec.effect == "read" else "ask",
            tool.spec.effect == "draft",
        )
        for name, tool in sorted(tools.items())
        if name not in listed
    ]
    return [group for group in _GROUPS if any(name in tools for name in group.tools)] + own


def _consequence(group: ToolGroup, verdict: Verdict) -> str:
    """What becomes of a change or a note of an agent's where this is the verdict."""
    words: dict[Verdict, str] = {
        "allow": tr("Kept at once") if group.proposes else tr("Written at once"),
        "ask": tr("Waits for you") if group.proposes else tr("Draft first"),
        "deny": tr("Refused"),
    }
    return words[verdict]


TRUST: dict[Trust, str] = {
    "nothing": tr_later("It has no rules or agents of its own any more."),
    "untrusted": tr_later("Its own rules can only forbid, and its agents are a stranger’s."),
    "changed": tr_later(
        "Its files changed since you trusted it: a stranger’s until you trust them again."
    ),
    "trusted": tr_later("Its own rules and agents count until their files change."),
}


class PermissionsPage(SettingsPage):
    """The rules of the open chat, of its folder and of its agent are listed too."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            tr("Permissions"),
            tr(
                "What agents may do without asking. Never always wins, and rules of a folder or "
                "chat come before those for everywhere."
            ),
        )
        engine, tasks, chat = services.engine, services.tasks, services.chat
        self._engine, self._tasks, self._chat = engine, tasks, chat
        self._stored: Sequence[StandingRule] = ()
        self._reloads = 0
        self._choosing = asyncio.Lock()
        self._question: QMessageBox | None = None
        self._offers: dict[str, TrustOffer] = {}
        self.folders: dict[str, Button] = {}
        """The button of each folder that is listed."""
        self.tools: dict[str, Segmented] = {}
        """The verdict of each group of tools, by its title."""
        self._tags: dict[str, Tag] = {}
        first = FormCard(theme)
        self.mode = Combo(theme, tr("Mode"), width=200)
        self.mode.set_items(
            [MenuItem(key, tr(text), detail=tr(d)) for key, (text, d) in PERMISSION_MODES.items()]
        )
        self.mode.chosen.connect(self._mode_chosen)
        first.add(tr("Mode"), self.mode, tr("Used by every new chat."))
        self.sandbox = Toggle(theme, tr("Run commands in a sandbox"))
        self.sandbox.toggled.connect(self._sandbox_set)
        self.confined = first.add(tr("Run commands in a sandbox"), self.sandbox, " ")
        self.servers = Toggle(theme, tr("Check edits with language servers"))
        self.servers.toggled.connect(self._servers_set)
        first.add(
            tr("Check edits with language servers"),
            self.servers,
            tr("Those that you have installed, in folders that you trust, in the sandbox."),
        )
        self.column.addWidget(first)
        self._folders, self._tools = Slot(), Slot()
        self.add_group(tr("Folders with rules or agents of their own"), self._folders)
        self.add_group(tr("Tools"), self._tools)
        self.rules = RuleList(theme, engine, tasks, self._reload)
        self.column.addWidget(self.rules)
        self.tester = RuleTester(theme, engine, tasks, lambda: chat.session)
        self.add_group(tr("What would happen if…"), self.tester)
        self.column.addStretch(1)
        chat.opened.connect(self._reload_if_visible)
        chat.option_chosen.connect(self._reload_if_visible)
        chat.event_seen.connect(self._event_seen)

    def _reload_if_visible(self) -> None:
        if self.isVisible():
            self._tasks.start(self._reload())

    def _event_seen(self, event: Event) -> None:
        if isinstance(event, ToolStarted):  # the person may have answered with a rule
            self._reload_if_visible()

    def refresh(self) -> None:
        values = self._engine.settings.values
        self.mode.set_current(values.default_permission_mode)
        self.sandbox.show_value(values.sandbox)
        self.servers.show_value(values.language_servers)
        self._tasks.start(self._reload())
        self._tasks.start(self._show_sandbox())

    async def _reload(self) -> None:
        """Show the current rules and folders; of several reloads the last one started is shown."""
        self._reloads += 1
        number, session = self._reloads, self._chat.session
        stored = await self._engine.rules.list()
        trust: dict[str, Trust] = {}
        offers: dict[str, TrustOffer] = {}
        trusted = await self._engine.rules.folders()
        recent = self._engine.settings.values.recent_folders
        for folder in dict.fromkeys([*recent, *trusted]):
            found = await self._engine.rules.trusted(Path(folder))
            if found != "nothing" or folder in trusted:
                trust[folder] = found
            if found in ("untrusted", "changed"):
                offers[folder] = await self._engine.trust_offer(Path(folder))
        servers = await asyncio.to_thread(self._server_groups)
        of_chat = await session.rules.list() if session else []
        of_files = await self._rules_of_files()
        if number != self._reloads:
            return
        self._stored, self._offers = stored, offers
        groups = [*tool_groups(self._engine.tools()), *servers]
        self._fill_folders(trust)
        self._fill_tools(groups)
        shown = {name for group in groups for name in group.tools}
        listed = [
            ListedRule(one.rule, scope_text(one), one.folder or EVERYWHERE, one.id)
            for one in self._stored
            if one.folder or one.rule.pattern != "*" or one.rule.tool not in shown
        ]
        listed += [ListedRule(one.rule, tr("In this chat"), CHAT, one.id) for one in of_chat]
        self.rules.fill([*listed, *of_files], session.rules if session else None)
        self.tester.try_again()

    def _server_groups(self) -> list[ToolGroup]:
        """A group for all tools of each MCP server that is on (M-13). Blocks."""
        servers = self._engine.services.servers
        found: list[ToolGroup] = []
        for entry in servers.read().by_name.values():
            if entry.runs:
                names = servers.catalogue.known(entry).names.values()
                pattern = f"{server_prefix(entry.name, names)}{SERVER_SIGN}*"
                title = tr("MCP server {name}").format(name=entry.name)
                found.append(ToolGroup(title, "plug", (pattern,), "ask"))
        return found

    async def _rules_of_files(self) -> list[ListedRule]:
        """The rules in the files of the open chat's folder and of its agent."""
        if not self._chat.model.options.folder:
            return []
        folder, name = Path(self._chat.model.options.folder), self._chat.model.options.agent
        layers = await self._engine.rules.layers(folder)
        own = [
            ListedRule(r, tr("From {file}").format(file=PROJECT_PERMISSIONS.as_posix()))
            for r in layers.rules.get("project", ())
        ]
        try:
            agent = await self._engine.agent(name, folder, layers)
        except ConfigurationError:  # it was removed; the chat shows that
            return own
        about = tr("From the agent {name}").format(name=name)
        return [*own, *(ListedRule(rule, about) for rule in agent.permissions)]

    async def _show_sandbox(self) -> None:
        sandbox = await self._engine.sandbox()
        limits = tr(
            "Commands change nothing outside the folder, and have no network unless allowed."
        )
        active = sandbox.kind != "none"
        self.confined.setText(
            tr_engine(sandbox.reason) or (limits if active else tr_engine(sandbox.label))
        )

    # Mode and sandbox

    def _mode_chosen(self, mode: str) -> None:
        self._engine.settings.values.default_permission_mode = next(
            k for k in PERMISSION_MODES if k == mode
        )
        self.changed.emit()

    def _sandbox_set(self, on: bool) -> None:
        self._engine.settings.values.sandbox = on
        self.changed.emit()
        self._tasks.start(self._show_sandbox())

    def _servers_set(self, on: bool) -> None:
        self._engine.settings.values.language_servers = on
        self.changed.emit()

    # Folders

    def _fill_folders(self, trust: dict[str, Trust]) -> None:
        self.folders = {}
        rows = FormCard(self.theme)
        for folder, how in trust.items():
            trusted = how in ("trusted", "nothing")
            button = Button(self.theme, tr("Stop trusting") if trusted else tr("Trust…"))
            action = self._untrust if trusted else self._ask_to_trust
            button.clicked.connect(partial(action, folder))
            button.setAccessibleName(f"{button.text().removesuffix('…')} {folder}")
            rows.add(short_path(folder), button, tr(TRUST[how]))
            self.folders[folder] = button
        if not trust:
            rows.add_text(
                tr(
                    "None so far. Rules in .agents/permissions.yaml and agents in .agents/agents "
                    "can widen rights only in a folder you trust."
                )
            )
        self._folders.put(rows)

    def _ask_to_trust(self, folder: str, _checked: bool = False) -> None:
        offer = self._offers[folder]
        box = self._question = trust_box(self, folder, offer.effects)
        box.accepted.connect(lambda: self._tasks.start(self._trust(folder, offer.digest)))
        box.open()

    async def _trust(self, folder: str, digest: str) -> None:
        await self._engine.rules.trust(Path(folder), digest)
        await self._reload()

    def _untrust(self, folder: str, _checked: bool = False) -> None:
        async def work() -> None:
            await self._engine.rules.untrust(Path(folder))
            await self._reload()

        self._tasks.start(work())

    # Tools

    def _fill_tools(self, groups: Sequence[ToolGroup]) -> None:
        if list(self.tools) != [group.title for group in groups]:
            self.tools, self._tags = {}, {}
            rows = FormCard(self.theme)
            for group in groups:
                verdicts = [tr(words) for _, words in RULE_VERDICTS]
                segments = Segmented(self.theme, verdicts, name=tr(group.title))
                segments.chosen.connect(
                    lambda at, group=group: self._chosen(group, RULE_VERDICTS[at][0])
                )
                beside = row_of([segments], spacing=12)
                if group.drafts or group.proposes:
                    tag = self._tags[group.title] = Tag(self.theme, _consequence(group, "ask"))
                    beside.insertWidget(0, tag, 0, Qt.AlignmentFlag.AlignVCenter)
                rows.add(tr(group.title), widget_of(beside), icon=group.icon)
                self.tools[group.title] = segments
            self._tools.put(rows)
        for group in groups:
            verdict = self._verdict(group)
            at = next(n for n, (one, _) in enumerate(RULE_VERDICTS) if one == verdict)
            self.tools[group.title].set_current(at)
            if (tag := self._tags.get(group.title)) is not None:
                tag.set(_consequence(group, verdict), "warn" if verdict == "allow" else "neutral")

    def _verdict(self, group: ToolGroup) -> Verdict:
        """The verdict of the rules for everywhere; the strictest one where its tools differ."""
        order: tuple[Verdict, ...] = ("allow", "ask", "deny")
        verdicts: dict[str, Verdict] = {name: group.default for name in group.tools}
        for one in self._rules_of_group(group):
            both: tuple[Verdict, Verdict] = one.rule.verdict, verdicts[one.rule.tool]
            verdicts[one.rule.tool] = max(both, key=order.index)
            if one.rule.verdict == "allow" and group.default == "ask":
                verdicts[one.rule.tool] = "allow"
        return max(verdicts.values(), key=order.index)

    def _rules_of_group(self, group: ToolGroup) -> list[StandingRule]:
        return [
            one
            for one in self._stored
            if not one.folder and one.rule.pattern == "*" and one.rule.tool in group.tools
        ]

    def _chosen(self, group: ToolGroup, verdict: Verdict) -> None:
        async def work() -> None:
            async with self._choosing:  # one choice after the other, so that the last one applies
                if verdict != group.default:
                    for name in group.tools:
                        await self._engine.rules.add(Rule(verdict, name))
                self._stored = await self._engine.rules.list()
                for one in self._rules_of_group(group):
                    if one.rule.verdict != verdict or verdict == group.default:
                        await self._engine.rules.remove(one.id)
            await self._reload()

        self._tasks.start(work())
