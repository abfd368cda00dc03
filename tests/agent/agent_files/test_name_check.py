"""All problems of an agent's text, with their places and the word that was meant (W-8)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import fastjsonschema
import pytest
import yaml

import studio
from studio.agent.agent_files.keys import KEYS as KEYS_READ
from studio.agent.agent_files.keys import json_schema
from studio.agent.agent_files.name_check import KnownNames, check_agent
from studio.agent.agent_files.parser import MOST_PROBLEMS, parse_agent
from studio.agent.frontmatter import Problem
from studio.domain.agents import Agent

RESOURCES = Path(studio.__file__).parents[1] / "resources"
KNOWN = KnownNames(
    ["list", "read", "search", "run"], ["anthropic", "ollama"], ["bot", "feather"], ["coder"]
)
GOOD = """\
---
name: Reader
description: Reads   # and nothing else
provider: ollama
model: qwen3
tools: [list, read, own]
permissions:
  deny: ["run(git push*)"]
mode: inline
steps: 20
mask: [email, "kd=KD-\\\\d+"]
icon: feather
hue: rust
---
You read.
"""


def problems(text: str) -> list[tuple[int, int, str, str | None]]:
    """Line, column, the words in question, and what to write instead."""
    found = check_agent(text, KNOWN).problems
    assert all(text[one.start : one.end] or one.start == one.end for one in found)
    return [(one.line, one.column, text[one.start : one.end], one.fix) for one in found]


def wrong(old: str, new: str) -> Problem:
    (found,) = check_agent(GOOD.replace(old, new), KNOWN).problems
    return found


def test_w8_a_good_file_has_none() -> None:
    assert problems(GOOD) == problems(GOOD.replace("\n", "\r\n")) == []


def test_w8_every_problem_is_told_at_once_with_its_place_and_the_nearest_name() -> None:
    text = (
        GOOD.replace("model:", "modle:")
        .replace("ollama", "olama")
        .replace("[list, read, own]", "list, raed, own")
        .replace("deny:", "deyn:")
        .replace("inline", "inlne")
        .replace("rust", "pink")
        .replace("feather", "fether")
    )
    assert problems(text) == [
        (4, 11, "olama", "ollama"),
        (5, 1, "modle", "model"),
        (6, 14, "raed", "read"),
        (8, 3, "deyn", "deny"),
        (9, 7, "inlne", "inline"),
        (12, 7, "fether", "feather"),
        (13, 6, "pink", None),
    ]
    assert problems(text.replace("\n", "\r\n")) == problems(text)
    found = check_agent(text, KNOWN)
    assert found.problems[1].message == "no key “modle”. Did you mean “model”?"
    assert [one.line for one in found.errors] == [5, 8, 9, 13]
    assert found.values["steps"] == 20 and found.prompt == "You read."


def test_w8_what_a_problem_says() -> None:
    for old, new, words, warning in (
        ("steps: 20", "steps: 0", "line 10: steps is a whole number above 0 up to 1,000", False),
        ("name: Reader", "name: Coder", "line 2: another file has an agent Coder too", True),
        ("hue: rust", "hue: rust\nhue: teal", "line 13: “hue” is there more than once", True),
        ("run(git push*)", "run(", "line 8: “run(” is not a rule", False),
        ("run(git", "rum(git", "line 8: a rule is about rum, and there is no such tool", True),
        ("email,", "dreams,", "line 11: “dreams” cannot be masked", True),
        ("You read.\n", "", "line 14: the instructions below the frontmatter", False),
        ("name: Reader", "name: [", "line ", False),
        ("---\nname", "name", "line 1: an agent file begins with", False),
    ):
        found = wrong(old, new)
        assert str(found).startswith(words) and found.warning == warning, str(found)
    assert wrong("run(git", "rum(git").fix == "run(git push*)"


def test_w8_a_strangers_words_are_told_in_one_visible_line() -> None:
    text = GOOD.replace("model:", '"mo\\u202edel\\n\\e[31m' + "x" * 5_000 + '":')
    (found,) = check_agent(text, KNOWN).problems
    assert str(found).isprintable() and len(str(found)) < 1_000


def test_w8_an_error_is_told_at_its_own_key() -> None:
    """A key may begin with the letters of another one above it."""
    assert wrong("mode: inline", "mode: 7 x").line == 9


def test_w8_a_value_that_is_not_written_yet_or_repeated_stops_no_check() -> None:
    for old, new in (
        ('permissions:\n  deny: ["run(git push*)"]', "permissions:"),
        ('mask: [email, "kd=KD-\\\\d+"]', "mask: {}"),
    ):
        assert old in GOOD
        assert problems(GOOD.replace(old, new)) == []
    for line in ("permissions: run", "tools: {a: b}", "mask: {a: b}", "provider: nobody"):
        told = problems(GOOD.replace("---\nname", f"---\n{line}\nname"))
        assert {place[0] for place in told} == {2}, line


def test_w8_of_a_hostile_file_not_all_problems_are_found() -> None:
    many = (
        "".join(f"k{number}: 1\n" for number in range(1_000)),
        "icon: bot\n" * 900,
        f"tools: [{', '.join('q' for _ in range(3_000))}]\n",
        f"permissions: {{deny: [{', '.join('q' for _ in range(3_000))}]}}\n",
        f"permissions: {{deny: [{', '.join('[]' for _ in range(2_000))}]}}\n",
    )
    for lines in many:
        found = check_agent(f"---\n{lines}---\nDo.\n", KNOWN).problems
        assert MOST_PROBLEMS <= len(found) <= 3 * MOST_PROBLEMS, lines[:20]


def test_w8_no_change_of_a_good_file_raises_or_leaves_the_text() -> None:
    dice = random.Random(7)
    for _ in range(400):
        text = list(GOOD)
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(text))
            text[at : at + dice.randint(0, 5)] = dice.choice([*"[]{}:#-|>&*!%@,\t\n\"'", "\0", "é"])
        for one in check_agent("".join(text), KNOWN).problems:
            assert 0 <= one.start <= one.end <= len(text) and one.line >= 1, "".join(text)
            assert str(one).startswith("line ")


KEYS = """\
agents: [Researcher, Tester]
children: 4
depth: 3
background: true
ask: [run, "fetch(*)"]
model: ollama/qwen3:8b
user-invocable: false
disable-model-invocation: true
argument-hint: a file
fallback: [ollama/qwen3, claude-haiku-5-5]
memory: off
desk: own
handoffs:
  - {label: Review, agent: Reviewer, prompt: Look at it., send: true, model: m}
  - agent: Tester
