"""Hooks in a chat: what they refuse, ask, change and say; hostile ones (K-8, K-9).

Each hook is a real process; each turn is one of the simulator's.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from studio.agent.agent_files.finder import AgentFiles, Agents
from studio.agent.folder_files import FolderFiles
from studio.agent.session.session import Session
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    CallChanged,
    Event,
    Exposed,
    Notice,
    Told,
    ToolFinished,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.hooks import Hook, Hooks
from studio.domain.messages import Text as Words
from studio.domain.permissions import Rule
from studio.extensions.hooks.finder import HookFinder
from studio.simulator import Call, RequestView, Script, Text, Turn
from support.delegation_home import agent, cast, delegate, save, says
from support.engine_home import EngineHome, engine_home, say
from support.waiting import FOREVER, until

RUN = Rule.parse("run")
YES = Turn(Text("Yes."))


def entry(event: str, command: str, matcher: str = "", timeout: float | None = None) -> Any:
    hook: dict[str, Any] = {"type": "command", "command": command}
    if timeout is not None:
        hook["timeout"] = timeout
    return event, {"matcher": matcher, "hooks": [hook]}


async def write_hooks(
    home: EngineHome, *entries: Any, folder: bool = False, on: bool = True
) -> None:
    """Write hooks of the person's, or of a folder that they trust, and approve them."""
    events: dict[str, list[Any]] = {}
    for event, group in entries:
        events.setdefault(event, []).append(group)
    path = home.engine.paths.config / "hooks.json"
    if folder:
        path = home.folder / ".agents" / "hooks.json"
        path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": events}))
    if folder:
        await home.engine.rules.trust(home.folder)
    if on:
        await approve(home)


async def approve(home: EngineHome) -> list[Hook]:
    finder = HookFinder(home.engine.paths)
    found = (await home.engine.services.hooks(home.folder))[0].found
    for one in found:
        if one.state != "never":
            finder.switch(one, True)
    return list(found)


def script_of(home: list[EngineHome], *calls: Call) -> Script:
    """Makes the calls one after the other, then says yes."""

    def script(view: RequestView) -> Turn:
        made = len(home[0].asked) - 1
        return Turn(calls[made]) if made < len(calls) else YES

    return script


def run_of(command: str, **more: Any) -> Call:
    return Call("run", {"command": command, **more})


def out(value: object) -> str:
    """A command that prints JSON."""
    return f"printf '%s' {shlex.quote(json.dumps(value))}"


def decides(decision: str, reason: str = "", **more: object) -> str:
    own = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    return out({"hookSpecificOutput": {**own, "permissionDecisionReason": reason, **more}})


def notices(events: Sequence[Event]) -> list[str]:
    return [one.text for one in events if isinstance(one, Notice)]


def finished(events: Sequence[Event]) -> ToolFinished:
    (found,) = [one for one in events if isinstance(one, ToolFinished)]
    return found


def asked(events: Sequence[Event]) -> list[AwaitingPermission]:
    return [one for one in events if isinstance(one, AwaitingPermission)]


async def one_call(
    path: Path, call: Call, *entries: Any, rules: tuple[Rule, ...] = (RUN,), answer: str = "deny"
) -> tuple[list[Event], Session, EngineHome]:
    """The events of a turn with one call, with hooks of the person's."""
    box: list[EngineHome] = []
    async with engine_home(path, "anthropic", script_of(box, call)) as home:
        box.append(home)
        await write_hooks(home, *entries)
        session = await home.session()
        events = await say(session, rules=rules, answer=answer)
        assert not home.simulator.violations
        return events, session, home


# What a hook says of a call


@pytest.mark.parametrize(
    "command",
    [
        "echo 'not in this house' >&2; exit 2",
        decides("deny", "not in this house"),
        out({"decision": "block", "reason": "not in this house"}),
    ],
)
async def test_k9_deny_beats_a_rule_that_allows(tmp_path: Path, command: str) -> None:
    """K-8, K-9: in each of the ways that existing hooks have; the tool does not run."""
    events, _, home = await one_call(
        tmp_path, run_of("touch ran"), entry("PreToolUse", command, "Bash")
    )
    result = finished(events)
    assert result.is_error and "not in this house" in result.text
    assert result.refused_by.startswith("the hook ")
    assert not [one for one in events if isinstance(one, ToolStarted)] and not asked(events)
    assert not (home.folder / "ran").exists()
    assert "not in this house" in json.dumps(home.asked[-1].json)


