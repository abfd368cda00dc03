"""Foreign agents: reads the agent files of Claude Code, and of VS Code and Copilot (W-3).

What they say is put into our words. Nothing of them is an error: what has no counterpart, or a
value of another kind, is kept in the file and named in one hint. No file widens rights: modes of
permission and lists of allowed commands are left out, for we ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from studio.agent.folder_files import CLAUDE_AGENTS, GITHUB_AGENTS
from studio.agent.frontmatter import (
    BREAK,
    WITHOUT_EFFECT,
    Frontmatter,
    Problem,
    ProblemFound,
    ValueProblem,
    read_frontmatter,
)
from studio.agent.loop.foreign_calls import counterpart
from studio.agent.yaml_text import YamlError, compose_yaml, construct_yaml
from studio.domain.agents import Handoff
from studio.domain.permissions import Rule
from studio.domain.records import dataclass

from .keys import KEYS, MAX_STEPS

Dialect: TypeAlias = Literal["", "claude", "vscode"]
"""Whose format a file is in; empty for ours."""

VSCODE_ENDING = ".agent.md"
EVERY_TOOL = ("*",)
_HUES = {
    "red": "rust",
    "orange": "ochre",
    "yellow": "ochre",
    "green": "green",
    "blue": "blue",
    "purple": "plum",
    "magenta": "plum",
    "pink": "rose",
    "cyan": "teal",
}
_MODELS = {name: f"claude-{name}-*" for name in ("sonnet", "opus", "haiku", "fable")}
_BUILT_IN = {"agent": "Coder", "edit": "Coder", "ask": "Assistant", "plan": "Planner"}
"""Which of ours does what an agent does that VS Code brings."""
_DELEGATES = ("agent", "task", "runsubagent", "customagent")
_GROUPS: dict[str, tuple[str, ...]] = {
    "read": ("read", "list", "outline"),
    "search": ("search", "glob", "list", "outline"),
    "edit": ("edit", "write", "delete", "move"),
    "execute": ("run", "job"),
    "web": ("fetch", "web_search"),
    "todo": ("plan",),
}
"""The tools that VS Code and Copilot name by one word."""
_TOOLS: dict[str, tuple[str, ...]] = {
    "multiedit": ("edit",),
    "notebookedit": ("edit",),
    "notebookread": ("read",),
    "readfile": ("read",),
    "listdirectory": ("list",),
    "ls": ("list",),
    "codebase": ("search", "glob"),
    "textsearch": ("search",),
    "filesearch": ("glob",),
    "usages": ("outline",),
    "editfiles": _GROUPS["edit"],
    "createfile": ("write",),
    "new": ("write",),
    "runcommands": _GROUPS["execute"],
    "runinterminal": ("run",),
    "terminal": _GROUPS["execute"],
    "powershell": ("run",),
    "runtests": ("run",),
    "runtasks": ("run",),
    "bashoutput": ("job",),
    "killshell": ("job",),
    "killbash": ("job",),
    "taskoutput": ("job",),
    "taskstop": ("job",),
    "todos": ("plan",),
    "taskcreate": ("plan",),
    "taskupdate": ("plan",),
    "tasklist": ("plan",),
    "taskget": ("plan",),
    "askquestions": ("ask",),
}
"""Names of tools, in small letters without dashes, that are not in the table of foreign calls."""
_LINE_KEY = re.compile(r"([A-Za-z][\w-]*)[ \t]*:(?:[ \t]+|$)(.*)")
_CALL = re.compile(r"([^()]+)\((.*)\)")


@dataclass(slots=True)
class Translation:
    """What was understood of a file: ``values`` as those of ``AgentText``, and what was not."""

    values: dict[str, Any] = field(default_factory=dict[str, Any])
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Words that stand for several tools."""
    kept: dict[str, None] = field(default_factory=dict[str, None])
    """Keys, tools and values without a counterpart, in the order of the file."""

    def put(self, key: str, value: Any, name: str = "") -> None:
        """Read a value as one of our ``key``; one that we cannot read is kept."""
        try:
            found = KEYS[key](value, key)
        except ValueError:
            self.keep(name or key)
            return
        if found not in ("", None):
            self.values[key] = found

    def keep(self, name: str) -> None:
        self.kept.setdefault(name)


def dialect_of(path: Path) -> Dialect:
    """Whose format a file is in, by its place."""
    folder = Path(*path.parts[-3:-1])
    if folder == CLAUDE_AGENTS:
        return "claude"
    return "vscode" if folder == GITHUB_AGENTS else ""


def stem_of(path: Path) -> str:
    """The name of an agent whose file does not say one."""
    name = path.name
    ending = VSCODE_ENDING if name.lower().endswith(VSCODE_ENDING) else path.suffix
    return name[: len(name) - len(ending)] if ending else name


