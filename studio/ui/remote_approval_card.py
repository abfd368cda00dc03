"""Shows a permission question of another program, above whatever page is shown (T-7)."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter, QTextOption
from PySide6.QtWidgets import (
    QAbstractButton,
    QPlainTextEdit,
    QSizePolicy,
)

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import draw_text
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, Card, Label, Mark, OverlayBar, make_transparent, plain_tip
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.letters import LoneLetter
from studio.ui.widgets.painting import PaintedWidget
from studio.ui.widgets.question_tile import QuestionTile
from studio.ui.widgets.scrolled_body import ScrolledBody

if TYPE_CHECKING:
    from studio.domain.permissions import Answer
    from studio.storage.remote_approvals import RemoteQuestion

GUARD = 0.4
"""Seconds for which keys and clicks are ignored after another question appeared."""
HANG = 36
"""Pixels by which the card is wider than a chat's text, as the composer is."""
KEPT = 188
"""Pixels of the column's height that the card leaves to a message and a strip above it."""
LINES = 10
"""Lines of a command that are seen at once; the rest is scrolled to."""
ORIGIN_TEXTS = {
    "server": tr_later("Through the server"),
    "terminal": tr_later("Through the terminal"),
    "editor": tr_later("Through an editor"),
    "window": tr_later("In another window"),
}
SOURCES = {
    (True, True): tr_later("{origin} for the chat “{title}”, by {agent}."),
    (True, False): tr_later("{origin} for the chat “{title}”."),
    (False, True): tr_later("{origin}, by {agent}."),
    (False, False): "{origin}.",
}
"""By whether the chat has a title, and whether the agent is named nowhere else."""
HIDDEN = tr_later(
    "Part of this looks like a secret and is not shown, so it can only be denied here "
    "until the whole of it is known."
)


