"""Theme: colours, fonts, icons and lengths from one object.

The application has one style sheet, made here with its palette. It styles only native widgets
(line edits, scroll bars, tool tips and menus) and never sets fonts, which would override
``setFont``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

from PySide6.QtCore import QObject, QPointF, QRectF, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QPainter,
    QPalette,
    QPixmap,
)
from PySide6.QtWidgets import QApplication, QMenu, QMenuBar

from . import tokens, typefaces
from .accents import accent_tokens
from .icons import Icons
from .look import Look, Setting
from .mirroring import upright

ICONS_OF_AGENTS: tuple[str, ...] = (
    "sparkle",
    "bot",
    "code-xml",
    "flask-conical",
    "telescope",
    "feather",
    "scan-eye",
    "map",
    "palette",
)
"""Icons an agent's file may name."""


class Theme(QObject):
    """Light or dark, at one text size, and all else that a person may choose of the look.

    ``setting`` follows the system or fixes one; ``scale`` is the text size as
    a factor, 0.9 to 1.6. ``changed`` is emitted after the look has changed.
    """

    changed = Signal()

    def __init__(
        self, setting: Setting = "system", scale: float = 1.0, parent: QObject | None = None
    ) -> None:
        super().__init__(parent or QApplication.instance())  # outlives every widget
        self._look = _bounded(Look(setting, scale))
        self._icons = Icons()
        self._family = typefaces.families("")
        self._fixed: list[str] = []
        self._fonts: dict[tuple[str, bool], QFont] = {}
        self._metrics: dict[str, QFontMetrics] = {}
        self._applied = False
        self._system_accent = QGuiApplication.palette().color(QPalette.ColorRole.Accent)
        """Before ``apply``, which gives the program a palette of its own."""
        self._contrast = False
        self._still = False
        self._desktop = (False, False)
        """What the desktop wishes beside what Qt knows of it: high contrast, less motion."""
        self._dark = False
        self._colors: dict[str, QColor] = {}
        self._read_system()

    # What widgets ask

    @property
    def dark(self) -> bool:
        return self._dark

    @property
    def scale(self) -> float:
        return self._look.scale

    @property
    def setting(self) -> Setting:
        return self._look.setting

    @property
    def system_accent(self) -> QColor:
        """The accent that the desktop had when the program started."""
        return QColor(self._system_accent)

    @property
    def keycaps(self) -> bool:
        """Whether buttons show their keys."""
        return self._look.keycaps

    @property
    def column(self) -> int:
        """The width of a chat's text, in pixels at text size 100 %."""
        return tokens.WIDE_COLUMN if self._look.wide else tokens.COLUMN

    def color(self, token: str) -> QColor:
        """A token of ``tokens``, an overlay (``hover``, ``press``, …) or a shade."""
        return QColor(self._colors[token])

    @property
    def still(self) -> bool:
        """The person or else the system asks for less motion: nothing spins, slides or fades."""
        if self._look.motion == "system":
            return self._still
        return self._look.motion == "reduced"

    def overlay(self, percent: float) -> QColor:
        """Black on light, white on dark, this strong."""
        made = QColor(Qt.GlobalColor.white if self._dark else Qt.GlobalColor.black)
        made.setAlphaF(percent / 100)
        return made

    def hue(self, name: str) -> tuple[QColor, QColor]:
        """An agent's icon and tile colours; an unknown name is slate."""
        icon, tile = tokens.HUES.get(name, tokens.HUES["slate"])[self._dark]
        return QColor(icon), QColor(tile)

    def font(self, role: str, digits: bool = False) -> QFont:
        """The font of a role; ``digits`` keeps changing numbers from jumping."""
        made = self._fonts.get((role, digits))
        if made is None:
            size, weight, fixed = tokens.FONTS[role]
            made = QFont(self._code_family if fixed else self._family)
            if fixed:
                made.setStyleHint(QFont.StyleHint.Monospace)
            made.setPixelSize(max(1, round(size * self.scale)))
            made.setWeight(QFont.Weight(weight))
            if digits:
                made.setFeature(QFont.Tag("tnum"), 1)
            self._fonts[role, digits] = made
        return QFont(made)

    def metrics(self, role: str) -> QFontMetrics:
        """Those of a role's font; “small digits” are wider where a number has a 1."""
        made = self._metrics.get(role)
        if made is None:
            name, _, digits = role.partition(" ")
            made = self._metrics[role] = QFontMetrics(self.font(name, bool(digits)))
        return made

    def line(self, role: str) -> int:
        """Line height of a role, in pixels."""
        fixed = tokens.LINES.get(role)
        return self.px(fixed[self._look.compact]) if fixed else self.metrics(role).height()

    def px(self, n: float) -> int:
        """A length of the interface at this text size."""
        return round(n * self._look.scale)

    def height(self, n: float, role: str = "ui") -> int:
        """A row's or control's height: never less than its line and 10 pixels.

        Both are less in a compact window.
        """
        less = tokens.COMPACT if self._look.compact else 0
        return max(self.px(n - less), self.metrics(role).height() + 10 - less)

    def pixmap(self, name: str, color: str | QColor, size: float, dpr: float = 1.0) -> QPixmap:
        """An icon, ``size`` logical pixels square as given (not scaled by text size)."""
        return self._icons.pixmap(name, self._as_color(color), size, dpr)

    def paint_icon(
        self, painter: QPainter, rect: QRectF, name: str, color: str | QColor = "text2"
    ) -> None:
        """Paint an icon, centred in ``rect``, as large as its shorter side."""
        zoom = abs(painter.worldTransform().m11()) or 1.0  # icons are never mirrored
        dpr = painter.device().devicePixelRatioF()
        size = min(rect.width(), rect.height())
        drawn = self._icons.pixmap(name, self._as_color(color), size, dpr * zoom)
        at = rect.center() - QPointF(size, size) / 2
        if zoom == 1.0:  # on whole device pixels, or thin strokes blur
            at = QPointF(round(at.x() * dpr) / dpr, round(at.y() * dpr) / dpr)
        place = QRectF(at, QSizeF(size, size))
        with upright(painter, place):
            painter.drawPixmap(place, drawn, QRectF(0, 0, drawn.width(), drawn.height()))

    def icon(self, name: str, color: str | QColor = "text2", size: int = 16) -> QIcon:
        """An icon for menus and other native places; made for this theme's colours."""
        made = QIcon()
        for dpr in (1.0, 2.0):
            made.addPixmap(self.pixmap(name, color, self.px(size), dpr))
        return made

    def _as_color(self, color: str | QColor) -> QColor:
        return self._colors[color] if isinstance(color, str) else color

    # Who sets it

    def apply(self, app: QApplication) -> None:
        """Dress the application, and follow the system from now on."""
        app.setStyle("Fusion")
        if not self._applied:
            self._applied = True
            hints = app.styleHints()
            hints.colorSchemeChanged.connect(self._system_changed)
            if hasattr(hints, "accessibility"):  # Qt 6.10
                wishes = hints.accessibility()
                wishes.contrastPreferenceChanged.connect(self._system_changed)
                motion = getattr(wishes, "motionPreferenceChanged", None)  # since Qt 6.12
                if motion is not None:
                    motion.connect(self._system_changed)
        self._tell_system()
        self._read_system()
        self._dress()

    def set(
        self,
        setting: Setting | None = None,
        scale: float | None = None,
        still: bool | None = None,
    ) -> None:
        """Choose system, light or dark, text size, reduced motion; None leaves it as it is."""
        look = self._look
        self.wear(
            replace(
                look,
                setting=look.setting if setting is None else setting,
                scale=look.scale if scale is None else scale,
                motion=look.motion if still is None else "reduced" if still else "normal",
            )
        )

    def hear_desktop(self, *, contrast: bool, less_motion: bool) -> None:
        """Take over wishes of the desktop that Qt may not know, where the person chose none."""
        self._desktop = (contrast, less_motion)
        self._system_changed()

    def wear(self, look: Look) -> None:
        """Choose the whole look."""
        before, self._look = self._look, _bounded(look)
        was_dark = self._dark
        if before.font != look.font:
            self._family = typefaces.families(look.font)
        if before.code_font != look.code_font:
            self._fixed = []
        self._tell_system()
        self._read_system()
        if (before, was_dark) != (self._look, self._dark):
            self._dress()

    @property
    def _code_family(self) -> list[str]:
        """Found when it is first wanted: the window's first paint shows no code."""
        if not self._fixed:
            self._fixed = typefaces.code_families(self._look.code_font)
        return self._fixed

    def _tell_system(self) -> None:
        """Title bar and native dialogs follow a fixed choice as well."""
        if not self._applied:
            return
        hints = QGuiApplication.styleHints()
        scheme = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark}
        hints.setColorScheme(scheme.get(self.setting, Qt.ColorScheme.Unknown))

    def _read_system(self) -> None:
        hints = QGuiApplication.styleHints()
        self._dark = (
            hints.colorScheme() == Qt.ColorScheme.Dark
            if self.setting == "system"
            else self.setting == "dark"
        )
        contrast, self._still = self._desktop
        if hasattr(hints, "accessibility"):
            wishes = hints.accessibility()
            contrast |= wishes.contrastPreference() == Qt.ContrastPreference.HighContrast
            motion = getattr(wishes, "motionPreference", None)  # since Qt 6.12
            self._still |= motion is not None and motion().name == "ReducedMotion"
        chosen = self._look.contrast
        self._contrast = contrast if chosen == "system" else chosen == "high"
        values = dict(tokens.DARK if self._dark else tokens.LIGHT)
        if self._look.accent != "blue":
            values |= accent_tokens(self._accent, values, dark=self._dark)
        if self._contrast:
            values |= {name: values[other] for name, other in tokens.HIGH_CONTRAST.items()}
        self._colors = {name: QColor(value) for name, value in values.items()}
        for name, percent in tokens.OVERLAYS.items():
            self._colors[name] = self.overlay(percent[self._dark])
        for name, percent in tokens.SHADES.items():
            shade = QColor(Qt.GlobalColor.black)
            shade.setAlphaF(percent[self._dark] / 100)
            self._colors[name] = shade

    @property
    def _accent(self) -> int:
        """The accent's fill as it was chosen."""
        if self._look.accent == "system":
            return self._system_accent.rgb() & 0xFFFFFF
        return tokens.ACCENTS[self._look.accent][self._dark]

    def _system_changed(self) -> None:
        before = (self._dark, self._contrast, self._still)
        self._read_system()
        if before != (self._dark, self._contrast, self._still):
            self._dress()

    def _dress(self) -> None:
        self._fonts.clear()
        self._metrics.clear()
        app = QApplication.instance()
        if self._applied and isinstance(app, QApplication):
            app.setPalette(_palette(self))
            app.setFont(self.font("ui"))
            sheet = _style_sheet(self)
            if sheet != app.styleSheet():
                app.setStyleSheet(sheet)
            else:
                _measure_menus_again(app)
        self.changed.emit()


