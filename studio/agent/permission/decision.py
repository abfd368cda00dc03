"""What becomes of a call, and whose rule said so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.domain.permissions import Layer, Rule, Verdict

from .commands import CommandPart
from .rulebook import Entry

WHOSE: dict[Layer, str] = {
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
    """What becomes of a call. ``why`` is one sentence for the person.

    ``by`` is short, for whoever reads later what allowed it; ``rule`` is None
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
    def strictness(self) -> int:
        return _STRICTNESS[self.verdict]


def decided(entry: Entry) -> Decision:
    """By a rule that fits."""
    by = f"{WHOSE[entry.layer]} {entry.rule}"
    verb = {"allow": "allows", "ask": "asks about", "deny": "refuses"}[entry.rule.verdict]
    why = f"{by[:1].upper()}{by[1:]} {verb} it."
    return Decision(entry.rule.verdict, why, by, entry.rule, entry.layer)


def doubted(entry: Entry, part: CommandPart) -> Decision:
    """Nobody knows yet whether a rule that forbids will fit."""
    verb = "refuses" if entry.rule.verdict == "deny" else "asks about"
    why = (
        f"“{part.shown}” is only known when it runs, and may be what "
        f"{WHOSE[entry.layer]} {entry.rule} {verb}."
    )
    return Decision("ask", why, insists=True)
