"""``agent-studio packs`` shows, installs, updates, switches and removes packs (X-1, X-2)."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
import traceback
from pathlib import Path

import pytest

from studio.cli import console
from studio.cli.commands.packs import pack_command
from studio.cli.doctor.local_checks import LocalChecks
from studio.extensions.packs.installed import InstalledPacks
from studio.simulator import Call, Text, Turn
from studio.workflows.workflow_files import find_workflows
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import engine_home
from support.pack_files import OURS, write_pack
from support.pack_home import install_notes
from support.workflow_home import workflow, write


async def test_x2_the_program_does_not_wait_for_git(tmp_path: Path) -> None:
    """A server that says nothing: only a thread that nobody waits for at the end is still there."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with engine_home(tmp_path, "anthropic", []) as home:
            looking = asyncio.ensure_future(
                home.command("packs", "show", f"git://127.0.0.1:{port}/pack")
            )
            reached, _ = await asyncio.to_thread(silent.accept)
            with reached:
                looking.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await looking
                daemons = {one.ident: one.daemon for one in threading.enumerate()}
                fetching = [
                    daemons[thread]
                    for thread, frame in sys._current_frames().items()
                    if any(one.f_code.co_name == "_clone" for one, _ in traceback.walk_stack(frame))
                ]
                assert fetching == [True]


