"""Questions: describes what an agent or a server asks the person (C-24, M-19)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import Json, JsonObject
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


@dataclass(frozen=True, slots=True)
class Prompt:
    """What an MCP server wants a model to answer (M-20).

    ``messages`` are roles, ``user`` and ``assistant`` in turn, with their words. ``tokens`` is
    how long the answer may be. All of its words are the server's.
    """

    messages: tuple[tuple[str, str], ...]
    system: str = ""
    tokens: int = 0
    stop: tuple[str, ...] = ()
    temperature: float | None = None

    @property
    def text(self) -> str:
        """All that the model would read."""
        if not self.system and len(self.messages) == 1:
            return self.messages[0][1]
        system = [("system", self.system)] if self.system else []
        return "\n\n".join(f"{role}: {words}" for role, words in (*system, *self.messages))


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What an MCP server asks during a call: a form, by a flat JSON schema, or to open an address.

    All of its words are the server's. With a ``prompt`` it asks for a model's answer, and the form
    is empty; ``model`` is then who would answer, in the words of the person.
    """

    server: str
    message: str
    schema: JsonObject | None = field(default=None, hash=False)
    url: str = ""
    model: str = ""
    prompt: Prompt | None = None


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """``decline``: the person does not want to answer. ``cancel``: they put the question away."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject | None = field(default=None, hash=False)

    @classmethod
    def of(cls, value: Json) -> ServerAnswer:
        """The answer as an object says it; anything else declines."""
        match value:
            case {"action": "accept", **more}:
                content = more.get("content")
                return cls("accept", content if isinstance(content, dict) else None)
            case {"action": "cancel"}:
                return cls("cancel")
            case _:
                return DECLINED

    @property
    def told(self) -> JsonObject:
        """The same as an object."""
        return {"action": self.action, "content": self.content}


AskForm: TypeAlias = Callable[[ServerQuestion], Awaitable[ServerAnswer]]
DECLINED = ServerAnswer("decline")


async def nobody_fills_in(question: ServerQuestion) -> ServerAnswer:
    """Where nobody is there to ask."""
    return DECLINED
