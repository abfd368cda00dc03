"""Handoff strip: offers after an answer what the agent's file says comes next (W-1).

Each button is a handoff: the other agent gets the chat, with the prompt in the composer, which
goes out at once if the file says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.domain.agents import Handoff
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, plain_tip
from studio.ui.widgets.layouts import WrappingRow, column_of

from .model.chat_model import ChatModel

MOST = 6
"""Handoffs that are offered."""


class HandoffStrip(QWidget):
    """The handoffs of the chat's agent, while nothing runs, waits or is being written."""

    taken = Signal()
    """The person took one, and may go on writing."""
    changed = Signal()
    """The strip is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._model = model
        self._handoffs: Sequence[Handoff] = ()
        self.buttons = [Button(theme, "", icon="arrow-right") for _ in range(MOST)]
        for at, button in enumerate(self.buttons):
            button.clicked.connect(lambda _=False, at=at: self._take(self._handoffs[at]))
        self._row = WrappingRow(self.buttons)
        column_of([self._row], spacing=0, on=self)
        self.setAccessibleName(tr("Hand over to another agent"))
        model.subscribe(
            lambda _: self.refresh(), "chat", "event", "turn", "state", "input", "options"
        )
        self.hide()

    def refresh(self) -> None:
        """Show the handoffs as they are now."""
        handoffs = self._model.handoffs[:MOST]
        if handoffs == self._handoffs:
            return
        self._handoffs = handoffs
        for at, button in enumerate(self.buttons):
            button.setVisible(at < len(handoffs))
            if at < len(handoffs):
                one = handoffs[at]
                button.set_text(one.label)
                words = tr("{agent} goes on").format(agent=one.agent)
                button.setToolTip(plain_tip("\n".join(filter(None, (words, one.prompt)))))
                button.setAccessibleDescription(words)
        self.setVisible(bool(handoffs))
        self.changed.emit()

    def heightForWidth(self, width: int) -> int:
        self._row.resize(width, self._row.height())
        return self._row.height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.changed.emit()

    def _take(self, handoff: Handoff) -> None:
        self._model.hand_over(handoff)
        self.taken.emit()
