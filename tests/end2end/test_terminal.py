"""The real command against a strict simulator: every protocol, every exit code, every question."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from studio.simulator import Call, RequestView, Returned, Text, Think, Turn, Usage, stall, status
from support.command import Command, at_provider, finish, screen, session_of
from support.engine_home import PROTOCOLS, is_locked, reply_requests
from support.model_calls import read, run, write
from support.waiting import HANG, until

QUICK = "ollama"
"""The protocol without an SDK: the process starts in no time."""


@pytest.mark.parametrize("provider", list(PROTOCOLS))
async def test_the_whole_job(tmp_path: Path, provider: str) -> None:
    """H-1, H-3, H-5, L-3, L-11, T-5, T-7: from the first message to after the restarts."""
    child = (
        "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('up', flush=True); time.sleep(3600)"
    )
    script = [
        # first run: two steps in a row with parallel calls, a permission, a draft
        Turn(Think("a plan"), Text("I look."), read("a.txt"), read("b.txt"), stop="tool_use"),
        Turn(run("echo hi there"), read("a.txt"), write("n.txt", "new\n"), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
        # second: Ctrl-C in the stream; third: Ctrl-C in a command
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
        Turn(run(f'{sys.executable} -c "{child}" & wait'), read("a.txt"), stop="tool_use"),
        # fourth: on, with a permission nobody gives
        Turn(run("printf no"), stop="tool_use"),
        Turn(Text("Here again."), stop="end"),
    ]
    base = ("--provider", provider, "--model", "sim-model")
    async with at_provider(tmp_path, provider, script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        (terminal.folder / "b.txt").write_text("beta\n")

        events = await terminal.turn(
            *base, "--allow", "run(echo *)", "--allow", "write", "Please work"
        )
        first, last = events[0], events[-1]
        assert first["event"] == "turn_started" and last["event"] == "turn_complete"
        session = first["session_id"]
        assert session and last["reason"] == "done" and last["steps"] == 3
        assert first["provider"] == provider and first["model"] == "sim-model"
        names = [e["name"] for e in events if e["event"] == "tool_queued"]
        assert names == ["read", "read", "run", "read", "write"]
        assert (terminal.folder / "n.txt").read_text() == "new\n"
        second, third = (str(r.json) for r in reply_requests(simulator)[1:3])
        assert second.index("alpha") < second.index("beta")
        assert third.count("alpha") == 2 and "hi there" in third
        said = "".join(e["text"] for e in events if e["event"] == "text_delta")
        assert said == "I look.Done."

        ended = await terminal.interrupted("--session", session, "Talk", when='"text_delta"')
        assert ended.code == 130
        assert ended.events[-1]["reason"] == "cancelled"
        await asyncio.wait_for(simulator.wait_disconnect(3), HANG)

        ended = await terminal.interrupted(
            *("--session", session, "--allow", "run", "Wait"), when='"up'
        )
        assert ended.code == 130
        await until(lambda: not is_locked(terminal.folder / "child"))
        assert ended.events[-1]["reason"] == "cancelled"

        ended = await terminal("run", "--session", session[:10], "And now")
        assert (ended.code, ended.out) == (4, "Here again.\n")
        assert "Not allowed: run printf no" in ended.err
        assert "--allow 'run(printf *)'" in ended.err and session_of(ended.err) == session[:8]
        sent = str(reply_requests(simulator)[-1].json)
        assert "nobody was there to ask" in sent
        assert "Please work" in sent and "stopped the turn" in sent and "new" in sent
        assert len(reply_requests(simulator)) == 7 and not simulator.violations


async def test_limits_and_errors_have_their_codes(tmp_path: Path) -> None:
    """L-1: a limit is 3 and an explanation, a provider's error 2, a refusal too; the turn is kept."""

    def script(view: RequestView) -> Turn:
        if "fail" in view.last_user:
            return Turn(Text("x"), faults=[status(500)])
        if "refuse" in view.last_user:
            return Turn(Text("No."), stop="max_tokens")
        steps = sum(isinstance(item, Returned) for item in view.items)
        line = {"path": "lines.txt", "first_line": steps + 1, "lines": 1}
        return Turn(Call("read", line), stop="tool_use")

    async with at_provider(tmp_path, QUICK, script) as (terminal, simulator):
        (terminal.folder / "lines.txt").write_text("".join(f"Line {n}.\n" for n in range(9)))
        agents = terminal.folder / ".agents" / "agents"
        agents.mkdir(parents=True)
        (agents / "short.md").write_text("---\nname: Short\nmode: inline\n---\nBe brief.\n")
        base = ("run", "--provider", QUICK, "--model", "m", "--agent", "short")
        ended = await terminal(*base, "loop")
        assert ended.code == 3 and "all 5 steps" in ended.err and ended.out == ""
        assert len(reply_requests(simulator)) == 5
        failed = await terminal(*base, "fail")
        assert failed.code == 2 and "had an error of its own" in failed.err
        assert "Your message is kept" in failed.err
        cut = await terminal(*base, "refuse")
        assert cut.code == 3 and "output limit" in cut.err
        listed = json.loads((await terminal("sessions", "list", "--json")).out)
        assert [info["state"] for info in listed] == ["token_limit", "error", "step_limit"]
        events = json.loads((await terminal("sessions", "events", session_of(failed.err))).out)
        assert events["events"][0]["said"][0]["text"] == "fail"


