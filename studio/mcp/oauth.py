"""OAuth: signs the person in to a server at an address, and keeps its token good (M-22).

The SDK has the forms of the protocol and the checks; when what is asked is ours. The SDK forgets a
token's end over a restart, never refreshes a refused one, and opens the browser by itself: here a
refusal refreshes once, and only ``sign_in``, which a person calls, has a browser. Imports the SDK.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, cast
from urllib.parse import quote, urlsplit, urlunsplit

import httpx2
from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, PKCEParameters
from mcp.client.auth.oauth2 import check_registration_usable
from mcp.client.auth.utils import (
    build_oauth_authorization_server_metadata_discovery_urls,
    build_protected_resource_metadata_discovery_urls,
    create_client_registration_request,
    extract_field_from_www_auth,
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
from mcp.shared.auth import (
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp.shared.auth_utils import check_resource_allowed
from pydantic import AnyUrl, ValidationError

from studio.domain.aio import BackgroundTasks
from studio.domain.jsonvalue import as_object, as_text
from studio.domain.records import dataclass
from studio.mcp.faults import ServerFailed
from studio.mcp.loopback import Loopback
from studio.mcp.sign_ins import SignIn, SignIns

WAIT = 60.0
"""Seconds that a refresh of another program is waited for."""
PERSON = 600.0
"""Seconds that the person has in the browser."""
PAUSE = 10.0
"""Seconds without another try to refresh a token that still holds."""
_TIMEOUT = httpx2.Timeout(15.0)
_LARGEST = 1_000_000
"""Bytes of an answer."""
_REDIRECTS = 5
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


class Authorization(httpx2.Auth):
    """Puts a server's token into its requests, and refreshes it: early, and when it is refused.

    ``fault`` says why the last request was refused, if a sign-in or the lack of one is the reason;
    ``wanted`` are the rights it lacked. ``hide`` is told each secret.
    """

    def __init__(
        self, server: str, place: str, sign_ins: SignIns, hide: Callable[..., object]
    ) -> None:
        self.fault: ServerFailed | None = None
        self.wanted = ""
        self._server = server
        self._place = place
        self._sign_ins = sign_ins
        self._hide = hide
        self._known: SignIn | None = None
        self._was_read = False
        self._outage: ServerFailed | None = None
        self._not_before = 0.0
        self._tasks = BackgroundTasks()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        used = await self._token()
        _put_token(request, used)
        response = yield request
        if response.status_code == 401 and (newer := await self._renewed(used, refused=True)):
            _put_token(request, newer)
            response = yield request
        self._judge(response)

    async def close(self) -> None:
        """Let a refresh come to its end, as a token that is not kept would be lost."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._tasks.settled(), _TIMEOUT.read)

    async def _token(self) -> str:
        if not self._was_read:
            await self._read()
        known = self._known
        if known is None:
            return ""
        if known.refresh and known.is_due and time.monotonic() >= self._not_before:
            return await self._renewed(known.access, refused=False) or known.access
        return known.access

    async def _read(self) -> SignIn | None:
        self._known, self._was_read = await self._sign_ins.read(self._place), True
        if self._known is not None:
            self._hide(*self._known.secrets)
        return self._known

    async def _renewed(self, used: str, *, refused: bool) -> str:
        """A token in place of ``used``; empty if there is none.

        It comes to its end even if the call is cancelled: the server may have taken the old
        refresh token out of use.
        """
        return await self._tasks.run(self._renew(used, refused))

    async def _renew(self, used: str, refused: bool) -> str:
        self._outage = None
        try:
            async with self._sign_ins.alone(self._place, WAIT):
                known = await self._read()
                if known is None:
                    return ""
                if known.access not in ("", used) and (not known.is_due or not known.refresh):
                    return known.access  # another program was faster
                if not known.refresh:
                    return ""
                try:
                    newer = await refreshed(known)
                except GrantEnded:
                    ended = refused or time.time() >= known.expires
                    newer = replace(known, refresh="", access="" if ended else known.access)
                self._hide(*newer.secrets)
                await self._sign_ins.keep(self._place, newer)
                self._known = newer
                return newer.access
        except (Outage, TimeoutError, OSError) as error:
            reason = f"{error}" or "another program is at it"
            self._not_before = time.monotonic() + PAUSE
            self._outage = ServerFailed(
                "network",
                f"The sign-in to the server {self._server} cannot be renewed now: {reason}. "
                "It is kept.",
            )
            return ""

    def _judge(self, response: httpx2.Response) -> None:
        """Say what a refusal means for the person."""
        name = self._server.partition(" (")[0]  # without the mark of a folder's server
        where = f"Settings, MCP servers, or “agent-studio mcp login {name}”"
        scope = extract_scope_from_www_auth(response) or ""
        if response.status_code == 401:
            problem = f" {self._sign_ins.problem}".rstrip()
            self.fault = self._outage or ServerFailed(
                "sign_in", f"The server {self._server} wants you to sign in: {where}.{problem}"
            )
        elif (
            response.status_code == 403
            and extract_field_from_www_auth(response, "error") == "insufficient_scope"
        ):
            self.wanted = union_scopes(self.wanted, scope) or ""
            rights = f" ({_plain(scope)})" if scope else ""
            self.fault = ServerFailed(
                "rights",
                f"The server {self._server} wants more rights for this{rights}: sign in again, in "
                f"{where}.",
            )
        elif response.status_code < 400:
            self.fault = None


