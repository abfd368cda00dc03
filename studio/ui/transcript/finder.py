"""Finder: marks what is found on the canvas, and goes from one hit to the next."""

from __future__ import annotations

import time
from functools import partial

from PySide6.QtCore import QObject, QRectF, QTimer, Signal
from PySide6.QtGui import QPainter, QPen

from studio.domain.blocks import DraftBlock, ReasoningBlock, SummaryBlock, TextBlock, ToolBlock
from studio.ui.markdown.blocks import folds_around
from studio.ui.markdown.parser import parse
from studio.ui.transcript.text.picture_leaf import PictureLeaf

from .canvas import TOP
from .find import Find, FoundAt, Wanted, is_merged, is_read, texts_of
from .items.answer_item import TextItem
from .items.base import Item, ItemContext
from .items.draft_item import DraftItem
from .items.tool_item import ToolsItem
from .model import awaits_reply, has_no_row
from .paint_style import PaintStyle
from .scroller import FADE, ScrollBar, Scroller
from .text.text_layout import mark_text

SLICE = 0.004
"""Seconds of searching between two rounds of the event loop."""
REPORT = 0.15
"""Seconds between two reports while a search goes on."""
PAUSE = 120
"""Milliseconds after which changes of a growing transcript are looked at."""


class Finder(QObject):
    """Searches the transcript while the person types and while it grows.

    The current hit is ``at``; the canvas shows it with a ring and all others with a tint.
    """

    updated = Signal()
    """There are other hits than before, or another one is the current."""
    scrolled = Signal()

    def __init__(self, scroller: Scroller, context: ItemContext, parent: QObject) -> None:
        super().__init__(parent)
        self._canvas, self._scroller, self._context = scroller.canvas, scroller, context
        self.find: Find | None = None
        self.at: FoundAt | None = None
        self._start = 0
        """The block from which a search begins."""
        self._marked = False
        """Whether something was marked yet."""
        self._goes_there = False
        """Whether the first hit is still to be shown."""
        self._ticks: list[int] = []
        self._ticks_of = (0.0, 0.0)
        """The heights of canvas and bar that the ticks were made for."""
        self._ticks_until = 0.0
        """When they may be made again, by ``time.monotonic``: it takes a while in a long chat."""
        self._reported = 0.0
        self._slice = QTimer(self, singleShot=True)
        self._slice.timeout.connect(self._look)
        self._late = QTimer(self, singleShot=True)
        self._late.timeout.connect(self.updated)

    # -- searching ------------------------------------------------------------------

    def look_for(self, wanted: Wanted) -> None:
        """Search anew, from the hit that is current or from what is on screen."""
        self._start = self.at.block if self.at is not None else self._first_visible()
        self.find = Find(self._canvas.blocks, wanted) if wanted.pattern() else None
        self.at, self._goes_there = None, True
        if self.find is not None:
            self.find.begin_at(self._start)
            self._look()
        else:
            self._report()

    def clear(self) -> None:
        """Mark nothing."""
        self._slice.stop()
        if self.find is not None:
            self.find = self.at = None
            self._report()

    def blocks_replaced(self) -> None:
        """The canvas shows other blocks: search them for the same, and stay where it is."""
        if self.find is not None:
            self.find, self.at = Find(self._canvas.blocks, self.find.wanted), None
            self._goes_there = False
            self._look()

    def changed(self, blocks: set[int]) -> None:
        """These blocks of the transcript changed; there may be more of them."""
        if self.find is not None:
            self.find.changed(blocks)
            if not self.find.done and not self._slice.isActive():
                self._slice.start(PAUSE)

    def go_to_line(self, wanted: Wanted, line: str) -> bool:
        """Show the block whose source has a line, with all hits marked; False if none has it."""
        self.clear()
        find = Find(self._canvas.blocks, wanted)
        block = find.block_with(line)
        if block is None:
            self.look_for(wanted)
            return False
        at = find.hit_near(block, line)
        self.find, self.at, self._goes_there = find, at, False
        find.begin_at(block)
        self.reveal(at or FoundAt(block))
        self._look()
        return True

    def step(self, by: int) -> None:
        """Go to the next hit, or with -1 to the one before; from the last one to the first."""
        if self.find is None:
            return
        start = self._first_visible()
        self.at = self.find.first_from(start) if self.at is None else self.find.step(self.at, by)
        self._goes_there = False
        if self.at is not None:
            self.reveal(self.at)
        self._report()

    def _first_visible(self) -> int:
        canvas, scroller = self._canvas, self._scroller
        return canvas.items[canvas.at(scroller.value)].span.first if canvas.items else 0

    def _look(self) -> None:
        find = self.find
        if find is None:
            return
        done = find.look(SLICE)
        found = find.first_from(self._start) if self._goes_there else None
        if found is not None and (found.block >= self._start or done):
            self.at, self._goes_there = found, False
            self.reveal(found)
            self._report()
        elif done or time.monotonic() > self._reported + REPORT:
            self._report()
        if not done:
            self._slice.start(0)

    def _report(self) -> None:
        self._reported = time.monotonic()
        self._ticks_of = (0.0, 0.0)
        self.updated.emit()

    # -- what was found -----------------------------------------------------------------

    @property
    def total(self) -> int:
        return self.find.total if self.find is not None else 0

    @property
    def number(self) -> int:
        """Which hit is the current one, from 1; 0 without one."""
        return self.find.number(self.at) if self.find is not None and self.at is not None else 0

    @property
    def folded(self) -> int:
        """How many hits are in rows that are closed."""
        if self.find is None:
            return 0
        opened, blocks = self._context.opened, self._canvas.blocks
        hidden = row = 0
        for index, (block, count) in enumerate(zip(blocks, self.find.counts, strict=False)):
            if is_read(block):
                row = row or id(block)  # readings beside each other are one row
            elif not has_no_row(block):
                row = 0
            if not count or (row or id(block)) in opened:
                continue
            if isinstance(block, TextBlock) and "<details" in block.text.lower():
                hidden += self._hidden_in(block)
            if isinstance(block, ReasoningBlock | SummaryBlock) or is_merged(blocks, index):
                hidden += count
            elif isinstance(block, ToolBlock) and not awaits_reply(block):
                hidden += count - self.find.has_title_hit(block)
        return hidden

    def _hidden_in(self, block: TextBlock) -> int:
        """How many hits of an answer are in closed folds."""
        if self.find is None or self.find.pattern is None:
            return 0
        hidden, above, around = 0, None, ()
        for part in parse(block.text):
            around, above = folds_around(above, around, part), part
            if any((id(block), start) not in self._context.opened for start in around):
                texts = texts_of([part])
                hidden += sum(1 for text in texts for _ in self.find.pattern.finditer(text))
        return hidden

    # -- showing ------------------------------------------------------------------------

    def reveal(self, at: FoundAt) -> None:
        """Open what hides a hit, and scroll until it is in view."""
        canvas, scroller = self._canvas, self._scroller
        index = canvas.index_of_block(at.block)
        if index is None:
            return
        item = canvas.items[index]
        if self._open(item, at):
            item.laid = False
        scroller.following = False
        canvas.ready(index)
        for _ in range(3):
            where = self.place(item, at)
            top = canvas.top(index) + where.top() - scroller.value
            bottom = top + where.height()
            if top >= 8 and bottom <= scroller.height - FADE - 8 and item.laid:
                break
            scroller.to(canvas.top(index) + where.top() - scroller.height / 3)
        scroller.settle()  # what was opened moves what is below it
        self.scrolled.emit()

    def _open(self, item: Item, at: FoundAt) -> bool:
        """Open the row that hides a hit; whether it was closed."""
        context, block = self._context, self._canvas.blocks[at.block]
        if isinstance(item, TextItem):
            self._canvas.ready(self._canvas.index(item) or 0)
            found = self._leaf_of(item, at)
            closed = item.closed_around(found[0], context) if found is not None else ()
            context.opened.update(closed)
            return bool(closed)
        if not isinstance(block, ReasoningBlock | SummaryBlock | ToolBlock | DraftBlock):
            return False
        key, merged = id(block), False
        if isinstance(item, ToolsItem):
            made = ((row.key, row.merged) for row in item.rows if block in row.calls)
            key, merged = next(made, (key, merged))
        titled = self.find is not None and at.ordinal == 0 and self.find.has_title_hit(block)
        if titled and not merged:
            return False
        known = key in context.opened and key in context.whole
        context.opened.add(key)
        context.whole.add(key)
        return not known

    def place(self, item: Item, at: FoundAt) -> QRectF:
        """Where a hit is, in the item's coordinates; its row if its text is not laid out."""
        found = self._leaf_of(item, at)
        if found is None:
            return self._row(item, at.block)
        index, part, ordinal = found
        leaf = item.leaves[index]
        if isinstance(item, TextItem):
            x, y = 0.0, item.leaf_top(index)
        else:
            x, y = item.places[index].x(), item.places[index].y()
        if not leaf.laid:
            return QRectF(x, y, self._context.width, leaf.height)
        if isinstance(leaf, PictureLeaf):
            return leaf.row(y)
        offset, lines = leaf.layouts()[part]
        assert self.find is not None
        mark_text(lines, self.find.pattern)
        if ordinal >= len(lines.marks):
            return QRectF(x, y, self._context.width, leaf.height)
        rects = lines.rects(*lines.marks[ordinal])
        return rects[0].translated(offset).translated(x, y) if rects else QRectF(x, y, 1, 1)

    def _leaf_of(self, item: Item, at: FoundAt) -> tuple[int, int, int] | None:
        """The leaf of a hit, the part of the leaf and which match it is there."""
        find = self.find
        if find is None or find.pattern is None:
            return None
        ordinal = at.ordinal - find.has_title_hit(find.blocks[at.block])
        if ordinal < 0:
            return None
        for index, leaf in enumerate(item.leaves):
            if not item.shows(index, at.block):
                continue
            for part, text in enumerate(leaf.texts()):
                here = sum(1 for _ in find.pattern.finditer(text))
                if ordinal < here:
                    return index, part, ordinal
                ordinal -= here
        return None

    def _row(self, item: Item, block: int) -> QRectF:
        """The row of a call, or the row at the top of an item, or all of it."""
        key = id(item.blocks[block])
        if isinstance(item, DraftItem):
            return item.row(block)
        if isinstance(item, ToolsItem):
            if (line := item.line_of(block, self._context)) is not None:
                return line
            made = (row.key for row in item.rows if item.blocks[block] in row.calls)
            key = next(made, key)
        hits = (hit.rect for hit in item.hits if hit.action == "toggle" and hit.value == key)
        return next(hits, QRectF(0, 0, self._context.width, item.height))

    # -- painting -----------------------------------------------------------------------

    def mark(self, item: Item, low: float, high: float) -> None:
        """Give the texts of an item between two heights the places of their hits."""
        if self.find is None and not self._marked:
            return
        self._marked = True  # from now on there may be marks to take away
        pattern = self.find.pattern if self.find is not None else None
        current = None
        if self.at is not None and item.span.first <= self.at.block < item.span.last:
            current = self._leaf_of(item, self.at)
        visible = item.visible(low, high) if isinstance(item, TextItem) else range(len(item.leaves))
        for index in visible:
            leaf = item.leaves[index] if index < len(item.leaves) else None
            if leaf is None or not leaf.laid:
                continue
            if isinstance(leaf, PictureLeaf):
                found = bool(pattern is not None and pattern.search(leaf.block.text))
                here = current is not None and current[0] == index
                leaf.hit = "current" if found and here else "found" if found else ""
                continue
            counted = any(map(partial(item.shows, index), range(item.span.first, item.span.last)))
            for part, (_, lines) in enumerate(leaf.layouts()):
                mark_text(lines, pattern if counted else None)
                here = current is not None and current[:2] == (index, part)
                lines.current = current[2] if here and current is not None else -1

    def paint_rows(self, painter: QPainter, style: PaintStyle, item: Item) -> None:
        """Tint the rows of an item whose titles are hits; the current one has a ring."""
        find = self.find
        if find is None or not isinstance(item.block, ToolBlock | DraftBlock):
            return
        for index in range(item.span.first, min(item.span.last, len(find.counts))):
            if find.counts[index] and find.has_title_hit(item.blocks[index]):
                rect = self._row(item, index).adjusted(3, 3, -3, -3)
                style.card(painter, rect, "accent_soft", None, 6)
                if self.at == FoundAt(index):
                    style.card(painter, rect, "warn_soft", None, 6)
                    painter.save()
                    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                    painter.setPen(QPen(style.color("warn"), 1.5))
                    painter.drawRoundedRect(rect, 6, 6)
                    painter.restore()

    def paint_ticks(self, painter: QPainter, style: PaintStyle, bar: ScrollBar) -> None:
        """A tick at the edge for each hit, as far along as the hit is in the transcript."""
        if self.find is None:
            return
        canvas = self._canvas
        scale = bar.height / max(canvas.total, bar.height, 1.0)
        begun, state = time.monotonic(), (canvas.total, bar.height)
        if self._ticks_of != state and begun < self._ticks_until:
            self._late.start(int((self._ticks_until - begun) * 1000) + 1)
        elif self._ticks_of != state:
            self._ticks_of, self._ticks = state, self._tick_heights(scale)
            ended = time.monotonic()
            self._ticks_until = ended + 20 * (ended - begun)
        ticks, current = self._ticks, None
        index = canvas.index_of_block(self.at.block) if self.at is not None else None
        if self.at is not None and index is not None:
            item, top = canvas.items[index], canvas.top(index)
            current = round((top + self.place(item, self.at).center().y()) * scale)
            near = [y for y in ticks if top * scale - 1 <= y <= (top + item.height) * scale + 1]
            instead = min(near, key=lambda y: abs(y - current), default=None)
            ticks = [y for y in ticks if y != instead]
        for y in ticks:
            painter.fillRect(QRectF(bar.right - 6, y, 6, 2), style.color("accent_text"))
        if current is not None:
            painter.fillRect(QRectF(bar.right - 6, current, 6, 2), style.color("warn"))

    def _tick_heights(self, scale: float) -> list[int]:
        """Pixels of the bar that have a tick; several hits in one item are spread over it."""
        assert self.find is not None
        counts, canvas, found = self.find.counts, self._canvas, set[int]()
        bottom = float(TOP)
        for item, tall in zip(canvas.items, canvas.heights, strict=True):
            bottom += tall
            first, last = item.span.first, item.span.last
            count = counts[first] if last == first + 1 else sum(counts[first:last])
            if count:
                several = min(count, int(item.height * scale) + 1)
                top, step = bottom - item.height, item.height / several
                found.update(round((top + step * (n + 0.5)) * scale) for n in range(several))
        return sorted(found)