async def test_k9_ask_beats_a_rule_that_allows(tmp_path: Path) -> None:
    events, _, home = await one_call(
        tmp_path, run_of("touch ran"), entry("PreToolUse", decides("ask", "look twice"), "Bash")
    )
    (question,) = asked(events)
    assert "look twice" in question.question.why and not question.question.always
    assert not (home.folder / "ran").exists()


async def test_k9_deny_beats_allow_and_ask_of_others(tmp_path: Path) -> None:
    hooks = [entry("PreToolUse", decides(one, one)) for one in ("allow", "deny", "ask")]
    events, _, _ = await one_call(tmp_path, run_of("true"), *hooks)
    assert finished(events).refused_by and not asked(events)


async def test_k9_allow_is_a_rule_of_the_projects(tmp_path: Path) -> None:
    """K-9: it answers what nobody has spoken about, and who allowed it is kept."""
    events, _, home = await one_call(
        tmp_path, run_of("touch ran"), entry("PreToolUse", decides("allow")), rules=()
    )
    assert (home.folder / "ran").exists() and not asked(events)
    (started,) = [one for one in events if isinstance(one, ToolStarted)]
    assert started.allowed_by.startswith("the hook ")


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (run_of("touch ran"), Rule.parse("run(touch *)", "deny")),
        (run_of("touch ran"), Rule.parse("run", "ask")),
        (run_of("touch ran", network=True), Rule.parse("read")),
    ],
    ids=["denied", "asked about in this chat", "network"],
)
async def test_k9_allow_is_under_refusals_and_risk(tmp_path: Path, call: Call, rule: Rule) -> None:
    events, _, home = await one_call(
        tmp_path, call, entry("PreToolUse", decides("allow")), rules=(rule,)
    )
    assert finished(events).is_error and not (home.folder / "ran").exists()
    assert bool(asked(events)) == (rule.verdict != "deny")


async def test_k9_a_changed_input_is_checked_gated_as_changed_and_shown(tmp_path: Path) -> None:
    """K-9: the rule allows what was asked for, not what the hook made of it."""
    change = decides("allow", updatedInput={"command": "touch other", "description": "else"})
    rule = Rule.parse("run(touch ran)", "allow")
    deny = Rule.parse("run(touch other)", "deny")
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, run_of("touch ran"))) as home:
        box.append(home)
        await write_hooks(home, entry("PreToolUse", change))
        session = await home.session()
        events = await say(session, rules=(rule, deny), answer="deny")
        await session.flush()
        audited = await home.engine.store.audit()
    assert not (home.folder / "other").exists() and not (home.folder / "ran").exists()
    (changed,) = [one for one in events if isinstance(one, CallChanged)]
    assert changed.arguments == {"command": "touch other", "reason": "else"}
    block = next(one for one in session.transcript.blocks if isinstance(one, ToolBlock))
    assert block.target == "touch other"
    assert [one for one in notices(events) if "changed a call of run" in one]
    assert audited[0].target == "touch other"


async def test_k9_a_changed_call_runs_changed_and_the_model_hears_of_it(tmp_path: Path) -> None:
    change = decides("", updatedInput={"command": "echo other"})
    events, _, home = await one_call(tmp_path, run_of("echo ran"), entry("PreToolUse", change))
    assert "changed this call" in json.dumps(home.asked[-1].json)
    assert finished(events).text.startswith("other\n[the hook")


async def test_k9_a_changed_input_that_is_not_valid_refuses(tmp_path: Path) -> None:
    change = decides("allow", updatedInput={"file": 3})
    events, _, _ = await one_call(tmp_path, run_of("echo ran"), entry("PreToolUse", change))
    assert finished(events).is_error and "not valid" in finished(events).text


