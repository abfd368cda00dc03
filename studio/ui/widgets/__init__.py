"""Controls every page is made of, painted from the theme.

- ``buttons``: Buttons.
- ``choice``: Choosing.
- ``focus``: The ring around what has the keyboard's focus.
- ``logo``: The program's mark.
- ``painting``: Shapes that controls and delegates share.
- ``panels``: Fields, cards, words and marks that only show.
- ``thumbnails``: Small versions of pictures, decoded in a thread and kept while they are near.
"""

from .buttons import Button, IconButton, PaintedButton
from .choice import Check, Combo, MenuButton, MenuItem, Segmented, Toggle, fill_menu
from .focus import FocusRing
from .painting import (
    AnimationTimer,
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
from .panels import (
    Card,
    Column,
    Field,
    Hairline,
    Label,
    Mark,
    OverlayBar,
    Status,
    Tag,
    Tile,
    make_transparent,
)

__all__ = [
    "AnimationTimer",
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
    "Tile",
    "Toggle",
    "fill_menu",
    "keycaps_width",
    "make_transparent",
    "paint_check",
    "paint_ends",
    "paint_keycaps",
    "paint_ring",
    "paint_rounded",
    "paint_spinner",
    "paint_tag",
    "paint_tile",
    "tag_width",
]
