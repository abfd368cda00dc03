"""Search engines: sends a query, and reads titles, addresses and excerpts of the results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from html.parser import HTMLParser
from typing import Any, Protocol, cast
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.jsonvalue import Json
from studio.domain.records import dataclass

from . import web_address
from .charset import decode
from .client import Client, WebResponse
from .html_to_markdown import html_to_markdown

MOST = 20
_SNIPPET = 500
_KEPT = 4 * _SNIPPET
"""Characters of a title or an excerpt that are looked at; blanks among them go."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One result of a search."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the engines are."""

    duckduckgo: str = "https://html.duckduckgo.com/html/"
    brave: str = "https://api.search.brave.com/res/v1/web/search"
    tavily: str = "https://api.tavily.com/search"


ENDPOINTS = Endpoints()


class WebSettings(Protocol):
    """The person's settings about the web, as they are now."""

    @property
    def fetch_private(self) -> bool: ...
    @property
    def web_search(self) -> str: ...
    @property
    def searxng_url(self) -> str: ...


async def ask_engine(
    query: str,
    count: int,
    client: Client,
    key: Callable[[str], Awaitable[str | None]],
    endpoints: Endpoints,
    settings: WebSettings,
) -> list[SearchResult]:
    """At most ``count`` results of the person's search engine; raises ToolFailed."""
    query, count = " ".join(query.split()), max(1, min(count, MOST))
    if not query:
        raise NothingRead("“query” is empty.")

    async def send(
        method: str, url: str, headers: Mapping[str, str], body: bytes = b"", own: bool = False
    ) -> WebResponse:
        address, private = web_address.parse(url), own or settings.fetch_private
        return await client.send(method, address, headers=headers, body=body, private=private)

    match settings.web_search:
        case "ddgs":
            form = urlencode({"q": query, "b": ""}).encode()
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            read = partial(_duckduckgo, await send("POST", endpoints.duckduckgo, headers, form))
        case "brave":
            token = await _key(key, "brave", "Brave")
            url = f"{endpoints.brave}?q={quote_plus(query[:400])}&count={count}"
            headers = {"X-Subscription-Token": token, "Accept": "application/json"}
            response = await send("GET", url, headers)
            read = partial(_hits, response, "Brave", ("web", "results"), "description")
        case "tavily":
            token = await _key(key, "tavily", "Tavily")
            body = json.dumps({"query": query[:400], "max_results": count}).encode()
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            response = await send("POST", endpoints.tavily, headers, body)
            read = partial(_hits, response, "Tavily", ("results",), "content")
        case "searxng":
            if not settings.searxng_url:
                raise NothingRead("The address of SearXNG is missing in the settings.")
            base = settings.searxng_url.rstrip("/").removesuffix("/search")
            url = f"{base}/search?q={quote_plus(query)}&format=json"
            # The person typed the address of their own server: it may be a private one.
            response = await send("GET", url, {"Accept": "application/json"}, own=True)
            if response.status == 403:
                raise ToolFailed("SearXNG refuses. Its settings must list “json” under formats.")
            read = partial(_hits, response, "SearXNG", ("results",), "content")
        case "provider":
            raise NothingRead(
                "This model's provider has no search of its own. "
                "The person can choose another search engine in the settings."
            )
        case _:
            raise NothingRead("Searching the web is turned off in the settings.")
    return (await asyncio.to_thread(read))[:count]


async def _key(key: Callable[[str], Awaitable[str | None]], name: str, title: str) -> str:
    found = await key(name)
    if not found:
        raise NothingRead(f"There is no API key for {title} Search. Add one in the settings.")
    return found


def _json(response: WebResponse, title: str) -> Json:
    if response.status in (401, 403):
        raise ToolFailed(f"{title} does not accept the API key.")
    if response.status == 429:
        raise ToolFailed(f"{title} takes no more searches now. Wait a little.")
    if response.status != 200:
        raise ToolFailed(f"{title} answered {response.phrase}.")
    try:
        return cast("Json", json.loads(response.body))
    except (ValueError, RecursionError):
        raise ToolFailed(f"What {title} answered cannot be read.") from None


def _hits(
    response: WebResponse, title: str, path: tuple[str, ...], snippet: str
) -> list[SearchResult]:
    """The results in an answer as JSON; ``snippet`` is the field of the excerpt."""
    found: Any = _json(response, title)
    for name in path:
        found = cast("Mapping[str, Any]", found).get(name) if isinstance(found, dict) else None
    hits: list[SearchResult] = []
    for one in cast("list[object]", found) if isinstance(found, list) else []:
        if isinstance(one, dict):
            fields = cast("Mapping[str, object]", one)
            hit = _hit(fields.get("title"), fields.get("url"), fields.get(snippet))
            hits += [hit] if hit else []
        if len(hits) == MOST:
            break
    return hits


def _hit(title: object, url: object, snippet: object) -> SearchResult | None:
    """A result in one line each, with an address that can be fetched; else nothing."""
    if not isinstance(url, str):
        return None
    try:
        address = str(web_address.parse(url))
    except ToolFailed:
        return None
    words = [_plain(text) if isinstance(text, str) else "" for text in (title, snippet)]
    return SearchResult(words[0][:300] or address, address, words[1][:_SNIPPET])


def _plain(text: str) -> str:
    """Engines mark what was searched for in HTML."""
    return " ".join(html_to_markdown(text, "").text.replace("**", "").split())


def _duckduckgo(response: WebResponse) -> list[SearchResult]:
    page = _Results()
    page.feed(decode(response.body, response.headers.get("content-type", "")))
    page.close()
    hits = [hit for one in page.found if (hit := _hit(one["title"], _target(one), one["snippet"]))]
    if not hits and (page.challenged or response.status != 200):
        raise ToolFailed(
            "DuckDuckGo asks whether a person is searching, so it gives no results now. "
            "Wait a while, or choose another search engine in the settings."
        )
    return hits


def _target(found: Mapping[str, str]) -> str:
    """The result's own address: links lead over DuckDuckGo's ``/l/?uddg=``."""
    href = found["href"]
    if href.startswith("//"):
        href = f"https:{href}"
    parts = urlsplit(href)
    host = parts.hostname or ""
    if parts.path == "/l/" and (host == "duckduckgo.com" or host.endswith(".duckduckgo.com")):
        return parse_qs(parts.query).get("uddg", [""])[0]
    return href


class _Results(HTMLParser):
    """DuckDuckGo's page without scripts: ``a.result__a`` and ``.result__snippet``."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[dict[str, str]] = []
        self.challenged = False
        self._into = ""
        self._until = ""
        self._advert = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        classes = (attributes.get("class") or "").split()
        if any(name.startswith("anomaly") for name in classes):
            self.challenged = True
        if tag == "div" and "result" in classes:
            self._advert = "result--ad" in classes
        if self._advert or len(self.found) > MOST * 2:
            return
        if tag == "a" and "result__a" in classes:
            self.found.append({"title": "", "href": attributes.get("href") or "", "snippet": ""})
            self._into, self._until = "title", tag
        elif "result__snippet" in classes and self.found:
            self._into, self._until = "snippet", tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._until:
            self._into = self._until = ""

    def handle_data(self, data: str) -> None:
        if self._into and len(self.found[-1][self._into]) < _KEPT:
            self.found[-1][self._into] += data[:_KEPT]
