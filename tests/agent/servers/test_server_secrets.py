"""What of the keychain an MCP server gets (M-18)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studio.mcp.faults import ServerFailed
from support.engine_home import engine_home
from support.server_home import ListedServer


async def test_a_server_gets_its_own_secrets_and_no_key_of_the_program(tmp_path: Path) -> None:
    """A folder or a README may ask for “${keychain:anthropic}”; nobody sees values when
    they switch a server on."""
    shop = ListedServer(tmp_path)
    shop.offer("order")
    async with engine_home(tmp_path, "anthropic", []) as home:
        servers, keychain = home.engine.services.servers, home.engine.keychain
        for name in ("anthropic", "brave", "huggingface", "server", "mcp/shop/TOKEN"):
            keychain.keep_for_session(name, "CANARY-0123456789")
        for name in ("anthropic", "brave", "huggingface", "server"):
            entry = replace(shop.entry, environment={"TOKEN": f"${{keychain:{name}}}"})
            await servers.put(entry)
            with pytest.raises(ServerFailed, match=f"The keychain has no {name}"):
                await servers.connect(await servers.switch_on(entry))
        own = replace(shop.entry, environment={"TOKEN": "${keychain:mcp/shop/TOKEN}"})
        await servers.put(own)
        known = await servers.connect(await servers.switch_on(own))
        assert [tool.name for tool in known.lists.tools] == ["order"]
