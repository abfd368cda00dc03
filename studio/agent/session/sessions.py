"""The sessions: creates, opens, lists, searches, branches and deletes them."""

from __future__ import annotations

import asyncio
import shutil
import time
import uuid
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import takewhile
from typing import TypeAlias, Unpack, get_args
from weakref import WeakSet

from studio.agent.delegation.offers import Delegation
from studio.agent.services import Services
from studio.domain.agents import PermissionMode
from studio.domain.aio import BackgroundTasks, settled
from studio.domain.errors import ConfigurationError, StorageError, StudioError
from studio.domain.events import Event, Exposed, Notice, Recounted, TurnComplete, TurnStarted
from studio.domain.messages import Message, ToolResult
from studio.domain.sessions import (
    Caller,
    Origin,
    SearchHit,
    SessionInfo,
    SessionListing,
    TurnVersions,
    one_of_each_chat,
    title_from_messages,
)
from studio.domain.tools import Exposure
from studio.domain.transcript import Transcript
from studio.storage.sessions.store import SessionChanges

from .event_channel import EventChannel
from .session import Session
from .session_state import SessionState

_Opened: TypeAlias = "tuple[Session, Collection[str]]"
"""A session that was opened, and those that a program had left in the middle of a turn then."""
MOST_AT_ONCE = 1_000
"""Messages; more are folded in a thread."""
CHANGED = "what was changed in this chat"


