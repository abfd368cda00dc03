"""Qt's own dialogs, lists and tables: readable in both themes, by their pixels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QApplication,
    QCalendarWidget,
    QColorDialog,
    QCompleter,
    QFileDialog,
    QHeaderView,
    QLineEdit,
    QListView,
    QMenu,
    QTableWidget,
    QTableWidgetItem,
    QTreeView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.ui.theme import Theme
from studio.ui.widgets import message_box
from support.pixels import pixels
from support.waiting import HANG_MS


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[Theme]:
    made = Theme(request.param)
    made.apply(qapp)
    yield made
    made.set("system", 1.0)
    made.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def luminance(color: QColor) -> float:
    parts = (color.redF(), color.greenF(), color.blueF())
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def check_readable(theme: Theme, widget: QWidget | None) -> None:
    """Words stand on an opaque ground of the theme, with enough contrast."""
    assert widget is not None
    seen = Counter(pixels(widget.grab().toImage()))
    ground = QColor.fromRgba(seen.most_common(1)[0][0])
    assert ground.alpha() == 255, f"{widget}: nothing is painted behind the words"
    here = luminance(ground)
    assert here < 0.1 if theme.dark else here > 0.7, f"{widget} stands on {ground.name()}"
    inks = (luminance(QColor.fromRgba(color)) for color in seen)
    most = max((max(here, ink) + 0.05) / (min(here, ink) + 0.05) for ink in inks)
    assert most >= 4.5, f"{widget}: words have a contrast of {most:.1f}"


def test_the_file_dialog_is_readable(theme: Theme, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    dialog = QFileDialog(None, "Choose", str(tmp_path))
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    dialog.setViewMode(QFileDialog.ViewMode.Detail)
    qtbot.addWidget(dialog)
    dialog.show()
    files = dialog.findChild(QTreeView, "treeView")
    assert files is not None
    model = files.model()
    qtbot.waitUntil(lambda: model.rowCount(files.rootIndex()) == 1, timeout=HANG_MS)
    header = files.header()
    places = dialog.findChild(QListView, "sidebar")
    assert places is not None
    for part in (dialog, files, files.viewport(), header, places):
        check_readable(theme, part)


def test_message_boxes_menus_and_completers_are_readable(theme: Theme, qtbot: QtBot) -> None:
    host, field, menu = QWidget(), QLineEdit(), QMenu()
    box = message_box(host, "Delete chat", "Delete “A”?", "It is removed.")
    menu.addAction("Rename")
    completer = QCompleter(["alpha", "albert", "alto"])
    field.setCompleter(completer)
    field.setText("al")
    for widget in (host, field, menu):
        qtbot.addWidget(widget)
    for widget in (host, field, menu, box):
        widget.show()
    completer.complete()
    for widget in (field, menu, box, completer.popup()):
        check_readable(theme, widget)


def test_tables_trees_calendar_and_colours_are_readable(theme: Theme, qtbot: QtBot) -> None:
    table, tree, calendar = QTableWidget(2, 2), QTreeWidget(), QCalendarWidget()
    table.setHorizontalHeaderLabels(["One", "Two"])
    table.setItem(0, 0, QTableWidgetItem("cell"))
    tree.setHeaderLabels(["One", "Two"])
    tree.addTopLevelItem(QTreeWidgetItem(["cell", "cell"]))
    colours = QColorDialog()
    colours.setOption(QColorDialog.ColorDialogOption.DontUseNativeDialog)
    for widget in (table, tree, calendar, colours):
        qtbot.addWidget(widget)
        widget.show()
        check_readable(theme, widget)
    for header in (*table.findChildren(QHeaderView), tree.header()):
        check_readable(theme, header)
