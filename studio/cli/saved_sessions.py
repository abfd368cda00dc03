"""Saved sessions: finds and opens one, prints it, undoes what its turns changed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from studio.agent.engine import Engine, SessionDefaults
from studio.agent.session.import_export import as_markdown
from studio.agent.session.session import Session
from studio.domain.blocks import FilesBlock
from studio.domain.codec import encode_event
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript
from studio.providers.local_model import PROVIDER as BUILT_IN
from studio.providers.registry import PROVIDER_TITLES

from .console import Console, visible_line
from .exit_codes import DONE, USAGE

LAST = "last"
"""The word for the session that was used last."""


async def find_session_id(engine: Engine, start: str) -> str:
    """Find the one session whose id begins so; raises ConfigurationError if there is not one.

    “last” is the session that a person used last.
    """
    if start == LAST:
        if found := await _last_used(engine):
            return found
        raise ConfigurationError("There is no session yet to go on in.")
    found = [info.id for info in await engine.sessions.list() if info.id.startswith(start)]
    return only_session(found, start)


def only_session(found: Sequence[str], start: str, where: str = "") -> str:
    """The one of these ids, which all begin so; raises ConfigurationError if there is not one."""
    if not start:  # an unset variable of a script, for example
        last = "" if where else ", or “last”"
        raise ConfigurationError(f"There is no id of a session. Name one{last}.")
    if start in found:
        return start
    if len(found) != 1:
        many = "more than one session" if found else "no session"
        raise ConfigurationError(f"There is {many}{where} with an id that begins with {start}.")
    return found[0]


async def _last_used(engine: Engine, folder: Path | None = None) -> str:
    """The session that a person used last, in any folder or in one; empty if there is none."""
    for info in await engine.sessions.list():
        here = folder is None or Path(info.folder) == folder
        if here and info.origin in ("terminal", "window"):
            return info.id
    return ""


async def _to_go_on_in(engine: Engine, options: argparse.Namespace) -> str:
    """The session that the options name; with ``--continue`` the last one of the folder.

    One of another folder would have its agent work there. Raises ConfigurationError.
    """
    if not options.go_on:
        return await find_session_id(engine, options.session)
    folder = (options.folder or Path.cwd()).resolve()
    if found := await _last_used(engine, folder):
        return found
    raise ConfigurationError(
        f"There is no session in {folder} yet to go on in. --session last goes on in the last one "
        "of all folders."
    )


async def folder_of(engine: Engine, options: argparse.Namespace) -> Path:
    """The folder in which ``open_session`` works; raises ConfigurationError."""
    folder: Path | None = options.folder
    if folder is None and (options.session is not None or options.go_on):
        info = await engine.store.get(await _to_go_on_in(engine, options))
        folder = Path(info.folder) if info is not None else None
    return (folder or Path.cwd()).resolve()


async def open_session(
    engine: Engine, options: argparse.Namespace, console: Console, say: Callable[[str], None]
) -> Session:
    """Create a session, or open a saved one and change what the options name.

    ``say`` tells the person who answers where nobody named a model.
    """
    if options.folder is not None and not options.folder.is_dir():
        raise ConfigurationError(f"The folder {options.folder} is not there.")
    if options.session is None and not options.go_on:
        folder = (options.folder or Path.cwd()).resolve()
        choice = await engine.choose(
            agent=options.agent or "",
            provider=options.provider or "",
            model=options.model or "",
            folder=folder,
        )
        if not choice.model_named:
            say(_answers(engine, choice))
        return await engine.sessions.create(
            folder=str(folder),
            agent=choice.agent,
            provider=choice.provider,
            model=choice.model,
            permission_mode=console.permission(
                options.permission, engine.settings.values.default_permission_mode
            ),
            model_chosen=bool(options.provider or options.model),
            origin="terminal",
            instructions=options.system or "",
        )
    session = await engine.sessions.open(await _to_go_on_in(engine, options))
    changes: dict[str, Any] = {}
    if options.folder is not None:
        changes["folder"] = str(options.folder.resolve())
    if options.system is not None:
        changes["instructions"] = options.system
    if options.agent:
        folder = Path(changes.get("folder", session.info.folder))
        changes["agent"] = (await engine.agent(options.agent, folder)).name
    if console.is_agents and not options.permission and session.info.permission_mode == "auto":
        console.require_a_person()
    if permission := console.permission(options.permission, session.info.permission_mode):
        changes["permission_mode"] = permission
    if options.model:
        found = await engine.model_names.find(
            options.model, options.provider or "", first=session.info.provider
        )
        changes |= {"provider": found.provider, "model": found.model}
    elif options.provider and options.provider != session.info.provider:
        model = await engine.default_model(options.provider)
        changes |= {"provider": options.provider, "model": model}
    if changes:
        await session.change(**changes)
    return session


def _answers(engine: Engine, choice: SessionDefaults) -> str:
    """Who answers, in a line for the person who named no model."""
    line = f"{choice.model} of {PROVIDER_TITLES[choice.provider]} answers."
    if choice.provider == BUILT_IN.name and not engine.settings.values.builtin_model:
        line += " It is small and often wrong: it lists, reads and searches files, in English."
    return f"{line} --model names another."


def session_markdown(info: SessionInfo, transcript: Transcript) -> str:
    """A session as markdown that a terminal can show."""
    return as_markdown(info, transcript, visible_line)


async def show_context(
    engine: Engine, session_id: str, console: Console, *, as_json: bool = False
) -> int:
    """Print how much of the context each part takes: estimates, or the provider's own counts."""
    found = await (await engine.sessions.open(session_id)).context.usage()
    if as_json:
        parts = {part.kind: part.tokens for part in found.parts}
        console.write_json({"parts": parts, "used": found.used, "window": found.window})
        return DONE
    rows = [*((part.kind, part.tokens) for part in found.parts), ("together", found.used)]
    if found.window is not None and found.free is not None:
        rows += [("free", found.free), ("window", found.window)]
    for kind, tokens in rows:
        share = f"  {tokens / found.window:4.0%}" if found.window else ""
        console.row(f"{kind:<12}  {tokens:>11,}{share}")
    return DONE


