"""Nested graph: puts the graphs of steps that are workflows inside of their nodes. Free of Qt.

A step inside of another is named by its path, such as ``review/lint``: no step's id has a slash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from studio.domain.workflows import Step
from studio.ui.graph.layout import Edge
from studio.ui.graph.nodes import Graph, GraphNode, WayBack
from studio.ui.translation import tr, tr_plural

NO_ITEMS: Mapping[str, str] = {}


def can_unfold(step: Step) -> bool:
    """Whether a step is a workflow; of one for several items the run of one item is shown."""
    return step.kind == "workflow"


def top_of(path: str) -> str:
    """The step of the workflow itself that a node is, or stands inside of."""
    return path.partition("/")[0]


def nested(
    graph: Graph,
    inside: Mapping[str, Graph],
    unfolded: Collection[str],
    items: Mapping[str, str] = NO_ITEMS,
) -> Graph:
    """``graph`` with what is known of its steps that are workflows.

    ``inside`` has their own graphs by path; those that are unfolded are shown. ``items`` names
    the item whose run that is, of steps that are done for several.
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
            if open_ and items.get(path):
                steps = tr("Item {item}").format(item=items[path])
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
