"""``agent-studio hooks``: each hook is seen, tried and approved before it runs (K-8, K-9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.engine_home import EngineHome, engine_home

SETTINGS = {
    "model": "opus",
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    {"type": "command", "command": "grep -q 'rm -rf' && exit 2; exit 0"},
                    {"type": "prompt", "prompt": "Is this fine? $ARGUMENTS"},
                    {"type": "command", "command": "true", "if": "Bash(git *)"},
                ],
            },
            {"matcher": "(a+)+", "hooks": [{"type": "command", "command": "true"}]},
        ],
        "TeammateIdle": [{"hooks": [{"type": "command", "command": "true"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "true", "timeout": 600}]}],
    },
}


async def listed(home: EngineHome, capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    capsys.readouterr()
    assert await home.command("hooks", "list", "--json", "--folder", str(home.folder), *words) == 0
    return json.loads(capsys.readouterr().out)["hooks"]


async def test_k8_hooks_of_claude_code_are_taken_over_tried_and_approved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """K-8, K-9: the original stays as it is, and what is not run is listed with the reason."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        here = ("--folder", str(home.folder))
        assert await home.command("hooks", "import", *here) != 0
        settings = home.engine.paths.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(SETTINGS))
        for _ in range(2):  # the second time nothing is doubled
            assert await home.command("hooks", "import", *here) == 0
        assert json.loads(settings.read_text()) == SETTINGS
        hooks = await listed(home, capsys)
        assert [one["state"] for one in hooks] == ["new", *["never"] * 4, "new"]
        reasons = [one["reason"] for one in hooks]
        assert "type prompt" in reasons[1] and "“if”" in reasons[2] and "without end" in reasons[3]
        assert "TeammateIdle does not happen" in reasons[4] and "60 s" in reasons[5]
        name = hooks[0]["id"]
        assert await home.command("hooks", "on", hooks[1]["id"], *here) != 0
        assert await home.command("hooks", "on", "nothing", *here) != 0
        bad = '{"command": "rm -rf /"}'
        assert await home.command("hooks", "test", name, "--input", bad, "--json", *here) == 0
        out = capsys.readouterr().out
        assert json.loads(out[out.index("{") :])["answer"]["decision"] == "deny"
        assert await home.command("hooks", "test", name, *here) == 0
        assert "decision" not in capsys.readouterr().out
        assert await home.command("hooks", "test", name, "--input", "[", *here) != 0
        assert await home.command("hooks", "on", name[:6], *here) == 0
        assert (await listed(home, capsys))[0]["state"] == "on"
        assert await home.command("hooks", "off", name, *here) == 0
        assert (await listed(home, capsys))[0]["state"] == "off"
        assert await home.command("hooks", "list", *here) == 0
        out = capsys.readouterr()
        assert "not run" in out.out and "agent-studio hooks on ID" in out.err


async def test_k8_a_folders_hooks_need_trust_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        here = ("--folder", str(home.folder))
        settings = home.folder / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text(json.dumps(SETTINGS))
        assert await home.command("hooks", "import", "--here", *here) == 0
        assert not await listed(home, capsys)
        assert await home.command("hooks", "list", *here) == 0
        assert "you do not trust it" in capsys.readouterr().err
        await home.engine.rules.trust(home.folder)
        assert {one["place"] for one in await listed(home, capsys)} == {"folder"}