class Outage(Exception):
    """An authorization server cannot answer now; says why."""


class GrantEnded(Exception):
    """A refresh token holds no more: the person has to sign in."""


async def refreshed(known: SignIn) -> SignIn:
    """The sign-in with new tokens. Raises GrantEnded, or Outage for whatever may pass."""
    form = {"grant_type": "refresh_token", "refresh_token": known.refresh}
    form |= {"resource": known.resource}
    place = _place(known.token_endpoint)
    async with Web() as web:
        response = await web.post(known.token_endpoint, *_with_client(known, form))
    code = _error_code(response)
    if code == "invalid_grant":
        raise GrantEnded
    if code or response.status_code != 200:
        raise Outage(f"{place} answers {code or f'with status {response.status_code}'}")
    return _with_tokens(known, response)


async def revoke(known: SignIn) -> None:
    """Tell the authorization server that its tokens are used no more, if it wants to know."""
    if not (known.revocation_endpoint and known.is_signed_in):
        return
    form = {"token": known.refresh or known.access}
    try:
        async with Web() as web:
            await web.post(known.revocation_endpoint, *_with_client(known, form))
    except Outage:
        return


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
        self._host = _place(wish.url)

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
                raise self._failed(f"{self._host} says that it is {_plain(whose)}")
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
                says = f"says that it is {_plain(str(found.issuer))}"
                raise self._failed(f"{_place(expected)} {says}") from error
            needed = found.authorization_endpoint, found.token_endpoint
            for one in (*needed, *filter(None, [found.revocation_endpoint])):
                self._must_be_safe(str(one))
            if "S256" not in (found.code_challenge_methods_supported or ()):
                raise self._failed(f"{_place(expected)} knows no PKCE with S256")
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
            f"{_place(issuer)} lets no program register itself. Register Agent Studio there with "
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
            code = _error_code(response) or f"status {response.status_code}"
            reason = f"{_place(plain.issuer)} does not register this program ({code})"
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
        place = _place(client.issuer)
        try:
            validate_authorization_response_iss(answer.get("iss"), about)
        except OAuthFlowError as error:
            raise self._failed(f"the answer is not of {place} (wrong iss)") from error
        if "code" not in answer:
            said = " ".join(filter(None, (answer.get("error"), answer.get("error_description"))))
            raise self._failed(f"{place} says: {_plain(said) or 'nothing'}")
        form = {
            "grant_type": "authorization_code",
            "code": answer["code"],
            "redirect_uri": client.redirect,
            "code_verifier": proof.code_verifier,
            "resource": client.resource,
        }
        response = await self._web.post(client.token_endpoint, *_with_client(client, form))
        if response.status_code not in (200, 201):
            code = _error_code(response) or f"status {response.status_code}"
            raise self._failed(f"{place} gives no token ({code})")
        return _with_tokens(replace(client, scope=scope), response)

    def _must_be_safe(self, url: str) -> None:
        """Raises ServerFailed where others could read what is sent.

        Only a server of this computer may name another one here without encryption.
        """
        near = {urlsplit(one).hostname for one in (url, self._wish.url)} <= _HOME
        scheme = urlsplit(url).scheme
        if scheme != "https" and not (scheme == "http" and near):
            raise self._failed(f"{_place(url)} is not at https://, so others could read it")

    def _failed(self, reason: str) -> ServerFailed:
        server = self._wish.server
        return ServerFailed("sign_in", f"The sign-in to the server {server} failed: {reason}.")