async def test_k8_existing_names_and_inputs(tmp_path: Path) -> None:
    """K-8: a hook of Claude Code's finds what it looks for, without a change."""
    guard = tmp_path / "guard.py"
    guard.write_text(
        "import json, sys\n"
        "given = json.load(sys.stdin)\n"
        "path = given['tool_input'].get('file_path', '')\n"
        "if path.endswith('.env'):\n"
        "    print('Protected: ' + path, file=sys.stderr)\n"
        "    sys.exit(2)\n"
    )
    calls = [
        Call("write", {"path": ".env", "content": "A"}),
        Call("delete", {"path": "sub/../.env"}),
        Call("move", {"path": "a.txt", "to": ".env"}),
        Call("write", {"path": "b.txt", "content": "B"}),
    ]
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, *calls)) as home:
        box.append(home)
        (home.folder / "a.txt").write_text("A")
        (home.folder / ".env").write_text("KEY")
        command = f"{shlex.quote(sys.executable)} {shlex.quote(str(guard))}"
        await write_hooks(home, entry("PreToolUse", command, "Edit|MultiEdit|Write"))
        session = await home.session()
        events = await say(session, answer="deny")
        results = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.is_error for one in results] == [True, True, True, False]
        assert f"Protected: {home.folder}/.env" in results[0].text


async def test_k8_what_a_hook_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """K-8, K-9: and no key of the person's."""
    monkeypatch.setenv("SHOP_API_KEY", "CANARY-0123456789-abcdef")
    call = run_of("echo hi", time_limit=20, reason="To see")
    events, session, home = await one_call(
        tmp_path, call, entry("PreToolUse", "cat > told.json; env > env.txt"),
        entry("PostToolUse", "cat > after.json", "Bash"),
    )  # fmt: skip
    told = json.loads((home.folder / "told.json").read_text())
    assert told["hook_event_name"] == "PreToolUse" and told["tool_name"] == "Bash"
    assert told["tool_input"] == {"command": "echo hi", "timeout": 20000, "description": "To see"}
    assert told["session_id"] == session.info.id and told["cwd"] == str(home.folder)
    assert told["permission_mode"] == "default"
    after = json.loads((home.folder / "after.json").read_text())
    assert after["tool_response"]["stdout"] == "hi" and after["tool_use_id"] == told["tool_use_id"]
    environment = (home.folder / "env.txt").read_text()
    assert f"CLAUDE_PROJECT_DIR={home.folder}" in environment and "CANARY" not in environment
    assert not notices(events)


# What cannot be run

FAULTS = {
    "not there": "/nowhere/check.sh",
    "not executable": "/etc/passwd",
    "flood": "yes",
    "10 MB": "head -c 10000000 /dev/zero",
    "junk that begins as JSON": "printf '{\\377\\376'",
    "nested": "printf '{\"a\":'; printf '[%.0s' $(seq 20000)",
    "killed": "kill -9 $$",
    "no decision": decides("perhaps"),
    "a fork bomb of its own size": "for n in 1 2 3 4 5 6 7 8; do sleep 3600 & done; kill -9 $$",
}


@pytest.mark.parametrize("command", FAULTS.values(), ids=FAULTS.keys())
async def test_k9_a_hook_that_cannot_run_denies(tmp_path: Path, command: str) -> None:
    events, _, home = await one_call(
        tmp_path, run_of("touch ran"), entry("PreToolUse", command, "Bash")
    )
    assert finished(events).refused_by and not (home.folder / "ran").exists()
    assert events[-1].reason == "done"  # type: ignore[union-attr]


async def test_k9_a_hook_that_takes_too_long_denies(tmp_path: Path) -> None:
    hang = "trap '' TERM; while :; do sleep 3600; done"
    events, _, home = await one_call(
        tmp_path, run_of("touch ran"), entry("PreToolUse", hang, timeout=0.3)
    )
    assert "took more than 0.3 s" in finished(events).text
    assert not (home.folder / "ran").exists()


async def test_k9_other_failures_give_a_notice(tmp_path: Path) -> None:
    """K-9: exit code 1 blocks nothing, as with Claude Code; nor does a fault after the call."""
    events, _, home = await one_call(
        tmp_path,
        run_of("touch ran"),
        entry("PreToolUse", "echo broken >&2; exit 1"),
        entry("PostToolUse", "/nowhere/format.sh"),
    )
    assert (home.folder / "ran").exists() and not finished(events).is_error
    first, second = notices(events)
    assert "failed with exit 1: broken" in first and "exit 127" in second


