"""Pictures and files: decodes base64 and recognises media types by their first bytes."""

from __future__ import annotations

import base64
import binascii
import re

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w=.+-]+)*;base64,(.*)", re.S)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"),
)
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def decoded(data: object) -> bytes | None:
    """The bytes of strict base64 with its padding; None if it is none, or empty."""
    if not isinstance(data, str):
        return None
    try:
        return base64.b64decode(data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


def data_url(url: str) -> tuple[str, bytes | None]:
    """The media type and the bytes of a ``data:`` URL; None where they cannot be read."""
    found = _DATA_URL.fullmatch(url)
    return (found[1] or "", decoded(found[2])) if found else ("", None)


def sniffed(data: bytes) -> str:
    """The media type the first bytes tell of; empty if they tell nothing."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), "")
