"""HTTP transport: exchanges messages with a server at an address (M-1).

Streamable HTTP, and the older one of server-sent events. The SDK speaks both; the client is ours,
so that answers have a limit (M-5) and faults a reason. Imports the SDK.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from studio.mcp.authorization import Authorization
from studio.mcp.faults import FaultKind, ServerFailed, network_reason
from studio.mcp.stdio import MOST, TOO_LONG_TEXT

CONNECT = 30.0
"""Seconds to connect and to send."""
READ = 3_700.0
"""Seconds of silence; each call has its own limit, which is shorter."""
_REFUSALS: dict[int, tuple[FaultKind, str]] = {
    401: ("key", "does not take the key in its headers"),
    403: ("forbidden", "does not allow this"),
    404: ("address", "has nothing at this address"),
    405: ("address", "takes no messages at this address"),
    406: ("address", "takes no messages at this address"),
    410: ("address", "has nothing at this address any more"),
    429: ("network", "takes no more requests for now"),
}


class HttpTransport:
    """The streams of a server at an address; an asynchronous context manager.

    ``events``: the older transport, of server-sent events. ``authorization`` has the token of a
    server that wants one.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        authorization: Authorization | None = None,
        *,
        events: bool = False,
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._authorization = authorization
        self._events = events
        self._stack = AsyncExitStack()
        self._status = 0

    async def __aenter__(self) -> tuple[Any, Any]:
        context = await asyncio.to_thread(httpx2.create_ssl_context)
        if self._events:

            def made(
                headers: dict[str, str] | None = None,
                timeout: httpx2.Timeout | None = None,
                auth: httpx2.Auth | None = None,
            ) -> httpx2.AsyncClient:
                return self._client(context)

            streams = sse_client(
                self._url,
                timeout=CONNECT,
                sse_read_timeout=READ,
                httpx_client_factory=made,
            )
            return await self._stack.enter_async_context(streams)
        client = await self._stack.enter_async_context(self._client(context))
        return await self._stack.enter_async_context(
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MOST)
        )

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._stack.__aexit__(kind, error, trace)
        finally:
            if self._authorization is not None:
                await self._authorization.close()

    async def fault(self, error: BaseException | None) -> ServerFailed | None:
        """What the last answer or the error of the network says."""
        place = urlsplit(self._url).netloc.rpartition("@")[2]
        if isinstance(error, httpx2.HTTPStatusError):
            self._status = error.response.status_code
        if isinstance(error, httpx2.TransportError | OSError):
            if _is_certificate(error):
                return ServerFailed("certificate", f"The certificate of {place} is not valid.")
            why = network_reason(error)
            return ServerFailed("network", f"{place} cannot be reached: {why}.")
        refused = self._authorization.fault if self._authorization else None
        if refused is not None and self._status in (401, 403):
            return refused
        if self._status >= 400:
            kind, words = _REFUSALS.get(self._status, ("network", "cannot answer"))
            return ServerFailed(kind, f"{place} {words} (status {self._status}).")
        if error is None:
            return ServerFailed("exited", f"{place} ended the connection.")
        return None

    def _client(self, context: ssl.SSLContext) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            auth=self._authorization,
            headers={**self._headers, "accept-encoding": "identity"},
            timeout=httpx2.Timeout(CONNECT, read=READ),
            verify=context,
            event_hooks={"response": [self._answered]},
        )

    async def _answered(self, response: httpx2.Response) -> None:
        self._status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("The answer is compressed, though that was not asked for.")
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        if self._events and response.request.method != "GET":
            events = False  # the SDK reads it whole, whatever it says it is
        if not events:  # of events, the SDK limits each
            response.stream = _Limited(cast("httpx2.AsyncByteStream", response.stream))


class _Limited(httpx2.AsyncByteStream):
    """A body of ``MOST`` bytes at most."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MOST:
                raise httpx2.StreamError(TOO_LONG_TEXT)
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
