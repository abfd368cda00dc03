"""MCP servers for tests: entries that are approved, and the pool that starts them."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from studio.mcp.entries import ServerEntry
from studio.mcp.servers import ServerFolders, Servers
from studio.mcp.sign_ins import SignIns
from studio.mcp.supervised import ServerTimes
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox
from studio.storage.config.keychain import Keychain
from support.vault import Vault
from support.waiting import until

SUPPORT = Path(__file__).parent


def approved(entry: ServerEntry) -> ServerEntry:
    """The entry as the person has switched it on."""
    return replace(entry, on=True, approved=entry.digest)


def raw_server(*modes: str, name: str = "raw", folder: Path | None = None) -> ServerEntry:
    """The server of raw bytes, see ``raw_mcp_server``."""
    arguments = ("-I", "-S", str(SUPPORT / "raw_mcp_server.py"), *modes)
    return approved(ServerEntry(name, sys.executable, arguments, folder=str(folder or "")))


def sdk_server(*modes: str, name: str = "simple") -> ServerEntry:
    """The server of the official SDK, see ``mcp_server``."""
    return approved(ServerEntry(name, sys.executable, (str(SUPPORT / "mcp_server.py"), *modes)))


@asynccontextmanager
async def running_servers(
    folder: Path,
    *entries: ServerEntry,
    times: ServerTimes | None = None,
    secrets: dict[str, str] | None = None,
    vault: Vault | None = None,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[Servers]:
    """A pool that knows these servers; all are ended in the end.

    ``sandbox`` is the one for those that the person confines; without it there is none.
    ``vault`` is the person's keychain: pools that have one in common are studios of one person.
    """

    async def resolve(name: str) -> str:
        return (secrets or {}).get(name, "")

    keeper = Keeper()
    kept = [folder / name for name in ("logs", "cache", "bundles")]
    folders = ServerFolders(*kept, folder, folder / "programs", folder / "server-homes")
    keychain = Keychain(backend=vault or Vault())
    sign_ins = SignIns(keychain, folder / "sign-ins")
    variables = {"PATH": os.environ["PATH"]}

    async def find() -> Sandbox:
        return sandbox or NoSandbox("It is not wanted here.")

    servers = Servers(keeper, folders, lambda: variables, resolve, sign_ins, times, find)
    servers.use(entries)
    try:
        yield servers
    finally:
        await servers.close()
        keeper.close()
        keychain.close()


@asynccontextmanager
async def served(kind: str) -> AsyncIterator[str]:
    """The SDK's server in a process of its own; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SUPPORT / "mcp_server.py"), kind, str(port)),
        stderr=asyncio.subprocess.DEVNULL,
    )

    def answers() -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    try:
        await until(answers)
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
    finally:
        process.kill()
        await process.wait()
