"""``agent-studio agents``: list, show, new, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.agent_files.finder import AgentFiles
from support.engine_home import EngineHome, engine_home


async def cli(one: EngineHome, *arguments: str) -> int:
    return await one.command("agents", *arguments)


async def test_they_are_listed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-6: what one may do, with which tools, on what, and where it is from."""
    async with engine_home(tmp_path, "ollama", []) as one:
        mine = one.engine.paths.agents
        mine.mkdir(parents=True)
        (mine / "own.md").write_text(
            "---\nname: Own\ndescription: Mine\ntools: [read, run, list]\nrole: reads\n"
            "provider: ollama\nmodel: m\ndollars: 1\nsteps: 3\n"
            "permissions:\n  deny: [list]\n  ask: ['read(*.key)']\n---\nWork well.\n"
        )
        theirs = one.folder / ".agents" / "agents"
        theirs.mkdir(parents=True)
        (theirs / "team.md").write_text("---\nname: Team\n---\nWork together.\n")
        (theirs / "broken.md").write_text("---\nname: Broken\nhue: pink\n---\nx\n")
        folder = ("--folder", str(one.folder))
        assert await cli(one, "list", *folder) == 0
        told = capsys.readouterr()
        rows = {line.split()[0]: line for line in told.out.splitlines()}
        assert "built in" in rows["Coder"] and "Mine" in rows["Own"]
        assert "yours" in rows["Own"] and "this folder, not trusted" in rows["Team"]
        assert "broken.md, line 3: hue is one of" in told.err
        assert await cli(one, "list", "--json", *folder) == 0
        listed: Any = json.loads(capsys.readouterr().out)
        own = {"name": "Own", "description": "Mine", "origin": "yours", "trusted": True}
        assert own in listed["agents"]
        assert {"Team": False, "Own": True}.items() <= {
            one["name"]: one["trusted"] for one in listed["agents"]
        }.items()
        assert len(listed["problems"]) == 1

        assert await cli(one, "show", "own", *folder) == 0
        shown = capsys.readouterr().out
        for words in (
            *("Mine", "m on Ollama", "3 steps", "only reads", "$1.00", "own.md", "Work well."),
            *("Refuses:     list", "Asks:        read(*.key)", "Tools:       read\n"),
        ):
            assert words in shown, shown
        assert await cli(one, "show", "Own", "--json", *folder) == 0
        body = json.loads(capsys.readouterr().out)
        assert body["offered"] == ["read"] and body["role"] == "reads"
        assert body["permissions"] == {"allow": [], "ask": ["read(*.key)"], "deny": ["list"]}
        assert await cli(one, "show", "Nobody", *folder) == 1
        assert "Known are" in capsys.readouterr().err


async def test_a_new_one_works_and_overwrites_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        assert await cli(one, "new", "Proof: reader") == 0
        path = Path(capsys.readouterr().out.strip())
        assert path == one.engine.paths.agents / "proof-reader.md"
        found = await AgentFiles(tmp_path / "none", path.parent).load()
        assert not found.problems and found.by_name["Proof: reader"].role == "reads"
        assert await cli(one, "check", "--folder", str(one.folder)) == 0
        # every commented line is one that may be uncommented
        text = path.read_text()
        options = [line[2:] for line in text.splitlines() if line.startswith(("# ", "#  "))]
        known = [line for line in options if ":" in line.split(" ")[0] or line.startswith("  ")]
        whole = text.replace("mode: background\n", "\n".join(["mode: background", *known, ""]))
        path.write_text(whole)
        found = await AgentFiles(tmp_path / "none", path.parent).load()
        agent = found.by_name["Proof: reader"]
        assert not found.problems and agent.steps == 20 and agent.caps.tokens == 100_000
        assert len(agent.permissions) == 2 and agent.mask == ("email", "phone")
        for name, words in (
            ("Proof: Reader", "already"),
            ("proof reader", "is there already"),
            ("coder", "There is an agent coder already"),
            ("../x\n", "is no name"),
            ("…", "is no name"),
            ("a" * 70, "is no name"),
        ):
            assert await cli(one, "new", name) == 1
            assert words in capsys.readouterr().err
        assert path.read_text() == whole and len(list(path.parent.iterdir())) == 1
        assert await cli(one, "new", "Two", "--json") == 0
        assert json.loads(capsys.readouterr().out)["file"].endswith("two.md")


async def test_every_mistake_is_found_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        folder = one.folder / ".agents" / "agents"
        folder.mkdir(parents=True)
        check = ("check", "--folder", str(one.folder))
        assert await cli(one, *check) == 0
        assert "no mistakes" in capsys.readouterr().err
        files = {
            "a": ("tools: [read, fly]", "line 3: there is no tool fly"),
            "b": ("provider: aol", "line 3: there is no provider aol"),
            "c": ("mask: [dreams]", "line 3: “dreams” cannot be masked"),
            "d": ("permissions: {deny: [fly]}", "line 3: a rule is about fly"),
            "e": ("wings: 2", "line 3: no key “wings”. Known are"),
            "f": ("tools: [", "line "),
        }
        for name, (line, _) in files.items():
            (folder / f"{name}.md").write_text(f"---\nname: {name}\n{line}\n---\nWork.\n")
        assert await cli(one, *check) == 1
        out = capsys.readouterr().out
        for name, (_, words) in files.items():
            assert f"{folder / name}.md, {words}" in out, out
        assert await cli(one, *check, "--json") == 1
        body = json.loads(capsys.readouterr().out)
        assert len(body["problems"]) == 6 and body["files"] >= 10
