"""A client's connection, with an end to patience: half requests, answers nobody reads.

Uvicorn closes a connection that is idle between two requests; it waits without
end for the rest of a request, and for a client that does not read.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEADERS = 10.0
"""Seconds in which a request's line and headers have to be there."""
READS = 30.0
"""Seconds in which a client has to take something of what waits for it."""
MOST = 256
"""Connections at once."""
_AHEAD = 65_536
"""Bytes that may follow a request before its answer; who stops reading does not see the end."""


class Connection(H11Protocol):
    """One connection; what has lost its patience is broken off."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast("asyncio.Transport", transport))
        if len(self.connections) > MOST:
            self.transport.abort()
            return
        self.transport.set_write_buffer_limits(high=0)  # whatever waits is noticed
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._busy:
            self._late = _ended(self._late)
            ahead = not self.cycle.more_body and self.flow.read_paused
            if ahead and len(self.conn.trailing_data[0]) < _AHEAD:
                self.flow.resume_reading()
        elif self._late is None:
            self._expect()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stuck = _ended(self._stuck)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late, self._stuck = _ended(self._late), _ended(self._stuck)
        super().connection_lost(exc)

    @property
    def _busy(self) -> bool:
        """Whether a request has come whose answer is not out."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _expect(self) -> None:
        self._late = self.loop.call_later(HEADERS, self._too_late)

    def _too_late(self) -> None:
        self._late = None
        if not self._busy:
            self.transport.abort()

    def _watch(self, waiting: int) -> None:
        """Break off if not a byte less waits after a while."""

        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left >= waiting:
                self.transport.abort()
            else:
                self._watch(left)

        self._stuck = _ended(self._stuck)
        self._stuck = self.loop.call_later(READS, look)


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
