"""Session lookup finds the session that a request is answered in, or creates it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar, cast

from studio.agent.attachments import attach_picture
from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.blocks import (
    AgentBlock,
    EndBlock,
    FailureBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
    blocks_to_messages,
)
from studio.domain.errors import ConfigurationError
from studio.domain.messages import Block, Image, Message, Said, Text, ToolResult
from studio.domain.sessions import SessionInfo, title_from_messages
from studio.storage.sessions.idempotency import IdempotencyStore

from .contract import ApiRequest, BadRequest, TurnRef
from .conversation_digest import (
    KnownConversations,
    SplitConversation,
    check_tool_results,
    conversation_digest,
    split_conversation,
)
from .housekeeping import is_housekeeping
from .model_names import ModelTarget
from .request_body import run_off_loop

TRIMMED_EACH = 50
"""Answers after which it is looked at how many chats are kept."""
_NUMBER = re.compile(r"(?:[a-z]+_)?([0-9a-f]{32})([0-9a-f]{32})")


@dataclass(slots=True)
class SessionHold:
    """Holds a session while a request is answered in it, so that no other request uses it.

    Without ``keeps`` the session is deleted afterwards.
    """

    keeps: bool
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class SessionMatch:
    """The session for a request, and what is new in the request."""

    session: Session
    hold: SessionHold
    said: tuple[Said, ...] = ()
    results: tuple[ToolResult, ...] = ()
    found: bool = False
    """The session was there before."""


class SessionLookup:
    """The sessions of one server. ``folder`` is where its agents work."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._requests = IdempotencyStore(engine.database)
        self._answered = KnownConversations()
        self._holds: dict[str, SessionHold] = {}
        self._kept = 0

    async def find(self, request: ApiRequest, dialect: str, target: ModelTarget) -> SessionMatch:
        """Find or create the session; raises BadRequest for an invalid conversation."""
        if request.previous:
            return await self._after(request, dialect, target)
        own = is_housekeeping(request)
        split = await run_off_loop(
            lambda: _checked_split(request.messages, dialect), big=request.big
        )
        parts = await _normalised(split)
        known = None if own else await self._known(request, dialect, target, parts)
        return known or await self.create(request, target, parts)

    async def create(
        self, request: ApiRequest, target: ModelTarget, parts: SplitConversation | None = None
    ) -> SessionMatch:
        """Create a session that begins with the conversation so far."""
        if parts is None:
            split = await run_off_loop(
                lambda: _sound(split_conversation(request.messages)), big=request.big
            )
            parts = await _normalised(split)
        for block in [one for one in parts.said if not isinstance(one, Text)]:
            if reason := await self._engine.refuses(target.provider, target.model, block):
                raise BadRequest(reason, code="unsupported_content")
        told = [
            replace(message, blocks=await _with_pictures(message.blocks))
            for message in await run_off_loop(lambda: parts.history, big=request.big)
        ]
        keeps = self._engine.settings.values.server_keep and not is_housekeeping(request)
        making = self._engine.sessions.create(
            folder=str(self._folder),
            agent=target.agent,
            provider=target.provider,
            model=target.model,
            model_chosen=target.chosen,
            title=title_from_messages((*told, Message("user", parts.said))),
            origin="server",
            instructions=request.instructions,
            told=told,
            held=keeps,
        )
        if keeps and not told:  # nothing is written yet, so nothing can be cut short
            session = await making
        else:
            session = await self._made_whole(making)
        hold = self._new_hold(session.info.id, keeps=keeps)
        if not keeps:
            try:
                await self._requests.mark_temporary(session.info.id)
            except BaseException:
                await self.release(session.info.id)
                raise
        return SessionMatch(session, hold, parts.said)

    async def _made_whole(self, making: Coroutine[Any, Any, Session]) -> Session:
        """The session that is being made; one that nobody waits for any more is deleted."""
        task = asyncio.ensure_future(making)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:  # nobody would ever delete it
            await self._engine.sessions.delete((await task).info.id)
            raise

    async def clear_up(self) -> None:
        """Delete sessions that are not kept and were left by a server that died meanwhile."""
        for session_id in await self._requests.leftover_temporary():
            await self._requests.mark_interrupted(session_id)
            await self._engine.sessions.delete(session_id)
        await self._trim()

    async def _trim(self) -> None:
        """Put the oldest chats in the bin where there are more than the person keeps."""
        most = self._engine.settings.values.server_chats
        if most > 0:
            old = await self._engine.store.beyond("server", most)
            if idle := [one for one in old if one not in self._holds]:
                await self._engine.sessions.put_in_bin(idle)

    async def wait_until_free(self, session_id: str) -> None:
        """Return when no request is being answered in a session."""
        while hold := self._holds.get(session_id):
            await hold.ended.wait()

    async def reopen_interrupted(self, place: TurnRef) -> SessionMatch | None:
        """Return the session in which a response was cut short, if that is its end."""

        def stuck(session: Session) -> bool:
            blocks = session.transcript.blocks
            here = session.info.folder == str(self._folder)
            return here and _after(blocks, place.turn_id) == len(blocks)

        return await self._hold_if(place.session_id, stuck)

    async def remember(
        self, request: ApiRequest, dialect: str, answer: Message, session: Session
    ) -> None:
        """Remember which turn answered a conversation."""
        if request.previous or not answer.blocks or not self._holds[session.info.id].keeps:
            return
        messages = (*request.messages, answer)
        known = await _digest(request, dialect, messages)
        self._answered.keep(known, TurnRef(session.info.id, session.transcript.turn_id))

    async def release(self, session_id: str, *, used: bool = True) -> None:
        """Let go of a session; one that was not ``used`` is deleted."""
        hold = self._holds[session_id]
        try:
            if hold.keeps and used:
                await self._engine.sessions.put_away(session_id)
                self._kept += 1
                if self._kept % TRIMMED_EACH == 0:
                    await self._trim()
            else:
                await self._engine.sessions.delete(session_id)
        finally:
            del self._holds[session_id]
            hold.begun.set()
            hold.ended.set()

    async def _known(
        self, request: ApiRequest, dialect: str, target: ModelTarget, parts: SplitConversation
    ) -> SessionMatch | None:
        """The session whose end is the conversation's."""
        if not parts.before:
            return None
        known = await _digest(request, dialect, parts.before)
        place = self._answered.take(known)
        if place is None:
            return None

        def stands(session: Session) -> bool:
            last = session.transcript.turn_id == place.turn_id
            return last and self._fits(session.info, request, target)

        matched = await self._hold_if(place.session_id, stands)
        return matched and replace(matched, said=parts.said, results=parts.results)

    async def _hold_if(
        self, session_id: str, fits: Callable[[Session], bool]
    ) -> SessionMatch | None:
        """Hold a session that is idle and ``fits``; None for any other."""
        if session_id in self._holds:
            return None
        hold, matched = self._new_hold(session_id), None
        try:
            with suppress(ConfigurationError):  # it was deleted
                session = await self._engine.sessions.open(session_id)
                if not session.running and fits(session):
                    matched = SessionMatch(session, hold, found=True)
        finally:
            if matched is None:
                await self.release(session_id)
        return matched

    async def _after(self, request: ApiRequest, dialect: str, target: ModelTarget) -> SessionMatch:
        """Continue a response by its number."""
        match = _NUMBER.fullmatch(request.previous)
        if not self._engine.settings.values.server_keep:
            raise BadRequest(
                "Answers are not kept here, so none can be gone on from. Send the whole "
                "conversation, or turn on “Keep requests as chats” in the settings.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        place = TurnRef(match[1], match[2]) if match else TurnRef("", "")
        info = await self._engine.sessions.store.get(place.session_id)
        if info is None or info.origin != "server":
            raise _no_answer(request.previous)
        while (held := self._holds.get(place.session_id)) and not held.begun.is_set():
            await held.begun.wait()  # the first request continues in it, others in branches
        hold = None if held else self._new_hold(place.session_id)
        mine = False
        try:
            session = await self._engine.sessions.open(place.session_id)
            matched = await self._gone_on(request, dialect, target, session, place, hold)
            mine = matched.session is session
            return matched
        finally:
            if hold is not None and not mine:
                await self.release(place.session_id)

    async def _gone_on(
        self,
        request: ApiRequest,
        dialect: str,
        target: ModelTarget,
        session: Session,
        place: TurnRef,
        hold: SessionHold | None,
    ) -> SessionMatch:
        """Continue in the session itself, in a branch, or in a new one with its conversation."""
        transcript = session.transcript
        after = _after(transcript.blocks, place.turn_id)
        if after is None:
            raise _no_answer(request.previous)
        new = await _normalised(_sound(split_conversation(request.messages)))
        last = after == len(transcript.blocks)
        if last and (session.running or hold is None):
            raise BadRequest(
                f"The answer “{request.previous}” is not complete yet.",
                status=409,
                param="previous_response_id",
                code="response_in_progress",
            )
        if self._fits(session.info, request, target) and not new.before:
            if last and hold is not None:
                check_tool_results(
                    request.messages, dialect, [call.call_id for call in transcript.handed_over]
                )
                return SessionMatch(session, hold, new.said, new.results, found=True)
            if not new.results:
                begins = transcript.blocks[after]
                assert isinstance(begins, AgentBlock | UserBlock)
                branch = await self._engine.sessions.branch(session.info.id, begins.turn_id)
                return SessionMatch(branch, self._new_hold(branch.info.id), new.said)
        whole = (*_open_ended(transcript.blocks[:after]), *request.messages)
        check_tool_results(whole, dialect)
        parts = await _normalised(_sound(split_conversation(whole)))
        return await self.create(request, target, parts)

    def _new_hold(self, session_id: str, *, keeps: bool = True) -> SessionHold:
        hold = self._holds[session_id] = SessionHold(keeps)
        return hold

    def _fits(self, info: SessionInfo, request: ApiRequest, target: ModelTarget) -> bool:
        """Whether a session is still what the request asks for: the person may have changed it."""
        routed = self._engine.services.router.on and not (target.chosen or info.model_chosen)
        same_model = (info.provider, info.model) == (target.provider, target.model)
        return (
            (info.agent, info.folder) == (target.agent, str(self._folder))
            and (same_model or routed)
            and info.instructions == request.instructions
        )


async def _digest(request: ApiRequest, dialect: str, messages: Sequence[Message]) -> bytes:
    return await run_off_loop(
        lambda: conversation_digest(request, dialect, messages), big=request.big
    )


def _checked_split(messages: Sequence[Message], dialect: str) -> SplitConversation:
    """Split a conversation; raises BadRequest for an invalid one."""
    check_tool_results(messages, dialect)
    return _sound(split_conversation(messages))


def _sound(parts: SplitConversation) -> SplitConversation:
    """The same without blank text; raises BadRequest where nothing is left to answer."""
    if all(isinstance(block, Text) and not block.text.strip() for block in parts.said):
        parts = replace(parts, said=())
    if not (parts.said or parts.results or any(one.blocks for one in parts.before)):
        raise BadRequest("There is nothing to answer: the conversation is empty.", param="messages")
    return parts


async def _normalised(parts: SplitConversation) -> SplitConversation:
    """The same with pictures as providers take them; raises BadRequest for what is none."""
    said, results = await _with_pictures(parts.said), await _with_pictures(parts.results)
    return replace(parts, said=said, results=results)


_Part = TypeVar("_Part", bound=Block)


async def _with_pictures(blocks: Sequence[_Part]) -> tuple[_Part, ...]:
    return cast("tuple[_Part, ...]", tuple([await _picture(block) for block in blocks]))


async def _picture(block: Block) -> Block:
    if isinstance(block, ToolResult):
        return replace(block, content=await _with_pictures(block.content))
    if not isinstance(block, Image):
        return block
    try:
        return await attach_picture(block.data, "The picture")
    except ConfigurationError as error:
        raise BadRequest(str(error), code="unsupported_content") from error


def _after(blocks: Sequence[TranscriptBlock], turn_id: str) -> int | None:
    """The index behind the response that begins with this turn; None if there is none.

    A turn that continued one that was cut short belongs to the same response.
    """
    inside = False
    for index, block in enumerate(blocks):
        if isinstance(block, AgentBlock) and block.turn_id == turn_id:
            inside = True
        elif isinstance(block, UserBlock) and inside and not block.steered:
            return index
        elif isinstance(block, AgentBlock) and inside:
            stuck = isinstance(blocks[index - 1], EndBlock | FailureBlock)
            if not stuck:
                return index
    return len(blocks) if inside else None


def _open_ended(blocks: Sequence[TranscriptBlock]) -> list[Message]:
    """The conversation, in which the last calls of the client's tools are still open."""
    last = max(n for n, block in enumerate(blocks) if isinstance(block, AgentBlock))
    handed = {b.call_id for b in blocks[last:] if isinstance(b, ToolBlock) and b.external}
    whole = blocks_to_messages(blocks)
    if not handed:
        return whole
    message = whole[-1]
    kept = tuple(
        one for one in message.blocks if not (isinstance(one, ToolResult) and one.call_id in handed)
    )
    return [*whole[:-1], *([replace(message, blocks=kept)] if kept else [])]


def _no_answer(previous: str) -> BadRequest:
    return BadRequest(
        f"Previous response with id '{previous[:100]}' not found.",
        param="previous_response_id",
        code="previous_response_not_found",
    )
