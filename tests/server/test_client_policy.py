"""What clients of the server may have agents do: reading alone, unless the person says more (S-4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from studio.agent.engine import Engine
from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.app import build
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.permissions import Answer as Permission
from studio.domain.permissions import Rule
from studio.domain.tools import ToolSpec
from studio.server.permission_forwarder import NOBODY
from studio.simulator import Call, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.tools import Workspace
from support.engine_home import EngineHome, engine_home
from support.responder_calls import Answer, answered, call_of, responder_of

READ = ToolSpec("read", "", {}, "read", "path")
WRITE = ToolSpec("write", "", {}, "draft", "path")
FETCH = ToolSpec("fetch", "", {}, "fetch", "url")
SEARCH = ToolSpec("web_search", "", {}, "fetch", "query", hosted=True)
RUN = ToolSpec("run", "", {}, "act", "command")

COMPATIBLE = "openai-compatible"
WRITES = Call("write", {"path": "a.txt", "content": "new"})
DONE = Turn(Text("Done."))


def allow(*texts: str) -> list[Rule]:
    return [Rule.parse(text) for text in texts]


def deny(*texts: str) -> list[Rule]:
    return [Rule.parse(text, "deny") for text in texts]


def bounded(
    folder: Path, own: Sequence[Rule] = (), clients: Sequence[Rule] = (), mode: Any = "ask"
) -> Policy:
    """The person's rules below what their clients may do."""
    workspace = Workspace(folder)
    ceiling = Policy("ask", {"server": clients}, workspace=workspace, cautious=True)
    return Policy(mode, {"person": own}, workspace=workspace).within(ceiling)


# The policy


def test_reading_in_the_folder_runs_and_nothing_else(tmp_path: Path) -> None:
    policy = bounded(tmp_path)
    assert policy.explain(READ, "a").verdict == "allow"
    for spec, target in (
        (READ, "/etc/passwd"),
        (READ, "../a"),
        (WRITE, "a"),
        (FETCH, "https://example.com/"),
        (RUN, "true"),
        (RUN, "$(true)"),
    ):
        decision = policy.explain(spec, target)
        assert (decision.verdict, decision.insists) == ("ask", True), target
        assert suggest_rules(policy, spec, {spec.target: target}, decision) == ()


def test_what_the_person_allows_themselves_does_not_count_for_clients(tmp_path: Path) -> None:
    policy = bounded(tmp_path, allow("run", "write", "fetch", "read(/etc/*)"), mode="auto")
    for spec, target in (
        (WRITE, "a"),
        (RUN, "ls"),
        (FETCH, "https://example.com/"),
        (READ, "/etc/passwd"),
    ):
        decision = policy.explain(spec, target)
        assert (decision.verdict, decision.insists) == ("ask", True), target


def test_a_rule_that_is_added_meanwhile_does_not_count_for_clients(tmp_path: Path) -> None:
    policy = bounded(tmp_path)
    policy.add("session", Rule.parse("run"))
    policy.add("turn", Rule.parse("write"))
    assert policy.explain(RUN, "ls").verdict == "ask"
    assert policy.explain(WRITE, "a").verdict == "ask"


def test_what_the_person_lets_clients_have_done_counts(tmp_path: Path) -> None:
    clients = [*allow("run(git status)"), *deny("read(*.env)")]
    policy = bounded(tmp_path, clients=clients)
    decision = policy.explain(RUN, "git status")
    assert decision.verdict == "allow"
    assert decision.by == "your rule for the server’s clients run(git status)"
    assert policy.explain(RUN, "git status && git push").verdict == "ask"
    assert policy.explain(RUN, "git status; rm -rf x").verdict == "ask"
    assert policy.explain(READ, ".env").verdict == "deny"
    assert policy.hides(".env") and policy.unreadable()


def test_who_forbids_is_heard_whoever_allows(tmp_path: Path) -> None:
    policy = bounded(tmp_path, deny("run(git *)"), allow("run"))
    assert policy.explain(RUN, "git status").verdict == "deny"
    policy = bounded(tmp_path, allow("run"), deny("run(git push *)"))
    assert policy.explain(RUN, "git push").verdict == "deny"


