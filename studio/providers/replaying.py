"""Replaying: an HTTP client that answers from a record and opens no connection (W-28)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from studio.domain.exchanges import STOPPED, WHOLE, Exchange

from .http import Http

if TYPE_CHECKING:
    import httpx2


class ReplayHttp(Http):
    """The client for adapters that read a record.

    ``answer`` is called with each request, and returns the exchange that was recorded of it, or
    None where there is none: then the adapter finds the connection refused.
    """

    def __init__(self, answer: Callable[[Exchange], Exchange | None]) -> None:
        super().__init__()
        self._answer = answer

    def _make(self) -> httpx2.AsyncClient:
        import httpx2

        answer = self._answer

        async def handle(request: httpx2.Request) -> httpx2.Response:
            sent = Exchange(request.method, str(request.url), await request.aread())
            found = answer(sent)
            if found is None:
                raise httpx2.ConnectError("This request is not in the record.")
            if found.end not in (WHOLE, STOPPED) and not found.status:
                raise httpx2.ConnectError(found.end)

            async def body() -> object:
                yield found.body
                if found.end not in (WHOLE, STOPPED):
                    raise httpx2.ReadError(found.end)

            return httpx2.Response(found.status, headers=dict(found.headers), content=body())  # type: ignore[arg-type]

        return httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
