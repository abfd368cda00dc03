"""Nesting: lays out a graph with others inside of its nodes. Free of Qt.

What stands inside of a node is laid out by itself, and the node gets the room that it takes. So
the nodes around it stay in their layers and in their order when it is unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from .layout import Box, Edge, Gaps, GraphLayout, Point, Size, lay_out

Reach: TypeAlias = Callable[[GraphLayout], float]
"""How far to the right goes what is drawn with these nodes, such as ways back."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Room around what stands inside of a node: above it, and at its other sides."""

    head: float
    side: float


class Nesting:
    """Nodes, of which each may stand within another.

    ``within`` names that one by node, empty for none.
    """

    def __init__(
        self,
        sizes: Mapping[str, Size],
        within: Mapping[str, str],
        edges: Iterable[Edge],
        gaps: Gaps,
        frame: Frame,
        reach: Reach,
    ) -> None:
        self._gaps, self._frame, self._reach = gaps, frame, reach
        self._sizes: dict[str, dict[str, Size]] = {"": {}}
        self._edges: dict[str, list[Edge]] = {}
        for id, size in sizes.items():
            self._sizes.setdefault(within[id], {})[id] = size
        for edge in edges:
            if edge[0] in within:
                self._edges.setdefault(within[edge[0]], []).append(edge)
        self._inside: dict[str, tuple[GraphLayout, float]] = {}
        """What stands in each node, and how far to the right it goes."""
        self._boxes: dict[str, Box] = {}
        self._routes: dict[Edge, tuple[Point, ...]] = {}
        self._upwards: set[Edge] = set()

    def layout(self) -> GraphLayout:
        """All places. In the order of ``boxes`` a node comes before those inside of it; their
        layers are those of their own graph.
        """
        whole = self._place("")
        self._put(whole, 0.0, 0.0)
        return GraphLayout(self._boxes, self._routes, frozenset(self._upwards), whole.bounds)

    def _place(self, id: str) -> GraphLayout:
        """The nodes that stand in one, as if they stood alone."""
        sizes = {one: self._with_inside(one, size) for one, size in self._sizes[id].items()}
        return lay_out(sizes, self._edges.get(id, ()), self._gaps)

    def _with_inside(self, id: str, size: Size) -> Size:
        if id not in self._sizes:
            return size
        found = self._place(id)
        left, top, right, bottom = found.bounds
        right = max(right, self._reach(found))
        self._inside[id] = found, right
        side = self._frame.side
        wide = max(size[0], right - left + 2 * side)
        return wide, self._frame.head + bottom - top + side

    def _put(self, placed: GraphLayout, x: float, y: float) -> None:
        """Move nodes with all that stands in them."""
        for id, box in placed.boxes.items():
            moved = self._boxes[id] = replace(box, x=box.x + x, y=box.y + y)
            if id in self._inside:
                found, right = self._inside[id]
                left, top, *_ = found.bounds
                middle = round(moved.centre - (left + right) / 2)
                self._put(found, middle, moved.y + self._frame.head - top)
        for edge, points in placed.routes.items():
            self._routes[edge] = tuple((at_x + x, at_y + y) for at_x, at_y in points)
        self._upwards |= placed.upwards
