"""Names of tools that every provider takes (M-9)."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from studio.mcp.naming import shortened, tool_names

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def test_a_plain_name_stays_as_it_is() -> None:
    assert tool_names("git", ["git_log", "git-diff"]) == {
        "git__git_log": "git_log",
        "git__git-diff": "git-diff",
    }


def test_odd_long_and_equal_names_differ() -> None:
    names = tool_names("9 lives", ["a.b", "a b", "x" * 80, "x" * 81], taken={"other"})
    assert list(names.values()) == ["a.b", "a b", "x" * 80, "x" * 81]
    assert next(iter(names)) == "s9_lives__a_b"
    assert re.fullmatch(r"s9_lives__a_b_[0-9a-f]{6}", list(names)[1])
    assert all(len(name) == 64 for name in list(names)[2:])


def test_a_taken_name_is_not_given_again() -> None:
    (name,) = tool_names("read", ["file"], taken={"read__file"})
    assert name != "read__file" and NAME.fullmatch(name)


@given(st.text(min_size=1), st.lists(st.text(min_size=1)), st.sets(st.text()))
def test_names_are_valid_unique_and_the_same_each_time(
    server: str, tools: list[str], taken: set[str]
) -> None:
    names = tool_names(server, tools, taken)
    assert list(names.values()) == list(dict.fromkeys(tools))
    assert all(NAME.fullmatch(name) for name in names) and not names.keys() & taken
    assert tool_names(server, tools, taken) == names


def test_words_have_a_length() -> None:
    assert shortened(" few ") == "few"
    assert len(shortened("x" * 5_000)) == 4_096
