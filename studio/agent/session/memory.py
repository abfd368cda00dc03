"""Memory of a chat: tells the titles of notes once, and what a note is made from (W-42, W-43)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from studio.agent.permission.content_filter import ContentFilter
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.prompts import NOTE_TITLES, NOTE_TITLES_OF_AGENTS, NOTE_TITLES_YOURS
from studio.domain.agents import Agent
from studio.domain.blocks import ToolBlock, TranscriptBlock, UserBlock
from studio.domain.events import Event, Told, Topic
from studio.domain.tools import ToolSpec
from studio.tools import Tool
from studio.tools.memory.note import MOST_SOURCES, Source, Trust
from studio.tools.memory.note_index import Entry
from studio.tools.memory.notes import Notes

from .orientation import BYTES_PER_TOKEN, filtered

MOST_TITLES = 50
MOST_TOKENS = 1_500
LIST = "note list"


class NoteTitles:
    """Tells the model of one turn the titles of the notes that it may trust.

    ``record`` receives what the session is exposed to by that.
    """

    def __init__(
        self,
        agent: Agent,
        notes: Notes,
        guard: ExfiltrationGuard,
        content_filter: ContentFilter,
        record: Callable[[Event], None],
    ) -> None:
        self._wanted = agent.memory != "off" and agent.trusted and not agent.bare
        self._notes = notes
        self._guard = guard
        self._filter = content_filter
        self._record = record

    async def untold(self, told: Mapping[Topic, str]) -> list[Told]:
        """The note for a new history; ``told`` are the last notes by topic."""
        if not self._wanted or "memory" in told:
            return []
        entries = fitting(await asyncio.to_thread(self._notes.titles, MOST_TITLES))
        if not entries:
            return []
        text = await filtered(lambda: self._masked(_list(entries)))
        if not text:
            return []
        for exposed in self._guard.inherited_exposures({"private": LIST}):
            self._record(exposed)
        return [Told("memory", text, tuple((one.name, one.trust) for one in entries))]

    def _masked(self, text: str) -> str:
        return self._filter.mask(text) if self._filter.own else text


def fitting(entries: Sequence[Entry]) -> list[Entry]:
    """As many of the titles, from the first on, as there is room for."""
    room, kept = MOST_TOKENS, list[Entry]()
    for one in entries[:MOST_TITLES]:
        room -= title_tokens(one)
        if room < 0:
            break
        kept.append(one)
    return kept


def title_tokens(entry: Entry) -> int:
    """Tokens of a title in a prompt, by a careful estimate."""
    return len(_line(entry).encode("utf-8", "replace")) // BYTES_PER_TOKEN + 1


def _line(entry: Entry) -> str:
    title = escape_line(entry.title.replace("<", "‹").replace(">", "›"), most=100)
    return f"- {entry.name} ({entry.kind}): {title}"


def _list(entries: Sequence[Entry]) -> str:
    yours = [_line(one) for one in entries if one.trust == "yours"]
    others = [f"> {_line(one)}" for one in entries if one.trust != "yours"]
    parts = [NOTE_TITLES_YOURS.format(lines="\n".join(yours))] if yours else []
    parts += [NOTE_TITLES_OF_AGENTS.format(lines="\n".join(others))] if others else []
    return NOTE_TITLES.format(notes="\n".join(parts))


def last_turn(blocks: Sequence[TranscriptBlock]) -> str:
    """The id of the turn that runs."""
    return next((one.turn_id for one in reversed(blocks) if isinstance(one, UserBlock)), "")


def made_from(
    blocks: Sequence[TranscriptBlock], tools: Mapping[str, Tool], *, trusted: bool
) -> list[Source]:
    """What a note is made from that is written now: the last words said and the calls since.

    ``trusted``: the person trusts the folder, so that its files are theirs.
    """
    found: list[Source] = []
    for block in reversed(blocks):
        if isinstance(block, UserBlock):
            if not block.steered:
                said = escape_line(block.text, most=100)
                found.append(Source("message", said, "agent" if block.by_agent else "yours"))
                break
        elif isinstance(block, ToolBlock) and block.finished and block.started:
            tool = tools.get(block.name)
            if tool is not None and tool.spec.effect != "note":
                trust = _trust(tool.spec, trusted=trusted)
                names = block.sources or (block.target or block.name,)
                what = "command" if trust == "agent" else "page" if trust == "strangers" else "file"
                found += [Source(what, escape_line(one, most=100), trust) for one in names[:3]]
    return list(dict.fromkeys(reversed(found)))[-MOST_SOURCES:]


def _trust(spec: ToolSpec, *, trusted: bool) -> Trust:
    if spec.untrusted or spec.server or spec.effect == "fetch":
        return "strangers"
    if spec.effect == "act":
        return "agent"
    return "yours" if trusted else "strangers"
