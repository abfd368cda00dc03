"""All problems in a workflow's text, with their places and the name that was meant (W-5 to W-8)."""

from __future__ import annotations

import json
import os
import random

import fastjsonschema
import pytest
import yaml

from studio.agent.frontmatter import Problem
from studio.domain.agents import Caps
from studio.domain.workflows import Budget, Redo, Retry
from studio.workflows.graph import all_needs
from studio.workflows.reader import KINDS, WorkflowText, read_workflow_text
from studio.workflows.workflow_check import KnownNames, check_workflow
from studio.workflows.workflow_keys import STEP, WORKFLOW, json_schema
from support import nightly

KNOWN = KnownNames(
    ["Planner", "Researcher", "Coder", "Tester"], ["claude-opus-5-5", "gpt-6.1"], ["run", "read"]
)
GOOD = """\
---
name: Release notes   # a comment
inputs:
  tag: {type: string, default: v2.4}
  kind: {type: enum, choices: [major, minor], required: true}
budget: {dollars: 2.00, tokens: 800000, minutes: 30}
permissions: {deny: ["run(git push *)"]}
outputs:
  notes: ${{ steps.code.text }}
steps:
  - id: plan
    agent: Planner
    prompt: Plan ${{ inputs.tag }}, a ${{ inputs.kind }} release.
    outputs: {type: object, properties: {parts: {type: array, items: {type: string}}}}
  - id: research
    needs: plan
    for_each: ${{ steps.plan.outputs.parts }}
    max_parallel: 3
    agent: Researcher
    model: gpt-6.1
    prompt: Look for ${{ item }}.
    retry: {max: 2, wait: 5s, backoff: 2, on: [error, limit]}
  - {id: code, needs: plan, agent: Coder, title: Write it}
  - id: test
    needs: [code, research]
    agent: Tester
    timeout: 5m
    budget: {dollars: 0.5}
    outputs: {type: object, properties: {passed: {type: boolean}}}
    redo: {from: code, when: not outputs.passed, max: 3}
  - {id: ok, needs: test, if: steps.test.outputs.passed, approve: "Write the drafts?"}
---
# Notes for people

## test
Run the whole suite of ${{ inputs.tag }}.

```
## no heading
```

### A part of it

## Write it
Write ${{ join(steps.research.text) }}.
"""


def check(text: str) -> WorkflowText:
    return check_workflow(read_workflow_text(text, "file"), KNOWN)


def problems(text: str) -> list[tuple[int, str, str | None]]:
    """Line, the words in question, and what to write instead."""
    found = check(text).problems
    assert all(text[one.start : one.end] or one.start == one.end for one in found)
    assert all(one.line >= 1 and one.column >= 1 and one.message for one in found)
    return [(one.line, text[one.start : one.end], one.fix) for one in found]


def wrong(old: str, new: str) -> list[Problem]:
    assert old in GOOD
    return list(check(GOOD.replace(old, new, 1)).problems)


def test_w5_w6_a_good_file_says_what_it_says() -> None:
    found = check(GOOD)
    assert found.errors == ()
    workflow = found.workflow
    assert workflow is not None
    assert (workflow.name, len(workflow.digest)) == ("Release notes", 64)
    assert workflow.budget == Budget(Caps(800_000, 2.0), 30)
    tag, kind = workflow.inputs
    assert (tag.default, kind.choices, kind.required) == ("v2.4", ("major", "minor"), True)
    plan, research, code, test, ok = workflow.steps
    assert [step.kind for step in workflow.steps] == ["agent"] * 4 + ["approve"]
    assert plan.outputs is not None and research.for_each == "steps.plan.outputs.parts"
    assert research.retry == Retry(2, 5.0, 2, ("error", "limit")) and research.max_parallel == 3
    assert test.redo == Redo("code", "not outputs.passed", 3) and test.timeout == 300
    assert test.budget.caps.dollars == 0.5 and ok.condition == "steps.test.outputs.passed"
    assert code.prompt == "Write ${{ join(steps.research.text) }}."
    assert test.prompt.startswith("Run the whole suite") and test.prompt.endswith("A part of it")
    assert "## no heading" in test.prompt


def test_w7_a_reference_outside_the_needs_adds_that_need_with_a_hint() -> None:
    found = check(GOOD)
    assert found.workflow is not None
    assert found.workflow.step("code").needs == ("plan", "research")
    hints = [one for one in found.problems if one.warning]
    assert [GOOD[one.start : one.end] for one in hints] == ["steps.research.text"]
    assert found.workflow.step("test").needs == ("code", "research")


def test_w8_windows_line_ends_change_nothing() -> None:
    dos = GOOD.replace("\n", "\r\n")
    assert [(line, fix) for line, _, fix in problems(dos)] == [
        (line, fix) for line, _, fix in problems(GOOD)
    ]


