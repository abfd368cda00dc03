"""Agent keys: reads the value of each key of an agent's file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast, get_args

from studio.agent.frontmatter import ValueProblem, nearest, no_such
from studio.domain.agents import HUES, DefinedTool, Desk, Handoff, Memory, Mode, Role
from studio.domain.jsonvalue import Json, JsonObject, is_clean_json
from studio.domain.models import EFFORTS
from studio.domain.permissions import Rule, Verdict

MAX_TEMPERATURE = 2.0
"""The highest temperature any provider takes."""
MAX_STEPS = 1_000
MAX_SECONDS = 86_400.0
MAX_PARALLEL = 100
MAX_TOKENS = 10**12
MAX_DOLLARS = 1e9
MAX_CHILDREN = 32
MAX_DEPTH = 5
ROLES: tuple[Role, ...] = get_args(Role)
"""From everything to reading only."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
HIDDEN = "the name has hidden characters"
_TOOL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What every provider takes as the name of a tool."""


def _word(value: Any, key: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ValueProblem("{key} is a text", {"key": key})
    return str(value).strip()


def _name(value: Any, key: str) -> str:
    name = _word(value, key)
    if not name.isprintable():
        raise ValueProblem(HIDDEN)
    return name


def _sentence(value: Any, key: str) -> str:
    """A text in one line."""
    return " ".join(_word(value, key).split())


def _choice(value: Any, key: str, *, of: Sequence[str]) -> str:
    word = _word(value, key)
    if not word or word in of:
        return word
    values = {"key": key, "word": word, "known": ", ".join(of)}
    if (fix := nearest(word, of)) is not None:
        words = "{key} cannot be “{word}”. Did you mean “{fix}”?"
        raise ValueProblem(words, {**values, "fix": fix}, fix)
    raise ValueProblem("{key} is one of {known}, not “{word}”", values)


def _temperature(value: Any, key: str) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= MAX_TEMPERATURE:
        words = "{key} is a number from 0 to {most}"
        raise ValueProblem(words, {"key": key, "most": f"{MAX_TEMPERATURE:g}"})
    return float(value)


def _amount(value: Any, key: str, *, most: float, whole: bool = False) -> float:
    """A number of steps, seconds, tools, tokens or dollars; 0 for null."""
    if value is None:
        return 0
    kinds = int if whole else int | float
    if not isinstance(value, kinds) or isinstance(value, bool) or not 0 < value <= most:
        words = "{key} is a number above 0 up to {most}"
        if whole:
            words = "{key} is a whole number above 0 up to {most}"
        raise ValueProblem(words, {"key": key, "most": f"{most:,.0f}"})
    return value


def _mask(value: Any, key: str) -> tuple[str, ...]:
    return _names(value or [], key)


def _names(value: Any, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",")]
    if not isinstance(value, list):
        words = "{key} is a list of names"
        if key in ("tools", "agents", "servers"):
            words = "{key} is a list of names, or “*” for all"
        raise ValueProblem(words, {"key": key})
    return tuple(name for name in _texts(cast("list[object]", value), key) if name)


def read_rules(value: Any, what: str) -> tuple[Rule, ...]:
    """Rules from their lists in YAML; ValueError says what is wrong in ``what``."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ValueProblem("{what} has lists under allow, ask and deny", {"what": what})
    rules: list[Rule] = []
    for verdict, patterns in cast("dict[Any, Any]", value).items():
        if verdict not in VERDICTS:
            words = "{what} has allow, ask and deny, not “{verdict}”"
            raise ValueProblem(words, {"what": what, "verdict": str(verdict)})
        items = cast("list[object]", patterns) if isinstance(patterns, list) else [patterns]
        rules += [Rule.parse(item, verdict) for item in _texts(items, verdict)]
    return tuple(rules)


def _texts(items: list[object], key: str) -> list[str]:
    """Require texts; ``str`` of nested YAML references could fill the memory."""
    if not all(isinstance(item, str) for item in items):
        raise ValueProblem("{key} is a list of texts", {"key": key})
    return cast("list[str]", items)


