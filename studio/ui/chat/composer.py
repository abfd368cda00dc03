"""Composer: where a person types, with the chat's options and Send or Stop."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QMargins, QMimeData, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QFontMetricsF,
    QInputMethodEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from studio.ui.formatting import percent
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import (
    IconButton,
    MenuButton,
    PaintedButton,
    Tag,
    make_transparent,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import (
    TAGS,
    PaintedWidget,
    centred,
    paint_ring,
    paint_rounded,
    paint_text,
)

from .attachments import Attachments, files_in, picture_in
from .model.chat_model import ChatModel
from .model.message_input import State
from .model.open_chat import Change
from .model.open_word import OpenWord, mention_of, open_word

if TYPE_CHECKING:
    from studio.tools.packs.sources import Mark

    from .spell_check import SpellCheck

MOST_LINES = 10
CARET = 2
"""Pixels of the caret's width."""
STOP_TIP = tr_later(
    "Stop (Esc). While a tool works, Esc stops it alone, and twice within a second the turn."
)
_CASE = QTextDocument.FindFlag.FindCaseSensitively
_CONTROL = Qt.KeyboardModifier.ControlModifier


class _Overlay(PaintedWidget):
    """Paints over the text the caret, and what stands in an empty editor.

    Qt's placeholder is neither painted again when its text changes nor scaled with the editor's
    font, and its caret has the opposite of the ground's colour. The caret is not painted on
    ``viewport()``: the first widget that Qt returns makes PySide set up every class of widget,
    which would delay the window.
    """

    def __init__(self, theme: Theme, editor: QPlainTextEdit) -> None:
        super().__init__(theme, editor)
        self._editor = editor
        self.text = ""
        self.shows_text = True
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._editor.getPaintContext().cursorPosition != -1:  # between two blinks it has none
            painter = QPainter(self)
            painter.fillRect(self._editor.cursorRect(), self.theme.color("accent_text"))
            painter.end()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        if not self.shows_text:
            return
        top = Qt.AlignmentFlag.AlignTop
        rect = rect.adjusted(CARET, 0, 0, 0)  # behind the caret
        paint_text(painter, self.theme, rect, self.text, "body", "text3", top, rect.width())


