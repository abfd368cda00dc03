"""A request view: holds a request in a form that is the same for every API."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, TypeVar

from .json_read import Body

_ORIENTATION = re.compile(r"\A<orientation>\n.*?\n</orientation>\s*", re.S)

T = TypeVar("T")
ApiName: TypeAlias = Literal["anthropic", "responses", "chat", "gemini", "ollama"]


@dataclass(frozen=True, slots=True)
class Said:
    """Words of one side."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """An earlier call; ``id`` is empty where the wire carries none."""

    id: str
    name: str
    arguments: Body = field(hash=False)


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool's result; ``name`` is empty where neither wire nor call gives it."""

    id: str
    name: str
    text: str
    is_error: bool = False


Item: TypeAlias = Said | Called | Returned


@dataclass(frozen=True, slots=True)
class Offered:
    """One tool the request offers."""

    name: str
    description: str = ""
    schema: Body = field(default_factory=dict[str, "object"], hash=False)


@dataclass(frozen=True, slots=True)
class RequestView:
    """What a script may look at. ``nth`` counts the replies scripted so far, from 0."""

    api: ApiName
    model: str
    stream: bool
    items: list[Item]
    tools: list[Offered]
    system: str
    body: Body
    nth: int = 0
    version: str = ""
    """``anthropic-version``, or Gemini's ``v1`` or ``v1beta``."""
    include_usage: bool = True
    beta: str = ""
    """Names of beta features, with commas."""
    rows: list[Any] = field(default_factory=list[Any])
    """What the request says, in order: system prompt and tools first, cache marks left out."""
    breakpoints: Sequence[int] = ()
    """Rows after which this API would keep a cache."""
    cached: tuple[int, int] = (0, 0)
    """Tokens read from and written to the cache for this request."""
    stops: Sequence[str] = ()
    """Texts at which this API ends a reply by itself."""
    limit: int | None = None
    """Tokens that the reply may have."""
    may_call: bool = True
    """Whether the request lets the model call what it offers."""
    left_out: int = 0
    """Items that did not fit into the window and that the model never sees."""
    _found: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What is found in body and rows, for all checks that ask for it by this name."""
        if name not in self._found:
            self._found[name] = find()
        return self._found[name]

    @property
    def tool_names(self) -> list[str]:
        return [tool.name for tool in self.tools]

    @property
    def last_user(self) -> str:
        """The words the person said last; empty before there are any.

        A client may put a part in tags before them, in some APIs in the same text.
        """
        for item in reversed(self.items):
            if isinstance(item, Said) and item.role == "user":
                return without_orientation(item.text)
        return ""

    @property
    def results(self) -> list[Returned]:
        """The results given since the last call or word of the model."""
        found: list[Returned] = []
        for item in reversed(self.items):
            if isinstance(item, Returned):
                found.append(item)
            elif isinstance(item, Called) or item.role == "assistant":
                break
        return found[::-1]


def without_orientation(words: str) -> str:
    """What the person said, without what a client says of the folder before it."""
    return _ORIENTATION.sub("", words)


def with_result_names(items: list[Item]) -> list[Item]:
    """The items with every result's name filled in from its call, where ids tell."""
    names = {item.id: item.name for item in items if isinstance(item, Called) and item.id}
    return [
        Returned(item.id, item.name or names.get(item.id, ""), item.text, item.is_error)
        if isinstance(item, Returned)
        else item
        for item in items
    ]
