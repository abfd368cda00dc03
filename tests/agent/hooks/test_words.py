"""Calls in Claude Code's words, matchers, and what hooks answer, hostile or not (K-8, K-9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.agent.hooks.answers import MOST_WORDS, answer_of
from studio.agent.hooks.claude_calls import in_our_words, views_of
from studio.agent.hooks.content import files_of, sum_of
from studio.agent.hooks.matching import matcher_problem, matches
from studio.domain.hooks import Hook
from studio.domain.jsonvalue import JsonObject
from studio.domain.tools import ToolSpec
from studio.extensions.hooks.hook_file import parse_hooks
from studio.processes.piped_command import PipedResult
from studio.tools import Workspace
from studio.tools.discovery import ToolDiscovery

HOOK = Hook("PreToolUse", "true", "own", "hooks.json")
SPECS = {name: tool.spec for name, tool in ToolDiscovery([]).refresh().tools.items()}
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-a
+b
*** Add File: sub/new.txt
+new
*** End Patch"""


@pytest.mark.parametrize(
    ("tool", "ours", "name", "theirs"),
    [
        ("run", {"command": "ls", "time_limit": 2.0}, "Bash", {"command": "ls", "timeout": 2000}),
        ("read", {"path": "a.txt", "lines": 3}, "Read", {"file_path": "@/a.txt", "limit": 3}),
        ("write", {"path": "a", "content": ""}, "Write", {"file_path": "@/a", "content": ""}),
        (
            "edit",
            {"path": "a", "old": "x", "new": "y"},
            "Edit",
            {"file_path": "@/a", "old_string": "x", "new_string": "y"},
        ),
        (
            "search",
            {"pattern": "x", "path": "s", "show": "files"},
            "Grep",
            {"pattern": "x", "path": "@/s", "output_mode": "files_with_matches"},
        ),
        ("fetch", {"url": "https://a.example"}, "WebFetch", {"url": "https://a.example"}),
    ],
)
def test_k8_calls_have_the_words_of_claude_code_and_come_back(
    tmp_path: Path, tool: str, ours: JsonObject, name: str, theirs: JsonObject
) -> None:
    workspace = Workspace(tmp_path)
    told = json.loads(json.dumps(theirs).replace("@", str(workspace.origin)))
    view = views_of(SPECS[tool], ours, workspace)[0]
    assert (view.name, view.input) == (name, told)
    assert in_our_words(SPECS[tool], view.input, workspace) == ours


