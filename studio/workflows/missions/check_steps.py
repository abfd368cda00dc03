"""Check steps: the checks of a mission as steps of its run, and which of them pass (W-48, W-52).

They come after all steps of the file, look at what these changed, and change nothing themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from studio.agent.prompts import GRADE
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.run_events import CheckResult, StepFinished
from studio.domain.runs import Run
from studio.domain.workflows import Check, Step, Workflow
from studio.tools.sdk.argument_check import violations

VERDICT: JsonObject = {
    "type": "object",
    "properties": {"passed": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["passed", "reason"],
}
"""What a grader answers."""
LONGEST_WORDS = 4_000
"""Characters of what a check printed, from its end, that the next cycle is told."""


def with_checks(workflow: Workflow) -> Workflow:
    """The workflow as a mission runs it: with a step for each check, and desks for who writes."""
    if not workflow.done_when:
        return workflow
    work = tuple(step.id for step in workflow.steps)
    names = [f"done-{number}" for number in range(1, len(workflow.done_when) + 1)]
    others = tuple(
        name
        for name, check in zip(names, workflow.done_when, strict=True)
        if check.kind != "grader"
    )
    checks = [
        _step(name, check, (*work, *others) if check.kind == "grader" else work)
        for name, check in zip(names, workflow.done_when, strict=True)
    ]
    # On its desk a step keeps its own changes from cycle to cycle, and checks see them.
    own = [
        replace(step, desk="own") if step.kind == "agent" and step.desk == "auto" else step
        for step in workflow.steps
    ]
    return replace(workflow, steps=(*own, *checks))


def _step(name: str, check: Check, needs: tuple[str, ...]) -> Step:
    step = Step(
        *(name, "check", check.target, check.label),
        needs=needs,
        timeout=check.timeout,
        effects="repeatable",
        on_error="continue",
        proves=check,
    )
    match check.kind:
        case "run":
            return replace(step, kind="run")
        case "grader":
            prompt = GRADE.format(question=check.prompt or "Is what was asked for reached?")
            return replace(step, kind="agent", prompt=prompt, outputs=VERDICT)
        case _:
            return step


def why_not_looked(workflow: Workflow, run: Run, step: Step) -> str:
    """Why a check is not looked at in this cycle; empty if it is."""
    if step.proves is None or step.proves.kind != "grader":
        return ""
    others = (one for one in workflow.steps if one.proves and one.proves.kind != "grader")
    failing = next((one for one in others if not passes(run, one)), None)
    return f"{failing.label} does not pass." if failing is not None else ""


def passes(run: Run, step: Step) -> bool:
    """Whether a check passes, as it was looked at last."""
    check, one = step.proves, run.step(step.id)
    outputs = one.outputs if isinstance(one.outputs, dict) else {}
    match check.kind if check is not None else "":
        case "run":
            ended = one.state in ("done", "failed")
            return ended and outputs.get("exit_code") == (check.exit_code if check else 0)
        case "grader":
            return one.state == "done" and outputs.get("passed") is True
        case _:
            return one.state == "done"


def results(workflow: Workflow, run: Run) -> tuple[CheckResult, ...]:
    """What came of the checks of the present cycle."""
    return tuple(
        CheckResult(step.id, step.label, passes(run, step), _words(run, step))
        for step in workflow.steps
        if step.proves is not None
    )


def _words(run: Run, step: Step) -> str:
    one = run.step(step.id)
    outputs = one.outputs if isinstance(one.outputs, dict) else {}
    parts = [one.reason]
    if one.state == "skipped":  # what it said is of an earlier cycle
        return one.reason
    if step.kind == "run":
        parts.append(one.text[-LONGEST_WORDS:])
    elif "reason" in outputs:
        parts.append(str(outputs["reason"])[:LONGEST_WORDS])
    return "\n".join(filter(None, parts))


def look_at_file(step: Step, content: bytes | None) -> StepFinished:
    """The end of a step that looks at a file; ``content`` is None where there is none."""
    problem = next(_problems(step, content), "")
    done = StepFinished(step.id, outputs={"passed": not problem})
    return replace(done, state="failed", reason=problem, fault="invalid") if problem else done


def _problems(step: Step, content: bytes | None) -> Iterator[str]:
    check = step.proves
    assert check is not None
    if content is None:
        yield f"There is no file {check.target}."
        return
    if check.schema is None:
        return
    try:
        value = cast("Json", json.loads(content.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        yield f"{check.target} is no JSON: {error}."
        return
    if wrong := violations(check.schema, value):
        yield f"{check.target} does not fit its schema: {'; '.join(wrong)}."
