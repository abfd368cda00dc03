"""The responder has an agent answer a request, in a session that the person can open (S-1, S-2).

A repeated request is refused where its first response is gone and its tools have run: the
audit log tells, which outlives the chats.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.session.session import Session
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CompletionReason,
    TurnStarted,
)
from studio.domain.redaction import without_secrets
from studio.storage.sessions.audit_log import AuditEntry, AuditFilter

from . import errors
from .client_runs import NO_TURN, ClientRuns
from .contract import WORKFLOW, ApiRequest, BadRequest, ResponsePart, TurnRef
from .conversation_digest import split_conversation
from .event_mapper import EventMapper, events_of_response
from .model_names import PLAIN, resolve_model
from .permission_forwarder import PermissionForwarder
from .request_body import run_off_loop
from .session_lookup import SessionLookup, SessionMatch

SHOWN = 5
"""Calls that are named."""
_CLIENT = "the client"
"""Who runs the calls that were handed over, in the audit."""
_ENDED = "Agent Studio ended in the middle of it, and it is not known all that was done. "


async def refuse_if_tools_ran(
    engine: Engine, place: TurnRef, since: float, turns: Collection[str]
) -> None:
    """Raise BadRequest (409) if a tool has run for a request: it would run twice.

    ``since`` is when the request first came, in seconds since the epoch. ``turns``
    are the turns of its response, where they are known; otherwise all turns of the session
    count, but calls that may be the person's own are not named to a client.
    """
    store, wanted = engine.sessions.store, AuditFilter(session_id=place.session_id, since=since)
    own = turns or {place.turn_id}
    calls: list[str] = []
    unnamed = 0
    beyond = 0
    while page := await store.audit(wanted, beyond=beyond, newest_first=False):
        beyond = page[-1].id
        for entry in filter(_ran, page):
            if entry.turn_id in own or not place.turn_id:
                calls.append(without_secrets(escape_line(f"{entry.tool} {entry.target}", 100)))
            elif not turns:
                unnamed += 1
    if calls or unnamed or not place.turn_id:
        raise _done(calls, unnamed, broken=not place.turn_id)


def _ran(entry: AuditEntry) -> bool:
    """Whether a call was started here; one that was allowed and then cut off may have been."""
    if entry.decided_by == _CLIENT:
        return False
    cut = entry.state in ("cancelled", "queued") and entry.decided_at is not None
    return cut or entry.state in ("running", "done", "error")


def _done(calls: list[str], unnamed: int, *, broken: bool) -> BadRequest:
    count = len(calls[SHOWN:]) + unnamed
    more = f" and {count} more" if count else ""
    ran = "Tools have run. " if count else ""
    if calls:
        ran = f"These tools have run: {', '.join(calls[:SHOWN])}{more}. "
    return BadRequest(
        "This request came before under the same Idempotency-Key, and its answer is no longer "
        f"here. {_ENDED if broken else ''}{ran}To have it done again, use a new key.",
        status=409,
        code="idempotency_key_used",
    )


CUT_SHORT: tuple[CompletionReason, ...] = ("cancelled", "error", "request_limit")
"""Ends of a turn from which a repeated request continues."""

Begun: TypeAlias = Callable[[TurnRef], None]
Asks: TypeAlias = Callable[[Engine, Session], PermissionForwarder]
"""Makes what asks the questions of a turn."""


class Responder:
    """Answers the requests of one server; ``folder`` is where its agents work.

    Before its first part an answer may raise BadRequest or StudioError; after that an
    error is an ``Outcome``. ``begun`` is called with the turn that makes it, at the latest
    before the first part. ``dialect`` is the dialect's name. Closing a stream of parts
    stops its turn.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self.lookup = SessionLookup(engine, folder)
        self.runs = ClientRuns(engine, folder)

    async def answer(
        self,
        request: ApiRequest,
        dialect: str,
        begun: Begun,
        asks: Asks | None = None,
    ) -> AsyncGenerator[ResponsePart, None]:
        """``asks``: the client has its own way to the person, and is told each step."""
        if request.model.strip().startswith(WORKFLOW):
            async with aclosing(self.runs.answer(request, begun)) as parts:
                async for part in parts:
                    yield part
            return
        target = await resolve_model(self._engine, request.model, self._folder)
        matched = await self.lookup.find(request, dialect, target)
        answer = self._new_answer(request, dialect, begun, asks, bare=target.agent == PLAIN)
        try:
            async with aclosing(self._answer_in(matched, answer)) as parts:
                async for part in parts:
                    yield part
        except ConfigurationError:
            if answer.place or not matched.found or request.previous:
                raise
            # The person goes on in it at this moment, or it is damaged.
            matched = await self.lookup.create(request, target)
            async with aclosing(self._answer_in(matched, answer)) as parts:
                async for part in parts:
                    yield part

    async def repeat(
        self, request: ApiRequest, dialect: str, place: TurnRef, since: float, begun: Begun
    ) -> AsyncGenerator[ResponsePart, None]:
        """Answer a request that was made before, at the time ``since``, and is repeated.

        The answer of a finished turn is read from its transcript, and no tool runs again. A
        turn that was cut short is continued by a turn of its own after it (``begun`` is
        called with that one), and what was done before is kept. Where the session is gone,
        BadRequest is raised if a tool has run, else the request is answered anew.
        """
        if place.turn_id == NO_TURN:
            begun(place)
            async with aclosing(self.runs.repeat(place.session_id)) as parts:
                async for part in parts:
                    yield part
            return
        await self.lookup.wait_until_free(place.session_id)
        stored = await self._engine.sessions.store.events(place.session_id)
        events = events_of_response(stored, place.turn_id)
        bare = any(isinstance(one, TurnStarted) and one.agent == PLAIN for one in events)
        answer = self._new_answer(request, dialect, begun, bare=bare)
        earlier = [part for event in events for part in answer.mapper.feed(event)]
        if events and answer.mapper.reason not in CUT_SHORT:
            begun(place)
            for part in [*earlier, *answer.mapper.end()]:
                yield part
            return
        matched = await self.lookup.reopen_interrupted(place) if events else None
        if matched is None:
            turns = {event.turn_id for event in events if isinstance(event, TurnStarted)}
            await refuse_if_tools_ran(self._engine, place, since, turns)
            again = self.answer(request, dialect, begun)
        else:
            answer.earlier = earlier
            split = await run_off_loop(
                lambda: split_conversation(request.messages), big=request.big
            )
            # The results, if it was cut before it took them.
            again = self._answer_in(replace(matched, results=split.results), answer)
        async with aclosing(again) as parts:
            async for part in parts:
                yield part

    def _new_answer(
        self,
        request: ApiRequest,
        dialect: str,
        begun: Begun,
        asks: Asks | None = None,
        *,
        bare: bool,
    ) -> _Answer:
        if bare:  # its client gets what the model says, and pays for one request
            generation = replace(request.generation, corrected=False)
            request = replace(request, generation=generation)
        generation, values = request.generation, self._engine.settings.values
        mapper = EventMapper(
            structured=generation.schema is not None,
            bare=bare,
            steps=values.server_steps or asks is not None,
            all_words=values.server_words and asks is None,
            forced=generation.choice == "required" and bool(request.tools),
        )
        return _Answer(request, dialect, begun, mapper, asks or PermissionForwarder)

    async def _answer_in(
        self, matched: SessionMatch, answer: _Answer
    ) -> AsyncGenerator[ResponsePart, None]:
        """Answer in this session, and release it afterwards."""
        session, mapper = matched.session, answer.mapper
        questions = answer.asks(self._engine, session)
        ends: list[ResponsePart] = []
        try:
            turn = session.turn(
                matched.said,
                least="background",
                within=self._engine.services.client_policy(),
                tools=answer.request.tools,
                results=matched.results,
                generation=answer.request.generation,
            )
            async with aclosing(turn) as envelopes:
                async for envelope in envelopes:
                    event = envelope.event
                    match event:
                        case TurnStarted() if answer.place is None:
                            matched.hold.begun.set()
                            answer.place = TurnRef(session.info.id, event.turn_id)
                            answer.begun(answer.place)
                            for part in answer.earlier:
                                yield part
                        case AwaitingPermission():
                            questions.ask(event.question)
                        case AwaitingReply():
                            questions.reply(event)
                        case _:
                            pass
                    for part in mapper.feed(event):
                        yield part
            ends = mapper.end()
            await self.lookup.remember(answer.request, answer.dialect, mapper.message, session)
        except Exception as error:
            if answer.place is None:
                raise
            ends = [errors.error_from_exception(error).outcome()]
        finally:
            questions.close()
            used = matched.found or answer.place is not None
            await self.lookup.release(session.info.id, used=used)
        for part in ends:  # a client may go on from it as soon as it has the last one
            yield part


@dataclass(slots=True)
class _Answer:
    """A response that is being made. ``begun`` is called with its turn."""

    request: ApiRequest
    dialect: str
    begun: Begun
    mapper: EventMapper
    asks: Asks
    earlier: Sequence[ResponsePart] = ()
    """What was told before it was cut short."""
    place: TurnRef | None = None
