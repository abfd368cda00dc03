"""``agent-studio import``: makes sessions of conversations in files."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
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

    from studio.agent.chat_files import ImportFile

    engine, console = await context.engine(), context.console
    importer = _Importer(engine, options, console)
    code = DONE
    for path in options.files:
        file = ImportFile(path)
        try:
            await asyncio.to_thread(file.check)  # whole, before any of it is taken
            conversations = file.read()
            while one := await asyncio.to_thread(next, conversations, None):
                await importer.add(path, one)
        except ValueError as error:
            console.say(f"{path}: {str(error).rstrip('.')}. Nothing of it was imported.")
            code = USAGE
            continue
        importer.left(path, file.left)
    importer.report()
    return code


_SKIPPED = {"empty": "it is empty", "here": "it is here already"}


MOST_NAMED = 20
"""Things that are not taken and named in one line."""


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


class _Importer:
    """Imports the conversations of one command, one after the other."""

    def __init__(self, engine: Engine, options: Namespace, console: Console) -> None:
        from studio.agent.chat_files import ChatImporter

        self._importer = ChatImporter(engine, "terminal")
        self._options = options
        self._console = console
        self._rows: list[dict[str, object]] = []

    async def add(self, path: Path, one: PortableConversation) -> None:
        found = await self._importer.check(one)
        title = found.title or "Without a title"
        skipped = "you went on with it here" if found.went_on else _SKIPPED.get(found.state, "")
        session_id = found.session_id
        if not skipped:
            session_id = await self._importer.add(found, self._options.folder)
        missing = found.left_out
        row = {"file": str(path), "title": title, "session": session_id, "skipped": skipped}
        row["replaces"] = found.replaces
        self._rows.append({**row, "left_out": list(missing), "not_taken": []})
        if self._options.json:
            return
        if skipped:
            self._console.say(f"Skipped, because {skipped}: {title}")
        else:
            self._console.row(f"{session_id[:8]}  {title}")
            if found.replaces:
                self._console.say(f"Its earlier state, {found.replaces[:8]}, is in the bin now.")
            if missing:
                self._console.say(f"Not in {title}: {_some(missing)}")

    def left(self, path: Path, names: Sequence[str]) -> None:
        """Print which files of an archive were not taken; in JSON that is a row of its own."""
        if names and self._options.json:
            row = {"file": str(path), "title": "", "session": "", "skipped": "", "replaces": ""}
            self._rows.append({**row, "left_out": [], "not_taken": list(names)})
        elif names:
            self._console.say(f"Not taken from {path.name}: {_some(names)}")

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
