"""Viewport: the visible part of the canvas, with selection, focus and what the mouse is over.

Mouse, keyboard and painting work on the viewport, independently of each other. It is not a
widget: its signals tell the view what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf
from typing import TypeAlias

from PySide6.QtCore import QObject, QPoint, QPointF, QRect, QRectF, QSize, QTimer, Signal

from studio.domain.blocks import TranscriptBlock
from studio.ui.translation import tr

from .canvas import MESSAGE_GAP, Canvas
from .finder import Finder
from .items.approval_item import WaitingItem
from .items.base import END, START, Caret, FoldKey, Hit, Item, ItemContext, TextRange
from .message_row import MessageRow, bottom_of, message_at, row_of
from .model import works_unseen
from .scroller import FADE, STICK, Pill, Scroller

_BUTTONS = ("primary", "secondary", "ghost", "icon", "link")


class Focus:
    """The block with the focus, and one of its rows or buttons."""

    def __init__(self) -> None:
        self.item: Item | None = None
        self.hit: Hit | None = None
        self.keyboard = False
        """Whether it was moved by keys, so that it is painted."""

    def __bool__(self) -> bool:
        return self.item is not None and self.keyboard

    def clear(self) -> None:
        self.item = self.hit = None
        self.keyboard = False

    def index(self, canvas: Canvas) -> int | None:
        return None if self.item is None else canvas.index(self.item)

    def shown_hit(self, item: Item) -> Hit | None:
        """What Enter presses: the focused button or row, or the first one of a card that waits."""
        if self.hit is None and isinstance(item, WaitingItem) and item.hits:
            return item.entered(None)
        return self.hit

    def move(self, canvas: Canvas, step: int) -> bool:
        """Move to the next or previous item or row; False at the end."""
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

    def tab(self, canvas: Canvas, forward: bool, below: Sequence[Hit] = ()) -> bool:
        """Move to the next button of the focused item or ``below`` it; False after the last."""
        if self.item is None or self.index(canvas) is None:
            return False
        stops = self.item.stops(canvas.context)
        buttons = [hit for hit in stops if hit.style in _BUTTONS] + [*below]
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


TextPosition: TypeAlias = tuple[int, Caret]
"""An item's index and a position in its text."""


class Selection:
    """The selected text: from where the mouse was pressed to where it is."""

    def __init__(self) -> None:
        self.anchor: TextPosition | None = None
        self.head: TextPosition | None = None

    def __bool__(self) -> bool:
        return self.anchor is not None and self.anchor != self.head

    def clear(self) -> None:
        self.anchor = self.head = None

    def begin(self, place: TextPosition) -> None:
        self.anchor = self.head = place

    def extend(self, place: TextPosition) -> None:
        if self.anchor is not None:
            self.head = place

    def all(self, count: int) -> None:
        """Select everything."""
        self.anchor, self.head = (0, START), (max(0, count - 1), END)

    @property
    def ends(self) -> tuple[TextPosition, TextPosition] | None:
        if self.anchor is None or self.head is None or not self:
            return None
        low, high = sorted((self.anchor, self.head))
        return low, high

    def of(self, index: int) -> TextRange | None:
        """The selected part of an item."""
        ends = self.ends
        if ends is None or not ends[0][0] <= index <= ends[1][0]:
            return None
        low = ends[0][1] if ends[0][0] == index else START
        high = ends[1][1] if ends[1][0] == index else END
        return (low, high) if low < high else None

    def text(self, items: Sequence[Item], *, markup: bool = True) -> str:
        """The selected text; the markdown source of blocks that are selected whole, if wanted."""
        ends = self.ends
        if ends is None:
            return ""
        out: list[str] = []
        for index in range(ends[0][0], min(ends[1][0], len(items) - 1) + 1):
            piece = self.of(index)
            item = items[index]
            cut = item.selected_text if markup else item.selected_words
            text = cut(piece) if piece is not None else ""
            if text:
                out.append(text)
        return "\n\n".join(out)


