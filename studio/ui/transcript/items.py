"""Items of the canvas: what they share, and the simple ones.

An item lays itself out in its own coordinates (0, 0 is its top left in the
text column), paints itself and says where it can be clicked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.domain.transcript import (
    AgentBlock,
    EndBlock,
    FailureBlock,
    NoticeBlock,
    TranscriptBlock,
)
from studio.ui.markdown import Block

from . import model
from .highlight import CodeColours
from .look import CENTRE, Look
from .model import Action, Plan
from .text import Leaf, ParagraphLeaf

Caret: TypeAlias = tuple[int, int]
"""A leaf of the item and a place in its text."""
Range: TypeAlias = tuple[Caret, Caret]
START: Caret = (0, 0)
END: Caret = (1 << 30, 1 << 30)


@dataclass(eq=False, slots=True)
class Hit:
    """A place to click. ``style`` says how it is painted; rows and links paint themselves."""

    rect: QRectF
    action: str
    value: object = None
    text: str = ""
    style: Literal["primary", "secondary", "ghost", "icon", "row", "link"] = "row"
    icon: str = ""
    keycap: str = ""

    def same(self, other: Hit | None) -> bool:
        """Whether both do the same; hits are made anew with every layout."""
        return other is not None and (self.action, self.value) == (other.action, other.value)


@dataclass
class Context:
    """What items need to lay themselves out."""

    look: Look
    colours: CodeColours
    now: Callable[[], float]
    agent: Callable[[str], tuple[str, str]]
    """An agent's icon and hue by its name."""
    width: float = 680.0
    started: dict[int, float] = field(default_factory=dict[int, float])
    """When a running block was first seen, by its id."""
    opened: set[int] = field(default_factory=set[int])
    """Ids of blocks whose details are shown."""
    whole: set[int] = field(default_factory=set[int])
    """Ids of blocks whose long contents are shown whole."""
    retry: bool = False
    layouts: int = 0
    """Leaves laid out so far: for measuring."""


@dataclass
class Paint:
    """What changes from one painting to the next."""

    painter: QPainter
    top: float
    bottom: float
    hover: Hit | None = None
    pressed: Hit | None = None
    focus: Hit | None = None
    selected: Range | None = None
    widget: QWidget | None = None
    """What is painted on, to ask for the next frame of a spinner."""
    primary: bool = True
    """Whether this card may show its primary button as such."""


class Item:
    """One unit of the canvas."""

    text_like = False
    """Copied from its source, piece by piece; others are copied as their words."""

    def __init__(self, plan: Plan, blocks: Sequence[TranscriptBlock], agent: str) -> None:
        self.plan = plan
        self.blocks = blocks
        self.agent = agent
        self.height = 0.0
        self.laid = False
        self.hits: list[Hit] = []
        self.leaves: list[Leaf] = []
        self.places: list[QPointF] = []
        """Top left corners of the leaves."""

    @property
    def block(self) -> TranscriptBlock:
        return self.blocks[self.plan.first]

    @property
    def name(self) -> str:
        """What a screen reader says of this item."""
        return ""

    @property
    def animated(self) -> bool:
        """Whether a spinner turns or a clock runs in it."""
        return False

    def estimate(self, context: Context) -> float:
        return context.look.px(34)

    def lay(self, context: Context) -> None:
        """Lay out everything; sets ``height`` and ``hits``."""
        raise NotImplementedError

    def show(self, context: Context, top: float, bottom: float) -> float:
        """Make ready what lies between; returns how much came or went above ``top``."""
        if not self.laid:
            self.lay(context)
            self.laid = True
        return 0.0

    def paint(self, paint: Paint, context: Context) -> None:
        raise NotImplementedError

    def drop(self) -> None:
        """Free layouts; the height stays."""
        self.laid = False
        self.leaves, self.places, self.hits = [], [], []

    def refresh(self, context: Context) -> None:
        """The blocks have changed."""
        self.laid = False

    def source(self) -> str:
        """The whole item as text to copy."""
        return self.name

    # -- text -------------------------------------------------------------------

    def place(self, leaf: Leaf, at: QPointF, context: Context, width: float) -> float:
        """Lay out a leaf at a point; returns its height."""
        leaf.lay(context.look, width)
        context.layouts += 1
        self.leaves.append(leaf)
        self.places.append(at)
        return leaf.height

    def paint_leaves(self, paint: Paint, context: Context) -> None:
        for index, (leaf, at) in enumerate(zip(self.leaves, self.places, strict=True)):
            if leaf.laid and at.y() < paint.bottom and at.y() + leaf.height > paint.top:
                paint.painter.save()
                paint.painter.translate(at.x(), 0)
                leaf.paint(paint.painter, at.y(), context.look, self.piece(index, paint.selected))
                paint.painter.restore()

    def piece(self, index: int, selected: Range | None) -> tuple[int, int] | None:
        """What of leaf ``index`` is selected."""
        if selected is None or not selected[0][0] <= index <= selected[1][0]:
            return None
        low = selected[0][1] if selected[0][0] == index else 0
        high = selected[1][1] if selected[1][0] == index else self.leaves[index].length
        return low, min(high, self.leaves[index].length)

    def caret(self, x: float, y: float) -> Caret:
        """The place in the item's text nearest to a point."""
        if not self.leaves:
            return START if y < self.height / 2 else END
        best = 0
        for index, at in enumerate(self.places):
            if at.y() <= y:
                best = index
        leaf, at = self.leaves[best], self.places[best]
        if not leaf.laid:
            return best, 0
        return best, leaf.position(x - at.x(), y - at.y())

    def words(self, selected: Range) -> str:
        """The selected text."""
        if selected == (START, END) or not self.leaves:
            return self.source()
        out: list[str] = []
        for index, leaf in enumerate(self.leaves):
            piece = self.piece(index, selected)
            if piece is not None and piece[0] < piece[1]:
                out.append(leaf.cut(*piece).replace("\u2028", "\n"))
        return "\n".join(out)

    def url(self, x: float, y: float) -> str:
        for leaf, at in zip(self.leaves, self.places, strict=True):
            if leaf.laid and at.y() <= y < at.y() + leaf.height:
                return leaf.url(x - at.x(), y - at.y())
        return ""

    def over_text(self, x: float, y: float) -> bool:
        return any(
            leaf.laid and at.y() <= y < at.y() + leaf.height and x >= at.x()
            for leaf, at in zip(self.leaves, self.places, strict=True)
        )


