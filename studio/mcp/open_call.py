"""Open calls: the calls of a server under way, their time, and who is asked meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from studio.domain.questions import DECLINED, AskForm, ServerAnswer, ServerQuestion

LONGEST = 600.0
"""Seconds of a call that tells its progress."""
ROUNDS = 10
"""How often a server may ask for more during one call, and how much at a time."""


class OpenCall:
    """A call under way: its time, and who is asked meanwhile.

    ``limit`` ends it. Progress extends it, and questions stop it.
    """

    def __init__(self, seconds: float, ask: AskForm) -> None:
        self.seconds = seconds
        self._each = seconds
        self._ask = ask
        self._asking: set[asyncio.Future[ServerAnswer]] = set()
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._limit = asyncio.timeout(None)
        self._paused, self._since = 0, 0.0

    def limit(self) -> asyncio.Timeout:
        self._limit = asyncio.timeout(self.seconds)
        self._began = self._loop.time()
        return self._limit

    async def answer(self, question: ServerQuestion) -> ServerAnswer:
        """Ask the person; if the call ends meanwhile, the question is put away.

        Of too many at a time the rest is declined.
        """
        if len(self._asking) >= ROUNDS:
            return DECLINED
        asked = asyncio.ensure_future(self._ask(question))
        self._asking.add(asked)
        try:
            await asyncio.wait([asked])
        finally:
            asked.cancel()
            self._asking.discard(asked)
        return ServerAnswer("cancel") if asked.cancelled() else asked.result()

    def end(self) -> None:
        for asked in self._asking:
            asked.cancel()

    def extend(self) -> None:
        """It goes on, for ``LONGEST`` at most."""
        if self._paused:
            return
        latest = self._began + max(self._each, LONGEST)
        at = min(self._loop.time() + self._each, latest)
        self._set(at)
        self.seconds = round(at - self._began, 1)

    def pause(self) -> None:
        """A person is asked, who may take their time."""
        if not self._paused:
            self._since = self._loop.time()
            self._set(None)
        self._paused += 1

    def resume(self) -> None:
        self._paused -= 1
        if not self._paused:
            self._began += self._loop.time() - self._since
            self.extend()

    def _set(self, at: float | None) -> None:
        with suppress(RuntimeError):  # the call has ended
            self._limit.reschedule(at)


class OpenCalls:
    """Those of one connection, the newest last."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []

    @property
    def newest(self) -> OpenCall | None:
        return self._calls[-1] if self._calls else None

    def begin(self, call: OpenCall) -> None:
        self._calls.append(call)

    def end(self, call: OpenCall) -> None:
        if call in self._calls:
            self._calls.remove(call)
        call.end()

    async def ask(self, call: OpenCall, question: ServerQuestion) -> ServerAnswer:
        """Put a question to the person; no call's time runs meanwhile."""
        paused = list(self._calls)
        for one in paused:
            one.pause()
        try:
            return await call.answer(question)
        finally:
            for one in paused:
                one.resume()
