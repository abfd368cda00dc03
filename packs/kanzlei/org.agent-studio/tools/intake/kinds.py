"""Kinds of what is read in: how each is looked at, kept and told, by command and page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studio.packs import Home

from ..office.akten import Akte
from ..office.texts import decoded, read_file
from .address_files import COLUMNS as CONTACT_COLUMNS
from .akten import COLUMNS as AKTEN_COLUMNS
from .akten import AktenIntake, AktenPlan, shown
from .calendars import CalendarIntake, CalendarPlan
from .contacts import ContactIntake, ContactPlan
from .folders import FolderPlan, Intake

Plan = FolderPlan | ContactPlan | CalendarPlan | AktenPlan
_FEW = 20
"""Names that a report has."""


@dataclass(frozen=True, slots=True)
class IntakeKind:
    """One kind. ``plan`` changes nothing, ``apply`` keeps what it found; both block.

    ``done`` is what was done with what is new, ``names`` say what that is. ``files`` are endings,
    empty for a folder; ``by_columns``: a table whose columns the person may name.
    """

    title: str
    files: str
    done: str
    plan: Callable[[Home, Path, str, Akte | None], Plan]
    apply: Callable[[Home, Any], Plan]
    names: Callable[[Any], Sequence[str]]
    by_columns: bool = False

    def report(self, plan: Plan, *, trial: bool) -> list[str]:
        """What a plan found, or what was kept of it; with its first names."""
        done = "neu" if trial else self.done
        names = self.names(plan)
        more = [f"und {len(names) - _FEW} weitere"] if len(names) > _FEW else []
        lines = [f"{len(names)} {done}, {len(plan.known)} schon da"]
        lines += [*(f"{done}: {one}" for one in names[:_FEW]), *more]
        if isinstance(plan, AktenPlan):
            lines += plan.clashes
        if isinstance(plan, AktenPlan | ContactPlan):
            left = ", ".join(plan.table.left)
            return [*lines, *([f"Spalten ohne Feld: {left}"] if left else []),
                    *plan.table.problems]  # fmt: skip
        return [*lines, *plan.problems]


def _plan_folder(home: Home, path: Path, columns: str, akte: Akte | None) -> Plan:
    assert akte is not None
    return home.service(Intake).plan(home.person, akte, path)


FOLDER = IntakeKind(
    "Ordner einlesen",
    "",
    "eingelesen",
    _plan_folder,
    lambda home, plan: home.service(Intake).apply(home.person, plan),
    lambda plan: [path.relative_to(plan.folder).as_posix() for path in plan.new],
)
CONTACTS = IntakeKind(
    "Kontakte einlesen",
    "*.csv *.vcf *.txt",
    "übernommen",
    lambda home, path, columns, akte: home.service(ContactIntake).plan(home.person, path, columns),
    lambda home, plan: home.service(ContactIntake).apply(home.person, plan),
    lambda plan: [f"{row.get('vorname', '')} {row['name']}".strip() for _, row in plan.new],
    by_columns=True,
)
AKTEN = IntakeKind(
    "Akten einlesen",
    "*.csv *.txt",
    "angelegt",
    lambda home, path, columns, akte: home.service(AktenIntake).plan(home.person, path, columns),
    lambda home, plan: home.service(AktenIntake).apply(home.person, plan),
    lambda plan: shown(plan.new),
    by_columns=True,
)
CALENDAR = IntakeKind(
    "Kalender einlesen",
    "*.ics",
    "übernommen",
    lambda home, path, columns, akte: home.service(CalendarIntake).plan(home.person, path, akte),
    lambda home, plan: home.service(CalendarIntake).apply(home.person, plan),
    lambda plan: [f"{one.shown}, {akte.az}" for one, akte in plan.new],
)


def kind_of(path: Path) -> IntakeKind:
    """What a path seems to be; a table is one of Akten if a column is theirs alone. Blocks."""
    if path.is_dir():
        return FOLDER
    ending = path.suffix.lower()
    if ending == ".ics":
        return CALENDAR
    if ending == ".vcf":
        return CONTACTS
    first = decoded(read_file(path)).partition("\n")[0]
    heads = re.split(r"[;,\t]", first.replace('"', ""))
    akten = {AKTEN_COLUMNS.target(one.strip()) for one in heads} & {"az", "rubrum", "mandant"}
    names = {CONTACT_COLUMNS.target(one.strip()) for one in heads} & {"vorname", "geboren", "plz"}
    return CONTACTS if names or not akten else AKTEN
