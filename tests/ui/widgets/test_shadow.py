"""What lies over the window casts a shadow on it, and takes it away."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from studio.ui.widgets.shadow import cast_shadow
from support.pixels import pixels


def test_a_list_over_the_window_has_a_shadow_while_it_is_shown(qtbot: QtBot) -> None:
    """It is darkest below, ends softly, and lets the mouse through."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(300, 200)
    window.setStyleSheet("background: white")
    popup = QWidget(window, Qt.WindowType.Popup)
    window.show()
    qtbot.waitExposed(window)
    white = QColor("white").rgba()

    def below(pixels_below: int, middle: int = 150) -> QColor:
        image = window.grab().toImage()
        return image.pixelColor(middle, 100 + pixels_below)

    for _ in range(2):  # each time that it is shown
        cast_shadow(popup)
        assert {*pixels(window.grab().toImage())} == {white}, "not before"
        popup.setGeometry(*window.mapToGlobal(QPoint(100, 50)).toTuple(), 100, 50)
        popup.show()
        assert below(1).value() < below(10).value() < 255
        assert below(40).value() == 255
        assert below(-10).value() == 255, "nothing is painted where it lies"
        assert window.childAt(150, 105) is None
        popup.move(window.mapToGlobal(QPoint(0, 50)))
        assert below(1, 50).value() < 255 and below(1, 190).value() == 255
        popup.hide()
        assert {*pixels(window.grab().toImage())} == {white}
    popup.deleteLater()
