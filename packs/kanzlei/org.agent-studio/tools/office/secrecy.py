"""Secrecy: which provider may see an Akte (§ 203 StGB, KZ-42). In doubt, none.

- lokal: models on this computer, and those of hosts that the office lists.
- pseudonym: behind a mask; others than those by a recorded agreement (§ 43e BRAO) alone.
- frei: all of them, by the consent of the client or an agreement.
- keine KI: none, not even a local one.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from studio.packs import ALLOWED, AskedRequest, Home, RequestPolicy, ToolFailed, Verdict

from ..masking.mask import Masken
from .agreements import Vereinbarungen
from .akten import Akten, akte_of
from .audit import MASKED, SENT, append
from .history import now
from .settings import OfficeSettings


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
        az, mode = akte.az, akte.mode
        if mode == "keine KI":
            return Verdict(f"Für die Akte {az} ist keine KI erlaubt. Nichts wurde gesendet.")
        here = request.local or self._listed(request.address, home)
        if mode == "frei" or (mode == "lokal" and here):
            return Verdict(mask=home.service(Masken).showing(akte.id))
        if mode == "lokal":
            return Verdict(
                f"Die Akte {az} ist „lokal“: {request.provider} liegt nicht auf diesem Rechner. "
                "Nichts wurde gesendet. Wähle ein lokales Modell."
            )
        if mode != "pseudonym":
            return Verdict(f"Den KI-Modus „{mode}“ der Akte {az} gibt es nicht.")
        if not here and home.service(Vereinbarungen).of(request.provider) is None:
            return Verdict(
                f"Mit {request.provider} ist keine Vereinbarung nach § 43e BRAO erfasst. Nichts "
                "wurde gesendet. Erfasse sie mit „agent-studio kanzlei vereinbarung“."
            )
        return Verdict(mask=home.service(Masken).of(akte.id))

    def _listed(self, address: str, home: Home) -> bool:
        """Whether the person named the host of an address, which is then as good as local."""
        host = urlsplit(address).hostname or ""
        listed = home.settings(OfficeSettings).erlaubte_hosts.split(",")
        return bool(host) and host in {one.strip().lower() for one in listed}
