"""Call pairs: the calls of a step in two runs beside each other, those that differ marked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TypeAlias

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.tools import Tool
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import duration
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets.painting import PaintedWidget, centred, paint_text

FAILED = " (failed)"
"""The end of the line of a call that failed, as ``compare`` has it."""
ROW = 30
NOTICED = 0.05
"""Seconds of a call that are worth a word."""


@dataclass(frozen=True, slots=True)
class CallLine:
    """One call: its icon, what it did, to what, whether it failed, and how long it took."""

    icon: str
    words: str
    target: str
    failed: bool = False
    seconds: float = 0.0

    @property
    def spoken(self) -> str:
        failed = tr("failed") if self.failed else ""
        return joined((self.words, self.target, failed, self.took))

    @property
    def took(self) -> str:
        """How long it took, in words; empty where nobody would notice."""
        return duration(self.seconds) if self.seconds >= NOTICED else ""


CallPair: TypeAlias = tuple[CallLine | None, CallLine | None]


def call_pairs(
    first: Sequence[str],
    second: Sequence[str],
    tools: Mapping[str, Tool],
    took: tuple[Sequence[float], Sequence[float]] = ((), ()),
) -> Iterator[tuple[CallPair, bool]]:
    """The calls of both runs in pairs, and whether a pair is the same.

    ``took`` has the seconds of each.
    """
    before = [_line(*one, tools) for one in zip(first, took[0] or repeat(0.0), strict=False)]
    after = [_line(*one, tools) for one in zip(second, took[1] or repeat(0.0), strict=False)]
    lines = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for tag, a, b, c, d in lines.get_opcodes():
        for at in range(max(b - a, d - c)):
            one = before[a + at] if a + at < b else None
            two = after[c + at] if c + at < d else None
            yield (one, two), tag == "equal"


def _line(text: str, seconds: float, tools: Mapping[str, Tool]) -> CallLine:
    failed = text.endswith(FAILED)
    name, _, target = text.removesuffix(FAILED).partition(" ")
    tool = tools.get(name)
    if tool is None:
        return CallLine("wrench", name, target, failed, seconds)
    words = "" if failed else tr_engine(tool.spec.done)
    return CallLine(tool.spec.icon, words or name.capitalize(), target, failed, seconds)


class CallPairs(PaintedWidget):
    """Calls of run A at the left, of run B at the right; the name says those that differ."""

    def __init__(self, theme: Theme, pairs: Sequence[tuple[CallPair, bool]]) -> None:
        super().__init__(theme)
        self.pairs = pairs
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        told: list[str] = []
        for pair, same in pairs:
            sides = zip(("A", "B"), pair, strict=True)
            found = [f"{letter}: {one.spoken}" for letter, one in sides if one is not None]
            told += [] if same else found
        self.setAccessibleName(". ".join((tr("Tools"), *told)))

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(200), len(self.pairs) * self.theme.height(ROW))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, tall = self.theme, self.theme.height(ROW)
        half = rect.width() / 2
        for at, (pair, same) in enumerate(self.pairs):
            for side, one in enumerate(pair):
                row = QRectF(side * half, at * tall, half, tall)
                if one is not None and not same:
                    painter.fillRect(row, t.color("add_bg" if side else "del_bg"))
                if one is not None:
                    self._call(painter, row.adjusted(t.px(12), 0, -t.px(12), 0), one)
        painter.fillRect(QRectF(round(half), 0, 1, rect.height()), t.color("hair"))

    def _call(self, painter: QPainter, row: QRectF, one: CallLine) -> None:
        t, side = self.theme, self.theme.px(16)
        mark = QRectF(row.x(), row.y(), side, row.height())
        t.paint_icon(painter, centred(mark, side), one.icon, "text2")
        right = row.right()
        if one.failed:
            end = QRectF(right - side, row.y(), side, row.height())
            t.paint_icon(painter, centred(end, t.px(14)), "circle-alert", "err")
            right = end.x() - t.px(6)
        if took := one.took:
            wide = t.metrics("ui digits").horizontalAdvance(took) + t.px(4)
            end = QRectF(right - wide, row.y(), wide, row.height())
            at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            paint_text(painter, t, end, took, "ui digits", "text2", at_right)
            right = end.x() - t.px(4)
        words = QRectF(mark.right() + t.px(8), row.y(), 0, row.height())
        words.setRight(right)
        paint_text(painter, t, words, one.words, "ui_medium", room=words.width())
        words.setLeft(words.x() + t.metrics("ui_medium").horizontalAdvance(one.words) + t.px(8))
        if words.width() > 0:
            paint_text(painter, t, words, one.target, "code", "text2", room=words.width())
