"""What may run, is asked about, is refused, and why (T-6, T-7)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.domain.agents import PermissionMode, Role
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Layer, Rule
from studio.domain.tools import Effect, ToolSpec
from studio.tools import Workspace
from studio.tools.builtin.edit import edit
from studio.tools.builtin.job import job
from studio.tools.builtin.read import read
from studio.tools.builtin.run import run
from studio.tools.builtin.search import search
from studio.tools.builtin.write import write


def allow(*rules: str) -> list[Rule]:
    return [Rule.parse(rule) for rule in rules]


def deny(*rules: str) -> list[Rule]:
    return [Rule.parse(rule, "deny") for rule in rules]


def ask(*rules: str) -> list[Rule]:
    return [Rule.parse(rule, "ask") for rule in rules]


def verdict(rules: list[Rule], command: str) -> str:
    return Policy("ask", {"person": rules}).decide(run.spec, {"command": command}).verdict


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    (place / "secret").mkdir(parents=True)
    (place / "secret" / "key").write_text("hidden")
    (place / "a.py").write_text("a\n")
    (tmp_path / "elsewhere").write_text("theirs")
    return place


def test_deny_wins_and_otherwise_the_last_rule_decides() -> None:
    """T-7: the strongest layer's, and the latest in it; deny in any layer wins (T-6)."""
    git: JsonObject = {"command": "git push"}
    rules: dict[Layer, list[Rule]] = {"person": allow("run(git *)"), "agent": ask("run(git push)")}
    found = Policy("ask", rules).decide(run.spec, git)
    assert (found.verdict, found.layer) == ("ask", "agent")
    assert found.why == "The agent’s rule run(git push) asks about it."
    found = Policy("ask", {**rules, "session": allow("run(git *)")}).decide(run.spec, git)
    assert (found.verdict, found.by) == ("allow", "your rule for this chat run(git *)")
    found = Policy("ask", {"person": deny("run(git push)"), "turn": allow("run")}).decide(
        run.spec, git
    )
    assert (found.verdict, found.layer) == ("deny", "person")
    both = [*ask("run(git *)"), *allow("run(git push)")]
    assert verdict(both, "git push") == "allow"
    assert verdict(both[::-1], "git push") == "ask"


def test_every_part_must_be_allowed() -> None:
    rules = allow("run(pytest *)", "run(cd src)")
    assert verdict(rules, "cd src && pytest -x") == "allow"
    for line in (
        "pytest; rm x", "pytest && rm x", "pytest $(rm x)", "pytest | sh", "pytest\nrm x",
        "pytest > f", "sudo pytest", "PATH=. pytest", "pytest `rm x`", "nohup pytest",
    ):  # fmt: skip
        found = Policy("ask", {"person": rules}).decide(run.spec, {"command": line})
        assert found.verdict == "ask" and found.why, line
    assert verdict(allow("run"), "pytest; rm $(x) | sh") == "allow"  # a rule for all of it


@pytest.mark.parametrize(
    "line",
    [
        "git push", "git push -f", "cd x && git push", "(git push)", "X=1 git push", "sudo git push",
        "git \"push\"", "g\\it push", "'git' push", "/usr/bin/git push", "git  push", "sh -c 'git push'",
        "eval git push", "echo $(git push)", "echo `git push`", "find . -exec git push \\;",
        "true | xargs git push", "env -i git push", "watch git push", "case x in x) git push;; esac",
        "if true; then git push; fi", "f() { git push; }", "timeout 3 git push", "trap 'git push' EXIT",
    ],
)  # fmt: skip
def test_a_denied_command_is_denied_however_it_is_written(line: str) -> None:
    """T-6: deny wins over a rule that allows the whole tool."""
    assert verdict([*allow("run"), *deny("run(git push *)")], line) == "deny"


@pytest.mark.parametrize("line", ["git $x", "git pu*", "git {push,x}", "$x push", "git ${x:-push}"])
def test_what_may_be_denied_is_asked_about(line: str) -> None:
    assert verdict([*allow("run"), *deny("run(git push *)")], line) == "ask"
    assert verdict([*allow("run"), *deny("run(svn *)")], "git $x") == "allow"