def read_foreign(
    text: str, dialect: Dialect
) -> tuple[Frontmatter, dict[str, Any], str, tuple[Problem, ...]]:
    """The frontmatter, our values, the prompt, and one hint that names what has no counterpart."""
    matter, given = _frontmatter(text)
    found = Translation(groups=_GROUPS if dialect == "vscode" else {})
    if dialect == "claude":
        _claude(given, found)
    else:
        _vscode(given, found)
    prompt = "\n".join(text[matter.body :].splitlines()).strip()
    if not prompt:
        prompt = str(found.values.get("description", ""))
    problems: tuple[Problem, ...] = ()
    if found.kept:
        names = {"names": ", ".join(found.kept)}
        later = ValueProblem(WITHOUT_EFFECT, names)
        problems = (matter.problem(later, matter.start, matter.start, hint=True),)
    return matter, found.values, prompt, problems


def own_text(name: str, values: Mapping[str, Any], prompt: str) -> str:
    """An agent file of ours with what was understood of a foreign one."""
    lines = [f"name: {_quoted(name)}"]
    for key, value in values.items():
        match key:
            case "name":
                pass
            case "permissions":
                rules = ", ".join(_quoted(str(rule)) for rule in value)
                lines.append(f"permissions: {{deny: [{rules}]}}")
            case "handoffs":
                lines.append("handoffs:")
                lines += (f"  - {_quoted(asdict(one))}" for one in value)
            case "tools" if value == EVERY_TOOL:
                lines.append('tools: "*"')
            case _:
                lines.append(f"{key}: {_quoted(value)}")
    return "\n".join(["---", *lines, "---", prompt, ""])


def _quoted(value: object) -> str:
    """A value as YAML reads it: all JSON is YAML."""
    return json.dumps(value, ensure_ascii=False)


# What the files say


def _claude(given: Mapping[str, Any], found: Translation) -> None:
    tools, agents = _listed(given.get("tools")), list[str]()
    everything = not tools
    names = list(_tools(tools, found, agents))
    denied: list[Rule] = []
    for name in _listed(given.get("disallowedTools")):
        bare, pattern = split_call(name)
        ours = tuple(our_tools(bare, found.groups))
        if not pattern:
            names = [one for one in names if one not in ours]
        if pattern or everything:
            denied += [_deny(one, pattern) for one in ours]
        if not ours:
            found.keep(name)
    if not everything:
        found.values["tools"] = tuple(names)
    if denied:
        found.values["permissions"] = tuple(denied)
    if agents:
        found.values["agents"] = tuple(dict.fromkeys(agents))
    for key, value in given.items():
        match key:
            case "tools" | "disallowedTools":
                pass
            case "name" | "description" | "background":
                found.put(key, value)
            case "effort":
                found.put(key, str(value).lower(), f"effort {value}")
            case "model":
                _models([value], found)
            case "maxTurns":
                if isinstance(value, int) and value > 0:
                    found.values["steps"] = min(value, MAX_STEPS)
                else:
                    found.keep(key)
            case "color":
                _hue(value, found)
            case "permissionMode":
                if value == "plan":
                    found.values["role"] = "reads"
                elif value not in ("default", None):
                    found.keep(f"permissionMode {value}")
            case "memory":
                found.put(key, "write" if value in ("user", "project", "local") else value)
            case "isolation":
                if value == "worktree":
                    found.values["desk"] = "own"
                else:
                    found.keep(f"isolation {value}")
            case _:
                found.keep(key)


def _vscode(given: Mapping[str, Any], found: Translation) -> None:
    agents: list[str] = []
    if given.get("tools") is not None:
        tools = _listed(given["tools"])
        every = "*" in tools
        names = tuple(_tools([one for one in tools if one != "*"], found, agents))
        found.values["tools"] = EVERY_TOOL if every else names
    listed = given.get("agents")
    if listed is not None:
        found.values["agents"] = tuple(_listed(listed))
    elif agents:
        found.values["agents"] = tuple(dict.fromkeys(agents))
    for key, value in given.items():
        match key:
            case "tools" | "agents":
                pass
            case "name" | "description" | "argument-hint" | "disable-model-invocation":
                found.put(key, value)
            case "user-invocable" | "user-invokable":
                found.put("user-invocable", value, key)
            case "infer":
                if isinstance(value, bool):
                    found.values["disable-model-invocation"] = not value
                else:
                    found.keep(key)
            case "model":
                _models(_listed(value), found)
            case "handoffs":
                found.values["handoffs"] = tuple(_handoffs(value, found))
            case "color":
                _hue(value, found)
            case _:
                found.keep(key)


def _tools(names: Iterable[str], found: Translation, agents: list[str]) -> Iterator[str]:
    """Our tools, each once; adds to ``agents`` whom the agent may start."""
    seen: set[str] = set()
    for name in names:
        bare, inner = split_call(name)
        if _key(bare.rpartition("/")[2]) in _DELEGATES:
            agents += [one.strip() for one in inner.split(",")] if inner else ["*"]
            continue
        ours = tuple(our_tools(bare, found.groups))
        if not ours:
            found.keep(name)
        for one in ours:
            if one not in seen:
                seen.add(one)
                yield one


