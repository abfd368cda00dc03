"""Files item: a row with what a turn changed in the folder, to be undone and redone."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, Qt

from studio.domain.blocks import FilesBlock
from studio.ui.transcript.model import CardAction
from studio.ui.transcript.paint_style import LEFT, RIGHT
from studio.ui.translation import tr, tr_plural

from .base import Hit, Item, ItemContext, PaintPass, button_row, button_width

MOST_PATHS = 20
"""Paths listed in an open row before “Show 5 more”."""
RESTORING = {"undo_files": "undo", "redo_files": "redo", "undo_later": "later"}
"""What the buttons do, by their action."""


def files_title(block: FilesBlock) -> str:
    return tr_plural("Changed {count} file", "Changed {count} files", len(block.paths))


def left_alone(block: FilesBlock) -> str:
    """Which files an undo did not touch, and why; empty if it took them all.

    A folder is not named that stays only for what is in it.
    """
    if not block.left:
        return ""
    named = [p for p in block.left if not any(o.startswith(f"{p}/") for o in block.left)]
    return tr("Left alone, because changed since: {names}").format(names=", ".join(named))


def first_do(later: Sequence[str]) -> str:
    """What stands in the way of an undo, where that is what later turns changed."""
    if len(later) == 1:
        return tr("Undo the later turn first")
    return tr("Undo {number} later turns first").format(number=len(later))


def files_actions(block: FilesBlock, later: Sequence[str]) -> list[CardAction]:
    """The buttons of the row, the one that is wanted most at the right."""
    if not block.left:
        return [
            CardAction("redo_files", tr("Redo"), "ghost")
            if block.undone
            else CardAction("undo_files", tr("Undo"), "ghost")
        ]
    again = [] if later else [CardAction("undo_files", tr("Undo again"), "ghost")]
    return [*again, *([CardAction("redo_files", tr("Redo"), "ghost")] if block.undone else [])]


class FilesItem(Item[FilesBlock]):
    """“Changed 3 files”; opened it lists them all. Nothing at all for a turn that changed none."""

    @property
    def name(self) -> str:
        block = self.block
        if not block.paths:
            return ""
        parts = [files_title(block), *block.paths[:MOST_PATHS]]
        if len(block.paths) > MOST_PATHS:
            parts.append(tr("and {number} more").format(number=len(block.paths) - MOST_PATHS))
        if block.undone:
            parts.append(tr("undone"))
        return ", ".join([*parts, *filter(None, [left_alone(block).lower()])])

    def source(self) -> str:
        block = self.block
        if not block.paths:
            return ""
        return "\n".join([files_title(block), *block.paths, *filter(None, [left_alone(block)])])

    def estimate(self, context: ItemContext) -> float:
        block = self.block
        return context.style.px(38 + 24 * bool(block.left)) if block.paths else 0.0

    def disabled_reason(self, hit: Hit, context: ItemContext) -> str:
        if hit.action in RESTORING and context.running:
            return tr("Wait until the turn ends, or stop it first.")
        return ""

    def lay(self, context: ItemContext) -> None:
        style, block = context.style, self.block
        self.leaves, self.places, self.hits = [], [], []
        self._lines: list[tuple[str, QRectF]] = []
        self.height = 0.0
        if not block.paths:
            return
        self._later = context.blocking(block.turn_id) if block.left else ()
        head = style.theme.height(38)
        opened = id(block) in context.opened
        state = tr("expanded") if opened else tr("collapsed")
        row = QRectF(0, 0, context.width, head)
        self.hits.append(Hit(row, "toggle", id(block), f"{self.name}, {state}"))
        offered = () if context.read_only else files_actions(block, self._later)
        room = sum(button_width(style, action.text) + style.px(8) for action in offered)
        left = context.width - style.px(28) - room
        y = (head - style.theme.height(28)) / 2
        self.hits += button_row(style, left, y, [(each, block.turn_id, "") for each in offered])
        self._left = left
        y = float(head)
        if opened:
            y = self._list(y, context)
        if block.left:
            self._note = y
            at, width = QPointF(style.px(38), y), context.width - style.px(52)
            y += self.write(left_alone(block), at, context, width) + style.px(8)
            if self._later and not context.read_only:
                words = CardAction("undo_later", first_do(self._later))
                self.hits += button_row(style, style.px(38), y, [(words, block.turn_id, "")])
                y += style.theme.height(28) + style.px(10)
        self.height = y

    def _list(self, y: float, context: ItemContext) -> float:
        style, block = context.style, self.block
        whole = id(block) in context.whole or len(block.paths) <= MOST_PATHS + 1
        shown = block.paths if whole else block.paths[:MOST_PATHS]
        for path in shown:
            width = min(style.width("code", path), context.width - style.px(74))
            rect = QRectF(style.px(60), y, width + 1, style.px(26))
            self._lines.append((path, rect))
            self.hits.append(Hit(rect, "open_path", path, path, "link"))
            y += style.px(26)
        if not whole:
            text = tr("Show {number} more").format(number=len(block.paths) - len(shown))
            rect = QRectF(style.px(60), y, style.width("small_medium", text), style.px(26))
            self.hits.append(Hit(rect, "show_all", id(block), text, "link"))
            y += style.px(26)
        return y + style.px(8)

    # -- painting ------------------------------------------------------------------

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        if not self.hits:
            return
        style, painter = context.style, paint.painter
        row = self.hits[0]
        head = row.rect
        if row.same(paint.hover):
            style.card(painter, head.adjusted(1, 1, -1, -1), "hover", None, 7)
        card = QRectF(0, 0, context.width, self.height)
        style.card(painter, card, None, "hair", 8)
        self._paint_head(head, paint, context)
        for path, rect in self._lines:
            middle = QPointF(style.px(45), rect.center().y())
            style.icon(painter, middle, "file-text", "text2", 14)
            elide = Qt.TextElideMode.ElideMiddle
            style.text(painter, rect.adjusted(0, 0, 1, 0), path, "code", "text1", LEFT, elide)
        if self.leaves:
            middle = QPointF(style.px(20), self._note + style.px(9))
            style.icon(painter, middle, "triangle-alert", "warn", 14)
            self.paint_leaves(paint, context)
        for hit in self.hits[1:]:
            if hit.style == "link":
                self._paint_link(hit, paint, context)
            else:
                self.paint_action(hit, paint, context)
        if row.same(paint.focus):
            style.focus_ring(painter, head.adjusted(4, 4, -4, -4), 6)

    def _paint_link(self, hit: Hit, paint: PaintPass, context: ItemContext) -> None:
        style, painter = context.style, paint.painter
        color = "text1"
        if hit.action == "show_all":
            color = "accent_text"
            style.text(painter, hit.rect, hit.text, "small_medium", color)
        if hit.same(paint.hover):
            base = hit.rect.center().y() + style.px(8)
            line = QRectF(hit.rect.left(), base, hit.rect.width(), 1)
            painter.fillRect(line, style.color(color))
        if hit.same(paint.focus):
            style.focus_ring(painter, hit.rect.adjusted(0, 3, 0, -3), 6)

    def _paint_head(self, head: QRectF, paint: PaintPass, context: ItemContext) -> None:
        style, painter, block = context.style, paint.painter, self.block
        middle = head.center().y()
        style.icon(painter, QPointF(style.px(20), middle), "files", "text2", 16)
        chevron = "chevron-down" if id(block) in context.opened else "chevron-right"
        style.icon(painter, QPointF(head.right() - style.px(20), middle), chevron, "text2", 14)
        right = self._left - style.px(4)
        if block.undone:
            words = tr("Undone in part") if block.left else tr("Undone")
            width = style.width("ui", words)
            place = QRectF(right - width, head.top(), width, head.height())
            style.text(painter, place, words, "ui", "text2", RIGHT)
            right -= width + style.px(8)
            style.icon(painter, QPointF(right - style.px(7), middle), "undo-2", "text2", 14)
            right -= style.px(26)
        left = style.px(38)
        room = QRectF(left, head.top(), max(0.0, right - left), head.height())
        used = style.text(painter, room, files_title(block), "ui_strong")
        rest = room.adjusted(used + style.px(8), 0, 0, 0)
        if rest.width() > style.px(40) and id(block) not in context.opened:
            style.text(painter, rest, ", ".join(block.paths), "code", "text2")
