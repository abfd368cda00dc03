"""Transcript view: the widget that takes changes and shows them a frame at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import cast

from PySide6.QtCore import (
    QEvent,
    QMimeData,
    QObject,
    QPoint,
    QRect,
    QRectF,
    QSizeF,
    Qt,
    QTimer,
    QUrl,
)
from PySide6.QtGui import (
    QAccessible,
    QAccessibleInterface,
    QContextMenuEvent,
    QDrag,
    QFocusEvent,
    QGuiApplication,
    QHelpEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QToolTip, QWidget

from studio.domain.blocks import FailureBlock, RetryBlock, TranscriptBlock
from studio.domain.transcript import Transcript
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.painting import AnimationTimer
from studio.ui.widgets.shadow import cast_shadow

from . import accessibility
from .actions import Actions, pinned
from .input import KeyboardInput, MouseInput
from .items.answer_item import TextItem
from .items.approval_item import SCOPES, ApprovalItem
from .items.base import Hit, Item, ItemContext
from .items.question_item import QuestionItem
from .items.user_item import UserItem
from .message_row import (
    KEYS,
    PIN,
    UNPIN,
    Message,
    is_of_message,
    message_at,
    offered,
    words_of,
)
from .paint_style import PaintStyle
from .painting import paint_viewport
from .scroller import BAR
from .text.formulas import Formulas
from .text.highlight import CodeColours
from .viewport import Viewport

FRAME = 0.016
"""Seconds between two frames, at the least; four times what the last one cost, if more."""


class TranscriptView(QAbstractScrollArea):
    """Shows a ``Transcript`` and follows it while it grows.

    ``set_transcript`` sets it; ``changed`` reports that a block changed. Changes are collected
    and shown once a frame. ``item_actions`` has signals for what the person does in it.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # paragraphs have their own
        self.theme = theme
        self.paint_style = PaintStyle(theme)
        self.colours = CodeColours(self)
        self.context = ItemContext(self.paint_style, self.colours, time.monotonic)
        self.context.formulas = Formulas(self)
        self.canvas_viewport = Viewport(self.context, self)
        self.canvas, self.scroller = self.canvas_viewport.canvas, self.canvas_viewport.scroller
        self.selection, self.focus = self.canvas_viewport.selection, self.canvas_viewport.focus
        self.finder = self.canvas_viewport.finder
        self.item_actions = Actions(self.canvas_viewport, self)
        self.item_actions.scopes_wanted.connect(self._choose_scope)
        self.item_actions.menu_wanted.connect(self._show_message_menu)
        self._keys = KeyboardInput(self.canvas_viewport, self.item_actions)
        self._mouse = MouseInput(self.canvas_viewport, self.item_actions, self.viewport())
        self._transcript: Transcript | None = None
        self._dirty: set[int] = set()
        self._announced: set[str] = set()
        self._accessible: accessibility.AccessibleTranscript | None = None
        self._flushed_at = self._cost = 0.0
        self._flushes = 0
        self._thumb = QRectF()
        """Where the scroll bar was in the last frame."""
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._flush)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Transcript"))
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        theme.changed.connect(self._theme_changed)
        for loaded in (self.colours.loaded, self.context.formulas.drawn):
            loaded.connect(self.canvas_viewport.recolour)
        self.context.thumbnails.loaded.connect(self.canvas_viewport.show_pictures)
        self.canvas_viewport.outdated.connect(self.viewport().update)
        self.canvas_viewport.focus_moved.connect(self._tell_focus)
        self.canvas_viewport.keyboard_wanted.connect(self._take_keyboard)
        accessibility.install(_describe)

    # -- contents ---------------------------------------------------------------------

    def set_transcript(
        self,
        transcript: Transcript,
        since: float | None = None,
        *,
        quiet_since: float | None = None,
        read_only: bool = False,
        blocking: Callable[[str], Sequence[str]] = lambda turn_id: (),
    ) -> None:
        """Show another transcript, scrolled to its end.

        ``since`` is the time, by ``time.monotonic``, at which the wait of a retry at its end
        began, ``quiet_since`` that at which its turn showed something last. ``blocking``
        returns the turns that have to be undone before a turn.
        """
        self._transcript = transcript
        self.context.read_only, self.context.blocking = read_only, blocking
        self.context.running = transcript.running
        self._dirty.clear()
        self._timer.stop()
        self._mouse.forget()
        self._announced = {question.id for question in transcript.questions}
        if self._accessible is not None:
            self._accessible.take_back()
        self._fit()
        self.canvas_viewport.set_blocks(transcript.blocks)
        self.canvas_viewport.working_since = None
        self.canvas_viewport.find_work(quiet_since)
        if since is not None and transcript.blocks:
            self._start_countdown(transcript.blocks[-1], since)
            self.changed(len(transcript.blocks) - 1)

    def changed(self, index: int) -> None:
        """The block at ``index`` changed or is new; later ones may be new as well."""
        if self._transcript is not None:
            self._start_countdown(self._transcript.blocks[index], self.context.now())
        self._dirty.add(index)
        self._schedule()

    def grew(self, index: int) -> None:
        """The text of the block at ``index`` goes on; shown at once if a frame is due.

        A timer would enter Qt's loop once more for each of fifty updates a second.
        """
        self._dirty.add(index)
        if not self._timer.isActive():
            if time.perf_counter() < self._flushed_at + max(FRAME, 4 * self._cost):
                self._schedule()
            else:
                self._flush()

    def set_sending(self, sending: bool, outgoing: Sequence[TranscriptBlock] = ()) -> None:
        """Show that a message is on its way, and its blocks, before its turn has begun."""
        context = self.context
        if sending != context.sending or outgoing is not context.outgoing:
            context.sending, context.outgoing = sending, outgoing
            self._schedule()

    def set_offline(self, offline: bool) -> None:
        """Show that the last message waits until its provider can be reached, or no more."""
        if offline != self.context.offline:
            self.context.offline = offline
            blocks = self._transcript.blocks if self._transcript is not None else ()
            for index in range(len(blocks) - 1, -1, -1):
                if isinstance(blocks[index], FailureBlock):
                    self.changed(index)
                    break

    def turned(self) -> None:
        """A turn began or ended: buttons that need a finished turn are painted again."""
        self._schedule()

    def flush(self) -> None:
        """Show all changes now."""
        self._timer.stop()
        self._flush()
        while self._dirty:
            self._timer.stop()
            self._flush()

    def announce(self, text: str, *, urgent: bool = False) -> None:
        """Let a screen reader speak a text, for example that a turn has ended."""
        announce(self, text, urgent=urgent)

    def drag(self, path: Path, png: bytes, small: QImage) -> None:
        """Let the person drag the file at ``path`` away; returns when it was dropped.

        Nothing happens if the mouse button is up by now. ``png`` is the picture for programs
        that take no files, or empty; ``small`` hangs on the mouse, if it is not null.
        """
        if not QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            return
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        if png:
            data.setData("image/png", png)
        drag = QDrag(self)
        drag.setMimeData(data)
        if not small.isNull():
            drag.setPixmap(QPixmap.fromImage(small))
        drag.exec(Qt.DropAction.CopyAction)

    def focus_prompt(self) -> bool:
        """Give the keyboard to the oldest question that keys can answer; False if there is none.

        A question without choices is answered in words: it is only brought into view.
        """
        self.flush()
        for index in self.canvas.waiting():
            item = self.canvas.items[index]
            by_key = isinstance(item, QuestionItem) and item.by_keys
            if isinstance(item, ApprovalItem) or by_key:
                self.canvas_viewport.focus_on(index)
                self._take_keyboard()
                return True
            if isinstance(item, QuestionItem):
                self.canvas_viewport.reveal(index)
        return False

    def show_answers(self) -> None:
        """An answer was typed to one of several questions: go on with their card."""
        self.flush()
        for index in self.canvas.waiting():
            item = self.canvas.items[index]
            if isinstance(item, QuestionItem):
                self.canvas_viewport.filled_in(item)
                self._take_keyboard()
                return

    @property
    def accessible(self) -> accessibility.AccessibleTranscript:
        """What screen readers see; kept here because Qt does not keep it alive."""
        if self._accessible is None:
            made = accessibility.AccessibleTranscript(self, self.canvas_viewport, self.item_actions)
            self.destroyed.connect(made.take_back)
            self._accessible = made
        return self._accessible

    # -- a frame -------------------------------------------------------------------------

    def _schedule(self) -> None:
        if not self._timer.isActive():
            pause = max(FRAME, 4 * self._cost)
            wait = self._flushed_at + pause - time.perf_counter()
            self._timer.start(max(0, round(wait * 1000)))

    def _flush(self) -> None:
        begun = time.perf_counter()
        self._flushes += 1
        dirty, self._dirty = self._dirty, set()
        self.finder.changed(dirty)
        value, end = self.scroller.value, self._painted_end
        running = self._transcript is not None and self._transcript.running
        turned, self.context.running = running != self.context.running, running
        changed, unchanged_above = self.canvas_viewport.update(dirty)
        if self._flushes % 32 == 0:
            self.scroller.drop_far()
        self._announce(changed)
        if self._accessible is not None:
            self._accessible.changed(changed)
        if running and not turned and self._all_stays:
            self._repaint_line(unchanged_above, end)
        else:
            self._follow(unchanged_above, value, end, turned=turned)
        if self.canvas.has_unparsed and self._transcript is not None:
            self._dirty.add(len(self._transcript.blocks) - 1)
        self._flushed_at = time.perf_counter()
        self._cost = self._flushed_at - begun
        if self._dirty:
            self._schedule()

    @property
    def _all_stays(self) -> bool:
        """Whether the last update went on with the last line, and nothing stands over the canvas.

        So it is five times of six while an answer comes.
        """
        viewport = self.canvas_viewport
        return (
            self.canvas.in_line
            and self.finder.find is None
            and viewport.working_since is None
            and viewport.outgoing is None
            and viewport.pill is None
            and viewport.message_row is None
            and viewport.focus.item is None
        )

    def _follow(
        self, unchanged_above: float | None, value: float, end: float, *, turned: bool
    ) -> None:
        """Update and repaint what depends on the items and their places.

        ``value`` is where it was scrolled to before, ``end`` where the painted canvas ended.
        """
        pill = self.canvas_viewport.pill
        self.canvas_viewport.find_work()
        self.canvas_viewport.find_pill()
        row = self.canvas_viewport.message_row
        self.canvas_viewport.find_message_row()
        row = row or self.canvas_viewport.message_row
        covered = bool(pill or self.canvas_viewport.pill or row or self.focus or turned)
        before, self._thumb = self._thumb, self.scroller.bar.thumb
        if self._thumb != before or self.finder.find is not None:
            self.viewport().update(self.scroller.bar.strip.toAlignedRect())
        moved = round(self.scroller.value - value)
        self._repaint(None if covered else unchanged_above, max(end, self._painted_end), moved)

    @property
    def _painted_end(self) -> float:
        """The height of the canvas below which nothing is painted."""
        works = self.canvas_viewport.working_since is not None
        return self.canvas.total if works else self.canvas.bottom

    def _repaint_line(self, unchanged_above: float | None, end: float) -> None:
        """Repaint what lies between two heights, where nothing has moved."""
        viewport, scroller = self.viewport(), self.scroller
        if unchanged_above is None or scroller.below > 1:
            viewport.update()
            return
        top = max(0, int(unchanged_above - scroller.value) - 1)
        left = int(self.canvas_viewport.column_left) - 4
        wide = min(int(self.context.width) + 8, int(scroller.width) - BAR - left)
        viewport.update(left, top, wide, int(end - scroller.value) + 2 - top)

    def _repaint(self, unchanged_above: float | None, end: float, moved: int) -> None:
        """Repaint from the height ``unchanged_above`` to ``end``; the rest is moved."""
        viewport, scroller = self.viewport(), self.scroller
        if unchanged_above is None or abs(moved) > scroller.height / 2 or scroller.below > 1:
            viewport.update()
            return
        strip = scroller.bar.strip.toAlignedRect()
        rect = QRect(0, 0, viewport.width() - strip.width(), viewport.height())
        if moved:
            viewport.scroll(0, -moved, rect)
            AnimationTimer.of(self.theme).scrolled(viewport, -moved)
        top = max(0, int(unchanged_above - scroller.value) - 1)
        tall = max(0, int(end - scroller.value) + 2 - top)
        left = int(self.canvas_viewport.column_left) - 4
        wide = int(self.context.width) + 8
        viewport.update(QRect(left, top, wide, tall).intersected(rect))

    def _start_countdown(self, block: TranscriptBlock, since: float) -> None:
        """Remember when the wait of a retry began."""
        if isinstance(block, RetryBlock) and block.state == "waiting":
            self.context.started.setdefault(id(block), since)

    def _announce(self, changed: Iterable[int]) -> None:
        for index in changed:
            item = self.canvas.items[index]
            if isinstance(item, ApprovalItem | QuestionItem):
                tool = item.block
                key = tool.question.id if tool.question else f"ask {tool.call_id} {tool.asks}"
                if key not in self._announced:
                    self._announced.add(key)
                    announce(self, item.name, urgent=True)

    # -- signals of the viewport--------------------------------------------------------------

    def _tell_focus(self) -> None:
        """Tell a screen reader where the focus is now."""
        hit = self.focus.hit
        if hit is not None and is_of_message(hit):  # it stands beside the items
            announce(self, hit.text)
        elif QAccessible.isActive():
            accessibility.focus_moved(self.accessible)

    def _choose_scope(self, item: ApprovalItem, hit: Hit) -> None:
        """Show the menu of where “Always” applies; the answer is for the question in ``hit``."""
        index = self.canvas.index(item)
        if index is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        cast_shadow(menu)
        for answer, where in SCOPES:
            menu.addAction(
                tr("Always allow {where}").format(where=tr(where)),
                lambda answer=answer: self.item_actions.permission_answered.emit(
                    str(hit.value), answer
                ),
            )
        below = hit.rect.bottomLeft().toPoint() + self.canvas_viewport.place_of(index).topLeft()
        menu.popup(self.viewport().mapToGlobal(below) + QPoint(0, 4))

    def _take_keyboard(self) -> None:
        self.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # -- events ------------------------------------------------------------------------------

    def _fit(self) -> None:
        self.canvas_viewport.fit(self.viewport().width(), self.viewport().height())

    def _theme_changed(self) -> None:
        self.paint_style.refresh()
        self._fit()
        self.canvas_viewport.restyle()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self.paint_style.outdated:  # else all is laid out once, by ``_theme_changed``
            self.canvas_viewport.resize(self.viewport().width(), self.viewport().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # as it is laid out everywhere
        beside, along = event.rect(), QRect()
        if event.region().rectCount() > 1:
            strip = self.scroller.bar.strip.toAlignedRect()
            beside = QRect()
            for rect in cast("Iterable[QRect]", event.region()):  # its type does not show that
                if strip.contains(rect):
                    along = along.united(rect)
                else:
                    beside = beside.united(rect)
        for area in (beside, along):  # Qt leaves alone what lies between the rectangles
            if not area.isEmpty():
                paint_viewport(self.canvas_viewport, painter, QRectF(area), self.viewport())
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        pixels = float(event.pixelDelta().y())
        if not pixels:
            lines = QGuiApplication.styleHints().wheelScrollLines()
            pixels = event.angleDelta().y() / 120 * lines * self.paint_style.body_line
        if pixels:
            self.canvas_viewport.scroll_by(-pixels)
            self._mouse.follow(event.position())
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._mouse.press(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._mouse.double_click(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._mouse.release(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):  # first, and without a way through Qt and back
            self.paintEvent(event)
            return True
        if event.type() == QEvent.Type.Leave:
            self._mouse.leave()
        elif isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            item, hit, _ = self._mouse.hit_at(event.pos().toPointF())
            reason = item.disabled_reason(hit, self.context) if item and hit else ""
            named = hit is not None and (is_of_message(hit) or hit.style == "icon")
            words = hit.text if hit is not None and named else reason
            QToolTip.showText(event.globalPos(), words, self.viewport())
            return True
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        item, _, _ = self._mouse.hit_at(event.pos().toPointF())
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            item = self.focus.item
        index = None if item is None else self.canvas.index(item)
        message = None if index is None else message_at(self.canvas.items, index)
        self._show_menu(message, item, event.globalPos())

    def _show_message_menu(self, message: Message) -> None:
        row = self.canvas_viewport.message_row
        below = row.rect.bottomRight().toPoint() if row is not None else QPoint()
        self._show_menu(message, None, self.viewport().mapToGlobal(below))

    def _show_menu(self, message: Message | None, item: Item | None, at: QPoint) -> None:
        """What can be done with a message, of which the mouse or the focus is on ``item``."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        cast_shadow(menu)
        items, actions = self.canvas.items, self.item_actions
        place = QRectF(self.viewport().mapFromGlobal(at), QSizeF())
        names = [] if message is None else offered(message, items, self.context)
        for name in names:
            if message is None or name == "more":
                continue
            keys = KEYS.get(name, "") if isinstance(item, UserItem | TextItem) else ""
            if name == "pin" and isinstance(item, TextItem):  # of an answer the one text meant
                words = tr(UNPIN if pinned(item) else PIN)
                menu.addAction(f"{words}\tP", lambda: actions.pin(item))
                continue
            words = words_of(name, message, items)
            menu.addAction(
                f"{words}\t{keys}" if keys else words,
                lambda name=name: actions.do_with_message(message, name, place),
            )
        if names:
            menu.addSeparator()
        plainly, as_source = tr("Copy"), tr("Copy as markdown")
        copy = menu.addAction(f"{plainly}\tCtrl+C", lambda: actions.copy(markup=False))
        source = menu.addAction(f"{as_source}\tCtrl+Shift+C", lambda: actions.copy())
        for one in (copy, source):
            one.setEnabled(bool(self.selection) or self.focus.item is not None)
        menu.addAction(tr("Select all"), self.canvas_viewport.select_all)
        menu.popup(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._keys.press(event):
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next_: bool) -> bool:
        row = self.canvas_viewport.show_message_row()
        here = [hit for hit in row if hit.same(self.focus.hit)]  # arrows go along the row
        if self.focus.tab(self.canvas, next_, here or row[:1]):
            index, hit = self.focus.index(self.canvas), self.focus.hit
            if index is not None and hit is not None and not is_of_message(hit):
                self.canvas_viewport.reveal_hit(index, hit)
            self.viewport().update()
            self._tell_focus()
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
            self.canvas_viewport.focus_came()
            QTimer.singleShot(0, self, self._tell_focus)  # after Qt told that of the widget
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """Nothing: this view keeps its own position."""


def _describe(kind: str, thing: QObject) -> QAccessibleInterface | None:
    return thing.accessible if isinstance(thing, TranscriptView) else None
