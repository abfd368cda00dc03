"""The theme and the controls: contrast, states, names, the one timer."""

from __future__ import annotations

import os
from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QAccessible, QColor, QFontInfo, QFontMetrics, QImage, QPainter, QPolygon
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from studio.domain.agents import HUES
from studio.ui.settings.pages.permission_rules import VerdictCombo
from studio.ui.theme import ICONS_OF_AGENTS, Theme, tokens
from studio.ui.theme.icons import Icons
from studio.ui.widgets import (
    Button,
    Check,
    Combo,
    Field,
    FocusRing,
    IconButton,
    MenuButton,
    MenuItem,
    Segmented,
    Status,
    Toggle,
)
from studio.ui.widgets.painting import STEPS, AnimationTimer, paint_spinner
from support.languages import language
from support.waiting import HANG_MS


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[Theme]:
    made = Theme(request.param)
    made.apply(qapp)
    yield made
    made.set("system", 1.0)
    made.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def contrast(one: QColor, other: QColor) -> float:
    def luminance(color: QColor) -> float:
        parts = (color.redF(), color.greenF(), color.blueF())
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_words_are_readable_where_they_may_stand(theme: Theme) -> None:
    grounds = ("window", "surface", "raised", "sunken")
    for ink in ("text1", "text2", "text3", "accent_text", "ok", "warn", "err"):
        for ground in grounds:
            assert contrast(theme.color(ink), theme.color(ground)) >= 4.5, (ink, ground)
    for kind in ("ok", "warn", "err"):
        assert contrast(theme.color(kind), theme.color(f"{kind}_soft")) >= 4.5
    assert contrast(theme.color("accent_on"), theme.color("accent")) >= 4.5
    assert contrast(theme.color("strong"), theme.color("surface")) >= 3


def test_every_hue_is_readable_and_unknown_ones_are_slate(theme: Theme) -> None:
    for name in HUES:
        icon, tile = theme.hue(name)
        assert contrast(icon, tile) >= 4.5, name
    assert theme.hue("no such hue") == theme.hue("slate")


def test_text_size_scales_fonts_and_heights_and_has_bounds(theme: Theme) -> None:
    said: list[bool] = []
    theme.changed.connect(lambda: said.append(True))
    small = theme.font("body").pixelSize()
    theme.set(scale=1.6)
    assert theme.font("body").pixelSize() == round(14 * 1.6) > small
    assert theme.height(28) >= QFontMetrics(theme.font("ui")).height() + 10
    theme.set(scale=9.0)
    assert theme.scale == 1.6
    theme.set(scale=0.1)
    assert theme.scale == 0.9
    assert len(said) == 2  # 9.0 changed nothing


def test_code_is_in_the_fixed_font(theme: Theme) -> None:
    assert QFontInfo(theme.font("code")).fixedPitch()


def test_asking_for_a_color_gives_a_copy(theme: Theme) -> None:
    theme.color("text1").setAlpha(0)
    assert theme.color("text1").alpha() == 255


def test_the_system_is_followed_unless_one_theme_is_chosen(qapp: QApplication) -> None:
    theme = Theme("dark")
    theme.apply(qapp)
    assert theme.dark
    assert qapp.palette().window().color() == QColor(tokens.DARK["window"])
    qapp.styleHints().setColorScheme(Qt.ColorScheme.Light)
    assert theme.dark
    theme.set("system")
    said: list[bool] = []
    theme.changed.connect(lambda: said.append(theme.dark))
    qapp.styleHints().setColorScheme(Qt.ColorScheme.Dark)
    qapp.styleHints().setColorScheme(Qt.ColorScheme.Light)
    if said:  # platforms without a scheme of their own do not report one
        assert said[-1] is False
    theme.set("system")
    theme.deleteLater()


def test_icons_that_agents_and_pages_name_are_shipped_and_take_the_color(theme: Theme) -> None:
    icons = Icons()
    for name in ICONS_OF_AGENTS:
        assert icons.known(name), name
    red = QColor("#ff0000")
    image = theme.pixmap("square", red, 16, 2.0).toImage()
    assert (image.width(), image.devicePixelRatio()) == (32, 2.0)
    seen = {image.pixelColor(x, 16).name() for x in range(32) if image.pixelColor(x, 16).alpha()}
    assert seen == {"#ff0000"}
    assert theme.pixmap("square", red, 16, 2.0).cacheKey() == (
        theme.pixmap("square", red, 16, 2.0).cacheKey()
    )
    assert not theme.pixmap("no such icon", red, 16).isNull()