async def test_k9_stop_ends_hooks(tmp_path: Path) -> None:
    """K-9, L-11: also one that ignores SIGTERM, with what it started."""
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, run_of("true"))) as home:
        box.append(home)
        hang = "trap '' TERM; echo > begun; while :; do sleep 3600; done"
        await write_hooks(home, entry("PreToolUse", hang))
        session = await home.session()
        turn = asyncio.create_task(say(session, rules=(RUN,)))
        await until((home.folder / "begun").exists)
        session.stop()
        events = await turn
        end = events[-1]
        assert isinstance(end, TurnComplete) and end.reason == "cancelled"


async def test_h9_a_call_that_is_done_stays_done_when_its_hook_is_stopped(tmp_path: Path) -> None:
    """H-9, K-8: else the model hears that it was not done, and does it again."""
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, run_of("echo paid"))) as home:
        box.append(home)
        await write_hooks(home, entry("PostToolUse", "echo > begun; sleep 1000"))
        session = await home.session()
        turn = asyncio.create_task(say(session, rules=(RUN,)))
        await until((home.folder / "begun").exists)
        session.stop()
        done = finished(await turn)
        assert done.text.startswith("paid") and not done.is_error
        await say(session)
        assert "paid" in json.dumps(home.asked[-1].json["messages"][2])
        assert not home.simulator.violations


async def test_k9_a_chat_tells_of_a_file_of_hooks_that_cannot_be_read(tmp_path: Path) -> None:
    """K-9: else what it refused before is done, and nobody knows."""
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        path = home.engine.paths.config / "hooks.json"
        path.write_text('{"hooks": {')
        told = notices(await say(await home.session()))
        assert [one.startswith(f"Hooks do not run because of {path}: ") for one in told] == [True]
        path.write_text('{"disableAllHooks": true}')
        assert not notices(await say(await home.session()))


# Approval


async def test_k9_a_hook_waits_for_its_approval_and_a_folders_for_trust(tmp_path: Path) -> None:
    box: list[EngineHome] = []
    calls = [run_of(f"touch ran{n}") for n in range(3)]
    async with engine_home(tmp_path, "anthropic", script_of(box, *calls)) as home:
        box.append(home)
        await write_hooks(home, entry("PreToolUse", "exit 2"), folder=True, on=False)
        offer = await home.engine.trust_offer(home.folder)
        assert "Offers a hook for PreToolUse, off until you switch it on: exit 2" in offer.effects
        session = await home.session()
        await say(session, rules=(RUN,))
        assert sorted(one.name for one in home.folder.glob("ran*")) == ["ran0", "ran1", "ran2"]
        (hook,) = await approve(home)
        assert (hook.place, hook.state) == ("folder", "new")
        (hook,) = (await home.engine.services.hooks(home.folder))[0].found
        assert hook.state == "on"
        await home.engine.rules.untrust(home.folder)
        assert not (await home.engine.services.hooks(home.folder))[0].found


async def test_k9_no_turn_goes_by_rules_that_were_read_for_an_unsent_message(
    tmp_path: Path,
) -> None:
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, run_of("touch ran"))) as home:
        box.append(home)
        session = await home.session()
        await session._builder.hooks.around(begins=True)  # then its prompt could not be filled in
        await home.engine.rules.add(Rule("deny", "run"))
        await write_hooks(home, entry("UserPromptSubmit", "exit 0"))
        await say(session, rules=(RUN,))
        assert not (home.folder / "ran").exists()


async def test_k9_a_changed_script_is_not_run_and_lets_nothing_through(tmp_path: Path) -> None:
    """K-9: an agent that changes the script of a hook does not get rid of it."""
    box: list[EngineHome] = []
    calls = [run_of("echo 'exit 0' > check.sh"), run_of("touch ran")]
    async with engine_home(tmp_path, "anthropic", script_of(box, *calls)) as home:
        box.append(home)
        home.engine.settings.values.sandbox = False  # else it cannot change it at all
        (home.folder / "check.sh").write_text("exit 0\n")
        command = 'sh "$CLAUDE_PROJECT_DIR"/check.sh'
        await write_hooks(home, entry("PreToolUse", command, "Bash"))
        session = await home.session()
        (home.folder / "check.sh").write_text("exit 0\n# the same length?\n")
        await approve(home)
        events = await say(session, rules=(RUN,), answer="once")
        first, second = [one for one in events if isinstance(one, ToolFinished)]
        assert not first.is_error
        assert second.is_error and "not what you approved" in second.text
        assert not (home.folder / "ran").exists()
        (hook,) = (await home.engine.services.hooks(home.folder))[0].found
        assert hook.state == "changed"


