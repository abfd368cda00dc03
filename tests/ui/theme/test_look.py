"""The look that a person chooses: accents with their contrast, contrast, density, fonts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from typing import get_args

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QFontInfo
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from studio.storage.config.settings import Accent, Settings
from studio.ui.theme import Look, Theme, tokens, typefaces
from studio.ui.theme.accents import SHAPES, WORDS, accent_tokens, contrast
from studio.ui.theme.look import look_of
from studio.ui.widgets import Card, Hairline, Label, Status
from studio.ui.widgets.painting import AnimationTimer

SYSTEM_ACCENTS = (0x000000, 0xFFFFFF, 0xFFD400, 0xFF8000, 0x3584E4, 0x808080, 0x00FF66, 0x9B59D0)
GROUNDS = ("window", "surface", "raised", "sunken", "canvas", "bubble")
INKS = ("text1", "text2", "text3", "accent_text", "ok", "warn", "err")


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    made = Theme("light")
    yield made
    made.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def values_of(theme: Theme) -> dict[str, int]:
    return {name: theme.color(name).rgb() & 0xFFFFFF for name in tokens.LIGHT}


def check(values: dict[str, int], what: object) -> None:
    """All words are readable where they may stand, and controls stand out."""
    for ground in GROUNDS:
        for ink in INKS:
            if ink in ("accent_text", "ok", "warn", "err") and ground in ("canvas", "bubble"):
                continue  # nothing of the kind stands there
            assert contrast(values[ink], values[ground]) >= WORDS, (what, ink, ground)
    for kind in ("ok", "warn", "err"):
        assert contrast(values[kind], values[f"{kind}_soft"]) >= WORDS, (what, kind)
    for ink in ("text1", "accent_text"):
        assert contrast(values[ink], values["accent_soft"]) >= WORDS, (what, ink)
    for word in ("add_word", "del_word", "add_bg", "del_bg"):
        assert contrast(values["text1"], values[word]) >= WORDS, (what, word)
    for token in ("keyword", "string", "number", "comment"):
        assert contrast(values[f"syntax_{token}"], values["sunken"]) >= WORDS, (what, token)
    assert contrast(values["accent_on"], values["accent"]) >= WORDS, what
    edge = max(contrast(values[one], values["surface"]) for one in ("accent", "accent_line"))
    assert edge >= SHAPES, what
    assert contrast(values["strong"], values["surface"]) >= SHAPES, what


@pytest.mark.parametrize("setting", ["light", "dark"])
def test_every_accent_is_readable_in_every_theme_and_contrast(theme: Theme, setting: str) -> None:
    for accent in get_args(Accent):
        for wish in ("normal", "high"):
            theme.wear(Look(setting=setting, accent=accent, contrast=wish))  # type: ignore[arg-type]
            check(values_of(theme), (setting, accent, wish))
            high = wish == "high"
            assert (theme.color("hair") == theme.color("strong")) is high
            assert (theme.color("text3") == theme.color("text2")) is high
    base = tokens.DARK if setting == "dark" else tokens.LIGHT
    for system in SYSTEM_ACCENTS:  # whatever a desktop says
        made = base | accent_tokens(system, base, dark=setting == "dark")
        check(made, f"{system:06x}")


def test_the_accents_of_the_settings_are_those_of_the_theme() -> None:
    assert {*get_args(Accent)} == {"system", *tokens.ACCENTS}
    assert tokens.ACCENTS["blue"] == (tokens.LIGHT["accent"], tokens.DARK["accent"])


def test_a_look_has_a_setting_for_each_choice_and_is_told_once(theme: Theme) -> None:
    values = Settings(
        theme="dark", text_size=120, accent="rose", contrast="high", density="compact",
        font="Inter", code_font="JetBrains Mono", wide_text=True, show_keys=False,
        motion="reduced",
    )  # fmt: skip
    look = look_of(values)
    plain = look_of(Settings())
    for field in fields(look):
        assert getattr(look, field.name) != getattr(plain, field.name), field.name
    said: list[bool] = []
    theme.changed.connect(lambda: said.append(True))
    theme.wear(look)
    theme.wear(look)
    assert said == [True]
    assert theme.still and not theme.keycaps and theme.column > tokens.COLUMN
    assert theme.color("accent") == QColor(tokens.ACCENTS["rose"][True])
    theme.set(scale=1.0)
    assert theme.color("accent") == QColor(tokens.ACCENTS["rose"][True])  # the rest stays


@pytest.mark.parametrize("setting", ["light", "dark"])
def test_high_contrast_and_less_motion_are_seen(
    theme: Theme, setting: str, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U-1: borders and lines are strong, no text is faint, and a spinner is a dotted circle."""
    now = [0.0]
    monkeypatch.setattr(AnimationTimer, "turn", property(lambda _: now[0] % 1))
    box = QWidget()
    qtbot.addWidget(box)
    card, line = Card(theme, parent=box), Hairline(theme, parent=box)
    hint = Label(theme, "HIT", "display", "text3", parent=box)
    spinner = Status(theme, "", "busy", box)
    for at, widget in enumerate((card, line, hint, spinner)):
        widget.setGeometry(10, 10 + 50 * at, 120, 1 if widget is line else 32)
    box.resize(140, 210)
    box.show()

    def drawn(widget: QWidget) -> list[str]:
        """The colours of a widget's pixels, from left to right, from top to bottom."""
        picture = box.grab(widget.geometry()).toImage()
        places = product(range(picture.height()), range(picture.width()))
        return [picture.pixelColor(x, y).name() for y, x in places]

    for wish in ("normal", "high"):
        motion = "reduced" if wish == "high" else "normal"
        theme.wear(Look(setting=setting, contrast=wish, motion=motion))  # type: ignore[arg-type]
        faint = tokens.LIGHT if setting == "light" else tokens.DARK
        strong = theme.color("strong").name()
        high = wish == "high"
        assert ({strong} == set(drawn(line))) is high
        assert (drawn(card).count(strong) > 200) is high
        assert (QColor(faint["text3"]).name() in drawn(hint)) is not high
        assert (QColor(faint["text2"]).name() in drawn(hint)) is high
        now[0] = 0.0
        first = drawn(spinner)
        now[0] = 0.3
        assert (drawn(spinner) == first) is high
        assert len(set(first)) > 2, "something is drawn"


