"""Who answers a request: an agent, in a session that the person can look at (S-1, S-2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from studio.agent.permission.gate import UNANSWERED
from studio.agent.studio import Engine
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CompletionReason,
    Event,
    TurnStarted,
)

from . import deeds, faults
from .bodies import run_off_loop
from .ceiling import PermissionForwarder, client_policy
from .conversations import split_conversation
from .naming import resolve_model
from .placing import SessionMatch, SessionLookup
from .telling import EventMapper, events_of_response
from .wire import ApiRequest, DialectName, ResponsePart, TurnRef

CUT_SHORT: tuple[CompletionReason, ...] = ("cancelled", "error")
"""Ends of a turn that are gone on from when a request is repeated."""

Begun: TypeAlias = Callable[[TurnRef], None]


class Responder:
    """Answers the requests of one server; ``folder`` is where its agents work. See ``Answers``."""

    def __init__(self, studio: Engine, folder: Path) -> None:
        self._studio = studio
        self._folder = folder
        self._placing = SessionLookup(studio, folder)

    @property
    def lookup(self) -> SessionLookup:
        return self._placing

    async def answer(self, asked: ApiRequest, door: DialectName, begun: Begun) -> AsyncGenerator[ResponsePart, None]:
        """See ``Answers``."""
        runs = await resolve_model(self._studio, asked.model, self._folder)
        placed = await self._placing.find(asked, door, runs)
        answer = self._making(asked, door, begun)
        try:
            async with aclosing(self._in(placed, answer)) as parts:
                async for part in parts:
                    yield part
        except ConfigurationError:
            if answer.place or not placed.found or asked.previous:
                raise
            # The person goes on in it at this moment, or it is damaged.
            placed = await self._placing.create(asked, runs)
            async with aclosing(self._in(placed, answer)) as parts:
                async for part in parts:
                    yield part

    async def again(
        self, asked: ApiRequest, door: DialectName, place: TurnRef, since: float, begun: Begun
    ) -> AsyncGenerator[ResponsePart, None]:
        """See ``Answers``."""
        await self._placing.wait_until_free(place.session_id)
        stored = await self._studio.sessions.store.events(place.session_id)
        events = events_of_response(stored, place.turn_id)
        answer = self._making(asked, door, begun)
        earlier = [part for event in events for part in answer.telling.feed(event)]
        if events and answer.telling.reason not in CUT_SHORT:
            begun(place)
            for part in [*earlier, *answer.telling.end()]:
                yield part
            return
        placed = await self._placing.reopen_interrupted(place) if events else None
        if placed is None:
            turns = {event.turn_id for event in events if isinstance(event, TurnStarted)}
            await deeds.refuse_if_tools_ran(self._studio, place, since, turns)
            async with aclosing(self.answer(asked, door, begun)) as parts:
                async for part in parts:
                    yield part
            return
        answer.earlier = earlier
        # If it was cut before it took them.
        results = (await run_off_loop(lambda: split_conversation(asked.messages), big=asked.big)).results
        async with aclosing(self._in(replace(placed, results=results), answer)) as parts:
            async for part in parts:
                yield part

    def _making(self, asked: ApiRequest, door: DialectName, begun: Begun) -> _Answer:
        structured = asked.generation.schema is not None
        steps = self._studio.settings.values.server_steps
        return _Answer(asked, door, begun, EventMapper(structured=structured, steps=steps))

    async def _in(self, placed: SessionMatch, answer: _Answer) -> AsyncGenerator[ResponsePart, None]:
        """Answer in this session, and leave it as it has to be."""
        session, telling = placed.session, answer.telling
        asker = PermissionForwarder(self._studio, session)
        ends: list[ResponsePart] = []
        try:
            async with aclosing(self._turn(placed, answer.asked)) as events:
                async for event in events:
                    match event:
                        case TurnStarted() if answer.place is None:
                            placed.claim.begun.set()
                            answer.begin(TurnRef(session.info.id, event.turn_id))
                            for part in answer.earlier:
                                yield part
                        case AwaitingPermission():
                            asker.ask(event.question)
                        case AwaitingReply():
                            session.answer_question(event.call_id, UNANSWERED)
                        case _:
                            pass
                    for part in telling.feed(event):
                        yield part
            ends = telling.end()
            await self._placing.remember(answer.asked, answer.door, telling.message, session)
        except Exception as error:
            if answer.place is None:
                raise
            ends = [faults.error_from_exception(error).outcome()]
        finally:
            asker.close()
            used = placed.found or answer.place is not None
            await self._placing.release(session.info.id, used=used)
        for part in ends:  # a client may go on from it as soon as it has the last one
            yield part

    def _turn(self, placed: SessionMatch, asked: ApiRequest) -> AsyncGenerator[Event, None]:
        session = placed.session
        return session.turn(
            placed.said,
            mode="background",
            within=client_policy(self._studio),
            tools=asked.tools,
            results=placed.results,
            generation=asked.generation,
        )


@dataclass(slots=True)
class _Answer:
    """An answer in the making."""

    asked: ApiRequest
    door: DialectName
    begun: Begun
    telling: EventMapper
    earlier: Sequence[ResponsePart] = ()
    """What was told before it was cut short."""
    place: TurnRef | None = None

    def begin(self, place: TurnRef) -> None:
        self.place = place
        self.begun(place)
