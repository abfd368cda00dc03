"""The Permissions page: what agents may do without asking, and where (T-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QMessageBox, QWidget

from studio.agent.permission.rules import PERMISSIONS, Trust
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, ToolStarted
from studio.domain.permissions import Rule, Verdict
from studio.storage.config.permission_rules import StandingRule
from studio.tools import Tool
from studio.ui.chat.dialogs import trust_box
from studio.ui.chat.model.session_options import PERMISSION_MODES
from studio.ui.formatting import short_path
from studio.ui.settings.form import FormCard, SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.settings.rule_list import CHAT, EVERYWHERE, ListedRule, RuleList, scope_text
from studio.ui.settings.rule_tester import RuleTester
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Combo, MenuItem, Segmented, Tag, Toggle


@dataclass(frozen=True, slots=True)
class ToolGroup:
    """``usual`` is what becomes of a call where no rule speaks; ``drafts`` are approved later."""

    title: str
    icon: str
    tools: tuple[str, ...]
    usual: Verdict
    drafts: bool = False


_GROUPS = (
    ToolGroup("Read files", "file-text", ("read", "list", "glob", "search"), "allow"),
    ToolGroup("Search the web", "search", ("web_search",), "ask"),
    ToolGroup("Fetch pages", "globe", ("fetch",), "ask"),
    ToolGroup("Run commands", "terminal", ("run",), "ask"),
    ToolGroup("Write files", "file-pen", ("write", "edit", "move"), "ask", drafts=True),
    ToolGroup("Delete files", "trash-2", ("delete",), "ask", drafts=True),
    ToolGroup("Keep notes", "feather", ("remember",), "ask"),
    ToolGroup("Read notes", "files", ("notes_read", "notes_detail"), "allow"),
)
_NEVER_ASKED = ("ask",)
"""Asking the person is not a thing to ask about."""


def tool_groups(tools: Mapping[str, Tool]) -> list[ToolGroup]:
    """Those that are there, and each tool of the person's own by its name."""
    listed = {name for kind in _GROUPS for name in kind.tools} | set(_NEVER_ASKED)
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
    return [kind for kind in _GROUPS if any(name in tools for name in kind.tools)] + own


VERDICTS: tuple[tuple[Verdict, str], ...] = (("allow", "Allow"), ("ask", "Ask"), ("deny", "Never"))
TRUST: dict[Trust, str] = {
    "nothing": "It has no rules or agents of its own any more.",
    "untrusted": "Its own rules can only forbid, and its agents cannot widen rights.",
    "changed": "Its files changed since you trusted it, so they cannot widen rights.",
    "trusted": "Its own rules and agents count until their files change.",
}