def test_w8_every_problem_is_told_at_once_with_its_place_and_the_nearest_name() -> None:
    text = (
        GOOD.replace("    prompt: Plan", "    promt: Plan")
        .replace("agent: Coder", "agent: Codr")
        .replace("gpt-6.1", "gpt-6.2")
        .replace("needs: plan\n    for_each", "needs: plna\n    for_each")
        .replace("steps.test.outputs.passed", "steps.test.outputs.pased")
        .replace("max_parallel: 3", "max_parallel: 0")
        .replace("timeout: 5m", "timeout: soon")
        .replace("inputs.tag }}.", "inputs.tga }}.")
        .replace("run(git push *)", "rnu(git push *)")
    )
    found = problems(text)
    expected = [
        (13, "promt", "prompt"),
        (16, "plna", "plan"),
        (18, "0", None),
        (20, "gpt-6.2", "gpt-6.1"),
        (23, "Codr", "Coder"),
        (27, "soon", None),
    ]
    for one in expected:
        assert one in found, (one, found)
    assert any(words == "steps.test.outputs.pased" for _, words, _ in found)
    assert any(fix == "tag" and words == "inputs.tga" for _, words, fix in found)
    assert found == sorted(found, key=lambda one: one[0])


@pytest.mark.parametrize(
    ("old", "new", "words", "fix"),
    [
        ("id: code", "id: plan", "another step has the id plan too", None),
        ("needs: plan, agent: Coder", "needs: test, agent: Coder", "wait for each other", None),
        ("max: 3}", "maxx: 3}", "redo has no key “maxx”", "max"),
        ("max: 3}", "when: true}", "redo needs “max”", None),
        ("{from: code,", "{from: ok,", "which this step does not need", None),
        ("steps.test.outputs.passed", "1 > 2", "can never run", None),
        ("steps.test.outputs.passed", "steps.tets.outputs.x", "there is no step tets", "test"),
        ("steps.test.outputs.passed", "steps.test.output", "a step has no “output”", "outputs"),
        ("steps.test.outputs.passed", "steps.test.outputs.x", "have no “x”", None),
        ("steps.test.outputs.passed", "item", "is there in a step with for_each", None),
        ("steps.test.outputs.passed", "outputs.x", "write steps.ID.outputs", None),
        ("steps.test.outputs.passed", "steps.ok.text", "does not know its own result", None),
        ("steps.test.outputs.passed", "a b", "this is not an expression", None),
        ("budget: {dollars: 0.5}", "budget: {dollars: 5}", "together, the run 2", None),
        ("agent: Planner\n", "agent: Planner\n    run: ls\n", "and no second one", None),
        ("    agent: Planner\n", "", "a step has one of", None),
        ("agent: Planner\n", "agent:\n", "“agent” of this step is empty", None),
        ("    prompt: Look for ${{ item }}.\n", "", "no section “## research”", None),
        ("## test", "## tets", "no step has the id or the title “tets”", "test"),
        ("## test", "## tets", "the step test has no “prompt”", None),
        ("approve:", "prompt: x, approve:", "changes nothing in a step of the kind approve", None),
        ("on: [error, limit]", "on: [eror]", "this cannot be “eror”", "error"),
        ("wait: 5s", "wait: -1", "this is a time such as", None),
        ("choices: [major, minor], ", "", "has “choices”", None),
        ("notes: ${{ steps.code.text }}", "notes: ${{ steps.cod.text }}", "no step cod", "code"),
        ("type: boolean", "type: bool", "a JSON Schema has no type “bool”", "boolean"),
        ("outputs: {type: object", "outputs: !!set {type: object", "“key: value” lines", None),
        ("id: plan", "id: my plan", "an id has letters", None),
        ("steps:\n", "stepz:\n", "a workflow has no key “stepz”", "steps"),
        ("tokens: 800000", "tokens: 1" + "0" * 400, "this is a whole number from 1", None),
        ("steps.code.text }}\nsteps", "steps.code.txt }}\nsteps", "has no “txt”", "text"),
        ("steps.code.text }}\nsteps", "inputs.tga }}\nsteps", "there is no input tga", "tag"),
        ("steps:\n", "done_when: steps.cod.text\nsteps:\n", "there is no step cod", "code"),
        ("steps:\n", "done_when: item\nsteps:\n", "in a step with for_each", None),
        ("steps:\n", "concurrency: {group: '${{ inputs.tga }}'}\nsteps:\n", "input tga", "tag"),
        ("steps:\n", "on_conflict: Codr\nsteps:\n", "not “Codr”", "Coder"),
        ("run(git push *)", "rnu(git push *)", "there is no such tool", "run"),
        ("approve:", "inputs: {a: [{b: '${{ 1 + }}'}]}, approve:", "not an expression", None),
        ("steps.test.outputs.passed", "inputs.import", 'write ["import"] without', None),
        ("name: Release notes", "name: *a", "aliases (*name) are not read", None),
        (
            "for_each: ${{ steps.plan.outputs.parts }}",
            "for_each: {a: 1}",
            "this is a list of",
            None,
        ),
    ],
)
def test_w8_each_mistake_is_found(old: str, new: str, words: str, fix: str | None) -> None:
    found = wrong(old, new)
    assert any(words in one.message and (fix is None or one.fix == fix) for one in found), [
        (one.message, one.fix) for one in found
    ]


