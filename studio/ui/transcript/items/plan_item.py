"""Plan item: a card with the agent's plan, changed in place while a turn goes on (C-2)."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import PlanBlock
from studio.domain.plans import ItemState, Plan
from studio.ui.theme import joined
from studio.ui.transcript.paint_style import RIGHT
from studio.ui.translation import tr, tr_later

from .base import Item, ItemContext, PaintPass

ITEM_MARKS: dict[ItemState, tuple[str, str]] = {
    "pending": ("circle", "text3"),
    "active": ("play", "accent_text"),
    "done": ("check", "ok"),
    "dropped": ("x", "text3"),
}
"""Icon and colour of an item by its state."""
ITEM_STATES: dict[ItemState, str] = {
    "pending": tr_later("to do"),
    "active": tr_later("being done"),
    "done": tr_later("done"),
    "dropped": tr_later("dropped"),
}


def progress(plan: Plan) -> str:
    """“2 of 5 done”."""
    done, whole = plan.count
    return tr("{done} of {whole} done").format(done=done, whole=whole)


def spoken_plan(plan: Plan) -> str:
    """The whole plan as a screen reader says it."""
    items = (f"{item.text}, {tr(ITEM_STATES[item.status])}" for item in plan.items)
    return "; ".join([joined((tr("Plan"), progress(plan))), *items])


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
            color = "text1" if item.status in ("pending", "active") else "text2"
            role = "ui_strong" if item.status == "active" else "ui"
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
