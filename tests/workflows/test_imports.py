"""Recipes of goose and folders of the predecessor become workflows and agents (W-12)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.agent_files.parser import parse_agent
from studio.agent.yaml_text import load_yaml
from studio.domain.workflows import Workflow
from studio.workflows import imports
from studio.workflows.expressions import parse_template
from studio.workflows.imports import Imported, import_from
from studio.workflows.reader import read_workflow_text
from support.engine_home import engine_home

RECIPE = """\
version: "1.0.0"
title: Release check
description: Looks at a release
instructions: |
  You check releases of {{ project }}.
  {% if strict %}Be strict.{% endif %}
prompt: "Check {{ tag | upper }} with {{ depth }} and {{ notes }}."
parameters:
  - {key: project, input_type: string, requirement: required, description: Which one}
  - {key: depth, input_type: select, requirement: optional, default: short, options: [short, long]}
  - {key: strict, input_type: boolean, requirement: optional, default: "true"}
  - {key: notes, input_type: file, requirement: user_prompt, description: The notes}
  - {key: my-key, input_type: string, requirement: optional, default: x}
extensions:
  - {type: builtin, name: developer}
  - {type: stdio, name: fetch, cmd: uvx, args: [mcp-server-fetch]}
settings: {goose_provider: anthropic, goose_model: claude-sonnet-5, temperature: 0.2}
activities: [Check the last one]
response:
  json_schema: {type: object, properties: {passed: {type: boolean}}, required: [passed]}
sub_recipes:
  - {name: notes, path: ./notes.yaml}
retry: {max_retries: 3, checks: [{type: shell, command: make test}]}
"""
AGENT = """\
---
name: Story Writer
model: gemini-2.5-flash
safety_mode: gloves_off
tools:
  - web_search
  - vfs_write
  - vfs_read
  - spawn_agent
  - blackboard_write
  - run_shell
  - name: rate
    description: Rates a text
    prompt: "Rate {text} from 1 to 5. Keep {braces}."
    parameters: {text: {type: string, description: The text}}
    result_schema: {type: object, properties: {stars: {type: integer}}}
blocked_tools: [vfs_read]
autonomous: {max_cycles: 20}
---
You write stories.
"""
PIPELINE = """\
---
name: Research Pipeline
description: Two steps
steps:
  - id: research
    agent: agents/researcher.md
    prompt: "Research {topic} for {for-whom}"
  - id: write
    agent: agents/writer.md
    depends_on: [research]
    max_tokens: 5
    prompt: "Write from {research.result} and {research.sources}"
