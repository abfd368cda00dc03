"""What a timeline of 100,000 bars costs: to make, to keep, to move and to zoom (W-64).

QT_QPA_PLATFORM=offscreen python benchmarks/timeline.py [rounds]
"""

from __future__ import annotations

import random
import sys
import time
import tracemalloc
from collections.abc import Callable

from measure import Row, middle, quick, show
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from studio.domain.run_events import ItemsFound, StepFinished, StepStarted
from studio.domain.runs import item_keys
from studio.domain.workflows import Step, Workflow
from studio.ui.pages.workflows.runs.lanes import Lanes
from studio.ui.pages.workflows.runs.timeline import Timeline
from studio.ui.theme import Theme

BARS, LANES, AT_A_TIME = 100_000, 8, 4


def lanes() -> tuple[Lanes, float]:
    """A run of eight agents that each do many items, and the megabytes that it takes."""
    steps = tuple(Step(f"s{at}", "agent", f"Agent {at}", for_each=(1,)) for at in range(LANES))
    made = Lanes(Workflow("Many", steps), {})
    items = tuple(range(BARS // LANES))
    keys = item_keys(items)
    chance, now = random.Random(3), [0.0] * LANES * AT_A_TIME
    for step in steps:
        made.apply(1.0, ItemsFound(step.id, items))
    tracemalloc.start()
    for count, key in enumerate(keys):
        for at, step in enumerate(steps):
            place = at * AT_A_TIME + count % AT_A_TIME
            begin, end = now[place] + 0.1, now[place] + 0.1 + chance.random()
            now[place] = end
            made.apply(begin + 1, StepStarted(step.id, key))
            state = "failed" if chance.random() < 0.02 else "done"
            made.apply(end + 1, StepFinished(step.id, key, state))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return made, size / 1e6


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def frames(app: QApplication, made: Lanes, rounds: int) -> dict[str, list[float]]:
    theme = Theme("light")
    theme.apply(app)
    view = Timeline(theme)
    view.resize(1120, 202)
    made.ended = max(row.ends[-1] for lane in made.lanes for row in lane.rows)
    view.show_lanes(made)
    view.show()
    app.processEvents()
    found: dict[str, list[float]] = {"move": [], "zoom": [], "all": [], "plain": []}
    for _ in range(rounds):
        view.show_all()
        found["all"].append(timed(view.viewport().repaint))
        for _ in range(10):
            view.zoom(0.4)
            found["zoom"].append(timed(view.viewport().repaint))
        for step in range(20):
            view._move((1 if step % 4 < 2 else -1) * view._seconds / 9)
            found["move"].append(timed(view.viewport().repaint))
        found["plain"].append(timed(plain))
    return found


def plain() -> None:
    """300 rounded boxes, and nothing else."""
    made = QPixmap(1120, 202)
    painter = QPainter(made)
    painter.fillRect(made.rect(), QColor("white"))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for at in range(300):
        painter.drawRoundedRect((at % 30) * 36, at // 30 * 20, 30, 14, 3, 3)
    painter.end()


def slowest(values: list[float]) -> float:
    """The frame that one of a hundred is slower than."""
    return sorted(values)[int(len(values) * 0.99) - 1]


def main() -> None:
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    rounds = counts[0] if counts else 4 if quick() else 12
    app = QApplication([])
    made, size = lanes()
    found = frames(app, made, rounds)
    base, against = middle(found["plain"]), "300 rounded boxes"
    show(
        [
            Row("bars", made.count, None, "", f">= {BARS}"),
            Row("what they take", size, None, "MB", "<= 20 MB"),
            Row("a frame of a move, p99", slowest(found["move"]), base, "ms", "<= 16 ms", against),
            Row("a frame of a zoom, p99", slowest(found["zoom"]), base, "ms", "<= 16 ms", against),
            Row("all of them at once, p99", slowest(found["all"]), base, "ms", "<= 16 ms", against),
        ]
    )


if __name__ == "__main__":
    main()
