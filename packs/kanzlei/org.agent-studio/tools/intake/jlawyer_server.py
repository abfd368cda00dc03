"""j-lawyer.org server: asks the REST interface of the server that a person named, and no other
(KZ-51).

The password goes there with each request, so plain HTTP is for the office's own network alone. It
is asked for each time and kept nowhere. Nothing is written there: all requests are GET.
"""

from __future__ import annotations

import base64
import binascii
import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from typing import cast
from urllib.parse import quote, urlsplit

from studio.packs import ToolFailed

from .cases import Unreachable

Row = dict[str, object]
_PLACE = "/j-lawyer-io/rest"
_NEAR = (".local", ".lan", ".home.arpa", ".internal", ".fritz.box")
_MOST = 80_000_000
"""Bytes of an answer: a document of 50 MB has 67 as Base64."""
_PIECE = 65_536
_SECONDS = 60.0
"""Of silence."""
_WHOLE = 300.0
"""Seconds that all of an answer may take."""


class _Here(urllib.request.HTTPRedirectHandler):
    """Follows nowhere: the password is for this server alone."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class JLawyerServer:
    """One server, asked as one user. All of it blocks, and raises ToolFailed."""

    def __init__(self, address: str, user: str, password: str) -> None:
        self.base, self.host = _base(address)
        if not user.strip() or not password:
            raise ToolFailed("Nenne Benutzername und Passwort, wie Du Dich dort anmeldest.")
        token = base64.b64encode(f"{user.strip()}:{password}".encode()).decode()
        self._heads = {"Authorization": f"Basic {token}", "Accept": "application/json"}
        # No proxy: the server is in the office, and the password is for it alone.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Here())

    def rows(self, path: str, *parts: str) -> list[Row]:
        """A list at a path, whose ``{}`` are the parts; what is no row of it is left out."""
        found = self._ask(path, *parts)
        rows = cast("list[object]", found) if isinstance(found, list) else []
        return [cast("Row", one) for one in rows if isinstance(one, dict)]

    def row(self, path: str, *parts: str) -> Row:
        """One record; empty where there is none."""
        found = self._ask(path, *parts)
        return cast("Row", found) if isinstance(found, dict) else {}

    def content(self, document: str) -> bytes:
        """The bytes of a document."""
        row = self.row("/v1/cases/document/{}/content", document)
        try:
            return base64.b64decode(text(row, "base64content"), validate=False)
        except (binascii.Error, ValueError) as error:
            raise ToolFailed("Sein Inhalt kam beschädigt an.") from error

    def _ask(self, path: str, *parts: str) -> object:
        address = self.base + path.format(*(quote(one, safe="") for one in parts))
        data = self._fetch(urllib.request.Request(address, headers=self._heads))
        if not data.strip():
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ToolFailed(f"{self.host} antwortet nicht so, wie j-lawyer.org es tut.") from error

    def _fetch(self, asked: urllib.request.Request) -> bytes:
        end, left, pieces = time.monotonic() + _WHOLE, _MOST, list[bytes]()
        try:
            with self._opener.open(asked, timeout=_SECONDS) as answer:
                while piece := answer.read1(_PIECE):
                    left -= len(piece)
                    if time.monotonic() > end or left < 0:
                        raise Unreachable(f"{self.host} sendet zu lange oder zu viel.")
                    pieces.append(piece)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 401:
                raise Unreachable("Benutzername oder Passwort stimmen nicht.") from error
            raise ToolFailed(f"{self.host}: {_why(error.code)}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", "") or error
            raise Unreachable(f"{self.host} ist nicht zu erreichen: {reason}.") from error
        return b"".join(pieces)


def text(row: Row, name: str) -> str:
    """A field as text; empty for none."""
    value = row.get(name)
    return "" if value is None or isinstance(value, (dict, list)) else str(value).strip()


def _why(code: int) -> str:
    if code == 403:
        return "dieser Benutzer darf das nicht lesen (403)."
    if 300 <= code < 400:
        return f"es verweist an eine andere Adresse (Antwort {code}); nenne sie selbst."
    return f"das geht dort nicht (Antwort {code})."


def _base(address: str) -> tuple[str, str]:
    """Where the interface of a server is, and its name; raises ToolFailed for no such address."""
    address = address.strip()
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ToolFailed(f"„{address}“ ist keine Adresse wie http://server:8080.") from error
    if not host or parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise ToolFailed(f"„{address}“ ist keine Adresse wie http://server:8080.")
    if parts.scheme == "http" and not _is_near(host):
        raise ToolFailed(f"{host} ist nicht im eigenen Netz: nenne die Adresse mit https://.")
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{_PLACE}", host


def _is_near(host: str) -> bool:
    """Whether a computer is in the office's own network, as far as its name says."""
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(_NEAR)
    return number.is_private or number.is_loopback
