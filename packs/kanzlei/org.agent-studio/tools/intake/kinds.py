"""Kinds of what is read in: how each is looked at, kept and told, by command and page."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from studio.packs import Home, dataclass

from ..office.akten import Akte
from ..office.texts import decoded, read_file
from .address_files import COLUMNS as CONTACT_COLUMNS
from .akten import COLUMNS as AKTEN_COLUMNS
from .akten import AktenIntake, AktenPlan, shown
from .bea import is_message, plan_message
from .calendars import CalendarIntake, CalendarPlan
from .cases import CaseIntake, CasePlan, names_of
from .contacts import ContactIntake, ContactPlan
from .folders import FolderPlan, Intake

Plan = FolderPlan | ContactPlan | CalendarPlan | AktenPlan | CasePlan
COLUMNS = ("Spalten, wenn sie anders heißen", "Nr.=az; Zuname=name")
_FEW = 20
"""Names that a report has."""


@dataclass(frozen=True, slots=True)
class IntakeKind:
    """One kind. ``apply`` keeps what a plan found, and blocks. ``done`` is what was done with what
    is new, ``names`` say what that is."""

    title: str
    done: str
    apply: Callable[[Home, Any], Plan]
    names: Callable[[Any], Sequence[str]]

    def report(self, plan: Plan, *, trial: bool) -> list[str]:
        """What a plan found, or what was kept of it; with its first names."""
        done = "neu" if trial else self.done
        names = self.names(plan)
        more = [f"und {len(names) - _FEW} weitere"] if len(names) > _FEW else []
        lines = [f"{len(names)} {done}, {len(plan.known)} schon da"]
        lines += [*(f"{done}: {one}" for one in names[:_FEW]), *more]
        if isinstance(plan, CasePlan):
            lines += plan.told
        if isinstance(plan, AktenPlan | CasePlan):
            lines += plan.clashes
        if isinstance(plan, AktenPlan | ContactPlan):
            left = ", ".join(plan.table.left)
            return [*lines, *([f"Spalten ohne Feld: {left}"] if left else []),
                    *plan.table.problems]  # fmt: skip
        return [*lines, *plan.problems]


@dataclass(frozen=True, slots=True)
class FileKind(IntakeKind):
    """One that is read from a file, or a folder. ``plan`` changes nothing, and blocks.

    ``files`` are endings, empty for a folder; ``asked`` is what else the person may say, with an
    example: of a table its columns.
    """

    files: str
    plan: Callable[[Home, Path, str, Akte | None], Plan]
    asked: tuple[str, str] = ("", "")


def _plan_folder(home: Home, path: Path, columns: str, akte: Akte | None) -> Plan:
    assert akte is not None
    return home.service(Intake).plan(home.person, akte, path)


FOLDER = FileKind(
    "Ordner einlesen",
    "eingelesen",
    lambda home, plan: home.service(Intake).apply(home.person, plan),
    lambda plan: [path.relative_to(plan.folder).as_posix() for path in plan.new],
    "",
    _plan_folder,
)
CONTACTS = FileKind(
    "Kontakte einlesen",
    "übernommen",
    lambda home, plan: home.service(ContactIntake).apply(home.person, plan),
    lambda plan: [f"{row.get('vorname', '')} {row['name']}".strip() for _, row in plan.new],
    "*.csv *.vcf *.txt",
    lambda home, path, columns, akte: home.service(ContactIntake).plan(home.person, path, columns),
    COLUMNS,
)
AKTEN = FileKind(
    "Akten einlesen",
    "angelegt",
    lambda home, plan: home.service(AktenIntake).apply(home.person, plan),
    lambda plan: shown(plan.new),
    "*.csv *.txt",
    lambda home, path, columns, akte: home.service(AktenIntake).plan(home.person, path, columns),
    COLUMNS,
)
CALENDAR = FileKind(
    "Kalender einlesen",
    "übernommen",
    lambda home, plan: home.service(CalendarIntake).apply(home.person, plan),
    lambda plan: [f"{one.shown}, {akte.az}" for one, akte in plan.new],
    "*.ics",
    lambda home, path, columns, akte: home.service(CalendarIntake).plan(home.person, path, akte),
)
MESSAGE = FileKind(
    "Nachricht aus dem beA einlesen",
    "übernommen",
    lambda home, plan: home.service(CaseIntake).apply(home.person, plan),
    names_of,
    "*.zip *.xml",
    lambda home, path, client, akte: plan_message(home, home.person, path, client, akte),
    ("Mandant, für eine neue Akte", "Wagner"),
)
INTO_AKTE = replace(MESSAGE, asked=("", ""))
"""A message for an Akte that is there: nobody has to say who the client is."""
JLAWYER = IntakeKind("Aus j-lawyer.org übernehmen", "übernommen", MESSAGE.apply, names_of)


def has_new(plan: Plan) -> bool:
    """Whether a plan has anything to keep."""
    return bool(plan.new or (isinstance(plan, CasePlan) and plan.contacts))


def kind_of(path: Path) -> FileKind:
    """What a path seems to be; a table is one of Akten if a column is theirs alone. Blocks."""
    if path.is_dir():
        return MESSAGE if is_message(path) else FOLDER
    ending = path.suffix.lower()
    if ending in (".zip", ".xml"):
        return MESSAGE
    if ending == ".ics":
        return CALENDAR
    if ending == ".vcf":
        return CONTACTS
    first = decoded(read_file(path)).partition("\n")[0]
    heads = re.split(r"[;,\t]", first.replace('"', ""))
    akten = {AKTEN_COLUMNS.target(one.strip()) for one in heads} & {"az", "rubrum", "mandant"}
    names = {CONTACT_COLUMNS.target(one.strip()) for one in heads} & {"vorname", "geboren", "plz"}
    return CONTACTS if names or not akten else AKTEN
