"""Step menu: all that can be done with a step of a run."""

from __future__ import annotations

from studio.ui.graph.nodes import GraphNode
from studio.ui.graph.pane import fold_item
from studio.ui.translation import tr
from studio.ui.widgets import MenuItem

from .run_record import RunRecord


def menu_of(record: RunRecord, step: str, node: GraphNode, *, own: bool) -> list[MenuItem]:
    """The entries; ``own`` where the run is the one that is shown, not one of its steps."""
    one, open_ = record.run.step(step), record.run.end is None
    held = own and step in record.run.held
    words = tr("Let this step go on") if held else tr("Pause this step")
    can_hold = own and record.can_hold(step)
    items = [
        MenuItem("hold", words, "play" if held else "pause", "H", can_hold),
        MenuItem("stop", tr("Breakpoint"), "octagon-pause", "B", own and open_),
        MenuItem("again", tr("Run again from here"), "rotate-ccw", "R", own and not open_),
        MenuItem("chat", tr("Open chat"), "message-square", enabled=bool(one.session_id)),
    ]
    if one.run_id:
        items.append(MenuItem("below", tr("Open its run"), "workflow"))
    if node.fold:
        items.append(fold_item(node))
    return items
