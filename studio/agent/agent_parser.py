"""Agent parser: an agent from the text of its file, YAML frontmatter and the prompt below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

from studio.domain.agents import HUES, Agent, Caps, Mode, Role
from studio.domain.models import EFFORTS
from studio.domain.permissions import Rule, Verdict

from .frontmatter import (
    NO_MAPPING,
    Entry,
    Frontmatter,
    Problem,
    ProblemFound,
    ValueProblem,
    read_frontmatter,
)
from .look_alikes import mixes_alphabets, skeleton
from .permission.invisible_characters import escape_line
from .yaml_text import YamlError

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
MOST_PROBLEMS = 100
"""Of one file; to find those of a hostile one would take seconds."""
ROLES: tuple[Role, ...] = get_args(Role)
"""From everything to reading only."""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


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

    def agent(self, path: Path) -> Agent:
        """The agent, from the keys that are right."""
        values: dict[str, Any] = {"name": path.stem, **self.values}
        caps = Caps(values.pop("tokens", 0), values.pop("dollars", 0.0))
        return Agent(**values, prompt=self.prompt, caps=caps, source=str(path))


def read_agent_text(text: str) -> AgentText:
    """Read all that can be read, and find all that is wrong."""
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
    found = read_agent_text(text)
    if found.errors:
        raise ValueError(str(found.errors[0]))
    agent = found.agent(path)
    if not agent.name.isprintable():  # the name of its file
        raise ValueError(f"line 2: {_HIDDEN}")
    return agent if trusted else _strangers(agent, _name_line(found))


def _name_line(found: AgentText) -> int:
    entry = found.frontmatter.entry("name") if found.frontmatter else None
    if found.frontmatter is None or entry is None:
        return 2
    return found.frontmatter.problem(ValueProblem(""), entry.start, entry.start).line


class _UnknownKey(ValueProblem):
    pass


def _read(entry: Entry) -> Any:
    read = _READERS.get(entry.key)
    if read is None:
        raise no_such("no key “{name}”", entry.key, sorted(_READERS), _UnknownKey)
    try:
        return read(entry.value(), entry.key)
    except YamlError as error:
        raise ValueProblem("{reason}", {"reason": str(error)}) from error
    except ValueProblem:
        raise
    except ValueError as error:  # of a rule
        raise ValueProblem("{reason}", {"reason": str(error)}) from error


def no_such(
    words: str, name: str, known: Iterable[str], kind: type[ValueProblem] = ValueProblem
) -> ValueProblem:
    """A problem with a ``name`` that does not exist: the nearest one that does, or all."""
    known = list(known)
    fix = nearest(name, known)
    if fix is not None:
        return kind(words + ". Did you mean “{fix}”?", {"name": name, "fix": fix}, fix)
    return kind(words + ". Known are {known}", {"name": name, "known": ", ".join(known)})


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant."""
    by_case = {one.casefold(): one for one in known}
    wanted = name.casefold()[:100]
    found = get_close_matches(wanted, by_case, 3, 0.6)
    found.sort(key=lambda one: sorted(one) != sorted(wanted))  # letters that changed places
    return by_case[found[0]] if found else None


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
        if entry.key in _READERS and last[entry.key] != entry.start:
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
        # An untrusted pattern could take without end.
        mask=tuple(name for name in agent.mask if "=" not in name),
    )


_HIDDEN = "the name has hidden characters"


def _word(value: Any, key: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ValueProblem("{key} is a text", {"key": key})
    return str(value).strip()


def _name(value: Any, key: str) -> str:
    name = _word(value, key)
    if not name.isprintable():
        raise ValueProblem(_HIDDEN)
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
        if key == "tools":
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


_READERS: dict[str, Callable[[Any, str], Any]] = {
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
}
"""What reads each key of the frontmatter; an empty text or None stands for the default."""
