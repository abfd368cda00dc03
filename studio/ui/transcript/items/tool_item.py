"""Tool item: a run of tool calls in a bordered card, one row for each call."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from PySide6.QtCore import QPointF, QRectF, Qt

from studio.domain.blocks import ToolBlock
from studio.domain.forms import is_web_address, plain_host
from studio.domain.messages import Image
from studio.domain.tools import RUN
from studio.ui.engine_texts import tr_engine
from studio.ui.markdown.blocks import Block
from studio.ui.transcript import model
from studio.ui.transcript.model import CardAction, ToolRow
from studio.ui.transcript.paint_style import LEFT, RIGHT, PaintStyle
from studio.ui.transcript.text.code_leaf import OutputLeaf
from studio.ui.transcript.text.table_leaf import TableLeaf
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets.painting import paint_spinner

from . import media_tiles
from .base import Hit, Item, ItemContext, PaintPass, button_row, paint_button

TAIL_LINES = 6
"""Lines shown of a tool that runs."""
MOST_LINES = 80
"""Lines shown of a result before “Show all”."""
MOST_ROWS = 20
"""Rows shown of a table before “Show 80 more rows”, which also shows the text."""
END_LINES = 24
"""Lines shown of what a command printed, from its end."""
_SPILLED = re.compile(r"The whole text is in .*?([0-9a-f]{16}\.txt) …\]")
"""What ``shorten`` writes into a text that it cut."""
MOST_CHIPS = 12
"""Things of packs, and pages, that a row names."""
OF_SERVER = " (MCP)"
"""How the first source of a server's result ends."""
FEW = 3
"""Rows shown of a merged row before “4 more”."""


@dataclass
class _Placed:
    """A row where it lies: ``top`` of the row, ``bottom`` of its details."""

    row: ToolRow
    top: float
    bottom: float
    box: QRectF | None
    note: str
    lines: list[tuple[ToolBlock, float]]
    first: bool
    last: bool


