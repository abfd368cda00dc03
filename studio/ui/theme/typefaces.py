"""Finds the fonts of the window, and loads those that ship with the program.

Many systems' font has regular and bold letters only. Inter then takes its place, and JetBrains
Mono that of the code font.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase, QFontInfo, QGuiApplication

from studio.storage.paths import resources

SHIPPED: dict[str, tuple[str, ...]] = {
    "Inter": (
        "Inter-Regular.otf",
        "Inter-Medium.otf",
        "Inter-SemiBold.otf",
        "Inter-Italic.otf",
    ),
    "JetBrains Mono": (
        "JetBrainsMono-Regular.ttf",
        "JetBrainsMono-SemiBold.ttf",
        "JetBrainsMono-Italic.ttf",
    ),
}
"""Families in ``resources/fonts``, with their files."""
UI, CODE = SHIPPED


def families(chosen: str) -> list[str]:
    """The families of the window's font, the first that exists counts; "" is no choice."""
    system = _system()
    if not chosen and not has_medium_weight(system[0]):
        chosen = UI
    return _with(chosen, system)


def code_families(chosen: str) -> list[str]:
    """The same of the code font."""
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).families()
    if not chosen and not has_medium_weight(_system()[0]):
        chosen = CODE
    return _with(chosen, system)


@cache  # before the program sets a font of its own
def _system() -> list[str]:
    return QGuiApplication.font().families() or [""]


@cache  # the first look at a family takes milliseconds
def has_medium_weight(family: str) -> bool:
    """Whether a family has letters between regular and bold; a missing one has what stands in."""
    found = QFontInfo(QFont(family)).family()
    styles = QFontDatabase.styles(found)
    return any(QFontDatabase.weight(found, style) == QFont.Weight.Medium for style in styles)


def _with(chosen: str, others: list[str]) -> list[str]:
    if chosen in SHIPPED:
        _load(chosen)
    return [chosen, *others] if chosen else others


@cache
def _load(family: str) -> None:
    if family in QFontDatabase.families():
        return  # the system's own, which may have more letters
    for name in SHIPPED[family]:
        QFontDatabase.addApplicationFont(str(resources() / "fonts" / name))
