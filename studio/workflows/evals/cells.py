"""Cells: tell what each cell of an eval is made from, and make the runs that fill the record.

A key is the digest of all that an answer or a verdict is made from: the case as it is put, who
answers with its file, its model, the try; of verdicts the answer and the grader (W-58).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from studio.agent.prompts import EVAL_GRADE, EVAL_PAIR
from studio.domain.errors import ConfigurationError
from studio.domain.evals import Case, Cell, Eval, Grade, Grader, Variant
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import canonical_json, digest
from studio.domain.records import dataclass
from studio.workflows.expressions import ExpressionError, as_words, parse_template
from studio.workflows.missions.check_steps import VERDICT

from .graders import ASKED, JUDGES, grade, values_of

PAIR: JsonObject = {
    "type": "object",
    "properties": {
        "better": {"type": "string", "enum": ["first", "second", "same"]},
        "reason": {"type": "string"},
    },
    "required": ["better", "reason"],
}
"""What an agent that compares answers."""
CELL = "cell"
"""The name in an item that has its key."""
JUDGED = "judged"
"""The name that items of agents that judge have: where one fails, nothing is told."""


@dataclass(frozen=True, slots=True)
class Worker:
    """Who answers or judges: ``parts`` are the digests of its file and what belongs to it."""

    agent: str
    provider: str
    model: str
    parts: str

    @property
    def digest(self) -> Json:
        return [self.agent, self.provider, self.model, self.parts]


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a case by a variant; ``words`` are what its agent is told."""

    variant: Variant
    case: Case
    number: int
    words: str
    key: str

    @property
    def place(self) -> tuple[str, str]:
        return self.case.id, self.variant.id


@dataclass(frozen=True, slots=True)
class Asked:
    """A verdict of a grader that a run tells. ``first``: the answer is the first of a pair."""

    key: str
    grader: Grader
    item: JsonObject
    first: bool = False


