"""Texts of Qt's own dialogs and menus, with letters for the lines that Qt leaves without one."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, QTranslator

_CONTEXTS = ("QLineEdit", "QWidgetTextControl")
"""What the menus of text fields are made by."""


class QtTexts(QTranslator):
    """Qt's translation where one is loaded, else its English; ``lines`` go before in text menus."""

    def __init__(self, parent: QObject, lines: Mapping[str, str]) -> None:
        super().__init__(parent)
        self._lines = lines

    def isEmpty(self) -> bool:
        return False

    def translate(
        self,
        context: str,
        sourceText: str,
        disambiguation: str | None = None,
        n: int = -1,
    ) -> str:
        if context in _CONTEXTS and sourceText in self._lines:
            return self._lines[sourceText]
        # An empty text would not be passed on to another translator.
        return super().translate(context, sourceText, disambiguation, n) or sourceText
