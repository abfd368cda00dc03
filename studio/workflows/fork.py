"""Fork: plans a run that repeats another one from some step or item on (W-30).

It is pure, and the run before never changes. What does not depend on what is different is linked:
it has its result from there, and what it used counts there.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json
from studio.domain.messages import Message
from studio.domain.run_events import ItemsFound, RunEvent, RunStarted, StepEdited, StepLinked
from studio.domain.runs import Run, StepRun, Try
from studio.domain.workflows import Step, Workflow

from .expressions import ExpressionError, as_words, parse_template
from .graph import steps_named
from .plan import Plan


@dataclass(frozen=True, slots=True)
class ForkRequest:
    """From where a run is repeated, and what is different then.

    ``step`` runs again with all behind it; empty where ``also`` alone says what does. ``item`` is
    the key of the one item that runs again, or its beginning, or the item in words; empty for the
    whole step. ``outputs`` are given to steps, which do not run. ``new_files``: by the workflow's
    file as it is now, not as it was (W-13). ``also`` are steps that run again too, each with the
    key of its item, empty for the whole step.
    """

    run_id: str
    step: str = ""
    item: str = ""
    edits: tuple[StepEdited, ...] = ()
    outputs: Mapping[str, Json] = field(default_factory=dict[str, Json])
    new_files: bool = False
    also: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StepToRun:
    """A step that runs in a fork, and what its last try used, that of each item in sum.

    ``items`` are the keys of those that run, empty for the whole step. ``dollars`` is 0 where
    nothing ran before or no price is known.
    """

    step: Step
    items: tuple[str, ...] = ()
    tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class StepHalfDone:
    """A step or item that goes on in the middle: after ``messages``, with ``answers`` in them.

    One that is a workflow goes on in the run ``below``.
    """

    step: str
    item: str
    answers: int = 0
    messages: tuple[Message, ...] = ()
    below: ForkPlan | None = None


@dataclass(frozen=True, slots=True)
class ForkPlan:
    """A fork that can begin: ``events`` follow ``started``; ``text`` is its workflow's file.

    ``linked`` are the steps and items that do not run, in the order of the file.
    """

    started: RunStarted
    workflow: Workflow
    text: str
    events: tuple[RunEvent, ...]
    to_run: tuple[StepToRun, ...]
    half_done: tuple[StepHalfDone, ...] = ()

    @property
    def linked(self) -> tuple[StepLinked, ...]:
        return tuple(one for one in self.events if isinstance(one, StepLinked))

    @property
    def tokens(self) -> int:
        """What the steps to run used last."""
        return sum(one.tokens for one in self.to_run)

    @property
    def dollars(self) -> float:
        return sum(one.dollars for one in self.to_run)


def edited_workflow(workflow: Workflow, edits: Iterable[StepEdited]) -> Workflow:
    """The workflow with what the person changed of its steps; others are left out."""
    by_step = {edit.step: edit for edit in edits}

    def edited(step: Step) -> Step:
        edit = by_step.get(step.id)
        if edit is None:
            return step
        return replace(
            step,
            prompt=step.prompt if edit.prompt is None else edit.prompt,
            target=step.target if edit.agent is None else edit.agent,
            model=step.model if edit.model is None else edit.model,
        )

    return replace(workflow, steps=tuple(edited(step) for step in workflow.steps))


def plan_fork(run: Run, workflow: Workflow, text: str, request: ForkRequest) -> ForkPlan:
    """Plan the fork of a run; ``workflow`` is the one to run by, as ``text`` has it.

    Raises ConfigurationError for steps and items that are not there, and for edits that a step
    cannot have.
    """
    assert run.started is not None
    kept = () if request.new_files else tuple(run.edits.values())
    for edit in request.edits:
        _check_edit(workflow, edit)
    again = (request.step, *(step for step, _ in request.also))
    for name in (*filter(None, again), *request.outputs):
        _step(workflow, name)
    changes = Run()
    for edit in (*kept, *request.edits):
        changes.apply(0.0, edit)
    edits = tuple(changes.edits.values())
    edited = edited_workflow(workflow, edits)
    plan = Plan(edited)
    if plan.circle:
        raise ConfigurationError(f"These steps wait for each other: {', '.join(plan.circle)}.")
    fork = _Fork(run, plan, request)
    started = replace(
        run.started,
        run_id=uuid.uuid4().hex,
        digest=workflow.digest,
        forked_from=run.id,
        called_by="",
        call_id="",
        trigger="fork",
    )
    return ForkPlan(started, edited, text, (*edits, *fork.events()), tuple(fork.to_run()))


class _Fork:
    """What is linked, and what runs."""

    def __init__(self, run: Run, plan: Plan, request: ForkRequest) -> None:
        self._run, self._plan, self._request = run, plan, request
        self._steps = plan.workflow.steps
        edited, given = {edit.step for edit in request.edits}, set(request.outputs)
        self._items = {one for one in request.also if one[1]}
        """The items that run again."""
        others = edited | given | {step for step, item in request.also if not item}
        if request.item:
            if request.step in given or request.step in self._behind(others - {request.step}):
                raise ConfigurationError(
                    f"The step {request.step} does not run by its items as they were."
                )
            self._items.add((request.step, _item_key(run, request)))
        elif request.step:
            others.add(request.step)
        by_item = {step for step, _ in self._items}
        whole = self._behind(others) | self._behind_only(by_item)
        if request.item:
            whole.discard(request.step)
        whole -= given
        by_item -= whole | given
        left = {step.id for step in self._steps if not self._linkable(step)}
        again = whole | (self._behind(whole | left) - given)
        self._again = again | by_item
        """Steps that run; those that are not in ``whole`` keep what is done of their items."""
        self._whole = (whole | (again - left)) - by_item

    def _behind(self, starts: Iterable[str]) -> set[str]:
        return {name for start in starts for name in self._plan.behind(start)}

    def _behind_only(self, starts: Iterable[str]) -> set[str]:
        return {name for start in starts for name in self._plan.behind(start) if name != start}

    def _linkable(self, step: Step) -> bool:
        """Whether a step has a result, or is left out and needs none."""
        one = self._run.step(step.id)
        passed = one.state == "failed" and step.on_error != "stop"
        return step.id in self._request.outputs or one.state in ("done", "skipped") or passed

    def events(self) -> Iterator[RunEvent]:
        for step in self._steps:
            one = self._run.step(step.id)
            if step.id in self._request.outputs:
                value = self._request.outputs[step.id]
                exposed = one.last.exposed if one.last is not None else ()
                yield StepLinked(
                    *(step.id, "", self._run.id),
                    text=as_words(value),
                    outputs=value,
                    exposed=exposed,
                    edited=True,
                )
                continue
            if step.id in self._whole:
                continue
            if keys := self._run.items.get(step.id):
                yield ItemsFound(step.id, tuple(keys.values()))
                for key in keys:
                    if self._keeps(step.id, key):
                        yield from self._kept(self._run.step(step.id, key))
            if step.id not in self._again and one.state != "skipped":
                yield from self._kept(one)

    def to_run(self) -> Iterator[StepToRun]:
        for step in self._steps:
            if step.id not in self._again:
                continue
            keys = tuple(self._run.items.get(step.id, ()))
            runs = keys if step.id in self._whole else self._open_items(step.id, keys)
            ran = [self._run.step(step.id, key) for key in runs or ("",)]
            last = [one.last for one in ran if one.last is not None]
            yield StepToRun(
                step,
                () if step.id in self._whole else runs,
                sum(one.tokens for one in last),
                sum(one.dollars or 0.0 for one in last),
            )

    def _open_items(self, step: str, keys: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(key for key in keys if not self._keeps(step, key))

    def _keeps(self, step: str, key: str) -> bool:
        return self._run.step(step, key).state == "done" and (step, key) not in self._items

    def _kept(self, one: StepRun) -> Iterator[RunEvent]:
        """What came of a step or an item that does not run, and what it changed on its desk."""
        last = one.last or Try(1, 1)
        yield StepLinked(
            *(one.step, one.item, last.linked or self._run.id),
            state="failed" if one.state == "failed" else "done",
            reason=last.reason,
            text=last.text,
            outputs=last.outputs,
            fault=last.fault,
            tokens=last.tokens,
            dollars=last.dollars,
            seconds=last.seconds,
            exposed=last.exposed,
            session_id=last.session_id,
        )
        if (changed := self._run.changes.get((one.step, one.item))) is not None:
            yield changed


def _step(workflow: Workflow, name: str) -> Step:
    for step in workflow.steps:
        if step.id == name:
            return step
    known = ", ".join(step.id for step in workflow.steps)
    raise ConfigurationError(f"The workflow has no step {name}. It has {known}.")


def _check_edit(workflow: Workflow, edit: StepEdited) -> None:
    step = _step(workflow, edit.step)
    if step.kind != "agent":
        raise ConfigurationError(
            f"The step {step.id} has no agent, so it has no prompt, agent or model to change."
        )
    if edit.agent == "":
        raise ConfigurationError(f"The step {step.id} needs an agent.")
    if edit.prompt is None:
        return
    known = {one.id for one in workflow.steps} - {step.id}
    try:
        expressions = parse_template(edit.prompt).expressions
    except ExpressionError as error:
        raise ConfigurationError(f"The prompt of {step.id}: {error}") from error
    for _, expression in expressions:
        for name in steps_named(expression):
            if name not in known:
                raise ConfigurationError(
                    f"The prompt of {step.id} refers to a step {name}, which is not there."
                )


def _item_key(run: Run, request: ForkRequest) -> str:
    """The key of the item that runs again; raises ConfigurationError."""
    items = run.items.get(request.step, {})
    if not items:
        raise ConfigurationError(f"The step {request.step} had no items.")
    wanted = request.item
    if wanted in items:
        return wanted
    found = [
        key for key, value in items.items() if key.startswith(wanted) or as_words(value) == wanted
    ]
    if len(found) != 1:
        which = "several items" if found else "no item"
        listed = ", ".join(f"{key} ({as_words(value)[:40]})" for key, value in items.items())
        raise ConfigurationError(
            f"The step {request.step} has {which} {wanted}. Its items are {listed[:2000]}."
        )
    return found[0]
