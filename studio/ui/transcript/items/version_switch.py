"""Version switch: ‹2/3› beside a message that has several versions."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QPointF, QRectF

from studio.domain.sessions import Versions
from studio.ui.formatting import number
from studio.ui.transcript.paint_style import CENTRE, PaintStyle
from studio.ui.translation import tr

from .base import Hit, PaintPass

SIDE = 24
"""Pixels of a button's side."""


class VersionSwitch:
    """Two arrows with the number of the shown version between them, from ``left`` on."""

    def __init__(self, versions: Versions, style: PaintStyle) -> None:
        self._versions = versions
        self.words = f"{number(versions.shown + 1)}/{number(len(versions.sessions))}"
        self._middle = style.width("ui digits", self.words)
        self.width = self._middle + 2 * style.px(SIDE)
        self.hits: list[Hit] = []
        self._row = QRectF()

    def place(self, left: float, middle: float, style: PaintStyle) -> None:
        """Put it where it stands; an arrow that leads nowhere is no place to click."""
        side = float(style.px(SIDE))
        self._row = QRectF(left, middle - side / 2, self.width, side)
        self.hits = []
        for step, x in ((-1, left), (1, left + side + self._middle)):
            if session_id := self._versions.beside(step):
                words = tr("Previous version") if step < 0 else tr("Next version")
                icon = "chevron-left" if step < 0 else "chevron-right"
                rect = QRectF(x, self._row.top(), side, side)
                self.hits.append(Hit(rect, "version", session_id, words, "icon", icon))

    def hit(self, step: Literal[-1, 1]) -> Hit | None:
        """The arrow to the version before or after this one."""
        wanted = self._versions.beside(step)
        return next((hit for hit in self.hits if hit.value == wanted), None)

    def spoken(self) -> str:
        return tr("Version {number} of {count}").format(
            number=number(self._versions.shown + 1), count=number(len(self._versions.sessions))
        )

    def paint(self, paint: PaintPass, style: PaintStyle) -> None:
        painter, side = paint.painter, style.px(SIDE)
        inside = self._row.adjusted(side, 0, -side, 0)
        style.text(painter, inside.adjusted(-1, 0, 1, 0), self.words, "ui digits", "text2", CENTRE)
        for step, x in ((-1, self._row.left()), (1, self._row.right() - side)):
            hit = self.hit(-1 if step < 0 else 1)
            middle = QPointF(x + side / 2, self._row.center().y())
            icon = "chevron-left" if step < 0 else "chevron-right"
            if hit is None:
                style.icon(painter, middle, icon, "control", 14)
                continue
            over = hit.same(paint.hover)
            if over:
                style.card(
                    painter, hit.rect, "press" if hit.same(paint.pressed) else "hover", None, 6
                )
            style.icon(painter, middle, icon, "text1" if over else "text2", 14)
            if hit.same(paint.focus):
                style.focus_ring(painter, hit.rect.adjusted(3, 3, -3, -3), 6)
