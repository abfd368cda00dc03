"""Drafts with another text: the person's own, edited or merged with a changed file (T-5)."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.drafts import Draft
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.sessions import DraftEntry
from studio.tools.drafts.draft_conflict import Conflict
from studio.tools.drafts.three_way_merge import OURS, THEIRS, with_line_ends
from studio.tools.workspace.encodings import decode
from studio.tools.workspace.text_files import read_whole

from .console import Console, on_signals, read_stdin
from .drafts import diff_lines
from .exit_codes import DONE

UNCHANGED = "The text is the same. Nothing was changed."


@dataclass(frozen=True, slots=True)
class DraftEdit:
    """Gives one draft another text, as the ``options`` of a command say."""

    engine: Engine
    entry: DraftEntry
    options: argparse.Namespace
    console: Console

    async def resolve(self) -> int:
        """Make a draft again on top of its file as it is now. Nothing is written yet."""
        session = await self.engine.sessions.open(self.entry.session_id)
        conflict = await session.review.conflict(self.entry.draft_id)
        if conflict.draft.status != "conflict":
            raise ConfigurationError(
                "The file did not change. Approve, edit or discard this draft."
            )
        if self.options.use == "file":
            await session.review.decide(self.entry.draft_id, "discard")
            self.console.say(f"Discarded: {self.entry.place}")
            if self.options.json:
                await self._write_entry(self.entry.draft_id)
            return DONE
        if self.options.use is None:
            _require_text(conflict.draft)
            drafted, theirs = conflict.draft.describe().after, conflict.theirs
            original = drafted if theirs is None else theirs
            text = await _read_own_text(self.options.source, original)
        else:
            text = _merged(conflict) if self.options.use == "merged" else _drafted(conflict)
        made = await _redraft(session, conflict, text)
        await self._report(made, "Drafted anew")
        return DONE

    async def edit(self) -> int:
        """Give a draft another text. The draft still waits, and nothing is written.

        If its file changed meanwhile, the merged text is edited and the draft is made again.
        """
        session = await self.engine.sessions.open(self.entry.session_id)
        draft = session.drafts.get(self.entry.draft_id)
        if draft is None or draft.status not in ("waiting", "conflict"):
            raise ConfigurationError("This draft is decided already.")
        _require_text(draft)
        conflict = await session.review.conflict(draft.id) if draft.status == "conflict" else None
        text = conflict.merge.text if conflict and conflict.merge else draft.describe().after
        if self.options.source is not None:
            edited = await _read_own_text(self.options.source, text)
            made = None if edited == text else await self._keep(conflict, edited)
        elif self.console.interactive:
            made = await self._in_editor(conflict, text)
        else:
            raise ConfigurationError("An editor needs a terminal. Where none is: --from FILE")
        if made is None:
            self.console.say(UNCHANGED)
        else:
            await self._report(made, "Edited")
        return DONE

    async def _keep(self, conflict: Conflict | None, text: str) -> Draft:
        """Store the text in the draft; raises if another program decided about it meanwhile."""
        session = await self.engine.sessions.open(self.entry.session_id)
        if conflict is not None:
            return await _redraft(session, conflict, text)
        return await session.review.edit(self.entry.draft_id, text)

    async def _in_editor(self, conflict: Conflict | None, text: str) -> Draft | None:
        """Edit the text and store it in the draft; None if it did not change.

        A text that cannot be stored stays in its file, which the error names.
        """
        editor = editor_command("or use --from FILE")
        written = re.sub(r"\r\n|\r", "\n", text).encode()
        path = await asyncio.to_thread(_file, self.entry, written)
        kept = False
        try:
            await run_editor([*editor, str(path)], self.engine.environment())
            data = await asyncio.to_thread(read_whole, path, str(path))
            if data == written:
                return None
            kept = True
            edited = await asyncio.to_thread(_decode_own_text, data, str(path), text)
            made = await self._keep(conflict, edited)
            kept = False
            return made
        except StudioError as error:
            if not kept:
                raise
            raise ConfigurationError(f"{error} Your text is kept in {path}") from error
        finally:
            if not kept:
                await asyncio.to_thread(shutil.rmtree, path.parent, ignore_errors=True)

    async def _report(self, made: Draft, done: str) -> None:
        """Print what a draft has become, and how to approve it."""
        about = made.describe()
        counts, _ = await asyncio.to_thread(diff_lines, about.before or "", about.after)
        self.console.say(f"{done}: {about.label}" + (f" ({counts})" if about.rewrites else ""))
        if self.options.json:
            await self._write_entry(made.id)
        else:
            self.console.say(f"It waits for you: agent-studio drafts approve {made.id[:8]}")

    async def _write_entry(self, draft_id: str) -> None:
        """Print a draft as JSON, in the form that ``list`` has."""
        for done in (False, True):
            for found in await self.engine.store.drafts(self.entry.session_id, done=done):
                if found.draft_id == draft_id:
                    self.console.write_json(asdict(found))


async def _redraft(session: Session, conflict: Conflict, text: str | None) -> Draft:
    """Make the draft with another text on the file of ``conflict``; raises ConfigurationError."""
    merge = conflict.merge
    if merge is not None and merge.conflicts and text is not None:
        lines = text.splitlines()
        if THEIRS in lines or OURS in lines:
            raise ConfigurationError(
                f"The text still has both sides between “{THEIRS}” and “{OURS}”. Leave one of them."
            )
    return await session.review.resolve(conflict.draft.id, text, conflict)


async def _read_own_text(source: Path, original: str) -> str:
    """Read the person's own text from a file or, for ``-``, from standard input.

    Lines that did not change keep the line ends of ``original``. Raises ToolFailed if
    the file is not text.
    """
    name = str(source)
    if name == "-":
        data, name = await read_stdin(), "Standard input"
    else:
        data = await asyncio.to_thread(read_whole, source, name)
    return await asyncio.to_thread(_decode_own_text, data, name, original)


def _decode_own_text(data: bytes, name: str, original: str) -> str:
    """Decode what an editor saved; raises ToolFailed if it is not text."""
    text, _ = decode(data, name)
    if not original:
        return text
    return with_line_ends(re.sub(r"\r\n|\r", "\n", text), original)


def _require_text(draft: Draft) -> None:
    """Raises ConfigurationError for a draft that has no text to change."""
    about = draft.describe()
    if about.action == "delete":
        raise ConfigurationError(f"This draft deletes a {about.noun}. There is no text to edit.")
    if not about.editable:
        raise ConfigurationError(f"{about.name} is no text file.")


def _merged(conflict: Conflict) -> str:
    merge, draft = conflict.merge, conflict.draft
    if merge is None:
        raise ConfigurationError(
            f"There is no merged text of {draft.describe().name}. "
            "Use the draft or the file, or your own text."
        )
    if merge.conflicts:
        raise ConfigurationError(
            "Both changed the same lines. Decide between them: "
            f"agent-studio drafts edit {draft.id[:8]}"
        )
    return merge.text


def _drafted(conflict: Conflict) -> str | None:
    """The draft's own text; None for a deletion or a plain move."""
    about = conflict.draft.describe()
    kept = conflict.ours is None or (about.action == "move" and not about.rewrites)
    return None if kept else about.after


def command_words(line: str) -> list[str]:
    """The words of a command line as the system's shell takes them apart; raises ValueError."""
    if sys.platform == "win32":  # where a backslash is part of a path
        return [word.strip('"') for word in shlex.split(line, posix=False)]
    return shlex.split(line)


def editor_command(otherwise: str) -> list[str]:
    """The person's editor; ConfigurationError where none is set says what to do ``otherwise``."""
    words = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        argv = command_words(words)
    except ValueError:
        raise ConfigurationError(f"The editor “{words}” has a quote without its end.") from None
    if not argv:
        raise ConfigurationError(f"No editor is set. Set VISUAL or EDITOR, {otherwise}.")
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


async def run_editor(argv: list[str], environment: dict[str, str]) -> None:
    """Run the editor; raises ConfigurationError if it fails. It ends with a cancelled caller."""
    # Ctrl-C is the editor's. Standard output may be piped; the terminal is at standard error.
    with on_signals({"SIGINT": lambda: None}):
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdout=sys.stderr, env=environment
            )
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise ConfigurationError(f"The editor {argv[0]} cannot be started: {why}.") from error
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()
    if code:
        raise ConfigurationError(f"The editor ended with code {code}. Nothing was changed.")
