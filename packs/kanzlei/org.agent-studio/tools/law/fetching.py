"""Fetching: takes laws and decisions from the two sites that publish them, decisions also from
one that collects them and is not official; from no other (KZ-27).

Nothing of an Akte goes there: only what the person typed, a law's short name, an Aktenzeichen or an
address.
"""

from __future__ import annotations

import http.client
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from studio.packs import ToolFailed

from .._patterns import lazy_pattern

HOSTS = ("www.gesetze-im-internet.de", "www.rechtsprechung-im-internet.de")
OPEN_HOST = "de.openlegaldata.io"
LAW = "https://www.gesetze-im-internet.de/{law}/xml.zip"
_SHORT = lazy_pattern(r"[a-z0-9_]{1,60}")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", " ": "_", "-": "_"})
_MOST = 60_000_000
_PIECE = 65_536
_SECONDS = 60.0
"""Of silence."""
_WHOLE = 600.0
"""Seconds that all of an answer may take."""
T = TypeVar("T")


def address_of(wanted: str) -> str:
    """Where a law of a short name lies, as ``BGB``; an address stays. Raises ToolFailed."""
    wanted = wanted.strip()
    if "://" in wanted:
        return wanted
    law = wanted.casefold().translate(_UMLAUTS)
    if not _SHORT.fullmatch(law):
        raise ToolFailed(f"„{wanted}“ ist keine Abkürzung eines Gesetzes wie BGB oder ZPO.")
    return LAW.format(law=law)


def fetched(address: str, take: Callable[[Path], T], hosts: Iterable[str] = HOSTS) -> T:
    """Hand what lies at an address to ``take``, as a file. Blocks; raises ToolFailed."""
    _require(address, hosts)

    class Within(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
            try:
                _require(newurl, hosts)
            except ToolFailed:
                fp.close()
                raise
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    asked = urllib.request.Request(address, headers={"User-Agent": "Agent Studio"})
    host = urlsplit(address).hostname
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{host}{Path(urlsplit(address).path).suffix[:10]}"
        _download(asked, urllib.request.build_opener(Within()), path)
        return take(path)


def _download(
    asked: urllib.request.Request, opener: urllib.request.OpenerDirector, path: Path
) -> None:
    """Write an answer into a file, piece by piece; raises ToolFailed."""
    host, left = urlsplit(asked.full_url).hostname, _MOST
    end = time.monotonic() + _WHOLE
    try:
        with opener.open(asked, timeout=_SECONDS) as answer, path.open("wb") as file:
            while piece := answer.read1(_PIECE):  # what is there: a few bytes a minute end too
                if time.monotonic() > end:
                    raise ToolFailed(f"{host} braucht zu lange. Versuche es später noch einmal.")
                left -= len(piece)
                if left < 0:
                    raise ToolFailed(f"Was {host} sendet, ist größer als 60 MB. Lade es als Datei.")
                file.write(piece)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 429:
            raise ToolFailed(f"{host} beantwortet heute keine Anfragen mehr (429).") from error
        raise ToolFailed(
            f"{host} hat dort nichts (Antwort {error.code}). Stimmt die Abkürzung?"
        ) from error
    except (OSError, ValueError, http.client.HTTPException) as error:  # such as one cut off
        reason = getattr(error, "reason", "") or error
        raise ToolFailed(f"{host} ist nicht zu erreichen: {reason}.") from error


def _require(address: str, hosts: Iterable[str]) -> None:
    """Raise ToolFailed unless an address is of one of the hosts, encrypted on the way."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ToolFailed(f"{address} ist keine Adresse.") from error
    if parts.netloc not in hosts or (parts.scheme != "https" and parts.hostname != "127.0.0.1"):
        raise ToolFailed(f"Geladen wird nur von {' und '.join(hosts)} (https).")
