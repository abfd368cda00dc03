"""Boards: what agents of one run or chat keep for one another (W-40)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.domain.records import dataclass
from studio.domain.sessions import Caller

TaskState: TypeAlias = Literal["open", "taken", "done"]


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """The text under a key. ``stranger`` names the text of strangers that its writer had read, and
    is empty for none; so it is in all that follows."""

    key: str
    version: int
    text: str
    by: str
    stranger: str = ""


@dataclass(frozen=True, slots=True)
class BoardMessage:
    number: int
    channel: str
    text: str
    by: str
    stranger: str = ""


@dataclass(frozen=True, slots=True)
class BoardTask:
    """A task for whichever agent takes it. ``taker`` is the agent that has it or did it, and
    ``result`` what that said at the end."""

    number: int
    text: str
    state: TaskState = "open"
    taker: str = ""
    result: str = ""
    stranger: str = ""


@dataclass(frozen=True, slots=True)
class BoardOverview:
    """All that is on a board, without old messages."""

    entries: tuple[BoardEntry, ...] = ()
    tasks: tuple[BoardTask, ...] = ()


@dataclass(frozen=True, slots=True)
class BoardSummary:
    """One board in a list: whose it is, with its title, and how much is on it.

    ``root`` is the session or the run; ``number`` that of the run, else 0.
    """

    root: Caller
    title: str
    number: int = 0
    entries: int = 0
    tasks: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class BoardAuthor:
    """Who writes on a board: an agent in a session, and what strangers' text it has read.

    ``call`` is the id of the call that writes.
    """

    session: str
    agent: str
    stranger: str = ""
    call: str = ""
