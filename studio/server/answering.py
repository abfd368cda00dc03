"""Who answers a request: an agent, in a session that the person can look at (S-1, S-2)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from studio.agent.studio import Studio
from studio.agent.turn import settled
from studio.domain.errors import ConfigurationError
from studio.domain.events import AwaitingPermission, AwaitingReply, Event, TurnStarted

from . import faults
from .ceiling import Asker, ceiling
from .conversations import parts_of
from .naming import named
from .placing import Placed, Placing
from .telling import Telling, of_answer
from .wire import Asked, Door, Part, Place

NOBODY = "Nobody is here to answer. Decide yourself, or stop."
"""What an agent hears that asks the person something."""

Put: TypeAlias = Callable[[Part], None]
Begun: TypeAlias = Callable[[Place], None]


class Answering:
    """Answers the requests of one server; ``folder`` is where its agents work.

    Each answer is made in a task of its own, so that its end is orderly however
    a client goes: the turn is stopped, and what it started is gone within 1 s.
    """

    def __init__(self, studio: Studio, folder: Path) -> None:
        self._studio = studio
        self._folder = folder
        self._placing = Placing(studio, folder)
        self._running: set[asyncio.Task[None]] = set()

    def answer(self, asked: Asked, door: Door, begun: Begun) -> AsyncGenerator[Part, None]:
        """See ``Answers``."""
        return self._streamed(partial(self._answer, asked, door, begun))

    def again(
        self, asked: Asked, door: Door, place: Place, begun: Begun
    ) -> AsyncGenerator[Part, None]:
        """See ``Answers``."""
        return self._streamed(partial(self._again, asked, door, begun, place))

    async def close(self) -> None:
        """Stop all that is being answered."""
        for task in self._running:
            task.cancel()
        await settled(*self._running)

    async def _streamed(
        self, work: Callable[[Put], Coroutine[Any, Any, None]]
    ) -> AsyncGenerator[Part, None]:
        parts: asyncio.Queue[Part | None] = asyncio.Queue()
        task = asyncio.create_task(work(parts.put_nowait))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: parts.put_nowait(None))
        try:
            while (part := await parts.get()) is not None:
                yield part
            task.result()
        finally:
            task.cancel()
            await settled(task)

    async def _answer(self, asked: Asked, door: Door, begun: Begun, put: Put) -> None:
        runs = await named(self._studio, asked.model, self._folder)
        placed = await self._placing.place(asked, door, runs)
        answer = self._making(asked, door, begun, put)
        try:
            await self._in(placed, answer)
        except ConfigurationError:
            if answer.place or not placed.found or asked.previous:
                raise
            # The person goes on in it at this moment, or it is damaged.
            await self._in(await self._placing.new(asked, runs), answer)

    async def _again(self, asked: Asked, door: Door, begun: Begun, place: Place, put: Put) -> None:
        await self._placing.ended(place.session_id)
        events = of_answer(
            await self._studio.sessions.store.events(place.session_id), place.turn_id
        )
        answer = self._making(asked, door, begun, put)
        for event in events:
            answer.earlier += answer.telling.hear(event)
        if events and answer.telling.reason not in ("cancelled", "error"):
            answer.earlier += answer.telling.end()
            answer.begin(place)
        elif events and (placed := await self._placing.cut_short(place)):
            results = parts_of(asked.messages).results  # if it was cut before it took them
            await self._in(replace(placed, results=results), answer)
        else:
            await self._answer(asked, door, begun, put)

    def _making(self, asked: Asked, door: Door, begun: Begun, put: Put) -> _Answer:
        structured = asked.generation.schema is not None
        steps = self._studio.settings.values.server_steps
        return _Answer(asked, door, begun, put, Telling(structured=structured, steps=steps))

    async def _in(self, placed: Placed, answer: _Answer) -> None:
        """Answer in this session, and leave it as it has to be."""
        session = placed.session
        asker = Asker(self._studio, session)
        parts: list[Part] = []
        try:
            async with aclosing(await self._turn(placed, answer.asked)) as events:
                async for event in events:
                    match event:
                        case TurnStarted() if answer.place is None:
                            placed.claim.begun.set()
                            answer.begin(Place(session.info.id, event.turn_id))
                        case AwaitingPermission():
                            asker.ask(event.question)
                        case AwaitingReply():
                            session.reply(event.call_id, NOBODY)
                        case _:
                            pass
                    for part in answer.telling.hear(event):
                        answer.put(part)
            parts = answer.telling.end()
            if answer.telling.reason not in ("cancelled", "error"):
                await self._placing.keep(answer.asked, answer.door, answer.telling.said, session)
        except Exception as error:
            if answer.place is None:
                raise
            parts = [faults.of_error(error).outcome()]
        finally:
            asker.close()
            await self._placing.leave(session.info.id)
        for part in parts:
            answer.put(part)

    async def _turn(self, placed: Placed, asked: Asked) -> AsyncGenerator[Event, None]:
        session = placed.session
        return session.turn(
            placed.said,
            mode="background",
            within=await ceiling(self._studio, session.info.id, self._folder),
            tools=asked.tools,
            results=placed.results,
            generation=asked.generation,
        )


@dataclass(slots=True)
class _Answer:
    """An answer in the making."""

    asked: Asked
    door: Door
    begun: Begun
    put: Put
    telling: Telling
    earlier: list[Part] = field(default_factory=list[Part])
    """What was told before it was cut short."""
    place: Place | None = None

    def begin(self, place: Place) -> None:
        self.place = place
        self.begun(place)
        for part in self.earlier:
            self.put(part)