def test_w8_a_section_is_the_one_below_its_heading_whatever_others_say() -> None:
    """A word that is in a prompt too, a heading that ends with #, and the same text twice."""
    text = "---\nsteps:\n  - {id: c, title: Port C#, agent: Coder}\n---\n"
    body = "## tset\nPort\n\n## notes\nPort it ${{ no }}.\n\n## Port C# ##\nPort it ${{ no }}.\n"
    assert problems(text + body) == [
        (5, "## tset", None),
        (8, "## notes", None),
        (12, "n", None),
    ]


def test_w8_steps_beyond_the_most_are_told() -> None:
    steps = "".join(f"  - {{id: s{at}, run: ls}}\n" for at in range(1_002))
    assert problems(f"---\nsteps:\n{steps}---\n") == [
        (1_003, "{id: s1000, run: ls}", None),
    ]


@pytest.mark.parametrize(
    "body",
    ["### " + " " * 100_000 + "x #" + " " * 100_000 + "y", "${{" * 300_000, "### a\n" * 100_000],
    ids=["blanks", "braces", "headings"],
)
def test_w8_a_hostile_body_is_read_in_one_pass(body: str) -> None:
    """Each of these took minutes to hours, as its length squared or to the third."""
    found = check(f"---\nsteps:\n  - {{id: s, agent: Coder}}\n---\n## s\n{body}\n")
    assert found.workflow is not None and found.workflow.step("s").prompt


def test_w7_what_a_step_needs_through_others_is_whole_also_in_a_circle() -> None:
    needs = {"a": ("b",), "b": ("c", "d"), "c": ("a",), "d": (), "e": ("c",)}
    circle = frozenset("abcd")
    assert all_needs(needs) == {
        "a": circle,
        "b": circle,
        "c": circle,
        "d": frozenset(),
        "e": circle,
    }


ODD = [
    "1" + "0" * 400, ".nan", "1e400", "2026-13-45", "!!binary aGk=", "!!set {a, b}", "!foo x",
    "!!timestamp x", "{? [a] : b}", "[[]]", "'{name}'", "{'{x}': 1}", "[1, {a: [{b: 2}]}]",
    "{type: [array], items: 3}", "{from: s, when: 'outputs[0].a', max: 2}", '"\\ud800"', "'${{'",
]  # fmt: skip


@pytest.mark.parametrize("value", ODD)
def test_w8_no_value_of_any_key_raises_anything(value: str) -> None:
    for key in WORKFLOW.readers:
        check(f"---\n{key}: {value}\nsteps: [{{id: s, run: ls}}]\n---\n")
    for key in STEP.readers:
        found = check(f"---\nsteps: [{{id: s, run: ls, {key}: {value}}}]\n---\n")
        assert found.workflow is not None or found.errors


def test_w8_a_file_without_anything_is_told_too() -> None:
    for text in ("", "x", "---\n---\n", "---\nsteps: []\n---\n", "---\nsteps:\n---\n"):
        assert check(text).problems, text


def test_w8_a_mutated_file_raises_nothing_and_has_lines() -> None:
    """Words and lines swapped, cut, doubled: each time problems with lines, or a workflow."""
    many = 10_000 if os.environ.get("HYPOTHESIS_PROFILE") == nightly.PROFILE else 300
    chance = random.Random(8)
    lines = GOOD.splitlines(keepends=True)
    for _ in range(many):
        made = list(lines)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(made))
            match chance.randrange(6):
                case 0:
                    del made[at]
                case 1:
                    made.insert(at, chance.choice(lines))
                case 2:
                    made[at] = made[at].replace(" ", "", 1)
                case 3:
                    cut = chance.randrange(len(made[at]) + 1)
                    made[at] = (
                        made[at][:cut] + chance.choice("{}[]:'\"&*!|>#\t\x00é-${") + made[at][cut:]
                    )
                case 4:
                    cut = chance.randrange(len(made[at]) + 1)
                    made[at] = made[at][:cut] + made[at][cut + chance.randint(1, 5) :]
                case _:
                    other = chance.randrange(len(made))
                    made[at], made[other] = made[other], made[at]
            made = made or [""]
        text = "".join(made)
        found = check(text)
        assert found.workflow is not None or found.errors
        for one in found.problems:
            assert 1 <= one.line <= text.count("\n") + text.count("\r") + 2 and one.message


def test_w10_the_schema_takes_a_good_file_and_refuses_a_wrong_key() -> None:
    schema = json_schema()
    take = fastjsonschema.compile(json.loads(json.dumps(schema)))
    values = yaml.safe_load(GOOD.split("---\n")[1].replace(" on: ", " 'on': "))
    take(values)
    values["steps"][0]["promt"] = "x"
    with pytest.raises(fastjsonschema.JsonSchemaException):
        take(values)
    assert set(KINDS) <= set(STEP.readers)
