"""Text layout: a paragraph broken into lines of equal height; positions count UTF-16 units."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import ceil, inf
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPen,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)

from studio.ui.markdown.blocks import (
    CODE,
    EMPHASIS,
    LINE,
    MATH,
    RAISED,
    STRIKE,
    STRONG,
    Span,
    cut,
    utf16,
)
from studio.ui.transcript.paint_style import NO_PEN, PaintStyle

from .formulas import Drawing, FormulaBox, Formulas

TAIL_LINES = 1
"""Lines at the end of a growing text that are laid out again by themselves."""
LAST_PLAIN = "\u024f"
"""The last letter of Latin scripts: others may break their lines by what follows."""
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
"""Letters that run from right to left, and signs that turn the direction."""


class TextFormat(NamedTuple):
    """How the letters of a text look; ``chips`` are its inline code, ``boxes`` its formulas."""

    ranges: Sequence[QTextLayout.FormatRange] = ()
    chips: Sequence[tuple[int, int]] = ()
    boxes: Sequence[FormulaBox] = ()


PLAIN = TextFormat()


def _text_option(
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    direction: Qt.LayoutDirection = Qt.LayoutDirection.LeftToRight,  # not the window's
    wrap: QTextOption.WrapMode = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere,
    tab: float = 0,
) -> QTextOption:
    option = QTextOption(align)
    option.setTextDirection(direction)
    option.setWrapMode(wrap)
    if tab:
        option.setTabStopDistance(tab)
    return option


_USUAL = _text_option()
"""That of most paragraphs: to hand an enum to Qt takes as long as four calls."""


class LineLayout:
    """One paragraph, broken into lines of equal height."""

    def __init__(
        self,
        text: str,
        font: QFont,
        line: float,
        look: TextFormat = PLAIN,
        *,
        anywhere: bool = False,
        tab: float = 0,
        align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    ) -> None:
        formats, self.chips, boxes = look
        self.text = text
        self.line = line
        self.bare = False
        """Inline code without a tint, where the background has one."""
        self.height = 0.0
        self.boxes = boxes
        self._widths: list[float] = []
        self._chip_rects: list[QRectF] | None = None
        self.starts: list[tuple[int, float]] = []
        """Of each line where its text starts, and its top."""
        self._font, self._room = font, 0.0
        self._layout = QTextLayout(_without(text, boxes), font)
        self._tail: QTextLayout | None = None
        """The last lines of a text that has grown; what ``_layout`` has of them is out of date."""
        self._middle: list[tuple[QTextLayout, float]] = []
        """Tails of before, each with its top: what they have below the next one's is out of date.
        Else a long paragraph would be laid out whole with each line more."""
        self._tail_start = self._tail_line = 0
        self._turns: bool | None = None
        """Whether a part of the text runs from right to left; None until it is asked for."""
        left = align is Qt.AlignmentFlag.AlignLeft
        if anywhere:
            self._option = _text_option(align, wrap=QTextOption.WrapMode.WrapAnywhere, tab=tab)
        elif _is_right_to_left(text):
            end = Qt.AlignmentFlag.AlignRight if left else align
            self._option = _text_option(end, Qt.LayoutDirection.RightToLeft, tab=tab)
        else:
            self._option = _USUAL if left and not tab else _text_option(align, tab=tab)
        if boxes:
            space = QFontMetricsF(font).horizontalAdvance(_BLANK)
            formats = [*formats, *(blank_format(box, font, space) for box in boxes)]
        self.formats = formats
        self._prepare(self._layout, formats)
        self.marks: list[tuple[int, int]] = []
        """Where the text has what the person looks for, see ``mark_text``."""
        self.marked_for: re.Pattern[str] | None = None
        self.current = -1
        """Which of ``marks`` is the one that the person looks at."""

    def _prepare(self, layout: QTextLayout, formats: Sequence[QTextLayout.FormatRange]) -> None:
        layout.setTextOption(self._option)
        if formats:
            layout.setFormats(list(formats))
        layout.setCacheEnabled(True)

    @property
    def layout(self) -> QTextLayout:
        """The whole text, also where it has grown at its end."""
        if self._tail is not None:
            self._layout = QTextLayout(self.text, self._font)
            self._prepare(self._layout, self.formats)
            self.lay(self._room)
        return self._layout

    @property
    def width(self) -> float:
        """That of the widest line."""
        return max(self._widths, default=0.0)

    def lay(self, width: float) -> None:
        self._room, self._tail, self._chip_rects = width, None, None
        self.starts, self._widths, self._middle = [], [], []
        self._break(self._layout, 0, 0.0)

    def grow(
        self, text: str, formats: Sequence[QTextLayout.FormatRange] | None = None, same: int = 0
    ) -> float | None:
        """Take a text that goes on in plain letters; returns the height from which it changed.

        Only its last lines are laid out again: a longer last word changes none before it. If
        it has other ``formats`` now, they are the ``same`` up to there. None if that is not
        sure, and nothing was done.
        """
        before, first = self._tail, self._tail_line
        if before is None or len(self.starts) - first > TAIL_LINES:
            if self.boxes or not self.starts:
                return None
            first = len(self.starts) - 1
        start, top = self.starts[first]
        tail = cut(text, start)
        if not tail or max(tail.replace(LINE, " ")) > LAST_PLAIN:
            return None
        # Digits and signs are ordered by letters that may stand in a line above theirs. Only the
        # text at first can have such letters: what was added since then went through this check.
        if self._turns is None:
            self._turns = not self.text.isascii() and bool(_RIGHT_TO_LEFT.search(self.text))
        if self._turns:
            return None
        if formats is not None:
            if same < start:
                return None
            self.formats = formats
        if before is not None and first != self._tail_line:
            self._middle.append((before, self.starts[self._tail_line][1]))
        changed = self.starts[-1][1]
        self.text, self.marked_for = text, None
        self._tail, self._tail_start = QTextLayout(tail, self._font), start
        self._tail_line = first
        moved = [
            span_format(
                max(0, one.start - start), one.length - max(0, start - one.start), one.format
            )
            for one in self.formats
            if one.start + one.length > start
        ]
        self._prepare(self._tail, moved)
        del self.starts[self._tail_line :], self._widths[self._tail_line :]
        self._break(self._tail, start, top)
        if self._chip_rects is not None:
            self._chip_rects = [rect for rect in self._chip_rects if rect.bottom() <= top]
            for first, size in self.chips:
                if first + size > start:
                    self._chip_rects += _rects(self._tail, first - start, first + size - start)
        return changed

    def _break(self, layout: QTextLayout, start: int, y: float) -> None:
        """Break a layout, of the text from ``start`` on, into lines from a height on."""
        layout.beginLayout()
        while True:
            line = layout.createLine()
            if not line.isValid():
                break
            line.setLineWidth(self._room)
            natural = line.height()
            step = max(self.line, natural)
            above = (step - natural) / 2
            if self.boxes:
                high, low = self._reach(line)
                above = max(above, ceil(high - line.ascent()))
                step = max(above + (step + natural) / 2, above + line.ascent() + ceil(low))
            line.setPosition(QPointF(0, y + above))
            self._widths.append(line.naturalTextWidth())
            self.starts.append((start + line.textStart(), y))
            y += step
        layout.endLayout()
        self.height = ceil(y)

    def _reach(self, line: QTextLine) -> tuple[float, float]:
        """How far the formulas of a line reach above and below its baseline."""
        first, last = line.textStart(), line.textStart() + line.textLength()
        inside = [box for box in self.boxes if first <= box.start < last]
        high = max((box.drawing.ascent * box.em for box in inside), default=0.0)
        return high, max((box.drawing.descent * box.em for box in inside), default=0.0)

    def paint(
        self,
        painter: QPainter,
        x: float,
        y: float,
        style: PaintStyle,
        selected: tuple[int, int] | None,
        color: str = "text1",
    ) -> None:
        # Only the lines in the area that is painted: of a growing paragraph those at its end.
        clip = painter.clipBoundingRect().adjusted(0, -1, 0, 1)
        if self.chips and not self.bare:
            self._paint_chips(painter, x, y, style, clip)
        for number, (start, end) in enumerate(self.marks):
            self._mark(painter, x, y, start, end, style, number == self.current)
        painter.setPen(style.color(color))
        ranges: list[QTextLayout.FormatRange] = []
        if selected and selected[1] > selected[0]:
            mark = QColor(style.color("accent"))
            mark.setAlpha(70)
            form = QTextCharFormat()
            form.setBackground(mark)
            ranges.append(span_format(selected[0], selected[1] - selected[0], form))
        if self._tail is None or ranges:
            self.layout.draw(painter, QPointF(x, y), ranges, clip)
        else:
            self._draw_grown(painter, QPointF(x, y), self._tail, clip)
        for box in self.boxes:
            line = self.layout.lineForTextPosition(box.start)
            baseline = y + line.y() + line.ascent()
            left = min(_x(line, box.start), _x(line, box.start + box.size))
            box.paint(painter, x + left, baseline, style.color(color))

    def _draw_grown(self, painter: QPainter, at: QPointF, tail: QTextLayout, clip: QRectF) -> None:
        """Draw the lines of each layout that are not out of date, from the last one up."""
        top = at.y() + self.starts[self._tail_line][1]
        if top <= clip.bottom():
            tail.draw(painter, at, [], clip)
        border = top - 1
        for layout, top in reversed(self._middle):
            if clip.top() >= border:
                return
            if border < clip.bottom():
                clip.setBottom(border)
            if at.y() + top <= clip.bottom():  # else all of it is below the clip
                layout.draw(painter, at, [], clip)
            border = at.y() + top - 1
        if clip.top() < border:
            clip.setBottom(min(clip.bottom(), border))
            self._layout.draw(painter, at, [], clip)

    def _paint_chips(
        self, painter: QPainter, x: float, y: float, style: PaintStyle, clip: QRectF
    ) -> None:
        """The tint behind inline code."""
        if self._chip_rects is None:
            found = (self.rects(start, start + size) for start, size in self.chips)
            self._chip_rects = [rect for rects in found for rect in rects]
        tall, painted = style.px(18), False
        for rect in self._chip_rects:
            top = y + rect.center().y() - tall / 2
            if not clip.top() < top + tall or top > clip.bottom():
                continue
            if not painted:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(NO_PEN)
                painter.setBrush(style.color("sunken"))
                painted = True
            box = QRectF(x + rect.left() - 2, top, rect.width() + 4, tall)
            painter.drawRoundedRect(box, 4, 4)
        if painted:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _mark(
        self,
        painter: QPainter,
        x: float,
        y: float,
        start: int,
        end: int,
        style: PaintStyle,
        current: bool,
    ) -> None:
        """The tint behind a hit, and a ring around the current one."""
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(style.color("warn"), 1.5) if current else Qt.PenStyle.NoPen)
        painter.setBrush(style.color("warn_soft" if current else "accent_soft"))
        for rect in self.rects(start, end):
            box = rect.translated(x, y).adjusted(-1, 0, 1, 0)
            painter.drawRoundedRect(
                box.adjusted(-0.75, -0.75, 0.75, 0.75) if current else box, 3, 3
            )
        painter.restore()

    def rects(self, start: int, end: int) -> list[QRectF]:
        """Where the text from ``start`` to ``end`` lies, a rectangle a line."""
        return _rects(self.layout, start, end)

    def rows(self, start: int, end: int) -> list[QRectF]:
        """The lines with the text from ``start`` to ``end``, as tall as they stand in the block."""
        out: list[QRectF] = []
        for index in range(self.layout.lineCount()):
            line = self.layout.lineAt(index)
            first, last = line.textStart(), line.textStart() + line.textLength()
            if first <= end and start < max(last, first + 1):
                middle = line.y() + line.height() / 2
                out.append(QRectF(0, round(middle - self.line / 2), 0, self.line))
        return out

    def position(self, x: float, y: float) -> int:
        """The position between characters nearest to a point."""
        count = self.layout.lineCount()
        for index in range(count):
            line = self.layout.lineAt(index)
            if y < line.y() + line.height() or index == count - 1:
                if y > line.y() + self.line * 1.5:
                    return utf16(self.text)
                return line.xToCursor(x)
        return 0

    def end(self) -> QPointF:
        """The end of the text: where the cursor of a growing answer is painted."""
        layout, start = self._layout, 0
        if self._tail is not None:
            layout, start = self._tail, self._tail_start
        if not layout.lineCount():
            return QPointF()
        line = layout.lineAt(layout.lineCount() - 1)
        return QPointF(_x(line, utf16(self.text) - start), line.y() + line.height() / 2)

    def last_top(self) -> float:
        """Where the last line begins."""
        return self.starts[-1][1] if self.starts else 0.0

    def top_of_change(self, before: LineLayout, same: int) -> float:
        """Where the lines begin that differ from ``before``, of which ``same`` units are left.

        Lines break alike as far as the text is the same, but for the word at its end.
        """
        new, old = self.starts, before.starts
        at = min(bisect_right(new, (same, inf)), len(old)) - 1
        while at > 0 and new[at] != old[at]:
            at -= 1
        return new[at][1] if at > 0 else 0.0


def _rects(layout: QTextLayout, start: int, end: int) -> list[QRectF]:
    out: list[QRectF] = []
    for index in range(layout.lineCount()):
        line = layout.lineAt(index)
        first, last = line.textStart(), line.textStart() + line.textLength()
        low, high = max(start, first), min(end, last)
        if low < high:
            left, right = sorted((_x(line, low), _x(line, high)))
            out.append(QRectF(left, line.y(), right - left, line.height()))
    return out


def mark_text(lines: LineLayout, pattern: re.Pattern[str] | None) -> None:
    """Mark what a pattern matches; None marks nothing."""
    if lines.marked_for is pattern:
        return
    lines.marked_for, lines.current = pattern, -1
    text = lines.text
    found = [hit.span() for hit in pattern.finditer(text)] if pattern is not None else []
    if not text.isascii():
        found = [(utf16(text[:start]), utf16(text[:end])) for start, end in found]
    lines.marks = found


def _is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is Hebrew, Arabic or the like."""
    if text.isascii():
        return False
    strong = (unicodedata.bidirectional(letter) for letter in text)
    return next((kind != "L" for kind in strong if kind in ("L", "R", "AL")), False)


