"""Servers are started when they are needed, called and ended (M-1, M-2)."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from studio.mcp.entries import ServerEntry
from studio.mcp.servers import ServerFolders, Servers
from studio.processes.keeper import Keeper

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"


def entry(*arguments: str, name: str = "simple") -> ServerEntry:
    made = ServerEntry(name, sys.executable, (str(SERVER), *arguments), on=True)
    return replace(made, approved=made.digest)


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    async def resolve(name: str) -> str:
        return ""

    keeper = Keeper()
    folders = ServerFolders(tmp_path / "logs", tmp_path / "cache", tmp_path)
    servers = Servers(keeper, folders, lambda: {"PATH": os.environ["PATH"]}, resolve)
    yield servers
    await servers.close()
    keeper.close()


async def test_a_server_is_started_with_the_first_call(servers: Servers) -> None:
    servers.use([entry()])
    assert servers.state("simple").kind == "idle"
    result = await servers.call("simple", "add", {"a": 2, "b": 3})
    assert (result.text, result.is_error) == ("5", False)
    assert servers.state("simple").kind == "running"
    lists = await servers.list("simple")
    assert "add" in [tool.name for tool in lists.tools]
    assert lists.server == "simple"
    await servers.stop("simple")
    assert servers.state("simple").kind == "idle"
