"""Workflow graph: which steps each step needs, by its ``needs`` and by its expressions (W-7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, cast

from studio.domain.jsonvalue import Json
from studio.domain.workflows import Step, Workflow

from .expressions import Expression, ExpressionError, parse_expression, parse_template

Needs: TypeAlias = Mapping[str, tuple[str, ...]]
"""The ids of the steps that each step needs itself, in the order of the file."""


@dataclass(frozen=True, slots=True)
class Use:
    """An expression and the key that it is the value of: ``redo.when``, ``prompt``."""

    key: str
    expression: Expression


def uses_of(step: Step) -> Iterator[Use]:
    """The expressions of a step; what cannot be read was a problem of the file."""
    if step.condition:
        yield from _expression("if", step.condition)
    if isinstance(step.for_each, str) and step.for_each:
        yield from _expression("for_each", step.for_each)
    if step.kind == "check":
        yield from _expression("check", step.target)
    elif step.kind in ("run", "approve", "ask"):
        yield from templates(step.kind, step.target)
    yield from templates("prompt", step.prompt)
    yield from templates("set" if step.kind == "set" else "inputs", cast("Json", step.inputs))
    if step.redo is not None:
        yield from _expression("redo.when", step.redo.when)


def uses_of_whole(workflow: Workflow) -> Iterator[Use]:
    """The expressions that belong to no step."""
    yield from templates("outputs", dict(workflow.outputs))
    if workflow.concurrency is not None:
        yield from templates("concurrency", workflow.concurrency.group)
    for check in workflow.done_when:
        if check.kind == "check":
            yield from _expression("done_when", check.target)


def templates(key: str, value: Json) -> Iterator[Use]:
    """The expressions in a value's texts."""
    match value:
        case str() if "${{" in value:
            with suppress(ExpressionError):
                for _, expression in parse_template(value).expressions:
                    yield Use(key, expression)
        case dict():
            for part in value.values():
                yield from templates(key, part)
        case list():
            for part in value:
                yield from templates(key, part)
        case _:
            pass


def _expression(key: str, text: str) -> Iterator[Use]:
    with suppress(ExpressionError):
        yield Use(key, parse_expression(text))


def steps_named(expression: Expression) -> Iterator[str]:
    """The ids of the steps that an expression refers to."""
    for reference in expression.references:
        match reference.path:
            case ("steps", str(name), *_):
                yield name
            case _:
                pass


def direct_needs(workflow: Workflow) -> dict[str, tuple[str, ...]]:
    """What each step needs itself. Names of steps that do not exist are left out."""
    known = {step.id for step in workflow.steps}
    needs: dict[str, tuple[str, ...]] = {}
    for step in workflow.steps:
        named = [name for use in uses_of(step) for name in steps_named(use.expression)]
        found = dict.fromkeys([*step.needs, *named])
        needs[step.id] = tuple(name for name in found if name in known and name != step.id)
    return needs


def all_needs(needs: Needs) -> dict[str, frozenset[str]]:
    """What each step needs itself and through others; those of a circle need each other."""
    every: dict[str, frozenset[str]] = {}
    for step in needs:
        found: set[str] = set()
        ahead = set(needs[step])
        while ahead:
            found |= ahead
            ahead = set[str]().union(*(every.get(one, needs[one]) for one in ahead)) - found
        every[step] = frozenset(found)
    return every


def find_circle(needs: Needs) -> tuple[str, ...]:
    """Steps that wait for each other, each for the next and the last for the first; or none."""
    open_, done = "open", "done"
    state: dict[str, str] = {}
    for first in needs:
        if first in state:
            continue
        way: list[tuple[str, Iterator[str]]] = [(first, iter(needs[first]))]
        state[first] = open_
        while way:
            step, rest = way[-1]
            following = next(rest, None)
            if following is None:
                state[step] = done
                way.pop()
            elif state.get(following) == open_:
                names = [name for name, _ in way]
                return tuple(names[names.index(following) :])
            elif following not in state:
                state[following] = open_
                way.append((following, iter(needs[following])))
    return ()