async def test_k9_in_the_sandbox_nothing_changes_the_script_of_a_hook(tmp_path: Path) -> None:
    """K-9: so that no job can change it between the comparison and its start."""
    box: list[EngineHome] = []
    calls = [run_of("echo 'exit 0' > check.sh || mv -f other.sh check.sh"), run_of("true")]
    async with engine_home(tmp_path, "anthropic", script_of(box, *calls)) as home:
        box.append(home)
        if (await home.engine.sandbox()).kind == "none":
            pytest.skip("this system has no sandbox")
        (home.folder / "check.sh").write_text("exit 0\n# as it was\n")
        (home.folder / "other.sh").write_text("exit 0\n")
        await write_hooks(home, entry("PreToolUse", 'sh "$CLAUDE_PROJECT_DIR"/check.sh', "Bash"))
        events = await say(await home.session(), rules=(RUN,), answer="once")
        first, second = [one for one in events if isinstance(one, ToolFinished)]
        assert first.is_error and not second.is_error
        assert "as it was" in (home.folder / "check.sh").read_text()


async def test_k9_the_persons_scripts_are_seen_in_the_sandbox_and_no_others(tmp_path: Path) -> None:
    """K-8: a script in ``~/.claude/hooks`` is run, and a secret beside it stays hidden."""
    box: list[EngineHome] = []
    async with engine_home(tmp_path, "anthropic", script_of(box, run_of("true"))) as home:
        box.append(home)
        if (await home.engine.sandbox()).kind == "none":
            pytest.skip("this system has no sandbox")
        place = home.engine.paths.config / "mine"  # the program's own folders are hidden
        place.mkdir()
        (place / "secret").write_text("s")
        (place / "hook.sh").write_text(f"cat {place}/secret >&2; echo saw >&2; exit 2\n")
        await write_hooks(home, entry("PreToolUse", f"sh {place}/hook.sh"))
        events = await say(await home.session(), rules=(RUN,))
        text = finished(events).text
        assert "saw" in text and "No such file" in text


# The rest of a chat


