"""``agent-studio sessions``: lists and shows saved sessions, undoes what a turn changed."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from datetime import datetime

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import SESSION, CommandParser
from studio.domain.errors import ConfigurationError


def arguments(parser: CommandParser) -> None:
    helps = {
        "list": "all sessions, newest first",
        "show": "print a session",
        "events": "print all that happened in a session as JSON",
        "native": "print the provider's own history as JSON",
        "context": "how much of the model's context each part takes",
        "undo": "put back the files that a turn changed",
        "redo": "apply the changes of a turn again",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name != "list":
            one.add_argument("id", metavar="ID", help=SESSION)
        if name in ("undo", "redo"):
            about = "default: the last"
            one.add_argument("turn", metavar="TURN", nargs="?", default="", help=about)
        if name in ("list", "context", "undo", "redo"):
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
    if options.what == "list":
        infos = await engine.sessions.list()
        if options.json:
            console.write_json([asdict(info) for info in infos])
            return DONE
        for info in infos:
            when = datetime.fromtimestamp(info.updated).strftime("%Y-%m-%d %H:%M")
            title = info.title or "New chat"
            console.row(f"{info.id[:8]}  {when}  {info.state:<10}  {title}")
        if not infos:
            console.say("There are no sessions yet.")
        return DONE
    session_id = await find_session_id(engine, options.id)
    if options.what in ("undo", "redo"):
        undo = options.what == "undo"
        return await undo_or_redo(
            engine, session_id, options.turn, console, undo=undo, as_json=options.json
        )
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
