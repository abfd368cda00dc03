"""Names of tools that every provider takes (M-9)."""

from __future__ import annotations

import re
from itertools import permutations

from hypothesis import example, given
from hypothesis import strategies as st

from studio.domain.permissions import covers
from studio.domain.server_names import server_prefix
from studio.mcp.naming import shortened, tool_names

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def test_a_plain_name_stays_as_it_is() -> None:
    assert tool_names("git", ["git_log", "git-diff"]) == {
        "git__git_log": "git_log",
        "git__git-diff": "git-diff",
    }


def test_odd_long_and_equal_names_differ() -> None:
    names = tool_names("9 lives", ["a.b", "a b", "x" * 80, "x" * 81], taken={"other"})
    prefix = server_prefix("9 lives")
    assert re.fullmatch(r"s9_lives_[0-9a-f]{6}", prefix)
    assert list(names.values()) == ["a.b", "a b", "x" * 80, "x" * 81]
    assert next(iter(names)) == f"{prefix}__a_b"
    assert re.fullmatch(rf"{prefix}__a_b_[0-9a-f]{{6}}", list(names)[1])
    assert all(len(name) == 64 for name in list(names)[2:])


def test_a_taken_name_is_not_given_again() -> None:
    (name,) = tool_names("read", ["file"], taken={"read__file"})
    assert name != "read__file" and NAME.fullmatch(name)


@given(st.text(min_size=1), st.lists(st.text(min_size=1)), st.sets(st.text()))
def test_names_are_valid_unique_and_the_same_each_time(
    server: str, tools: list[str], taken: set[str]
) -> None:
    """PRE-7, M-9."""
    names = tool_names(server, tools, taken=taken)
    assert list(names.values()) == list(dict.fromkeys(tools))
    assert all(NAME.fullmatch(name) for name in names) and not names.keys() & taken
    assert tool_names(server, tools, taken=taken) == names
    assert all(covers(f"{server_prefix(server)}__*", name, server) for name in names)


SERVERS = st.text(st.sampled_from("git1_ .é-"), min_size=1, max_size=8)
ALIKE = (
    "my server",
    "my_server",
    "my.server",
    "git",
    "git_",
    "git__evil",
    "git_evil",
    "1git",
    "s1git",
)


@given(SERVERS, SERVERS)
@example("my_server", server_prefix("my server"))
def test_m13_a_pattern_is_about_one_server(one: str, other: str) -> None:
    """M-9, M-13: whatever other servers are called, and however their tools' names begin."""
    for mine, theirs in ((one, other), *permutations(ALIKE, 2)):
        if mine != theirs:
            (name,) = tool_names(theirs, ["run"])
            assert server_prefix(mine) != server_prefix(theirs)
            assert not covers(f"{server_prefix(mine)}__*", name, theirs)


def test_m9_names_and_rules_from_before_servers_had_marks_hold() -> None:
    """M-9: a server that had names then gets such names for its new tools, too."""
    (name,) = tool_names("my server", ["push"], known=["my_server__log"])
    assert name == "my_server__push"
    assert covers("my_server__*", name, "my server") and covers("my_server__p*", name, "my server")
    assert covers("git__evil__*", "git__evil__log", "git__evil")
    assert not covers("git__*", "git__evil__log", "git__evil")
    assert covers("git__*", "git__evil__log", "git")


def test_words_have_a_length() -> None:
    assert shortened(" few ") == "few"
    assert len(shortened("x" * 5_000)) == 4_096
