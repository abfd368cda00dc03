"""``agent-studio models`` and ``agent-studio sessions``.

``agent-studio sessions undo`` and ``redo``: a turn's changes of files.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import datetime

from studio.agent.engine import Engine
from studio.cli.console import Console
from studio.cli.exit_codes import DONE, PROVIDER, USAGE
from studio.domain.blocks import FilesBlock, NoticeBlock, TextBlock, ToolBlock, UserBlock
from studio.domain.codec import encode_event
from studio.domain.errors import ConfigurationError
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript


async def undo_or_redo(
    studio: Engine, session_id: str, options: argparse.Namespace, console: Console
) -> int:
    """Undo or redo one turn, the last one that can be if none is named."""
    undo = options.what == "undo"
    session = await studio.sessions.open(session_id)
    files = [
        block
        for block in session.transcript.blocks
        if isinstance(block, FilesBlock) and block.paths
    ]
    turn_id = _find_turn(files, options.turn, undo=undo)
    restored = await (session.undo_turn if undo else session.redo_turn)(turn_id)
    if options.json:
        console.write_json(encode_event(restored))
    else:
        for path in restored.paths:
            console.write(f"{'Undone' if undo else 'Done again'}: {path}\n")
    for path in restored.left:
        console.say(f"Left as it is, because it changed since: {path}")
    if later := session.files.blocking(turn_id) if undo else []:
        console.say(f"Later turns changed these too. Undo first: {', '.join(later)}")
    return DONE if restored.paths or not restored.left else USAGE


def _find_turn(files: list[FilesBlock], start: str, *, undo: bool) -> str:
    """The one turn whose id begins so; raises ConfigurationError that says what there is."""
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


LAST = "last"


async def models(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """List a provider's models: fetched first, then those built in."""
    name = options.provider or await studio.connections.default()
    listing = await studio.list_models(name, refresh=options.refresh)
    if options.json:
        found = [asdict(model) for model in listing.models]
        console.write_json(
            {"provider": name, "state": listing.state, "reason": listing.reason, "models": found}
        )
    else:
        width = max((len(model.id) for model in listing.models), default=0)
        for model in listing.models:
            window = f"{model.context_window:,}" if model.context_window else ""
            mark = "" if model.source == "fetched" else "built-in list"
            console.write(f"{model.id:<{width}}  {window:>9}  {mark}".rstrip() + "\n")
        if listing.reason:
            console.say(listing.reason)
    return DONE if listing.models else PROVIDER


async def sessions(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """List, show, undo; ``events`` happened, of ``native`` and ``context`` requests are made."""
    if options.what == "list":
        infos = await studio.sessions.list()
        if options.json:
            console.write_json([asdict(info) for info in infos])
            return DONE
        for info in infos:
            when = datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d %H:%M")
            title = info.title or "New chat"
            console.write(f"{info.id[:8]}  {when}  {info.state:<10}  {title}\n")
        if not infos:
            console.say("There are no sessions yet.")
        return DONE
    session_id = await find_session_id(studio, options.id)
    if options.what in ("undo", "redo"):
        return await undo_or_redo(studio, session_id, options, console)
    if options.what == "context":
        return await show_context(studio, session_id, options, console)
    if options.what == "native":
        native = await studio.store.native(session_id)
        console.write_json(native.items if native else [], indent=2)
        return DONE
    info = await studio.store.get(session_id)
    if info is None:  # deleted by another program a moment ago
        raise ConfigurationError(f"There is no session {session_id}.")
    events = await studio.store.events(session_id)
    if options.what == "events":
        body = {"session": asdict(info), "events": [encode_event(event) for event in events]}
        console.write_json(body, indent=2)
    else:
        console.write(session_markdown(info, Transcript(events)))
    return DONE


async def show_context(
    studio: Engine, session_id: str, options: argparse.Namespace, console: Console
) -> int:
    """In tokens; estimates, but for what the provider counted itself."""
    found = await (await studio.sessions.open(session_id)).memory.context()
    if options.json:
        parts = {part.kind: part.tokens for part in found.parts}
        console.write_json({"parts": parts, "used": found.used, "window": found.window})
        return DONE
    rows = [*((part.kind, part.tokens) for part in found.parts), ("together", found.used)]
    if found.window is not None and found.free is not None:
        rows += [("free", found.free), ("window", found.window)]
    for kind, tokens in rows:
        share = f"  {tokens / found.window:4.0%}" if found.window else ""
        console.write(f"{kind:<12}  {tokens:>11,}{share}\n")
    return DONE


def session_markdown(info: SessionInfo, transcript: Transcript) -> str:
    """A session for reading: what was said, and one line for each tool."""
    out = [f"# {info.title or 'New chat'}", f"{info.agent} on {info.model}, in {info.folder}"]
    for block in transcript.blocks:
        match block:
            case UserBlock():
                out.append(f"## You\n\n{block.text}")
            case TextBlock():
                out.append(block.text.strip())
            case ToolBlock():
                out.append(f"> {_row(block)}")
            case NoticeBlock():
                out.append(f"*{block.text}*")
            case _:
                pass
    return "\n\n".join(out) + "\n"


def _row(block: ToolBlock) -> str:
    target = " ".join(block.target.split())
    row = block.done if block.state == "done" else block.name
    return f"{row or block.name} `{target}` — {block.summary or block.state}"


async def find_session_id(studio: Engine, start: str) -> str:
    """The id of the one session whose id begins so; ConfigurationError if that is not one.

    “last” is the session used last, of those that a person holds.
    """
    if not start:  # a variable of a script that was never set, say
        raise ConfigurationError("There is no id of a session. Name one, or “last”.")
    if start == LAST:
        infos = await studio.sessions.list()
        start = next((info.id for info in infos if info.origin in ("terminal", "window")), "")
        if not start:
            raise ConfigurationError("There is no session yet to go on in.")
        return start
    found = [info.id for info in await studio.sessions.list() if info.id.startswith(start)]
    if start in found:
        return start
    if len(found) != 1:
        many = "more than one session" if found else "no session"
        raise ConfigurationError(f"There is {many} with an id that begins with {start}.")
    return found[0]
