"""Item: what all items of the canvas share.

An item lays itself out in its own coordinates (0, 0 is its top left in the text
column), paints itself and says where it can be clicked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Generic, Literal, TypeAlias, TypeVar, cast

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QWidget

from studio.domain.blocks import EndBlock, TranscriptBlock
from studio.domain.sessions import Versions
from studio.ui.formatting import short_path
from studio.ui.markdown.blocks import Block
from studio.ui.question_form import QuestionForms
from studio.ui.transcript.model import CardAction, ItemSpan
from studio.ui.transcript.paint_style import CENTRE, PaintStyle
from studio.ui.transcript.text.block_types import ParagraphLeaf
from studio.ui.transcript.text.formulas import Formulas
from studio.ui.transcript.text.highlight import CodeColours
from studio.ui.transcript.text.leaf import Leaf
from studio.ui.translation import tr
from studio.ui.widgets.thumbnails import Thumbnails

Caret: TypeAlias = tuple[int, int]
"""A leaf of the item and a place in its text."""
TextRange: TypeAlias = tuple[Caret, Caret]
FoldKey: TypeAlias = int | tuple[int, int]
"""The id of a block whose details are shown, or that with the place of a fold in its text."""
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
        """Whether both do the same; every layout makes new hits."""
        return other is not None and (self.action, self.value) == (other.action, other.value)


@dataclass
class ItemContext:
    """What items need to lay themselves out."""

    style: PaintStyle
    colours: CodeColours
    now: Callable[[], float]
    agent: Callable[[str], tuple[str, str]] = lambda name: ("sparkle", "slate")
    """An agent's icon and hue by its name."""
    model: Callable[[str, str], str] = lambda provider, model: model
    """A model's title by its provider and id."""
    folder_name: Callable[[str], str] = short_path
    """A folder in words; one that the program made for itself is not named by its path."""
    versions: Callable[[str, Literal["message", "answer"]], Versions | None] = (
        lambda turn_id, kind: None
    )
    """The versions of a turn's message or of its answer; None if there is only one."""
    running: bool = False
    """Whether the turn at the end goes on."""
    blocking: Callable[[str], Sequence[str]] = lambda turn_id: ()
    """The turns to be undone before a turn by its id, see ``Undo.blocking``."""
    sending: bool = False
    """Whether a message is on its way that no turn has taken yet."""
    outgoing: Sequence[TranscriptBlock] = ()
    """The blocks of that message as they will stand at the end, if they are to be seen already."""
    offline: bool = False
    """Whether the last message waits until its provider can be reached."""
    raised: Callable[[EndBlock], str] = lambda end: ""
    """What the chat's limit is raised to after a turn that ended so."""
    in_chat: bool = False
    """Whether messages can be edited, answered again and branched from."""
    read_only: bool = False
    """Whether nothing can follow, so that no error or end offers a way on."""
    width: float = 680.0
    typed_at: float = -inf
    """When the person last typed in the composer, by ``now``."""
    started: dict[int, float] = field(default_factory=dict[int, float])
    """When a running block was first seen, by its id."""
    opened: set[FoldKey] = field(default_factory=set[FoldKey])
    """What is opened: rows, cards and folds in answers."""
    whole: set[int] = field(default_factory=set[int])
    """Ids of blocks whose long contents are shown whole."""
    formulas: Formulas | None = None
    """Draws formulas; without it they stay as they were written."""
    forms: QuestionForms = field(default_factory=QuestionForms)
    """What is answered so far of questions that wait."""
    sources: dict[str, str] = field(default_factory=dict[str, str])
    """The titles of things of packs by their addresses; empty for one that is gone (KZ-8)."""
    folder: str = ""
    """The chat's folder, of which answers show pictures; empty for none."""
    thumbnails: Thumbnails = field(default_factory=Thumbnails)
    layouts: int = 0
    """Leaves laid out so far: for measuring."""


@dataclass
class PaintPass:
    """What changes from one painting to the next."""

    painter: QPainter
    top: float
    bottom: float
    hover: Hit | None = None
    pressed: Hit | None = None
    focus: Hit | None = None
    selected: TextRange | None = None
    widget: QWidget | None = None
    """What is painted on, to ask for the next frame of a spinner."""
    primary: bool = True
    """Whether this card may show its primary button as such."""