_BLANK = "\u00a0"


def _without(text: str, boxes: Sequence[FormulaBox]) -> str:
    """The text with as many hard spaces in place of each formula."""
    out: list[str] = []
    at = 0
    for box in boxes:
        out += [cut(text, at, box.start), _BLANK * box.size]
        at = box.start + box.size
    return "".join([*out, cut(text, at)]) if boxes else text


def blank_format(box: FormulaBox, font: QFont, space: float) -> QTextLayout.FormatRange:
    form = QTextCharFormat()
    form.setFont(box.blank(font, space))
    return span_format(box.start, box.size, form)


def _x(line: object, position: int) -> float:
    """``cursorToX`` returns a pair in some bindings."""
    found = line.cursorToX(position)  # type: ignore[attr-defined]  # a QTextLine
    return found[0] if isinstance(found, tuple) else found


def span_format(start: int, length: int, form: QTextCharFormat) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length, made.format = start, length, form
    return made


def coloured(start: int, length: int, color: QColor) -> QTextLayout.FormatRange:
    """A piece of text in a colour of its own."""
    form = QTextCharFormat()
    form.setForeground(color)
    return span_format(start, length, form)


def inline_format(
    style: PaintStyle, spans: Iterable[Span], boxes: Sequence[FormulaBox], base: str = "body"
) -> TextFormat:
    """The format of a text with inline styles."""
    out: list[QTextLayout.FormatRange] = []
    chips: list[tuple[int, int]] = []
    drawn = {box.start for box in boxes}
    for start, size, flags, url in spans:
        if start in drawn:
            continue
        form = QTextCharFormat()
        if flags & CODE:
            font = QFont(style.font("code"))
            font.setPixelSize(max(1, style.font(base).pixelSize() - style.px(2)))
            form.setFont(font)
            chips.append((start, size))
        if flags & STRONG:
            form.setFontWeight(QFont.Weight.DemiBold)
        if flags & EMPHASIS:
            form.setFontItalic(True)
        if flags & STRIKE:
            form.setFontStrikeOut(True)
        if flags & RAISED:
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignSuperScript)
        if url:
            form.setForeground(style.color("accent_text"))
            if url in style.dead_links:
                form.setFontStrikeOut(True)
        out.append(span_format(start, size, form))
    return TextFormat(out, chips, boxes)


def formula_boxes(
    text: str, spans: Iterable[Span], formulas: Formulas | None, em: float, room: float
) -> tuple[list[FormulaBox], bool]:
    """The formulas of a text that are drawn, and whether others may come later.

    A formula that is wider than ``room`` is drawn smaller.
    """
    boxes: list[FormulaBox] = []
    complete = True
    for start, size, flags, _ in spans:
        if formulas is not None and flags & MATH:
            written = cut(text, start, start + size)
            drawing: Drawing | None = formulas.find(written)
            complete = complete and not formulas.waits_for(written)
            if drawing is not None:
                fit = min(em, em * room / max(1.0, drawing.width * em + 2))
                boxes.append(FormulaBox(start, size, drawing, fit, formulas))
    return boxes, complete
