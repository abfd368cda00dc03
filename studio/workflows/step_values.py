"""Step values: what the expressions of a workflow's steps know, and the words they make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, cast

from studio.agent.prompts import REDO_STEP
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.runs import Run, StepRun
from studio.domain.workflows import Step, Workflow
from studio.tools.sdk.result import shorten

from .command_line import fill_command
from .expressions import (
    Expression,
    ExpressionError,
    Reads,
    as_words,
    parse_expression,
    parse_template,
)

MOST_ITEMS = 100_000
LISTED = ("outputs", "text", "state", "cost")
"""What is known of each item of a step."""
LONGEST_RESULT = 8_000
"""Characters of a result that a step is told when it is done again."""


class StepValues:
    """The values of one workflow's steps; ``before`` has the steps that each one may read.

    ``reads`` are the functions of expressions that read files.
    """

    def __init__(
        self,
        workflow: Workflow,
        before: Mapping[str, frozenset[str]],
        reads: Mapping[str, Reads] | None = None,
    ) -> None:
        self.reads = reads or {}
        self.listed: dict[str, JsonObject] = {}
        """The results of steps whose items are in the table of items."""
        self._workflow = workflow
        self._steps = {step.id: step for step in workflow.steps}
        self._before = before

    def names(
        self,
        run: Run,
        step: Step | None = None,
        item: str = "",
        of: Iterable[Expression] | None = None,
    ) -> dict[str, Json]:
        """What expressions of a step know, or those of the whole file.

        With ``of`` only what these expressions name: a step may have hundreds before it.
        """
        assert run.started is not None
        known: Iterable[str] = self._steps if step is None else self._before[step.id]
        if of is not None and (named := _steps_in(of)) is not None:
            known = [id for id in named if id in known]
        names: dict[str, Json] = {
            "inputs": run.started.inputs,
            "steps": {id: self._result(run, self._steps[id]) for id in known},
            "run": {
                "id": run.id,
                "number": run.started.number,
                "folder": run.started.folder,
                "started": run.began,
            },
        }
        if item and step is not None:
            names |= {"item": run.items[step.id][item], "key": item}
        return names

    def fill(self, template: str, names: Mapping[str, Json]) -> Json:
        """A text with its expressions computed; raises ExpressionError."""
        return parse_template(template).evaluate(names, self.reads)

    def fill_all(self, value: Json, names: Mapping[str, Json]) -> Json:
        """A value in whose texts expressions are computed; raises ExpressionError."""
        match value:
            case str():
                return self.fill(value, names)
            case dict():
                return {key: self.fill_all(one, names) for key, one in value.items()}
            case list():
                return [self.fill_all(one, names) for one in value]
            case _:
                return value

    def compute(self, expression: str, names: Mapping[str, Json]) -> Json:
        """The value of an expression; raises ExpressionError."""
        return parse_expression(expression).evaluate(names, self.reads)

    def prompt(self, run: Run, step: Step, item: str) -> str:
        """What a step's agent is told; raises ExpressionError."""
        of = (one for _, one in parse_template(step.prompt).expressions)
        return self.words(step.prompt, self.names(run, step, item, of))

    def words(self, template: str, names: Mapping[str, Json]) -> str:
        """A text with its expressions computed, in words; raises ExpressionError."""
        return as_words(self.fill(template, names))

    def sent_back(self, run: Run, step: Step, item: str) -> str:
        """What a step is told beside its prompt where another one sent the run back to it.

        Empty where none did.
        """
        by = run.sent_back.get(step.id, "")
        earlier = [
            one for one in run.step(step.id, item).tries if one.round < run.round_of(step.id)
        ]
        if not by or not earlier:
            return ""
        judge, result = run.step(by).last, earlier[-1]
        judged = [
            one.last
            for one in run.steps.values()
            if one.step == by and one.last and judge and one.last.round == judge.round
        ]
        found = "\n\n".join(filter(None, (one.text or one.reason for one in judged)))
        return REDO_STEP.format(
            by=self._steps[by].label,
            result=shorten(result.text or result.reason, LONGEST_RESULT),
            found=shorten(found, LONGEST_RESULT),
        )

    def command(self, run: Run, step: Step, item: str) -> str:
        """A step's command line, each expression in it a part of one word of the shell.

        Raises ExpressionError.
        """
        return fill_command(step.target, self.names(run, step, item), self.reads)

    def items(self, run: Run, step: Step) -> tuple[Json, ...]:
        """The items of a step; raises ExpressionError."""
        if step.matrix:
            return tuple(_combinations(step.matrix))
        if not isinstance(step.for_each, str):
            return step.for_each
        found = self.compute(step.for_each, self.names(run, step))
        if not isinstance(found, list):
            raise ExpressionError(
                "for_each needs a list, and “{text}” is none", 0, {"text": step.for_each}
            )
        if len(found) > MOST_ITEMS:
            raise ExpressionError(
                "for_each takes {most} items at most", 0, {"most": f"{MOST_ITEMS:,}"}
            )
        return tuple(found)

    def goes_back(self, run: Run, step: Step, outputs: Json) -> bool:
        """Whether this result sends the run back, as the step's ``redo`` says."""
        assert step.redo is not None
        names = self.names(run, step) | {"outputs": outputs}
        if step.id in run.items or step.id in self.listed:
            result = cast("dict[str, Any]", self._result(run, step))
            names["outputs"] = result["outputs"]
        try:
            return bool(self.compute(step.redo.when, names))
        except ExpressionError:  # it has no such output
            return False

    def outputs(self, run: Run) -> JsonObject:
        """The outputs of the workflow; null where a step that one needs has no result."""
        names, outputs = self.names(run), dict[str, Json]()
        for name, template in self._workflow.outputs.items():
            try:
                outputs[name] = self.fill(template, names)
            except ExpressionError:
                outputs[name] = None
        return outputs

    def _result(self, run: Run, step: Step) -> Json:
        if (listed := self.listed.get(step.id)) is not None:
            return listed
        keys = run.items.get(step.id)
        if keys is None:
            return _result_of(run.step(step.id))
        parts = [_result_of(run.step(step.id, key)) for key in keys]
        return {name: [part[name] for part in parts] for name in LISTED}


def _steps_in(expressions: Iterable[Expression]) -> list[str] | None:
    """The steps that expressions name; None where one may look at any of them."""
    paths = [one.path for found in expressions for one in found.references]
    paths = [path for path in paths if path[:1] == ("steps",)]
    if any(len(path) < 2 for path in paths):
        return None
    return list(dict.fromkeys(str(path[1]) for path in paths))


def _result_of(one: StepRun) -> dict[str, Json]:
    return {"outputs": one.outputs, "text": one.text, "state": one.state, "cost": one.dollars}


def _combinations(matrix: Mapping[str, tuple[Json, ...]]) -> Iterator[JsonObject]:
    """Each value of each name with each of the others.

    ``include`` has further combinations, ``exclude`` those that are left out, also in part.
    """
    axes = {name: values for name, values in matrix.items() if name not in ("include", "exclude")}
    excluded = [cast("JsonObject", one) for one in matrix.get("exclude", ())]
    for values in product(*axes.values()):
        one: JsonObject = dict(zip(axes, values, strict=True))
        if not any(other.items() <= one.items() for other in excluded):
            yield one
    yield from (cast("JsonObject", one) for one in matrix.get("include", ()))
