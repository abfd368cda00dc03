"""``agent-studio export`` and ``import``: conversations to files and back."""

from __future__ import annotations

import argparse
import asyncio
import json
from contextlib import suppress
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.session.import_export import PortableConversation, as_json, conversation_of
from studio.agent.session.import_formats import read_conversations
from studio.cli.console import Console
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.final_answer import STDOUT, check_output_path, write_answer
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.messages import ToolCall
from studio.domain.models import PROVIDER_TITLES
from studio.domain.transcript import Transcript
from studio.providers.sse import is_clean_json
from studio.storage.config.server_token import ENTRY
from studio.storage.sessions.import_log import ImportLog

from .sessions import find_session_id, session_markdown

SHORTEST = 8
"""Characters of a key; what is shorter is a word like any other."""
LARGEST = 500_000_000
"""Bytes of a file to import."""


async def export(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """Some conversations or all, as our own JSON, which loses nothing, or to read."""
    if bool(options.ids) == options.all:
        raise ConfigurationError("Name sessions by their ids, or export --all of them.")
    place: Path = options.output or STDOUT
    check_output_path(place)
    ids = [info.id for info in await studio.sessions.list()] if options.all else []
    for start in options.ids:
        ids.append(await find_session_id(studio, start))
    ids = list(dict.fromkeys(ids))
    text = await (_json if options.format == "json" else _markdown)(studio, ids)
    if place == STDOUT:
        console.write(text)
        return DONE
    await asyncio.to_thread(write_answer, text, place)
    console.say(f"{_many(len(ids))} in {place}")
    return DONE


async def _json(studio: Engine, ids: list[str]) -> str:
    found: list[PortableConversation] = []
    for session_id in ids:
        if (info := await studio.store.get(session_id)) is not None:
            events = await studio.store.events(session_id)
            found.append(await asyncio.to_thread(conversation_of, info, events))
    body = await asyncio.to_thread(as_json, found, await _keys(studio))
    return await asyncio.to_thread(json.dumps, body, indent=1) + "\n"


async def _markdown(studio: Engine, ids: list[str]) -> str:
    parts: list[str] = []
    for session_id in ids:
        if (info := await studio.store.get(session_id)) is not None:
            parts.append(session_markdown(info, Transcript(await studio.store.events(session_id))))
    text = "\n---\n\n".join(parts)
    for key in await _keys(studio):
        text = text.replace(key, "[key]")
    return text


async def _keys(studio: Engine) -> list[str]:
    """The person's keys and the server's token, a longer one before what may be a part of it."""
    found = [await studio.connections.key(name) for name in PROVIDER_TITLES]
    await studio.keychain.get(ENTRY)
    known = {*found, *studio.keychain.known()}
    return sorted((key for key in known if len(key) >= SHORTEST), key=len, reverse=True)


async def import_conversations(
    studio: Engine, options: argparse.Namespace, console: Console
) -> int:
    """Each conversation of the files becomes a session; of a bad file nothing is taken."""
    arriving = _Importer(studio, options, console)
    code = DONE
    for path in options.files:
        try:
            found = await asyncio.to_thread(_read, path)
        except ValueError as error:
            console.say(f"{path}: {str(error).rstrip('.')}. Nothing of it was imported.")
            code = USAGE
            continue
        for one in found:
            await arriving.add(path, one)
    arriving.report()
    return code


class _Importer:
    """The conversations of one command, one after the other."""

    def __init__(self, studio: Engine, options: argparse.Namespace, console: Console) -> None:
        self._studio = studio
        self._options = options
        self._console = console
        self._imports = ImportLog(studio.database)
        self._rows: list[dict[str, str]] = []

    async def add(self, path: Path, one: PortableConversation) -> None:
        title = " ".join(one.title.split()) or "Without a title"
        digest = await asyncio.to_thread(lambda: one.digest)
        skipped, session_id = "", await self._imports.session(digest)
        if not one.messages:
            skipped = "it is empty"
        elif session_id or await self._studio.store.get(one.id):
            skipped, session_id = "it is here already", session_id or one.id
        else:
            session_id = await self._create(one, digest)
        self._rows.append(
            {"file": str(path), "title": title, "session": session_id, "skipped": skipped}
        )
        if self._options.json:
            return
        if skipped:
            self._console.say(f"Skipped, for {skipped}: {title}")
        else:
            self._console.write(f"{session_id[:8]}  {title}\n")

    def report(self) -> None:
        """Print what became of them all."""
        if self._options.json:
            self._console.write_json(self._rows)
            return
        taken = sum(not row["skipped"] for row in self._rows)
        left = len(self._rows) - taken
        self._console.say(f"{_many(taken)} imported" + (f", {left:,} skipped" if left else ""))

    async def _worked_in(self, folder: Path) -> bool:
        """Whether the person works there already.

        A file of somebody else's could name any folder; agents may read all of theirs.
        """
        if not folder.is_absolute() or not folder.is_dir():
            return False
        return str(folder) in {info.folder for info in await self._studio.sessions.list()}

    async def _create(self, one: PortableConversation, digest: str) -> str:
        studio = self._studio
        folder = self._options.folder or Path(one.folder or ".")
        if not self._options.folder and not await self._worked_in(folder):
            folder = await asyncio.to_thread(studio.own_folder)
        agents = await studio.agents()
        agent = agents.get(one.agent)
        choice = await studio.choose(
            agent=agent.name if agent is not None else "",
            provider=one.provider if one.provider in PROVIDER_TITLES else "",
            model=one.model if one.provider in PROVIDER_TITLES else "",
            folder=folder,
        )
        session = await studio.sessions.create(
            folder=str(folder.resolve()),
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            title=" ".join(one.title.split()),
            origin="terminal",
            instructions=one.instructions,
            told=one.messages,
        )
        try:
            if one.updated:
                await session.change(updated=one.updated)
            await self._imports.note(digest, session.info.id)
        except BaseException:
            with suppress(StudioError):  # half of one is none
                await studio.sessions.delete(session.info.id)
            raise
        return session.info.id


def _read(path: Path) -> list[PortableConversation]:
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST // 1_000_000:,} MB")
        found = read_conversations(path.read_bytes())
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from error
    for one in found:
        blocks = (block for message in one.messages for block in message.blocks)
        if not all(is_clean_json(b.arguments) for b in blocks if isinstance(b, ToolCall)):
            raise ValueError("the arguments of a call in it are nested too deeply")
    return found


def _many(count: int) -> str:
    return f"{count:,} {'conversation' if count == 1 else 'conversations'}"