class PermissionsPage(SettingsPage):
    """Changes apply at once; ``changed`` comes after one of the settings, to have it saved.

    The rules of the chat that is open are listed too, and those of its folder.
    """

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme,
            "Permissions",
            "What agents may do without asking. Never always wins, and rules of a folder or "
            "chat come before those for everywhere.",
        )
        engine, tasks, chat = services.engine, services.tasks, services.chat
        self._engine, self._tasks, self._chat = engine, tasks, chat
        self._standing: Sequence[StandingRule] = ()
        self._looks = 0
        self._choosing = asyncio.Lock()
        self._question: QMessageBox | None = None
        self.folders: dict[str, Button] = {}
        """The button of each folder that is listed."""
        self.tools: dict[str, Segmented] = {}
        """The segments by the title of the kind of tool."""
        self._tags: dict[str, Tag] = {}
        first = FormCard(theme)
        self.mode = Combo(theme, "Mode", width=200)
        self.mode.set_items(
            [MenuItem(key, text, detail=d) for key, (text, d) in PERMISSION_MODES.items()]
        )
        self.mode.chosen.connect(self._mode_chosen)
        first.add("Mode", self.mode, "Used by every new chat.")
        self.sandbox = Toggle(theme, "Run commands in a sandbox")
        self.sandbox.toggled.connect(self._sandbox_set)
        self.confined = first.add("Run commands in a sandbox", self.sandbox, " ")
        self.column.addWidget(first)
        self._folders, self._tools = Slot(), Slot()
        self.add_group("Folders with rules or agents of their own", self._folders)
        self.add_group("Tools", self._tools)
        self.standing = RuleList(theme, engine, tasks, self._look)
        self.column.addWidget(self.standing)
        self.tryout = RuleTester(theme, engine, tasks, lambda: chat.session)
        self.add_group("What would happen if…", self.tryout)
        self.column.addStretch(1)
        chat.opened.connect(self._look_again)
        chat.option_chosen.connect(self._look_again)
        chat.event_seen.connect(self._heard)

    def _look_again(self) -> None:
        if self.isVisible():
            self._tasks.start(self._look())

    def _heard(self, event: Event) -> None:
        if isinstance(event, ToolStarted):  # the person may have answered with a rule
            self._look_again()

    def refresh(self) -> None:
        values = self._engine.settings.values
        self.mode.set_current(values.default_permission_mode)
        self.sandbox.show_value(values.sandbox)
        self._tasks.start(self._look())
        self._tasks.start(self._look_at_sandbox())

    async def _look(self) -> None:
        """Show rules and folders as they are now; of several looks the last begun is shown."""
        self._looks += 1
        number, session = self._looks, self._chat.session
        standing = await self._engine.rules.list()
        trust: dict[str, Trust] = {}
        known = [*self._engine.settings.values.recent_folders, *await self._engine.rules.folders()]
        trusted = set(await self._engine.rules.folders())
        for folder in dict.fromkeys(known):
            found = await self._engine.rules.trusted(Path(folder))
            if found != "nothing" or folder in trusted:
                trust[folder] = found
        of_chat = await session.rules.list() if session else []
        of_files = await self._of_files()
        if number != self._looks:
            return
        self._standing = standing
        kinds = tool_groups(self._engine.tools())
        self._fill_folders(trust)
        self._fill_tools(kinds)
        shown = {name for kind in kinds for name in kind.tools}
        listed = [
            ListedRule(one.rule, scope_text(one), one.folder or EVERYWHERE, one.id)
            for one in self._standing
            if one.folder or one.rule.pattern != "*" or one.rule.tool not in shown
        ]
        listed += [ListedRule(one.rule, "In this chat", CHAT, one.id) for one in of_chat]
        self.standing.fill([*listed, *of_files], session.rules if session else None)
        self.tryout.try_again()

    async def _of_files(self) -> list[ListedRule]:
        """What the files of the open chat's folder and agent say."""
        if not self._chat.model.options.folder:
            return []
        folder, name = Path(self._chat.model.options.folder), self._chat.model.options.agent
        layers = await self._engine.rules.layers(folder)
        own = [
            ListedRule(r, f"From {PERMISSIONS.as_posix()}") for r in layers.rules.get("project", ())
        ]
        try:
            agent = await self._engine.agent(name, folder, layers.trust)
        except ConfigurationError:  # it is gone; the chat says so
            return own
        return [*own, *(ListedRule(rule, f"From the agent {name}") for rule in agent.permissions)]

    async def _look_at_sandbox(self) -> None:
        sandbox = await self._engine.sandbox()
        told = "Commands change nothing outside the folder, and have no network unless allowed."
        self.confined.setText(sandbox.reason or (told if sandbox.kind != "none" else sandbox.label))

    # Mode and sandbox

    def _mode_chosen(self, mode: str) -> None:
        self._engine.settings.values.default_permission_mode = next(
            k for k in PERMISSION_MODES if k == mode
        )
        self.changed.emit()

    def _sandbox_set(self, on: bool) -> None:
        self._engine.settings.values.sandbox = on
        self.changed.emit()
        self._tasks.start(self._look_at_sandbox())

    # Folders

    def _fill_folders(self, trust: dict[str, Trust]) -> None:
        self.folders = {}
        rows = FormCard(self.theme)
        for folder, how in trust.items():
            stops = how in ("trusted", "nothing")
            button = Button(self.theme, "Stop trusting" if stops else "Trust…")
            if stops:
                button.clicked.connect(lambda _on=False, one=folder: self._untrust(one))
            else:
                button.clicked.connect(lambda _on=False, one=folder: self._ask(one))
            button.setAccessibleName(f"{button.text().removesuffix('…')} {folder}")
            rows.add(short_path(folder), button, TRUST[how])
            self.folders[folder] = button
        if not trust:
            rows.add_text(
                "None so far. Rules in .agents/permissions.yaml and agents in .agents/agents "
                "can widen rights only in a folder you trust."
            )
        self._folders.put(rows)

    def _ask(self, folder: str) -> None:
        box = self._question = trust_box(self, folder)
        box.accepted.connect(lambda: self._tasks.start(self._trust(folder)))
        box.open()

    async def _trust(self, folder: str) -> None:
        await self._engine.rules.trust(Path(folder))
        await self._look()

    def _untrust(self, folder: str) -> None:
        async def work() -> None:
            await self._engine.rules.untrust(Path(folder))
            await self._look()

        self._tasks.start(work())

    # Tools

    def _fill_tools(self, kinds: Sequence[ToolGroup]) -> None:
        if list(self.tools) != [kind.title for kind in kinds]:
            self.tools, self._tags = {}, {}
            rows = FormCard(self.theme)
            for kind in kinds:
                verdicts = [(words, None) for _, words in VERDICTS]
                segments = Segmented(self.theme, verdicts, name=kind.title)
                segments.chosen.connect(lambda at, kind=kind: self._chosen(kind, VERDICTS[at][0]))
                beside = QWidget()
                row = QHBoxLayout(beside)
                row.setContentsMargins(0, 0, 0, 0)
                row.setSpacing(12)
                if kind.drafts:
                    tag = self._tags[kind.title] = Tag(self.theme, "Draft first")
                    row.addWidget(tag, 0, Qt.AlignmentFlag.AlignVCenter)
                row.addWidget(segments)
                rows.add(kind.title, beside, icon=kind.icon)
                self.tools[kind.title] = segments
            self._tools.put(rows)
        for kind in kinds:
            verdict = self._verdict(kind)
            at = next(n for n, (one, _) in enumerate(VERDICTS) if one == verdict)
            self.tools[kind.title].set_current(at)
            if (tag := self._tags.get(kind.title)) is not None:
                words = {"allow": "Written at once", "ask": "Draft first", "deny": "Refused"}
                tag.set(words[verdict], "warn" if verdict == "allow" else "neutral")

    def _verdict(self, kind: ToolGroup) -> Verdict:
        """What the rules for everywhere say; the strictest where its tools differ."""
        order: tuple[Verdict, ...] = ("allow", "ask", "deny")
        said: dict[str, Verdict] = {name: kind.usual for name in kind.tools}
        for one in self._whole(kind):
            both: tuple[Verdict, Verdict] = one.rule.verdict, said[one.rule.tool]
            said[one.rule.tool] = max(both, key=order.index)
            if one.rule.verdict == "allow" and kind.usual == "ask":
                said[one.rule.tool] = "allow"
        return max(said.values(), key=order.index)

    def _whole(self, kind: ToolGroup) -> list[StandingRule]:
        return [
            one
            for one in self._standing
            if not one.folder and one.rule.pattern == "*" and one.rule.tool in kind.tools
        ]

    def _chosen(self, kind: ToolGroup, verdict: Verdict) -> None:
        async def work() -> None:
            async with self._choosing:  # one choice after the other: the last one counts
                if verdict != kind.usual:
                    for name in kind.tools:
                        await self._engine.rules.add(Rule(verdict, name))
                self._standing = await self._engine.rules.list()
                for one in self._whole(kind):
                    if one.rule.verdict != verdict or verdict == kind.usual:
                        await self._engine.rules.remove(one.id)
            await self._look()

        self._tasks.start(work())
