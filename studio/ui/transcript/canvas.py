"""Canvas: the column of items; knows their heights and lays out those near the window.

It knows neither windows nor mice: the view says what changed and which stretch is
visible.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from studio.domain.blocks import AgentBlock, DraftBlock, FilesBlock, SummaryBlock, TranscriptBlock

from .height_index import HeightIndex
from .items.approval_item import ApprovalItem, QuestionItem
from .items.base import Item, ItemContext
from .items.draft_item import DraftItem
from .items.files_item import FilesItem
from .items.reasoning_item import ReasoningItem
from .items.summary_item import SummaryItem
from .items.text_item import TextItem
from .items.tool_item import ToolsItem
from .items.turn_items import AgentItem, EndItem, FailureItem, NoticeItem, RetryItem
from .items.user_item import UserItem
from .model import CALLS, Kind, item_spans

TOP = 24
BOTTOM = 24
NEAR = 400
"""Pixels beyond the window that are laid out ahead."""
FAR = 8000
"""Pixels beyond the window where layouts are dropped."""

KINDS: dict[Kind, type[Item]] = {
    "user": UserItem,
    "agent": AgentItem,
    "text": TextItem,
    "reasoning": ReasoningItem,
    "tools": ToolsItem,
    "prompt": ApprovalItem,
    "ask": QuestionItem,
    "draft": DraftItem,
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
        self._planned = 0
        self._near: set[Item] = set()
        self.splice_at: int | None = None
        """Where items were replaced by the last ``update``, None if they all stayed."""

    @property
    def total(self) -> float:
        return TOP + self.heights.total + BOTTOM

    def top(self, index: int) -> float:
        """Where the item begins, below the gap above it."""
        gap = self._gaps[index] if self.heights[index] else 0
        return TOP + self.heights.above(index) + gap

    def at(self, y: float) -> int:
        """The item at a height, or the nearest."""
        return self.heights.find(y - TOP)

    def index(self, item: Item) -> int | None:
        found = self.holding(item.plan.first)
        return found if found is not None and self.items[found] is item else None

    def holding(self, block: int) -> int | None:
        """The item that shows a block."""
        found = bisect_right(self.items, block, key=lambda item: item.plan.first) - 1
        if found >= 0 and self.items[found].plan.first <= block < self.items[found].plan.last:
            return found
        return None

    # -- contents -----------------------------------------------------------------

    def set_blocks(self, blocks: Sequence[TranscriptBlock]) -> None:
        """Show other blocks; nothing is laid out yet."""
        self._blocks = blocks
        self.items, self._gaps, self._near = [], [], set()
        self.heights = HeightIndex()
        self._planned = 0
        self.update(())

    def update(self, changed: Iterable[int]) -> list[int]:
        """Take changes of blocks, and the new blocks.

        Returns the items that were there before and changed; from ``splice_at``
        on they are new.
        """
        self.splice_at = None
        touched: set[Item] = set()
        known, count = self._planned, len(self._blocks)
        runs: list[tuple[int, int]] = []
        for block in sorted(set(changed)):
            if block >= known or (runs and block < runs[-1][1]):
                continue
            index = self.holding(block)
            if index is None:
                continue
            if self.items[index].plan.kind in CALLS:
                runs.append(self._run(index))
            else:
                touched.add(self.items[index])
        if count > known:
            start = known
            if self.items and self.items[-1].plan.kind in CALLS:
                start = self._run(len(self.items) - 1)[0]
            runs = [run for run in runs if run[0] < start]
            runs.append((start, count))
        for start, end in runs:
            touched |= self._plan(start, end)
        self._planned = count
        if count > known:
            # What counts as the newest has changed: an end's button, an error's, an attempt's.
            older = self.items[max(0, len(self.items) - 12) :]
            newest = EndItem | FailureItem | RetryItem
            touched |= {item for item in older if isinstance(item, newest)}
        new = self._blocks[known:count]
        if any(isinstance(block, FilesBlock) for block in new) or any(
            isinstance(item, FilesItem) for item in touched
        ):
            # What one turn can undo depends on what others changed and undid.
            touched |= {item for item in self._near if isinstance(item, FilesItem)}
        if any(isinstance(block, SummaryBlock) for block in new) or any(
            isinstance(item, SummaryItem) for item in touched
        ):
            # One takes the place of another, and gives it back.
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
        """The blocks of the run of tool calls around an item."""
        first = last = index
        while first > 0 and self.items[first - 1].plan.kind in CALLS:
            first -= 1
        while last + 1 < len(self.items) and self.items[last + 1].plan.kind in CALLS:
            last += 1
        return self.items[first].plan.first, self.items[last].plan.last

    def _plan(self, start: int, end: int) -> set[Item]:
        """Make the items of blocks again; returns those that still fit and were kept."""
        low = bisect_right(self.items, start - 1, key=lambda item: item.plan.first)
        high = bisect_right(self.items, end - 1, key=lambda item: item.plan.first)
        kept = {(item.plan.kind, item.plan.first): item for item in self.items[low:high]}
        agent = self._agent_before(low)
        made: list[Item] = []
        still: set[Item] = set()
        for step in item_spans(self._blocks, start, end):
            if step.kind == "agent":
                first = self._blocks[step.first]
                assert isinstance(first, AgentBlock)
                agent = first.agent
            item = kept.get((step.kind, step.first))
            if item is None:
                item = KINDS[step.kind](step, self._blocks, agent)
                item.height = item.estimate(self.context)
            else:
                item.plan = step
                still.add(item)
            made.append(item)
        same = [a is b for a, b in zip(self.items[low:high], made, strict=False)]
        first_new = same.index(False) if False in same else len(same)
        if first_new < max(high - low, len(made)):
            at = low + first_new
            fresh = made[first_new:]
            self.items[at:high] = fresh
            gaps = [self._gap(at + n, item) for n, item in enumerate(fresh)]
            self._gaps[at:high] = gaps
            tall = [
                item.height + gap if item.height else 0.0
                for item, gap in zip(fresh, gaps, strict=True)
            ]
            self.heights.splice(at, high, tall)
            self.splice_at = at if self.splice_at is None else min(at, self.splice_at)
        return still

    def _agent_before(self, index: int) -> str:
        for item in reversed(self.items[max(0, index - 200) : index]):
            if isinstance(item, AgentItem):
                block = item.block
                assert isinstance(block, AgentBlock)
                return block.agent
        return ""

    def _gap(self, index: int, item: Item) -> float:
        kind = item.plan.kind
        if index == 0:
            gap = 0
        elif kind in ("user", "agent"):
            gap = 20
        elif self.items[index - 1].plan.kind == "agent":
            gap = 10 if kind == "text" else 8
        else:
            gap = 12
        return round(gap * self.context.look.theme.scale)

    def _measure(self, index: int) -> float:
        height = self.items[index].height
        return self.heights.set(index, height + self._gaps[index] if height else 0.0)

    # -- layout --------------------------------------------------------------------

    def anchor(self, y: float) -> Anchor | None:
        """What is at a height: it is put back there when heights above change."""
        if not self.items:
            return None
        index = self.at(y)
        item, top = self.items[index], self.top(index)
        if isinstance(item, TextItem) and item.leaves and item.laid and y > top:
            leaf = item.leaf_at(y - top)
            return item, leaf, y - top - item.leaf_top(leaf)
        return item, -1, y - top

    def anchored(self, anchor: Anchor | None) -> float | None:
        """Where the anchor's height is now."""
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
        """Lay out what lies between, and a little around; whether any height changed."""
        if not self.items:
            return False
        top, bottom = top - NEAR, bottom + NEAR
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
            item.drop()
            if isinstance(item, TextItem):
                item.outdate()
            if item not in self._near:
                item.height = item.estimate(self.context)
        self._near = set()
        self._gaps = [self._gap(index, item) for index, item in enumerate(self.items)]
        self.heights = HeightIndex(
            item.height + gap if item.height else 0.0
            for item, gap in zip(self.items, self._gaps, strict=True)
        )

    def recolour(self) -> None:
        """Code colours can be had now: lay out again what was plain."""
        for item in self._near:
            if isinstance(item, TextItem):
                item.recolour(self.context)
            else:
                item.laid = False

    @property
    def still(self) -> float:
        """Above this height the last item looks as it did in the last frame."""
        if not self.items:
            return 0.0
        item, top = self.items[-1], self.top(len(self.items) - 1)
        if isinstance(item, TextItem) and item.leaves:
            # The leaf before has lost the cursor at its end.
            return top + item.leaf_top(min(max(0, item.settled - 1), len(item.leaves) - 1))
        return top

    # -- what waits for the person -----------------------------------------------------

    def waiting(self) -> list[int]:
        """Cards that wait for the person, from the top; looks at the end of the canvas only."""
        found: list[int] = []
        for index in range(max(0, len(self.items) - 120), len(self.items)):
            item = self.items[index]
            if isinstance(item, ApprovalItem | QuestionItem) or (
                isinstance(item, DraftItem)
                and isinstance(item.block, DraftBlock)
                and item.block.draft.status == "waiting"
            ):
                found.append(index)
        return found

    @property
    def behind(self) -> bool:
        """Whether a growing text has more than its last frame had room for."""
        last = self.items[-1] if self.items else None
        return isinstance(last, TextItem) and last.behind
