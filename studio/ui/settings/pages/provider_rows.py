"""Rows of a provider's section: header, failure, model file, download of a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFileDialog, QSizePolicy, QWidget

from studio.domain.errors import StudioError
from studio.providers.descriptor import ProviderDescriptor
from studio.storage.config.settings import Settings
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import decimal, percent
from studio.ui.settings.registry import SettingsTasks
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, Field, Label, PaintedButton, plain_tip
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_spinner, paint_text


class SectionHeader(PaintedButton):
    """The line with a provider's name and status that opens and closes its section."""

    radius = 8

    def __init__(self, theme: Theme, provider: ProviderDescriptor, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._provider = provider
        self._status, self._state = "", "off"
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.add_key = Button(theme, tr("Add key…"), parent=self)
        self.add_key.hide()
        row_of([STRETCH, self.add_key], margins=(0, 0, theme.px(26), 0), on=self)
        self.toggled.connect(lambda _on: self.set_status(self._status, self._state))

    def set_status(self, status: str, state: str) -> None:
        self._status, self._state = status, state
        opened = tr("expanded") if self.isChecked() else tr("collapsed")
        self.setAccessibleName(joined((tr_engine(self._provider.title), status, opened)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), max(self.theme.px(48), 48))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, title = self.theme, tr_engine(self._provider.title)
        side = t.px(26)
        tile = QRectF(0, (rect.height() - side) / 2, side, side)
        paint_rounded(painter, tile, 6, t.color("track"))
        if self._provider.icon:
            inset = t.px(5)
            box = tile.adjusted(inset, inset, -inset, -inset)
            t.paint_icon(painter, box, self._provider.icon, "text1")
        else:
            middle = Qt.AlignmentFlag.AlignCenter
            paint_text(painter, t, tile, title[0], "ui_strong", align=middle)
        paint_text(painter, t, rect.adjusted(side + t.px(10), 0, 0, 0), title, "ui_strong")
        mark = t.px(14)
        arrow = QRectF(rect.width() - mark, (rect.height() - mark) / 2, mark, mark)
        name = "chevron-down" if self.isChecked() else "chevron-right"
        t.paint_icon(painter, arrow, name, "text2")
        right = self.add_key.x() - 10 if self.add_key.isVisible() else arrow.x() - 10
        width = t.metrics("small").horizontalAdvance(self._status)
        place = QRectF(right - width - 2, 0, width + 4, rect.height())
        ink = "err" if self._state == "err" else "text2"
        paint_text(painter, t, place, self._status, "small", ink)
        if self._state == "busy":
            size = t.px(14)
            spin = QRectF(place.x() - size - 5, rect.center().y() - size / 2, size, size)
            paint_spinner(painter, t, self, spin)
        elif self._status:
            dot = QRectF(place.x() - t.px(14), rect.center().y() - t.px(7) / 2, t.px(7), t.px(7))
            ink = {"ok": "ok", "warn": "warn", "err": "err"}.get(self._state, "strong")
            paint_rounded(painter, dot, dot.width() / 2, t.color(ink))


class FailureCard(Card):
    """Why the models could not be loaded, and which list is shown instead."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "control", 8)
        self.reason = Label(theme, "", "small", "text2", wrap=True)
        self.again = Button(theme, tr("Try again"))
        title = Label(theme, tr("Couldn’t load models"), "ui_strong")
        words = column_of([title, self.reason], spacing=1)
        margins = (14 + theme.px(26) + 12, 10, 12, 10)  # the tile is painted at the left
        row_of([(words, 1), self.again], spacing=12, margins=margins, on=self)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        t, side = self.theme, self.theme.px(26)
        painter = QPainter(self)
        tile = QRectF(14, (self.height() - side) / 2, side, side)
        paint_rounded(painter, tile, 6, t.color("warn_soft"))
        inset = t.px(5)
        t.paint_icon(painter, tile.adjusted(inset, inset, -inset, -inset), "cloud-off", "warn")
        painter.end()


class ModelFileRow(QWidget):
    """Shows the model file; the person chooses another GGUF file or the one that ships."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._chooser: QFileDialog | None = None
        self.path = Field(theme, name=tr("Model file"))
        self.path.setReadOnly(True)
        self.choose = Button(theme, tr("Choose another…"), clicked=self._choose)
        self.restore = Button(theme, tr("Use the one that ships"), clicked=lambda: self._set(""))
        row_of([(self.path, 1), self.restore, self.choose], spacing=10, on=self)
        self.refresh()

    def refresh(self) -> None:
        """Show the file of the settings."""
        path = self._settings.builtin_model
        self.path.setText(Path(path).name if path else tr("The one that ships"))
        self.path.setToolTip(plain_tip(path))
        self.restore.setVisible(bool(path))

    def _choose(self) -> None:
        chooser = QFileDialog(
            self.window(), tr("Choose a model file"), filter="GGUF files (*.gguf)"
        )
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self._set)
        chooser.finished.connect(chooser.deleteLater)
        self._chooser = chooser
        chooser.open()

    def _set(self, path: str) -> None:
        if path != self._settings.builtin_model:
            self._settings.builtin_model = path
            self.refresh()
            self.changed.emit()


