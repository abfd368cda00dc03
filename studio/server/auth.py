"""Access checks decide who may ask the server, before a body is read (S-4).

A web page in a browser reaches this computer's ports. Four checks stop it:
the token, which the page does not know; ``Host``, which is foreign where the page's own
name resolves to this computer (DNS rebinding); ``Origin``, which a browser adds to the
requests of pages; and the content type, since a page cannot send JSON to another
origin without a preflight.
"""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import re
import secrets
import uuid
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.domain.errors import ConfigurationError
from studio.storage.config.settings import SettingsFile

from .errors import AMBIGUOUS, ApiError, error_from_exception
from .request_body import too_large

log = logging.getLogger(__name__)

NUMBERS = (b"x-request-id", b"request-id")
"""Headers with an answer's number, of OpenAI's libraries and of Anthropic's."""
OPEN = frozenset({"/health"})
"""Paths that need no token and say nothing."""

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_ABSOLUTE = re.compile(rb"http://([^/]*)(.*)", re.IGNORECASE)
_UTF_8 = ("charset=utf-8", 'charset="utf-8"')
_METHODS = "GET, POST, DELETE, OPTIONS"
_AGE = "600"
"""Seconds for which a browser remembers what a page may send."""

Refuse: TypeAlias = Callable[[Scope, ApiError], Response]
"""Makes a refusal in the shape of the API that the request is for."""