class Sessions:
    """Holds the open sessions, so that two views of one share it."""

    def __init__(self, services: Services, delegation: Delegation) -> None:
        self.store = services.store
        self._services = services
        self._delegation = delegation
        self._listing_changed = services.questions.notifier.notify_soon
        """Called where sessions were arranged, deleted or brought back: no event tells of that."""
        self._open: dict[str, Session] = {}
        self._telling: dict[str, asyncio.Task[None]] = {}
        """What tells in the chats above what sessions that were just opened may have done."""
        self._wanted: WeakSet[Session] = WeakSet()
        """The sessions that somebody opened to work with them, not to have them tell."""
        self._putting_away = BackgroundTasks()
        self._opening = asyncio.Lock()
        self.events = EventChannel()
        """Carries the events of every session here."""

    async def create(
        self,
        *,
        folder: str,
        agent: str,
        provider: str,
        model: str,
        permission_mode: PermissionMode | None = None,
        title: str = "",
        model_chosen: bool = False,
        origin: Origin = "window",
        instructions: str = "",
        told: Sequence[Message] = (),
        told_by: tuple[str, str, str] | None = None,
        held: bool = False,
        caller: Caller | None = None,
        subject: str = "",
    ) -> Session:
        """Create a session; without ``permission_mode`` it has the person's for new chats.

        ``model_chosen``: the person chose the model, so no routing changes it (L-13).
        ``instructions`` are a client's, in addition to the agent's own. ``told`` is a
        conversation that a client or a file tells, and that the session goes on from;
        ``told_by`` are the agent, the provider and the model that answered in it. ``held``: it
        is stored with the first message, for one that nobody looks for before. With a ``caller``
        it is no chat, see ``SessionInfo``.
        ``subject`` is what it is about.
        """
        now = time.time()
        default = self._services.settings.values.default_permission_mode
        info = SessionInfo(
            id=uuid.uuid4().hex,
            title=title or title_from_messages(told),
            folder=folder,
            agent=agent,
            provider=provider,
            model=model,
            permission_mode=permission_mode or default,
            created=now,
            updated=now,
            model_chosen=model_chosen,
            origin=origin,
            instructions=instructions,
            caller=caller,
            subject=subject,
        )
        await self.store.create(info, held=held)
        self.store.journal(info.id).newest = 0
        session = Session(self._state(info), self._services, self._delegation, new=True)
        self._open[info.id] = session
        self._wanted.add(session)
        if told:
            await _recount(session.state, told, told_by)
        return session

    async def open(self, session_id: str) -> Session:
        """Open a session, again if another program has gone on with it meanwhile.

        What it began and a program left in the middle of a turn is opened, too: this has to be
        told here. Raises ConfigurationError if there is no such session.
        """
        opened: list[_Opened] = []
        try:
            session = await self._opened(session_id, opened)
            self._wanted.add(session)
        finally:  # what is open is not found again, so it tells though this failed or was cancelled
            if len(opened) > 1 or any(left for _, left in opened):
                telling = asyncio.ensure_future(self._tell_of_begun(opened))
                self._telling |= {one.info.id: telling for one, _ in opened}
        if (telling := self._telling.get(session_id)) is not None:
            await asyncio.shield(telling)  # it is told though nobody waits for it any more
        return session

    async def _opened(self, session_id: str, opened: list[_Opened]) -> Session:
        """A session; all that are opened for it are added, also before an error."""
        async with self._opening:
            return await self._open_here(session_id, opened)

    async def _open_here(self, session_id: str, opened: list[_Opened]) -> Session:
        """Open a session while nothing else is opened; what is opened for it is added."""
        if known := await self._known(session_id):
            return known
        info = await self.store.get(session_id)
        if info is None:
            raise ConfigurationError(f"There is no session {session_id}.")
        newest = await self.store.newest(session_id)
        events = await self.store.events(session_id)
        self.store.journal(session_id).newest = newest
        damage = await self.store.damage(session_id)
        changed = await self._accepted(session_id) if damage else 0
        damage = "" if changed else damage
        left = await self.store.interrupted()
        interrupted = session_id in left or await self._unended(session_id, events)
        above = await self._above(info, opened) if interrupted else ()
        journals = [self.store.journal(session_id), *(one.state.journal for one in above)]
        while above and (writing := next((one for one in journals if one.writes), None)):
            await writing.written_out()
        # One that was closed meanwhile hears no more, nor do those above it.
        above = [*takewhile(lambda one: not one.state.journal.closed, above)]
        # From here on nothing is awaited until all notices are in one transaction.
        state = self._state(info, events, damage)
        session = Session(state, self._services, self._delegation, interrupted=interrupted)
        _tell_above(session, above)
        if changed:
            _note_changed(state, changed)
        self._open[session_id] = session
        opened.append((session, left))
        if interrupted:
            await session.find_changes()
        return session

    async def _above(self, info: SessionInfo, opened: list[_Opened]) -> list[Session]:
        """The chats above a session that can be told something, up to the person's own."""
        found: list[Session] = []
        while info.caller is not None and info.caller.kind == "session":
            try:
                one = await self._open_here(info.caller.id, opened)
                if one.damage or await self.store.running_elsewhere(one.info.id):
                    break
            except (StudioError, OSError):  # deleted, or not readable
                break
            found.append(one)
            info = one.info
        return found

    async def _tell_of_begun(self, opened: list[_Opened]) -> None:
        """Open what sessions began and a program left in the middle of a turn (W-16).

        Each tells in those above it what it may have done. Who is opened for this alone is put
        away again.
        """
        task, at = asyncio.current_task(), 0
        assert task is not None
        try:
            while at < len(opened):
                session, left = opened[at]
                at += 1
                begun = await self.store.descendants((session.info.id,)) if left else ()
                for one in (each for each in left if each in begun):
                    before = len(opened)
                    with suppress(StudioError, OSError):  # it says so itself when it is opened
                        await self._opened(one, opened)
                    self._telling |= {each.info.id: task for each, _ in opened[before:]}
        finally:
            for one in [key for key, telling in self._telling.items() if telling is task]:
                del self._telling[one]
            # Whoever waits to be told does not wait until the others are saved.
            self._putting_away.start(self._put_away_unwanted([one.info.id for one, _ in opened]))

    async def _put_away_unwanted(self, ids: Sequence[str]) -> None:
        for one in ids:
            await self.put_away(one, unwanted=True)

    async def _accepted(self, session_id: str) -> int:
        """How many entries were changed, if the session can be gone on with as they are now.

        The history of the provider has sums of its own, and is built anew if it was changed.
        """
        if await self.store.running_elsewhere(session_id):
            return 0
        try:
            return await self.store.accept_changed(session_id)
        except StorageError:  # it cannot be written
            return 0

    def _state(
        self, info: SessionInfo, events: Sequence[Event] = (), damage: str = ""
    ) -> SessionState:
        draft_targets = self._services.draft_targets
        return SessionState(info, self.store, self.events, draft_targets, events, damage)

    async def _known(self, session_id: str) -> Session | None:
        """The session as it is open here, unless that is out of date."""
        known = self._open.get(session_id)
        if known is None or not await self._outdated(known) or known.in_use:
            return known
        try:
            await known.close()
        except StorageError:  # what is not saved is only here
            return known
        self._open.pop(session_id, None)  # it may have been deleted meanwhile
        return None

    async def _outdated(self, session: Session) -> bool:
        """Whether another program went on with the session, or ended in the middle of a turn."""
        elsewhere = await self.store.elsewhere(session.info.id)
        theirs = session.transcript.running and not session.running and not session.damage
        return elsewhere.changed or (theirs and not elsewhere.running)

    @asynccontextmanager
    async def working_with(self, session_id: str) -> AsyncGenerator[Session, None]:
        """Open a session for a while, in which nobody puts it away; then it is, if it is idle."""
        try:
            session = await self.open(session_id)
            with session.state.used():
                yield session
        finally:
            await self.put_away_idle(session_id)

    async def transcript(self, session_id: str) -> Transcript:
        """What happened in a session, as it is open here or else stored; it is not opened.

        Whoever only looks takes this: what they opened they would have to put away again, and
        somebody else may work with it by then.
        """
        session = self._open.get(session_id)
        if session is not None and (session.in_use or not await self._outdated(session)):
            return session.transcript
        return Transcript(await self.store.events(session_id))

    async def put_away(self, session_id: str, *, unwanted: bool = False) -> None:
        """Save an open session and forget it, unless it is in use or has subscribers.

        ``unwanted``: nor if somebody opened it to work with it.
        """
        async with self._opening:
            session = self._open.get(session_id)
            if session is None or session.in_use or session_id in self._telling:
                return
            if unwanted and session in self._wanted:
                return
            if not self.events.has_subscribers(session_id):
                with suppress(StorageError):  # what is not saved is only here
                    await session.close()
                    self._open.pop(session_id, None)  # it may have been deleted meanwhile
                    self.store.let_go(session_id)

    async def put_away_idle(self, session_id: str) -> bool:
        """The same, unless something of it may go on; whether it is not open any more.

        Jobs, children and queued messages may.
        """
        session = self._open.get(session_id)
        if session is None:
            return True
        jobs, children = self._services.jobs, self._delegation
        queued = session.transcript.queued
        if not (jobs.of(session_id) or children.running(session_id) or queued):
            await self.put_away(session_id)
        return session_id not in self._open

    async def _unended(self, session_id: str, events: Sequence[Event]) -> bool:
        """Whether the last turn has no end, and no program runs that could write it."""
        ends = (e for e in reversed(events) if isinstance(e, TurnStarted | TurnComplete))
        if not isinstance(next(ends, None), TurnStarted):
            return False
        return not await self.store.running_elsewhere(session_id)

    async def branch(self, session_id: str, turn_id: str = "", *, version: bool = False) -> Session:
        """Create a session with all that came before that turn, or with everything.

        The old one stays as it is. Of a damaged one the readable part is copied (H-5); where
        agent, provider or model cannot be read, the new one has those of the last turn.
        A ``version`` is no chat of its own: lists show it in the place of the old one.
        """
        old = await self.open(session_id)
        await old.flush()
        now = time.time()
        info = replace(
            old.info,
            id=uuid.uuid4().hex,
            created=now,
            updated=now,
            state="idle",
            unread=False,
        )
        if not version:
            info = replace(info, archived=False, pinned=False, parent=session_id, caller=None)
        if old.damage:
            info = await self._repair_setup(info, session_id)
        await self.store.branch(session_id, info, turn_id, version=version)
        seen = self._services.seen_texts
        with suppress(OSError):  # then a file that changed has to be read again
            await asyncio.to_thread(shutil.copytree, seen(session_id), seen(info.id))
        if version:
            await self._refresh(info.id)
        return await self.open(info.id)

    async def show_version(self, session_id: str) -> Session:
        """Open a version of a chat; lists show it from now on."""
        await self.store.show_version(session_id)
        await self._refresh(session_id)
        return await self.open(session_id)

    async def _refresh(self, session_id: str) -> None:
        """Let the open versions of a chat know what was changed with another of them."""
        for one in await self.store.members((session_id,)):
            session, now = self._open.get(one), await self.store.get(one)
            if session is not None and now is not None:
                session.state.info = replace(
                    session.info,
                    title=now.title,
                    titled_by=now.titled_by,
                    archived=now.archived,
                    pinned=now.pinned,
                    group_name=now.group_name,
                    family=now.family,
                    behind=now.behind,
                )

    async def versions(self, session_id: str) -> Sequence[TurnVersions]:
        """The turns of a session to which there are other versions."""
        return await self.store.versions(session_id)

    async def _repair_setup(self, info: SessionInfo, source_id: str) -> SessionInfo:
        """Take what cannot be read of agent, provider and model from the source's last turn."""
        unreadable = [
            name for name in ("agent", "provider", "model") if "\ufffd" in getattr(info, name)
        ]
        for event in reversed(await self.store.events(source_id) if unreadable else []):
            if isinstance(event, TurnStarted):
                return replace(info, **{name: getattr(event, name) for name in unreadable})
        return info

    async def list(self, *, every_version: bool = False) -> list[SessionInfo]:
        """All chats, newest first; open ones in their present state, crashed ones as failed.

        Of a chat with versions there is one, unless ``every_version``.
        """
        stored = await self.store.all()
        infos = self._present(stored, await self.store.unfinished())
        return infos if every_version else one_of_each_chat(infos)

    async def listing(self, most: int, archive: int = 0) -> SessionListing:
        """What the list of chats shows, in the states as of ``list``; see ``SessionStore``."""
        found, unfinished = await self.store.listing(most, archive)
        infos = one_of_each_chat(self._present(found.infos, unfinished))
        elsewhere = {info.id for info in infos if unfinished.get(info.id)}
        return replace(found, infos=infos, elsewhere=elsewhere)

    def subject_of(self, session_id: str) -> str:
        """What an open session is about, as a pack writes it."""
        session = self._open.get(session_id)
        return session.info.subject if session is not None else ""

    def _present(
        self, stored: Sequence[SessionInfo], unfinished: Mapping[str, bool]
    ) -> list[SessionInfo]:
        infos = [self._latest(info, ended=unfinished.get(info.id) is False) for info in stored]
        return sorted(infos, key=lambda info: info.updated, reverse=True)

    def _latest(self, stored: SessionInfo, *, ended: bool) -> SessionInfo:
        """The open session's state, or the stored one if another program went on with it.

        ``ended``: the stored turn has no end, and its program is gone.
        """
        session = self._open.get(stored.id)
        if session is None or (stored.updated > session.info.updated and not session.running):
            return replace(stored, state="error") if ended else stored
        info = replace(session.info, family=stored.family, behind=stored.behind)
        theirs = session.transcript.running and not session.running
        return replace(info, state="error") if ended and theirs else info

    async def search(self, text: str, lines: int = 1) -> Sequence[SearchHit]:
        """Chats with the words of ``text``, of each up to ``lines`` lines."""
        return await self.store.search(text, lines=lines)

    async def arrange(self, ids: Collection[str], **changes: Unpack[SessionChanges]) -> None:
        """Change fields of several sessions in one write, see ``SessionStore.update_all``."""
        for session_id in await self.store.members(ids):
            if session := self._open.get(session_id):
                session.state.info = replace(session.info, **changes)
        await self.store.update_all(ids, **changes)
        self._listing_changed()

    async def put_in_bin(self, ids: Collection[str]) -> None:
        """Stop and close sessions, and leave them out everywhere but in ``bin``."""
        begun = await self._with_begun(ids)
        for session_id in begun:
            if session := self._open.pop(session_id, None):
                with suppress(StorageError):  # its latest words go, as if it were deleted for good
                    await session.close()
                self.store.let_go(session_id)
        await self.store.update_all(begun, deleted=time.time())
        self._listing_changed()

    async def take_from_bin(self, ids: Collection[str]) -> None:
        """Bring deleted sessions back as they were."""
        await self.store.update_all(await self._with_begun(ids), deleted=0.0)
        self._listing_changed()

    async def bin(self) -> list[SessionInfo]:
        """The sessions that can be brought back, the one that was deleted last first."""
        return await self.store.bin()

    async def empty_bin(self, before: float) -> int:
        """Delete for good what was put in the bin before a time; returns how many it were."""
        gone = 0
        for info in await self.bin():
            # It takes a while, and meanwhile a window may bring one back.
            if info.deleted < before and await self.store.get(info.id) is None:
                await self.delete(info.id)
                gone += 1
        return gone

    async def delete(self, session_id: str) -> None:
        """Delete a chat for good with its versions and what they began, also from the bin."""
        versions = await self._with_begun((session_id,))
        for one in versions:
            if session := self._open.pop(one, None):
                with suppress(StorageError):  # it is deleted anyway
                    await session.close()
        for one in versions:
            await self.store.delete(one)
            for kept in (self._services.spill(one), self._services.seen_texts(one)):
                await asyncio.to_thread(shutil.rmtree, kept, ignore_errors=True)
        self._listing_changed()

    async def delete_about(self, subject: str) -> int:
        """Delete all chats about something for good, also from the bin; returns how many.

        The audit keeps that there were calls, and no words of them.
        """
        found = await self.store.about(subject)
        versions = await self._with_begun(found)
        for one in found:
            await self.delete(one)
        await self.store.forget_calls([*found, *versions])
        return len(found)

    async def delete_begun(self, run_id: str) -> None:
        """Delete the sessions of a run for good, with those that they began."""
        for one in await self.store.descendants((run_id,)):
            await self.delete(one)

    async def _with_begun(self, ids: Collection[str]) -> list[str]:
        """Sessions with the versions of their chats, and all that these began."""
        members = await self.store.members(ids)
        return [*members, *await self.store.descendants(members)]

    async def close(self) -> None:
        """Stop and save every open session; StorageError if one could not be saved."""
        for telling in list(self._telling.values()):
            await settled(telling)
        sessions = list(self._open.values())
        self._open.clear()
        done = await asyncio.gather(*(one.close() for one in sessions), return_exceptions=True)
        await self._putting_away.settled()
        for error in done:
            if isinstance(error, BaseException):
                raise error


