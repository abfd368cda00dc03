"""Secrecy: which provider may see an Akte (§ 203 StGB, KZ-42). In doubt, none.

- lokal: models on this computer, and those of hosts that the office lists.
- pseudonym: behind a mask; others than those by a recorded agreement (§ 43e BRAO) alone.
- frei: all of them, by the consent of the client or an agreement.
- keine KI: none, not even a local one.

Chats about an Akte may be told of others. Of these the strictest counts, also later: a chat keeps
what it was told (KZ-42).
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from studio.packs import (
    ALLOWED,
    AskedRequest,
    Home,
    Person,
    Records,
    RequestPolicy,
    ToolFailed,
    Verdict,
)

from ..masking.mask import Masken
from .agreements import Vereinbarungen
from .akten import Akte, Akten, akte_of
from .audit import MASKED, SENT, append
from .history import now
from .persons import ADMIN, ANWALT
from .settings import OfficeSettings

_STRICT = ("frei", "pseudonym", "lokal", "keine KI")


class AktenPolicy(RequestPolicy):
    """Asks the Akte of a chat for its mode before each request."""

    def ask(self, request: AskedRequest, home: Home) -> Verdict:
        if not request.subject.startswith("kanzlei:"):
            return ALLOWED
        verdict = self._verdict(request, home)
        if request.purpose != "look":
            decision = MASKED if verdict.mask is not None and verdict.mask.hides else SENT
            append(
                home.records,
                now(),
                home.person,
                akte_of(request.subject),
                f"Anfrage: {request.purpose}",
                f"abgelehnt: {verdict.refused}" if verdict.refused else decision,
                provider=request.provider,
                model=request.model,
            )
        return verdict

    def _verdict(self, request: AskedRequest, home: Home) -> Verdict:
        number = akte_of(request.subject)
        try:
            akte = home.service(Akten).get(home.person, number or 0)
        except ToolFailed:  # also one that is not for this person: the same answer (KZ-13)
            return Verdict(
                f"Die Akte dieses Gesprächs ({request.subject}) gibt es nicht, oder sie ist für "
                f"{home.person.name} nicht zugänglich. Nichts wurde gesendet."
            )
        mode, az, more = _strictest(home.records, akte)
        if mode == "keine KI":
            return Verdict(f"Für die Akte {az} ist keine KI erlaubt. Nichts wurde gesendet.{more}")
        here = request.local or self._listed(request.address, home)
        if mode == "frei" or (mode == "lokal" and here):
            return Verdict(mask=home.service(Masken).showing(akte.id))
        if mode == "lokal":
            return Verdict(
                f"Die Akte {az} ist „lokal“: {request.provider} liegt nicht auf diesem Rechner. "
                f"Nichts wurde gesendet. Wähle ein lokales Modell.{more}"
            )
        if mode != "pseudonym":
            return Verdict(f"Den KI-Modus „{mode}“ der Akte {az} gibt es nicht.")
        if not here and home.service(Vereinbarungen).of(request.provider) is None:
            return Verdict(
                f"Mit {request.provider} ist keine Vereinbarung nach § 43e BRAO erfasst. Nichts "
                f"wurde gesendet. Erfasse sie mit „agent-studio kanzlei vereinbarung“.{more}"
            )
        return Verdict(mask=home.service(Masken).of(akte.id))

    def _listed(self, address: str, home: Home) -> bool:
        """Whether the person named the host of an address, which is then as good as local."""
        host = urlsplit(address).hostname or ""
        listed = home.settings(OfficeSettings).erlaubte_hosts.split(",")
        return bool(host) and host in {one.strip().lower() for one in listed}


def note_seen(records: Records, akte: int, others: Sequence[int]) -> None:
    """Keep of which other Akten a chat about one is told. Blocks."""
    with records.together():
        for one in others:
            if one != akte:
                records.write("INSERT OR IGNORE INTO gesehen VALUES (?, ?)", akte, one)


def forget_chats(home: Home, person: Person, akte: Akte) -> int:
    """Delete the chats about an Akte, and with them what they were told; returns how many."""
    if person.role not in (ADMIN, ANWALT):
        raise ToolFailed(f"Gespräche einer Akte löscht ein Anwalt, nicht {person.role}.")
    chats = home.forget(akte.address)
    with home.records.together():
        home.records.write("DELETE FROM gesehen WHERE akte = ?", akte.id)
        append(home.records, now(), person, akte.id, "Gespräche gelöscht", str(chats))
    return chats


def _strictest(records: Records, akte: Akte) -> tuple[str, str, str]:
    """The mode that counts, the Akte that it is of, and what to do where it is of another one.

    One that was deleted since counts as “lokal”.
    """
    rows = records.read(
        "SELECT coalesce(andere.az, '') AS az, coalesce(andere.ki_modus, 'lokal') AS modus "
        "FROM gesehen LEFT JOIN akte AS andere ON andere.id = gesehen.andere "
        "WHERE gesehen.akte = ?",
        akte.id,
    )
    mode, az, more = akte.mode, akte.az, ""
    for row in rows:
        other = str(row["modus"])
        if mode in _STRICT and _STRICT.index(other) > _STRICT.index(mode):
            mode, az = other, str(row["az"]) or "(gelöscht)"
            more = (
                f" Gespräche zur Akte {akte.az} wissen von ihr. Mit „agent-studio kanzlei "
                f"vergessen {akte.az} {akte.az}“ werden diese Gespräche gelöscht."
            )
    return mode, az, more
