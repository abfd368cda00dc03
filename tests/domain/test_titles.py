"""The title of a chat from its first message (G-1)."""

from __future__ import annotations

import pytest

from studio.domain.messages import Text
from studio.domain.sessions import title_of


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("`test_retry` is flaky.\nFind out (`why`).", "test_retry is flaky. Find out (why)."),
        ("```\nmake *.py\n```", "make *.py"),
        ("``", "``"),
        ("x" * 500 + " end", "x" * 59 + "…"),
    ],
)
def test_a_title_is_one_line_without_marks_of_code(said: str, title: str) -> None:
    assert title_of([Text(said)]) == title
