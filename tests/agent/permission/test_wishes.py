"""Wishes: what ``allowed-tools`` of a skill becomes, and what cannot be a rule (K-6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.agent.permission.wishes import MOST_RULES, wish_of
from studio.domain.extensions import Extension
from studio.extensions.documents import parse_document

TOOLS = ("read", "run", "edit", "list", "fetch", "weather")


def _skill(allowed: str, place: str = "own") -> Extension:
    document = parse_document(f"---\nallowed-tools: {allowed}\n---\nBody")
    wishes = document.names("allowed-tools")
    return Extension("skill", "s", "d", "b", "/s/SKILL.md", "/s", place, wishes=wishes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("allowed", "rules"),
    [
        ("Read, Bash(git add:*), LS", ["read", "run(git add *)", "list"]),
        ("Bash(git add:*) Bash(jq *) Read", ["run(git add *)", "run(jq *)", "read"]),
        ("Bash", ["run"]),
        ("Edit(./docs/**)", ["edit(docs/**)"]),
        ("run(make test), weather", ["run(make test)", "weather"]),
        ("WebFetch(domain:docs.python.org)", ["fetch(https://docs.python.org/*)"]),
        ("mcp__git__git_log, mcp__files", ["git__git_log", "files__*"]),
        ("Bash(${CLAUDE_SKILL_DIR}/go.sh:*)", ["run(/s/go.sh *)"]),
    ],
)
def test_k6_a_wish_in_their_words_or_ours_is_rules(allowed: str, rules: list[str]) -> None:
    wish = wish_of(_skill(allowed), TOOLS, Path("/chat"))
    assert [str(one) for one in wish.rules] == rules and not wish.unknown
    assert all(one.verdict == "allow" for one in wish.rules)


@pytest.mark.parametrize(
    "allowed",
    [
        *("Nothing", '"*"', "Bash(git", "Read(//etc/passwd)", "Read(~/x)", "Read(/x)"),
        *("Read(repo:x)", '"Bash(git \u202e*)"', "Write", "Bash()x(rm)"),
    ],
)
def test_k6_what_means_another_thing_here_is_no_rule(allowed: str) -> None:
    """K-6: nothing is made wider than it says, such as all commands of a bracket left open."""
    wish = wish_of(_skill(allowed), TOOLS, Path("/chat"))
    assert not wish.rules and wish.unknown


def test_k6_a_wish_is_short_and_of_its_place() -> None:
    many = ", ".join(f"Bash(x{number})" for number in range(MOST_RULES + 5))
    wish = wish_of(_skill(many, "folder"), TOOLS, Path("/chat"))
    assert len(wish.rules) == MOST_RULES and len(wish.unknown) == 5
    assert wish.folder == Path("/chat")
    assert wish_of(_skill("Read", "pack"), TOOLS, Path("/chat")).folder is None


def test_k6_no_wish_hides_behind_a_milder_one() -> None:
    """Who reads the warning knows of the rule that lets all run, wherever it stands."""
    for allowed in ("Bash(git push:*), Bash", "Bash, Bash(git push:*)", "Bash(pytest:*), Bash(*)"):
        wish = wish_of(_skill(allowed), TOOLS, Path("/chat"))
        assert wish.warning == "run lets the agent run any program.", allowed
