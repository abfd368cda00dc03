"""The inspector of a run: its state, the chosen step, and the runs before (W-65, W-66)."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QAccessible, QPainter
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import FocusRing, Hairline, Segmented
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.roles import give_role

from .history_tab import HistoryTab
from .run_tab import RunTab
from .step_tab import StepTab

RUN, STEP, HISTORY = range(3)


class RunInspector(PaintedWidget):
    """Three pages, of which one is shown."""

    ground = "window"

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(tr("Inspector"))
        words = [tr_in("of a workflow", "Run"), tr("Step"), tr("History")]
        self.tabs = Segmented(theme, words, wide=True, name=tr("Inspector"))
        self.tabs.chosen.connect(self.show_page)
        self.run, self.step, self.history = RunTab(theme), StepTab(theme), HistoryTab(theme)
        self._pages = QStackedWidget()
        give_role(self._pages, QAccessible.Role.Client)
        for page, name in ((self.run, words[0]), (self.step, words[1])):
            area = scrolled(page)
            page.setMinimumWidth(1)  # a long word is cut, and takes no button out of sight
            area.setAccessibleName(name)
            FocusRing.of(theme).follow(area)
            self._pages.addWidget(area)
        self._pages.addWidget(self.history)
        self._head = widget_of(row_of([self.tabs], margins=(15, 0, 16, 0)))
        parts = (self._head, Hairline(theme), (self._pages, 1))
        column_of(parts, spacing=0, margins=(1, 0, 0, 0), on=self)
        theme.changed.connect(self._follow)
        self._follow()

    @property
    def page(self) -> int:
        return self._pages.currentIndex()

    def show_page(self, page: int) -> None:
        """``RUN``, ``STEP`` or ``HISTORY``."""
        self.tabs.set_current(page)
        self._pages.setCurrentIndex(page)

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(0, 0, 1, self.height(), self.theme.color("hair"))
