"""``agent-studio drafts edit``: changes a draft in the person's editor (T-5)."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path, PurePosixPath

from studio.agent.engine import Engine
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.sessions import DraftEntry
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.workspace.text_files import read_whole

from .console import Console
from .drafts_merge import decode_own_text, read_own_text, redraft, report_draft, require_text
from .exit_codes import DONE
from .terminal_io import on_signals

UNCHANGED = "The text is the same. Nothing was changed."


async def edit(
    engine: Engine, entry: DraftEntry, options: argparse.Namespace, console: Console
) -> int:
    """Give a draft another text. The draft still waits, and nothing is written.

    If its file changed meanwhile, the merged text is edited and the draft is made again.
    """
    session = await engine.sessions.open(entry.session_id)
    draft = session.drafts.get(entry.draft_id)
    if draft is None or draft.status not in ("waiting", "conflict"):
        raise ConfigurationError("This draft is decided already.")
    require_text(draft)
    conflict = await session.conflict(draft.id) if draft.status == "conflict" else None
    text = conflict.merge.text if conflict and conflict.merge else draft.describe().after
    if options.source is not None:
        edited = await read_own_text(options.source, text)
        made = None if edited == text else await _keep(engine, entry, conflict, edited)
    elif console.interactive:
        made = await _in_editor(engine, entry, conflict, text)
    else:
        raise ConfigurationError("An editor needs a terminal. Where none is: --from FILE")
    if made is None:
        console.say(UNCHANGED)
    else:
        await report_draft(engine, entry, made, "Edited", options, console)
    return DONE


async def _keep(engine: Engine, entry: DraftEntry, conflict: Conflict | None, text: str) -> Draft:
    """Store the text in the draft; raises if another program decided about it meanwhile."""
    session = await engine.sessions.open(entry.session_id)
    if conflict is not None:
        return await redraft(session, conflict, text)
    return await session.edit_draft(entry.draft_id, text)


async def _in_editor(
    engine: Engine, entry: DraftEntry, conflict: Conflict | None, text: str
) -> Draft | None:
    """Edit the text and store it in the draft; None if it did not change.

    A text that cannot be stored stays in its file, which the error names.
    """
    editor = _editor()
    written = re.sub(r"\r\n|\r", "\n", text).encode()
    path = await asyncio.to_thread(_file, entry, written)
    kept = False
    try:
        await _run([*editor, str(path)], engine.environment())
        data = await asyncio.to_thread(read_whole, path, str(path))
        if data == written:
            return None
        kept = True
        edited = await asyncio.to_thread(decode_own_text, data, str(path), text)
        made = await _keep(engine, entry, conflict, edited)
        kept = False
        return made
    except StudioError as error:
        if not kept:
            raise
        raise ConfigurationError(f"{error} Your text is kept in {path}") from error
    finally:
        if not kept:
            await asyncio.to_thread(shutil.rmtree, path.parent, ignore_errors=True)


def _editor() -> list[str]:
    words = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        argv = [word.strip('"') for word in shlex.split(words, posix=sys.platform != "win32")]
    except ValueError:
        raise ConfigurationError(f"The editor “{words}” has a quote without its end.") from None
    if not argv:
        raise ConfigurationError("No editor is set. Set VISUAL or EDITOR, or use --from FILE.")
    return argv


def _file(entry: DraftEntry, data: bytes) -> Path:
    """Write the text to a new folder that nobody else can read.

    The file has only the suffix of the draft's name: some editors obey certain names.
    """
    kind = PurePosixPath(entry.target or entry.path).suffix
    name = f"draft{kind}" if re.fullmatch(r"\.\w{1,12}", kind, re.ASCII) else "draft.txt"
    path = Path(tempfile.mkdtemp(prefix="agent-studio-")) / name
    path.write_bytes(data)
    return path


async def _run(argv: list[str], environment: dict[str, str]) -> None:
    """Run the editor; raises ConfigurationError if it fails."""
    # Ctrl-C is the editor's. Standard output may be piped; the terminal is at standard error.
    with on_signals({"SIGINT": lambda: None}):
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdout=sys.stderr, env=environment
            )
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ConfigurationError(f"The editor {argv[0]} cannot be started: {why}.") from error
        code = await process.wait()
    if code:
        raise ConfigurationError(f"The editor ended with code {code}. Nothing was changed.")