def test_what_cannot_be_read_is_allowed_by_no_pattern() -> None:
    for line in ("$x y", "curl x | sh", "case x in x) $x;; esac", "eval $x"):
        assert verdict(allow("run(* *)", "run(git *)", "run(curl *)", "run(eval *)"), line) == "ask"


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("ruff check .", "run(ruff *)"),
        ("git status -s", "run(git status *)"),
        ("python -m pytest -x", "run(python -m pytest *)"),
        ("python a.py 1", "run(python a.py *)"),
        ("python -c 'print(1)'", "run(python -c print(1))"),
        ("uv run pytest", "run(uv run pytest)"),
        ("bash build.sh 1", "run(bash build.sh *)"),
        ("make test && ls", "run(make test)"),
        ("ls > out.txt", "run(> out.txt)"),
        ("CI=1 ls", "run(CI=1)"),
        ("ssh host x", "run(ssh host x)"),
        ("rm -r [a]", ""),
        ("rm -r 'a[b'", "run(rm -r a[[]b)"),
        ("pwd; id", "run(pwd *), run(id *)"),
        ("ruff check && ls | ruff format; CI=1 git add a", "run(ruff *), run(CI=1), run(git add *)"),
        ("[ -n x ] && [[ -f $x ]] && id", "run([ *), run([[ *), run(id *)"),
        ("case $(id) in b) wc;; esac", "run(id *), run(wc *)"),
        ("wc $(id > c)", "run(> c), run(id *), run(wc *)"),
        ("a; b; c; d; e", "run(a), run(b), run(c), run(d), run(e)"),
        ("a; b; c; d; e; f", ""),
        ("id; uv run $x", ""),
        ("id && ls > /etc/x", ""),
        ("id; $x", ""),
        ("curl x | sh", ""),
        ("$x", ""),
        ("ls > /etc/x", ""),
        ("ls > .git/hooks/pre-commit", ""),
        ("python -c \"$x\"", ""),
    ],
)  # fmt: skip
def test_always_adds_rules_that_are_narrow(folder: Path, line: str, rules: str) -> None:
    """T-7: one for each part that needs one, few enough to read; together they allow the call."""
    policy = Policy("ask", {"person": allow("run(ls *)")}, workspace=Workspace(folder))
    asked: JsonObject = {"command": line}
    found = suggest_rules(policy, run.spec, asked, policy.decide(run.spec, asked))
    assert ", ".join(map(str, found)) == rules
    if found:
        assert policy.adding("session", *found).decide(run.spec, asked).verdict == "allow"
    for some in range(len(found)):
        fewer = policy.adding("session", *found[:some], *found[some + 1 :])
        assert fewer.decide(run.spec, asked).verdict == "ask", "none of them is for nothing"


def test_writing_a_file_by_redirection(folder: Path) -> None:
    policy = Policy(
        "ask", {"person": allow("run(ls *)", "run(cd *)", "run(> *)")}, workspace=Workspace(folder)
    )

    def of(line: str) -> tuple[str, str]:
        found = policy.decide(run.spec, {"command": line})
        return found.verdict, found.why

    assert of("ls > out.txt")[0] == "allow"
    for line, why in (
        ("ls > ../out", "outside the folder"),
        ("ls > /etc/passwd", "outside the folder"),
        ("ls > $x", "only known"),
        ("cd .. && ls > out", "outside the folder"),
        ("cd $x && ls > out", "only known"),
        ("cd secret && ls > out", "only known"),
        ("ls > .git/config", "change what programs do"),
        ("ls > .agents/permissions.yaml", "change what programs do"),
    ):
        assert of(line)[0] == "ask" and why in of(line)[1], line


# Files


WAYS: list[Callable[[Path], str]] = [
    lambda root: "secret/key",
    lambda root: "./secret/key",
    lambda root: "secret/../secret//key",
    lambda root: str(root / "secret" / "key"),
    lambda root: "link/key",
    lambda root: "way",
    lambda root: "secret\\key",
]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
@pytest.mark.parametrize("way", range(len(WAYS)))
@pytest.mark.parametrize(
    "rule", ["read(secret/*)", "read(secret)", "read(**/key)", "*(secret/key)"]
)
def test_a_denied_file_is_denied_however_it_is_written(folder: Path, way: int, rule: str) -> None:
    (folder / "link").symlink_to("secret")
    (folder / "way").symlink_to("secret/key")
    policy = Policy(
        "auto", {"project": deny(rule), "turn": allow("*")}, workspace=Workspace(folder)
    )
    path = WAYS[way](folder)
    assert policy.decide(read.spec, {"path": path}).verdict == "deny"
    if rule != "*(secret/key)":
        # An edit shows what is there, a search shows all.
        assert policy.decide(edit.spec, {"path": path, "old": "x", "new": "y"}).verdict == "deny"
        assert policy.decide(search.spec, {"path": path, "pattern": "."}).verdict == "deny"
    assert policy.decide(read.spec, {"path": "a.py"}).verdict == "allow"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_denied_by_its_own_name(folder: Path) -> None:
    (folder / "way").symlink_to("a.py")
    policy = Policy("ask", {"person": deny("read(way)")}, workspace=Workspace(folder))
    assert policy.decide(read.spec, {"path": "way"}).verdict == "deny"


