"""The adapter for Harbor, in a fake container: a folder in which commands run for real (C-29)."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shutil
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from studio.simulator import Call, RequestView, Simulator, Text, Turn, Usage
from support.command import ROOT
from support.engine_home import KEY

INSTRUCTION = "Write “it's $HOME” into /out/a.txt,\nthen `list` what is here."


@dataclass
class Done:
    return_code: int
    stdout: str
    stderr: str


@dataclass
class Used:
    """What Harbor keeps of a run."""

    n_input_tokens: int | None = None
    n_cache_tokens: int | None = None
    n_output_tokens: int | None = None
    cost_usd: float | None = None
    metadata: dict[str, Any] | None = None


@dataclass
class Container:
    """Its absolute paths lie below ``root``; what installs is noted and not run."""

    root: Path
    installed: list[str] = field(default_factory=list[str])
    fails: bool = False
    given: dict[str, str] | None = None
    """The variables of the last command that has any."""

    def below(self, text: str) -> str:
        for name in ("/opt/agent-studio", "/logs/agent", "/tmp/agent-studio"):
            text = text.replace(name, str(self.root) + name)
        return text

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> Done:
        if "uv pip install" in command:
            self.installed.append(command)
            return Done(int(self.fails), "", "no network" if self.fails else "")
        self.given = env or self.given
        (self.root / "app").mkdir(exist_ok=True)
        process = await asyncio.create_subprocess_shell(
            self.below(command),
            cwd=self.root / "app",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **(env or {})},
            stdout=PIPE,
            stderr=PIPE,
        )
        out, err = await process.communicate()
        return Done(process.returncode or 0, out.decode(), err.decode())

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.below(target_dir), dirs_exist_ok=True)

    def put_command(self) -> None:
        """Stand in for what would have been installed: this checkout."""
        place = Path(self.below("/opt/agent-studio/venv/bin/agent-studio"))
        place.parent.mkdir(parents=True)
        place.write_text(f'#!/bin/sh\nexec {sys.executable} -m studio "$@"\n')
        place.chmod(0o755)


@pytest.fixture
def harbor(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The adapter. Harbor itself needs other versions of our libraries, so its class is a stand-in
    with what the adapter uses of it."""

    class BaseAgent:
        def __init__(
            self, logs_dir: Path, model_name: str | None = None, extra_env: Any = None, **_: Any
        ) -> None:
            self.logs_dir, self.model_name = logs_dir, model_name
            self._extra_env = extra_env or {}

    for name in ("harbor", "harbor.agents", "harbor.agents.base"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["harbor.agents.base"].BaseAgent = BaseAgent  # type: ignore[attr-defined]
    monkeypatch.delitem(sys.modules, "benchmarks.agent.harbor", raising=False)
    found = importlib.import_module("benchmarks.agent.harbor")
    monkeypatch.delitem(sys.modules, "benchmarks.agent.harbor")
    return found


async def test_harbor_runs_the_program_and_gets_what_was_used(
    harbor: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-29: without questions or a sandbox, everywhere in the container, with the provider's key alone."""
    container = Container(tmp_path)
    container.put_command()
    (tmp_path / "out").mkdir()
    place = tmp_path / "out" / "a.txt"
    step = Usage(inp=5_000, cache_read=3_000, out=70)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "task.txt").write_text("What is asked for.\n")  # a stranger's words
    calls = [
        Call("write", {"path": "a.txt", "content": "it's $HOME"}),
        Call("run", {"command": f"cp a.txt {place}; pwd; env", "network": True}),
        Call("ask", {"question": "Which?"}),
        Call("read", {"path": "task.txt"}),
        Call("run", {"command": "read name; echo hello $name", "background": True}),
        Call("job", {"input": "you\n", "wait": 60}),
    ]

    def script(view: RequestView) -> Turn:
        if not calls:
            return Turn(Text("Done."), usage=step)
        call = calls.pop(0)
        if call.name == "job":
            [number] = re.findall(r"It goes on as job (\w+)", str(view.body))
            call.arguments["id"] = number
        return Turn(call, usage=step)

    monkeypatch.setenv("GEMINI_API_KEY", "another provider's")
    async with Simulator(script, pace=False) as simulator:
        extra = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": simulator.url("responses")}
        agent = harbor.AgentStudio(
            tmp_path / "logs" / "agent", "openai/gpt-5-mini", extra_env=extra, budget="1.00"
        )
        used = Used()
        await agent.run(INSTRUCTION, container, used)
        assert simulator.requests[-1].json["input"][0]["content"][-1]["text"] == INSTRUCTION
        assert not simulator.violations
    assert container.given == extra
    assert place.read_text() == "it's $HOME"
    assert (used.n_input_tokens, used.n_cache_tokens, used.n_output_tokens) == (35_000, 21_000, 490)
    assert used.cost_usd is not None and used.cost_usd > 0
    assert used.metadata == {"end": "done", "steps": 7, "detail": ""}
    events = [
        *map(json.loads, (tmp_path / "logs/agent/agent-studio.jsonl").read_text().splitlines())
    ]
    assert events[0]["mode"] == "long"
    results = [event for event in events if event["event"] == "tool_finished"]
    assert not any(event["event"] == "awaiting_permission" for event in events)
    assert not results[1]["is_error"] and str(tmp_path / "app") in results[1]["text"]
    assert KEY not in results[1]["text"] and "another provider's" not in results[1]["text"]
    assert "Nobody is here" in results[2]["text"]
    assert "hello you" in results[5]["text"] and not results[5]["is_error"]


async def test_setup_installs_this_checkout_without_qt(harbor: ModuleType, tmp_path: Path) -> None:
    """C-29: the package for terminals, from a copy that has all it is built of."""
    container = Container(tmp_path)
    agent = harbor.AgentStudio(tmp_path / "logs", "anthropic/m")
    await agent.setup(container)
    [command] = container.installed
    assert "/opt/agent-studio/source/packaging/terminal" in command
    source = Path(container.below("/opt/agent-studio/source"))
    for name in ("studio/app.py", "resources/agents/coder.md", "pyproject.toml", "LICENSE"):
        assert (source / name).read_bytes() == (ROOT / name).read_bytes()
    assert (source / "packaging/terminal/hatch_build.py").is_file()
    assert not [*source.rglob("__pycache__")] and not (source / "benchmarks").exists()
    assert agent.version() and agent.name() == "agent-studio"
    container.fails = True
    with pytest.raises(RuntimeError, match="was not installed: no network"):
        await agent.setup(container)


async def test_a_run_without_a_key_is_an_error_and_a_cut_one_tells_its_steps(
    harbor: ModuleType, tmp_path: Path
) -> None:
    """C-29: Harbor's own time limit cuts a run; what its steps used is known from their events."""
    container = Container(tmp_path)
    container.put_command()
    logs = tmp_path / "logs" / "agent"
    agent = harbor.AgentStudio(logs, "anthropic/claude-sonnet-5")
    with pytest.raises(RuntimeError, match="agent-studio ended with 1"):
        await agent.run("Go", container, Used())
    usage = {"input": 10, "cache_read": 4, "output": 2}
    steps = [{"event": "step_ended", "usage": usage}] * 3
    (logs / "agent-studio.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in steps) + '{"event": "text_de'
    )
    used = Used()
    agent.populate_context_post_run(used)
    assert (used.n_input_tokens, used.n_cache_tokens, used.n_output_tokens) == (30, 12, 6)
    assert used.cost_usd is None and used.metadata == {"end": "cut", "steps": 3}
    with pytest.raises(ValueError, match="PROVIDER/ID"):
        await harbor.AgentStudio(logs, "gpt-5").run("Go", container, Used())
