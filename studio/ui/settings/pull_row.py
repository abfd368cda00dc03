"""Downloading a model to an Ollama."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Protocol

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from studio.domain.errors import StudioError
from studio.ui.controls import Button, Field, Label, paint_rounded
from studio.ui.theme import Theme

from .tasks import Tasks


class Progress(Protocol):
    """How far a download is, in bytes; ``total`` is 0 until it is known."""

    @property
    def status(self) -> str: ...
    @property
    def completed(self) -> int: ...
    @property
    def total(self) -> int: ...


class Puller(Protocol):
    """What can download a model; closing the iterator stops it."""

    def pull(self, model: str) -> AsyncGenerator[Progress, None]: ...


class ProgressBar(QWidget):
    """How much of something is done, as a line."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._part = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    @property
    def part(self) -> float:
        return self._part

    def set_part(self, part: float) -> None:
        self._part = max(0.0, min(1.0, part))
        self.setAccessibleName(f"{self._part:.0%} downloaded")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(100, self._theme.px(4))

    def paintEvent(self, event: QPaintEvent) -> None:
        t, rect = self._theme, QRectF(self.rect())
        painter = QPainter(self)
        paint_rounded(painter, rect, rect.height() / 2, t.color("track"))
        if self._part:
            rect.setWidth(max(rect.height(), rect.width() * self._part))
            paint_rounded(painter, rect, rect.height() / 2, t.color("accent"))
        painter.end()


class ModelDownloadRow(QWidget):
    """A model's name, then how far its download is; ``pulled`` tells that one is there."""

    pulled = Signal()

    def __init__(self, theme: Theme, tasks: Tasks, make: Callable[[], Puller]) -> None:
        super().__init__()
        self._tasks, self._make = tasks, make
        self._task: asyncio.Task[None] | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(10)
        column.addLayout(row)
        self.name = Field(theme, "A model’s name, qwen3:4b for example")
        self.name.setAccessibleName("Model to download")
        self.name.returnPressed.connect(self._begin)
        self.name.textChanged.connect(lambda _: self._show())
        self.get = Button(theme, "Download")
        self.get.clicked.connect(self._begin)
        self.cancel = Button(theme, "Cancel", "ghost")
        self.cancel.clicked.connect(self._stop)
        row.addWidget(self.name, 1)
        row.addWidget(self.get)
        row.addWidget(self.cancel)
        self.bar = ProgressBar(theme)
        self.said = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        for widget in (self.bar, self.said, self.problem):
            column.addWidget(widget)
        self._tell("")
        self._show()

    def _begin(self) -> None:
        model = self.name.text().strip()
        if model and self._task is None:
            self._task = self._tasks.start(self._pull(model), waits=False)
            self._task.add_done_callback(self._ended)
            self.bar.set_part(0.0)
            self._tell("Asking for the model…")
            self._show()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _pull(self, model: str) -> None:
        try:
            async with aclosing(self._make().pull(model)) as steps:
                async for step in steps:
                    self.bar.set_part(step.completed / step.total if step.total else 0.0)
                    self._tell(_words(step))
        except StudioError as error:
            self._tell("", problem=str(error))
            return
        self.name.clear()
        self._tell(f"{model} is downloaded.")
        self.pulled.emit()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            self._tell("Cancelled. What was downloaded is kept for the next time.")
        self._show()

    def _tell(self, words: str, problem: str = "") -> None:
        self.said.setText(words)
        self.said.setVisible(bool(words))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.name.set_error(problem)

    def _show(self) -> None:
        busy = self._task is not None
        self.name.setEnabled(not busy)
        self.get.setVisible(not busy)
        self.get.setEnabled(bool(self.name.text().strip()))
        self.cancel.setVisible(busy)
        self.bar.setVisible(busy)


def _words(step: Progress) -> str:
    """“Downloading, 1.2 of 3.1 GB”; Ollama's own word where nothing can be counted."""
    if step.total and step.completed < step.total:
        return f"Downloading, {step.completed / 1e9:.1f} of {step.total / 1e9:.1f} GB"
    return f"{step.status[:1].upper()}{step.status[1:]}…"