def _bounded(look: Look) -> Look:
    low, high = tokens.TEXT_SIZES
    return replace(look, scale=min(high / 100, max(low / 100, look.scale)))


def _palette(theme: Theme) -> QPalette:
    role = QPalette.ColorRole
    made = QPalette()
    for which, token in (
        (role.Window, "window"),
        (role.WindowText, "text1"),
        (role.Base, "surface"),
        (role.AlternateBase, "sunken"),
        (role.Text, "text1"),
        (role.Button, "button"),
        (role.ButtonText, "text1"),
        (role.BrightText, "accent_on"),
        (role.ToolTipBase, "raised"),
        (role.ToolTipText, "text1"),
        (role.PlaceholderText, "text3"),
        (role.Highlight, "accent"),
        (role.HighlightedText, "accent_on"),
        (role.Accent, "accent"),
        (role.Link, "accent_text"),
        (role.LinkVisited, "accent_text"),
        (role.Light, "raised"),
        (role.Midlight, "hair"),
        (role.Mid, "control"),
        (role.Dark, "strong"),
    ):
        made.setColor(which, theme.color(token))
    off = QPalette.ColorGroup.Disabled
    for which in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(off, which, theme.color("text3"))
    made.setColor(off, role.Highlight, theme.color("control"))
    return made


