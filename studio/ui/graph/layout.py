"""Graph layout: places the nodes of a directed graph in layers, from top to bottom. Free of Qt.

A node's layer is one below the lowest of those that it needs, so a node that is added at the end
moves no other to another layer. Long edges run through a place of their own in each layer that
they cross; the edges of one node share these places. Edges that close a circle run upwards.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Edge: TypeAlias = tuple[str, str]
"""From the node that is needed to the one that needs it."""
Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[float, float]
"""Width and height."""

SWEEPS = 4
"""How often the layers are ordered by their neighbours, down and up in turn."""
PULLS = 2
"""How often nodes are drawn towards those above them, and then towards those below."""
STRAIGHT = 6.0
"""How much more than a node the place of a long edge keeps to its line."""


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node stands; ``x`` and ``y`` are its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    layer: int

    @property
    def centre(self) -> float:
        return self.x + self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height


@dataclass(frozen=True, slots=True)
class Gaps:
    """Room between the nodes of a layer, between layers, and beside a long edge."""

    column: float = 36.0
    row: float = 40.0
    edge: float = 14.0


@dataclass(frozen=True, slots=True)
class GraphLayout:
    """The places of all nodes, and the ways of all edges.

    A route has the points where the edge leaves its node, enters and leaves each layer that it
    crosses, and ends. ``bounds`` are the left, top, right and bottom of all nodes and edges.
    """

    boxes: Mapping[str, Box]
    routes: Mapping[Edge, tuple[Point, ...]]
    upwards: frozenset[Edge]
    bounds: tuple[float, float, float, float]


def lay_out(
    sizes: Mapping[str, Size], edges: Iterable[Edge], gaps: Gaps | None = None
) -> GraphLayout:
    """Place nodes of these sizes; edges of nodes without a size are left out."""
    return LayeredGraph(sizes, edges, gaps).layout()


class LayeredGraph:
    """The layers and places of a graph that may grow at its end.

    Vertices are numbers: the nodes, and the places of long edges, which have no name.
    """

    def __init__(
        self, sizes: Mapping[str, Size], edges: Iterable[Edge], gaps: Gaps | None = None
    ) -> None:
        self._gaps = gaps or Gaps()
        self._number = {name: number for number, name in enumerate(sizes)}
        self._names: list[str] = []
        self._sizes: list[Size] = []
        self._layer: list[int] = []
        self._centres: list[float] = []
        self._above: list[list[int]] = []
        self._below: list[list[int]] = []
        self._chains: list[list[int]] = []
        """By node: the places that its long edges run through, from the layer below it."""
        self._layers: list[list[int]] = []
        self._spans: list[tuple[float, float]] = []
        """Top and bottom of each layer."""
        self._given = dict.fromkeys(
            (self._number[a], self._number[b])
            for a, b in edges
            if a in self._number and b in self._number and a != b
        )
        """The edges as they are drawn."""
        self._upwards = _closing(len(self._number), self._given)
        """Those that close a circle."""
        self._edges = dict.fromkeys(
            (b, a) if (a, b) in self._upwards else (a, b) for a, b in self._given
        )
        """All edges downwards."""
        layers = _longest_paths(len(self._number), self._edges)
        for (name, size), layer in zip(sizes.items(), layers, strict=True):
            self._layers_to(layer)[layer].append(self._vertex(name, size, layer))
        for first, second in self._edges:
            for made in self._connect(first, second):
                self._layers[self._layer[made]].append(made)
        self._order()
        self._pull()

    # The structure

    def _vertex(self, name: str, size: Size, layer: int) -> int:
        self._names.append(name)
        self._sizes.append(size)
        self._layer.append(layer)
        self._centres.append(0.0)
        self._above.append([])
        self._below.append([])
        self._chains.append([])
        return len(self._names) - 1

    def _layers_to(self, layer: int) -> list[list[int]]:
        while len(self._layers) <= layer:
            self._layers.append([])
        return self._layers

    def _connect(self, first: int, second: int) -> list[int]:
        """Lead an edge through the layers between its nodes; the places that are new."""
        chain, last, made = self._chains[first], first, list[int]()
        for layer in range(self._layer[first] + 1, self._layer[second]):
            at = layer - self._layer[first] - 1
            if at == len(chain):
                chain.append(self._vertex("", (0.0, 0.0), layer))
                made.append(chain[at])
                self._join(last, chain[at])
            last = chain[at]
        self._join(last, second)
        return made

    def _join(self, upper: int, lower: int) -> None:
        self._below[upper].append(lower)
        self._above[lower].append(upper)

    # The order in a layer

    def _order(self) -> None:
        place = [0.0] * len(self._names)
        for vertices in self._layers:
            for at, vertex in enumerate(vertices):
                place[vertex] = at
        for sweep in range(SWEEPS):
            near, rows = self._above, self._layers[1:]
            if sweep % 2:
                near, rows = self._below, self._layers[-2::-1]
            for vertices in rows:
                for vertex in vertices:
                    if beside := near[vertex]:
                        place[vertex] = sum([place[one] for one in beside]) / len(beside)
                vertices.sort(key=place.__getitem__)
                for at, vertex in enumerate(vertices):
                    place[vertex] = at

    # The places in a layer

    def _pull(self) -> None:
        """Put each vertex near the middle of its neighbours, as far as its layer has room.

        At the end long edges run straight down where that moves no node far.
        """
        rows = [(vertices, self._offsets(vertices)) for vertices in self._layers]
        centres, names = self._centres, self._names
        for vertices, offsets in rows:
            middle = offsets[-1] / 2
            for vertex, offset in zip(vertices, offsets, strict=True):
                centres[vertex] = offset - middle
        both = [[*one, *other] for one, other in zip(self._above, self._below, strict=True)]
        for near in (*[self._above, self._below] * PULLS, both, both):
            for vertices, offsets in rows[::-1] if near is self._below else rows:
                wanted = [
                    sum([centres[one] for one in near[vertex]]) / len(near[vertex])
                    if near[vertex]
                    else centres[vertex]
                    for vertex in vertices
                ]
                self._spread(vertices, wanted, offsets)
        for vertices, offsets in rows:
            wanted = [
                centres[vertex if names[vertex] else self._above[vertex][0]] for vertex in vertices
            ]
            self._spread(vertices, wanted, offsets, 1 / STRAIGHT)
        self._stack()

    def _offsets(self, vertices: Sequence[int]) -> list[float]:
        """How far each vertex of a layer is at least from the first one."""
        names, sizes, gaps = self._names, self._sizes, self._gaps
        found: list[float] = []
        at = half = 0.0
        before = ""
        for vertex in vertices:
            width, name = sizes[vertex][0] / 2, names[vertex]
            if found:
                at += half + width + (gaps.column if before and name else gaps.edge)
            found.append(at)
            before, half = name, width
        return found

    def _spread(
        self,
        vertices: Sequence[int],
        wanted: Sequence[float],
        offsets: Sequence[float],
        straight: float = STRAIGHT,
    ) -> None:
        """Place a layer in its order: as near as it can be to what is wanted, by least squares.

        Without the distances that vertices keep this is a monotone regression: neighbours that
        want to pass each other form a block at their mean.
        """
        names = self._names
        blocks: list[tuple[float, float, int]] = []
        """Weighted sum of places, weight, and number of vertices of each."""
        for vertex, want, offset in zip(vertices, wanted, offsets, strict=True):
            weight = 1.0 if names[vertex] else straight
            total, count = (want - offset) * weight, 1
            while blocks and blocks[-1][0] * weight >= total * blocks[-1][1]:
                other, heavy, many = blocks.pop()
                total, weight, count = total + other, weight + heavy, count + many
            blocks.append((total, weight, count))
        index = 0
        for total, weight, count in blocks:
            mean = total / weight
            for _ in range(count):
                self._centres[vertices[index]] = round(mean + offsets[index])
                index += 1

    def _stack(self) -> None:
        """Put the layers below each other."""
        self._spans.clear()
        top = 0.0
        for vertices in self._layers:
            bottom = top + max(self._sizes[one][1] for one in vertices)
            self._spans.append((top, bottom))
            top = bottom + self._gaps.row

    # The result

    def layout(self) -> GraphLayout:
        names = self._names
        boxes = {name: self._box(number) for name, number in self._number.items()}
        routes: dict[Edge, tuple[Point, ...]] = {}
        for edge in self._given:
            first, second = edge
            if edge in self._upwards:
                points = self._route(second, first, boxes)[::-1]
            else:
                points = self._route(first, second, boxes)
            routes[names[first], names[second]] = points
        upwards = frozenset((names[a], names[b]) for a, b in self._upwards)
        if not boxes:
            return GraphLayout(boxes, routes, upwards, (0.0, 0.0, 0.0, 0.0))
        left = min(min(self._centres), min([box.x for box in boxes.values()]))
        right = max(max(self._centres), max([box.right for box in boxes.values()]))
        return GraphLayout(boxes, routes, upwards, (left, 0.0, right, self._spans[-1][1]))

    def _box(self, number: int) -> Box:
        width, height = self._sizes[number]
        layer = self._layer[number]
        return Box(self._centres[number] - width / 2, self._spans[layer][0], width, height, layer)

    def _route(self, first: int, second: int, boxes: Mapping[str, Box]) -> tuple[Point, ...]:
        begin = (self._centres[first], boxes[self._names[first]].bottom)
        end = (self._centres[second], boxes[self._names[second]].y)
        between = self._layer[second] - self._layer[first] - 1
        if not between:
            return (begin, end)
        points = [begin]
        for vertex in self._chains[first][:between]:
            top, bottom = self._spans[self._layer[vertex]]
            points += [(self._centres[vertex], top), (self._centres[vertex], bottom)]
        points.append(end)
        return tuple(points)

    # Growth

    def add(self, name: str, size: Size, needs: Sequence[str]) -> None:
        """Add a node that nothing needs yet. Others move aside in their layers, and to no other.

        Raises ValueError for a name that is there already.
        """
        if name in self._number:
            raise ValueError(f"there is a node {name} already")
        above = list(dict.fromkeys(self._number[one] for one in needs if one in self._number))
        layer = max([self._layer[one] for one in above], default=-1) + 1
        self._layers_to(layer)
        number = self._number[name] = self._vertex(name, size, layer)
        for first in above:
            self._given[first, number] = self._edges[first, number] = None
            for made in self._connect(first, number):
                self._insert(made, self._above[made])
        self._insert(number, above)
        self._stack()

    def _insert(self, vertex: int, near: Sequence[int]) -> None:
        """Put a vertex into its layer below the middle of others."""
        centres, vertices = self._centres, self._layers[self._layer[vertex]]
        places = [centres[one] for one in vertices]
        if near:
            wanted = sum([centres[one] for one in near]) / len(near)
        else:
            wanted = places[-1] if places else 0.0
        at = bisect(places, wanted)
        vertices.insert(at, vertex)
        moved = [*places[:at], wanted, *places[at:]]
        self._spread(vertices, moved, self._offsets(vertices))


def _closing(count: int, edges: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Edges without which there is no circle."""
    below: list[list[int]] = [[] for _ in range(count)]
    for first, second in edges:
        below[first].append(second)
    found: set[tuple[int, int]] = set()
    untouched, open_, done = 0, 1, 2
    state = [untouched] * count
    for start in range(count):
        if state[start] != untouched:
            continue
        state[start] = open_
        way = [(start, iter(below[start]))]
        while way:
            vertex, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[vertex] = done
                way.pop()
            elif state[following] == open_:
                found.add((vertex, following))
            elif state[following] == untouched:
                state[following] = open_
                way.append((following, iter(below[following])))
    return found


def _longest_paths(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The layer of each vertex of a graph without circles."""
    below: list[list[int]] = [[] for _ in range(count)]
    open_ = [0] * count
    for first, second in edges:
        below[first].append(second)
        open_[second] += 1
    layer = [0] * count
    ready = [vertex for vertex in range(count) if not open_[vertex]]
    for vertex in ready:  # it grows
        for following in below[vertex]:
            layer[following] = max(layer[following], layer[vertex] + 1)
            open_[following] -= 1
            if not open_[following]:
                ready.append(following)
    return layer
