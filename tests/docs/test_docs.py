"""What the documents name is there: files, commands, settings, tools, an agent's keys."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from studio.agent.agent_files.finder import AgentFiles
from studio.cli import build_parser, exit_codes
from studio.domain.agents import Agent
from studio.domain.models import ModelInfo
from studio.domain.tools import FIND_TOOLS, USE_TOOL
from studio.domain.workflows import Check, Step, Workflow
from studio.mcp.entries import ServerEntry
from studio.providers.base import Provider
from studio.providers.descriptor import ProviderDescriptor
from studio.server.mcp.studio_tools import TOOLS as STUDIO_TOOLS
from studio.storage.config.settings import Settings
from studio.tools import Context
from studio.tools.discovery import discover
from studio.workflows.reader import read_workflow_text
from studio.workflows.workflow_check import KnownNames, check_workflow

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(([^)#\s]+)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.M | re.S)
WORD = re.compile(r"`([^`\n]+)`")
MADE = re.compile(r"`([^`\n]+)`:\n\n```")
"""A file that the page has the reader make."""


def commands(text: str) -> list[str]:
    """The commands of code blocks, and those named in the text."""
    lines = [line for kind, body in BLOCK.findall(text) if not kind for line in body.splitlines()]
    lines += [
        word for word in WORD.findall(BLOCK.sub("", text)) if word.startswith("agent-studio ")
    ]
    found = [line[line.index("agent-studio ") :] for line in lines if "agent-studio " in line]
    return [line for line in found if "agent-studio[" not in line]


def known() -> set[str]:
    """Names with an underscore that a reader may meet."""
    settings = {field.name for field in fields(Settings)}
    tools = discover(folders=[]).tools
    arguments = {name for one in tools.values() for name in one.spec.schema["properties"]}  # type: ignore[union-attr]
    facts = {
        field.name
        for one in (ModelInfo, Context, Agent, Workflow, Step, Check, ServerEntry)
        for field in fields(one)
    }
    others = {"node_modules", "orders_detail", "reasoning_content", FIND_TOOLS, USE_TOOL}
    others |= {"turn_complete", "awaiting_permission", "permission_resolved"}  # events
    others |= {field.name for field in fields(ProviderDescriptor)} | set(dir(Provider))
    others |= {str(one["name"]) for one in STUDIO_TOOLS}
    others |= {path.stem for path in (ROOT / "studio").rglob("*.py")}
    return settings | facts | set(tools) | arguments | others


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert "://" in target or (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_conflict_is_left(page: Path) -> None:
    assert not re.findall(r"^(?:<{7}|>{7}) .*", page.read_text(), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_are_there(page: Path) -> None:
    """A path of the project that a page names, from its root or from ``studio``."""
    made = MADE.findall(page.read_text())
    for word in set(WORD.findall(BLOCK.sub("", page.read_text()))).difference(made):
        if re.fullmatch(r"[a-z_0-9]+(/[a-z_0-9]+)*(/|\.py)", word) and page.name != "CHANGELOG.md":
            assert (ROOT / word).exists() or (ROOT / "studio" / word).exists(), word


PACKS = {"PACK", "notes", "notary"}
"""Packs whose commands are named: those of the pages about packs."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_understood(page: Path) -> None:
    """A command alone, as ``agent-studio audit``, may stand for its subcommands."""
    made = MADE.findall(page.read_text())
    for line in commands(page.read_text()):
        words = shlex.split(line, comments=True)[1:]
        if f"studio/cli/commands/{words[0]}.py" in made:
            continue
        whole = [re.sub(r"^\d$|^N$", "1", word) for word in words]
        if words[0] in PACKS:
            whole = ["packs", "run", *whole]
        if whole in (["tools"], ["permissions"], ["drafts"], ["sessions"], ["run"]):
            continue
        try:
            build_parser().parse_args(whole)
        except SystemExit as end:
            raise AssertionError(line) from end


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name != "extending"], ids=lambda page: page.name)  # fmt: skip
def test_settings_are_there(page: Path) -> None:
    """Words like ``turn_tokens`` are settings, tools or what these take, or in a code block.

    Pages about extending name what is in the code; their tests follow them.
    """
    text = page.read_text()
    names = known()
    blocks = " ".join(body for _, body in BLOCK.findall(text))
    for word in WORD.findall(BLOCK.sub("", text)):
        if re.fullmatch(r"[a-z]+(_[a-z]+)+", word) and word not in blocks:
            assert word in names, f"{page.name}: {word}"


