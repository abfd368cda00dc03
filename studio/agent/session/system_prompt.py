"""The system prompt: composes it, and the notes to the model when a part of it changes.

It is the agent's own file, then the rules of the house, what is said to the model's family alone,
and what a client adds (C-23). The system prompt and the tools of a history never change, because
providers bind and cache what comes first (H-9). When the mode, the instructions or the tools
change, a note is appended instead; a new history repeats the notes. Nothing of a folder or a day
is in them, so that a provider's cache serves all chats with one agent (C-17).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from studio.agent.models.family import ModelFamily
from studio.agent.prompts import (
    CLIENT_INSTRUCTIONS,
    FAMILY_PARTS,
    HOUSE,
    INSTRUCTIONS_CHANGED,
    MATERIAL,
    MODE_NOTES,
    PROGRESS,
    TOOLS_BACK,
    TOOLS_GONE,
    Needs,
)
from studio.domain.agents import Agent, PermissionMode
from studio.domain.events import Told, Topic
from studio.domain.records import dataclass
from studio.domain.tools import APPLY_PATCH, EDIT, RUN

_CHANGING = frozenset({"write", EDIT, APPLY_PATCH, "move", "delete"})
_EVERY = "*"


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The instructions of a turn and what may change in them.

    ``tools`` are the ones that may be used. ``other_length`` are the same instructions as they
    would be in a larger window, or a smaller one: a model that was told these needs no note.
    """

    mode: PermissionMode
    instructions: str
    other_length: str
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
        lengths = (self.instructions, self.other_length)
        notes = [INSTRUCTIONS_CHANGED.format(instructions=one) for one in lengths]
        if told.get("instructions") not in notes:
            tell("instructions", notes[0], any(map(system.startswith, lengths)))
        gone = sorted(set(frozen) - self.tools)
        missing = TOOLS_GONE.format(names=", ".join(gone))
        tell("tools", missing if gone else TOOLS_BACK, not gone)
        return news


def instructions(agent: Agent, client: str, family: ModelFamily, *, brief: bool) -> str:
    """The agent's instructions, the rules of the house, and a client's words after them (S-1).

    ``brief`` is for a model with a small window.
    """
    if agent.bare:
        return client
    parts = [agent.prompt]
    if agent.tools:
        parts += [_house(agent, family, brief=brief), FAMILY_PARTS[family.part]]
    else:
        parts.append(MATERIAL)
    parts.append(CLIENT_INSTRUCTIONS.format(text=client) if client else "")
    return "\n\n".join(filter(None, parts))


def _house(agent: Agent, family: ModelFamily, *, brief: bool) -> str:
    able = _abilities(agent)
    rules = [rule for rule in HOUSE if rule.needs in able]
    rules = [rule for rule in rules if family.progress or rule.name != PROGRESS]
    return "\n".join(f"- {rule.brief if brief else rule.text}" for rule in rules)


def _abilities(agent: Agent) -> set[Needs]:
    """What the agent's tools can do, by its file: a mode or a window takes some away for a while,
    and that is a note of its own."""
    tools = set(agent.tools)
    able: set[Needs] = {"look"}
    if agent.role == "all" and tools & {RUN, _EVERY}:
        able |= {"change", "run"}  # a command changes files, too
    elif agent.role in ("all", "edits") and tools & {*_CHANGING, _EVERY}:
        able.add("change")
    return able
