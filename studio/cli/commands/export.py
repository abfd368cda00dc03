"""``agent-studio export``: writes conversations to a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.import_export import PortableConversation


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Write conversations to standard output or a file: as JSON with everything that was said "
        "and done, pictures and files too, which import takes back; or as markdown, to read."
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="ids, their first letters, or “last”")
    parser.add_argument("--all", action="store_true", help="all conversations")
    parser.add_argument("--format", choices=["json", "md"], default="json", help="default: json")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Write some conversations or all of them, as JSON or as markdown."""
    import asyncio

    from studio.agent.chat_files import markdown
    from studio.cli.console import visible_line
    from studio.cli.final_answer import STDOUT, check_output_path, write_answer
    from studio.cli.saved_sessions import find_session_id

    engine, console = await context.engine(), context.console
    if bool(options.ids) == options.all:
        raise ConfigurationError("Name sessions by their ids, or export --all of them.")
    place: Path = options.output or STDOUT
    check_output_path(place)
    ids = (
        [info.id for info in await engine.sessions.list(every_version=True)] if options.all else []
    )
    for start in options.ids:
        ids.append(await find_session_id(engine, start))
    ids = list(dict.fromkeys(ids))
    if options.format == "md":
        text = await markdown(engine, ids, line=visible_line)
    else:
        text = await _json(engine, ids)
    if place == STDOUT:
        console.write(text)
        return DONE
    await asyncio.to_thread(write_answer, text, place)
    console.say(f"{count_conversations(len(ids))} in {place}")
    return DONE


async def _json(engine: Engine, ids: list[str]) -> str:
    import asyncio

    from studio.agent.chat_files import secret_texts
    from studio.agent.session.import_export import as_json, conversation_of

    found: list[PortableConversation] = []
    for session_id in ids:
        if (info := await engine.store.get(session_id)) is not None:
            events = await engine.store.events(session_id)
            found.append(await asyncio.to_thread(conversation_of, info, events))
    body = await asyncio.to_thread(as_json, found, await secret_texts(engine))
    return await asyncio.to_thread(json.dumps, body, indent=1) + "\n"


def count_conversations(count: int) -> str:
    """“1 conversation”, “2 conversations”."""
    return f"{count:,} {'conversation' if count == 1 else 'conversations'}"
