"""Agent files of Claude Code, of VS Code and of Copilot are agents here (W-3, W-4)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.agent_files.finder import AgentFiles
from studio.agent.agent_files.foreign import own_text
from studio.agent.agent_files.name_check import KnownNames, check_agent
from studio.agent.agent_files.parser import parse_agent, read_agent_text
from studio.agent.folder_files import (
    CLAUDE_AGENTS,
    GITHUB_AGENTS,
    PROJECT_AGENTS,
    read_folder_files,
)
from studio.agent.permission.rules import trust_offer
from studio.domain.agents import Agent, Handoff

CLAUDE = (
    ("name: code-reviewer\ndescription: Reviews changes before they are merged\ntools: Read, Grep, Glob, Bash\nmodel: sonnet", {"tools": ("read", "search", "glob", "run"), "fallback": ("claude-sonnet-*",)}),
    ("name: debugger\ndescription: Use PROACTIVELY when a test fails: finds the cause, not the symptom.\ntools: Read, Edit, Bash, Grep, Glob", {"description": "Use PROACTIVELY when a test fails: finds the cause, not the symptom.", "tools": ("read", "edit", "run", "search", "glob")}),
    ("name: data-scientist\ndescription: SQL and BigQuery\ntools: Bash, Read, Write\nmodel: opus", {"tools": ("run", "read", "write"), "fallback": ("claude-opus-*",)}),
    ("name: quick-search\ndescription: Finds files fast\ntools: [Glob, Grep, Read, LS]\nmodel: haiku\ncolor: cyan", {"tools": ("glob", "search", "read", "list"), "hue": "teal"}),
    ("name: everything\ndescription: Has all tools", {"tools": ("*",), "fallback": ()}),
    ("name: writer\ndescription: |\n  Writes documents.\n  Keeps their voice.\ntools: Read, Write, Edit, MultiEdit\ncolor: purple", {"description": "Writes documents. Keeps their voice.", "tools": ("read", "write", "edit"), "hue": "plum"}),
    ("name: no-writes\ndescription: Everything but changes\ndisallowedTools: Write, Edit, NotebookEdit", {"tools": ("*",), "denied": ("write", "edit", "edit")}),
    ("name: careful-shell\ndescription: No pushes\ntools: Bash, Read\ndisallowedTools: Bash(git push:*)", {"tools": ("run", "read"), "denied": ("run(git push *)",)}),
    ("name: lead\ndescription: Hands out work\ntools: Agent(worker, researcher), Read, Bash", {"agents": ("worker", "researcher"), "tools": ("read", "run")}),
    ("name: boss\ndescription: May start anybody\ntools: Task, Read", {"agents": ("*",), "tools": ("read",)}),
    ("name: planner\ndescription: Plans only\npermissionMode: plan\nmodel: inherit", {"role": "reads", "fallback": ()}),
    ("name: daring\ndescription: Asks for nothing\npermissionMode: bypassPermissions", {"role": "all", "denied": (), "kept": ("permissionMode bypassPermissions",)}),
    ("name: bounded\ndescription: Twelve turns\nmaxTurns: 12\neffort: high", {"steps": 12, "effort": "high"}),
    ("name: endless\ndescription: Too many\nmaxTurns: 100000", {"steps": 1000}),
    ("name: helper\ndescription: Works aside\nbackground: true\nisolation: worktree", {"background": True, "desk": "own"}),
    ("name: rememberer\ndescription: Keeps notes\nmemory: project", {"memory": "write"}),
    ("name: connected\ndescription: Uses servers\nmcpServers:\n  - github\n  - db: {command: npx, args: [server]}\ntools: Read, mcp__github__list_issues", {"tools": ("read",), "kept": ("mcp__github__list_issues", "mcpServers")}),
    ("name: skilled\ndescription: Has skills\nskills: [pdf, tables]\nhooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: ./check.sh}]", {"kept": ("skills", "hooks")}),
    ("name: exact-model\ndescription: One model\nmodel: claude-opus-4-1-20250805", {"fallback": ("claude-opus-4-1-20250805",)}),
    ("name: large-window\ndescription: Much text\nmodel: sonnet[1m]", {"fallback": ("claude-sonnet-*",)}),
    ('name: examples\ndescription: Use this agent after code was written. Examples: <example>Context: a function is done. user: "Now check it" assistant: "I start the examiner"</example>\ntools: Read', {"tools": ("read",)}),
    ('name: "quoted"\ndescription: "With: a colon, and \\"quotes\\""\ntools: "Read, Grep"', {"description": 'With: a colon, and "quotes"', "tools": ("read", "search")}),
    ("name: german\ndescription: Prüft Texte: Grammatik, Stil & Ton\ntools: Read", {"description": "Prüft Texte: Grammatik, Stil & Ton"}),
    ("name: web\ndescription: Looks up\ntools: WebFetch, WebSearch, Read, TodoWrite", {"tools": ("fetch", "web_search", "read", "plan")}),
    ("name: jobs\ndescription: Servers\ntools: Bash, BashOutput, KillShell", {"tools": ("run", "job")}),
    ("name: asker\ndescription: Asks\ntools: AskUserQuestion, Read", {"tools": ("ask", "read")}),
    ("name: none\ndescription: Talks\ntools: []", {"tools": ("*",)}),
    ("name: odd-values\ndescription: Odd\nmaxTurns: many\ncolor: beige\nbackground: maybe\nmodel: 7", {"steps": 0, "kept": ("maxTurns", "color beige", "background", "model")}),
    ("name: tabbed\ndescription: Has\ta tab, and [an open bracket\ntools: Read", {"tools": ("read",)}),
    ("name: many-lines\ndescription: First line: of it\n  second line: goes on\ntools:\n  - Read\n  - Grep", {"description": "First line: of it second line: goes on", "tools": ("read", "search")}),
    ("name: prompted\ndescription: Begins\ninitialPrompt: Look around\ndisabled: true", {"kept": ("initialPrompt", "disabled")}),
)  # fmt: skip
VSCODE = (
    ("description: Plans a change and writes none\nname: Planner\ntools: ['search', 'web', 'todo']\nhandoffs:\n  - label: Implement it\n    agent: Coder\n    prompt: Do the plan above.\n    send: false", {"tools": ("search", "glob", "list", "outline", "fetch", "web_search", "plan"), "handoffs": (Handoff("Implement it", "Coder", "Do the plan above."),)}),
    ("description: Edits\ntools: [read, edit, search, execute]\nmodel: GPT-5 (copilot)", {"fallback": ("gpt-5",), "has": ("edit", "run")}),
    ("description: Two models\nmodel: ['Claude Sonnet 4.5 (copilot)', 'GPT-5 mini (copilot)']", {"fallback": ("claude-sonnet-4-5", "gpt-5-mini"), "tools": ("*",)}),
    ("description: Hidden\nuser-invocable: false\ntools: ['read']", {"user_invocable": False}),
    ("description: Old spelling\nuser-invokable: false", {"user_invocable": False}),
    ("description: Not for others\ndisable-model-invocation: true", {"model_invocable": False}),
    ("description: Old key\ninfer: false", {"model_invocable": False}),
    ("description: Old key, on\ninfer: true", {"model_invocable": True}),
    ("description: Leads\ntools: [agent, read]\nagents: [Researcher, Implementer]", {"agents": ("Researcher", "Implementer")}),
    ("description: Starts nobody\ntools: [agent, read]\nagents: []", {"agents": ()}),
    ("description: Starts anybody\ntools: ['agent']\nagents: '*'", {"agents": ("*",)}),
    ("description: Leads all\ntools: ['runSubagent', 'codebase']", {"agents": ("*",), "tools": ("search", "glob")}),
    ("description: Old names\ntools: ['codebase', 'fetch', 'findTestFiles', 'githubRepo', 'search', 'usages']", {"has": ("search", "fetch", "outline"), "kept": ("findTestFiles", "githubRepo")}),
    ("description: In sets\ntools: ['search/codebase', 'edit/editFiles', 'execute/runInTerminal', 'web/fetch', 'read/readFile']", {"tools": ("search", "glob", "edit", "write", "delete", "move", "run", "fetch", "read")}),
    ("description: Whole sets\ntools: ['search/*', 'github/*', 'microsoft/playwright-mcp/*']", {"tools": ("search", "glob", "list", "outline"), "kept": ("github/*", "microsoft/playwright-mcp/*")}),
    ("description: All\ntools: ['*']", {"tools": ("*",)}),
    ("description: None\ntools: []", {"tools": ()}),
    ("name: security-scan\ndescription: Looks for holes\ntarget: github-copilot\ntools: [\"read\", \"search\"]\nmcp-servers:\n  scanner:\n    type: local\n    command: scan", {"kept": ("target", "mcp-servers")}),
    ("description: Hint\nargument-hint: the ticket's number", {"argument_hint": "the ticket's number"}),
    ("name: 'With: colon'\ndescription: Fine", {"name": "With: colon"}),
    ("description: Metadata\nmetadata:\n  team: web\n  tier: 2", {"kept": ("metadata",)}),
    ("description: Terminal\ntools: ['runCommands', 'runTasks', 'editFiles', 'problems']", {"has": ("run", "job", "edit"), "kept": ("problems",)}),
    ("description: Aliases\ntools: [Read, Grep, Bash, Write, TodoWrite]", {"has": ("read", "search", "run", "write", "plan")}),
    ("description: Three ways on\nhandoffs:\n  - {label: Test, agent: Tester, prompt: Test it., send: true, model: GPT-5 (copilot)}\n  - {label: Review, agent: Reviewer, showContinueOn: false}\n  - {label: Build, agent: agent}\n  - {label: Nobody}", {"handoffs": (Handoff("Test", "Tester", "Test it.", send=True, model="gpt-5"), Handoff("Review", "Reviewer"), Handoff("Build", "Coder")), "kept": ("handoffs",)}),
    ("description: Auto\nmodel: Auto", {"fallback": ()}),
    ("description: Hooked\nhooks:\n  sessionStart: [{command: ./begin.sh}]", {"kept": ("hooks",)}),
    ("description: Browser\ntools: ['openSimpleBrowser', 'vscode/askQuestions', 'todos']", {"tools": ("ask", "plan"), "kept": ("openSimpleBrowser",)}),
    ("description: [not, a, text]", {"kept": ("description",)}),
    ("description: Broken: twice: over\ntools: ['read'", {"description": "Broken: twice: over", "kept": ("['read",)}),
    ("color: pink\ndescription: Rosy\nhandoffs: none", {"hue": "rose"}),
    ("", {"description": "", "tools": ("*",)}),
)  # fmt: skip


def read(place: Path, head: str, name: str = "one") -> tuple[Agent, str]:
    """The agent of a file, and what is named in the hint."""
    path = (
        Path("/home/me") / place / (f"{name}.agent.md" if place == GITHUB_AGENTS else f"{name}.md")
    )
    text = f"---\n{head}\n---\nYou work.\n\n# Way\n\n- Look first.\n"
    found = read_agent_text(text, path)
    assert not found.errors and all(one.hint for one in found.problems)
    assert check_agent(text, KnownNames((), ()), path).problems == found.problems
    hint = "; ".join(one.message for one in found.problems)
    assert all(1 <= one.line <= 3 for one in found.problems)
    return parse_agent(text, path), hint


@pytest.mark.parametrize(
    ("place", "head", "wanted"),
    [(CLAUDE_AGENTS, *one) for one in CLAUDE] + [(GITHUB_AGENTS, *one) for one in VSCODE],
    ids=range(len(CLAUDE) + len(VSCODE)),
)
def test_w3_realistic_files_load(place: Path, head: str, wanted: dict[str, object]) -> None:
    """Sixty files, with what their authors meant; what has no counterpart is named once."""
    agent, hint = read(place, head)
    assert agent.prompt == "You work.\n\n# Way\n\n- Look first."
    assert all(rule.verdict == "deny" for rule in agent.permissions)
    for key, value in wanted.items():
        match key:
            case "denied":
                assert tuple(str(rule) for rule in agent.permissions) == value
            case "has":
                assert isinstance(value, tuple) and set(value) <= set(agent.tools)
            case "kept":
                names = re.sub("^.*?: ", "", hint)
                assert names == ", ".join(value if isinstance(value, tuple) else ())
            case _:
                assert getattr(agent, key) == value
    if "kept" not in wanted:
        assert hint == ""


def test_w3_there_are_thirty_of_each() -> None:
    assert len(CLAUDE) >= 30 and len(VSCODE) >= 30


def test_w3_a_file_without_frontmatter_is_all_prompt() -> None:
    """VS Code's header is optional; the name is the file's."""
    agent = parse_agent("# Helper\nYou help.\n", Path("/x/.github/agents/the-helper.agent.md"))
    assert (agent.name, agent.prompt, agent.tools) == ("the-helper", "# Helper\nYou help.", ("*",))


@given(st.text(max_size=300), st.sampled_from([CLAUDE_AGENTS, GITHUB_AGENTS]))
def test_w3_no_text_is_an_error(text: str, place: Path) -> None:
    for whole in (text, f"---\n{text}\n---\n{text}", f"---\ntools: {text}\nmodel: {text}\n---\n"):
        found = read_agent_text(whole, place / "x.md")
        assert not found.errors
        found.agent(place / "x.md")


@pytest.mark.parametrize(
    ("place", "head"),
    [(CLAUDE_AGENTS, head) for head, _ in CLAUDE] + [(GITHUB_AGENTS, head) for head, _ in VSCODE],
    ids=range(len(CLAUDE) + len(VSCODE)),
)
def test_w4_a_converted_file_says_the_same(place: Path, head: str) -> None:
    path = place / "one.md"
    found = read_agent_text(f"---\n{head}\n---\nYou work.\n", path)
    agent = found.agent(path)
    again = parse_agent(own_text(agent.name, found.values, found.prompt), Path("one.md"))
    for key in Agent.__slots__:
        assert key == "source" or getattr(again, key) == getattr(agent, key), key


def test_w4_places_and_trust(tmp_path: Path) -> None:
    """Later places win by name; until the folder is trusted its files widen nothing. PRE-16."""
    folder, home = tmp_path / "work", tmp_path / "home"
    texts = {
        folder
        / CLAUDE_AGENTS
        / "one.md": "---\nname: one\nmodel: opus\ntools: Task\n---\nClaude's.\n",
        folder / GITHUB_AGENTS / "two.agent.md": "---\nname: two\nmodel: GPT-5\n---\nGitHub's.\n",
        folder / GITHUB_AGENTS / "README.md": "No agent.\n",
        folder / PROJECT_AGENTS / "one.md": "---\nname: one\ntools: [read]\n---\nOurs.\n",
        home / "own" / "mine.md": "---\nname: mine\n---\nMine.\n",
        home / CLAUDE_AGENTS / "mine.md": "---\nname: mine\n---\nClaude's of mine.\n",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    files = AgentFiles(tmp_path / "none", home / "own", home / CLAUDE_AGENTS)
    brought = read_folder_files(folder)
    trusted = files.read(brought, trusted=True)
    assert {name: one.prompt for name, one in trusted.by_name.items()} == {
        "mine": "Claude's of mine.",
        "one": "Ours.",
        "two": "GitHub's.",
    }
    assert trusted.by_name["two"].fallback == ("gpt-5",)
    assert "Agent two: begins chats on gpt-5." in trust_offer(brought, trusted).effects

    before = files.read(brought, trusted=False)
    strange = before.by_name["two"]
    assert (strange.trusted, strange.fallback, strange.agents) == (False, (), ())
    digest = brought.digest
    (folder / CLAUDE_AGENTS / "one.md").write_text("---\nname: one\n---\nChanged.\n")
    assert read_folder_files(folder).digest != digest
