"""The web, as tools use it: pages and searches, with the way there watched (T-8).

Nothing here trusts what it is given: an address may lead into the person's own
network, a server may never stop sending, a page may be a bomb.
"""

from __future__ import annotations

from .client import WebResponse, Client, WebLimits
from .network import NetworkGuard
from .web import WebSettings, CrossHostRedirect, WebPage, Web

__all__ = ["WebResponse", "WebSettings", "Client", "CrossHostRedirect", "WebLimits", "NetworkGuard", "WebPage", "Web"]
