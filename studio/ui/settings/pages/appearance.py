"""The Appearance page: theme, accent, fonts, density, contrast, motion, with a live sample."""

from __future__ import annotations

from functools import partial
from typing import get_args

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QWidget

from studio.storage.config.settings import Accent, Contrast, Motion, ThemeName
from studio.ui.formatting import percent
from studio.ui.settings.font_dialog import FontDialog
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined, tokens, typefaces
from studio.ui.theme.look import look_of
from studio.ui.theme.mirroring import upright
from studio.ui.translation import tr, tr_in, tr_later
from studio.ui.widgets import Card, Combo, MenuItem, PaintedButton, Segmented, Toggle, plain_tip
from studio.ui.widgets.layouts import row_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    centred,
    keycaps_width,
    paint_keycaps,
    paint_rounded,
    paint_text,
)

THEMES: tuple[ThemeName, ...] = get_args(ThemeName)
ACCENTS: tuple[Accent, ...] = get_args(Accent)
CONTRASTS: tuple[Contrast, ...] = get_args(Contrast)
MOTIONS: tuple[Motion, ...] = get_args(Motion)
DENSITIES = ("comfortable", "compact")
SIZES = (90, 100, 110, 120, 130, 140, 150, 160)
AUTOMATIC, OTHER = "automatic", "other"
"""Keys of the lines in the menus of fonts that are no families."""
_NAMES = {
    "blue": tr_later("Blue"),
    "plum": tr_later("Plum"),
    "rose": tr_later("Rose"),
    "rust": tr_later("Rust"),
    "ochre": tr_later("Ochre"),
    "green": tr_later("Green"),
    "teal": tr_later("Teal"),
    "slate": tr_later("Slate"),
    "system": tr_later("System"),
}
"""Accents in the order in which they are offered."""


