"""The foot of the editor: the first problem with its fix, the place of the caret, the size."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QSizePolicy

from studio.agent.frontmatter import Problem
from studio.ui.theme import Theme, elided
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, PaintedButton, plain_tip
from studio.ui.widgets.painting import PaintedWidget, paint_text

from .problem_texts import problem_text


class _ProblemLine(PaintedButton):
    """The first problem; a click goes to its place."""

    radius = 5

    def __init__(self, theme: Theme, parent: PaintedWidget) -> None:
        super().__init__(theme, parent)
        self.icon_name, self.ink, self.more = "", "text2", ""

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.height(24, "small"))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, side = self.theme, self.theme.px(14)
        if self.isEnabled():
            self.paint_overlay(painter, rect)
        x = float(t.px(6))
        if self.icon_name:
            box = QRectF(x, (rect.height() - side) / 2, side, side)
            t.paint_icon(painter, box, self.icon_name, self.ink)
            x += side + t.px(8)
        taken = t.metrics("small").horizontalAdvance(self.more) + t.px(8) if self.more else 0
        room = rect.width() - x - t.px(6)
        words = elided(t.metrics("small"), self.text(), room - taken)
        ink = "text1" if self.icon_name else "text2"
        paint_text(painter, t, rect.adjusted(x, 0, 0, 0), words, "small", ink)
        if self.more:
            x += t.metrics("small").horizontalAdvance(words) + t.px(8)
            paint_text(painter, t, rect.adjusted(x, 0, 0, 0), self.more, "small", "text2")

    @property
    def wanted(self) -> int:
        """The width that the whole text takes."""
        t = self.theme
        width = t.metrics("small").horizontalAdvance(self.text()) + t.px(14) + 1
        if self.icon_name:
            width += t.px(14 + 8)
        if self.more:
            width += t.metrics("small").horizontalAdvance(self.more) + t.px(8)
        return width


class Foot(PaintedWidget):
    """A strip, 30 pixels tall, below the editor."""

    ground = "surface"
    fix_wanted = Signal()
    reveal_wanted = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.problems: Sequence[Problem] = ()
        self._right = ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.line = _ProblemLine(theme, self)
        self.line.clicked.connect(self.reveal_wanted)
        self.fix = Button(theme, tr("Change"), "link", parent=self)
        self.fix.clicked.connect(self.fix_wanted)
        theme.changed.connect(self._follow)
        self.show_problems(())

    @property
    def first(self) -> Problem | None:
        """What keeps the file from being used comes before what is only a warning."""
        found = sorted(self.problems, key=lambda one: one.warning)
        return found[0] if found else None

    def show_problems(self, problems: Sequence[Problem], *, read_only: bool = False) -> None:
        self.problems = problems
        first, line = self.first, self.line
        text = problem_text(first) if first else tr("No problems")
        line.more = ""
        if len(problems) > 1:
            line.more = tr_plural("{count} more", "{count} more", len(problems) - 1)
        line.icon_name = "" if first is None else "triangle-alert"
        line.ink = "warn" if first is None or first.warning else "err"
        line.setText(text)
        line.setAccessibleName(f"{text} {line.more}".strip())
        line.setToolTip(plain_tip("\n".join(map(problem_text, problems[:20]))))
        line.setEnabled(first is not None)
        fix = first.fix if first is not None and not read_only else None
        self.fix.setVisible(fix is not None)
        if fix is not None:
            name = tr("Change to {word}").format(word=fix)
            self.fix.setAccessibleName(name)
            self.fix.setToolTip(plain_tip(name))
        self._place()

    def show_place(self, line: int, column: int, tokens: int) -> None:
        place = tr("Ln {line}, Col {column}").format(line=line, column=column)
        size = tr_plural("{count} token", "{count} tokens", tokens)
        self._right = f"{place}    {size}"
        self._place()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self.theme.height(30, "small"))

    def _follow(self) -> None:
        self.updateGeometry()
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def _place(self) -> None:
        t, height = self.theme, self.height()
        right = t.metrics("small").horizontalAdvance(self._right) + t.px(36) if self._right else 0
        fix = self.fix.sizeHint().width() + t.px(4) if not self.fix.isHidden() else 0
        left = t.px(14)
        room = max(0, self.width() - left - right - fix)
        width = min(self.line.wanted, room)
        tall = self.line.sizeHint().height()
        put(self.line, left, (height + 1 - tall) // 2, width, tall)
        tall = self.fix.sizeHint().height()
        put(self.fix, left + width + t.px(2), (height + 1 - tall) // 2, fix, tall)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.fillRect(0, 0, self.width(), 1, t.color("hair"))
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        box = rect.adjusted(0, 1, -t.px(20), 0)
        paint_text(painter, t, box, self._right, "small digits", "text2", at_right)
