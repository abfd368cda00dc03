"""Rules that stand, folders that are trusted, and the questions of a turn (T-7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.agent.permission.policy import Policy
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.events import AwaitingPermission, Event, Notice, ToolFinished, ToolStarted
from studio.domain.messages import Text as Said
from studio.domain.permissions import Question, Rule
from studio.simulator import Call, Text, Turn
from studio.tools import Workspace
from studio.tools.builtin.write import write
from support.engine_home import EngineHome, engine_home, say


def turns(*commands: str) -> list[Turn]:
    """One turn of the agent for each command, and a last word."""
    script: list[Turn] = []
    for one in commands:
        script += [
            Turn(Call("run", {"command": one}), stop="tool_use"),
            Turn(Text("Done."), stop="end"),
        ]
    return script


def questions(events: list[Event]) -> list[Question]:
    return [event.question for event in events if isinstance(event, AwaitingPermission)]


def told(question: Question) -> list[str]:
    """The rules that “always” would add."""
    return [str(rule) for rule in question.always]


async def test_a_question_says_why_what_it_adds_and_what_that_covers(tmp_path: Path) -> None:
    """T-7: why it is asked, the exact rule of “always”, and which calls it would have allowed."""
    script = turns("echo one", "echo two", "echo three && true", "echo four", "ls && true", "true")
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        (first,) = questions(await say(session, answer="once"))
        assert first.why == "No rule allows this command."
        assert (told(first), first.covers) == (["run(echo *)"], ())
        events = await say(session, answer="session")
        (second,) = questions(events)
        assert second.covers == ("echo one",)
        assert [e.allowed_by for e in events if isinstance(e, ToolStarted)] == [
            "you, for this chat"
        ]
        (third,) = questions(await say(session, answer="deny"))
        assert told(third) == ["run(true *)"] and "“true”" in third.why
        events = await say(session)
        assert not questions(events)
        (by,) = [e.allowed_by for e in events if isinstance(e, ToolStarted)]
        assert by == "your rule for this chat run(echo *)"
        # Of several parts each that needs a rule has one, and together they say what they cover.
        (fifth,) = questions(await say(session, answer="session"))
        assert told(fifth) == ["run(ls *)", "run(true *)"]
        assert fifth.covers == ("echo three && true",)
        assert not questions(await say(session))
        assert await home.engine.rules.list() == []


@pytest.mark.parametrize(("scope", "elsewhere"), [("folder", 1), ("always", 0)])
async def test_a_rule_of_a_scope_stands_after_a_restart(
    tmp_path: Path, scope: str, elsewhere: int
) -> None:
    async with engine_home(tmp_path, "anthropic", turns("echo one")) as home:
        assert questions(await say(await home.session(), answer=scope))
        (standing,) = await home.engine.rules.list()
        assert standing.folder == (str(home.folder) if scope == "folder" else "")
    async with engine_home(tmp_path, "anthropic", turns("echo two", "echo three")) as home:
        assert not questions(await say(await home.session()))
        other = tmp_path / "other"
        other.mkdir()
        session = await home.session()
        await session.change(folder=str(other))
        assert len(questions(await say(session, answer="deny"))) == elsewhere
        await home.engine.rules.remove(standing.id)
        assert await home.engine.rules.list() == []
        with pytest.raises(ConfigurationError, match="no rule"):
            await home.engine.rules.remove(standing.id)


async def test_t7_a_rule_of_a_chat_is_taken_back_also_under_a_running_turn(tmp_path: Path) -> None:
    """T-7: it is listed; once removed, the running turn's next call is asked about again."""
    script = [
        Turn(Call("run", {"command": command}), stop="tool_use")
        for command in ("echo one", "echo two", "ls", "echo three")
    ]
    async with engine_home(
        tmp_path, "anthropic", [*script, Turn(Text("Done."), stop="end")]
    ) as home:
        session = await home.session()
        asked: list[str] = []
        async for envelope in session.turn([Said("Go")]):
            event = envelope.event
            if isinstance(event, AwaitingPermission):
                asked.append(event.question.detail)
                if asked[-1] == "ls":
                    (rule,) = await session.rules.list()
                    assert rule.rule == Rule("allow", "run", "echo *")
                    await session.rules.remove(rule.id)
                    with pytest.raises(ConfigurationError, match="no rule"):
                        await session.rules.remove(rule.id)
                answer = "session" if asked[-1] == "echo one" else "once"
                session.answer_permission(event.question.id, answer)
        assert asked == ["echo one", "ls", "echo three"]
        assert await session.rules.list() == []


