"""What happens next in a run: pure, so that every order of ends can be tried (W-14, W-15, W-18)."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.run_events import (
    OVER,
    ItemsFound,
    RunEvent,
    RunFinished,
    RunPaused,
    RunResumed,
    RunStarted,
    StepFinished,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run, item_keys
from studio.domain.workflows import Redo, Retry, Step, Workflow
from studio.workflows.breakpoints import begin_or_stop
from studio.workflows.plan import Plan, Start
from studio.workflows.reader import read_workflow_text

Outcome = Callable[[str, str, int, int], StepFinished]
"""How a try ends, by step, item, round and attempt."""
MOST = 5_000


@dataclass
class Driver:
    """Carries a plan out without a clock: of the running tries any may end next."""

    workflow: Workflow
    outcome: Outcome
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    log: list[tuple[float, RunEvent]] = field(default_factory=list)
    eager: float = 0.7
    widest: int = 0

    def __post_init__(self) -> None:
        self.plan = Plan(self.workflow)
        self.run = Run(self.log)
        if not self.log:
            self.record(RunStarted("r", "w", "d"))

    def record(self, *events: RunEvent) -> None:
        for event in events:
            if self.run.end is not None:
                raise AssertionError(f"{event} after the end")
            if isinstance(event, StepStarted):
                self.check_start(event)
            self.log.append((0.0, event))
            self.run.apply(0.0, event)

    def check_start(self, event: StepStarted) -> None:
        for need in self.plan.needs[event.step]:
            state, on_error = self.run.step(need).state, self.workflow.step(need).on_error
            assert state == "done" or (state == "failed" and on_error != "stop"), (event, need)

    def busy(self) -> list[tuple[str, str]]:
        return [(one.step, one.item) for one in self.run.busy]

    def finish(self, key: tuple[str, str]) -> None:
        last = self.run.step(*key).last
        assert last is not None
        end = self.outcome(*key, last.round, last.attempt)
        self.record(*self.plan.finished(self.run, end, 0.0))

    def step(self) -> bool:
        """Do one thing; False where nothing is left to do."""
        decision = self.plan.next(self.run, now=1e9)
        if decision.events:
            self.record(*decision.events)
        elif decision.stops:
            step, item = decision.stops[0]
            self.record(StepFinished(step, item, "stopped"))
        elif decision.starts and (self.chance.random() < self.eager or not self.busy()):
            start: Start = decision.starts[0]
            round = self.run.round_of(start.step.id)
            self.record(StepStarted(start.step.id, start.item, round, start.attempt, "s"))
            self.widest = max(self.widest, len(self.busy()))
        elif self.busy():
            self.finish(self.chance.choice(self.busy()))
        else:
            return False
        return True

    def to_the_end(self) -> Run:
        for _ in range(MOST):
            if not self.step():
                break
        assert self.run.end is not None, {key: one.state for key, one in self.run.steps.items()}
        return self.run

    def ends(self) -> dict[tuple[str, str], tuple[str, object]]:
        return {key: (one.state, one.outputs) for key, one in self.run.steps.items() if one.over}


def done(step: str, item: str, round: int, attempt: int) -> StepFinished:
    return StepFinished(step, item, text=f"{step} said it", outputs={"n": round})


def of_text(steps: str, top: str = "") -> Workflow:
    found = read_workflow_text(f"---\nname: w\n{top}steps:\n{steps}\n---\n")
    assert not found.errors and found.workflow is not None, found.errors
    return found.workflow


def drive(steps: str, outcome: Outcome = done, top: str = "") -> Driver:
    driver = Driver(of_text(steps, top), outcome, eager=1.0)
    driver.to_the_end()
    return driver


def failing(*failed: str, fault: str = "error") -> Outcome:
    def outcome(step: str, item: str, round: int, attempt: int) -> StepFinished:
        if step in failed:
            return StepFinished(step, item, "failed", "it broke", fault=fault)  # type: ignore[arg-type]
        return done(step, item, round, attempt)

    return outcome


# Random graphs

ON_ERROR = ["stop", "skip", "continue"]


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    steps: list[Step] = []
    count = draw(st.integers(1, 9))
    for number in range(count):
        before = [f"s{one}" for one in range(number)]
        needs = (
            tuple(draw(st.lists(st.sampled_from(before), unique=True, max_size=3)))
            if before
            else ()
        )
        step = Step(
            f"s{number}",
            "run",
            "true",
            needs=needs,
            for_each=(1, 2, 3) if draw(st.integers(0, 3)) == 0 else "",
            fail_fast=draw(st.booleans()),
            condition="false" if draw(st.integers(0, 9)) == 0 else "",
            retry=Retry(draw(st.integers(1, 3))) if draw(st.booleans()) else None,
            on_error=draw(st.sampled_from(ON_ERROR)),
            redo=Redo(needs[0], "outputs.again", draw(st.integers(1, 2)))
            if needs and draw(st.integers(0, 2)) == 0
            else None,
        )
        steps.append(step)
    if len(steps) > 2 and draw(st.booleans()):  # one is for the failure of another
        steps.append(Step("mend", "run", "true"))
        at = draw(st.integers(0, len(steps) - 2))
        steps[at] = replace(steps[at], on_error="mend")
    return Workflow("w", tuple(steps), max_parallel=draw(st.integers(0, 3)))


def outcomes(seed: int) -> Outcome:
    """Ends that are the same however often the run is read again."""

    def outcome(step: str, item: str, round: int, attempt: int) -> StepFinished:
        chance = random.Random(f"{seed} {step} {item} {round} {attempt}")
        if chance.random() < 0.25:
            return StepFinished(step, item, "failed", "it broke", fault="error")
        outputs = {"again": chance.random() < 0.5, "n": chance.randrange(100)}
        return StepFinished(step, item, text="said", outputs=outputs, dollars=0.01)

    return outcome


@given(workflows(), st.integers(0, 1_000), st.integers(0, 1_000))
def test_w18_every_run_ends_once_and_no_step_starts_before_its_needs(
    workflow: Workflow, seed: int, order: int
) -> None:
    """PRE-10."""
    driver = Driver(workflow, outcomes(seed), random.Random(order))
    run = driver.to_the_end()
    assert sum(isinstance(event, RunFinished) for _, event in driver.log) == 1
    assert all(run.step(step.id).over for step in workflow.steps)
    assert not driver.step()
    most = workflow.max_parallel or 8
    assert driver.widest <= most
    stopping = [s.id for s in workflow.steps if s.on_error == "stop"]
    failed = any(run.step(id).state == "failed" for id in stopping)
    assert run.end is not None and (run.end.state == "failed") == failed
    for event in (event for _, event in driver.log):  # a failed try is never the step's end as done
        if isinstance(event, StepFinished) and event.state == "done":
            assert not event.fault


@given(workflows(), st.integers(0, 1_000), st.data())
def test_w15_a_run_read_again_after_any_event_ends_the_same(
    workflow: Workflow, seed: int, data: st.DataObject
) -> None:
    """Steps that have ended do not run again, and what is told again is told the same."""
    whole = Driver(workflow, outcomes(seed), random.Random(seed))
    whole.to_the_end()
    cut = data.draw(st.integers(1, len(whole.log)))
    again = Driver(workflow, outcomes(seed), random.Random(seed + 1), whole.log[:cut])
    before = {key for key, one in again.run.steps.items() if one.over}
    started = Counter((e.step, e.item) for _, e in again.log if isinstance(e, StepStarted))
    again.to_the_end()
    parallel = any(s.on_error in ("stop",) or s.for_each for s in workflow.steps)
    redone = any(isinstance(e, StepsRedone) for _, e in again.log[cut:])
    if not redone:
        now = Counter((e.step, e.item) for _, e in again.log if isinstance(e, StepStarted))
        assert all(now[key] == started[key] for key in before)
    if not parallel:  # else it depends on which one fails first
        assert again.ends() == whole.ends()
    assert again.run.end is not None and whole.run.end is not None
    if not parallel:
        assert again.run.end == whole.run.end


# One by one


def test_w18_a_failed_step_stops_the_run_and_the_rest_is_left_out() -> None:
    """PRE-13."""
    one = drive("  - {id: a, run: x}\n  - {id: b, run: x, needs: a}", failing("a"))
    assert one.run.end == RunFinished("failed", "a: it broke")
    assert (one.run.step("b").state, one.run.step("b").reason) == (
        "skipped",
        "The run stopped at a.",
    )


@pytest.mark.parametrize(
    ("on_error", "b", "end"), [("skip", "skipped", "done"), ("continue", "done", "done")]
)
def test_w5_a_failure_can_be_passed_over(on_error: str, b: str, end: str) -> None:
    steps = f"  - {{id: a, run: x, on_error: {on_error}}}\n  - {{id: b, run: x, needs: a}}"
    one = drive(steps, failing("a"))
    assert (one.run.step("b").state, one.run.end.state) == (b, end)  # type: ignore[union-attr]
    assert one.run.reason == "Failed, and passed over: a."


def test_w5_a_step_can_be_for_the_failure_of_another() -> None:
    steps = "  - {id: a, run: x, on_error: mend}\n  - {id: mend, run: y}"
    assert drive(steps, failing("a")).run.step("mend").state == "done"
    left = drive(steps).run.step("mend")
    assert (left.state, left.reason) == ("skipped", "Nothing failed in a.")


def test_w5_a_try_is_repeated_for_its_reasons_alone() -> None:
    def second(step: str, item: str, round: int, attempt: int) -> StepFinished:
        if attempt == 1:
            return StepFinished(step, item, "failed", "slow", fault="timeout")
        return done(step, item, round, attempt)

    steps = "  - {id: a, run: x, retry: {max: 2, wait: 5s, backoff: 2, on: [timeout]}}"
    one = drive(steps, second)
    assert [t.state for t in one.run.step("a").tries] == ["failed", "done"]
    assert one.run.end == RunFinished("done")
    other = drive(steps, failing("a"))
    assert len(other.run.step("a").tries) == 1


def test_w5_a_step_goes_back_until_it_holds_or_fails() -> None:
    def third(step: str, item: str, round: int, attempt: int) -> StepFinished:
        return StepFinished(step, item, outputs={"passed": round == 3})

    steps = (
        "  - {id: code, run: x}\n  - {id: docs, run: x, needs: code}\n"
        "  - {id: test, run: y, needs: code, "
        "redo: {from: code, when: not outputs.passed, max: MOST}}"
    )
    one = drive(steps.replace("MOST", "3"), third)
    assert [t.round for t in one.run.step("code").tries] == [1, 2, 3]
    assert one.run.step("docs").tries[-1].round == 3  # it needs what was done again
    assert one.run.end == RunFinished("done")
    other = drive(steps.replace("MOST", "1"), third)
    assert other.run.step("test").state == "failed"
    reason = "It went back to code once, and “not outputs.passed” still holds."
    assert other.run.step("test").reason == reason


def test_w5_items_run_side_by_side_within_their_bound() -> None:
    steps = (
        "  - {id: plan, run: x, outputs: {type: object}}\n"
        "  - {id: each, run: y, for_each: '${{ steps.plan.outputs.parts }}', max_parallel: 2}\n"
        "  - {id: all, run: z, if: 'len(steps.each.text) == 3'}"
    )

    def parts(step: str, item: str, round: int, attempt: int) -> StepFinished:
        if step == "plan":
            return StepFinished(step, item, outputs={"parts": ["a", "b", "a"]})
        return StepFinished(step, item, text=f"about {item}")

    one = drive(steps, parts)
    assert list(one.run.items["each"].values()) == ["a", "b", "a"]
    assert len({key for key in one.run.items["each"]}) == 3
    assert one.widest == 2 and one.run.step("all").state == "done"
    names = one.plan.values.names(one.run, one.workflow.step("all"))
    texts = [f"about {key}" for key in one.run.items["each"]]
    assert names["steps"]["each"]["text"] == texts  # type: ignore[index, call-overload]


@pytest.mark.parametrize(("fast", "left"), [("true", 1), ("false", 3)])
def test_w5_items_end_at_the_first_failure_or_all_run(fast: str, left: int) -> None:
    def first(step: str, item: str, round: int, attempt: int) -> StepFinished:
        return StepFinished(step, item, "failed", "broken", fault="error")

    steps = f"  - {{id: e, run: x, for_each: [1, 2, 3], max_parallel: 1, fail_fast: {fast}}}"
    one = drive(steps, first)
    assert sum(bool(one.run.step("e", key).tries) for key in one.run.items["e"]) == left
    assert one.run.step("e").reason == f"{left} of 3 items failed: broken"
    assert one.run.end is not None and one.run.end.state == "failed"


def test_w5_a_matrix_has_every_combination() -> None:
    matrix = "{os: [a, b], size: [1, 2], exclude: [{os: a, size: 2}], include: [{os: c}]}"
    one = drive(f"  - {{id: m, run: x, matrix: {matrix}}}")
    found = list(one.run.items["m"].values())
    assert found == [
        {"os": "a", "size": 1},
        {"os": "b", "size": 1},
        {"os": "b", "size": 2},
        {"os": "c"},
    ]


def test_w19_a_paused_run_starts_nothing_and_goes_on() -> None:
    driver = Driver(of_text("  - {id: a, run: x}\n  - {id: b, run: x, needs: a}"), done)
    driver.record(RunPaused("you paused it"))
    assert not driver.step() and driver.run.state == "paused"
    driver.record(RunResumed())
    assert driver.to_the_end().state == "done"


def test_w7_an_expression_that_cannot_be_computed_fails_its_step() -> None:
    one = drive("  - {id: a, run: x}\n  - {id: b, run: y, if: steps.a.outputs.x.y > 1}")
    assert one.run.step("b").state == "failed" and "“x”" in one.run.step("b").reason
    assert one.run.step("b").state in OVER


def test_w7_outputs_of_the_workflow_are_computed_at_the_end() -> None:
    top = "outputs: {said: '${{ steps.a.text }}', missing: '${{ steps.b.outputs.x }}'}\n"
    one = drive("  - {id: a, run: x}\n  - {id: b, run: y, if: false}", done, top)
    assert one.run.end == RunFinished("done", "", {"said": "a said it", "missing": None})


def test_a_circle_through_a_failure_is_found() -> None:
    steps = "  - {id: a, run: x, needs: b, on_error: b}\n  - {id: b, run: x}"
    assert set(Plan(of_text(steps)).circle) == {"a", "b"}


def test_w5_a_step_is_told_what_the_judge_of_this_round_found() -> None:
    steps = """\
  - {id: w, run: x}
  - {id: polish, run: x, needs: w}
  - {id: j1, run: x, needs: polish, redo: {from: polish, when: "true", max: 3}}
  - {id: j2, run: x, needs: j1, for_each: [a, b], redo: {from: w, when: "true", max: 3}}
