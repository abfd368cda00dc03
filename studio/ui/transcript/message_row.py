"""Message row: the actions below a message, while the mouse or the keyboard is on it.

A message is what the person said, or the whole answer of a turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter

from studio.domain.blocks import TextBlock, TranscriptBlock
from studio.ui.translation import tr, tr_later

from .canvas import Canvas
from .items.answer_item import AgentItem
from .items.base import Hit, Item, ItemContext
from .items.user_item import UserItem
from .paint_style import PaintStyle

HEIGHT, BUTTON, PAD, ABOVE, OUTSIDE = 32, 26, 3, 6, 6
"""Pixels: of the row, of a button, around the buttons, over the row, and left of the text."""

MessageAction: TypeAlias = Literal["copy", "edit", "retry", "branch", "pin", "link", "more"]
PREFIX = "message_"
"""Before the name of an action of the row in a ``Hit``."""

PIN, UNPIN = tr_later("Pin for the model"), tr_later("Unpin")
_ACTIONS: dict[MessageAction, tuple[str, str]] = {
    "copy": ("copy", tr_later("Copy message")),
    "edit": ("pencil", tr_later("Edit and send again")),
    "retry": ("rotate-ccw", tr_later("Retry with another model")),
    "branch": ("git-branch", tr_later("Branch from here")),
    "pin": ("pin", PIN),
    "link": ("link", tr_later("Copy link")),
    "more": ("ellipsis", tr_later("More actions")),
}
KEYS: dict[MessageAction, str] = {"edit": "E", "branch": "B", "pin": "P", "retry": "R"}
"""Keys while the keyboard is on the message."""


@dataclass(frozen=True, slots=True)
class Message:
    """The items ``[first:last]`` of one message, and the turn that it belongs to.

    ``turn_id`` is empty for a message that was told from outside.
    """

    first: int
    last: int
    turn_id: str
    owner: Item
    """The person's message, or the line above an answer."""

    @property
    def is_answer(self) -> bool:
        return isinstance(self.owner, AgentItem)

    def blocks(self, items: Sequence[Item]) -> Sequence[TranscriptBlock]:
        start, end = items[self.first].span.first, items[self.last - 1].span.last
        return self.owner.blocks[start:end]

    def texts(self, items: Sequence[Item]) -> list[TextBlock]:
        """The words of an answer."""
        return [block for block in self.blocks(items) if isinstance(block, TextBlock)]

    def source(self, items: Sequence[Item]) -> str:
        """Its words in markdown."""
        if not self.is_answer:
            return self.owner.source()
        return "\n\n".join(text.text.strip("\n") for text in self.texts(items))


def message_at(items: Sequence[Item], index: int) -> Message | None:
    """The message to which an item belongs; None for one that stands by itself."""
    item = items[index]
    if isinstance(item, UserItem):
        return Message(index, index + 1, item.block.turn_id, item)
    first = index
    while first > 0 and not isinstance(items[first], AgentItem):
        first -= 1
    owner = items[first]
    if not isinstance(owner, AgentItem):
        return None
    last = first + 1
    while last < len(items) and not isinstance(items[last], AgentItem) and not _begins(items[last]):
        last += 1
    return Message(first, last, owner.block.turn_id, owner) if index < last else None


def _begins(item: Item) -> bool:
    """Whether a turn begins with the item; what was said while it ran is in the turn."""
    return isinstance(item, UserItem) and not item.block.steered


def offered(message: Message, items: Sequence[Item], context: ItemContext) -> list[MessageAction]:
    """What can be done with a message, from left to right; nothing while it still grows."""
    at_end = message.last == len(items)
    if message.is_answer and context.running and at_end:
        return []
    said = message.owner.block if isinstance(message.owner, UserItem) else None
    own = said is not None and not said.steered and not said.by_agent
    turn = bool(message.turn_id) and context.in_chat
    writable = not context.read_only
    again = message.is_answer and writable and turn and not context.running
    wanted: dict[MessageAction, bool] = {
        "copy": said is not None or bool(message.source(items)),
        "edit": own and writable and turn,
        "retry": again,
        "branch": turn and (said is None or own),
        "pin": context.in_chat and writable and (said is not None or bool(message.texts(items))),
        "link": context.in_chat,
        "more": True,
    }
    return [name for name, here in wanted.items() if here]


