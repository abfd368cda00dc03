"""Persons: who works here, and in which role (KZ-14, KZ-36).

Alone, a person is ADMIN and is asked nothing. Without encryption this orders an office; it keeps
out nobody who can read the disk.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence

from studio.packs import Home, Person, Records, ToolFailed

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
COMMANDS = (
    *("akten", "akte", "dokumente", "fristen", "suche", "zeiten", "notizen", "verlauf"),
    *("entwuerfe", "kalender", "gesetz", "gesetze", "zitate", "abmelden", "anmelden", "passwort"),
    "verzeichnis",
    *("termine", "aufgaben", "aufgabe_erledigen"),
)
"""What all may type: each shows a person only what they may see."""
PLANS = ("termin", "termin_absagen", "aufgabe")
ROLES: Mapping[str, Sequence[str]] = {
    ADMIN: ("*",),
    ANWALT: ("*",),
    SACHBEARBEITER: (*READS, *DRAFTS, *COMMANDS, *PLANS, "dokument", "frist"),
    "SEKRETARIAT": (*READS, "create_notiz", *COMMANDS, *PLANS, "dokument", "akte_anlegen"),
    "PRAKTIKANT": (*READS, *COMMANDS),
    "": ("anmelden",),
}
NAMES = tuple(filter(None, ROLES))


def person_here(home: Home) -> Person:
    """Who works on this computer; the first one becomes ADMIN. Blocks."""
    login, records = account(), home.records
    if (known := _signed_in(records, login) or _known(records, login)) is not None:
        return known
    with records.together():
        if (known := _known(records, login)) is not None:  # another thread was first
            return known
        if records.read("SELECT 1 FROM person"):
            return Person("0", login)  # nobody gave this person a role
        sql = "INSERT INTO person (login, name, rolle) VALUES (?, ?, ?)"
        return Person(str(records.write(sql, login, login, ADMIN)), login, ADMIN)


def _signed_in(records: Records, login: str) -> Person | None:
    """Who signed in on this account of the computer, and not too long ago."""
    sql = (
        "SELECT id, name, rolle FROM person JOIN anmeldung ON anmeldung.person = person.id "
        "WHERE konto = ? AND bis > strftime('%Y-%m-%dT%H:%M:%SZ', 'now') AND gegangen IS NULL"
    )
    rows = records.read(sql, login)
    return Person(*(str(rows[0][name]) for name in ("id", "name", "rolle"))) if rows else None


def _known(records: Records, login: str) -> Person | None:
    """Whose account this is; without a role where they have a password and did not sign in."""
    sql = "SELECT id, name, rolle, passwort, gegangen FROM person WHERE login = ?"
    rows = records.read(sql, login)
    if not rows:
        return None
    if rows[0]["passwort"] or rows[0]["gegangen"]:
        return Person("0", login)
    return Person(*(str(rows[0][name]) for name in ("id", "name", "rolle")))


def named(records: Records, name: str) -> Person | None:
    """Who has this name or login; None if it is nobody, or more than one."""
    sql = "SELECT id, name, rolle FROM person WHERE name = ? OR login = ?"
    rows = records.read(sql, name.strip(), name.strip())
    if len(rows) != 1:
        return None
    return Person(*(str(rows[0][one]) for one in ("id", "name", "rolle")))


def require_may_enter(person: Person, what: str) -> None:
    """Raise ToolFailed unless a person may enter these into an Akte by hand."""
    if person.role not in (ADMIN, ANWALT, SACHBEARBEITER, "SEKRETARIAT"):
        raise ToolFailed(f"{person.name} darf als {person.role or 'Gast'} keine {what} eintragen.")


def person_name(records: Records, number: int | None) -> str:
    """The name of the person with this id, empty for nobody."""
    rows = records.read("SELECT name FROM person WHERE id = ?", number)
    return str(rows[0]["name"]) if rows else ""


def account() -> str:
    """The account of the computer."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody has this number
        return "person"


def number_of(person: Person) -> int:
    """The id of a person's row."""
    return int(person.id)
