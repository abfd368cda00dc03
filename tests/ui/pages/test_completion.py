"""What may stand at the caret of an agent's or a workflow's file is offered (W-60)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pytest

from studio.agent.agent_files.keys import json_schema as agent_schema
from studio.agent.agent_files.name_check import KnownNames as AgentNames
from studio.agent.agent_files.name_check import check_agent
from studio.ui.pages.files.completion import complete
from studio.ui.pages.files.open_file import CHECK_MS
from studio.workflows.reader import read_workflow_text
from studio.workflows.workflow_check import KnownNames, check_workflow
from studio.workflows.workflow_keys import json_schema as workflow_schema
from support.call_count import calls_while

NAMES: Mapping[str, Collection[str]] = {
    "agent": ["Coder", "Critic", "Writer"],
    "agents": ["Coder", "Critic", "Writer"],
    "model": ["ollama/qwen3", "openai/gpt"],
    "tools": ["read", "recall", "write"],
    "allow": ["read", "run"],
    "steps": ["plan", "part"],
    "inputs": ["who"],
}
FLOW = """\
---
name: X
inputs:
  who: {type: string}
steps:
  - id: plan
    agent: Coder
  - id: part
    needs: plan
    redo:
      from: plan
      max: 3
    budget: {dollars: 1}
---
## part
For ${{ inputs.who }}.
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: X", "descr", ["description: "]),
        ("    agent: Coder", "    agent: C", ["Coder", "Critic"]),
        ("    agent: Coder", "    ag", ["agent: "]),
        ("  - id: part", "  - ti", ["title: ", "timeout: "]),
        ("    needs: plan", "    needs: p", ["part", "plan"]),
        ("    needs: plan", "    needs: [plan, pa", ["part"]),
        ("      from: plan", "      from: pl", ["plan"]),
        ("      max: 3", "      wh", ["when: "]),
        ("      max: 3", "      when: steps.pa", ["part"]),
        ("      max: 3", "      when: steps.part.te", ["text"]),
        ("    budget: {dollars: 1}", "    budget: {do", ["dollars: "]),
        ("    budget: {dollars: 1}", "    budget: {dollars: 1, to", ["tokens: "]),
        ("    budget: {dollars: 1}", "    desk: ", ["auto", "own", "shared"]),
        ("    budget: {dollars: 1}", "    fail_fast: t", ["true"]),
        ("    budget: {dollars: 1}", "    permissions: {allow: [r", ["read", "run"]),
        ("  who: {type: string}", "  who: {type: str", ["string"]),
        ("For ${{ inputs.who }}", "For ${{ inputs.w", ["who"]),
        ("For ${{ inputs.who }}", "Ask the Cod", []),
        ("    agent: Coder", "    # ag", []),
        ("    agent: Coder", "    prompt: ag", []),
        ("    agent: Coder", "    agent: Coder", []),
    ],
)
def test_w60_what_may_stand_in_a_workflow(old: str, new: str, words: list[str]) -> None:
    before, _, after = FLOW.partition(old)
    text = before + new + after
    found = complete(text, len(before + new), workflow_schema(), NAMES)
    assert [*found.words] == words
    typed = text[found.start : len(before + new)]
    assert all(word.startswith(typed) for word in words), "what is typed is begun by each"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mod", ["model: ", "mode: "]),
        ("model: o", ["ollama/qwen3", "openai/gpt"]),
        ("fallback: [o", ["ollama/qwen3", "openai/gpt"]),
        ("tools: [write, re", ["read", "recall"]),
        ("tools:\n  - wr", ["write"]),
        ("tools:\n- wr", ["write"]),
        ("memory: re", ["read"]),
        ("background: f", ["false"]),
        ("permissions:\n  al", ["allow: "]),
        ("permissions:\n  allow: [ru", ["run"]),
        ("handoffs:\n  - {label: A, ag", ["agent: "]),
        ("handoffs:\n  - label: A\n    agent: Wr", ["Writer"]),
    ],
)
def test_w60_what_may_stand_in_an_agents_file(line: str, words: list[str]) -> None:
    text = f"---\nname: X\n{line}"
    found = complete(f"{text}\n---\nWork.\n", len(text), agent_schema(), NAMES)
    assert sorted(found.words) == sorted(words)


async def test_w60_problems_are_found_while_one_types() -> None:
    """Within 100 ms: the wait, and the work of a check counted in calls, not in time."""
    steps = "".join(
        f"  - {{id: s{at}, agent: Coder, prompt: Work, needs: [{'' if not at else f's{at - 1}'}]}}\n"
        for at in range(50)
    )
    flow = f"---\nname: X\nsteps:\n{steps}  - {{id: last, agnet: Coder}}\n---\n"
    known = KnownNames(["Coder"], tools=["read"])
    found = check_workflow(read_workflow_text(flow), known)
    assert any("Did you mean “agent”?" in str(one) for one in found.errors)

    async def check_flow() -> None:
        check_workflow(read_workflow_text(flow), known)

    async def check_own() -> None:
        check_agent(agent, names)

    _, calls = await calls_while(check_flow())
    agent = "---\nname: X\n" + "tools: [read, wirte]\n" + "---\n" + "Work.\n" * 500
    names = AgentNames(["read", "write"], [])
    _, fewer = await calls_while(check_own())
    assert CHECK_MS <= 50 and max(calls, fewer) < 40_000, (calls, fewer)
