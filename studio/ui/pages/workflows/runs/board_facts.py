"""Board facts: tasks, texts and messages that the agents of a run share; free of Qt (W-40)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.boards import BoardMessage, BoardOverview, TaskState
from studio.ui.graph.nodes import NodeState
from studio.ui.inspector.fact_list import Fact
from studio.ui.translation import tr, tr_plural

MOST, MOST_LINES, WIDE = 20, 4, 44
"""Entries of each kind, lines of each, and characters of a line that are shown."""
_ORDER: Mapping[TaskState, tuple[int, NodeState]] = {
    "taken": (0, "running"),
    "open": (1, "queued"),
    "done": (2, "done"),
}


def board_facts(board: BoardOverview, messages: Sequence[BoardMessage]) -> list[Fact]:
    """What is on a board, the tasks that are worked on first; nothing where it is empty."""
    facts = list[Fact]()
    tasks = sorted(board.tasks, key=lambda one: _ORDER[one.state][0])
    for one in tasks[:MOST]:
        state = _ORDER[one.state][1]
        facts.append(Fact(escape_line(one.text, 80), one.taker, state=state))
        facts += _lines(one.result, one.stranger)
    facts += _rest(len(tasks))
    for one in board.entries[:MOST]:
        facts.append(Fact(one.key, one.by, icon="notebook-tabs"))
        facts += _lines(one.text, one.stranger)
    facts += _rest(len(board.entries))
    for one in messages:
        facts.append(Fact(one.channel, one.by, icon="message-square"))
        facts += _lines(one.text, one.stranger)
    done = sum(one.state == "done" for one in tasks)
    words = tr("{done} of {all} tasks").format(done=done, all=len(tasks)) if tasks else ""
    return [Fact(tr("Board"), words, "heading"), *facts] if facts else []


def _lines(text: str, stranger: str) -> list[Fact]:
    found = textwrap.wrap(escape_line(text, MOST_LINES * WIDE), WIDE)[:MOST_LINES]
    facts = [Fact(line, style="note") for line in found]
    return [*facts, Fact(tr("from strangers"), style="note", ink="warn")] if stranger else facts


def _rest(count: int) -> list[Fact]:
    more = count - MOST
    if more <= 0:
        return []
    return [Fact(tr_plural("{count} more", "{count} more", more), style="note")]