@pytest.mark.parametrize("as_rule", [deny, ask])
@pytest.mark.parametrize("ripgrep", [True, False])
async def test_searching_leaves_out_what_may_not_be_read(
    folder: Path, as_rule: Callable[..., list[Rule]], ripgrep: bool
) -> None:
    """T-7: ``deny read(…)`` covers what search, glob and list would show."""
    from studio.tools import Context
    from studio.tools.builtin.find_files import glob, list_
    from studio.tools.builtin.outline import outline

    (folder / "secret.py").write_text("hidden too\n")
    policy = Policy("ask", {"person": as_rule("read(secret*)")}, workspace=Workspace(folder))
    workspace = Workspace(folder).hiding(policy.hides)
    context = Context(workspace, environment=dict(os.environ) if ripgrep else {"PATH": ""})
    shown = ""
    for tool, arguments in (
        (search, {"pattern": "."}),
        (search, {"pattern": ".", "glob": "secret*"}),
        (glob, {"pattern": "*"}),
        (list_, {"path": ".", "depth": 3}),
        (outline, {"path": "."}),
    ):
        shown += (await tool.call(context, cast("JsonObject", arguments))).text
    assert "a.py" in shown and "key" not in shown and "hidden" not in shown
    assert "secret.py" not in shown
    with pytest.raises(ToolFailed) as failure:
        workspace.file("secret.p")
    assert "secret.py" not in str(failure.value)


def test_outside_of_the_folder(folder: Path, tmp_path: Path) -> None:
    """T-7: reading there asks, whatever the mode and rules without its path; writing is refused."""
    place = tmp_path / "elsewhere"
    for rules in ([], allow("read"), allow("*"), allow("read(*elsewhere)")):
        policy = Policy("auto", {"person": rules}, workspace=Workspace(folder))
        for path in ("../elsewhere", str(place)):
            found = policy.decide(read.spec, {"path": path})
            assert (found.verdict, found.opens) == ("ask", place.resolve())
    [always] = suggest_rules(policy, read.spec, {"path": str(place)}, found)
    assert (
        policy.adding("session", always).decide(read.spec, {"path": "../elsewhere"}).verdict
        == "allow"
    )
    assert policy.adding("session", always).decide(read.spec, {"path": "../other"}).verdict == "ask"
    assert policy.decide(write.spec, {"path": "../elsewhere", "content": ""}).verdict == "deny"
    denied = Policy(
        "ask",
        {"person": deny("read(../elsewhere)", f"read({place.resolve()})")},
        workspace=Workspace(folder),
    )
    assert denied.decide(read.spec, {"path": "../elsewhere"}).verdict == "deny"


def test_built_in_behaviour_is_explained(folder: Path) -> None:
    def of(mode: PermissionMode, spec: ToolSpec, target: str) -> tuple[str, str]:
        found = Policy(mode, workspace=Workspace(folder)).explain(spec, target)
        return found.verdict, found.why

    assert of("ask", read.spec, "a.py") == ("allow", "It only reads in the folder.")
    assert of("ask", write.spec, "a.py") == ("ask", "Drafts wait for approval.")
    assert of("auto", write.spec, "a.py") == ("allow", "Drafts are written at once.")
    assert of("auto", write.spec, ".git/hooks/x")[0] == "ask"
    assert of("auto", write.spec, "x/.AGENTS/y")[0] == "ask"
    assert of("ask", run.spec, "ls") == ("ask", "No rule allows this command.")
    assert of("plan", run.spec, "ls")[0] == "deny"
    assert of("plan", read.spec, "a.py")[0] == "allow"


# Roles, and agents within agents


def spec_of(name: str, effect: Effect) -> ToolSpec:
    target = "command" if effect == "act" else "path"
    return ToolSpec(name, "", {}, effect, target)


SPECS = [
    spec_of("read", "read"),
    spec_of("fetch", "fetch"),
    spec_of("write", "draft"),
    spec_of("run", "act"),
]


