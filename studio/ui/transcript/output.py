"""What a tool printed, as text that can be selected."""

from __future__ import annotations

import re

from PySide6.QtGui import QPainter, QTextCharFormat

from studio.ui.markdown import Block, utf16

from .look import PaintStyle
from .text import CodeLeaf
from .words import LineLayout, span_format

_BAD = re.compile(r"^(E\s|\S*(Error|Exception)\b|Timed out\b|fatal:|FAILED\b)")


class OutputLeaf(CodeLeaf):
    """What a tool printed: fixed pitch, quiet, lines that say what failed in red."""

    def __init__(self, text: str, failed: bool = False, color: str = "text2") -> None:
        super().__init__(Block("code", text), None)
        self.failed, self.ink = failed, color

    def lay(self, look: PaintStyle, width: float) -> None:
        self._indent = self._top = self._left = 0
        self._width = width
        text = self.block.text.expandtabs(8)
        ranges = []
        if self.failed:
            at = 0
            form = QTextCharFormat()
            form.setForeground(look.color("err"))
            for line in text.split("\n"):
                size = utf16(line)
                if _BAD.match(line):
                    ranges.append(span_format(at, size, form))
                at += size + 1
        self.words = LineLayout(
            text.replace("\n", "\u2028"), look.font("code"), look.code_line, ranges, anywhere=True
        )
        self.words.lay(max(40.0, width))
        self.height = self.words.height
        self.laid = True

    def paint(
        self, painter: QPainter, y: float, look: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        self.words.paint(painter, 0, y, look, selected, self.ink)
