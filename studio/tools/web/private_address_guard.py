"""Private address guard: resolves a host, and refuses addresses of private networks (T-8)."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.request import getproxies, proxy_bypass

from studio.domain.errors import NothingRead
from studio.domain.records import dataclass

from .web_address import Address, is_public, plain

PRIVATE = (
    "{where} is in this computer's own network{what}, where pages are not fetched. "
    "The person can allow it in the settings."
)


async def _look_up(host: str, port: int) -> Sequence[str]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _the_same(ip: str, port: int) -> tuple[str, int]:
    return ip, port


def _system_trust() -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except FileNotFoundError:  # SSL_CERT_FILE names a file that is gone
        return ssl.create_default_context(cafile=None)


def _environment_proxy(address: Address) -> str:
    """The proxy that the environment, or the system, sets for an address; "" for none."""
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all") or ""
    if not proxy or proxy_bypass(address.authority):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


@dataclass(frozen=True, slots=True)
class NetworkGuard:
    """Checks where a request goes; each of its functions can be replaced.

    ``look_up`` returns the IP addresses of a name, ``dial`` the address and port to
    connect to for one that was checked, ``trust`` the TLS context (slow: it is called in
    a thread), ``proxy`` the URL of a proxy for an address or "".
    """

    look_up: Callable[[str, int], Awaitable[Sequence[str]]] = _look_up
    dial: Callable[[str, int], tuple[str, int]] = _the_same
    trust: Callable[[], ssl.SSLContext] = _system_trust
    proxy: Callable[[Address], str] = _environment_proxy

    async def resolve(self, address: Address, *, private: bool) -> list[str]:
        """The IP addresses of a host, every one of them checked; raises NothingRead.

        The caller connects to these and looks nothing up again: a second answer of
        the same name server might be another one.
        """
        found = [str(address.ip)] if address.ip else await self._addresses(address)
        return [self._checked(address, text, private) for text in found]

    async def forwarded(self, address: Address, *, private: bool) -> None:
        """Check the address of a request that goes through a proxy; raises NothingRead.

        The proxy looks names up itself. A name that resolves to a private network here is
        refused; one that does not resolve here is left to the proxy.
        """
        if private:
            return
        if address.is_local_name:
            raise NothingRead(PRIVATE.format(where=address.host, what=""))
        try:
            await self.resolve(address, private=False)
        except UnknownHost:
            return

    async def _addresses(self, address: Address) -> Sequence[str]:
        found: Sequence[str] = ()
        with suppress(OSError, UnicodeError):
            found = await self.look_up(address.host, address.port)
        if not found:
            raise UnknownHost(f"There is no host {address.host}, or the network is down.")
        return found

    def _checked(self, address: Address, text: str, private: bool) -> str:
        ip = plain(ipaddress.ip_address(text.partition("%")[0]))
        if not private and not is_public(ip):
            what = "" if address.ip else f" ({ip})"
            raise NothingRead(PRIVATE.format(where=address.host, what=what))
        return text if private and "%" in text else str(ip)


class UnknownHost(NothingRead):
    """The name does not resolve."""
