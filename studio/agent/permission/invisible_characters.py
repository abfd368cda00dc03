"""Invisible characters: escapes what nobody sees, and what a terminal would obey.

Otherwise a command that looks like another one, or a reason that looks like a line of
the program, could make the person allow something that they do not see.
"""

from __future__ import annotations

import re

CONTROLS = frozenset((*range(32), *range(127, 160))) - {ord("\n"), ord("\t")}
"""What a terminal may obey."""
_BLANK = frozenset((0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0))
"""Characters that Unicode classifies as letters or signs and that are blank."""
UNSEEN = _BLANK.union(
    (0x061C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
    range(0x2028, 0x202F),
    range(0x2060, 0x2070),
    range(0xFFF9, 0xFFFC),
    range(0xE0000, 0xE0080),
)
"""Characters that change the direction of text or take no room, and those that are blank.

Joiners and variation selectors (U+200C, U+200D, U+FE0F) are missing: some scripts and emoji
need them.
"""


def _escaped(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_ESCAPES = {code: _escaped(code) for code in CONTROLS | UNSEEN}


def visible(text: str) -> str:
    """A text to be read, with its lines; what nobody sees in it is escaped."""
    return text.translate(_ESCAPES)


def escape_invisible(text: str) -> str:
    """A text to be judged, with its lines; whatever is not plainly visible is escaped.

    Such as ``\\u202e``, and joiners, odd blanks and characters that have no sign yet.
    """
    if text.isascii() and text.isprintable():  # as most are
        return text
    return "".join(c if c in "\n\t" or _is_plain(c) else _escaped(ord(c)) for c in text)


def escape_line(text: str, most: int = 300) -> str:
    """The text in one line of at most ``most`` characters."""
    text = escape_invisible(re.sub(r"\s+", " ", text).strip())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_plain(char: str) -> bool:
    return char.isprintable() and ord(char) not in _BLANK
