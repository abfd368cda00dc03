"""Board list: tasks, texts and messages that the agents of a run or a chat share (W-40)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from studio.agent.permission.invisible_characters import escape_invisible, escape_line
from studio.domain.boards import BoardMessage, BoardOverview, TaskState
from studio.domain.sessions import Caller
from studio.storage.boards import BoardStore
from studio.ui.graph.nodes import NodeState
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets.code_box import CodeBox
from studio.ui.widgets.layouts import column_of, row_of, widget_of

from .fact_list import MARGIN, Fact, FactList

MOST = 20
"""Entries of each kind that are shown."""
MOST_MESSAGES = 10
LINES = 6
"""Lines of a text that are seen at once."""
_ORDER: Mapping[TaskState, tuple[int, NodeState]] = {
    "taken": (0, "running"),
    "open": (1, "queued"),
    "done": (2, "done"),
}


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One entry: its line, and the whole text below it, which may be empty."""

    fact: Fact
    text: str = ""


@dataclass(frozen=True, slots=True)
class BoardFacts:
    """What is on a board; ``done`` of ``tasks`` are done."""

    rows: Sequence[BoardRow] = ()
    done: int = 0
    tasks: int = 0


async def read_board(store: BoardStore, caller: Caller) -> BoardFacts:
    """What is on the board of a session or a run now; raises StorageError."""
    root = await store.root_of(caller)
    found = await store.overview(root)
    return board_facts(found, await store.last_messages(root, MOST_MESSAGES))


def board_facts(board: BoardOverview, messages: Sequence[BoardMessage]) -> BoardFacts:
    """What is on a board, the tasks that are worked on first."""
    rows = list[BoardRow]()
    tasks = sorted(board.tasks, key=lambda one: _ORDER[one.state][0])
    for one in tasks[:MOST]:
        title, _, more = one.text.partition("\n")
        said = "\n\n".join(filter(None, (one.text if more or len(title) > 60 else "", one.result)))
        state, about = _ORDER[one.state][1], _whose(one.stranger)
        fact = Fact(escape_line(title, 60), one.taker, state=state, about=about)
        rows.append(BoardRow(fact, escape_invisible(said)))
    rows += _rest(len(tasks))
    for one in board.entries[:MOST]:
        fact = Fact(one.key, one.by, icon="notebook-tabs", about=_whose(one.stranger))
        rows.append(BoardRow(fact, escape_invisible(one.text)))
    rows += _rest(len(board.entries))
    for one in messages:
        fact = Fact(one.channel, one.by, icon="message-square", about=_whose(one.stranger))
        rows.append(BoardRow(fact, escape_invisible(one.text)))
    return BoardFacts(rows, sum(one.state == "done" for one in tasks), len(tasks))


def _whose(stranger: str) -> str:
    return tr("from strangers") if stranger else ""


def _rest(count: int) -> list[BoardRow]:
    more = count - MOST
    if more <= 0:
        return []
    return [BoardRow(Fact(tr_plural("{count} more", "{count} more", more), style="note"))]


class _Entry(QWidget):
    """One entry; its text is read whole by scrolling."""

    def __init__(self, theme: Theme, lines: int) -> None:
        super().__init__()
        self._head = FactList(theme)
        self.box = CodeBox(theme, "", lines, 1, "small")
        self._text = widget_of(row_of([self.box], margins=(MARGIN, 0, MARGIN, 4)))
        column_of([self._head, self._text], 0, on=self)

    def show_row(self, row: BoardRow) -> None:
        self._head.show_facts([row.fact])
        self._text.setVisible(bool(row.text))
        self.box.edit.setAccessibleName(row.fact.spoken)
        self.box.show_text(row.text)


class BoardList(QWidget):
    """Hidden while there is nothing on the board."""

    def __init__(self, theme: Theme, lines: int = LINES) -> None:
        """``lines`` of each text are seen at once, the others by scrolling."""
        super().__init__()
        self._theme, self._lines = theme, lines
        self.facts = BoardFacts()
        self._heading = FactList(theme)
        self._entries: list[_Entry] = []
        self._column = column_of([self._heading], 0, on=self)
        self.hide()

    @property
    def boxes(self) -> list[CodeBox]:
        """The texts of the entries that are shown."""
        return [entry.box for entry in self._entries if not entry.isHidden()]

    def show_board(self, facts: BoardFacts) -> None:
        if facts == self.facts:
            return
        self.facts = facts
        words = tr("{done} of {all} tasks").format(done=facts.done, all=facts.tasks)
        heading = Fact(tr("Board"), words if facts.tasks else "", "heading")
        self._heading.show_facts([heading])
        while len(self._entries) < len(facts.rows):
            self._entries.append(_Entry(self._theme, self._lines))
            self._column.addWidget(self._entries[-1])
        for at, entry in enumerate(self._entries):
            entry.setVisible(at < len(facts.rows))
            if at < len(facts.rows):
                entry.show_row(facts.rows[at])
        self.setVisible(bool(facts.rows))
