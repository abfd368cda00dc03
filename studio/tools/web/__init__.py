"""Web access for tools: fetches pages and searches, and guards the way there (T-8).

No input is trusted: an address may lead into the person's own network, a server may never
stop sending, a page may be a decompression bomb.

- ``charset``: decodes a page's bytes by its mark, header, own words or a guess.
- ``client``: sends one request, bounded in time and size, to the addresses that
  ``private_address_guard`` lets through (T-8).
- ``private_address_guard``: resolves a host, and refuses addresses of private networks (T-8).
- ``fetcher``: fetches pages through ``client``, follows redirects, extracts content for a model,
  and caches responses.
- ``html_to_markdown``: parses a web page, and leaves out what a person would not see.
- ``markdown_writer``: writes the markdown, one element of the page after the other.
- ``search``: sends a query, and reads titles, addresses and excerpts of the results.
- ``web_address``: parses addresses strictly, so that no two programs read one differently.
"""

from __future__ import annotations

from .client import Client, WebLimits, WebResponse
from .fetcher import CrossHostRedirect, Web, WebPage
from .private_address_guard import NetworkGuard
from .search import WebSettings

__all__ = [
    "Client",
    "CrossHostRedirect",
    "NetworkGuard",
    "Web",
    "WebLimits",
    "WebPage",
    "WebResponse",
    "WebSettings",
]
