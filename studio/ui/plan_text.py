"""An agent's plan in words and marks, for the chat, the line above its message, and the inspector.

It imports nothing of the transcript, which is loaded after the window's first paint.
"""

from __future__ import annotations

from studio.domain.plans import ItemState, Plan
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later

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


def item_look(state: ItemState) -> tuple[str, str]:
    """Font and colour of an item's text."""
    role = "ui_strong" if state == "active" else "ui"
    return role, "text1" if state in ("pending", "active") else "text2"


def progress(plan: Plan) -> str:
    """“2 of 5 done”."""
    done, whole = plan.count
    return tr("{done} of {whole} done").format(done=done, whole=whole)


def spoken_plan(plan: Plan) -> str:
    """The whole plan as a screen reader says it."""
    items = (f"{item.text}, {tr(ITEM_STATES[item.status])}" for item in plan.items)
    return "; ".join([joined((tr("Plan"), progress(plan))), *items])
