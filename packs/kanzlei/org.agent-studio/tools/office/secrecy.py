"""Secrecy: which provider may see an Akte (§ 203 StGB, KZ-42). In doubt, none.

Masking for the mode „pseudonym“ is not built, so nothing is sent in it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from studio.packs import ALLOWED, AskedRequest, Home, RequestPolicy, Verdict

from .akten import akte_of
from .settings import OfficeSettings


class AktenPolicy(RequestPolicy):
    """Asks the Akte of a chat for its mode before each request."""

    def ask(self, request: AskedRequest, home: Home) -> Verdict:
        if not request.subject.startswith("kanzlei:"):
            return ALLOWED
        akte = akte_of(request.subject)
        rows = home.records.read("SELECT az, ki_modus FROM akte WHERE id = ?", akte or 0)
        if not rows:
            return Verdict(f"Die Akte dieses Gesprächs ({request.subject}) gibt es nicht.")
        az, mode = rows[0]["az"], rows[0]["ki_modus"]
        if mode == "frei":
            return ALLOWED
        if mode == "lokal":
            if request.local or self._listed(request.address, home):
                return ALLOWED
            return Verdict(
                f"Die Akte {az} ist „lokal“: {request.provider} liegt nicht auf diesem Rechner. "
                "Nichts wurde gesendet. Wähle ein lokales Modell."
            )
        if mode == "keine KI":
            return Verdict(f"Für die Akte {az} ist keine KI erlaubt. Nichts wurde gesendet.")
        return Verdict(
            f"Die Akte {az} ist „{mode}“: Namen können noch nicht ersetzt werden. Nichts wurde "
            "gesendet."
        )

    def _listed(self, address: str, home: Home) -> bool:
        """Whether the person named the host of an address, which is then as good as local."""
        host = urlsplit(address).hostname or ""
        listed = home.settings(OfficeSettings).erlaubte_hosts.split(",")
        return bool(host) and host in {one.strip().lower() for one in listed}