def _yes_or_no(value: Any, key: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ValueProblem("{key} is true or false", {"key": key})


def _asks(value: Any, key: str) -> tuple[Rule, ...]:
    """Rules about calls that are asked about."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(Rule.parse(one, "ask") for one in _texts(items, key)) if value else ()


def _handoffs(value: Any, key: str) -> tuple[Handoff, ...]:
    found: list[Handoff] = []
    for one in _mappings(value, key):
        words = {"key": key, "name": "agent"}
        fields = _fields(one, key, ("label", "agent", "prompt", "model"), ("send",))
        if not fields.get("agent"):
            raise ValueProblem("{key}: “{name}” is missing", words)
        fields.setdefault("label", fields["agent"])
        found.append(Handoff(**fields))
    return tuple(found)


def _defined(value: Any, key: str) -> tuple[DefinedTool, ...]:
    """Tools that the file defines, each with a prompt, an agent or a workflow (W-2)."""
    found: dict[str, DefinedTool] = {}
    names = ("name", "description", "prompt", "agent", "workflow", "model")
    for one in _mappings(value, key):
        parameters, returns = (_schema(one.get(at, {}), at) for at in ("parameters", "returns"))
        rest = {at: part for at, part in one.items() if at not in ("parameters", "returns")}
        fields = _fields(rest, key, names, (), also=("parameters", "returns"))
        name = fields.get("name", "")
        if not _TOOL_NAME.fullmatch(name):
            words = "{key}: “{name}” is no name of a tool. Use letters, digits and _"
            raise ValueProblem(words, {"key": key, "name": name})
        if name in found:
            words = "“{name}” is there more than once, and the last one counts"
            raise ValueProblem(words, {"name": name})
        if sum(1 for at in ("prompt", "agent", "workflow") if fields.get(at)) != 1:
            words = "{key}: {name} has one of prompt, agent and workflow"
            raise ValueProblem(words, {"key": key, "name": name})
        found[name] = DefinedTool(**fields, parameters=parameters, returns=returns)
    return tuple(found.values())


def _mappings(value: Any, key: str) -> list[Mapping[Any, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):  # pyright: ignore[reportUnknownVariableType]
        raise ValueProblem("{key} is a list of “key: value” blocks", {"key": key})
    return cast("list[Mapping[Any, Any]]", value)


def _fields(
    given: Mapping[Any, Any],
    key: str,
    texts: Sequence[str],
    flags: Sequence[str],
    also: Sequence[str] = (),
) -> dict[str, Any]:
    """The texts and flags of one block of a list."""
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name in flags:
            found[name] = bool(_yes_or_no(value, name))
        elif name in texts:
            found[name] = _word(value, name)
        else:
            raise no_such("no key “{name}”", str(name)[:100], [*texts, *flags, *also])
    return found


def _schema(value: Any, key: str) -> JsonObject:
    return _json_object(value, "{key} is a JSON Schema", key)


def _json_object(value: Any, words: str, key: str) -> JsonObject:
    if not isinstance(value, dict) or not is_clean_json(cast("JsonObject", value)):
        raise ValueProblem(words, {"key": key})
    return cast("JsonObject", value)


def _off_or(value: Any, key: str, *, of: Sequence[str]) -> str:
    """A choice among words of which YAML reads ``off`` as false."""
    return _choice("off" if value is False else value, key, of=of)


def _checks(value: Any, key: str) -> tuple[JsonObject, ...]:
    """The checks of a mission, which are read as those of a workflow when it begins (W-47)."""
    if isinstance(value, str):
        return ({"check": value},)
    return tuple(_plain(one, key) for one in _mappings(value, key))


def _plain(value: Any, key: str) -> JsonObject:
    if value is None:
        return {}
    return _json_object(value, "{key} has “key: value” lines", key)


KEYS: dict[str, Callable[[Any, str], Any]] = {
    "name": _name,
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
    "agents": _names,
    "skills": _names,
    "servers": _names,
    "children": partial(_amount, most=MAX_CHILDREN, whole=True),
    "depth": partial(_amount, most=MAX_DEPTH, whole=True),
    "background": _yes_or_no,
    "fallback": _names,
    "memory": partial(_off_or, of=get_args(Memory)),
    "desk": partial(_choice, of=get_args(Desk)),
    "handoffs": _handoffs,
    "define": _defined,
    "ask": _asks,
    "user-invocable": _yes_or_no,
    "disable-model-invocation": _yes_or_no,
    "argument-hint": _sentence,
    "mission": _word,
    "done_when": _checks,
    "budget": _plain,
}
"""What reads each key of the frontmatter; an empty text or None stands for the default."""

_TEXT: JsonObject = {"type": ["string", "number"]}
_NAMED: JsonObject = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_PART: JsonObject = {"type": "object"}
_SCHEMAS: dict[Callable[..., Any], JsonObject] = {
    _name: _TEXT,
    _word: _TEXT,
    _sentence: _TEXT,
    _temperature: {"type": "number", "minimum": 0, "maximum": MAX_TEMPERATURE},
    _mask: _NAMED,
    _names: _NAMED,
    _asks: _NAMED,
    _yes_or_no: {"type": "boolean"},
    _checks: {"anyOf": [{"type": "string"}, {"type": "array", "items": _PART}]},
    _plain: _PART,
    read_rules: {
        **_PART,
        "properties": dict.fromkeys(VERDICTS, _NAMED),
        "additionalProperties": False,
    },
    _handoffs: {
        "type": "array",
        "items": {
            **_PART,
            "properties": {
                **dict.fromkeys(("label", "agent", "prompt", "model"), _TEXT),
                "send": {"type": "boolean"},
            },
        },
    },
    _defined: {
        "type": "array",
        "items": {
            **_PART,
            "properties": {
                "name": {"type": "string", "pattern": f"^{_TOOL_NAME.pattern}$"},
                **dict.fromkeys(("description", "prompt", "agent", "workflow", "model"), _TEXT),
                **dict.fromkeys(("parameters", "returns"), _PART),
            },
            "required": ["name"],
        },
    },
}
"""What each of the readers takes, but for those of amounts and choices."""


def json_schema() -> JsonObject:
    """The JSON Schema of an agent's frontmatter (W-10); keys of other programs may stand there."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    keys: JsonObject = {
        key: {"anyOf": [_schema_of(read), {"type": "null"}]} for key, read in KEYS.items()
    }
    return {"$schema": dialect, "title": "Agent Studio agent", "type": "object", "properties": keys}


def _schema_of(read: Callable[..., Any]) -> JsonObject:
    if not isinstance(read, partial):
        return _SCHEMAS[read]
    given: Mapping[str, Any] = read.keywords
    if read.func is _amount:
        kind = "integer" if given.get("whole") else "number"
        return {"type": kind, "exclusiveMinimum": 0, "maximum": given["most"]}
    off: list[Json] = [False] if read.func is _off_or else []
    return {"enum": [*given["of"], *off]}