def test_compact_rows_and_lines_are_lower_and_hold_their_words(theme: Theme) -> None:
    before = theme.height(30), theme.line("body")
    for scale in (0.9, 1.0, 1.6):
        theme.wear(Look("light", scale, compact=True))
        assert theme.height(30) >= theme.metrics("ui").height() + 6
        assert theme.line("body") >= theme.metrics("body").height()
    theme.wear(Look("light", compact=True))
    assert (theme.height(30), theme.line("body")) < before
    assert theme.height(28) >= 24  # a target is not smaller


def test_a_font_with_medium_weights_is_there(theme: Theme) -> None:
    """Also on a system whose font has regular and bold letters only."""
    theme.wear(replace(look_of(Settings()), font="Inter", code_font="JetBrains Mono"))
    widths = set()
    for role, weight in (("ui", 400), ("ui_medium", 500), ("ui_strong", 600)):
        font = theme.font(role)
        assert QFontInfo(font).family() == "Inter" and font.weight() == weight
        widths.add(theme.metrics(role).horizontalAdvance("Hamburgefontsiv, 0123456789"))
    assert len(widths) == 3, "each weight has letters of its own"
    code = theme.font("code")
    assert QFontInfo(code).family() == "JetBrains Mono" and QFontInfo(code).fixedPitch()
    for letter in "aäßéłőžЖщΩ–„“”…→←↑↓⌘⏎├─✓":
        assert theme.metrics("ui").inFontUcs4(ord(letter)) or letter in "├─", letter
        assert theme.metrics("code").inFontUcs4(ord(letter)) or letter in "⌘✓⏎", letter


def test_the_systems_font_stays_where_it_has_medium_weights(qapp: QApplication) -> None:
    theme = Theme("light")
    names = typefaces.families("")
    assert theme.font("ui").families() == names
    assert typefaces.has_medium_weight(names[0])
    shipped = typefaces.UI in names
    assert (theme.font("code").families()[0] == typefaces.CODE) is shipped
    theme.wear(Look("light", font="No such font", code_font="No such font either"))
    others = [name for name in names if name != typefaces.UI]
    assert theme.font("ui").families() == ["No such font", *others]  # the system's stands in
    assert theme.metrics("ui").horizontalAdvance("words") > 0
    theme.deleteLater()


def test_the_fonts_and_their_licence_ship() -> None:
    from studio.storage.paths import resources

    folder = resources() / "fonts"
    names = {name for files in typefaces.SHIPPED.values() for name in files}
    assert names == {path.name for path in folder.glob("*.?tf")}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_200_000
    licence = (folder / "LICENSE-OFL").read_text(encoding="utf-8")
    assert "Inter Project Authors" in licence and "JetBrains Mono Project Authors" in licence
    assert "PERMISSION" in licence
