"""Ledger: what a mission did, cycle by cycle, below its graph (W-51)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets.layouts import column_of

from .event_log import LogLine, LogModel
from .letter_list import LetterList
from .log_rows import LogRow


class Ledger(QWidget):
    """A list that stays at its end while it grows."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._model = LogModel()
        self._rows: Sequence[LogRow] = ()
        self.list = LetterList(theme, tr("Ledger"))
        self.list.setUniformItemSizes(True)
        self.list.setModel(self._model)
        self.list.setItemDelegate(LogLine(theme))
        column_of([(self.list, 1)], spacing=0, margins=(0, 4, 0, 4), on=self)

    def show_rows(self, rows: Sequence[LogRow]) -> None:
        """Show the rows of a run, which may have got longer since."""
        bar = self.list.verticalScrollBar()
        stick = rows is not self._rows or bar.maximum() - bar.value() <= 40
        self._rows = rows
        self._model.show(rows, list(range(len(rows))))
        if stick:
            self.list.scrollToBottom()
