"""An MCP server that wants a sign-in, and the authorization server that it names.

Both are one real server on this computer; ``Browser`` is a person with a browser. All tokens, codes
and secrets that it gives begin with ``CANARY``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

CANARY = "CANARY"


@dataclass
class Heard:
    """A request: ``form`` are its fields, of the address or of the body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    form: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body or b"{}")


@dataclass
class Guarded:
    """The server, and how it behaves; ``heard`` are all requests."""

    port: int = 0
    lives: int = 3600
    rotates: bool = True
    outage: int = 0
    """The status of the token endpoint while it is out of order."""
    token_error: str = ""
    iss: str | None = None
    """What it says in an answer that it is; None: the truth."""
    registers: bool = True
    documents: bool = False
    metadata: dict[str, Any] = field(default_factory=dict)
    """What its metadata say otherwise."""
    needs: dict[str, str] = field(default_factory=dict)
    """The right that a tool needs."""
    heard: list[Heard] = field(default_factory=list)
    valid: dict[str, str] = field(default_factory=dict)
    """Access tokens that it takes, with their rights."""
    refresh: dict[str, str] = field(default_factory=dict)
    """Refresh tokens that it takes, with their rights."""
    clients: set[str] = field(default_factory=set)
    hold: asyncio.Event | None = None
    """While it is not set, the token endpoint has done its work and does not answer."""
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)
    _spent: set[str] = field(default_factory=set)
    _given: int = 0

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    @property
    def issuer(self) -> str:
        return f"{self.origin}/as"

    def asked(self, path: str) -> list[dict[str, str]]:
        """The forms of the requests to one of the authorization server's endpoints."""
        return [one.form for one in self.heard if one.path == f"/as/{path}"]

    def refreshes(self) -> int:
        return sum(one.get("grant_type") == "refresh_token" for one in self.asked("token"))

    def expire(self) -> None:
        """No access token holds any more."""
        self.valid.clear()

    # What it answers

    def answer(self, heard: Heard) -> tuple[int, dict[str, str], Any]:
        resource = "/.well-known/oauth-protected-resource/mcp"
        match heard.path:
            case "/mcp":
                return self._mcp(heard)
            case path if path == resource:
                found = {"resource": self.url, "authorization_servers": [self.issuer]}
                return 200, {}, {**found, "scopes_supported": ["look"]}
            case "/.well-known/oauth-authorization-server/as":
                return 200, {}, self._about()
            case "/as/register" if self.registers:
                name = f"client-{len(self.clients)}"
                self.clients.add(name)
                return 201, {}, {**heard.json, "client_id": name}
            case "/as/authorize":
                return self._authorize(heard.form)
            case "/as/token":
                return self._token(heard)
            case "/as/revoke":
                self.refresh.pop(heard.form["token"], None)
                return 200, {}, {}
            case _:
                return 404, {}, {}

    def _about(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "issuer": self.issuer,
            **{f"{one}_endpoint": f"{self.issuer}/{path}" for one, path in ENDPOINTS},
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": self.documents,
        }
        if not self.registers:
            del found["registration_endpoint"]
        return found | self.metadata

    def _mcp(self, heard: Heard) -> tuple[int, dict[str, str], Any]:
        token = heard.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in self.valid:
            place = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
            challenge = f'Bearer resource_metadata="{place}", scope="look"'
            return 401, {"www-authenticate": challenge}, {}
        body = heard.json
        method = body.get("method")
        if "id" not in body:
            return (202, {}, None) if method else (405, {}, None)
        if method == "initialize":
            about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            result: Any = {**about, "serverInfo": {"name": "guarded", "version": "1"}}
        elif method == "tools/list":
            names = ("look", "sell")
            result = {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in names]}
        elif method == "tools/call":
            wanted = self.needs.get(body["params"]["name"], "")
            if wanted and wanted not in self.valid[token].split():
                challenge = f'Bearer error="insufficient_scope", scope="{wanted}"'
                return 403, {"www-authenticate": challenge}, {}
            result = {"content": [{"type": "text", "text": f"as {self.valid[token]}"}]}
        else:
            error = {"code": -32601, "message": "No such method."}
            return 200, {}, {"jsonrpc": "2.0", "id": body["id"], "error": error}
        return 200, {}, {"jsonrpc": "2.0", "id": body["id"], "result": result}

    def _authorize(self, form: dict[str, str]) -> tuple[int, dict[str, str], Any]:
        assert form["response_type"] == "code" and form["code_challenge_method"] == "S256"
        self._given += 1
        code = f"{CANARY}-code-{self._given}"
        self._codes[code] = form
        iss = self.issuer if self.iss is None else self.iss
        back = {"code": code, "state": form["state"], "iss": iss}
        return 302, {"location": f"{form['redirect_uri']}?{urlencode(back)}"}, None

    def _token(self, heard: Heard) -> tuple[int, dict[str, str], Any]:
        form = heard.form
        if self.outage:
            return self.outage, {}, {"error": "temporarily_unavailable"}
        if self.token_error:
            return 400, {}, {"error": self.token_error}
        if form["grant_type"] == "authorization_code":
            asked = self._codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            assert proof == asked["code_challenge"]
            assert form["redirect_uri"] == asked["redirect_uri"]
            assert form["resource"] == asked["resource"] == self.url
            return self._tokens(asked.get("scope", ""), new=True)
        old = form["refresh_token"]
        if old in self._spent:  # somebody stole one: nobody has any more
            self.refresh.clear()
            self.valid.clear()
        if old not in self.refresh:
            return 400, {}, {"error": "invalid_grant", "error_description": f"{old} is over"}
        assert form["resource"] == self.url
        scope = self.refresh[old]
        if self.rotates:
            del self.refresh[old]
            self._spent.add(old)
        return self._tokens(scope, new=self.rotates)

    def _tokens(self, scope: str, *, new: bool) -> tuple[int, dict[str, str], Any]:
        self._given += 1
        access = f"{CANARY}-access-{self._given}-{'x' * 900}"
        self.valid[access] = scope
        found: dict[str, Any] = {"access_token": access, "token_type": "bearer"}
        found["expires_in"] = self.lives
        if new:
            found["refresh_token"] = f"{CANARY}-refresh-{self._given}"
            self.refresh[found["refresh_token"]] = scope
        return 200, {"cache-control": "no-store"}, found


