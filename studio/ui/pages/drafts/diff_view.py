"""Paints the diff of a draft: in one column, in two, or beside the present file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.line_changes import opcodes
from studio.tools.drafts.diff import DiffLine, Kind
from studio.tools.drafts.three_way_merge import Hunk
from studio.ui.theme import Theme
from studio.ui.transcript.items.draft_item import DiffLeaf, FoldLeaf, colour
from studio.ui.transcript.paint_style import LEFT, PaintStyle
from studio.ui.transcript.text.highlight import CodeColours, Spans
from studio.ui.transcript.text.leaf import Leaf
from studio.ui.translation import tr_later, tr_plural

MOST_ROWS = 400
"""Rows before “Show all”."""
_NEAR = 3
"""Unchanged lines that are shown around a hunk."""
SIDES = (tr_later("Original"), tr_later("File now"), tr_later("Draft"))


@dataclass(slots=True)
class DiffRow:
    """What is side by side: a cell each, None where a side has no such line."""

    cells: tuple[DiffLine | None, ...]
    conflict: bool = False
    fold: DiffLine | None = None


@dataclass(slots=True)
class _Laid:
    row: DiffRow
    top: float
    height: float
    leaves: list[tuple[Leaf, float]] = field(default_factory=list[tuple[Leaf, float]])


def unified(lines: Sequence[DiffLine]) -> list[DiffRow]:
    return [DiffRow((line,), fold=line if line.kind == "fold" else None) for line in lines]


def split(lines: Sequence[DiffLine]) -> list[DiffRow]:
    """Old on the left, new on the right; what took the place of what is in one row."""
    rows: list[DiffRow] = []
    gone: list[DiffLine] = []
    come: list[DiffLine] = []

    def settle() -> None:
        for n in range(max(len(gone), len(come))):
            left = gone[n] if n < len(gone) else None
            rows.append(DiffRow((left, come[n] if n < len(come) else None)))
        gone.clear()
        come.clear()

    for line in lines:
        if line.kind in ("del", "add"):
            (gone if line.kind == "del" else come).append(line)
            continue
        settle()
        rows.append(DiffRow((line, line), fold=line if line.kind == "fold" else None))
    settle()
    return rows


def three(hunks: Sequence[Hunk]) -> list[DiffRow]:
    """The original, the file as it is now and the draft, in step; unchanged runs are folded."""
    rows: list[DiffRow] = []
    for number, hunk in enumerate(hunks):
        if hunk.side == "same":
            rows += _same(hunk, number > 0, number < len(hunks) - 1)
            continue
        sides = _sides(hunk)
        for n in range(max(map(len, sides))):
            cells = tuple(side[n] if n < len(side) else None for side in sides)
            rows.append(DiffRow(cells, conflict=hunk.side == "conflict"))
    return rows


def _sides(hunk: Hunk) -> list[list[DiffLine]]:
    """The lines of each text in a hunk; what two of them share is marked as the same."""
    texts = [[line.rstrip("\r\n") for line in side] for side in (hunk.base, hunk.theirs, hunk.ours)]
    stays = [set(range(len(texts[0]))), set[int](), set[int]()]
    for side in (1, 2):
        kept = set[int]()
        for tag, i1, i2, j1, j2 in opcodes(texts[0], texts[side]):
            if tag == "equal":
                kept |= set(range(i1, i2))
                stays[side] |= set(range(j1, j2))
        stays[0] &= kept
    out: list[list[DiffLine]] = []
    for side, lines in enumerate(texts):
        changed: Kind = "add" if side else "del"
        out.append(
            [
                DiffLine("same" if n in stays[side] else changed, at, at, text)
                for n, text in enumerate(lines)
                for at in (hunk.at[side] + n,)
            ]
        )
    return out


def _same(hunk: Hunk, before: bool, after: bool) -> Iterator[DiffRow]:
    count = len(hunk.base)
    head, tail = _NEAR if before else 0, _NEAR if after else 0
    if count - head - tail < 2:
        head, tail = count, 0
    for n in range(count):
        if head <= n < count - tail:
            if n == head:
                hidden = count - head - tail
                yield DiffRow((), fold=DiffLine("fold", None, None, "", count=hidden))
            continue
        text = hunk.base[n].rstrip("\r\n")
        yield DiffRow(tuple(DiffLine("same", at + n, at + n, text) for at in hunk.at))


def _more_lines(count: int) -> str:
    return tr_plural("Show {count} more line", "Show {count} more lines", count)


class DiffView(QWidget):
    """As high as its rows; paints those that are seen."""

    unfolded = Signal(object)
    """The line of a fold that was clicked."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self.theme, self._paint_style = theme, PaintStyle(theme)
        self.colours = CodeColours(self)
        self.colours.loaded.connect(self._lay, Qt.ConnectionType.QueuedConnection)
        self._rows: Sequence[DiffRow] = ()
        self._path, self._whole = "", False
        self._heads: tuple[str, ...] = ()
        self._laid: list[_Laid] = []
        self._more = QRectF()
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._restyle)

    def show_rows(self, rows: Sequence[DiffRow], path: str, heads: tuple[str, ...] = ()) -> None:
        """``heads`` stand above the columns. The path says which language it is."""
        self._rows, self._path, self._heads, self._whole = rows, path, heads, False
        said = [cell.text for row in rows[:40] for cell in row.cells if cell is not None]
        self.setAccessibleDescription("\n".join(said))
        self._lay()

    @property
    def rows(self) -> Sequence[DiffRow]:
        return self._rows

    def _restyle(self) -> None:
        self._paint_style.refresh()
        self._lay()

    def _lay(self) -> None:
        style, y = self._paint_style, 0.0
        shown = (
            self._rows if self._whole or len(self._rows) <= MOST_ROWS else self._rows[:MOST_ROWS]
        )
        columns = max((len(row.cells) for row in shown), default=1) or 1
        wide = self.width() / columns
        if self._heads and shown:
            y += style.px(28)
        spans = [self._spans(shown, column) for column in range(columns)]
        self._laid = []
        for index, row in enumerate(shown):
            laid = _Laid(row, y, style.code_block_line)
            if row.fold is not None:
                leaf = FoldLeaf(row.fold, index)
                leaf.lay(style, self.width())
                laid.height, laid.leaves = leaf.height, [(leaf, 0.0)]
            else:
                for column, cell in enumerate(row.cells):
                    if cell is None:
                        continue
                    side = "both" if columns == 1 else "old" if column == 0 else "new"
                    made = DiffLeaf(cell, spans[column].get(index, ()), side)
                    made.lay(style, wide - 1)
                    laid.leaves.append((made, round(column * wide) + min(1, column)))
                laid.height = max(leaf.height for leaf, _ in laid.leaves)
                for leaf, _ in laid.leaves:
                    leaf.height = laid.height
            y += laid.height
            self._laid.append(laid)
        self._more = QRectF()
        if len(shown) < len(self._rows):
            words = _more_lines(len(self._rows) - len(shown))
            self._more = QRectF(style.px(79), y, style.width("small_medium", words), style.px(28))
            y += style.px(28)
        self.setFixedHeight(round(y))
        self.update()

    def _spans(self, rows: Sequence[DiffRow], column: int) -> dict[int, Spans]:
        blank = DiffLine("fold", None, None, "")
        cells = [row.cells[column] if column < len(row.cells) else None for row in rows]
        lines = [
            blank if cell is None or row.fold else cell
            for cell, row in zip(cells, rows, strict=True)
        ]
        return colour(lines, self._path, self.colours)[0]

    def resizeEvent(self, event: QResizeEvent) -> None:
        if event.oldSize().width() != event.size().width():
            self._lay()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        over = self._more.contains(at) or self._fold_at(at.y()) is not None
        self.setCursor(Qt.CursorShape.PointingHandCursor if over else Qt.CursorShape.ArrowCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._more.contains(event.position()):
            self._whole = True
            self._lay()
        elif (fold := self._fold_at(event.position().y())) is not None:
            self.unfolded.emit(fold)

    def _fold_at(self, y: float) -> DiffLine | None:
        found = (laid for laid in self._laid if laid.top <= y < laid.top + laid.height)
        return next((laid.row.fold for laid in found), None)

    def paintEvent(self, event: QPaintEvent) -> None:
        style, seen = self._paint_style, event.rect()
        painter = QPainter(self)
        columns = max((len(laid.row.cells) for laid in self._laid), default=1) or 1
        wide = self.width() / columns
        if self._heads and self._laid:
            for column, words in enumerate(self._heads):
                box = QRectF(column * wide + style.px(12), 0, wide - style.px(16), style.px(28))
                style.text(painter, box, words, "label", "text2", LEFT)
        for column in range(1, columns):
            line = QRectF(round(column * wide), 0, 1, self.height())
            painter.fillRect(line, style.color("hair"))
        for laid in self._laid:
            if laid.top > seen.bottom() or laid.top + laid.height < seen.top():
                continue
            for leaf, x in laid.leaves:
                painter.save()
                painter.translate(x, 0)
                leaf.paint(painter, laid.top, style, None)
                painter.restore()
            if laid.row.conflict:
                painter.fillRect(QRectF(0, laid.top, style.px(3), laid.height), style.color("warn"))
        if not self._more.isNull():
            words = _more_lines(len(self._rows) - len(self._laid))
            style.text(painter, self._more, words, "small_medium", "accent_text", LEFT)
        painter.end()