def test_k8_a_patch_is_an_edit_of_each_file_and_a_servers_tool_has_its_prefix(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    views = views_of(SPECS["apply_patch"], {"input": PATCH}, workspace)
    paths = [one.input["file_path"] for one in views]
    assert paths == [f"{workspace.origin}/a.txt", f"{workspace.origin}/sub/new.txt"]
    assert all(matches("Write", one.names) and not one.own for one in views)
    served = ToolSpec("git__status", "", {}, server="git")
    (view,) = views_of(served, {"a": 1}, workspace)
    assert view.name == "mcp__git__status" and matches("mcp__git__.*", view.names)


def test_k8_matchers_are_names_or_expressions() -> None:
    assert matches("", ["Bash"]) and matches("*", ["Bash"])
    assert matches("Edit|Write", ["Write"]) and not matches("Edit", ["MultiEdit"])
    assert matches("Multi.*", ["MultiEdit"]) and matches("^run$", ["Bash", "run"])


@pytest.mark.parametrize(
    "matcher",
    [
        "(a+)+$",
        "(a|a)*b",
        ".*.*.*.*x",
        "(.*a)(.*b)(.*c)(.*d)",
        r"\w?" * 24 + "!",
        "(.|.)" * 40 + "!",
        "[",
        "x" * 400,
    ],
)
def test_k9_a_matcher_that_could_hang_is_not_used(matcher: str) -> None:
    assert matcher_problem(matcher)
    data = json.dumps({"PreToolUse": [{"matcher": matcher, "hooks": [{"command": "true"}]}]})
    (hook,), _ = parse_hooks(data.encode(), "hooks.json", "own")
    assert hook.state == "never" and hook.reason


@pytest.mark.parametrize(
    "data",
    [b"\xff\xfe", b"[" * 100_000, b"[]", b"{", b'{"hooks": {"Stop": 3}}', b"x" * 300_000],
)
def test_k8_a_file_that_cannot_be_read_is_a_finding(data: bytes) -> None:
    hooks, findings = parse_hooks(data, "hooks.json", "own")
    assert not hooks and findings and findings[0].left_out


def said(output: str, event: str = "PreToolUse", code: int = 0, errors: bytes = b"") -> PipedResult:
    return PipedResult(code, output.encode("utf-8", "surrogatepass"), errors, "", 0.1)


def test_k9_answers_are_bounded_and_whole() -> None:
    """K-9: long words are cut, halves of characters mended, an own event's words alone count."""
    answer = answer_of(HOOK, "PreToolUse", said("", code=2, errors=b"x" * 900_000))
    assert answer.verdict == "deny" and len(answer.reason) < MOST_WORDS + 10
    own = {"hookEventName": "Stop", "permissionDecision": "allow"}
    assert not answer_of(HOOK, "PreToolUse", said(json.dumps({"hookSpecificOutput": own}))).verdict
    own = {"permissionDecision": "ask", "permissionDecisionReason": "\ud800"}
    answer = answer_of(HOOK, "PreToolUse", said(json.dumps({"hookSpecificOutput": own})))
    assert answer.verdict == "ask" and answer.reason.encode()
    for odd in ("[1]", '{"a": NaN}', "{}", '{"hookSpecificOutput": 3}', '{"decision": {}}'):
        assert answer_of(HOOK, "PreToolUse", said(odd)).verdict == ""


def test_k9_what_is_approved_is_the_words_and_the_files(tmp_path: Path) -> None:
    script, home = tmp_path / "a b.sh", tmp_path / "home"
    script.write_text("exit 0")
    (home / "x").mkdir(parents=True)
    (home / "x" / "own.py").write_text("")
    command = "env A=1 bash -c '\"$CLAUDE_PROJECT_DIR/a b.sh\" && python3 ~/x/own.py'"
    files = files_of(command, tmp_path, home)
    assert files == (str(script), str(home / "x" / "own.py"))
    hook = Hook("Stop", command, "own", "hooks.json", files=files)
    before = sum_of(hook, tmp_path)
    assert sum_of(hook, tmp_path) == before
    script.write_text("exit 1")
    assert sum_of(hook, tmp_path) != before


@pytest.mark.parametrize(
    "command",
    [
        "sh check",
        "cd sub && ./run",
        "sh $(git rev-parse --show-toplevel)/sub/run",
        'sh "`pwd`/sub/run"',
        "sh ${CLAUDE_PROJECT_DIR:-.}/sub/run",
        "words=$(sh sub/run)",
    ],
)
def test_k9_no_way_to_name_a_script_keeps_it_out_of_the_approval(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "sub").mkdir()
    script = tmp_path / ("check" if "check" in command else "sub/run")
    script.write_text("exit 0")
    assert files_of(command, tmp_path, tmp_path / "home") == (str(script),)


def test_k9_what_is_typed_into_a_command_is_one_for_hooks(tmp_path: Path) -> None:
    """K-9: a hook for commands is asked, and its yes to one line is none to the call."""
    workspace = Workspace(tmp_path)
    own, typed = views_of(SPECS["job"], {"id": "1", "input": "git push\n"}, workspace)
    assert own.own and own.name == "BashOutput"
    assert not typed.own and matches("Bash", typed.names)
    assert typed.input == {"command": "git push\n"}
    assert len(views_of(SPECS["job"], {"id": "1"}, workspace)) == 1
