"""Formulas: TeX, drawn in a process of their own, and kept.

A formula that cannot be drawn, or not within ten seconds, stays as it was written.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, Timer
from typing import TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

import studio
from studio.ui.widgets.thread_signal import ThreadSignal

from .formula_process import SIZE

LONGEST = 2000
"""Characters of a formula that are drawn."""
WIDEST, TALLEST = 1000.0, 100.0
"""Lengths in em from which on a formula is not drawn: TeX can ask for rules of miles."""
PICTURES = 256
"""Pictures of formulas that are kept."""
_IDLE = 60.0  # s
_PATIENCE = 10.0  # s
_ENVIRONMENT = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_VIEW = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')

Order: TypeAlias = tuple[str, bool]
"""A formula without its delimiters, and whether it has a line of its own."""
EM = 1.1
"""Size of formulas for that of the text: their letters are small for their size."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A formula, drawn in black. Lengths are in em; the baseline lies between the last two."""

    svg: str
    width: float
    ascent: float
    descent: float


class Formulas(QObject):
    """Hands out drawings; ``drawn`` is emitted when there are new ones."""

    drawn = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: dict[Order, Drawing | None] = {}
        self._asked: set[Order] = set()
        self._queue: SimpleQueue[Order | None] = SimpleQueue()
        self._work: _Work | None = None
        self._pictures: dict[tuple[Drawing, float, int, float], QPixmap] = {}
        queue = self._queue
        self.destroyed.connect(lambda: queue.put(None))

    @property
    def child(self) -> subprocess.Popen[str] | None:
        """The process while one runs."""
        return self._work and self._work.child

    def find(self, written: str) -> Drawing | None:
        """The drawing of a formula with its delimiters; if it comes later, ``drawn`` tells."""
        order = _order(written)
        if order in self._known:
            return self._known[order]
        if order not in self._asked and len(written) <= LONGEST:
            self._asked.add(order)
            self._queue.put(order)
            if self._work is None:
                done = ThreadSignal()
                done.emitted.connect(self.drawn)
                self._work = _Work(self._queue, self._known, done)
                Thread(target=self._work.run, name="formulas", daemon=True).start()
        return None

    def waits_for(self, written: str) -> bool:
        """Whether ``find`` may have more to say later."""
        order = _order(written)
        return order in self._asked and order not in self._known

    def paint(
        self, painter: QPainter, drawing: Drawing, at: QRectF, em: float, color: QColor
    ) -> None:
        """Paint into a rectangle of the drawing's size at ``em`` pixels."""
        ratio = painter.device().devicePixelRatio()
        key = drawing, em, color.rgba(), ratio
        picture = self._pictures.pop(key, None) or _picture(drawing, em, color, ratio)
        self._pictures[key] = picture  # the newest is last
        if len(self._pictures) > PICTURES:
            del self._pictures[next(iter(self._pictures))]
        painter.drawPixmap(at.topLeft().toPoint(), picture)


class _Work:
    """What the thread does: it holds nothing of the window, which may be gone before it ends."""

    def __init__(
        self,
        queue: SimpleQueue[Order | None],
        known: dict[Order, Drawing | None],
        done: ThreadSignal,
    ) -> None:
        self.child: subprocess.Popen[str] | None = None
        self._queue, self._known, self._done = queue, known, done

    def run(self) -> None:
        try:
            while True:
                try:
                    order = self._queue.get(timeout=_IDLE if self.child else None)
                except Empty:
                    _end(self.child)
                    self.child = None
                    continue
                if order is None:
                    return
                self._known[order] = self._draw(order)
                if self._queue.empty():
                    self._done.emit(order)
        finally:
            _end(self.child)
            self._done.end()

    def _draw(self, order: Order) -> Drawing | None:
        if self.child is None or self.child.poll() is not None:
            _end(self.child)
            self.child = None
            try:
                self.child = _start()
            except OSError:  # too many processes, or no memory
                return None
        return _drawing(_ask(self.child, order))


def _order(written: str) -> Order:
    size = 1 if written.startswith("$") and not written.startswith("$$") else 2
    return written[size:-size].strip(), written.startswith(("$$", "\\["))


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "studio.ui.transcript.text.formula_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        cwd=Path(studio.__file__).parents[1],
        start_new_session=True,  # Ctrl-C in a terminal is for the program alone
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )


def _ask(child: subprocess.Popen[str], order: Order) -> str:
    """The SVG of a formula; empty if it cannot be drawn."""
    assert child.stdin is not None and child.stdout is not None
    deadline = Timer(_PATIENCE, child.kill)
    deadline.start()
    try:
        child.stdin.write(json.dumps({"tex": order[0], "display": order[1]}) + "\n")
        child.stdin.flush()
        return json.loads(child.stdout.readline()).get("svg", "")
    except (OSError, ValueError):
        return ""
    finally:
        deadline.cancel()


def _end(child: subprocess.Popen[str] | None) -> None:
    if child is None:
        return
    child.kill()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    child.wait()


def _drawing(svg: str) -> Drawing | None:
    found = _VIEW.search(svg)
    if found is None:
        return None
    _, top, width, height = (float(value) / SIZE for value in found.groups())
    if not (0 < width < WIDEST and 0 < height < TALLEST):
        return None
    return Drawing(svg, width, -top, top + height)


def _picture(drawing: Drawing, em: float, color: QColor, ratio: float) -> QPixmap:
    size = QRectF(0, 0, drawing.width * em, (drawing.ascent + drawing.descent) * em)
    picture = QPixmap((size.size() * ratio).toSize().expandedTo(QSize(1, 1)))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    svg = drawing.svg.replace('"black"', f'"{color.name()}"')
    QSvgRenderer(QByteArray(svg.encode())).render(painter, size)
    painter.end()
    return picture


@dataclass(frozen=True, slots=True)
class FormulaBox:
    """A formula in a line of text, in place of the ``size`` UTF-16 units from ``start`` on."""

    start: int
    size: int
    drawing: Drawing
    em: float
    formulas: Formulas

    @property
    def width(self) -> float:
        return self.drawing.width * self.em + 2

    def blank(self, font: QFont, space: float) -> QFont:
        """A font whose hard spaces fill the box; ``space`` is how wide one is in ``font``."""
        made = QFont(font)
        made.setLetterSpacing(QFont.SpacingType.AbsoluteSpacing, self.width / self.size - space)
        return made

    def paint(self, painter: QPainter, x: float, baseline: float, color: QColor) -> None:
        em, drawing = self.em, self.drawing
        box = QRectF(
            x + 1, baseline - drawing.ascent * em, drawing.width * em,
            (drawing.ascent + drawing.descent) * em,
        )  # fmt: skip
        self.formulas.paint(painter, drawing, box, em, color)
