"""``agent-studio workflow`` (W-8, W-10, W-69)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from studio.cli.exit_codes import DENIED, LIMIT
from studio.storage.runs import RunStore
from support.engine_home import EngineHome, engine_home
from support.workflow_home import by_words, workflow, write

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


def story(home: EngineHome, steps: str, top: str = "") -> None:
    write(home.folder, "story", workflow(steps, top))


async def test_w69_a_run_prints_its_steps_and_its_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = by_words({"Write of tea": "Tea is hot."})
    async with engine_home(tmp_path, "ollama", script) as one:
        top = "inputs: {about: {type: string, required: true}}\n"
        story(
            one,
            "  - {id: say, agent: Writer, prompt: 'Write of ${{ inputs.about }}'}\n"
            "  - {id: long, check: len(steps.say.text) > 3}",
            top,
        )
        here = ("--folder", str(one.folder), "--provider", "ollama", "--model", "sim-model")
        assert await one.command("workflow", "run", "story", *here) == 1
        assert "needs the input about" in capsys.readouterr().err
        assert await one.command("workflow", "run", "tale", *here) == 1
        assert "no workflow tale. Known are" in capsys.readouterr().err
        assert await one.command("workflow", "run", "story", *here, "--input", "about=tea") == 0
        told = capsys.readouterr()
        assert told.out == "Tea is hot.\n"
        assert re.sub(r"[0-9a-f]{8}|[0-9.]+ s", "N", told.err).splitlines() == [
            "Story, run 1 (N)",
            "· say: Writer",
            "✓ say, N",
            "✓ long",
            "Story is done",
        ]
        assert await one.command("workflow", "list", "--json") == 0
        (listed,) = json.loads(capsys.readouterr().out)
        assert (listed["name"], listed["state"], listed["live"]) == ("Story", "done", False)
        assert await one.command("workflow", "show", listed["id"][:6]) == 0
        shown = capsys.readouterr().out.splitlines()
        assert shown[0] == f"Story, run 1 ({listed['id']}): done"
        assert shown[1].split() == ["done", "say"] and shown[2].strip() == "Tea is hot."
        assert await one.command("workflow", "resume", listed["id"]) == 1
        assert "is done" in capsys.readouterr().err
        assert await one.command("workflow", "delete", listed["id"][:6]) == 1
        assert "--yes" in capsys.readouterr().err
        store = RunStore(one.engine.database)
        await store.claim(listed["id"])
        assert await one.command("workflow", "delete", listed["id"], "--yes") == 1
        assert "is running" in capsys.readouterr().err
        await store.release(listed["id"])
        assert await one.command("workflow", "delete", listed["id"][:6], "--yes") == 0
        assert "Story, run 1" in capsys.readouterr().err and not await store.list()


async def test_w20_the_terminal_raises_the_cap_of_a_run_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """W-69: a run that is at no cap of its own says so."""
    async with engine_home(tmp_path, "ollama", by_words({"Write": "Tea is hot."})) as one:
        inner = "  - {id: say, agent: Writer, prompt: Write of tea}"
        write(one.folder, "inner", workflow(inner, "budget: {tokens: 2000}\n"))
        story(one, "  - {id: gate, approve: Now?}\n  - {id: publish, workflow: inner}")
        here = ("--folder", str(one.folder), "--provider", "ollama", "--model", "sim-model")
        assert await one.command("workflow", "run", "story", *here) == LIMIT
        (listed,) = await RunStore(one.engine.database).list()
        command = f"agent-studio workflow resume {listed.id[:8]} --raise"
        assert f"limit of Story › publish to 4,000 tokens: {command}" in capsys.readouterr().err
        assert await one.command("workflow", "resume", listed.id, "--raise") == DENIED
        said = capsys.readouterr().err
        assert "The limit of Story › publish is 4,000 tokens now." in said and "✓ publish" in said
        assert await one.command("workflow", "resume", listed.id, "--raise") == 1
        said = capsys.readouterr().err
        assert f"No limit of the run {listed.id[:8]} or of one below is reached." in said
        assert await one.command("workflow", "stop", listed.id) == 0, "nobody holds it"


async def test_w69_a_run_tells_its_events_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as one:
        story(one, "  - {id: a, set: {x: 1}}\n  - {id: b, check: steps.a.outputs.x == 2}")
        run = ("workflow", "run", "story", "--folder", str(one.folder), "--json")
        assert await one.command(*run) == 1
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert events[-1]["event"] == "run_finished" and events[-1]["state"] == "failed"
        assert events[-1]["reason"] == "b: “steps.a.outputs.x == 2” does not hold."


async def test_w69_a_run_is_forked_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = by_words({"Write of tea": "Tea is hot.", "Praise": "Great."})
    async with engine_home(tmp_path, "ollama", script) as one:
        story(
            one,
            "  - {id: first, agent: Writer, prompt: Write of tea}\n"
            "  - {id: then, agent: Writer, needs: first, prompt: Write of tea again}",
        )
        here = ("--folder", str(one.folder), "--provider", "ollama", "--model", "sim-model")
        assert await one.command("workflow", "run", "story", *here) == 0
        (old,) = await RunStore(one.engine.database).list()
        capsys.readouterr()
        fork = ("workflow", "fork", old.id[:8], "--from", "then")
        assert await one.command(*fork, "--prompt", "Praise", "--yes") == 0
        told = capsys.readouterr()
        assert told.out == "Great.\n"
        lines = re.sub(r"[0-9a-f]{8}|[0-9.,]+ tokens", "N", told.err).splitlines()
        assert lines[:4] == [
            "Story, from run N. To run:",
            "  then, last N",
            "Taken over: first",
            "In all it used N last.",
        ]
        new = (await RunStore(one.engine.database).list())[0]
        assert await one.command("workflow", "diff", old.id, new.id) == 0
        shown = capsys.readouterr().out
        assert "files  <- first difference" in shown and "  +Praise" in shown
        assert "first: the same" in shown and "  - Tea is hot." in shown
        assert await one.command("workflow", "diff", old.id, new.id, "--json") == 0
        assert json.loads(capsys.readouterr().out)["first_difference"] == "files"
        assert await one.command("workflow", "fork", old.id, "--from", "tale") == 1
        assert "has no step tale. It has first, then." in capsys.readouterr().err
