"""``agent-studio mcp import`` lists and takes the servers that other programs know (M-23)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from studio.storage.config.keychain import Keychain
from support.engine_home import engine_home
from support.vault import Vault

EXAMPLES = Path(__file__).parents[1] / "mcp" / "importing" / "examples"


async def test_servers_of_other_programs_are_listed_and_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "person"
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    (home / ".cursor").mkdir(parents=True)
    shutil.copy(EXAMPLES / "cursor_mcp.json", home / ".cursor" / "mcp.json")
    vault = Vault()
    async with engine_home(tmp_path, "anthropic", []) as house:
        house.engine.keychain = house.engine.services.keychain = Keychain(backend=vault)
        servers = house.engine.services.servers
        assert await house.command("mcp", "import") == 0
        out = capsys.readouterr().out
        assert "Cursor" in out and "  notion  https://mcp.notion.com/mcp" in out
        assert "! NOTION_TOKEN is missing" in out and "! Left out: auth" in out
        assert "CANARY" not in out and not servers.read().by_name, "a list takes nothing"
        assert await house.command("mcp", "import", "figma") == 0
        assert "figma: imported, and off" in capsys.readouterr().out
        assert await house.engine.keychain.get("mcp/figma/figma-api-key") == "CANARYfigma55"
        assert await house.command("mcp", "import", "--all", "--json") == 0
        assert json.loads(capsys.readouterr().out) == ["notion", "zapier"]
        assert await house.command("mcp", "import", "--json") == 0
        assert [row["here"] for row in json.loads(capsys.readouterr().out)] == [True] * 3
        assert not any(entry.on for entry in servers.read().by_name.values())
        assert await house.command("mcp", "import", "nobody") != 0
        file = str(EXAMPLES / "codex_config.toml")
        assert await house.command("mcp", "import", "--from", file, "chrome_devtools") == 0
        assert "chrome_devtools" in servers.read().by_name