"""
    plan, log = Plan(of_text(steps)), list[tuple[float, RunEvent]]()

    def did(step: str, text: str, item: str = "") -> None:
        round = Run(log).round_of(step)
        log.append((0.0, StepStarted(step, item, round)))
        log.append((0.0, StepFinished(step, item, text=text)))

    log.append((0.0, RunStarted("r", "w", "d")))
    did("w", "w1")
    did("polish", "p1")
    did("j1", "It is too long.")
    log.append((0.0, StepsRedone("polish", "j1", plan.behind("polish"))))
    did("polish", "p2")
    found = plan.values.sent_back(Run(log), plan.workflow.step("polish"), "")
    assert found.startswith("You did this before") and "It is too long." in found
    did("j1", "All is fine now.")
    log.append((0.0, ItemsFound("j2", ("a", "b"))))
    for key, said in zip(item_keys(["a", "b"]), ("The start is wrong.", "Dull."), strict=True):
        did("j2", said, key)
    log.append((0.0, StepFinished("j2")))
    log.append((0.0, StepsRedone("w", "j2", plan.behind("w"))))
    found = plan.values.sent_back(Run(log), plan.workflow.step("w"), "")
    assert found.endswith("The start is wrong.\n\nDull.")
    did("w", "w2")
    assert not plan.values.sent_back(
        Run(log), plan.workflow.step("polish"), ""
    )  # nobody sent it back


@pytest.mark.parametrize("seed", range(5))
def test_w14_a_graph_of_200_steps_takes_as_long_as_its_longest_way(seed: int) -> None:
    """By a clock that only the steps move: nothing waits for a group of steps to end."""
    chance, lines, takes, ends = random.Random(seed), list[str](), dict[str, float](), list[float]()
    for at in range(200):
        needs = sorted({chance.randrange(max(0, at - 40), at) for _ in range(2)}) if at > 4 else []
        takes[f"s{at}"] = chance.uniform(0.5, 1.5)
        ends.append(max((ends[one] for one in needs), default=0.0) + takes[f"s{at}"])
        named = f", needs: [{', '.join(f's{one}' for one in needs)}]" if needs else ""
        lines.append(f"  - {{id: s{at}, agent: A, prompt: x{named}}}")
    plan, run, now = Plan(of_text("\n".join(lines), "max_parallel: 100\n")), Run(), 0.0
    run.apply(now, RunStarted("r", "w", "d"))
    begun: dict[str, float] = {}
    while run.end is None:
        decision = plan.next(run, now)
        for start in decision.starts:
            begun[start.step.id] = now
            run.apply(now, StepStarted(start.step.id, attempt=start.attempt, session_id="s"))
        for event in decision.events:
            run.apply(now, event)
        if decision.starts or decision.events:
            continue
        now, step = min((begun[one.step] + takes[one.step], one.step) for one in run.busy)
        for event in plan.finished(run, done(step, "", 1, 1), now):
            run.apply(now, event)
    assert run.end.state == "done"
    assert now == pytest.approx(max(ends))


@pytest.mark.parametrize("before", [2, 200])
def test_w14_what_a_step_begins_with_does_not_grow_with_the_steps_before_it(before: int) -> None:
    """Its prompt needs the results that it names, and its start none where no breakpoint is."""
    lines = [f"  - {{id: s{at}, agent: A, prompt: x}}" for at in range(before)]
    needs = ", ".join(f"s{at}" for at in range(before))
    prompt = "Of ${{ steps.s1.text }}"
    lines.append(f"  - {{id: last, agent: A, needs: [{needs}], prompt: '{prompt}'}}")
    plan, run = Plan(of_text("\n".join(lines))), Run()
    run.apply(0.0, RunStarted("r", "w", "d"))
    for at in range(before):
        run.apply(0.0, StepStarted(f"s{at}", session_id="s"))
        run.apply(0.0, StepFinished(f"s{at}", text=f"Text {at}"))
    last = plan.workflow.step("last")
    starts = [Start(last, "", 1)]
    calls = list[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(count)
    try:
        said, begin = plan.values.prompt(run, last, ""), begin_or_stop(plan, run, starts)
    finally:
        sys.setprofile(None)
    assert (said, begin) == ("Of Text 1", starts)
    assert calls.count("_result_of") == 1, "only of the step that it names"
    assert len(plan.values.names(run, last)["steps"]) == before, "all can be asked for"