def _rgba(color: QColor) -> str:
    return f"rgba({color.red()},{color.green()},{color.blue()},{color.alphaF():.3f})"


def _measure_menus_again(app: QApplication) -> None:
    """Give menus the lengths of the present text size: a style keeps those it has read."""
    for widget in app.allWidgets():
        if isinstance(widget, QMenu | QMenuBar):
            style = widget.style()
            style.unpolish(widget)
            style.polish(widget)


def _style_sheet(theme: Theme) -> str:
    """QSS with this theme's colours.

    Lengths that grow with the text are in ``em``, the height of its line. Another sheet is
    a third of a second of work for some hundreds of widgets, so one serves all text sizes.
    """

    def color(token: str) -> str:
        return _rgba(theme.color(token))

    field = f"""
QLineEdit {{ placeholder-text-color: {color("text3")};
  background: {color("field")}; color: {color("text1")};
  border: 1px solid {color("control")}; border-radius: 6px; padding: 4px 6px;
  selection-background-color: {color("accent")}; selection-color: {color("accent_on")};
}}
QLineEdit:focus {{ border: 2px solid {color("accent_text")}; padding: 3px 5px; }}
QLineEdit[error="true"] {{ border: 2px solid {color("err")}; padding: 3px 5px; }}
QLineEdit[plain="true"] {{ border: none; background: transparent; padding: 0; }}
QLineEdit:disabled {{ color: {color("text3")}; }}
"""
    thumb = _rgba(theme.overlay(18 if not theme.dark else 22))
    thumb_hover = _rgba(theme.overlay(32 if not theme.dark else 36))
    bars = f"""
QScrollBar {{ background: transparent; border: none; margin: 0; }}
QScrollBar:vertical {{ width: 10px; }}
QScrollBar:horizontal {{ height: 10px; }}
QScrollBar::handle {{ background: {thumb}; border-radius: 3px; margin: 2px; }}
QScrollBar::handle:hover, QScrollBar::handle:pressed {{ background: {thumb_hover}; }}
QScrollBar::handle:vertical {{ min-height: 32px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; border: none; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""
    tips = f"""