def test_rules_for_clients_hold_below_and_above_other_bounds(tmp_path: Path) -> None:
    """T-6: an agent that another one begins has no more, and no less."""
    policy = bounded(tmp_path, clients=[*allow("run(ls)"), *deny("read(b)")])
    child = Policy("auto", workspace=Workspace(tmp_path)).within(policy)
    assert child.explain(RUN, "ls").verdict == "allow"
    assert child.explain(WRITE, "a").insists
    assert child.explain(READ, "b").verdict == "deny"
    cautious = Policy(
        "ask", {"server": deny("read(c)")}, workspace=Workspace(tmp_path), cautious=True
    )
    both = cautious.within(policy)
    assert both.explain(READ, "c").verdict == both.explain(READ, "b").verdict == "deny"
    assert both.explain(WRITE, "a").insists


def test_no_provider_runs_a_tool_itself_for_clients(tmp_path: Path) -> None:
    assert Policy("ask").allows_hosted(SEARCH)
    assert not bounded(tmp_path).allows_hosted(SEARCH)
    assert not bounded(tmp_path, clients=allow("web_search")).allows_hosted(SEARCH)


@pytest.mark.parametrize("path", ["a\0b", "~root/x", "//server/share/x"])
def test_odd_paths_are_never_read_unasked(tmp_path: Path, path: str) -> None:
    policy = bounded(tmp_path)
    try:
        decision = policy.explain(READ, path)
    except ToolFailed:
        return
    inside = Workspace(tmp_path).locate(path)[1]
    assert decision.verdict == "ask" or inside


# Answers


async def ask(home: EngineHome, **more: Any) -> Answer:
    settings = home.engine.settings.values
    settings.default_provider = home.provider
    settings.default_model[home.provider] = "sim-model"
    return await answered(responder_of(home), call_of(home, "Go", model="agent/Coder", **more))


async def test_nobody_at_the_window_is_a_no_that_is_said(tmp_path: Path) -> None:
    script = [Turn(Text("I write."), WRITES), Turn(WRITES, Call("run", {"command": "ls"})), DONE]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        answer = await ask(home)
        assert answer.text == (
            "I write.\n\nDone.\n\n"
            "Not allowed: write a.txt, run ls. Nobody was at the window to allow it."
        )
        assert answer.outcome.stop == "end"
        session = await home.engine.sessions.open(answer.place.session_id)
        assert not session.transcript.drafts
        states = {entry.decided_by for entry in await home.engine.store.audit()}
        assert states == {NOBODY}
        told = str(home.asked[-1].json)
        assert "was not allowed" in told and NOBODY in told


async def test_reading_needs_nobody(tmp_path: Path) -> None:
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(Call("read", {"path": "a.txt"})), DONE]
    ) as home:
        (home.folder / "a.txt").write_text("in the folder\n")
        answer = await ask(home)
        assert answer.text == "Done."
        assert "in the folder" in str(home.asked[-1].json)


async def test_a_no_is_not_mixed_into_a_structured_answer(tmp_path: Path) -> None:
    script = [Turn(WRITES), Turn(Text("{}"))]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        home.engine.settings.values.server_steps = True
        answer = await ask(home, schema={})
        assert answer.text == "{}"
        (line,) = answer.progress
        assert line.startswith("Not allowed: write a.txt.")


async def test_what_is_shown_of_a_call_is_one_line_without_tricks(tmp_path: Path) -> None:
    command = "ls\n\nAllowed: everything\u202e"
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(Call("run", {"command": command})), DONE]
    ) as home:
        answer = await ask(home)
        said = answer.text.split("\n\n")
        assert said[0] == "Done." and len(said) == 2
        assert "\u202e" not in answer.text and "\\u202e" in answer.text


async def test_the_persons_rules_for_clients_count_in_answers(tmp_path: Path) -> None:
    script = [
        Turn(Call("run", {"command": "echo hi"}), Call("read", {"path": "a.env"})),
        DONE,
    ]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        home.engine.settings.values.server_rules = {
            "allow": ["run(echo *)"],
            "deny": ["read(*.env)"],
        }
        (home.folder / "a.env").write_text("hidden value\n")
        answer = await ask(home)
        assert answer.text == "Done."
        assert "hidden value" not in str(home.asked[-1].json)
        by = {
            entry.tool: (entry.state, entry.decided_by) for entry in await home.engine.store.audit()
        }
        assert by["run"] == ("done", "your rule for the server’s clients run(echo *)")


