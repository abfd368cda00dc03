"""What pictures and documents are to a model, in tokens."""

from __future__ import annotations

import base64
import binascii
import re

from studio.providers.attachments import pixels

PIXELS = 750
"""Of a picture, to a token (Anthropic's figure; others are near it)."""
PICTURE = (85, 1_600)
"""Tokens of the smallest and of the largest picture: providers scale down what is larger."""
UNKNOWN_PICTURE = 1_000
PAGE = 2_000
"""Tokens of a page of a PDF: its words and its picture (Anthropic says 1,500 to 3,000)."""
PAGE_BYTES = 50_000
"""Of a page, where a document does not say how many it has."""
_HEAD = 65_536  # of base64: a picture's size stands near its beginning
_SAMPLE = 1_000_000
_PAGE = re.compile(rb"/Type\s*/Page\b")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{32}")


def blob_tokens(text: str) -> int:
    """Of a picture or document in base64 or in a data URL; 0 for words."""
    is_url = text.startswith("data:")
    media = text[5:100].partition(";")[0] if is_url else ""
    body = text.partition(",")[2] if is_url else text
    if not is_url and not _BASE64.match(body):
        return 0
    if "pdf" in media or body.startswith("JVBERi"):  # %PDF-
        return _pages(body) * PAGE
    size = pixels(_decoded(body[:_HEAD]))
    if size is None:
        return UNKNOWN_PICTURE
    least, most = PICTURE
    return min(max(size[0] * size[1] // PIXELS, least), most)


def _pages(body: str) -> int:
    """As many as can be seen; in a document that packs its list of pages, a guess.

    Of a large document the beginning is looked at, and taken for a sample.
    """
    found = len(_PAGE.findall(_decoded(body[:_SAMPLE])))
    size = len(body) * 3 // 4
    return found * max(len(body), _SAMPLE) // _SAMPLE or max(1, size // PAGE_BYTES)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text[: len(text) // 4 * 4], altchars=b"-_" if "_" in text else None)
    except binascii.Error:
        return b""
