"""The system prompt: composes it, and the notes to the model when a part of it changes.

The system prompt and the tools of a history never change, because providers bind and
cache what comes first (H-9). When the date, the mode, the instructions or the tools
change, a note is appended instead; a new history repeats the notes.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.agent.prompts import CLIENT_INSTRUCTIONS, MODE_NOTES
from studio.domain.agents import Agent, PermissionMode
from studio.domain.events import Told, Topic


def dated(today: date) -> str:
    """``Sunday, 22 November 2026``, the same in every locale."""
    day = ("Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun")[today.weekday()]
    months = "January February March April May June July August September October November December"
    return f"{day}day, {today.day} {months.split()[today.month - 1]} {today.year}"


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The instructions of a turn and what may change in them.

    ``tools`` are the ones that may be used. ``today`` is None for an agent without
    instructions and tools: its model gets only what the person says.
    """

    today: date | None
    mode: PermissionMode
    instructions: str
    tools: frozenset[str]

    @property
    def system(self) -> str:
        """The system prompt of a history that begins now."""
        if self.today is None:
            return self.instructions
        return f"{self.instructions}\n\nThe conversation began on {dated(self.today)}."

    def untold(self, told: Mapping[Topic, str], system: str, frozen: Iterable[str]) -> list[Told]:
        """The notes to a model that has this system prompt and the ``frozen`` tools.

        ``told`` are the last notes by topic.
        """
        news: list[Told] = []

        def tell(topic: Topic, text: str, known: bool) -> None:
            if told.get(topic) != text and not (known and topic not in told):
                news.append(Told(topic, text))

        if self.today is not None:
            tell("date", f"Today is {dated(self.today)}.", dated(self.today) in system)
        tell("mode", MODE_NOTES[self.mode], self.mode == "ask")
        tell(
            "instructions",
            f"Your instructions have changed. They are now:\n\n{self.instructions}",
            system.startswith(self.instructions),
        )
        gone = sorted(set(frozen) - self.tools)
        missing = f"These tools cannot be used now: {', '.join(gone)}."
        tell("tools", missing if gone else "All tools may be used again.", not gone)
        return news


def instructions(agent: Agent, folder: Path, client: str) -> str:
    """The agent's instructions with its folder, and a client's after them (S-1)."""
    if agent.bare:
        return client
    system = {"darwin": "macOS", "win32": "Windows"}.get(sys.platform, platform.system())
    where = str(folder)
    if not where.isprintable():  # a stranger may have chosen it, with lines of their own
        where = escape_line(where, most=1_000)
    own = (
        f"{agent.prompt}\n\n"
        f"You work in the folder {where} on {system}. Paths are relative to it. "
        "Files you write or edit become drafts that the person approves; "
        "reading a file shows your draft of it."
    )
    return f"{own}\n\n{CLIENT_INSTRUCTIONS.format(text=client)}" if client else own