class Web:
    """Asks authorization servers, with no header of the server that it is for. Raises Outage."""

    async def __aenter__(self) -> Web:
        context = await asyncio.to_thread(httpx2.create_ssl_context)
        self._client = httpx2.AsyncClient(verify=context, timeout=_TIMEOUT)
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
            raise Outage(f"{_place(url)} answers with status {response.status_code}")
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
            reason = f"{error}" or type(error).__name__
            raise Outage(f"{_place(str(request.url))} cannot be reached: {reason}") from error
        if len(body) > _LARGEST:
            raise Outage(f"{_place(str(request.url))} answers with more than 1 MB")
        kept = ("content-type", "location", "www-authenticate")
        known = [(name, value) for name, value in response.headers.items() if name in kept]
        return httpx2.Response(response.status_code, headers=known, content=body, request=request)


def _put_token(request: httpx2.Request, token: str) -> None:
    if token:
        request.headers["authorization"] = f"Bearer {token}"


def _with_client(client: SignIn, form: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """A form with what says who we are, and the headers that it needs."""
    name, secret = client.client_id, client.client_secret
    if secret and client.client_method == "client_secret_basic":
        pair = f"{quote(name, safe='')}:{quote(secret, safe='')}".encode()
        return dict(form), {"authorization": f"Basic {base64.b64encode(pair).decode()}"}
    if secret and client.client_method == "client_secret_post":
        return {**form, "client_id": name, "client_secret": secret}, {}
    return {**form, "client_id": name}, {}


def _with_tokens(known: SignIn, response: httpx2.Response) -> SignIn:
    """The sign-in with an answer's tokens; what the answer does not name stays."""
    try:
        found = OAuthToken.model_validate_json(response.content)
    except ValidationError:
        place = _place(known.token_endpoint)
        raise Outage(f"what {place} answers does not follow the protocol") from None
    lives = float(max(found.expires_in or 0, 0))
    return replace(
        known,
        access=found.access_token,
        refresh=found.refresh_token or known.refresh,
        expires=time.time() + lives if lives else 0.0,
        lives=lives,
        scope=known.scope if found.scope is None else found.scope,
    )


def _method(about: OAuthMetadata, *, secret: bool) -> str:
    """How we say who we are at the token endpoint."""
    known = about.token_endpoint_auth_methods_supported
    wanted = ("client_secret_basic", "client_secret_post")
    if not secret and (known is None or "none" in known):
        return "none"
    return next((one for one in wanted if known is None or one in known), wanted[0])


def _error_code(response: httpx2.Response) -> str:
    """The error that an answer names, if it does; nothing else of an answer is shown."""
    try:
        code = as_text(as_object(response.json()).get("error"))
    except ValueError:
        return ""
    return code if re.fullmatch(r"[\w.-]{1,60}", code) else ""


def _resource(url: str) -> str:
    """What a token is for: the server's address, without what may be secret in it."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2].lower()
    return urlunsplit((parts.scheme.lower(), place, parts.path, "", ""))


def _place(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or "the server"


def _plain(text: str) -> str:
    """Words of a stranger, in one short line."""
    return "".join(one if one.isprintable() else " " for one in text)[:200].strip()
