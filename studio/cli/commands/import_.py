"""``agent-studio import``: makes sessions of conversations in files."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser

from .export import count_conversations

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.import_export import PortableConversation
    from studio.cli.console import Console


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Make a session of each conversation in a file: what export wrote, conversations.json of "
        "ChatGPT or Claude, also in its archive, or a list of messages with role and content. "
        "What is here already is skipped. Of a file with a mistake nothing is taken."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON files, archives")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the folder they go on in")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """Make a session of each conversation in the files; nothing of a bad file is taken."""
    import asyncio

    from studio.agent.chat_files import read_file

    engine, console = await context.engine(), context.console
    importer = _Importer(engine, options, console)
    code = DONE
    for path in options.files:
        try:
            found = await asyncio.to_thread(read_file, path)
        except ValueError as error:
            console.say(f"{path}: {str(error).rstrip('.')}. Nothing of it was imported.")
            code = USAGE
            continue
        for one in found:
            await importer.add(path, one)
    importer.report()
    return code


_SKIPPED = {"empty": "it is empty", "here": "it is here already"}


class _Importer:
    """Imports the conversations of one command, one after the other."""

    def __init__(self, engine: Engine, options: Namespace, console: Console) -> None:
        from studio.agent.chat_files import ChatImporter

        self._importer = ChatImporter(engine, "terminal")
        self._options = options
        self._console = console
        self._rows: list[dict[str, str]] = []

    async def add(self, path: Path, one: PortableConversation) -> None:
        found = await self._importer.check(one)
        title = found.title or "Without a title"
        skipped = _SKIPPED.get(found.state, "")
        session_id = found.session_id
        if not skipped:
            session_id = await self._importer.add(found, self._options.folder)
        self._rows.append(
            {"file": str(path), "title": title, "session": session_id, "skipped": skipped}
        )
        if self._options.json:
            return
        if skipped:
            self._console.say(f"Skipped, because {skipped}: {title}")
        else:
            self._console.row(f"{session_id[:8]}  {title}")

    def report(self) -> None:
        """Print what was imported and what was skipped."""
        if self._options.json:
            self._console.write_json(self._rows)
            return
        taken = sum(not row["skipped"] for row in self._rows)
        left = len(self._rows) - taken
        self._console.say(
            f"{count_conversations(taken)} imported" + (f", {left:,} skipped" if left else "")
        )
