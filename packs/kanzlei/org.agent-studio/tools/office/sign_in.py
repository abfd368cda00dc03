"""Sign-in: persons with roles and passwords, and which Akten they are admitted to (KZ-13, KZ-14).

Who works alone is asked nothing. Once a person has a password, they sign in for some hours on their
account of the computer. Without encryption this orders an office; it keeps out nobody who can read
the disk.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import secrets

from studio.packs import Home, Person, ToolFailed

from .akten import Akte
from .history import note, now
from .persons import ADMIN, ANWALT, NAMES, account, named, number_of

HOURS = 12
SHORTEST = 8
TRIES, WAIT = 5, 60
"""Wrong passwords after which nobody signs in as that person, and for how many seconds."""
_COST = {"n": 2**15, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}
WRONG = "Anmeldename oder Passwort ist falsch."


class Anmeldung:
    """Who works here. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._records = home.records

    def all(self) -> list[dict[str, object]]:
        rows = self._records.read(
            "SELECT login, name, rolle, dezernat, passwort != '' AS passwort, gegangen FROM person"
        )
        return [dict(row) for row in rows]

    def add(self, by: Person, login: str, name: str, role: str, section: str = "") -> None:
        """Enter a person."""
        _require_admin(by)
        _require_role(role)
        login, name = login.strip(), " ".join(name.split())
        if not login or not name or len(login) > 100 or len(name) > 200:
            raise ToolFailed("Eine Person hat einen Anmeldenamen und einen Namen.")
        if self._records.read("SELECT 1 FROM person WHERE login = ?", login):
            raise ToolFailed(f"Den Anmeldenamen {login} gibt es schon.")
        with self._records.together():
            sql = "INSERT INTO person (login, name, rolle, dezernat) VALUES (?, ?, ?, ?)"
            number = self._records.write(sql, login, name, role, section.strip())
            note(self._records, by, None, "person", number, field="angelegt", new=role)

    def change(self, by: Person, login: str, *, role: str = "", gone: bool = False) -> None:
        """Give a person another role, or let them go; one ADMIN always stays."""
        _require_admin(by)
        one = self._person(login)
        if role:
            _require_role(role)
        others = "SELECT 1 FROM person WHERE rolle = ? AND gegangen IS NULL AND id != ?"
        if (role != ADMIN or gone) and not self._records.read(others, ADMIN, number_of(one)):
            raise ToolFailed("Ein ADMIN muss bleiben.")
        with self._records.together():
            if role:
                sql = "UPDATE person SET rolle = ? WHERE id = ?"
                self._records.write(sql, role, number_of(one))
            if gone:
                sql = "UPDATE person SET gegangen = ? WHERE id = ?"
                self._records.write(sql, now(), number_of(one))
                self._records.write("DELETE FROM anmeldung WHERE person = ?", number_of(one))
            note(self._records, by, None, "person", number_of(one),
                 field="rolle", old=one.role, new="gegangen" if gone else role)  # fmt: skip

    def set_password(self, by: Person, login: str, password: str) -> None:
        """Give a person a password; one's own, or as ADMIN."""
        one = self._person(login)
        if by.id != one.id:
            _require_admin(by)
        if len(password) < SHORTEST:
            raise ToolFailed(f"Ein Passwort hat mindestens {SHORTEST} Zeichen.")
        with self._records.together():
            sql = "UPDATE person SET passwort = ?, fehler = 0 WHERE id = ?"
            self._records.write(sql, _hashed(password, secrets.token_bytes(16)), number_of(one))
            self._records.write("DELETE FROM anmeldung WHERE person = ?", number_of(one))
            note(self._records, by, None, "person", number_of(one), field="passwort", new="neu")

    def sign_in(self, login: str, password: str) -> Person:
        """Work as a person from now on; raises ToolFailed, alike for a wrong name and password."""
        sql = "SELECT * FROM person WHERE login = ? AND gegangen IS NULL AND passwort != ''"
        rows = self._records.read(sql, login.strip())
        row = rows[0] if rows else None
        if (
            row is not None
            and int(str(row["fehler"])) >= TRIES
            and _recent(str(row["fehler_zeit"]))
        ):
            raise ToolFailed(f"Zu viele falsche Passwörter. Warte {WAIT} Sekunden.")
        kept = str(row["passwort"]) if row is not None else _hashed("", b"\0" * 16)
        right = hmac.compare_digest(_hashed(password, bytes.fromhex(kept.split(":")[0])), kept)
        if row is None or not right:
            if row is not None:
                sql = "UPDATE person SET fehler = fehler + 1, fehler_zeit = ? WHERE id = ?"
                self._records.write(sql, now(), row["id"])
            raise ToolFailed(WRONG)
        until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=HOURS)
        with self._records.together():
            self._records.write("UPDATE person SET fehler = 0 WHERE id = ?", row["id"])
            sql = "INSERT OR REPLACE INTO anmeldung (konto, person, bis) VALUES (?, ?, ?)"
            self._records.write(sql, account(), row["id"], until.strftime("%Y-%m-%dT%H:%M:%SZ"))
        return Person(*(str(row[name]) for name in ("id", "name", "rolle")))

    def sign_out(self) -> None:
        self._records.write("DELETE FROM anmeldung WHERE konto = ?", account())

    def admit(self, by: Person, akte: Akte, login: str, *, taken: bool = False) -> None:
        """Let a person see an Akte, or no longer."""
        _require_lawyer(by)
        one = self._person(login)
        with self._records.together():
            sql = "DELETE FROM zugriff WHERE akte = ? AND person = ?"
            self._records.write(sql, akte.id, number_of(one))
            if not taken:
                sql = "INSERT INTO zugriff (akte, person) VALUES (?, ?)"
                self._records.write(sql, akte.id, number_of(one))
            note(self._records, by, akte.id, "zugriff", number_of(one),
                 field="entzogen" if taken else "erteilt", new=one.name)  # fmt: skip

    def lock(self, by: Person, akte: Akte, *, locked: bool) -> None:
        """Lock an Akte for all but ADMIN, or unlock it."""
        _require_admin(by)
        with self._records.together():
            sql = "UPDATE akte SET gesperrt = ? WHERE id = ?"
            self._records.write(sql, int(locked), akte.id)
            note(self._records, by, akte.id, "akte", akte.id, field="gesperrt", new=int(locked))

    def _person(self, login: str) -> Person:
        one = named(self._records, login)
        if one is None:
            raise ToolFailed(f"Eine Person {login} gibt es nicht.")
        return one


def _hashed(password: str, salt: bytes) -> str:
    made = hashlib.scrypt(password.encode(), salt=salt, dklen=32, **_COST)
    return f"{salt.hex()}:{made.hex()}"


def _recent(time: str) -> bool:
    last = datetime.datetime.fromisoformat(time)
    return datetime.datetime.now(datetime.UTC) - last < datetime.timedelta(seconds=WAIT)


def _require_admin(person: Person) -> None:
    if person.role != ADMIN:
        raise ToolFailed(f"Das darf nur ein ADMIN, nicht {person.role or person.name}.")


def _require_lawyer(person: Person) -> None:
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Das darf nur ein Anwalt, nicht {person.role or person.name}.")


def _require_role(role: str) -> None:
    if role not in NAMES:
        raise ToolFailed(f"„{role}“ ist keine Rolle. Es gibt: {', '.join(NAMES)}.")
