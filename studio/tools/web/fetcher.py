"""Web fetcher: fetches pages, extracts their content for a model, and caches responses.

The cache is in memory alone, and holds responses as long as they are fresh (RFC 9111).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeAlias

from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.messages import Image
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.processes.daemon_thread import stoppable
from studio.tools.sdk.result import size
from studio.tools.workspace import images, pdf

from . import web_address
from .charset import decode
from .client import Client, WebResponse
from .html_to_markdown import html_to_markdown
from .search import ENDPOINTS, Endpoints, SearchResult, WebSettings, ask_engine

CACHE_SIZE = 32_000_000
"""Bytes of all cached bodies together."""
CACHE_SECONDS = 900.0
"""Seconds that a response is cached at most."""
PDF_TEXT = 60_000
"""Characters of one reading of a PDF file."""

Key: TypeAlias = tuple[str, bool]
"""The address, and whether private networks were allowed at the time of the request."""

_AGE = lazy_pattern(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,9})")
_HTML = lazy_pattern(r"\s*(?:<!--[^>]*>\s*){0,3}<(?:!doctype\s+html|html|head|body)\b", re.I)
_TEXT = lazy_pattern(
    r"text/|application/(?:[\w.+-]*[+/])?"
    r"(?:json|xml|javascript|ecmascript|yaml|x-yaml|toml|sql|graphql|x-sh|x-ndjson|jsonl)\b"
    r"|image/svg"
)


class Cache:
    """Fresh responses; the oldest are dropped when all together are too large."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, tuple[WebResponse, float, float]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> tuple[WebResponse, float] | None:
        """A response and when it came, in seconds since 1970; None if there is no fresh one."""
        found = self._kept.get(key)
        if found is None:
            return None
        response, came, until = found
        if time.monotonic() < until:
            return response, came
        self._drop(key)
        return None

    def put(self, key: Key, response: WebResponse, came: float) -> None:
        seconds = freshness(response)
        if seconds <= 0 or len(response.body) > CACHE_SIZE // 4:
            return
        self._drop(key)
        self._kept[key] = (response, came, time.monotonic() + seconds)
        self._size += len(response.body)
        while self._size > CACHE_SIZE:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        if found := self._kept.pop(key, None):
            self._size -= len(found[0].body)


def freshness(response: WebResponse) -> float:
    """Seconds that a response may be used again, as its server says (RFC 9111)."""
    control = response.headers.get("cache-control", "").lower()
    if response.status != 200 or "no-store" in control or "no-cache" in control:
        return 0.0
    said = _AGE.search(control)
    age = response.headers.get("age", "")
    passed = float(age) if age.isdecimal() and len(age) < 10 else 0.0
    return min(float(said[1]) - passed, CACHE_SECONDS) if said else CACHE_SECONDS


@dataclass(frozen=True, slots=True)
class NoWeb:
    """Default settings about the web: no private networks, no search."""

    fetch_private: bool = False
    web_search: str = "off"
    searxng_url: str = ""


