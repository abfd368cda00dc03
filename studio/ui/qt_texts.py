"""Texts of Qt's own dialogs and menus, with letters for the lines that Qt leaves without one."""

from __future__ import annotations

from PySide6.QtCore import QTranslator

from .translation import tr, tr_later

_LINES = {"Delete": tr_later("&Delete"), "Select All": tr_later("Select &All")}
"""Lines of the menu of text fields, of which Qt gives the others letters."""
_CONTEXTS = ("QLineEdit", "QWidgetTextControl")


class QtTexts(QTranslator):
    """Qt's translation where one is loaded, else its English."""

    def isEmpty(self) -> bool:
        return False

    def translate(
        self,
        context: str,
        sourceText: str,
        disambiguation: str | None = None,
        n: int = -1,
    ) -> str:
        line = _LINES.get(sourceText) if context in _CONTEXTS else None
        if line:
            return tr(line)
        # An empty text would not be passed on to another translator.
        return super().translate(context, sourceText, disambiguation, n) or sourceText
