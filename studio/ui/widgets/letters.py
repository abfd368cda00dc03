"""The letters that choose a line of a menu or a button: underlined while they are of use."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QProxyStyle, QStyle, QStyleHintReturn, QStyleOption, QWidget


class LetterStyle(QProxyStyle):
    """Draws the letters underlined only when ``shown``; Fusion always does."""

    def __init__(self, owner: QObject) -> None:
        super().__init__("Fusion")
        self.setParent(owner)
        self.shown = False

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,
    ) -> int:
        if hint == QStyle.StyleHint.SH_UnderlineShortcut:
            return int(self.shown)
        return super().styleHint(hint, option, widget, returnData)
