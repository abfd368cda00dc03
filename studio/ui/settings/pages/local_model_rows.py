"""Rows of the Local models page: installed models, downloads, and models that can be fetched."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QWidget

from studio.providers.model_files.downloads import Download, fault_text
from studio.providers.model_files.fit import Fit, needed_bytes
from studio.providers.model_files.folder import quantization
from studio.providers.model_files.hub import HubModel
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import decimal, month, number, whole_seconds
from studio.ui.settings.bars import FillBar
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import (
    Button,
    IconButton,
    Label,
    MenuItem,
    Status,
    Tag,
    fill_menu,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text

LINES = (
    tr_later("Very small, short answers"),
    tr_later("Small, simple tasks"),
    tr_later("Quick answers and short tools"),
    tr_later("Good all-round model"),
    tr_later("Reads pictures"),
    tr_later("Longer tasks with tools"),
    tr_later("Thinks first, 3.6B active"),
    tr_later("Code, 3B active"),
    tr_later("Strong and slow on a processor"),
)
"""What the recommended models are good for, as ``resources/local_models.json`` says it."""
MANY_SECONDS = 6000.0
"""From these on the time left is in hours."""


def gigabytes(count: int) -> str:
    """“5.0 GB”; “600 MB” for what is less than one."""
    if count < 1e9:
        return tr("{number} MB").format(number=_megabytes(count))
    return tr("{number} GB").format(number=decimal(count / 1e9))


def part_text(done: int, size: int) -> str:
    """“5.4 of 9.0 GB”."""
    if size < 1e9:
        return tr("{done} of {size} MB").format(done=_megabytes(done), size=_megabytes(size))
    return tr("{done} of {size} GB").format(done=decimal(done / 1e9), size=decimal(size / 1e9))


def _megabytes(count: int) -> str:
    return decimal(count / 1e6, 0 if count >= 9.95e6 else 1)


def progress_text(download: Download) -> str:
    """“5.4 of 9.0 GB, 38 MB/s, 1 m 35 s left”; or why it stopped, and where."""
    if download.state == "asking":
        return tr("Asking Hugging Face…")
    done = part_text(download.done, download.size)
    if download.state == "waiting":
        words = tr("Another program is getting it. This waits.")
        return f"{words} {done}" if download.size else words
    if download.state == "checking":
        return tr("{part}, checking it").format(part=done)
    if download.state == "fetching":
        speed = download.speed / 1e6
        words = [done]
        if speed:
            rate = number(round(speed)) if speed >= 9.95 else decimal(speed)
            words.append(tr("{number} MB/s").format(number=rate))
        left = download.seconds_left
        if left is not None and left < MANY_SECONDS:
            words.append(tr("{time} left").format(time=whole_seconds(left)))
        elif left is not None:
            words.append(tr("{number} h left").format(number=decimal(left / 3600)))
        return ", ".join(words)
    if download.state == "paused":
        return tr("Paused at {part}.").format(part=done) if download.size else tr("Paused.")
    why = tr_engine(fault_text(download))
    if not download.done or download.fault == "damaged":
        return why
    return tr("Stopped at {part}. {reason}").format(part=done, reason=why)


class TitleLine(PaintedWidget):
    """A title and quieter words after it, in one line; what has no room is left out."""

    def __init__(self, theme: Theme, title: str, more: str) -> None:
        super().__init__(theme)
        self._title, self._more = title, more
        self.setAccessibleName(joined((title, more)))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.metrics("ui_medium").height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_text(painter, t, rect, self._title, "ui_medium", room=rect.width())
        at = t.metrics("ui_medium").horizontalAdvance(self._title) + t.px(8)
        room = rect.width() - at
        if room > t.px(24):
            place = rect.adjusted(at, 0, 0, 0)
            paint_text(painter, t, place, self._more, "small", "text2", room=room)


class FitMark(PaintedWidget):
    """How well a model fits this computer: an icon and words."""

    _LOOKS = {  # noqa: RUF012 - never changed
        "well": ("check", "ok"),
        "tight": ("gauge", "warn"),
        "not": ("ban", "text2"),
    }

    def __init__(self, theme: Theme, fit: Fit, size: int) -> None:
        super().__init__(theme)
        self.fit: Fit = fit
        needed = math.ceil(needed_bytes(size) / 1e9)
        self.words = {
            "well": tr("Fits well"),
            "tight": tr("Tight, slow"),
            "not": tr("Needs {number} GB").format(number=number(needed)),
            "unknown": "",
        }[fit]
        self.setAccessibleName(self.words)
        tip = tr("A model takes the size of its file in memory, and a tenth more.")
        self.setToolTip(plain_tip(tip))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        t = self.theme
        longest = max(
            t.metrics("small_medium").horizontalAdvance(words)
            for words in (tr("Fits well"), tr("Tight, slow"), self.words)
        )
        return QSize(t.px(20) + longest + 4, t.height(20, "small"))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        if self.fit == "unknown":
            return
        t, side = self.theme, self.theme.px(14)
        icon, ink = self._LOOKS[self.fit]
        t.paint_icon(painter, QRectF(0, (rect.height() - side) / 2, side, side), icon, ink)
        role = "small" if self.fit == "not" else "small_medium"
        paint_text(painter, t, rect.translated(t.px(20), 0), self.words, role, ink)


class _More(IconButton):
    """Opens a menu, also by Enter and Down, as the other buttons with menus do."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)


