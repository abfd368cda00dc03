"""What may run without a question, what is asked, what is refused (T-7)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from studio.domain.agents import PermissionMode
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Layer, Rule, Verdict
from studio.domain.tools import ToolSpec

COMMAND = "command"
"""A tool whose target argument has this name hands it to a shell."""
PATH = "path"
"""A tool whose target argument has this name reads or changes the file there."""

LAYERS: tuple[Layer, ...] = ("built-in", "person", "project", "agent", "session", "turn")
"""Weakest voice first."""
WHOSE: dict[Layer, str] = {
    "built-in": "the built-in rule",
    "person": "your rule",
    "project": "the project’s rule",
    "agent": "the agent’s rule",
    "session": "your rule for this chat",
    "turn": "your rule for this turn",
}

_PROGRAM = re.compile(r"[A-Za-z0-9_./@+-]+")
_GUARDED = re.compile(r"(?:^|/)\.(?:git|hg|svn|agents)(?:/|$)", re.I)
"""Files that make programs, or agents, do something later: a hook, an agent's rights."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a call. ``why`` is one sentence for the person.

    ``by`` is short, for whoever reads later what allowed it; ``rule`` is None
    where the program's own behaviour decided.
    """

    verdict: Verdict
    why: str
    by: str = ""
    rule: Rule | None = None
    layer: Layer = "built-in"
    objected: bool = False
    """Asked whatever the rules say; see ``Gate``."""


def target_of(spec: ToolSpec, arguments: JsonObject) -> str:
    """What a rule is matched against, and what a tool row shows."""
    value = arguments.get(spec.target) if spec.target else None
    return value if isinstance(value, str) else ""


class Policy:
    """The rules that count in one turn, in layers.

    Deny in any layer wins. Otherwise the last rule that speaks about the call
    decides: the strongest layer's, and the latest in it. Where no rule speaks,
    tools that read inside the folder run, drafts wait, and the rest asks.
    """

    def __init__(
        self, mode: PermissionMode, rules: Mapping[Layer, Sequence[Rule]] | None = None
    ) -> None:
        self.mode: PermissionMode = mode
        self._rules: dict[Layer, list[Rule]] = {
            layer: list((rules or {}).get(layer, ())) for layer in LAYERS
        }

    def add(self, layer: Layer, rule: Rule) -> None:
        """A rule that counts from now on."""
        self._rules[layer].append(rule)

    def decide(self, spec: ToolSpec, arguments: JsonObject, place: str | None = None) -> Decision:
        """For a draft tool, ``allow`` means its drafts are written without waiting.

        ``place`` is where the call's path really leads: what is allowed is the
        place, not one of the many ways to write it.
        """
        if self.mode == "plan" and spec.effect != "read":
            return Decision("deny", "The person wants a plan first.", "the plan mode")
        target = target_of(spec, arguments)
        place = target if place is None else place
        command = spec.target == COMMAND
        last: tuple[Rule, Layer] | None = None
        for layer in LAYERS:
            for rule in self._rules[layer]:
                if not (
                    rule.matches(spec.name, place, command=command)
                    or (
                        rule.verdict != "allow" and rule.matches(spec.name, target, command=command)
                    )
                ):
                    continue
                if rule.verdict == "deny":
                    return _decided(rule, layer)
                last = (rule, layer)
        if last is not None:
            return _decided(*last)
        return self._built_in(spec, place)

    def _built_in(self, spec: ToolSpec, place: str) -> Decision:
        if spec.effect == "read":
            return Decision("allow", "It only reads in the folder.", "reads in the folder")
        if spec.effect == "draft" and self.mode == "auto":
            if not _GUARDED.search(place):
                return Decision("allow", "Drafts are written at once.", "the automatic mode")
            return Decision("ask", f"{place} can change what programs do later.")
        if spec.effect == "draft":
            return Decision("ask", "Drafts wait for approval.")
        if spec.effect == "fetch":
            return Decision("ask", "It reads from outside the folder.")
        what = "Commands are" if spec.target == COMMAND else f"{spec.name} acts, which is"
        return Decision("ask", f"{what} asked about unless a rule allows them.")


def _decided(rule: Rule, layer: Layer) -> Decision:
    by = f"{WHOSE[layer]} {rule}"
    verb = {"allow": "allows", "ask": "asks about", "deny": "refuses"}[rule.verdict]
    return Decision(rule.verdict, f"{by[:1].upper()}{by[1:]} {verb} it.", by, rule, layer)


def always_rule(spec: ToolSpec, arguments: JsonObject) -> Rule | None:
    """The rule "Always allow" would add, or None where only this call can be allowed.

    For a command it covers the same program with any arguments, provided the
    command is one plain program call; for other tools, every call of the tool.
    """
    if spec.target != COMMAND:
        return Rule("allow", spec.name)
    command = target_of(spec, arguments)
    words = command.split()
    if not words or not _PROGRAM.fullmatch(words[0]):  # "X=1 *" or "* *" would cover anything
        return None
    rule = Rule("allow", spec.name, f"{words[0]} *")
    return rule if rule.matches(spec.name, command, command=True) else None
