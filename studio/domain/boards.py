"""Boards: what agents of one run or chat keep for one another (W-40)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from studio.domain.records import dataclass

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
class BoardAuthor:
    """Who writes on a board: an agent in a session, and what strangers' text it has read.

    ``call`` is the id of the call that writes.
    """

    session: str
    agent: str
    stranger: str = ""
    call: str = ""
