"""The problems of agent files are told in the person's language."""

from __future__ import annotations

import ast
import inspect

from studio.agent import agent_check, agent_parser, frontmatter
from studio.agent.agent_check import KnownNames, check_agent
from studio.ui.pages.files.problem_texts import PROBLEMS, problem_text
from support.languages import language

NAMES = ("words", "NO_DASHES", "NO_MAPPING", "_HIDDEN")
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
        elif isinstance(node, ast.Call) and name == "_found":
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
    for module in (agent_check, agent_parser, frontmatter):
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
