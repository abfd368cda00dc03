"""What the pages of agents and workflows share: a list of files, and the text of the chosen one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QMenu, QWidget

from studio.agent.agent_files.edit import Edit, quoted, set_value
from studio.agent.agent_files.library import AgentLibrary
from studio.agent.engine import Engine
from studio.agent.frontmatter import Problem
from studio.domain.errors import StudioError
from studio.domain.jsonvalue import JsonObject
from studio.files.folders import private_folder
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.page import Page, Run
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Hairline, IconButton, Label, MenuItem, fill_menu
from studio.ui.widgets.layouts import Folding, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget

from .completion import complete
from .document import FileDocument
from .editor import FileEditor
from .foot import Foot
from .gallery import Gallery
from .notice import Notice, Way
from .open_file import CheckedT, OpenFile
from .problem_texts import problem_text
from .row import FileRow
from .title import FileTitle


class FileWords(NamedTuple):
    """Words of a page, in the person's language."""

    heading: str
    new: str
    every: str
    text: str


class PageColumn(PaintedWidget):
    """A part of the page with a ground of its own."""

    ground = "surface"


class FilesPage(Page, Generic[CheckedT]):
    """Everything that is written is kept: in the file, or as an unsaved text beside it.

    A page says which files there are, and shows more of the chosen one than its text.
    """

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        run: Run,
        library: AgentLibrary,
        nothing: Callable[[], CheckedT],
        words: FileWords,
    ) -> None:
        """``nothing``: see ``OpenFile``."""
        super().__init__(theme, engine, run)
        self.library = library
        self.names: Mapping[Path, str] = {}
        """What each file calls itself."""
        self.file: OpenFile[CheckedT] = OpenFile(library, self._check, nothing, run)
        self.list_wanted = False
        """Whether the list is to lie over the text, where it has no room of its own."""
        self._deleted: tuple[str, Way] | None = None
        """What was deleted last, in words, and the way back; until something else is done."""
        self._words = words
        self._make_list()
        self.centre = PageColumn(theme, self)
        self.title = FileTitle(theme)
        self.list_button = IconButton(theme, "list", words.every, clicked=self._toggle_list)
        self.save_button = Button(theme, tr("Save"), "primary", clicked=self.save)
        self.copy_button = Button(
            theme, tr("Duplicate"), "primary", icon="copy", clicked=self.duplicate
        )
        for button in (self.save_button, self.copy_button):
            button.hide()  # until it is known which of them is the file's
        self.notice = Notice(theme)
        self.editor = FileEditor(theme, words.text)
        self.editor.edited.connect(self._edited)
        self.editor.caret_moved.connect(self._show_place)
        self.editor.completion_wanted.connect(self._complete)
        self.foot = Foot(theme)
        self.foot.reveal_wanted.connect(self._reveal)
        self.foot.fix_wanted.connect(self._fix)
        self.file.changed.connect(self._show_file)
        self.file.gone.connect(lambda: run(self._load()))
        self.file.replaced.connect(self.editor.replace_text)
        self._add_key("Ctrl+S", self.save)
        self._add_key("F8", self._next_problem)

    # -- what a page says of its files ------------------------------------------------------

    def _check(self, path: Path, text: str) -> CheckedT:
        """Find all problems; runs in a thread."""
        raise NotImplementedError

    @property
    def _schema(self) -> JsonObject:
        """The JSON Schema of the frontmatter."""
        raise NotImplementedError

    def _known_names(self) -> Mapping[str, Collection[str]]:
        """The names that values may be, by key, see ``complete``."""
        raise NotImplementedError

    async def _rows(self, folder: Path | None) -> list[FileRow]:
        """The rows of all files, also those of a folder; sets ``names``."""
        raise NotImplementedError

    def _blank(self, name: str) -> str:
        """The text of a new file."""
        raise NotImplementedError

    def _place(self) -> None:
        """Give each part of the page its room."""
        raise NotImplementedError

    def _show_text(self) -> None:
        """Show the editor, if something else is shown in its place."""
        raise NotImplementedError

    def _enter(self) -> None:
        """Go from the list into what is shown of the file."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Let the person go on with a new file, which is shown."""
        raise NotImplementedError

    def _show_nothing(self, row: FileRow) -> None:
        """Show no contents: the file cannot be read."""
        raise NotImplementedError

    def _show_contents(self, document: FileDocument) -> None:
        """Show what was read of the text, beside it."""
        raise NotImplementedError

    async def _opened(self) -> None:
        """Show what else is known about a file that was opened."""
        raise NotImplementedError

    async def _duplicate(self, document: FileDocument) -> None:
        """Make a file of the person's own with the text as it is shown."""
        raise NotImplementedError

    # -- its parts ------------------------------------------------------------------------

    @property
    def document(self) -> FileDocument | None:
        return self.file.document

    def _add_key(self, keys: str, does: Callable[[], object]) -> None:
        shortcut = QShortcut(QKeySequence(keys), self)
        shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        shortcut.activated.connect(does)

    def _make_list(self) -> None:
        t, words = self._theme, self._words
        self.gallery = Gallery(t, words.heading)
        self.gallery.chosen.connect(self._choose)
        self.gallery.entered.connect(self._enter)
        self.gallery.delete_wanted.connect(self.discard)
        self.new = IconButton(t, "plus", words.new, clicked=self._ask_new)
        self.listed = PageColumn(t, self)
        self._list_row = row_of([(Label(t, words.heading, "heading"), 1), self.new])
        self._list_head = widget_of(self._list_row)
        column_of([self._list_head, Hairline(t), (self.gallery, 1)], spacing=0, on=self.listed)

    def _make_head(self, parts: Sequence[QWidget], folding: Sequence[Folding]) -> None:
        """The line at the top: the list's button, the title, and ``parts``."""
        self._head_row = row_of([self.list_button, (self.title, 1), *parts], folding=folding)
        self._head = widget_of(self._head_row)
        self._theme.changed.connect(self._follow)

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

    def _toggle_list(self) -> None:
        self.list_wanted = not self.list_wanted
        self._place()
        if self.list_wanted:
            self.gallery.setFocus()

    # -- the list ---------------------------------------------------------------------------

    async def _load(self, wanted: Path | None = None, name: str = "") -> None:
        """List the files as they are now, and show the wanted one."""
        rows = await self._rows(self._folder)
        if name:
            wanted = next((path for path, one in self.names.items() if one == name), None)
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
        """The folder of the chat, whose files are listed as well."""
        options = self.chat.options if self.chat is not None else None
        if options is None or options.uses_own_folder or not options.folder:
            return None
        return Path(options.folder)

    def _choose(self, row: FileRow) -> None:
        self._deleted = None
        self.list_wanted = False
        self._place()
        self._replace(self._show(row))

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
            self._show_nothing(row)
            self.save_button.hide()
            self.copy_button.hide()
            self.title.show_title(row.name, tr("Read-only"))
            self.notice.show_text(tr_engine(str(error)), warns=True)
            return
        self.editor.setReadOnly(document.read_only)
        self.editor.show_text(document.text)
        await self.file.check()
        await self._opened()

    def _edited(self) -> None:
        self._deleted = None
        self.file.write(self.editor.text())
        self._show_state()

    def _show_file(self) -> None:
        """Show the file and its problems as they are now."""
        document, found = self.document, self.file.checked
        if document is None:
            return
        self.editor.show_problems(found.problems)
        self.foot.show_problems(found.problems, read_only=document.read_only)
        self._show_contents(document)
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
        self.save_button.setVisible(not document.read_only)
        self.save_button.setEnabled(edited)
        self.copy_button.setVisible(document.read_only)
        self.gallery.mark_unsaved(document.path, edited)

    def _show_place(self) -> None:
        if self.document is not None:
            size = -(-len(self.editor.text().encode("utf-8", "replace")) // 4)
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
        else:
            text, warns = self._whose(document)
            self.notice.show_text(text, warns=warns)

    def _whose(self, document: FileDocument) -> tuple[str, bool]:
        """What its place means for the file, and whether that is a warning."""
        return document.whose if document.read_only else "", False

    def _complete(self) -> None:
        """Offer what may stand at the caret."""
        editor = self.editor
        found = complete(editor.text(), editor.caret, self._schema, self._known_names())
        editor.offer(found.start, found.words)

    # -- problems ---------------------------------------------------------------------------

    def _reveal(self, problem: Problem | None = None) -> None:
        problem = problem or self.foot.first
        if problem is not None:
            self._show_text()
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
            words = tr("Kept, not saved. {problem} The file stays as it was until then.")
            words = words.format(problem=problem_text(errors[0]))
            ways = [(tr("Show"), partial(self._reveal, errors[0]))]
            self.notice.show_text(words, ways, warns=True)
        return False

    def merge(self) -> None:
        self._run(self.file.take_outside(merge=True))

    def keep_mine(self) -> None:
        """Go on with the person's text: the next save replaces what is on the disk."""
        self._run(self.file.take_outside(merge=False))

    async def finish(self) -> None:
        await self.file.finish()

    # -- new, duplicate, bin ----------------------------------------------------------------

    def _ask_new(self) -> None:
        """A menu: an empty file, or one made after another."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rows = [row for row in self.gallery.files.rows if row.path and row.origin == "shipped"]
        items = [
            MenuItem("blank", tr("Blank"), "file-plus"),
            MenuItem("", tr("From a template")),
            *(MenuItem(str(row.path), row.name, row.icon) for row in rows),
        ]
        fill_menu(menu, self._theme, items, lambda key: self._run(self.create(key)) and None)
        menu.popup(self.new.mapToGlobal(self.new.rect().bottomLeft()))

    async def create(self, template: str = "blank") -> None:
        """Make a file of the person's own and show it; ``template`` is a path."""
        name = self._free_name(self._words.new)
        text = self._blank(name)
        if template != "blank":
            found = await asyncio.to_thread(self.library.read, Path(template))
            if found is not None:
                text = set_value(found.text, "name", name).apply(found.text)
        await self._add(name, text)
        self._begin()

    def _free_name(self, wanted: str) -> str:
        """A name that no file has."""
        taken = {name.casefold() for name in self.names.values()}
        names = (wanted if n == 1 else f"{wanted} {n}" for n in range(1, 10_000))
        return next(name for name in names if name.casefold() not in taken)

    async def _add(self, name: str, text: str, folder: Path | None = None) -> None:
        def write() -> Path:
            private_folder(folder or self.library.own)
            path = self.library.unused_path(name, folder)
            self.library.save(path, text, None)
            return path

        await self._load(await asyncio.to_thread(write))

    def duplicate(self) -> None:
        if self.document is not None:
            self._run(self._duplicate(self.document))

    def discard(self) -> None:
        document = self.document
        if document is not None and not document.read_only:
            self._run(self._discard(document, document.shown_name))

    async def _discard(self, document: FileDocument, name: str) -> None:
        """Move the file to the trash, with a way back."""
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