class ModelRow(QWidget):
    """A model that is here: its name, what is known of it, its size and a menu."""

    picked = Signal(str)
    """The key of the line of its menu that the person chose."""

    def __init__(self, theme: Theme, title: str, line: str, size: int, icon: str = "box") -> None:
        super().__init__()
        self.theme, self.title = theme, title
        self.facts: object = None
        """What it was made for; another value needs another row."""
        self._items: list[MenuItem] = []
        self._menu: QMenu | None = None
        self.name = Label(theme, title, "ui_medium", wrap=True)
        self.tag = Tag(theme, tr("Default"), "accent")
        self.tag.hide()
        self.status = Status(theme)
        self.status.hide()
        self.line = Label(theme, line, "small", "text2", wrap=True)
        self.size_label = Label(
            theme, gigabytes(size) if size else "", "small", "text2", digits=True
        )
        self.menu = _More(
            theme, "ellipsis", tr("More for {title}").format(title=title), clicked=self.open_menu
        )
        middle = Qt.AlignmentFlag.AlignVCenter
        self.name.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        head = row_of([self.name, (self.tag, middle), (self.status, middle), STRETCH], spacing=8)
        words = column_of([head, self.line], spacing=1)
        inner = row_of(
            [(IconTile(theme, icon), middle), (words, 1), (self.size_label, middle), self.menu],
            spacing=10,
            margins=(0, 8, 0, 8),
            on=self,
        )
        inner.setAlignment(self.menu, middle)

    def set_items(self, items: Sequence[MenuItem]) -> None:
        self._items = list(items)

    def show_default(self, on: bool) -> None:
        self.tag.setVisible(on)

    def open_menu(self) -> None:
        menu = QMenu(self)
        menu.setFont(self.theme.font("ui"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self.theme, self._items, self.picked.emit)
        self._menu = menu
        right = self.menu.mapToGlobal(QPoint(self.menu.width(), self.menu.height() + 2))
        menu.popup(right - QPoint(menu.sizeHint().width(), 0))


class DownloadRow(QWidget):
    """A download: how far it is, and what can be done with it."""

    pause_wanted = Signal()
    go_on_wanted = Signal()
    cancel_wanted = Signal()

    def __init__(self, theme: Theme, title: str) -> None:
        super().__init__()
        self.theme = theme
        self.tile = IconTile(theme, "download")
        self.name = Label(theme, title, "ui_medium", wrap=True)
        self.line = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.bar = FillBar(theme)
        self.pause = Button(theme, tr("Pause"), small=True, clicked=self.pause_wanted.emit)
        self.go_on = Button(theme, tr("Resume"), small=True, clicked=self.go_on_wanted.emit)
        self.cancel = Button(
            theme, tr("Cancel"), "ghost", small=True, clicked=self.cancel_wanted.emit
        )
        for button in (self.pause, self.go_on, self.cancel):
            button.setAccessibleName(joined((button.text(), title)))
        middle = Qt.AlignmentFlag.AlignVCenter
        words = column_of([self.name, self.line], spacing=1)
        buttons = widget_of(row_of([self.pause, self.go_on, self.cancel], spacing=4))
        top = row_of([(self.tile, middle), (words, 1), (buttons, middle)], spacing=10)
        below = QHBoxLayout()
        below.setContentsMargins(theme.px(26) + 10, 0, 0, 0)
        below.addWidget(self.bar)
        self._under = widget_of(below)
        column_of([top, self._under], spacing=6, margins=(0, 8, 0, 8), on=self)

    def show_download(self, download: Download) -> None:
        running = download.running
        self.line.setText(progress_text(download))
        share = download.done / download.size if download.size else 0.0
        self.bar.show_share(share, self.line.text())
        self._under.setVisible(running)
        self.pause.setVisible(running)
        self.go_on.setVisible(not running)
        self.cancel.setVisible(running or download.done > 0 or download.state == "failed")
        anew = download.fault in ("damaged", "missing") or not download.done
        self.go_on.set_text(tr("Get again") if anew else tr("Resume"))
        self.cancel.set_text(tr("Cancel") if running else tr("Remove"))
        failed = download.state == "failed" and download.fault != "offline"
        icon = "circle-alert" if failed else "circle-pause"
        self.tile.set("download" if running else icon)


class FoundRow(QWidget):
    """A model that can be fetched."""

    def __init__(self, theme: Theme, model: HubModel, fit: Fit, get: Callable[[], object]) -> None:
        super().__init__()
        self.model = model
        source, middle = model.source, Qt.AlignmentFlag.AlignVCenter
        head = TitleLine(theme, source.title, _joined(model.owner, model.licence))
        self.line = Label(theme, found_line(model, fit), "small", "text2", wrap=True, digits=True)
        self.fit = FitMark(theme, fit, source.size)
        size = Label(theme, gigabytes(source.size), "small", "text2", digits=True)
        size.setAlignment(Qt.AlignmentFlag.AlignRight | middle)
        size.setMinimumWidth(theme.px(56))
        self.get = Button(theme, tr("Get"), small=True, clicked=get)
        self.get.setAccessibleName(joined((tr("Get"), source.title, self.fit.words)))
        words = column_of([head, self.line], spacing=1)
        parts = [(words, 1), (self.fit, middle), (size, middle), (self.get, middle)]
        row_of(parts, spacing=12, margins=(0, 7, 0, 7), on=self)
        since = tr("Recommended, {date}").format(date=month(model.date)) if model.date else ""
        self.setToolTip(plain_tip("\n".join(filter(None, (source.repo, source.file, since)))))

    def show_speed(self, speed: float) -> None:
        """Tokens a second that it may write here; 0 for one that is not known."""
        words = tr("about {number} tokens/s").format(number=speed_text(speed)) if speed else ""
        self.line.setText(_joined(found_line(self.model, self.fit.fit), words))

    def show_here(self, here: bool) -> None:
        """Whether it is here or on its way already."""
        why = tr("It does not fit in this computer’s memory.") if self.fit.fit == "not" else ""
        why = tr("It is here, or on its way.") if here else why
        self.get.setEnabled(not why)
        self.get.setToolTip(plain_tip(why))


def speed_text(speed: float) -> str:
    return number(round(speed)) if speed >= 10 else decimal(speed)


def found_line(model: HubModel, fit: Fit) -> str:
    """“Code, 3B active”, or “Q4_K_M, tools”."""
    kind = quantization(model.source.file)
    if model.line:
        return tr(model.line) if fit != "not" else _joined(kind, tr("does not fit in memory"))
    words = [kind, tr("tools") if model.tools else ""]
    words.append(tr("reads pictures") if model.sees else "")
    words.append(tr("asks for your consent") if model.gated else "")
    words.append(tr("does not fit in memory") if fit == "not" else "")
    return _joined(*words)


def _joined(*words: str) -> str:
    return ", ".join(filter(None, words))
