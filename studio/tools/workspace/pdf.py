"""PDF: extracts the text of PDF files."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from studio.domain.errors import ToolFailed
from studio.domain.records import dataclass

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

MAGIC = b"%PDF-"
_CONTENT = 5_000_000
"""Bytes of what one page draws; a page of a book has some 5,000."""
_PAGE = 300_000
"""Work on one page: each operator it draws with is 1, each form or picture ``_INNER``."""
_READING = 600_000
"""Work of one reading; the pages after that are for the next one."""
_INNER = 100
_BYTES = 50
"""Bytes of content that are as much work as an operator."""
_PAGES = 500
"""Pages of one reading: those of a scanned book have no words that would end it."""
_LIMITS: Mapping[str, Any] = {
    "zlib_maximum_output_length": 7_000_000,
    "lzw_maximum_output_length": 7_000_000,
    "run_length_maximum_output_length": 7_000_000,
    "array_based_stream_maximum_output_length": 7_000_000,
    "stream_decoding_work_maximum_length": 8_000_000,
    "stream_parsing_work_maximum_count": 400_000,
    "page_tree_maximum_entries": 100_000,
    "xform_maximum_invocations_per_extraction": 500,
    "jbig2dec_binary": None,  # nothing is started for a picture in a document
}
"""pypdf's own limits; what it has by itself takes minutes, of which none can be stopped."""
_ROOTS = 1_000
"""Objects of a damaged file among which its root is looked for."""


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
    texts: tuple[str, ...]
    """The words of each page, from the first one on."""


def locked(data: bytes) -> bool:
    """Whether a password is needed; False also for a file that cannot be read at all."""
    try:
        with _limited():
            return _opened(data) is None
    except Exception:  # a damaged file may raise anything in the parser
        return False


def pages(data: bytes, name: str, first: int, limit: int, stop: Callable[[], bool]) -> Pages:
    """The words of the pages from ``first`` on, at most about ``limit`` characters.

    Slow, up to a tenth of a second a page: call it in a thread, ``stop`` ends
    it early. Raises ToolFailed for a file that cannot be read.
    """
    with _limited():
        reader, total = _unlocked(data, name)
        if first > total:
            pages = "1 page" if total == 1 else f"{total} pages"
            raise ToolFailed(f"{name} has {pages}; there is no page {first}.")
        return _read(reader, first, total, limit, stop)


def scans(data: bytes, name: str) -> list[tuple[int, bytes]]:
    """The pictures that fill pages, as scanners write them: the number of each page, and its
    largest picture as JPEG. Other forms are left out, and so are pages that cannot be read.

    Slow; raises ToolFailed for a file that cannot be read.
    """
    found: list[tuple[int, bytes]] = []
    with _limited():
        reader, total = _unlocked(data, name)
        for number in range(1, min(total, _PAGES) + 1):
            try:
                if picture := max(_pictures(reader.pages[number - 1]), key=len, default=b""):
                    found.append((number, picture))
            except Exception:  # the other pages may be sound
                continue
    return found


def _pictures(page: PageObject) -> Generator[bytes]:
    """The JPEGs of a page, as they are in the file."""
    resources: Any = page.get("/Resources", {})
    objects: Any = resources.get_object().get("/XObject", {})
    for one in objects.get_object().values():
        picture = one.get_object()
        filters = picture.get("/Filter")
        if picture.get("/Subtype") == "/Image" and filters in ("/DCTDecode", ["/DCTDecode"]):
            yield picture.get_data()


@contextmanager
def _limited() -> Generator[None]:
    import logging

    from pypdf import apply_configuration

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # a damaged file would fill the log
    with apply_configuration(**_LIMITS):
        yield


def _unlocked(data: bytes, name: str) -> tuple[PdfReader, int]:
    """A file that needs no password, and how many pages it has; raises ToolFailed for others."""
    try:
        reader = _opened(data)
        if reader is None:
            raise ToolFailed(f"{name} is locked with a password.")
        return reader, len(reader.pages)
    except ToolFailed:
        raise
    except Exception as error:  # see locked
        raise ToolFailed(f"{name} is damaged; its pages cannot be read.") from error


def _opened(data: bytes) -> PdfReader | None:
    """The file, None if a password is needed."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data), root_object_recovery_limit=_ROOTS)
    return None if reader.is_encrypted and not reader.decrypt("") else reader


def _read(reader: PdfReader, first: int, total: int, limit: int, stop: Callable[[], bool]) -> Pages:
    texts: list[str] = []
    worded: list[int] = []
    shown, last = 0, first - 1
    work = _Work(stop)
    for number in range(first, min(total, first + _PAGES - 1) + 1):
        if stop() or work.all > _READING:
            break
        try:
            words = _words(reader.pages[number - 1], work)
        except _Stopped:
            break
        except Exception:  # the other pages may be sound
            words = "(this page cannot be read)"
        if texts and shown + len(words) > limit:
            break
        texts.append(words)
        shown, last = shown + len(words), number
        if words:
            worded.append(number)
    text = "".join(f"--- page {n} ---\n{words}\n" for n, words in enumerate(texts, first))
    return Pages(text, first, last, total, tuple(worded), tuple(texts))


class _Stopped(Exception):
    """Nobody needs the words of the page any more."""


class _TooMuch(Exception):
    """The page is too much work."""


class _Work:
    """Counts the work of one reading: on all pages, and on the one that is read now."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self._page = self.all = 0

    def begin_page(self, length: int) -> None:
        """The next page, whose content has this many bytes."""
        self._page = 0
        self._add(length // _BYTES)

    def before(self, operator: bytes, *_: object) -> None:
        """The page, or a form in it, is about to draw something."""
        self._add(_INNER if operator == b"Do" else 1)

    def _add(self, work: int) -> None:
        if self._stop():
            raise _Stopped
        self.all += work
        self._page += work
        if self._page > _PAGE:
            raise _TooMuch


def _words(page: PageObject, work: _Work) -> str:
    content = page.get_contents()
    length = 0 if content is None else len(content.get_data())
    try:
        work.begin_page(length)
        if length > _CONTENT:
            raise _TooMuch
        return page.extract_text(visitor_operand_before=work.before).strip()
    except _TooMuch:
        return "(this page is too big to be read)"
