"""Completion: the list over the composer of what the word that is being typed may stand for.

After @ it has files, folders, resources of servers and agents, after a slash at the beginning the
commands, the skills and commands that people keep in files, and prompts of servers.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QRect, QRectF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter

from studio.ui.chat.model.open_word import OpenWord, mention_of
from studio.ui.chat.page import ChatPage
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import HeadedView
from studio.ui.widgets.painting import PaintedWidget, paint_rounded
from studio.ui.widgets.shadow import cast_shadow

from .entries import ALONE, Entries, FoundEntry
from .palette import ROW, ResultList, ResultRow

PAD, GAP = 6, 6
MOST_ROWS = 10
"""Rows that are seen at once."""
BESIDE = 4
"""Files, resources and agents, where there is more than one of them."""


class Completion(PaintedWidget):
    """Follows the composer's caret; arrows move, Enter and Tab choose, Esc closes."""

    def __init__(self, theme: Theme, entries: Entries, page: ChatPage) -> None:
        super().__init__(theme, page)
        self._entries, self._composer, self._page = entries, page.composer, page
        self._word: OpenWord | None = None
        """The word that is shown."""
        self._refused: tuple[int, str] | None = None
        """Where the word begins for which the person wanted no list, and its sign."""
        self.results = ResultList(self)
        editor = self._composer.editor
        self.list = HeadedView(self.results, lambda parent: ResultRow(theme, parent), editor, self)
        self.list.setAccessibleName(tr("Suggestions"))
        self.list.clicked.connect(self._clicked)
        editor.cursorPositionChanged.connect(self.follow)
        editor.textChanged.connect(self.follow)
        editor.installEventFilter(self)
        page.installEventFilter(self)
        self._composer.resized.connect(self._place)
        entries.changed.connect(self._refresh)
        theme.changed.connect(self._place)
        theme.changed.connect(self.list.scheduleDelayedItemsLayout)
        self.hide()

    def follow(self) -> None:
        """Show what the word at the caret may stand for."""
        word = self._composer.open_word if self._composer.editor.hasFocus() else None
        if word is None:
            self._refused = None
        if word is None or self._start(word) == self._refused:
            self.close_list()
        elif word != self._word:
            begins = self._word is None
            self._word = word
            if begins:
                self._entries.read_registries()
                read = self._entries.read_files if word.sign == "@" else self._entries.read_called
                self._page.model.run(read())
                if word.sign == "@":
                    self._page.model.run(self._entries.read_resources())
            if word.sign == "@" and ":" in word.query:
                self._page.model.run(self._entries.complete_resource(word.query))
            self._show()

    def close_list(self) -> None:
        self._word = None
        if not self.isHidden():
            self.hide()
            editor = self._composer.editor
            editor.setAccessibleDescription(editor.placeholder)

    def _start(self, word: OpenWord) -> tuple[int, str]:
        units = len(word.typed.encode("utf-16-le", "surrogatepass")) // 2
        return self._composer.editor.textCursor().position() - units, word.sign

    # Rows

    def _found(self, word: OpenWord) -> list[str | FoundEntry]:
        find, query = self._entries.find_in, word.query
        if word.sign == "/":
            return [*self._entries.find_command(query, ALONE)]
        files, agents = find("files", query, ALONE), find("agents", query, ALONE)
        resources = self._resources(query)
        if len([one for one in (files, agents, resources) if one]) > 1:
            files, agents = files[:BESIDE], agents[:BESIDE]
            resources = resources if ":" in query else resources[:BESIDE]
        rows: list[str | FoundEntry] = [tr("Files"), *files] if files else []
        if self._page.model.options.uses_own_folder:
            rows = self._of_no_folder(query)
        rows += [tr("Resources of servers"), *resources] if resources else []
        return [*rows, tr("Agents: who answers this message"), *agents] if agents else rows

    def _resources(self, query: str) -> list[FoundEntry]:
        """Resources that fit, then how an address that is being typed can go on (M-21)."""
        found = self._entries.find_in("resources", query, ALONE)
        if ":" not in query:
            return found
        more = self._entries.find_in("addresses", query, ALONE)
        names = {one.entry.name for one in found}
        return [*found, *(one for one in more if one.entry.name not in names)]

    def _of_no_folder(self, query: str) -> list[str | FoundEntry]:
        """What stands for files in a chat for which no folder was chosen."""
        folders = self._entries.find_in("folders_here", query, BESIDE)
        more = self._entries.find_in("no_folder", query, BESIDE)
        rows: list[str | FoundEntry] = [tr("Folders: choose one to name its files"), *folders]
        return [*rows, *more] if folders or more else []

    def _show(self) -> None:
        assert self._word is not None
        found = self._found(self._word)
        self.results.set_rows(found)
        if found and self.isHidden():
            cast_shadow(self)
        self.setVisible(bool(found))
        if found:
            self._place()
            self.raise_()
            self.list.choose()

    def _refresh(self) -> None:
        """Show what has been read; the chosen line stays if the person moved to it."""
        if self._word is None:
            return
        first = next((row for row in self.results.rows if isinstance(row, FoundEntry)), None)
        chosen = self.list.current
        self._show()
        if chosen is not None and chosen is not first:
            self.list.choose(lambda one: one.entry.key == chosen.entry.key)

    def take(self, *, go_on: bool = False) -> None:
        """Put the chosen entry in the place of the word, or do it.

        With ``go_on`` a folder's name stays open, for what is in it.
        """
        row = self.list.current
        if row is None:
            return
        entry = row.entry
        if entry.group == "files":
            if go_on and entry.name.endswith("/"):
                self._composer.replace_word(mention_of(entry.name))
                return
        elif entry.group == "agents":
            self._composer.address(entry.name)
        elif entry.group in ("called", "resources"):
            pass  # its name takes the place of the word
        else:
            self._composer.replace_word("")
        self.close_list()
        self._entries.chosen(entry)
        if entry.group != "agents":
            entry.run()

    # Place and look

    def _place(self) -> None:
        if self.isHidden():
            return
        t, box = self.theme, self._composer.geometry()
        gap = t.px(GAP)
        above, below = box.top() - 2 * gap, self._page.height() - box.bottom() - 2 * gap
        tall = min(self.list.rows_height(), MOST_ROWS * t.height(ROW)) + 2 * t.px(PAD)
        upward = above >= tall or above >= below
        tall = min(tall, above if upward else below)
        top = box.top() - gap - tall if upward else box.bottom() + 1 + gap
        self.setGeometry(QRect(box.left(), top, box.width(), tall))
        pad = t.px(PAD)
        self.list.setGeometry(1, pad, self.width() - 2, max(0, tall - 2 * pad))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, t.px(10), t.color("raised"), t.color("control"))

    # Keys and mouse

    def _clicked(self, index: QModelIndex) -> None:
        if self.list.choice(index) is not None:
            self.list.setCurrentIndex(index)
            self.take()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._page:
            if event.type() == QEvent.Type.Resize:
                self._place()
            return False
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return not self.isHidden() and self._key(event)
        stays = (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)
        if (
            isinstance(event, QFocusEvent)
            and event.type() == QEvent.Type.FocusOut
            and event.reason() not in stays
        ):
            self.close_list()
        return False

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            return False
        if key == Qt.Key.Key_Escape:
            if self._word is not None:
                self._refused = self._start(self._word)
            self.close_list()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Tab):
            self.take(go_on=key == Qt.Key.Key_Tab)
        else:
            return self.list.key(event)
        return True
