"""The problems of agent files are told in the person's language."""

from __future__ import annotations

import ast
import inspect
import random
import re

from studio.agent import frontmatter
from studio.agent.agent_files import keys, name_check, parser
from studio.agent.agent_files.name_check import KnownNames, check_agent
from studio.ui.pages.files.problem_texts import PROBLEMS, problem_text
from studio.ui.translation import tr
from studio.workflows.reader import read_workflow_text
from studio.workflows.workflow_check import KnownNames as Known
from studio.workflows.workflow_check import check_workflow
from support.languages import language

NAMES = ("words", "NO_DASHES", "NO_MAPPING", "HIDDEN", "WITHOUT_EFFECT")
ENDS = (". Did you mean “{fix}”?", ". Known are {known}")
"""What ``no_such`` puts behind its words."""


def written(tree: ast.Module) -> set[str]:
    """The words of problems in a module."""
    found = set[str]()
    for node in ast.walk(tree):
        texts: list[ast.expr] = []
        name = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if isinstance(node, ast.Call) and name in ("ValueProblem", "no_such"):
            texts = node.args[:1]
        elif isinstance(node, ast.Call) and name in ("_found", "_json_object"):
            texts = node.args[1:2]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in NAMES:
            texts = [node.value]
        for text in texts:
            if isinstance(text, ast.Constant) and text.value not in ("", "{reason}"):
                words = str(text.value)
                ends = ENDS if words.endswith(("{name}", "“{name}”", "no such tool")) else ("",)
                found |= {words + end for end in ends}
    return found


def test_all_words_of_the_engine_are_known_and_no_others() -> None:
    found = set[str]()
    for module in (keys, name_check, parser, frontmatter):
        found |= written(ast.parse(inspect.getsource(module)))
    assert found == set(PROBLEMS)


def test_a_problem_in_german() -> None:
    known = KnownNames(["run"], ["ollama"])
    told: list[str] = []
    with language("de"):
        for text in ("---\nmodle: x\n---\nHi", "---\npermissions: {ask: ['run(']}\n---\nHi"):
            told += map(problem_text, check_agent(text, known).problems)
    assert told == [
        "Zeile 2: „modle“ gibt es nicht. Meinst du „model“?",
        "Zeile 2: „run(“ ist keine Regel. Schreib WERKZEUG oder WERKZEUG(MUSTER).",
    ]


def test_w8_what_is_wrong_with_a_workflow_is_told_in_german() -> None:
    """Each problem that a changed or cut file brings has its German words."""
    chance, told = random.Random(5), set[str]()
    words = ("needs", "steps.x.text", "[", "{", "-1", "nothing", "${{ item }}", "~", "id", "yes")
    with language("de"):
        for _ in range(400):
            parts = re.split(r"([ \n{}\[\]:,])", WORKFLOW)
            for _ in range(chance.randint(1, 4)):
                parts[chance.randrange(len(parts))] = chance.choice(words)
            found = read_workflow_text("".join(parts)[: chance.randint(100, 3_000)])
            for one in check_workflow(found, Known(["Coder"], tools=["run"])).problems:
                if one.words.startswith(("the outputs of", "{reason}")):
                    continue
                problem_text(one)
                assert tr(one.words) != one.words, one.words
                told.add(one.words)
    assert len(told) > 25


WORKFLOW = """\
---
name: Release
inputs: {tag: {type: string, default: v2.4}, size: {type: enum, choices: [a, b]}}
budget: {dollars: 2.00, tokens: 800000, minutes: 30}
max_parallel: 2
steps:
  - id: plan
    agent: Coder
    outputs: {type: object, properties: {parts: {type: array, items: {type: string}}}}
  - id: research
    needs: plan
    for_each: ${{ steps.plan.outputs.parts }}
    agent: Coder
    prompt: Look at ${{ item }}
    retry: {max: 2, wait: 5s, on: [error, limit]}
  - id: test
    needs: [plan, research]
    run: make test
    timeout: 5m
    permissions: {deny: [run]}
    redo: {from: research, when: len(steps.plan.text) == 0, max: 3}
  - {id: ok, needs: test, if: steps.test.text != '', approve: "Write?"}
  - {id: all, needs: ok, set: {x: 1}, on_error: skip}
---
## plan
Plan ${{ inputs.tag }}.
"""
