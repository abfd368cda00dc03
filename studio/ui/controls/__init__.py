"""Controls every page is made of, painted from the theme.

They are ``QAbstractButton`` or native widgets underneath, so that keyboard,
focus and screen readers find what they expect.
"""

from .buttons import Button, IconButton, PaintedButton
from .choice import Check, Combo, MenuButton, MenuItem, Segmented, Toggle, fill_menu
from .focus import FocusRing
from .painting import (
    keycaps_width,
    paint_check,
    paint_ends,
    paint_keycaps,
    paint_ring,
    paint_rounded,
    paint_spinner,
    paint_tag,
    paint_tile,
    tag_width,
)
from .panels import Card, Column, Field, Hairline, Label, Mark, Status, Tag, Tile
from .scroll import OverlayBar, make_transparent
from .ticker import AnimationTimer

__all__ = [
    "Button",
    "Card",
    "Check",
    "Column",
    "Combo",
    "Field",
    "FocusRing",
    "Hairline",
    "IconButton",
    "Label",
    "Mark",
    "MenuButton",
    "MenuItem",
    "OverlayBar",
    "PaintedButton",
    "Segmented",
    "Status",
    "Tag",
    "AnimationTimer",
    "Tile",
    "Toggle",
    "fill_menu",
    "keycaps_width",
    "paint_check",
    "paint_ends",
    "paint_keycaps",
    "paint_ring",
    "paint_rounded",
    "paint_spinner",
    "paint_tag",
    "paint_tile",
    "make_transparent",
    "tag_width",
]