BlockT = TypeVar("BlockT", bound=TranscriptBlock)


class Item(Generic[BlockT]):
    """One unit of the canvas, for blocks of one type."""

    laid = False
    # A long chat has thousands that are never laid out: they have no lists, ``lay`` makes them.
    hits: list[Hit] = cast("list[Hit]", ())
    leaves: list[Leaf] = cast("list[Leaf]", ())
    places: list[QPointF] = cast("list[QPointF]", ())
    """Top left corners of the leaves."""

    def __init__(self, span: ItemSpan, blocks: Sequence[TranscriptBlock], agent: str) -> None:
        self.span = span
        self.blocks = blocks
        self.agent = agent
        self.height = 0.0

    @property
    def block(self) -> BlockT:
        """The first block of the item, or its only one."""
        return self.blocks[self.span.first]  # type: ignore[return-value]  # a call less than cast

    @property
    def name(self) -> str:
        """What a screen reader says of this item."""
        return ""

    @property
    def animated(self) -> bool:
        """Whether a spinner turns or a clock runs in it."""
        return False

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(34)

    def lay(self, context: ItemContext) -> None:
        """Lay out everything; sets ``height`` and ``hits``."""
        raise NotImplementedError

    def disabled_reason(self, hit: Hit, context: ItemContext) -> str:
        """Why a place cannot be clicked now; empty where it can."""
        return ""

    def show(self, context: ItemContext, top: float, bottom: float) -> float:
        """Make ready what lies between; returns how much came or went above ``top``."""
        if not self.laid:
            self.lay(context)
            self.laid = True
        return 0.0

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        raise NotImplementedError

    def drop(self) -> None:
        """Free layouts; the height stays."""
        self.laid = False
        self.leaves, self.places, self.hits = [], [], []

    def forget(self) -> None:
        """It is far from the window: free what can be had again, beside the layout."""

    def refresh(self, context: ItemContext) -> None:
        """The blocks have changed."""
        self.laid = False

    def source(self) -> str:
        """The whole item as text to copy."""
        return self.name

    def stops(self, context: ItemContext) -> Sequence[Hit]:
        """Where the keyboard and screen readers go in it, from the top."""
        return self.hits

    def shows(self, leaf: int, block: int) -> bool:
        """Whether a leaf shows the text of a block, by their indexes."""
        return block == self.span.first

    def is_shown(self, index: int) -> bool:
        """Whether a leaf can be seen: no closed fold is around it."""
        return True

    def paint_action(self, hit: Hit, paint: PaintPass, context: ItemContext) -> None:
        """A button, paler while it cannot be used."""
        if not self.disabled_reason(hit, context):
            paint_button(hit, paint, context.style)
            return
        hover, paint.hover = paint.hover, None
        paint.painter.setOpacity(0.5)
        paint_button(hit, paint, context.style)
        paint.painter.setOpacity(1.0)
        paint.hover = hover

    # -- text -------------------------------------------------------------------

    def place(self, leaf: Leaf, at: QPointF, context: ItemContext, width: float) -> float:
        """Lay out a leaf at a point; returns its height."""
        leaf.lay(context.style, width)
        context.layouts += 1
        self.leaves.append(leaf)
        self.places.append(at)
        return leaf.height

    def write(
        self,
        words: str,
        at: QPointF,
        context: ItemContext,
        width: float,
        role: str = "small",
        color: str = "text2",
    ) -> float:
        """Lay out a paragraph without markdown at a point; returns its height."""
        leaf = ParagraphLeaf(Block("paragraph", words), role, color)
        return self.place(leaf, at, context, width)

    def paint_leaves(self, paint: PaintPass, context: ItemContext) -> None:
        for index, (leaf, at) in enumerate(zip(self.leaves, self.places, strict=True)):
            if leaf.laid and at.y() < paint.bottom and at.y() + leaf.height > paint.top:
                paint.painter.save()
                paint.painter.translate(at.x(), 0)
                leaf.paint(paint.painter, at.y(), context.style, self.piece(index, paint.selected))
                paint.painter.restore()

    def piece(self, index: int, selected: TextRange | None) -> tuple[int, int] | None:
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

    def selected_text(self, selected: TextRange) -> str:
        """The selected text."""
        if selected == (START, END) or not self.leaves:
            return self.source()
        out: list[str] = []
        for index, leaf in enumerate(self.leaves):
            piece = self.piece(index, selected)
            if piece is not None and piece[0] < piece[1]:
                out.append(leaf.cut(*piece).replace("\u2028", "\n"))
        return "\n".join(out)

    def selected_words(self, selected: TextRange) -> str:
        """The selected text without markup."""
        return self.selected_text(selected)

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