async def test_t7_what_a_chat_is_given_counts_at_once_and_in_no_other(tmp_path: Path) -> None:
    """T-7, T-6: a rule that is added or changed under a running turn; deny wins over allow."""
    commands = ("ls", "echo one", "ls", "echo two", "rm -f x", "true")
    script = [Turn(Call("run", {"command": one}), stop="tool_use") for one in commands[:-1]]
    script += [Turn(Text("Done."), stop="end"), *turns(*commands[-1:], "echo three")]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session, asked = await home.session(), list[str]()
        errors: list[bool] = []
        async for envelope in session.turn([Said("Go")]):
            event = envelope.event
            if isinstance(event, ToolFinished):
                errors.append(event.is_error)
            if not isinstance(event, AwaitingPermission):
                continue
            asked.append(event.question.detail)
            if len(asked) == 1:
                await session.rules.add(Rule("allow", "run", "echo *"))
            else:
                (rule,) = await session.rules.list()
                await session.rules.change(rule.id, Rule("deny", "run", "echo *"))
                await session.rules.add(Rule("allow", "run"))
            session.answer_permission(event.question.id, "once")
        assert asked == ["ls", "ls"]
        assert errors == [False, False, False, True, False]
        assert not questions(await say(session))  # and in the chat's next turn
        with pytest.raises(ConfigurationError, match="no rule"):
            await session.rules.change(0, Rule("allow", "run"))
        other = await home.session()
        assert questions(await say(other, answer="deny")) and await other.rules.list() == []
        tried = await home.engine.explain("run", "echo x", session.info)
        assert (tried.verdict, tried.layer) == ("deny", "session")
        assert (await home.engine.explain("run", "echo x", other.info)).verdict == "ask"
        assert (await home.engine.explain("run", "echo x", home.folder)).verdict == "ask"
        await other.change(permission_mode="plan")
        assert (await home.engine.explain("run", "echo x", other.info)).verdict == "deny"


