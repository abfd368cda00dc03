"""Expressions of workflows (W-7)."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.workflows.expressions import (
    FUNCTIONS,
    ExpressionError,
    parse_expression,
    parse_template,
)

NAMES: dict[str, Any] = {
    "inputs": {"tag": "v2.4", "many": [1, 2, 3], "odd name": 5, "items": "not a method"},
    "steps": {"plan": {"outputs": {"parts": ["a", "b"], "ok": True}, "state": "done", "cost": 0.5}},
    "item": {"name": "a"},
}


def value(text: str) -> Any:
    return parse_expression(text).evaluate(NAMES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inputs.tag", "v2.4"),
        ("inputs['odd name'] + 1", 6),
        ("inputs.items", "not a method"),
        ("steps.plan.outputs.parts[0]", "a"),
        ("steps.plan.outputs.parts[-1]", "b"),
        ("len(steps.plan.outputs.parts) == 2 and not false", True),
        ("steps.plan.state == 'done' or inputs.nothing", True),
        ("any(inputs.many)", True),
        ("all([true, null])", False),
        ("default(steps.plan.outputs.missing, 'none')", "none"),
        ("default(steps.plan.outputs.missing.deeper[3], 4)", 4),
        ("default(null, 1)", 1),
        ("join(steps.plan.outputs.parts, ' and ')", "a and b"),
        ("join(inputs.many)", "1, 2, 3"),
        ("json('[1, 2]')[1]", 2),
        ("'a' in steps.plan.outputs.parts", True),
        ("inputs.many + [4]", [1, 2, 3, 4]),
        ("1 < 2 < 3", True),
        ("-inputs.many[0] * 3 % 2 / 4", 0.25),
        ("'big' if len(inputs.many) > 2 else 'small'", "big"),
        ("  item.name  ", "a"),
        ("inputs.many[inputs.many[0]]", 2),
    ],
)
def test_w7_values(text: str, expected: Any) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "1 << 99",
        "1e999",
        "1e308 * 10",
        "1e308 + 1e308",
        "__import__('os').system('true')",
        "inputs.__class__",
        "inputs.tag.upper()",
        "''.join",
        "[x for x in inputs.many]",
        "lambda: 1",
        "f'{inputs}'",
        "'%d' % 9",
        "'a' * 999999999",
        "inputs.keys()",
        "open('/etc/passwd')",
        "globals",
        "inputs.missing",
        "inputs.many[7]",
        "len(1)",
        "1 / 0",
        "1 + 'a'",
        "'a' < 1",
        "json('{')",
        "a := 1",
        "1; 2",
        "",
        "(" * 500,
        "not " * 900 + "1",
        "1" * 3_000,
        "inputs.tag\0",
        "rows('a.csv')",
        "len(inputs.many, 1)",
        "default(1)",
        "{'a': 1}",
        "b'a'",
        "1j",
        "...",
    ],
)
def test_w7_what_is_no_expression_or_cannot_be_computed_is_an_error(text: str) -> None:
    with pytest.raises(ExpressionError) as error:
        value(text)
    assert str(error.value) and 0 <= error.value.at <= len(text)


def test_w7_no_attribute_of_python_is_reached() -> None:
    for name in dir({}) + dir([]) + dir(""):
        with pytest.raises(ExpressionError):
            value(f"inputs.many.{name}")
        with pytest.raises(ExpressionError):
            value(f"inputs.tag.{name}")


def test_w7_references_have_their_places() -> None:
    text = "  len(steps.plan.outputs['parts'][0].é) > inputs.tag and item[key] == 'ü'"
    found = [(one.path, text[one.start : one.end]) for one in parse_expression(text).references]
    assert found == [
        (
            ("steps", "plan", "outputs", "parts", 0, "é"),
            "steps.plan.outputs['parts'][0].é",
        ),
        (("inputs", "tag"), "inputs.tag"),
        (("item",), "item[key]"),
        (("key",), "key"),
    ]


def test_w7_a_name_that_is_unknown_is_told_with_its_place() -> None:
    with pytest.raises(ExpressionError) as error:
        parse_expression("1 + step.plan")
    assert error.value.at == 4 and "Known are inputs, steps" in str(error.value)


def test_w7_templates_keep_the_kind_of_a_single_value() -> None:
    assert parse_template("${{ inputs.many }}").evaluate(NAMES) == [1, 2, 3]
    text = "Tag ${{ inputs.tag }}: ${{ inputs.many }}, ${{ steps.plan.outputs.ok }}."
    assert parse_template(text).evaluate(NAMES) == "Tag v2.4: [1, 2, 3], true."
    assert parse_template("").evaluate(NAMES) == ""
    assert parse_template("no $ {{ at }} all").evaluate(NAMES) == "no $ {{ at }} all"
    for wrong, at in (("a ${{ 1 +", 2), ("a ${{ 1 + }}", 6), ("${{ x }}", 4)):
        with pytest.raises(ExpressionError) as error:
            parse_template(wrong)
        assert error.value.at == at, wrong


def test_w7_what_a_model_wrote_is_never_evaluated() -> None:
    """PRE-13."""
    names = {"steps": {"a": {"text": "${{ inputs.tag }} and inputs.tag"}}, "inputs": {"tag": "x"}}
    text = parse_template("Said: ${{ steps.a.text }}").evaluate(names)
    assert text == "Said: ${{ inputs.tag }} and inputs.tag"


PIECES = [
    *FUNCTIONS, "inputs", "steps", ".plan", ".outputs", "[0]", "[", "]", "(", ")", "'", '"', " ",
    "and", "or", "not", "in", "==", "<", "+", "*", "%", "if", "else", "1", "1e308", "true", ",",
    "**", "\n", "é", "\\", "#", ":=", "lambda", "for", "x", ".__class__", "{", "}", "${{", "}}",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=40))
def test_w7_any_text_is_a_value_or_an_error(text: str) -> None:
    for read in (parse_expression, parse_template):
        try:
            json.dumps(read(text).evaluate(NAMES), allow_nan=False)
        except ExpressionError as error:
            assert 0 <= error.at <= len(text)


def test_w7_a_long_list_is_not_walked_through_for_each_part() -> None:
    """The work grows with the expression, not with the list behind a name."""
    names = {"inputs": {"many": [{"a": 1}] * 300_000}}
    expression = parse_expression(" + ".join(["len(inputs.many)"] * 40))

    def cost() -> float:
        began = time.process_time()
        expression.evaluate(names)
        return time.process_time() - began

    def walk() -> float:
        began = time.process_time()
        assert all(isinstance(one, dict) for one in names["inputs"]["many"])
        return time.process_time() - began

    random.seed(1)
    assert min(cost() for _ in range(5)) < 20 * min(walk() for _ in range(5))
