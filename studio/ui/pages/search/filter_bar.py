"""Filter bar: shows filters as chips, and offers what may be typed next."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.storage.sessions.search_filters import FILTERS, read_filters
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import PaintedButton
from studio.ui.widgets.painting import paint_rounded, paint_text

MOST = 8
"""Values that are offered at once."""


def suggestions(text: str, caret: int, known: Mapping[str, Sequence[str]]) -> list[str]:
    """What the word before the caret may become: filters, or values of one."""
    word = text[:caret].rpartition(" ")[2]
    if text[caret : caret + 1].strip():
        return []  # inside of a word
    name, colon, value = word.partition(":")
    if not colon:
        return [f"{one}:" for one in FILTERS if one.startswith(name.lower())]
    begun = value.strip('"').lower()
    fitting = [one for one in known.get(name.lower(), ()) if begun in one.lower()]
    fitting = [] if any(one.lower() == begun for one in fitting) else fitting[:MOST]
    return [f'{name}:"{one}"' if " " in one else f"{name}:{one}" for one in fitting]


def completed(text: str, caret: int, word: str) -> tuple[str, int]:
    """The text with the word before the caret completed to this one, and the caret after it.

    A word that the one before the caret does not begin is put after it.
    """
    before, _, begun = text[:caret].rpartition(" ")
    name = begun.partition(":")[0].lower()
    if not word.startswith(f"{name}:" if ":" in begun else name):
        before = text[:caret]
    before = f"{before.rstrip()} ".lstrip()
    done = word if word.endswith(":") else f"{word} "
    return before + done + text[caret:].lstrip(), len(before + done)


def without(text: str, word: str) -> str:
    """The text without a word."""
    before, _, after = text.partition(word)
    return " ".join(f"{before} {after}".split())


class Chip(PaintedButton):
    """A filter: ``active`` has a cross and goes at a click, another one is offered."""

    def __init__(self, theme: Theme, word: str, active: bool, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.word, self.active = word, active
        self.setText(word)
        name = tr("Remove the filter {filter}") if active else tr("Add the filter {filter}")
        self.setAccessibleName(name.format(filter=word))

    def sizeHint(self) -> QSize:
        t = self.theme
        wide = t.metrics("small_medium").horizontalAdvance(self.word) + t.px(18)
        wide += t.px(16) if self.active else 0
        return QSize(min(wide, t.px(260)), t.height(24))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self.active:
            paint_rounded(painter, rect, 6, t.color("accent_soft"))
        else:
            paint_rounded(painter, rect, 6, t.color("surface"), t.color("control"))
        self.paint_overlay(painter, rect)
        ink = "accent_text" if self.active else "text2"
        place = rect.adjusted(t.px(9), 0, -t.px(9), 0)
        if self.active:
            side = t.px(12)
            cross = QRectF(place.right() - side + 3, (rect.height() - side) / 2, side, side)
            t.paint_icon(painter, cross, "x", ink)
            place.setRight(cross.left() - t.px(4))
        text = elided(t.metrics("small_medium"), self.word, place.width() + 1)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        paint_text(painter, t, place, text, "small_medium", ink, align)


class FilterBar(QWidget):
    """One row of chips; those that do not fit are left out."""

    removed = Signal(str)
    """A filter, as it stands in the text."""
    offered = Signal(str)
    """A word that was offered, and chosen."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._chips: list[Chip] = []
        self.known: Mapping[str, Sequence[str]] = {}
        theme.changed.connect(self._place)

    @property
    def words(self) -> list[str]:
        """The words on the chips that are on screen."""
        return [chip.word for chip in self._chips if not chip.isHidden()]

    def show_text(self, text: str, caret: int) -> list[str]:
        """Show the filters of a text and what may come next.

        Returns what the word before the caret may become.
        """
        active = read_filters(text, time.time()).found
        offers = fitting = suggestions(text, caret, self.known)
        if not fitting and not text[:caret].rpartition(" ")[2].endswith(":"):
            used = {word.partition(":")[0].lower() for word in active}
            offers = [f"{one}:" for one in FILTERS if one not in used]
        if [(chip.word, chip.active) for chip in self._chips] != [
            *((word, True) for word in active),
            *((word, False) for word in offers),
        ]:
            for chip in self._chips:
                chip.hide()
                chip.deleteLater()
            self._chips = [Chip(self._theme, word, True, self) for word in active]
            self._chips += [Chip(self._theme, word, False, self) for word in offers]
            for chip in self._chips:
                sent = self.removed if chip.active else self.offered
                chip.clicked.connect(lambda _on=False, to=sent, word=chip.word: to.emit(word))
            self._place()
        return fitting

    def sizeHint(self) -> QSize:
        return QSize(200, self._theme.height(24))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        self.setFixedHeight(self.sizeHint().height())
        x, gap = 0, self._theme.px(6)
        for chip in self._chips:
            size = chip.sizeHint()
            put(chip, x, 0, size.width(), size.height())
            chip.setVisible(x + size.width() <= self.width())
            x += size.width() + gap