# -- buttons -------------------------------------------------------------------


def button_width(look: Look, text: str, keycap: str = "", style: str = "secondary") -> float:
    pad = look.px(12)
    width = look.width("ui_medium", text) + 2 * pad
    if keycap:
        width += (
            max(look.px(18), look.width("label", keycap) + look.px(10)) + look.px(8) - look.px(6)
        )
    return round(width)


def button_row(
    look: Look, x: float, y: float, actions: Sequence[tuple[Action, object, str]]
) -> list[Hit]:
    """Buttons from left to right: what each does, its value, its key."""
    out: list[Hit] = []
    for action, value, keycap in actions:
        width = button_width(look, action.text, keycap)
        rect = QRectF(x, y, width, look.theme.height(28))
        out.append(Hit(rect, action.name, value, action.text, action.style, keycap=keycap))
        x += width + look.px(8)
    return out


def paint_button(hit: Hit, paint: Paint, look: Look) -> None:
    """A button in its state."""
    painter, rect = paint.painter, hit.rect
    over = hit.same(paint.hover)
    down = hit.same(paint.pressed) and over
    primary = hit.style == "primary" and paint.primary
    words = "accent_on" if primary else "text1"
    if hit.style in ("ghost", "icon"):
        words = "text1" if over else "text2"
        if over:
            look.card(painter, rect, "press" if down else "hover", None, 6)
    elif primary:
        look.card(painter, rect, "accent", None, 6)
        if over:
            look.card(painter, rect, "press" if down else "hover", None, 6)
    else:
        look.card(painter, rect, "button", "control", 6)
        if over:
            look.card(painter, rect.adjusted(1, 1, -1, -1), "press" if down else "hover", None, 5)
    if hit.style == "icon":
        look.icon(painter, rect.center(), hit.icon, words, 14)
    else:
        pad = look.px(12)
        inner = rect.adjusted(pad, 0, -pad, 0)
        if not hit.keycap:
            look.text(painter, inner, hit.text, "ui_medium", words, CENTRE)
        else:
            look.text(painter, inner, hit.text, "ui_medium", words)
            paint_keycap(hit, paint, look, primary)
    if hit.same(paint.focus):
        look.focus_ring(painter, rect, 9)


def paint_keycap(hit: Hit, paint: Paint, look: Look, primary: bool) -> None:
    side = look.px(18)
    width = max(side, look.width("label", hit.keycap) + look.px(10))
    cap = QRectF(
        hit.rect.right() - look.px(6) - width, hit.rect.center().y() - side / 2, width, side
    )
    look.card(paint.painter, cap, "keycap_on_accent" if primary else "track", None, 4)
    color = "accent_on" if primary else "text2"
    if hit.keycap == "Enter":
        look.icon(paint.painter, cap.center(), "corner-down-left", color, 12)
    else:
        look.text(paint.painter, cap, hit.keycap, "label", color, CENTRE)


