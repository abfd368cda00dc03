"""Web fetcher: fetches pages and searches for the tools, and caches fresh responses.

Answers that are still fresh, in memory alone.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol, TypeAlias

from studio.domain.errors import ToolFailed
from studio.domain.messages import Image
from studio.processes.daemon_thread import Stop

from . import web_address
from .client import Client, WebResponse
from .extract import Content, read
from .search import ENDPOINTS, Endpoints, SearchResult, ask_engine

LARGEST = 32_000_000
"""Bytes of all bodies together."""
LONGEST = 900.0
"""Seconds that an answer is kept at most."""

Key: TypeAlias = tuple[str, bool]
"""The address, and whether private places were allowed when it was asked."""

_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?(\d{1,9})")


class Cache:
    """The oldest answers go when there are too many."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, tuple[WebResponse, float, float]] = OrderedDict()
        self._size = 0

    def get(self, key: Key) -> tuple[WebResponse, float] | None:
        """An answer and when it came, in seconds since 1970."""
        found = self._kept.get(key)
        if found is None:
            return None
        answer, came, until = found
        if time.monotonic() < until:
            return answer, came
        self._drop(key)
        return None

    def put(self, key: Key, answer: WebResponse, came: float) -> None:
        seconds = freshness(answer)
        if seconds <= 0 or len(answer.body) > LARGEST // 4:
            return
        self._drop(key)
        self._kept[key] = (answer, came, time.monotonic() + seconds)
        self._size += len(answer.body)
        while self._size > LARGEST:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Key) -> None:
        if found := self._kept.pop(key, None):
            self._size -= len(found[0].body)


def freshness(answer: WebResponse) -> float:
    """Seconds that an answer may be used again, as its server says (RFC 9111)."""
    control = answer.headers.get("cache-control", "").lower()
    if answer.status != 200 or "no-store" in control or "no-cache" in control:
        return 0.0
    said = _AGE.search(control)
    age = answer.headers.get("age", "")
    passed = float(age) if age.isdecimal() and len(age) < 10 else 0.0
    return min(float(said[1]) - passed, LONGEST) if said else LONGEST


class WebSettings(Protocol):
    """The person's settings about the web, as they are now."""

    @property
    def fetch_private(self) -> bool: ...
    @property
    def web_search(self) -> str: ...
    @property
    def searxng_url(self) -> str: ...


@dataclass(frozen=True, slots=True)
class NoWeb:
    """Stands in where nobody said how the web may be used: nothing private, no search."""

    fetch_private: bool = False
    web_search: str = "off"
    searxng_url: str = ""


async def _no_key(name: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class WebPage:
    """What was found at an address. ``url`` is the last one of a chain of redirects,
    ``fetched`` when it came, ``proxy`` whether a proxy brought it."""

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


async def _anywhere(address: str) -> bool:
    return True


class Web:
    """One for the program. ``choices`` and ``key`` are asked anew each time."""

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
        self, url: str, first_page: int = 1, may: May = _anywhere
    ) -> WebPage | CrossHostRedirect:
        """Fetch and read a page; raises ToolFailed. ``first_page`` is of a PDF file.

        Redirects are followed on the same host, and to others that ``may`` be
        fetched too; it is asked about each, and may refuse by ToolFailed.
        """
        private = self.choices().fetch_private
        address = web_address.parse(url)
        for _ in range(self._client.limits.redirects + 1):
            answer, fetched = await self._answer(address, private)
            to = answer.leads_to
            if to is None:
                break
            if not await may(str(to)) and not address.stays_at(to):
                return CrossHostRedirect(str(address), str(to))
            address = to
        else:
            limit = self._client.limits.redirects
            raise ToolFailed(f"There are more than {limit} redirects, to {address}.")
        content = await _read_in_thread(
            lambda stop: read(answer, first_page, stop), self._client.limits.seconds
        )
        return WebPage(
            str(answer.address),
            content.title,
            content.kind,
            content.text,
            datetime.fromtimestamp(fetched, UTC),
            answer.phrase,
            answer.status < 400,
            answer.proxy,
            content.images,
        )

    async def _answer(
        self, address: web_address.Address, private: bool
    ) -> tuple[WebResponse, float]:
        """What was answered there, and when."""
        key = (str(address), private)
        kept = self._cache.get(key)
        if kept is None:
            kept = (await self._client.get(address, private=private), time.time())
            self._cache.put(key, *kept)
        return kept

    async def search(self, query: str, count: int = 8) -> list[SearchResult]:
        """Ask the person's search engine; raises ToolFailed that says what is missing."""
        choices = self.choices()
        return await ask_engine(
            choices.web_search, query, count, self._client, self._key, self._endpoints, choices
        )


async def _read_in_thread(work: Callable[[Stop], Content], seconds: float) -> Content:
    stop = Stop()
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.to_thread(work, stop)
    except TimeoutError:
        raise ToolFailed(f"The page could not be read within {seconds:g} s.") from None
    finally:
        stop.set()