class _Swatch(PaintedButton):
    """One accent as a dot; the system's also has a word."""

    def __init__(self, theme: Theme, accent: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._accent = accent
        self.setCheckable(True)
        self.setAutoExclusive(True)  # what makes it a radio button for screen readers
        self.radius = 14
        name = tr(_NAMES[accent])
        self.setText(name if accent == "system" else "")
        self.setAccessibleName(joined((tr("Accent"), name)))
        self.setToolTip(plain_tip(name))

    def sizeHint(self) -> QSize:
        t = self.theme
        side = max(t.px(28), 24)
        words = t.metrics("small_medium").horizontalAdvance(self.text()) if self.text() else 0
        return QSize(side + (words + t.px(12) if words else 0), side)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, side = self.theme, rect.height()
        self.radius = int(side / 2)
        fill = t.system_accent
        if self._accent != "system":
            fill = QColor.fromRgb(tokens.ACCENTS[self._accent][t.dark])
            if t.dark and self._accent != "blue":  # a fill that takes white words is dim there
                fill = t.hue(self._accent)[0]
        self.paint_overlay(painter, rect)
        if self.isChecked():
            ring = centred(QRectF(0, 0, side, side), t.px(24))
            paint_rounded(painter, ring, ring.height() / 2, None, t.color("accent_text"), 2)
        dot = centred(QRectF(0, 0, side, side), t.px(16))
        paint_rounded(painter, dot, dot.height() / 2, fill, t.color("control"))
        if self.text():
            words = QRectF(side, 0, rect.width() - side, rect.height())
            paint_text(painter, t, words, self.text(), "small_medium")


class Accents(QWidget):
    """The accents side by side. ``chosen`` gives the one that a person chose."""

    chosen = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        row = row_of(spacing=2, on=self)
        self._group = QButtonGroup(self)
        self.swatches = {name: _Swatch(theme, name, self) for name in _NAMES}
        for index, swatch in enumerate(self.swatches.values()):
            swatch.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self._group.addButton(swatch, index)
            row.addWidget(swatch)
        self._group.idToggled.connect(self._toggled)
        self._group.idClicked.connect(lambda index: self.chosen.emit([*_NAMES][index]))

    def set_current(self, accent: str) -> None:
        self.swatches[accent].setChecked(True)

    def _toggled(self, index: int, on: bool) -> None:
        """Tab goes to the chosen one, the arrows to the others."""
        policy = Qt.FocusPolicy.TabFocus if on else Qt.FocusPolicy.NoFocus
        self._group.button(index).setFocusPolicy(policy)


class Sample(PaintedWidget):
    """A few lines of a chat as they look now; says nothing to screen readers."""

    def sizeHint(self) -> QSize:
        t = self.theme
        tall = t.height(28) + t.line("body") + max(t.line("code"), t.height(28)) + t.px(20)
        return QSize(t.px(320), tall)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(200), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        asked = tr("Why does it wait twice?")
        wide = t.metrics("body").horizontalAdvance(asked) + t.px(24)
        bubble = QRectF(rect.right() - wide, 0, wide, t.height(28))
        paint_rounded(painter, bubble, t.px(10), t.color("bubble"))
        paint_text(painter, t, bubble.adjusted(t.px(12), 0, 0, 0), asked, "body")
        y = bubble.bottom() + t.px(8)
        line = QRectF(0, y, rect.width(), t.line("body"))
        said = tr("Both calls sleep before they try again.")
        link = tr("Show the lines")
        paint_text(painter, t, line, said, "body")
        line.setLeft(t.metrics("body").horizontalAdvance(said) + t.px(8))
        paint_text(painter, t, line, link, "body", "accent_text", room=line.width())
        y = line.bottom() + t.px(10)
        row = QRectF(0, y, rect.width(), t.height(28))
        self._paint_code(painter, row)
        self._paint_button(painter, row)

    def _paint_code(self, painter: QPainter, row: QRectF) -> None:
        t, x = self.theme, row.left() + self.theme.px(8)
        pieces = (("return ", "syntax_keyword"), ("wait(", "text1"), ("0.25", "syntax_number"))
        pieces = (*pieces, (")  ", "text1"), ("# s", "syntax_comment"))
        wide = sum(t.metrics("code").horizontalAdvance(text) for text, _ in pieces)
        box = QRectF(row.left(), row.top(), wide + t.px(16), row.height())
        paint_rounded(painter, box, 6, t.color("sunken"), t.color("hair"))
        with upright(painter, box):
            for text, ink in pieces:
                place = QRectF(x, row.top(), wide, row.height())
                paint_text(painter, t, place, text, "code", ink)
                x += t.metrics("code").horizontalAdvance(text)

    def _paint_button(self, painter: QPainter, row: QRectF) -> None:
        t, words = self.theme, tr("Allow once")
        keys = keycaps_width(t, "Enter") + t.px(8) if t.keycaps else 0
        wide = t.metrics("ui_medium").horizontalAdvance(words) + 2 * t.px(12) + keys
        box = QRectF(row.right() - wide, row.top(), wide, row.height())
        paint_rounded(painter, box, 6, t.color("accent"), t.color("accent_line"))
        paint_text(painter, t, box.adjusted(t.px(12), 0, 0, 0), words, "ui_medium", "accent_on")
        if t.keycaps:
            at = QPointF(box.right() - keys, box.center().y())
            paint_keycaps(painter, t, at, "Enter", on_accent=True)


class AppearancePage(SettingsPage):
    """The look of all windows. Each change applies at once."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("Follows your system unless you choose otherwise.")
        super().__init__(theme, tr("Appearance"), line)
        self._settings = services.values
        self._dialog: FontDialog | None = None
        sample = Card(theme, "surface", "hair")
        row_of([Sample(theme)], margins=(14, 12, 14, 12), on=sample)
        self.column.addWidget(sample)
        self._add_colors()
        self._add_text()
        self._add_comfort()
        self.column.addStretch(1)

    def _add_colors(self) -> None:
        rows = FormCard(self.theme)
        names = (tr("System"), tr("Light"), tr("Dark"))
        self.themes = Segmented(self.theme, names, name=tr("Theme"))
        self.themes.chosen.connect(lambda at: self._store("theme", THEMES[at]))
        rows.add(tr("Theme"), self.themes)
        self.accents = Accents(self.theme)
        self.accents.chosen.connect(partial(self._store, "accent"))
        rows.add(tr("Accent"), self.accents, tr("Adjusted so that text stays readable."))
        self.column.addWidget(rows)

    def _add_text(self) -> None:
        rows = FormCard(self.theme)
        sizes = [MenuItem(str(n), percent(n / 100)) for n in SIZES]
        self.size_combo = Combo(self.theme, tr("Text size"), "", 120, sizes)
        self.size_combo.chosen.connect(lambda size: self._store("text_size", int(size)))
        rows.add(tr("Text size"), self.size_combo, tr("90% to 160%. Also Ctrl++ and Ctrl+−"))
        self.fonts: dict[str, Combo] = {}
        for setting, title in (("font", tr("Font")), ("code_font", tr("Code font"))):
            combo = self.fonts[setting] = Combo(self.theme, title, "", 212)
            combo.opening.connect(self.refresh)
            combo.chosen.connect(partial(self._font_chosen, setting))
            rows.add(title, combo)
        names = (tr("Comfortable"), tr("Compact"))
        self.density = Segmented(self.theme, names, name=tr("Density"))
        self.density.chosen.connect(lambda at: self._store("density", DENSITIES[at]))
        rows.add(tr("Density"), self.density)
        self.wide = rows.add_toggle(
            tr("Wide text column"),
            partial(self._store, "wide_text"),
            tr("Longer lines in chats, where the window has room."),
        )
        self.column.addWidget(rows)

    def _add_comfort(self) -> None:
        rows = FormCard(self.theme)
        names = (tr("System"), tr_in("contrast", "Normal"), tr_in("contrast", "High"))
        self.contrast = Segmented(self.theme, names, name=tr("Contrast"))
        self.contrast.chosen.connect(lambda at: self._store("contrast", CONTRASTS[at]))
        rows.add(tr("Contrast"), self.contrast, tr("High draws all borders, and no faint text."))
        names = (tr("System"), tr_in("motion", "Normal"), tr_in("motion", "Reduced"))
        self.motion = Segmented(self.theme, names, name=tr("Motion"))
        self.motion.chosen.connect(lambda at: self._store("motion", MOTIONS[at]))
        rows.add(tr("Motion"), self.motion, tr("Reduced, nothing spins, slides or fades."))
        self.keys: Toggle = rows.add_toggle(
            tr("Show keys on buttons"), partial(self._store, "show_keys")
        )
        self.column.addWidget(rows)

    def refresh(self) -> None:
        values = self._settings
        self.themes.set_current(THEMES.index(values.theme))
        self.accents.set_current(values.accent)
        self.contrast.set_current(CONTRASTS.index(values.contrast))
        self.density.set_current(DENSITIES.index(values.density))
        self.size_combo.set_current(str(values.text_size))
        self.size_combo.set_face(percent(values.text_size / 100))
        self.wide.show_value(values.wide_text)
        self.motion.set_current(MOTIONS.index(values.motion))
        self.keys.show_value(values.show_keys)
        for setting in self.fonts:
            self._show_font(setting)

    def _show_font(self, setting: str) -> None:
        chosen: str = getattr(self._settings, setting)
        code = setting == "code_font"
        now = typefaces.code_families("") if code else typefaces.families("")
        items = [MenuItem(AUTOMATIC, tr("Automatic"), detail=now[0]), MenuItem("", "")]
        known = dict.fromkeys([typefaces.CODE if code else typefaces.UI, *now])
        if chosen:
            known.setdefault(chosen)
        items += [MenuItem(family, family) for family in known if family]
        items += [MenuItem("", ""), MenuItem(OTHER, tr("Other…"))]
        combo = self.fonts[setting]
        combo.set_items(items)
        combo.set_current(chosen or AUTOMATIC)
        combo.set_face(chosen or tr("Automatic"))

    def _font_chosen(self, setting: str, key: str) -> None:
        if key != OTHER:
            self._store(setting, "" if key == AUTOMATIC else key)
            return
        self.refresh()  # the button shows what is in force, not “Other”
        current: str = getattr(self._settings, setting)
        self._dialog = FontDialog(self.theme, current, self.window(), code=setting == "code_font")
        self._dialog.picked.connect(partial(self._store, setting))
        self._dialog.open()

    def _store(self, setting: str, value: object) -> None:
        setattr(self._settings, setting, value)
        self.theme.wear(look_of(self._settings))
        self.refresh()
        self.changed.emit()
