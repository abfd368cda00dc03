"""Web search tool: searches the web."""

from __future__ import annotations

from studio.tools import Context, Result, tool
from studio.tools.sdk.result import plural


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
    """Search the web. Answers with titles, addresses and a few words of each result; use
    fetch to read one.

    query: What to search for.
    count: How many results, 20 at most.
    """
    hits = await context.web.search(query, count)
    if not hits:
        return Result(f"Nothing was found for “{query}”.", "no results", (f"search: {query}",))
    lines = [f"{n}. {hit.title}\n   {hit.url}\n   {hit.snippet}" for n, hit in enumerate(hits, 1)]
    text = "\n".join(line.rstrip() for line in lines)
    return Result(text, plural(len(hits), "result"), tuple(hit.url for hit in hits))
