"""What a graph shows: its nodes with their states, its edges, and ways back. Free of Qt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from studio.ui.formatting import clock
from studio.ui.theme import joined
from studio.ui.translation import tr, tr_later, tr_plural

from .layout import Edge

NodeState: TypeAlias = Literal[
    "",
    "waiting",
    "queued",
    "running",
    "needs_you",
    "done",
    "failed",
    "skipped",
    "stopped",
    "unsure",
]
"""Of a step in a run; empty in a graph that does not run."""

STATES: Mapping[NodeState, tuple[str, str, str]] = {
    "waiting": (tr_later("waiting"), "circle-dashed", "text3"),
    "queued": (tr_later("queued"), "circle-dashed", "text3"),
    "running": (tr_later("running"), "", "accent_text"),
    "needs_you": (tr_later("needs you"), "shield-question-mark", "warn"),
    "done": (tr_later("done"), "check", "ok"),
    "failed": (tr_later("failed"), "circle-alert", "err"),
    "skipped": (tr_later("skipped"), "minus", "text3"),
    "stopped": (tr_later("stopped"), "square", "text2"),
    "unsure": (tr_later("may have happened"), "triangle-alert", "warn"),
}
"""Words, icon and colour of each state. What runs has a spinner for an icon."""
Fold: TypeAlias = Literal["", "folded", "open"]
"""Whether a node has others inside that can be shown, and whether they are."""
FOLDS: Mapping[Fold, str] = {"folded": tr_later("folded"), "open": tr_later("unfolded")}
AHEAD: frozenset[NodeState] = frozenset({"waiting", "queued", "skipped"})
"""What has not begun is drawn with dashes."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One node. ``about`` stands below the title, ``aside`` at the right of it.

    ``gate`` waits for a person. ``items`` are those that are done and all there are, for a step
    that runs for each of them; all is 0 while nobody knows. ``since`` is when it began to run, in
    seconds since 1970; its time so far then stands in place of ``aside``. ``wrong`` counts the
    mistakes in its text. ``stops`` says where a run stops at it, empty if it does not. ``within``
    is the node that it stands inside of, which comes before it and is open.
    """

    id: str
    title: str
    icon: str = "workflow"
    hue: str = "slate"
    about: str = ""
    aside: str = ""
    gate: bool = False
    state: NodeState = ""
    items: tuple[int, int] | None = None
    since: float = 0.0
    wrong: int = 0
    stops: str = ""
    fold: Fold = ""
    within: str = ""

    @property
    def spoken(self) -> str:
        """What a screen reader says of it."""
        words = tr(STATES[self.state][0]) if self.state else ""
        wrong = tr_plural("{count} mistake", "{count} mistakes", self.wrong) if self.wrong else ""
        fold = tr(FOLDS[self.fold]) if self.fold else ""
        return joined((self.title, words, self.measure, self.about, wrong, self.stops, fold))

    @property
    def measure(self) -> str:
        """What stands beside the title: how many items are done, the time so far, or a text."""
        if self.items is not None and self.items[1]:
            return tr("{done} of {all}").format(done=self.items[0], all=self.items[1])
        return clock(time.time() - self.since) if self.since else self.aside

    @property
    def size_class(self) -> tuple[bool, bool, bool]:
        """What its size depends on: nodes alike in this change places without a new layout."""
        return self.gate, self.items is not None, self.fold == "open"


@dataclass(frozen=True, slots=True)
class WayBack:
    """From a node to one above it, where work may be done again; ``label`` says how often."""

    start: str
    end: str
    label: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order of the file, and what each of them needs.

    Those inside of a node follow it; edges and ways back join nodes inside of the same one.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[Edge, ...] = ()
    ways_back: tuple[WayBack, ...] = field(default=())

    def needs(self, id: str) -> list[str]:
        return [first for first, second in self.edges if second == id]

    def needed_by(self, id: str) -> list[str]:
        return [second for first, second in self.edges if first == id]

    def inside(self, id: str) -> list[str]:
        """The nodes inside of an open one."""
        return [node.id for node in self.nodes if id and node.within == id]
