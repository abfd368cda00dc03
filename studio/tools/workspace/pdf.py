"""PDF: extracts the text of PDF files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studio.domain.errors import ToolFailed

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MAGIC = b"%PDF-"
_CONTENT = 5_000_000
"""Bytes of what one page draws. More takes minutes, of which the first cannot be stopped; a
page of a book has some 5,000."""


def is_pdf(start: bytes) -> bool:
    """Whether a file that starts so is a PDF; the mark need not be its first bytes (ISO 32000)."""
    return MAGIC in start[:1024]


@dataclass(frozen=True, slots=True)
class Pages:
    """Some pages of a document; in ``text`` a line with its number is above each page."""

    text: str
    first: int
    last: int
    total: int
    worded: tuple[int, ...]
    """The pages that have words; others are pictures, scans for example."""


def locked(data: bytes) -> bool:
    """Whether a password is needed; False also for a file that cannot be read at all."""
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        return reader.is_encrypted and not reader.decrypt("")
    except Exception:  # a damaged file may raise anything in the parser
        return False


def pages(data: bytes, name: str, first: int, limit: int, stop: Callable[[], bool]) -> Pages:
    """The words of the pages from ``first`` on, at most about ``limit`` characters.

    Slow, up to a tenth of a second a page: call it in a thread, ``stop`` ends
    it early. Raises ToolFailed for a file that cannot be read.
    """
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # a damaged file would fill the log
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise ToolFailed(f"{name} is locked with a password.")
        total = len(reader.pages)
    except ToolFailed:
        raise
    except Exception as error:  # see locked
        raise ToolFailed(f"{name} is damaged; its pages cannot be read.") from error
    if first > total:
        pages = "1 page" if total == 1 else f"{total} pages"
        raise ToolFailed(f"{name} has {pages}; there is no page {first}.")
    return _read(reader, first, total, limit, stop)


def _read(reader: PdfReader, first: int, total: int, limit: int, stop: Callable[[], bool]) -> Pages:
    parts: list[str] = []
    worded: list[int] = []
    shown, last = 0, first - 1
    for number in range(first, total + 1):
        if stop():
            break
        try:
            words = _words(reader.pages[number - 1], stop)
        except _Stopped:
            break
        except Exception:  # the other pages may be sound
            words = "(this page cannot be read)"
        if parts and shown + len(words) > limit:
            break
        parts.append(f"--- page {number} ---\n{words}\n")
        shown, last = shown + len(words), number
        if words:
            worded.append(number)
    return Pages("".join(parts), first, last, total, tuple(worded))


class _Stopped(Exception):
    """Nobody needs the words of the page any more."""


def _words(page: PageObject, stop: Callable[[], bool]) -> str:
    content = page.get_contents()
    if content is not None and len(content.get_data()) > _CONTENT:
        return "(this page is too big to be read)"

    def before(*_: object) -> None:
        if stop():
            raise _Stopped

    return page.extract_text(visitor_operand_before=before).strip()
