"""Server card: shows above the composer what a server asks during a call (M-19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import column_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded

from .model.chat_model import ChatModel

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.domain.blocks import ToolBlock
    from studio.domain.questions import ServerAnswer, ServerQuestion
    from studio.ui.forms.question_panel import QuestionPanel

SHARE = 0.5
"""The most of the page's height that a form gets before it scrolls."""
MARGIN = 14


class ServerCard(PaintedWidget):
    """The first of what servers ask in the chat on screen; hidden while there is nothing.

    What is filled in stays while other chats are shown.
    """

    changed = Signal()
    """The card is shown, hidden, or needs another height."""
    appeared = Signal()
    """Something is asked, and wants the keyboard."""
    left = Signal()
    """The keyboard is needed elsewhere now."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model, self._page = model, parent
        self.panel: QuestionPanel | None = None
        self._kept: dict[tuple[str, str], QuestionPanel] = {}
        self._key = "", ""
        self._column = column_of(margins=(MARGIN, MARGIN, MARGIN, MARGIN), on=self)
        theme.changed.connect(self.changed)
        model.subscribe(lambda _: self.refresh(), "chat", "event", "turn")
        self.hide()

    def refresh(self) -> None:
        """Show what is asked in the chat now."""
        session = self._model.session
        call = self._asking()
        key = (session.info.id, call.call_id) if session is not None and call is not None else None
        question = call.form if call is not None else None
        if key is None or question is None:
            if self.panel is not None:
                self._put_away(gone=session is not None and session.info.id == self._key[0])
            return
        if self.panel is not None and self._key == key and self.panel.question == question:
            return
        if self.panel is not None:
            self._put_away(gone=self._key == key)
        self._show(key, question)

    def take_focus(self) -> bool:
        """Give the keyboard to the question; False if there is none."""
        if self.panel is None or self.isHidden():
            return False
        self.panel.take_focus()
        return True

    def _asking(self) -> ToolBlock | None:
        session = self._model.session
        if session is None or not session.running:
            return None
        return next((one for one in session.transcript.last_calls if one.form is not None), None)

    def _show(self, key: tuple[str, str], question: ServerQuestion) -> None:
        from studio.ui.forms.question_panel import QuestionPanel

        kept = self._kept.pop(key, None)
        if kept is not None and kept.question != question:
            kept.deleteLater()
            kept = None
        panel = self.panel = kept or QuestionPanel(self.theme, question)
        if kept is None:
            panel.answered.connect(lambda answer: self._answer(key, answer))
            panel.left.connect(self.left)
            panel.resized.connect(self.changed)
        self._key = key
        self._column.addWidget(panel)
        panel.show()
        panel.appear()
        self.setAccessibleName(panel.accessibleName())
        self.show()
        self.changed.emit()
        announce(self, panel.accessibleName(), urgent=True)
        self.appeared.emit()

    def _put_away(self, *, gone: bool) -> None:
        """Take the panel off the screen; ``gone``: what it asks is over."""
        panel, self.panel = self.panel, None
        assert panel is not None
        focused = self.window().focusWidget()
        had_focus = focused is not None and panel.isAncestorOf(focused)
        self._column.removeWidget(panel)
        panel.hide()
        if gone:
            panel.deleteLater()
        else:
            self._kept[self._key] = panel
        self.hide()
        self.changed.emit()
        if had_focus:
            self.left.emit()

    def _answer(self, key: tuple[str, str], answer: ServerAnswer) -> None:
        session = self._model.session
        if session is not None and session.info.id == key[0]:
            session.answer_form(key[1], answer)

    def heightForWidth(self, width: int) -> int:
        if self.panel is None:
            return 0
        self.panel.set_most(round(SHARE * self._page.height()))
        return self.panel.heightForWidth(width - 2 * MARGIN) + 2 * MARGIN

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 10, t.color("raised"), t.color("warn_line"))