class RemoteApprovalCard(PaintedWidget):
    """Shows one question at a time; hidden when there is none. ``now`` is a clock in seconds."""

    ground = "surface"
    answered = Signal(str, str)
    """A question's id and the ``Answer``."""
    left = Signal()
    """Escape was pressed: the composer should have the focus."""
    typed = Signal(str)
    """A text was typed that is not meant for the card."""
    seen = Signal()
    """The window was activated while the question is shown."""

    def __init__(self, theme: Theme, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(theme)
        self._now = now
        self.folder_name: Callable[[str], str] = short_path
        """A folder in words, see ``formatting.folder_name``."""
        self.asked: RemoteQuestion | None = None
        self._shown_at = 0.0
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        px, top = theme.px, Qt.AlignmentFlag.AlignTop
        self.card = Card(theme, "raised", "warn_line")
        margins = (px(24), px(12), px(24), px(12))
        row_of([STRETCH, (self.card, 100), STRETCH], margins=margins, on=self)
        self.title = Label(theme, "", "heading", wrap=True)
        self.source = Label(theme, "", "ui", "text2", wrap=True)
        self.reason = Label(theme, "", "ui", "text2", wrap=True)
        self.detail = _Detail(theme)
        box = Card(theme, "sunken", "", 6)
        column_of([self.detail], margins=(px(10), px(9), px(10), px(9)), on=box)
        self.facts = _Facts(theme)
        self.why = Label(theme, "", "ui", "text2", wrap=True)
        why = ((Mark(theme, "info", size=14), top), (self.why, 1))
        self._why = widget_of(row_of(why, spacing=px(6), margins=(0, px(5), 0, 0)))
        self.allow = Button(theme, tr("Allow once"), "primary", keycap="Enter")
        self.allow.clicked.connect(lambda: self._answer("once"))
        self.deny = Button(theme, tr("Deny"), keycap="D", clicked=lambda: self._answer("deny"))
        self._alone = LoneLetter(self)
        for part in (self.allow, self.deny, self.detail):
            part.installEventFilter(self)
        self.more = Label(theme, "", "small", "text2")
        buttons = row_of([self.allow, (self.more, 1), self.deny], spacing=px(12))
        parts = [self.title, self.source, self.reason, px(7), box, self.facts, self._why]
        self.body = ScrolledBody(theme, widget_of(column_of(parts, spacing=0)))
        column = column_of([self.body, px(10), buttons], spacing=0)
        margins = (px(16), px(13), px(16), px(12))
        row_of(
            [(QuestionTile(theme), top), (column, 1)], spacing=px(12), margins=margins, on=self.card
        )
        theme.changed.connect(self._follow)
        self._follow()
        self.hide()

    def show_question(self, asked: RemoteQuestion | None, more: int = 0) -> None:
        """Show a question, and how many wait behind it; None hides the card."""
        before, self.asked = self.asked, asked
        if asked != before:
            self._alone.stop()  # it was meant for the question before
        if asked is None:
            self.hide()
            return
        waiting = tr_plural("{count} more waits", "{count} more wait", more)
        self.more.setText(waiting if more else "")
        if asked != before:
            self._shown_at = self._now()
            self._fill(asked)
        self.show()

    def _follow(self) -> None:
        self.card.setMaximumWidth(self.theme.px(self.theme.column + HANG))
        self._fit()

    def _fit(self) -> None:
        """Leave room below; what does not fit above the buttons is scrolled to."""
        if (column := self.parentWidget()) is not None:
            around = self.heightForWidth(self.width()) - self.body.heightForWidth(self.body.width())
            self.body.set_most(column.height() - self.theme.px(KEPT) - around)

    def take_focus(self) -> None:
        (self.allow if self.allow.isEnabled() else self.deny).setFocus(
            Qt.FocusReason.ShortcutFocusReason
        )

    @property
    def spoken(self) -> str:
        """What a screen reader says of it."""
        texts = (self.title, self.source, self.reason)
        parts = [label.text() for label in texts] + [self.detail.toPlainText(), self.facts.text]
        parts += [self.why.text().rstrip("."), tr("needs your answer")]
        return joined(parts)

    def _fill(self, asked: RemoteQuestion) -> None:
        question = asked.question
        self.title.setText(escape_invisible(tr_engine(question.title)))
        named = not asked.agent or asked.agent in question.title
        self.source.setText(
            tr(SOURCES[bool(asked.title), not named]).format(
                origin=tr(ORIGIN_TEXTS[asked.through]),
                title=escape_invisible(asked.title),
                agent=escape_invisible(asked.agent),
            )
        )
        self.reason.show_text(escape_invisible(tr_engine(question.reason)))
        self.detail.set_text(escape_invisible(question.detail))
        self.facts.set_facts(
            [
                (name, self.folder_name(text) if name == "folder" else tr_engine(text))
                for name, text in question.facts
            ]
        )
        why = tr_engine(question.why) if asked.whole else tr(HIDDEN)
        self.why.setText(escape_invisible(why))
        self._why.setVisible(bool(why))
        self.allow.setEnabled(asked.whole)
        self.allow.setToolTip(plain_tip("" if asked.whole else tr(HIDDEN)))
        self.setAccessibleName(self.spoken)
        self.card.setAccessibleName(self.spoken)
        self.allow.setAccessibleDescription(self.spoken)

    @property
    def _deaf(self) -> bool:
        return self._now() - self._shown_at < GUARD

    def _answer(self, answer: Answer) -> None:
        if self.asked is None or self._deaf:
            return
        if answer != "deny" and not self.asked.whole:
            return
        self.answered.emit(self.asked.id, answer)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """What follows a letter is part of its word, also a blank, which presses a button."""
        if watched is self.parentWidget() and event.type() == QEvent.Type.Resize:
            self._fit()
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._alone.followed_by(event)
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Press a button by its key; what else is typed belongs to a message.

        A letter presses once no other key follows. Repeated keys and those with modifiers
        press nothing.
        """
        from studio.ui.transcript.input import is_typed

        key, plain = event.key(), not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.isAutoRepeat():
            super().keyPressEvent(event)
        elif is_typed(event) and key == Qt.Key.Key_D and plain and not self._deaf:
            self._alone.hold(event.text(), self.deny.click, self.typed.emit)
        elif is_typed(event):
            self.typed.emit(event.text())
        elif not plain:
            super().keyPressEvent(event)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            focused = self.focusWidget()
            if isinstance(focused, QAbstractButton):
                focused.click()
        elif key == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def showEvent(self, event: QEvent) -> None:
        super().showEvent(event)  # type: ignore[arg-type]  # a QShowEvent
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        column = self.parentWidget()
        if event.type() == QEvent.Type.ParentChange and column is not None:
            column.installEventFilter(self)
        if event.type() == QEvent.Type.ActivationChange:
            self._alone.stop()
            self._shown_at = self._now()  # keys that were meant for another window
            if self.isActiveWindow():
                self.seen.emit()


def escape_invisible(text: str) -> str:
    """The text with invisible characters, and those that move others, as escapes."""
    return "".join(
        one
        if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
        else f"\\u{ord(one):04x}"
        for one in text
    )


class _Detail(QPlainTextEdit):
    """The whole command, wrapped anywhere, as tall as it is up to ``LINES``."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setAccessibleName(tr("What it wants to do"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        make_transparent(self)
        self._bar = OverlayBar(self)
        self._follow()
        theme.changed.connect(self._follow)

    def set_text(self, text: str) -> None:
        self.setPlainText(text)
        self._fit()

    def _follow(self) -> None:
        self.setFont(self._theme.font("code"))
        self._fit()

    def _fit(self) -> None:
        lines = max(1, int(self.document().size().height()))  # in lines, for a plain document
        step = QFontMetricsF(self.font()).lineSpacing()
        self.setFixedHeight(ceil(min(lines, LINES) * step) + 2)

    def resizeEvent(self, event: QEvent) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]  # a QResizeEvent
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_D, Qt.Key.Key_Escape):
            event.ignore()  # the card's
        else:
            super().keyPressEvent(event)


class _Facts(PaintedWidget):
    """Folder, network, limits: each with its icon, in as many lines as they need."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._facts: list[tuple[str, str]] = []
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def text(self) -> str:
        return ", ".join(text for _, text in self._facts)

    def set_facts(self, facts: list[tuple[str, str]]) -> None:
        from studio.ui.transcript.items.approval_item import fact_icon

        self._facts = [(fact_icon(name, text), escape_invisible(text)) for name, text in facts]
        self.setAccessibleName(self.text)
        self.setVisible(bool(facts))
        self.updateGeometry()
        self.update()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        places = self._places(width)
        return int(places[-1].bottom()) + 1 if places else 0

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(self.width(), 200)))

    def _places(self, width: int) -> list[QRectF]:
        t, x, y = self.theme, 0.0, float(self.theme.px(7))
        places: list[QRectF] = []
        for _, text in self._facts:
            wide = t.px(20) + t.metrics("ui").horizontalAdvance(text) + 2
            if x and x + wide > width:
                x, y = 0.0, y + t.px(20)
            places.append(QRectF(x, y, min(wide, width - x), t.px(18)))
            x += wide + t.px(16)
        return places

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.setFont(t.font("ui"))
        painter.setPen(t.color("text2"))
        for (icon, text), place in zip(self._facts, self._places(self.width()), strict=True):
            side = t.px(14)
            mark = QRectF(place.x(), place.center().y() - side / 2, side, side)
            t.paint_icon(painter, mark, icon, "text2")
            words = place.adjusted(t.px(20), 0, 0, 0)
            draw_text(painter, words, Qt.AlignmentFlag.AlignVCenter.value, text)
