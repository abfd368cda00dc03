"""Authorization: puts a server's token into its requests, and keeps it good (M-22).

The SDK forgets a token's end over a restart, and never refreshes a refused one: here a refusal
refreshes once. Imports the SDK.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace

import httpx2
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)

from studio.domain.aio import BackgroundTasks
from studio.mcp.faults import ServerFailed
from studio.mcp.sign_ins import SignIn, SignIns

from .oauth_tokens import TIMEOUT, GrantEnded, Outage, one_line, refreshed

WAIT = 60.0
"""Seconds that a refresh of another program is waited for."""
PAUSE = 10.0
"""Seconds without another try to refresh a token that still holds."""


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
            await asyncio.wait_for(self._tasks.settled(), TIMEOUT.read)

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
            rights = f" ({one_line(scope)})" if scope else ""
            self.fault = ServerFailed(
                "rights",
                f"The server {self._server} wants more rights for this{rights}: sign in again, in "
                f"{where}.",
            )
        elif response.status_code < 400:
            self.fault = None


def _put_token(request: httpx2.Request, token: str) -> None:
    if token:
        request.headers["authorization"] = f"Bearer {token}"
