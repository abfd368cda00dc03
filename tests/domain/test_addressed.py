"""A message that begins with an agent's name is for that agent."""

from __future__ import annotations

import pytest

from studio.domain.agents import addressed

NAMES = ("Coder", "Deep Researcher", "Deep", "C.D")


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ("@Coder look", "Coder"),
        ("@Coder", "Coder"),
        ("@Coder, look", "Coder"),
        ("@Coder\nlook", "Coder"),
        ("@Deep\\ Researcher: why?", "Deep Researcher"),
        ("@Deep Researcher", "Deep"),
        ("@C.D go", "C.D"),
        ("@Coder.py is wrong", ""),
        ("@Coders", ""),
        ("@Coder/a.txt", ""),
        ("ask @Coder", ""),
        ("@coder", ""),
        ("", ""),
    ],
)
def test_the_name_stands_first_and_alone(text: str, agent: str) -> None:
    assert addressed(text, NAMES) == agent
