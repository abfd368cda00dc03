"""Web tools: search the web, and read a page of it."""

from __future__ import annotations

from studio.domain.errors import NothingRead
from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural
from studio.tools.web import CrossHostRedirect


@tool(
    effect="fetch",
    target="url",
    verb="Fetching",
    done="Fetched",
    icon="globe",
    time_limit=120.0,
    untrusted=True,
    sends=True,
)
async def fetch(context: Context, url: str, first_page: int = 1) -> Result:
    """Fetch a page of the web. It comes as markdown, a PDF file as its words, a picture as a
    picture, JSON and text as they are. Redirects to another host are told, not followed. No
    cookies or passwords are sent.

    url: The whole address, with https:// or http://.
    first_page: Of a PDF file the page to begin with.
    """
    if first_page < 1:
        raise NothingRead("“first_page” counts from 1.")
    page = await context.web.page(url, first_page, context.may)
    if isinstance(page, CrossHostRedirect):
        said = f"{page.url} redirects to another host: {page.to}\nFetch that address to go there."
        return Result(said, "another host", (page.to,))
    head = [f"Address: {page.url}"]
    if page.title:
        head.insert(0, f"Title: {page.title}")
    head.append(f"Fetched: {page.fetched:%Y-%m-%d %H:%M} UTC; {page.kind}")
    if not page.ok:
        head.append(f"Status: {page.status}")
    if page.proxy:
        head.append("Note: a proxy looked the name up and brought the page.")
    text = "\n".join([*head, "", page.text])
    summary = page.status if not page.ok else plural(len(page.text.split()), "word")
    return Result(text, summary, (page.url,), not page.ok, page.images)


@tool(
    effect="fetch",
    target="query",
    verb="Searching the web",
    done="Searched the web",
    icon="globe",
    untrusted=True,
    sends=True,
)
async def web_search(context: Context, query: str, count: int = 8) -> Result:
    """Search the web for titles, addresses and a few words of each; use fetch to read one.

    query: What to search for.
    count: How many results, 20 at most.
    """
    hits = await context.web.search(query, count)
    if not hits:
        return Result(f"Nothing was found for “{query}”.", "no results", (f"search: {query}",))
    lines = [f"{n}. {hit.title}\n   {hit.url}\n   {hit.snippet}" for n, hit in enumerate(hits, 1)]
    text = "\n".join(line.rstrip() for line in lines)
    return Result(text, plural(len(hits), "result"), tuple(hit.url for hit in hits))
