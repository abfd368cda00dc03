"""The events of runs and their fold (W-18)."""

from __future__ import annotations

import json
from typing import get_args

from studio.domain import run_events
from studio.domain.agents import Caps
from studio.domain.codec import decode_run_event, encode_event
from studio.domain.events import Exposed
from studio.domain.items import ItemTally
from studio.domain.run_events import RunEvent, RunQuestion
from studio.domain.runs import Run, item_keys

ASKED = RunQuestion("q", "ask", "Which?", form={"type": "object"}, choices=("a", "b"))
SAMPLES: list[RunEvent] = [
    run_events.RunStarted("r", "Release", "d", "a.md", "/tmp", {"tag": "v1"}, Caps(10, 2.5), 3),
    run_events.StepEdited("each", "Look again.", model="big"),
    run_events.StepQueued("plan"),
    run_events.StepStarted("plan", session_id="s1"),
    run_events.StepAsked("plan", "", ASKED),
    run_events.StepAnswered("plan", "", "q", {"which": ["a"]}, "the window"),
    run_events.StepFinished(
        *("plan", "", "done", "", "Two parts.", {"parts": ["a", "b"]}),
        tokens=7,
        dollars=0.5,
        seconds=2.0,
        exposed=(Exposed("untrusted", "a page"),),
    ),
    run_events.ItemsFound("each", ("a", "b")),
    run_events.StepStarted("each", item_keys(["a"])[0], session_id="s2"),
    run_events.ItemsQueued("many", 9_000, 10, "rows"),
    run_events.ItemsCounted("many", ItemTally(9_000, 20, 1, tried_again={"overloaded": 2})),
    run_events.CapReached("run", "each", item_keys(["a"])[0], "Your limit is reached."),
    run_events.RunPaused("Your limit is reached.", "run"),
    run_events.CapRaised(Caps(20, 5.0)),
    run_events.RunResumed(),
    run_events.StepResumed("each", item_keys(["a"])[0], "The limit was raised."),
    run_events.StepFinished("each", item_keys(["a"])[0], "failed", "broke", dollars=None),
    run_events.RetryPlanned("each", item_keys(["a"])[0], 99.0),
    run_events.RunSteered("Look at the clock."),
    run_events.CycleEnded(1, (run_events.CheckResult("done-1", "Tests", True, "ok"),), "ab"),
    run_events.CycleStarted(2, ("done-1",)),
    run_events.StepsRedone("plan", "each", ("plan", "each")),
    run_events.StepLinked(
        *("told", "", "before", "done", "", "Told.", {"ok": True}),
        tokens=9,
        dollars=1.0,
        seconds=3.0,
        exposed=(Exposed("private", "a file"),),
        session_id="s3",
        edited=True,
    ),
    run_events.BreakpointSet("plan", "after", "outputs.x > 1"),
    run_events.BreakpointCleared("plan", "after"),
    run_events.BreakpointReached("plan", "", "before", "Stopped before plan."),
    run_events.ResultEdited("plan", "", "Three parts.", {"parts": ["a", "b", "c"]}),
    run_events.StepChanged("plan", "", (run_events.ChangedFile("a.py", "", "12"),), ("link",)),
    run_events.StepInTurns("plan", "", "The folder is too large."),
    run_events.RunDrafted("s9"),
    run_events.RunQueued("It waits for Release, run 2."),
    run_events.StepHeld("plan"),
    run_events.StepReleased("plan"),
    run_events.RunFinished("stopped", "You stopped it.", {"x": None}),
]


def test_every_event_survives_json() -> None:
    assert {type(event) for event in SAMPLES} == set(get_args(RunEvent))
    for event in SAMPLES:
        assert decode_run_event(json.loads(json.dumps(encode_event(event)))) == event
    before = {"event": "run_paused", "reason": "Your limit is reached."}
    assert decode_run_event(before) == run_events.RunPaused("Your limit is reached.")


def test_w18_the_fold_tells_states_and_costs() -> None:
    run, states = Run(), list[str]()
    for number, event in enumerate(SAMPLES):
        run.apply(float(number), event)
        states.append(run.state)
    assert states[1:7] == ["running", "running", "running", "needs_you", "running", "running"]
    assert states[12:14] == ["paused", "paused"] and states[-1] == "stopped"
    assert (run.tokens, run.dollars, run.reason) == (7, 0.5, "You stopped it.")
    plan, (first, second) = run.step("plan"), item_keys(["a", "b"])
    assert (plan.text, plan.outputs) == ("Three parts.", {"parts": ["a", "b", "c"]})
    assert run.passed == {("plan", "", 2)} and run.stopped is None and not run.breakpoints
    assert (plan.tries[0].began, plan.tries[0].ended, plan.session_id) == (3.0, 6.0, "s1")
    assert (plan.state, run.round_of("plan"), run.redone) == ("waiting", 2, {"each": 1})
    assert run.step("each", first).last is not None and not run.step("each", second).tries
    assert run.caps == {"": Caps(20, 5.0)} and run.answers == {"q": {"which": ["a"]}}


def test_w30_what_is_linked_has_its_result_and_counts_elsewhere() -> None:
    run = Run(enumerate(SAMPLES))
    told = run.step("told")
    assert (told.state, told.text, told.outputs, told.linked) == (
        *("done", "Told.", {"ok": True}),
        "before",
    )
    assert told.last is not None and (told.last.tokens, told.last.dollars) == (9, 1.0)
    assert (told.tokens, told.dollars) == (0, 0.0)
    edited = run_events.StepEdited("each", agent="Coder")
    run.apply(100.0, edited)
    assert run.edits == {"each": run_events.StepEdited("each", "Look again.", "Coder", "big")}


def test_equal_items_have_their_own_keys() -> None:
    keys = item_keys([{"a": 1, "b": 2}, "x", {"a": 1, "b": 2}, None, "\ud800"])
    assert len(set(keys)) == 5 and keys[2] == f"{keys[0]}-2"
    assert keys[:2] == item_keys([{"a": 1, "b": 2}, "x"])
