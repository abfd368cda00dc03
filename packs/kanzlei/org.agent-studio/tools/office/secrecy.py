"""Secrecy: which provider may see an Akte (§ 203 StGB, KZ-42). In doubt, none.

- lokal: models on this computer, and those of hosts that the office lists.
- pseudonym: behind a mask; others than those by a recorded agreement (§ 43e BRAO) alone.
- frei: all of them, by the consent of the client or an agreement.
- keine KI: none, not even a local one.

A call that goes into the web is sent nowhere by an Akte that is „lokal“ or „keine KI“. Elsewhere,
and for what any agent is asked without an Akte, the person is asked where the words name somebody
whom the office knows (KZ-40).

Chats about an Akte may be told of others. Of these the strictest counts, also later: a chat keeps
what it was told (KZ-42).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from studio.packs import (
    ALLOWED,
    AskedRequest,
    Home,
    Mark,
    Person,
    Records,
    RequestPolicy,
    ToolFailed,
    Verdict,
)

from ..masking.mask import Masken
from .agreements import Vereinbarungen
from .akten import MODE_WORDS, Akte, Akten, akte_of, shown_mode
from .audit import HELD, MASKED, SENT, append
from .history import now
from .hourly import over_limit
from .persons import ADMIN, ANWALT
from .settings import OfficeSettings

RECHERCHE = "Recherche"
"""Who searches the web without an Akte, for one that is „lokal“."""
NAMED = 5
"""How many names a question to the person has."""
_STRICT = ("frei", "pseudonym", "lokal", "keine KI")


class AktenPolicy(RequestPolicy):
    """Asks the Akte of a chat for its mode before each request."""

    def ask(self, request: AskedRequest, home: Home) -> Verdict:
        about_akte = request.subject.startswith("kanzlei:")
        verdict = ALLOWED
        if about_akte:
            verdict = self._verdict(request, home)
        elif not (request.local or self._listed(request.address, home)):
            verdict = _without_names(request, home, None)
        if request.purpose not in ("look", "call") and not verdict.refused:
            verdict = replace(verdict, refused=over_limit(home))
        if request.purpose != "look" and (about_akte or verdict != ALLOWED):
            append(
                home.records,
                now(),
                home.person,
                akte_of(request.subject),
                f"Anfrage: {request.purpose}",
                _decision(verdict),
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
        mode, az, more = strictest(home.records, akte)
        if mode == "keine KI":
            return Verdict(f"Für die Akte {az} ist keine KI erlaubt. Nichts wurde gesendet.{more}")
        here = request.local or self._listed(request.address, home)
        if request.purpose == "call" and mode in ("frei", "pseudonym") and not here:
            return _without_names(request, home, akte.id)
        if mode == "frei" or (mode == "lokal" and here):
            return Verdict(mask=home.service(Masken).showing(akte.id))
        if mode == "lokal" and request.purpose == "call":
            return Verdict(
                f"Die Akte {az} ist „lokal“: {request.provider} geht ins Netz. Nichts wurde "
                f"gesendet. Suche im Netz in einem Gespräch ohne Akte, mit „{RECHERCHE}“.{more}"
            )
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


def _without_names(request: AskedRequest, home: Home, akte: int | None) -> Verdict:
    """Hold back words that name somebody, until the person was asked (KZ-40)."""
    names = home.service(Masken).named(request.words, akte)
    if not names:
        return ALLOWED
    told = ", ".join(names[:NAMED]) + (f" und {len(names) - NAMED} weitere" * (len(names) > NAMED))
    name = request.provider
    where = f"mit {name} ins Netz" if request.purpose == "call" else f"an {name}, also aus dem Haus"
    return Verdict(
        asks=f"Die Frage nennt {told}: der Kanzlei bekannt. Sie ginge {where}. Stelle sie ohne "
        "Namen. Trotzdem senden?"
    )


def _decision(verdict: Verdict) -> str:
    if verdict.refused:
        return f"abgelehnt: {verdict.refused}"
    if verdict.asks:
        return HELD
    return MASKED if verdict.mask is not None and verdict.mask.hides else SENT


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


def mode_mark(records: Records, akte: Akte) -> Mark:
    """Which models may see chats about an Akte, as a word. Blocks."""
    mode, az, _ = strictest(records, akte)
    of_other = f", wegen der Akte {az}, von der sie wissen" if az != akte.az else ""
    about = f"Gespräche zu dieser Akte: {MODE_WORDS.get(mode, mode)}{of_other}"
    return Mark(*shown_mode(mode), about)


def strictest(records: Records, akte: Akte) -> tuple[str, str, str]:
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
