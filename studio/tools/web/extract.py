"""Content extraction: reads a response as text or as a picture for a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from studio.domain.errors import ToolFailed
from studio.domain.messages import Image
from studio.tools.sdk.result import size
from studio.tools.workspace import images as pictures
from studio.tools.workspace import pdf

from .charset import decode
from .client import WebResponse
from .markdown import markdown

PDF_TEXT = 60_000
"""Characters of one reading of a PDF file."""

_HTML = re.compile(r"\s*(?:<!--[^>]*>\s*){0,3}<(?:!doctype\s+html|html|head|body)\b", re.I)
_TEXT = re.compile(
    r"text/|application/(?:[\w.+-]*[+/])?"
    r"(?:json|xml|javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|x-sh|x-ndjson|jsonl)\b"
    r"|image/svg"
)


@dataclass(frozen=True, slots=True)
class Content:
    """``kind`` in a few words: “web page”, “PDF, pages 1-3 of 9”."""

    kind: str
    text: str
    title: str = ""
    images: tuple[Image, ...] = ()


def read(answer: WebResponse, first_page: int, stop: Callable[[], bool]) -> Content:
    """By what the body is, then by what its server calls it. Slow: call it in a thread.

    Raises ToolFailed for a damaged or locked PDF file.
    """
    body, said = answer.body, answer.headers.get("content-type", "").lower()
    media = said.partition(";")[0].strip()
    if not body:
        return Content("empty", "(The answer is empty.)")
    if pdf.is_pdf(body[:1024]):
        return _pdf(body, first_page, stop)
    if form := pictures.format_of(body[:64]):
        return _picture(body, form)
    if b"\0" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Content("binary file", _named(media, len(body)))
    is_page = media in ("text/html", "application/xhtml+xml")
    if not is_page and media and not _TEXT.match(media) and media != "application/octet-stream":
        return Content("binary file", _named(media, len(body)))
    text = decode(body, said)
    if is_page or (not _TEXT.match(media) and _HTML.match(text[:4000])):
        page = markdown(text, str(answer.address), stop)
        words = page.text or "(There are no words on this page; it may be made by a script.)"
        if not page.whole:
            words = f"{words}\n\n[… the page goes on; it is too long to be read whole …]"
        return Content("web page", words, page.title)
    return Content(media or "text", text)


def _pdf(body: bytes, first_page: int, stop: Callable[[], bool]) -> Content:
    part = pdf.pages(body, "The PDF file", first_page, PDF_TEXT, stop)
    kind = f"PDF, pages {part.first}-{part.last} of {part.total}"
    text = part.text
    if not part.worded:
        text = f"{text}\n(There are no words on these pages: they may be scanned pictures.)"
    if part.last < part.total:
        text = f"{text}\n[… more follows: fetch again with first_page {part.last + 1} …]"
    return Content(kind, text)


def _picture(body: bytes, form: str) -> Content:
    try:
        image = pictures.normalise(body)
    except ToolFailed as error:
        return Content(f"{form} picture", f"[A {form} picture, {size(len(body))}: {error}]")
    return Content(
        f"{form} picture", f"[A picture, {pictures.describe_image(image)}]", images=(image,)
    )


def _named(media: str, length: int) -> str:
    return f"[A binary file, {media or 'of no known type'}, {size(length)}. It was not read.]"