@pytest.mark.parametrize(
    ("role", "offered"),
    [
        ("all", ["read", "fetch", "write", "run"]),
        ("edits", ["read", "fetch", "write"]),
        ("notes", ["read", "fetch"]),
        ("reads", ["read", "fetch"]),
    ],
)
def test_a_role_says_what_is_offered_and_what_runs(role: Role, offered: list[str]) -> None:
    """T-6: also a rule that allows it does not give what the role leaves out."""
    policy = Policy("auto", {"turn": allow("*")}, role=role)
    assert [one.name for one in SPECS if policy.offers(one)] == offered
    assert [s.name for s in SPECS if policy.explain(s, "x").verdict != "deny"] == offered
    assert not Policy("ask", {"person": deny("run")}).offers(SPECS[3])
    assert not Policy("ask", tools=["read"]).offers(SPECS[1])


rules = st.builds(
    Rule,
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["*", "read", "write", "run", "fetch"]),
    st.sampled_from(["*", "a *", "b *", "a", "src/*", "* x", ">*"]),
)
layers = st.dictionaries(
    st.sampled_from(["person", "project", "agent", "session", "turn"]), st.lists(rules, max_size=3)
)
policies = st.builds(
    lambda mode, rules, role, tools: Policy(mode, rules, role=role, tools=tools),
    st.sampled_from(["ask", "auto", "plan"]),
    layers,
    st.sampled_from(["all", "edits", "notes", "reads"]),
    st.sampled_from([["*"], ["read", "run"], ["write"]]),
)
STRICT = {"allow": 0, "ask": 1, "deny": 2}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    child=policies,
    parent=policies,
    above=policies,
    spec=st.sampled_from(SPECS),
    target=st.sampled_from(["a", "a x", "b; a", "src/y", "$z", "a > f", ".git/x", "sh -c 'a; b'"]),
)
def test_a_child_never_has_more_than_its_parent(
    child: Policy, parent: Policy, above: Policy, spec: ToolSpec, target: str
) -> None:
    """T-6: over random policies and calls, through two generations."""
    inner = child.within(parent.within(above))
    found = STRICT[inner.explain(spec, target).verdict]
    for one in (child, parent, above):
        assert found >= STRICT[one.explain(spec, target).verdict]
        assert one.offers(spec) or not inner.offers(spec)
        assert inner.hides("src/y") or not one.hides("src/y")


@pytest.mark.parametrize(
    ("folder", "command", "verdict"),
    [
        ("", "scripts/x a", "allow"),
        (".", "scripts/x a", "allow"),
        ("sub", "pytest -q", "allow"),
        ("sub", "scripts/x a", "ask"),  # another file
        ("sub", "../scripts/x a", "allow"),
        ("scripts", "./x a", "allow"),
        ("sub", "sub/../tool", "deny"),
        ("", "sub/tool", "deny"),
        ("sub", "./tool", "deny"),
        ("link", "./tool", "deny"),
        ("..", "pytest -q", "deny"),
        ("/etc", "pytest -q", "deny"),
        ("out", "pytest -q", "deny"),
    ],
)
def test_rules_count_in_the_folder_in_which_a_command_begins(
    tmp_path: Path, folder: str, command: str, verdict: str
) -> None:
    """C-13, T-7."""
    for name in ("sub", "scripts"):
        (tmp_path / name).mkdir()
    for name, to in (("link", "sub"), ("out", "/")):
        (tmp_path / name).symlink_to(to)
    rules = [*map(Rule.parse, ("run(pytest *)", "run(scripts/*)")), Rule("deny", "run", "sub/tool")]
    policy = Policy("ask", {"person": rules}, workspace=Workspace(tmp_path))
    for _ in range(2):  # the second time it is known
        found = policy.decide(run.spec, {"command": command, "folder": folder})
        assert found.verdict == verdict, found


@pytest.mark.parametrize(
    ("mode", "arguments", "verdict"),
    [
        ("ask", {"id": "a"}, "allow"),
        ("plan", {"id": "a", "stop": True}, "allow"),
        ("ask", {"id": "a", "input": ""}, "allow"),
        ("auto", {"id": "a", "input": "y\n"}, "ask"),
        ("plan", {"id": "a", "input": "y\n"}, "deny"),
    ],
)
def test_only_input_of_a_job_is_asked_about(
    mode: PermissionMode, arguments: JsonObject, verdict: str
) -> None:
    """C-13: and a rule of the person's may allow it."""
    found = Policy(mode).decide(job.spec, arguments)
    assert found.verdict == verdict
    rules = {"person": [Rule.parse("job(y*)")]}
    if verdict == "ask":
        assert found.insists
        assert Policy(mode, rules).decide(job.spec, arguments).verdict == "allow"  # type: ignore[arg-type]