def pinned_block(message: Message, items: Sequence[Item]) -> tuple[int, bool]:
    """The index of the block that the pin of a message is for, and whether it is pinned."""
    if isinstance(message.owner, UserItem):
        return message.owner.span.first, message.owner.block.pinned
    start = items[message.first].span.first
    blocks = message.blocks(items)
    at = max(n for n, block in enumerate(blocks) if isinstance(block, TextBlock))
    block = blocks[at]
    return start + at, isinstance(block, TextBlock) and block.pinned


def words_of(name: MessageAction, message: Message, items: Sequence[Item]) -> str:
    """What an action says that it does."""
    unpins = name == "pin" and pinned_block(message, items)[1]
    return tr(UNPIN if unpins else _ACTIONS[name][1])


class MessageRow:
    """The row of one message where it stands in the widget."""

    def __init__(self, message: Message, rect: QRectF, hits: list[Hit]) -> None:
        self.message, self.rect, self.hits = message, rect, hits

    @property
    def zone(self) -> QRectF:
        """The row and the way to it from the message."""
        return self.rect.adjusted(-4, -ABOVE - 4, 4, 4)

    def hit(self, at: QPointF) -> Hit | None:
        return next((hit for hit in self.hits if hit.rect.contains(at)), None)

    def paint(
        self, painter: QPainter, style: PaintStyle, hover: Hit | None, pressed: Hit | None,
        focus: Hit | None,
    ) -> None:  # fmt: skip
        style.card(painter, self.rect, "raised", "control", 8)
        for hit in self.hits:
            over = hit.same(hover)
            if over:
                down = hit.same(pressed)
                style.card(painter, hit.rect, "press" if down else "hover", None, 6)
            ink = "accent_text" if hit.icon == "pin" and hit.text == tr(UNPIN) else "text2"
            style.icon(painter, hit.rect.center(), hit.icon, "text1" if over else ink, 16)
            if hit.same(focus):
                style.focus_ring(painter, hit.rect.adjusted(3, 3, -3, -3), 6)


def row_of(
    canvas: Canvas, index: int, left: float, scrolled: float, *, height: float
) -> MessageRow | None:
    """The row for the message with the item ``index``; None where nothing can be done.

    Nor where the message ends below the window, which is ``height`` pixels high.
    """
    context, px = canvas.context, canvas.context.style.px
    message = message_at(canvas.items, index)
    if message is None:
        return None
    top = bottom_of(canvas, message) - scrolled + px(ABOVE)
    hits = actions_of(canvas, message)
    if not hits or top < 0 or top + px(HEIGHT) > height:
        return None
    width = len(hits) * px(BUTTON) + 2 * px(PAD)
    x = left - px(OUTSIDE)
    if not message.is_answer:
        x = left + context.width - width
    rect = QRectF(round(x), round(top), width, px(HEIGHT))
    for number, hit in enumerate(hits):
        hit.rect = QRectF(
            rect.left() + px(PAD) + number * px(BUTTON), rect.top() + px(PAD),
            px(BUTTON), px(BUTTON),
        )  # fmt: skip
    return MessageRow(message, rect, hits)


def actions_of(canvas: Canvas, message: Message) -> list[Hit]:
    """What can be done with a message, wherever its row is."""
    items = canvas.items
    value = (message.owner.span.first, message.turn_id)
    return [
        Hit(
            QRectF(),
            PREFIX + name,
            value,
            words_of(name, message, items),
            "icon",
            _ACTIONS[name][0],
        )
        for name in offered(message, items, canvas.context)
    ]


def is_of_message(hit: Hit | None) -> bool:
    """Whether a place to click is an action of a message."""
    return hit is not None and hit.action.startswith(PREFIX)


def action_of(hit: Hit) -> MessageAction:
    """Which of the actions a place stands for, see ``is_of_message``."""
    return next(name for name in _ACTIONS if PREFIX + name == hit.action)


def bottom_of(canvas: Canvas, message: Message) -> float:
    """Where a message ends on the canvas, without what only says how its turn ended."""
    last = message.last - 1
    while last > message.first and not canvas.items[last].height:
        last -= 1
    return canvas.top(last) + canvas.items[last].height
