"""Akten: finds and opens them, within what a person may see (KZ-11, KZ-13).

A foreign Akte and one that does not exist get the same answer.
"""

from __future__ import annotations

import datetime
import re

from studio.packs import Context, Home, Person, ToolFailed, Value, dataclass

from .. import _german as german
from .._patterns import lazy_pattern
from ..deadlines.free_days import read_place
from .forms import read_day
from .history import note, now
from .persons import ADMIN, ANWALT, named, number_of
from .settings import OfficeSettings

ADDRESS = "kanzlei:akte/"
MODE_WORDS = {
    "lokal": "nur Modelle auf diesem Computer und erlaubten Rechnern",
    "pseudonym": "auch fremde Anbieter, maskiert und mit Vereinbarung",
    "frei": "auch fremde Anbieter, mit Grundlage",
    "keine KI": "kein Modell",
}
MODES = tuple(MODE_WORDS)
_SHOWN = {"lokal": ("ok", "lock"), "pseudonym": ("accent", "eye"), "frei": ("warn", "globe")}
LONGEST = 300
STATES = ("laufend", "ruhend", "abgelegt")
CHANGEABLE = (
    *("rubrum", "sachgebiet", "status", "wert", "mandat_seit", "gericht", "gericht_ort"),
    *("gericht_az", "anwalt", "sachbearbeiter", "dezernat"),
)
_LONGEST_AZ = 40
_NUMBERED = lazy_pattern(r"\D*(\d{1,6})\s?[/-]\s?(\d{2}|\d{4})")
"""An Aktenzeichen from elsewhere with its number and year, as ``0012/24``."""
_SUBJECT = lazy_pattern(r"kanzlei:akte/(\d{1,15})")


@dataclass(frozen=True, slots=True)
class Akte:
    """One Akte. ``value`` is in cents; ``court_place`` is that of deadlines, ``BY+kath``."""

    id: int
    az: str
    rubrum: str
    area: str
    state: str
    value: int | None
    mandate: str
    court: str
    court_place: str
    court_az: str
    lawyer: int | None
    clerk: int | None
    mode: str

    @property
    def address(self) -> str:
        return f"{ADDRESS}{self.id}"

    @property
    def title(self) -> str:
        return f"{self.az} {self.rubrum}"


def visible(person: Person) -> tuple[str, tuple[Value, ...]]:
    """A condition on ``akte``, and its values: the one filter under every query (KZ-13)."""
    if person.role == ADMIN:
        return "1", ()
    own = number_of(person)
    return (
        "(akte.gesperrt = 0 AND (akte.anwalt = ? OR akte.sachbearbeiter = ?"
        " OR (akte.dezernat != '' AND akte.dezernat ="
        " (SELECT dezernat FROM person WHERE person.id = ?))"
        " OR akte.id IN (SELECT zugriff.akte FROM zugriff WHERE zugriff.person = ?)))",
        (own, own, own, own),
    )


def _found(person: Person, words: str) -> tuple[str, tuple[Value, ...]]:
    """From which rows, and the values of that."""
    allowed, values = visible(person)
    like = "%" + re.sub(r"([\\%_])", r"\\\1", words.strip()) + "%"
    sql = f"FROM akte WHERE {allowed} AND (az LIKE ? ESCAPE '\\' OR rubrum LIKE ? ESCAPE '\\')"
    return sql, (*values, like, like)


