"""Controls that every page is made of, painted from the theme.

They are ``QAbstractButton`` or native widgets underneath, so that keyboard, focus and
screen readers find what they expect.

- ``buttons``: Buttons with a text, an icon or both.
- ``choice``: Segments, switches, check boxes, and buttons that open a menu.
- ``headed_list``: Choices under headings, moved through by the keys of a field.
- ``panels``: Text fields, labels, cards, tags, status marks and scroll bars.
- ``scrolled_body``: Shows a widget up to a height, and scrolls to the rest.
- ``code_box``: Shows a text that may be long, in a field that scrolls.
- ``breakable``: Breaks words that are longer than their place, or leaves out the middle.
- ``layouts``: Puts widgets in rows and columns.
- ``focus``: Shows a ring around the control that has the keyboard's focus.
- ``row_list``: The model of a list of plain values, and the base of what paints its rows.
- ``keyboard_list``: A list whose current row has a ring while the keyboard is used in it.
- ``key_foot``: The keys of a list and what they do, below it.
- ``answer_row``: One of the answers to a question, with the key that chooses it.
- ``question_tile``: Stands before what waits for the person.
- ``painting``: Paints the shapes that controls share and the logo, and times animations.
- ``shadow``: What a menu or a list that lies over the window casts on it.
- ``announcement``: Lets a screen reader speak what happened.
- ``roles``: Tells screen readers another role of a widget than that of its class.
- ``letters``: Underlines the letters of menus and buttons only while they are of use, and waits
  whether one stands alone or begins typed text, before it presses a button.
- ``plain_text``: Shows the words of others in boxes and tool tips as they are.
- ``text_dialog``: Shows a long text in a window of its own.
- ``thread_signal``: A signal that a thread emits while the object that listens may be destroyed.
- ``thumbnails``: Makes small versions of pictures in a thread, and caches the latest.
"""

from .buttons import Button, IconButton, PaintedButton
from .choice import Check, Combo, MenuButton, MenuItem, Segmented, Toggle, fill_menu
from .focus import FocusRing
from .headed_list import HeadedList, HeadedView
from .panels import (
    Card,
    Column,
    Field,
    Hairline,
    Index,
    Label,
    Logo,
    Mark,
    OverlayBar,
    Status,
    Tag,
    Tile,
    make_transparent,
)
from .plain_text import message_box, plain_tip

__all__ = [
    "Button",
    "Card",
    "Check",
    "Column",
    "Combo",
    "Field",
    "FocusRing",
    "Hairline",
    "HeadedList",
    "HeadedView",
    "IconButton",
    "Index",
    "Label",
    "Logo",
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
    "make_transparent",
    "message_box",
    "plain_tip",
]
