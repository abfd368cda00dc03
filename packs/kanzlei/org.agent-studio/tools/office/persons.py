"""Persons: who works here, and in which role (KZ-14, KZ-36).

Alone, a person is ADMIN and is asked nothing. Without encryption this orders an office; it keeps
out nobody who can read the disk.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence

from studio.packs import Home, Person, Records

ADMIN, ANWALT, SACHBEARBEITER = "ADMIN", "ANWALT", "SACHBEARBEITER"
READS = (
    "read_akte",
    "read_akte_detail",
    "read_dokumente",
    "read_dokumente_detail",
    "read_fristen",
    "read_fristen_detail",
    "read_zeiterfassung",
    "read_zeiterfassung_detail",
    "search_alle_akten",
    "search_muster",
    "search_muster_detail",
    "compute_frist",
    "get_kosten_rules",
    "check_zitate",
    "search_gesetze",
    "search_gesetze_detail",
    "search_urteile",
    "search_urteile_detail",
    "search_alle_akten",
    "search_muster",
    "search_muster_detail",
)
DRAFTS = (
    "create_draft_dokument",
    "create_draft_frist",
    "create_draft_zeiterfassung",
    "create_notiz",
    "create_alert",
)
ROLES: Mapping[str, Sequence[str]] = {
    ADMIN: ("*",),
    ANWALT: ("*",),
    SACHBEARBEITER: (*READS, *DRAFTS),
    "SEKRETARIAT": (*READS, "create_notiz"),
    "PRAKTIKANT": READS,
}


def person_here(home: Home) -> Person:
    """Who works on this computer; the first one becomes ADMIN. Blocks."""
    login, records = _login(), home.records
    if (known := _known(records, login)) is not None:
        return known
    with records.together():
        if (known := _known(records, login)) is not None:  # another thread was first
            return known
        if records.read("SELECT 1 FROM person"):
            return Person("0", login)  # nobody gave this person a role
        sql = "INSERT INTO person (login, name, rolle) VALUES (?, ?, ?)"
        return Person(str(records.write(sql, login, login, ADMIN)), login, ADMIN)


def _known(records: Records, login: str) -> Person | None:
    rows = records.read("SELECT id, name, rolle FROM person WHERE login = ?", login)
    return Person(*(str(rows[0][name]) for name in ("id", "name", "rolle"))) if rows else None


def named(records: Records, name: str) -> Person | None:
    """Who has this name or login; None if it is nobody, or more than one."""
    sql = "SELECT id, name, rolle FROM person WHERE name = ? OR login = ?"
    rows = records.read(sql, name.strip(), name.strip())
    if len(rows) != 1:
        return None
    return Person(*(str(rows[0][one]) for one in ("id", "name", "rolle")))


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody has this number
        return "person"


def number_of(person: Person) -> int:
    """The id of a person's row."""
    return int(person.id)
