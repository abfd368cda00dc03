"""Pictures and files: encodes them for requests, and says which a model cannot read."""

from __future__ import annotations

import base64
import struct

from studio.domain.messages import File, Image, Said, Text
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass

PDF = "application/pdf"
TEXTUAL = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
    "application/x-sh",
    "application/sql",
)
BYTES_PER_TOKEN = 4
"""Bytes of plain text that make about one token."""


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """What one provider reads: media types of pictures, sizes in bytes and pixels.

    Sizes are of the files themselves, before base64 makes them a third larger.
    """

    title: str
    pictures: tuple[str, ...]
    picture_bytes: int
    document_bytes: int
    edge: int | None = None


def media_refusal(block: Said, limits: MediaLimits, facts: ModelInfo | None = None) -> str:
    """Why this picture or file cannot be read, in words for the person; empty if it can."""
    if isinstance(block, Text):
        return ""
    if isinstance(block, File) and block.media_type != PDF and not is_picture(block):
        text = text_of_file(block)
        if text is None:
            return f"{limits.title} cannot read {block.name}: it is neither text nor a PDF."
        window = facts.context_window if facts else None
        if window and len(block.data) > window * BYTES_PER_TOKEN:
            return f"{block.name} is longer than this model can read."
        return ""
    if isinstance(block, File) and block.media_type == PDF:
        if facts and (facts.documents is False or (facts.documents is None and not _sees(facts))):
            return "This model cannot read PDF files."
        return _too_large("PDF files", block.data, limits.title, limits.document_bytes)
    if facts and not _sees(facts):
        return "This model cannot see pictures."
    if block.media_type not in limits.pictures:
        *some, last = (_kind(kind) for kind in limits.pictures)
        return (
            f"{limits.title} takes pictures as {', '.join(some)} or {last}; "
            f"this one is {_kind(block.media_type)}."
        )
    if too_large := _too_large("pictures", block.data, limits.title, limits.picture_bytes):
        return too_large
    size = pixels(block.data)
    if limits.edge and size and max(size) > limits.edge:
        return (
            f"{limits.title} takes pictures up to {limits.edge} pixels wide or high; "
            f"this one has {size[0]} × {size[1]}."
        )
    return ""


def _sees(facts: ModelInfo) -> bool:
    return facts.images is not False


def _kind(media_type: str) -> str:
    """``image/svg+xml`` is SVG."""
    name = media_type.partition("/")[2].partition("+")[0].removeprefix("x-")
    return "WebP" if name == "webp" else name.upper()


def _too_large(what: str, data: bytes, title: str, limit: int) -> str:
    if len(data) <= limit:
        return ""
    return f"{title} takes {what} up to {megabytes(limit)}; this one has {megabytes(len(data))}."


def megabytes(count: int) -> str:
    """``3.9 MB``, ``14 MB``; a size just past a limit never reads like the limit itself."""
    value = count / 1_000_000
    return f"{value:.1f} MB".replace(".0 ", " ") if value >= 0.1 else f"{count} bytes"


def left_out_text(block: Image | File, why: str) -> str:
    """The words that stand where a picture or file would be."""
    name = _safe(block.name) if isinstance(block, File) else "picture"
    return f"(Left out: {name}. {why})"


def is_blank(block: Said) -> bool:
    """Whether a block is text that says nothing; some APIs reject it."""
    return isinstance(block, Text) and not block.text.strip()


def is_picture(block: Image | File) -> bool:
    return block.media_type.startswith("image/")


def pixels(data: bytes) -> tuple[int, int] | None:
    """Width and height by a picture's header: PNG, GIF, WebP, JPEG; None for others."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", data[6:10])
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg(data)
    except (struct.error, IndexError):
        pass  # a header that ends too early: the provider says what it makes of it
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return (
                int.from_bytes(data[24:27], "little") + 1,
                int.from_bytes(data[27:30], "little") + 1,
            )
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """From segment to segment to the one that begins the frame (SOF, 0xC0 to 0xCF)."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # padding
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        (length,) = struct.unpack(">H", data[at + 2 : at + 4])
        at += 2 + length
    return None


def data_url(block: Image | File) -> str:
    """``data:image/png;base64,…``"""
    return f"data:{block.media_type};base64,{base64_text(block.data)}"


def base64_text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def text_of_file(file: File) -> str | None:
    """A text file's words under its name, or None for a file that is not text."""
    kind = file.media_type.partition(";")[0].strip().lower()
    textual = kind.startswith("text/") or kind in TEXTUAL or kind.endswith(("+json", "+xml"))
    if not textual:
        return None
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if file.invoked:
        return text
    return f'<file name="{_safe(file.name)}">\n{text}\n</file>'


def _safe(name: str) -> str:
    """A file's name that cannot end the mark it stands in: a name may hold line ends and quotes."""
    return "".join(c if c.isprintable() and c not in '"<>' else "_" for c in name)
