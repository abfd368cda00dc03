"""Child desk: lets a child in the background work on a copy of the folder (W-24).

What it did waits as drafts of its session once it has ended; also if the program ended before. A
child of a child begins with what that one's desk has, and is not stopped by its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
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
_OWNER = "owner"
"""The file that names the program in which the child works."""
LEFT = "{agent} worked on a copy of the folder, of which this was not taken over: {names}."
_NAMED = 20


async def lay_desk(services: Services, agent: Agent, session: Session) -> Desk | None:
    """Have a session work on a copy of its folder; None where it works as every chat does.

    Where its caller works on a desk it is a copy of that one, which may be gone before the session
    has ended.
    """
    tools, caller = services.toolbox.tools, session.info.caller
    effects = {tools[name].spec.effect for name in agent.tools if name in tools}
    above = services.desks.get(caller.id) if caller is not None else None
    if above is None and (agent.desk == "shared" or not effects & _WRITES):
        return None
    if "act" in effects and not (await services.sandbox()).desks:
        return None
    folder, at = Path(session.info.folder), _place(services) / session.info.id

    def lay() -> Desk:
        private_folder(_place(services))
        desk = Desk.lay(above or folder, {}, at)
        write_atomically(at / _OWNER, services.database.owner.encode())
        write_atomically(at / "child.json", json.dumps(kept).encode("ascii"))
        return desk

    try:
        kept = await (await services.folders.track(str(folder))).keep()
        desk = await laid(lay)
    except (DeskTooLarge, OSError, ToolFailed):
        return None
    services.desks[session.info.id] = desk
    return desk


async def bring_back(
    services: Services, session: Session, desk: Desk
) -> tuple[list[str], list[str]]:
    """Make drafts of what a session did on its desk, which is removed.

    Returns the names of the drafts, and of what no draft can hold, which the person is told of.
    """
    session_id = session.info.id
    await services.jobs.end(session_id)
    await services.languages.end(session_id)
    kept = json.loads(await asyncio.to_thread((desk.root.parent / "child.json").read_text))
    services.desks.pop(session_id, None)
    drafts, left = await asyncio.to_thread(_drafts, services, desk, kept)
    if drafts:
        await session.offer(drafts)
        await session.flush()
    if left:
        names = ", ".join(left[:_NAMED]) + ", …" * (len(left) > _NAMED)
        services.report_problem(LEFT.format(agent=session.info.agent, names=names))
    await asyncio.to_thread(desk.remove)
    return [draft.path for draft in drafts], left


async def bring_back_left(services: Services, sessions: Sessions) -> None:
    """The same for children whose program ended before they had."""

    def left() -> dict[Path, str]:
        found: dict[Path, str] = {}
        for at in (one.parent for one in _place(services).glob("*/child.json")):
            found[at] = ""
            with suppress(OSError):
                found[at] = (at / _OWNER).read_text()
        return found

    owners = await asyncio.to_thread(left)
    alive = await services.database.alive({*filter(None, owners.values())})
    for at, owner in owners.items():
        if owner in alive:
            continue
        try:
            if await services.store.get(at.name) is None:
                await asyncio.to_thread(shutil.rmtree, at, True)
                continue
            session = await sessions.open(at.name)
            desk = await asyncio.to_thread(Desk.open, at)
            await bring_back(services, session, desk)
        except (StudioError, OSError, ValueError):  # it stays until it can be
            continue


def _place(services: Services) -> Path:
    return services.paths.data / "desks"


def _drafts(
    services: Services, desk: Desk, kept: dict[str, str]
) -> tuple[list[FileDraft], list[str]]:
    """Drafts of what is other on a desk, each on what the desk began with; and what can be none."""
    changes, found = desk.changes(), list[FileDraft]()
    left = [name for name in changes.other if name not in changes.written]
    for name in (*changes.written, *changes.deleted):
        place = desk.root / name
        if os.path.realpath(place) != str(place):  # behind a link it is not on the desk
            continue
        try:
            before = _before(services, desk, name, kept.get(name, ""))
            after = read_whole(place, name) if name not in changes.deleted else None
        except (ToolFailed, OSError):
            left.append(name)
            continue
        if before != after:
            found.append(_draft(name, before, after))
    return found, [escape_line(name, 200) for name in dict.fromkeys(left)]


def _before(services: Services, desk: Desk, name: str, digest: str) -> bytes | None:
    """What a file was when the desk was laid; None if it was not there.

    Also where what it was was not kept, and is another now: then the draft is in conflict with it.
    """
    if digest:
        data = services.folders.contents.get(digest)
        if data is not None:
            return data
    place = desk.folder / name
    if desk.outdated(name):
        return None
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