define:
  - name: summarise
    description: Sums up
    parameters: {type: object, properties: {text: {type: string}, style: {enum: [a, b]}}}
    prompt: Sum up {text}.
    returns: {type: string}
    model: ollama/qwen3
  - {name: ship, workflow: release.md}
"""


def agent_of(head: str, *, trusted: bool = True) -> Agent:
    return parse_agent(f"---\nname: X\n{head}---\nWork.\n", Path("x.md"), trusted=trusted)


def test_w1_the_keys_of_agents_that_start_others_are_read() -> None:
    """PRE-31."""
    agent = agent_of(KEYS)
    assert (agent.agents, agent.children, agent.depth) == (("Researcher", "Tester"), 4, 3)
    assert agent.background and not agent.user_invocable and not agent.model_invocable
    assert (agent.provider, agent.model) == ("ollama", "qwen3:8b")
    assert [(r.verdict, str(r)) for r in agent.permissions] == [("ask", "run"), ("ask", "fetch")]
    assert agent.fallback == ("ollama/qwen3", "claude-haiku-5-5")
    assert (agent.memory, agent.desk, agent.argument_hint) == ("off", "own", "a file")
    first, second = agent.handoffs
    assert (first.label, first.agent, first.prompt) == ("Review", "Reviewer", "Look at it.")
    assert first.send and first.model == "m" and (second.label, second.send) == ("Tester", False)
    assert [one.name for one in agent.define] == ["summarise", "ship"]
    assert agent.define[0].returns == {"type": "string"}
    assert agent.define[1].workflow == "release.md"


def test_w1_agents_that_do_not_exist_are_named() -> None:
    """W-1: with the nearest name; “*” is everybody."""
    text = "---\nname: X\nagents: [Coder, Resercher, '*']\n---\nWork.\n"
    known = KnownNames(["read"], [], agents=["Coder", "Researcher"])
    (problem,) = check_agent(text, known).problems
    assert problem.message == "there is no agent Resercher. Did you mean “Researcher”?"
    assert problem.warning and text[problem.start : problem.end] == "Resercher"


def test_m14_servers_that_do_not_exist_are_named() -> None:
    """M-14: a warning, since they may be added later."""
    text = "---\nname: X\nservers: [git, gti, '*']\n---\nWork.\n"
    (problem,) = check_agent(text, KnownNames([], [], servers=["git", "shop"])).problems
    assert problem.message == "there is no MCP server gti. Did you mean “git”?"
    assert problem.warning and text[problem.start : problem.end] == "gti"
    assert len(check_agent(text, KnownNames([], [], servers=[])).problems) == 2
    assert not check_agent(text, KnownNames([], [])).problems


def test_w1_handoffs_to_agents_that_do_not_exist_are_named() -> None:
    text = f"---\nname: X\n{KEYS}---\nWork.\n"
    assert not check_agent(text, KNOWN).problems
    known = KnownNames(KNOWN.tools, KNOWN.providers, agents=["Reviewers", "Tester", "Researcher"])
    (problem,) = check_agent(text, known).problems
    assert problem.message == "there is no agent Reviewer. Did you mean “Reviewers”?"
    assert problem.warning and text[problem.start : problem.end] == "Reviewer"


def test_w1_an_agent_without_the_keys_starts_nobody() -> None:
    agent = agent_of("hue: blue\n")
    assert not agent.agents and not agent.background and not agent.define
    assert agent.user_invocable and agent.model_invocable and agent.memory == "off"
    slash = agent_of("provider: openai-compatible\nmodel: qwen/qwen3\n")
    assert (slash.provider, slash.model) == ("openai-compatible", "qwen/qwen3")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("agnets: [a]", "Did you mean “agents”?"),
        ("agents: 3", "agents is a list of names, or “*” for all"),
        ("children: 0", "children is a whole number above 0 up to 32"),
        ("depth: 6", "depth is a whole number above 0 up to 5"),
        ("background: perhaps", "background is true or false"),
        ("memory: wirte", "Did you mean “write”?"),
        ("desk: shraed", "Did you mean “shared”?"),
        ("ask: ['run(']", "is not a rule"),
        ("handoffs: Tester", "handoffs is a list of “key: value” blocks"),
        ("handoffs: [{label: x}]", "handoffs: “agent” is missing"),
        ("handoffs: [{agnet: x}]", "Did you mean “agent”?"),
        ("handoffs: [{agent: x, send: soon}]", "send is true or false"),
        ("define: [{name: a b, prompt: x}]", "define: “a b” is no name of a tool"),
        ("define: [{name: a}]", "a has one of prompt, agent and workflow"),
        ("define: [{name: a, prompt: x, agent: y}]", "a has one of prompt, agent and workflow"),
        ("define: [{name: a, prompt: x, returns: 3}]", "returns is a JSON Schema"),
        ("define: [{name: a, prmopt: x}]", "Did you mean “prompt”?"),
    ],
)
def test_w1_a_wrong_value_is_told_with_its_line(line: str, words: str) -> None:
    (problem,) = check_agent(f"---\nname: X\n{line}\n---\nWork.\n", KNOWN).errors
    assert problem.line == 3 and words in problem.message


def test_w4_a_stranger_s_keys_start_nobody_and_choose_no_provider() -> None:
    agent = agent_of(KEYS, trusted=False)
    assert (agent.agents, agent.children, agent.depth, agent.background) == ((), 0, 0, False)
    assert (agent.provider, agent.model, agent.fallback) == ("", "", ())
    assert (agent.memory, agent.desk, agent.handoffs, agent.define) == ("off", "auto", (), ())
    assert [str(rule) for rule in agent.permissions] == ["run", "fetch"], "what forbids stays"


def test_w10_the_schema_of_agents_is_made_of_what_reads_them() -> None:
    """All that ships fits it, and what a reader refuses does not."""
    schema = json_schema()
    take = fastjsonschema.compile(json.loads(json.dumps(schema)))
    assert set(KEYS_READ) == set(schema["properties"])  # type: ignore[arg-type]
    shipped = sorted((RESOURCES / "agents").glob("*.md"))
    assert len(shipped) > 8
    for path in shipped:
        take(yaml.safe_load(path.read_text().split("---\n")[1]))
    take(yaml.safe_load(KEYS))
    for wrong in (
        {"mode": "quick"},
        {"steps": 0},
        {"steps": 1.5},
        {"temperature": 3},
        {"background": "yes"},
        {"tools": {"a": 1}},
        {"permissions": {"maybe": ["run"]}},
        {"handoffs": [{"agent": ["A"]}]},
        {"define": [{"prompt": "x"}]},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaException):
            take(wrong)


@pytest.mark.parametrize(
    ("name", "right"),
    [("x" * 64, True), ("_a-b9", True), ("x" * 65, False), ("9a", False), ("a.b", False),
     ("a b", False), ("ä", False), ("", False)],
)  # fmt: skip
def test_w2_a_tools_name_is_one_that_every_provider_takes(name: str, right: bool) -> None:
    text = f"---\nname: X\ndefine:\n  - {{name: '{name}', prompt: Sum up}}\n---\nWork.\n"
    found = check_agent(text, KnownNames(["read"], []))
    assert right == (not found.problems)
    assert right or "is no name of a tool" in found.problems[0].message
