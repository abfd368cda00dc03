"""What the pattern of a rule matches, and in what time (T-7)."""

from __future__ import annotations

import pytest

from studio.domain.permissions import Rule
from support.cpu_cost import grows_linearly


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("**/key", "key", True),
        ("**/key", "a/b/key", True),
        ("**/key", "a/monkey", False),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("**/a**/b", "x/a/ab", True),
        ("**/**/b", "b", True),
        ("[*]**/b", "*x/b", True),
        ("a/**/*", "a/b", True),
        ("a **/*", "a ", True),
        ("a **/*", "a", False),
        ("a **/b *", "a b", True),
        ("a **/b *", "a x/b c", True),
        ("[b-a]*", "[b-a]*", True),
    ],
)
def test_folders_in_a_pattern(pattern: str, text: str, fits: bool) -> None:
    assert Rule("deny", "read", pattern).matches(text) == fits


@pytest.mark.parametrize(
    "pattern",
    [
        "**/a/**/a/**/a/x",
        "**/**/**/x",
        "*a*a*a*a*b",
        "**/a*/a*a/b",
        "a/**/a/* a *",
        "**/" * 9 + "x",
    ],
)
def test_its_time_is_linear_in_the_text(pattern: str) -> None:
    """A model chooses the text, a stranger's folder may bring the rule."""
    rule = Rule("deny", "read", pattern)

    def text(size: int) -> str:
        return "a/" * size

    assert grows_linearly(text, rule.matches, 2_000)
