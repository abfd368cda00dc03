"""OAuth tokens: asks authorization servers for new tokens, and gives back those not used any more.

Imports the SDK.
"""

from __future__ import annotations

import asyncio
import base64
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from urllib.parse import quote, urlsplit

import httpx2
from mcp.shared.auth import OAuthToken
from pydantic import ValidationError

from studio.domain.jsonvalue import as_object, as_text
from studio.mcp.faults import network_reason
from studio.mcp.sign_ins import SignIn

TIMEOUT = httpx2.Timeout(15.0)
_LARGEST = 1_000_000
"""Bytes of an answer."""
_REDIRECTS = 5


class Outage(Exception):
    """An authorization server cannot answer now; says why."""


class GrantEnded(Exception):
    """A refresh token holds no more: the person has to sign in."""


async def refreshed(known: SignIn) -> SignIn:
    """The sign-in with new tokens. Raises GrantEnded, or Outage for whatever may pass."""
    form = {"grant_type": "refresh_token", "refresh_token": known.refresh}
    form |= {"resource": known.resource}
    host = host_of(known.token_endpoint)
    async with Web() as web:
        response = await web.post(known.token_endpoint, *with_client(known, form))
    code = error_code(response)
    if code == "invalid_grant":
        raise GrantEnded
    if code or response.status_code != 200:
        raise Outage(f"{host} answers {code or f'with status {response.status_code}'}")
    return with_tokens(known, response)


async def revoke(known: SignIn) -> None:
    """Tell the authorization server that its tokens are used no more, if it wants to know."""
    if not (known.revocation_endpoint and known.is_signed_in):
        return
    form = {"token": known.refresh or known.access}
    try:
        async with Web() as web:
            await web.post(known.revocation_endpoint, *with_client(known, form))
    except Outage:
        return


class Web:
    """Asks authorization servers, with no header of the server that it is for. Raises Outage."""

    async def __aenter__(self) -> Web:
        context = await asyncio.to_thread(httpx2.create_ssl_context)
        self._client = httpx2.AsyncClient(verify=context, timeout=TIMEOUT)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def get(self, url: str) -> httpx2.Response:
        """What is at an address, within its origin."""
        request = httpx2.Request("GET", url, headers={"accept": "application/json"})
        response = await self.send(request)
        for _ in range(_REDIRECTS):
            target = response.headers.get("location")
            if not 300 <= response.status_code < 400 or not target:
                break
            where = httpx2.URL(url).join(target)
            if (where.scheme, where.netloc) != (request.url.scheme, request.url.netloc):
                break
            request = httpx2.Request("GET", where, headers={"accept": "application/json"})
            response = await self.send(request)
        if response.status_code >= 500 or response.status_code == 429:
            raise Outage(f"{host_of(url)} answers with status {response.status_code}")
        return response

    async def post(
        self, url: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> httpx2.Response:
        return await self.send(httpx2.Request("POST", url, data=dict(form), headers=headers))

    async def send(self, request: httpx2.Request, *, head: bool = False) -> httpx2.Response:
        """``head``: its body is not read. No redirect is followed."""
        try:
            response = await self._client.send(request, stream=True)
            body = b""
            try:
                if not head:
                    async for piece in response.aiter_bytes():
                        body += piece
                        if len(body) > _LARGEST:
                            break
            finally:
                await response.aclose()
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            why = network_reason(error)
            raise Outage(f"{host_of(str(request.url))} cannot be reached: {why}") from error
        if len(body) > _LARGEST:
            raise Outage(f"{host_of(str(request.url))} answers with more than 1 MB")
        kept = ("content-type", "location", "www-authenticate")
        known = [(name, value) for name, value in response.headers.items() if name in kept]
        return httpx2.Response(response.status_code, headers=known, content=body, request=request)


def with_client(client: SignIn, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A form with what says who we are, and the headers that it needs."""
    name, secret = client.client_id, client.client_secret
    if secret and client.client_method == "client_secret_basic":
        pair = f"{quote(name, safe='')}:{quote(secret, safe='')}".encode()
        return dict(form), {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if secret and client.client_method == "client_secret_post":
        return {**form, "client_id": name, "client_secret": secret}, {}
    return {**form, "client_id": name}, {}


def with_tokens(known: SignIn, response: httpx2.Response) -> SignIn:
    """The sign-in with an answer's tokens; what the answer does not name stays."""
    try:
        found = OAuthToken.model_validate_json(response.content)
    except ValidationError:
        host = host_of(known.token_endpoint)
        raise Outage(f"what {host} answers does not follow the protocol") from None
    lives = float(max(found.expires_in or 0, 0))
    return replace(
        known,
        access=found.access_token,
        refresh=found.refresh_token or known.refresh,
        expires=time.time() + lives if lives else 0.0,
        lives=lives,
        scope=known.scope if found.scope is None else found.scope,
    )


def error_code(response: httpx2.Response) -> str:
    """The error that an answer names, if it does; nothing else of an answer is shown."""
    try:
        code = as_text(as_object(response.json()).get("error"))
    except ValueError:
        return ""
    return code if re.fullmatch(r"[\w.-]{1,60}", code) else ""


def host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or "the server"


def one_line(text: str) -> str:
    """Words of a stranger, in one short line."""
    return "".join(one if one.isprintable() else " " for one in text)[:200].strip()
