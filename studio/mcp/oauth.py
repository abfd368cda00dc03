"""OAuth: lets the person sign in to a server at an address, in their browser (M-22).

The SDK has the forms of the protocol and the checks; when what is asked is ours. The SDK opens the
browser by itself: here only ``sign_in`` does, which a person calls. Imports the SDK.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    extract_resource_metadata_from_www_auth,
    extract_scope_from_www_auth,
    get_client_metadata_scopes,
    handle_auth_metadata_response,
    handle_protected_resource_response,
    handle_registration_response,
    is_valid_client_metadata_url,
    issuers_match,
    union_scopes,
    validate_authorization_response_iss,
    validate_metadata_issuer,
)
from mcp.shared.auth import OAuthClientMetadata, OAuthMetadata, ProtectedResourceMetadata
from mcp.shared.auth_utils import check_resource_allowed
from pydantic import AnyUrl

from studio.domain.records import dataclass
from studio.mcp.faults import ServerFailed
from studio.mcp.loopback import Loopback
from studio.mcp.oauth_tokens import (
    Outage,
    Web,
    error_code,
    host_of,
    one_line,
    with_client,
    with_tokens,
)
from studio.mcp.sign_ins import SignIn

PERSON = 600.0
"""Seconds that the person has in the browser."""
_HOME = frozenset(("127.0.0.1", "::1", "localhost"))
_GRANTS = ["authorization_code", "refresh_token"]

Browse = Callable[[str], Awaitable[object]]
"""Opens the person's browser at an address."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the person signs in to. ``client`` is what they gave or the server's entry has.

    ``scope`` is wanted beside what the server asks for. ``port`` is the one of the redirect, which
    may be another if it is taken, unless it is ``fixed``. ``events``: the server speaks the older
    transport.
    """

    server: str
    url: str
    client: SignIn = SignIn()
    scope: str = ""
    port: int = 0
    fixed: bool = False
    events: bool = False


async def sign_in(wish: Wish, known: SignIn | None, browse: Browse) -> SignIn:
    """Let the person sign in, in their browser. Raises ServerFailed.

    Its kind is ``client`` where the person has to register this program first, and ``key`` where
    the server has no sign-in.
    """
    try:
        async with Web() as web:
            return await _SigningIn(wish, known or SignIn(), web).run(browse)
    except Outage as error:
        raise ServerFailed("network", f"The sign-in failed: {error}.") from error


class _SigningIn:
    """One sign-in that is under way."""

    def __init__(self, wish: Wish, known: SignIn, web: Web) -> None:
        self._wish = wish
        self._known = known
        self._web = web
        self._resource = _resource(wish.url)
        self._host = host_of(wish.url)

    async def run(self, browse: Browse) -> SignIn:
        challenge = await self._challenge()
        prm = await self._resource_metadata(extract_resource_metadata_from_www_auth(challenge))
        about = await self._server_metadata(str(prm.authorization_servers[0]) if prm else None)
        scope = get_client_metadata_scopes(
            extract_scope_from_www_auth(challenge), prm, about, _GRANTS
        )
        if self._wish.scope:  # more than there was: what was granted before is asked for again
            scope = union_scopes(union_scopes(self._known.scope, scope), self._wish.scope)
        state = secrets.token_urlsafe(32)
        async with await self._loopback(state) as back:
            client = await self._client(about, back.redirect, scope)
            return await self._authorized(about, client, state, scope or "", back, browse)

    async def _challenge(self) -> httpx2.Response:
        """What the server answers to somebody whom it does not know."""
        self._must_be_safe(self._wish.url)
        if self._wish.events:
            return await self._web.send(httpx2.Request("GET", self._wish.url), head=True)
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"accept": "application/json, text/event-stream"}
        return await self._web.send(
            httpx2.Request("POST", self._wish.url, json=ping, headers=accept), head=True
        )

    async def _resource_metadata(self, named: str | None) -> ProtectedResourceMetadata | None:
        for url in build_protected_resource_metadata_discovery_urls(named, self._wish.url):
            self._must_be_safe(url)
            response = await self._web.get(url)
            found = await handle_protected_resource_response(response)
            if found is None:
                continue
            whose = str(found.resource)
            if not check_resource_allowed(
                requested_resource=self._resource, configured_resource=whose
            ):
                raise self._failed(f"{self._host} says that it is {one_line(whose)}")
            self._resource = whose
            return found
        return None

    async def _server_metadata(self, issuer: str | None) -> OAuthMetadata:
        """Where to sign in; its issuer is the one that was expected."""
        origin = urlunsplit((*urlsplit(self._wish.url)[:2], "", "", ""))
        expected = issuer or origin
        self._must_be_safe(expected)
        for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, self._wish.url):
            _, found = await handle_auth_metadata_response(await self._web.get(url))
            if found is None:
                continue
            if issuer is None and issuers_match(str(found.issuer), expected):
                expected = str(found.issuer)
            try:
                validate_metadata_issuer(found, expected)
            except OAuthFlowError as error:
                says = f"says that it is {one_line(str(found.issuer))}"
                raise self._failed(f"{host_of(expected)} {says}") from error
            needed = found.authorization_endpoint, found.token_endpoint
            for one in (*needed, *filter(None, [found.revocation_endpoint])):
                self._must_be_safe(str(one))
            if "S256" not in (found.code_challenge_methods_supported or ()):
                raise self._failed(f"{host_of(expected)} knows no PKCE with S256")
            return found
        raise ServerFailed(
            "key",
            f"The server {self._wish.server} has no sign-in that programs can use: put a key of it "
            "into a header.",
        )

    async def _loopback(self, state: str) -> Loopback:
        """What takes the answer: at the same port each time, as the person may register it."""
        back = Loopback(state)
        try:
            await back.open(self._wish.port)
        except OSError as error:
            if self._wish.fixed:
                reason = f"port {self._wish.port} is taken: {error.strerror}"
                raise self._failed(reason) from error
            await back.open(0)
        return back

    async def _client(self, about: OAuthMetadata, redirect: str, scope: str | None) -> SignIn:
        """Who we are there: registered before, by a document, or now; else the person is asked."""
        issuer, given, known = str(about.issuer), self._wish.client, self._known
        plain = SignIn(
            issuer,
            self._resource,
            str(about.token_endpoint),
            str(about.revocation_endpoint or ""),
            redirect=redirect,
        )
        document = given.client_source == "entry" and is_valid_client_metadata_url(given.client_id)
        if not given.client_id and known.client_source == "person" and known.issuer == issuer:
            given = known
        if given.client_id and not document:
            return replace(
                plain,
                client_id=given.client_id,
                client_secret=given.client_secret,
                client_method=_method(about, secret=bool(given.client_secret)),
                client_source=given.client_source,
            )
        if document and about.client_id_metadata_document_supported:
            return replace(plain, client_id=given.client_id, client_source="document")
        if about.registration_endpoint is not None:
            return await self._registered(about, plain, scope)
        raise ServerFailed(
            "client",
            f"{host_of(issuer)} lets no program register itself. Register Agent Studio there with "
            f"the redirect address {redirect}, and enter the client ID that you get.",
        )

    async def _registered(self, about: OAuthMetadata, plain: SignIn, scope: str | None) -> SignIn:
        self._must_be_safe(str(about.registration_endpoint))
        wanted = OAuthClientMetadata(
            redirect_uris=[AnyUrl(plain.redirect)],
            token_endpoint_auth_method=cast("Any", _method(about, secret=False)),
            grant_types=cast("Any", _GRANTS),
            client_name="Agent Studio",
            scope=scope,
        )
        response = await self._web.send(create_client_registration_request(about, wanted, ""))
        try:
            found = await handle_registration_response(response)
            check_registration_usable(found)
        except OAuthRegistrationError:
            code = error_code(response) or f"status {response.status_code}"
            reason = f"{host_of(plain.issuer)} does not register this program ({code})"
            raise self._failed(reason) from None  # its text has the answer, maybe with a secret
        return replace(
            plain,
            client_id=found.client_id,
            client_secret=found.client_secret or "",
            client_method=found.token_endpoint_auth_method
            or ("client_secret_basic" if found.client_secret else "none"),
            client_source="dynamic",
        )

    async def _authorized(
        self,
        about: OAuthMetadata,
        client: SignIn,
        state: str,
        scope: str,
        back: Loopback,
        browse: Browse,
    ) -> SignIn:
        proof = PKCEParameters.generate()
        asked = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": client.redirect,
            "state": state,
            "code_challenge": proof.code_challenge,
            "code_challenge_method": "S256",
            "resource": client.resource,
        }
        if scope:
            asked["scope"] = scope
        if "offline_access" in scope.split():
            asked["prompt"] = "consent"
        await browse(str(httpx2.URL(str(about.authorization_endpoint)).copy_merge_params(asked)))
        try:
            async with asyncio.timeout(PERSON):
                answer = await back.answer()
        except TimeoutError:
            raise self._failed("the browser brought no answer in 10 minutes") from None
        host = host_of(client.issuer)
        try:
            validate_authorization_response_iss(answer.get("iss"), about)
        except OAuthFlowError as error:
            raise self._failed(f"the answer is not of {host} (wrong iss)") from error
        if "code" not in answer:
            said = " ".join(filter(None, (answer.get("error"), answer.get("error_description"))))
            raise self._failed(f"{host} says: {one_line(said) or 'nothing'}")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": client.redirect,
            "code_verifier": proof.code_verifier,
            "resource": client.resource,
        }
        response = await self._web.post(client.token_endpoint, *with_client(client, form))
        if response.status_code not in (200, 201):
            code = error_code(response) or f"status {response.status_code}"
            raise self._failed(f"{host} gives no token ({code})")
        return with_tokens(replace(client, scope=scope), response)

    def _must_be_safe(self, url: str) -> None:
        """Raises ServerFailed where others could read what is sent.

        Only a server of this computer may name another one here without encryption.
        """
        near = {urlsplit(one).hostname for one in (url, self._wish.url)} <= _HOME
        scheme = urlsplit(url).scheme
        if scheme != "https" and not (scheme == "http" and near):
            raise self._failed(f"{host_of(url)} is not at https://, so others could read it")

    def _failed(self, reason: str) -> ServerFailed:
        server = self._wish.server
        return ServerFailed("sign_in", f"The sign-in to the server {server} failed: {reason}.")


def _method(about: OAuthMetadata, *, secret: bool) -> str:
    """How we say who we are at the token endpoint."""
    known = about.token_endpoint_auth_methods_supported
    wanted = ("client_secret_basic", "client_secret_post")
    if not secret and (known is None or "none" in known):
        return "none"
    return next((one for one in wanted if known is None or one in known), wanted[0])


def _resource(url: str) -> str:
    """What a token is for: the server's address, without what may be secret in it."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), place, parts.path, "", ""))
