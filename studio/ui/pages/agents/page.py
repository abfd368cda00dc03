"""The Agents page: a list, the chosen agent's file, and its properties (T-6, W-11)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QAccessible,
    QDesktopServices,
    QKeySequence,
    QResizeEvent,
    QShortcut,
)
from PySide6.QtWidgets import QMenu, QStackedWidget

from studio.agent.agent_check import check_agent
from studio.agent.agent_edit import Edit, add_item, quoted, remove_item, set_value
from studio.agent.agent_files import agent_template
from studio.agent.agent_library import AgentLibrary
from studio.agent.agent_parser import AgentText
from studio.agent.engine import Engine
from studio.agent.folder_files import PROJECT_AGENTS
from studio.agent.foreign_agents import own_text, stem_of
from studio.agent.frontmatter import Problem
from studio.domain.agents import OWN_TOOLS, Agent, Mode
from studio.domain.errors import StudioError
from studio.files.folders import private_folder
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.files.document import FileDocument
from studio.ui.pages.files.editor import FileEditor
from studio.ui.pages.files.foot import Foot
from studio.ui.pages.files.gallery import Gallery
from studio.ui.pages.files.model_items import model_items
from studio.ui.pages.files.notice import Notice, Way
from studio.ui.pages.files.open_file import OpenFile
from studio.ui.pages.files.problem_texts import problem_text
from studio.ui.pages.files.title import FileTitle
from studio.ui.pages.page import Page, Run
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Hairline,
    IconButton,
    Label,
    MenuItem,
    Segmented,
    fill_menu,
    message_box,
)
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.roles import give_role

from .agent_rows import AgentIndex, FileRow
from .columns import Columns
from .preview import Preview
from .properties import Properties, usual_verdict
from .try_chat import TryChat

WEEK = 7 * 24 * 3600.0
"""Seconds."""


class _Column(PaintedWidget):
    ground = "surface"


class AgentsPage(Page):
    """Everything that is written is kept: in the file, or as an unsaved text beside it."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self.library = AgentLibrary(engine.paths.agents, engine.paths.data)
        servers = engine.services.servers.names
        self.index = AgentIndex(self.library, engine.paths, sorted(engine.tools()), servers)
        self.file = OpenFile(
            self.library,
            lambda path, text: check_agent(text, self.index.known(path), path),
            AgentText,
            run,
        )
        self.file.changed.connect(self._show_file)
        self.file.gone.connect(lambda: run(self._load()))
        self.try_chat: TryChat | None = None
        """None until it was first wanted."""
        self.preview: Preview | None = None
        self._deleted: tuple[str, Way] | None = None
        """What was deleted last, in words, and the way back; until something else is done."""
        self._make_list()
        self._make_centre()
        self._make_panel()
        self.columns = Columns(theme, self, self._listed, self._centre, self.properties)
        self.file.replaced.connect(self.editor.replace_text)
        for keys, does in (
            ("Ctrl+S", self.save),
            ("Ctrl+D", self.duplicate),
            ("F8", self._next_problem),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(does)
        theme.changed.connect(self._follow)
        self._follow()

    @property
    def document(self) -> FileDocument | None:
        return self.file.document

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

    # -- its parts ------------------------------------------------------------------------

    def _make_list(self) -> None:
        t = self._theme
        self.gallery = Gallery(t, tr("Agents"))
        self.gallery.chosen.connect(self._choose)
        self.gallery.entered.connect(self._enter)
        self.gallery.delete_wanted.connect(self.discard)
        self.new = IconButton(t, "plus", tr("New agent"), clicked=self._ask_new)
        self._listed = _Column(t)
        self._list_row = row_of([(Label(t, tr("Agents"), "heading"), 1), self.new])
        self._list_head = widget_of(self._list_row)
        parts = [self._list_head, Hairline(t), (self.gallery, 1)]
        column_of(parts, spacing=0, on=self._listed)

    def _make_centre(self) -> None:
        t = self._theme
        self._centre = _Column(t)
        self.title = FileTitle(t)
        self.which = Segmented(
            t, [tr("Edit"), tr("Preview")], name=tr("View"), icons=("pencil", "eye")
        )
        self.which.chosen.connect(lambda _: self._show_view())
        self.try_it = Button(t, tr("Try it"), icon="play", clicked=self.try_agent)
        self.save_button = Button(t, tr("Save"), "primary", clicked=self.save)
        self.copy_button = Button(
            t, tr("Duplicate"), "primary", icon="copy", clicked=self.duplicate
        )
        self.list_button = IconButton(t, "list", tr("All agents"), clicked=self._toggle_list)
        self.panel_button = IconButton(
            t, "panel-right", tr("Properties"), clicked=self._toggle_panel
        )
        self._head_row = row_of(
            [
                self.list_button,
                (self.title, 1),
                self.which,
                self.try_it,
                self.save_button,
                self.copy_button,
                self.panel_button,
            ],
            folding=(self.try_it, self.copy_button, self.which),
        )
        self._head = widget_of(self._head_row)
        self.notice = Notice(t)
        self.editor = FileEditor(t, tr("Text of the agent’s file"))
        self.editor.edited.connect(self._edited)
        self.editor.caret_moved.connect(self._show_place)
        self.foot = Foot(t)
        self.foot.reveal_wanted.connect(self._reveal)
        self.foot.fix_wanted.connect(self._fix)
        self.views = QStackedWidget()
        give_role(self.views, QAccessible.Role.Client)
        self.views.addWidget(self.editor)
        column_of(
            [self._head, Hairline(t), self.notice, (self.views, 1), self.foot],
            spacing=0,
            on=self._centre,
        )

    def _make_panel(self) -> None:
        specs = [tool.spec for tool in self._engine.tools().values()]
        order = {"read": 0, "fetch": 1, "draft": 2, "note": 3, "act": 4}
        specs.sort(key=lambda spec: (order[spec.effect], spec.name))
        self.properties = Properties(self._theme, specs)
        self.properties.values_changed.connect(self._set_values)
        self.properties.tool_changed.connect(self._set_tool)
        self.properties.more.clicked.connect(self._ask_more)

    def _follow(self) -> None:
        px = self._theme.px
        for head in (self._head, self._list_head):
            head.setFixedHeight(px(48))
        self._head_row.setSpacing(px(8))
        self._head_row.setContentsMargins(px(20), 0, px(12), 0)
        self._list_row.setContentsMargins(px(16), 0, px(10), 0)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        columns = self.columns
        columns.place()
        self.list_button.setVisible(not columns.list_fits)
        self.panel_button.setVisible(columns.chat is None)
        words = tr("Hide properties") if columns.side_shown else tr("Properties")
        self.panel_button.set_tooltip(words)

    def _toggle_panel(self) -> None:
        self.columns.panel_wanted = not self.columns.side_shown
        self._place()

    def _toggle_list(self) -> None:
        self.columns.list_wanted = not self.columns.list_wanted
        self._place()
        if self.columns.list_wanted:
            self.gallery.setFocus()

    # -- the list ---------------------------------------------------------------------------

    def open(self, *target: str) -> None:
        """``target`` may be the name of an agent, to choose it."""
        self.gallery.setFocus()
        self._run(self._load(name=target[0] if target else ""))

    async def _load(self, wanted: Path | None = None, name: str = "") -> None:
        """List the agents as they are now, and show the wanted one."""
        folder = self._folder
        found = await self._engine.agents(folder)
        agents = {Path(one.source): one for one in found.by_name.values()}
        rows = await asyncio.to_thread(self.index.rows, agents, folder)
        if name:
            wanted = self.index.named(name)
        shown = self.document.path if self.document else None
        self.gallery.show_rows(rows, wanted or shown)
        row = self.gallery.row
        if row is None or row.path is None:
            return
        if shown is None or shown not in (row.path, wanted):
            await self._show(row)
        else:  # also where it was deleted since it was saved: what is edited stays open
            await self.file.check()

    @property
    def _folder(self) -> Path | None:
        """The folder of the chat, whose agents are listed as well."""
        options = self.chat.options if self.chat is not None else None
        if options is None or options.uses_own_folder or not options.folder:
            return None
        return Path(options.folder)

    def _choose(self, row: FileRow) -> None:
        self._deleted = None
        self.columns.list_wanted = False
        self._place()
        self._replace(self._show(row))

    def _enter(self) -> None:
        self.which.set_current(0)
        self._show_view()
        self.editor.setFocus()

    # -- the file ---------------------------------------------------------------------------

    async def _show(self, row: FileRow) -> None:
        """Show a file, with what was written and not saved in it."""
        assert row.path is not None
        try:
            document = await self.file.load(row.path, row.origin)
        except StudioError as error:
            self.file.close()
            self.editor.setReadOnly(True)
            self.editor.show_text("")
            self.foot.show_problems(())
            self.properties.show_values(AgentText(), row.name, (), {}, read_only=True)
            self.properties.show_use(0, 0, "")
            for button in (self.save_button, self.copy_button, self.try_it):
                button.hide()
            self.title.show_title(row.name, tr("Read-only"))
            self.notice.show_text(tr_engine(str(error)), warns=True)
            return
        self.editor.setReadOnly(document.read_only)
        self.editor.show_text(document.text)
        await self.file.check()
        await self._show_use()
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

    def _edited(self) -> None:
        self._deleted = None
        self.file.write(self.editor.text())
        self._show_state()

    def _show_file(self) -> None:
        """Show the file and its problems as they are now."""
        document, found = self.document, self.file.checked
        if document is None:
            return
        read_only = document.read_only
        self.editor.show_problems(found.problems)
        self.foot.show_problems(found.problems, read_only=read_only)
        wanted = found.values.get("mode")
        mode: Mode = "inline" if wanted == "inline" else "background"
        mode = "long" if wanted == "long" else mode
        limits = self._engine.limits(Agent("x"), mode)
        usual = {"steps": limits.steps, "seconds": limits.seconds, "children": 8, "depth": 2}
        self.properties.show_values(
            found, document.path.stem, model_items(self._engine), usual, read_only=read_only
        )
        if self.which.current == 1 and self.preview is not None:
            self.preview.show_agent(found, document.path.stem)
        self._show_state()
        self._show_place()
        self._show_notice(document)

    def _show_state(self) -> None:
        document = self.document
        if document is None:
            return
        edited = document.edited and not document.read_only
        state = tr("Read-only") if document.read_only else tr("Edited") if edited else ""
        self.title.show_title(document.shown_name, state)
        self.try_it.show()
        self.save_button.setVisible(not document.read_only)
        self.save_button.setEnabled(edited)
        self.copy_button.setVisible(document.read_only)
        self.copy_button.set_text(tr("Convert") if document.foreign else tr("Duplicate"))
        self.gallery.mark_unsaved(document.path, edited)

    def _show_place(self) -> None:
        if self.document is not None:
            size = -(-len(self.document.text.encode("utf-8", "replace")) // 4)
            self.foot.show_place(*self.editor.place, size)

    def _show_notice(self, document: FileDocument) -> None:
        """Say the most pressing thing about the file."""
        if document.outside is not None:
            text = tr("{file} changed on disk.").format(file=document.shown_name)
            ways = [(tr("Merge"), self.merge), (tr("Keep mine"), self.keep_mine)]
            self.notice.show_text(text, ways, warns=True)
        elif self._deleted is not None:
            self.notice.show_text(self._deleted[0], [self._deleted[1]])
        elif document.stored is None and not document.read_only:
            text = tr("{file} is not on the disk. Save writes it.")
            self.notice.show_text(text.format(file=document.shown_name), warns=True)
        elif document.origin == "folder" and not self.index.trusts(document.path):
            text = tr(
                "From a folder that you do not trust: its words count as a stranger’s, and it "
                "chooses no provider, model or effort."
            )
            self.notice.show_text(text, warns=True)
        elif document.foreign:
            text = tr("Written for another program, and never changed here. Convert copies it.")
            self.notice.show_text(text)
        elif document.read_only:
            self.notice.show_text(document.whose)
        else:
            self.notice.show_text("")

    def _show_view(self) -> None:
        if self.which.current == 1:
            if self.preview is None:
                self.preview = Preview(self._theme)
                self.views.addWidget(self.preview)
            self.preview.show_agent(self.file.checked, self.agent_name)
            self.views.setCurrentWidget(self.preview)
        else:
            self.views.setCurrentWidget(self.editor)

    # -- problems ---------------------------------------------------------------------------

    def _reveal(self, problem: Problem | None = None) -> None:
        problem = problem or self.foot.first
        if problem is not None:
            self._enter()
            self.editor.reveal(problem)

    def _next_problem(self) -> None:
        """Go to the problem after the caret, or the first one."""
        place, found = self.editor.place, self.file.checked.problems
        after = [one for one in found if (one.line, one.column) > place]
        if found:
            self._reveal((after or found)[0])

    def _fix(self) -> None:
        """Write what was probably meant, unless the text has changed since."""
        problem, document = self.foot.first, self.document
        if problem is None or problem.fix is None or document is None or not self.file.is_checked:
            return
        written = document.text[problem.start : problem.end]
        self.editor.apply(Edit(problem.start, problem.end, quoted(problem.fix, written)))

    # -- properties -------------------------------------------------------------------------

    def _set_values(self, values: dict[str, Any]) -> None:
        def change(text: str) -> str:
            for key, value in values.items():
                text = set_value(text, key, value).apply(text)
            return text

        self._run(self.file.rewrite(change))

    def _set_tool(self, name: str, verdict: str) -> None:
        spec = self._engine.tools()[name].spec
        values = self.file.checked.values
        everything = sorted(self._engine.tools())

        def change(text: str) -> str:
            tools = list(values.get("tools", ("*",)))
            own = not self._engine.tools()[name].built_in and OWN_TOOLS in tools
            if verdict == "off":
                if "*" in tools:
                    left = [one for one in everything if one != name]
                    return set_value(text, "tools", left).apply(text)
                if own:
                    return add_item(text, ("permissions", "deny"), name).apply(text)
                return remove_item(text, ("tools",), name).apply(text)
            if "*" not in tools and name not in tools and not own:
                text = add_item(text, ("tools",), name).apply(text)
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

    # -- saving -----------------------------------------------------------------------------

    def save(self) -> None:
        self._run(self._save())

    async def _save(self) -> bool:
        """Write the file and list it as it is now. Whether the file is as shown."""
        edited = self.document is not None and self.document.edited
        if await self.file.save():
            if edited and self.document is not None:
                await self._load(self.document.path)
            return True
        errors = self.file.checked.errors
        if self.document is not None and self.document.outside is None and errors:
            first = errors[0]
            words = tr("Kept, not saved. {problem} The file stays as it was until then.")
            ways = [(tr("Show"), partial(self._reveal, first))]
            self.notice.show_text(words.format(problem=problem_text(first)), ways, warns=True)
        return False

    def merge(self) -> None:
        self._run(self.file.take_outside(merge=True))

    def keep_mine(self) -> None:
        """Go on with the person's text: the next save replaces what is on the disk."""
        self._run(self.file.take_outside(merge=False))

    # -- new, duplicate, bin ----------------------------------------------------------------

    def _ask_new(self) -> None:
        """A menu: an empty agent, or one made after another."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        templates = [one for one in self.index.agents.values() if one.origin == "shipped"]
        items = [
            MenuItem("blank", tr("Blank"), "file-plus"),
            MenuItem("", tr("From a template")),
            *(MenuItem(one.source, one.name, one.icon) for one in templates),
        ]
        fill_menu(menu, self._theme, items, self._create)
        menu.popup(self.new.mapToGlobal(self.new.rect().bottomLeft()))

    def _create(self, template: str) -> None:
        self._run(self.create(template))

    async def create(self, template: str = "blank") -> None:
        """Make an agent of the person's own and show it, its name ready to be typed."""
        name = self.index.free_name(tr("New agent"))
        text = agent_template(name)
        if template != "blank":
            found = await asyncio.to_thread(self.library.read, Path(template))
            if found is not None:
                text = set_value(found.text, "name", name).apply(found.text)
        await self._add(name, text)
        self.properties.name.setFocus(Qt.FocusReason.TabFocusReason)
        self.properties.name.selectAll()

    async def _add(self, name: str, text: str, folder: Path | None = None) -> None:
        def write() -> Path:
            private_folder(folder or self.library.own)
            path = self.library.unused_path(name, folder)
            self.library.save(path, text, None)
            return path

        await self._load(await asyncio.to_thread(write))

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
        """Copy the text as it is shown. A shipped agent keeps its name: the copy replaces it."""
        text, name = document.text, self.agent_name
        if document.foreign:
            found = self.file.checked
            text = own_text(name, found.values, found.prompt)
        if document.foreign and document.origin == "folder":  # its own place counts before this
            await self._add(name, text, document.path.parents[2] / PROJECT_AGENTS)
            return
        if document.origin != "shipped":
            name = self.index.free_name(tr("{name} copy").format(name=name))
            text = await asyncio.to_thread(lambda: set_value(text, "name", name).apply(text))
        await self._add(name, text)

    def discard(self) -> None:
        document = self.document
        if document is not None and not document.read_only:
            self._run(self._discard(document))

    async def _discard(self, document: FileDocument) -> None:
        """Move the file to the trash, with a way back."""
        if not self.file.is_checked:
            await self.file.check()
        name = self.agent_name
        await self.file.keep()
        unsaved = (await asyncio.to_thread(self.library.unsaved)).get(document.path)
        self.file.close()  # or its end would be taken for another program's doing
        gone = None
        try:
            if document.stored is not None:
                gone = await asyncio.to_thread(self.library.discard, document.path)
            await asyncio.to_thread(self.library.forget_unsaved, document.path)
        finally:
            await self._load()

        async def restore() -> None:
            self._deleted = None
            if gone is not None:
                await asyncio.to_thread(self.library.restore, gone)
            if unsaved is not None:
                await asyncio.to_thread(self.library.keep_unsaved, unsaved)
            await self._load(document.path)

        text = tr("{name} is in the trash.").format(name=name)
        self._deleted = (text, (tr("Undo"), lambda: self._run(restore())))
        if self.document is not None:
            self._show_notice(self.document)

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

    # -- try it -----------------------------------------------------------------------------

    def try_agent(self) -> None:
        self._run(self._try())

    async def _try(self) -> None:
        """Save, and open a chat with the agent beside its file."""
        if self.chat is None or not await self._save():
            return
        if self.try_chat is None:
            self.try_chat = TryChat(self._theme, self._engine, self.chat, self._run)
            self.try_chat.setParent(self)
            self.try_chat.closed.connect(self._close_try)
            self.try_chat.open_wanted.connect(self.open_wanted)
        self.columns.chat = self.try_chat
        self.try_chat.begin(self.agent_name, self.agent_look)
        self._place()
        self.try_chat.setFocus()

    def _close_try(self) -> None:
        if self.try_chat is not None:
            self.try_chat.hide()
        self.columns.chat = None
        self._place()
        self.editor.setFocus()

    async def finish(self) -> None:
        await self.file.finish()
        if self.try_chat is not None:
            await self.try_chat.finish()
