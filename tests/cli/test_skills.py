"""``agent-studio skills``, ``run`` and the terminal's chat know skills and commands (K-4 to K-7)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from studio.domain.permissions import Rule
from studio.simulator import Text, Turn
from support.command import at_provider
from support.engine_home import engine_home, reply_requests
from support.terminal_emulator import at_terminal


async def test_k4_skills_are_made_listed_shown_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """K-4, K-6: with and without JSON; what a file wishes is shown and gives nothing."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        here = ("--folder", str(home.folder))
        assert await home.command("skills", "new", "release-notes", *here) == 0
        assert await home.command("skills", "new", "release-notes", *here) != 0
        assert await home.command("skills", "new", "Bad Name", *here) != 0
        assert await home.command("skills", "new", "tests", "--here", *here) == 0
        brought = tmp_path / "elsewhere" / "brought"
        brought.mkdir(parents=True)
        (brought / "SKILL.md").write_text("---\ndescription: About.\n---\nDo.")
        capsys.readouterr()
        assert await home.command("skills", "import", str(brought), "--json", *here) == 0
        assert json.loads(capsys.readouterr().out) == {"copied": ["brought"], "problems": []}
        assert await home.command("skills", "import", str(brought), *here) == 0
        assert "brought: a skill of this name is there already." in capsys.readouterr().err
        shutil.rmtree(home.engine.paths.config / "skills" / "brought")
        capsys.readouterr()
        assert await home.command("skills", "check", *here) == 0
        out = capsys.readouterr()
        assert out.out.count("still the sample’s") == 2
        assert "2 skills and 0 commands can be used." in out.err
        capsys.readouterr()
        assert await home.command("skills", "list", "--json", *here) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["release-notes"]
        assert await home.command("skills", "list", *here) == 0
        out = capsys.readouterr()
        assert "/release-notes  skill:" in out.out and "you do not trust it" in out.err
        await home.engine.rules.trust(home.folder)
        assert await home.command("skills", "list", *here) == 0
        assert "/tests          this folder’s skill:" in capsys.readouterr().out
        path = home.folder / ".agents" / "skills" / "tests" / "SKILL.md"
        path.write_text("---\ndescription: d\nallowed-tools: Bash(git:*)\n---\nThe body.")
        assert await home.command("skills", "show", "/tests", *here) == 0
        out = capsys.readouterr()
        assert out.out.endswith("The body.\n")
        assert "Would like to use without a question: run(git *)" in out.out
        assert "A wish allows nothing" in out.err
        assert await home.command("skills", "show", "nothing", *here) != 0
        assert await home.command("skills", "check", *here) == 0
        path.write_text("---\nname: tests\n---\nThe body.")
        capsys.readouterr()
        assert await home.command("skills", "check", "--json", *here) != 0
        found, _sample = json.loads(capsys.readouterr().out)
        assert found["left_out"] and "no description" in found["problem"]


async def test_k6_a_wish_is_a_rule_by_consent_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-6: nothing is allowed before, nothing by an agent, and a new wish waits again."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        here = ("--folder", str(home.folder))
        path = home.folder / ".agents" / "skills" / "notes" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text("---\ndescription: d\nallowed-tools: Bash(git:*) Teleport\n---\nB")
        await home.engine.rules.trust(home.folder)
        test = ("permissions", "test", "run(git log)", "--folder")
        assert await home.command(*test, str(home.folder)) == 5
        monkeypatch.setenv("AGENT_STUDIO_RUN", "test")
        assert await home.command("skills", "allow", "notes", *here) != 0
        assert "only a person" in capsys.readouterr().err
        monkeypatch.delenv("AGENT_STUDIO_RUN")
        await home.engine.rules.add(Rule("ask", "run", "git push *"))
        assert await home.command("skills", "allow", "notes", *here) == 0
        told = capsys.readouterr().err
        assert "counts over rules of yours that ask: run(git push *)" in told
        assert "run(git *)" in told and "Has no counterpart here: Teleport" in told
        assert await home.command(*test, str(home.folder)) == 0
        assert await home.command(*test, str(tmp_path)) == 5  # it is the folder's skill
        path.write_text("---\ndescription: d\nallowed-tools: Bash(git:*), Bash(rm:*)\n---\nB")
        capsys.readouterr()
        assert await home.command("skills", "show", "notes", "--json", *here) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (
            facts["rules"] == ["run(git *)", "run(rm *)"] and facts["allowed"] == facts["rules"][:1]
        )
        assert await home.command("skills", "revoke", "notes", *here) == 0
        assert await home.command(*test, str(home.folder)) == 5
        assert [str(one.rule) for one in await home.engine.rules.list()] == ["run(git push *)"]


async def test_k7_run_calls_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """K-7: ``run "/name …"`` sends what the command says."""
    async with engine_home(tmp_path, "anthropic", lambda _: Turn(Text("Fine."))) as home:
        folder = home.engine.paths.config / "commands"
        folder.mkdir()
        (folder / "fix.md").write_text("Mend number $1.")
        words = ("--provider", "anthropic", "--model", "m", "--folder", str(home.folder), "--quiet")
        assert await home.command("run", *words, "/fix 12") == 0
        assert "Mend number 12." in json.dumps(home.asked[-1].json)
        sent = len(home.asked)
        for wrong in ("/fxi 12", "/nothing", "/fix:it now"):
            assert await home.command("run", *words, wrong) == 1
            told = capsys.readouterr().err
            assert "Nothing was sent." in told
            assert ("Did you mean /fix?" in told) == (wrong != "/nothing")
        assert len(home.asked) == sent and len(await home.engine.sessions.list()) == 1
        for path in ("/etc/hosts is what?", "/tmp is full", "/ is a sign", "/5 of it"):
            assert await home.command("run", *words, path) == 0
            assert path in json.dumps(home.asked[-1].json)


async def test_k7_the_terminals_chat_calls_and_lists_them(tmp_path: Path) -> None:
    """K-5, K-7: /help has them, and one that was saved a moment ago is sent filled in."""
    script = [Turn(Text("Mended."), stop="end")]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        commands = terminal.home / ".claude" / "commands"
        async with at_terminal(terminal, "chat", "--provider", "ollama", "--model", "m") as person:
            await person.until("›")
            commands.mkdir(parents=True)
            (commands / "fix-it.md").write_text("---\ndescription: Mends it\n---\nMend $1.")
            person.type("/help\r")
            await person.until("Mends it")
            person.type("/fix-ti number-12\r")
            await person.until("There is no command /fix-ti. Did you mean /fix-it?")
            person.type("/fix-it number-12\r")
            await person.until("Mended.")
            person.type("/quit\r")
            assert await person.end() == 0
        (sent,) = reply_requests(simulator)
        assert "Mend number-12." in str(sent.json["messages"][-1])
        assert not simulator.violations
