"""Shows the run of a chat in numbers: state, context, tokens and cost; lists its requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.ui.formatting import number, short_count
from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import draw_text, mirrored
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_spinner, paint_text

STATES: dict[str, tuple[str, str]] = {
    "idle": ("circle", "text3"),
    "running": ("", "accent_text"),
    "waiting": ("shield-question-mark", "warn"),
    "done": ("check", "ok"),
    "failed": ("circle-alert", "err"),
    "stopped": ("square", "text2"),
}
"""Icon and colour of a run's state; no icon is a spinner."""

PARTS: dict[str, str] = {
    "instructions": tr_later("Instructions"),
    "tools": tr_later("Tools"),
    "messages": tr_later("Messages"),
    "files": tr_later("Files"),
    "results": tr_later("Tool results"),
    "summary": tr_later("Summary"),
}
"""What takes room in the model's context, by ``PartKind``."""
PART_HUES = {
    "instructions": "slate",
    "tools": "plum",
    "messages": "blue",
    "files": "teal",
    "results": "rust",
    "summary": "ochre",
}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the Run page shows. Numbers are tokens; an empty text is left out.

    ``state`` is a key of ``STATES``, ``title`` its words, ``time`` as “1:12”.
    ``parts`` of the context are (name, tokens); ``window`` is the model's, or
    None where nobody knows it. ``input`` counts everything sent, ``cached`` and
    ``written`` too; ``output`` counts ``reasoning`` too. ``cost`` and ``today``
    are in words, ``notes`` say whose figure the cost is.
    """

    state: str = "idle"
    title: str = ""
    time: str = ""
    steps: int = 0
    tool_calls: int = 0
    folder: str = ""
    used: int = 0
    window: int | None = None
    parts: tuple[tuple[str, int], ...] = ()
    pins: int = 0
    """Messages that are kept whole."""
    summing: Literal["", "can", "does"] = ""
    """Whether the conversation can be summed up, or is being."""
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0
    cost: str = ""
    today: str = ""
    notes: Sequence[str] = ()
    seen: Sequence[tuple[str, str]] = ()
    """What makes sending anything out a risk, and the first source of each (T-7)."""


class LineStyle(NamedTuple):
    """Font and colour of the left and the right side of a line, and its height in pixels."""

    left: tuple[str, str] = ("ui", "text2")
    right: tuple[str, str] = ("ui_medium", "text1")
    pitch: int = 24


ROW = LineStyle()
TITLE = LineStyle(("ui_medium", "text1"), ("ui", "text2"))
HEADING = LineStyle(("small_strong", "text1"), ("small", "text2"))
PART = LineStyle(("small", "text2"), ("small", "text1"), 21)
SOURCES = LineStyle(right=("small", "text3"), pitch=20)
NOTE = LineStyle(("small", "text3"))


MARGIN = 16
AT_RIGHT = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
_WRAP = int(Qt.TextFlag.TextWordWrap)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


class RunPage(PaintedWidget):
    """Painted in one go; its accessible name has the same facts."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._facts = RunFacts()
        self._height = 0
        self._seen_at = QRectF()
        self.summarise = Button(theme, tr("Summarise now"), parent=self)
        self.summarise.hide()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        self._measure()
        theme.changed.connect(self._measure)

    def set(self, facts: RunFacts) -> None:
        if facts == self._facts and self._height:
            return
        self._facts = facts
        self.summarise.setVisible(bool(facts.summing))
        self.summarise.setEnabled(facts.summing == "can")
        self.summarise.setText(
            tr("Summing up…") if facts.summing == "does" else tr("Summarise now")
        )
        used = tr("context {size}").format(size=short_count(facts.used)) if facts.used else ""
        seen = tr("seen {seen}").format(seen=self._seen()) if facts.seen else ""
        steps = tr_plural("{count} step", "{count} steps", facts.steps)
        self.setAccessibleName(
            joined((facts.title or tr("Not started"), facts.time, steps, used, facts.cost, seen))
        )
        self._measure()

    def sizeHint(self) -> QSize:
        return QSize(240, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self._height)

    def _measure(self) -> None:
        t, f = self.theme, self._facts
        self.summarise.resize(self.summarise.sizeHint())
        height = t.px(10) + t.px(24) * (3 + bool(f.folder)) + t.px(20)
        height += (t.px(24) + t.px(20)) if f.seen else 0
        height += t.px(38) + t.px(21) * (len(f.parts) + bool(f.pins))
        self.summarise.move(MARGIN, height + t.px(10))
        height += self._button + t.px(20)
        height += t.px(24) * (1 + len(self._tokens()) + len(f.notes)) + t.px(6)
        if height != self._height:
            self._height = height
            self.updateGeometry()
        self.update()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            over = self._facts.seen and self._seen_at.contains(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), self.sources if over else "", self)
            return True
        return super().event(event)

    @property
    def _button(self) -> int:
        """Room for the button below the context's parts."""
        return self.theme.px(10) + self.summarise.height() if self._facts.summing else 0

    @property
    def sources(self) -> str:
        """What was seen, each with its first source."""
        return "\n".join(f"{_capital(what)}: {source}" for what, source in self._facts.seen)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        y = self._paint_state(painter, float(self.theme.px(10)))
        y = self._divide(painter, y)
        y = self._paint_context(painter, y)
        y = self._divide(painter, y)
        self._paint_cost(painter, y)

    def _paint_state(self, painter: QPainter, y: float) -> float:
        t, f = self.theme, self._facts
        side = t.px(16)
        icon, token = STATES.get(f.state, STATES["idle"])
        mark = QRectF(MARGIN - 1, y + (t.px(24) - side) / 2, side, side)
        if icon:
            t.paint_icon(painter, mark, icon, token)
        else:
            paint_spinner(painter, t, self, mark, token)
        y = self._paint_line(painter, y, f.title or tr("Not started"), f.time, TITLE, side + 6)
        y = self._paint_line(painter, y, tr("Steps"), str(f.steps))
        y = self._paint_line(painter, y, tr("Tool calls"), str(f.tool_calls))
        if f.folder:
            y = self._paint_line(painter, y, tr("Folder"), f.folder)
        if f.seen:
            self._seen_at = QRectF(0, y, self.width(), t.px(24) + t.px(20))
            y = self._paint_line(painter, y, tr("Seen"), _capital(self._seen()))
            sources = ", ".join(dict.fromkeys(source for _, source in f.seen))
            y = self._paint_line(painter, y, "", sources, SOURCES)
        return y

    def _paint_context(self, painter: QPainter, y: float) -> float:
        t, f = self.theme, self._facts
        used = short_count(f.used)
        used = (
            tr("{used} of {whole}").format(used=used, whole=short_count(f.window))
            if f.window
            else tr("{used} used").format(used=used)
        )
        y = self._paint_line(painter, y, tr("Context"), used, HEADING)
        bar = QRectF(MARGIN, y, self.width() - 2 * MARGIN, t.px(6))
        clip = QPainterPath()
        clip.addRoundedRect(bar, bar.height() / 2, bar.height() / 2)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setClipPath(clip)
        painter.fillRect(bar, t.color("track"))
        whole = f.window or max(1, f.used)
        x = bar.x()
        parts = f.parts or ((("", f.used),) if f.used else ())
        for name, count in parts:
            width = bar.width() * min(1.0, count / whole)
            hue = PART_HUES.get(name, "blue")
            painter.fillRect(QRectF(x, bar.y(), max(1.0, width - 1), bar.height()), t.hue(hue)[0])
            x += width
        painter.restore()
        y = bar.bottom() + t.px(8)
        for name, count in f.parts:
            dot = QRectF(MARGIN, y + t.px(21) / 2 - t.px(7) / 2, t.px(7), t.px(7))
            paint_rounded(painter, dot, dot.width() / 2, t.hue(PART_HUES.get(name, "blue"))[0])
            y = self._paint_line(painter, y, tr(PARTS[name]), short_count(count), PART, t.px(16))
        if f.pins:
            side = t.px(12)
            mark = QRectF(MARGIN - 2, y + (t.px(21) - side) / 2, side, side)
            t.paint_icon(painter, mark, "pin", "text2")
            y = self._paint_line(painter, y, tr("Pinned messages"), str(f.pins), PART, t.px(16))
        return y + self._button

    def _paint_cost(self, painter: QPainter, y: float) -> None:
        y = self._paint_line(painter, y, tr("Tokens and cost"), self._facts.cost, HEADING)
        for left, right in self._tokens():
            y = self._paint_line(painter, y, left, right)
        for note in self._facts.notes:
            y = self._paint_line(painter, y, note, "", NOTE)

    def _tokens(self) -> list[tuple[str, str]]:
        """What was used. Each token is in one line, except that thinking is output too."""
        f = self._facts
        lines = [
            (tr("Input"), max(0, f.input - f.cached - f.written)),
            (tr("Cached input"), f.cached),
            *([(tr("Written to cache"), f.written)] if f.written else []),
            (tr("Output"), f.output),
            *([(tr("Of that, thinking"), f.reasoning)] if f.reasoning else []),
        ]
        today = [(tr("All chats today"), f.today)] if f.today else []
        return [*((name, number(count)) for name, count in lines), *today]

    def _seen(self) -> str:
        return ", ".join(what for what, _ in self._facts.seen)

    def _divide(self, painter: QPainter, y: float) -> float:
        line = QRectF(MARGIN, round(y + self.theme.px(9)), self.width() - 32, 1)
        painter.fillRect(line, self.theme.color("hair"))
        return y + self.theme.px(20)

    def _paint_line(
        self,
        painter: QPainter,
        y: float,
        left: str,
        right: str,
        style: LineStyle = ROW,
        indent: float = 0,
    ) -> float:
        """Paint words at the left and a value at the right; returns where the next line begins."""
        t = self.theme
        rect = QRectF(MARGIN + indent, y, 0, t.px(style.pitch))
        rect.setRight(self.width() - MARGIN)
        role, color = style.left
        paint_text(painter, t, rect, left, role, color, room=rect.width())
        if right:
            room = rect.width() - t.metrics(role).horizontalAdvance(left) - 12
            role, color = style.right
            text = elided(t.metrics(f"{role} digits"), right, room, middle=True)
            paint_text(painter, t, rect, text, f"{role} digits", color, AT_RIGHT)
        return y + t.px(style.pitch)


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request: ``right`` is its cost, ``tokens`` what it used, ``broke`` why its cache did."""

    title: str
    right: str
    tokens: str
    broke: str = ""


class RequestList(PaintedWidget):
    """Painted where it is seen; hidden while there is nothing to list."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._rows: Sequence[RequestRow] = ()
        self._tops: list[int] = [0]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._measure)
        self.hide()

    def set(self, rows: Sequence[RequestRow]) -> None:
        """Show requests, the newest first."""
        if list(rows) == list(self._rows):
            return
        self._rows = rows
        self.setAccessibleName(tr("Requests, {count}").format(count=len(rows)))
        lines = (joined((row.title, row.tokens, row.right, row.broke)) for row in rows[:20])
        self.setAccessibleDescription(". ".join(lines))
        self.setVisible(bool(rows))
        self._measure()

    def _measure(self) -> None:
        t = self.theme
        y = t.px(20) + t.px(26)
        self._tops = []
        for row in self._rows:
            self._tops.append(y)
            y += t.px(42)
            if row.broke:
                y += self._broken(row, 0).height() + t.px(4)
        self._tops.append(y + t.px(8))
        self.setFixedHeight(self._tops[-1])
        self.update()

    def _broken(self, row: RequestRow, y: int) -> QRect:
        """Where the words about a broken cache are."""
        t = self.theme
        left = MARGIN + t.px(20)
        room = QRect(left, y, max(80, self.width() - MARGIN - left), 1000)
        found = t.metrics("small").boundingRect(room, _WRAP, row.broke)
        return QRect(left, y, room.width(), found.height())

    def sizeHint(self) -> QSize:
        return QSize(240, self._tops[-1])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._measure()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        with mirrored(painter, QRectF(self.rect()), self.layoutDirection()):
            self._paint(painter, event)
        painter.end()

    def _paint(self, painter: QPainter, event: QPaintEvent) -> None:
        t = self.theme
        painter.fillRect(MARGIN, t.px(9), self.width() - 2 * MARGIN, 1, t.color("hair"))
        head = QRectF(MARGIN, t.px(20), self.width() - 2 * MARGIN, t.px(24))
        self._line(painter, head, tr("Requests"), str(len(self._rows)), "small_strong", "text1")
        for at, row in enumerate(self._rows):
            top, end = self._tops[at], self._tops[at + 1]
            if end >= event.rect().top() and top <= event.rect().bottom():
                self._paint_row(painter, row, top)
        painter.end()

    def _paint_row(self, painter: QPainter, row: RequestRow, y: int) -> None:
        t, width = self.theme, self.width() - 2 * MARGIN
        self._line(painter, QRectF(MARGIN, y, width, t.px(21)), row.title, row.right, "ui", "text1")
        tokens = QRectF(MARGIN, y + t.px(20), width, t.px(18))
        self._line(painter, tokens, row.tokens, "", "small", "text2")
        if row.broke:
            place = self._broken(row, y + t.px(40))
            side = t.px(14)
            mark = QRectF(MARGIN, place.y() + 1, side, side)
            t.paint_icon(painter, mark, "triangle-alert", "warn")
            painter.setFont(t.font("small"))
            painter.setPen(t.color("warn"))
            draw_text(painter, QRectF(place), _WRAP, row.broke)

    def _line(
        self, painter: QPainter, rect: QRectF, left: str, right: str, role: str, token: str
    ) -> None:
        t = self.theme
        taken = t.metrics("small digits").horizontalAdvance(right) + 12 if right else 0
        room = rect.width() - taken
        paint_text(painter, t, rect, left, f"{role} digits", token, room=room)
        paint_text(painter, t, rect, right, "small digits", "text2", AT_RIGHT)