class Editor(QPlainTextEdit):
    """Plain text that grows from one to ten lines."""

    submitted = Signal()
    submitted_now = Signal()
    """Ctrl+Enter: what is typed is not to wait for the end of the turn."""
    files_given = Signal(list)
    """Paths of files that were pasted or dropped."""
    picture_given = Signal(object)
    escaped = Signal()
    recalled = Signal()
    older_wanted = Signal()
    newer_wanted = Signal()
    """Ctrl with an arrow: through the messages written before."""
    end_wanted = Signal()
    """End while nothing is written: to the end of the chat."""
    focus_changed = Signal()
    resized = Signal()
    typed = Signal()
    """The person typed something, or an input method did for them."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.spell_check: SpellCheck | None = None
        """None until something was typed."""
        self._theme = theme
        self.least = 0
        """The least height, in pixels at normal text size."""
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setTabChangesFocus(True)
        self.setCursorWidth(CARET)
        make_transparent(self)
        self.document().setDocumentMargin(0)
        self._overlay = _Overlay(theme, self)
        self.document().contentsChanged.connect(self._show_placeholder)
        self.document().documentLayout().documentSizeChanged.connect(lambda _: self.fit())
        theme.changed.connect(self._follow)
        self._follow()

    def fit(self) -> None:
        """Take the height of the text, within the limits."""
        line = ceil(QFontMetricsF(self.font()).lineSpacing())  # as the text is laid out
        lines = max(1, min(MOST_LINES, int(self.document().size().height())))
        height = max(lines * line + 2, self._theme.px(self.least))
        if height != self.height():
            self.setFixedHeight(height)
            self.resized.emit()

    def _follow(self) -> None:
        self.ensurePolished()  # the style sheet's first look at it would restore the font before
        self.setFont(self._theme.font("body"))
        self.fit()

    @property
    def placeholder(self) -> str:
        """What stands in the editor while it is empty."""
        return self._overlay.text

    @placeholder.setter
    def placeholder(self, text: str) -> None:
        self._overlay.text = text
        self.setAccessibleDescription(text)
        self._overlay.update()

    def _show_placeholder(self) -> None:
        if self._overlay.shows_text == self.writing:
            self._overlay.shows_text = not self.writing
            self._overlay.update()

    @property
    def writing(self) -> bool:
        """Whether there is text, be it one that an input method composes yet."""
        composed = self.document().firstBlock().layout().preeditAreaText()
        return bool(composed) or not self.document().isEmpty()

    def go_on(self, text: str) -> None:
        """Take the keyboard, with what was typed before it came here."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.insertPlainText(text)
        self.typed.emit()

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        super().inputMethodEvent(event)
        self.typed.emit()
        self._show_placeholder()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        size = event.size()  # without the scroll bar, which is at the far side of the text
        left = self.width() - size.width() if self.isRightToLeft() else 0
        self._overlay.setGeometry(left, 0, size.width(), size.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not held & (
            Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier
        ):
            now = bool(held & _CONTROL)
            (self.submitted_now if now else self.submitted).emit()
        elif key == Qt.Key.Key_Escape:
            self.escaped.emit()
        elif key == Qt.Key.Key_Up and not self.toPlainText() and not held & _CONTROL:
            self.recalled.emit()
        elif key == Qt.Key.Key_End and not self.toPlainText() and not held & _CONTROL:
            self.end_wanted.emit()
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down) and (
            held & ~Qt.KeyboardModifier.KeypadModifier == _CONTROL
        ):
            (self.older_wanted if key == Qt.Key.Key_Up else self.newer_wanted).emit()
        else:
            super().keyPressEvent(event)
            self.typed.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.spell_check is None:
            super().contextMenuEvent(event)
        else:
            by_keys = event.reason() == QContextMenuEvent.Reason.Keyboard
            self.spell_check.show_menu(event.pos(), event.globalPos(), by_keys=by_keys)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasUrls() or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Insert a text that is pasted or dropped; pass on files and pictures as attachments."""
        if files := files_in(source):
            self.files_given.emit(files)
        elif (picture := picture_in(source)) is not None:
            self.picture_given.emit(picture)
        else:
            super().insertFromMimeData(source)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit()


class SendButton(PaintedButton):
    """An arrow that sends; a square that stops while something runs."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.stops = self.ready = self.waits = False
        self.show_state(stops=False, ready=False)

    def show_state(
        self, *, stops: bool, ready: bool, waits: bool = False, remark: str = ""
    ) -> None:
        """Show what a click does; ``remark`` is added to the tooltip.

        ``waits``: it was clicked, and the message goes out when it can.
        """
        self.stops, self.ready, self.waits = stops, ready, waits
        after = f". {remark}" if remark and not stops else ""
        self.setAccessibleName(tr("Stop") if stops else tr("Send") + after)
        self.setToolTip(plain_tip(tr(STOP_TIP) if stops else tr("Send (Enter)") + after))
        self.setEnabled(stops or ready)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(28), self.theme.px(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        strong = self.stops or self.ready
        fill = t.color("text1") if self.stops else t.color("accent" if strong else "track")
        paint_rounded(painter, rect, t.px(8), fill)
        if over := self.overlay():
            paint_rounded(painter, rect, t.px(8), t.color(over))
        box = centred(rect, t.px(10 if self.stops else 16))
        if self.stops:
            paint_rounded(painter, box, t.px(2), t.color("surface"))
        else:
            icon = "hourglass" if self.waits else "arrow-up"
            t.paint_icon(painter, box, icon, "accent_on" if strong else "text3")


class ContextRing(PaintedWidget):
    """How full the model's context is, as a ring and a percentage."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._part: float | None = None

    def set_part(self, part: float | None, tooltip: str = "") -> None:
        self._part = part
        self.setVisible(part is not None)
        self.setToolTip(plain_tip(tooltip))
        self.setAccessibleName(
            tr("Context {part} used").format(part=percent(part)) if part is not None else ""
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        t = self.theme
        text = t.metrics("small_medium").horizontalAdvance(percent(self._part or 0))
        return QSize(t.px(14) + t.px(6) + text + t.px(4), t.px(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        if self._part is None:
            return
        t = self.theme
        side = t.px(14)
        color = "warn" if self._part >= 0.8 else "text2"
        paint_ring(painter, t, QRectF(0, (self.height() - side) / 2, side, side), self._part, color)
        words = rect.translated(side + t.px(6), 0)
        paint_text(painter, t, words, percent(self._part), "small_medium", color)


class Composer(PaintedWidget):
    """The raised box at the bottom of a chat: shows the model's input and sends it."""

    resized = Signal()
    word_opened = Signal()
    """A mention or a command is being typed."""
    appeared = Signal()

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._model = model
        self.attachments = Attachments(theme, model, self)
        self.editor = Editor(theme, self)
        self.editor.setAccessibleName(tr("Message"))
        self._welcoming = False
        self._shown = ""
        """The text that came from the model last: a message that was kept, or an earlier one."""
        self.add = IconButton(theme, "plus", tr("Add files"), parent=self)
        self.agent = MenuButton(theme, tr("Agent"), parent=self)
        self.model = MenuButton(theme, tr("Model"), spare_icon="cpu", parent=self)
        self.effort = MenuButton(theme, tr("Effort"), icon="gauge", parent=self)
        self.mode = MenuButton(theme, tr("Permissions"), icon="shield", parent=self)
        self.folder = MenuButton(theme, tr("Folder"), icon="folder", parent=self)
        self._marks: Sequence[Mark] = ()
        self.marks: list[Tag] = []
        """What is known of the thing of a pack that the chat is about."""
        self._marks_row = row_of(spacing=theme.px(4))
        self.context = ContextRing(theme, self)
        self.send = SendButton(theme, self)

        menus = (self.add, self.agent, self.model, self.effort, self.mode, self.folder)
        row = row_of(
            [*menus, self._marks_row, STRETCH, self.context, theme.px(8), self.send],
            spacing=theme.px(4),
            folding=(self.effort, self.folder, self.mode, self.agent, self.model),
        )
        self._text_row = row_of([self.editor])
        self._column = column_of([self.attachments, self._text_row, row], on=self)
        self._space()

        self.context.set_part(None)
        self._spacious = self._known = False
        for menu in (self.agent, self.model, self.effort, self.mode, self.folder):
            menu.hide()  # there is nothing to choose from yet
        self.editor.submitted.connect(model.submit)
        self.editor.submitted_now.connect(lambda: model.submit(now=True))
        self.editor.escaped.connect(self._escape)
        self.editor.recalled.connect(model.recovery.recall)
        self.editor.older_wanted.connect(model.prompts.older)
        self.editor.newer_wanted.connect(model.prompts.newer)
        self.editor.textChanged.connect(lambda: model.input.set_text(self.text, self._caret))
        self.editor.cursorPositionChanged.connect(lambda: model.input.move_caret(self._caret))
        self.editor.cursorPositionChanged.connect(self._look_for_word)
        self.editor.textChanged.connect(self.check_spelling)
        self.editor.resized.connect(self._parts_resized)
        self.editor.focus_changed.connect(self.update)
        self.editor.files_given.connect(self.attachments.add_paths)
        self.editor.picture_given.connect(self.attachments.paste)
        self.attachments.mentioned.connect(self._mention)
        self.attachments.resized.connect(self._parts_resized)
        self.send.clicked.connect(self._clicked)
        self.add.clicked.connect(self.attachments.choose_files)
        theme.changed.connect(self._space)
        self.setFocusProxy(self.editor)
        self.editor.placeholder = model.placeholder
        model.subscribe(self._changed, "input", "state", "attachments", "chat", "options")

    @property
    def text(self) -> str:
        return self.editor.toPlainText()

    @property
    def _caret(self) -> int:
        return self.editor.textCursor().position()

    @property
    def state(self) -> State:
        return self._model.input.state

    # What the model changed

    def _changed(self, change: Change) -> None:
        match change.part:
            case "input":
                if self._model.input.text != self.text:
                    self._show_text(self._model.input.text, self._model.input.caret)
                self._show()
            case "state" | "attachments":
                self._show()
            case "chat":
                if not (change.reloaded or change.begun):  # Undo would bring another chat's text
                    self.editor.document().clearUndoRedoStacks()
                closed = self._model.input.closed
                menus = (self.agent, self.model, self.effort, self.mode)
                for widget in (self.editor, self.add, *menus, self.send):
                    widget.setEnabled(not closed)
                self._show()
            case "options":
                self.editor.placeholder = self._model.placeholder
                self.context.set_part(*(self._model.context_use or (None, "")))
            case _:
                pass

    def show_marks(self, marks: Sequence[Mark]) -> None:
        """Show the state of what the chat is about, and nothing of another's."""
        if marks == self._marks:
            return
        self._marks = marks
        for tag in self.marks:
            self._marks_row.removeWidget(tag)
            tag.hide()
            tag.deleteLater()
        self.marks = [Tag(self.theme, "", parent=self) for _ in marks]
        for tag, mark in zip(self.marks, marks, strict=True):
            tag.set(mark.text, mark.kind if mark.kind in TAGS else "neutral", mark.icon)
            tag.setToolTip(plain_tip(mark.about))
            tag.setAccessibleDescription(mark.about)
            self._marks_row.addWidget(tag)
            tag.show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.appeared.emit()

    def set_text(self, text: str) -> None:
        """Replace the text; the caret goes to its end."""
        self._model.input.set_text(text)

    def _show_text(self, text: str, caret: int) -> None:
        self._shown = text
        self.editor.setPlainText(text)
        cursor = self.editor.textCursor()
        cursor.setPosition(min(caret, self.editor.document().characterCount() - 1))
        self.editor.setTextCursor(cursor)

    @property
    def open_word(self) -> OpenWord | None:
        """The mention or command that ends at the caret; none in what the person did not type."""
        cursor = self.editor.textCursor()
        if cursor.hasSelection() or self.text == self._shown:
            return None
        block = cursor.block()
        line = block.text().encode("utf-16-le", "surrogatepass")[: 2 * cursor.positionInBlock()]
        before = line.decode("utf-16-le", "surrogatepass")
        return open_word(before, first=block.blockNumber() == 0)

    def _look_for_word(self) -> None:
        if self.editor.hasFocus() and self.open_word is not None:
            self.word_opened.emit()

    def replace_word(self, text: str) -> None:
        """Put a text in the place of the word that is being typed, or at the caret."""
        cursor, word = self.editor.textCursor(), self.open_word
        if word is not None:
            units = len(word.typed.encode("utf-16-le", "surrogatepass")) // 2
            cursor.setPosition(cursor.position() - units, QTextCursor.MoveMode.KeepAnchor)
        elif text and not cursor.atBlockStart():
            text = f" {text}"
        cursor.insertText(text)
        self.editor.setTextCursor(cursor)

    def mention(self, name: str) -> None:
        """Name a file or folder of the chat's folder in the text; a file is attached too."""
        if self._model.input.closed:
            return
        self.replace_word(f"{mention_of(name)} ")
        if not name.endswith("/"):
            self._model.attachments.mention(name)
        self.setFocus()

    def mention_resource(self, name: str) -> None:
        """Name a resource of a server in the text, and attach it (M-21)."""
        if not self._model.input.closed:
            self.replace_word(f"{mention_of(name)} ")
            self._model.attachments.mention_resource(name)
            self.setFocus()

    def address(self, agent: str) -> None:
        """Let the message be for an agent, whose name goes before all words."""
        self.replace_word("")
        cursor = QTextCursor(self.editor.document())
        if before := self._model.options.addressed(self.text):
            units = len(mention_of(before).encode("utf-16-le")) // 2
            cursor.setPosition(units, QTextCursor.MoveMode.KeepAnchor)
            cursor.insertText(mention_of(agent))
        else:
            cursor.insertText(f"{mention_of(agent)} ")
        self.setFocus()

    def _mention(self, text: str) -> None:
        if text:
            self.editor.insertPlainText(text)
        self.setFocus()

    def set_welcoming(self, welcoming: bool) -> None:
        """Show that what is dragged over the page can be dropped."""
        self._welcoming = welcoming
        self.update()

    def set_spacious(self, spacious: bool) -> None:
        """Show three lines from the start, and the folder: for a new chat."""
        self.editor.least = 62 if spacious else 0
        self._spacious = spacious
        self.folder.setVisible(spacious and self._known)
        self.editor.fit()

    def show_menus(self) -> None:
        """Show the menus: what is chosen in them is known now."""
        self._known = True
        for menu in (self.agent, self.model, self.mode):
            menu.show()
        self.folder.setVisible(self._spacious)

    def _space(self) -> None:
        self._mark_words()
        px = self.theme.px
        self._column.setContentsMargins(QMargins(px(8), px(12), px(9), px(9)))
        self._column.setSpacing(px(12))
        self._text_row.setContentsMargins(px(8), 0, px(6), 0)
        self.update()

    def _parts_resized(self) -> None:
        """Make room in this frame: in the next one the text would be painted over the buttons."""
        self._text_row.invalidate()
        self._column.invalidate()
        self.resized.emit()
        self._column.activate()

    def _show(self) -> None:
        """Show what Send does now, and whether there is something to send."""
        self._mark_words()
        message = self._model.input
        remark = self._model.attachments.send_remark
        if message.wish:
            remark = tr("It goes out when everything is loaded")
        self.send.show_state(
            stops=message.state == "running",
            ready=message.ready,
            waits=bool(message.wish),
            remark=remark,
        )
        if message.closed:
            self.send.setToolTip(plain_tip(message.closed))

    def _mark_words(self) -> None:
        """Show which names in the text stand for an attached file, and what is misspelt."""
        named = [one.mention for one in self._model.attachments.items if one.mention]
        if agent := self._model.options.addressed(self.text):
            named.append(agent)
        check = self.editor.spell_check
        marks: list[QTextEdit.ExtraSelection] = check.marks if check is not None else []
        if not named and not marks and not self.editor.extraSelections():
            return
        for name in named:
            found = self.editor.document().find(mention_of(name), 0, _CASE)
            while not found.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = found
                mark.format.setForeground(self.theme.color("accent_text"))
                marks.append(mark)
                found = self.editor.document().find(mention_of(name), found, _CASE)
        self.editor.setExtraSelections(marks)

    def _escape(self) -> None:
        self._model.input.wait("")
        if self._model.input.state in ("running", "waiting"):
            self._model.interrupt()

    def check_spelling(self) -> None:
        """Have what is written looked at, as the settings say; see ``spell_check``."""
        engine, check = self._model.engine, self.editor.spell_check
        if check is not None:
            check.check_soon()
        elif engine is not None and self.text and engine.settings.values.spelling != "off":
            from .spell_check import SpellCheck

            check = SpellCheck(self.theme, self.editor, self._model, engine.settings)
            self.editor.spell_check = check
            check.marked.connect(self._mark_words)

    def _clicked(self) -> None:
        if self.send.stops:
            self._model.stop()
        else:
            self._model.submit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        focused = self._welcoming or (self.editor.hasFocus() and bool(self.editor.least))
        border, width = ("accent_text", 1.5) if focused else ("control", 1.0)
        paint_rounded(painter, rect, t.px(12), t.color("raised"), t.color(border), width)
