"""Sessions: describes the rows of the lists of sessions and drafts, and makes titles."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import islice
from typing import Literal, TypeAlias

from studio.domain.records import dataclass

from .agents import NO_CAPS, Caps, PermissionMode
from .drafts import DraftAction, DraftStatus, draft_label
from .messages import File, Message, Said, Text
from .models import Effort

Origin: TypeAlias = Literal["window", "terminal", "server", "editor"]
"""The user interface in which a session was begun."""
CallerKind: TypeAlias = Literal["session", "run"]
TitledBy: TypeAlias = Literal["", "model", "person"]
"""Who gave a session its title; nobody where it is the first line."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who began a session that is no chat: a call in a session's turn, or a step of a run.

    ``id`` is the session's or the run's, ``part`` the call's or the step's.
    """

    kind: CallerKind
    id: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One row of the list of sessions. Times are seconds since the epoch.

    ``state`` is the state of the last turn: ``idle`` before the first, ``running``,
    ``waiting`` for the person, or its ``CompletionReason``. ``effort`` is None for the
    default of the agent or the model. ``parent`` is the session
    that this one was branched from. ``caps`` are the person's for this session.
    ``model_chosen``: the person chose the model, so routing does not change it (L-13).
    ``instructions`` come from a client of the server, in addition to the agent's (S-1).
    ``archived`` is out of the list of chats, ``pinned`` on top of it; ``group_name`` is the
    person's group of chats, empty for none. ``deleted`` is when it was put in the bin, 0 if it
    is not there. The versions of one chat have the same ``family``, empty where there is only
    one; lists leave out those that are ``behind``. One with a ``caller`` is no chat: no list has
    it, and it goes with its caller. ``subject`` is what the chat is about, as a pack writes it
    (KZ-3); those that it begins are about the same.
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
    archived: bool = False
    pinned: bool = False
    group_name: str = ""
    titled_by: TitledBy = ""
    deleted: float = 0.0
    family: str = ""
    behind: bool = False
    caller: Caller | None = None
    subject: str = ""


def one_of_each_chat(infos: Sequence[SessionInfo]) -> list[SessionInfo]:
    """Of each chat the version that waits for the person, else the one that was seen last."""
    chosen: dict[str, SessionInfo] = {}
    for info in infos:
        known = chosen.get(info.family)
        if known is None or _rank(info) < _rank(known):
            chosen[info.family] = info
    return [info for info in infos if not info.family or chosen[info.family] is info]


def _rank(info: SessionInfo) -> tuple[bool, bool]:
    return info.state != "waiting", info.behind


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of a message or an answer: sessions that have them, oldest first.

    ``shown`` is the place of the one in the session that was asked about.
    """

    sessions: tuple[str, ...]
    shown: int

    def beside(self, step: int) -> str:
        """The session with the version before (-1) or after (1) the shown one; empty for none."""
        at = self.shown + step
        return self.sessions[at] if 0 <= at < len(self.sessions) else ""


@dataclass(frozen=True, slots=True)
class TurnVersions:
    """The versions of the message of a turn, and of the answer to it."""

    turn_id: str
    message: Versions
    answer: Versions


@dataclass(frozen=True, slots=True)
class SessionListing:
    """What a list of chats shows: of long ones the beginning.

    ``archived`` is how many are in the archive, listed or not; ``more`` says that others,
    older ones, are not listed. ``elsewhere`` are the listed ones in which other programs work.
    """

    infos: Sequence[SessionInfo]
    archived: int
    more: bool
    elsewhere: Set[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DraftEntry:
    """One row of the list of drafts. Times are seconds since the epoch.

    ``title``, ``agent`` and ``folder`` are the session's; ``resolved`` is None while the
    draft is open. ``path`` is the name of what it changes, ``noun`` what that is.
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
    noun: str = "file"

    @property
    def place(self) -> str:
        """The path, and the new path of a moved file; see ``draft_label``."""
        return draft_label(self.path, self.target)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session that matches a search, with one matching line.

    ``kind`` is ``title`` or what the line is of: ``said``, ``answer``, ``reasoning``, ``call``,
    ``result``, ``question``, ``reply`` or ``draft``. ``at`` is when it was said, in seconds since
    the epoch.
    """

    session_id: str
    title: str
    line: str
    kind: str
    agent: str = ""
    at: float = 0.0


MAX_TITLE_LENGTH = 60
"""Characters."""
_WORD = re.compile(r"\S+")


def title_of(said: Sequence[Said]) -> str:
    """The title of a session from its first message, without the marks of markdown's code."""
    texts = (part.text for part in said if isinstance(part, Text))
    found = (
        word for text in texts for one in _WORD.finditer(text) if (word := one[0].replace("`", ""))
    )
    words = list(islice(found, MAX_TITLE_LENGTH))  # no more are seen, and there may be millions
    if not words:
        words = [_name_of(part) for part in said]
    title = " ".join(words)
    if len(title) <= MAX_TITLE_LENGTH:
        return title
    return title[: MAX_TITLE_LENGTH - 1].rsplit(" ", 1)[0] + "…"


def _name_of(part: Said) -> str:
    if isinstance(part, Text):
        return part.text.strip()  # nothing, or marks alone
    return part.name if isinstance(part, File) else "Picture"


def title_from_messages(messages: Sequence[Message]) -> str:
    """The title of a conversation from its first user message; empty if it has none."""
    first = next((one.blocks for one in messages if one.role == "user"), ())
    said = [block for block in first if isinstance(block, Text | File)]
    return title_of(said) if said else ""
