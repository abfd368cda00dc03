"""Evals: describe what is measured, on which cases and in which variants, and what came of it.

A cell is one try of one case by one variant. It passes if all of its graders pass (W-58).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from .jsonvalue import Json
from .records import dataclass
from .workflows import NO_BUDGET, Budget

GraderKind: TypeAlias = Literal[
    "equals",
    "contains",
    "pattern",
    "schema",
    "expression",
    "command",
    "cost",
    "time",
    "grader",
    "pairwise",
]
EvalState: TypeAlias = Literal["running", "done", "unfinished"]
"""``unfinished``: some cells have no answer yet. Another run does these alone."""


@dataclass(frozen=True, slots=True)
class Grader:
    """What tells whether an answer is good.

    ``target`` is a value of its kind: a text, a pattern, a schema, an expression, a command, a
    number of dollars or seconds, or the agent that judges and is told ``prompt``.
    """

    kind: GraderKind
    target: Json
    title: str = ""
    prompt: str = ""
    timeout: float = 0.0

    @property
    def label(self) -> str:
        return self.title or self.kind


@dataclass(frozen=True, slots=True)
class Case:
    """One case. ``values`` are what prompts and graders know of it as ``item``."""

    id: str
    title: str = ""
    values: Mapping[str, Json] = field(default_factory=dict[str, Json])
    graders: tuple[Grader, ...] = ()

    @property
    def label(self) -> str:
        return self.title or self.id


@dataclass(frozen=True, slots=True)
class Variant:
    """Who is measured: an agent, with a model and a prompt. The first one is the baseline."""

    id: str
    agent: str
    title: str = ""
    model: str = ""
    prompt: str = ""

    @property
    def label(self) -> str:
        return self.title or self.id


@dataclass(frozen=True, slots=True)
class Eval:
    """What the file of an eval says. ``graders`` of a case come with those of all cases."""

    name: str
    cases: tuple[Case, ...] = ()
    variants: tuple[Variant, ...] = ()
    repeats: int = 1
    description: str = ""
    budget: Budget = NO_BUDGET


@dataclass(frozen=True, slots=True)
class Grade:
    """What one grader says of an answer. ``passed`` is None while it has said nothing.

    ``dollars`` is what an agent cost that judged, None where none did or no price is known.
    """

    kind: str
    label: str
    passed: bool | None
    words: str = ""
    dollars: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One try of a case by a variant.

    ``key`` is its digest in the record. ``answered`` is False where there is no answer for now.
    ``fresh``: it was answered in this run, not taken from the record.
    """

    variant: str
    case: str
    number: int
    key: str
    answered: bool
    grades: tuple[Grade, ...] = ()
    text: str = ""
    reason: str = ""
    dollars: float | None = 0.0
    seconds: float = 0.0
    session_id: str = ""
    fresh: bool = False

    @property
    def graded(self) -> bool:
        return self.answered and all(one.passed is not None for one in self.grades)

    @property
    def passed(self) -> bool:
        return self.answered and not self.reason and all(one.passed for one in self.grades)


@dataclass(frozen=True, slots=True)
class EvalReport:
    """What an eval came to: its cells, and what they were made from.

    ``models`` has the provider and model of each variant, ``judges`` of each agent that judges.
    ``dollars`` is what this run cost, what its cells cost may be more. ``provider`` and ``model``
    answered where a variant names none, if they were given.
    """

    eval: Eval
    models: Mapping[str, str] = field(default_factory=dict[str, str])
    cells: tuple[Cell, ...] = ()
    dollars: float = 0.0
    reason: str = ""
    provider: str = ""
    model: str = ""
    judges: Mapping[str, str] = field(default_factory=dict[str, str])
