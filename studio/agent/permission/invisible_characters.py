"""Invisible characters: escapes them in questions that contain text of others.

Otherwise a command that looks like another one, or a reason that looks like a line of
the program, could make the person allow something that they do not see.
"""

from __future__ import annotations

import re

_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Characters that Unicode classifies as letters and that are blank."""


def escape_invisible(text: str) -> str:
    """The text with its lines; invisible characters are escaped, such as ``\\u202e``."""
    return "".join(c if c in "\n\t" or _is_visible(c) else _escape(c) for c in text)


def escape_line(text: str, most: int = 300) -> str:
    """The text in one line of at most ``most`` characters."""
    text = escape_invisible(re.sub(r"\s+", " ", text).strip())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _is_visible(char: str) -> bool:
    return char.isprintable() and char not in _BLANK


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
