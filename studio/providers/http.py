"""The HTTP client: one for all providers, SDKs included."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import ssl
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.request import getproxies

if TYPE_CHECKING:
    import httpx2

    from .errors import ErrorFactory

T = TypeVar("T")

LOOPBACK = ("all://127.0.0.1", "all://localhost", "all://[::1]")


class Http:
    """Makes the client on first use, in a thread: a TLS context costs about 60 ms.

    Proxies of the environment are honoured, except for this computer itself.
    Belongs to one event loop.
    """

    plain = False
    """Whether clouds are asked without their SDKs, whose import takes longer than an answer."""

    def __init__(self, *, connect_seconds: float = 10.0, read_seconds: float = 600.0) -> None:
        self._connect = connect_seconds
        self._read = read_seconds
        self._client: httpx2.AsyncClient | None = None
        self._lock = asyncio.Lock()
        self._importing = asyncio.Lock()

    async def client(self) -> httpx2.AsyncClient:
        if self._client is not None and not self._lock.locked():
            return self._client
        async with self._lock:
            if self._client is None:
                self._client = await self.imported(self._make)
            return self._client

    async def imported(self, make: Callable[[], T]) -> T:
        """``import_alone`` in a thread; a call that waits for another import holds no thread."""
        async with self._importing:
            return await asyncio.to_thread(import_alone, make)

    def _make(self) -> httpx2.AsyncClient:
        import httpx2

        from .answer_limits import ENCODINGS, limit_answer
        from .client import RecordingClient
        from .transport import Transport

        proxies = any(getproxies().get(scheme) for scheme in ("http", "https", "all"))
        if proxies:
            with suppress(ImportError):  # else the first connection imports it, on the loop
                import_module("anyio._backends._asyncio")
        direct = Transport(_context)
        return RecordingClient(
            verify=_context() if proxies else True,  # for httpx2's own transports alone
            timeout=httpx2.Timeout(self._read, connect=self._connect),
            headers={"accept-encoding": ENCODINGS},
            event_hooks={"response": [limit_answer]},
            follow_redirects=False,  # a redirect would carry the key to another host
            transport=None if proxies else direct,  # None: it looks for them itself
            mounts=dict.fromkeys(LOOPBACK, direct),
            limits=httpx2.Limits(max_connections=100, keepalive_expiry=30.0),
        )

    async def aclose(self) -> None:
        """Close every connection; the object can be used again afterwards."""
        async with self._lock:
            if self._client is not None:
                client, self._client = self._client, None
                await client.aclose()


class SharedSdk(Generic[T]):
    """An SDK's client on the shared connections, made on first use, and anew once they closed.

    ``variables`` are those of the environment that only the SDK knows how to follow.
    """

    def __init__(
        self,
        http: Http,
        errors: ErrorFactory,
        make: Callable[[httpx2.AsyncClient], T],
        variables: Sequence[str] = (),
    ) -> None:
        self._http = http
        self._errors = errors
        self._make = make
        self._variables = variables
        self._made: tuple[httpx2.AsyncClient, T] | None = None

    @property
    def skipped(self) -> bool:
        """Whether requests are sent without the SDK."""
        return self._http.plain and not from_environment(*self._variables)

    async def prepare(self) -> None:
        """Make what requests are sent with, which takes a while the first time."""
        await (self._http.client() if self.skipped else self.client())

    async def client(self) -> T:
        """Raises ProviderError (no_key) without a key."""
        if not self._errors.key.strip():
            raise self._errors.error("no_key")
        http = await self._http.client()
        if self._made is None or self._made[0] is not http:
            self._made = (http, await self._http.imported(lambda: self._make(http)))
        return self._made[1]


def _context() -> ssl.SSLContext:
    """What httpx2 makes; where the system is plain, without its second library (50 ms)."""
    try:
        if file := os.environ.get("SSL_CERT_FILE"):
            return ssl.create_default_context(cafile=file)
        if folder := os.environ.get("SSL_CERT_DIR"):
            return ssl.create_default_context(capath=folder)
    except FileNotFoundError:  # the file is gone
        return ssl.create_default_context(cafile=None)
    places = ssl.get_default_verify_paths()
    if sys.platform == "linux" and (places.cafile or _has_certificates(places.capath)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(places.cafile, places.capath)
        return context
    import httpx2

    return httpx2.create_ssl_context()


def _has_certificates(folder: str | None) -> bool:
    """Whether OpenSSL finds certificates in a folder: files that are named by their hash."""
    found = Path(folder).iterdir() if folder else ()
    return any(re.fullmatch(r"[0-9a-fA-F]{8}\.\d", one.name) for one in found)


_IMPORT_LOCK = threading.RLock()  # an import may come to need another one


def import_alone(make: Callable[[], T]) -> T:
    """What ``make`` returns, which imports an SDK or the price tables. Call it in a thread.

    One at a time in the process: two threads that import pydantic at once find it
    half made, an ImportError. No garbage is collected meanwhile: a full collection
    among the objects of an SDK stops the event loop for 90 ms, an import only for
    a few. What was imported is never looked at by the collector again.
    """
    with _IMPORT_LOCK:
        if not gc.isenabled():
            return make()
        known = len(sys.modules)
        gc.disable()
        try:
            return make()
        finally:
            if len(sys.modules) > known:
                gc.freeze()
            gc.enable()


def from_environment(*names: str) -> str:
    """The first of these variables that is set and not blank, or an empty string."""
    for name in names:
        if value := os.environ.get(name, "").strip():
            return value
    return ""
