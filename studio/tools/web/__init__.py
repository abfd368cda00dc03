"""The web, as tools use it: pages and searches, with the way there watched (T-8).

Nothing here trusts what it is given: an address may lead into the person's own
network, a server may never stop sending, a page may be a bomb.

- ``charset``: Which letters a page's bytes are.
- ``client``: Requests to strangers.
- ``dns_guard``: How a name becomes a connection.
- ``extract``: What an answer holds, as text or a picture for a model.
- ``fetcher``: Pages and searches, as the tools ask for them.
- ``markdown``: A web page as markdown for a model.
- ``markdown_writer``: Writes markdown from the elements of a page, in the order they open and
  close.
- ``search``: Search engines.
- ``url_guard``: Addresses of pages, read strictly, and what of the network is nobody's
  business.
"""

from __future__ import annotations

from .client import Client, WebLimits, WebResponse
from .dns_guard import NetworkGuard
from .fetcher import CrossHostRedirect, Web, WebPage, WebSettings

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
