"""Web access for tools: fetches pages and searches, and guards the way there (T-8).

Nothing here trusts what it is given: an address may lead into the person's own
network, a server may never stop sending, a page may be a bomb.

- ``charset``: decodes a page's bytes by its mark, header, own words or a guess.
- ``client``: sends requests bounded in time and size, and checks each redirect (T-8).
- ``private_address_guard``: resolves a host, checks the addresses, and connects to
  exactly those (T-8).
- ``extract``: reads a response as text or as a picture for a model.
- ``fetcher``: fetches pages and searches for the tools, and caches fresh responses.
- ``markdown``: converts a web page for a model, without what a person would not see.
- ``markdown_writer``: writes markdown from a page's elements as they open and close.
- ``search``: send a query, and read titles, addresses and excerpts of the results.
- ``web_address``: parses addresses strictly, and tells public ones from private networks (T-8).
"""

from __future__ import annotations

from .client import Client, WebLimits, WebResponse
from .fetcher import CrossHostRedirect, Web, WebPage, WebSettings
from .private_address_guard import NetworkGuard

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
