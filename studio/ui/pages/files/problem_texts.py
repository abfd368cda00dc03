"""Problems of agent files in the person's language.

The engine finds them, and its words stand here as it writes them.
``tests/ui/pages/test_problem_texts.py`` finds those that are missing or are not written any more.
"""

from __future__ import annotations

from studio.agent.frontmatter import Problem
from studio.ui.engine_texts import tr_engine
from studio.ui.translation import tr, tr_later

PROBLEMS: tuple[str, ...] = (
    tr_later("an agent file begins with a line of three dashes"),
    tr_later("no second line of three dashes closes the frontmatter"),
    tr_later("the frontmatter is longer than {most} characters"),
    tr_later("the frontmatter is a list of “key: value” lines"),
    tr_later("the instructions below the frontmatter are missing"),
    tr_later("no key “{name}”. Did you mean “{fix}”?"),
    tr_later("no key “{name}”. Known are {known}"),
    tr_later("“{name}” is there more than once, and the last one counts"),
    tr_later("the name has hidden characters"),
    tr_later("another file has an agent {name} too, and only one of them counts"),
    tr_later("{key} is a text"),
    tr_later("{key} cannot be “{word}”. Did you mean “{fix}”?"),
    tr_later("{key} is one of {known}, not “{word}”"),
    tr_later("{key} is a number from 0 to {most}"),
    tr_later("{key} is a number above 0 up to {most}"),
    tr_later("{key} is a whole number above 0 up to {most}"),
    tr_later("{key} is a list of names"),
    tr_later("{key} is a list of names, or “*” for all"),
    tr_later("{key} is a list of texts"),
    tr_later("{key} is true or false"),
    tr_later("{key} is a list of “key: value” blocks"),
    tr_later("{key} is a JSON Schema"),
    tr_later("{key} has “key: value” lines"),
    tr_later("{key}: “{name}” is missing"),
    tr_later("{key}: “{name}” is no name of a tool. Use letters, digits and _"),
    tr_later("{key}: {name} has one of prompt, agent and workflow"),
    tr_later("kept, and without effect so far: {names}"),
    tr_later("{what} has lists under allow, ask and deny"),
    tr_later("{what} has allow, ask and deny, not “{verdict}”"),
    tr_later("permissions has no “{name}”. Did you mean “{fix}”?"),
    tr_later("permissions has no “{name}”. Known are {known}"),
    tr_later("a rule is a text"),
    tr_later("a rule is about {name}, and there is no such tool. Did you mean “{fix}”?"),
    tr_later("a rule is about {name}, and there is no such tool. Known are {known}"),
    tr_later("there is no tool {name}. Did you mean “{fix}”?"),
    tr_later("there is no tool {name}. Known are {known}"),
    tr_later("there is no agent {name}. Did you mean “{fix}”?"),
    tr_later("there is no agent {name}. Known are {known}"),
    tr_later("there is no MCP server {name}. Did you mean “{fix}”?"),
    tr_later("there is no MCP server {name}. Known are {known}"),
    tr_later("{name} is no MCP server: there are none"),
    tr_later("there is no provider {name}. Did you mean “{fix}”?"),
    tr_later("there is no provider {name}. Known are {known}"),
    tr_later("there is no icon {name}. Did you mean “{fix}”?"),
    tr_later("there is no icon {name}. Known are {known}"),
)
"""The ``words`` of a ``Problem``."""


def problem_words(problem: Problem) -> str:
    """What is wrong, without its place: ``no key “modle”. Did you mean “model”?``"""
    values = dict(problem.values)
    if "reason" in values:
        values["reason"] = tr_engine(values["reason"])
    if subject := values.get("what"):
        values["what"] = tr(subject)
    return tr(problem.words).format(**values)


def problem_text(problem: Problem) -> str:
    """``Line 3: no key “modle”. Did you mean “model”?``"""
    words = problem_words(problem)
    text = tr("Line {number}: {problem}").format(number=problem.line, problem=words)
    return text if text.endswith(("?", ".")) else f"{text}."
