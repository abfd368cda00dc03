"""Child desk: lets a child in the background work on a copy of the folder (W-24).

What it did waits as drafts of its session once it has ended; also if the program ended before.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import uuid
from pathlib import Path

from studio.agent.services import Services
from studio.agent.session.session import Session
from studio.agent.session.sessions import Sessions
from studio.domain.agents import Agent
from studio.domain.drafts import BINARY, FileDraft
from studio.domain.errors import StudioError, ToolFailed
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder
from studio.processes.desk import Desk, DeskTooLarge, laid
from studio.storage.snapshots.blob_store import digest_of
from studio.tools.workspace.encodings import NotText, decode, encode
from studio.tools.workspace.text_files import read_whole

_WRITES = frozenset({"draft", "act"})


async def lay_desk(services: Services, agent: Agent, session: Session) -> Desk | None:
    """Have a session work on a copy of its folder; None where it works as every chat does."""
    tools = services.toolbox.tools
    effects = {tools[name].spec.effect for name in agent.tools if name in tools}
    if agent.desk == "shared" or not effects & _WRITES:
        return None
    if "act" in effects and not (await services.sandbox()).desks:
        return None
    folder, at = Path(session.info.folder), _place(services) / session.info.id

    def lay() -> Desk:
        private_folder(_place(services))
        desk = Desk.lay(folder, {}, at)
        write_atomically(at / "child.json", json.dumps(kept).encode("ascii"))
        return desk

    try:
        kept = await (await services.folders.track(str(folder))).keep()
        desk = await laid(lay)
    except (DeskTooLarge, OSError, ToolFailed):
        return None
    services.desks[session.info.id] = desk
    return desk


async def bring_back(services: Services, session: Session, desk: Desk) -> list[str]:
    """Make drafts of what a session did on its desk, which is removed; their names."""
    session_id = session.info.id
    await services.jobs.end(session_id)
    await services.languages.end(session_id)
    kept = json.loads(await asyncio.to_thread((desk.root.parent / "child.json").read_text))
    services.desks.pop(session_id, None)
    drafts = await asyncio.to_thread(_drafts, services, desk, kept)
    if drafts:
        await session.offer(drafts)
        await session.flush()
    await asyncio.to_thread(desk.remove)
    return [draft.path for draft in drafts]


async def bring_back_left(services: Services, sessions: Sessions) -> None:
    """The same for children whose program ended before they had."""

    def left() -> list[Path]:
        return [one.parent for one in _place(services).glob("*/child.json")]

    for at in await asyncio.to_thread(left):
        if at.name in services.desks:
            continue
        try:
            if await services.store.get(at.name) is None:
                await asyncio.to_thread(shutil.rmtree, at, True)
                continue
            session = await sessions.open(at.name)
            desk = await asyncio.to_thread(Desk.open, at)
            await bring_back(services, session, desk)
        except (StudioError, OSError, ValueError):  # its program may work still
            continue


def _place(services: Services) -> Path:
    return services.paths.data / "desks"


def _drafts(services: Services, desk: Desk, kept: dict[str, str]) -> list[FileDraft]:
    """Drafts of what is other on a desk, each on what the desk began with."""
    changes, found = desk.changes(), list[FileDraft]()
    for name in (*changes.written, *changes.deleted):
        place = desk.root / name
        if os.path.realpath(place) != str(place):  # behind a link it is not on the desk
            continue
        try:
            before = _before(services, desk, name, kept.get(name, ""))
            after = read_whole(place, name) if name not in changes.deleted else None
        except (ToolFailed, OSError):
            continue
        if before != after and (before is not None or after is not None):
            found.append(_draft(name, before, after))
    return found


def _before(services: Services, desk: Desk, name: str, digest: str) -> bytes | None:
    """What a file was when the desk was laid; None if it was not there."""
    if digest:
        data = services.folders.contents.get(digest)
        if data is not None:
            return data
    place = desk.folder / name
    if desk.outdated(name):  # it is another one now, and what it was was not kept
        raise ToolFailed(f"{name} was changed meanwhile.")
    return read_whole(place, name) if place.is_file() and not place.is_symlink() else None


def _draft(name: str, before: bytes | None, after: bytes | None) -> FileDraft:
    old, new = before or b"", after or b""
    try:
        (old_text, encoding) = decode(old, name)
        new_text = decode(new, name)[0]
        if after is not None and before is not None and encode(new_text, encoding) != new:
            raise NotText(name)
        if before is None:
            encoding = decode(new, name)[1]
    except ToolFailed:
        old_text, new_text, encoding = old.decode("latin-1"), new.decode("latin-1"), BINARY
    return FileDraft(
        uuid.uuid4().hex,
        name,
        old_text if before is not None else None,
        new_text,
        digest_of(old) if before is not None else "",
        encoding,
        action="write" if after is not None else "delete",
    )
