"""The Agents page: a list, the chosen agent's file, and its properties (T-6, W-11)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QFileSystemWatcher, QRectF, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QKeySequence, QPainter, QResizeEvent, QShortcut
from PySide6.QtWidgets import QMenu, QSizePolicy, QStackedWidget

from studio.agent.agent_check import KnownNames, check_agent
from studio.agent.agent_edit import add_item, remove_item, set_value
from studio.agent.agent_files import agent_template
from studio.agent.agent_library import AgentLibrary, DraftConflict, UnsavedText
from studio.agent.agent_parser import AgentText
from studio.agent.engine import Engine
from studio.agent.folder_files import PROJECT_AGENTS, agent_paths
from studio.agent.frontmatter import Problem
from studio.domain.agents import OWN_TOOLS, Agent
from studio.domain.errors import ConfigurationError
from studio.files.folders import private_folder
from studio.providers.registry import PROVIDER_TITLES
from studio.tools.drafts.three_way_merge import three_way
from studio.ui.formatting import short_path
from studio.ui.pages.page import Page, Run
from studio.ui.theme import ICONS_OF_AGENTS, Theme, joined
from studio.ui.translation import tr, tr_later
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
from studio.ui.widgets.painting import PaintedWidget, paint_text

from .document import AgentDocument, as_shown
from .editor import AgentEditor
from .foot import Foot, problem_text
from .gallery import AgentRow, Gallery
from .notice import Notice, Way
from .preview import Preview
from .properties import Properties, usual_verdict
from .try_chat import TryChat

CHECK_MS = 150
"""How long a change waits for others, to be checked and kept together with them."""
LIST, PANEL, TRY, LEAST = 232, 300, 400, 380
"""Widths of the columns, and the least that is left for the text."""
SECTIONS = (
    ("folder", tr_later("In {folder}")),
    ("own", tr_later("Your library")),
    ("shipped", tr_later("Come with the studio")),
)


class _Title(PaintedWidget):
    """The name of the file and what is special about it, elided."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._name, self._state = "", ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_title(self, name: str, state: str) -> None:
        self._name, self._state = name, state
        self.setAccessibleName(joined((name, state)))
        self.update()

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(40), self.theme.px(24))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        taken = t.metrics("small").horizontalAdvance(self._state) + t.px(8) if self._state else 0
        name = t.metrics("heading").horizontalAdvance(self._name)
        room = rect.width() - taken
        state = self._state if room > t.px(40) else ""
        paint_text(painter, t, rect, self._name, "heading", room=room if state else rect.width())
        if state:
            box = rect.adjusted(min(name, room) + t.px(8), 1, 0, 1)
            paint_text(painter, t, box, state, "small", "text2")