class Akten:
    """The Akten of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def get(self, person: Person, akte: int | str) -> Akte:
        """One by its id or Aktenzeichen; raises ToolFailed where there is none to see."""
        allowed, values = visible(person)
        field = "id" if isinstance(akte, int) else "az"
        sql = f"SELECT * FROM akte WHERE akte.{field} = ? AND {allowed}"
        rows = self._home.records.read(sql, akte, *values)
        if not rows:
            raise ToolFailed(
                f"Es gibt keine Akte {akte}, oder sie ist für {person.name} nicht zugänglich."
            )
        return _akte(rows[0])

    def find(self, person: Person, words: str = "", most: int = 200, skip: int = 0) -> list[Akte]:
        """Those whose Aktenzeichen or Rubrum has the words, without the first ``skip``; the newest
        first."""
        found, values = _found(person, words)
        sql = f"SELECT * {found} ORDER BY jahr DESC, lfd DESC, id DESC LIMIT ? OFFSET ?"
        return [_akte(row) for row in self._home.records.read(sql, *values, most, skip)]

    def count(self, person: Person, words: str = "") -> int:
        """How many ``find`` could find."""
        found, values = _found(person, words)
        (row,) = self._home.records.read(f"SELECT count(*) AS n {found}", *values)
        return int(str(row["n"]))

    def open(self, person: Person, rubrum: str, az: str = "", **more: Value) -> Akte:
        """A new Akte with the next Aktenzeichen, or with the one that it had elsewhere; raises
        ToolFailed for a wrong field."""
        require_may_open(person)
        rubrum = " ".join(rubrum.split())
        if not rubrum or len(rubrum) > LONGEST:
            raise ToolFailed(f"Ein Rubrum hat 1 bis {LONGEST} Zeichen.")
        fields = ("sachgebiet", "gericht", "gericht_ort", "gericht_az", "wert_cent", "mandat_seit")
        if unknown := sorted(set(more) - set(fields)):
            raise ToolFailed(f"Eine Akte hat kein Feld {unknown[0]}.")
        records, year = self._home.records, datetime.date.today().year
        with records.together():
            if az := " ".join(az.split()):
                year, number = self._place_of(az)
            else:
                number = self._next_number(year)
                az = self._next_az(number, year)
            # That of one that is deleted is not given again: chats and the audit had it.
            free = records.read(
                "SELECT max(coalesce((SELECT max(id) FROM akte), 0), "
                "coalesce((SELECT max(akte) FROM protokoll), 0)) + 1 AS id"
            )
            values: dict[str, Value] = {
                "id": free[0]["id"],
                "az": az,
                "lfd": number,
                "jahr": year,
                "rubrum": rubrum,
                "anwalt": number_of(person),
                "angelegt": now(),
                **more,
            }
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            akte = records.write(f"INSERT INTO akte ({names}) VALUES ({marks})", *values.values())
            note(records, person, akte, "akte", akte, field="angelegt", new=values["az"])
        return self.get(person, akte)

    def _next_az(self, number: int, year: int) -> str:
        pattern = self._home.settings(OfficeSettings).aktenzeichen
        try:
            az = pattern.format(lfd=number, jj=f"{year % 100:02}", jahr=year)
        except (KeyError, IndexError, ValueError) as error:
            raise ToolFailed(
                f"Das Muster „{pattern}“ der Aktenzeichen ist falsch; es enthält {{lfd}} und "
                "{jj} oder {jahr}, wie {lfd:04}/{jj}."
            ) from error
        if self._is_taken(az):
            raise ToolFailed(f"Das Muster „{pattern}“ ergibt ein vergebenes Aktenzeichen: {az}.")
        return az

    def _next_number(self, year: int) -> int:
        found = self._home.records.read("SELECT MAX(lfd) AS last FROM akte WHERE jahr = ?", year)
        last = found[0]["last"]
        return (last if isinstance(last, int) else 0) + 1

    def _place_of(self, az: str) -> tuple[int, int]:
        """The year and number of an Aktenzeichen from elsewhere; year 0 where it has none that is
        free."""
        if len(az) > _LONGEST_AZ or not az.isprintable():
            raise ToolFailed(f"Ein Aktenzeichen hat höchstens {_LONGEST_AZ} Zeichen.")
        if self._is_taken(az):
            raise ToolFailed(f"Das Aktenzeichen {az} ist vergeben.")
        if found := _NUMBERED.fullmatch(az):
            year = int(found[2]) + (2000 if len(found[2]) == 2 else 0)
            year -= 100 if year > datetime.date.today().year else 0
            sql = "SELECT 1 FROM akte WHERE jahr = ? AND lfd = ?"
            if not self._home.records.read(sql, year, int(found[1])):
                return year, int(found[1])
        return 0, self._next_number(0)

    def _is_taken(self, az: str) -> bool:
        same = (az, az.replace("/", "-"), az.replace("-", "/"))  # one folder for all of these
        return bool(self._home.records.read("SELECT 1 FROM akte WHERE az IN (?, ?, ?)", *same))

    def change(self, person: Person, akte: Akte, field: str, value: str) -> Akte:
        """Change one fact of an Akte, with its history; raises ToolFailed for a wrong one."""
        if person.role not in (ADMIN, ANWALT, "SACHBEARBEITER", "SEKRETARIAT"):
            raise ToolFailed(f"{person.name} darf als {person.role or 'Gast'} keine Akte ändern.")
        column = {"wert": "wert_cent"}.get(field, field)
        if field not in CHANGEABLE:
            names = ", ".join(CHANGEABLE)
            raise ToolFailed(f"„{field}“ lässt sich nicht ändern. Es gibt: {names}.")
        new = self._fact(person, field, " ".join(value.split()))
        records = self._home.records
        with records.together():
            old = records.read(f"SELECT {column} AS old FROM akte WHERE id = ?", akte.id)[0]["old"]
            if old != new:
                records.write(f"UPDATE akte SET {column} = ? WHERE id = ?", new, akte.id)
                note(records, person, akte.id, "akte", akte.id, field=field, old=old, new=new)
        return self.get(person, akte.id)

    def _fact(self, person: Person, field: str, value: str) -> Value:
        """What is kept of a fact that a person typed."""
        if field == "rubrum" and not 1 <= len(value) <= LONGEST:
            raise ToolFailed(f"Ein Rubrum hat 1 bis {LONGEST} Zeichen.")
        if len(value) > LONGEST:
            raise ToolFailed(f"{field}: höchstens {LONGEST} Zeichen.")
        if field == "status" and value not in STATES:
            raise ToolFailed(f"„{value}“ ist kein Status. Es gibt: {', '.join(STATES)}.")
        if field == "wert":
            return german.cents(value) if value else None
        if field == "mandat_seit":
            return read_day(field, value) if value else None
        if field in ("anwalt", "sachbearbeiter"):
            if person.role not in (ADMIN, ANWALT):
                raise ToolFailed(f"Wer eine Akte bearbeitet, sagt ein Anwalt, nicht {person.role}.")
            who = named(self._home.records, value) if value else None
            if value and who is None:
                raise ToolFailed(f"Hier arbeitet niemand, der {value} heißt.")
            return number_of(who) if who is not None else None
        if field == "gericht_ort" and value:
            read_place(value)
        return value

    def set_mode(self, person: Person, akte: Akte, mode: str, basis: str = "") -> None:
        """Change which models may see an Akte; only a lawyer may (KZ-42).

        ``basis`` is the consent or the agreement (§ 43e BRAO) without which it cannot be “frei”.
        """
        if mode not in MODES:
            raise ToolFailed(f"„{mode}“ ist kein KI-Modus. Es gibt: {', '.join(MODES)}.")
        if person.role not in (ADMIN, ANWALT):
            raise ToolFailed(f"Den KI-Modus setzt ein Anwalt, nicht {person.role}.")
        basis = " ".join(basis.split())
        if mode == "frei" and not basis:
            raise ToolFailed(
                "„frei“ braucht eine Grundlage: die Einwilligung des Mandanten oder die "
                "Vereinbarung nach § 43e BRAO, mit Tag."
            )
        records, new = self._home.records, f"{mode}: {basis}" if basis else mode
        with records.together():
            records.write("UPDATE akte SET ki_modus = ? WHERE id = ?", mode, akte.id)
            note(
                records, person, akte.id, "akte", akte.id, field="ki_modus", old=akte.mode, new=new
            )


def _akte(row: dict[str, Value]) -> Akte:
    def text(name: str) -> str:
        return str(row[name] or "")

    def number(name: str) -> int | None:
        value = row[name]
        return value if isinstance(value, int) else None

    return Akte(
        id=number("id") or 0,
        az=text("az"),
        rubrum=text("rubrum"),
        area=text("sachgebiet"),
        state=text("status"),
        value=number("wert_cent"),
        mandate=text("mandat_seit"),
        court=text("gericht"),
        court_place=text("gericht_ort"),
        court_az=text("gericht_az"),
        lawyer=number("anwalt"),
        clerk=number("sachbearbeiter"),
        mode=text("ki_modus"),
    )


def require_may_open(person: Person) -> None:
    """Raise ToolFailed unless a person may open Akten."""
    if person.role not in (ADMIN, ANWALT, "SEKRETARIAT"):
        raise ToolFailed(f"{person.name} darf als {person.role} keine Akte anlegen.")


def akte_of(subject: str) -> int | None:
    """The id of the Akte that a chat is about."""
    found = _SUBJECT.fullmatch(subject)
    return int(found[1]) if found else None


def akte_here(context: Context, asked: str = "") -> Akte:
    """The Akte of the chat, which is the only one that its tools may read (KZ-42).

    Raises ToolFailed for a chat about none, and for another Akte than the chat's.
    """
    number = akte_of(context.subject)
    if number is None:
        raise ToolFailed(
            "Dieses Gespräch gehört zu keiner Akte. Öffne eines aus der Akte heraus; nur dort "
            "gilt, welche Modelle sie sehen dürfen."
        )
    akte = context.service(Akten).get(context.person, number)
    if asked.strip() not in ("", akte.az, akte.address, str(akte.id)):
        raise ToolFailed(
            f"Dieses Gespräch gehört zur Akte {akte.az}. Zu einer anderen Akte gehört ein eigenes."
        )
    return akte


def shown_mode(mode: str) -> tuple[str, str, str]:
    """How a KI mode is shown: its words, kind and icon."""
    kind, icon = _SHOWN.get(mode, ("neutral", "ban"))
    return mode if mode == "keine KI" else f"KI {mode}", kind, icon
