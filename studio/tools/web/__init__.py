"""The web, as tools use it: pages and searches, with the way there watched (T-8).

Nothing here trusts what it is given: an address may lead into the person's own
network, a server may never stop sending, a page may be a bomb.
"""

from __future__ import annotations

from .client import Answer, Client, Limits
from .network import Network
from .web import Choices, Elsewhere, Page, Web

__all__ = ["Answer", "Choices", "Client", "Elsewhere", "Limits", "Network", "Page", "Web"]
