"""Nodes of a graph stand in layers, and edges run down between them (W-62, W-63)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations, groupby

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.graph.layout import Box, Edge, Gaps, GraphLayout, LayeredGraph, Size, lay_out
from studio.ui.graph.nesting import Frame, Nesting

SIZES = st.sampled_from([(208.0, 60.0), (208.0, 68.0), (196.0, 40.0)])


@st.composite
def graphs(draw: st.DrawFn, *, circles: bool = False) -> tuple[dict[str, Size], list[Edge]]:
    count = draw(st.integers(1, 24))
    sizes = {f"s{at}": draw(SIZES) for at in range(count)}
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    found = draw(st.lists(pairs, max_size=40))
    if not circles:
        found = [(min(pair), max(pair)) for pair in found]
    return sizes, [(f"s{a}", f"s{b}") for a, b in found]


def check(placed: GraphLayout, sizes: dict[str, Size], edges: list[Edge]) -> None:
    boxes = placed.boxes
    assert list(boxes) == list(sizes)
    for one, other in combinations(boxes.values(), 2):
        beside = one.right < other.x or other.right < one.x
        assert beside or one.bottom < other.y or other.bottom < one.y
    assert set(placed.routes) == {(a, b) for a, b in edges if a != b}
    left, top, right, bottom = placed.bounds
    for (first, second), points in placed.routes.items():
        if (first, second) in placed.upwards:
            first, second, points = second, first, points[::-1]
        assert boxes[first].layer < boxes[second].layer
        assert points[0] == (boxes[first].centre, boxes[first].bottom)
        assert points[-1] == (boxes[second].centre, boxes[second].y)
        heights = [y for _, y in points]
        assert heights == sorted(heights) and heights[0] < heights[-1]
        for x, y in points:
            assert left <= x <= right and top <= y <= bottom
        for (x, y), (same, below) in zip(points[1:-1:2], points[2:-1:2], strict=True):
            assert x == same, "an edge is upright where it crosses a layer"
            for box in boxes.values():
                assert not (box.x < x < box.right and y < box.bottom and box.y < below)


@given(graphs())
def test_w62_edges_run_down_and_no_two_nodes_overlap(
    graph: tuple[dict[str, Size], list[Edge]],
) -> None:
    placed = lay_out(*graph)
    check(placed, *graph)
    assert not placed.upwards
    assert lay_out(*graph) == placed, "the same graph is placed the same way"


@given(graphs(circles=True))
def test_w62_a_circle_is_drawn_with_an_edge_that_runs_up(
    graph: tuple[dict[str, Size], list[Edge]],
) -> None:
    """A text that is being written may have one."""
    check(lay_out(*graph), *graph)


@given(graphs(), st.data())
def test_w63_a_new_node_moves_no_other_to_another_layer(
    graph: tuple[dict[str, Size], list[Edge]], data: st.DataObject
) -> None:
    sizes, edges = graph
    layered = LayeredGraph(sizes, edges)
    for number in range(3):
        before, name = layered.layout(), f"new{number}"
        needs = data.draw(st.lists(st.sampled_from(sorted(sizes)), max_size=4, unique=True))
        layered.add(name, (208.0, 60.0), needs)
        sizes = {**sizes, name: (208.0, 60.0)}
        edges = [*edges, *((one, name) for one in needs)]
        placed = layered.layout()
        check(placed, sizes, edges)
        for id, box in before.boxes.items():
            assert placed.boxes[id].layer == box.layer
        again = lay_out(sizes, edges)
        assert {id: box.layer for id, box in again.boxes.items()} == {
            id: box.layer for id, box in placed.boxes.items()
        }


def test_w63_a_graph_of_500_steps_keeps_all_that_it_promises() -> None:
    """PRE-23."""
    chance = random.Random(7)
    sizes: dict[str, Size] = {f"s{at}": (208.0, 60.0) for at in range(500)}
    edges = {
        (f"s{chance.randrange(max(0, at - 30), at)}", f"s{at}")
        for at in range(1, 500)
        for _ in range(2)
    }
    check(lay_out(sizes, sorted(edges)), sizes, sorted(edges))


def test_w62_a_step_stands_below_the_middle_of_what_it_needs() -> None:
    sizes: dict[str, Size] = {name: (208.0, 60.0) for name in ("a", "b", "c", "d")}
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    boxes = lay_out(sizes, edges).boxes
    assert boxes["a"].centre == boxes["d"].centre == (boxes["b"].centre + boxes["c"].centre) / 2
    assert boxes["b"].x < boxes["c"].x, "in the order of the file"
    assert lay_out({}, []).bounds == (0.0, 0.0, 0.0, 0.0)


@given(graphs(circles=True), graphs(), st.data())
def test_w62_what_stands_inside_of_a_node_moves_no_other_to_another_place_in_its_layer(
    outer: tuple[dict[str, Size], list[Edge]],
    inner: tuple[dict[str, Size], list[Edge]],
    data: st.DataObject,
) -> None:
    """Two nodes are unfolded, one inside of the other; all have room of their own."""
    sizes, edges = outer
    opened = data.draw(st.sampled_from([*sizes]))
    deep = f"{opened}/{data.draw(st.sampled_from([*inner[0]]))}"
    whole, within, ways = dict(sizes), dict.fromkeys(sizes, ""), list(edges)
    for above in (opened, deep):
        whole |= {f"{above}/{id}": size for id, size in inner[0].items()}
        within |= dict.fromkeys((f"{above}/{id}" for id in inner[0]), above)
        ways += [(f"{above}/{a}", f"{above}/{b}") for a, b in inner[1]]
    frame = Frame(42, 18)
    nesting = Nesting(whole, within, ways, Gaps(), frame, lambda placed: placed.bounds[2] + 30)
    boxes = (placed := nesting.layout()).boxes
    alone = lay_out(sizes, edges).boxes

    def rows(boxes: Mapping[str, Box]) -> list[list[str]]:
        found = sorted(sizes, key=lambda id: (boxes[id].layer, boxes[id].x))
        return [[*row] for _, row in groupby(found, key=lambda id: boxes[id].layer)]

    assert rows(boxes) == rows(alone)
    names = [*boxes]
    for above in (opened, deep):
        around = boxes[above]
        for id in (one for one in names if within[one] == above):
            assert names.index(above) < names.index(id)
            box = boxes[id]
            assert around.x + frame.side - 1 <= box.x and box.right <= around.right - 30
            assert around.y + frame.head <= box.y and box.bottom <= around.bottom - frame.side
    for group in {*within.values()}:
        beside = [boxes[id] for id in names if within[id] == group]
        for one, other in combinations(beside, 2):
            apart = one.right < other.x or other.right < one.x
            assert apart or one.bottom < other.y or other.bottom < one.y
    for (first, second), points in placed.routes.items():
        if (first, second) in placed.upwards:
            first, second, points = second, first, points[::-1]
        assert points[0] == (boxes[first].centre, boxes[first].bottom)
        assert points[-1] == (boxes[second].centre, boxes[second].y)