def chosen_cells(one: Eval, names: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Cases with a variant, from ``CASE:VARIANT`` or ``CASE`` for all of its variants.

    Raises ConfigurationError for what the eval does not have.
    """
    cases, variants = [each.id for each in one.cases], [each.id for each in one.variants]
    found: set[tuple[str, str]] = set()
    for name in names:
        if name in cases:  # its id may have a colon
            found.update((name, variant) for variant in variants)
            continue
        case, colon, variant = name.rpartition(":")
        if not colon or case not in cases:
            raise ConfigurationError(f"{one.name} has no case {case or name}.")
        if variant not in variants:
            raise ConfigurationError(
                f"{one.name} has no variant {variant}. It has {', '.join(variants)}."
            )
        found.add((case, variant))
    return frozenset(found)


def tries(one: Eval, workers: Mapping[str, Worker], folder: str) -> list[Try]:
    """All cells, by case; raises ConfigurationError for a prompt that cannot be filled in."""
    found: list[Try] = []
    for case in one.cases:
        for variant in one.variants:
            words = words_of(variant, case)
            made: list[Json] = ["answer", case.id, words, workers[variant.id].digest, folder]
            for number in range(1, one.repeats + 1):
                key = digest(canonical_json([*made, number]))
                found.append(Try(variant, case, number, words, key))
    return found


def words_of(variant: Variant, case: Case) -> str:
    """What the agent of a variant is told; raises ConfigurationError."""
    try:
        return as_words(parse_template(variant.prompt).evaluate({"item": values_of(case)}))
    except ExpressionError as error:
        raise ConfigurationError(
            f"The prompt of {variant.label} cannot be filled in for the case {case.id}: {error}."
        ) from error


def item_of(one: Try, answer: JsonObject) -> JsonObject:
    """What graders know of an answer."""
    known = {name: answer.get(name) for name in ("dollars", "seconds", "tokens")}
    return {**values_of(one.case), "answer": str(answer.get("text", "")), **known}


def cell(one: Try, answers: Mapping[str, JsonObject], baseline: str) -> Cell:
    """A cell without the verdicts that runs tell, of what the record has."""
    answer = answers.get(one.key)
    if answer is None:
        return Cell(one.variant.id, one.case.id, one.number, one.key, answered=False)
    item, reason = item_of(one, answer), str(answer.get("reason", ""))
    grades: list[Grade] = []
    for grader in one.case.graders:
        if grader.kind == "pairwise" and one.variant.id == baseline:
            grades.append(Grade(grader.kind, grader.label, True, "It is what others stand beside."))
        elif reason:
            grades.append(Grade(grader.kind, grader.label, False, reason))
        elif grader.kind in ASKED:
            grades.append(Grade(grader.kind, grader.label, None))
        else:
            grades.append(grade(grader, item))
    return Cell(
        *(one.variant.id, one.case.id, one.number, one.key),
        answered=True,
        grades=_not_in_vain(grades),
        text=str(answer.get("text", "")),
        reason=reason,
        dollars=cast("float | None", answer.get("dollars")),
        seconds=cast("float", answer.get("seconds", 0.0)),
        session_id=str(answer.get("session", "")),
    )


def _not_in_vain(grades: list[Grade]) -> tuple[Grade, ...]:
    """The grades; nobody is asked about an answer that has failed already."""
    failed = next((one.label for one in grades if one.passed is False), "")
    if not failed:
        return tuple(grades)
    words = f"It was not asked: {failed} failed."
    return tuple(
        Grade(one.kind, one.label, False, words) if one.passed is None else one for one in grades
    )


def asked(
    one: Try,
    its: Cell,
    answers: Mapping[str, JsonObject],
    rival: str,
    judges: Mapping[str, Worker],
) -> Iterator[tuple[int, Asked]]:
    """The verdicts that a cell needs from runs, each with the place of its grader.

    ``rival`` is the key of the baseline's answer to the same try.
    """
    for place, grader in enumerate(one.case.graders):
        if its.grades[place].passed is not None:
            continue
        if grader.kind == "command":
            item = item_of(one, answers[one.key])
            made: list[Json] = ["command", one.key, _without_use(item), grader.target]
            key = digest(canonical_json(made))
            yield place, Asked(key, grader, {**item, CELL: key})
            continue
        agent = judges[str(grader.target)].digest
        made = [grader.kind, one.key, one.words, its.text, grader.prompt, agent]
        if grader.kind == "grader":
            key = digest(canonical_json(made))
            words = EVAL_GRADE.format(question=grader.prompt, task=one.words, answer=its.text)
            yield (
                place,
                Asked(key, grader, _judged(one, key, words)),
            )
        elif rival in answers:
            other = str(answers[rival].get("text", ""))
            key = digest(canonical_json([*made, rival, other]))
            first = int(key, 16) % 2 == 0  # judges prefer a place, so neither has it always
            pair = (its.text, other) if first else (other, its.text)
            words = EVAL_PAIR.format(
                question=grader.prompt, task=one.words, first=pair[0], second=pair[1]
            )
            yield (
                place,
                Asked(
                    key,
                    grader,
                    _judged(one, key, words),
                    first,
                ),
            )


def _judged(one: Try, key: str, words: str) -> JsonObject:
    return {"case": one.case.id, CELL: key, JUDGED: True, "words": words}


def _without_use(item: JsonObject) -> JsonObject:
    return {name: one for name, one in item.items() if name not in ("seconds", "dollars", "tokens")}


def verdict(one: Asked, found: JsonObject) -> Grade:
    """The grade of what a run told."""
    grader, words = one.grader, str(found.get("reason", ""))
    dollars: float | None = None
    if grader.kind in JUDGES:
        dollars = cast("float | None", found.get("dollars"))
    match grader.kind:
        case "command":
            passed = found.get("exit_code") == 0
            words = "" if passed else str(found.get("text", ""))[-2_000:]
        case "grader":
            passed = found.get("passed") is True
        case _:
            passed = found.get("better") != ("second" if one.first else "first")
    return Grade(grader.kind, grader.label, passed, words, dollars)


# The runs


def answer_steps(one: Eval) -> dict[str, JsonObject]:
    """A step for each variant, by its id."""
    return {
        variant.id: {
            "title": variant.label,
            "agent": variant.agent,
            **({"model": variant.model} if variant.model else {}),
            "prompt": "${{ item.words }}",
        }
        for variant in one.variants
    }


def step_of(grader: Grader) -> JsonObject:
    """The step that tells verdicts of a grader."""
    if grader.kind == "command":
        step: JsonObject = {"title": grader.label, "run": str(grader.target)}
        return {**step, "timeout": grader.timeout} if grader.timeout else step
    outputs = PAIR if grader.kind == "pairwise" else VERDICT
    agent = str(grader.target)
    return {"title": agent, "agent": agent, "prompt": "${{ item.words }}", "outputs": outputs}


def workflow_text(name: str, steps: Mapping[str, JsonObject]) -> str:
    """The workflow that does steps once for each item of the input of the same name."""
    every: list[Json] = []
    for id, step in steps.items():
        also: JsonObject = {"fail_fast": False, "on_error": "continue", "effects": "repeatable"}
        every.append({"id": id, **step, "for_each": f"${{{{ inputs.{id} }}}}", **also})
    inputs: JsonObject = {"eval": {"type": "string"}, **{id: {"type": "list"} for id in steps}}
    values: JsonObject = {"name": name, "inputs": inputs, "steps": every}
    lines = [f"{key}: {json.dumps(value)}" for key, value in values.items()]
    return "\n".join(["---", *lines, "---", ""])