# -- simple items ----------------------------------------------------------------


class AgentItem(Item):
    """The line above an answer: tile, name, model."""

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, AgentBlock)
        return f"{block.agent}, {block.model}" if block.model else block.agent

    def estimate(self, context: Context) -> float:
        return context.look.px(24)

    def lay(self, context: Context) -> None:
        self.height = context.look.px(24)

    def paint(self, paint: Paint, context: Context) -> None:
        block, look = self.block, context.look
        assert isinstance(block, AgentBlock)
        icon, hue = context.agent(block.agent)
        front, back = look.theme.hue(hue)
        side = look.px(24)
        tile = QRectF(-look.px(36), 0, side, side)
        look.tile(paint.painter, tile, icon, front, back, 14)
        line = QRectF(0, 0, context.width, self.height)
        width = look.text(paint.painter, line, block.agent, "body_strong")
        rest = line.adjusted(width + look.px(10), 0, 0, 0)
        look.text(paint.painter, rest, block.model, "small", "text2")


class NoticeItem(Item):
    """A remark of the program."""

    icon = "info"

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, NoticeBlock)
        return block.text

    def lay(self, context: Context) -> None:
        look = context.look
        self.leaves, self.places = [], []
        leaf = ParagraphLeaf(Block("paragraph", self.name), "small", "text2")
        left = look.px(24)
        self.height = self.place(leaf, QPointF(left, 0), context, context.width - left)

    def paint(self, paint: Paint, context: Context) -> None:
        look = context.look
        look.icon(paint.painter, QPointF(look.px(8), look.px(10)), self.icon, "text3", 14)
        self.paint_leaves(paint, context)


class EndItem(NoticeItem):
    """How a turn ended; a turn that met its limit of steps can go on."""

    @property
    def icon(self) -> str:  # type: ignore[override]  # depends on the block here
        block = self.block
        assert isinstance(block, EndBlock)
        return "square" if block.reason == "cancelled" else "circle-alert"

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, EndBlock)
        return model.ending(block)

    def lay(self, context: Context) -> None:
        super().lay(context)
        self.hits = []
        block, look = self.block, context.look
        assert isinstance(block, EndBlock)
        if block.reason == "step_limit" and self.plan.last == len(self.blocks):
            action = Action("continue", "Continue")
            self.hits = button_row(look, 0, self.height + look.px(8), [(action, None, "")])
            self.height += look.px(8) + look.theme.height(28)

    def paint(self, paint: Paint, context: Context) -> None:
        super().paint(paint, context)
        for hit in self.hits:
            paint_button(hit, paint, context.look)


class FailureItem(Item):
    """An error in its place, with what to do about it."""

    @property
    def name(self) -> str:
        block = self.block
        assert isinstance(block, FailureBlock)
        return f"{block.title}. {block.detail}" if block.detail else block.title

    def estimate(self, context: Context) -> float:
        return context.look.px(96)

    def lay(self, context: Context) -> None:
        block, look = self.block, context.look
        assert isinstance(block, FailureBlock)
        self.leaves, self.places = [], []
        left, y = look.px(54), look.px(12)
        width = context.width - left - look.px(14)
        title = ParagraphLeaf(Block("paragraph", block.title), "ui_strong")
        y += self.place(title, QPointF(left, y - look.px(1)), context, width) - look.px(3)
        if block.detail:
            detail = ParagraphLeaf(
                Block("paragraph", block.detail.replace("\n", "\u2028")), "ui", "text2"
            )
            y += self.place(detail, QPointF(left, y), context, width)
        _, _, actions = model.failure(block.fault)
        y += look.px(7)
        # Only the newest error can still be acted on.
        latest = all(not isinstance(later, FailureBlock) for later in self.blocks[self.plan.last :])
        self.hits = button_row(look, left, y, [(a, None, "") for a in actions]) if latest else []
        if self.hits:
            y += look.theme.height(28) + look.px(5)
        self.height = y + look.px(7)

    def paint(self, paint: Paint, context: Context) -> None:
        block, look = self.block, context.look
        assert isinstance(block, FailureBlock)
        look.card(paint.painter, QRectF(0, 0, context.width, self.height), "surface", "control", 10)
        icon, tint, _ = model.failure(block.fault)
        side = look.px(28)
        tile = QRectF(look.px(14), look.px(13), side, side)
        front, back = (
            ("text2", look.color("track")) if tint == "neutral" else (tint, f"{tint}_soft")
        )
        look.tile(paint.painter, tile, icon, front, back, 16)
        self.paint_leaves(paint, context)
        for hit in self.hits:
            paint_button(hit, paint, look)
