"""Which block of the transcript has the focus, and which of its rows or buttons."""

from __future__ import annotations

from .canvas import Canvas
from .items import Hit, Item
from .prompt import ApprovalItem

_BUTTONS = ("primary", "secondary", "ghost", "icon", "link")


class Focus:
    """The block with the focus, and one of its rows or buttons."""

    def __init__(self) -> None:
        self.item: Item | None = None
        self.hit: Hit | None = None
        self.keyboard = False
        """Whether it came by the keyboard and is to be seen."""

    def __bool__(self) -> bool:
        return self.item is not None and self.keyboard

    def clear(self) -> None:
        self.item = self.hit = None
        self.keyboard = False

    def index(self, canvas: Canvas) -> int | None:
        return None if self.item is None else canvas.index(self.item)

    def shown_hit(self, item: Item) -> Hit | None:
        """The button that Enter would press; a prompt's first one."""
        if self.hit is not None:
            return self.hit
        if isinstance(item, ApprovalItem) and item.hits:
            return item.hits[0]
        return None

    def move(self, canvas: Canvas, step: int) -> bool:
        """To the next or previous block or row."""
        here = self.index(canvas)
        if here is None:
            here = len(canvas.items) if step < 0 else -1
            stops: list[Hit | None] = []
        else:
            stops = _rows(canvas.items[here])
        at = next((n for n, hit in enumerate(stops) if hit and hit.same(self.hit)), 0)
        if stops and 0 <= at + step < len(stops):
            self.hit = stops[at + step]
            return True
        here += step
        while 0 <= here < len(canvas.items) and not canvas.items[here].height:
            here += step
        if not 0 <= here < len(canvas.items):
            return False
        self.item = canvas.items[here]
        rows = _rows(self.item)
        self.hit = rows[0 if step > 0 else -1] if rows else None
        return True

    def tab(self, canvas: Canvas, forward: bool) -> bool:
        """To the next button of the focused block; False after the last."""
        if self.item is None or self.index(canvas) is None:
            return False
        buttons = [hit for hit in self.item.hits if hit.style in _BUTTONS]
        if not buttons:
            return False
        start = self.shown_hit(self.item)
        at = next((n for n, hit in enumerate(buttons) if hit.same(start)), None)
        at = (0 if forward else -1) if at is None else at + (1 if forward else -1)
        if not 0 <= at < len(buttons):
            self.hit = None
            return False
        self.hit, self.keyboard = buttons[at], True
        return True


def _rows(item: Item) -> list[Hit | None]:
    return [hit for hit in item.hits if hit.style == "row"]
