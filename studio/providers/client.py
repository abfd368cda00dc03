"""The client that all adapters send with: hands what is exchanged to whoever records it (W-27).

Imports the HTTP library: import this in a thread.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import httpx2

from studio.domain.exchanges import STOPPED, WHOLE, Exchange

from .recording import RECORDER

_HEADERS = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
"""Those of an answer that adapters read."""
_SECRET_HEADERS = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
_SECRET_PARAMETERS = ("key", "api_key", "api-key", "access_token")


class RecordingClient(httpx2.AsyncClient):
    """Records what is sent while ``RECORDER`` is set in the caller's context."""

    async def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        record = RECORDER.get()
        if record is None:
            return await super().send(request, stream=stream, **options)
        try:
            response = await super().send(request, stream=True, **options)
        except BaseException as error:
            record(*_exchange(request, None, [], _name(error)))
            raise
        response.stream = _Recorded(request, response, record)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response


class _Recorded(httpx2.AsyncByteStream):
    """The body of an answer, which is recorded once nobody reads on."""

    def __init__(
        self,
        request: httpx2.Request,
        response: httpx2.Response,
        record: Callable[[Exchange, tuple[str, ...]], None],
    ) -> None:
        self._request = request
        self._response = response
        self._stream = cast("httpx2.AsyncByteStream", response.stream)
        self._record: Callable[[Exchange, tuple[str, ...]], None] | None = record
        self._pieces: list[bytes] = []

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                self._pieces.append(piece)
                yield piece
        except BaseException as error:
            self._end(_name(error))
            raise
        self._end(WHOLE)

    async def aclose(self) -> None:
        self._end(STOPPED)
        await self._stream.aclose()

    def _end(self, end: str) -> None:
        if self._record is not None:
            record, self._record = self._record, None
            record(*_exchange(self._request, self._response, self._pieces, end))


def _exchange(
    request: httpx2.Request, response: httpx2.Response | None, pieces: list[bytes], end: str
) -> tuple[Exchange, tuple[str, ...]]:
    """The exchange, and the keys that were sent with it: its texts may still name them."""
    url = request.url
    keys = [value.rpartition(" ")[2] for value in _named(request.headers, _SECRET_HEADERS).values()]
    if url.query:
        parameters = url.params
        for name in [one for one in _SECRET_PARAMETERS if one in parameters]:
            keys.append(parameters.get(name, ""))
            url = url.copy_remove_param(name)
    if url.userinfo:
        keys.append(url.password or "")
        url = url.copy_with(username=None, password=None)
    kept: dict[str, str] = {}
    if response is not None:
        kept = _named(response.headers, _HEADERS)
    exchange = Exchange(
        request.method,
        str(url),
        request.content,
        response.status_code if response is not None else 0,
        tuple(kept.items()),
        b"".join(pieces),
        end,
    )
    return exchange, tuple(filter(None, keys))


def _named(headers: httpx2.Headers, names: Sequence[str]) -> dict[str, str]:
    """Those of ``names`` that are there: to read all takes as long as to send the request."""
    there = {name.lower() for name, _ in headers.raw}
    return {name: headers[name] for name in names if name.encode() in there}


def _name(error: BaseException) -> str:
    """An error of the connection by its name; anything else is a caller who gave up."""
    return type(error).__name__ if isinstance(error, httpx2.RequestError) else STOPPED