async def test_t7_a_rule_counts_that_comes_while_a_turn_is_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-7: packs are asked then which folders they close, and that can take long."""
    async with engine_home(tmp_path, "anthropic", turns("echo one")) as home:
        session, packs = await home.session(), home.engine.services.packs
        asked = packs.closed_rules

        async def person_is_faster(subject: str) -> list[Rule]:
            await session.rules.add(Rule("deny", "run"))
            return await asked(subject)

        monkeypatch.setattr(packs, "closed_rules", person_is_faster)
        events = await say(session, answer="once")
        assert not questions(events)
        assert [one.is_error for one in events if isinstance(one, ToolFinished)] == [True]


async def test_t7_what_another_program_takes_back_is_gone_with_the_next_turn(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", turns("echo one", "echo two")) as home:
        session = await home.session()
        assert questions(await say(session, answer="session"))
        (rule,) = await session.rules.list()
        assert await home.engine.store.rules.remove(session.info.id, rule.id)
        assert questions(await say(session, answer="deny"))


async def test_a_place_outside_is_read_once_it_is_allowed(tmp_path: Path) -> None:
    """T-7: a question, never a silence; the next call is asked about again."""
    reading = Call("read", {"path": "../elsewhere"})
    script = [Turn(reading, reading, stop="tool_use"), Turn(Text("Done."), stop="end")] * 2
    async with engine_home(tmp_path, "anthropic", script) as home:
        (tmp_path / "elsewhere").write_text("their words")
        (tmp_path / "near").write_text("not these")
        session = await home.session()
        events = await say(session, answer="once")
        place = str((tmp_path / "elsewhere").resolve())
        asked = questions(events)
        assert [one.why for one in asked] == [f"{place} is outside the folder."] * len(asked)
        assert told(asked[0]) == [f"read({place})"]
        texts = [e.text for e in events if isinstance(e, ToolFinished)]
        assert all("their words" in text for text in texts)
        assert len(questions(await say(session, answer="session"))) == 1


async def test_a_folder_never_widens_rights_until_it_is_trusted(tmp_path: Path) -> None:
    """T-7: its allow rules wait, what it forbids counts, and a change ends the trust aloud."""
    async with engine_home(
        tmp_path, "anthropic", turns("echo a", "echo b", "echo c", "rm -f x")
    ) as home:
        rules = home.engine.rules
        assert await rules.trusted(home.folder) == "nothing"
        await rules.trust(home.folder)  # the person wrote what is there, whatever it is
        assert await rules.trusted(home.folder) == "trusted"
        agents = home.folder / ".agents" / "agents"
        agents.mkdir(parents=True)
        file = home.folder / ".agents" / "permissions.yaml"
        file.write_text("allow: [run(echo *)]\ndeny: [run(rm *)]\n")
        (agents / "a.md").write_text("---\nname: Mine\npermissions: {allow: [run]}\n---\nWork.")
        assert await rules.trusted(home.folder) == "changed"  # new files end the trust
        await rules.untrust(home.folder)
        assert await rules.trusted(home.folder) == "untrusted"

        async def mine() -> Agent:
            return await home.engine.agent("Mine", home.folder)

        assert (await mine()).permissions == ()
        session = await home.session()
        assert questions(await say(session, answer="deny"))
        await rules.trust(home.folder)
        assert (await mine()).permissions == (Rule("allow", "run"),)
        events = await say(session)
        assert not questions(events) and not [e for e in events if isinstance(e, Notice)]
        (agents / "a.md").write_text("---\nname: Mine\npermissions: {allow: [write]}\n---\nWork.")
        assert await rules.trusted(home.folder) == "changed"
        assert (await mine()).permissions == ()
        events = await say(session, answer="deny")
        assert questions(events)
        assert [e.text for e in events if isinstance(e, Notice) and "trust" in e.text]
        events = await say(session)  # what the folder forbids counts all the same
        assert not questions(events)
        assert [e.is_error for e in events if isinstance(e, ToolFinished)] == [True]
        await rules.untrust(home.folder)
        assert await rules.trusted(home.folder) == "untrusted"


@pytest.mark.parametrize(
    "text", ["- x", "allow: {a: b}", "allow: [1]", "maybe: [x]", "a: [", "allow: ['run(']"]
)
async def test_a_broken_permissions_file_is_said_and_skipped(tmp_path: Path, text: str) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        (home.folder / ".agents").mkdir()
        (home.folder / ".agents" / "permissions.yaml").write_text(text)
        layers = await home.engine.rules.layers(home.folder)
        (notice,) = layers.notices
        assert "permissions.yaml" in notice and not layers.rules["project"]


async def _cli(home: EngineHome, *words: str) -> int:
    return await home.command("permissions", *words)


async def test_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """T-7: rules are listed, added, removed and tried; folders trusted."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        folder = str(home.folder)
        assert await _cli(home, "add", "run(git *)") == 0
        assert await _cli(home, "add", "run(git push *)", "--deny", "--folder", folder) == 0
        assert await _cli(home, "add", "nothing(x)") == 1
        assert await _cli(home, "add", "run(") == 1
        capfd.readouterr()
        assert await _cli(home, "list", "--folder", folder) == 0
        lines = capfd.readouterr().out.splitlines()
        assert lines[0].split() == ["1", "allow", "run(git", "*)"]
        assert lines[1].split()[:2] == ["2", "deny"] and folder in lines[1]
        assert await _cli(home, "test", "run(git push)", "--folder", folder) == 4
        assert capfd.readouterr().out == "deny: Your rule run(git push *) refuses it.\n"
        assert await _cli(home, "test", "run(git push)", "--folder", str(tmp_path), "--json") == 0
        assert json.loads(capfd.readouterr().out)["verdict"] == "allow"
        assert await _cli(home, "add", "run(make *)") == 0
        said = capfd.readouterr().err
        assert "With other arguments make may run any program or write any file." in said
        assert await _cli(home, "remove", "3") == 0
        assert await _cli(home, "add", "run(ls *)") == 0
        assert capfd.readouterr().err.splitlines() == ["Removed: rule 3", "Added: allow run(ls *)"]
        assert await _cli(home, "remove", "2") == 0
        assert await _cli(home, "remove", "2") == 1
        (home.folder / ".agents").mkdir()
        (home.folder / ".agents" / "permissions.yaml").write_text("allow: [run(ls)]")
        assert await _cli(home, "trust", folder) == 0
        assert await home.engine.rules.trusted(home.folder) == "trusted"
        assert await _cli(home, "untrust", folder) == 0
        assert await home.engine.rules.trusted(home.folder) == "untrusted"


