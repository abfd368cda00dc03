"""The reader of attachments decodes ``data:`` URLs and plain base64 in a request."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import PurePosixPath
from urllib.parse import unquote_to_bytes

from studio.agent.attachments import TYPES
from studio.domain.messages import File, Image

from .fields import Fields

_PDF = "application/pdf"
_NAME = "document"
_LONGEST = 200
"""Characters of a file's name that are kept, its end."""


def read_image(fields: Fields, name: str) -> Image:
    """Read the picture in a field; raises BadRequest. Those of the web were fetched before."""
    media_type, data = _data_url(fields, name, fields.needed(name))
    if not media_type.startswith("image/"):
        raise fields.refused(name, f"“{fields.place(name)}” is no picture, but {media_type}.")
    return Image(media_type, data)


def read_file(fields: Fields, name: str, filename: str = "") -> File:
    """Read the file in a field; raises BadRequest. Its type comes from the URL or the content."""
    text = fields.needed(name)
    called = _called(filename)
    if ":" in text[:16]:
        media_type, data = _data_url(fields, name, text)
    else:
        data = _base64(fields, name, text)
        suffix = PurePosixPath(called).suffix.lower()
        plain = TYPES.get(suffix, "text/plain")
        media_type = _PDF if data.startswith(b"%PDF-") else plain
    return File(called, media_type, data)


def _called(filename: str) -> str:
    """The name alone: without folders and characters that cannot be shown."""
    name = "".join(filter(str.isprintable, re.split(r"[\\/]", filename)[-1])).strip()
    return name[-_LONGEST:] or _NAME


def read_base64(fields: Fields, name: str) -> bytes:
    """Decode a field of plain base64; raises BadRequest."""
    if data := _base64(fields, name, fields.needed(name)):
        return data
    raise fields.refused(name, f"“{fields.place(name)}” has no data.", "invalid_value")


def _data_url(fields: Fields, name: str, url: str) -> tuple[str, bytes]:
    """RFC 2397: ``data:image/png;base64,…``; without a media type it is plain text."""
    head, comma, rest = url.partition(",")
    scheme, _, described = head.partition(":")
    if scheme.lower() != "data" or not comma:
        why = f"“{fields.place(name)}” has to be a data: URL, or for a picture one of the web."
        raise fields.refused(name, f"{why} Send the data itself.")
    media_type, *parameters = (part.strip().lower() for part in described.split(";"))
    encoded = "base64" in parameters
    data = _base64(fields, name, rest) if encoded else unquote_to_bytes(rest)
    if not data:
        raise fields.refused(name, f"“{fields.place(name)}” has no data.", "invalid_value")
    return media_type or "text/plain", data


def _base64(fields: Fields, name: str, text: str) -> bytes:
    packed = "".join(text.split())
    packed += "=" * (-len(packed) % 4)  # some leave them out
    try:
        return base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError) as error:
        why = f"“{fields.place(name)}” is not valid base64."
        raise fields.refused(name, why, "invalid_value") from error
