"""German: writes days, numbers and amounts as people in Germany read them."""

from __future__ import annotations

import datetime
from decimal import Decimal, InvalidOperation

from studio.packs import ToolFailed

WEEKDAYS = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")


def day(value: datetime.date) -> str:
    """``Mo 02.03.2026``."""
    return f"{WEEKDAYS[value.weekday()]} {value:%d.%m.%Y}"


def number(value: Decimal) -> str:
    """``1,3``, as it is; at least one place after the comma."""
    text = f"{value.normalize():f}"
    return (text if "." in text else f"{text}.0").replace(".", ",")


def count(value: int) -> str:
    """``2.000``."""
    return f"{value:,}".replace(",", ".")


def counted(value: int, one: str, many: str) -> str:
    """``1 Datei ist``, ``2 Dateien sind``."""
    return f"{count(value)} {one if value == 1 else many}"


_ONE = {
    "Akten": "Akte",
    "Dokumente": "Dokument",
    "Dokumenten": "Dokument",
    "Einträge": "Eintrag",
    "Entscheidungen": "Entscheidung",
    "Fristen": "Frist",
    "Gesetze": "Gesetz",
    "Kontakte": "Kontakt",
    "Paragrafen": "Paragraf",
    "Regeln": "Regel",
    "Tage": "Tag",
    "Wortlaute": "Wortlaut",
    "Zeilen": "Zeile",
    "Zeiten": "Zeit",
}


def many(value: int, nouns: str) -> str:
    """``1 Akte``, ``2 Akten``: of what the office counts; other nouns have no plural."""
    return counted(value, _ONE.get(nouns, nouns), nouns)


def euros(amount: Decimal) -> str:
    """``1.963,50 €``."""
    return f"{amount:,.2f} €".translate(str.maketrans(",.", ".,"))


def cents(text: str) -> int:
    """The cents of ``3.100,55 €`` or ``3100.55``; raises ToolFailed."""
    try:
        amount = read_amount(text)
    except ValueError as error:
        raise ToolFailed(f"„{text}“ ist kein Betrag. Geschrieben wird er 3.100,55.") from error
    if not 0 <= amount < 10**12:
        raise ToolFailed(f"„{text}“ ist kein Betrag. Geschrieben wird er 3.100,55.")
    return int((amount * 100).to_integral_value())


def read_day(text: str) -> datetime.date:
    """The day of ``2026-03-02`` or ``02.03.2026``; raises ValueError."""
    text = text.strip()
    if "." in text:
        return datetime.datetime.strptime(text, "%d.%m.%Y").date()
    return datetime.date.fromisoformat(text)


def read_amount(text: str) -> Decimal:
    """The number of ``3100.55``, ``3.100,55``, ``1,3`` or ``10 €``; raises ValueError."""
    plain = text.strip().removesuffix("€").strip()
    if "," in plain:
        plain = plain.replace(".", "").replace(",", ".")
    try:
        amount = Decimal(plain)
    except InvalidOperation as error:
        raise ValueError(f"„{text}“ ist keine Zahl.") from error
    if not amount.is_finite():
        raise ValueError(f"„{text}“ ist keine Zahl.")
    return amount


def days_left(end: datetime.date, today: datetime.date) -> str:
    """``in 4 Tagen``, ``heute``, ``3 Tage überfällig``."""
    days = (end - today).days
    if days < 0:
        return "1 Tag überfällig" if days == -1 else f"{-days} Tage überfällig"
    return ("heute", "morgen")[days] if days < 2 else f"in {days} Tagen"
