"""Boards of chats and runs on the Memory page: a list, and the chosen one whole (W-40)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyleOptionViewItem

from studio.domain.boards import BoardSummary
from studio.ui.inspector.board_list import BoardFacts, BoardList
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Hairline, IconButton, Index, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_text
from studio.ui.widgets.panels import scrolled
from studio.ui.widgets.row_list import RowDelegate, RowModel, paint_row_ground

LINES = 16


def title_of(board: BoardSummary) -> str:
    """The chat, or the run with its number."""
    if board.number:
        return tr("{name}, run {number}").format(name=board.title, number=board.number)
    return board.title or tr("New chat")


def about(board: BoardSummary) -> str:
    """How much is on a board."""
    parts = [
        tr_plural("{count} task", "{count} tasks", board.tasks),
        tr_plural("{count} text", "{count} texts", board.entries),
        tr_plural("{count} message", "{count} messages", board.messages),
    ]
    counts = (board.tasks, board.entries, board.messages)
    return ", ".join(part for part, count in zip(parts, counts, strict=True) if count)


class _Row(RowDelegate):
    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, board = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 1, -t.px(8), -1)
        paint_row_ground(painter, t, option, box)
        side = t.px(16)
        mark = QRectF(box.x() + t.px(10), box.y() + t.px(8), side, side)
        icon = "workflow" if board.number else "message-square"
        t.paint_icon(painter, mark, icon, "text2")
        first = QRectF(mark.right() + t.px(10), box.y() + t.px(5), 0, t.px(20))
        first.setRight(box.right() - t.px(10))
        paint_text(painter, t, first, title_of(board), "ui_medium", "text1", room=first.width())
        second = first.translated(0, t.px(19))
        paint_text(painter, t, second, about(board), "small", "text2", room=second.width())


class BoardsList(LetterList):
    """The boards, those of the newest chats and runs first."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, tr("Boards"))
        self.boards = RowModel(
            lambda board: f"{title_of(board)}, {about(board)}", lambda board: board.root
        )
        self.setModel(self.boards)
        self.setItemDelegate(_Row(theme))

    @property
    def board(self) -> BoardSummary | None:
        """The chosen one."""
        found = self.currentIndex().data(Qt.ItemDataRole.UserRole)
        return found if isinstance(found, BoardSummary) else None

    def show_boards(self, boards: Sequence[BoardSummary]) -> None:
        before = self.board
        self.boards.show(boards)
        same = [at for at, one in enumerate(boards) if before and one.root == before.root]
        self.setCurrentIndex(self.boards.index((same or [0])[0]))


class BoardPane(PaintedWidget):
    """The chosen board, below its name."""

    ground = "surface"

    opened = Signal()
    """The chat or the run of the board is wanted."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.list_button = IconButton(theme, "list", tr("All boards"))
        self.title = Label(theme, "", "heading")
        self.open = Button(theme, tr("Open"), clicked=self.opened.emit)
        head = row_of([self.list_button, (self.title, 1), self.open], 8, (20, 0, 12, 0))
        self._head = widget_of(head)
        self.board = BoardList(theme, LINES)
        self.note = Label(theme, "", "ui", "text2", wrap=True)
        self.note.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        body = column_of([self.board, self.note, STRETCH], 0, (4, 0, 4, 12))
        area = scrolled(widget_of(body))
        area.setAccessibleName(tr("Board"))
        column_of([self._head, Hairline(theme), (area, 1)], 0, on=self)
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self._head.setFixedHeight(self.theme.px(48))

    def show_board(self, board: BoardSummary | None, facts: BoardFacts) -> None:
        self.title.setText(title_of(board) if board is not None else "")
        self.open.setVisible(board is not None)
        self.board.show_board(facts)
        self.note.show_text(
            "" if board is not None else tr("Agents that work together have shared nothing yet.")
        )
