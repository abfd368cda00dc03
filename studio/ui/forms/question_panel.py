"""What a server asks: its form or its address, with the ways to answer (M-19)."""

from __future__ import annotations

import time

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from studio.domain.forms import is_web_address, plain_host
from studio.domain.questions import DECLINED, ServerAnswer, ServerQuestion
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import Button, Card, Label
from studio.ui.widgets.breakable import BreakableLabel
from studio.ui.widgets.layouts import STRETCH, PlacedPart, column_of, row_of
from studio.ui.widgets.scrolled_body import ScrolledBody

from .schema_form import SchemaForm

GUARD = 0.4
"""Seconds after it appeared in which keys answer nothing: they were meant for something else."""


class QuestionPanel(QWidget):
    """The question of one server. Enter answers, Escape leaves it open.

    An address is opened by the button alone.
    """

    answered = Signal(object)
    """A ``ServerAnswer``."""
    left = Signal()
    """Escape: the person wants to answer later."""
    resized = Signal()
    """It needs another height."""

    def __init__(self, theme: Theme, question: ServerQuestion) -> None:
        super().__init__()
        self.theme, self.question = theme, question
        self._shown_at = 0.0
        form = question.schema
        if question.model:
            title = tr("{server} wants {model} to answer")
            title = title.format(server=question.server, model=question.model)
        else:
            title = tr("{server} asks").format(server=question.server)
        self.title = Label(theme, title, "heading", wrap=True)
        self.message = Label(theme, question.message, "ui", "text1", wrap=True)
        self.form: SchemaForm | None = None
        if form is not None and not question.model:
            self.form = SchemaForm(theme, form, asked=True)
        self.where = Label(theme, "", "small", "text2", wrap=True)
        self.address: BreakableLabel | None = None
        parts: list[PlacedPart] = [self.message]
        if question.model:
            self.where.setText(
                tr(
                    "It reads only what is below: nothing of this chat, and it has no tools. The "
                    "answer goes to {server} and counts towards your limits."
                ).format(server=question.server)
            )
            box = Card(theme, "sunken", "", 6)
            column_of([self.message], margins=(10, 8, 10, 8), on=box)
            parts = [self.where, box]
            words, icon = tr("Let it answer"), ""
        elif self.form is not None:
            self.form.entered.connect(self.accept)
            self.form.changed.connect(self.resized)
            parts.append(self.form)
            words, icon = tr("Send to {server}").format(server=question.server), ""
        else:
            parts += self._of_address(question.url)
            words, icon = tr("Open in the browser"), "globe"
        self.send = Button(theme, words, "primary", icon=icon, clicked=self.accept)
        if form is None and not question.model and not is_web_address(question.url):
            self.send.hide()
        self.decline = Button(theme, tr_in("a server's question", "Decline"), clicked=self._decline)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self._cancel)
        self.decline.setToolTip(tr("Tell the server that you do not want to answer."))
        self.cancel.setToolTip(tr("Put the question away without an answer."))
        inner = QWidget()
        column_of(parts, spacing=8, on=inner, margins=(0, 0, 8, 2))
        self.body = ScrolledBody(theme, inner)
        buttons = row_of([self.send, self.cancel, STRETCH, self.decline], spacing=8)
        words_column = column_of([self.title, self.body, buttons], spacing=8)
        tile = IconTile(theme, "server", "warn")
        top = Qt.AlignmentFlag.AlignTop
        row_of([(tile, top), (words_column, 1)], spacing=12, on=self)
        self.setAccessibleName(f"{title}: {question.message} {question.url}".rstrip())
        for key in ("Ctrl+Return", "Ctrl+Enter"):
            shortcut = QShortcut(QKeySequence(key), self, self.accept)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape = QShortcut(QKeySequence("Escape"), self, self.left.emit)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def _of_address(self, url: str) -> list[PlacedPart]:
        """The whole address, with its host apart."""
        theme = self.theme
        if not is_web_address(url):
            line = tr("It wants an address opened that no browser should open:")
        else:
            host = plain_host(url)
            line = tr("It wants a page of {host} opened. Look at the address first:").format(
                host=host
            )
        box = Card(theme, "sunken", "", 6)
        self.address = BreakableLabel(theme, url)
        column_of([self.address], margins=(10, 8, 10, 8), on=box)
        self.where.setText(line)
        return [self.where, box]

    def set_most(self, height: int) -> None:
        """Let it be no taller: what is asked scrolls then."""
        self.body.set_most(height - self.title.sizeHint().height() - self.send.sizeHint().height())

    def appear(self) -> None:
        """It is shown now: keys count in a moment."""
        self._shown_at = time.monotonic()

    @property
    def deaf(self) -> bool:
        """Whether it answers nothing yet."""
        return time.monotonic() - self._shown_at < GUARD

    def take_focus(self) -> None:
        """Give the keyboard to the first field, or to the button."""
        if self.form is not None and self.form.rows:
            self.form.focus_first()
        else:
            (self.send if not self.send.isHidden() else self.decline).setFocus(
                Qt.FocusReason.OtherFocusReason
            )

    def accept(self) -> None:
        """Send what is filled in, or open the address."""
        if self.deaf:
            return
        if self.question.model:
            self.answered.emit(ServerAnswer("accept"))
            return
        if self.form is None:
            if is_web_address(self.question.url):
                QDesktopServices.openUrl(QUrl(self.question.url))
                self.answered.emit(ServerAnswer("accept"))
            return
        try:
            content = self.form.value()
        except ValueError:
            self.resized.emit()  # it is told beside the field
            return
        self.answered.emit(ServerAnswer("accept", content))

    def _decline(self) -> None:
        self.answered.emit(DECLINED)

    def _cancel(self) -> None:
        self.answered.emit(ServerAnswer("cancel"))