class Progress(Protocol):
    """The progress of a download, in bytes; ``total`` is 0 until it is known."""

    @property
    def status(self) -> str: ...
    @property
    def completed(self) -> int: ...
    @property
    def total(self) -> int: ...


class Puller(Protocol):
    """Downloads a model; closing the iterator stops the download."""

    def pull(self, model: str) -> AsyncGenerator[Progress, None]: ...


class ProgressBar(PaintedWidget):
    """A line that shows how much of a download is done."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.part = 0.0
        """What is done, from 0 to 1."""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_part(self, part: float) -> None:
        self.part = max(0.0, min(1.0, part))
        self.setAccessibleName(tr("{part} downloaded").format(part=percent(self.part)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(100, self.theme.px(4))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, rect.height() / 2, t.color("track"))
        if self.part:
            rect.setWidth(max(rect.height(), rect.width() * self.part))
            paint_rounded(painter, rect, rect.height() / 2, t.color("accent"))


class ModelDownloadRow(QWidget):
    """A field for a model's name, and the progress of its download.

    ``pulled`` is emitted when a model was downloaded.
    """

    pulled = Signal()

    def __init__(self, theme: Theme, tasks: SettingsTasks, make: Callable[[], Puller]) -> None:
        super().__init__()
        self._tasks, self._make = tasks, make
        self._task: asyncio.Task[None] | None = None
        placeholder = tr("A model’s name, qwen3:4b for example")
        self.name = Field(theme, placeholder, name=tr("Model to download"))
        self.name.returnPressed.connect(self._start)
        self.name.textChanged.connect(lambda _: self._show())
        self.get = Button(theme, tr("Download"), clicked=self._start)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self._stop)
        self.bar = ProgressBar(theme)
        self.progress = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        row = row_of([(self.name, 1), self.get, self.cancel], spacing=10)
        column_of([row, self.bar, self.progress, self.problem], spacing=6, on=self)
        self._show_progress("")
        self._show()

    def _start(self) -> None:
        model = self.name.text().strip()
        if model and self._task is None:
            self._task = self._tasks.start(self._pull(model), cancelled_on_close=True)
            self._task.add_done_callback(self._ended)
            self.bar.set_part(0.0)
            self._show_progress(tr("Asking for the model…"))
            self._show()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _pull(self, model: str) -> None:
        try:
            async with aclosing(self._make().pull(model)) as steps:
                async for step in steps:
                    self.bar.set_part(step.completed / step.total if step.total else 0.0)
                    self._show_progress(_progress_text(step))
        except StudioError as error:
            self._show_progress("", problem=tr_engine(str(error)))
            return
        self.name.clear()
        self._show_progress(tr("{model} is downloaded.").format(model=model))
        self.pulled.emit()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if task.cancelled():
            self._show_progress(tr("Cancelled. What was downloaded is kept for the next time."))
        self._show()

    def _show_progress(self, progress: str, problem: str = "") -> None:
        self.progress.show_text(progress)
        self.problem.show_text(problem)
        self.name.set_error(problem)

    def _show(self) -> None:
        busy = self._task is not None
        self.name.setEnabled(not busy)
        self.get.setVisible(not busy)
        self.get.setEnabled(bool(self.name.text().strip()))
        self.cancel.setVisible(busy)
        self.bar.setVisible(busy)


def _progress_text(step: Progress) -> str:
    """“Downloading, 1.2 of 3.1 GB”; Ollama's own status where no size is known."""
    if step.total and step.completed < step.total:
        return tr("Downloading, {done} of {whole} GB").format(
            done=decimal(step.completed / 1e9), whole=decimal(step.total / 1e9)
        )
    return f"{step.status[:1].upper()}{step.status[1:]}…"
