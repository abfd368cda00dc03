"""Node walk: tells which node an arrow key goes to from another one; free of Qt (W-67)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .layout import Box
from .nodes import Graph


class NodeWalk:
    """The ways between the nodes of a graph, as they are placed. Each is empty where none leads."""

    def __init__(self, graph: Graph, boxes: Mapping[str, Box]) -> None:
        self._graph, self._boxes = graph, boxes
        self._nodes = {node.id: node for node in graph.nodes}

    def first(self, within: str = "") -> str:
        """The first node of all, or of those inside of an open one."""
        ids = [id for id, node in self._nodes.items() if node.within == within]
        boxes = self._boxes
        return min(ids, key=lambda id: (boxes[id].layer, boxes[id].x), default="")

    def above(self, id: str) -> str:
        """The nearest that a node needs: of an open node its last ones inside."""
        if id not in self._nodes:
            return self.first()
        if not (needs := self._graph.needs(id)):
            return self._nodes[id].within
        return self._nearest(id, [last for need in needs for last in self._ends(need)])

    def below(self, id: str) -> str:
        """The nearest that needs a node: of an open node the first ones inside."""
        if id not in self._nodes:
            return self.first()
        if self._nodes[id].fold == "open":
            return self.first(id)
        outer = id
        while not (found := self._graph.needed_by(outer)) and self._nodes[outer].within:
            outer = self._nodes[outer].within
        return self._nearest(id, found)

    def beside(self, id: str, step: int) -> str:
        """The one to the right in the same layer, or with -1 to the left."""
        if id not in self._nodes:
            return self.first()
        boxes, nodes = self._boxes, self._nodes
        at = boxes[id].layer, nodes[id].within
        row = [one for one in boxes if (boxes[one].layer, nodes[one].within) == at]
        row.sort(key=lambda one: boxes[one].x)
        place = row.index(id) + step
        return row[place] if 0 <= place < len(row) else ""

    def _ends(self, id: str) -> list[str]:
        """A node, or the last ones inside of it where it is open."""
        if self._nodes[id].fold != "open":
            return [id]
        inside = [one for one in self._graph.inside(id) if not self._graph.needed_by(one)]
        return [last for one in inside for last in self._ends(one)] or [id]

    def _nearest(self, here: str, ids: Iterable[str]) -> str:
        boxes = self._boxes

        def distance(id: str) -> tuple[float, float]:
            return abs(boxes[id].y - boxes[here].y), abs(boxes[id].centre - boxes[here].centre)

        return min((id for id in ids if id in boxes), key=distance, default="")