async def _no_key(name: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class WebPage:
    """What was found at an address.

    ``url`` is the last one of a chain of redirects, ``fetched`` when the response came,
    ``proxy`` whether a proxy delivered it.
    """

    url: str
    title: str
    kind: str
    text: str
    fetched: datetime
    status: str = "200 OK"
    ok: bool = True
    proxy: bool = False
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class CrossHostRedirect:
    """A redirect to another host, which was not followed."""

    url: str
    to: str


May: TypeAlias = Callable[[str], Awaitable[bool]]


async def anywhere(address: str) -> bool:
    return True


class Web:
    """Fetches and searches; one for the program. ``choices`` and ``key`` are called each time."""

    def __init__(
        self,
        choices: Callable[[], WebSettings] = NoWeb,
        key: Callable[[str], Awaitable[str | None]] = _no_key,
        client: Client | None = None,
        endpoints: Endpoints = ENDPOINTS,
    ) -> None:
        self.choices = choices
        self._key = key
        self._client = client or Client()
        self._endpoints = endpoints
        self._cache = Cache()

    async def page(
        self, url: str, first_page: int = 1, may: May = anywhere
    ) -> WebPage | CrossHostRedirect:
        """Fetch and read a page; raises ToolFailed, NothingRead if no server was asked.

        ``first_page`` is of a PDF file.

        Redirects are followed on the same host, and to the hosts that ``may`` returns True
        for; it is called for each redirect, and may refuse by ToolFailed.
        """
        private = self.choices().fetch_private
        address = web_address.parse(url)
        asked = False
        try:
            for _ in range(self._client.limits.redirects + 1):
                response, fetched = await self._fetch(address, private)
                asked = True
                to = response.leads_to
                if to is None:
                    break
                if not await may(str(to)) and not address.stays_at(to):
                    return CrossHostRedirect(str(address), str(to))
                address = to
            else:
                limit = self._client.limits.redirects
                raise ToolFailed(f"There are more than {limit} redirects, to {address}.")
        except NothingRead as refusal:
            if asked:  # a server has chosen this address
                raise ToolFailed(str(refusal)) from refusal
            raise
        content = await _extract_in_thread(response, first_page, self._client.limits.seconds)
        return WebPage(
            str(response.address),
            content.title,
            content.kind,
            content.text,
            datetime.fromtimestamp(fetched, UTC),
            response.phrase,
            response.status < 400,
            response.proxy,
            content.images,
        )

    async def _fetch(
        self, address: web_address.Address, private: bool
    ) -> tuple[WebResponse, float]:
        """The response of an address, and when it came."""
        key = (str(address), private)
        kept = self._cache.get(key)
        if kept is None:
            kept = (await self._client.send("GET", address, private=private), time.time())
            self._cache.put(key, *kept)
        return kept

    async def search(self, query: str, count: int = 8) -> list[SearchResult]:
        """Ask the person's search engine; raises ToolFailed that says what is missing."""
        return await ask_engine(
            query, count, self._client, self._key, self._endpoints, self.choices()
        )


async def _extract_in_thread(response: WebResponse, first_page: int, seconds: float) -> Content:
    try:
        async with asyncio.timeout(seconds):
            return await stoppable(lambda stop: extract(response, first_page, stop))
    except TimeoutError:
        raise ToolFailed(f"The page could not be read within {seconds:g} s.") from None


@dataclass(frozen=True, slots=True)
class Content:
    """What a model gets of a body; ``kind`` is “web page” or “PDF, pages 1-3 of 9”."""

    kind: str
    text: str
    title: str = ""
    images: tuple[Image, ...] = ()


def extract(response: WebResponse, first_page: int, stop: Callable[[], bool]) -> Content:
    """The body as text or a picture. Slow: call it in a thread.

    The body's first bytes decide what it is, then its ``Content-Type``. Raises ToolFailed for
    a damaged or locked PDF file.
    """
    body, content_type = response.body, response.headers.get("content-type", "").lower()
    media = content_type.partition(";")[0].strip()
    if not body:
        return Content("empty", "(The answer is empty.)")
    if pdf.is_pdf(body[:1024]):
        return _pdf(body, first_page, stop)
    if form := images.format_of(body[:64]):
        return _picture(body, form)
    if b"\0" in body[:4096] and not body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Content("binary file", _named(media, len(body)))
    is_page = media in ("text/html", "application/xhtml+xml")
    if not is_page and media and not _TEXT.match(media) and media != "application/octet-stream":
        return Content("binary file", _named(media, len(body)))
    text = decode(body, content_type)
    if is_page or (not _TEXT.match(media) and _HTML.match(text[:4000])):
        page = html_to_markdown(text, str(response.address), stop)
        text = page.text or "(There are no words on this page; it may be made by a script.)"
        if not page.whole:
            text = f"{text}\n\n[… the page goes on; it is too long to be read whole …]"
        return Content("web page", text, page.title)
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
        image = images.normalise(body)
    except ToolFailed as error:
        return Content(f"{form} picture", f"[A {form} picture, {size(len(body))}: {error}]")
    return Content(
        f"{form} picture", f"[A picture, {images.describe_image(image)}]", images=(image,)
    )


def _named(media: str, length: int) -> str:
    return f"[A binary file, {media or 'of no known type'}, {size(length)}. It was not read.]"