class AgentsPage(Page):
    """Everything that is written is kept: in the file, or as an unsaved text beside it."""

    def __init__(self, theme: Theme, engine: Engine, run: Run) -> None:
        super().__init__(theme, engine, run)
        self.library = AgentLibrary(engine.paths.agents, engine.paths.data)
        self.document: AgentDocument | None = None
        self.checked = AgentText()
        self._agents: dict[Path, Agent] = {}
        self._wanted: Path | None = None
        self._panel_wanted: bool | None = None
        """Whether the person wants the properties; None leaves it to the room there is."""
        self._list_open = False
        self._outside: str | None = None
        """The file's text as another program left it, while the person's own is unsaved."""
        self._keeping: asyncio.Task[None] | None = None
        self._timer = QTimer(self, singleShot=True, interval=CHECK_MS)
        self._timer.timeout.connect(lambda: self._run(self._settle()))
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self._changed_outside)
        self._watcher.directoryChanged.connect(self._changed_outside)
        self.try_chat: TryChat | None = None
        self._preview: Preview | None = None
        self._make_list()
        self._make_centre()
        self._make_panel()
        for keys, does in (
            ("Ctrl+S", self.save),
            ("Ctrl+D", self.duplicate),
            ("F8", self._next_problem),
        ):
            shortcut = QShortcut(QKeySequence(keys), self)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(does)
        theme.changed.connect(self._follow)

    # -- its parts ------------------------------------------------------------------------

    def _make_list(self) -> None:
        t = self._theme
        self.gallery = Gallery(t)
        self.gallery.chosen.connect(self._choose)
        self.gallery.entered.connect(self._enter)
        self.gallery.delete_wanted.connect(self.discard)
        self.new = IconButton(t, "plus", tr("New agent"), clicked=self._ask_new)
        self._list = _Column(t, "surface")
        head = widget_of(row_of([(Label(t, tr("Agents"), "heading"), 1), self.new]))
        self._list_head = head
        column_of([head, Hairline(t), (self.gallery, 1)], spacing=0, on=self._list)
        self._list.setParent(self)

    def _make_centre(self) -> None:
        t = self._theme
        self._centre = _Column(t, "surface")
        self._centre.setParent(self)
        self.title = _Title(t)
        self.which = Segmented(t, [tr("Edit"), tr("Preview")], name=tr("View"))
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
            ]
        )
        self._head = widget_of(self._head_row)
        self.notice = Notice(t)
        self.editor = AgentEditor(t)
        self.editor.edited.connect(self._edited)
        self.editor.caret_moved.connect(self._show_place)
        self.foot = Foot(t)
        self.foot.reveal_wanted.connect(self._reveal)
        self.foot.fix_wanted.connect(self._fix)
        self.views = QStackedWidget()
        self.views.addWidget(self.editor)
        column_of(
            [self._head, Hairline(t), self.notice, (self.views, 1), self.foot],
            spacing=0,
            on=self._centre,
        )

    def _make_panel(self) -> None:
        specs = [tool.spec for tool in self._engine.tools().values()]
        order = {"read": 0, "fetch": 1, "draft": 2, "act": 3}
        specs.sort(key=lambda spec: (order[spec.effect], spec.name))
        self.properties = Properties(self._theme, specs)
        self.properties.values_changed.connect(self._set_values)
        self.properties.tool_changed.connect(self._set_tool)
        self.properties.more.clicked.connect(self._ask_more)
        self.properties.setParent(self)
        self._edge = Hairline(self._theme, upright=True, parent=self)
        self._list_edge = Hairline(self._theme, upright=True, parent=self)
        self._follow()

    def _follow(self) -> None:
        px = self._theme.px
        for head in (self._head, self._list_head):
            head.setFixedHeight(px(48))
        self._head_row.setSpacing(px(8))
        self._head_row.setContentsMargins(px(20), 0, px(12), 0)
        row = self._list_head.layout()
        assert row is not None
        row.setContentsMargins(px(16), 0, px(10), 0)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        """Put the columns beside each other, or over the text where there is no room."""
        px, width, height = self._theme.px, self.width(), self.height()
        right = self.try_chat if self._trying else self.properties
        aside, listed = px(TRY if self._trying else PANEL), px(LIST)
        beside = width - listed >= px(LEAST)  # the list stands beside the text
        roomy = width - (listed if beside else 0) - aside >= px(LEAST)
        shown = self._trying or (roomy if self._panel_wanted is None else self._panel_wanted)
        self.list_button.setVisible(not beside)
        self.panel_button.setVisible(not self._trying)
        self.panel_button.setToolTip(tr("Hide properties") if shown else tr("Properties"))
        left = listed if beside else 0
        if roomy and shown:
            self._centre.setGeometry(left, 0, width - left - aside, height)
        else:
            self._centre.setGeometry(left, 0, width - left, height)
        for part in filter(None, (self.properties, self.try_chat)):
            part.setVisible(shown and part is right)
        if shown and right is not None:
            right.setGeometry(width - aside + 1, 0, aside - 1, height)
            right.raise_()
        self._edge.setVisible(shown)
        self._edge.setGeometry(width - aside, 0, 1, height)
        self._edge.raise_()
        open_ = beside or self._list_open
        self._list.setVisible(open_)
        self._list_edge.setVisible(open_)
        self._list.setGeometry(0, 0, listed - 1, height)
        self._list_edge.setGeometry(listed - 1, 0, 1, height)
        if open_:
            self._list.raise_()
            self._list_edge.raise_()

    @property
    def _trying(self) -> bool:
        return self.try_chat is not None and self.try_chat.property("wanted") is True

    def _toggle_panel(self) -> None:
        self._panel_wanted = not self.properties.isVisible()
        self._place()

    def _toggle_list(self) -> None:
        self._list_open = not self._list_open
        self._place()
        if self._list_open:
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
        self._agents = {Path(one.source): one for one in found.by_name.values()}
        rows = await asyncio.to_thread(self._rows, folder)
        if name:
            wanted = next((p for p, one in self._agents.items() if one.name == name), wanted)
        wanted = wanted or (self.document.path if self.document else None)
        self.gallery.show_rows(rows, wanted)
        row = self.gallery.row
        if row is None or row.path is None:
            return
        if self.document is None or self.document.path != row.path:
            await self._show(row)
        else:
            await self._check()

    @property
    def _folder(self) -> Path | None:
        """The folder of the chat, whose agents are listed as well."""
        options = self.chat.options if self.chat is not None else None
        if options is None or options.uses_own_folder or not options.folder:
            return None
        return Path(options.folder)

    def _rows(self, folder: Path | None) -> list[AgentRow]:
        """The rows of all files. Blocks."""
        unsaved = self.library.unsaved()
        places: dict[str, list[AgentRow]] = {key: [] for key, _ in SECTIONS}
        for path, one in self._agents.items():
            places[one.origin].append(
                AgentRow(
                    path,
                    one.name,
                    one.description,
                    one.icon,
                    one.hue,
                    one.origin,
                    one.trusted,
                    unsaved=path in unsaved,
                )
            )
        own = set(agent_paths(self.library.own)) | {
            path for path in unsaved if path.parent == self.library.own
        }
        for path in own - self._agents.keys():
            places["own"].append(
                AgentRow(path, path.name, problem=self._why(path), unsaved=path in unsaved)
            )
        if folder is not None:
            for path in set(agent_paths(folder / PROJECT_AGENTS)) - self._agents.keys():
                problem, state = self._why(path), path in unsaved
                places["folder"].append(
                    AgentRow(path, path.name, origin="folder", problem=problem, unsaved=state)
                )
        rows: list[AgentRow] = []
        for key, words in SECTIONS:
            if places[key]:
                name = short_path(str(folder)) if folder else ""
                rows.append(AgentRow(None, tr(words).format(folder=name)))
                rows += sorted(places[key], key=lambda row: row.name.casefold())
        return rows

    def _why(self, path: Path) -> str:
        """Why a file is not among the agents. Blocks."""
        try:
            stored = self.library.read(path)
        except (ConfigurationError, OSError) as error:
            return str(error)
        if stored is None:
            return tr("Not saved yet")
        errors = check_agent(stored.text, self._known(path)).errors
        return problem_text(errors[0]) if errors else tr("Left out: its name is taken")

    def _known(self, path: Path) -> KnownNames:
        alike = [one for at, one in self._agents.items() if at.parent == path.parent and at != path]
        return KnownNames(
            self._engine.tools(),
            list(PROVIDER_TITLES),
            self._icons,
            {one.name.casefold() for one in alike},
        )

    @property
    def _icons(self) -> Sequence[str]:
        folder = self._engine.paths.resources / "icons"
        return [*ICONS_OF_AGENTS, *(path.stem for path in folder.glob("*.svg"))]

    def _choose(self, row: AgentRow) -> None:
        self._list_open = False
        self._place()
        self._replace(self._show(row))

    def _enter(self) -> None:
        self.which.set_current(0)
        self._show_view()
        self.editor.setFocus()

    # -- the file ---------------------------------------------------------------------------

    async def _show(self, row: AgentRow) -> None:
        """Show a file, with what was written and not saved in it."""
        assert row.path is not None
        await self._keep()
        path = row.path
        try:
            stored = await asyncio.to_thread(self.library.read, path)
        except ConfigurationError as error:
            self.document = AgentDocument(path, "shipped", None)
            self.editor.show_text("")
            self.checked = AgentText()
            self._show_all()
            self.notice.show_text(str(error), warns=True)
            return
        unsaved = (await asyncio.to_thread(self.library.unsaved)).get(path)
        document = AgentDocument(path, row.origin, stored)
        self.document, self._outside = document, None
        document.text = unsaved.text if unsaved else document.base
        self.editor.setReadOnly(document.read_only)
        self.editor.show_text(document.text)
        if unsaved is not None and stored is not None and unsaved.base != document.base:
            self._outside = document.base
            document.stored = type(stored)(unsaved.base, stored.stamp)
        self._watch()
        await self._check()
        if self._trying and self.try_chat is not None:
            self.try_chat.begin(self._name, self._look)

    @property
    def _name(self) -> str:
        """The name of the agent that is shown."""
        if self.document is None:
            return ""
        return str(self.checked.values.get("name", self.document.path.stem))

    @property
    def _look(self) -> tuple[str, str]:
        values = self.checked.values
        return str(values.get("icon", "sparkle")), str(values.get("hue", "slate"))

    def _edited(self) -> None:
        document = self.document
        if document is None:
            return
        document.text = self.editor.text()
        self._show_state()
        self._timer.start()

    async def _settle(self) -> None:
        """Check what is written, and keep it."""
        await self._check()
        await self._keep()

    async def _check(self) -> None:
        document = self.document
        if document is None:
            return
        text = document.text
        found = await asyncio.to_thread(check_agent, text, self._known(document.path))
        if document is self.document and text == document.text:
            self.checked = found
            self._show_all()

    async def _keep(self) -> None:
        """Keep what is not saved, so that no quit or crash loses it."""
        document = self.document
        if document is None or document.read_only:
            return
        path, edited = document.path, document.edited
        if edited:
            unsaved = UnsavedText(path, document.base, document.text)
            await asyncio.to_thread(self.library.keep_unsaved, unsaved)
        else:
            await asyncio.to_thread(self.library.forget_unsaved, path)
        self.gallery.mark_unsaved(path, edited)

    # -- what it shows ----------------------------------------------------------------------

    def _show_all(self) -> None:
        document = self.document
        assert document is not None
        self.editor.show_problems(self.checked.problems)
        self.foot.show_problems(self.checked.problems, read_only=document.read_only)
        self.properties.show_values(
            self.checked,
            document.path.stem,
            self._models(),
            self._usual(),
            read_only=document.read_only,
        )
        if self.which.current == 1 and self._preview is not None:
            self._preview.show_agent(self.checked, document.path.stem)
        self._show_state()
        self._show_place()
        self._show_notice()

    def _show_state(self) -> None:
        document = self.document
        if document is None:
            return
        state = tr("Read-only") if document.read_only else tr("Edited") if document.edited else ""
        self.title.show_title(document.path.name, state)
        self.save_button.setVisible(not document.read_only)
        self.save_button.setEnabled(document.edited)
        self.copy_button.setVisible(document.read_only)
        self.gallery.mark_unsaved(document.path, document.edited and not document.read_only)

    def _show_place(self) -> None:
        if self.document is not None:
            size = -(-len(self.document.text.encode("utf-8", "replace")) // 4)
            self.foot.show_place(*self.editor.place, size)

    def _show_notice(self) -> None:
        """Say the most pressing thing about the file."""
        document = self.document
        if document is None:
            return
        agent = self._agents.get(document.path)
        ways: list[Way] = []
        if self._outside is not None:
            text = tr("{file} changed on disk.").format(file=document.path.name)
            ways = [(tr("Merge"), self.merge), (tr("Keep mine"), self.keep_mine)]
            self.notice.show_text(text, ways, warns=True)
        elif document.origin == "folder" and not (agent is not None and agent.trusted):
            text = tr(
                "From a folder that you do not trust: its words count as a stranger’s, and it "
                "chooses no provider, model or effort."
            )
            self.notice.show_text(text, warns=True)
        elif document.read_only:
            self.notice.show_text(tr("Comes with the studio. Duplicate it to change it."))
        else:
            self.notice.show_text("")

    def _models(self) -> list[MenuItem]:
        """The models to choose from, by provider."""
        engine = self._engine
        items = [MenuItem("/", tr("The chat’s choice"))]
        for provider in engine.connected:
            offered = engine.offered(provider)
            if offered:
                items.append(MenuItem("", PROVIDER_TITLES.get(provider, provider)))
                items += [MenuItem(f"{provider}/{one.id}", one.title) for one in offered[:40]]
        return items

    def _usual(self) -> dict[str, float]:
        """The limits where the file says none."""
        mode = "inline" if self.checked.values.get("mode") == "inline" else "background"
        limits = self._engine.limits(Agent("x"), mode)
        return {"steps": limits.steps, "seconds": limits.seconds}

    def _show_view(self) -> None:
        if self.which.current == 1:
            if self._preview is None:
                self._preview = Preview(self._theme)
                self.views.addWidget(self._preview)
            self._preview.show_agent(self.checked, self._name)
            self.views.setCurrentWidget(self._preview)
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
        line, column = self.editor.place
        found = self.checked.problems
        after = [one for one in found if (one.line, one.column) > (line, column)]
        if found:
            self._reveal((after or list(found))[0])

    def _fix(self) -> None:
        """Write what was probably meant."""
        from studio.agent.agent_edit import Edit, quoted

        problem, document = self.foot.first, self.document
        if problem is None or problem.fix is None or document is None:
            return
        written = document.text[problem.start : problem.end]
        self.editor.apply(Edit(problem.start, problem.end, quoted(problem.fix, written)))

    # -- properties -------------------------------------------------------------------------

    def _set_values(self, values: dict[str, Any]) -> None:
        def change(text: str) -> str:
            for key, value in values.items():
                text = set_value(text, key, value).apply(text)
            return text

        self._run(self._rewrite(change))

    def _set_tool(self, name: str, verdict: str) -> None:
        spec = self._engine.tools()[name].spec
        values = self.checked.values
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

        self._run(self._rewrite(change))

    async def _rewrite(self, change: Callable[[str], str]) -> None:
        """Change the text in one step; what cannot be changed alone is left to the person."""
        document = self.document
        if document is None or document.read_only:
            return
        before = document.text
        try:
            after = await asyncio.to_thread(change, before)
        except ConfigurationError:
            await self._check()  # the control shows again what is written
            raise
        if document is self.document and before == document.text:
            self.editor.replace_text(after)
            await self._check()

    # -- saving -----------------------------------------------------------------------------

    def save(self) -> None:
        self._run(self._save())

    async def _save(self) -> bool:
        """Write the file; one with mistakes is only kept. Whether the file is as shown."""
        document = self.document
        if document is None or document.read_only:
            return document is not None
        if not document.edited:
            return True
        await self._check()
        if errors := self.checked.errors:
            await self._keep()
            words = tr("Kept, not saved. {problem} The file stays as it was until then.")
            text = words.format(problem=problem_text(errors[0]))
            self.notice.show_text(
                text, [(tr("Show"), partial(self._reveal, errors[0]))], warns=True
            )
            return False
        text = document.text
        seen = document.stored.stamp if document.stored else None
        try:
            written = await asyncio.to_thread(document.to_write)
            saved = await asyncio.to_thread(self.library.save, document.path, written, seen)
        except DraftConflict:
            await self._look_outside()
            return False
        document.stored, self._outside = saved, None
        if text == document.text:
            await asyncio.to_thread(self.library.forget_unsaved, document.path)
        self._watch()
        if document is self.document:
            await self._load(document.path)
        return True

    # -- changed by another program ---------------------------------------------------------

    def _watch(self) -> None:
        document = self.document
        known = {*self._watcher.files(), *self._watcher.directories()}
        wanted = {str(document.path), str(document.path.parent)} if document else set[str]()
        if gone := sorted(known - wanted):
            self._watcher.removePaths(gone)
        if new := sorted(wanted - known):
            self._watcher.addPaths(new)

    def _changed_outside(self, path: str) -> None:
        self._run(self._look_outside())

    async def _look_outside(self) -> None:
        """Show what another program wrote, or ask if the person's own text is not saved."""
        document = self.document
        if document is None or document.read_only:
            return
        now = await asyncio.to_thread(self.library.read, document.path)
        if document is not self.document:
            return
        self._watch()
        before = document.stored
        if now is not None and before is not None and now.stamp.digest == before.stamp.digest:
            return
        if now is None:
            if before is not None and not document.edited:
                self.document = None
            else:
                document.stored = None
            await self._load()
            return
        edited = document.edited and as_shown(now.text) != document.text
        if edited and before is not None:
            self._outside = as_shown(now.text)
            document.stored = type(before)(before.text, now.stamp)
        else:
            document.stored = now
            self.editor.replace_text(document.base)
        await self._check()

    def merge(self) -> None:
        """Take both changes; where they meet both stand in the text, between marks."""
        document, theirs = self.document, self._outside
        if document is None or theirs is None:
            return
        merged = three_way(document.base, theirs, document.text)
        self._take_stored(theirs)
        self.editor.replace_text(merged.text)
        self._run(self._settle())

    def keep_mine(self) -> None:
        """Go on with the person's text: the next save replaces what is on the disk."""
        if self._outside is not None:
            self._take_stored(self._outside)
            self._run(self._settle())

    def _take_stored(self, theirs: str) -> None:
        document = self.document
        assert document is not None and document.stored is not None
        document.stored = type(document.stored)(theirs, document.stored.stamp)
        self._outside = None

    # -- new, duplicate, bin ----------------------------------------------------------------

    def _ask_new(self) -> None:
        """A menu: an empty agent, or one made after another."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        templates = [one for one in self._agents.values() if one.origin == "shipped"]
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
        name = self._free_name(tr("New agent"))
        text = agent_template(name)
        if template != "blank":
            found = await asyncio.to_thread(self.library.read, Path(template))
            if found is not None:
                text = set_value(found.text, "name", name).apply(found.text)
        await self._add(name, text)
        self.properties.name.setFocus(Qt.FocusReason.TabFocusReason)
        self.properties.name.selectAll()

    def _free_name(self, wanted: str) -> str:
        taken = {one.name.casefold() for one in self._agents.values()}
        names = (wanted if n == 1 else f"{wanted} {n}" for n in range(1, 10_000))
        return next(name for name in names if name.casefold() not in taken)

    async def _add(self, name: str, text: str) -> None:
        def write() -> Path:
            private_folder(self.library.own)
            path = self.library.unused_path(name)
            self.library.save(path, text, None)
            return path

        path = await asyncio.to_thread(write)
        await self._load(path)

    def duplicate(self) -> None:
        document = self.document
        if document is None:
            return
        agent = self._agents.get(document.path)
        if document.origin == "folder" and not (agent is not None and agent.trusted):
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

    async def _duplicate(self, document: AgentDocument) -> None:
        """Copy the text as it is shown. A shipped agent keeps its name: the copy replaces it."""
        text, name = document.text, self._name
        if document.origin != "shipped":
            name = self._free_name(tr("{name} copy").format(name=name))
            text = await asyncio.to_thread(lambda: set_value(text, "name", name).apply(text))
        await self._add(name, text)

    def discard(self) -> None:
        document = self.document
        if document is not None and not document.read_only:
            self._run(self._discard(document))

    async def _discard(self, document: AgentDocument) -> None:
        """Move the file to the trash, with a way back."""
        name = self._name
        await self._keep()
        unsaved = (await asyncio.to_thread(self.library.unsaved)).get(document.path)
        gone = None
        if document.stored is not None:
            gone = await asyncio.to_thread(self.library.discard, document.path)
        await asyncio.to_thread(self.library.forget_unsaved, document.path)
        self.document = None
        await self._load()

        async def restore() -> None:
            if gone is not None:
                await asyncio.to_thread(self.library.restore, gone)
            if unsaved is not None:
                await asyncio.to_thread(self.library.keep_unsaved, unsaved)
            await self._load(document.path)

        text = tr("{name} is in the trash.").format(name=name)
        self.notice.show_text(text, [(tr("Undo"), lambda: self._run(restore()))])

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
        self.try_chat.setProperty("wanted", True)
        self.try_chat.begin(self._name, self._look)
        self._place()
        self.try_chat.setFocus()

    def _close_try(self) -> None:
        if self.try_chat is not None:
            self.try_chat.setProperty("wanted", False)
        self._place()
        self.editor.setFocus()

    async def finish(self) -> None:
        """Keep what is written; the window closes."""
        self._timer.stop()
        await self._keep()
        if self.try_chat is not None:
            await self.try_chat.finish()


class _Column(PaintedWidget):
    def __init__(self, theme: Theme, ground: str) -> None:
        super().__init__(theme)
        self.ground = ground
