"""``agent-studio sessions undo`` and ``redo``: a turn's changes of files."""

from __future__ import annotations

import argparse

from studio.agent.studio import Engine
from studio.domain.blocks import FilesBlock
from studio.domain.codec import encode_event
from studio.domain.errors import ConfigurationError

from .console import Console
from .exits import DONE, USAGE


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
