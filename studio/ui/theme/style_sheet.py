"""The one style sheet of the application, and its palette.

The sheet dresses only what is native: line edits, scroll bars, tool tips and
menus. It never sets fonts, which would override ``setFont``.
"""

from __future__ import annotations

import sys
from typing import Protocol

from PySide6.QtGui import QColor, QPalette


class Values(Protocol):
    """Of a theme, what a sheet is written with."""

    @property
    def dark(self) -> bool: ...
    def color(self, token: str) -> QColor: ...
    def overlay(self, percent: float) -> QColor: ...
    def px(self, n: float) -> int: ...
    def height(self, n: float) -> int: ...


def palette(theme: Values) -> QPalette:
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


def sheet(theme: Values) -> str:
    """QSS with this theme's colours and lengths."""

    def color(token: str) -> str:
        return _rgba(theme.color(token))

    px = theme.px
    field = f"""
QLineEdit {{ placeholder-text-color: {color("text3")};
  background: {color("field")}; color: {color("text1")};
  border: 1px solid {color("control")}; border-radius: 6px;
  padding: 0 {px(9)}px; min-height: {theme.height(30) - 2}px;
  selection-background-color: {color("accent")}; selection-color: {color("accent_on")};
}}
QLineEdit:focus {{ border: 2px solid {color("accent_text")}; padding: 0 {px(9) - 1}px;
  min-height: {theme.height(30) - 4}px; }}
QLineEdit[error="true"] {{ border: 2px solid {color("err")}; padding: 0 {px(9) - 1}px;
  min-height: {theme.height(30) - 4}px; }}
QLineEdit:disabled {{ color: {color("text3")}; }}
QLineEdit[bare="true"] {{ background: transparent; border: none; padding: 0; min-height: 0; }}
QAbstractScrollArea {{ border: none; background: transparent; }}
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
  padding: 2px {px(11)}px; }}
QMenuBar::item {{ background: transparent; padding: {px(5)}px {px(12)}px; border-radius: 5px; }}
QMenuBar::item:selected {{ background: {color("selected")}; color: {color("text1")}; }}
QMenu {{ background: {color("raised")}; color: {color("text1")};
  border: 1px solid {color("control")}; border-radius: 0; padding: 4px; }}
QMenu::item {{ padding: {px(5)}px {px(26)}px {px(5)}px {px(10)}px; border-radius: 5px; }}
QMenu::item:selected {{ background: {color("selected")}; color: {color("text1")}; }}
QMenu::item:disabled {{ color: {color("text3")}; }}
QMenu::separator {{ height: 1px; background: {color("hair")}; margin: 4px 6px; }}
QMenu::indicator {{ width: {px(14)}px; height: {px(14)}px; margin-left: {px(6)}px; }}
QMenu::icon {{ margin-left: {px(8)}px; }}
"""
    return field + bars + tips + menus
