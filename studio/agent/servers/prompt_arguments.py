"""Prompt arguments: what a person types after the name of a server's prompt."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject, as_text
from studio.mcp.lists import ServerPrompt

_GIVEN = re.compile(r"(\w[\w.-]*)=(.*)", re.S)


def form_of(prompt: ServerPrompt) -> JsonObject:
    """A schema of texts for a prompt's arguments."""
    properties: JsonObject = {}
    for one in prompt.arguments:
        name = as_text(one.get("name"))
        about = as_text(one.get("description"))
        title = as_text(one.get("title"))
        properties[name] = {
            "type": "string",
            **({"title": title} if title else {}),
            **({"description": about} if about else {}),
        }
    needed = [as_text(one.get("name")) for one in prompt.arguments if one.get("required") is True]
    return {"type": "object", "properties": properties, "required": [*needed]}


def written(arguments: Mapping[str, str]) -> str:
    """Arguments as they are typed after a prompt's name."""
    found: list[str] = []
    for name, value in arguments.items():
        plain = value and not re.search(r"[\s\"'\\]", value)
        found.append(f"{name}={value if plain else shlex.quote(value)}")
    return " ".join(found)


def arguments_of(prompt: ServerPrompt, text: str) -> tuple[dict[str, str], list[str]]:
    """The arguments in a text, and the names of those that are missing.

    ``name=value`` gives one; other words are given to the arguments in their order, the last of
    which takes the rest.
    """
    names = [as_text(one.get("name")) for one in prompt.arguments]
    given: dict[str, str] = {}
    words: list[str] = []
    for word in _split(text):
        found = _GIVEN.fullmatch(word)
        if found is not None and found[1] in names:
            given[found[1]] = found[2]
        else:
            words.append(word)
    open_ = [name for name in names if name not in given]
    for place, name in enumerate(open_):
        if words:
            last = place == len(open_) - 1
            given[name] = " ".join(words) if last else words[0]
            words = [] if last else words[1:]
    if words:
        raise ConfigurationError(f"The prompt does not take “{' '.join(words)}”.")
    needed = [as_text(one.get("name")) for one in prompt.arguments if one.get("required") is True]
    return given, [name for name in needed if not given.get(name)]


def hint(argument: JsonObject) -> str:
    name = as_text(argument.get("name"))
    return f"{name}=…" if argument.get("required") is True else f"[{name}=…]"


def _split(text: str) -> Sequence[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quotation mark without its second
        return text.split()
