"""The short options of ``run``, and what they do to the request, the output and what is stored (S-5)."""

from __future__ import annotations

import argparse
import json
import re
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from studio.cli.final_answer import first_code
from studio.cli.parser import option
from studio.processes.keeper_process import MARK
from studio.simulator import Call, Text, Think, Turn, Usage
from support.delegation_home import results
from support.engine_home import engine_home
from support.workflow_home import workflow

ROOT = Path(__file__).parents[2]
CODE = (
    "Here:\n\n1. A loop\n\n   ```python\n   for a in b:\n       print(a)\n   ```\n\n```\nno\n```\n"
)


@pytest.fixture(autouse=True)
def nothing_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))


async def test_options_reach_the_request_and_the_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_home(tmp_path, "openai-compatible", lambda _: Turn(Text(CODE))) as one:
        base = ("run", "--provider", "openai-compatible", "--folder", str(one.folder))
        words = "-o temperature=0 -o top_p=0.5 -o max_tokens=99 -o stop=END -o stop=.. --quiet"
        (one.folder / "a.txt").write_text("alpha")
        file = str(one.folder / "a.txt")
        assert await one.command(*base, "-m", "m", "-s", "Say OK.", "-a", file, *words.split(), "Hi") == 0  # fmt: skip
        sent = one.asked[-1].json
        assert (sent["temperature"], sent["top_p"], sent["stop"]) == (0, 0.5, ["END", ".."])
        assert 99 in (sent.get("max_tokens"), sent.get("max_completion_tokens"))
        assert sent["model"] == "m" and "Say OK." in str(sent["messages"])
        assert "alpha" in str(sent["messages"][-1])
        capsys.readouterr()

        # -c goes on in the last session of the folder, -x prints the first block of code alone
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        monkeypatch.chdir(elsewhere)
        assert await one.command("run", "-c", "Again") == 1
        assert "--session last" in capsys.readouterr().err
        assert await one.command("run", "--session", "last", "--quiet", "Again") == 0
        capsys.readouterr()
        monkeypatch.chdir(one.folder)
        assert await one.command("run", "-c", "-x", "--quiet", "Again") == 0
        assert capsys.readouterr().out == "for a in b:\n    print(a)\n"
        assert len(await one.engine.sessions.list()) == 1
        assert "Say OK." in str(one.asked[-1].json["messages"])

        # --no-keep leaves nothing behind, also not in the bin
        assert await one.command(*base, "-m", "m", "--no-keep", "Hi") == 0
        told = capsys.readouterr()
        assert "To go on" not in told.err and "Here:" in told.out
        assert len(await one.engine.sessions.list()) == 1 and not await one.engine.sessions.bin()
        assert await one.command("run", "-c", "--no-keep", "Hi") == 1
        assert await one.command("run", "-c", "-x", "--schema", "{}", "Hi") == 1
        capsys.readouterr()


async def test_lines_of_json_are_those_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each type and field of the table, and no other."""
    calls = (Call("write", {"path": "n.txt", "content": "x"}), Call("read", {"path": "no.txt"}))
    script = [
        Turn(Think("Hm"), Text("I look."), *calls, stop="tool_use"),
        Turn(Call("run", {"command": "rm x"}), stop="tool_use"),
        Turn(Text("Done.")),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "openai-compatible", script) as one:
        base = ("run", "-m", "m", "--provider", "openai-compatible", "--folder", str(one.folder))
        assert await one.command(*base, "--output-format", "stream-json", "Go") == 4
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        end = lines[-1]
        assert [line["type"] for line in lines][:1] == ["start"] and end["type"] == "end"
        assert (end["reason"], end["text"], end["steps"]) == ("done", "Done.", 3)
        assert end["session"] == lines[0]["session"]
        assert await one.command(*base, "-c", "--output-format", "json", "Go") == 0
        [whole] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert (whole["type"], whole["text"]) == ("end", "Done.")
    page = (ROOT / "docs" / "command-line.md").read_text()
    table = page[page.index("| `type` |") :].split("\n\n")[0].splitlines()[2:]
    told = {row.split("`")[1]: {*re.findall(r"`(\w+)`", row.split("|")[2])} for row in table}
    for line in lines:
        assert told[line["type"]] == line.keys() - {"type"}, line
    assert told.keys() - {line["type"] for line in lines} == {"notice", "retry", "error"}


async def test_the_last_line_says_what_the_turn_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C-29: whoever measures reads the last event; it agrees with what is stored (L-14)."""
    step = Usage(inp=10_000, cache_read=4_000, out=500)
    script = [Turn(Call("list", {}), usage=step), *[Turn(Text("Done."), usage=step)] * 3]
    async with engine_home(tmp_path, "openai", script) as one:
        base = ("run", "--provider", "openai", "--folder", str(one.folder))
        assert await one.command(*base, "-m", "gpt-5-mini", "--json", "Go") == 0
        *_, end = map(json.loads, capsys.readouterr().out.splitlines())
        [session] = await one.engine.sessions.list()
        spent = (await one.engine.usage_costs.spent("session"))[session.id]
        assert end["event"] == "turn_complete" and end["dollars"] == pytest.approx(spent.cost)
        assert spent.requests == 2 and spent.cost > 0
        assert await one.command(*base, "-c", "--output-format", "json", "Go") == 0
        assert json.loads(capsys.readouterr().out)["cost"] == pytest.approx(spent.cost / 2)
        assert await one.command(*base, "-m", "nobody-knows-it", "--json", "Go") == 0
        *_, end = map(json.loads, capsys.readouterr().out.splitlines())
        assert end["dollars"] is None


