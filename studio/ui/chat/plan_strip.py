"""Plan strip: shows above the composer what the agent does now, and how far its plan is (C-2)."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.domain.plans import Plan
from studio.ui.plan_text import progress, spoken_plan
from studio.ui.theme import Theme, elided
from studio.ui.translation import tr
from studio.ui.widgets import Button, Label, plain_tip
from studio.ui.widgets.layouts import STRETCH, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded

from .model.chat_model import ChatModel


class PlanStrip(PaintedWidget):
    """One line about a plan with open items; its button leads to the whole plan."""

    opened = Signal(int)
    """The block of the plan is wanted."""
    changed = Signal()
    """The strip is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model = model
        self._plan: Plan | None = None
        self.progress = Label(theme, "", "small", "text2", parent=self, digits=True)
        self.now = Button(theme, "", "ghost", parent=self)
        self.now.clicked.connect(self._open)
        self._row = row_of((self.progress, self.now, STRETCH), on=self)
        theme.changed.connect(self._restyle)
        model.subscribe(lambda _: self.refresh(), "chat", "event")
        self._restyle()
        self.hide()

    def refresh(self) -> None:
        """Show the plan of the chat as it is now."""
        session = self._model.session
        plan = session.transcript.plan if session is not None else None
        if plan is self._plan:
            return
        self._plan = plan
        shown = plan is not None and bool(plan.open)
        if plan is not None and shown:
            self.progress.setText(progress(plan))
            self.now.setToolTip(plain_tip("\n".join(plan.lines)))
            self._fit()
        self.setVisible(shown)
        self.changed.emit()

    def heightForWidth(self, width: int) -> int:
        return self._row.sizeHint().height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _fit(self) -> None:
        """Cut the item's text to what the strip has room for."""
        if self._plan is None or not self._plan.open:
            return
        item = self._plan.active or self._plan.open[0]
        words = item.text if self._plan.active else tr("Next: {item}").format(item=item.text)
        px = self.theme.px
        room = self.width() - self.progress.sizeHint().width() - px(60)
        self.now.set_text(elided(self.theme.metrics("ui_medium"), words, max(room, px(80))))
        self.now.setAccessibleName(spoken_plan(self._plan))  # the text gives it another

    def _open(self) -> None:
        from studio.domain.blocks import PlanBlock  # after the first paint

        session = self._model.session
        blocks = session.transcript.blocks if session is not None else []
        for index in range(len(blocks) - 1, -1, -1):
            if isinstance(blocks[index], PlanBlock):
                self.opened.emit(index)
                return

    def _restyle(self) -> None:
        px = self.theme.px
        self._row.setSpacing(px(6))
        self._row.setContentsMargins(px(14), px(2), px(8), px(2))
        self._fit()
        self.changed.emit()
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 10, t.color("surface"), t.color("hair"))
