"""Addresses: makes links of the addresses that stand in a text as they are."""

from __future__ import annotations

import re
from itertools import pairwise

from .blocks import CODE, MATH, Span, utf16

_ADDRESS = re.compile(
    r"(?<![\w@/.\-])(?:https?://|www\.)[^\s<>\"`|\u2028\u3001\u3002\uff01\uff08-\uff0c\uff1a\uff1b\uff1f"
    r"\u300a-\u3011\u201c-\u201f\u00ab\u00bb]+",
    re.I,
)
_AFTER_ADDRESS = "?!.,:;*_~'’…"


def with_links(text: str, spans: list[Span]) -> tuple[Span, ...]:
    """The spans and those of addresses that stand in the text without markdown's brackets."""
    if "://" not in text and "www." not in text.lower():
        return tuple(spans)
    found: list[Span] = []
    for match in _ADDRESS.finditer(text):
        address = _trimmed(match[0])
        if not re.search(r"[^\W_]", address.partition("//")[2] or address[4:]):
            continue
        start, size = utf16(text[: match.start()]), utf16(address)
        if not any(
            (url or style & (CODE | MATH)) and first < start + size and start < first + length
            for first, length, style, url in spans
        ):
            url = address if "://" in address else f"https://{address}"
            found.append((start, size, 0, url))
    return _merged(spans, found) if found else tuple(spans)


def _trimmed(address: str) -> str:
    """Without what ends the sentence, and without a bracket that was opened before it."""
    end = len(address)
    extra = address.count(")") - address.count("(")
    while end and (address[end - 1] in _AFTER_ADDRESS or (address[end - 1] == ")" and extra > 0)):
        extra -= address[end - 1] == ")"
        end -= 1
    return address[:end]


def _merged(spans: list[Span], links: list[Span]) -> tuple[Span, ...]:
    """Both in order, none over another: a link keeps the styles of its pieces."""
    borders = {0}
    for start, size, _, _ in (*spans, *links):
        borders |= {start, start + size}
    out: list[Span] = []
    styled, linked = iter(spans), iter(links)
    style, link = next(styled, None), next(linked, None)
    for low, high in pairwise(sorted(borders)):
        while style is not None and style[0] + style[1] <= low:
            style = next(styled, None)
        while link is not None and link[0] + link[1] <= low:
            link = next(linked, None)
        flags, url = (style[2], style[3]) if style is not None and style[0] <= low else (0, "")
        if link is not None and link[0] <= low:
            url = link[3]
        if flags or url:
            out.append((low, high - low, flags, url))
    return tuple(out)
