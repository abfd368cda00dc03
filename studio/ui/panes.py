"""From pane to pane by keyboard."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget


def step_focus(panes: Sequence[QWidget], step: int) -> None:
    """Give the keyboard to the next of ``panes``, or with -1 to the one before."""
    focus = QApplication.focusWidget()
    here = next(
        (
            n
            for n, pane in enumerate(panes)
            if focus and (pane is focus or pane.isAncestorOf(focus))
        ),
        -1 if step > 0 else 0,
    )
    panes[(here + step) % len(panes)].setFocus(Qt.FocusReason.TabFocusReason)