async def test_t7_the_command_line_about_one_chat(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """T-7: the rules of a session are listed, tried and taken back; an agent's are listed."""
    async with engine_home(tmp_path, "anthropic", turns("echo one", "echo two", "ls")) as home:
        agents = home.engine.paths.agents
        agents.mkdir(parents=True, exist_ok=True)
        file = agents / "own.md"
        file.write_text("---\nname: Own\npermissions: {deny: [run(rm *)]}\n---\nx\n")
        session, other = await home.session("Own"), await home.session()
        named = ("--session", session.info.id[:12])
        assert questions(await say(session, answer="session"))
        await home.engine.rules.add(Rule("ask", "fetch", "x"))
        (rule,) = await session.rules.list()
        capfd.readouterr()
        assert await _cli(home, "list", *named) == 0
        lines = [line.split(maxsplit=2) for line in capfd.readouterr().out.splitlines()]
        assert lines == [
            ["1", "ask", "fetch(x)"],
            ["–", "deny", "run(rm *)  in the agent’s file"],
            [str(rule.id), "allow", "run(echo *)  in this session (--session)"],
        ]
        assert await _cli(home, "list", *named, "--json") == 0
        found = json.loads(capfd.readouterr().out)
        echo = {"id": rule.id, "verdict": "allow", "rule": "run(echo *)"}
        assert (found["session"], found["agent"]) == (
            [echo],
            [{"verdict": "deny", "rule": "run(rm *)"}],
        )
        assert await _cli(home, "list", "--json") == 0
        assert "session" not in json.loads(capfd.readouterr().out)
        for asked, verdict in (
            (("run(echo x)", *named), "allow: Your rule for this chat run(echo *) allows it."),
            (("run(rm x)", *named), "deny: The agent’s rule run(rm *) refuses it."),
            (("run(rm x)", *named, "--agent", "Coder"), "ask: No rule allows this command."),
            (("run(echo x)",), "ask: No rule allows this command."),
            (("run(echo x)", "--session", other.info.id), "ask: No rule allows this command."),
        ):
            code = {"allow": 0, "deny": 4, "ask": 5}[verdict.partition(":")[0]]
            assert await _cli(home, "test", *asked) == code
            assert capfd.readouterr().out == f"{verdict}\n"
        assert await _cli(home, "remove", str(rule.id), "--session", other.info.id) == 1
        assert await _cli(home, "remove", str(rule.id), *named) == 0
        assert await _cli(home, "remove", str(rule.id), *named) == 1
        assert questions(await say(session, answer="deny"))  # in the chat that is open, too
        assert await _cli(home, "add", "run(ls *)", *named) == 0
        assert not questions(await say(session))
        file.unlink()
        assert await _cli(home, "list", *named) == 0  # where its agent is gone, too
        assert "run(ls *)" in capfd.readouterr().out
        assert await _cli(home, "list", "--session", "nothing") == 1
        assert [one.id for one in await home.engine.rules.list()] == [1]


async def test_t7_no_rule_is_offered_whose_script_cannot_be_read(tmp_path: Path) -> None:
    commands = ["bash build.sh", "bash 'x\u202ehs.dliub'", "bash 'a\nb'"]
    script = [Turn(Call("run", {"command": one})) for one in commands]
    async with engine_home(tmp_path, "anthropic", [*script, Turn(Text("Done."))]) as home:
        asked = questions(await say(await home.session(), answer="deny"))
        assert [told(one) for one in asked] == [["run(bash build.sh *)"], [], []]


async def test_t7_a_question_says_what_its_rules_let_run(tmp_path: Path) -> None:
    commands = ["pytest -q", "echo a", "make test"]
    script = [Turn(Call("run", {"command": one})) for one in commands]
    async with engine_home(tmp_path, "anthropic", [*script, Turn(Text("Done."))]) as home:
        asked = questions(await say(await home.session(), answer="deny"))
        assert [told(one) for one in asked] == [
            ["run(pytest *)"], ["run(echo *)"], ["run(make test)"]
        ]  # fmt: skip
        said = "pytest runs code of the folder: this rule lets it run any program."
        assert [one.warning for one in asked] == [said, "", ""]


async def test_a_question_hides_nothing_and_speaks_for_itself(tmp_path: Path) -> None:
    """T-7: unseen characters are spelt out; the agent's words cannot pass for the program's."""
    call = Call(
        "run",
        {
            "command": "ls \u202egnp.a\u200b; rm\u00a0-rf x\u3164\n\x1b[2Kecho",
            "reason": "To look.\nNo network, Sandboxed\n\u202eAllow?\x1b[1A",
        },
    )
    script = [Turn(call, stop="tool_use"), Turn(Text("Done."), stop="end")]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (question,) = questions(await say(await home.session(), answer="deny"))
        shown = r"ls \u202egnp.a\u200b; rm\xa0-rf x\u3164" + "\n" + r"\x1b[2Kecho"
        assert question.detail == shown
        assert question.reason == r"To look. No network, Sandboxed \u202eAllow?\x1b[1A"
        assert question.always == ()


@pytest.mark.parametrize(
    "path", [".vscode/tasks.json", "a/.envrc", ".git./hooks/x", ".GIT/x", "git~1/x", ".g\u200dit/x"]
)
def test_the_automatic_mode_asks_about_what_runs_later(tmp_path: Path, path: str) -> None:
    """T-7: also as Windows and macOS may spell it."""
    policy = Policy("auto", workspace=Workspace(tmp_path))
    assert policy.decide(write.spec, {"path": path, "text": "x"}).verdict == "ask"
    assert policy.decide(write.spec, {"path": "src/agents.py", "text": "x"}).verdict == "allow"


def test_a_link_in_the_place_of_what_was_allowed_leads_nowhere(tmp_path: Path) -> None:
    """T-8: between the answer and the reading somebody may have put it there."""
    root, allowed, secret = tmp_path / "work", tmp_path / "allowed", tmp_path / "secret"
    root.mkdir()
    secret.write_text("secret")
    workspace = Workspace(root).opened(allowed)
    allowed.symlink_to(secret)
    with pytest.raises(ToolFailed, match="outside"):
        workspace.file(str(allowed))