def our_tools(name: str, groups: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Our tools for the name of a foreign one, also of one in a set: ``search/codebase``."""
    group, _, last = name.rpartition("/")
    if last == "*":
        yield from groups.get(_key(group), ())
        return
    one = counterpart(last)
    yield from groups.get(_key(last)) or _TOOLS.get(_key(last)) or ((one,) if one else ())


def split_call(name: str) -> tuple[str, str]:
    """A tool and what stands in parentheses behind it."""
    found = _CALL.fullmatch(name.strip())
    return (found[1].strip(), found[2].strip()) if found else (name.strip(), "")


def _deny(tool: str, pattern: str) -> Rule:
    """Claude's ``git push:*`` is the beginning of a command."""
    words = re.sub(r":\*$", " *", pattern)
    try:
        return Rule.parse(f"{tool}({words})" if words and words != "*" else tool, "deny")
    except ValueError:  # a pattern that we cannot read refuses all of it
        return Rule.parse(tool, "deny")


def _models(names: Iterable[Any], found: Translation) -> None:
    """Models that answer where their provider is connected; else the person's choice does."""
    models: list[str] = []
    for name in names:
        if not isinstance(name, str):
            found.keep("model")
            continue
        if model := _model(name):
            models.append(model)
    if models:
        found.values["fallback"] = tuple(models)


def _model(name: str) -> str:
    """Our name for a model; empty where the person's choice is meant."""
    word = re.sub(r"\s*[(\[].*$", "", name).strip().lower()  # GPT-5 (copilot), sonnet[1m]
    plain = re.sub(r"[\s_]+", "-", word)
    if plain.startswith("claude"):
        plain = plain.replace(".", "-")
    return "" if plain in ("inherit", "auto") else _MODELS.get(plain, plain)


def _hue(value: Any, found: Translation) -> None:
    hue = _HUES.get(str(value).lower())
    if hue is None:
        found.keep(f"color {value}")
    else:
        found.values["hue"] = hue


def _handoffs(value: Any, found: Translation) -> Iterator[Handoff]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    for one in items:
        fields = cast("dict[Any, Any]", one) if isinstance(one, dict) else {}
        agent = fields.get("agent")
        if not isinstance(agent, str) or not agent.strip():
            found.keep("handoffs")
            continue
        agent = _BUILT_IN.get(agent.strip(), agent.strip())
        texts = {key: str(fields.get(key) or "") for key in ("label", "prompt", "model")}
        texts["label"] = texts["label"] or agent
        texts["model"] = _model(texts["model"])
        yield Handoff(agent=agent, send=fields.get("send") is True, **texts)


# How they are written


def _frontmatter(text: str) -> tuple[Frontmatter, dict[str, Any]]:
    """The frontmatter and its values; a text without one is all prompt."""
    try:
        matter = read_frontmatter(text)
    except ProblemFound:
        return _lenient(text)
    if matter.root is None:
        return matter, {}
    given: dict[str, Any] = {}
    for entry in matter.entries:
        try:
            given[entry.key] = entry.value()
        except YamlError:
            given[entry.key] = None
    return matter, given


def _lenient(text: str) -> tuple[Frontmatter, dict[str, Any]]:
    """Read lines ``key: value``, as Claude Code does: a description may have any colon in it."""
    lines = list(_lines(text))
    if not lines or lines[0][0].strip().lstrip("\ufeff") != "---":
        return Frontmatter(text, 0, 0, 0, None), {}
    given: dict[str, Any] = {}
    key, parts = "", list[str]()

    def close() -> None:
        if key:
            given[key] = _value("\n".join(parts))

    for line, start, end in lines[1:]:
        if line.strip() == "---":
            close()
            return Frontmatter(text, lines[0][2], start, end, None), given
        if found := _LINE_KEY.match(line):
            close()
            key, parts = found[1], [found[2]]
        elif key:
            parts.append(line)
    return Frontmatter(text, 0, 0, 0, None), {}


def _lines(text: str) -> Iterator[tuple[str, int, int]]:
    at = 0
    for end in BREAK.finditer(text):
        yield text[at : end.start()], at, end.end()
        at = end.end()
    yield text[at:], at, len(text)


def _value(written: str) -> Any:
    """The value of a key that is not YAML as a whole; it may be YAML by itself."""
    try:
        node = compose_yaml(written)
        value: Any = None if node is None else construct_yaml(node)
        is_text = node is not None and node.id == "mapping"
    except YamlError:
        value, is_text = "", True
    if is_text and not written.startswith("\n"):  # words with a colon
        return " ".join(written.split()).strip("\"'")
    return value


def _listed(value: Any) -> list[str]:
    """The names of a list, or of a text with commas that are outside of parentheses."""
    if isinstance(value, str):
        return [one.strip() for one in re.split(r",(?![^()]*\))", value) if one.strip()]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [one.strip() for one in items if isinstance(one, str) and one.strip()]
    return []


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()
