"""The one animation timer.

Nothing is registered for good: whoever paints something that moves asks for
one more frame. What is hidden or done is not painted, asks no more, and the
timer stops by itself.
"""

from __future__ import annotations

import time

import shiboken6
from PySide6.QtCore import QObject, QRect, QTimer
from PySide6.QtWidgets import QWidget

from studio.ui.theme import Theme

FRAME_MS = 33
TURN_SECONDS = 0.9


class AnimationTimer(QObject):
    """Frames for everything that moves; one for each theme."""

    @staticmethod
    def of(theme: Theme) -> AnimationTimer:
        return theme.findChild(AnimationTimer) or AnimationTimer(theme)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._due: list[tuple[QWidget, QRect]] = []
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._tick)

    @property
    def turn(self) -> float:
        """How far round a spinner is, 0 to 1."""
        return (time.monotonic() / TURN_SECONDS) % 1.0

    @property
    def running(self) -> bool:
        return self._timer.isActive()

    def request_frame(self, widget: QWidget, rect: QRect | None = None) -> None:
        """Repaint ``rect`` of ``widget`` once more, at the next frame."""
        self._due.append((widget, rect or widget.rect()))
        if not self._timer.isActive():
            self._timer.start()

    def _tick(self) -> None:
        due, self._due = self._due, []
        if not due:
            self._timer.stop()
        for widget, rect in due:
            if shiboken6.isValid(widget):
                widget.update(rect)
