"""The colours and sizes the window is drawn with: plain values, no Qt.

A colour is an RGB number; an overlay is a strength in percent of black on the
light theme and of white on the dark one.
"""

from __future__ import annotations

from typing import Final

_LIGHT_AND_DARK: Final[dict[str, tuple[int, int]]] = {
    "window": (0xF5F5F3, 0x17181A),
    "surface": (0xFFFFFF, 0x1D1E21),
    "raised": (0xFFFFFF, 0x26272B),
    "button": (0xFFFFFF, 0x2E3035),
    "segment": (0xFFFFFF, 0x44474E),
    "field": (0xFFFFFF, 0x18191B),
    "sunken": (0xF7F7F5, 0x18191B),
    "canvas": (0xFAFAF8, 0x191A1D),
    "bubble": (0xF1F1EE, 0x2A2B30),
    "hair": (0xE7E7E3, 0x2D2F33),
    "control": (0xD5D5D0, 0x43464C),
    "strong": (0x868681, 0x777B83),
    "text1": (0x1B1C1E, 0xECEDEF),
    "text2": (0x53555A, 0xB0B3BA),
    "text3": (0x63656A, 0x9296A0),
    "accent": (0x2B66D9, 0x396CDC),
    "accent_on": (0xFFFFFF, 0xFFFFFF),
    "accent_text": (0x2259C7, 0x8FB2FF),
    "accent_soft": (0xE9F0FD, 0x212E4B),
    "accent_line": (0x2B66D9, 0x396CDC),
    "ok": (0x1B7A48, 0x62C48E),
    "ok_soft": (0xE7F4EC, 0x1B3126),
    "warn": (0x8A5800, 0xE6B563),
    "warn_soft": (0xFDF3DF, 0x352B19),
    "warn_line": (0xE5C58A, 0x6B5527),
    "err": (0xBF3127, 0xFF8A80),
    "err_soft": (0xFCECEA, 0x3B2222),
    "add_bg": (0xE6F5EA, 0x18301F),
    "add_word": (0xBFE6CB, 0x25563A),
    "del_bg": (0xFCEBE9, 0x3A2021),
    "del_word": (0xF6C9C4, 0x6B3030),
    "syntax_keyword": (0x8A3FA8, 0xCFA0EE),
    "syntax_string": (0x1F7243, 0x84CFA0),
    "syntax_number": (0xA04E00, 0xEDB27A),
    "syntax_comment": (0x63656A, 0x9296A0),
}

LIGHT: Final = {name: pair[0] for name, pair in _LIGHT_AND_DARK.items()}
DARK: Final = {name: pair[1] for name, pair in _LIGHT_AND_DARK.items()}

OVERLAYS: Final[dict[str, tuple[float, float]]] = {
    "hover": (4, 5.5),
    "press": (8, 10),
    "selected": (6.5, 9.5),
    "track": (8, 10),
}

SHADES: Final[dict[str, tuple[float, float]]] = {
    "scrim": (8, 28),  # always black: it dims the page behind the palette
    "keycap_on_accent": (20, 20),
}

HUES: Final[dict[str, tuple[tuple[int, int], tuple[int, int]]]] = {
    "blue": ((0x2259C7, 0xE4EDFD), (0x8FB2FF, 0x22304F)),
    "green": ((0x1B7A48, 0xE1F2E8), (0x6CCB97, 0x1C3428)),
    "plum": ((0x8A3FA8, 0xF4E8F9), (0xD2A5F0, 0x38264A)),
    "rust": ((0xA8481C, 0xFBEAE1), (0xF2A27C, 0x42281D)),
    "teal": ((0x0F7078, 0xDFF2F3), (0x67C8D0, 0x173437)),
    "ochre": ((0x7F5C00, 0xF8F0D8), (0xDDBE62, 0x362E18)),
    "rose": ((0xB0305F, 0xFBE6ED), (0xF79ABB, 0x44222F)),
    "slate": ((0x4B5563, 0xEAECEF), (0xB4BCC8, 0x2E3238)),
}
"""Icon and tile of an agent: light, then dark."""

ACCENTS: Final[dict[str, tuple[int, int]]] = {
    "blue": (0x2B66D9, 0x396CDC),
    "plum": (0x8A3FA8, 0x9945BB),
    "rose": (0xB0305F, 0xC03467),
    "rust": (0xA8481C, 0xB04C1E),
    "ochre": (0x7F5C00, 0x896400),
    "green": (0x1B7A48, 0x1B7A48),
    "teal": (0x0F7078, 0x117882),
    "slate": (0x4B5563, 0x616B84),
}
"""Fills to choose from: light, then dark. The other tokens of an accent are made of its fill,
see ``accents``; those of the first are the ones above."""

COLUMN: Final = 680
WIDE_COLUMN: Final = 920
"""Widths of a chat's text in pixels, as it is and as a person may choose it."""

COMPACT: Final = 4
"""Pixels by which rows are lower where a person chose a compact window."""

HIGH_CONTRAST: Final = {"hair": "strong", "control": "strong", "text3": "text2"}
"""Tokens that become others when the person asks for contrast."""

FONTS: Final[dict[str, tuple[int, int, bool]]] = {
    "display": (24, 600, False),
    "title": (18, 600, False),
    "heading": (14, 600, False),
    "body": (14, 400, False),
    "body_strong": (14, 600, False),
    "ui": (13, 400, False),
    "ui_medium": (13, 500, False),
    "ui_strong": (13, 600, False),
    "small": (12, 400, False),
    "small_medium": (12, 500, False),
    "small_strong": (12, 600, False),
    "label": (11, 600, False),
    "tag": (11, 500, False),
    "tiny": (11, 400, False),
    "code": (12, 400, True),
    "code_strong": (12, 600, True),
    "editor": (13, 400, True),
}
"""Role: pixels at text size 100 %, weight, fixed pitch."""

LINES: Final[dict[str, tuple[int, int]]] = {
    "body": (22, 20),
    "code": (19, 18),
    "editor": (22, 20),
}
"""Line heights in pixels where they are not the font's own: comfortable, then compact."""

TEXT_SIZES: Final = (90, 160)
"""The smallest and largest text size, in percent."""
