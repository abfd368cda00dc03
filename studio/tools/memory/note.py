"""One note: its words, who wrote it and when, and how far it is to be trusted (W-43).

Its file is markdown below a head of ``key: value`` lines. What the head says can lower the trust
and never raise it: an agent's note is not the person's, whatever else stands there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from studio.domain.records import dataclass

Kind: TypeAlias = Literal["fact", "procedure", "mistake", "preference", "observation"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Trust: TypeAlias = Literal["yours", "agent", "strangers"]
"""Whose words are in a note: the person's alone, an agent's, or also a stranger's."""
TRUSTS: tuple[Trust, ...] = get_args(Trust)
"""From the highest to the lowest."""

LARGEST = 20_000
"""Characters of one note."""
LONGEST_LINE = 200
MOST_SOURCES = 12
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")

_KINDS: dict[str, Kind] = {one: one for one in KINDS}
_TRUSTS: dict[str, Trust] = {one: one for one in TRUSTS}
_MOST_HEAD = 40
_TIME = "%Y-%m-%d %H:%M:%S UTC"
_OLDER_TIME = "%Y-%m-%d %H:%M UTC"


def lowest(*trusts: Trust) -> Trust:
    """The lowest of some; what is made of nothing is the person's own."""
    return TRUSTS[max(map(TRUSTS.index, trusts), default=0)]


@dataclass(frozen=True, slots=True)
class Source:
    """What a note was made from: ``what`` is a word such as ``message``, ``file`` or ``note``."""

    what: str
    name: str
    trust: Trust

    @property
    def line(self) -> str:
        return f"{self.trust} | {self.what} | {self.name}"


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    ``origin`` names the text of strangers that had been read when it was written, or is empty;
    ``by`` is the agent, empty for the person. ``written`` is in seconds since 1970. ``session`` and
    ``turn`` are where it was written. A ``proposed`` note waits for the person; one that
    ``forgets`` proposes to forget the kept note of its name.
    """

    name: str
    text: str
    origin: str = ""
    written: float = 0.0
    by: str = ""
    kind: Kind = "fact"
    told: Trust = "yours"
    """The trust that its file tells; ``trust`` is what counts."""
    session: str = ""
    turn: str = ""
    sources: tuple[Source, ...] = ()
    proposed: bool = False
    forgets: bool = False
    place: str = ""
    """The folder of its file, by which the notes of two folders are told apart."""

    @property
    def trust(self) -> Trust:
        """The lowest of all that it was made from."""
        sources: list[Trust] = [source.trust for source in self.sources]
        strange: Trust = "strangers" if self.origin else "yours"
        written: Trust = "agent" if self.by else "yours"
        return lowest(self.told, strange, written, *sources)

    @property
    def about(self) -> str:
        """The first line that is not empty."""
        lines = (line.strip("#*- \t") for line in self.text.splitlines())
        first = next((line for line in lines if line), "")
        return first if len(first) <= 100 else f"{first[:99]}…"

    @property
    def file_text(self) -> str:
        """The text of its file."""
        written = datetime.fromtimestamp(self.written or datetime.now(UTC).timestamp(), UTC)
        head = {
            "written": written.strftime(_TIME),
            "by": self.by,
            "kind": self.kind,
            "trust": self.trust,
            "session": self.session,
            "turn": self.turn,
            "origin": self.origin,
            "forgets": "yes" if self.forgets else "",
        }
        lines = [f"{key}: {one_line(value)}" for key, value in head.items() if value]
        lines += [f"from: {one_line(one.line)}" for one in self.sources[:MOST_SOURCES]]
        body = self.text.strip().encode("utf-8", "replace").decode()
        return "\n".join(["---", *lines, "---", body, ""])


def read_note(name: str, text: str, changed: float, *, proposed: bool, place: str) -> Note:
    """A note of its file's text; ``changed`` is when the file was, for one that tells no time."""
    head, sources, body = _split_head(text)
    # A word that nobody knows is no reason to trust a note more.
    otherwise: Trust = "strangers" if head.get("trust") else "yours"
    return Note(
        name,
        body[:LARGEST],
        head.get("origin", ""),
        _time(head.get("written", ""), changed),
        head.get("by", ""),
        _KINDS.get(head.get("kind", ""), "fact"),
        _TRUSTS.get(head.get("trust", ""), otherwise),
        head.get("session", ""),
        head.get("turn", ""),
        sources,
        proposed,
        proposed and head.get("forgets") == "yes",
        place,
    )


def one_line(text: str) -> str:
    return " ".join(text.split())[:LONGEST_LINE]


def _time(told: str, changed: float) -> float:
    for form in (_TIME, _OLDER_TIME):
        try:
            return datetime.strptime(told, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return changed


def _split_head(text: str) -> tuple[Mapping[str, str], tuple[Source, ...], str]:
    """The fields at the head, if there are any, the sources, and the rest."""
    lines = text.splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:_MOST_HEAD]:
        return {}, (), text.strip()
    end = lines.index("---", 1)
    head: dict[str, str] = {}
    sources: list[Source] = []
    for line in lines[1:end]:
        key, _, value = line.partition(":")
        if key.strip() != "from":
            head[key.strip()] = value.strip()
            continue
        trust, what, name = (part.strip() for part in f"{value} | | ".split(" | ", 3)[:3])
        sources.append(Source(what, name, _TRUSTS.get(trust, "strangers")))
    return head, tuple(sources), "\n".join(lines[end + 1 :]).strip()
