"""Name check: adds to all that ``parser`` finds in an agent file the names that do not exist."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from studio.agent.frontmatter import Entry, Frontmatter, Problem, ValueProblem, no_such
from studio.domain.agents import OWN_TOOLS
from studio.domain.errors import ConfigurationError
from studio.domain.server_names import SERVER_SIGN

from .foreign import dialect_of
from .keys import VERDICTS
from .parser import MOST_PROBLEMS, AgentText, read_agent_text


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What an agent may name. Nothing is said about icons while none is known.

    ``taken`` are the names of the agents in other files of the same place, in small letters,
    ``agents`` those of all; nothing is said about agents while none is known, and about MCP
    servers while ``servers`` is None.
    """

    tools: Collection[str]
    providers: Collection[str]
    icons: Collection[str] = ()
    taken: Collection[str] = ()
    agents: Collection[str] = ()
    servers: Collection[str] | None = None


def check_agent(text: str, known: KnownNames, path: Path = Path()) -> AgentText:
    """Read a text and find all that is wrong, in the order of the places; may take 50 ms.

    A name of what does not exist is a warning: the agent works without it. Files of other
    programs have hints only.
    """
    found = read_agent_text(text, path)
    if found.frontmatter is None or dialect_of(path):
        return found
    more = islice(_unknown_names(found, found.frontmatter, known), MOST_PROBLEMS)
    problems = sorted((*found.problems, *more), key=lambda one: one.start)
    return AgentText(found.frontmatter, found.values, found.prompt, tuple(problems))


def _unknown_names(found: AgentText, matter: Frontmatter, known: KnownNames) -> Iterator[Problem]:
    tools = {"*", OWN_TOOLS, *known.tools}
    last = {entry.key: entry for entry in matter.entries}  # of a key that is repeated
    for entry in last.values():
        if entry.key not in found.values:
            continue
        match entry.key:
            case "tools":
                for name, start, end in _items(matter, entry):
                    if name and name not in tools and SERVER_SIGN not in name:
                        error = no_such("there is no tool {name}", name, sorted(known.tools))
                        yield matter.problem(error, start, end, warning=True)
            case "agents" if known.agents:
                for name, start, end in _items(matter, entry):
                    if name and name not in ("*", *known.agents):
                        error = no_such("there is no agent {name}", name, sorted(known.agents))
                        yield matter.problem(error, start, end, warning=True)
            case "handoffs" if known.agents and entry.node.id == "sequence":
                for part in chain.from_iterable(map(matter.children, entry.node.value)):
                    name = str(part.node.value)
                    if part.key == "agent" and name not in known.agents:
                        error = no_such("there is no agent {name}", name, sorted(known.agents))
                        yield matter.problem(error, part.value_start, part.value_end, warning=True)
            case "servers" if known.servers is not None:
                for name, start, end in _items(matter, entry):
                    if name and name not in ("*", *known.servers):
                        words = "there is no MCP server {name}"
                        servers = sorted(known.servers)
                        error = ValueProblem(
                            "{name} is no MCP server: there are none", {"name": name}
                        )
                        error = no_such(words, name, servers) if servers else error
                        yield matter.problem(error, start, end, warning=True)
            case "provider" if found.values["provider"] not in known.providers:
                name = str(found.values["provider"])
                error = no_such("there is no provider {name}", name, known.providers)
                yield _of_value(matter, entry, error)
            case "icon" if known.icons and found.values["icon"] not in known.icons:
                name = str(found.values["icon"])
                error = no_such("there is no icon {name}", name, sorted(known.icons))
                yield _of_value(matter, entry, error)
            case "name" if str(found.values["name"]).casefold() in known.taken:
                words = "another file has an agent {name} too, and only one of them counts"
                error = ValueProblem(words, {"name": found.values["name"]})
                yield _of_value(matter, entry, error)
            case "mask":
                yield from _wrong_masks(matter, entry)
            case "permissions":
                yield from _rules_about_nothing(matter, entry, known)
            case _:
                pass


def _wrong_masks(matter: Frontmatter, entry: Entry) -> Iterator[Problem]:
    from studio.agent.permission.content_filter import parse_kinds

    for name, start, end in _items(matter, entry):
        try:
            parse_kinds([name] if name else [])
        except ConfigurationError as error:
            reason = ValueProblem("{reason}", {"reason": str(error).rstrip(".")})
            yield matter.problem(reason, start, end, warning=True)


def _rules_about_nothing(matter: Frontmatter, entry: Entry, known: KnownNames) -> Iterator[Problem]:
    from studio.domain.permissions import Rule

    if entry.node.id != "mapping":  # nothing is written yet
        return
    for verdict in matter.children(entry.node):
        if verdict.key not in VERDICTS:
            continue
        for rule, start, end in _items(matter, verdict, split=False):
            name = Rule.parse(rule).tool
            if name not in ("*", OWN_TOOLS, *known.tools) and SERVER_SIGN not in name:
                words = "a rule is about {name}, and there is no such tool"
                error = no_such(words, name, sorted(known.tools))
                if error.fix is not None:
                    fixed = rule.replace(name, error.fix, 1)
                    error = ValueProblem(error.words, error.values, fixed)
                yield matter.problem(error, start, end, warning=True)


def _items(
    matter: Frontmatter, entry: Entry, *, split: bool = True
) -> Iterator[tuple[str, int, int]]:
    """The texts of a list, or of names with commas between them, and their places."""
    if entry.node.id == "sequence":
        for node in entry.node.value:
            yield (str(node.value), *matter.span(node))
        return
    if entry.node.id != "scalar":
        return
    written = matter.text[entry.value_start : entry.value_end]
    if not split or written != entry.node.value:  # in quotes the places would be others
        names = entry.node.value.split(",") if split else [entry.node.value]
        for name in names:
            yield name.strip(), entry.value_start, entry.value_end
        return
    at = entry.value_start
    for part in written.split(","):
        start = at + len(part) - len(part.lstrip())
        yield part.strip(), start, start + len(part.strip())
        at += len(part) + 1


def _of_value(matter: Frontmatter, entry: Entry, error: ValueProblem) -> Problem:
    return matter.problem(error, entry.value_start, entry.value_end, warning=True)
