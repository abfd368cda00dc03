"""Signs the person in to an MCP server from the terminal (M-22)."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import webbrowser

from studio.agent.engine import Engine
from studio.domain.errors import ConfigurationError
from studio.mcp.entries import ServerEntry
from studio.mcp.faults import ServerFailed
from studio.mcp.naming import pool_name
from studio.mcp.sign_ins import SignIn

from .console import Console


async def log_in(
    engine: Engine, entry: ServerEntry, options: argparse.Namespace, console: Console
) -> None:
    """Sign in, and ask for a client ID where the server registers no program by itself.

    Raises ConfigurationError.
    """
    servers = engine.services.servers.servers

    async def browse(url: str) -> None:
        console.say("Sign in at this address, in a browser of this computer:", url)
        if console.interactive and not options.no_browser:
            await asyncio.to_thread(_open_browser, url)

    async def client(name: str) -> SignIn | None:
        """How the person registered this program there."""
        secret = None
        if name and console.interactive:
            secret = await console.secret("Client secret, if there is one: ")
        found = SignIn(client_id=name, client_secret=(secret or "").strip(), client_source="person")
        return found if name else None

    async def sign_in(client: SignIn | None) -> None:
        await servers.sign_in(pool_name(entry), browse, client, options.scope)

    try:
        try:
            await sign_in(await client(options.client_id))
        except ServerFailed as error:
            if error.kind != "client" or not console.interactive:
                raise
            console.say(str(error))
            given = (await console.line("Client ID: ") or "").strip()
            if not given:
                raise
            await sign_in(await client(given))
    except ServerFailed as error:
        more = " Give it with --client-id." if error.kind == "client" else ""
        raise ConfigurationError(f"{error}{more}") from error
    if problem := engine.keychain.problem:
        console.say(problem, "So the sign-in holds only until this command ends.")


def _open_browser(url: str) -> None:
    """Open the browser, but none that would run in the terminal."""
    shown = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    if shown or sys.platform in ("darwin", "win32"):
        webbrowser.open(url)