async def test_k8_what_is_said_may_be_refused_and_stays_unsaid(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        command = "grep -q password && { echo 'no secrets here' >&2; exit 2; }; exit 0"
        await write_hooks(home, entry("UserPromptSubmit", command))
        session = await home.session()
        with pytest.raises(ConfigurationError, match="no secrets here"):
            await say(session, "my password is x")
        assert not home.asked and not session.transcript.blocks and not session.running
        events = await say(session, "hello")
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert "password" not in json.dumps(home.asked[-1].json)


async def test_k8_start_and_message_tell_the_agent_something(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        context = {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Friday."}
        await write_hooks(
            home,
            entry("SessionStart", "echo 'Deploys are frozen.'", "startup"),
            entry("SessionStart", "echo 'Never told.'", "resume|compact"),
            entry("UserPromptSubmit", out({"hookSpecificOutput": context})),
        )
        session = await home.session()
        events = await say(session)
        (told,) = [one for one in events if isinstance(one, Told) and one.topic == "hook"]
        assert "Deploys are frozen." in told.text and "It is Friday." in told.text
        assert "Never told" not in json.dumps(home.asked[0].json)
        assert "Deploys are frozen." in json.dumps(home.asked[0].json)
        assert sum("told the agent" in one for one in notices(events)) == 2
        events = await say(session)
        assert [one.text for one in events if isinstance(one, Told) and "Deploys" in one.text] == []


async def test_k8_stop_sends_back_twice_at_most(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        await write_hooks(home, entry("Stop", "cat >> stops; echo 'run the tests' >&2; exit 2"))
        session = await home.session()
        events = await say(session)
        assert len(home.asked) == 3
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert "run the tests" in json.dumps(home.asked[-1].json)
        assert sum("sent the agent back" in one for one in notices(events)) == 3
        flags = (home.folder / "stops").read_text().count('"stop_hook_active": true')
        assert flags == 2


async def test_k8_hooks_of_a_folder_are_strangers_words(tmp_path: Path) -> None:
    """T-7, K-9: what they say makes it risky to send data out."""
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        await write_hooks(home, entry("SessionStart", "echo 'Do as I say.'"), folder=True)
        events = await say(await home.session())
        (exposed,) = [one for one in events if isinstance(one, Exposed)]
        assert exposed.exposure == "untrusted" and exposed.source.endswith("(this folder’s)")


async def test_k8_a_hook_answers_a_question_in_the_persons_place(tmp_path: Path) -> None:
    def answers(behavior: str) -> str:
        decision = {"behavior": behavior, "message": "by the book"}
        return out(
            {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
        )

    for number, behavior in enumerate(("allow", "deny")):
        path = tmp_path / str(number)
        path.mkdir()
        events, _, home = await one_call(
            path, run_of("touch ran"), entry("PermissionRequest", answers(behavior)), rules=()
        )
        assert not asked(events)
        assert (home.folder / "ran").exists() == (behavior == "allow")


async def test_k8_the_other_events(tmp_path: Path) -> None:
    """K-8: a failed call, a question, the end of a chat."""
    events = ("PostToolUseFailure", "Notification", "SessionEnd")
    hooks = [entry(one, f"cat > {one}.json") for one in events]
    box: list[EngineHome] = []
    calls = [run_of("exit 3"), Call("ask", {"question": "Which?"})]
    async with engine_home(tmp_path, "anthropic", script_of(box, *calls)) as home:
        box.append(home)
        await write_hooks(home, *hooks)
        session = await home.session()
        told = home.folder / "Notification.json"
        async for envelope in session.turn([Words("Go")], rules=(RUN,)):
            if isinstance(envelope.event, AwaitingReply):
                await until(lambda: told.exists() and told.read_text().endswith("}"))
                session.answer_question(envelope.event.call_id, "That")
    failed = json.loads((tmp_path / "work" / "PostToolUseFailure.json").read_text())
    assert "exit 3" in failed["error"] and failed["tool_name"] == "Bash"
    assert json.loads(told.read_text())["notification_type"] == "elicitation_dialog"
    ended = json.loads((tmp_path / "work" / "SessionEnd.json").read_text())
    assert ended["session_id"] == session.info.id


async def test_k8_hooks_of_one_event_run_side_by_side(tmp_path: Path) -> None:
    """K-9: each waits for the other, so that one after the other they would never end."""
    meet = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done"
    hooks = [
        entry("PreToolUse", meet.format("one", "two"), timeout=FOREVER),
        entry("PreToolUse", meet.format("two", "one"), timeout=FOREVER),
    ]
    _, _, home = await one_call(tmp_path, run_of("touch ran"), *hooks)
    assert (home.folder / "ran").exists()


async def test_k8_continue_false_ends_the_turn(tmp_path: Path) -> None:
    command = out({"continue": False, "stopReason": "enough for today"})
    events, _, home = await one_call(tmp_path, run_of("touch ran"), entry("PostToolUse", command))
    end = events[-1]
    assert isinstance(end, TurnComplete) and "enough for today" in end.detail
    assert len(home.asked) == 1 and (home.folder / "ran").exists()
    assert [one for one in events if isinstance(one, TurnStarted)]


async def test_k8_a_child_is_under_hooks_and_its_end_has_an_event_of_its_own(
    tmp_path: Path,
) -> None:
    """K-8: ``SubagentStop`` sends a child back, ``Stop`` is for who the person talks to."""
    lead = agent("Lead", "agents: [Worker]", "read")
    once = "grep -q '\"stop_hook_active\": true' || { echo 'look again' >&2; exit 2; }"
    script = cast(
        Lead=[Turn(delegate("Worker", "Write it")), says("Lead is done.")],
        Worker=[Turn(run_of("touch ran")), says("First."), says("Second.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.config / "agents", lead, agent("Worker"))
        await write_hooks(
            home,
            entry("SubagentStop", once, "Worker"),
            entry("Stop", "cat > stop.json"),
            entry("PreToolUse", "echo 'not by a child' >&2; exit 2", "Bash"),
        )
        events = await say(await home.session("Lead"), rules=(RUN,))
        assert "Second." in finished(events).text
        assert not (home.folder / "ran").exists()
        assert "Lead is done." in (home.folder / "stop.json").read_text()


async def test_k8_hooks_hear_before_a_chat_is_summed_up(tmp_path: Path) -> None:
    """K-8: between two turns, also of a chat that was just opened."""
    async with engine_home(tmp_path, "anthropic", lambda view: Turn(Text("word " * 3000))) as home:
        session = await home.session()
        for _ in range(3):
            await say(session)
        await write_hooks(home, entry("PreCompact", "cat > told.json", "manual"))
        await session.context.summarise()
        told = json.loads((home.folder / "told.json").read_text())
        assert told["trigger"] == "manual"


async def test_k9_stop_while_a_hook_looks_at_a_message_leaves_it_unsaid(tmp_path: Path) -> None:
    """K-9, L-11: what no hook has looked at is not sent."""
    async with engine_home(tmp_path, "anthropic", lambda view: YES) as home:
        hang = "echo > begun; trap '' TERM; while :; do sleep 3600; done"
        await write_hooks(home, entry("UserPromptSubmit", hang))
        session = await home.session()
        turn = asyncio.create_task(say(session))
        await until((home.folder / "begun").exists)
        session.stop()
        with pytest.raises(ConfigurationError, match="not sent"):
            await turn
        assert not home.asked and not session.transcript.blocks and not session.running


async def test_a_message_reads_the_hooks_of_its_folder_once(tmp_path: Path) -> None:
    """S-3: what was read a moment ago is not read again for each answer."""
    async with engine_home(tmp_path, "anthropic", [YES]) as home:
        services, read = home.engine.services, list[str]()

        def hooks(files: FolderFiles, trusted: bool) -> Hooks:
            read.append(str(files.folder.resolve()))
            return sources.hooks(files, trusted)

        sources = services.sources
        services.sources = replace(sources, hooks=hooks)
        session = await home.session()
        await say(session)
        assert read == [str(home.folder.resolve())]


async def test_a_message_reads_its_folder_and_its_agent_in_one_job(tmp_path: Path) -> None:
    """S-3: each job for a thread is a part of what a client waits for."""
    async with engine_home(tmp_path, "anthropic", [YES]) as home:
        services, jobs, read = home.engine.services, Jobs(), list[tuple[str, int]]()
        sources, files = services.sources, services.agent_files

        def hooks(found: FolderFiles, trusted: bool) -> Hooks:
            read.append(("hooks", jobs.now.number))
            return sources.hooks(found, trusted)

        def agents(project: FolderFiles | None = None, *, trusted: bool = False) -> Agents:
            read.append(("agents", jobs.now.number))
            return AgentFiles.read(files, project, trusted=trusted)

        session = await home.session()
        services.sources, files.read = replace(sources, hooks=hooks), agents
        asyncio.get_running_loop().set_default_executor(jobs)
        await say(session)
        (first, job), (second, same) = read
        assert (first, second) == ("hooks", "agents") and job == same


class Jobs(ThreadPoolExecutor):
    """Threads of the loop; in each of them ``now.number`` is that of the job that it does."""

    def __init__(self) -> None:
        super().__init__()
        self.now = threading.local()
        self._given = count()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        number = next(self._given)

        def numbered() -> Any:
            self.now.number = number
            return fn(*args, **kwargs)

        return super().submit(numbered)


async def test_k9_an_agent_is_not_read_ahead_of_hooks_or_for_another_one(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", [YES]) as home:
        services, info = home.engine.services, (await home.session()).info
        ahead = await services.read_for_message(info, "UserPromptSubmit")
        assert ahead.of(info) is not None
        assert ahead.of(replace(info, agent="Reviewer")) is None
        await write_hooks(home, entry("UserPromptSubmit", "exit 0"))
        assert (await services.read_for_message(info, "UserPromptSubmit")).of(info) is None
        gone = replace(info, folder=str(tmp_path / "gone"))  # the turn says so
        assert (await services.read_for_message(gone, "UserPromptSubmit")).of(gone) is None
