"""The events of runs and their fold (W-18)."""

from __future__ import annotations

import json
from typing import get_args

from studio.domain import runs
from studio.domain.agents import Caps
from studio.domain.codec import decode_run_event, encode_event
from studio.domain.events import Exposed
from studio.domain.runs import Run, RunEvent, RunQuestion

ASKED = RunQuestion("q", "ask", "Which?", form={"type": "object"}, choices=("a", "b"))
SAMPLES: list[RunEvent] = [
    runs.RunStarted("r", "Release", "d", "a.md", "/tmp", {"tag": "v1"}, Caps(10, 2.5), 3),
    runs.StepEdited("each", "Look again.", model="big"),
    runs.StepQueued("plan"),
    runs.StepStarted("plan", session_id="s1"),
    runs.StepAsked("plan", "", ASKED),
    runs.StepAnswered("plan", "", "q", {"which": ["a"]}, "the window"),
    runs.StepFinished(
        *("plan", "", "done", "", "Two parts.", {"parts": ["a", "b"]}),
        tokens=7,
        dollars=0.5,
        seconds=2.0,
        exposed=(Exposed("untrusted", "a page"),),
    ),
    runs.ItemsFound("each", ("a", "b")),
    runs.StepStarted("each", runs.item_keys(["a"])[0], session_id="s2"),
    runs.CapReached("run", "each", runs.item_keys(["a"])[0], "Your limit is reached."),
    runs.RunPaused("Your limit is reached."),
    runs.CapRaised(Caps(20, 5.0)),
    runs.RunResumed(),
    runs.StepResumed("each", runs.item_keys(["a"])[0], "The limit was raised."),
    runs.StepFinished("each", runs.item_keys(["a"])[0], "failed", "broke", dollars=None),
    runs.RetryPlanned("each", runs.item_keys(["a"])[0], 99.0),
    runs.StepsRedone("plan", "each", ("plan", "each")),
    runs.StepLinked(
        *("told", "", "before", "done", "", "Told.", {"ok": True}),
        tokens=9,
        dollars=1.0,
        seconds=3.0,
        exposed=(Exposed("private", "a file"),),
        session_id="s3",
        edited=True,
    ),
    runs.BreakpointSet("plan", "after", "outputs.x > 1"),
    runs.BreakpointCleared("plan", "after"),
    runs.BreakpointReached("plan", "", "before", "Stopped before plan."),
    runs.ResultEdited("plan", "", "Three parts.", {"parts": ["a", "b", "c"]}),
    runs.StepChanged("plan", "", (runs.ChangedFile("a.py", "", "12"),), ("link",)),
    runs.StepInTurns("plan", "", "The folder is too large."),
    runs.RunDrafted("s9"),
    runs.StepHeld("plan"),
    runs.StepReleased("plan"),
    runs.RunFinished("stopped", "You stopped it.", {"x": None}),
]


def test_every_event_survives_json() -> None:
    assert {type(event) for event in SAMPLES} == set(get_args(RunEvent))
    for event in SAMPLES:
        assert decode_run_event(json.loads(json.dumps(encode_event(event)))) == event


def test_w18_the_fold_tells_states_and_costs() -> None:
    run, states = Run(), list[str]()
    for number, event in enumerate(SAMPLES):
        run.apply(float(number), event)
        states.append(run.state)
    assert states[1:7] == ["running", "running", "running", "needs_you", "running", "running"]
    assert states[10:12] == ["paused", "paused"] and states[-1] == "stopped"
    assert (run.tokens, run.dollars, run.reason) == (7, 0.5, "You stopped it.")
    plan, (first, second) = run.step("plan"), runs.item_keys(["a", "b"])
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
    edited = runs.StepEdited("each", agent="Coder")
    run.apply(100.0, edited)
    assert run.edits == {"each": runs.StepEdited("each", "Look again.", "Coder", "big")}


def test_equal_items_have_their_own_keys() -> None:
    keys = runs.item_keys([{"a": 1, "b": 2}, "x", {"a": 1, "b": 2}, None, "\ud800"])
    assert len(set(keys)) == 5 and keys[2] == f"{keys[0]}-2"
    assert keys[:2] == runs.item_keys([{"a": 1, "b": 2}, "x"])