def test_options_and_code_are_told_apart() -> None:
    for wrong in (
        "temperature",
        "temperature=",
        "temperature=3",
        "heat=1",
        "max_tokens=0",
        "stop=",
        "=1",
    ):
        with pytest.raises(argparse.ArgumentTypeError):
            option(wrong)
    for text, code in (
        ("", None),
        ("`a` and ``` b", None),
        ("```\n```", ""),
        ("~~~sh\nls\n~~~", "ls"),
        ("````md\n```\na\n```\n````", "```\na\n```"),
        ("x\n```py\ncut off", "cut off"),
        ("  ```\n  a\n b\n  ```", "a\nb"),
        ("```py\na\x0cb\u2028c\n\nd\n```\n", "a\x0cb\u2028c\n\nd"),
        ("```md\n```js\nb\n```  \nc\n", "```js\nb"),
        ("```\n```\n", ""),
        ("Hi\r\n```py\r\na\r\n\r\nb\r\n```\r\n", "a\n\nb"),
    ):
        assert first_code(text) == code, text


async def test_t7_a_command_of_an_agent_begins_no_turn_that_may_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-7: what it wants is refused; what a person set as the default is narrowed to questions."""
    write = Turn(Call("write", {"path": "made.txt", "content": "x"}))
    story = tmp_path / "story.md"
    story.write_text(workflow("  - {id: act, agent: Coder, prompt: Write it}"))
    script = lambda view: Turn(Text("OK.")) if results(view) else write  # noqa: E731
    async with engine_home(tmp_path, "anthropic", script) as one:
        one.engine.settings.values.default_permission_mode = "auto"
        run = ("run", "--provider", "anthropic", "-m", "sim-model", "--folder", str(one.folder))
        assert await one.command(*run, "Hi") == 0
        made = one.folder / "made.txt"
        made.unlink()  # it was written at once, as this person wants it
        own = (await one.engine.sessions.list())[0].id
        monkeypatch.setenv(MARK, "1")
        for more in (
            ("--permission", "auto"),
            ("--mode", "auto"),
            ("--allow", "run(*)"),
            ("--session", own),
        ):
            capsys.readouterr()
            assert await one.command(*run, *more, "Hi") == 1, more
            assert "only a person may allow this" in capsys.readouterr().err, more
        assert len(one.asked) == 2, "no model heard of it"
        assert await one.command(*run, "Hi") == 0
        assert "waiting for your approval" in capsys.readouterr().err and not made.exists()
        assert await one.command(*run, "--permission", "plan", "Hi") == 0
        assert not made.exists()
        begin = ("workflow", "run", str(story), *run[1:])
        assert await one.command(*begin, "--permission", "auto") == 1
        assert "only a person may allow this" in capsys.readouterr().err
        await one.command(*begin)
        assert "Story is" in capsys.readouterr().err and not made.exists()
        monkeypatch.delenv(MARK)
        assert await one.command(*begin) == 0 and made.exists()
        made.unlink()
        (run_id,) = (await one.engine.database.rows("SELECT id FROM runs ORDER BY rowid"))[-1]
        monkeypatch.setenv(MARK, "1")
        fork = ("workflow", "fork", run_id, "--from", "act", "--prompt", "Mine")
        assert await one.command(*fork) == 1 and not made.exists()


async def test_t7_w20_a_command_of_an_agent_raises_no_cap_and_goes_on_with_no_run_that_may_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does it say yes to many items (W-55) or go on with a mission (W-48)."""
    gate, sums = tmp_path / "gate.md", tmp_path / "sums.md"
    gate.write_text(workflow('  - {id: ok, approve: "Go on?"}'))
    mission = tmp_path / "mission.md"
    mission.write_text(
        workflow(
            '  - {id: ok, approve: "Go on?"}', "budget: {cycles: 2}\ndone_when: [{file: made.md}]\n"
        )
    )
    sums.write_text(
        "---\nname: Sums\nprompt: Hi\nbudget: {dollars: 1}\nvariants: [{id: one, agent: Coder}]\n"
        "cases:\n  - {id: a, graders: [{equals: Hi.}]}\n---\n"
    )
    script = lambda _: Turn(Text("Hi."))  # noqa: E731
    async with engine_home(tmp_path, "anthropic", script) as one:
        one.engine.settings.values.default_permission_mode = "auto"
        model = ("--provider", "anthropic", "-m", "sim-model", "--folder", str(one.folder))

        async def begun(*words: str) -> str:
            await one.command(*words, *model)
            (row,) = await one.engine.database.rows(
                "SELECT id FROM runs ORDER BY rowid DESC LIMIT 1"
            )
            return str(row[0])

        auto = await begun("workflow", "run", str(gate))
        asks = await begun("workflow", "run", str(gate), "--permission", "ask")
        aim = await begun("mission", "start", str(mission), "--permission", "ask")
        monkeypatch.setenv(MARK, "1")
        for refused in (
            ("workflow", "resume", auto),
            ("workflow", "resume", asks, "--dollars", "9"),
            ("workflow", "resume", asks, "--minutes", "9"),
            ("workflow", "resume", asks, "--yes"),
            ("workflow", "resume", aim),
            ("cluster", "resume", auto, "--listen", "127.0.0.1:0"),
            ("batch", "retry", auto),
            ("batch", "retry", asks, "--yes"),
            ("batch", "run", str(gate), "--yes", *model),
            ("eval", "run", str(sums), "--yes", *model),
            ("mission", "raise", aim, "--dollars", "9"),
            ("mission", "steer", aim, "More"),
        ):
            capsys.readouterr()
            assert await one.command(*refused) == 1, refused
            assert "only a person may allow this" in capsys.readouterr().err, refused
        await one.command("workflow", "resume", asks)
        assert "only a person" not in capsys.readouterr().err
