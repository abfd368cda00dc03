"""Agent parser: an agent from the text of its file, YAML frontmatter and the prompt below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from studio.agent.frontmatter import (
    NO_MAPPING,
    Entry,
    Frontmatter,
    Problem,
    ProblemFound,
    ValueProblem,
    no_such,
    read_frontmatter,
)
from studio.agent.look_alikes import mixes_alphabets, skeleton
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.yaml_text import YamlError
from studio.domain.agents import Agent, Caps
from studio.domain.permissions import Rule
from studio.domain.records import dataclass
from studio.providers.registry import PROVIDER_TITLES

from .foreign import dialect_of, read_foreign, stem_of
from .keys import HIDDEN, KEYS, VERDICTS

MAX_NAME_LENGTH = 60
MAX_DESCRIPTION = 200
"""Characters of a stranger's description."""
MOST_PROBLEMS = 100
"""Of one file; to find those of a hostile one would take seconds."""


@dataclass(frozen=True, slots=True)
class AgentText:
    """What the text of an agent's file says, as far as it can be read.

    ``values`` are those of the keys that are right, ``problems`` in the order of their places.
    ``frontmatter`` is None if the text has none that can be read.
    """

    frontmatter: Frontmatter | None = None
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    prompt: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that keep the file from being used."""
        return tuple(one for one in self.problems if not one.warning)

    @property
    def hints(self) -> tuple[Problem, ...]:
        """What is kept and has no effect."""
        return tuple(one for one in self.problems if one.hint)

    def agent(self, path: Path) -> Agent:
        """The agent, from the keys that are right."""
        values: dict[str, Any] = {"name": stem_of(path), **self.values}
        caps = Caps(values.pop("tokens", 0), values.pop("dollars", 0.0))
        values["permissions"] = (*values.get("permissions", ()), *values.pop("ask", ()))
        head, _, rest = str(values.get("model", "")).partition("/")
        if rest and head in PROVIDER_TITLES and "provider" not in values:
            values |= {"provider": head, "model": rest}
        values["user_invocable"] = values.pop("user-invocable", True)
        values["model_invocable"] = not values.pop("disable-model-invocation", False)
        values["argument_hint"] = values.pop("argument-hint", "")
        return Agent(**values, prompt=self.prompt, caps=caps, source=str(path))


def read_agent_text(text: str, path: Path = Path()) -> AgentText:
    """Read all that can be read, and find all that is wrong; ``path`` tells the format."""
    if dialect := dialect_of(path):
        return AgentText(*read_foreign(text, dialect))
    try:
        found = read_frontmatter(text)
    except ProblemFound as error:
        return AgentText(problems=(error.problem,))
    if found.root is None:
        nothing = found.problem(ValueProblem(NO_MAPPING), found.start, found.end)
        return AgentText(found, problems=(nothing,))
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for entry in found.entries:
        if len(problems) >= MOST_PROBLEMS:
            break
        try:
            value = _read(entry)
            values.pop(entry.key, None)  # of an earlier line with the same key
            if value not in ("", None):
                values[entry.key] = value
        except _UnknownKey as error:
            problems.append(found.problem(error, entry.start, entry.key_end))
        except ValueProblem as error:
            problems += _in_value(found, entry, error)
    prompt = "\n".join(text[found.body :].splitlines()).strip()
    if not prompt and values.get("tools", "*"):
        missing = ValueProblem("the instructions below the frontmatter are missing")
        problems.append(found.problem(missing, found.end, found.end + 3))
    problems += islice(_repeated(found), MOST_PROBLEMS)
    return AgentText(found, values, prompt, tuple(sorted(problems, key=lambda one: one.start)))


def parse_agent(text: str, path: Path, *, trusted: bool = True) -> Agent:
    """Parse one agent file; ValueError names the line and the mistake: ``line 2: …``.

    Without trust it is a stranger's: what would widen rights or spend money is left out.
    """
    found = read_agent_text(text, path)
    if found.errors:
        raise ValueError(str(found.errors[0]))
    agent = found.agent(path)
    if not agent.name.isprintable():  # the name of its file
        raise ValueError(f"line 2: {HIDDEN}")
    return agent if trusted else _strangers(agent, _name_line(found))


def _name_line(found: AgentText) -> int:
    entry = found.frontmatter.entry("name") if found.frontmatter else None
    if found.frontmatter is None or entry is None:
        return 2
    return found.frontmatter.problem(ValueProblem(""), entry.start, entry.start).line


class _UnknownKey(ValueProblem):
    pass


def _read(entry: Entry) -> Any:
    read = KEYS.get(entry.key)
    if read is None:
        raise no_such("no key “{name}”", entry.key, sorted(KEYS), _UnknownKey)
    try:
        return read(entry.value(), entry.key)
    except YamlError as error:
        raise ValueProblem("{reason}", {"reason": str(error)}) from error
    except ValueProblem:
        raise
    except ValueError as error:  # of a rule
        raise ValueProblem("{reason}", {"reason": str(error)}) from error


def _in_value(found: Frontmatter, entry: Entry, error: ValueProblem) -> Iterator[Problem]:
    """A problem of a key, at the parts of its value that are wrong by themselves."""
    parts = list(islice(_wrong_parts(found, entry), MOST_PROBLEMS))
    if parts:
        yield from parts
    elif entry.value_start == entry.value_end:
        yield found.problem(error, entry.start, entry.key_end)
    else:
        yield found.problem(error, entry.value_start, entry.value_end)


def _wrong_parts(found: Frontmatter, entry: Entry) -> Iterator[Problem]:
    """The verdicts and rules that cannot be read."""
    if entry.key != "permissions" or entry.node.id != "mapping":
        return
    for verdict in found.children(entry.node):
        if verdict.key not in VERDICTS:
            error = no_such("permissions has no “{name}”", verdict.key, VERDICTS)
            yield found.problem(error, verdict.start, verdict.key_end)
            continue
        for node in verdict.node.value if verdict.node.id == "sequence" else [verdict.node]:
            try:
                if node.id != "scalar":
                    raise ValueProblem("a rule is a text")
                Rule.parse(node.value)
            except ValueProblem as error:
                yield found.problem(error, *found.span(node))
            except ValueError as error:
                reason = ValueProblem("{reason}", {"reason": str(error)})
                yield found.problem(reason, *found.span(node))


def _repeated(found: Frontmatter) -> Iterator[Problem]:
    last = {entry.key: entry.start for entry in found.entries}
    for entry in found.entries:
        if entry.key in KEYS and last[entry.key] != entry.start:
            words = "“{name}” is there more than once, and the last one counts"
            twice = ValueProblem(words, {"name": entry.key})
            yield found.problem(twice, entry.start, entry.key_end, warning=True)


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
        mode="background" if agent.mode == "long" else agent.mode,
        description=escape_line(agent.description, MAX_DESCRIPTION),
        provider="",
        model="",
        effort=None,
        temperature=None,
        permissions=tuple(rule for rule in agent.permissions if rule.verdict != "allow"),
        steps=0,
        seconds=0.0,
        parallel_tools=0,
        agents=(),
        servers=(),
        children=0,
        depth=0,
        background=False,
        fallback=(),
        memory="off",
        desk="auto",
        handoffs=(),
        mission="",
        done_when=(),
        budget={},
        define=(),
        argument_hint=escape_line(agent.argument_hint, MAX_DESCRIPTION),
        # An untrusted pattern could take without end.
        mask=tuple(name for name in agent.mask if "=" not in name),
    )