def _tell_above(session: Session, above: Sequence[Session]) -> None:
    """Tell in the chats above what a session may have done when its program ended (W-16).

    They are on disk with the notice in the session itself, or none is: then all are made again.
    """
    if not (names := session.broken_off) or not above:
        return
    agent = session.info.agent
    for one in above:
        names = [f"{agent}: {each}" for each in names]
        one.note_broken_off(names)
        agent = one.info.agent
    session.state.journal.write_with(one.state.journal for one in above)


def _note_changed(state: SessionState, changed: int) -> None:
    """Tell the person; what the changed entries told of risks is not known any more (T-7)."""
    what = "An entry" if changed == 1 else f"{changed:,} entries"
    was, are = ("was", "It is") if changed == 1 else ("were", "They are")
    state.record(
        Notice(
            f"{what} of this chat {was} changed by something else than this program, or by a "
            f"fault of the disk. {are} shown and used as stored now."
        )
    )
    for exposure in get_args(Exposure):
        state.record(Exposed(exposure, CHANGED))


async def _recount(
    state: SessionState, messages: Sequence[Message], told_by: tuple[str, str, str] | None
) -> None:
    """Begin a new session with a conversation that a client or a file tells."""
    info = state.info
    agent, provider, model = told_by or (info.agent, info.provider, info.model)
    recounted = Recounted(tuple(messages), agent, provider, model)
    if len(messages) > MOST_AT_ONCE:  # nobody sees the session yet
        state.publish(recounted, await asyncio.to_thread(state.transcript.apply, recounted))
    else:
        state.record(recounted)
    told = ""
    if info.origin != "server":  # of a file, which anybody may have written
        told = "what was said elsewhere"
    elif any(isinstance(block, ToolResult) for one in messages for block in one.blocks):
        told = "results that the client tells of"
    if told:
        state.record(Exposed("private", told))
        state.record(Exposed("untrusted", told))
    await state.flush()
