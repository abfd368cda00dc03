"""What of a picture or a file a provider cannot read, in words for the person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from studio.domain.messages import File, Image, Said, Text, ToolResult

from .attachments import as_text
from .conversation import Exchange

MEGABYTE = 1024 * 1024
PDF = "application/pdf"

_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WebP", "image/gif": "GIF"}


@dataclass(frozen=True, slots=True)
class Limits:
    """The sizes, in bytes, and the kinds of files that one provider reads.

    ``documents`` are endings of file names besides PDF and text.
    """

    title: str
    image_bytes: int
    file_bytes: int
    formats: tuple[str, ...] = tuple(_FORMATS)
    moving: bool = True
    """Whether a GIF may be animated."""
    documents: tuple[str, ...] = ()

    def image(self, image: Image) -> str:
        """Why this picture is not taken, or an empty string."""
        if image.media_type not in self.formats:
            names = [_FORMATS[kind] for kind in self.formats]
            known = f"{', '.join(names[:-1])} and {names[-1]}"
            return f"{self.title} reads {known} pictures; this one is {_kind(image.media_type)}."
        if len(image.data) > self.image_bytes:
            return self._large("picture", len(image.data), self.image_bytes)
        # An animated GIF says in its head how often it repeats.
        if not self.moving and b"NETSCAPE2.0" in image.data[:2048]:
            return f"{self.title} reads no moving pictures."
        return ""

    def file(self, file: File) -> str:
        """Why this file is not taken, or an empty string; text files always are."""
        if as_text(file) is not None:
            return ""
        name = file.name.lower()
        if not (is_pdf(file) or name.endswith(self.documents or ("\0",))):
            return f"This model reads text and PDF, not {_ending(file)} files."
        if len(file.data) > self.file_bytes:
            return self._large("file", len(file.data), self.file_bytes)
        return ""

    def _large(self, thing: str, size: int, limit: int) -> str:
        return (
            f"This {thing} has {size / MEGABYTE:.1f} MB; "
            f"{self.title} takes at most {limit // MEGABYTE} MB."
        )


def is_pdf(file: File) -> bool:
    return file.media_type.partition(";")[0].strip().lower() == PDF


def fitted(exchanges: Iterable[Exchange], refuses: Callable[[Said], str]) -> list[Exchange]:
    """The exchanges with a short text in place of whatever would be refused (H-7)."""

    def part(block: Said) -> Said:
        reason = "" if isinstance(block, Text) else refuses(block)
        if not reason:
            return block
        name = block.name if isinstance(block, File) else "A picture"
        return Text(f"[{name} was left out. {reason}]")

    def result(one: ToolResult) -> ToolResult:
        content = tuple(p for p in map(part, one.content) if not isinstance(p, File))
        return replace(one, content=content)

    return [
        replace(
            exchange,
            said=tuple(map(part, exchange.said)),
            results=tuple(map(result, exchange.results)),
        )
        for exchange in exchanges
    ]


def _kind(media_type: str) -> str:
    return media_type.rpartition("/")[2].partition("+")[0].upper() or "of another kind"


def _ending(file: File) -> str:
    stem, dot, ending = file.name.rpartition(".")
    return ending.upper() if stem and dot else "other"
