"""Colours made from an accent, by rules of contrast: plain values, no Qt.

The contrast of two colours is WCAG's, from 1 to 21. Words need 4.5, shapes 3.
"""

from __future__ import annotations

import colorsys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

WORDS: Final = 4.5
SHAPES: Final = 3.0
_DARK_INK, _LIGHT_INK = 0x1B1C1E, 0xFFFFFF
_BRIGHT = 0.36
"""The luminance from which on an accent carries dark words."""
_STEP = 0.01


def luminance(color: int) -> float:
    """How bright an RGB number looks, from 0 to 1."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in _parts(color)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: int, other: int) -> float:
    """The contrast of two colours."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def blend(over: int, share: float, ground: int) -> int:
    """``over`` painted on ``ground`` with this share, from 0 to 1."""
    mixed = (
        top * share + below * (1 - share)
        for top, below in zip(_parts(over), _parts(ground), strict=True)
    )
    return _number(mixed)


def accent_tokens(accent: int, values: Mapping[str, int], *, dark: bool) -> dict[str, int]:
    """The tokens of an accent in a theme, whose other tokens are ``values``."""
    ink = _DARK_INK if luminance(accent) > _BRIGHT else _LIGHT_INK
    fill = _until(accent, [ink], lighter=ink == _DARK_INK)
    surface = values["surface"]
    soft = blend(accent, 0.22 if dark else 0.10, surface)
    grounds = [values["window"], surface, values["raised"], soft]
    words = _until(accent, grounds, lighter=dark)
    return {
        "accent": fill,
        "accent_on": ink,
        "accent_soft": soft,
        "accent_text": words,
        "accent_line": fill if contrast(fill, surface) >= SHAPES else words,
    }


def _until(color: int, beside: Iterable[int], *, lighter: bool) -> int:
    """``color``, lighter or darker by as little as makes words readable."""
    hue, light, saturation = colorsys.rgb_to_hls(*_parts(color))
    light = min(0.95, max(0.05, light))
    others = list(beside)
    while True:
        made = _number(colorsys.hls_to_rgb(hue, light, saturation))
        if all(contrast(made, other) >= WORDS for other in others) or not 0 < light < 1:
            return made
        light = min(1.0, max(0.0, light + (_STEP if lighter else -_STEP)))


def _parts(color: int) -> tuple[float, float, float]:
    return (color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255


def _number(parts: Iterable[float]) -> int:
    red, green, blue = (round(part * 255) for part in parts)
    return red << 16 | green << 8 | blue
