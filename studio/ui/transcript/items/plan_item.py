"""Plan item: a card with the agent's plan, changed in place while a turn goes on (C-2)."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import PlanBlock
from studio.domain.plans import ItemState
from studio.ui.plan_text import ITEM_MARKS, item_look, progress, spoken_plan
from studio.ui.transcript.paint_style import RIGHT
from studio.ui.translation import tr

from .base import Item, ItemContext, PaintPass


class PlanCard(Item[PlanBlock]):
    """How far the plan is, above its items."""

    @property
    def name(self) -> str:
        return spoken_plan(self.block.plan)

    def source(self) -> str:
        plan = self.block.plan
        return "\n".join([*plan.lines, *filter(None, [plan.why])])

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(46 + 24 * len(self.block.plan.items))

    def lay(self, context: ItemContext) -> None:
        style, plan = context.style, self.block.plan
        self.leaves, self.places, self.hits = [], [], []
        self._marks: list[tuple[ItemState, float]] = []
        left, right = style.px(38), style.px(14)
        y = float(style.theme.height(38))
        for item in plan.items:
            self._marks.append((item.status, y + style.px(9)))
            role, color = item_look(item.status)
            at, width = QPointF(left, y), context.width - left - right
            y += self.write(item.text, at, context, width, role, color) + style.px(6)
        if plan.why:
            at, width = QPointF(left, y), context.width - left - right
            y += self.write(plan.why, at, context, width, "small", "text2") + style.px(6)
        self.height = y + style.px(6)

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style, painter, plan = context.style, paint.painter, self.block.plan
        style.card(painter, QRectF(0, 0, context.width, self.height), None, "hair", 8)
        head = QRectF(0, 0, context.width - style.px(14), style.theme.height(38))
        style.icon(painter, QPointF(style.px(20), head.center().y()), "list", "text2", 16)
        style.text(painter, head.adjusted(style.px(38), 0, 0, 0), tr("Plan"), "ui_strong")
        style.text(painter, head, progress(plan), "ui", "text2", RIGHT)
        for state, middle in self._marks:
            icon, color = ITEM_MARKS[state]
            style.icon(painter, QPointF(style.px(20), middle), icon, color, 14)
        self.paint_leaves(paint, context)
