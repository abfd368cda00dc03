"""Slash commands: what an editor's user can type after a slash, instead of a message."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    TextContentBlock,
    UnstructuredCommandInput,
)

from studio.agent.session.event_channel import EventEnvelope
from studio.agent.session.session import Session
from studio.domain.blocks import FilesBlock, UserBlock
from studio.domain.errors import StudioError
from studio.domain.events import FilesRestored, Notice, Summarised
from studio.domain.extensions import Extensions

from .prompt_blocks import Content

RETRY, DRAFTS = "retry", "drafts"
"""Commands that the agent carries out when there is something to do."""
HANDOFF = "handoff"
_COMMAND = re.compile(r"\s*/([a-z]+)\s*")
_HANDOFF = re.compile(rf"\s*/{HANDOFF}(?:\s+(\d+))?\s*")


@dataclass(frozen=True, slots=True)
class _Command:
    about: str
    work: Callable[[Session], Awaitable[str]]
    """Returns what the user is told."""


async def _compact(session: Session) -> str:
    told: list[str] = []

    def note(envelope: EventEnvelope) -> None:
        match envelope.event:
            case Notice():
                told.append(envelope.event.text)
            case Summarised():
                told.append("Earlier messages are summed up for the model.")
            case _:
                pass

    unsubscribe = session.subscribe(note)
    try:
        await session.context.summarise()
    finally:
        unsubscribe()
    return "\n\n".join(told)


async def _undo(session: Session) -> str:
    changed = [block.turn_id for block in _changes(session) if not block.undone]
    if not changed:
        return "No turn of this chat changed a file that can be undone."
    return _restored("Undone", await session.undo_turn(changed[-1]))


async def _redo(session: Session) -> str:
    undone = [block.turn_id for block in _changes(session) if block.undone]
    if not undone:
        return "Nothing was undone."
    return _restored("Done again", await session.redo_turn(undone[0]))


async def _retry(session: Session) -> str:
    said = any(isinstance(block, UserBlock) for block in session.transcript.blocks)
    return "" if said else "There is nothing to try again yet."


async def _drafts(session: Session) -> str:
    return "" if session.drafts.waiting() else "No draft waits for you."


_COMMANDS: dict[str, _Command] = {
    "compact": _Command("Sum up earlier messages for the model", _compact),
    "undo": _Command("Undo the changes of files of the last turn", _undo),
    "redo": _Command("Do them again", _redo),
    RETRY: _Command("Try the last message again", _retry),
    DRAFTS: _Command("Decide about drafts that wait", _drafts),
}


def available_commands(extensions: Extensions) -> list[AvailableCommand]:
    """The agent's own, and what the person and the folder have (K-5, K-7)."""
    own = [AvailableCommand(name=name, description=one.about) for name, one in _COMMANDS.items()]
    own.append(
        AvailableCommand(
            name=HANDOFF,
            description="Let the next agent go on, as this one's file says",
            input=AvailableCommandInput(UnstructuredCommandInput(hint="number")),
        )
    )
    return own + [
        AvailableCommand(
            name=one.name,
            description=one.description or one.name,
            input=AvailableCommandInput(UnstructuredCommandInput(hint=one.hint))
            if one.hint
            else None,
        )
        for one in extensions.by_hand
        if one.name not in (*_COMMANDS, HANDOFF)
    ]


def command_in(prompt: Sequence[Content]) -> str:
    """The command that a prompt is; empty for a message, also one that begins with a path."""
    if len(prompt) == 1 and isinstance(prompt[0], TextContentBlock):
        found = _COMMAND.fullmatch(prompt[0].text)
        if found and found[1] in _COMMANDS:
            return found[1]
    return ""


def handoff_in(prompt: Sequence[Content]) -> str | None:
    """The number of the handoff that a prompt takes, perhaps empty; None for all others."""
    if len(prompt) == 1 and isinstance(prompt[0], TextContentBlock):
        found = _HANDOFF.fullmatch(prompt[0].text)
        return (found[1] or "") if found else None
    return None


async def run_command(name: str, session: Session) -> str:
    """Run a command; returns what the user is told, also if it fails.

    Empty if there is nothing to tell, because the agent carries it out.
    """
    try:
        return await _COMMANDS[name].work(session)
    except StudioError as error:
        return str(error)


def _changes(session: Session) -> list[FilesBlock]:
    blocks = session.transcript.blocks
    return [block for block in blocks if isinstance(block, FilesBlock) and block.paths]


def _restored(what: str, files: FilesRestored) -> str:
    lines = [f"{what}: {path}" for path in files.paths]
    lines += [f"Left as it is, because it changed since: {path}" for path in files.left]
    return "\n\n".join(lines)