---
"""


def one_workflow(made: Imported) -> Workflow:
    [text] = [text for place, text in made.files.items() if place.startswith("workflows/")]
    found = read_workflow_text(text)
    assert found.workflow is not None and not found.errors, found.problems
    return found.workflow


@pytest.mark.parametrize("form", ["yaml", "json", "desktop"])
def test_w12_a_recipe_is_a_workflow_and_says_what_is_left_out(tmp_path: Path, form: str) -> None:
    path, text = tmp_path / "check.yaml", RECIPE
    if form == "json":
        path, text = tmp_path / "check.json", json.dumps(load_yaml(RECIPE))
    elif form == "desktop":
        text = json.dumps({"name": "x", "recipe": load_yaml(RECIPE), "isGlobal": True})
    path.write_text(text, "utf-8")
    made = import_from(path)
    assert list(made.files) == ["workflows/release-check.md"]
    workflow = one_workflow(made)
    inputs = {one.name: one for one in workflow.inputs}
    assert set(inputs) == {"project", "depth", "strict", "notes", "tag"}
    assert inputs["project"].required and inputs["notes"].type == "file"
    assert inputs["depth"].choices == ("short", "long") and inputs["depth"].default == "short"
    assert inputs["strict"].default is True
    [step] = workflow.steps
    assert (step.target, step.model) == ("Coder", "anthropic/claude-sonnet-5")
    assert step.outputs is not None and step.outputs["required"] == ["passed"]
    assert "You check releases of ${{ inputs.project }}." in step.prompt
    assert "Check ${{ inputs.tag }} with ${{ inputs.depth }}" in step.prompt
    assert "{%" not in step.prompt
    [left_out] = made.left_out.values()
    told = "\n".join(left_out)
    for words in ("my-key", "fetch", "temperature", "activities", "notes", "retry", "upper", "{%"):
        assert words in told, words


def test_w12_a_folder_of_the_predecessor(tmp_path: Path) -> None:
    for place, text in (
        ("agents/writer.md", AGENT),
        ("agents/researcher.md", "---\nname: Researcher\ntools: [web_fetch]\n---\nYou look.\n"),
        ("workflows/pipeline.md", PIPELINE),
        ("memory/notes.md", "A note."),
    ):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(text, "utf-8")
    made = import_from(tmp_path)
    assert set(made.files) == {"agents/writer.md", "agents/researcher.md", "workflows/pipeline.md"}
    steps = {step.id: step for step in one_workflow(made).steps}
    assert [step.target for step in steps.values()] == ["Researcher", "Story Writer"]
    assert steps["write"].needs == ("research",)
    assert steps["research"].prompt == "Research ${{ inputs.topic }} for ${{ inputs.for_whom }}"
    assert "${{ steps.research.text }} and ${{ steps.research.outputs.sources }}" in (
        steps["write"].prompt
    )
    agent = parse_agent(made.files["agents/writer.md"], tmp_path / "writer.md")
    assert agent.name == "Story Writer" and agent.model == "gemini-2.5-flash"
    assert set(agent.tools) == {"web_search", "write", "edit", "board_write"}
    assert agent.agents == ("*",)
    [rate] = agent.define
    assert rate.prompt == "Rate ${{ text }} from 1 to 5. Keep {braces}."
    assert not agent.permissions, "no right comes along"
    told = {name: "\n".join(left_out) for name, left_out in made.left_out.items()}
    for words in ("safety_mode", "the tool run_shell", "autonomous"):
        assert words in told["writer.md"]
    assert "max_tokens of the step write" in told["pipeline.md"] and "memory/" in told


STARTS = ["spawn_agent", "delegate"]
SIGNALS = ["signal_parent"]
TOOLS = {
    "vfs_read": "read", "vfs_write": "write", "vfs_list": "list", "vfs_delete": "delete",
    "web_fetch": "fetch", "web_search": "web_search",
    "memory_read": "notes_read", "memory_write": "remember",
    "knowledge_query": "recall", "knowledge_contribute": "remember",
    "blackboard_read": "board_read", "blackboard_write": "board_write",
    "publish": "post", "subscribe": "inbox",
    "task_queue_read": "board_read", "task_queue_write": "task_take",
}  # fmt: skip
"""All tools of the predecessor but those above, which need none here, each with one of ours."""


async def test_w12_each_tool_of_the_predecessor_has_its_counterpart(tmp_path: Path) -> None:
    """PRE-40: an agent with all of them gets ours, and nothing is left out."""
    listed = [*TOOLS, *STARTS, *SIGNALS]
    assert len(listed) == 19
    path = tmp_path / "agents" / "all.md"
    path.parent.mkdir()
    path.write_text(f"---\nname: All\ntools: [{', '.join(listed)}]\n---\nYou work.\n", "utf-8")
    made = import_from(path)
    agent = parse_agent(made.files["agents/all.md"], path)
    assert set(TOOLS.values()) <= set(agent.tools) and agent.agents == ("*",)
    assert not made.left_out
    async with engine_home(tmp_path, "anthropic", []) as home:
        assert set(agent.tools) <= set(home.engine.tools())


def test_w12_headings_and_expressions_of_others_are_text(tmp_path: Path) -> None:
    said = "You write.\n\n## Form\n\nOnly ${{ secrets.x }} and {{ tag }}."
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"title": "R", "instructions": said, "prompt": "Go."}), "utf-8")
    [step] = one_workflow(import_from(path)).steps
    filled = parse_template(step.prompt).evaluate({"inputs": {"tag": "v1"}}, {})
    assert filled == "You write.\n\n## Form\n\nOnly ${{ secrets.x }} and v1.\n\nGo."


@pytest.mark.parametrize(
    "keys",
    ["tools: [signal_parent]", "tools: [mcp_foo]\nallowed_tools: []", "blocked_tools: [vfs_write]"],
)
def test_w12_no_agent_gets_more_tools_than_it_had(tmp_path: Path, keys: str) -> None:
    path = tmp_path / "agents" / "a.md"
    path.parent.mkdir()
    path.write_text(f"---\nname: A\n{keys}\n---\nYou look.\n", "utf-8")
    made = import_from(path)
    assert parse_agent(made.files["agents/a.md"], path).tools == ()
    assert "signal" in keys or made.left_out


def test_w12_dates_are_texts(tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(
        "title: R\nprompt: Go\nparameters:\n"
        "  - {key: day, input_type: date, requirement: optional, default: 2026-01-01}\n"
        "response: {json_schema: {type: object, properties: {day: {const: 2026-01-01}}}}\n",
        "utf-8",
    )
    workflow = one_workflow(import_from(path))
    assert workflow.inputs[0].default == "2026-01-01"


@given(st.text(max_size=300))
def test_w12_no_text_is_an_error(text: str) -> None:
    for path in (Path("a/workflows/x.md"), Path("a/agents/x.md")):
        made = Imported()
        imports._workflow(text, path, {}, made)
        imports._agent(text, path, made)
        imports._recipe(text, "x.yaml", made)
        for place, found in made.files.items():
            if place.startswith("workflows/"):
                assert read_workflow_text(found).workflow is not None or made.left_out


async def test_w12_the_command_writes_what_is_new_and_lists_what_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = tmp_path / "check.yaml"
    recipe.write_text(RECIPE, "utf-8")
    async with engine_home(tmp_path, "anthropic", []) as home:
        words = ("workflow", "import", str(recipe), "--folder", str(home.folder))
        assert await home.command(*words) == 0
        place = home.folder / ".agents" / "workflows" / "release-check.md"
        printed = capsys.readouterr()
        assert printed.out == f"{place}\n" and "- activities" in printed.err
        place.write_text("mine", "utf-8")
        assert await home.command(*words) == 0
        assert "is there already" in capsys.readouterr().err and place.read_text() == "mine"
        assert await home.command("workflow", "import", str(home.folder)) == 1
        assert "nothing to import" in capsys.readouterr().err
