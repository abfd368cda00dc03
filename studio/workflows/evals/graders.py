"""Graders: grade an answer where nobody has to be asked (W-58).

What a model wrote is never evaluated: it is a value that expressions and patterns look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import regex

from studio.agent.loop.structured_output import parse_answer
from studio.agent.usage_costs import format_dollars
from studio.domain.evals import Case, Grade, Grader
from studio.domain.jsonvalue import Json, JsonObject
from studio.workflows.expressions import (
    ExpressionError,
    as_words,
    parse_expression,
    parse_template,
)

JUDGES = ("grader", "pairwise")
"""Kinds of graders that ask an agent."""
ASKED = ("command", *JUDGES)
"""Kinds of graders whose verdict comes from a run."""
PATIENCE = 2.0
"""Seconds that a pattern may take for one answer."""
_SHOWN = 200


def grade(grader: Grader, item: Mapping[str, Json]) -> Grade:
    """The grade of an answer; ``item`` has the case, the answer, what it cost and took. Blocks."""
    try:
        wrong = _wrong(grader, item)
    except ExpressionError as error:
        wrong = f"The grader cannot be computed: {error}."
    return Grade(grader.kind, grader.label, not wrong, wrong)


def _wrong(grader: Grader, item: Mapping[str, Json]) -> str:
    """What is wrong with an answer, in words; empty for nothing. Raises ExpressionError."""
    answer, names = str(item["answer"]), {"item": dict(item)}
    target: Any = grader.target
    match grader.kind:
        case "equals":
            wanted = as_words(_filled(target, names)).strip()
            return "" if answer.strip() == wanted else f"It is not “{wanted[:_SHOWN]}”."
        case "contains":
            wanted = as_words(_filled(target, names))
            return "" if wanted in answer else f"It does not contain “{wanted[:_SHOWN]}”."
        case "pattern":
            try:
                found = regex.search(str(target), answer, timeout=PATIENCE)
            except TimeoutError:
                return f"The pattern takes longer than {PATIENCE:g} s."
            return "" if found else f"It does not match {str(target)[:_SHOWN]}."
        case "schema":
            try:
                parse_answer(answer, cast("JsonObject", target))
            except ValueError as error:
                return f"It does not fit the schema: {error}."
            return ""
        case "expression":
            holds = parse_expression(str(target)).evaluate(names)
            return "" if holds else f"“{str(target)[:_SHOWN]}” does not hold."
        case "cost":
            cost = item.get("dollars")
            if not isinstance(cost, int | float):
                return "No price is known for its model."
            return "" if cost <= target else f"It cost {format_dollars(cost)}."
        case "time":
            took = item.get("seconds")
            fits = isinstance(took, int | float) and took <= target
            return "" if fits else f"It took {took} s."
        case _:
            raise AssertionError(grader.kind)


def target_words(grader: Grader, case: Case) -> str:
    """What a grader wants of an answer to a case, as far as that does not depend on the answer."""
    if grader.kind in ("equals", "contains", "command"):
        with suppress(ExpressionError):
            return as_words(_filled(grader.target, {"item": values_of(case)}))
    return as_words(grader.target)


def values_of(case: Case) -> JsonObject:
    """What prompts and graders know of a case."""
    return {**case.values, "id": case.id, "title": case.label}


def _filled(target: Json, names: Mapping[str, Json]) -> Json:
    return parse_template(target).evaluate(names) if isinstance(target, str) else target
