"""``agent-studio workflow``: check, schema (W-8, W-10, W-69)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.engine_home import engine_home

GOOD = "---\nsteps:\n  - {id: look, agent: Researcher}\n---\n## look\nLook around.\n"


async def test_w69_mistakes_are_told_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        good, wrong = one.folder / "good.md", one.folder / "wrong.md"
        good.write_text(GOOD)
        wrong.write_text(GOOD.replace("Researcher", "Resercher").replace("## look", "## lok"))
        folder = ("--folder", str(one.folder))
        assert await one.command("workflow", "check", str(good), *folder) == 0
        assert "no mistakes" in capsys.readouterr().err
        assert await one.command("workflow", "check", str(good), str(wrong), *folder) == 1
        told = capsys.readouterr().out.splitlines()
        assert len(told) == 3
        assert told[0].startswith(f"{wrong}:3:10: the step look has no “prompt”")
        agent = "there is no agent Resercher. Did you mean “Researcher”?"
        assert told[1] == f"{wrong}:3:23: {agent}"
        assert told[2].startswith(f"{wrong}:5:1: warning: no step")
        assert await one.command("workflow", "check", "--json", str(wrong), *folder) == 1
        (found,) = json.loads(capsys.readouterr().out).values()
        assert found[1]["fix"] == "Researcher" and found[1]["column"] == 23


async def test_w69_a_warning_is_no_error_and_not_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        never = one.folder / "never.md"
        never.write_text("---\nsteps:\n  - {id: s, run: ls, if: 1 > 2}\n---\n")
        assert await one.command("workflow", "check", str(never)) == 0
        told = capsys.readouterr()
        assert "warning: the step s can never run" in told.out and not told.err


async def test_a_file_that_cannot_be_read_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        (one.folder / "binary.md").write_bytes(b"---\n\xff\xfe")
        for name in ("nowhere.md", ".", "binary.md"):
            assert await one.command("workflow", "check", str(one.folder / name)) == 1
            assert name in capsys.readouterr().err


async def test_w10_the_schema_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        assert await one.command("workflow", "schema") == 0
        schema = json.loads(capsys.readouterr().out)
        assert "for_each" in schema["properties"]["steps"]["items"]["properties"]
