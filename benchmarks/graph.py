"""What a graph of 500 steps costs: to lay out, to let it grow, to move and zoom (W-63).

QT_QPA_PLATFORM=offscreen python benchmarks/graph.py [rounds]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from measure import Row, middle, quick, show
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPixmap
from PySide6.QtWidgets import QApplication

from studio.ui.graph.layout import Edge, LayeredGraph, Size
from studio.ui.graph.nodes import Fold, Graph, GraphNode
from studio.ui.graph.view import GraphView
from studio.ui.theme import Theme

STEPS, EDGES = 500, 920
SIZE = (208.0, 60.0)


def edges() -> tuple[Edge, ...]:
    chance = random.Random(3)
    found: set[tuple[int, int]] = set()
    for step in range(1, STEPS):
        found.add((chance.randrange(max(0, step - 30), step), step))
    while len(found) < EDGES:
        step = chance.randrange(1, STEPS)
        found.add((chance.randrange(max(0, step - 30), step), step))
    return tuple((f"s{a}", f"s{b}") for a, b in sorted(found))


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of CPU."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def layouts(rounds: int) -> tuple[list[float], list[float]]:
    sizes: dict[str, Size] = {f"s{at}": SIZE for at in range(STEPS)}
    known, whole, grown = edges(), list[float](), list[float]()
    layered = LayeredGraph(sizes, known)
    for number in range(rounds):
        whole.append(timed(lambda: LayeredGraph(sizes, known).layout()))
        grown.append(timed(lambda at=number: layered.add(f"new{at}", SIZE, ["s400", "s450"])))
        grown[-1] += timed(layered.layout)
    return whole, grown


def frames(app: QApplication, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each frame while a graph is moved and zoomed."""
    theme = Theme("light")
    theme.apply(app)
    view = GraphView(theme)
    view.resize(840, 600)
    nodes = tuple(
        GraphNode(f"s{at}", f"step {at}", about="Waits for two others", state="done")
        for at in range(STEPS)
    )
    view.show_graph(Graph(nodes, edges()))
    view.show()
    app.processEvents()
    found: dict[str, list[float]] = {"move": [], "zoom": [], "overview": [], "plain": []}
    for _ in range(rounds):
        view.fit()
        found["overview"].append(timed(view.repaint))
        for zoom in (0.3, 0.5, 0.75, 0.9, 1.0, 1.25):
            view._zoom_to(zoom)
            found["zoom"].append(timed(view.repaint))
        for step in range(40):
            view.pan(QPointF(30 if step % 4 < 2 else -30, -25))
            found["move"].append(timed(view.repaint))
        found["plain"].append(timed(lambda: plain(view)))
    return found


def nestings(rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of unfolding 25 of 250 steps, ten steps each, and of a frame with news."""
    view = GraphView(theme := Theme("light"))
    view.resize(840, 600)
    nodes, ways = list[GraphNode](), list[Edge]()
    for at in range(250):
        fold: Fold = "" if at % 10 else "folded"
        nodes.append(GraphNode(f"s{at}", f"step {at}", state="running", fold=fold))
        ways.append((f"s{at // 4}", f"s{at}"))
    inside, within = list[GraphNode](), list[Edge]()
    for node in nodes:
        inside.append(replace(node, fold="open") if node.fold else node)
        for at in range(10 if node.fold else 0):
            inside.append(GraphNode(f"{node.id}/{at}", f"{at}", state="done", within=node.id))
            within.append((f"{node.id}/{at // 2}", f"{node.id}/{at}"))
    folded, unfolded = Graph(tuple(nodes), tuple(ways)), Graph(tuple(inside), (*ways, *within))
    turned, news = list[float](), list[float]()
    for number in range(rounds):
        view.show_graph(folded)
        turned.append(timed(lambda: view.show_graph(unfolded)))
        for at in range(20):
            one = replace(inside[-1], about=f"{number} {at}")
            graph = replace(unfolded, nodes=(*inside[:-1], one))
            news.append(timed(lambda graph=graph: view.show_graph(graph)))
    theme.deleteLater()
    return turned, news


def plain(view: GraphView) -> None:
    """As many rounded boxes as a frame has, and nothing else."""
    made = QPixmap(view.size())
    painter = QPainter(made)
    painter.fillRect(made.rect(), QColor("white"))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for at in range(30):
        painter.drawRoundedRect((at % 4) * 200, at // 4 * 80, 190, 60, 9, 9)
    painter.end()


def slowest(values: list[float]) -> float:
    """The frame that one of a hundred is slower than."""
    return sorted(values)[int(len(values) * 0.99) - 1]


def main() -> None:
    counts = [int(word) for word in sys.argv[1:] if word.isdigit()]
    rounds = counts[0] if counts else 4 if quick() else 12
    app = QApplication([])
    whole, grown = layouts(rounds)
    found = frames(app, rounds)
    turned, news = nestings(rounds)
    base, against = middle(found["plain"]), "30 rounded boxes"
    show(
        [
            Row("500 steps, 920 edges laid out, least", min(whole), None, "ms", "<= 15 ms"),
            Row("one more step laid out, least", min(grown), None, "ms", "<= 4 ms"),
            Row("a frame of a move, p99", slowest(found["move"]), base, "ms", "<= 16 ms", against),
            Row("a frame of a zoom, p99", slowest(found["zoom"]), base, "ms", "<= 16 ms", against),
            Row("25 of 250 steps unfolded, ten in each, least", min(turned), None, "ms", ""),
            Row("news from inside of one of them, p99", slowest(news), None, "ms", ""),
            Row("all of it at once, least", min(found["overview"]), base, "ms", "", against),
        ]
    )


if __name__ == "__main__":
    main()