async def undo_or_redo(
    engine: Engine,
    session_id: str,
    turn: str,
    console: Console,
    *,
    undo: bool,
    as_json: bool = False,
) -> int:
    """Undo or redo one turn; ``turn`` is the beginning of its id, empty for the last one."""
    session = await engine.sessions.open(session_id)
    files = [
        block
        for block in session.transcript.blocks
        if isinstance(block, FilesBlock) and block.paths
    ]
    turn_id = _find_turn(files, turn, undo=undo)
    restored = await (session.undo_turn if undo else session.redo_turn)(turn_id)
    if as_json:
        console.write_json(encode_event(restored))
    else:
        for path in restored.paths:
            console.row(f"{'Undone' if undo else 'Done again'}: {path}")
    for path in restored.left:
        console.say(f"Left as it is, because it changed since: {path}")
    if later := session.undo.blocking(turn_id) if undo else []:
        console.say(f"Later turns changed these too. Undo first: {', '.join(later)}")
    return DONE if restored.paths or not restored.left else USAGE


def _find_turn(files: list[FilesBlock], start: str, *, undo: bool) -> str:
    """Find the one turn whose id begins so; raises ConfigurationError with the known turns."""
    if start:
        found = [block.turn_id for block in files if block.turn_id.startswith(start)]
    elif undo:
        found = [block.turn_id for block in files if not block.undone][-1:]
    else:
        found = [block.turn_id for block in files if block.undone][:1]
    if len(found) == 1:
        return found[0]
    if not files:
        raise ConfigurationError("No turn of this session changed a file.")
    known = f"Turns that changed files: {', '.join(block.turn_id[:8] for block in files)}."
    if start:
        many = "more than one turn" if found else "no turn"
        raise ConfigurationError(f"There is {many} with an id that begins with {start}. {known}")
    raise ConfigurationError(f"Nothing is left to {'undo' if undo else 'redo'}. {known}")
