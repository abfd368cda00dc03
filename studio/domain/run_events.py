"""Run events: define what happens in a run of a workflow, and what a run asks the person.

A run is a stream of these events. Its runner, the database, the terminal and the window share
them and their fold ``studio.domain.runs.Run``. Stored names never change.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias

from .agents import NO_CAPS, Caps
from .events import Exposed
from .items import ItemTally
from .jsonvalue import Json, JsonObject
from .permissions import Rule
from .questions import ServerQuestion
from .records import dataclass

StepState: TypeAlias = Literal[
    "waiting", "queued", "running", "needs_you", "done", "failed", "skipped", "stopped", "unsure"
]
"""``waiting`` for what it needs, ``queued`` for a free place or its next try. ``unsure``: it
ended in the middle of an action that may have happened, which the person is asked about."""
EndState: TypeAlias = Literal["done", "failed", "skipped", "stopped"]
OVER: tuple[StepState, ...] = ("done", "failed", "skipped", "stopped")
RunState: TypeAlias = Literal[
    "running", "paused", "needs_you", "unsure", "done", "failed", "stopped"
]
Fault: TypeAlias = Literal["", "error", "limit", "timeout", "invalid", "provider"]
"""Why a step failed, as ``retry.on`` names it: there an error of the provider is an error.
``provider``: it could not be reached, or had no place."""
RunCap: TypeAlias = Literal["run", "step", "session", "day", "month", "hour", "minutes"]
PausedAt: TypeAlias = Literal["", "mission", RunCap]
"""The cap at which a run is paused; ``mission`` where a mission asks whether it goes on, and empty
for another reason."""
Trigger: TypeAlias = Literal["manual", "schedule", "change", "fork", "client"]
"""What began a run: a person, a time, a change of files, a person from a step of another, or a
client of the server, which may do no more than clients may."""
YOU_PAUSED = "You paused it."
TAKEN_OVER = "You took it over as a chat."
PAUSED_BY_PERSON = ("", YOU_PAUSED, TAKEN_OVER)
"""Reasons of pauses that the person made, and need not be told of."""
Moment: TypeAlias = Literal["before", "after"]
"""When a breakpoint stops the run: before a try of its step begins, or after one has ended."""


@dataclass(frozen=True, slots=True)
class RunQuestion:
    """A question of a run to the person.

    ``approve`` takes true or false, ``ask`` what fits ``form`` or a text. ``permission`` and
    ``reply`` are questions of a step's session ``session_id`` and are answered there; ``choices``
    are the answers that a ``reply`` suggests, ``abouts`` what is said of each, and ``server`` is
    what a server asks there: it takes an object with ``action`` and ``content``. ``unsure`` takes
    one of ``UNSURE``. ``conflict`` takes one of its ``choices`` or the whole text of the file
    (W-25). ``path`` names who asks: the run, its steps, the agent (W-22). ``rules`` are those that
    the answer “run” to a permission adds: they count for the whole run, with all runs below it.
    ``sample`` takes one of its ``choices``, and its step goes on (W-55). ``paused`` is never
    stored: it stands for a mission that paused by itself, and takes “go_on” or “stop” (W-50), or
    for a run at a cap, and takes “raise” or “stop” (W-20), or for a chat at one, and takes none.
    """

    id: str
    kind: Literal["approve", "ask", "permission", "reply", "unsure", "conflict", "sample", "paused"]
    text: str
    detail: str = ""
    choices: tuple[str, ...] = ()
    form: JsonObject | None = None
    session_id: str = ""
    path: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    server: ServerQuestion | None = None
    abouts: tuple[str, ...] = ()

    @property
    def reply_to(self) -> tuple[str, tuple[str, ...]] | None:
        """What an answer for the whole run is kept by; None where each one is asked."""
        own = self.kind == "reply" and self.server is None
        return (self.text, self.choices) if own else None


MERGE = ""
"""In place of a step: the end of a run, where the changes of its steps meet."""
SAMPLE_ANSWERS = ("all", "batch", "keep")
"""The answers to a sample: work on the others now, as a batch of the provider, or not at all."""
UNSURE = ("happened", "again", "stop")
"""The answers to “This may have happened”: it did, do it again, stop the step."""


# Events


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins. ``digest`` is that of the workflow's file, as it is kept with the run.

    ``source`` is the file's path, ``number`` how many runs the workflow had before it, plus one.
    ``provider`` and ``model`` answer in steps that name none; empty for the person's setting.
    ``forked_from`` is the run that this one repeats from some step on, empty for none. ``parent``
    is the run whose step ``parent_step`` this one is, empty for one that a person began. Runs of
    one ``group`` are not carried out at the same time; empty for none. ``parts`` are the digests of
    the agents and tools that it began with. ``subject`` is what the chat was about whose agent
    began it: the steps are about that too (KZ-7). ``called_by`` is the session whose call
    ``call_id`` this is.
    """

    run_id: str
    name: str
    digest: str
    source: str = ""
    folder: str = ""
    inputs: JsonObject = field(default_factory=dict[str, Json], hash=False)
    caps: Caps = NO_CAPS
    number: int = 1
    provider: str = ""
    model: str = ""
    permission_mode: str = ""
    forked_from: str = ""
    trigger: Trigger = "manual"
    parent: str = ""
    parent_step: str = ""
    group: str = ""
    parts: JsonObject = field(default_factory=dict[str, Json], hash=False)
    subject: str = ""
    called_by: str = ""
    mission: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class StepEdited:
    """The person changed what a step does, for this run alone; what is None stays as it was."""

    step: str
    prompt: str | None = None
    agent: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class StepLinked:
    """A step, or an item of it, has its result from the run ``run_id`` and does not run (W-30).

    The fields are those of its end there: what it used counts there, not here. ``session_id`` is
    where it worked. ``edited``: the person wrote the outputs.
    """

    step: str
    item: str
    run_id: str
    state: EndState = "done"
    reason: str = ""
    text: str = ""
    outputs: Json = field(default=None, hash=False)
    fault: Fault = ""
    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    exposed: tuple[Exposed, ...] = ()
    session_id: str = ""
    edited: bool = False


