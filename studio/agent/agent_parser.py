"""Agent parser: an agent from the text of its file, YAML frontmatter and the prompt below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from studio.domain.agents import HUES, Agent, Caps, Mode, Role
from studio.domain.models import EFFORTS
from studio.domain.permissions import Rule

from .look_alikes import mixes_alphabets, skeleton
from .permission.invisible_characters import escape_line
from .yaml_text import load_yaml

MAX_FRONTMATTER = 10_000
"""Characters; to parse more takes seconds."""
MAX_TEMPERATURE = 2.0
"""The highest temperature any provider takes."""
MAX_STEPS = 1_000
MAX_SECONDS = 86_400.0
MAX_PARALLEL = 100
MAX_TOKENS = 10**12
MAX_DOLLARS = 1e9
MAX_NAME_LENGTH = 60
MAX_DESCRIPTION = 200
"""Characters of a stranger's description."""
ROLES: tuple[Role, ...] = get_args(Role)
"""From everything to reading only."""


def parse_agent(text: str, path: Path, *, trusted: bool = True) -> Agent:
    """Parse one agent file; ValueError names the line and the mistake: ``line 2: …``.

    Without trust it is a stranger's: what would widen rights or spend money is left out.
    """
    lines = text.lstrip("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---":
        raise ValueError("line 1: an agent file begins with a line of three dashes")
    end = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if end is None:
        raise ValueError("line 1: no second line of three dashes closes the frontmatter")
    data = _frontmatter(lines[1:end])
    prompt = "\n".join(lines[end + 1 :]).strip()
    if not prompt and data.get("tools", "*"):
        raise ValueError(f"line {end + 1}: the instructions below the frontmatter are missing")
    values: dict[str, Any] = {"name": path.stem}
    key = ""
    try:
        for key in data:
            if key not in _READERS:
                raise ValueError(f"unknown key {key!r}; known are {', '.join(sorted(_READERS))}")
        for key, read in _READERS.items():
            if key in data and (value := read(data[key], key)) not in ("", None):
                values[key] = value
    except ValueError as error:
        raise ValueError(f"line {_line_of(key, lines, end)}: {error}") from error
    caps = Caps(values.pop("tokens", 0), values.pop("dollars", 0.0))
    agent = Agent(**values, prompt=prompt, caps=caps, source=str(path))
    if not agent.name.isprintable():
        raise ValueError(f"line {_line_of('name', lines, end)}: the name has hidden characters")
    return agent if trusted else _strangers(agent, _line_of("name", lines, end))


def _strangers(agent: Agent, line: int) -> Agent:
    """An agent of a folder that is not trusted; ValueError names the ``line`` of a wrong name."""
    if len(agent.name) > MAX_NAME_LENGTH:
        raise ValueError(f"line {line}: the name is longer than {MAX_NAME_LENGTH} characters")
    if not skeleton(agent.name):
        raise ValueError(f"line {line}: the name has no letters")
    if mixes_alphabets(agent.name):
        raise ValueError(f"line {line}: the name mixes alphabets that look alike")
    return replace(
        agent,
        trusted=False,
        description=escape_line(agent.description, MAX_DESCRIPTION),
        provider="",
        model="",
        effort=None,
        temperature=None,
        permissions=tuple(rule for rule in agent.permissions if rule.verdict != "allow"),
        steps=0,
        seconds=0.0,
        parallel_tools=0,
        # An untrusted pattern could take without end.
        mask=tuple(name for name in agent.mask if "=" not in name),
    )


def _frontmatter(lines: list[str]) -> dict[str, Any]:
    """The YAML between the dashes, which begins on line 2 of the file."""
    text = "\n".join(lines)
    if len(text) > MAX_FRONTMATTER:
        most = f"{MAX_FRONTMATTER:,} characters"
        raise ValueError(f"line 2: the frontmatter is longer than {most}")
    loaded = load_yaml(text, first_line=2)
    if not isinstance(loaded, dict):
        raise ValueError("line 2: the frontmatter is a list of “key: value” lines")
    return {str(key): value for key, value in cast("dict[Any, Any]", loaded).items()}


def _line_of(key: str, lines: list[str], end: int) -> int:
    """The line number, from 1, of a key of the frontmatter."""
    found = (n for n, line in enumerate(lines[:end], 1) if line.lstrip("\"'").startswith(key))
    return next(found, 2)


def _word(value: Any, key: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ValueError(f"{key} is a text")
    return str(value).strip()


def _sentence(value: Any, key: str) -> str:
    """A text in one line."""
    return " ".join(_word(value, key).split())


def _choice(value: Any, key: str, *, of: Sequence[str]) -> str:
    word = _word(value, key)
    if word and word not in of:
        known = " or ".join(of) if len(of) == 2 else f"one of {', '.join(of)}"
        raise ValueError(f"{key} is {known}, not {word!r}")
    return word


def _temperature(value: Any, key: str) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= MAX_TEMPERATURE:
        raise ValueError(f"{key} is a number from 0 to {MAX_TEMPERATURE:g}")
    return float(value)


def _amount(value: Any, key: str, *, most: float, whole: bool = False) -> float:
    """A number of steps, seconds, tools, tokens or dollars; 0 for null."""
    if value is None:
        return 0
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value <= most:
        kind = "whole number" if whole else "number"
        raise ValueError(f"{key} is a {kind} above 0 up to {most:,.0f}")
    return value


def _mask(value: Any, key: str) -> tuple[str, ...]:
    return _names(value or [], key)


def _names(value: Any, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
    if not isinstance(value, list):
        raise ValueError(f"{key} is a list of names" + (", or “*” for all" * (key == "tools")))
    return tuple(name for name in _texts(cast("list[object]", value), key) if name)


def read_rules(value: Any, what: str) -> tuple[Rule, ...]:
    """Rules from their lists in YAML; ValueError says what is wrong in ``what``."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ValueError(f"{what} has lists under allow, ask and deny")
    rules: list[Rule] = []
    for verdict, patterns in cast("dict[Any, Any]", value).items():
        if verdict not in ("allow", "ask", "deny"):
            raise ValueError(f"{what} has allow, ask and deny, not {verdict!r}")
        items = cast("list[object]", patterns) if isinstance(patterns, list) else [patterns]
        rules += [Rule.parse(item, verdict) for item in _texts(items, verdict)]
    return tuple(rules)


def _texts(items: list[object], key: str) -> list[str]:
    """Require texts; ``str`` of nested YAML references could fill the memory."""
    if not all(isinstance(item, str) for item in items):
        raise ValueError(f"{key} is a list of texts")
    return cast("list[str]", items)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "name": _word,
    "description": _sentence,
    "provider": _word,
    "model": _word,
    "mode": partial(_choice, of=get_args(Mode)),
    "hue": partial(_choice, of=HUES),
    "effort": partial(_choice, of=EFFORTS),
    "temperature": _temperature,
    "role": partial(_choice, of=ROLES),
    "steps": partial(_amount, most=MAX_STEPS, whole=True),
    "seconds": partial(_amount, most=MAX_SECONDS),
    "parallel_tools": partial(_amount, most=MAX_PARALLEL, whole=True),
    "tokens": partial(_amount, most=MAX_TOKENS, whole=True),
    "dollars": partial(_amount, most=MAX_DOLLARS),
    "mask": _mask,
    "permissions": read_rules,
    "tools": _names,
    "icon": _word,
}
"""What reads each key of the frontmatter; an empty text or None stands for the default."""
