"""Workflow definitions: describe steps of many agents, what they need and what limits them.

A workflow's file is markdown; ``studio.workflows.reader`` makes these of it. Expressions are kept
as their text, ``studio.workflows.expressions`` evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .agents import NO_CAPS, Caps
from .jsonvalue import Json, JsonObject
from .permissions import Rule

InputType: TypeAlias = Literal[
    "string", "number", "integer", "boolean", "enum", "file", "folder", "list", "object"
]
StepKind: TypeAlias = Literal["agent", "workflow", "run", "approve", "ask", "set", "check"]
"""``agent`` answers a prompt, ``workflow`` runs another file, ``run`` a command, ``approve`` and
``ask`` wait for the person, ``set`` keeps values, ``check`` says whether something holds."""
Desk: TypeAlias = Literal["auto", "own", "shared"]
Effects: TypeAlias = Literal["ask", "repeatable"]
"""What follows where a step ended in the middle of an action: the person is asked, or it is done
again."""
OnError: TypeAlias = str
"""``stop`` the run, ``skip`` what needs the step, ``continue`` as if it were done, or a step."""
Busy: TypeAlias = Literal["queue", "skip", "cancel"]
CheckKind: TypeAlias = Literal["run", "file", "check", "grader"]


@dataclass(frozen=True, slots=True)
class Input:
    """One input of a workflow. ``choices`` are those of an ``enum``."""

    name: str
    type: InputType = "string"
    description: str = ""
    required: bool = False
    default: Json = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run or a step may use; 0 is no cap. ``minutes`` leave out waiting.

    ``cycles`` and ``until``, a time of the day such as 06:00, are those of missions alone (W-49).
    """

    caps: Caps = NO_CAPS
    minutes: float = 0.0
    cycles: int = 0
    until: str = ""


NO_BUDGET = Budget()


@dataclass(frozen=True, slots=True)
class Retry:
    """``most`` further tries, the first after ``wait`` seconds, each next ``backoff`` times later.

    ``on`` has the reasons of a turn's end that are tried again.
    """

    most: int
    wait: float = 0.0
    backoff: float = 1.0
    on: tuple[str, ...] = ("error",)


@dataclass(frozen=True, slots=True)
class Redo:
    """Goes back to the step ``start`` while ``when`` holds, ``most`` times at the most."""

    start: str
    when: str
    most: int


@dataclass(frozen=True, slots=True)
class Check:
    """What a mission is done by: it passes or it does not (W-52).

    ``target`` is a command that ends with ``exit_code``, the path of a ``file`` that is there and
    fits ``schema`` if there is one, an ``expression``, or the agent that is the ``grader`` and
    answers ``prompt``. ``timeout`` is in seconds, 0 for none.
    """

    kind: CheckKind
    target: str
    title: str = ""
    exit_code: int = 0
    schema: JsonObject | None = None
    prompt: str = ""
    timeout: float = 0.0

    @property
    def label(self) -> str:
        return self.title or self.target


@dataclass(frozen=True, slots=True)
class Step:
    """One step. ``target`` is the agent, path, command, question or expression of its kind.

    ``condition`` is the expression of ``if``, ``for_each`` an expression or a list, ``outputs`` a
    JSON Schema. ``timeout`` is in seconds, 0 for none. ``max_parallel`` 0 is the workflow's.
    ``proves`` is the check of a mission that the step looks at; no file has such a step.
    """

    id: str
    kind: StepKind
    target: str = ""
    title: str = ""
    prompt: str = ""
    needs: tuple[str, ...] = ()
    condition: str = ""
    inputs: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """Of another workflow; of ``set`` its values."""
    form: JsonObject | None = None
    """The JSON Schema of what ``ask`` asks for."""
    for_each: str | tuple[Json, ...] = ""
    matrix: Mapping[str, tuple[Json, ...]] = field(default_factory=dict[str, tuple[Json, ...]])
    max_parallel: int = 0
    fail_fast: bool = True
    retry: Retry | None = None
    timeout: float = 0.0
    budget: Budget = NO_BUDGET
    model: str = ""
    permissions: tuple[Rule, ...] = ()
    desk: Desk = "auto"
    outputs: JsonObject | None = None
    redo: Redo | None = None
    effects: Effects = "ask"
    on_error: OnError = "stop"
    via: Literal["live", "batch"] = "live"
    proves: Check | None = None

    @property
    def label(self) -> str:
        return self.title or self.id


@dataclass(frozen=True, slots=True)
class Concurrency:
    """Runs of one ``group`` wait for each other, are left out, or end the one before."""

    group: str
    busy: Busy = "queue"


PER_DAY = 24
"""How often a day a trigger begins a run, where its file says nothing else."""


@dataclass(frozen=True, slots=True)
class WorkflowTrigger:
    """What begins runs by itself, where the person has switched it on (W-9).

    It has a ``schedule`` in cron's words, in the time zone ``zone``; empty is that of the computer.
    Or ``change``: glob patterns of files that begin one when they change. ``catch_up``: what
    happened while no program was open begins ``one`` run, or ``none``.
    """

    schedule: str = ""
    zone: str = ""
    catch_up: Literal["one", "none"] = "none"
    per_day: int = PER_DAY
    change: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workflow:
    """What a workflow's file says. ``outputs`` are templates by name; ``digest`` is the file's.

    With ``done_when`` it is a mission: it runs in cycles until all of these pass (W-47).
    """

    name: str
    steps: tuple[Step, ...]
    description: str = ""
    inputs: tuple[Input, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    budget: Budget = NO_BUDGET
    max_parallel: int = 0
    permissions: tuple[Rule, ...] = ()
    on_conflict: str = "ask"
    concurrency: Concurrency | None = None
    triggers: tuple[WorkflowTrigger, ...] = ()
    done_when: tuple[Check, ...] = ()
    source: str = ""
    digest: str = ""

    def step(self, id: str) -> Step:
        """Raises KeyError."""
        for step in self.steps:
            if step.id == id:
                return step
        raise KeyError(id)
