"""``agent-studio chat``: a conversation in the terminal."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

from studio.agent.session import Session
from studio.agent.spending import dollars
from studio.agent.studio import Studio
from studio.domain.errors import ProviderError, StudioError
from studio.domain.messages import Said, Text

from .chat_printing import ChatPrinter
from .chat_screen import Screen
from .console import Console
from .exits import DONE, USAGE
from .run import Driver, session_for


async def chat(studio: Studio, options: argparse.Namespace, console: Console) -> int:
    """Talk until the person leaves; ends with 1 where nobody can type."""
    if not (console.interactive and sys.stdout.isatty()):
        console.say('A chat needs a terminal. For one message there is: agent-studio run "…"')
        return USAGE
    from prompt_toolkit.completion import DummyCompleter
    from prompt_toolkit.history import InMemoryHistory

    screen = Screen(InMemoryHistory(), DummyCompleter())
    talk = Chat(studio, await session_for(studio, options), screen)
    return await talk.go_on()


class Chat:
    """Between a screen and a session: what is typed becomes turns, one at a time."""

    def __init__(self, studio: Studio, session: Session, screen: Screen) -> None:
        self.studio = studio
        self.session = session
        self.screen = screen
        self._driver: Driver | None = None
        self._work: asyncio.Task[None] | None = None
        self._spent = ""
        screen.interrupt = self.stop
        screen.status = self._status

    async def go_on(self) -> int:
        self.screen.say(
            f"{self.session.info.agent} on {self.session.info.model}, in {self.session.info.folder}"
        )
        await self._reckon()
        try:
            while (text := await self.screen.read()) is not None:
                self.take(text.strip())
        finally:
            self.stop()
            if self._work is not None:
                await asyncio.wait([self._work])
        self.screen.say(f"To go on: agent-studio chat --session {self.session.info.id[:8]}")
        return DONE

    def take(self, text: str) -> None:
        """Something was typed and sent."""
        if not text:
            return
        if self._work is not None:
            self.session.queue([Text(text)])
            self.screen.say(f"Queued: {text}")
            return
        self._begin(self._converse([Text(text)]))

    def stop(self) -> bool:
        """End the turn that runs; whether one did."""
        if self._driver is None:
            return False
        self._driver.stop()
        return True

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = asyncio.create_task(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (StudioError, ProviderError, OSError) as error:
            self.screen.say(str(error))
        finally:
            self._work = self._driver = None
            self.screen.live = lambda _width, _rows: ""
            self.screen.refresh()

    async def _converse(self, said: Sequence[Said]) -> None:
        """A turn, and those that answer what was queued meanwhile."""
        while True:
            if words := _words(said):
                self.screen.say(f"\n› {words}\n")
            printer = ChatPrinter(self.screen)
            self.screen.live = printer.live
            driver = self._driver = Driver(self.session, self.screen, printer, person=True)
            await driver.turn(said, [], None)
            if not driver.stopped and driver.capped and await driver.goes_on():
                await driver.turn((), [], "background")
            if not driver.stopped:
                await driver.offer_drafts()
            await self._reckon()
            if driver.stopped or not (said := self.session.next_queued()):
                break
        while said := self.session.next_queued():
            self.screen.give_back(_words(said))

    async def _reckon(self) -> None:
        """Bring the amounts of the bottom line up to date."""
        spent = await self.studio.books.spent("session", self.session.info.id)
        self._spent = "".join(dollars(one.cost) for one in spent.values())
        self.screen.refresh()

    def _status(self) -> str:
        info = self.session.info
        parts = [info.agent, info.model, info.permission_mode]
        used = self.session.transcript.last_usage.input
        window = self.studio.model(info.provider, info.model).context_window
        if used:
            parts.append(f"context {used / window:.0%}" if window else f"{used:,} tokens")
        parts += [self._spent] if self._spent else []
        parts += ["Ctrl-C stops"] if self._driver is not None else []
        return "  ".join(parts)


def _words(said: Sequence[Said]) -> str:
    return "\n\n".join(part.text for part in said if isinstance(part, Text))
