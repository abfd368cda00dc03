"""Status strip: shows above the composer what is out of the ordinary with the chat."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, assert_never

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import clock
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Label
from studio.ui.widgets.layouts import STRETCH, row_of
from studio.ui.widgets.painting import (
    TAGS,
    AnimationTimer,
    PaintedWidget,
    paint_rounded,
    paint_text,
)

from .model.chat_model import ChatModel, Status
from .model.open_chat import Change

BESIDE_LINES = 3
"""Lines that the words may take beside the buttons."""


class StripButton(NamedTuple):
    """A button of the strip: its text, what it does, and its look."""

    text: str
    press: Callable[[], object]
    kind: Literal["primary", "secondary", "ghost"] = "secondary"


class _Clock(PaintedWidget):
    """Words with a running clock, painted again while they are visible."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.words: Callable[[], str] = str

    def sizeHint(self) -> QSize:
        """With room for the digits to come."""
        t = self.theme
        return QSize(t.metrics("ui").horizontalAdvance(self.words()) + t.px(16), t.height(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_text(painter, self.theme, rect, self.words(), "ui digits", room=rect.width())
        AnimationTimer.of(self.theme).request_frame(self)


class StatusStrip(PaintedWidget):
    """Shows one ``Status`` with its buttons; hidden when there is none."""

    trust_wanted = Signal()
    """The person wants to trust the chat's folder."""
    review_wanted = Signal()
    """The person wants to see the drafts that wait, one by one."""
    changed = Signal()
    """The strip is shown, hidden, or needs another height."""

    def __init__(self, theme: Theme, model: ChatModel, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._model = model
        self._icon, self._tint = "info", "neutral"
        self._shown: object = None
        self._label = Label(theme, "", "ui", "text1", wrap=True, parent=self)
        self._clock = _Clock(theme, self)
        self._buttons: list[Button] = []
        self._row = row_of([STRETCH])
        self._box = row_of([(self._label, 1), (self._clock, 1), self._row], on=self)
        self.setAccessibleName(tr("About this chat"))
        theme.changed.connect(self._space)
        model.subscribe(lambda _: self.refresh(), "chat", "event", "turn", "status")
        model.subscribe(self._came, "text")
        self._space()
        self.hide()

    @property
    def text(self) -> str:
        """What it says now; nothing while it is hidden."""
        if self.isHidden():
            return ""
        return self._label.text() if self._clock.isHidden() else self._clock.words()

    def heightForWidth(self, width: int) -> int:
        self._place_buttons(width)
        least = self.theme.height(28) + 2 * self.theme.px(8)
        box = self._box
        wrapped = box.heightForWidth(width) if box.hasHeightForWidth() else box.sizeHint().height()
        return max(least, wrapped)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons(self.width())

    def event(self, event: QEvent) -> bool:
        """What is in it has another size: with other text its buttons follow last."""
        done = super().event(event)
        shown = self._shown is not None and event.type() == QEvent.Type.LayoutRequest
        if shown and self.heightForWidth(self.width()) != self.height():
            self.changed.emit()
        return done

    def _place_buttons(self, width: int) -> None:
        """Put the buttons beside the words, or below where these would be many short lines."""
        around, gap = self._box.contentsMargins(), self._box.spacing()
        taken = sum(gap + button.sizeHint().width() for button in self._buttons)
        beside = max(1, width - around.left() - around.right() - taken)
        most = BESIDE_LINES * self._label.fontMetrics().lineSpacing() + 4
        if self._clock.isHidden():
            below = not self._label.isHidden() and self._label.heightForWidth(beside) > most
        else:
            below = self._clock.sizeHint().width() > beside
        ways = QBoxLayout.Direction
        self._box.setDirection(ways.TopToBottom if below else ways.LeftToRight)

    def _came(self, _change: Change) -> None:
        """More of an answer came: of all that is shown here it ends only a silence."""
        if self._shown is not None:
            self.refresh()

    def refresh(self) -> None:
        """Show the model's status as it is now."""
        status, model = self._model.status, self._model
        if status is None:
            self._clear()
            return
        trust = StripButton(tr("Trust folder"), self.trust_wanted.emit)
        not_now = StripButton(tr("Not now"), model.trust.put_off, "ghost")
        match status.kind:
            case "silent":
                self._show_silence(status)
            case "damaged":
                branch = StripButton(tr("Continue in a new chat"), model.recovery.branch, "primary")
                words = tr("This chat can only be read: {why}.").format(
                    why=tr_engine(status.detail).rstrip(".")
                )
                self._say(words, "triangle-alert", "warn", (branch,))
            case "working":
                words = tr(
                    "Another program is working in this chat. You can go on when it is done."
                )
                self._say(words, "users", "neutral", ())
            case "went_on":
                words = tr("Another program went on with this chat. It is shown as it is now.")
                self._say(words, "users", "neutral", ())
            case "editing":
                cancel = StripButton(tr("Cancel"), model.input.clear, "ghost")
                words = tr(
                    "You are editing an earlier message. The answers to it stay in its old version."
                )
                self._say(words, "git-branch", "neutral", (cancel,))
            case "drafts":
                count = status.drafts
                every = StripButton(
                    tr_plural("Approve {count}", "Approve all {count}", count),
                    model.actions.approve_drafts,
                )
                each = StripButton(tr("Review each"), self.review_wanted.emit, "ghost")
                words = tr_plural(
                    "{count} draft waits. Nothing is changed until you approve.",
                    "{count} drafts wait. Nothing is changed until you approve.",
                    count,
                )
                self._say(words, "inbox", "warn", (every, each))
            case "trust":
                words = tr(
                    "This folder has instructions, rules or agents of its own. They count "
                    "once you trust it."
                )
                self._say(words, "shield", "neutral", (trust, not_now))
            case "trust_again":
                words = tr(
                    "This folder’s rules or agents changed. They cannot widen rights until you "
                    "trust it again."
                )
                self._say(words, "shield", "warn", (trust, not_now))
            case _:
                assert_never(status.kind)

    def _show_silence(self, status: Status) -> None:
        shown = ("silence", status.detail, round(status.since))
        if shown != self._shown:
            self._clock.words = lambda: tr("Nothing from {provider} for {time}").format(
                provider=status.detail, time=clock(time.monotonic() - status.since)
            )
            try_now = StripButton(tr("Try now"), self._model.recovery.try_now)
            stop = StripButton(tr("Stop"), self._model.stop, "ghost")
            self._show(shown, "hourglass", "warn", (try_now, stop), counting=True)

    def _clear(self) -> None:
        if self._shown is not None:
            self._shown = None
            self.hide()
            self.changed.emit()

    def _say(self, words: str, icon: str, tint: str, buttons: Sequence[StripButton]) -> None:
        if words != self._shown:
            self._label.setText(words)
            self._show(words, icon, tint, buttons, counting=False)

    def _show(
        self, shown: object, icon: str, tint: str, buttons: Sequence[StripButton], *, counting: bool
    ) -> None:
        self._shown, self._icon, self._tint = shown, icon, tint
        self._label.setVisible(not counting)
        self._clock.setVisible(counting)
        for button in self._buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = []
        for one in buttons:
            button = Button(self.theme, one.text, one.kind, parent=self)
            button.clicked.connect(lambda _on=False, press=one.press: press())
            self._row.insertWidget(len(self._buttons), button, 0, Qt.AlignmentFlag.AlignVCenter)
            self._buttons.append(button)
        self.setAccessibleDescription(self._clock.words() if counting else self._label.text())
        self.show()
        self.changed.emit()
        self.update()

    def _space(self) -> None:
        px = self.theme.px
        self._box.setContentsMargins(px(14 + 28 + 12), px(8), px(10), px(8))
        self._box.setSpacing(px(8))
        self._row.setSpacing(px(8))
        self.changed.emit()
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 10, t.color("surface"), t.color("control"))
        side = t.px(28)
        tile = QRectF(t.px(12), (self.height() - side) / 2, side, side)
        fill, ink = TAGS[self._tint]
        paint_rounded(painter, tile, 6, t.color(fill))
        inset = t.px(6)
        t.paint_icon(painter, tile.adjusted(inset, inset, -inset, -inset), self._icon, ink)
