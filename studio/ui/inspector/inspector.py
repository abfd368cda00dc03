"""The inspector beside a chat: run, budget (L-14), plan (C-2), events and native history."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QAccessible, QPainter
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.ui.settings.amount_field import AmountField, dollars
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import FocusRing, Hairline, Segmented
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.roles import give_role

from .board_list import BoardFacts, BoardList
from .events_page import EventsPage
from .fact_list import FactList
from .history_page import HistoryFacts, HistoryPage
from .plan_list import PlanList
from .run_page import RequestList, RunFacts, RunPage


class BudgetRow(PaintedWidget):
    """The field for what one chat may cost."""

    given = Signal(float)
    """The dollars that the person typed; 0 is no limit of the chat's own."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.amount = AmountField(theme, tr("Limit of this chat"), dollars, 0)
        self.amount.entered.connect(self.given)
        row_of([STRETCH, self.amount], margins=(16, 0, 16, 8), on=self)
        self.hide()

    def show_cap(self, value: float | None) -> None:
        """Show the limit, unless another is being typed; None hides the row."""
        self.setVisible(value is not None)
        if value is not None and not self.amount.hasFocus():
            self.amount.set_value(value)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        words = QRectF(16, 0, self.amount.x() - 24, self.amount.height())
        text, room = tr("Limit of this chat"), words.width()
        paint_text(painter, self.theme, words, text, "ui", "text2", room=room)


class Inspector(PaintedWidget):
    """Run, Events and History of the open chat."""

    ground = "window"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(tr("Inspector"))
        self.tabs = Segmented(
            theme, [tr_in("a page about a chat", "Run"), tr("Events"), tr("History")], wide=True
        )
        self.tabs.chosen.connect(self.show_page)
        self._head = widget_of(row_of([self.tabs], margins=(15, 0, 16, 0)))
        self._pages = QStackedWidget()
        give_role(self._pages, QAccessible.Role.Client)
        parts = (self._head, Hairline(theme), (self._pages, 1))
        column_of(parts, spacing=0, margins=(1, 0, 0, 0), on=self)

        self.run = RunPage(theme)
        self.requests = RequestList(theme)
        self.cap = BudgetRow(theme)
        self.plan = PlanList(theme)
        self.agents = FactList(theme)
        self.agents.hide()
        self.board = BoardList(theme)
        lists = (self.agents, self.plan, self.board, self.requests)
        whole = widget_of(column_of([self.run, self.cap, *lists, STRETCH], spacing=0))
        area = scrolled(whole)
        area.setAccessibleName(tr_in("a page about a chat", "Run"))
        FocusRing.of(theme).follow(area)
        self._pages.addWidget(area)

        self.events = EventsPage(theme)
        self._pages.addWidget(self.events)

        self.history = HistoryPage(theme)
        self.epoch_wanted = self.history.wanted
        self._pages.addWidget(self.history)
        self._follow()
        theme.changed.connect(self._follow)

    def clear(self) -> None:
        """Show nothing of the chat before: this one has not begun."""
        self.run.set(RunFacts())
        self.cap.show_cap(None)
        self.plan.set(None)
        self.requests.set([])
        self.agents.show_facts([])
        self.board.show_board(BoardFacts())
        self.history.set(HistoryFacts())
        self.events.set([])

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))  # as tall as the chat's header
        self.update()

    def show_page(self, index: int) -> None:
        """0 Run, 1 Events, 2 History."""
        self.tabs.set_current(index)
        self._pages.setCurrentIndex(index)
        if index == 2:
            self.history.show_now()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(0, 0, 1, self.height(), self.theme.color("hair"))
