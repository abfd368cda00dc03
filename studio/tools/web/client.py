"""Web client: sends one request, within time and size, where the address guard lets it (T-8)."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import field
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING

import studio
from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.records import dataclass
from studio.tools.sdk.result import size

from .private_address_guard import NetworkGuard
from .web_address import PORTS, Address

if TYPE_CHECKING:
    import httpx2

HEADERS = {
    "User-Agent": f"AgentStudio/{studio.__version__}",
    "Accept": "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,"
    "application/pdf,image/*;q=0.8,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}
REDIRECTS = (301, 302, 303, 307, 308)
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class WebLimits:
    """Limits of a fetch: bytes of an unpacked body, seconds in all, of silence and to
    connect, and redirects."""

    body: int = 10_000_000
    seconds: float = 45.0
    idle: float = 15.0
    connect: float = 10.0
    redirects: int = 10


@dataclass(frozen=True, slots=True)
class WebResponse:
    """What a server answered at ``address``. Names of ``headers`` are lower case; ``proxy``
    says whether a proxy delivered it."""

    address: Address
    status: int
    headers: Mapping[str, str] = field(hash=False)
    body: bytes
    proxy: bool = False

    @property
    def leads_to(self) -> Address | None:
        """Where a redirect leads; None if this is no redirect. Raises ToolFailed."""
        to = self.headers.get("location", "")
        return self.address.join(to) if self.status in REDIRECTS and to else None

    @property
    def phrase(self) -> str:
        """``404 Not Found``."""
        try:
            return f"{self.status} {HTTPStatus(self.status).phrase}"
        except ValueError:
            return str(self.status)


class Client:
    """Sends requests without cookies or credentials of its own, each over a new connection.

    A connection that is kept belongs to an IP address, which another host may share.
    """

    def __init__(
        self, network: NetworkGuard | None = None, limits: WebLimits | None = None
    ) -> None:
        self.network = network or NetworkGuard()
        self.limits = limits or WebLimits()
        self._trust: ssl.SSLContext | None = None
        self._making = asyncio.Lock()

    async def send(
        self,
        method: str,
        address: Address,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        private: bool,
    ) -> WebResponse:
        """Send one request, redirects not followed; raises ToolFailed.

        NothingRead if no connection was made, so that nothing was sent.
        ``headers`` may hold a key. ``private`` allows private networks.
        """
        async with _time_limit(self.limits.seconds, address.host):
            return await self._send(method, address, headers or {}, body, private)

    async def _send(
        self, method: str, address: Address, headers: Mapping[str, str], body: bytes, private: bool
    ) -> WebResponse:
        trust = await self._trusted()  # the first call imports httpx2, in a thread
        import httpx2

        timeout = httpx2.Timeout(self.limits.idle, connect=self.limits.connect)

        def over(url: str) -> httpx2.Request:
            return httpx2.Request(
                method,
                url,
                headers={"Host": address.authority, **HEADERS, **headers},
                content=body or None,
                # The certificate must be the host's, whatever IP address is in the URL.
                extensions={"sni_hostname": address.host, "timeout": timeout.as_dict()},
            )

        proxy = await asyncio.to_thread(self.network.proxy, address)
        if proxy:
            await self.network.forwarded(address, private=private)
            return await self._exchange(over(str(address)), address, trust, proxy)
        places = await self.network.resolve(address, private=private)
        for left in range(len(places) - 1, -1, -1):
            try:
                url = self._url(address, places[-left - 1])
                return await self._exchange(over(url), address, trust)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if not left:
                    raise NothingRead(_unreachable(address, error)) from error
        raise AssertionError("a host has at least one address")

    def _url(self, address: Address, place: str) -> str:
        """The URL with the IP address in it that was checked."""
        host, port = self.network.dial(place, address.port)
        host = f"[{host}]" if ":" in host else host
        return f"{address.scheme}://{host}:{port}{address.target}"

    async def _exchange(
        self, request: httpx2.Request, address: Address, trust: ssl.SSLContext, proxy: str = ""
    ) -> WebResponse:
        import httpx2

        try:
            transport = httpx2.AsyncHTTPTransport(
                verify=trust, trust_env=False, proxy=proxy or None
            )
            async with transport:
                response = await transport.handle_async_request(request)
                try:
                    content = await self._body(response)
                finally:
                    await response.aclose()
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            if not proxy:
                raise  # another address of the host may be better
            raise NothingRead(f"The proxy cannot be reached for {address.host}.") from None
        except httpx2.TimeoutException:
            raise ToolFailed(f"{address.host} sent nothing for {self.limits.idle:g} s.") from None
        except httpx2.ProxyError:
            raise NothingRead(f"The proxy would not connect to {address.host}.") from None
        except httpx2.TransportError as error:
            raise ToolFailed(
                f"{address.host} broke the connection off or does not speak HTTP there."
            ) from error
        except (ImportError, ValueError) as error:  # a kind of proxy that is not known
            raise NothingRead("The proxy that the environment sets cannot be used.") from error
        named = {name.lower(): value for name, value in response.headers.items()}
        return WebResponse(address, response.status_code, named, content, bool(proxy))

    async def _trusted(self) -> ssl.SSLContext:
        async with self._making:
            if self._trust is None:
                self._trust = await asyncio.to_thread(self._import)
            return self._trust

    def _import(self) -> ssl.SSLContext:
        with suppress(ImportError):  # else the first connection imports it, on the event loop
            import_module("anyio._backends._asyncio")
        return self.network.trust()

    async def _body(self, response: httpx2.Response) -> bytes:
        """The unpacked body; raises ToolFailed before more than the limit is in memory."""
        most = self.limits.body
        if response.status_code in REDIRECTS:
            return b""
        declared = response.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most:
            raise _too_big(most)
        unpack = _unpacker(response.headers.get("content-encoding", ""))
        whole = bytearray()
        async with aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                whole += unpack(piece, most + 1 - len(whole))
                if len(whole) > most:
                    raise _too_big(most)
        return bytes(whole)


@asynccontextmanager
async def _time_limit(seconds: float, host: str) -> AsyncGenerator[None, None]:
    """Raises ToolFailed, in words for a model, after this many seconds."""
    timer = asyncio.timeout(seconds)
    try:
        async with timer:
            yield
    except TimeoutError:
        if not timer.expired():
            raise
        raise ToolFailed(f"{host} took longer than {seconds:g} s, the limit.") from None


async def _pieces(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    async for piece in response.aiter_raw():
        for start in range(0, len(piece), _PIECE):
            yield piece[start : start + _PIECE]


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """A function that unpacks a body piece by piece, to at most the given number of bytes.

    Raises ToolFailed for an encoding that was not asked for: two layers, or Brotli, could be
    a bomb of any size.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda piece, room: piece
    if name not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed(f"The body is packed in a way that was not asked for ({name[:40]}).")
    return _Unpacker(deflate=name == "deflate").unpack


class _Unpacker:
    """One zlib stream. ``deflate`` means zlib's format, but some servers omit its header."""

    def __init__(self, *, deflate: bool) -> None:
        self._may_lack_header = deflate
        self._stream = zlib.decompressobj(zlib.MAX_WBITS if deflate else zlib.MAX_WBITS | 16)

    def unpack(self, piece: bytes, room: int) -> bytes:
        if self._stream.eof:
            return b""
        if self._may_lack_header and piece:
            self._may_lack_header = False
            if piece[0] & 0x0F != 8:
                self._stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            return self._stream.decompress(piece, max(room, 1))
        except zlib.error:
            raise ToolFailed("The body is damaged: it cannot be unpacked.") from None


def _too_big(most: int) -> ToolFailed:
    return ToolFailed(f"The page is larger than {size(most)}, the limit.")


def _unreachable(address: Address, error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"The certificate of {address.host} is not valid: {cause.verify_message}."
        if isinstance(cause, ssl.SSLError):
            return f"No secure connection to {address.host} could be made."
        cause = cause.__cause__ or cause.__context__
    port = "" if address.port == PORTS[address.scheme] else f" on port {address.port}"
    return f"{address.host} cannot be reached{port}."