QToolTip {{
  background: {color("raised")}; color: {color("text1")};
  border: 1px solid {color("control")}; padding: 3px 6px;
}}
"""
    if sys.platform == "darwin":
        return field + bars + tips
    menus = f"""
QMenuBar {{ background: {color("window")}; color: {color("text2")};
  border: none; border-bottom: 1px solid {color("hair")}; spacing: 0;
  padding: 2px 0.7em; menubar-altkey-navigation: 1; }}
QMenuBar::item {{ background: transparent; padding: 0.3em 0.75em; border-radius: 5px; }}
QMenuBar::item:selected {{ background: {color("selected")}; color: {color("text1")}; }}
QMenu {{ background: {color("raised")}; color: {color("text1")};
  border: 1px solid {color("control")}; border-radius: 0; padding: 4px; }}
QMenu::item {{ padding: 0.3em 1.6em 0.3em 0.6em; border-radius: 5px; }}
QMenu::item:selected {{ background: {color("selected")}; color: {color("text1")}; }}
QMenu::item:disabled {{ color: {color("text3")}; }}
QMenu::separator {{ height: 1px; background: {color("hair")}; margin: 4px 6px; }}
QMenu::indicator {{ width: 0.9em; height: 0.9em; margin-left: 0.4em; }}
QMenu::icon {{ margin-left: 0.5em; }}
"""
    return field + bars + tips + menus


def elided(metrics: QFontMetrics, text: str, width: float, middle: bool = False) -> str:
    """``text`` cut with an ellipsis to fit ``width`` pixels."""
    how = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
    return metrics.elidedText(text, how, max(0, int(width)))


def joined(parts: Iterable[str]) -> str:
    """A widget's name for a screen reader: the parts that say something, with commas."""
    return ", ".join(part for part in parts if part)
