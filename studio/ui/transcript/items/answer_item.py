"""Answer items: the agent's name, and its answer in markdown, parsed while it grows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import AgentBlock, TextBlock
from studio.ui.markdown.blocks import cut, folds_around, shown_text, without_markup
from studio.ui.markdown.parser import parse
from studio.ui.markdown.spoken import SpokenText
from studio.ui.markdown.stream import MarkdownStream, settled_length
from studio.ui.transcript.height_index import HeightIndex
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.transcript.text.block_types import (
    DetailsLeaf,
    EndLeaf,
    Leaf,
    ParagraphLeaf,
    gap,
    leaf,
)
from studio.ui.transcript.text.code_leaf import CodeLeaf
from studio.ui.transcript.text.picture_leaf import PictureLeaf
from studio.ui.translation import tr

from .base import (
    END,
    START,
    Caret,
    FoldKey,
    Hit,
    Item,
    ItemContext,
    PaintPass,
    TextRange,
    paint_button,
)
from .version_switch import VersionSwitch


class AgentItem(Item[AgentBlock]):
    """The line above an answer: tile, name, model, versions."""

    switch: VersionSwitch | None = None

    @property
    def name(self) -> str:
        block = self.block
        parts = [block.agent, block.model, self.switch.spoken() if self.switch else ""]
        return ", ".join(filter(None, parts))

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(24)

    def lay(self, context: ItemContext) -> None:
        style, block = context.style, self.block
        self.height = style.px(24)
        self.hits, self.switch = [], None
        versions = context.versions(block.turn_id, "answer")
        if versions is not None:
            self.switch = VersionSwitch(versions, style)
            words = style.width("body_strong", block.agent) + style.px(10)
            words += style.width("small", context.model(block.provider, block.model))
            x = min(words + style.px(8), context.width - self.switch.width)
            self.switch.place(x, self.height / 2, style)
            self.hits = self.switch.hits

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        block, style = self.block, context.style
        icon, hue = context.agent(block.agent)
        front, back = style.theme.hue(hue)
        side = style.px(24)
        tile = QRectF(-style.px(36), 0, side, side)
        style.tile(paint.painter, tile, icon, front, back, 14)
        line = QRectF(0, 0, context.width, self.height)
        width = style.text(paint.painter, line, block.agent, "body_strong")
        taken = self.switch.width + style.px(8) if self.switch is not None else 0
        rest = line.adjusted(width + style.px(10), 0, -taken, 0)
        if self.switch is not None:
            self.switch.paint(paint, style)
        style.text(
            paint.painter, rest, context.model(block.provider, block.model), "small", "text2"
        )


FRAME = 3000
"""Characters of a growing text that are parsed in one frame."""


class TextItem(Item[TextBlock]):
    """An answer in markdown, parsed while it grows. Only leaves near the window are laid out.

    A chat has thousands of them, nearly all of which are never seen: what belongs to the parsed
    text is made with it.
    """

    stream: MarkdownStream | None = None
    """The parsed text; None while it was not near the window."""
    parsed = 0
    """Characters of the source that are parsed."""
    lags = False
    """Whether the last frame left a part of the text for the next one."""
    _changed = 0
    """Index of the first leaf that changed in the last frame."""
    _replaced: tuple[Leaf, float] | None = None
    """The leaf that was there before, and its top."""
    _grown: float | None = None
    """The height from which the last frame changed a leaf that only grew; else None."""
    _pinned = False
    """Whether it was painted with a pin."""
    _heights: HeightIndex
    _gaps: list[float]
    _width = 0.0
    _around: list[tuple[int, ...]]
    """The folds that each leaf is in, by where they start in the text."""
    _folds: list[tuple[int, DetailsLeaf]]
    """The rows of folds with their indexes."""
    _opened: frozenset[int] = frozenset()
    """The folds that are open."""
    _known: frozenset[int] = frozenset()
    """The folds that were open at first: each is opened once."""
    _spoken: SpokenText | None = None
    _spoken_of: tuple[str, frozenset[int]] = "", frozenset()

    @property
    def name(self) -> str:
        text = self.spoken().text
        return tr("Pinned. {text}").format(text=text) if self.block.pinned else text

    def spoken(self) -> SpokenText:
        """The text for screen readers, also where it is not parsed for the window."""
        of = self.block.text, self._opened
        if self._spoken is None or self._spoken_of != of:
            parsed = self.stream is not None and self.parsed == len(self.block.text)
            blocks = self.stream.blocks if parsed and self.stream else parse(self.block.text)
            self._spoken, self._spoken_of = SpokenText(blocks, opened=self._opened), of
        return self._spoken

    @property
    def has_unparsed(self) -> bool:
        """Whether a part of the text waits for the next frame."""
        return self.stream is not None and self.parsed < self._settled

    @property
    def _settled(self) -> int:
        """How much of the text is to be shown by now."""
        block = self.block
        return settled_length(block.text) if block.live else len(block.text)

    def source(self) -> str:
        return self.block.text.strip("\n")

    def estimate(self, context: ItemContext) -> float:
        text = self.block.text
        lines = text.count("\n") * 0.6 + len(text) / 92 + 1
        return int(lines) * context.style.body_line

    def refresh(self, context: ItemContext) -> None:
        if self.stream is not None:
            self._parse(context, FRAME)

    def lay(self, context: ItemContext) -> None:
        if self.stream is None:
            self.stream = MarkdownStream()
            self._heights = HeightIndex()
            self.leaves, self._gaps, self._around, self._folds = [], [], [], []
            self._parse(context, len(self.block.text))
        elif self._width != context.width or len(self.leaves) != len(self.stream.blocks):
            self._rebuild(0, context)
        elif self._folds:
            self._fold(context)
        self._width = context.width

    def _parse(self, context: ItemContext, most: int) -> None:
        """Parse up to ``most`` further characters, and replace the leaves that changed."""
        assert self.stream is not None
        text, settled = self.block.text, self._settled
        self.parsed = max(self.parsed, min(settled, self.parsed + most))
        self.lags = self.parsed < settled
        first = self.stream.update(text[: self.parsed])
        if not self._grow(first, context):
            self._rebuild(first, context)
        self._width = context.width

    def _grow(self, first: int, context: ItemContext) -> bool:
        """Lay out the last lines of the last leaf again, if only its text goes on."""
        assert self.stream is not None
        last = len(self.leaves) - 1
        if not first == last == len(self.stream.blocks) - 1 or not self.is_shown(last):
            return False
        made = self.leaves[last]
        if type(made) is not CodeLeaf and not (self.stream.grew and type(made) is ParagraphLeaf):
            return False
        below = made.grow(self.stream.blocks[last], context.style)
        if below is None:
            return False
        self._changed, self._grown = last, self.leaf_top(last) + below
        self._heights.set(last, self._gaps[last] + made.height)
        self.height = self._heights.total
        return True

    def _rebuild(self, first: int, context: ItemContext) -> None:
        assert self.stream is not None
        first = self._changed = min(first, len(self.leaves))
        self._grown = None
        old = self.leaves[first] if first < len(self.leaves) else None
        self._replaced = None if old is None else (old, self.leaf_top(first))
        blocks, style = self.stream.blocks, context.style
        if first == 0:
            self._gaps = []
        del self.leaves[first:], self._gaps[first:], self._around[first:]
        self._folds = [fold for fold in self._folds if fold[0] < first]
        tall: list[float] = []
        for index in range(first, len(blocks)):
            before = self.leaves[index - 1] if index else None
            made = (
                PictureLeaf(blocks[index], context.folder, context.thumbnails)
                if blocks[index].kind == "image"
                else leaf(blocks[index], context.colours, before, context.formulas)
            )
            self.leaves.append(made)
            above = before.block if before is not None else None
            around = self._around[-1] if self._around else ()
            self._around.append(folds_around(above, around, made.block))
            if isinstance(made, DetailsLeaf):
                self._folds.append((index, made))
                self._meet(made, context)
            self._gaps.append(gap(above, made.block, style))
            tall.append(self._tall(index, context))
        self._heights.splice(first, len(self._heights), tall)
        self.height = self._heights.total

    # -- folds --------------------------------------------------------------------

    def _key(self, start: int) -> FoldKey:
        return id(self.block), start

    def _meet(self, made: DetailsLeaf, context: ItemContext) -> None:
        start = made.block.start
        if made.block.level and start not in self._known:
            context.opened.add(self._key(start))
            self._known |= {start}
        made.opened = self._key(start) in context.opened
        if made.opened:
            self._opened |= {start}

    def _tall(self, index: int, context: ItemContext) -> float:
        """The height of a leaf with the gap above it, as far as it is known."""
        if not self.is_shown(index):
            return 0.0
        made = self.leaves[index]
        tall = made.height if made.laid else made.estimate(context.style, context.width)
        return self._gaps[index] + tall

    def _fold(self, context: ItemContext) -> None:
        """Folds may have been opened or closed."""
        folds = self._folds
        for _, made in folds:
            made.opened = self._key(made.block.start) in context.opened
        self._opened = frozenset(made.block.start for _, made in folds if made.opened)
        for index in range(len(self.leaves)):
            if self._around[index]:
                self._heights.set(index, self._tall(index, context))
        self.height = self._heights.total

    def is_shown(self, index: int) -> bool:
        shown = not self._around[index] or self._opened.issuperset(self._around[index])
        return shown and not isinstance(self.leaves[index], EndLeaf)

    def closed_around(self, index: int, context: ItemContext) -> list[FoldKey]:
        """The closed folds that a leaf is in."""
        keys = map(self._key, self._around[index])
        return [key for key in keys if key not in context.opened]

    def _fold_hit(self, index: int, style: PaintStyle) -> Hit | None:
        """The row of a fold, to be opened or closed; None if it is not seen."""
        made = self.leaves[index]
        if not isinstance(made, DetailsLeaf) or not made.laid or not self.is_shown(index):
            return None
        state = tr("expanded") if made.opened else tr("collapsed")
        rect = made.row(self.leaf_top(index), style)
        return Hit(rect, "toggle", self._key(made.block.start), f"{made.title}, {state}")

    def _picture_hit(self, index: int) -> Hit | None:
        """A picture, to be opened; None for another leaf."""
        made = self.leaves[index]
        if not isinstance(made, PictureLeaf) or not made.laid or made.broken:
            return None
        words = tr("Open {caption}").format(caption=made.title)
        return Hit(made.row(self.leaf_top(index)), "open_file", made.picture, words, "link")

    def _last_shown(self, before: int) -> int:
        """The index of the last leaf above ``before`` that is seen, or -1."""
        before -= 1
        while before >= 0 and not self.is_shown(before):
            before -= 1
        return before

    # -- layout -------------------------------------------------------------------

    def show(self, context: ItemContext, top: float, bottom: float) -> float:
        if not self.laid or self.stream is None:
            self.lay(context)
            self.laid = True
        first, moved, tall = self._heights.find(top), 0.0, self._heights.values
        y = self._heights.above(first)
        for index in range(first, len(self.leaves)):
            if y >= bottom:
                break
            made = self.leaves[index]
            if not made.laid and self.is_shown(index):
                made.lay(context.style, context.width)
                context.layouts += 1
                change = self._heights.set(index, self._gaps[index] + made.height)
                if y < top:
                    moved += change
            y += tall[index]
        self.height = self._heights.total
        self.hits = []
        if self._folds:
            rows = (self._fold_hit(number, context.style) for number, _ in self._folds)
            self.hits = [hit for hit in rows if hit is not None]
        return moved

    def drop(self) -> None:
        for made in self.leaves:
            if made.laid:
                made.drop()

    def outdate(self) -> None:
        """Width or fonts have changed: the heights of leaves are estimates again."""
        self._width, self.laid = 0.0, False

    @property
    def awaits_picture(self) -> bool:
        return any(
            isinstance(made, PictureLeaf) and made.laid and not made.complete
            for made in self.leaves
        )

    def recolour(self, context: ItemContext) -> None:
        """Lay out again what was laid out before its colours or formulas were there."""
        for made in self.leaves:
            if made.laid and not made.complete:
                made.drop()

    def forget(self) -> None:
        """Drop the parsed blocks of a finished text as well."""
        self._spoken = None
        for made in self.leaves:
            if isinstance(made, PictureLeaf):
                made.thumbnails.forget(made.picture)
        if not self.block.live:
            self.stream, self.parsed, self.laid, self.lags = None, 0, False, False
            self.leaves, self.hits = [], []

    @property
    def grew(self) -> bool:
        """Whether the last frame left all leaves, and laid out again the end of the last one."""
        return self._grown is not None

    @property
    def unchanged_above(self) -> float | None:
        """The height above which the last frame changed nothing, the cursor at the end included.

        None if its pin comes or goes, which stands beside the column.
        """
        if self._pinned != self.block.pinned:
            return None
        if self._grown is not None:
            return self._grown
        at = self._changed
        seen = at < len(self.leaves) and self.is_shown(at)
        if self._replaced is None or not (seen and self._replaced[0].laid):
            # The cursor is gone from the end of the leaf before, or comes back to it.
            at = self._last_shown(min(at, len(self.leaves)))
            return self.leaf_top(at) + self.leaves[at].last_top() if at >= 0 else 0.0
        old, top = self._replaced
        if at >= len(self.leaves) or self.leaf_top(at) != top:
            return min(top, self._heights.above(min(at, len(self.leaves))))
        return top + self.leaves[at].top_of_change(old)

    def leaf_top(self, index: int) -> float:
        return self._heights.above(index) + self._gaps[index]

    def leaf_at(self, y: float) -> int:
        return self._heights.find(y)

    def visible(self, top: float, bottom: float) -> range:
        if not self.leaves:
            return range(0)
        return range(self._heights.find(top), self._heights.find(bottom) + 1)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style = context.style
        first, below, tall = 0, 0.0, list[float]()
        if self.leaves:
            first, tall = self._heights.find(paint.top), self._heights.values
            below = self._heights.above(first)
        for index in range(first, len(self.leaves)):
            if below > paint.bottom:
                break
            made, y = self.leaves[index], below + self._gaps[index]
            below += tall[index]
            if not made.laid or not self.is_shown(index):
                continue
            row: Hit | None = None
            if isinstance(made, DetailsLeaf | PictureLeaf):
                row = self._fold_hit(index, style) or self._picture_hit(index)
                made.over = row is not None and row.same(paint.hover)
            made.paint(paint.painter, y, style, self.piece(index, paint.selected))
            if row is not None and row.same(paint.focus):
                style.focus_ring(paint.painter, row.rect, 6)
            if isinstance(made, CodeLeaf) and made.block.part == 0:
                rect = made.copy_rect(y, style)
                if rect.bottom() + 8 > paint.top:  # a focus ring is larger
                    hit = Hit(rect, "copy_code", index, tr("Copy"), "icon", "copy")
                    paint_button(hit, paint, style)
        if paint.focus is not None and paint.focus.action == "open_link":
            link = next((hit for hit in self.stops(context) if hit.same(paint.focus)), None)
            if link is not None:
                style.focus_ring(paint.painter, link.rect.adjusted(-2, -1, 2, 1), 4)
        self._pinned = self.block.pinned
        if self._pinned:
            style.icon(paint.painter, QPointF(-style.px(24), style.px(11)), "pin", "text3", 14)
        last = self._last_shown(len(self.leaves)) if self.block.live else -1
        if last >= 0 and self.leaves[last].laid:
            at = self.leaves[last].cursor()
            if at is not None:
                tall = style.px(17)
                y = self.leaf_top(last) + at.y() - tall / 2
                paint.painter.fillRect(
                    QRectF(round(at.x()) + 1, round(y), 3, tall), style.color("accent_text")
                )

    def stops(self, context: ItemContext) -> Sequence[Hit]:
        """Its links, folds, and the copy buttons of code."""
        out: list[Hit] = []
        for index, made in enumerate(self.leaves):
            if not self.is_shown(index):
                continue
            row = self._fold_hit(index, context.style) or self._picture_hit(index)
            if row is not None:
                out.append(row)
            top = self.leaf_top(index)
            whole = QRectF(0, top, context.width, made.height)
            if isinstance(made, CodeLeaf) and made.block.part == 0:
                rect = made.copy_rect(top, context.style) if made.laid else whole
                out.append(Hit(rect, "copy_code", index, tr("Copy"), "icon", "copy"))
            for link in made.links():
                rects = made.rects(link.part, link.start, link.end)
                rect = reduce(QRectF.united, rects).translated(0, top) if rects else whole
                words = cut(made.texts()[link.part], link.start, link.end)
                value = (index, link.part, link.start, link.url)
                out.append(Hit(rect, "open_link", value, words, "link"))
        return out

    def hit(self, x: float, y: float, context: ItemContext) -> Hit | None:
        """The copy button of code, the row of a fold, or a picture at a point."""
        if not self.leaves:
            return None
        index = self.leaf_at(y)
        made = self.leaves[index]
        row = self._fold_hit(index, context.style) or self._picture_hit(index)
        if row is not None and row.rect.contains(x, y):
            return row
        if isinstance(made, CodeLeaf) and made.laid and made.block.part == 0:
            rect = made.copy_rect(self.leaf_top(index), context.style)
            if rect.contains(x, y):
                return Hit(rect, "copy_code", index, tr("Copy"), "icon", "copy")
        return None

    def code(self, index: int) -> str:
        """The whole fence that begins at a leaf."""
        parts: list[str] = []
        for made in self.leaves[index:]:
            parts.append(made.block.text)
            if made.block.final:
                break
        return "\n".join(parts)

    # -- text --------------------------------------------------------------------

    def caret(self, x: float, y: float) -> Caret:
        if not self.leaves:
            return START
        index = self.leaf_at(y)
        made = self.leaves[index]
        if not made.laid:
            return index, 0
        return index, made.position(x, y - self.leaf_top(index))

    def url(self, x: float, y: float) -> str:
        if not self.leaves:
            return ""
        index = self.leaf_at(y)
        made = self.leaves[index]
        return made.url(x, y - self.leaf_top(index)) if made.laid else ""

    def over_text(self, x: float, y: float) -> bool:
        return 0 <= y < self.height

    def selected_text(self, selected: TextRange) -> str:
        """The source of blocks that are selected whole, the shown text of others."""
        if selected == (START, END) or not self.leaves:
            return self.source()
        text = self.block.text
        out: list[str] = []
        low, high = max(0, selected[0][0]), min(len(self.leaves) - 1, selected[1][0])
        index = low
        while index <= high:
            piece = self.piece(index, selected)
            last = index
            while last < high and self._is_whole(last, selected):
                last += 1
            if last > index or self._is_whole(index, selected):
                if not self._is_whole(last, selected):
                    last -= 1
                block = self.leaves[index].block
                ends = max(made.block.end for made in self.leaves[index : last + 1])
                if self.leaves[last].block.final and block.part == 0 and low < high:
                    line = text.rfind("\n", 0, block.start) + 1
                    start = line if not text[line : block.start].strip() else block.start
                    out.append(text[start:ends].rstrip("\n"))
                else:
                    out += [made.cut(0, made.length) for made in self.leaves[index : last + 1]]
                index = last + 1
                continue
            if piece is not None and piece[0] < piece[1]:
                out.append(self.leaves[index].cut(*piece).replace("\u2028", "\n"))
            index += 1
        return "\n\n".join(out) if len(out) > 1 else "".join(out)

    def selected_words(self, selected: TextRange) -> str:
        if selected == (START, END) or not self.leaves:
            return without_markup((block, shown_text(block)) for block in parse(self.block.text))
        pieces = [(made, self.piece(index, selected)) for index, made in enumerate(self.leaves)]
        return without_markup(
            (made.block, shown_text(made.block))
            if piece == (0, made.length)
            else (made.block, made.cut(*piece))
            for made, piece in pieces
            if piece is not None
        )

    def _is_whole(self, index: int, selected: TextRange) -> bool:
        return self.piece(index, selected) == (0, self.leaves[index].length)
