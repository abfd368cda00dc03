"""Texts: the words of a document by page, from PDF, Word, plain text, e-mail and HTML (KZ-12).

A file is a stranger's: what it unpacks to is limited, and it names nothing that is fetched.
"""

from __future__ import annotations

import io
import re
import xml.parsers.expat
import zipfile
from pathlib import Path

from studio.packs import ToolFailed, dataclass, pdf_pages, pdf_scans

from .html_text import html_words
from .ocr import PICTURES, READ, read_pictures, tesseract

MOST_BYTES = 50_000_000
MOST_TEXT = 5_000_000
"""Characters of one document that are kept; a judgment of 40 pages has some 100,000."""
_PAGE = 4_000
"""Characters of a page where the file has none of its own."""


@dataclass(frozen=True, slots=True)
class Words:
    """The text by page; ``missing`` says why there is none, or not all."""

    pages: tuple[str, ...]
    missing: str = ""


def words_of(name: str, data: bytes) -> Words:
    """The words of a file; a file that cannot be read has none, with the reason. Slow."""
    ending = name.rpartition(".")[2].lower()
    try:
        if data[:1024].find(b"%PDF-") >= 0:
            return _pdf(name, data)
        if ending == "docx":
            return _paged(_docx(data))
        if ending in ("txt", "md", "csv"):
            return _paged(decoded(data))
        if ending in ("html", "htm"):
            return _paged(html_words(decoded(data)))
        if ending == "eml":
            from .mails import mail_words  # with the library that only an e-mail needs

            return _paged(mail_words(data))
        if ending in PICTURES:
            return _picture(ending, data)
    except ToolFailed as error:
        return Words((), str(error))
    except Exception:  # a stranger's file: what its readers raise is no short list
        return Words((), f"{name} ist beschädigt oder verschlüsselt und hat deshalb keinen Text.")
    return Words((), f"Aus .{ending or '?'} wird kein Text gelesen.")


def _pdf(name: str, data: bytes) -> Words:
    pages: dict[int, str] = {}
    first, total, missing = 1, 1, ""
    while first <= total and sum(map(len, pages.values())) < MOST_TEXT:
        found = pdf_pages(data, name, first, 200_000, lambda: False)
        total = found.total
        pages.update(enumerate(map(str.strip, found.texts), first))
        if found.last < first:
            missing = f"Ab Seite {first} wurde nicht gelesen."
            break
        first = found.last + 1
    if first <= total and not missing:
        missing = f"Ab Seite {first} wurde nicht gelesen."
    texts = tuple(pages.get(number, "") for number in range(1, first))
    if program := tesseract():
        texts, told = _read_scans(program, name, data, texts)
        missing = " ".join(filter(None, (told, missing)))
    if not any(texts):
        missing = missing or "Die Seiten sind Bilder ohne Text."
    return Words(texts, missing)


def _read_scans(
    program: str, name: str, data: bytes, texts: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """The texts with those of scanned pages, and what is to be said of it."""
    try:
        scans = [
            (page, picture)
            for page, picture in pdf_scans(data, name)
            if page <= len(texts) and not texts[page - 1]
        ]
        read = read_pictures(program, [("jpg", picture) for _, picture in scans])
    except ToolFailed as error:  # what the file has by itself stays
        return texts, str(error)
    words = {page: one for (page, _), one in zip(scans, read, strict=False)}
    told = READ if any(read) else ""
    if len(read) < len(scans):
        told = f"{told} Ab Seite {scans[len(read)][0]} fehlte die Zeit.".strip()
    return tuple(one or words.get(page, "") for page, one in enumerate(texts, 1)), told


def _picture(ending: str, data: bytes) -> Words:
    if not (program := tesseract()):
        return Words((), f"Aus .{ending} wird kein Text gelesen, solange Tesseract fehlt.")
    (words,) = read_pictures(program, [(ending, data)])
    return Words((words,), READ) if words else Words((), "Auf dem Bild steht nichts.")


def _docx(data: bytes) -> str:
    """The text of a Word document: each paragraph a line, each cell followed by a tab."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entry = archive.getinfo("word/document.xml")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ToolFailed("Das Dokument ist auf eine Weise gepackt, die Word nicht schreibt.")
        with archive.open(entry) as file:
            content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ToolFailed("Das Dokument entpackt sich zu mehr als 50 MB und wurde nicht gelesen.")
    parts: list[str] = []
    inside = [False]

    def start(tag: str, _: dict[str, str]) -> None:
        inside[0] = tag.endswith("}t")
        if tag.endswith(("}tab", "}tc")):
            parts.append("\t")
        elif tag.endswith("}br"):
            parts.append("\n")

    def end(tag: str) -> None:
        inside[0] = False
        if tag.endswith("}p"):
            parts.append("\n")

    def text(words: str) -> None:
        if inside[0]:
            parts.append(words)

    def refused(*_: object) -> None:
        raise ToolFailed("Das Dokument enthält eine Dokumenttyp-Angabe und wurde nicht gelesen.")

    parser = xml.parsers.expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refused
    try:
        parser.Parse(content, True)
    except xml.parsers.expat.ExpatError as error:
        raise ToolFailed("Das Dokument ist beschädigt und wurde nicht gelesen.") from error
    return "".join(parts)


def read_file(path: Path) -> bytes:
    """A file of at most 50 MB; raises ToolFailed. Blocks."""
    try:
        if not path.is_file():
            raise ToolFailed(f"{path} ist keine Datei.")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht gelesen werden: {error.strerror}.") from error
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"{path.name} ist größer als 50 MB.")
    return data


def decoded(data: bytes) -> str:
    """Text as UTF-8, UTF-16 with a mark, or Windows-1252, which older office programs write."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _paged(text: str) -> Words:
    """Text in pages of some 4,000 characters, cut at the ends of lines."""
    text = text.replace("\r\n", "\n").replace("\0", "").strip()
    missing = "" if len(text) <= MOST_TEXT else "Das Ende wurde nicht gelesen."
    pages: list[str] = []
    rest = text[:MOST_TEXT]
    while rest:
        cut = len(rest) if len(rest) <= _PAGE else rest.rfind("\n", 1, _PAGE) + 1 or _PAGE
        pages.append(rest[:cut].strip())
        rest = rest[cut:]
    return Words(tuple(pages), missing if pages else "Das Dokument ist leer.")


def paragraph_of(text: str, number: str) -> tuple[int, int] | None:
    """Where the paragraph with a number begins and ends, as courts number them; None without it.

    The number stands before its words or in the line above them. The paragraph ends before an
    empty line, and before a line with a number of its own.
    """
    if not number:
        return None
    begin = re.search(rf"^[ \t]*{re.escape(number)}[ \t]*(?:\n[ \t]*)?(?=[^\W\d])", text, re.M)
    if begin is None:
        return None
    end = re.compile(r"\n[ \t]*(?:\n|\d{1,4}[a-z]?[ \t]*(?:\n|[^\W\d]))").search(text, begin.end())
    return begin.start(), end.start() if end else len(text.rstrip())
