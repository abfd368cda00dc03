"""The rulebook: finds the rules for a call, and describes decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import get_args

from studio.domain.permissions import Layer, Rule, Verdict, covers
from studio.domain.records import dataclass

from .command_parts import CommandPart
from .shell_lexer import DYNAMIC

LAYERS: tuple[Layer, ...] = get_args(Layer)
"""Lowest precedence first."""
LAYERS_OF_PERSON = frozenset[Layer](("person", "session", "turn", "server"))
"""The person's own, and those of a run that they began; not those of a folder or an agent."""

_FIRST = re.compile(r"[^*?\[\s]+(?=\s)")


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule with its layer; ``whole`` if it matches every call of the tool."""

    rule: Rule
    layer: Layer
    rank: int

    @property
    def whole(self) -> bool:
        return self.rule.pattern == "*"


class Rulebook:
    """Rules, lowest precedence first. Immutable: ``adding`` returns another rulebook."""

    def __init__(self, rules: Mapping[Layer, Sequence[Rule]]) -> None:
        self._rules: dict[Layer, Sequence[Rule]] = {
            layer: tuple(rules.get(layer, ())) for layer in LAYERS
        }
        self._entries: dict[tuple[str, str], list[RuleEntry]] = {}
        self._words: dict[str, dict[str, list[RuleEntry]]] = {}

    def adding(self, layer: Layer, rule: Rule) -> Rulebook:
        return Rulebook({**self._rules, layer: (*self._rules[layer], rule)})

    def replacing(self, layer: Layer, rules: Sequence[Rule]) -> Rulebook:
        """This rulebook with other rules in a layer."""
        return Rulebook({**self._rules, layer: rules})

    def with_layer_of(self, layer: Layer, other: Rulebook) -> Rulebook:
        """This rulebook with one layer of another one added."""
        return Rulebook({**self._rules, layer: (*self._rules[layer], *other._rules[layer])})

    def of(self, tool: str, server: str = "") -> list[RuleEntry]:
        """Every rule for a tool, lowest precedence first; ``server`` is the MCP server it is of."""
        key = tool, server
        if key not in self._entries:
            self._entries[key] = [one for one in self._all if covers(one.rule.tool, *key)]
        return self._entries[key]

    @cached_property
    def denied_tools(self) -> list[str]:
        """The tools that a rule refuses for whatever they are called with, as rules name them."""
        return [one.rule.tool for one in self._all if one.rule.verdict == "deny" and one.whole]

    @cached_property
    def hides_places(self) -> bool:
        """Whether a rule forbids to read a whole path, from the root of the disk on."""
        return any(
            one.rule.verdict != "allow" and Path(one.rule.pattern).is_absolute()
            for one in self.of("read")
        )

    @cached_property
    def _all(self) -> list[RuleEntry]:
        spoken: list[tuple[Rule, Layer]] = [
            (rule, layer) for layer in LAYERS for rule in self._rules[layer]
        ]
        return [RuleEntry(rule, layer, rank) for rank, (rule, layer) in enumerate(spoken)]

    def for_part(self, tool: str, part: CommandPart) -> list[RuleEntry]:
        """The rules that may match a part of a command, lowest precedence first.

        They are found by the first word, which most patterns contain.
        """
        words = self._words.get(tool)
        if words is None:
            words = self._words[tool] = _by_first_word(self.of(tool))
        names = {_first_word(text) for text in (part.text, *part.spellings)}
        found = [entry for name in {"", *names} for entry in words.get(name, ())]
        return sorted(found, key=lambda entry: entry.rank)


def _first_word(text: str) -> str:
    return text.split(" ", 1)[0].casefold()


def _by_first_word(entries: Iterable[RuleEntry]) -> dict[str, list[RuleEntry]]:
    words: dict[str, list[RuleEntry]] = {}
    for entry in entries:
        pattern = entry.rule.pattern
        match = _FIRST.match(pattern)
        plain = pattern if not re.search(r"[*?\[\s]", pattern) else ""
        words.setdefault((match[0] if match else plain).casefold(), []).append(entry)
    return words


LAYER_NAMES: dict[Layer, str] = {
    "built-in": "the built-in rule",
    "person": "your rule",
    "project": "the project’s rule",
    "agent": "the agent’s rule",
    "session": "your rule for this chat",
    "turn": "your rule for this turn",
    "server": "your rule for the server’s clients",
}
PLAN = "the plan mode"
FOLDER = "the folder"
_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a call. ``why`` is one sentence for the person.

    ``by`` names briefly what allowed or refused it; ``rule`` is None
    where the program's own behaviour decided. ``insists``: asked about also
    where a draft could wait, and no rule can be added. ``parts`` are those of a
    command that are not allowed yet. ``opens`` is the place outside the folder
    that the call is about.
    """

    verdict: Verdict
    why: str
    by: str = ""
    rule: Rule | None = None
    layer: Layer = "built-in"
    insists: bool = False
    parts: tuple[CommandPart, ...] = ()
    opens: Path | None = None

    @property
    def strictness(self) -> tuple[int, bool]:
        return _STRICTNESS[self.verdict], self.insists


def decision_by(entry: RuleEntry) -> Decision:
    """The decision by a matching rule."""
    by = f"{LAYER_NAMES[entry.layer]} {entry.rule}"
    verb = {"allow": "allows", "ask": "asks about", "deny": "refuses"}[entry.rule.verdict]
    why = f"{by[:1].upper()}{by[1:]} {verb} it."
    return Decision(entry.rule.verdict, why, by, entry.rule, entry.layer)


def decision_in_doubt(entry: RuleEntry, part: CommandPart) -> Decision:
    """The question about a part that may match a rule when it runs."""
    verb = "refuses" if entry.rule.verdict == "deny" else "asks about"
    known = " is only known when it runs, and" if DYNAMIC in part.text else ""
    why = f"“{part.shown}”{known} may be what {LAYER_NAMES[entry.layer]} {entry.rule} {verb}."
    return Decision("ask", why, insists=True)
