"""Stored responses are fetched and deleted: ``GET`` and ``DELETE /v1/responses/{id}``.

A stored response is read from its session, which the person can open too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from studio.agent.engine import Engine
from studio.agent.prompts import ANSWER_IN_WORDS
from studio.domain.events import Event, Told, TurnComplete, TurnStarted
from studio.domain.jsonvalue import JsonObject, as_objects, as_text
from studio.domain.ledger import LedgerEntry
from studio.domain.sessions import SessionInfo

from .client_runs import NO_TURN, ClientRuns
from .contract import BadRequest, Outcome, ResponseInfo, ResponsePart, TurnRef
from .dialects.responses import (
    CUSTOM_PREFIX,
    FUNCTION_PREFIX,
    PREFIX,
    answer_of_item,
    deleted_response,
    stored_response,
)
from .event_mapper import EventMapper, events_of_response
from .model_names import AGENT, PLAIN
from .session_lookup import SessionLookup

_ID = re.compile(PREFIX + r"([0-9a-f]{32})([0-9a-f]{32})")


class StoredResponses:
    """The responses in the server's sessions; each method raises BadRequest for unknown ids."""

    def __init__(self, engine: Engine, lookup: SessionLookup, runs: ClientRuns) -> None:
        self._engine = engine
        self._runs = runs
        self._lookup = lookup

    async def get(self, answer: str) -> JsonObject:
        """Return the response with this id, as far as it has come."""
        if run_id := _run_of(answer):
            return await self._runs.stored(run_id)
        place, info = await self._place(answer)
        store = self._engine.sessions.store
        events = await store.events(info.id)
        own = events_of_response(events, place.turn_id)
        if not own:
            raise _unknown(answer)
        mapper, parts = self._replayed(events, own)
        turns = [event for event in own if isinstance(event, TurnStarted | TurnComplete)]
        ended = isinstance(turns[-1], TurnComplete)
        crashed = not ended and info.id in await store.interrupted()
        if ended:
            parts += mapper.end()
        elif crashed:
            parts.append(Outcome("limit"))
        ids = {event.turn_id for event in turns if isinstance(event, TurnStarted)}
        requests = [one for one in await store.ledger(info.id) if one.turn_id in ids]
        began, last = _times(requests, info)
        about = ResponseInfo(place.number, _model(own), int(began))
        known: JsonObject = {
            "instructions": info.instructions or None,
            "previous_response_id": _previous(events, place),
        }
        body = stored_response(parts, about, last, known)
        if crashed or (ended and mapper.reason == "cancelled"):
            body |= {"status": "cancelled", "incomplete_details": None}
        return body

    async def cancel(self, answer: str) -> JsonObject:
        """Stop a response in the background, and return what it has come to."""
        run_id = _run_of(answer)
        if not run_id:
            await self._place(answer)
            raise BadRequest("Only a response in the background can be cancelled.")
        await self._runs.cancel(run_id)
        return await self._runs.stored(run_id)

    async def items(self, ids: Sequence[str]) -> dict[str, JsonObject]:
        """Return the items of earlier answers that have these ids, as far as they are here."""
        places: dict[str, dict[str, set[str]]] = {}
        for item in ids:
            if (found := answer_of_item(item)) is not None:
                session_id, turn_id = found[:32], found[32:]
                places.setdefault(session_id, {}).setdefault(turn_id, set()).add(item)
        items: dict[str, JsonObject] = {}
        for session_id, turns in places.items():
            info = await self._engine.sessions.store.get(session_id)
            if info is None or info.origin != "server":
                continue
            events = await self._engine.sessions.store.events(session_id)
            for turn_id, wanted in turns.items():
                own = events_of_response(events, turn_id)
                mapper, parts = self._replayed(events, own)
                about = ResponseInfo(TurnRef(session_id, turn_id).number, "", 0)
                output = stored_response([*parts, *mapper.end()], about, 0.0).get("output")
                for item in as_objects(output):
                    # What kind of tool the client has for a call is not kept.
                    own = as_text(item.get("id"))
                    custom = own.replace(FUNCTION_PREFIX, CUSTOM_PREFIX, 1)
                    items |= {name: {**item, "id": name} for name in wanted & {own, custom}}
        return items

    def _replayed(
        self, events: Sequence[Event], own: Sequence[Event]
    ) -> tuple[EventMapper, list[ResponsePart]]:
        """The parts of the response that was made of the ``own`` ones of a session's events."""
        values = self._engine.settings.values
        mapper = EventMapper(
            structured=bool(own) and _structured(events, own[-1]),
            steps=values.server_steps,
            all_words=values.server_words,
        )
        return mapper, [part for event in own for part in mapper.feed(event)]

    async def delete(self, answer: str) -> JsonObject:
        """Delete the conversation that ends with this response.

        A client may not delete what continues a response: the person may have written it.
        """
        place, _ = await self._place(answer)
        matched = await self._lookup.reopen_interrupted(place)
        if matched is None:
            raise BadRequest(
                "The conversation goes on after this answer, or it is still being made. Only the"
                " last answer of a conversation can be deleted, and all before it goes with it.",
                status=409,
                param="response_id",
                code="response_in_use",
            )
        matched.hold.keeps = False
        await self._lookup.release(place.session_id)
        return deleted_response(place.number)

    async def _place(self, answer: str) -> tuple[TurnRef, SessionInfo]:
        match = _ID.fullmatch(answer)
        info = await self._engine.sessions.store.get(match[1]) if match else None
        if match is None or info is None or info.origin != "server":
            raise _unknown(answer)
        return TurnRef(match[1], match[2]), info


def _run_of(answer: str) -> str:
    """The run that a response is; empty for one of a session."""
    match = _ID.fullmatch(answer)
    return match[1] if match is not None and match[2] == NO_TURN else ""


def _unknown(answer: str) -> BadRequest:
    return BadRequest(
        f"Response with id '{answer[:100]}' not found.",
        status=404,
        param="response_id",
        code="response_not_found",
    )


def _structured(events: Sequence[Event], last: Event) -> bool:
    """Whether the answer had to fit a schema: then the last step's text is the answer."""
    form = ANSWER_IN_WORDS
    for event in events:
        if isinstance(event, Told) and event.topic == "schema":
            form = event.text
        if event is last:
            break
    return form != ANSWER_IN_WORDS


def _model(own: Sequence[Event]) -> str:
    """The name of the model or agent that answered, as a client can ask for it."""
    first = next(event for event in own if isinstance(event, TurnStarted))
    if first.agent == PLAIN:
        return f"{first.provider}/{first.model}"
    return f"{AGENT}{first.agent}"


def _previous(events: Sequence[Event], place: TurnRef) -> str | None:
    """The answer before this one in its session."""
    turns = [event.turn_id for event in events if isinstance(event, TurnStarted)]
    at = turns.index(place.turn_id)
    return f"{PREFIX}{TurnRef(place.session_id, turns[at - 1]).number}" if at else None


def _times(requests: Sequence[LedgerEntry], info: SessionInfo) -> tuple[float, float]:
    """When an answer was begun and ended."""
    if not requests:
        return info.created, info.updated
    return requests[0].at - requests[0].seconds, requests[-1].at
