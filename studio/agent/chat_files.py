"""Chats in files: imports them after a preview, and exports some or all of them.

An archive is a zip with ``conversations.json``, which import takes back, each chat as markdown,
and the person's agents, tools and settings. No key is in what is exported.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeAlias, TypeVar

from studio.domain.aio import settled
from studio.domain.errors import StorageError, StudioError
from studio.domain.events import Event, TurnStarted
from studio.domain.jsonvalue import is_clean_json
from studio.domain.messages import ToolCall
from studio.domain.redaction import without_keys
from studio.domain.sessions import Origin, SessionInfo
from studio.domain.transcript import Transcript
from studio.providers.registry import PROVIDER_TITLES
from studio.storage.config.server_token import ENTRY
from studio.storage.sessions.idempotency import ImportLog

from .models.names import UnknownModel
from .session.import_export import (
    MARK,
    VERSION,
    PortableConversation,
    as_json,
    as_markdown,
    conversation_of,
)
from .session.import_formats import ConversationFile
from .session.import_values import ImportedConversation

if TYPE_CHECKING:
    from .engine import Engine

SHORTEST = 8
"""The fewest characters of a key; shorter ones could be ordinary words."""
ExportForm: TypeAlias = Literal["json", "md", "zip"]
Progress: TypeAlias = Callable[[int, int], object]
"""Is told how many of how many chats are done."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A conversation of a file: new, in a chat already (``session_id``), or without a message.

    A new one may be a later state of the chat that it ``replaces``. One that grew elsewhere and is
    in a chat that the person ``went_on`` with stays as it is here. ``number`` is its place in the
    file. That of a preview has no messages: see ``chosen``.
    """

    conversation: PortableConversation
    digest: str
    state: Literal["new", "here", "empty"]
    session_id: str = ""
    number: int = 0
    replaces: str = ""
    went_on: bool = False

    @property
    def title(self) -> str:
        """Its title in one line; may be empty."""
        return " ".join(self.conversation.title.split())

    @property
    def left_out(self) -> tuple[str, ...]:
        """What the export of another program does not have."""
        one = self.conversation
        return one.left_out if isinstance(one, ImportedConversation) else ()


class ChatImporter:
    """Makes chats of conversations in files; ``origin`` is the door that asked for it."""

    def __init__(self, engine: Engine, origin: Origin) -> None:
        self._engine = engine
        self._origin: Origin = origin
        self._imports = ImportLog(engine.database)

    async def preview(self, path: Path) -> list[ImportCandidate]:
        """What is in a file, and what of it would be stored; stores nothing.

        ValueError says what is wrong with the file: nothing of it can be taken then.
        """
        seen: set[str] = set()
        found: list[ImportCandidate] = []
        async for number, one in _numbered(path):
            candidate = await self.check(one)
            if candidate.state == "new" and candidate.digest in seen:
                candidate = ImportCandidate(one, candidate.digest, "here")
            seen.add(candidate.digest)
            found.append(replace(candidate, conversation=replace(one, messages=()), number=number))
        return found

    async def chosen(
        self, path: Path, candidates: Sequence[ImportCandidate]
    ) -> AsyncIterator[ImportCandidate]:
        """These candidates of a preview with their messages, as they are now."""
        wanted = {one.number: one.digest for one in candidates}
        async for number, one in _numbered(path):
            if number in wanted:
                now = await self.check(one)
                if now.digest == wanted[number]:  # the file is still the one that was shown
                    yield now

    async def check(self, one: PortableConversation) -> ImportCandidate:
        """Whether a conversation would be stored now."""
        digest = await asyncio.to_thread(lambda: one.digest)
        session_id = await self._imports.session(digest)
        if not one.messages:
            return ImportCandidate(one, digest, "empty")
        if session_id or await self._engine.store.get(one.id):
            return ImportCandidate(one, digest, "here", session_id or one.id)
        return await self._later_state(one, digest)

    async def _later_state(self, one: PortableConversation, digest: str) -> ImportCandidate:
        """Whether a conversation that is not here as it is was imported before it grew."""
        source = _source_digest(one)
        earlier = await self._imports.session(source) if source else ""
        info = await self._engine.store.get(earlier) if earlier else None
        if info is None:
            return ImportCandidate(one, digest, "new")
        events = await self._engine.store.events(earlier)
        here = await asyncio.to_thread(lambda: conversation_of(info, events).messages)
        if any(isinstance(event, TurnStarted) for event in events):
            if here[:1] == one.messages[:1]:
                return ImportCandidate(one, digest, "here", earlier, went_on=True)
        elif here != one.messages:
            if here == one.messages[: len(here)]:
                return ImportCandidate(one, digest, "new", replaces=earlier)
            if one.messages == here[: len(one.messages)]:  # of an older archive
                return ImportCandidate(one, digest, "here", earlier)
        return ImportCandidate(one, digest, "new")

    async def add(self, candidate: ImportCandidate, folder: Path | None = None) -> str:
        """Make a chat of a new conversation; returns its id.

        It goes on in ``folder``; without one in its own where a chat works there already, and
        else in none: a file could name any folder.
        """
        engine, one = self._engine, candidate.conversation
        foreign = one if isinstance(one, ImportedConversation) else None
        place = folder or Path(one.folder or ".")
        if folder is None and not await self._is_known_folder(place):
            place = await asyncio.to_thread(engine.own_folder)
        agent = (await engine.agents()).get(one.agent)
        # Who answered elsewhere is told, and need not be there to go on.
        known = one.provider in PROVIDER_TITLES and foreign is None
        name = agent.name if agent is not None else ""
        try:
            choice = await engine.choose(
                agent=name,
                provider=one.provider if known else "",
                model=one.model if known else "",
                folder=place,
            )
        except UnknownModel:  # it was deleted here, or is another computer's
            choice = await engine.choose(agent=name, folder=place)
        session = await engine.sessions.create(
            folder=str(place.resolve()),
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            title=candidate.title,
            origin=self._origin,
            instructions=one.instructions,
            told=one.messages,
            subject=one.subject,
            told_by=(foreign.teller, one.provider, one.model) if foreign else None,
        )
        try:
            if 0 < one.updated <= time.time():  # no day that a list cannot show
                await session.change(updated=one.updated)
            if foreign is not None and foreign.archived:
                await engine.sessions.arrange([session.info.id], archived=True)
            await self._imports.note(candidate.digest, session.info.id)
            if source := _source_digest(one):
                await self._imports.note(source, session.info.id)
            if candidate.replaces:
                await self._take_place(session.info.id, candidate.replaces)
        except BaseException:
            with suppress(StudioError):  # no half-imported session stays
                await engine.sessions.delete(session.info.id)
            raise
        engine.questions.notifier.notify_soon()  # windows of other programs list it
        return session.info.id

    async def _take_place(self, session_id: str, earlier: str) -> None:
        """Put the earlier state of a chat in the bin, and the later one where it was."""
        engine = self._engine
        if (old := await engine.store.get(earlier)) is None:
            return
        await engine.sessions.arrange(
            [session_id], pinned=old.pinned, archived=old.archived, group_name=old.group_name
        )
        if old.titled_by == "person":
            await engine.sessions.arrange([session_id], title=old.title, titled_by="person")
        await engine.sessions.put_in_bin([earlier])

    async def _is_known_folder(self, folder: Path) -> bool:
        """Whether a session already works in this folder: agents may read theirs.

        Only then it is looked at: the name of a stranger's folder could be that of their server.
        """
        known = {info.folder for info in await self._engine.sessions.list(every_version=True)}
        return str(folder) in known and await asyncio.to_thread(folder.is_dir)


def _source_digest(one: PortableConversation) -> str:
    """What a conversation of another program is known by, however it grows; empty if nothing."""
    if not (isinstance(one, ImportedConversation) and one.id):
        return ""
    return hashlib.sha256(f"{one.teller} {one.id}".encode()).hexdigest()


async def _numbered(path: Path) -> AsyncIterator[tuple[int, PortableConversation]]:
    """The conversations of a file one by one, each with its place; raises ValueError."""
    conversations = ImportFile(path).read()
    number = 0
    while one := await asyncio.to_thread(next, conversations, None):
        yield number, one
        number += 1


class ImportFile:
    """A file of conversations. Call its methods in a thread; ValueError says what is wrong."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.left: tuple[str, ...] = ()
        """After ``read`` was read to its end: the files of an archive that were not taken."""

    def check(self) -> int:
        """Read all of it and keep nothing; returns how many conversations it has."""
        return sum(1 for _ in self.read())

    def read(self) -> Iterator[PortableConversation]:
        """The conversations, of which only one is in memory where the file is a list."""
        try:
            with self._path.open("rb") as file:
                conversations = ConversationFile(file)
                for one in conversations:
                    _check_arguments(one)
                    yield one
                self.left = conversations.left
        except OSError as error:
            raise ValueError(f"it cannot be read ({error.strerror or error})") from error


