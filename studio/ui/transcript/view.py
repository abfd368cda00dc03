"""The transcript's widget: painting, scrolling, mouse; keys are in ``keys``."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, Qt, QTimer, Signal
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

from studio.domain.transcript import Transcript
from studio.ui.controls import Ticker
from studio.ui.theme import Theme

from . import access
from .actions import act
from .canvas import Canvas
from .document import TextItem
from .highlight import CodeColours
from .items import Context, Hit, Item, Paint
from .keys import Focus, key_pressed
from .look import Look
from .overlay import Pill, ScrollBar, paint_fade
from .prompt import AskItem, CardItem, PromptItem
from .selection import Place, Selection

COLUMN = 680
AVATAR = 36
SIDE = 24
STICK = 40
"""Within so many pixels of the end, the view follows it."""
FADE = 20
FRAME = 0.016
"""Seconds between two layouts at the least."""


def no_agent(name: str) -> tuple[str, str]:
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
        self.selection = Selection()
        self.focus = Focus()
        self.bar = ScrollBar()
        self.value = 0.0
        self.following = True
        """Whether the end is kept in view."""
        self.flushes = 0
        self._fresh = False
        self._transcript: Transcript | None = None
        self._dirty: set[int] = set()
        self._hover: Hit | None = None
        self._pressed: Hit | None = None
        self._pill: tuple[Pill, QRectF] | None = None
        self._pill_hover = False
        self._mouse_down: QPointF | None = None
        self._announced: set[str] = set()
        self._flushed_at = 0.0
        self._cost = 0.0
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
        self.viewport().setAutoFillBackground(False)
        theme.changed.connect(self._theme_changed)
        self.colours.loaded.connect(self._colours_loaded)
        access.install()

    # -- what the owner tells ---------------------------------------------------------

    def set_transcript(self, transcript: Transcript) -> None:
        """Show another transcript, from its end."""
        self._transcript = transcript
        self._dirty.clear()
        self.selection.clear()
        self.focus.clear()
        self.context.started.clear()
        self.context.opened.clear()
        self.context.whole.clear()
        self._hover = self._pressed = None
        self._announced = {question.id for question in transcript.questions}
        self._fit()
        self.canvas.set_blocks(transcript.blocks)
        self.following, self._fresh = True, False
        self._settle()
        self.viewport().update()

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
        while self.canvas.behind:
            self._dirty.add(len(self._blocks) - 1)
            self._flush()

    @property
    def needs_answer(self) -> bool:
        """Whether something in view or out of it waits for the person."""
        return bool(self.canvas.waiting())

    def focus_prompt(self) -> bool:
        """Give the keyboard to the oldest open question; False if there is none."""
        self.flush()
        return self.go_to_waiting()

    def go_to_waiting(self) -> bool:
        """Scroll to the next card that waits for the person, and focus it (Ctrl+J)."""
        waiting = self.canvas.waiting()
        questions = [i for i in waiting if isinstance(self.canvas.items[i], CardItem)]
        found = questions or waiting
        if not found:
            return False
        here = self.focus.index(self.canvas)
        later = [i for i in found if here is not None and i > here]
        index = later[0] if later else found[0]
        self.focus.item = self.canvas.items[index]
        self.focus.hit = None
        self.reveal(index)
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.viewport().update()
        return True

    def reveal(self, index: int) -> None:
        """Scroll so far that an item is seen."""
        for _ in range(3):
            top = self.canvas.top(index)
            bottom = top + self.canvas.items[index].height
            if top < self.value + 8 or bottom - top > self._tall - 16:
                self._scroll_to(top - 16)
            elif bottom > self.value + self._tall - 12:
                self._scroll_to(bottom - self._tall + FADE + 8)

    def scroll_to_end(self) -> None:
        self.following, self._fresh = True, False
        self._settle()
        self.viewport().update()

    def scroll_to_start(self) -> None:
        self._scroll_to(0)

    # -- flushing ----------------------------------------------------------------------

    @property
    def _blocks(self) -> list[object]:
        return self._transcript.blocks if self._transcript else []  # type: ignore[return-value]

    @property
    def _tall(self) -> int:
        return self.viewport().height()

    def _schedule(self) -> None:
        if not self._timer.isActive():
            pause = max(FRAME, 4 * self._cost)
            wait = self._flushed_at + pause - time.perf_counter()
            self._timer.start(max(0, round(wait * 1000)))

    def _flush(self) -> None:
        begun = time.perf_counter()
        self.flushes += 1
        dirty, self._dirty = self._dirty, set()
        value, total = self.value, self.canvas.total
        before = [self._tail_top()] if self.canvas.items else []
        anchor = None if self.following else self.canvas.anchor(self.value)
        changed = self.canvas.update(dirty)
        splice = self.canvas.splice_at
        if splice is not None:
            self._spliced(splice)
        first = min([*changed, *([splice] if splice is not None else [])], default=None)
        self._settle(anchor)
        if not self.following and self.canvas.total > total:
            self._fresh = True
        self._announce(changed)
        self._repaint(first, value, before)
        if self.canvas.behind:
            self._dirty.add(len(self._blocks) - 1)
        self._flushed_at = time.perf_counter()
        self._cost = self._flushed_at - begun
        if self._dirty:
            self._schedule()

    def _tail_top(self) -> float:
        """Where the live text begins to differ from frame to frame."""
        index = len(self.canvas.items) - 1
        item = self.canvas.items[index]
        top = self.canvas.top(index)
        if isinstance(item, TextItem) and item.stream is not None and item.leaves:
            return top + item.leaf_top(max(0, item.settled - 1))
        return top

    def _settle(self, anchor: object = None) -> None:
        """Lay out what is seen, and stay where the person is: at the end, or at a line."""
        canvas = self.canvas
        for _ in range(8):
            most = max(0.0, canvas.total - self._tall)
            if self.following:
                self.value = most
            elif anchor is not None:
                place = canvas.anchored(anchor)  # type: ignore[arg-type]  # made by canvas
                if place is not None:
                    self.value = place
            self.value = float(round(max(0.0, min(self.value, most))))
            if not canvas.show(self.value, self.value + self._tall):
                break
        self._place_bar()
        if self.flushes % 32 == 0:
            canvas.drop_far(self.value, self.value + self._tall)

    def _place_bar(self) -> None:
        bar = self.bar
        bar.height, bar.total, bar.value = self._tall, self.canvas.total, self.value
        bar.right = self.viewport().width()

    def _repaint(self, first: int | None, value: float, before: list[float]) -> None:
        """Repaint what changed; what only moved is moved."""
        viewport = self.viewport()
        moved = round(self.value - value)
        last = len(self.canvas.items) - 1
        if first is None and not moved:
            return
        if first != last or not before or abs(moved) > self._tall / 2 or self._pill or self.focus:
            viewport.update()
            return
        top = min(before[0], self._tail_top()) - self.value - 4
        strip = self.bar.strip.toAlignedRect()
        rect = QRect(0, 0, viewport.width() - strip.width(), self._tall)
        if moved:
            viewport.scroll(0, -moved, rect)
            viewport.update(strip)
        viewport.update(QRect(0, max(0, int(top)), rect.width(), self._tall))
        if self._below() > 1:
            viewport.update(0, self._tall - FADE - max(0, moved), rect.width(), self._tall)

    def _spliced(self, at: int) -> None:
        ends = self.selection.ends
        if ends is not None and ends[1][0] >= at:
            self.selection.clear()
        if self.focus.item is not None and self.canvas.index(self.focus.item) is None:
            self._refocus(at)
        self._hover = None

    def _refocus(self, at: int) -> None:
        """The focused item became another one: an answered prompt is a row now."""
        self.focus.hit = None
        items = self.canvas.items
        self.focus.item = items[min(at, len(items) - 1)] if items else None

    def _announce(self, changed: list[int]) -> None:
        for index in changed:
            item = self.canvas.items[index]
            if isinstance(item, PromptItem | AskItem):
                tool = item.tool
                name = tool.question.id if tool.question else f"ask {tool.call_id} {tool.asks}"
                if name not in self._announced:
                    self._announced.add(name)
                    access.announce(self, item.name, urgent=True)

    # -- looks ---------------------------------------------------------------------------

    def _fit(self) -> bool:
        """Take the column's width from the viewport's; whether it changed."""
        px = self.theme.px
        most = px(COLUMN) + px(AVATAR)
        room = min(most, self.viewport().width() - 2 * SIDE)
        width = float(max(200, room - px(AVATAR)))
        self._left = round((self.viewport().width() - room) / 2) + px(AVATAR)
        if width == self.context.width:
            return False
        self.context.width = width
        return True

    def _relay(self) -> None:
        anchor = None if self.following else self.canvas.anchor(self.value)
        self.canvas.restyle()
        self._settle(anchor)
        self.viewport().update()

    def _theme_changed(self) -> None:
        self.look.refresh()
        self._fit()
        self._relay()

    def _colours_loaded(self) -> None:
        self.canvas.recolour()
        self._settle(None if self.following else self.canvas.anchor(self.value))
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        anchor = None if self.following else self.canvas.anchor(self.value)
        if self._fit():
            self.canvas.restyle()
        self._settle(anchor)
        self.viewport().update()

    def _below(self) -> float:
        return self.canvas.total - self.value - self._tall

    def _primary(self) -> Item | None:
        """The one card that may show a primary button: the focused one, else the last."""
        waiting = [self.canvas.items[index] for index in self.canvas.waiting()]
        if self.focus.item in waiting:
            return self.focus.item
        cards = [item for item in waiting if isinstance(item, CardItem)]
        return (cards or waiting or [None])[-1]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        area = QRectF(event.rect())
        painter.fillRect(area, self.look.color("surface"))
        painter.setClipRect(area)
        canvas = self.canvas
        if canvas.items:
            low, high = area.top() + self.value, area.bottom() + self.value
            # An icon, a ring, a chip may reach out of its item.
            index = canvas.at(low - 8)
            primary = self._primary()
            while index < len(canvas.items):
                top = canvas.top(index)
                if top > high + 8:
                    break
                self._paint_item(painter, index, top, low, high, primary)
                index += 1
        if not self.colours.ready and canvas.items:
            self.colours.load()
        if self._below() > 1:
            tall = self._tall
            strip = QRectF(0, tall - FADE, self.viewport().width(), FADE)
            if strip.intersects(area):
                paint_fade(painter, self.look, strip)
        self.bar.paint(painter, self.look)
        self._paint_pill(painter)
        painter.end()

    def _paint_item(
        self,
        painter: QPainter,
        index: int,
        top: float,
        low: float,
        high: float,
        primary: Item | None,
    ) -> None:
        item = self.canvas.items[index]
        if not item.height:
            return
        painter.save()
        painter.translate(self._left, top - self.value)
        focused = self.hasFocus() and self.focus.item is item
        paint = Paint(
            painter,
            low - top,
            high - top,
            self._hover,
            self._pressed,
            self.focus.shown_hit(item) if focused else None,
            self.selection.of(index),
            self.viewport(),
            primary is None or primary is item or not self.canvas.waiting(),
        )
        item.paint(paint, self.context)
        if focused and paint.focus is None and self.focus.keyboard:
            rect = QRectF(0, 0, self.context.width, item.height)
            grow = 0 if isinstance(item, CardItem) else 3
            self.look.focus_ring(painter, rect.adjusted(-grow, -grow, grow, grow), 12)
        painter.restore()
        if item.animated:
            area = QRect(self._left - 2, int(top - self.value), int(self.context.width) + 4, 0)
            area.setHeight(min(int(item.height), 4000))
            Ticker.of(self.theme).again(self.viewport(), area)

    def _paint_pill(self, painter: QPainter) -> None:
        pill = self._find_pill()
        if pill is None:
            if self._pill is not None:
                self._pill, self._pill_hover = None, False
            return
        centre = self._left + self.context.width / 2
        rect = pill.rect(self.look, centre, self._tall - 12)
        self._pill = (pill, rect)
        pill.paint(painter, self.look, rect, self._pill_hover)

    def _find_pill(self) -> Pill | None:
        canvas = self.canvas
        for index in canvas.waiting():
            item = canvas.items[index]
            if not isinstance(item, CardItem):
                continue
            top = canvas.top(index)
            if top > self.value + self._tall - 40 or top + item.height < self.value + 40:
                words = f"{item.agent or 'The agent'} needs your answer"
                return Pill(words, "attention", "shield-question-mark", "warn", "Ctrl+J")
        if self._fresh and self._below() > STICK:
            return Pill("New messages", "end", "arrow-down", "text2")
        return None

    # -- scrolling -------------------------------------------------------------------------

    def _scroll_to(self, value: float) -> None:
        most = max(0.0, self.canvas.total - self._tall)
        value = float(round(max(0.0, min(value, most))))
        self.following = most - value <= STICK
        if self.following:
            self._fresh = False
        self.value = value
        # Where the person scrolls to, nothing may jump: the line at the top stays.
        self.canvas.show(value, value + self._tall)
        anchor = self.canvas.anchor(value)
        for _ in range(4):
            if not self.canvas.show(self.value, self.value + self._tall):
                break
            place = self.canvas.anchored(anchor)
            if place is not None:
                self.value = float(round(max(0.0, place)))
        self.value = min(self.value, max(0.0, self.canvas.total - self._tall))
        self._place_bar()
        self.canvas.drop_far(self.value, self.value + self._tall)
        self.viewport().update()

    def scroll_by(self, pixels: float) -> None:
        anchor = self.canvas.anchor(self.value)
        low = min(self.value, self.value + pixels)
        high = max(self.value, self.value + pixels) + self._tall
        self.canvas.show(low, high)
        place = self.canvas.anchored(anchor)
        self._scroll_to((self.value if place is None else place) + pixels)

    def wheelEvent(self, event: QWheelEvent) -> None:
        pixels = event.pixelDelta().y()
        if not pixels:
            lines = QGuiApplication.styleHints().wheelScrollLines()
            pixels = event.angleDelta().y() / 120 * lines * self.look.body_line
        if pixels:
            self.scroll_by(-pixels)
            self._follow_mouse(event.position())
        event.accept()

    # -- mouse -----------------------------------------------------------------------------

    def hit_at(self, at: QPointF) -> tuple[Item | None, Hit | None, QPointF]:
        """Item and place to click under a point of the viewport; the point in the item."""
        canvas = self.canvas
        if not canvas.items:
            return None, None, at
        index = canvas.at(at.y() + self.value)
        item = canvas.items[index]
        inside = QPointF(at.x() - self._left, at.y() + self.value - canvas.top(index))
        if isinstance(item, TextItem):
            return item, item.hit(inside.x(), inside.y(), self.context), inside
        for hit in reversed(item.hits):
            if hit.rect.contains(inside):
                return item, hit, inside
        return item, None, inside

    def place_at(self, at: QPointF) -> Place | None:
        """The place in the text nearest to a point of the viewport."""
        canvas = self.canvas
        if not canvas.items:
            return None
        y = at.y() + self.value
        index = canvas.at(y)
        item = canvas.items[index]
        return index, item.caret(at.x() - self._left, y - canvas.top(index))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton:
            return
        at = event.position()
        if self._pill and self._pill[1].contains(at):
            self._press_pill(self._pill[0].action)
            return
        if self.bar.most and self.bar.strip.contains(at):
            thumb = self.bar.thumb
            inside = thumb.top() <= at.y() <= thumb.bottom()
            self.bar.grabbed = at.y() - thumb.top() if inside else thumb.height() / 2
            self._scroll_to(self.bar.value_at(at.y() - self.bar.grabbed))
            return
        item, hit, _ = self.hit_at(at)
        self.focus.item, self.focus.hit, self.focus.keyboard = item, None, False
        if hit is not None:
            self._pressed = hit
        else:
            self._mouse_down = at
            place = self.place_at(at)
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self.selection.anchor:
                if place:
                    self.selection.extend(place)
            elif place:
                self.selection.begin(place)
        self.viewport().update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self.place_at(event.position())
        _, hit, _ = self.hit_at(event.position())
        if place is None or hit is not None:
            self.mousePressEvent(event)
            return
        index, (leaf, position) = place
        leaves = self.canvas.items[index].leaves
        if leaf < len(leaves):
            low, high = word_at(leaves[leaf].text, position)
            self.selection.begin((index, (leaf, low)))
            self.selection.extend((index, (leaf, high)))
            self.viewport().update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self.bar.grabbed is not None:
            self._scroll_to(self.bar.value_at(at.y() - self.bar.grabbed))
        elif self._mouse_down is not None:
            if not self.viewport().rect().contains(at.toPoint()):
                step = at.y() if at.y() < 0 else max(0.0, at.y() - self._tall)
                self.scroll_by(max(-60.0, min(60.0, step)))
            place = self.place_at(at)
            if place is not None and place != self.selection.head:
                self.selection.extend(place)
                self.viewport().update()
        else:
            self._follow_mouse(at)

    def _follow_mouse(self, at: QPointF) -> None:
        """Hover and cursor for what is under the mouse."""
        over_bar = bool(self.bar.most) and self.bar.strip.contains(at)
        over_pill = self._pill is not None and self._pill[1].contains(at)
        item, hit, inside = (None, None, at) if over_bar or over_pill else self.hit_at(at)
        shape = Qt.CursorShape.ArrowCursor
        if over_pill or hit is not None:
            shape = Qt.CursorShape.PointingHandCursor
        elif item is not None and 0 <= inside.x() <= self.context.width:
            if item.url(inside.x(), inside.y()):
                shape = Qt.CursorShape.PointingHandCursor
            elif item.over_text(inside.x(), inside.y()):
                shape = Qt.CursorShape.IBeamCursor
        if self.viewport().cursor().shape() != shape:
            self.viewport().setCursor(shape)
        before = (self._hover, self.bar.hover, self._pill_hover)
        same = hit.same(self._hover) if hit is not None else self._hover is None
        if not same or (over_bar, over_pill) != before[1:]:
            self._hover, self.bar.hover, self._pill_hover = hit, over_bar, over_pill
            self.viewport().update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        at = event.position()
        if self.bar.grabbed is not None:
            self.bar.grabbed = None
            self.viewport().update()
            return
        pressed, self._pressed = self._pressed, None
        clicked = self._mouse_down is not None and not self.selection
        self._mouse_down = None
        item, hit, inside = self.hit_at(at)
        if pressed is not None:
            if item is not None and hit is not None and hit.same(pressed):
                self.activate(item, hit)
        elif clicked and item is not None:
            url = item.url(inside.x(), inside.y())
            if url:
                self.link_activated.emit(url)
        self.viewport().update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hover, self.bar.hover, self._pill_hover = None, False, False
        self.viewport().update()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.leaveEvent(event)
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        copy = menu.addAction("Copy", self.copy)
        copy.setEnabled(bool(self.selection) or self.focus.item is not None)
        menu.addAction("Select all", self.select_all)
        menu.popup(event.globalPos())

    def _press_pill(self, action: str) -> None:
        if action == "attention":
            self.go_to_waiting()
        else:
            self.scroll_to_end()

    # -- doing -------------------------------------------------------------------------------

    def activate(self, item: Item, hit: Hit) -> None:
        """Do what a button, row or link says."""
        act(self, item, hit)

    def toggle(self, key: int) -> None:
        """Open or close details; the line that was clicked stays where it is."""
        opened = self.context.opened
        opened.symmetric_difference_update({key})
        self.relay(self.focus.item)

    def relay(self, item: Item | None) -> None:
        """Lay out one item again."""
        if item is None:
            return
        anchor = self.canvas.anchor(self.value)
        item.laid = False
        self.following = False
        self._settle(anchor)
        self.following = self._below() <= STICK
        self.viewport().update()

    def copy(self) -> None:
        """The selection, or the focused block, as it was written."""
        if self.selection:
            text = self.selection.text(self.canvas.items)
        else:
            text = self.focus.item.source() if self.focus.item is not None else ""
        if text:
            QGuiApplication.clipboard().setText(text)

    def select_all(self) -> None:
        self.selection.all(len(self.canvas.items))
        self.viewport().update()

    # -- keyboard ------------------------------------------------------------------------------

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
        reasons = (
            Qt.FocusReason.TabFocusReason,
            Qt.FocusReason.BacktabFocusReason,
            Qt.FocusReason.ShortcutFocusReason,
        )
        if event.reason() in reasons:
            self.focus.keyboard = True
            if self.focus.item is None and self.canvas.items:
                waiting = self.canvas.waiting()
                index = waiting[0] if waiting else len(self.canvas.items) - 1
                self.focus.item = self.canvas.items[index]
                self.reveal(index)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Nothing: this view keeps its own position."""

    def to_viewport(self, index: int) -> QRect:
        """Where an item is, in the viewport."""
        top = self.canvas.top(index) - self.value
        height = self.canvas.items[index].height
        return QRect(
            QPoint(self._left, round(top)), QRectF(0, 0, self.context.width, height).size().toSize()
        )


def word_at(text: str, position: int) -> tuple[int, int]:
    """Start and end of the word around a place, in UTF-16 units."""
    units = text.encode("utf-16-le", "surrogatepass")
    size = len(units) // 2

    def inside(at: int) -> bool:
        char = units[2 * at : 2 * at + 2].decode("utf-16-le", "replace")
        return char.isalnum() or char in "_\ufffd"

    low = high = max(0, min(position, size))
    while low > 0 and inside(low - 1):
        low -= 1
    while high < size and inside(high):
        high += 1
    return low, high
