"""Idempotency gives a repeated request the first one's response, so that no tool runs twice.

A client repeats a request whose response it did not get, under the same
``Idempotency-Key``. While the first is being answered, the second reads the same stream.
A response that was cut short, or failed, is continued in its session. One that is
no longer in memory, or was made before the server was restarted, is read
from the session's transcript. Where the session is gone, a request for which a
tool has run is refused.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from studio.storage.sessions.idempotency import KEPT_REQUESTS, KEPT_SECONDS, IdempotencyStore

from .contract import ApiRequest, BadRequest, ResponsePart, TurnRef
from .request_body import run_off_loop
from .responder import Responder
from .response_stream import STOPPING, ResponseStream

MEMORY = 32_000_000
"""Bytes of answers that are kept in memory, roughly; older ones are read from their sessions."""
LONGEST_KEY = 255


@dataclass(slots=True)
class _Kept:
    """One request with a key: its body's digest, when it first came, its answer."""

    body: str
    at: float
    run: ResponseStream


class IdempotentResponses:
    """Starts responses, and recognises requests that were made before."""

    def __init__(self, responder: Responder, store: IdempotencyStore) -> None:
        self._responder = responder
        self._store = store
        self._kept: dict[str, _Kept] = {}
        self._runs: set[ResponseStream] = set()
        self._beginning = asyncio.Lock()
        self._closed = False

    async def run(
        self, request: ApiRequest, dialect: str, body: bytes, *, key: str = "", client: str = ""
    ) -> ResponseStream:
        """Return the response to a request, started now or before.

        ``key`` is the client's for this request, empty where it has none;
        ``client`` tells clients with different tokens apart. Raises BadRequest
        for a key that came with another ``body``, StorageError.
        """
        if self._closed:
            raise BadRequest(STOPPING.message, status=STOPPING.status, code=STOPPING.code)
        if not key:
            return self._new(request, dialect, time.time())
        if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
            raise BadRequest(
                f"An Idempotency-Key is printable ASCII, {LONGEST_KEY} characters at most.",
                code="invalid_idempotency_key",
            )
        digest = _digest(client.encode(), dialect.encode(), key.encode())
        async with self._beginning:
            body_digest = await run_off_loop(lambda: _digest(body), big=request.big)
            return await self._known(request, dialect, digest, body_digest)

    async def _known(
        self, request: ApiRequest, dialect: str, key: str, body: str
    ) -> ResponseStream:
        now = time.time()
        self._forget(now)
        kept = self._kept.get(key)
        if kept is not None and kept.body == body and kept.run.fault is None:
            return kept.run
        row = await self._store.begin(key, body, now)
        if row.body != body:
            raise BadRequest(
                "This Idempotency-Key was used for another request. Use a new one.",
                status=422,
                code="idempotency_key_reused",
            )
        if kept is not None:
            await kept.run.settled()  # what it did has to be saved before it is gone on with
        place = TurnRef(row.session_id, row.turn_id) if row.session_id else None
        run = self._new(request, dialect, row.at, key=key, place=place)
        self._kept.pop(key, None)
        self._kept[key] = _Kept(body, row.at, run)
        return run

    def _new(
        self,
        request: ApiRequest,
        dialect: str,
        at: float,
        *,
        key: str = "",
        place: TurnRef | None = None,
    ) -> ResponseStream:
        def begin(on_begin: Callable[[TurnRef], None]) -> AsyncGenerator[ResponsePart, None]:
            def begun(where: TurnRef) -> None:
                on_begin(where)
                if key:
                    self._store.answered_in(key, where.session_id, where.turn_id)

            if place is None:
                return self._responder.answer(request, dialect, begun)
            return self._responder.repeat(request, dialect, place, at, begun)

        run = ResponseStream(request, at, begin, place)
        self._runs.add(run)
        run.when_over(lambda: self._runs.discard(run))
        return run

    @property
    def running(self) -> int:
        return len(self._runs)

    def _forget(self, now: float) -> None:
        """Forget responses that are too old, too many or too big; running ones stay."""
        size, count = 0, 0
        for key, kept in reversed(list(self._kept.items())):
            size, count = size + kept.run.size, count + 1
            gone = size > MEMORY or count > KEPT_REQUESTS or kept.at < now - KEPT_SECONDS
            if gone and kept.run.over:
                del self._kept[key]

    async def close(self) -> None:
        """Start no more, stop every running response, and wait until its turn is saved."""
        self._closed = True
        runs = list(self._runs)
        for run in runs:
            run.stop(STOPPING)
        for run in runs:
            await run.settled()


def _digest(*parts: bytes) -> str:
    """The digest of texts without NUL, or of one text that may have some."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()
