"""Nested graph: puts the graphs of steps that are workflows inside of their nodes. Free of Qt.

A step inside of another is named by its path, such as ``review/lint``: no step's id has a slash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from studio.domain.workflows import Step
from studio.ui.graph.layout import Edge
from studio.ui.graph.nodes import Graph, GraphNode, WayBack
from studio.ui.translation import tr_plural


def can_unfold(step: Step) -> bool:
    """Whether a step is one workflow: of a step for several items each item has its own run."""
    return step.kind == "workflow" and not step.for_each and not step.matrix


def top_of(path: str) -> str:
    """The step of the workflow itself that a node is, or stands inside of."""
    return path.partition("/")[0]


def nested(graph: Graph, inside: Mapping[str, Graph], unfolded: Collection[str]) -> Graph:
    """``graph`` with what is known of its steps that are workflows.

    ``inside`` has their own graphs by path; those that are unfolded are shown.
    """
    nodes: list[GraphNode] = []
    edges: list[Edge] = []
    ways: list[WayBack] = []

    def add(part: Graph, above: str) -> None:
        for node in part.nodes:
            path = f"{above}{node.id}"
            placed = replace(node, id=path, within=above[:-1])
            if (below := inside.get(path)) is None:
                nodes.append(placed)
                continue
            steps = tr_plural("{count} step", "{count} steps", len(below.nodes))
            open_ = path in unfolded
            fold = "open" if open_ else "folded"
            nodes.append(replace(placed, fold=fold, aside=node.aside or steps))
            if open_:
                add(below, f"{path}/")
        edges.extend((f"{above}{first}", f"{above}{second}") for first, second in part.edges)
        ways.extend(
            replace(way, start=f"{above}{way.start}", end=f"{above}{way.end}")
            for way in part.ways_back
        )

    add(graph, "")
    return Graph(tuple(nodes), tuple(edges), tuple(ways))
