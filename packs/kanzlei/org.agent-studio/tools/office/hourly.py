"""Hourly limits: how many requests a person of a role may make in an hour (KZ-41).

Counted are all that the person's chats send, whatever they are about, in the records: also those of
other programs, and from before a new start.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping

from studio.packs import Home, ToolFailed

from .persons import NAMES
from .settings import OfficeSettings

HOUR = 3600.0


def limits(text: str) -> Mapping[str, int]:
    """The limits by roles, as ``PRAKTIKANT=20; SEKRETARIAT=60``; raises ToolFailed."""
    found: dict[str, int] = {}
    for part in filter(None, (one.strip() for one in text.split(";"))):
        role, _, number = (one.strip() for one in part.partition("="))
        if role.upper() not in NAMES or not (number.isascii() and number.isdecimal()):
            raise ToolFailed(
                f"„{part}“ in der Einstellung „Anfragen je Stunde“ ist kein Limit. Schreibe sie "
                f"wie PRAKTIKANT=20; SEKRETARIAT=60. Rollen sind {', '.join(NAMES)}."
            )
        found[role.upper()] = int(number)
    return found


def over_limit(home: Home) -> str:
    """Count a request of the person who works here; the reason against it if it is one too many."""
    known = limits(home.settings(OfficeSettings).anfragen_je_stunde)
    if not known:
        return ""
    person, now = home.person, time.time()
    most = known.get(person.role)
    if most is None:
        return ""
    records, number = home.records, int(person.id)
    with records.together():
        records.write("DELETE FROM anfrage WHERE zeit <= ?", now - HOUR)
        # The one that must be an hour old before another may go.
        sql = "SELECT zeit FROM anfrage WHERE person = ? ORDER BY zeit DESC LIMIT 1 OFFSET ?"
        rows = records.read(sql, number, most - 1) if most else [{"zeit": now}]
        if not rows:
            records.write("INSERT INTO anfrage VALUES (?, ?)", number, now)
            return ""
    told = f"{person.name} hat als {person.role} {most} Anfragen in der Stunde"
    if not most:
        return f"{told}. Nichts wurde gesendet."
    free = datetime.datetime.fromtimestamp(float(str(rows[0]["zeit"])) + HOUR)
    return f"{told}, und sie sind gestellt. Die nächste geht um {free:%H:%M} Uhr."