class ToolsItem(Item[ToolBlock]):
    """A run of tool calls."""

    @property
    def calls(self) -> list[ToolBlock]:
        found = self.blocks[self.span.first : self.span.last]
        return [block for block in found if isinstance(block, ToolBlock)]

    @property
    def rows(self) -> list[ToolRow]:
        return model.rows(self.calls)

    @property
    def name(self) -> str:
        return "\n".join(model.spoken_row(row, False) for row in self.rows)

    @property
    def animated(self) -> bool:
        return any(call.state in ("running", "writing") for call in self.calls)

    def source(self) -> str:
        out: list[str] = []
        for row in self.rows:
            for call in row.calls:
                out.append(f"{model.verb(call)} {call.target}".strip())
                if call.output.strip():
                    out.append(call.output.rstrip("\n"))
        return "\n".join(out)

    def shows(self, leaf: int, block: int) -> bool:
        return self._outputs.get(leaf) is self.blocks[block]

    def line_of(self, block: int, context: ItemContext) -> QRectF | None:
        """The line of a call in an open row of several, by its index."""
        call, px = self.blocks[block], context.style.px
        placed = self._placed if self.laid else []
        top = next((top for row in placed for one, top in row.lines if one is call), None)
        if top is None:
            return None
        return QRectF(px(34), top, context.width - px(34) - px(8), px(26))

    def estimate(self, context: ItemContext) -> float:
        return len(self.rows) * context.style.theme.height(34)

    def lay(self, context: ItemContext) -> None:
        style = context.style
        self.leaves, self.places, self.hits, self._placed = [], [], [], []
        self._outputs: dict[int, ToolBlock] = {}
        self._tiles: list[media_tiles.MediaTile] = []
        self._dead: list[tuple[QRectF, str]] = []
        self._thumbnails = context.thumbnails
        tall = style.theme.height(34)
        y = 0.0
        rows = self.rows
        opened_before = False
        for number, row in enumerate(rows):
            opened = row.key in context.opened
            for call in row.calls:
                if call.state == "running":
                    context.started.setdefault(id(call), context.now())
            before = rows[number - 1].calls[-1] if number else None
            # A finished row that is open has a card of its own.
            alone = before is not None and before.finished and (opened_before or opened)
            if alone:
                self._placed[-1].last = True
                y += style.px(12)
            top = y
            y += tall
            self.hits.append(
                Hit(
                    QRectF(0, top, context.width, tall),
                    "toggle",
                    row.key,
                    model.spoken_row(row, opened),
                )
            )
            placed = _Placed(row, top, y, None, "", [], number == 0 or alone, False)
            y = placed.bottom = self._chips(row, y, context)
            if opened:
                y = (
                    self._merged(placed, y, context)
                    if row.merged
                    else self._details(placed, y, context)
                )
                placed.bottom = y
            self._placed.append(placed)
            opened_before = opened
        if self._placed:
            self._placed[-1].last = True
        self.height = y

    def _chips(self, row: ToolRow, y: float, context: ItemContext) -> float:
        """Place a chip for each thing of a pack that the calls of a row are about (KZ-8), and
        for each page of the web that a server names (M-11)."""
        style, begin = context.style, context.style.px(38)
        given = dict.fromkeys(one for call in row.calls for one in call.sources)
        pages = {one: words for call in row.calls for one, words in _pages(call)}
        titles = {**pages, **context.sources}
        shown = [one for one in given if one in titles]
        if not shown:
            return y
        x, right = float(begin), context.width - style.px(11)
        for address in shown[:MOST_CHIPS]:
            text = titles[address] or address
            width = min(style.width("small", text) + style.px(30), right - begin)
            if x > begin and x + width > right:
                x, y = float(begin), y + style.px(28)
            rect = QRectF(x, y, width, style.px(24))
            if titles[address]:
                self.hits.append(Hit(rect, "open_link", (row.key, address), text, "icon", "link"))
            else:
                self._dead.append((rect, text))
            x += width + style.px(6)
        if len(shown) > MOST_CHIPS:
            more = tr("{number} more").format(number=len(shown) - MOST_CHIPS)
            self._dead.append((QRectF(x, y, style.width("small", more), style.px(24)), more))
        return y + style.px(34)

    def _paint_chips(self, paint: PaintPass, context: ItemContext) -> None:
        style, painter = context.style, paint.painter
        for hit in self.hits:
            if hit.action != "open_link":
                continue
            style.card(
                painter, hit.rect, "hover" if hit.same(paint.hover) else "sunken", "hair", 12
            )
            at = QPointF(hit.rect.left() + style.px(13), hit.rect.center().y())
            style.icon(painter, at, "file-text", "text2", 12)
            words = hit.rect.adjusted(style.px(22), 0, -style.px(8), 0)
            style.text(painter, words, hit.text, "small", "accent_text")
            if hit.same(paint.focus):
                style.focus_ring(painter, hit.rect, 12)
        for rect, text in self._dead:
            words = rect.adjusted(style.px(10), 0, -style.px(8), 0)
            width = style.text(painter, words, text, "small", "text3")
            if text not in context.sources.values() and text in context.sources:
                line = QRectF(words.left(), round(rect.center().y()), width, 1)
                painter.fillRect(line, style.color("text3"))

    def _merged(self, placed: _Placed, y: float, context: ItemContext) -> float:
        style, row = context.style, placed.row
        calls = list(row.calls)
        whole = row.key in context.whole
        shown = calls if whole or len(calls) <= FEW + 1 else calls[:FEW]
        for call in shown:
            placed.lines.append((call, y))
            y += style.px(26)
        if len(shown) < len(calls):
            text = tr("{number} more").format(number=len(calls) - len(shown))
            rect = QRectF(style.px(60), y, style.width("small_medium", text), style.px(26))
            self.hits.append(Hit(rect, "show_all", row.key, text, "link"))
            y += style.px(26)
        images = [image for call in shown for image in call.images]
        if images:
            y += style.px(4)
            y += self._pictures(
                images, QPointF(style.px(60), y), context.width - style.px(74), style
            )
        return y + style.px(8)

    def _pictures(
        self, images: Sequence[Image], at: QPointF, width: float, style: PaintStyle
    ) -> float:
        """Place what tools returned; says how tall it is."""
        tiles, _, tall = media_tiles.arrange(images, width, style)
        tiles = media_tiles.moved(tiles, at)
        self._tiles += tiles
        self.hits += media_tiles.hits(tiles)
        return tall

    def _details(self, placed: _Placed, y: float, context: ItemContext) -> float:
        style, call = context.style, placed.row.calls[0]
        left, right = style.px(38), style.px(11)
        pad_x, pad_y = style.px(10), style.px(8)
        width = context.width - left - right
        top = y
        y += pad_y
        inner = width - 2 * pad_x
        count = len(self.leaves)
        command = self._command(call, style, inner)
        if command:
            leaf = OutputLeaf(command, color="text1")
            y += self.place(leaf, QPointF(left + pad_x, y), context, inner)
        if call.table:
            y += style.px(6) if command else 0
            leaf = _table(call.table if id(call) in context.whole else call.table[: MOST_ROWS + 1])
            y += self.place(leaf, QPointF(left + pad_x, y), context, inner)
        output, hidden = self._output(call, context)
        if output:
            y += style.px(6) if command or call.table else 0
            if hidden < 0:
                text = tr_plural("{count} earlier line", "{count} earlier lines", -hidden)
                wide = style.width("small_medium", text)
                link = QRectF(left + pad_x, y, wide, style.px(20))
                self.hits.append(Hit(link, "show_all", id(call), text, "link"))
                y += style.px(20)
            leaf = OutputLeaf(output, call.state == "error")
            self._outputs[len(self.leaves)] = call
            y += self.place(leaf, QPointF(left + pad_x, y), context, inner)
        if call.images:
            y += style.px(8) if len(self.leaves) > count else 0
            y += self._pictures(call.images, QPointF(left + pad_x, y), inner, style)
        elif len(self.leaves) == count:
            going_on = (
                tr("Its result comes from the client.")
                if call.external
                else tr("Nothing printed yet.")
            )
            words = tr("No output.") if call.finished else going_on
            leaf = OutputLeaf(words, color="text3")
            y += self.place(leaf, QPointF(left + pad_x, y), context, inner)
        y += pad_y
        placed.box = QRectF(left, top, width, y - top)
        if call.allowed_by and (call.effect != "read" or call.answer is not None):
            y += style.px(6)
            allowed = tr("Allowed by: {who}").format(who=tr_engine(call.allowed_by))
            y += self.write(allowed, QPointF(left, y), context, width)
        foot = self._foot(call, hidden, id(call) in context.whole)
        if foot:
            y += style.px(12)
            self.hits += button_row(style, left, y, foot)
            y += style.theme.height(28)
            if call.finished and call.state != "cancelled":
                placed.note = tr("{agent} saw this output.").format(
                    agent=self.agent or tr("The agent")
                )
        return y + style.px(11)

    def _command(self, call: ToolBlock, style: PaintStyle, width: float) -> str:
        """The target, where the row had to cut it; the arguments, where it has none."""
        if call.target:
            cut = "\n" in call.target or style.width("code", call.target) > width * 0.6
            return call.target if cut else ""
        return json.dumps(call.arguments, ensure_ascii=False, indent=1) if call.arguments else ""

    def _output(self, call: ToolBlock, context: ItemContext) -> tuple[str, int]:
        """What is shown of the output, and how many lines follow; below 0 if they precede it.

        What a command did is at the end of what it printed. A table mostly says the same.
        """
        if call.table and id(call) not in context.whole:
            return "", 0
        text = call.output.rstrip("\n")
        lines = text.split("\n")
        ends = not call.finished or call.effect == "act"
        most = (END_LINES if call.finished else TAIL_LINES) if ends else MOST_LINES
        if len(lines) <= most + 1 or id(call) in context.whole:
            return text, 0
        if ends:
            return "\n".join(lines[-most:]), most - len(lines)
        return "\n".join(lines[:most]), len(lines) - most

    def _foot(
        self, call: ToolBlock, hidden: int, whole: bool
    ) -> list[tuple[CardAction, object, str]]:
        out: list[tuple[CardAction, object, str]] = []
        if call.table and not whole:
            more = len(call.table) - 1 - MOST_ROWS
            rows = tr_plural("Show {count} more row", "Show {count} more rows", more)
            words = rows if more > 0 else tr("Show the text")
            out.append((CardAction("show_all", words, "ghost"), id(call), ""))
        if call.child is not None:
            child = call.child
            if not child.reason and (call.state == "running" or child.background):
                stop = CardAction("stop_child", tr("Stop"), "ghost")
                out.append((stop, child.session_id, ""))
            words = tr("Open its chat")
            out.append((CardAction("open_chat", words, "ghost"), child.session_id, ""))
        elif call.state == "running" and call.effect == "act" and not call.external:
            out.append((CardAction("stop_call", tr("Stop"), "ghost"), call.call_id, ""))
            if call.name == RUN:
                words = tr("Go on in the background")
                out.append((CardAction("release_call", words, "ghost"), call.call_id, ""))
        if hidden > 0:
            words = tr_plural("Show {count} more line", "Show {count} more lines", hidden)
            out.append((CardAction("show_all", words, "ghost"), id(call), ""))
        if call.finished and (cut := _SPILLED.search(call.output)):
            out.append((CardAction("open_output", tr("Open all of it"), "ghost"), cut[1], ""))
        if call.finished and call.output.strip():
            out.append((CardAction("copy_output", tr("Copy output"), "ghost"), id(call), ""))
        return out

    def forget(self) -> None:
        for tile in self._tiles:
            if isinstance(tile.part, Image):
                self._thumbnails.forget(tile.part)

    # -- painting ------------------------------------------------------------------

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style, painter = context.style, paint.painter
        top = 0.0
        for placed in self._placed:
            if placed.first:
                top = placed.top
            if placed.last:
                card = QRectF(0, top, context.width, placed.bottom - top)
                style.card(painter, card, None, "hair", 8)
        for placed in self._placed:
            if placed.bottom < paint.top or placed.top > paint.bottom:
                continue
            self._paint_row(placed, paint, context)
            if placed.row.merged:
                self._paint_lines(placed, paint, context)
            if placed.box is not None:
                style.card(painter, placed.box, "sunken", None, 6)
            if placed.note:
                line = QRectF(
                    0, placed.bottom - style.px(39), context.width - style.px(14), style.px(28)
                )
                style.text(painter, line, placed.note, "small", "text2", RIGHT)
        self.paint_leaves(paint, context)
        media_tiles.paint_tiles(self._tiles, paint, context)
        self._paint_chips(paint, context)
        for hit in self.hits:
            if hit.action in ("open_file", "open_link"):
                continue  # painted with the tiles, or as chips
            if hit.style == "link":
                color = "accent_text"
                style.text(painter, hit.rect, hit.text, "small_medium", color)
                if hit.same(paint.hover):
                    base = hit.rect.center().y() + style.px(7)
                    painter.fillRect(
                        QRectF(hit.rect.left(), base, hit.rect.width(), 1), style.color(color)
                    )
                if hit.same(paint.focus):
                    style.focus_ring(painter, hit.rect.adjusted(0, 3, 0, -3), 6)
            elif hit.style != "row":
                paint_button(hit, paint, style)

    def _paint_row(self, placed: _Placed, paint: PaintPass, context: ItemContext) -> None:
        style, painter, row = context.style, paint.painter, placed.row
        call = row.calls[0]
        tall = style.theme.height(34)
        rect = QRectF(0, placed.top, context.width, tall)
        middle = rect.center().y()
        hit = next(h for h in self.hits if h.action == "toggle" and h.value == row.key)
        if hit.same(paint.hover):
            painter.save()
            painter.setClipRect(rect.adjusted(1, 0, -1, 0))
            up = 0 if placed.first else 12
            down = 0 if placed.last and placed.bottom == rect.bottom() else 12
            style.card(painter, rect.adjusted(1, 1 - up, -1, down - 1), "hover", None, 7)
            painter.restore()
        if not placed.first:
            style.hairline(painter, style.px(12), placed.top, context.width - style.px(24))
        failed = call.state == "error" and not row.merged
        icon = "search" if row.merged else call.icon
        agent = call.child.agent if call.child is not None and not row.merged else None
        if agent is None and call.name == "delegate":
            named = call.arguments.get("agent")
            agent = named if isinstance(named, str) else None
        title = tr("Explored") if row.merged else model.verb(call)
        detail = model.explored(row.calls) if row.merged else call.target
        if agent:
            icon, hue = context.agent(agent)
            if call.child is not None:
                icon, hue = call.child.icon, call.child.hue
            front, back = style.theme.hue(hue)
            side = style.px(20)
            style.tile(
                painter, QRectF(style.px(10), middle - side / 2, side, side), icon, front, back, 13
            )
            title = agent
            if call.name == "delegate":
                detail = str(call.arguments.get("task") or call.target)
            else:
                detail = model.verb(call)
        else:
            color = "err" if failed else "text2"
            style.icon(painter, QPointF(style.px(20), middle), icon, color, 16)
        right = rect.right() - style.px(13)
        side = style.px(14)
        opened = row.key in context.opened
        chevron = "chevron-down" if opened else "chevron-right"
        style.icon(painter, QPointF(right - side / 2, middle), chevron, "text2", 14)
        right -= side + style.px(8)
        self._paint_state(call, QPointF(right - side / 2, middle), paint, context)
        right -= side + style.px(8)
        words = self._result(row, context)
        width = min(style.width("ui", words), context.width * 0.4)
        result = QRectF(right - width, rect.top(), width, tall)
        style.text(painter, result, words, "ui", "err" if failed else "text2", RIGHT)
        left = style.px(38)
        space = result.left() - style.px(12) - left
        used = style.text(painter, QRectF(left, rect.top(), space, tall), title, "ui_strong")
        left += used + style.px(8)
        prose = row.merged or agent or (" " in detail and call.icon == "users")
        style.text(
            painter,
            QRectF(left, rect.top(), max(0.0, result.left() - style.px(12) - left), tall),
            detail.replace("\n", " "),
            "ui" if prose else "code",
            "text2",
            LEFT,
            Qt.TextElideMode.ElideRight if prose else Qt.TextElideMode.ElideMiddle,
        )
        if hit.same(paint.focus):
            style.focus_ring(painter, rect.adjusted(4, 4, -4, -4), 6)

    def _result(self, row: ToolRow, context: ItemContext) -> str:
        if row.merged:
            return model.time_taken(sum(call.seconds for call in row.calls))
        call = row.calls[0]
        begun = context.started.get(id(call))
        return model.row_status(call, None if begun is None else context.now() - begun)

    def _paint_state(
        self, call: ToolBlock, at: QPointF, paint: PaintPass, context: ItemContext
    ) -> None:
        style, painter = context.style, paint.painter
        child = call.child
        if child is not None and child.background and call.finished and not child.reason:
            style.icon(painter, at, "hourglass", "text2", 14)
            return
        if child is not None and child.reason not in ("", "done") and call.state == "done":
            style.icon(painter, at, "circle-alert", "warn", 14)
            return
        if call.state in ("running", "writing"):
            side = style.px(16)
            rect = QRectF(at.x() - side / 2, at.y() - side / 2, side, side)
            if paint.widget is not None:
                paint_spinner(painter, style.theme, paint.widget, rect)
            return
        icon, color = {
            "queued": ("circle-dashed", "text2"),
            "waiting": ("shield-question-mark", "warn"),
            "done": ("check", "ok"),
            "error": ("x", "err"),
            "denied": ("x", "text2"),
            "cancelled": ("square", "text2"),
        }[call.state]
        style.icon(painter, at, icon, color, 14)

    def _paint_lines(self, placed: _Placed, paint: PaintPass, context: ItemContext) -> None:
        style, painter = context.style, paint.painter
        if not placed.lines:
            return
        top = placed.lines[0][1]
        painter.fillRect(
            QRectF(style.px(18), top, 2, placed.bottom - top - style.px(9)), style.color("hair")
        )
        right = context.width - style.px(34)
        for call, y in placed.lines:
            rect = QRectF(style.px(60), y, right - style.px(60), style.px(26))
            style.icon(painter, QPointF(style.px(45), rect.center().y()), call.icon, "text2", 14)
            words = model.row_status(call, None)
            width = min(style.width("small", words), rect.width() / 3)
            style.text(
                painter,
                rect.adjusted(rect.width() - width, 0, 0, 0),
                words,
                "small",
                "text2",
                RIGHT,
            )
            used = style.text(painter, rect, model.verb(call), "small", "text2")
            rest = rect.adjusted(used + style.px(8), 0, -width - style.px(12), 0)
            style.text(
                painter, rest, call.target, "code", "text1", LEFT, Qt.TextElideMode.ElideMiddle
            )


def _table(rows: Sequence[Sequence[str]]) -> TableLeaf:
    cells = tuple(tuple((text, ()) for text in row) for row in rows)
    return TableLeaf(Block("table", rows=cells, sample=cells))


def _pages(call: ToolBlock) -> list[tuple[str, str]]:
    """The pages that a server's result links to, each with the words of its chip."""
    if not call.sources or not call.sources[0].endswith(OF_SERVER):
        return []
    whole = [one for one in call.sources[1:] if is_web_address(one) and not one.endswith("…")]
    return [(one, f"{plain_host(one)}{urlsplit(one).path.rstrip('/')}") for one in whole]
