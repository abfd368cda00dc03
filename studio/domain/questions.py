"""Questions: describes what an agent asks the person, up to four at once (C-24)."""

from __future__ import annotations

from collections.abc import Sequence

from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """A suggested answer; ``about`` says more of it, or is empty."""

    text: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.text}: {self.about}" if self.about else self.text


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question to the person, who may always answer in other words.

    ``several``: more than one of the choices may be the answer.
    """

    text: str
    choices: tuple[Choice, ...] = ()
    several: bool = False

    @property
    def lines(self) -> list[str]:
        """The question, and a choice a line."""
        return [self.text, *map(str, self.choices)]


def joined_answers(chosen: Sequence[str]) -> str:
    """Several answers to one question as one text."""
    return "; ".join(chosen)