def test_no_file_elsewhere_is_an_icon(theme: Theme, tmp_path: Path) -> None:
    """Whoever wrote an agent's file chose the name of its icon."""
    (tmp_path / "icons").mkdir()
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24"/>'
    for path in ("icons/circle.svg", "icons/near.svg", "far.svg"):
        (tmp_path / path).write_text(svg)
    icons = Icons(tmp_path / "icons")
    assert icons.known("near")
    for name in ("../far", str(tmp_path / "far"), "x" * 5_000, "a\0b", "", "Near"):
        assert not icons.known(name)
        assert not icons.pixmap(name, QColor("red"), 16, 1.0).isNull()


def role(widget: QWidget) -> QAccessible.Role:
    found = QAccessible.queryAccessibleInterface(widget)
    assert found is not None
    return found.role()


def test_controls_tell_screen_readers_what_they_are(theme: Theme, qtbot: QtBot) -> None:
    button, toggle = Button(theme, "Replace…"), Toggle(theme, "Show menu bar")
    icon, check = IconButton(theme, "settings", "Settings"), Check(theme, "Sonnet 4.5")
    combo = Combo(theme, "Model", "Sonnet 4.5")
    for widget in (button, toggle, icon, check, combo):
        qtbot.addWidget(widget)
    assert button.accessibleName() == "Replace"
    assert icon.accessibleName() == "Settings"
    assert combo.accessibleName() == "Model, Sonnet 4.5"
    assert role(button) == QAccessible.Role.Button
    assert role(toggle) == role(check) == QAccessible.Role.CheckBox
    toggle.click()
    found = QAccessible.queryAccessibleInterface(toggle)
    assert found is not None and found.state().checked


def test_targets_are_at_least_24_pixels(theme: Theme, qtbot: QtBot) -> None:
    for widget in (Button(theme, "A"), IconButton(theme, "x", "Close"), Check(theme, "")):
        qtbot.addWidget(widget)
        assert widget.sizeHint().height() >= 24


def test_the_chevron_of_a_menu_is_smaller_than_a_combos(theme: Theme, qtbot: QtBot) -> None:
    button = MenuButton(theme, "Agent", "Coder")
    qtbot.addWidget(button)
    button.resize(button.sizeHint())
    image = button.grab().toImage()
    ground, end = image.pixelColor(0, 0), image.width()
    first = end - round(theme.px(12 + 8) * image.devicePixelRatio())
    columns = [
        x
        for x in range(first, end)
        if any(image.pixelColor(x, y) != ground for y in range(image.height()))
    ]
    assert 5 <= columns[-1] - columns[0] + 1 <= 8


def test_a_menus_button_has_room_for_its_words_at_each_text_size(
    theme: Theme, qtbot: QtBot
) -> None:
    """As wide as it asks to be it says what a wider one says."""
    for icon, boxed in (("shield", False), ("shield", True), ("", False)):
        button = MenuButton(theme, "Permissions", "Ask first", icon, boxed=boxed)
        qtbot.addWidget(button)
        for percent in range(90, 165, 5):
            theme.set(scale=percent / 100)
            size, beside = button.sizeHint(), button._mark + theme.px(20)
            words = QRect(0, 0, size.width() - beside, size.height())
            button.resize(size)
            own = button.grab(words).toImage()
            button.resize(size + QSize(40, 0))
            assert button.grab(words).toImage() == own, (percent, icon, boxed)


def test_a_status_has_room_for_its_figures(theme: Theme, qtbot: QtBot) -> None:
    """They are wider than those of the rest of the text, so that changing ones do not jump."""
    status = Status(theme, "Running, 111 tools, 1,117 tokens", "ok")
    qtbot.addWidget(status)
    wide = theme.metrics("small digits").horizontalAdvance(status.accessibleName())
    assert status.sizeHint().width() > theme.px(15) + wide


