"""Who answers a request: an agent, in a session that the person can look at (S-1, S-2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from studio.agent.permission.gate import UNANSWERED
from studio.agent.studio import Studio
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CompletionReason,
    Event,
    TurnStarted,
)

from . import deeds, faults
from .bodies import made
from .ceiling import Asker, ceiling
from .conversations import parts_of
from .naming import named
from .placing import Placed, Placing
from .telling import Telling, of_answer
from .wire import Asked, Door, Part, Place

CUT_SHORT: tuple[CompletionReason, ...] = ("cancelled", "error")
"""Ends of a turn that are gone on from when a request is repeated."""

Begun: TypeAlias = Callable[[Place], None]


class Answering:
    """Answers the requests of one server; ``folder`` is where its agents work. See ``Answers``."""

    def __init__(self, studio: Studio, folder: Path) -> None:
        self._studio = studio
        self._folder = folder
        self._placing = Placing(studio, folder)

    @property
    def placing(self) -> Placing:
        return self._placing

    async def answer(self, asked: Asked, door: Door, begun: Begun) -> AsyncGenerator[Part, None]:
        """See ``Answers``."""
        runs = await named(self._studio, asked.model, self._folder)
        placed = await self._placing.place(asked, door, runs)
        answer = self._making(asked, door, begun)
        try:
            async with aclosing(self._in(placed, answer)) as parts:
                async for part in parts:
                    yield part
        except ConfigurationError:
            if answer.place or not placed.found or asked.previous:
                raise
            # The person goes on in it at this moment, or it is damaged.
            placed = await self._placing.new(asked, runs)
            async with aclosing(self._in(placed, answer)) as parts:
                async for part in parts:
                    yield part

    async def again(
        self, asked: Asked, door: Door, place: Place, since: float, begun: Begun
    ) -> AsyncGenerator[Part, None]:
        """See ``Answers``."""
        await self._placing.ended(place.session_id)
        stored = await self._studio.sessions.store.events(place.session_id)
        events = of_answer(stored, place.turn_id)
        answer = self._making(asked, door, begun)
        earlier = [part for event in events for part in answer.telling.hear(event)]
        if events and answer.telling.reason not in CUT_SHORT:
            begun(place)
            for part in [*earlier, *answer.telling.end()]:
                yield part
            return
        placed = await self._placing.cut_short(place) if events else None
        if placed is None:
            turns = {event.turn_id for event in events if isinstance(event, TurnStarted)}
            await deeds.must_be_none(self._studio, place, since, turns)
            async with aclosing(self.answer(asked, door, begun)) as parts:
                async for part in parts:
                    yield part
            return
        answer.earlier = earlier
        # If it was cut before it took them.
        results = (await made(lambda: parts_of(asked.messages), big=asked.big)).results
        async with aclosing(self._in(replace(placed, results=results), answer)) as parts:
            async for part in parts:
                yield part

    def _making(self, asked: Asked, door: Door, begun: Begun) -> _Answer:
        structured = asked.generation.schema is not None
        steps = self._studio.settings.values.server_steps
        return _Answer(asked, door, begun, Telling(structured=structured, steps=steps))

    async def _in(self, placed: Placed, answer: _Answer) -> AsyncGenerator[Part, None]:
        """Answer in this session, and leave it as it has to be."""
        session, telling = placed.session, answer.telling
        asker = Asker(self._studio, session)
        ends: list[Part] = []
        try:
            async with aclosing(self._turn(placed, answer.asked)) as events:
                async for event in events:
                    match event:
                        case TurnStarted() if answer.place is None:
                            placed.claim.begun.set()
                            answer.begin(Place(session.info.id, event.turn_id))
                            for part in answer.earlier:
                                yield part
                        case AwaitingPermission():
                            asker.ask(event.question)
                        case AwaitingReply():
                            session.reply(event.call_id, UNANSWERED)
                        case _:
                            pass
                    for part in telling.hear(event):
                        yield part
            ends = telling.end()
            await self._placing.keep(answer.asked, answer.door, telling.said, session)
        except Exception as error:
            if answer.place is None:
                raise
            ends = [faults.of_error(error).outcome()]
        finally:
            asker.close()
            used = placed.found or answer.place is not None
            await self._placing.leave(session.info.id, used=used)
        for part in ends:  # a client may go on from it as soon as it has the last one
            yield part

    def _turn(self, placed: Placed, asked: Asked) -> AsyncGenerator[Event, None]:
        session = placed.session
        return session.turn(
            placed.said,
            mode="background",
            within=ceiling(self._studio),
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
    telling: Telling
    earlier: Sequence[Part] = ()
    """What was told before it was cut short."""
    place: Place | None = None

    def begin(self, place: Place) -> None:
        self.place = place
        self.begun(place)