def _check_arguments(one: PortableConversation) -> None:
    blocks = (block for message in one.messages for block in message.blocks)
    if not all(is_clean_json(b.arguments) for b in blocks if isinstance(b, ToolCall)):
        raise ValueError("the arguments of a call in it are nested too deeply")


async def export_chats(
    engine: Engine, ids: Sequence[str], form: ExportForm, path: Path, progress: Progress
) -> None:
    """Write chats to a file, which appears when it is whole; one that is cancelled leaves none.

    Raises StorageError if it cannot be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        if form == "md":
            words = await markdown(engine, ids, progress)
            await _whole(lambda: part.write_text(words, "utf-8"))
        elif form == "json":
            with await _whole(lambda: part.open("wb")) as out:
                async for _ in _write_json(engine, ids, out, progress):
                    pass
        else:
            await _write_archive(engine, ids, part, progress)
        await _whole(lambda: part.replace(path))
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror or error}).") from error
    finally:
        with suppress(OSError):
            await asyncio.to_thread(part.unlink, missing_ok=True)


async def _whole(write: Callable[[], T]) -> T:
    """Write in a thread. Who is cancelled waits for the end: the file may be closed only then."""
    writing = asyncio.ensure_future(asyncio.to_thread(write))
    try:
        return await asyncio.shield(writing)
    finally:
        await settled(writing)


async def markdown(
    engine: Engine,
    ids: Sequence[str],
    progress: Progress = lambda _done, _all: None,
    line: Callable[[str], str] = str,
) -> str:
    """Chats as one markdown text; ``line`` makes a line fit for where it is shown."""
    parts: list[str] = []
    async for info, events in _each(engine, ids, progress):
        parts.append(await asyncio.to_thread(_markdown_of, info, events, line))
    return str(without_keys("\n---\n\n".join(parts), await secret_texts(engine)))


async def secret_texts(engine: Engine) -> list[str]:
    """The keys and the server's token, longer ones first: one may be a part of another."""
    found = [await engine.providers.key(name) for name in PROVIDER_TITLES]
    await engine.keychain.get(ENTRY)
    known = {*found, *engine.keychain.known()}
    return sorted((key for key in known if len(key) >= SHORTEST), key=len, reverse=True)


