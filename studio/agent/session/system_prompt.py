"""The system prompt: composes it, and the notes to the model when a part of it changes.

The system prompt and the tools of a history never change, because providers bind and
cache what comes first (H-9). When the mode, the instructions or the tools change, a note is
appended instead; a new history repeats the notes. Nothing of a folder or a day is in them, so
that a provider's cache serves all chats with one agent (C-17).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from studio.agent.prompts import CLIENT_INSTRUCTIONS, HOUSE, MODE_NOTES
from studio.domain.agents import Agent, PermissionMode
from studio.domain.events import Told, Topic


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The instructions of a turn and what may change in them.

    ``tools`` are the ones that may be used.
    """

    mode: PermissionMode
    instructions: str
    tools: frozenset[str]

    def untold(self, told: Mapping[Topic, str], system: str, frozen: Iterable[str]) -> list[Told]:
        """The notes to a model that has this system prompt and the ``frozen`` tools.

        ``told`` are the last notes by topic.
        """
        news: list[Told] = []

        def tell(topic: Topic, text: str, known: bool) -> None:
            if told.get(topic) != text and not (known and topic not in told):
                news.append(Told(topic, text))

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


def instructions(agent: Agent, client: str) -> str:
    """The agent's instructions with what holds in the program, and a client's after them (S-1)."""
    if agent.bare:
        return client
    own = f"{agent.prompt}\n\n{HOUSE}"
    return f"{own}\n\n{CLIENT_INSTRUCTIONS.format(text=client)}" if client else own
