"""The transcript's widget: takes changes, shows them a frame at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QWidget

from studio.domain.transcript import Transcript, TranscriptBlock
from studio.ui.theme import Theme

from . import access
from .actions import act
from .canvas import Canvas
from .highlight import CodeColours
from .items import Context, Hit, Item
from .keys import Focus, key_pressed
from .look import Look
from .mouse import Mouse
from .overlay import Pill
from .painting import FADE, find_pill, paint_view
from .prompt import AskItem, CardItem, PromptItem
from .scroller import STICK, Scroller
from .selection import Selection

COLUMN = 680
AVATAR = 36
SIDE = 24
FRAME = 0.016
"""Seconds between two frames, at the least; four times what the last one cost, if more."""


def no_agent(name: str) -> tuple[str, str]:
    """An agent nobody knows the looks of."""
    return "sparkle", "slate"


class TranscriptView(QAbstractScrollArea):
    """Shows a ``Transcript`` and follows it while it grows.

    ``set_transcript`` gives it one; ``changed`` says that a block changed.
    Changes are gathered and shown once a frame.
    """

    permission_answered = Signal(str, str)
    """A question's id and ``once``, ``session`` or ``deny``."""
    reply_given = Signal(str, str)
    """A call's id and the person's answer to the agent's question."""
    draft_action = Signal(str, str)
    """A draft's id and ``approve``, ``discard``, ``edit`` or ``undo``."""
    failure_action = Signal(str)
    """``replace_key``, ``use_another_provider``, ``try_again``, ``choose_model``, ``new_chat``."""
    link_activated = Signal(str)
    continue_requested = Signal()
    retry_requested = Signal(str)
    """A call's id; only where ``set_retry`` allows it."""
    left = Signal()
    """Escape was pressed: the composer should have the focus."""

    def __init__(
        self,
        theme: Theme,
        parent: QWidget | None = None,
        *,
        agent: Callable[[str], tuple[str, str]] = no_agent,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self.look = Look(theme)
        self.colours = CodeColours(self)
        self.context = Context(self.look, self.colours, time.monotonic, agent)
        self.canvas = Canvas(self.context)
        self.scroller = Scroller(self.canvas)
        self.selection = Selection()
        self.focus = Focus()
        self.mouse = Mouse(self)
        self.access: access.ListAccess | None = None
        """What screen readers see, once one has asked."""
        self.column_left = 0.0
        self.pill: tuple[Pill, QRectF] | None = None
        self.fresh = False
        """Whether something came below while the person looked elsewhere."""
        self._transcript: Transcript | None = None
        self._dirty: set[int] = set()
        self._announced: set[str] = set()
        self._flushed_at = self._cost = 0.0
        self._flushes = 0
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._flush)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Transcript")
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        theme.changed.connect(self._theme_changed)
        self.colours.loaded.connect(self._colours_loaded)
        access.install()

    # -- what the owner tells ---------------------------------------------------------

    def set_transcript(self, transcript: Transcript) -> None:
        """Show another transcript, from its end."""
        self._transcript = transcript
        self._dirty.clear()
        self._timer.stop()
        self.selection.clear()
        self.focus.clear()
        self.mouse.forget()
        for ids in (self.context.opened, self.context.whole):
            ids.clear()
        self.context.started.clear()
        self._announced = {question.id for question in transcript.questions}
        self._fit()
        self.canvas.set_blocks(transcript.blocks)
        self.scroll_to_end()

    def changed(self, index: int) -> None:
        """The block at ``index`` changed, or came; later ones may be new as well."""
        self._dirty.add(index)
        self._schedule()

    def set_agents(self, agent: Callable[[str], tuple[str, str]]) -> None:
        """How an agent looks: its icon and hue by name."""
        self.context.agent = agent
        self.viewport().update()

    def set_retry(self, allowed: bool) -> None:
        """Whether failed tools offer “Retry”."""
        self.context.retry = allowed
        self._relay()

    def flush(self) -> None:
        """Show all changes now."""
        self._timer.stop()
        self._flush()
        while self._dirty:
            self._timer.stop()
            self._flush()

    def announce(self, text: str, *, urgent: bool = False) -> None:
        """Let a screen reader say something: that a run has ended, say."""
        access.announce(self, text, urgent=urgent)

    @property
    def needs_answer(self) -> bool:
        """Whether something in the transcript waits for the person."""
        return bool(self.canvas.waiting())

    def focus_prompt(self) -> bool:
        """Give the keyboard to the oldest open permission question; False if there is none.

        A question that is answered in words is only brought into view.
        """
        self.flush()
        for index in self.canvas.waiting():
            item = self.canvas.items[index]
            if isinstance(item, PromptItem):
                self.focus_on(index)
                self.setFocus(Qt.FocusReason.ShortcutFocusReason)
                return True
            if isinstance(item, AskItem):
                self.reveal(index)
        return False

    def go_to_waiting(self) -> bool:
        """Scroll to the next card that waits for the person, and focus it (Ctrl+J)."""
        waiting = self.canvas.waiting()
        cards = [i for i in waiting if isinstance(self.canvas.items[i], CardItem)]
        found = cards or waiting
        if not found:
            return False
        here = self.focus.index(self.canvas)
        later = [i for i in found if here is not None and i > here]
        self.focus_on(later[0] if later else found[0])
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        return True

    def focus_on(self, index: int) -> None:
        """Move the block focus to an item and show it."""
        self.focus.item, self.focus.hit, self.focus.keyboard = self.canvas.items[index], None, True
        self.reveal(index)
        access.focus_moved(self)

    # -- scrolling ------------------------------------------------------------------------

    def reveal(self, index: int) -> None:
        """Scroll so far that an item is seen."""
        self.scroller.reveal(index, 8, FADE + 8)
        self.scrolled()

    def scroll_to(self, value: float) -> None:
        self.scroller.to(value)
        self.scrolled()

    def scroll_by(self, pixels: float) -> None:
        self.scroller.by(pixels)
        self.scrolled()

    def scroll_to_end(self) -> None:
        self.scroller.following = True
        self.scroller.settle()
        self.scroller.drop_far()
        self.scrolled()

    def scrolled(self) -> None:
        """The window moved over the canvas."""
        if self.scroller.following:
            self.fresh = False
        self.pill = find_pill(self)
        self.viewport().update()

    def follow_pill(self, action: str) -> None:
        if action == "attention":
            self.go_to_waiting()
        else:
            self.scroll_to_end()

    # -- a frame -------------------------------------------------------------------------

    @property
    def _blocks(self) -> list[TranscriptBlock]:
        return self._transcript.blocks if self._transcript else []

    def _schedule(self) -> None:
        if not self._timer.isActive():
            pause = max(FRAME, 4 * self._cost)
            wait = self._flushed_at + pause - time.perf_counter()
            self._timer.start(max(0, round(wait * 1000)))

    def _flush(self) -> None:
        begun = time.perf_counter()
        self._flushes += 1
        dirty, self._dirty = self._dirty, set()
        canvas, scroller = self.canvas, self.scroller
        value, total, anchor = scroller.value, canvas.total, scroller.anchor()
        still = canvas.still
        changed = canvas.update(dirty)
        if canvas.splice_at is not None:
            self._spliced(canvas.splice_at)
        scroller.settle(anchor)
        if self._flushes % 32 == 0:
            scroller.drop_far()
        if not scroller.following and canvas.total > total:
            self.fresh = True
        spliced = canvas.splice_at is not None
        self._announce(range(canvas.splice_at or 0, len(canvas.items)) if spliced else changed)
        only_tail = not spliced and changed == [len(canvas.items) - 1]
        self._repaint(min(still, canvas.still) if only_tail else None, value)
        if canvas.behind:
            self._dirty.add(len(self._blocks) - 1)
        self._flushed_at = time.perf_counter()
        self._cost = self._flushed_at - begun
        if self._dirty:
            self._schedule()

    def _repaint(self, still: float | None, value: float) -> None:
        """Repaint what changed, from ``still`` downwards; what only moved is moved."""
        viewport, scroller = self.viewport(), self.scroller
        moved = round(scroller.value - value)
        before, self.pill = self.pill, find_pill(self)
        covered = self.pill is not None or before is not None or bool(self.focus)
        if still is None or covered or abs(moved) > scroller.height / 2 or scroller.below > 1:
            viewport.update()
            return
        strip = scroller.bar.strip.toAlignedRect()
        rect = QRect(0, 0, viewport.width() - strip.width(), viewport.height())
        if moved:
            viewport.scroll(0, -moved, rect)
        viewport.update(strip)
        top = max(0, int(still - scroller.value) - 4)
        viewport.update(QRect(0, top, rect.width(), rect.height()))

    def _spliced(self, at: int) -> None:
        """Items from ``at`` on are others now."""
        ends = self.selection.ends
        if ends is not None and ends[1][0] >= at:
            self.selection.clear()
        items = self.canvas.items
        if self.focus.item is not None and self.canvas.index(self.focus.item) is None:
            # An answered question is a row now.
            self.focus.hit = None
            self.focus.item = items[min(at, len(items) - 1)] if items else None
        self.mouse.hover = None

    def _announce(self, changed: Iterable[int]) -> None:
        for index in changed:
            item = self.canvas.items[index]
            if isinstance(item, PromptItem | AskItem):
                tool = item.tool
                key = tool.question.id if tool.question else f"ask {tool.call_id} {tool.asks}"
                if key not in self._announced:
                    self._announced.add(key)
                    access.announce(self, item.name, urgent=True)

    # -- looks ---------------------------------------------------------------------------

    def _fit(self) -> bool:
        """Take the column's width from the viewport's; whether it changed."""
        px, viewport = self.theme.px, self.viewport()
        self.scroller.height, self.scroller.width = viewport.height(), viewport.width()
        room = min(px(COLUMN) + px(AVATAR), viewport.width() - 2 * SIDE)
        width = float(max(200, room - px(AVATAR)))
        self.column_left = round((viewport.width() - room) / 2) + px(AVATAR)
        if width == self.context.width:
            return False
        self.context.width = width
        return True

    def _relay(self) -> None:
        """Every layout is out of date."""
        anchor = self.scroller.anchor()
        self.canvas.restyle()
        self.scroller.settle(anchor)
        self.scrolled()

    def _theme_changed(self) -> None:
        self.look.refresh()
        self._fit()
        self._relay()

    def _colours_loaded(self) -> None:
        anchor = self.scroller.anchor()
        self.canvas.recolour()
        self.scroller.settle(anchor)
        self.scrolled()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        anchor = self.scroller.anchor()
        if self._fit():
            self.canvas.restyle()
        self.scroller.settle(anchor)
        self.scrolled()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        for rect in event.region():
            paint_view(self, painter, QRectF(rect))
        painter.end()

    # -- doing -----------------------------------------------------------------------------

    def activate(self, item: Item, hit: Hit) -> None:
        """Do what a button, row or link says."""
        act(self, item, hit)

    def toggle(self, key: int) -> None:
        """Open or close details, by the id of their block."""
        self.context.opened.symmetric_difference_update({key})
        self.relay(self.focus.item)

    def relay(self, item: Item | None) -> None:
        """Lay out one item again; what is at the top of the window stays there."""
        if item is None:
            return
        anchor = self.canvas.anchor(self.scroller.value)
        item.laid = False
        self.scroller.following = False
        self.scroller.settle(anchor)
        self.scroller.following = self.scroller.below <= STICK
        self.scrolled()

    def copy(self) -> None:
        """The selection, or the focused block, as it was written."""
        ends = self.selection.ends
        if ends is not None:
            for index in {ends[0][0], ends[1][0]}:
                # One that is far off has lost its pieces.
                self.canvas.items[index].show(self.context, 0, 0)
            text = self.selection.text(self.canvas.items)
        else:
            text = self.focus.item.source() if self.focus.item is not None else ""
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        self.selection.all(len(self.canvas.items))
        self.viewport().update()

    def place_of(self, index: int) -> QRect:
        """Where an item is, in the viewport."""
        top = self.canvas.top(index) - self.scroller.value
        size = QSize(int(self.context.width), int(self.canvas.items[index].height))
        return QRect(QPoint(int(self.column_left), round(top)), size)

    # -- events ------------------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:
        pixels = float(event.pixelDelta().y())
        if not pixels:
            lines = QGuiApplication.styleHints().wheelScrollLines()
            pixels = event.angleDelta().y() / 120 * lines * self.look.body_line
        if pixels:
            self.scroll_by(-pixels)
            self.mouse.follow(event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.mouse.press(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.mouse.double_click(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.mouse.release(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.mouse.leave()
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction("Copy", self.copy)
        copy.setEnabled(bool(self.selection) or self.focus.item is not None)
        menu.addAction("Select all", self.select_all)
        menu.popup(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not key_pressed(self, event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next_: bool) -> bool:
        if self.focus.tab(self.canvas, next_):
            self.viewport().update()
            return True
        return super().focusNextPrevChild(next_)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        keyboard = (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
            Qt.FocusReason.ShortcutFocusReason,
        )
        if event.reason() in keyboard:
            self.focus.keyboard = True
            if self.focus.index(self.canvas) is None and self.canvas.items:
                waiting = self.canvas.waiting()
                self.focus_on(waiting[0] if waiting else len(self.canvas.items) - 1)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Nothing: this view keeps its own position."""