async def _write_json(
    engine: Engine, ids: Sequence[str], out: IO[bytes], progress: Progress
) -> AsyncIterator[tuple[SessionInfo, str]]:
    """Write chats one by one, so that only one is in memory; yields each as markdown."""
    keys = await secret_texts(engine)
    out.write(f'{{"{MARK}": {VERSION}, "conversations": ['.encode())
    between = b"\n"
    async for info, events in _each(engine, ids, progress):
        body = await asyncio.to_thread(_json_of, info, events, keys)
        await _whole(partial(out.write, between + body))
        between = b",\n"
        words = await asyncio.to_thread(_markdown_of, info, events)
        yield info, str(without_keys(words, keys))
    out.write(b"\n]}\n")


async def _each(
    engine: Engine, ids: Sequence[str], progress: Progress
) -> AsyncIterator[tuple[SessionInfo, list[Event]]]:
    """The chats that are still there, one after the other."""
    for number, session_id in enumerate(ids):
        if (info := await engine.store.get(session_id)) is not None:
            yield info, await engine.store.events(session_id)
        progress(number + 1, len(ids))


def _json_of(info: SessionInfo, events: Sequence[Event], keys: Sequence[str]) -> bytes:
    body = as_json([conversation_of(info, events)], keys)["conversations"]
    return json.dumps(body, indent=1)[1:-1].strip().encode()


def _markdown_of(
    info: SessionInfo, events: Sequence[Event], line: Callable[[str], str] = str
) -> str:
    return as_markdown(info, Transcript(events), line)


async def _write_archive(
    engine: Engine, ids: Sequence[str], path: Path, progress: Progress
) -> None:
    keys = await secret_texts(engine)
    texts: list[tuple[SessionInfo, str]] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("conversations.json", "w", force_zip64=True) as out:
            async for one in _write_json(engine, ids, out, progress):
                texts.append(one)
        settings = without_keys(engine.settings.values.to_json(), keys)

        taken: set[str] = set()
        for info, words in texts:
            await _whole(partial(archive.writestr, f"chats/{_file_name(info, taken)}", words))
        for folder in (engine.paths.agents, engine.paths.tools):
            for file in await asyncio.to_thread(_files, folder):
                await _whole(partial(_write_file, archive, file, keys))
        archive.writestr("settings.json", json.dumps(settings, indent=2))


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.glob("*")) if file.is_file()] if folder.is_dir() else []


def _write_file(archive: zipfile.ZipFile, file: Path, keys: Sequence[str]) -> None:
    name = f"{file.parent.name}/{file.name}"
    about = zipfile.ZipInfo.from_file(file, name, strict_timestamps=False)
    data = _bytes_without(file.read_bytes(), keys)
    archive.writestr(about, data, zipfile.ZIP_DEFLATED)


def _bytes_without(data: bytes, keys: Sequence[str]) -> bytes:
    for key in keys:
        data = data.replace(key.encode(errors="surrogatepass"), b"[key]")
    return data


def _file_name(info: SessionInfo, taken: set[str]) -> str:
    """A chat's file: its day and its title, in letters that every system allows.

    It is added, in small letters, to the names that are ``taken``.
    """
    day = datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d")
    title = " ".join(re.sub(r"[^\w\- ]+", " ", info.title).split())[:60].strip()
    first = name = f"{day} {title or info.id[:8]}"
    number = 2
    while name.casefold() in taken:
        name = f"{first} {number}"
        number += 1
    taken.add(name.casefold())
    return f"{name}.md"
