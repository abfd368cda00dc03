"""Kinds: reads the kinds of Fristen, with length, norm and what the law says of each."""

from __future__ import annotations

import csv
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from studio.packs import ToolFailed, dataclass

from .lengths import Length, read_length

FILE = Path(__file__).parents[2] / "data" / "deadline_kinds.csv"
POSTED = {"Einspruch, Steuer": "§ 122 II AO", "Widerspruch, Verwaltung": "§ 41 II VwVfG"}
"""Kinds that may begin with a letter posted by an authority, and what says when it arrives."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of Frist. ``length`` is None where only the court says it.

    ``latest_begin`` and ``latest_end`` count from the day the decision was pronounced. ``moved_by``
    says that an end on a free day moves; ``checked`` says where that and the rest was read.
    ``other`` is the length that the law has for a special case, which ``other_case`` tells.
    """

    name: str
    norm: str
    length: Length | None
    other: Length | None
    other_case: str
    set_by_court: bool
    notfrist: bool
    extendable: bool
    begins_with: str
    latest_begin: Length | None
    latest_end: Length | None
    moved_by: str
    checked: str
    note: str

    @property
    def has_vorfrist(self) -> bool:
        """Whether it is a Notfrist or the Frist for a Begründung (KZ-20)."""
        return self.notfrist or "begründung" in self.name


@lru_cache(maxsize=1)
def kinds() -> dict[str, Kind]:
    """All kinds by their names."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["name"]: _kind(row) for row in csv.DictReader(file)}


def _kind(row: dict[str, str]) -> Kind:
    other = row["other_length"]
    word, _, latest = row["latest"].partition(" ")
    return Kind(
        name=row["name"],
        norm=row["norm"],
        length=read_length(row["length"]) if row["length"] else None,
        other=read_length(" ".join(other.split()[:2]).rstrip(",")) if other else None,
        other_case=" ".join(other.split()[2:]),
        set_by_court=row["set_by_court"] == "ja",
        notfrist=row["notfrist"] == "ja",
        extendable=row["extendable"] == "ja",
        begins_with=row["begins_with"],
        latest_begin=read_length(latest) if word == "Beginn" else None,
        latest_end=read_length(latest) if word == "Ende" else None,
        moved_by=row["moved_by"],
        checked=row["checked"],
        note=row["note"],
    )


def find_kind(name: str) -> Kind:
    """The kind of a name; raises ToolFailed with the nearest names for an unknown one."""
    known = {one.casefold(): one for one in kinds()}
    if (found := known.get(name.strip().casefold())) is not None:
        return kinds()[found]
    near = [known[one] for one in get_close_matches(name.strip().casefold(), known, 3, 0.4)]
    names = "; ".join(near or kinds())
    raise ToolFailed(f"„{name}“ ist keine bekannte Frist. Gemeint sein könnte: {names}.")
