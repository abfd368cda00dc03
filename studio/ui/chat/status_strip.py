"""What stands between a chat and its composer while something is out of the ordinary."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.ui.theme import Theme, elided
from studio.ui.widgets import AnimationTimer, Button, Label, paint_rounded
from studio.ui.widgets.painting import TAGS


@dataclass(frozen=True, slots=True)
class StripButton:
    """A button of the strip: what it is called in ``pressed``, its words, its look."""

    name: str
    text: str
    kind: Literal["primary", "secondary", "ghost"] = "secondary"


TRY_NOW = StripButton("try_now", "Try now")
STOP = StripButton("stop", "Stop", "ghost")
CONTINUE = StripButton("continue_from", "Continue in a new chat", "primary")
KEEP = StripButton("stop_editing", "Cancel", "ghost")
TRUST = StripButton("trust_folder", "Trust folder")
NOT_NOW = StripButton("not_now", "Not now", "ghost")


class _Counting(QWidget):
    """Words with a clock in them, painted anew while they are seen."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self.words: Callable[[], str] = str

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        painter.setFont(t.font("ui", digits=True))
        painter.setPen(t.color("text1"))
        text = elided(t.metrics("ui"), self.words(), self.width())
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter, text)
        painter.end()
        AnimationTimer.of(t).request_frame(self)


class StatusStrip(QWidget):
    """One thing at a time; hidden when all is well."""

    pressed = Signal(str)
    """The name of a button."""
    changed = Signal()
    """It came, went, or needs another height."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon, self._tint = "info", "neutral"
        self._shown: object = None
        self._label = Label(theme, "", "ui", "text1", wrap=True, parent=self)
        self._counting = _Counting(theme, self)
        self._buttons: list[Button] = []
        self._row = QHBoxLayout(self)
        self._row.addWidget(self._label, 1)
        self._row.addWidget(self._counting, 1)
        self.setAccessibleName("About this chat")
        theme.changed.connect(self._space)
        self._space()
        self.hide()

    @property
    def text(self) -> str:
        """What it says now; nothing while it is hidden."""
        if self.isHidden():
            return ""
        return self._label.text() if self._counting.isHidden() else self._counting.words()

    def tall(self, width: int) -> int:
        """Its height at a width."""
        least = self._theme.height(28) + 2 * self._theme.px(8)
        return max(least, self._row.heightForWidth(width))

    def show_silence(self, provider: str, since: float) -> None:
        """Nothing has come from a provider since then, by ``time.monotonic``."""
        from studio.ui.transcript.model import clock

        shown = ("silence", provider, round(since))
        if shown != self._shown:
            self._counting.words = lambda: (
                f"Nothing from {provider} for {clock(time.monotonic() - since)}"
            )
            self._show(shown, "hourglass", "warn", (TRY_NOW, STOP), counting=True)

    def show_damage(self, damage: str) -> None:
        """The chat can only be read."""
        words = f"This chat is damaged and can only be read: {damage.rstrip('.')}."
        self._say(words, "triangle-alert", "warn", (CONTINUE,))

    def show_elsewhere(self, *, working: bool) -> None:
        """Another program goes on with the chat, or has."""
        words = (
            "Another program is working in this chat. You can go on when it is done."
            if working
            else "Another program went on with this chat. It is shown as it is now."
        )
        self._say(words, "users", "neutral", ())

    def show_editing(self) -> None:
        """What goes out next replaces something that was said, in a new chat."""
        words = "You are editing an earlier message. It goes out in a new chat; this one stays."
        self._say(words, "git-branch", "neutral", (KEEP,))

    def show_trust(self, *, changed: bool) -> None:
        """The folder has files that could widen rights, new ones or others than were trusted."""
        words = (
            "This folder’s rules or agents changed. They cannot widen rights until you trust it "
            "again."
            if changed
            else "This folder has rules and agents of its own. They cannot widen rights until "
            "you trust it."
        )
        self._say(words, "shield", "warn" if changed else "neutral", (TRUST, NOT_NOW))

    def clear(self) -> None:
        if self._shown is not None:
            self._shown = None
            self.hide()
            self.changed.emit()

    def _say(self, words: str, icon: str, tint: str, ways: Sequence[StripButton]) -> None:
        if words != self._shown:
            self._label.setText(words)
            self._show(words, icon, tint, ways, counting=False)

    def _show(
        self, shown: object, icon: str, tint: str, ways: Sequence[StripButton], *, counting: bool
    ) -> None:
        self._shown, self._icon, self._tint = shown, icon, tint
        self._label.setVisible(not counting)
        self._counting.setVisible(counting)
        for button in self._buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = []
        for way in ways:
            button = Button(self._theme, way.text, way.kind, parent=self)
            button.clicked.connect(lambda _on=False, name=way.name: self.pressed.emit(name))
            self._row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
            self._buttons.append(button)
        self.setAccessibleDescription(self._counting.words() if counting else self._label.text())
        self.show()
        self.changed.emit()
        self.update()

    def _space(self) -> None:
        px = self._theme.px
        self._row.setContentsMargins(px(14 + 28 + 12), px(8), px(10), px(8))
        self._row.setSpacing(px(8))
        self.changed.emit()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        t, painter = self._theme, QPainter(self)
        paint_rounded(painter, QRectF(self.rect()), 10, t.color("surface"), t.color("control"))
        side = t.px(28)
        tile = QRectF(t.px(12), (self.height() - side) / 2, side, side)
        fill, ink = TAGS[self._tint]
        paint_rounded(painter, tile, 6, t.color(fill))
        inset = t.px(6)
        t.paint_icon(painter, tile.adjusted(inset, inset, -inset, -inset), self._icon, ink)
        painter.end()
