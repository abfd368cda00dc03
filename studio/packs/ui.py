"""All that the pages of packs take from the window (KZ-9): ``from studio.packs.ui import Page``.

It is for packs whose Python runs in the program. A page is a widget of Qt: what is not here comes
from PySide6. Import this only in the module of a page, which is loaded when the page is first
opened: a pack's tools are also used where there is no window.
"""

from __future__ import annotations

from studio.ui.forms.schema_form import SchemaForm
from studio.ui.forms.text_area import TextArea
from studio.ui.pages.widget_page import PackWidget as Page
from studio.ui.pages.widget_page import PackWindow
from studio.ui.theme import Theme, joined
from studio.ui.widgets import (
    Button,
    Card,
    Check,
    Combo,
    Field,
    FocusRing,
    Hairline,
    HeadedList,
    IconButton,
    Label,
    MenuButton,
    MenuItem,
    OverlayBar,
    PaintedButton,
    Segmented,
    Status,
    Tag,
    Toggle,
    make_transparent,
    message_box,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_ends, paint_rounded, paint_text

__all__ = [
    "STRETCH",
    "Button",
    "Card",
    "Check",
    "Combo",
    "Field",
    "FocusRing",
    "Hairline",
    "HeadedList",
    "IconButton",
    "Label",
    "MenuButton",
    "MenuItem",
    "OverlayBar",
    "PackWindow",
    "Page",
    "PaintedButton",
    "PaintedWidget",
    "SchemaForm",
    "Segmented",
    "Status",
    "Tag",
    "TextArea",
    "Theme",
    "Toggle",
    "column_of",
    "joined",
    "make_transparent",
    "message_box",
    "paint_ends",
    "paint_rounded",
    "paint_text",
    "plain_tip",
    "row_of",
    "widget_of",
]