def test_a_choice_is_told_once_and_shown(theme: Theme, qtbot: QtBot) -> None:
    segmented = Segmented(theme, ["Edit", "Preview"])
    qtbot.addWidget(segmented)
    told: list[int] = []
    segmented.chosen.connect(told.append)
    segmented.segment(1).click()
    assert (told, segmented.current) == ([1], 1)
    combo = Combo(theme, "Model")
    qtbot.addWidget(combo)
    combo.set_items([MenuItem("a", "First"), MenuItem("b", "Second")])
    combo.set_current("b")
    assert combo.text() == "Second"


@pytest.mark.parametrize("scale", [1.0, 1.6])
def test_what_a_rule_does_is_read_whole_in_each_language(theme: Theme, scale: float) -> None:
    theme.set(scale=scale)
    for name in ("en", "de"):
        with language(name):
            combo = VerdictCombo(theme)
            needed = theme.metrics("ui").horizontalAdvance(combo.text()) + 2 * theme.px(10)
            assert combo.sizeHint().width() >= needed + theme.px(14) + theme.px(4), name
            combo.deleteLater()


def test_a_fields_error_is_read_aloud_and_goes_away(theme: Theme, qtbot: QtBot) -> None:
    field = Field(theme, "API key", secret=True)
    qtbot.addWidget(field)
    field.setText("sk-secret")
    assert field.displayText() != "sk-secret"
    field.set_error("This key is not valid.")
    assert field.accessibleDescription() == "This key is not valid."
    field.set_error()
    assert field.error == "" and field.text() == "sk-secret"


def test_the_focus_ring_shows_for_the_keyboard_only(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    row = QHBoxLayout(window)
    one, two = Button(theme, "One"), Button(theme, "Two")
    row.addWidget(one)
    row.addWidget(two)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=HANG_MS)
    two.setFocus(Qt.FocusReason.OtherFocusReason)
    assert FocusRing.of(theme).target is None
    one.setFocus(Qt.FocusReason.TabFocusReason)
    assert FocusRing.of(theme).target is one
    qtbot.mouseClick(two, Qt.MouseButton.LeftButton, pos=QPoint(3, 3))
    assert one.hasFocus()  # a click never takes the focus away


def test_the_timer_runs_only_while_something_spins(theme: Theme, qtbot: QtBot) -> None:
    ticker = AnimationTimer.of(theme)
    assert AnimationTimer.of(theme) is ticker
    spinner = Status(theme, "Looking", "busy")
    qtbot.addWidget(spinner)
    spinner.show()
    qtbot.waitUntil(lambda: ticker.running, timeout=HANG_MS)
    spinner.hide()
    qtbot.waitUntil(lambda: not ticker.running, timeout=HANG_MS)
    theme.set(still=True)
    spinner.show()
    spinner.repaint()
    assert not ticker.running


def test_the_pictures_of_a_spinner_are_kept(
    theme: Theme, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its curves are drawn once for each step of a turn, on a screen of any density."""
    now = [0.0]
    monkeypatch.setattr(AnimationTimer, "turn", property(lambda _: now[0] % 1))
    spinner = Status(theme, "", "busy")
    qtbot.addWidget(spinner)
    seen: set[bytes] = set()
    for at in range(3 * STEPS):
        now[0] = at / 100
        image = spinner.grab().toImage()  # its bits are gone with it
        seen.add(bytes(image.bits()))
    assert STEPS / 2 < len(seen) <= STEPS
    for ratio in (1.0, 2.0):
        drawn = QImage(QSize(40, 40) * ratio, QImage.Format.Format_RGB32)
        drawn.setDevicePixelRatio(ratio)
        drawn.fill(Qt.GlobalColor.red)
        painter = QPainter(drawn)
        paint_spinner(painter, theme, spinner, QRectF(12, 12, 16, 16))
        painter.end()
        tinted = [
            QPoint(x, y)
            for x in range(drawn.width())
            for y in range(drawn.height())
            if drawn.pixelColor(x, y) != QColor("red")
        ]
        box = QPolygon(tinted).boundingRect()
        for first, last in ((box.left(), box.right()), (box.top(), box.bottom())):
            assert first - 12 * ratio == 28 * ratio - 1 - last