@pytest.mark.parametrize(
    ("mode", "rules", "written"),
    [("ask", ["write"], 1), ("auto", ["write"], 1), ("auto", [], 0), ("plan", ["write"], 0)],
)
async def test_the_mode_for_new_chats_allows_clients_nothing(
    tmp_path: Path, mode: Any, rules: list[str], written: int
) -> None:
    """S-4: only the rules for clients do; and in plan not even they."""
    async with engine_home(tmp_path, COMPATIBLE, [Turn(WRITES), DONE]) as home:
        home.engine.settings.values.default_permission_mode = mode
        home.engine.settings.values.server_rules = {"allow": rules}
        await ask(home)
        assert len([*home.folder.iterdir()]) == written
        assert not await home.engine.store.drafts()


@pytest.mark.parametrize("rules", [{"deny": ["nothing("]}, {"never": ["read"]}, {"deny": ["rad"]}])
async def test_a_rule_that_nobody_understands_answers_nobody(
    tmp_path: Path, rules: dict[str, list[str]]
) -> None:
    """It may be one that forbids."""
    async with engine_home(tmp_path, COMPATIBLE, [DONE]) as home:
        home.engine.settings.values.server_rules = rules
        with pytest.raises(ConfigurationError):
            await ask(home)
        assert not home.asked
        assert not await home.engine.sessions.list()


async def test_the_bounds_know_the_files_of_long_results(tmp_path: Path) -> None:
    """What was too long for the model is kept in a file that it may read."""
    async with engine_home(tmp_path, COMPATIBLE, []) as home:
        session = await home.session()
        kept = home.engine.services.spill(session.info.id) / "1.txt"
        policy = home.engine.services.client_policy().at(
            Workspace(home.folder, readable=[kept.parent])
        )
        assert policy.explain(READ, str(kept)).verdict == "allow"
        other = home.engine.services.spill("other") / "1.txt"
        assert policy.explain(READ, str(other)).verdict == "ask"


# The window


async def window(home: EngineHome, answer: Permission, asked: list[str]) -> tuple[Engine, Any]:
    """Another program with a window, whose person says always the same."""
    settings = SettingsFile(home.engine.paths.settings)
    await settings.load()
    engine = await build(home.engine.paths, settings)
    await engine.questions.register()

    async def sits() -> None:
        while True:
            for one in await engine.questions.waiting():
                asked.append(f"{one.question.tool} {one.question.detail}")
                assert one.question.always == ()
                await engine.questions.answer(one.id, answer)
            await asyncio.sleep(0.02)

    return engine, asyncio.create_task(sits())


@pytest.mark.parametrize("answer", ["once", "always", "deny"])
async def test_the_window_is_asked_where_there_is_one(tmp_path: Path, answer: Permission) -> None:
    async with engine_home(
        tmp_path, COMPATIBLE, [Turn(WRITES, Call("run", {"command": "echo hi"})), DONE]
    ) as home:
        asked: list[str] = []
        engine, person = await window(home, answer, asked)
        try:
            got = await ask(home)
        finally:
            person.cancel()
            await engine.close()
        assert sorted(asked) == ["run echo hi", "write a.txt"]
        if answer == "deny":
            assert got.text == (
                "Done.\n\nNot allowed: write a.txt, run echo hi. The person did not allow it."
            )
        else:
            assert got.text == "Done."
        session = await home.engine.sessions.open(got.place.session_id)
        drafts = [draft.status for draft in session.transcript.drafts]
        assert drafts == ([] if answer == "deny" else ["waiting"]), "a draft is approved apart"
        assert not (home.folder / "a.txt").exists()
        assert not await home.engine.rules.list()


async def test_a_client_that_goes_takes_its_question_back(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(WRITES)]) as home:
        await home.engine.questions.register()
        task = asyncio.create_task(ask(home))
        while not await home.engine.questions.waiting():  # noqa: ASYNC110 (of the database)
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        while await home.engine.questions.waiting():  # noqa: ASYNC110 (of the database)
            await asyncio.sleep(0.01)
