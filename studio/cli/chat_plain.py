"""A chat on a terminal that can do nothing but print lines (``TERM=dumb``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .console import Console


class PlainScreen(Console):
    """Lines in, lines out: the next message is asked for when the agent is done."""

    types_ahead = False

    def __init__(self) -> None:
        super().__init__()
        self.status: Callable[[], str] = lambda: ""
        self.interrupt: Callable[[], bool] = lambda: False
        self._reading: asyncio.Task[str | None] | None = None
        self._asked_to_leave = self._left = False

    async def read(self) -> str | None:
        """The next message; None when the person leaves."""
        self._asked_to_leave = False
        if self._left:
            return None
        self.say(f"\n[{self.status()}]")
        self._reading = asyncio.create_task(self.line("> "))
        await asyncio.wait([self._reading])
        return None if self._reading.cancelled() else self._reading.result()

    def interrupted(self) -> None:
        """Ctrl-C: stops the turn, else twice to leave."""
        if self.interrupt():
            return
        if self._asked_to_leave:
            self.leave()
        else:
            self._asked_to_leave = True
            self.say("\nCtrl-C again to leave")

    def give_back(self, text: str) -> None:
        self.say(f"Not sent: {text}")

    def markdown(self, text: str) -> None:
        self.write(f"{text.strip()}\n\n")

    def refresh(self) -> None:
        return

    def leave(self) -> None:
        self._left = True
        if self._reading is not None:
            self._reading.cancel()