def button_width(style: PaintStyle, text: str, keycap: str = "") -> float:
    """How wide a button with these words and this key is."""
    width = style.width("ui_medium", text) + 2 * style.px(12)
    if keycap and style.theme.keycaps:
        width += _cap_width(style, keycap) + style.px(2)
    return ceil(width) + 1


def _cap_width(style: PaintStyle, keycap: str) -> float:
    side = style.px(18)
    return side if keycap == "Enter" else max(side, style.width("label", keycap) + style.px(10))


def button_row(
    style: PaintStyle,
    x: float,
    y: float,
    actions: Sequence[tuple[CardAction, object, str]],
    end: float = inf,
) -> list[Hit]:
    """Buttons from left to right: what each does, its value, its key.

    What does not fit before ``end`` begins another line.
    """
    out: list[Hit] = []
    begin = x
    for action, value, keycap in actions:
        text = tr(action.text)  # those of tables are English yet
        width = button_width(style, text, keycap)
        if x > begin and x + width > end:
            x, y = begin, y + style.theme.height(28) + style.px(8)
        rect = QRectF(x, y, width, style.theme.height(28))
        out.append(Hit(rect, action.name, value, text, action.style, keycap=keycap))
        x += width + style.px(8)
    return out


def paint_button(hit: Hit, paint: PaintPass, style: PaintStyle) -> None:
    """A button in its state."""
    painter, rect = paint.painter, hit.rect
    over = hit.same(paint.hover)
    down = hit.same(paint.pressed) and over
    primary = hit.style == "primary" and paint.primary
    words = "accent_on" if primary else "text1"
    if hit.style in ("ghost", "icon"):
        words = "text1" if over else "text2"
        if over:
            style.card(painter, rect, "press" if down else "hover", None, 6)
    elif primary:
        style.card(painter, rect, "accent", "accent_line", 6)
        if over:
            style.card(painter, rect, "press" if down else "hover", None, 6)
    else:
        style.card(painter, rect, "button", "control", 6)
        if over:
            style.card(painter, rect.adjusted(1, 1, -1, -1), "press" if down else "hover", None, 5)
    if hit.style == "icon":
        style.icon(painter, rect.center(), hit.icon, words, 14)
    else:
        pad = style.px(12)
        inner = rect.adjusted(pad, 0, -pad, 0)
        if not hit.keycap or not style.theme.keycaps:
            style.text(painter, inner, hit.text, "ui_medium", words, CENTRE)
        else:
            style.text(painter, inner, hit.text, "ui_medium", words)
            paint_keycap(hit, paint, style, primary)
    if hit.same(paint.focus):
        style.focus_ring(painter, rect, 9)


def paint_keycap(hit: Hit, paint: PaintPass, style: PaintStyle, primary: bool) -> None:
    side = style.px(18)
    width = _cap_width(style, hit.keycap)
    cap = QRectF(
        hit.rect.right() - style.px(6) - width, hit.rect.center().y() - side / 2, width, side
    )
    style.card(paint.painter, cap, "keycap_on_accent" if primary else "track", None, 4)
    color = "accent_on" if primary else "text2"
    if hit.keycap == "Enter":
        style.icon(paint.painter, cap.center(), "corner-down-left", color, 12)
    else:
        style.text(paint.painter, cap, hit.keycap, "label", color, CENTRE)