async def test_questions_on_a_real_terminal(tmp_path: Path) -> None:
    """T-7: yes once, always for the session, no; the agent's own question; nothing hidden."""
    spoof = "echo two \x1b[2K\x1b[1A harmless"
    script = [
        Turn(run("echo one"), read("a.txt"), stop="tool_use"),
        Turn(run(spoof), stop="tool_use"),
        Turn(run("echo three"), stop="tool_use"),
        Turn(Call("ask", {"question": "Which colour?", "choices": ["Red", "Blue"]})),
        Turn(run("printf four && true"), stop="tool_use"),
        Turn(Text("All \x1b]0;title\x07 done."), stop="end"),
    ]
    async with at_provider(tmp_path, QUICK, script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        async with screen(terminal, "run", "--provider", QUICK, "--model", "m", "Go") as shown:
            text = await shown.until(
                "Allow? [y]es once, this [s]ession, this [f]older, [a]lways, [n]o: "
            )
            assert "No rule allows this command." in text
            assert "A scope adds the rule: allow run(echo *)" in text
            assert "Coder wants to run a command" in text and "\n    echo one\n" in text
            assert str(terminal.folder) in text
            shown.type("what\n")
            text += await shown.until("Allow? ")
            assert "[n]o: what\nAllow? " in text  # nothing else is printed meanwhile
            shown.type("S\n")
            text = await shown.until("Allow? [y]es once, [n]o: ")  # no rule covers odd characters
            assert "· Running echo one" in text and "· Reading a.txt" in shown.shown
            assert "echo two \\x1b[2K\\x1b[1A harmless" in text and "\x1b" not in text
            shown.type("y\n")
            text = await shown.until("Answer: ")
            assert "· Running echo three" in text and "Which colour?\n  1. Red\n  2. Blue" in text
            shown.type("2\n")
            text = await shown.until("Allow? ")
            rules = "\n    allow run(printf *)\n    allow run(true *)\n"
            assert f"A scope adds the rules:{rules}" in text
            shown.type("n\n")
            text = await shown.until("done.")
            assert "All \\x1b]0;title\\x07 done." in text
            assert await shown.end() == 4
        results = [str(request.json) for request in reply_requests(simulator)]
        assert "three" in results[3] and "Blue" in results[4] and "did not allow" in results[5]
        assert not simulator.violations


async def test_a_draft_is_shown_and_approved_on_a_real_terminal(tmp_path: Path) -> None:
    """T-5: nothing is written before the answer; what waits is offered again later."""
    script = [
        Turn(write("n.txt", "one\ntwo\n"), write("m.txt", "three\n"), stop="tool_use"),
        Turn(Text("Drafted."), stop="end"),
        Turn(Text("Good."), stop="end"),
    ]
    async with at_provider(tmp_path, QUICK, script) as (terminal, simulator):
        base = ("run", "--provider", QUICK, "--model", "m")
        async with screen(terminal, *base, "Go") as shown:
            text = await shown.until("Write n.txt (+2 −0)? [y]es, [a]ll 2, [n]ot now, [d]iscard: ")
            assert "  + one\n  + two\n" in text and not (terminal.folder / "n.txt").exists()
            shown.type("y\n")
            await shown.until("Written: n.txt")
            await shown.until("Write m.txt (+1 −0)? ")
            shown.type("n\n")
            text = await shown.until("To go on: ")
            assert "waiting for your approval: m.txt" in text
            assert await shown.end() == 0
            session = session_of(shown.shown)
        assert (terminal.folder / "n.txt").read_text() == "one\ntwo\n"
        assert not (terminal.folder / "m.txt").exists()
        async with screen(terminal, "run", "--session", session, "Well?") as shown:
            await shown.until("Write m.txt ")
            shown.type("\x03")
            assert await shown.end() == 130
            assert "waiting for your approval: m.txt" in shown.shown
        assert "approved the draft of n.txt" in str(reply_requests(simulator)[-1].json)
        assert not simulator.violations


async def test_ctrl_c_takes_back_a_question(tmp_path: Path) -> None:
    """L-11: Ctrl-C on the terminal ends a turn that waits; the end of the input means no."""
    script = [
        Turn(run("echo one"), stop="tool_use"),
        Turn(run("echo two"), stop="tool_use"),
        Turn(Text("Well."), stop="end"),
    ]
    async with at_provider(tmp_path, QUICK, script) as (terminal, simulator):
        async with screen(terminal, "run", "--provider", QUICK, "--model", "m", "Go") as shown:
            await shown.until("Allow? ")
            shown.type("\x03")
            await shown.until("Stopped.")
            assert await shown.end() == 130
            session = session_of(shown.shown)
        async with screen(terminal, "run", "--session", session, "On") as shown:
            await shown.until("Allow? ")
            shown.type("\x04")
            await shown.until("Well.")
            assert await shown.end() == 4
        assert "stopped the turn" in str(reply_requests(simulator)[1].json)
        assert not simulator.violations


async def test_message_from_standard_input(tmp_path: Path) -> None:
    """With ``-`` or nothing; bytes that are no text lose nothing else."""
    async with at_provider(tmp_path, QUICK, lambda _: Turn(Text("Yes."))) as (terminal, simulator):
        base = ("run", "--provider", QUICK, "--model", "m")
        for arguments, said in (
            ((*base, "-"), "Grüße\nzwei\n".encode()),
            (base, b"\xef\xbb\xbfplain \xff end"),
        ):
            ended = await terminal(*arguments, said=said)
            assert (ended.code, ended.out) == (0, "Yes.\n")
        async with screen(terminal, *base) as shown:
            await shown.until("ended by Ctrl-D")
            shown.type("typed\n\x04")
            await shown.until("Yes.")
            assert await shown.end() == 0
        bodies = [[str(m) for m in one.json["messages"]] for one in reply_requests(simulator)]
        first, second, third = bodies
        assert "typed" in third[-1]
        assert "Grüße\\nzwei'" in first[-1] and "plain \ufffd end" in second[-1]


async def test_two_steps_are_two_paragraphs(tmp_path: Path) -> None:
    script = [Turn(Text("I look."), read("a.txt")), Turn(read("a.txt")), Turn(Text("Done."))]
    async with at_provider(tmp_path, QUICK, script) as (terminal, _):
        (terminal.folder / "a.txt").write_text("alpha\n")
        ended = await terminal("run", "--provider", QUICK, "--model", "m", "Go")
        assert ended.out == "I look.\n\nDone.\n"
        assert ended.err.startswith("· Reading a.txt\n· Reading a.txt\nTo go on: ")


async def test_models_of_a_provider(tmp_path: Path) -> None:
    """P-2: fetched first, then the built-in ones; the cache answers until asked anew."""
    async with at_provider(tmp_path, "openai-compatible", []) as (terminal, simulator):
        command = ("models", "--provider", "openai-compatible")
        listed = json.loads((await terminal(*command, "--json")).out)
        assert (listed["provider"], listed["state"], listed["reason"]) == (command[2], "ready", "")
        assert "demo-fast" in [m["id"] for m in listed["models"] if m["source"] == "fetched"]
        lists = len(simulator.requests)
        assert lists == 1
        text = await terminal(*command)
        assert text.code == 0 and text.out.startswith("demo-fast")
        assert len(simulator.requests) == lists  # P-3: five minutes
        assert (await terminal(*command, "--refresh")).code == 0
        assert len(simulator.requests) == lists + 1
        missing = await terminal("models", "--provider", "anthropic")
        assert missing.code == 0 and "built-in list" in missing.out
        assert "no API key for Anthropic" in missing.err and "ANTHROPIC_API_KEY" in missing.err


async def test_sessions_can_be_read_again(tmp_path: Path) -> None:
    script = [
        Turn(Text("I look."), read("a.txt"), write("n.txt", "new\n")),
        Turn(Text("It says **alpha**.")),
    ]
    async with at_provider(tmp_path, "openai-compatible", script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        assert "no sessions yet" in (await terminal("sessions", "list")).err
        events = await terminal.turn(
            *("--provider", "openai-compatible", "--model", "m", "What does it say?")
        )
        session = events[0]["session_id"]
        listed = (await terminal("sessions", "list")).out
        assert listed.startswith(session[:8]) and "done" in listed and "What does it say?" in listed
        info = json.loads((await terminal("sessions", "list", "--json")).out)[0]
        assert info["id"] == session and info["folder"] == str(terminal.folder)
        shown = (await terminal("sessions", "show", session[:6])).out
        for words in ("# What does it say?", "## You", "I look.", "Read `a.txt`", "**alpha**"):
            assert words in shown
        export = await terminal("sessions", "events", session)
        body = json.loads(export.out)
        assert body["session"]["id"] == session
        kinds = [event["event"] for event in body["events"]]
        assert kinds[0] == "turn_started" and kinds[-1] == "turn_complete"
        native = json.loads((await terminal("sessions", "native", session)).out)
        assert native[:-1] == reply_requests(simulator)[-1].json["messages"][1:]
        assert native[-1]["content"] == "It says **alpha**."


async def test_the_simulator_alone(tmp_path: Path) -> None:
    """It says where it listens at once, answers, and ends with Ctrl-C."""
    terminal = Command(tmp_path)
    process = await terminal.start("simulate", "--port", "0")
    assert process.stdout is not None
    lines = [(await process.stdout.readline()).decode() for _ in range(6)]
    assert "Ctrl+C" in lines[-1]
    port = int(lines[0].rstrip().rpartition(":")[2])
    taken = await terminal("simulate", "--port", str(port))
    assert taken.code == 1 and f"Port {port} cannot be used" in taken.err
    terminal.provider(QUICK, f"http://127.0.0.1:{port}")
    ended = await terminal("run", "--provider", QUICK, "--model", "demo-fast", "Hello")
    assert ended.code == 0 and "Simulated" in ended.out
    process.send_signal(signal.SIGINT)
    assert (await finish(process)).code in (0, 130)


async def test_the_demo_needs_no_key(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    (terminal.folder / "notes.txt").write_text("Buy milk\n")
    ended = await terminal("run", "--provider", "simulator", "Look at this folder")
    assert ended.code == 0 and "notes.txt" in ended.out and "· Listing" in ended.err
    models = json.loads((await terminal("models", "--provider", "simulator", "--json")).out)
    assert "demo-fast" in [model["id"] for model in models["models"]]


async def test_without_provider_and_key_it_is_the_built_in_model(tmp_path: Path) -> None:
    """With a model file that is no model the answer is an explanation, not a download."""
    terminal = Command(tmp_path)
    terminal.home.mkdir()
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    settings = {"builtin_model": str(broken)}
    (terminal.home / "settings.json").write_text(json.dumps(settings))
    ended = await terminal("run", "--json", "Hello")
    assert ended.code in (1, 2), ended
    assert ended.events[0]["provider"] == "builtin"
    assert ended.events[-1]["reason"] == "error"
    failed = next(event for event in ended.events if event["event"] == "failed")
    assert failed["title"] and "gguf" in (failed["title"] + failed["detail"]).lower()


async def test_starting_imports_no_sdk(tmp_path: Path) -> None:
    """A turn pays for the provider it talks to and for no other, nor for Qt."""
    terminal = Command(tmp_path, PYTHONPROFILEIMPORTTIME="1", XDG_RUNTIME_DIR=str(tmp_path))
    ended = await terminal("run", "--provider", "simulator", "Hello")
    imported = {name.partition(".")[0] for name in _imported(ended.err)}
    assert ended.code == 0 and "studio" in imported
    assert not imported & {
        *("anthropic", "openai", "google", "pydantic", "PySide6", "qasync", "pygments"),
        *("genai_prices", "pyromark"),
    }
    if sys.platform == "linux":  # there is no bus, on which a keychain could be reached
        assert "keyring" not in imported


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini"])
async def test_a_question_to_a_cloud_needs_no_sdk(tmp_path: Path, provider: str) -> None:
    """P-1: it goes out without the vendor's SDK, whose import takes longer than all the rest."""
    script = [Turn(Call("list", {})), Turn(Text("One file."))]
    async with at_provider(tmp_path, provider, script) as (terminal, simulator):
        terminal.environment["PYTHONPROFILEIMPORTTIME"] = "1"
        ended = await terminal("run", "--provider", provider, "-m", "sim-model", "What is here?")
        assert ended.code == 0 and ended.out.strip() == "One file.", ended
        assert len(simulator.requests) == 2 and simulator.violations == []
    imported = _imported(ended.err)
    assert "studio.providers.plain" in imported
    assert not imported & {"anthropic", "openai", "google.genai"}


def _imported(err: str) -> set[str]:
    lines = [line for line in err.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


async def test_usage_is_a_table_of_what_was_used_and_spent(tmp_path: Path) -> None:
    """P-5, H-9: by day, agent, model, session and turn; since a day; of one session; as JSON."""
    script = [
        Turn(read("a.txt"), usage=Usage(inp=12_000, cache_write=11_000, out=100)),
        Turn(Text("Done."), usage=Usage(inp=13_000, cache_read=12_000, out=200, reasoning=50)),
        Turn(Text("Again."), usage=Usage(inp=14_000, out=300)),
        Turn(Text("Nobody knows."), usage=Usage(inp=1_000, out=10)),
    ]
    async with at_provider(tmp_path, "anthropic", script) as (terminal, _):
        assert (await terminal("usage")).err == "There were no requests.\n"
        assert (await terminal("usage", "--json")).out == "[]\n"
        (terminal.folder / "a.txt").write_text("alpha\n")
        known = ("--provider", "anthropic", "--model", "claude-opus-5-5")
        session = (await terminal.turn(*known, "One"))[0]["session_id"]
        await terminal.turn("--session", session, "Two")
        await terminal.turn("--provider", "anthropic", "--model", "sim-model", "Three")

        shown = await terminal("usage", "--by", "model")
        heading, opus, other, every = (line.split() for line in shown.out.splitlines())
        assert heading == ["Model", "Requests", "Input", "Cached", "Written", "Output", "Thinking",
                           "Cost", "Broken", "caches"]  # fmt: skip
        assert opus[:7] == ["claude-opus-5-5", "3", "39,000", "12,000", "11,000", "600", "50"]
        assert other == ["sim-model", "1", "1,000", "0", "0", "10", "0", "unknown"]
        assert every[:7] == ["All", "4", "40,000", "12,000", "11,000", "610", "50"]
        # 16,000 at $4, 12,000 read at $0.20, 11,000 written at $5, 600 out at $20
        assert opus[7] == every[7] == "$0.13" and opus[8].startswith("$0.0") and opus[8] == every[8]
        assert shown.err == "Cost: estimate.\n1 request has no known price.\n"
        ends = {line.rindex(" " + word) + len(word) for word, line in
                zip(("39,000", "1,000", "40,000"), shown.out.splitlines()[1:], strict=True)}  # fmt: skip
        assert len(ends) == 1

        one = ("usage", "--session", session[:8], "--json")
        for by, lines in (("turn", 2), ("session", 1), ("agent", 1), ("day", 1), ("model", 1)):
            rows = json.loads((await terminal(*one, "--by", by)).out)
            assert len(rows) == lines and all(row[by] for row in rows)
            assert sum(row["input"] for row in rows) == 39_000
            assert sum(row["cost"] for row in rows) == pytest.approx(0.1334, abs=1e-4)
        today, tomorrow = date.today(), date.today() + timedelta(days=2)
        assert (await terminal("usage", "--since", f"{today}")).out.startswith(("Day", "20"))
        later = await terminal("usage", "--since", f"{tomorrow}")
        assert (later.code, later.out, later.err) == (0, "", "There were no requests.\n")
        for wrong in ("tomorrow", "0001-01-01"):
            refused = await terminal("usage", "--since", wrong)
            assert refused.code == 1 and "a day is written like" in refused.err
