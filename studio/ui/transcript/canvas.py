"""Canvas: the column of items; knows their heights and lays out those near the window.

It has no window and no input: the view says what changed and which part is visible.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from typing import TypeAlias

from studio.domain.blocks import AgentBlock, FilesBlock, SummaryBlock, TranscriptBlock

from .height_index import HeightIndex
from .items.answer_item import AgentItem, TextItem
from .items.approval_item import ApprovalItem
from .items.base import Item, ItemContext
from .items.draft_item import DraftItem
from .items.files_item import FilesItem
from .items.plan_item import PlanCard
from .items.question_item import QuestionItem
from .items.reasoning_item import ReasoningItem
from .items.summary_item import SummaryItem
from .items.tool_item import ToolsItem
from .items.turn_items import EndItem, FailureItem, NoticeItem, RetryItem
from .items.user_item import UserItem
from .model import RUNS, Kind, item_spans

TOP = 24
MESSAGE_GAP = 20
"""Pixels above a message of the person, and above an answer."""
EDGE = 64
"""Pixels above and below that are laid out with what is seen: focus rings reach over the edge."""
FAR = 8000
"""Distance from the window, in pixels, from which layouts are dropped."""

KINDS: dict[Kind, type[Item]] = {
    "user": UserItem,
    "agent": AgentItem,
    "text": TextItem,
    "reasoning": ReasoningItem,
    "tools": ToolsItem,
    "prompt": ApprovalItem,
    "ask": QuestionItem,
    "draft": DraftItem,
    "plan": PlanCard,
    "files": FilesItem,
    "notice": NoticeItem,
    "summary": SummaryItem,
    "failure": FailureItem,
    "retry": RetryItem,
    "end": EndItem,
}

Anchor: TypeAlias = tuple[Item, int, float]
"""An item, a leaf of it or -1, and how far below its top the window begins."""


class Canvas:
    """Items from top to bottom. All places are in pixels from the canvas's top."""

    def __init__(self, context: ItemContext) -> None:
        self.context = context
        self.items: list[Item] = []
        self.heights = HeightIndex()
        self._gaps: list[float] = []
        self._blocks: Sequence[TranscriptBlock] = ()
        self._block_count = 0
        self._near: set[Item] = set()
        self.ahead = 0.0
        """Room below the items for a message that is on its way."""
        self._cards: list[int] | None = None
        """Indexes of the late items that may wait for the person; None to look for them."""
        self.splice_at: int | None = None
        """Where items were replaced by the last ``update``, None if they all stayed."""
        self.in_line = False
        """Whether the last ``update`` only went on with the last line of the last item.

        Not with its last words: "Working…" may come below them.
        """

    @property
    def blocks(self) -> Sequence[TranscriptBlock]:
        """The blocks that the items show."""
        return self._blocks

    @property
    def total(self) -> float:
        return TOP + self.heights.total + self.ahead + self.context.style.canvas_bottom

    @property
    def bottom(self) -> float:
        """Where the last item ends, or the message on its way."""
        return TOP + self.heights.total + self.ahead

    def top(self, index: int) -> float:
        """The height at which the item begins, below the gap above it."""
        heights = self.heights
        gap = self._gaps[index] if heights.values[index] else 0
        return TOP + heights.above(index) + gap

    def at(self, y: float) -> int:
        """The index of the item at a height, or of the nearest one."""
        return self.heights.find(y - TOP)

    def index(self, item: Item) -> int | None:
        found = self.index_of_block(item.span.first)
        return found if found is not None and self.items[found] is item else None

    def index_of_block(self, block: int) -> int | None:
        """The index of the item that shows a block."""
        items = self.items
        if items and items[-1].span.first <= block:  # the one that grows, nearly always
            found = len(items) - 1
        else:
            found = bisect_right(items, block, key=lambda item: item.span.first) - 1
        return found if found >= 0 and block < items[found].span.last else None

    # -- contents -----------------------------------------------------------------

    def set_blocks(self, blocks: Sequence[TranscriptBlock]) -> None:
        """Show other blocks; nothing is laid out yet."""
        self._blocks = blocks
        self.items, self._gaps, self._near = [], [], set()
        self._cards = None
        self.heights = HeightIndex()
        self._block_count = 0
        self.update(())

    def update(self, changed: Collection[int]) -> list[int]:
        """Take changes of blocks, and the new blocks.

        Returns the indexes of changed items that existed before; the items from
        ``splice_at`` on are new.
        """
        self.splice_at, self.in_line = None, False
        known, count = self._block_count, len(self._blocks)
        if len(changed) == 1 and known == count and count - 1 in changed:
            at, last = len(self.items) - 1, self.items[-1]
            if isinstance(last, TextItem) and last in self._near:  # a growing answer, nearly always
                last.refresh(self.context)
                stays = not self._measure(at)
                self.in_line = stays and last.grew and last.block.live
                return [at]
        touched: set[Item] = set()
        runs: list[tuple[int, int]] = []
        for block in sorted(set(changed)):
            if block >= known or (runs and block < runs[-1][1]):
                continue
            index = self.index_of_block(block)
            if index is None:
                continue
            if self.items[index].span.kind in RUNS:
                runs.append(self._run(index))
            else:
                touched.add(self.items[index])
        if count > known:
            start = known
            if self.items and self.items[-1].span.kind in RUNS:
                start = self._run(len(self.items) - 1)[0]
            runs = [run for run in runs if run[0] < start]
            runs.append((start, count))
        for start, end in runs:
            touched |= self._make_items(start, end)
        self._block_count = count
        if count > known:
            # Only the newest end, error or retry has buttons, and there is a newer block now.
            older = self.items[max(0, len(self.items) - 12) :]
            newest = EndItem | FailureItem | NoticeItem | RetryItem
            touched |= {item for item in older if isinstance(item, newest)}
            # A text that goes on no more is shown whole, also one that was waited with.
            texts = (item for item in older if isinstance(item, TextItem))
            touched |= {item for item in texts if item.has_unparsed}
        kinds = {*map(type, self._blocks[known:count]), *map(type, touched)}
        if FilesBlock in kinds or FilesItem in kinds:
            # What one turn can undo depends on the changes of the other turns, and its drafts
            # have no Undo of their own beside that of its files.
            touched |= {item for item in self._near if isinstance(item, FilesItem | DraftItem)}
        if SummaryBlock in kinds or SummaryItem in kinds:
            # A summary replaces an earlier one, and its undo restores that one.
            touched |= {item for item in self._near if isinstance(item, SummaryItem)}
        for item in touched:
            item.refresh(self.context)
        indexes = sorted(i for i in map(self.index, touched) if i is not None)
        for index in indexes:
            item = self.items[index]
            if not item.laid and item not in self._near:
                item.height = item.estimate(self.context)
            self._measure(index)
        return indexes

    def _run(self, index: int) -> tuple[int, int]:
        """The blocks of the run of such items around an item."""
        first = last = index
        while first > 0 and self.items[first - 1].span.kind in RUNS:
            first -= 1
        while last + 1 < len(self.items) and self.items[last + 1].span.kind in RUNS:
            last += 1
        return self.items[first].span.first, self.items[last].span.last

    def _make_items(self, start: int, end: int) -> set[Item]:
        """Make the items of blocks again; returns those that were reused."""
        low = bisect_right(self.items, start - 1, key=lambda item: item.span.first)
        high = bisect_right(self.items, end - 1, key=lambda item: item.span.first)
        kept = {(item.span.kind, item.span.first): item for item in self.items[low:high]}
        agent = self._agent_before(low)
        made: list[Item] = []
        reused: set[Item] = set()
        for span in item_spans(self._blocks, start, end):
            if span.kind == "agent":
                first = self._blocks[span.first]
                assert isinstance(first, AgentBlock)
                agent = first.agent
            item = kept.get((span.kind, span.first)) if kept else None
            if item is None:
                item = KINDS[span.kind](span, self._blocks, agent)
                item.height = item.estimate(self.context)
            else:
                item.span = span
                reused.add(item)
            made.append(item)
        same = [a is b for a, b in zip(self.items[low:high], made, strict=False)]
        first_new = same.index(False) if False in same else len(same)
        if first_new < max(high - low, len(made)):
            at = low + first_new
            fresh = made[first_new:]
            self.items[at:high] = fresh
            gaps = self._gaps_of(at, at + len(fresh))
            self._gaps[at:high] = gaps
            tall = [
                item.height + gap if item.height else 0.0
                for item, gap in zip(fresh, gaps, strict=True)
            ]
            self.heights.splice(at, high, tall)
            self._cards = None
            self.splice_at = at if self.splice_at is None else min(at, self.splice_at)
        return reused

    def _agent_before(self, index: int) -> str:
        for item in reversed(self.items[max(0, index - 200) : index]):
            if isinstance(item, AgentItem):
                return item.block.agent
        return ""

    def _gaps_of(self, start: int, end: int) -> list[float]:
        """The gaps above the items ``[start:end]``."""
        px = self.context.style.px
        message, answer, below_name, other = px(MESSAGE_GAP), px(10), px(8), px(12)
        before = self.items[start - 1].span.kind if start else ""
        gaps: list[float] = []
        for item in self.items[start:end]:
            kind = item.span.kind
            if not before:
                gaps.append(0)
            elif kind in ("user", "agent"):
                gaps.append(message)
            elif before == "agent":
                gaps.append(answer if kind == "text" else below_name)
            else:
                gaps.append(other)
            before = kind
        return gaps

    def _measure(self, index: int) -> float:
        height = self.items[index].height
        return self.heights.set(index, height + self._gaps[index] if height else 0.0)

    # -- layout --------------------------------------------------------------------

    def anchor(self, y: float) -> Anchor | None:
        """The item or leaf at a height, to scroll back to when heights above it change."""
        if not self.items:
            return None
        index = self.at(y)
        item, top = self.items[index], self.top(index)
        if isinstance(item, TextItem) and item.leaves and item.laid and y > top:
            leaf = item.leaf_at(y - top)
            return item, leaf, y - top - item.leaf_top(leaf)
        return item, -1, y - top

    def anchored(self, anchor: Anchor | None) -> float | None:
        """The present height of an anchor; None if its item is gone."""
        if anchor is None:
            return None
        item, leaf, offset = anchor
        index = self.index(item)
        if index is None:
            return None
        top = self.top(index)
        if leaf >= 0 and isinstance(item, TextItem) and leaf < len(item.leaves):
            return top + item.leaf_top(leaf) + offset
        return top + min(offset, item.height)

    def show(self, top: float, bottom: float) -> bool:
        """Lay out the items between two heights; returns whether a height changed."""
        if not self.items:
            return False
        top, bottom = top - EDGE, bottom + EDGE
        index, changed = self.at(top), False
        while index < len(self.items):
            y = self.top(index)
            if y > bottom:
                break
            item = self.items[index]
            item.show(self.context, max(0.0, top - y), bottom - y)
            self._near.add(item)
            changed = bool(self._measure(index)) or changed
            index += 1
        return changed

    def ready(self, index: int) -> None:
        """Lay out an item wherever it is; it is dropped like those that were near the window."""
        item = self.items[index]
        item.show(self.context, 0, 0)
        self._near.add(item)
        self._measure(index)

    def show_versions(self) -> None:
        """Other messages have versions now: lay out again the lines that say so."""
        for item in self._near:
            if isinstance(item, UserItem | AgentItem):
                item.laid = False

    def drop_far(self, top: float, bottom: float) -> None:
        """Free the layouts that are far from the window."""
        for item in list(self._near):
            index = self.index(item)
            if index is None:
                self._near.discard(item)
                continue
            y = self.top(index)
            if y > bottom + FAR or y + item.height < top - FAR:
                item.drop()
                item.forget()
                self._near.discard(item)

    def restyle(self) -> None:
        """Width or theme has changed: every layout is out of date."""
        for item in self.items:
            if item.laid:
                item.drop()
            if isinstance(item, TextItem):
                item.outdate()
            if item not in self._near:
                item.height = item.estimate(self.context)
        self._near = set()
        self._gaps = self._gaps_of(0, len(self.items))
        self.heights = HeightIndex(
            item.height + gap if item.height else 0.0
            for item, gap in zip(self.items, self._gaps, strict=True)
        )

    def recolour(self) -> None:
        """Code colours were loaded: lay out again what was shown without."""
        for item in self._near:
            if isinstance(item, TextItem):
                item.recolour(self.context)
            else:
                item.laid = False

    def show_pictures(self) -> bool:
        """Lay out anew the answers that waited for pictures; whether there are any."""
        waiting = [i for i in self._near if isinstance(i, TextItem) and i.awaits_picture]
        for item in waiting:
            item.recolour(self.context)
        return bool(waiting)

    @property
    def unchanged_above(self) -> float | None:
        """The height above which the last item was not changed by the last frame, if known."""
        if not self.items:
            return None
        item, top = self.items[-1], self.top(len(self.items) - 1)
        if not isinstance(item, TextItem):
            return top
        above = item.unchanged_above
        return None if above is None else top + above

    # -- what waits for the person -----------------------------------------------------

    def waiting(self) -> list[int]:
        """Indexes of cards that wait for the person, among the last items, from the top."""
        if self._cards is None:
            late = range(max(0, len(self.items) - 120), len(self.items))
            cards = DraftItem | ApprovalItem | QuestionItem
            self._cards = [index for index in late if isinstance(self.items[index], cards)]
        found: list[int] = []
        for index in self._cards:
            item = self.items[index]
            if not isinstance(item, DraftItem) or item.waiting:
                found.append(index)
        return found

    @property
    def has_unparsed(self) -> bool:
        """Whether a part of a growing text waits for the next frame."""
        last = self.items[-1] if self.items else None
        return isinstance(last, TextItem) and last.lags
