"""Rules and what they must not give away: a thousand command lines, by families (T-7)."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from studio.agent.permission.policy import Policy
from studio.agent.permission.program_facts import PROGRAMS
from studio.agent.permission.rule_suggestions import suggest_rules, warning_about
from studio.domain.permissions import Rule
from studio.tools import Workspace
from studio.tools.builtin.run import run
from support.command_families import CALM, FAMILIES, RULES, SED, listed, pairs

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are lines of POSIX shells")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("scripts/sub", "sub", ".venv/bin", ".git"):
        (root / name).mkdir(parents=True)
    for name in ("x", "scripts/x", "scripts/a.sh", "scripts/a.py", ".venv/bin/tool"):
        (root / name).touch()
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "x").touch()
    (root / "scripts" / "out").symlink_to(tmp_path / "evil" / "x")
    (root / ".venv" / "bin" / "out").symlink_to(tmp_path / "evil" / "x")
    (root / "scripts" / "away").symlink_to(tmp_path / "evil")
    return root


def policy(folder: Path, *rules: str) -> Policy:
    given = [Rule.parse(rule) for rule in rules]
    return Policy("ask", {"person": given}, workspace=Workspace(folder))


def verdict(policy: Policy, line: str) -> str:
    return policy.decide(run.spec, {"command": line}).verdict


def always(policy: Policy, line: str) -> tuple[Rule, ...]:
    """The rules that “always” offers for a line."""
    asked = {"command": line}
    return suggest_rules(policy, run.spec, asked, policy.decide(run.spec, asked))


@pytest.mark.parametrize("family", FAMILIES)
def test_t7_no_pattern_gives_away_another_program(folder: Path, family: str) -> None:
    wide = policy(folder, *RULES)
    assert [line for line in FAMILIES[family] if verdict(wide, line) != "ask"] == []


def test_t7_no_pattern_gives_away_what_a_script_of_sed_runs(folder: Path) -> None:
    narrow = policy(folder, "run(sed *)")
    scripts = SED.removeprefix("\n    sed").split("\n    sed")
    assert [one for one in scripts if verdict(narrow, f"sed{one.rstrip()}") != "ask"] == []


def test_the_families_are_a_thousand_lines() -> None:
    lines = {line for family in FAMILIES.values() for line in family}
    assert len(lines) + len(pairs()) >= 1_000


def test_what_rules_are_for_stays_allowed(folder: Path) -> None:
    wide = policy(folder, *RULES)
    calm = [*listed(CALM), f"cd {folder} && scripts/x", f"{folder}/scripts/x a"]
    assert [line for line in calm if verdict(wide, line) != "allow"] == []


def test_t7_always_offers_no_rule_that_is_wider_than_it_looks(folder: Path) -> None:
    """What the offered rule covers beside its own command, unless the question says it."""
    covered: list[str] = []
    for first, second in pairs():
        offered = always(policy(folder), first)
        given = policy(folder, *map(str, offered))
        if verdict(given, second) == "allow":
            covered.append(f"{first}: {', '.join(map(str, offered))}: {second}")
    assert covered == []


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_t7_a_rule_for_a_program_that_may_run_anything_is_exact(folder: Path, name: str) -> None:
    """Over the whole table: a wildcard is for what only reads, or the question says the rest."""
    for line in (f"{name} a", f"{name} -a b", f"/usr/bin/{name} a", f"./{name} a"):
        for rule in always(policy(folder), line):
            if rule.pattern.endswith(" *"):
                words = shlex.split(rule.pattern)[:-1]
                kind = PROGRAMS[name].kind
                assert kind == "plain" or warning_about([rule]), (line, rule, words)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["run(ls *)", "run(git log *)"], ""),
        (["run(tar xf a)", "run(make test)"], ""),
        (["run(pytest *)"], "pytest runs code of the folder: this rule lets it run any program."),
        (
            ["run(ls *)", "run(pytest *)", "run(./build.sh *)"],
            "pytest and ./build.sh run code of the folder: these rules let them run any program.",
        ),
        (
            ["network(make *)"],
            "With other arguments make may run any program or write any file.",
        ),
        (["run(python *)"], "With other arguments python may run any program or write any file."),
        (["run(*)"], "run lets the agent run any program."),
        (["run(* x)"], "run(* x) lets the agent run any program."),
        (["run([ *)", "run([[ *)"], ""),
    ],
)
def test_what_a_rule_lets_run_is_said(rules: list[str], words: str) -> None:
    assert warning_about(list(map(Rule.parse, rules))) == words
    assert warning_about([Rule.parse(one, "deny") for one in rules]) == ""


@pytest.mark.parametrize("rule", ["run(scripts/*)", "run(./scripts/*)", "run(scripts/x *)"])
def test_t7_a_rule_about_a_place_holds_for_every_spelling_of_it(folder: Path, rule: str) -> None:
    for spelling in ("scripts/x", "./scripts/x", "scripts//x", "scripts/./x", "scripts/sub/../x"):
        for line in (
            spelling,
            f"cd {shlex.quote(str(folder))}; {spelling}",
            f"{folder}/{spelling}",
        ):
            assert verdict(policy(folder, rule, "run(cd *)"), line) == "allow", line
            refusing = Policy(
                "ask",
                {"person": [Rule.parse("run"), Rule.parse(rule, "deny")]},
                workspace=Workspace(folder),
            )
            assert verdict(refusing, line) == "deny", line
    assert verdict(policy(folder, "run(x *)"), "./x") == "ask"  # a program of the PATH, not a file
    absolute = policy(folder, f"run({folder}/scripts/*)")
    assert verdict(absolute, "scripts/x") == "allow"
    assert verdict(absolute, f"{folder}/scripts/../x") == "ask"


@pytest.mark.parametrize("rule", ["run(scripts/x *)", "run(./scripts/x)", "run(scripts/*)"])
def test_t7_a_script_that_is_refused_is_refused_by_any_way(folder: Path, rule: str) -> None:
    rules = [Rule.parse("run"), Rule.parse(rule, "deny")]
    refusing = Policy("ask", {"person": rules}, workspace=Workspace(folder))
    for line in (
        "scripts/x", "cd scripts && ./x", "cd sub; ../scripts/x", "bash scripts/x", "sh ./scripts/x",
        "python scripts/x", "cd scripts; bash x", ". scripts/x", "env scripts/x",
    ):  # fmt: skip
        assert verdict(refusing, line) == "deny", line
    assert verdict(refusing, "bash sub/x") == verdict(refusing, "x") == "allow"


def test_t7_a_way_through_a_link_is_followed_as_the_system_does(folder: Path) -> None:
    """``scripts/away`` leads out of the folder, and so does what is above it."""
    for rule in ("run(scripts/x *)", "run(scripts/*)", "run(scripts/x)"):
        assert verdict(policy(folder, rule), "scripts/away/../x") == "ask", rule
    assert verdict(policy(folder, "run(bash scripts/x *)"), "bash scripts/away/../x") == "ask"


def test_t7_a_rule_for_a_shell_names_its_script(folder: Path) -> None:
    for rule in ("run(bash *)", "run(bash scripts/*)", "run(bash scripts/a*)"):
        assert verdict(policy(folder, rule), "bash scripts/a.sh") == "ask", rule
    assert verdict(policy(folder, "run(bash scripts/a.sh *)"), "bash scripts/a.sh b") == "allow"


def test_t7_a_file_that_is_named_may_be_a_link(folder: Path) -> None:
    """As every ``.venv/bin/python`` is; a wildcard does not lead through one."""
    assert verdict(policy(folder, "run(scripts/out *)"), "scripts/out a") == "allow"
    assert verdict(policy(folder, "run(scripts/*)"), "scripts/out a") == "ask"
    (folder / "scripts" / "x").unlink()
    allowed = policy(folder, "run(scripts/*)")
    assert verdict(allowed, "scripts/x") == "allow"
    (folder / "scripts" / "x").symlink_to(os.devnull)
    assert verdict(allowed, "scripts/x") == "ask"  # it is looked at each time
