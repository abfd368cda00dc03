"""Sessions: describe a saved conversation with its folder, agent, model and title."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from .agents import NO_CAPS, Caps, PermissionMode
from .drafts import DraftAction, DraftStatus, draft_label
from .messages import File, Message, Said, Text
from .models import Effort

Origin: TypeAlias = Literal["window", "terminal", "server", "editor"]
"""The door through which a session was begun."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One row of the list of sessions. Times are seconds since the epoch.

    ``state`` is what the last turn came to: ``idle`` before any, ``running``,
    ``waiting`` for the person, or its ``CompletionReason``. ``effort`` is None
    where the agent's or the model's own default holds. ``parent`` is the session
    that this one was branched from. ``caps`` are the person's for this session.
    ``model_chosen``: the person chose its model, so no routing changes it (L-13).
    ``instructions`` are a client's, in addition to the agent's own (S-1).
    """

    id: str
    title: str
    folder: str
    agent: str
    provider: str
    model: str
    permission_mode: PermissionMode
    created: float
    updated: float
    state: str = "idle"
    unread: bool = False
    effort: Effort | None = None
    parent: str = ""
    caps: Caps = NO_CAPS
    model_chosen: bool = False
    origin: Origin = "window"
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class DraftEntry:
    """One row of the list of drafts. Times are seconds since the epoch.

    ``title``, ``agent`` and ``folder`` are the session's; ``resolved`` is None
    as long as nothing became of the draft.
    """

    session_id: str
    title: str
    agent: str
    folder: str
    draft_id: str
    path: str
    action: DraftAction
    target: str
    status: DraftStatus
    detail: str
    created: float
    resolved: float | None = None

    @property
    def place(self) -> str:
        """See ``draft_label``."""
        return draft_label(self.path, self.target)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One session that says what was searched for, with one matching line."""

    session_id: str
    title: str
    line: str
    kind: str


MAX_TITLE_LENGTH = 60
"""Characters."""
_WORD = re.compile(r"\S+")


def title_of(said: Sequence[Said]) -> str:
    """What a chat is called that begins so."""
    texts = (part.text for part in said if isinstance(part, Text))
    found = (word[0] for text in texts for word in _WORD.finditer(text))
    words = list(
        islice(found, MAX_TITLE_LENGTH)
    )  # more could not be seen, and there may be millions
    if not words:
        words = [part.name if isinstance(part, File) else "Picture" for part in said]
    title = " ".join(words)
    return (
        title
        if len(title) <= MAX_TITLE_LENGTH
        else title[: MAX_TITLE_LENGTH - 1].rsplit(" ", 1)[0] + "…"
    )


def title_from_messages(messages: Sequence[Message]) -> str:
    """The same for a conversation, by its first words; empty where there are none."""
    first = next((one.blocks for one in messages if one.role == "user"), ())
    said = [block for block in first if isinstance(block, Text | File)]
    return title_of(said) if said else ""
