"""What may run without a question, what is asked, what is refused (T-7).

Permission is layered around the tools: no tool knows that it exists.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from studio.domain.agents import PermissionMode
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule, Verdict
from studio.domain.tools import ToolSpec

COMMAND = "command"
"""A tool whose target argument has this name hands it to a shell."""
PATH = "path"
"""A tool whose target argument has this name reads or changes the file there."""

_PROGRAM = re.compile(r"[A-Za-z0-9_./@+-]+")
_GUARDED = re.compile(r"(?:^|/)\.(?:git|hg|svn|agents)(?:/|$)", re.I)
"""Files that make programs, or agents, do something later: a hook, an agent's rights."""


def target_of(spec: ToolSpec, arguments: JsonObject) -> str:
    """What a rule is matched against, and what a tool row shows."""
    value = arguments.get(spec.target) if spec.target else None
    return value if isinstance(value, str) else ""


class Policy:
    """The rules of one session, in layers: built-in, the agent's, the person's.

    Deny wins over everything. Then any allow rule allows. Otherwise tools that
    read inside the folder run, drafts wait for approval, and the rest asks.
    """

    def __init__(self, mode: PermissionMode, rules: Iterable[Rule] = ()) -> None:
        self.mode: PermissionMode = mode
        self.rules: list[Rule] = list(rules)

    def decide(self, spec: ToolSpec, arguments: JsonObject, place: str | None = None) -> Verdict:
        """For a draft tool, ``allow`` means its drafts are written without waiting.

        ``place`` is where the call's path really leads: what is allowed is the
        place, not one of the many ways to write it.
        """
        if self.mode == "plan" and spec.effect != "read":
            return "deny"
        target = target_of(spec, arguments)
        place = target if place is None else place
        command = spec.target == COMMAND
        spoken = {
            rule.verdict
            for rule in self.rules
            if rule.matches(spec.name, place, command=command)
            or (rule.verdict != "allow" and rule.matches(spec.name, target, command=command))
        }
        if "deny" in spoken:
            return "deny"
        if "allow" in spoken:
            return "allow"
        if "ask" in spoken:
            return "ask"
        if spec.effect == "draft" and self.mode == "auto" and not _GUARDED.search(place):
            return "allow"
        return "allow" if spec.effect == "read" else "ask"


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
