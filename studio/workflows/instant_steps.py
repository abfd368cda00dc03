"""Instant steps: what comes of those that take no time of the computer (W-5).

``set`` and ``check`` are over at once, ``approve`` and ``ask`` wait for the person.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunQuestion, StepAsked, StepFinished
from studio.domain.workflows import Step

from .expressions import as_words
from .step_values import StepValues


def result_or_question(
    values: StepValues, step: Step, item: str, names: Mapping[str, Json], path: tuple[str, ...]
) -> StepFinished | StepAsked:
    """The end of a step, or what it asks; ``names`` are those that its expressions know.

    Raises ExpressionError.
    """
    match step.kind:
        case "set":
            outputs = values.fill_all(dict(step.inputs), names)
            return StepFinished(step.id, item, text=as_words(outputs), outputs=outputs)
        case "check":
            holds = bool(values.compute(step.target, names))
            done = StepFinished(step.id, item, outputs={"passed": holds})
            if not holds:
                reason = f"“{step.target}” does not hold."
                done = replace(done, state="failed", reason=reason, fault="invalid")
            return done
        case _:
            kind = "approve" if step.kind == "approve" else "ask"
            text = as_words(values.fill(step.target, names))
            question = RunQuestion(uuid.uuid4().hex, kind, text, form=step.form, path=path)
            return StepAsked(step.id, item, question)


def approved(step: str, item: str, yes: bool) -> StepFinished:
    """The end of a step that asked for approval."""
    outputs: Json = {"approved": yes}
    if yes:
        return StepFinished(step, item, outputs=outputs)
    return StepFinished(step, item, "stopped", "You did not approve it.", "", outputs)