class AccessGuard:
    """Passes on the requests that are allowed and refuses the rest (ASGI).

    ``token`` gives the token that is needed, an empty text for none. ``names``
    are the host names of the server, besides those in the settings.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: SettingsFile,
        token: Callable[[], Awaitable[str]],
        names: Iterable[str],
        refuse: Refuse,
    ) -> None:
        self._app = app
        self._settings = settings
        self._token = token
        self._names = frozenset(name.lower() for name in names)
        self._refuse = refuse
        self._answering = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, named = Headers(scope=scope), _relative(scope)
        origin = headers.get("origin")
        welcome = origin is not None and self._welcome(origin)
        send = _numbered(scope, send, origin if welcome else None)
        try:
            fault = self._foreign(scope, headers, named)
            if fault is None and _preflight(scope, headers):
                await _allowed(headers)(scope, receive, send)
                return
            fault = fault or await self._unknown(scope, headers) or self._unfit(scope, headers)
            if fault is None:
                self._answering += 1
                try:
                    await self._app(scope, receive, send)
                finally:
                    self._answering -= 1
                return
        except Exception as error:
            fault = error_from_exception(error)
        await self._refuse(scope, fault)(scope, receive, send)

    def _foreign(self, scope: Scope, headers: Headers, named: str | None) -> ApiError | None:
        """The error for a foreign page or host name, or for a request of ambiguous length.

        ``named`` is the host that its target names, where it names one.
        """
        if "transfer-encoding" in headers and "content-length" in headers:
            # Where it ends is not the same for a proxy before us as it is here.
            return ApiError("A request has one length.", 400, AMBIGUOUS)
        hosts = headers.getlist("host")
        known = [self._here(scope, host) for host in (*hosts, *([] if named is None else [named]))]
        if len(hosts) != 1 or not all(known):
            return ApiError(
                "This server is not known under that name. Add the name to the setting "
                "server_hosts to use it.",
                421,
                "unknown_host",
            )
        origins = headers.getlist("origin")
        if origins and (len(origins) > 1 or not self._welcome(origins[0])):
            return ApiError(
                "Web pages may not ask this server. Add the page’s origin to the setting "
                "server_origins to let it.",
                403,
                "origin_not_allowed",
            )
        return None

    def _welcome(self, origin: str) -> bool:
        """Whether the person lets in the pages of an origin; it is as browsers write it."""
        allowed = self._settings.values.server_origins
        return origin in {one.strip().lower().rstrip("/") for one in allowed} - {"", "null"}

    def _here(self, scope: Scope, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = (found[1] or found[2]).lower()
        known = {one.lower() for one in self._settings.values.server_hosts}
        return name in self._names or name in known or _same(name, scope.get("server"))

    async def _unknown(self, scope: Scope, headers: Headers) -> ApiError | None:
        """The error for a client without the token."""
        scope["state"]["client"] = ""
        if scope["path"] in OPEN:
            return None
        try:
            token = await self._token()
        except ConfigurationError as error:  # where it is kept is nothing for a stranger
            log.error("the token cannot be read: %s", error)
            return ApiError("The token cannot be read here. The log says why.", 500)
        if not token:
            return None
        for shown in _shown(headers):
            if secrets.compare_digest(shown.encode(), token.encode()):
                scope["state"]["client"] = hashlib.sha256(token.encode()).hexdigest()
                return None
        return ApiError(
            "The token is missing or wrong. Send “Authorization: Bearer …” with the token that "
            "Agent Studio shows.",
            401,
            "invalid_api_key",
        )

    def _unfit(self, scope: Scope, headers: Headers) -> ApiError | None:
        """The error for a body that would not be read, or for too many requests at once."""
        values = self._settings.values
        if scope["method"] == "POST":
            if not _json(headers.getlist("content-type")):
                return ApiError("The content type has to be application/json.", 415, "not_json")
            if headers.get("content-encoding", "identity").lower() != "identity":
                return ApiError("The body may not be compressed.", 415, "not_json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > values.server_body_limit:
            return error_from_exception(too_large(values.server_body_limit))
        if self._answering >= max(values.server_at_once, 1) and scope["path"] not in OPEN:
            return ApiError("Too many requests are being answered.", 503, "busy", retry_after=1.0)
        return None


def _relative(scope: Scope) -> str | None:
    """Leaves a target that is a whole address (RFC 9112, 3.2.2) its path; returns its host.

    None where the target is a path already, as nearly every client sends it.
    """
    found = _ABSOLUTE.fullmatch(scope["raw_path"])
    if found is None:
        return None
    scope["raw_path"] = found[2] or b"/"
    scope["path"] = unquote(scope["raw_path"].decode("ascii"))
    return found[1].decode("ascii")


def _json(kinds: Sequence[str]) -> bool:
    """Whether a body says that it is JSON, in UTF-8; other parameters of the type say nothing.

    No comma: of several types in one header, one reader takes the first, another the last.
    """
    if len(kinds) != 1 or "," in kinds[0]:
        return False
    kind, *parameters = [part.strip(" \t").lower() for part in kinds[0].split(";")]
    given = [one for one in parameters if one.partition("=")[0].rstrip() == "charset"]
    return kind == "application/json" and all(one in _UTF_8 for one in given)


def _same(name: str, server: tuple[str, int | None] | None) -> bool:
    """Whether a host is the address at which the client came in: no name, nothing to rebind."""
    try:
        return server is not None and ipaddress.ip_address(name) == ipaddress.ip_address(server[0])
    except ValueError:
        return False


def _shown(headers: Headers) -> list[str]:
    """The tokens that a client sends, in OpenAI's header and in Anthropic's."""
    shown = headers.getlist("x-api-key")
    for value in headers.getlist("authorization"):
        scheme, _, token = value.partition(" ")
        if scheme.lower() == "bearer":
            shown.append(token.strip())
    return shown


def _preflight(scope: Scope, headers: Headers) -> bool:
    """Whether a browser asks, for a page of an allowed origin, what it may send."""
    asks = "origin" in headers and "access-control-request-method" in headers
    return scope["method"] == "OPTIONS" and asks


def _allowed(headers: Headers) -> Response:
    allowed = {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": headers.get("access-control-request-headers", ""),
        "access-control-max-age": _AGE,
    }
    if headers.get("access-control-request-private-network") == "true":
        allowed["access-control-allow-private-network"] = "true"
    return Response(status_code=204, headers=allowed)


def _numbered(scope: Scope, send: Send, origin: str | None) -> Send:
    """Gives every response a number of its own, under the header names of both APIs.

    The log names it where a response failed. The pages of ``origin`` may read the response.
    """
    number = scope["state"]["request"] = f"req_{uuid.uuid4().hex}"
    added = [(name, number.encode()) for name in NUMBERS]
    if origin is not None:
        added += [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", b", ".join(NUMBERS)),
            (b"vary", b"origin"),
        ]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            if (status := message["status"]) >= 500:
                what = f"{scope['method']} {scope['path'][:100]!a}"
                log.warning("%s: %s was answered with %d", number, what, status)
            message["headers"] = [*message.get("headers", ()), *added]
        await send(message)

    return sending