@dataclass(frozen=True, slots=True)
class ItemsFound:
    """The items of a step with ``for_each`` or ``matrix`` are known; see ``runs.item_keys``."""

    step: str
    items: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ItemsQueued:
    """The items of a step are in the table of items, see ``studio.storage.run_items`` (W-53).

    ``linked`` of them have their result from earlier runs. ``source`` says in words where they
    are from.
    """

    step: str
    count: int
    linked: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class ItemsCounted:
    """How far the items of a step are; comes every few seconds while they are worked on."""

    step: str
    tally: ItemTally


@dataclass(frozen=True, slots=True)
class RunQueued:
    """A run waits for others of its group; ``reason`` names them."""

    reason: str


@dataclass(frozen=True, slots=True)
class StepQueued:
    """A step has what it needs, and waits for a free place."""

    step: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A try of a step, or of one item of it, begins.

    ``round`` counts from 1 and grows where a later step goes back to this one (``redo``);
    ``attempt`` is the number of the try in its round. ``session_id`` is where its agent or
    its command works, ``run_id`` the run of its workflow.
    """

    step: str
    item: str = ""
    round: int = 1
    attempt: int = 1
    session_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class StepHeld:
    """The person paused one step: its reply under way ends, and nothing of it begins."""

    step: str


@dataclass(frozen=True, slots=True)
class StepReleased:
    """A step that the person paused goes on."""

    step: str


@dataclass(frozen=True, slots=True)
class StepResumed:
    """A step goes on: in its session after the program ended, or after an answer."""

    step: str
    item: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class StepAsked:
    """A step asks the person something, and waits."""

    step: str
    item: str
    question: RunQuestion


@dataclass(frozen=True, slots=True)
class StepAnswered:
    """A question has its answer. ``by`` says whose it is if not the person's.

    ``whole``: whoever asks the same in this run, or in one below it, has this answer too (W-22).
    """

    step: str
    item: str
    question_id: str
    answer: Json = field(default=None, hash=False)
    by: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class StepFinished:
    """A try of a step, or of an item of it, is over, with all that came of it.

    ``reason`` is in words. ``text`` is what it said, ``outputs`` are its values. ``tokens``,
    ``dollars`` and ``seconds`` are those of this try alone; ``dollars`` is None where a price is
    not known. ``exposed`` is what its words may carry on (T-9). A step with items has one more
    such event, without an item, when all of them are over.
    """

    step: str
    item: str = ""
    state: EndState = "done"
    reason: str = ""
    text: str = ""
    outputs: Json = field(default=None, hash=False)
    fault: Fault = ""
    tokens: int = 0
    dollars: float | None = 0.0
    seconds: float = 0.0
    exposed: tuple[Exposed, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file before and after a step, by the SHA-256 hex of its bytes; empty where there is none.

    ``path`` is relative to the folder, with forward slashes. Before is as the step found it.
    """

    path: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class StepChanged:
    """What a step did on its desk until now: the folder is as it was (W-23).

    ``left`` names what is not kept: links, rights, and files that are too big.
    """

    step: str
    item: str
    files: tuple[ChangedFile, ...]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepInTurns:
    """A step has no desk, and works in the folder itself when no other one does."""

    step: str
    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunDrafted:
    """What the steps changed waits as drafts, in this session (W-26).

    ``files`` are those of which drafts were made now: at a gate, or when the run is over.
    """

    session_id: str
    files: tuple[ChangedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """A try that failed is repeated at the time ``due``, in seconds since the epoch."""

    step: str
    item: str
    due: float


@dataclass(frozen=True, slots=True)
class StepsRedone:
    """The step ``by`` sent the run back to ``start``: all of ``steps`` wait once more."""

    start: str
    by: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapReached:
    """A cap does not allow the next request of a step; ``reason`` says which, in words.

    ``limit`` is how much it allows, of ``unit``; 0 where an earlier version stored this. ``own`` is
    whether it is the cap of this run or its step: not that of a run above, of a day or a chat.
    """

    cap: RunCap
    step: str
    item: str
    reason: str
    limit: float = 0.0
    unit: Literal["", "tokens", "dollars"] = ""
    own: bool = True


@dataclass(frozen=True, slots=True)
class CapRaised:
    """The person raised the cap of the run, or of ``step``, to ``caps``.

    ``minutes`` are those that the run may work, ``cycles`` those of a mission, ``until`` the time
    of the day at which it pauses; 0 or empty where they stay as they are. ``run_id`` is the run
    below whose cap it is; empty for a cap of this run.
    """

    caps: Caps
    step: str = ""
    minutes: float = 0.0
    cycles: int = 0
    until: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What came of a check in a cycle; ``words`` are what it printed, or why it does not pass."""

    step: str
    title: str
    passed: bool
    words: str = ""


@dataclass(frozen=True, slots=True)
class CycleEnded:
    """All steps of a cycle of a mission are over, and its checks were looked at.

    ``standing`` is a digest of what checks, tasks and drafts are: where it stays the same, the
    cycle has changed nothing (W-50). ``changed`` are the scripts of checks that are not as they
    were when the run began: then it takes the person for the mission to be over (W-48).
    """

    number: int
    checks: tuple[CheckResult, ...]
    standing: str = ""
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CycleStarted:
    """The next cycle begins: all of ``steps`` wait once more."""

    number: int
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunSteered:
    """The person said something to who works on a mission (W-51)."""

    text: str


@dataclass(frozen=True, slots=True)
class RunPaused:
    """Nothing begins until the run goes on. ``cap`` is the one that was reached, if one was."""

    reason: str = ""
    cap: PausedAt = ""


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A paused run goes on; with ``one`` only until the step after the next would begin.

    A run that is not paused goes on after its program had ended.
    """

    one: bool = False


@dataclass(frozen=True, slots=True)
class BreakpointSet:
    """The run stops at this step, if the expression ``when`` is true or empty (W-65)."""

    step: str
    moment: Moment = "before"
    when: str = ""


@dataclass(frozen=True, slots=True)
class BreakpointCleared:
    """The run does not stop there any more."""

    step: str
    moment: Moment = "before"


@dataclass(frozen=True, slots=True)
class BreakpointReached:
    """The run is stopped at a step, as if it were paused; ``reason`` is in words."""

    step: str
    item: str = ""
    moment: Moment = "before"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ResultEdited:
    """The person changed what came of a step, or an item of it, for the steps after it."""

    step: str
    item: str
    text: str
    outputs: Json = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The end of a run; each run has at most one, and nothing follows it."""

    state: Literal["done", "failed", "stopped"]
    reason: str = ""
    outputs: JsonObject = field(default_factory=dict[str, Json], hash=False)


RunEvent: TypeAlias = (
    RunStarted
    | StepEdited
    | StepLinked
    | ItemsFound
    | ItemsQueued
    | ItemsCounted
    | RunQueued
    | StepQueued
    | StepStarted
    | StepHeld
    | StepReleased
    | StepResumed
    | StepAsked
    | StepAnswered
    | StepFinished
    | StepChanged
    | StepInTurns
    | RunDrafted
    | RetryPlanned
    | StepsRedone
    | CapReached
    | CapRaised
    | CycleEnded
    | CycleStarted
    | RunSteered
    | RunPaused
    | RunResumed
    | RunFinished
    | BreakpointSet
    | BreakpointCleared
    | BreakpointReached
    | ResultEdited
)
