"""A list of choices under headings, moved through by the keys of a field."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QCursor, QKeyEvent, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.ui.widgets import HeadedList, HeadedView, Index

Key = Qt.Key


class Letters(HeadedList[int]):
    def describe(self, row: int) -> str:
        return f"Row {row}"


class Rows(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(50, 20)


class Box(QWidget):
    """A field over a list, as palette and model list have it."""

    def __init__(self) -> None:
        super().__init__()
        self.field = QLineEdit(self)
        self.rows = Letters(self)
        self.list: HeadedView[int] = HeadedView(self.rows, Rows, self.field, self)
        self.list.setGeometry(0, 30, 100, 60)
        self.field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        pressed = event.type() == QEvent.Type.KeyPress
        return pressed and isinstance(event, QKeyEvent) and self.list.key(event)


def test_keys_go_through_the_choices_and_around(qtbot: QtBot) -> None:
    box = Box()
    qtbot.addWidget(box)
    box.show()
    box.rows.set_rows(["One", 0, 1, "More", *range(2, 12)])

    def press(*keys: Key) -> int | None:
        for key in keys:
            QTest.keyPress(box.field, key)
        return box.list.current

    box.list.choose()
    assert box.list.current == 0
    assert box.list.indexAt(box.list.rect().topLeft()).row() == 0, "its heading is seen, too"
    assert press(Key.Key_Down, Key.Key_Down) == 2, "a heading is passed over"
    assert box.field.accessibleDescription() == "Row 2"
    assert press(Key.Key_PageDown, Key.Key_PageDown) == 11, "a page ends at the end"
    assert press(Key.Key_Down) == 0 and press(Key.Key_Up) == 11
    assert press(Key.Key_PageUp, Key.Key_PageUp) == 0
    box.list.choose(lambda row: row == 4)
    box.list.choose(lambda row: row == 99)
    assert box.list.current == 4
    assert box.list.choice(box.rows.index(0)) is None, "a heading is no choice"
    assert box.list.rows_height() == 280 and box.list.rows_height(3) == 60
    box.rows.set_rows([])
    assert press(Key.Key_Down) is None and box.list.rows_height() == 0


def test_a_mouse_that_nobody_moves_chooses_nothing(qtbot: QtBot) -> None:
    """G-1: Enter does what is first in the list, not what came to be below the mouse."""
    box = Box()
    qtbot.addWidget(box)
    box.rows.set_rows([0, 1, 2])
    box.show()
    box.list.choose()

    def tell_place(row: int, by: QPoint) -> int | None:
        """What Qt sends: of a list that appears or moves below the mouse, or of a moved mouse."""
        at = QPointF(box.list.visualRect(box.rows.index(row)).center())
        button, none = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
        where = QPointF(QCursor.pos() + by)
        moved = QMouseEvent(QEvent.Type.MouseMove, at, where, button, button, none)
        QApplication.sendEvent(box.list.viewport(), moved)
        return box.list.current

    assert tell_place(2, QPoint()) == 0
    assert tell_place(2, QPoint(0, 1)) == 2, "the person moved it"
    box.list.choose()
    assert tell_place(1, QPoint(0, 1)) == 0, "other rows came below it"
    assert tell_place(1, QPoint(0, 2)) == 1

    box.list.choose()
    view, bar = box.list.viewport(), box.list.verticalScrollBar()
    QCursor.setPos(view.mapToGlobal(box.list.visualRect(box.rows.index(2)).center()))
    bar.setRange(0, 1)
    bar.setValue(1)
    assert box.list.current == 0, "the list was scrolled below it"
