"""Ruling: what hooks say of a call, which the policy then decides about (K-9).

To deny beats all, to ask beats to allow. To allow is what a rule of the project's would be: not
more than the person's own refusals, and nothing that insists on a question.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.records import dataclass

from .rulebook import Decision

RulingVerdict: TypeAlias = Literal["", "allow", "ask", "deny"]
_WEAKER = ("built-in", "person")
"""The layers below that of a project's rules."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """``by`` names the hook, ``why`` is what it says. ``arguments`` are those that it wants."""

    verdict: RulingVerdict = ""
    by: str = ""
    why: str = ""
    arguments: JsonObject | None = None

    def on(self, decision: Decision, *, network: bool) -> Decision:
        """The decision as the hooks tighten it, or allow what nobody has spoken about."""
        if decision.verdict == "deny":
            return decision
        if self.verdict == "ask":
            why = f"{self.by[:1].upper()}{self.by[1:]} asks about it: {self.why}".rstrip(": ")
            if decision.insists:  # a danger, which nobody else's question may hide
                why = f"{decision.why} {why}"
            return Decision("ask", why, insists=True, opens=decision.opens)
        usual = decision.rule is None or decision.layer in _WEAKER
        bound = decision.insists or network or decision.opens is not None
        if self.verdict == "allow" and decision.verdict == "ask" and usual and not bound:
            return replace(decision, verdict="allow", why="", by=self.by, parts=())
        return decision


NO_RULING = Ruling()