ENDPOINTS = (
    ("authorization", "authorize"),
    ("token", "token"),
    ("registration", "register"),
    ("revocation", "revoke"),
)


@asynccontextmanager
async def guarded(**behaviour: Any) -> AsyncIterator[Guarded]:
    """A server that wants a sign-in, on a port of its own."""
    made = Guarded(**behaviour)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                heard = await _read(reader)
                made.heard.append(heard)
                status, headers, body = made.answer(heard)
                if heard.path == "/as/token" and made.hold is not None:
                    await made.hold.wait()
                content = b"" if body is None else json.dumps(body).encode()
                kind = {"content-type": "application/json"} if content else {}
                lines = [f"{name}: {value}\r\n" for name, value in {**kind, **headers}.items()]
                head = f"HTTP/1.1 {status} X\r\n{''.join(lines)}content-length: {len(content)}"
                writer.write(f"{head}\r\n\r\n".encode() + content)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", made.port, limit=2**20)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


async def _read(reader: asyncio.StreamReader) -> Heard:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
    method, target, _ = head[0].split(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head[1:] if line)
    }
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    parts = urlsplit(target)
    fields = parts.query
    if headers.get("content-type") == "application/x-www-form-urlencoded":
        fields = body.decode()
    return Heard(method, parts.path, headers, body, dict(parse_qsl(fields)))


class Browser:
    """A person with a browser who agrees; ``opened`` are the addresses it was opened at."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.pages: list[str] = []

    async def __call__(self, url: str) -> None:
        self.opened.append(url)
        place = _header(await _get(url), "location")
        if place:
            self.pages.append(await _get(place))


async def _get(url: str) -> str:
    """The whole answer at an address."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(
        f"GET {parts.path}?{parts.query} HTTP/1.1\r\nhost: {parts.netloc}\r\n\r\n".encode()
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    body = await reader.readexactly(int(_header(head, "content-length") or 0))
    writer.close()
    return head + body.decode()


def _header(head: str, name: str) -> str:
    found = re.search(rf"^{name}: (.*?)\r$", head, re.M | re.I)
    return found[1] if found else ""
