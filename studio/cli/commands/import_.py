"""``agent-studio import``: makes sessions of conversations in files."""

from __future__ import annotations

from argparse import Namespace
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import StudioError

from .export import count_conversations

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.import_export import PortableConversation
    from studio.cli.console import Console

LARGEST = 500_000_000
"""The most bytes of a file."""


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Make a session of each conversation in a file: what export wrote, conversations.json of "
        "ChatGPT or Claude, or a list of messages with role and content. What is here already is "
        "skipped. Of a file with a mistake nothing is taken."
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON files")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the folder they go on in")
    parser.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: Namespace) -> int:
    """Make a session of each conversation in the files; nothing of a bad file is taken."""
    import asyncio

    engine, console = await context.engine(), context.console
    importer = _Importer(engine, options, console)
    code = DONE
    for path in options.files:
        try:
            found = await asyncio.to_thread(_read, path)
        except ValueError as error:
            console.say(f"{path}: {str(error).rstrip('.')}. Nothing of it was imported.")
            code = USAGE
            continue
        for one in found:
            await importer.add(path, one)
    importer.report()
    return code


class _Importer:
    """Imports the conversations of one command, one after the other."""

    def __init__(self, engine: Engine, options: Namespace, console: Console) -> None:
        from studio.storage.sessions.idempotency import ImportLog

        self._engine = engine
        self._options = options
        self._console = console
        self._imports = ImportLog(engine.database)
        self._rows: list[dict[str, str]] = []

    async def add(self, path: Path, one: PortableConversation) -> None:
        import asyncio

        title = " ".join(one.title.split()) or "Without a title"
        digest = await asyncio.to_thread(lambda: one.digest)
        skipped, session_id = "", await self._imports.session(digest)
        if not one.messages:
            skipped = "it is empty"
        elif session_id or await self._engine.store.get(one.id):
            skipped, session_id = "it is here already", session_id or one.id
        else:
            session_id = await self._create(one, digest)
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

    async def _is_known_folder(self, folder: Path) -> bool:
        """Whether a session already works in this folder.

        Another person's file could name any folder, and agents may read theirs.
        """
        if not folder.is_absolute() or not folder.is_dir():
            return False
        return str(folder) in {info.folder for info in await self._engine.sessions.list()}

    async def _create(self, one: PortableConversation, digest: str) -> str:
        import asyncio

        from studio.providers.registry import PROVIDER_TITLES

        engine = self._engine
        folder = self._options.folder or Path(one.folder or ".")
        if not self._options.folder and not await self._is_known_folder(folder):
            folder = await asyncio.to_thread(engine.own_folder)
        agents = await engine.agents()
        agent = agents.get(one.agent)
        choice = await engine.choose(
            agent=agent.name if agent is not None else "",
            provider=one.provider if one.provider in PROVIDER_TITLES else "",
            model=one.model if one.provider in PROVIDER_TITLES else "",
            folder=folder,
        )
        session = await engine.sessions.create(
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
            with suppress(StudioError):  # no half-imported session stays
                await engine.sessions.delete(session.info.id)
            raise
        return session.info.id


def _read(path: Path) -> list[PortableConversation]:
    from studio.agent.session.import_formats import read_conversations
    from studio.domain.jsonvalue import is_clean_json
    from studio.domain.messages import ToolCall

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
