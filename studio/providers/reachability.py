"""Reachability: finds out whether a server takes connections, without sending it anything."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

SECONDS = 5.0
"""How long a connection may take."""


async def is_reachable(address: str) -> bool:
    """Whether the server at an address, or the proxy on the way to it, takes a connection.

    An address that cannot be read counts as reachable: a request says what is wrong with it.
    """
    try:
        found = await asyncio.to_thread(_server, address)
    except ValueError:
        return True
    if found is None:
        return True
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(*found)
    except (OSError, TimeoutError):
        return False
    except ValueError:  # a name that no server can have
        return True
    writer.close()
    with suppress(OSError, TimeoutError):
        await writer.wait_closed()
    return True


def _server(address: str) -> tuple[str, int] | None:
    """Host and port to connect to; the proxy's where the environment names one."""
    parts = urlsplit(address)
    if not parts.hostname:
        return None
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and not local and not proxy_bypass(parts.hostname):
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if not parts.hostname:
            return None
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