AVATAR = 36
SIDE = 24
AHEAD = 400
"""Pixels above and below the window that are laid out in advance."""
AHEAD_AFTER = 30
"""Milliseconds until then: the frame that shows a new place comes first."""


class Viewport(QObject):
    """The visible part of the canvas. Positions are in pixels of the widget."""

    outdated = Signal()
    """Everything visible has to be painted again."""
    focus_moved = Signal(int)
    """The index of the item that has the focus now."""
    keyboard_wanted = Signal()
    """The view should take the keyboard focus: something waits for an answer."""

    def __init__(self, context: ItemContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.context = context
        self.style = context.style
        self.canvas = Canvas(context)
        self.scroller = Scroller(self.canvas)
        self.selection = Selection()
        self.focus = Focus()
        self.finder = Finder(self.scroller, context, self)
        self.finder.updated.connect(self.outdated)
        self.finder.scrolled.connect(self.scrolled)
        self.hover: Hit | None = None
        self.pressed: Hit | None = None
        self.over_pill = False
        """Whether the mouse is over the pill."""
        self.outgoing: Canvas | None = None
        """The message that is on its way, where it will stand."""
        self.column_left = 0.0
        self.pill: tuple[Pill, QRectF] | None = None
        self.under_mouse: Item | None = None
        self.mouse_at = QPointF()
        """Where the mouse was last; it may rest while what is under it moves."""
        self.message_row: MessageRow | None = None
        """The actions of the message that has the mouse, or else the keyboard."""
        self.need_keys = ""
        """The keys that go to what waits, shown on its pill."""
        self.fresh = False
        """Whether something new came below while the end was out of view."""
        self.working_since: float | None = None
        """Since when the turn works without anything of it to be seen, by the context's clock."""
        self._ahead = QTimer(self, singleShot=True, interval=AHEAD_AFTER)
        self._ahead.timeout.connect(self._lay_out_ahead)

    # -- contents ---------------------------------------------------------------------

    def set_blocks(self, blocks: Sequence[TranscriptBlock]) -> None:
        """Show other blocks, scrolled to their end."""
        self.selection.clear()
        self.focus.clear()
        self.hover = self.pressed = None
        self.under_mouse = self.message_row = None
        self.context.opened.clear()
        self.context.whole.clear()
        self.context.started.clear()
        self.canvas.set_blocks(blocks)
        self._place_outgoing()
        self.scroll_to_end()
        self.finder.blocks_replaced()

    def update(self, dirty: Collection[int]) -> tuple[Sequence[int], float | None]:
        """Take the changes of blocks.

        Returns the indexes of changed and new items, and the height of the canvas above which
        nothing changed; None if that is not known.
        """
        canvas, scroller = self.canvas, self.scroller
        total, anchor = canvas.total, scroller.anchor()
        changed = canvas.update(dirty)
        if canvas.in_line and self.outgoing is None and not self.context.outgoing:
            return changed, canvas.unchanged_above  # no height changed: all is where it was
        self._place_outgoing()
        at = canvas.splice_at
        if at is not None:
            self._spliced(at)
        scroller.settle(anchor)
        if not scroller.following and canvas.total > total:
            self.fresh = True
        if at is not None:
            return range(at, len(canvas.items)), None
        only_tail = changed == [len(canvas.items) - 1]
        return changed, canvas.unchanged_above if only_tail else None

    def _place_outgoing(self) -> None:
        """Put the message on its way below the items: its turn is to change nothing in view."""
        blocks, before = self.context.outgoing, self.outgoing
        if not blocks:
            self.outgoing, self.canvas.ahead = None, 0.0
            return
        if before is None or before.blocks is not blocks:
            self.outgoing = before = Canvas(self.context)
            before.set_blocks(blocks)
        before.show(0, inf)
        gap = self.style.px(MESSAGE_GAP) if self.canvas.items else 0
        self.canvas.ahead = gap + before.heights.total

    def _spliced(self, at: int) -> None:
        """Items from ``at`` on were replaced: update selection, focus and hover."""
        ends = self.selection.ends
        if ends is not None and ends[1][0] >= at:
            self.selection.clear()
        items = self.canvas.items
        if self.focus.item is not None and self.canvas.index(self.focus.item) is None:
            # An answered question has become a row.
            self.focus.hit = None
            self.focus.item = items[min(at, len(items) - 1)] if items else None
        self.hover = None

    # -- size ------------------------------------------------------

    def fit(self, width: int, height: int) -> bool:
        """Set the width of the column from that of the widget; returns whether it changed."""
        px = self.style.px
        self.scroller.height, self.scroller.width = height, width
        room = min(px(self.style.theme.column) + px(AVATAR), width - 2 * px(SIDE))
        column = float(max(200, room - px(AVATAR)))
        self.column_left = round((width - room) / 2) + px(AVATAR)
        if column == self.context.width:
            return False
        self.context.width = column
        return True

    def resize(self, width: int, height: int) -> None:
        anchor = self.scroller.anchor()
        if self.fit(width, height):
            self.canvas.restyle()
        self.scroller.settle(anchor)
        self.scrolled()

    def restyle(self) -> None:
        """Lay out everything again after a change of theme."""
        anchor = self.scroller.anchor()
        self.canvas.restyle()
        self.outgoing = None
        self._place_outgoing()
        self.scroller.settle(anchor)
        self.scrolled()

    def recolour(self) -> None:
        """Code colours were loaded."""
        anchor = self.scroller.anchor()
        self.canvas.recolour()
        self.scroller.settle(anchor)
        self.scrolled()

    def show_pictures(self) -> None:
        """A picture was loaded: lay out anew those that were waited for."""
        anchor = self.scroller.anchor()
        if self.canvas.show_pictures():
            self.scroller.settle(anchor)
            self.scrolled()
        self.outdated.emit()

    def show_versions(self) -> None:
        """Other messages have versions now; heights stay as they are."""
        self.canvas.show_versions()
        self.scroller.settle(self.scroller.anchor())
        self.scrolled()

    def lay_out_again(self, item: Item | None) -> None:
        """Lay out one item again without moving what is at the top of the window."""
        if item is None:
            return
        anchor = self.canvas.anchor(self.scroller.value)
        item.laid = False
        self.scroller.following = False
        self.scroller.settle(anchor)
        self.scroller.following = self.scroller.at_end
        self.scrolled()

    def filled_in(self, item: Item) -> None:
        """Show the answers of a card as they are now, and go on with its open question."""
        self.focus.item, self.focus.hit = item, None
        self.lay_out_again(item)
        if (index := self.canvas.index(item)) is not None:
            self.ready(index)
            if (hit := self.focus.shown_hit(item)) is not None:
                self.reveal_hit(index, hit)
            self.focus_moved.emit(index)

    def toggle(self, key: FoldKey) -> None:
        """Expand or collapse the details of a block, or a fold of its text, in the focused item."""
        self.context.opened.symmetric_difference_update({key})
        self.lay_out_again(self.focus.item)

    def place_of(self, index: int) -> QRect:
        """The rectangle of an item in the widget."""
        top = self.canvas.top(index) - self.scroller.value
        size = QSize(int(self.context.width), int(self.canvas.items[index].height))
        return QRect(QPoint(int(self.column_left), round(top)), size)

    def ready(self, index: int) -> None:
        """Lay out an item that may be far from the window, and leave in place what is in view."""
        if not self.canvas.items[index].laid:
            anchor = self.scroller.anchor()
            self.canvas.ready(index)
            self.scroller.settle(anchor)

    # -- scrolling ------------------------------------------------------------------------

    def reveal(self, index: int) -> None:
        """Scroll until an item is visible."""
        self.scroller.reveal(index, 8, FADE + 8)
        self.scrolled()

    def reveal_hit(self, index: int, hit: Hit) -> bool:
        """Scroll until a button or row of an item is visible; False if it was already."""
        margin = FADE + 8
        for attempt in range(4):  # heights on the way may have been estimates
            top = self.canvas.top(index) + hit.rect.top() - self.scroller.value
            below = top + hit.rect.height() - self.scroller.height
            if top >= 0 and below <= 0:
                return attempt > 0
            self.scroll_by(top - margin if top < 0 else below + margin)
        return True

    def scroll_to(self, value: float) -> None:
        self.scroller.to(value)
        self.scrolled()

    def scroll_by(self, pixels: float) -> None:
        self.scroller.by(pixels)
        self.scrolled()

    def scroll_to_end(self) -> None:
        self.scroller.to_end()
        self.scrolled()

    def scrolled(self) -> None:
        """Update what depends on the scroll position."""
        if self.scroller.following:
            self.fresh = False
        self.find_pill()
        self.find_message_row()
        self.outdated.emit()
        if not self._ahead.isActive():
            self._ahead.start()

    def _lay_out_ahead(self) -> None:
        """Lay out what is near, after what is seen was painted, and leave in place what is seen."""
        scroller = self.scroller
        before = self.canvas.total, scroller.value
        following, scroller.following = scroller.following, False
        scroller.settle(self.canvas.anchor(scroller.value), AHEAD)
        scroller.following |= following
        if (self.canvas.total, scroller.value) != before:
            self.outdated.emit()

    # -- work that is not seen ---------------------------------------------------------------

    def find_work(self, since: float | None = None) -> None:
        """Set since when the turn works unseen: ``since``, or now if that has just begun."""
        context = self.context
        unseen = works_unseen(self.canvas.blocks) if context.running else context.sending
        if not unseen:
            self.working_since = None
        elif self.working_since is None:
            self.working_since = context.now() if since is None else since

    @property
    def work_line(self) -> QRectF:
        """Where the line stands that says that the turn works, in the widget."""
        px = self.style.px
        top = self.canvas.bottom + px(10) - self.scroller.value
        return QRectF(self.column_left, top, self.context.width, px(24))

    # -- the pill -------------------------------------------------------------------------

    def find_pill(self) -> None:
        """Set the pill that leads to a question out of view, or to new messages below."""
        canvas, scroller = self.canvas, self.scroller
        pill = None
        for index in canvas.waiting():
            item = canvas.items[index]
            if not isinstance(item, WaitingItem):
                continue
            top = canvas.top(index) - scroller.value
            if top > scroller.height - 40 or top + item.height < 40:
                text = tr("{agent} needs your answer").format(agent=item.agent or tr("The agent"))
                icon, end = "shield-question-mark", "arrow-up" if top < 40 else "arrow-down"
                pill = Pill(text, "attention", icon, "warn", self.need_keys, end)
                break
        if pill is None and self.fresh and scroller.below > STICK:
            pill = Pill(tr("New messages"), "end", "arrow-down", "text2", "End", "arrow-down")
        centre = self.column_left + self.context.width / 2
        self.pill = pill and (pill, pill.rect(self.style, centre, scroller.height - 12))

    def follow_pill(self, action: str) -> None:
        if action == "attention":
            self.go_to_waiting()
        else:
            self.scroll_to_end()

    # -- the actions of a message --------------------------------------------------------

    def find_message_row(self) -> None:
        """Set the row of actions of the message that has the mouse, or else the keyboard."""
        if self.under_mouse is None and self.focus.item is None:
            self.message_row = None
            return
        found = self._row_for(self.under_mouse)
        if found is not None and not self._has_mouse(found):
            found = self.under_mouse = None
        self.message_row = found or self._row_for(self.focus.item if self.focus else None)

    def _row_for(self, item: Item | None) -> MessageRow | None:
        index = None if item is None else self.canvas.index(item)
        if index is None:
            return None
        height, scrolled = self.scroller.height, self.scroller.value
        return row_of(self.canvas, index, self.column_left, scrolled, height=height)

    def _has_mouse(self, row: MessageRow) -> bool:
        """Whether the mouse is on a row or its message, which may have moved away from it."""
        here = self.canvas.at(self.mouse_at.y() + self.scroller.value)
        return row.message.first <= here < row.message.last or row.zone.contains(self.mouse_at)

    def show_message_row(self) -> Sequence[Hit]:
        """Scroll until the actions of the focused message are seen; returns them."""
        index = self.focus.index(self.canvas)
        message = None if index is None else message_at(self.canvas.items, index)
        if message is None:
            return ()
        self.under_mouse = None
        room = bottom_of(self.canvas, message) + self.style.px(46) - self.scroller.value
        if room > self.scroller.height:
            self.scroll_by(room - self.scroller.height)
        self.find_message_row()
        return self.message_row.hits if self.message_row is not None else ()

    # -- focus and selection ----------------------------------------------------------------

    def focus_on(self, index: int) -> None:
        """Move the focus to an item and scroll to it."""
        self.focus.item, self.focus.hit, self.focus.keyboard = self.canvas.items[index], None, True
        self.reveal(index)
        self.focus_moved.emit(index)

    def focus_came(self) -> None:
        """The view got the keyboard focus: focus the card that waits, or else the newest item."""
        self.focus.keyboard = True
        if self.focus.index(self.canvas) is None and self.canvas.items:
            waiting = self.canvas.waiting()
            self.focus_on(waiting[0] if waiting else len(self.canvas.items) - 1)

    def go_to_waiting(self) -> bool:
        """Focus the next card that waits for the person (Ctrl+J); False if none does."""
        waiting = self.canvas.waiting()
        cards = [i for i in waiting if isinstance(self.canvas.items[i], WaitingItem)]
        found = cards or waiting
        if not found:
            return False
        here = self.focus.index(self.canvas)
        later = [i for i in found if here is not None and i > here]
        self.focus_on(later[0] if later else found[0])
        self.keyboard_wanted.emit()
        return True

    def extend_selection(self, step: int, by_block: bool) -> None:
        """Move the end of the selection; it begins where the keyboard is."""
        items, selection = self.canvas.items, self.selection
        here = self.focus.index(self.canvas)
        if selection.anchor is None:
            if here is None:
                return
            self.ready(here)
            last = max(0, len(items[here].leaves) - 1)
            end = (last, items[here].leaves[last].length) if items[here].leaves else END
            selection.begin((here, (0, 0) if step > 0 else end))
        assert selection.head is not None
        index, (leaf, at) = selection.head
        self.ready(index)
        leaves = items[index].leaves
        size = leaves[leaf].length if leaf < len(leaves) else 0
        edge = size if step > 0 else 0
        if at != edge and leaf < len(leaves):
            at = edge if by_block else at + step
        else:
            leaf += step
            while not (0 <= leaf < len(leaves) and items[index].is_shown(leaf)):
                if 0 <= leaf < len(leaves):
                    leaf += step
                    continue
                index += step  # into the next item that has text
                if not 0 <= index < len(items):
                    return
                self.ready(index)
                leaves = items[index].leaves
                leaf = 0 if step > 0 else len(leaves) - 1
            size = leaves[leaf].length
            at = (size if step > 0 else 0) if by_block else (0 if step > 0 else size)
        selection.extend((index, (leaf, at)))
        self.focus.item, self.focus.hit = items[index], None
        self.outdated.emit()

    def select_all(self) -> None:
        self.selection.all(len(self.canvas.items))
        self.outdated.emit()

    def selected_text(self, *, markup: bool = True) -> str:
        """The selection, or else the focused item, as markdown source or without markup."""
        ends = self.selection.ends
        if ends is None:
            item = self.focus.item
            if item is None:
                return ""
            return item.source() if markup else item.selected_words((START, END))
        for index in {ends[0][0], ends[1][0]}:
            # An item far from the window has dropped its leaves.
            self.canvas.items[index].show(self.context, 0, 0)
        return self.selection.text(self.canvas.items, markup=markup)
