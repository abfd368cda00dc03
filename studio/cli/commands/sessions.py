"""``agent-studio sessions``: finds, shows, renames and deletes sessions, undoes turns."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, get_args

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import SESSION, CommandParser, most
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.cli.console import Console
    from studio.domain.sessions import SessionInfo

MOST_FOUND = 50
"""Sessions that a search without a limit finds."""


def arguments(parser: CommandParser) -> None:
    from studio.domain.sessions import Origin

    helps = {
        "list": "all sessions, newest first",
        "search": "sessions with these words, and the line that has them",
        "show": "print a session",
        "rename": "give a session another title",
        "delete": "put sessions in the bin; --for-good deletes them at once",
        "restore": "bring sessions back out of the bin",
        "events": "print all that happened in a session as JSON",
        "native": "print the provider's own history as JSON",
        "context": "how much of the model's context each part takes",
        "undo": "put back the files that a turn changed",
        "redo": "apply the changes of a turn again",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name in ("delete", "restore"):
            one.add_argument("ids", nargs="+", metavar="ID", help=SESSION)
        elif name == "search":
            about = "also agent:NAME, model:NAME, folder:NAME, before:DAY, after:DAY"
            one.add_argument("words", nargs="+", metavar="WORD", help=about)
        elif name != "list":
            one.add_argument("id", metavar="ID", help=SESSION)
        if name == "rename":
            one.add_argument("title", metavar="TITLE")
        if name == "delete":
            one.add_argument("--for-good", action="store_true", help="no way leads back")
        if name in ("undo", "redo"):
            about = "default: the last"
            one.add_argument("turn", metavar="TURN", nargs="?", default="", help=about)
        if name in ("list", "search"):
            one.add_argument("--limit", type=most, metavar="N", help="at most so many")
        if name == "list":
            doors = get_args(Origin)
            one.add_argument(
                "--origin", choices=doors, metavar="ORIGIN", help=f"begun in: {', '.join(doors)}"
            )
            one.add_argument("--bin", action="store_true", help="what is in the bin instead")
        if name in ("list", "search", "context", "undo", "redo"):
            one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """List sessions, show one in several forms, or undo what a turn changed."""
    from studio.cli.saved_sessions import (
        find_session_id,
        session_markdown,
        show_context,
        undo_or_redo,
    )
    from studio.domain.codec import encode_event
    from studio.domain.transcript import Transcript

    engine, console = await context.engine(), context.console
    match options.what:
        case "list":
            return await _list(engine, console, options)
        case "search":
            return await _search(engine, console, options)
        case "delete":
            return await _delete(engine, console, options.ids, for_good=options.for_good)
        case "restore":
            return await _restore(engine, console, options.ids)
        case _:
            pass
    session_id = await find_session_id(engine, options.id)
    if options.what in ("undo", "redo"):
        undo = options.what == "undo"
        return await undo_or_redo(
            engine, session_id, options.turn, console, undo=undo, as_json=options.json
        )
    if options.what == "rename":
        title = " ".join(options.title.split())
        if not title:
            raise ConfigurationError("A title has at least one letter.")
        await engine.sessions.arrange([session_id], title=title, titled_by="person")
        console.say(f"{session_id[:8]} is called “{title}”.")
        return DONE
    if options.what == "context":
        return await show_context(engine, session_id, console, as_json=options.json)
    if options.what == "native":
        native = await engine.store.native(session_id)
        console.write_json(native.items if native else [], indent=2)
        return DONE
    info = await engine.store.get(session_id)
    if info is None:  # deleted by another program a moment ago
        raise ConfigurationError(f"There is no session {session_id}.")
    events = await engine.store.events(session_id)
    if options.what == "events":
        body = {"session": asdict(info), "events": [encode_event(event) for event in events]}
        console.write_json(body, indent=2)
    else:
        console.write(session_markdown(info, Transcript(events)))
    return DONE


async def _list(engine: Engine, console: Console, options: Namespace) -> int:
    infos: Sequence[SessionInfo] = await (
        engine.sessions.bin() if options.bin else engine.sessions.list()
    )
    if options.origin is not None:
        infos = [info for info in infos if info.origin == options.origin]
    infos = infos[: options.limit]
    if options.json:
        console.write_json([asdict(info) for info in infos])
        return DONE
    for info in infos:
        when = datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d %H:%M")
        title = info.title or "New chat"
        console.row(f"{info.id[:8]}  {when}  {info.state:<10}  {title}")
    if not infos:
        console.say("There are no such sessions." if options.origin else _NONE[options.bin])
    return DONE


_NONE = {False: "There are no sessions yet.", True: "The bin is empty."}


async def _search(engine: Engine, console: Console, options: Namespace) -> int:
    hits = await engine.store.search(" ".join(options.words), options.limit or MOST_FOUND)
    if options.json:
        console.write_json([asdict(hit) for hit in hits])
        return DONE
    for hit in hits:
        line = "" if hit.kind == "title" else f": {' '.join(hit.line.split())}"
        console.row(f"{hit.session_id[:8]}  {hit.title or 'New chat'}{line}")
    if not hits:
        console.say("No session has these words.")
    return DONE


async def _delete(
    engine: Engine, console: Console, starts: Sequence[str], *, for_good: bool
) -> int:
    """Delete sessions, all or none of them; raises ConfigurationError where one is running."""
    from studio.cli.saved_sessions import find_session_id

    ids = list(dict.fromkeys([await find_session_id(engine, start) for start in starts]))
    members = await engine.store.members(ids)
    for one in members:
        if await engine.store.running_elsewhere(one):
            raise ConfigurationError(f"{one[:8]} is running. Stop it first; nothing was deleted.")
    if for_good:
        for one in ids:
            await engine.sessions.delete(one)
    else:
        await engine.sessions.put_in_bin(ids)
    for one in ids:
        back = "" if for_good else f" To bring it back: agent-studio sessions restore {one[:8]}"
        console.say(f"{one[:8]} is deleted.{back}")
    return DONE


async def _restore(engine: Engine, console: Console, starts: Sequence[str]) -> int:
    from studio.cli.saved_sessions import LAST, only_session

    known = [info.id for info in await engine.sessions.bin()]
    ids: list[str] = []
    for start in starts:
        # The last one is the one that was deleted last.
        found = known[:1] if start == LAST else [one for one in known if one.startswith(start)]
        ids.append(only_session(found, start, " in the bin"))
    await engine.sessions.take_from_bin(ids)
    for one in ids:
        console.say(f"{one[:8]} is back.")
    return DONE
