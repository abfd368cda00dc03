"""The words of a story about a session: what is said, what comes back, what goes wrong.

A story is a list of steps; ``world.StoryRunner`` lives it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from studio.domain.messages import File, Image, Said
from studio.domain.messages import Text as Words
from studio.domain.permissions import Answer
from studio.simulator import Call, Fault, Pace, Text, Think, Turn, Usage
from support import sample_files

NAME = re.compile(r"[\w-]{1,64}", re.ASCII).fullmatch
QUICK = Pace(ttft=0.0, tokens_per_s=1e6)
LONG = "A long line of words that says nothing at all. " * 300


@dataclass(frozen=True)
class Reply:
    """What the model does with one request."""

    parts: tuple[Any, ...] = (Text("Done."),)
    stop: Any = None
    faults: tuple[Fault, ...] = ()
    usage: Usage | None = None

    def turn(self, api: str) -> Turn:
        """Clouds hold their models to well-formed names and ids; local ones write what they like."""
        parts = self.parts
        if api != "ollama":
            parts = tuple(
                replace(part, name="fly", id="")
                if isinstance(part, Call) and not NAME(part.name)
                else part
                for part in parts
            )
        odd = any(
            (isinstance(part, Call) and part.raw is not None)
            or (isinstance(part, Text) and not part.text.strip())
            for part in parts
        )
        if odd or any(fault.kind == "tool_json" for fault in self.faults):
            # Thoughts are bound to what comes before them, and this cannot be sent back.
            parts = tuple(sorted(parts, key=lambda part: not isinstance(part, Think)))
        faults = self.faults
        if any(isinstance(part, Think) for part in parts):
            # A thought of which a piece comes twice is not the one that was signed.
            faults = tuple(fault for fault in faults if fault.kind != "dup")
        return Turn(*parts, stop=self.stop, faults=faults, usage=self.usage, pace=QUICK)


Kind = Literal["words", "blank", "space", "long", "odd", "picture", "pdf", "note", "empty_note"]


@dataclass(frozen=True)
class Act:
    """What the person, or fate, does during a turn.

    At the ``nth`` event of the kind ``on`` (of any kind, where that is empty; 0
    is before any), and then ``later``: so many passes of the loop up to 10, beyond
    that milliseconds. "stalled" is when the answer on its way has come to a stall,
    "Asked" when a request has arrived, "AskedToSum" one for a summary.
    ``kind`` is what is said by who steers or queues.
    """

    what: Literal[
        "stop", "leave", "crash", "quit", "try_now", "steer", "queue", "unqueue", "approve", "undo"
    ]
    nth: int = 0
    on: str = ""
    later: int = 0
    kind: Kind = "words"


@dataclass(frozen=True)
class Say:
    """One turn. Nothing said is a retry; ``answer`` is given to every question.

    ``queued``: what is said is the oldest message that waits. ``summaries`` are
    the replies to requests for a summary.
    """

    said: tuple[Kind, ...] = ("words",)
    replies: tuple[Reply, ...] = ()
    acts: tuple[Act, ...] = ()
    answer: Answer | Literal["stop"] = "once"
    steps: int = 4
    seconds: float = 3.0
    mode: Literal["inline", "background"] = "background"
    queued: bool = False
    summaries: tuple[Reply, ...] = ()


@dataclass(frozen=True)
class Edit:
    """Edit and resend: a branch before one of the person's messages, and a turn there."""

    nth: int
    say: Say = Say()


@dataclass(frozen=True)
class Branch:
    """A branch of everything."""


@dataclass(frozen=True)
class Compact:
    """A new epoch with old results shortened."""


@dataclass(frozen=True)
class Switch:
    """Another provider, or another model of it."""

    provider: str
    model: int = 0


@dataclass(frozen=True)
class Change:
    """One of the session's settings."""

    name: Literal["permission_mode", "agent", "effort"]
    value: str | None


@dataclass(frozen=True)
class Preference:
    """One of the person's settings: a cap, the sandbox, what is masked."""

    name: str
    value: Any


@dataclass(frozen=True)
class Window:
    """The person says how much models read at once; 0 for what is known of them."""

    tokens: int


@dataclass(frozen=True)
class Day:
    """Tomorrow."""


@dataclass(frozen=True)
class Decide:
    """What becomes of the drafts that wait, together or one by one, or else of the last."""

    decision: Literal["approve", "discard", "undo"]
    together: bool = False


@dataclass(frozen=True)
class Rework:
    """The person writes a draft that waits, or solves the conflict of one, with this text."""

    text: str | None


@dataclass(frozen=True)
class Meddle:
    """Another hand writes a file, or deletes it."""

    path: str
    text: str | None


@dataclass(frozen=True)
class Restore:
    """A turn's changes of files are undone, or done again."""

    nth: int
    undo: bool = True


@dataclass(frozen=True)
class Trust:
    """The person trusts the folder's own files, or no longer."""

    on: bool = True


@dataclass(frozen=True)
class Summary:
    """The person has the beginning summed up, changes the summary, or drops it."""

    what: Literal["write", "edit", "undo"]
    nth: int = -1
    replies: tuple[Reply, ...] = ()
    stops: int | None = None
    """After so many passes of the loop the person thinks better of it."""


@dataclass(frozen=True)
class Pin:
    """A message is kept whole for the model, or no longer."""

    nth: int
    on: bool = True


@dataclass(frozen=True)
class Restart:
    """The program ends and is started again."""


@dataclass(frozen=True)
class Damage:
    """The program ends; before it is started again, a stored row is not what it was."""

    table: Literal["native", "transcript", "epochs"]
    how: Literal["changed", "unreadable", "gone"]
    row: int


Step = (
    Say
    | Edit
    | Branch
    | Compact
    | Switch
    | Change
    | Preference
    | Window
    | Day
    | Decide
    | Rework
    | Meddle
    | Restore
    | Trust
    | Summary
    | Pin
    | Restart
    | Damage
)


@cache
def pictured() -> bytes:
    return sample_files.picture()


@cache
def printed() -> bytes:
    return sample_files.pdf("A page", "Another")


def said_block(kind: Kind, mark: str) -> Said:
    match kind:
        case "words":
            return Words(f"{mark} Go on")
        case "blank":
            return Words("")
        case "space":
            return Words(" \n\t ")
        case "long":
            return Words(f"{mark} {LONG}")
        case "odd":
            return Words(f"  {mark} \ud83d half, \x00, <tool_call>, \u202e {{}} \n\n")
        case "picture":
            return Image("image/png", pictured())
        case "pdf":
            return File("two pages.pdf", "application/pdf", printed())
        case "note":
            return File("note.txt", "text/plain", "früh am Tag".encode())
        case "empty_note":
            return File("empty.txt", "text/plain", b"")
