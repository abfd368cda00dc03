"""The Agents page: a list, the chosen agent's file, and its properties (T-6, W-11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QAccessible,
    QDesktopServices,
)
from PySide6.QtWidgets import QMenu, QStackedWidget

from studio.agent.agent_files.edit import add_item, remove_item, set_value
from studio.agent.agent_files.finder import agent_template
from studio.agent.agent_files.foreign import own_text, stem_of
from studio.agent.agent_files.keys import json_schema
from studio.agent.agent_files.library import AgentLibrary
from studio.agent.agent_files.name_check import check_agent
from studio.agent.agent_files.parser import AgentText
from studio.agent.engine import Engine
from studio.agent.folder_files import PROJECT_AGENTS
from studio.agent.servers.server_tools import has_tool
from studio.domain.agents import OWN_TOOLS, Agent, Mode
from studio.domain.errors import StudioError
from studio.domain.jsonvalue import JsonObject
from studio.domain.workflows import Budget
from studio.tools import Tool
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.files.document import FileDocument
from studio.ui.pages.files.model_items import model_items, model_names
from studio.ui.pages.files.page import FilesPage, FileWords
from studio.ui.pages.files.row import FileRow
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Hairline,
    IconButton,
    MenuItem,
    Segmented,
    fill_menu,
    message_box,
)
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.roles import give_role
from studio.workflows.missions.mission_files import text_of_agent, with_mission
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns

from .agent_rows import AgentIndex
from .agent_users import AgentUser, users_of
from .columns import Columns
from .mission_form import MissionForm
from .preview import Preview
from .properties import Properties
from .tool_rows import agent_of, usual_verdict
from .try_chat import TryChat
from .try_pair import TryPair

WEEK = 7 * 24 * 3600.0
"""Seconds."""


class AgentsPage(FilesPage[AgentText]):
    """The text of an agent's file, its properties beside it, or a chat with it."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        library = AgentLibrary(engine.paths.agents, engine.paths.data)
        words = FileWords(
            tr("Agents"), tr("New agent"), tr("All agents"), tr("Text of the agent’s file")
        )
        super().__init__(theme, engine, run, library, AgentText, words)
        servers = engine.services.servers.names
        self.index = AgentIndex(library, engine.paths, sorted(engine.tools()), servers)
        self.try_pair: TryPair | None = None
        """None until it was first wanted."""
        self.preview: Preview | None = None
        self._served: dict[str, Tool] = {}
        """The tools of servers, also of the chat's folder."""
        self._make_centre()
        self._make_panel()
        self.columns = Columns(theme, self, self.listed, self.centre, self.properties)
        self._add_key("Ctrl+D", self.duplicate)
        self._follow()

    @property
    def agent_name(self) -> str:
        """The name of the agent whose file is open."""
        stem = stem_of(self.document.path) if self.document else ""
        return str(self.file.checked.values.get("name", stem))

    @property
    def agent_look(self) -> tuple[str, str]:
        """Its icon and hue."""
        values = self.file.checked.values
        return str(values.get("icon", "sparkle")), str(values.get("hue", "slate"))

    def _check(self, path: Path, text: str) -> AgentText:
        return check_agent(text, self.index.known(path), path)

    @property
    def _schema(self) -> JsonObject:
        return json_schema()

    def _known_names(self) -> Mapping[str, Collection[str]]:
        known = self.index.known(self.document.path if self.document else Path())
        return {
            **dict.fromkeys(("agent", "agents"), known.agents),
            **dict.fromkeys(("tools", "allow", "ask", "deny"), known.tools),
            "model": model_names(self._engine),
            "provider": known.providers,
            "icon": known.icons,
            "servers": known.servers or (),
        }

    # -- its parts ------------------------------------------------------------------------

    def _make_centre(self) -> None:
        t = self._theme
        self.which = Segmented(
            t, [tr("Edit"), tr("Preview")], name=tr("View"), icons=("pencil", "eye")
        )
        self.which.chosen.connect(lambda _: self._show_view())
        self.try_it = Button(t, tr("Try it"), icon="play", clicked=self.try_agent)
        self.mission_button = Button(
            t, tr("Mission…"), "ghost", "list-todo", clicked=self.ask_mission
        )
        self.panel_button = IconButton(
            t, "panel-right", tr("Properties"), clicked=self._toggle_panel
        )
        self._make_head(
            [
                self.which,
                self.mission_button,
                self.try_it,
                self.save_button,
                self.copy_button,
                self.panel_button,
            ],
            folding=(self.mission_button, self.try_it, self.copy_button, self.which),
        )
        self.mission_form = MissionForm(t)
        self.mission_form.started.connect(lambda *of: self._run(self._start_mission(*of)))
        self.views = QStackedWidget()
        give_role(self.views, QAccessible.Role.Client)
        self.views.addWidget(self.editor)
        column_of(
            [
                self._head,
                Hairline(t),
                self.mission_form,
                self.notice,
                (self.views, 1),
                self.foot,
            ],
            spacing=0,
            on=self.centre,
        )

    def _make_panel(self) -> None:
        specs = [tool.spec for tool in self._engine.tools().values()]
        order = {"read": 0, "fetch": 1, "draft": 2, "note": 3, "act": 4}
        specs.sort(key=lambda spec: (order[spec.effect], spec.name))
        self.properties = Properties(self._theme, specs)
        self.properties.values_changed.connect(self._set_values)
        self.properties.tool_changed.connect(self._set_tool)
        self.properties.user_wanted.connect(self._open_user)
        self.properties.more.clicked.connect(self._ask_more)

    def _place(self) -> None:
        columns = self.columns
        columns.chats = 2 if self.try_pair is not None and self.try_pair.is_pair else 1
        columns.place(list_wanted=self.list_wanted)
        self.list_button.setVisible(not columns.list_fits)
        self.panel_button.setVisible(columns.chat is None)
        words = tr("Hide properties") if columns.side_shown else tr("Properties")
        self.panel_button.set_tooltip(words)

    def _toggle_panel(self) -> None:
        self.columns.panel_wanted = not self.columns.side_shown
        self._place()

    # -- the list ---------------------------------------------------------------------------

    def open(self, *target: str) -> None:
        """``target`` may be the name of an agent; after ``mission`` the agent is given one."""
        if target[:1] == ("mission",):
            self._run(self._load_and_ask(*target[1:2]))
            return
        self.gallery.setFocus()
        self._run(self._load(name=target[0] if target else ""))

    async def _rows(self, folder: Path | None) -> list[FileRow]:
        found = await self._engine.agents(folder)
        agents = {Path(one.source): one for one in found.by_name.values()}
        rows = await asyncio.to_thread(self.index.rows, agents, folder)
        self.names = {path: one.name for path, one in agents.items()}
        self._served = await self._engine.services.served_in(folder)
        self.properties.show_servers(tool.spec for tool in self._served.values())
        return rows

    def _show_text(self) -> None:
        self.which.set_current(0)
        self._show_view()

    def _enter(self) -> None:
        self._show_text()
        self.editor.setFocus()

    # -- the file ---------------------------------------------------------------------------

    def _show_nothing(self, row: FileRow) -> None:
        self.properties.show_values(AgentText(), row.name, (), {}, read_only=True)
        self.properties.show_use(0, 0, "")
        self.properties.show_users(())
        self.try_it.hide()
        self.mission_button.hide()
        self.mission_form.hide()

    async def _opened(self) -> None:
        self.mission_form.hide()
        await self._show_use()
        await self._show_users()
        if self.columns.chat is not None and self.try_chat is not None:
            self.try_chat.begin(self.agent_name, self.agent_look)

    async def _show_use(self) -> None:
        """Show what the agent used in the last week."""
        from studio.agent.usage_costs import UsageTotal, format_dollars

        name = self.agent_name
        sums = await self._engine.usage_costs.spent("agent", since=time.time() - WEEK)
        if name == self.agent_name:
            used = sums.get(name, UsageTotal())
            cost = tr_engine(format_dollars(used.cost))
            if used.estimate and cost:
                cost = tr("{amount}, estimate").format(amount=cost)
            self.properties.show_use(used.requests, used.usage.total, cost)

    async def _show_users(self) -> None:
        """Show which workflows and agents name the agent."""
        from studio.workflows.workflow_files import find_workflows

        name, packs = self.agent_name, self._engine.services.sources.pack_places
        agents = self.index.agents.values()
        found = await asyncio.to_thread(find_workflows, self._engine.paths, self._folder, packs)
        if name == self.agent_name:
            self.properties.show_users(users_of(name, agents, found))

    def _open_user(self, user: AgentUser) -> None:
        if user.page == "agents":
            self._run(self._load(name=user.name))
        else:
            self.page_wanted.emit(user.page, user.name, "")

    def _show_contents(self, document: FileDocument) -> None:
        found = self.file.checked
        wanted = found.values.get("mode")
        mode: Mode = "inline" if wanted == "inline" else "background"
        mode = "long" if wanted == "long" else mode
        limits = self._engine.limits(Agent("x"), mode)
        usual = {"steps": limits.steps, "seconds": limits.seconds, "children": 8, "depth": 2}
        name, read_only = document.path.stem, document.read_only
        self.properties.show_values(
            found, name, model_items(self._engine), usual, read_only=read_only
        )
        if self.which.current == 1 and self.preview is not None:
            self.preview.show_agent(found, name)

    def _show_state(self) -> None:
        super()._show_state()
        if self.document is not None:
            self.try_it.show()
            self.mission_button.show()
            words = tr("Convert") if self.document.foreign else tr("Duplicate")
            self.copy_button.set_text(words)

    def _whose(self, document: FileDocument) -> tuple[str, bool]:
        if document.origin == "folder" and not self.index.trusts(document.path):
            words = tr(
                "From a folder that you do not trust: its words count as a stranger’s, and it "
                "chooses no provider, model or effort."
            )
            return words, True
        if document.foreign:
            words = tr("Written for another program, and never changed here. Convert copies it.")
            return words, False
        return super()._whose(document)

    def _show_view(self) -> None:
        if self.which.current == 1:
            if self.preview is None:
                self.preview = Preview(self._theme)
                self.views.addWidget(self.preview)
            self.preview.show_agent(self.file.checked, self.agent_name)
            self.views.setCurrentWidget(self.preview)
        else:
            self.views.setCurrentWidget(self.editor)

    # -- properties -------------------------------------------------------------------------

    def _set_values(self, values: dict[str, Any]) -> None:
        def change(text: str) -> str:
            for key, value in values.items():
                text = set_value(text, key, value).apply(text)
            return text

        self._run(self.file.rewrite(change))

    def _set_tool(self, name: str, verdict: str) -> None:
        tools = self._engine.tools()
        tool = tools.get(name) or self._served.get(name)
        if tool is None:  # it was switched off meanwhile
            return
        spec, values = tool.spec, self.file.checked.values
        named = list(values.get("tools", ("*",)))
        if spec.server:  # whether it has the tool by more than its name
            own = has_tool(agent_of(values, without=name), spec)
        else:
            own = not tool.built_in and OWN_TOOLS in named

        def change(text: str) -> str:
            if verdict == "off":
                if "*" in named and not spec.server:
                    left = [one for one in sorted(tools) if one != name]
                    text = set_value(text, "tools", left).apply(text)
                    keeps = self._served and "servers" not in values  # it had those of all
                    return set_value(text, "servers", ["*"]).apply(text) if keeps else text
                if own:
                    return add_item(text, ("permissions", "deny"), name).apply(text)
                return remove_item(text, ("tools",), name).apply(text)
            has = own or name in named or ("*" in named and not spec.server)
            if not has and "tools" in values:
                text = add_item(text, ("tools",), name).apply(text)
            elif not has:
                text = set_value(text, "tools", [*named, name]).apply(text)
            for rule in values.get("permissions", ()):
                if rule.tool == name and rule.pattern == "*" and rule.verdict != verdict:
                    text = remove_item(text, ("permissions", rule.verdict), name).apply(text)
            there = any(
                rule.tool == name and rule.pattern == "*" and rule.verdict == verdict
                for rule in values.get("permissions", ())
            )
            if verdict != usual_verdict(spec) and not there:
                text = add_item(text, ("permissions", verdict), name).apply(text)
            return text

        self._run(self.file.rewrite(change))

    # -- new, duplicate, bin ----------------------------------------------------------------

    def _blank(self, name: str) -> str:
        return agent_template(name)

    def _begin(self) -> None:
        """Its name is ready to be typed."""
        self.properties.begin()

    def duplicate(self) -> None:
        document = self.document
        if document is None:
            return
        if document.origin == "folder" and not self.index.trusts(document.path):
            more = tr(
                "Its file then counts as yours: what it allows itself is allowed, and it may "
                "choose a model. Read it first."
            )
            title = tr("Copy a stranger’s agent?")
            box = message_box(self, title, title, more)
            yes = box.addButton(tr("Copy"), box.ButtonRole.AcceptRole)
            box.setDefaultButton(box.addButton(box.StandardButton.Cancel))
            yes.clicked.connect(lambda: self._run(self._duplicate(document)))
            box.open()
        else:
            self._run(self._duplicate(document))

    async def _duplicate(self, document: FileDocument) -> None:
        """A shipped agent keeps its name: the copy replaces it."""
        text, name = document.text, self.agent_name
        if document.foreign:
            found = self.file.checked
            text = own_text(name, found.values, found.prompt)
        if document.foreign and document.origin == "folder":  # its own place counts before this
            await self._add(name, text, document.path.parents[2] / PROJECT_AGENTS)
            return
        if document.origin != "shipped":
            name = self._free_name(tr("{name} copy").format(name=name))
            text = await asyncio.to_thread(lambda: set_value(text, "name", name).apply(text))
        await self._add(name, text)

    async def _discard(self, document: FileDocument, name: str) -> None:
        if not self.file.is_checked:
            await self.file.check()
        await super()._discard(document, self.agent_name)

    def _ask_more(self) -> None:
        document = self.document
        if document is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        items = [
            MenuItem("duplicate", tr("Duplicate"), "copy", "Ctrl+D"),
            MenuItem("folder", tr("Open its folder"), "folder-open"),
            MenuItem("", ""),
            MenuItem("discard", tr("Move to the trash"), "trash-2", enabled=not document.read_only),
        ]
        does: dict[str, Callable[[], object]] = {
            "duplicate": self.duplicate,
            "discard": self.discard,
            "folder": lambda: QDesktopServices.openUrl(
                QUrl.fromLocalFile(str(document.path.parent))
            ),
        }

        def choose(key: str) -> None:
            does[key]()

        fill_menu(menu, self._theme, items, choose)
        button = self.properties.more
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    # -- a mission --------------------------------------------------------------------------

    def ask_mission(self) -> None:
        """Ask for a mission of the agent, whose file is saved."""
        self._run(self._ask_mission())

    async def _load_and_ask(self, name: str) -> None:
        await self._load(name=name)
        await self._ask_mission()

    async def _ask_mission(self) -> None:
        if self.document is not None and (self.document.read_only or await self._save()):
            found = (await self._engine.agents(self._folder)).by_name
            if self.agent_name in found:
                self.mission_form.ask(found[self.agent_name])

    async def _start_mission(self, mission: str, checks: list[JsonObject], budget: Budget) -> None:
        """Begin a mission of the agent; its page goes on with it."""
        folder = self._folder or await asyncio.to_thread(self._engine.own_folder)
        runs, agents = WorkflowRuns(self._engine), await self._engine.agents(self._folder)
        try:
            agent = agents.named(self.agent_name)
            given, source = with_mission(agent, mission, checks, budget), Path(agent.source)
            runner = await runs.start_text(text_of_agent(given), source, folder, RunOptions({}))
        except StudioError as error:
            self.mission_form.show_error(tr_engine(str(error)))
            return
        await runs.close(runner)
        self.mission_form.hide()
        self.page_wanted.emit("workflows", "resume", runner.run.id)

    # -- try it -----------------------------------------------------------------------------

    @property
    def try_chat(self) -> TryChat | None:
        """The chat with the agent whose file is open; None until it was first wanted."""
        return self.try_pair.first if self.try_pair is not None else None

    def try_agent(self) -> None:
        self._run(self._try())

    async def _try(self) -> None:
        """Save, and open a chat with the agent beside its file."""
        if self.chat is None or not await self._save():
            return
        if self.try_pair is None:
            self.try_pair = pair = TryPair(self._theme, self._engine, self.chat, self._run)
            pair.setParent(self)
            pair.resized.connect(self._place)
            pair.first.closed.connect(self._close_try)
            for chat in (pair.first, pair.second):
                chat.open_wanted.connect(self.open_wanted)
        pair = self.try_pair
        self.columns.chat = pair
        pair.first.begin(self.agent_name, self.agent_look)
        self._place()
        pair.setFocus()
        found = await self._engine.agents(Path(self.chat.options.folder or Path.home()))
        pair.show_agents([found.by_name[name] for name in sorted(found.by_name)])

    def _close_try(self) -> None:
        if self.try_pair is not None:
            self.try_pair.close_second()
            self.try_pair.hide()
        self.columns.chat = None
        self._place()
        self.editor.setFocus()

    async def finish(self) -> None:
        await super().finish()
        if self.try_pair is not None:
            await self.try_pair.finish()
