"""The text of a file, with numbers of lines, the present line and marked problems."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QPointF, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
)
from PySide6.QtWidgets import QTextEdit, QWidget

from studio.agent.agent_files.edit import Edit
from studio.agent.frontmatter import Problem
from studio.ui.markdown.blocks import utf16
from studio.ui.theme import Theme
from studio.ui.widgets import FocusRing, OverlayBar, make_transparent

from .completion_list import CompletionList
from .highlighter import FileHighlighter

_CTRL = Qt.KeyboardModifier.ControlModifier
_LEAVES = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End)
_PARAGRAPH = "\u2029"


class _Numbers(QWidget):
    """The numbers of the lines, left of the text."""

    def __init__(self, theme: Theme, editor: FileEditor) -> None:
        super().__init__(editor)
        self._theme, self._editor = theme, editor

    def sizeHint(self) -> QSize:
        return QSize(self._editor.gutter, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        t, editor = self._theme, self._editor
        painter = QPainter(self)
        painter.setFont(t.font("code"))
        editor.paint_block(painter, self.width())
        current = editor.textCursor().blockNumber()
        layout, shift = editor.document().documentLayout(), editor.verticalScrollBar().value()
        block, line = editor.document().firstBlock(), t.line("editor")
        while block.isValid():
            place = layout.blockBoundingRect(block)
            top = place.top() - shift
            if top > self.height():
                break
            if place.bottom() - shift >= 0:
                here = block.blockNumber() == current and not editor.isReadOnly()
                if here:
                    editor.paint_line(painter, self.width())
                painter.setPen(t.color("text1" if here else "text3"))
                words, right = str(block.blockNumber() + 1), self.width() - t.px(20)
                x = right - t.metrics("code").horizontalAdvance(words)
                painter.drawText(QPointF(x, top + line - t.metrics("editor").descent()), words)
                if (ink := editor.mark_of(block.blockNumber())) is not None:
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(Qt.PenStyle.NoPen)
                    painter.setBrush(t.color(ink))
                    middle = top + line - t.metrics("editor").xHeight() / 2
                    middle -= t.metrics("editor").descent()
                    painter.drawEllipse(QPointF(right + t.px(9), middle), t.px(3), t.px(3))
            block = block.next()
        painter.end()


class FileEditor(QTextEdit):
    """Plain text whose lines are 22 pixels tall. Places are characters, as in ``Problem``."""

    edited = Signal()
    """The text changed, by the person or by ``apply``."""
    caret_moved = Signal()
    completion_wanted = Signal()
    """The person types a word, or wants to know what may stand at the caret: see ``offer``."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self._theme = theme
        self._problems: Sequence[Problem] = ()
        self._block: QTextCursor | None = None
        """The part whose lines are marked."""
        self._text = ""
        """The text of which the page knows."""
        self.setAcceptRichText(False)
        self.setTabChangesFocus(True)  # YAML has no tabs
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName(name)
        make_transparent(self)
        self._numbers = _Numbers(theme, self)
        FocusRing.of(theme).follow(self)
        self._highlighter = FileHighlighter(theme, self.document())
        self._bar = OverlayBar(self)
        self.completions = CompletionList(theme, self)
        self.completions.taken.connect(self._take)
        self._asked = False
        """Whether the person asked for completions, and did not only type."""
        self._word = 0
        """Where the word begins that a completion takes the place of."""
        self.verticalScrollBar().valueChanged.connect(lambda _: self._numbers.update())
        self.document().contentsChange.connect(self._contents_changed)
        self.cursorPositionChanged.connect(self._moved)
        theme.changed.connect(self._follow)
        self._follow()

    @property
    def gutter(self) -> int:
        digits = max(2, len(str(self.document().blockCount())))
        return self._theme.px(44) + digits * self._theme.metrics("code").horizontalAdvance("0")

    def text(self) -> str:
        """The text with ``\\n`` at the ends of lines; ``toPlainText`` would change blanks."""
        return self.document().toRawText().replace(_PARAGRAPH, "\n")

    def show_text(self, text: str) -> None:
        """Show another file; what came before cannot be undone here."""
        self.blockSignals(True)
        self.document().blockSignals(True)
        self.setPlainText(text)
        self._set_lines()
        self.document().clearUndoRedoStacks()
        self._text = self.text()
        self._block = None
        self.document().blockSignals(False)
        self.blockSignals(False)
        self._highlighter.rehighlight()
        self.show_problems(())
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self.verticalScrollBar().setValue(0)
        self._moved()

    def replace_text(self, text: str) -> None:
        """Make this the text in one step that can be undone; only what differs is touched."""
        old = self.text()
        start = 0
        while start < min(len(old), len(text)) and old[start] == text[start]:
            start += 1
        end = 0
        most = min(len(old), len(text)) - start
        while end < most and old[-1 - end] == text[-1 - end]:
            end += 1
        if old != text:
            self.apply(Edit(start, len(old) - end, text[start : len(text) - end]))

    def apply(self, edit: Edit) -> None:
        """Make a change in one step that can be undone; the caret stays where it is."""
        cursor = self._cursor(edit.start, edit.end)
        cursor.beginEditBlock()
        cursor.insertText(edit.text)
        cursor.endEditBlock()

    def reveal(self, problem: Problem) -> None:
        """Mark the place of a problem and give it the keyboard."""
        self.setTextCursor(self._cursor(problem.start, problem.end))
        self.ensureCursorVisible()
        self.setFocus()

    def show_block(self, block: tuple[int, int] | None) -> None:
        """Mark the lines of a part of the text, such as a step."""
        self._block = None if block is None else self._cursor(*block)
        self.viewport().update()
        self._numbers.update()

    def go_to(self, start: int) -> None:
        """Put the caret at a place and bring it into sight."""
        self.setTextCursor(self._cursor(start, start))
        self.ensureCursorVisible()

    @property
    def caret(self) -> int:
        """The place of the caret."""
        units = self.text().encode("utf-16-le", "surrogatepass")[: 2 * self.textCursor().position()]
        return len(units.decode("utf-16-le", "ignore"))

    def show_problems(self, problems: Sequence[Problem]) -> None:
        self._problems = problems
        self._mark()
        self._numbers.update()

    def mark_of(self, line: int) -> str | None:
        """The colour of the dot beside a line, counted from 0; None for one that is right."""
        here = [one.warning for one in self._problems if one.line == line + 1]
        return ("warn" if all(here) else "err") if here else None

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the caret, from 1."""
        cursor = self.textCursor()
        return cursor.blockNumber() + 1, cursor.positionInBlock() + 1

    def _cursor(self, start: int, end: int) -> QTextCursor:
        text, cursor = self.text(), self.textCursor()
        cursor.setPosition(utf16(text[:start]))
        cursor.setPosition(utf16(text[:end]), QTextCursor.MoveMode.KeepAnchor)
        return cursor

    # Completion

    def offer(self, start: int, words: Sequence[str]) -> None:
        """Offer words in place of what is typed from ``start`` on; none closes the list."""
        self._word = start
        begun = self._asked or start < self.caret
        caret = self.cursorRect().translated(self.viewport().pos())
        self.completions.offer(words, caret, self.viewport().geometry(), chosen=begun)
        self.setAccessibleDescription(words[0].rstrip() if words else "")

    def _take(self, word: str) -> None:
        self.completions.hide()
        self.apply(Edit(self._word, self.caret, word))
        self.setFocus()
        if word.endswith(": "):
            self.completion_wanted.emit()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes to the next field, unless it takes a word: nobody else hears of the key."""
        if next and not self.completions.isHidden():
            self.completions.take()
            return True
        return super().focusNextPrevChild(next)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.completions.key(event):
            return
        self._asked = event.key() == Qt.Key.Key_Space and event.modifiers() == _CTRL
        offered = not self.completions.isHidden()
        if not self._asked:
            super().keyPressEvent(event)
        if not self.isReadOnly() and (self._asked or self._types_on(event, offered=offered)):
            self.completion_wanted.emit()
        elif event.text() or event.key() in _LEAVES:
            self.completions.hide()

    def _types_on(self, event: QKeyEvent, *, offered: bool) -> bool:
        """Whether a word is being typed, or one may follow; ``offered``: some were."""
        if event.key() == Qt.Key.Key_Backspace:
            return offered
        if event.text() == " ":
            before = self.textCursor().block().text()[: self.textCursor().positionInBlock()]
            return before.rstrip()[-1:] in (":", ",", "[", "{")
        return bool(event.text()) and event.text().isprintable()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.completions.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.completions.hide()
        super().mousePressEvent(event)

    def _contents_changed(self, at: int, removed: int, added: int) -> None:
        self._numbers.update()
        self._fit()
        text = self.text()
        if text != self._text:  # or it has only other colours
            self._text = text
            self.edited.emit()

    def _moved(self) -> None:
        self.completions.hide()  # they belong where the caret was
        self.viewport().update()
        self._numbers.update()
        self.caret_moved.emit()

    def _mark(self) -> None:
        """A wave below each problem."""
        t, marks = self._theme, list[QTextEdit.ExtraSelection]()
        for problem in self._problems[:200]:
            mark = QTextEdit.ExtraSelection()
            mark.cursor = self._cursor(problem.start, max(problem.end, problem.start + 1))
            mark.format.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
            mark.format.setUnderlineColor(t.color("warn" if problem.warning else "err"))
            marks.append(mark)
        self.setExtraSelections(marks)

    def paint_line(self, painter: QPainter, width: int) -> None:
        """The ground of the line with the caret; its words stand at the bottom of their line."""
        block = self.textCursor().block()
        place = self.document().documentLayout().blockBoundingRect(block)
        line = self._theme.line("editor")
        above = (line - self._theme.metrics("editor").height()) / 2
        top = round(place.top() - self.verticalScrollBar().value() + above)
        lines = max(1, block.layout().lineCount())
        painter.fillRect(0, top, width, lines * line, self._theme.color("hover"))

    def paint_block(self, painter: QPainter, width: int) -> None:
        """The ground of the part that is marked."""
        if self._block is None:
            return
        document, line = self.document(), self._theme.line("editor")
        ends = (self._block.selectionStart(), self._block.selectionEnd())
        first, last = (
            document.documentLayout().blockBoundingRect(document.findBlock(at)) for at in ends
        )
        above = (line - self._theme.metrics("editor").height()) / 2
        top = round(first.top() - self.verticalScrollBar().value() + above)
        lines = max(1, document.findBlock(ends[1]).layout().lineCount())
        tall = round(last.top() - first.top()) + lines * line
        painter.fillRect(0, top, width, tall, self._theme.color("hover"))
        if painter.device() is self._numbers:
            painter.fillRect(0, top, 2, tall, self._theme.color("accent_text"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        self.paint_block(painter, self.viewport().width())
        if not self.isReadOnly():
            self.paint_line(painter, self.viewport().width())
        painter.end()
        super().paintEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste words without their looks."""
        self.textCursor().insertText(source.text())

    # Size and look

    def _set_lines(self) -> None:
        form = QTextBlockFormat()
        fixed = QTextBlockFormat.LineHeightTypes.FixedHeight.value
        form.setLineHeight(self._theme.line("editor"), fixed)
        frame = self.document().rootFrame()
        look = frame.frameFormat()
        look.setRightMargin(self._theme.px(24))
        frame.setFrameFormat(look)
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.mergeBlockFormat(form)

    def _follow(self) -> None:
        t = self._theme
        font = t.font("editor")
        font.setStyleHint(QFont.StyleHint.Monospace)
        self.setFont(font)
        self.document().setDefaultFont(font)
        self.document().setDocumentMargin(0)
        palette = self.palette()
        palette.setColor(palette.ColorRole.Text, t.color("text1"))
        palette.setColor(palette.ColorRole.Base, QColor(0, 0, 0, 0))
        self.setPalette(palette)
        self._set_lines()
        self._fit()
        self._mark()

    def _fit(self) -> None:
        t = self._theme
        self.setViewportMargins(self.gutter, t.px(8), 0, 0)
        self._place_numbers()

    def _place_numbers(self) -> None:
        top = self.viewport().geometry().top()
        self._numbers.setGeometry(QRect(0, top, self.gutter, self.height() - top))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_numbers()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ReadOnlyChange:
            self._moved()