def test_defaults_in_the_tables_are_the_programs() -> None:
    """docs/limits.md and README say the same numbers as the settings."""
    values = Settings()
    text = (ROOT / "docs" / "limits.md").read_text()
    for row in (
        f"| Steps | {values.inline_steps}, `inline_steps` | {values.background_steps}, ",
        f"| Seconds | {values.inline_seconds:g}, `inline_seconds` | "
        f"{values.background_seconds:g}, ",
        f"| `turn_tokens`, `turn_dollars` | one turn; an agent's file may set `tokens` and "
        f"`dollars` | {values.turn_tokens}, ${values.turn_dollars:g} |",
        f"| `long_dollars` | one turn in the mode `long`, in place of `turn_dollars` | "
        f"${values.long_dollars:g} |",
        f" | {values.long_steps}, `long_steps` |",
        f" | {values.long_seconds:g}, `long_seconds` |",
        f"| `day_tokens`, `day_dollars` | a day | {values.day_tokens}, ${values.day_dollars:g} |",
        f"| `month_tokens`, `month_dollars` | a month of the calendar | {values.month_tokens}, "
        f"{values.month_dollars:g} |",
        f"| `requests_per_hour` | requests an hour | {values.requests_per_hour} |",
        f"Of the tools that one reply calls, {values.parallel_tools} run at a time:",
    ):
        assert row in text, row


async def test_every_key_of_an_agents_file_in_the_page_is_read(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "agents.md").read_text()
    table = text[text.index("| Key |") : text.index("`model` may name")]
    keys = [
        key for row in table.strip().splitlines()[2:] for key in WORD.findall(row.split("|")[1])
    ]
    samples = {
        "provider": "ollama", "model": "m", "mode": "inline", "steps": "3", "seconds": "9",
        "parallel_tools": "2", "tokens": "9", "dollars": "1", "role": "notes", "effort": "low", "temperature": "1",
        "mask": "[email]", "agents": "[Writer]", "children": "2", "depth": "1", "background": "true",
        "ask": "[run]", "user-invocable": "false", "disable-model-invocation": "true", "argument-hint": "a file",
        "fallback": "[ollama/m]", "memory": "off", "desk": "own", "handoffs": "[{agent: Writer}]",
        "define": "[{name: t, prompt: x}]", "skills": "[notes]", "servers": "[git]",
    }  # fmt: skip
    head = "\n".join(f"{key}: {samples[key]}" for key in keys)
    (tmp_path / "own.md").write_text(f"---\nname: Own\n{head}\n---\nWork.\n")
    found = await AgentFiles(tmp_path / "none", tmp_path).load(None)
    agent = found.by_name["Own"]
    assert (agent.role, agent.steps, agent.caps.tokens, agent.mask) == ("notes", 3, 9, ("email",))
    assert agent.parallel_tools == 2
    assert not found.problems


def test_w8_the_workflow_in_the_page_has_no_mistakes() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    page = text[text.index("### Workflows") :]
    example = next(body for kind, body in BLOCK.findall(page) if kind == "markdown")
    known = KnownNames(["Researcher", "Writer"])
    found = check_workflow(read_workflow_text(example), known)
    assert found.workflow is not None and not found.problems
    assert [step.needs for step in found.workflow.steps] == [(), ("collect",)]


def test_exit_codes_in_the_table_are_the_programs() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    table = text[text.index("| Exit code |") : text.index("## In scripts")]
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)}
    assert codes == {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}  # fmt: skip
