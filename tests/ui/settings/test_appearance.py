"""The Appearance page: each choice applies to the windows at once, and stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from studio.ui.settings.pages.appearance import AUTOMATIC, OTHER, AppearancePage
from studio.ui.theme import tokens
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


async def page_of(person: Person) -> AppearancePage:
    person.window.preferences.open("appearance")
    dialog = person.window.preferences.dialog
    assert dialog is not None
    await until(dialog.isActiveWindow)
    page = dialog.pages["appearance"]
    assert isinstance(page, AppearancePage)
    return page


def colors(widget: QWidget) -> set[str]:
    """All colours that a widget shows."""
    image = widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return {f"#{pixel & 0xFFFFFF:06x}" for pixel in set(memoryview(image.constBits()).cast("I"))}


def rgb(value: int) -> str:
    return QColor.fromRgb(value).name()


@on_window_loop
async def test_each_choice_applies_to_all_windows_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "studio" / "settings.json"
    async with at_window(tmp_path, "ollama", []) as person:
        page, theme = await page_of(person), person.window.theme
        sidebar = person.window.sidebar
        page.themes.segment(2).click()
        assert rgb(tokens.DARK["window"]) in colors(sidebar), "the other window is dark too"
        page.accents.swatches["rose"].click()
        assert rgb(tokens.ACCENTS["rose"][True]) in colors(page)
        assert theme.hue("plum")[0].name() in colors(page.accents.swatches["plum"]), "it is bright"
        assert rgb(tokens.DARK["accent"]) not in colors(page.keys), "switches are rose too"
        page.accents.swatches["rose"].setFocus()
        QTest.keyClick(page.accents.swatches["rose"], Key.Key_Right)
        assert person.window.settings.values.accent == "rust", "the arrows choose"

        row = sidebar._rows["new"].height()
        page.density.segment(1).click()
        await until(lambda: sidebar._rows["new"].height() < row, "rows are lower")
        composer = person.window.chat.composer
        wide = composer.width()
        page.wide.click()
        assert theme.column == tokens.WIDE_COLUMN
        await until(lambda: composer.width() > wide, "the column is wider")
        page.contrast.segment(2).click()
        assert theme.color("hair") == theme.color("strong")
        page.keys.click()
        assert not theme.keycaps
        page.motion.segment(2).click()
        assert theme.still
        page.fonts["font"].chosen.emit("Inter")
        page.fonts["code_font"].chosen.emit("JetBrains Mono")
        assert theme.font("ui").families()[0] == "Inter"
        assert theme.font("code").families()[0] == "JetBrains Mono"
        page.size_combo.chosen.emit("120")
        await until(lambda: file.exists() and json.loads(file.read_text())["text_size"] == 120)
    async with at_window(tmp_path, "ollama", []) as person:
        kept = person.window.settings.values
        assert (kept.accent, kept.density, kept.contrast) == ("rust", "compact", "high")
        assert (kept.wide_text, kept.show_keys, kept.motion) == (True, False, "reduced")
        assert (kept.font, kept.code_font, kept.text_size) == ("Inter", "JetBrains Mono", 120)
        assert person.window.theme.color("accent").name() == rgb(tokens.ACCENTS["rust"][False])
        page = await page_of(person)
        assert page.accents.swatches["rust"].isChecked()
        assert (page.fonts["font"].text(), page.size_combo.text()) == ("Inter", "120%")


@on_window_loop
async def test_any_font_of_the_computer_can_be_found_and_used_by_keyboard(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        page = await page_of(person)
        page.fonts["code_font"].chosen.emit(OTHER)
        chooser = page._dialog
        assert chooser is not None and page.fonts["code_font"].text() == "Automatic"
        QTest.keyClicks(chooser.field, "jetbrains")
        assert chooser.list.currentIndex().data() == "JetBrains Mono"
        QTest.keyClick(chooser.field, Key.Key_Return)
        assert page.fonts["code_font"].text() == "JetBrains Mono"
        assert person.window.settings.values.code_font == "JetBrains Mono"
        page.fonts["font"].chosen.emit(OTHER)
        chooser = page._dialog
        assert chooser is not None
        QTest.keyClicks(chooser.field, "no such font at all")
        assert not chooser.use.isEnabled()
        QTest.keyClick(chooser.field, Key.Key_Return)
        QTest.keyClick(chooser.field, Key.Key_Escape)
        assert person.window.settings.values.font == ""
        page.fonts["code_font"].chosen.emit(AUTOMATIC)
        assert person.window.settings.values.code_font == ""
