"""Shows the run of a chat in numbers: state, context, tokens and cost, agents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.ui.formatting import short_count
from studio.ui.theme import Theme, elided, joined
from studio.ui.widgets import Button, paint_spinner, paint_tile

STATES: dict[str, tuple[str, str]] = {
    "idle": ("circle", "text3"),
    "running": ("", "accent_text"),
    "waiting": ("shield-question-mark", "warn"),
    "done": ("check", "ok"),
    "failed": ("circle-alert", "err"),
    "stopped": ("square", "text2"),
}
"""Icon and colour of a run's state; no icon is a spinner."""

PART_HUES = {
    "Instructions": "slate",
    "Tools": "plum",
    "Messages": "blue",
    "Files": "teal",
    "Tool results": "rust",
    "Summary": "ochre",
}


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """One agent of the run; ``depth`` is how far below the first it works."""

    name: str
    icon: str
    hue: str
    tokens: str = ""
    cost: str = ""
    state: str = "done"
    depth: int = 0


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
    title: str = "Not started"
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
    agents: Sequence[AgentFacts] = ()


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


class RunPage(QWidget):
    """Painted in one go; its name reads the same facts aloud."""

    MARGIN = 16

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._facts = RunFacts()
        self._height = 0
        self._seen_at = QRectF()
        self.summarise = Button(theme, "Summarise now", parent=self)
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
        self.summarise.setText("Summing up…" if facts.summing == "does" else "Summarise now")
        self.summarise.resize(self.summarise.sizeHint())
        used = f"context {short_count(facts.used)}" if facts.used else ""
        seen = f"seen {self._seen()}" if facts.seen else ""
        steps = "1 step" if facts.steps == 1 else f"{facts.steps} steps"
        self.setAccessibleName(joined((facts.title, facts.time, steps, used, facts.cost, seen)))
        self._measure()

    def sizeHint(self) -> QSize:
        return QSize(240, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self._height)

    def _measure(self) -> None:
        t, f = self.theme, self._facts
        height = t.px(10) + t.px(24) * (3 + bool(f.folder)) + t.px(20)
        height += (t.px(24) + t.px(20)) if f.seen else 0
        height += t.px(38) + t.px(21) * (len(f.parts) + bool(f.pins))
        self.summarise.move(self.MARGIN, height + t.px(10))
        height += self._button + t.px(20)
        height += t.px(24) * (1 + len(self._tokens()) + len(f.notes)) + t.px(6)
        height += (t.px(20) + t.px(26) + t.px(38) * len(f.agents)) if f.agents else 0
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

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        y = self._paint_state(painter, float(self.theme.px(10)))
        y = self._divide(painter, y)
        y = self._paint_context(painter, y)
        y = self._divide(painter, y)
        y = self._paint_cost(painter, y)
        if self._facts.agents:
            y = self._divide(painter, y)
            self._paint_agents(painter, y)
        painter.end()

    def _paint_state(self, painter: QPainter, y: float) -> float:
        t, f = self.theme, self._facts
        pitch = t.px(24)
        side = t.px(16)
        icon, token = STATES.get(f.state, STATES["idle"])
        mark = QRectF(self.MARGIN - 1, y + (pitch - side) / 2, side, side)
        self._mark(painter, mark, icon, token)
        self._pair(painter, y, f.title, f.time, "ui_medium", "text1", "ui", "text2", side + 6)
        y += pitch
        pairs = [("Steps", str(f.steps)), ("Tool calls", str(f.tool_calls))]
        if f.folder:
            pairs.append(("Folder", f.folder))
        if f.seen:
            pairs.append(("Seen", _capital(self._seen())))
        for left, right in pairs:
            self._pair(painter, y, left, right)
            y += pitch
        if f.seen:
            self._seen_at = QRectF(0, y - pitch, self.width(), pitch + t.px(20))
            sources = ", ".join(dict.fromkeys(source for _, source in f.seen))
            self._pair(painter, y, "", sources, right_role="small", right_token="text3", pitch=20)
            y += t.px(20)
        return y

    def _paint_context(self, painter: QPainter, y: float) -> float:
        t, f = self.theme, self._facts
        used = short_count(f.used)
        said = f"{used} of {short_count(f.window)}" if f.window else f"{used} used"
        self._pair(painter, y, "Context", said, "small_strong", "text1", "small", "text2")
        y += t.px(24)
        bar = QRectF(self.MARGIN, y, self.width() - 2 * self.MARGIN, t.px(6))
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
            dot = QRectF(self.MARGIN, y + t.px(21) / 2 - t.px(7) / 2, t.px(7), t.px(7))
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(t.hue(PART_HUES.get(name, "blue"))[0])
            painter.drawEllipse(dot)
            painter.restore()
            self._pair(
                painter,
                y,
                name,
                short_count(count),
                "small",
                "text2",
                "small",
                "text1",
                t.px(16),
                21,
            )
            y += t.px(21)
        if f.pins:
            side = t.px(12)
            mark = QRectF(self.MARGIN - 2, y + (t.px(21) - side) / 2, side, side)
            t.paint_icon(painter, mark, "pin", "text2")
            pins = str(f.pins)
            self._pair(
                painter, y, "Pinned messages", pins, "small", "text2", "small", "text1", t.px(16),
                21,
            )  # fmt: skip
            y += t.px(21)
        return y + self._button

    def _paint_cost(self, painter: QPainter, y: float) -> float:
        t, f = self.theme, self._facts
        self._pair(painter, y, "Tokens and cost", f.cost, "small_strong", "text1", "small", "text2")
        y += t.px(24)
        for left, right in self._tokens():
            self._pair(painter, y, left, right)
            y += t.px(24)
        for note in f.notes:
            self._pair(painter, y, note, "", "small", "text3")
            y += t.px(24)
        return y

    def _tokens(self) -> list[tuple[str, str]]:
        """What was used, each token in one line only, but for those of thinking."""
        f = self._facts
        lines = [
            ("Input", max(0, f.input - f.cached - f.written)),
            ("Cached input", f.cached),
            *([("Written to cache", f.written)] if f.written else []),
            ("Output", f.output),
            *([("Of that, thinking", f.reasoning)] if f.reasoning else []),
        ]
        today = [("All chats today", f.today)] if f.today else []
        return [*((name, f"{count:,}") for name, count in lines), *today]

    def _paint_agents(self, painter: QPainter, y: float) -> None:
        t, f = self.theme, self._facts
        self._pair(painter, y, "Agents", "", "small_strong", "text1")
        y += t.px(26)
        row = t.px(38)
        for agent in f.agents:
            x = self.MARGIN + agent.depth * t.px(22)
            side = t.px(18)
            middle = y + t.px(26) / 2
            if agent.depth:
                rail = x - t.px(22) + t.px(9)
                painter.fillRect(
                    QRectF(rail, y - t.px(10), 1, middle - y + t.px(10)), t.color("control")
                )
                painter.fillRect(QRectF(rail, middle, t.px(9), 1), t.color("control"))
            paint_tile(painter, t, QRectF(x, middle - side / 2, side, side), agent.icon, agent.hue)
            icon, token = STATES.get(agent.state, STATES["idle"])
            mark = t.px(15)
            right = self.width() - self.MARGIN
            self._mark(painter, QRectF(right - mark, middle - mark / 2, mark, mark), icon, token)
            self._pair(
                painter, y, agent.name, agent.cost, "ui", "text1", "small", "text2",
                x - self.MARGIN + side + 8, 26, t.px(26),
            )  # fmt: skip
            self._pair(
                painter,
                y,
                "",
                agent.tokens,
                right_role="small",
                right_token="text2",
                pitch=26,
                inset=t.px(84),
            )
            y += row

    def _mark(self, painter: QPainter, rect: QRectF, icon: str, token: str) -> None:
        if icon:
            self.theme.paint_icon(painter, rect, icon, token)
        else:
            paint_spinner(painter, self.theme, self, rect, token)

    def _seen(self) -> str:
        return ", ".join(what for what, _ in self._facts.seen)

    def _divide(self, painter: QPainter, y: float) -> float:
        line = QRectF(self.MARGIN, round(y + self.theme.px(9)), self.width() - 32, 1)
        painter.fillRect(line, self.theme.color("hair"))
        return y + self.theme.px(20)

    def _pair(
        self,
        painter: QPainter,
        y: float,
        left: str,
        right: str,
        role: str = "ui",
        token: str = "text2",
        right_role: str = "ui_medium",
        right_token: str = "text1",
        indent: float = 0,
        pitch: int = 24,
        inset: float = 0,
    ) -> None:
        """One line: words at the left, a value at the right."""
        t, middle = self.theme, Qt.AlignmentFlag.AlignVCenter
        rect = QRectF(self.MARGIN + indent, y, 0, t.px(pitch))
        rect.setRight(self.width() - self.MARGIN - inset)
        painter.setFont(t.font(role))
        painter.setPen(t.color(token))
        painter.drawText(rect, middle, elided(t.metrics(role), left, rect.width()))
        if right:
            room = rect.width() - t.metrics(role).horizontalAdvance(left) - 12
            painter.setFont(t.font(right_role, digits=True))
            painter.setPen(t.color(right_token))
            text = elided(t.metrics(right_role), right, room, middle=True)
            painter.drawText(rect, middle | Qt.AlignmentFlag.AlignRight, text)
