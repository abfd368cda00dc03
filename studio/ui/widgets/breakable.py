"""Breaks words that are longer than their place, so that all of them is seen."""

from __future__ import annotations

from PySide6.QtCore import Qt

from studio.ui.theme import Theme

from .panels import Label

LONGEST = 16
"""Characters after which a word may be broken anywhere."""


class BreakableLabel(Label):
    """Code that breaks anywhere, so that all of it is seen."""

    def __init__(self, theme: Theme, text: str, token: str = "text1") -> None:
        super().__init__(theme, breakable(text), "code", token, wrap=True)
        self.setAccessibleName(text)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)


def breakable(text: str) -> str:
    """With places at which a long word may be broken."""
    parts: list[str] = []
    run = 0
    for one in text:
        parts.append(one)
        run = 0 if one.isspace() else run + 1
        if one in "/=&?@,-_.:" or run >= LONGEST:
            parts.append("\u200b")
            run = 0
    return "".join(parts)
