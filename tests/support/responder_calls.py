"""Requests to the server's answering, below the dialects."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, fields
from typing import Any

from studio.domain.messages import Block, Message, Text, ToolCall
from studio.domain.models import Generation
from studio.server.contract import (
    ApiRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponsePart,
    TextPart,
    ToolCallPart,
    TurnRef,
)
from studio.server.responder import Responder
from studio.simulator import Called, RequestView, Returned, Said, Turn
from support.engine_home import EngineHome


def user(*blocks: Block | str) -> Message:
    return Message("user", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


def assistant(*blocks: Block | str) -> Message:
    return Message("assistant", tuple(Text(b) if isinstance(b, str) else b for b in blocks))


ALICE = (user("My name is Alice."), assistant("Hello Alice."), user("What is my name?"))
"""S-2."""


@dataclass
class Answer:
    """What came of a request."""

    parts: list[ResponsePart] = field(default_factory=list[ResponsePart])
    places: list[TurnRef] = field(default_factory=list[TurnRef])

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thoughts(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def calls(self) -> list[ToolCall]:
        return [part.call for part in self.parts if isinstance(part, ToolCallPart)]

    @property
    def progress(self) -> list[str]:
        return [part.text for part in self.parts if isinstance(part, ProgressPart)]

    @property
    def outcome(self) -> Outcome:
        ends = [part for part in self.parts if isinstance(part, Outcome)]
        assert len(ends) == 1 and self.parts[-1] is ends[0]
        return ends[0]

    @property
    def place(self) -> TurnRef:
        assert len(self.places) == 1
        return self.places[0]

    @property
    def message(self) -> Message:
        """As a client sends it back."""
        return assistant(*([self.text] if self.text else []), *self.calls)


def call_of(home: EngineHome, *messages: Message | str, model: str = "", **more: Any) -> ApiRequest:
    """A request for the bare model."""
    names = {one.name for one in fields(Generation)}
    generation = {name: more.pop(name) for name in [*more] if name in names}
    return ApiRequest(
        model or f"{home.provider}/sim-model",
        tuple(user(one) if isinstance(one, str) else one for one in messages),
        generation=Generation(**generation),
        **more,
    )


async def answered(answering: Responder, asked: ApiRequest, door: str = "chat") -> Answer:
    answer = Answer()
    async for part in answering.answer(asked, door, answer.places.append):
        assert answer.places, "begun comes before the first part"
        answer.parts.append(part)
    return answer


def responder_of(home: EngineHome) -> Responder:
    return Responder(home.engine, home.folder)


def sent(home: EngineHome, request: int = -1) -> str:
    """A request as the provider got it."""
    return json.dumps(home.asked[request].json, ensure_ascii=False)


class RequestRecorder:
    """A script that remembers what it was asked, as one conversation on every protocol."""

    def __init__(self, *turns: Turn) -> None:
        self._turns = turns
        self.views: list[RequestView] = []

    def __call__(self, view: RequestView) -> Turn:
        self.views.append(view)
        return self._turns[len(self.views) - 1]

    def heard(self, request: int = -1) -> list[tuple[str, ...]]:
        return conversation(self.views[request])


def conversation(view: RequestView) -> list[tuple[str, ...]]:
    """What each side says at a time without blanks, calls and results.

    System words are apart, and so is where the agent works (C-17).
    """
    found: list[tuple[str, ...]] = []
    for item in view.items:
        match item:
            case Said("system", _):
                continue
            case Said(role, text):
                words = "".join(
                    re.sub(r"<orientation>.*?</orientation>", "", text, flags=re.S).split()
                )
                if found and found[-1][0] == role:
                    words = found.pop()[1] + words
                if words:
                    found.append((role, words))
            case Called():
                found.append(("call", item.name, json.dumps(item.arguments, sort_keys=True)))
            case Returned():
                found.append(("result", item.text))
    return found