async def test_x2_nothing_is_installed_without_a_yes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_pack(tmp_path / "pack")
    async with engine_home(tmp_path, "anthropic", []) as home:
        packs = home.engine.services.get(InstalledPacks)
        assert await home.command("packs", "add", str(source)) != 0
        out = capsys.readouterr()
        assert "PreToolUse Bash: echo checked" in out.out and "--yes" in out.err
        assert [one.id for one in packs.list()] == ["kanzlei"]
        assert not list((packs.folder / ".staged").iterdir())
        assert await home.command("packs", "show", str(source), "--json") == 0
        assert "Clerk" in json.loads(capsys.readouterr().out)["text"]
        assert await home.command("packs", "add", str(source), "--yes") == 0
        told = capsys.readouterr().err
        assert "agent-studio mcp on" in told and "agent-studio hooks on" in told
        assert await home.command("packs", "list", "--json") == 0
        (_, one) = json.loads(capsys.readouterr().out)
        assert (one["id"], one["state"], one["brings"]["agents"]) == ("office", "on", 1)

        assert await home.command("packs", "update", "office") == 0
        assert "as it was" in capsys.readouterr().err
        (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n")
        assert await home.command("packs", "update", "office") != 0
        assert "+Obey." in capsys.readouterr().out
        assert await home.command("packs", "update", "office", "--yes") == 0

        assert await home.command("packs", "off", "office", "servers", "hooks") == 0
        assert packs.get("office").off == {"mcp", "hooks"}
        assert await home.command("packs", "off", "office", "pages") != 0
        assert await home.command("packs", "off", "office") == 0
        pack = packs.switch("office", on=True)
        pack.home.mkdir(exist_ok=True)
        pack.records.write_bytes(b"no database" * 100)
        (pack.manifest.folder / "plugin.json").write_text(
            (source / "plugin.json").read_text() + " "
        )
        found = LocalChecks(home.engine.paths).packs()
        assert found.state == "warning" and "not those that you approved" in found.text
        assert f"{pack.records} is damaged" in found.text
        (pack.manifest.folder / "plugin.json").write_text("{")
        assert await home.command("packs", "list") == 0
        assert "is no JSON" in capsys.readouterr().err


async def test_x1_what_packs_bring_is_in_the_lists_that_are_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agents, workflows, skills, commands and servers, until the pack is switched off."""
    source = write_pack(tmp_path / "pack")
    agents = source / OURS / "agents"
    (agents / "coder.md").write_text("---\nname: coder\ndescription: Another\n---\nObey.\n")
    async with engine_home(tmp_path, "anthropic", []) as home:
        assert await home.command("packs", "add", str(source), "--yes") == 0
        found = await home.engine.agents(home.folder)
        assert found.by_name["Clerk"].origin == "pack"
        assert found.by_name["Coder"].origin == "shipped"  # no pack takes the place of one
        assert any("there is an agent Coder already" in one for one in found.problems)
        (home.engine.paths.agents).mkdir(exist_ok=True)
        (home.engine.paths.agents / "clerk.md").write_text("---\nname: Clerk\n---\nMine.\n")
        assert (await home.engine.agents(home.folder)).by_name["Clerk"].origin == "own"
        capsys.readouterr()
        assert await home.command("skills", "list", "--folder", str(home.folder)) == 0
        out = capsys.readouterr().out
        assert "the pack The office’s skill: Writes deeds" in out and "/review-deed" in out
        assert await home.command("mcp", "list", "--json") == 0
        listed = json.loads(capsys.readouterr().out)
        assert {one["name"] for one in listed} == {"files", "cloud"}
        assert await home.command("mcp", "remove", "files") != 0
        places = home.engine.services.sources.pack_places
        found = find_workflows(home.engine.paths, home.folder, places)
        (intake,) = [one for one in found if one.origin == "pack"]
        assert (intake.name, intake.problem) == ("Intake", "")
        runs = WorkflowRuns(home.engine)
        assert await runs.files.locate("intake", home.folder) == intake.path
        assert await home.command("packs", "off", "office") == 0
        assert not (await home.engine.services.extensions(home.folder)).found
        assert not home.engine.services.servers.read().by_name


async def test_m12_a_command_of_an_agent_allows_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-12, T-7: nor does ``--yes`` there."""
    source = write_pack(tmp_path / "pack")
    async with engine_home(tmp_path, "anthropic", []) as home:
        assert await home.command("mcp", "add", "books", "true") == 0
        daily = workflow("  - {id: note, set: {n: 1}}", "triggers: [{schedule: 0 9 * * *}]\n")
        file = write(home.folder, "story", daily)
        asked = (
            ("packs", "add", str(source), "--yes"),
            ("mcp", "on", "books", "--yes"),
            ("permissions", "add", "run(*)"),
            ("permissions", "trust", str(tmp_path)),
            ("config", "set", "throwaway", "true"),
            ("config", "unset", "sandbox"),
            ("workflow", "triggers", str(file), "on", "--folder", str(home.folder)),
        )
        monkeypatch.setenv("AGENT_STUDIO_RUN", "test")
        alone = (("mcp", "get-uv"), ("packs", "key", "office", "--show"))
        for words in (*asked, *alone, ("workflow", "watch", "--at-login", "on")):
            capsys.readouterr()
            assert await home.command(*words) != 0
            assert "only a person may allow this" in capsys.readouterr().err, words
        monkeypatch.delenv("AGENT_STUDIO_RUN")
        for words in asked:
            await home.command(*words)
            assert "only a person" not in capsys.readouterr().err, words


async def test_kz9_a_pack_brings_commands_and_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-9: agent-studio PACK VERB, with options of its parameters; an agent changes nothing."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        install_notes(home, tmp_path)
        records = home.engine.services.packs.homes["notes"].records
        for topic in ("rivers", "lakes", "seas"):
            records.write("INSERT INTO note VALUES (?, 'x', 'a')", topic)

        async def told(*words: str, code: int = 0) -> str:
            assert await home.command("packs", *words) == code
            out = capsys.readouterr()
            return out.out or out.err

        assert await told("run", "notes", "topics") == "lakes\nrivers\nseas\n"
        listed = await told("run", "notes", "topics", "--words", "e", "--json")
        assert json.loads(listed) == ["lakes", "rivers", "seas"]
        assert "most = 20" in await told("set", "notes")
        assert "whole number" in await told("set", "notes", "most", "many", code=1)
        assert "Known are: most" in await told("set", "notes", "least", "1", code=1)
        assert "most = 2" in await told("set", "notes", "most", "2")
        assert await told("run", "notes", "topics") == "lakes\nrivers\n"
        assert "On are: notes" in await told("run", "nots", "topics", code=1)
        with pytest.raises(SystemExit):
            await home.command("packs", "run", "notes", "topic")
        assert "there is no “topic”. Did you mean topics?" in capsys.readouterr().err
        monkeypatch.setattr(console, "_of_an_agent", lambda: True)
        assert await told("run", "notes", "topics"), "it only reads"
        assert "An agent runs" in await told("set", "notes", "most", "9", code=1)
    state = tmp_path / "packs.json"
    assert pack_command(["notes", "topics"], state) is None
    state.write_text('{"packs": {"notes": {}}}')
    assert pack_command(["notes", "topics"], state) == ["packs", "run", "notes", "topics"]
    assert pack_command(["note"], state) is None


async def test_kz8_the_terminal_says_what_sources_of_packs_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-8: with a link to the page in the window; one that leads nowhere is struck through."""
    answer = "They flow. See [this](notes:topic/rivers) and [that](notes:topic/none)."
    script = [Turn(Call("find_note", {"topic": "rivers"})), Turn(Text(answer))] * 2
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        install_notes(home, tmp_path)
        records = home.engine.services.packs.homes["notes"].records
        records.write("INSERT INTO note VALUES ('rivers', 'They flow.', 'a')")
        ask = ("run", "--provider", "openai-compatible", "-m", "sim-model", "What do rivers do?")
        assert await home.command(*ask) == 0
        told = capsys.readouterr().err
        assert told.count("Note about rivers  notes:topic/rivers") == 1
        assert "notes:topic/none  (not there any more)" in told
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(console, "_is_terminal", lambda stream: stream is sys.stderr)
        assert await home.command(*ask) == 0
        told = capsys.readouterr().err
        link = "agent-studio://source?at=notes%3Atopic%2Frivers"
        assert f"\x1b]8;;{link}\x1b\\Note about rivers\x1b]8;;\x1b\\  notes:topic/rivers" in told
        assert "\x1b[9mnotes:topic/none\x1b[29m" in told
