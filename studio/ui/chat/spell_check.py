"""Marks misspelt words in the composer, and offers others in its menu.

It is imported when something is typed for the first time. What is typed is looked at when the
person pauses, in a thread; nothing runs in between.
"""

from __future__ import annotations

import asyncio

from PySide6.QtCore import QObject, QPoint, QTimer, Signal
from PySide6.QtGui import QAction, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QTextEdit
from shiboken6 import isValid

from studio.domain.errors import StudioError
from studio.storage.config.settings import SettingsFile
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import locales_of_person, tr

from .model.chat_model import ChatModel
from .model.spelling import OFF, OWN_WORDS, Spelling, Word

PAUSE = 300
"""Milliseconds without a key after which a text is looked at."""
PATIENCE = 0.5
"""Seconds that the menu waits for suggestions."""


class SpellCheck(QObject):
    """Looks at the text of an editor; ``marked`` tells that ``marks`` are others."""

    marked = Signal()

    def __init__(
        self, theme: Theme, editor: QPlainTextEdit, model: ChatModel, settings: SettingsFile
    ) -> None:
        super().__init__(editor)
        self._theme, self._editor, self._model = theme, editor, model
        self._settings = settings
        self._spelling = Spelling(settings.path.parent / OWN_WORDS)
        self._found: list[tuple[Word, QTextCursor]] = []
        self._revision = editor.document().revision()
        self._typing = True
        """Whether the word at the caret may not be finished."""
        self._checking = False
        self._timer = QTimer(self, singleShot=True, interval=PAUSE)
        self._timer.timeout.connect(self.check)
        editor.cursorPositionChanged.connect(self._caret_moved)
        theme.changed.connect(self.marked)
        self._timer.start()

    @property
    def marks(self) -> list[QTextEdit.ExtraSelection]:
        """Waves below the words that are misspelt."""
        made: list[QTextEdit.ExtraSelection] = []
        for word, cursor in self._found:
            if cursor.selectedText() == word.text:  # else it was changed meanwhile
                mark = QTextEdit.ExtraSelection()
                mark.cursor = cursor
                mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
                mark.format.setUnderlineColor(self._theme.color("err"))
                made.append(mark)
        return made

    def check_soon(self) -> None:
        """Look at the text once the person pauses."""
        self._timer.start()

    def check(self) -> None:
        """Look at the text as it is now, unless that is being done."""
        if self._checking:
            self._timer.start()
        elif self._settings.values.spelling == OFF:
            self._show([], "")
        else:
            self._checking = True
            self._model.run(self._check(self._editor.toPlainText()))

    def _caret_moved(self) -> None:
        revision = self._editor.document().revision()
        self._typing, self._revision = revision != self._revision, revision
        self._timer.start()

    async def _check(self, text: str) -> None:
        try:
            found = await asyncio.to_thread(
                self._spelling.misspelt, text, self._settings.values.spelling, locales_of_person()
            )
        finally:
            self._checking = False
        if isValid(self._editor):
            self._show(found, text)

    def _show(self, found: list[Word], text: str) -> None:
        if text and text != self._editor.toPlainText():
            return  # it is looked at again
        caret = self._editor.textCursor().position()
        before, self._found = self._found, []
        for word in found:
            if self._typing and word.start <= caret <= word.start + word.length:
                continue
            cursor = QTextCursor(self._editor.document())
            cursor.setPosition(word.start)
            cursor.setPosition(word.start + word.length, QTextCursor.MoveMode.KeepAnchor)
            self._found.append((word, cursor))
        if before or self._found:
            self.marked.emit()

    # The menu

    def show_menu(self, place: QPoint, global_place: QPoint, *, by_keys: bool) -> None:
        """Show the editor's menu, with words for a misspelt one at this place on top."""
        editor = self._editor
        at = editor.textCursor() if by_keys else editor.cursorForPosition(place)
        word = next(
            (
                cursor
                for word, cursor in self._found
                if cursor.selectedText() == word.text
                and cursor.selectionStart() <= at.position() <= cursor.selectionEnd()
            ),
            None,
        )
        menu = editor.createStandardContextMenu(place)
        menu.aboutToHide.connect(menu.deleteLater)
        if word is None:
            menu.popup(global_place)
        else:
            self._model.run(self._offer(menu, word, global_place))

    async def _offer(self, menu: QMenu, word: QTextCursor, place: QPoint) -> None:
        text = word.selectedText()
        finding = asyncio.to_thread(
            self._spelling.suggestions, text, self._settings.values.spelling, locales_of_person()
        )
        try:
            words = await asyncio.wait_for(finding, PATIENCE)
        except TimeoutError:
            words = []
        if not isValid(menu):
            return
        lines: list[QAction] = []
        for one in words:
            line = QAction(one, menu)
            line.triggered.connect(lambda _on=False, one=one: self._replace(word, text, one))
            lines.append(line)
        if not words:
            lines.append(QAction(tr("No suggestions"), menu, enabled=False))
        add = QAction(tr("Add to dictionary"), menu)
        add.triggered.connect(lambda: self._model.run(self._add(text)))
        first = menu.actions()[0]
        menu.insertActions(first, [*lines, add])
        menu.insertSeparator(add)
        menu.insertSeparator(first)
        menu.popup(place)

    def _replace(self, word: QTextCursor, text: str, other: str) -> None:
        if word.selectedText() == text:
            word.insertText(other)

    async def _add(self, word: str) -> None:
        try:
            await asyncio.to_thread(self._spelling.add, word)
        except StudioError as error:
            self._model.report(tr_engine(str(error)))
        self.check()
