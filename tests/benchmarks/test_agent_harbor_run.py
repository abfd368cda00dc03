"""Harbor itself runs the program in a container, from the task to the reward (C-29).

    HARBOR=PATH/harbor .venv/bin/python -m pytest tests/benchmarks/test_agent_harbor_run.py

The program is installed as on anybody's computer: by uv, with a Python and libraries from the
network. ``HARBOR_PROGRAMS`` names a folder of programs for the container, where some cannot be had.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from studio.simulator import Call, Simulator, Text, Turn, Usage
from support.command import ROOT
from support.engine_home import KEY

HARBOR = os.environ.get("HARBOR", "")
TASK = {
    "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 300.0\n[verifier]\ntimeout_sec = 60.0\n',
    "instruction.md": "Write hello into hello.txt.\n",
    "environment/Dockerfile": "FROM debian:12\n",
    "tests/test.sh": "[ $(cat /app/hello.txt) = hello ]\n"
    "echo $((1 - $?)) > /logs/verifier/reward.txt\n",
}
LIBRARIES = "/opt/agent-studio/venv/lib/*/site-packages"
USED = Usage(inp=5_000, cache_read=3_000, out=70)


@pytest.mark.skipif(
    not (HARBOR and shutil.which("bwrap")), reason="HARBOR names no program, or bwrap is missing."
)
@pytest.mark.parametrize("written", ["hello\n", "hullo\n"])
async def test_harbor_runs_a_task_in_a_container(tmp_path: Path, written: str) -> None:
    """C-29: installed there without Qt, run without questions, judged by the task's own test."""
    for name, text in TASK.items():
        place = tmp_path / "task" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    script = [
        Turn(Call("write", {"path": "hello.txt", "content": written}), usage=USED),
        Turn(Call("read", {"path": "hello.txt"}), usage=USED),  # then a command could send it
        Turn(Call("run", {"command": f"id -u; pwd; ls {LIBRARIES}"}), usage=USED),
        Turn(Text("Done."), usage=USED),
    ]
    programs = os.environ.get("HARBOR_PROGRAMS", "")
    async with Simulator(script, pace=False) as simulator:
        process = await asyncio.create_subprocess_exec(
            *(HARBOR, "run", "-p", "task", "-o", "jobs", "-m", "anthropic/claude-sonnet-5"),
            *("--agent", "benchmarks.agent.harbor:AgentStudio", "--ak", "budget=2.00"),
            *("--env", "support.harbor_container:Container", "--ek", f"programs={programs}"),
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
                "ANTHROPIC_API_KEY": KEY,
                "ANTHROPIC_BASE_URL": simulator.url("anthropic"),
            },
            stdout=PIPE,
            stderr=STDOUT,
        )
        said, _ = await process.communicate()
        assert not simulator.violations
    [place] = tmp_path.glob("jobs/*/task__*/result.json")
    result = json.loads(place.read_text())
    assert result["exception_info"] is None, said.decode()
    used = result["agent_result"]
    assert [used[f"n_{name}_tokens"] for name in ("input", "cache", "output")] == [
        *(20_000, 12_000, 280)
    ]
    assert used["cost_usd"] > 0 and used["metadata"]["end"] == "done"
    assert result["verifier_result"]["rewards"]["reward"] == (written == "hello\n")
    kept = [*place.parent.rglob("agent-studio.jsonl")]
    assert kept and KEY not in kept[0].read_text()
    finished = [json.loads(line) for line in kept[0].read_text().splitlines()]
    [ran] = [one for one in finished if one["event"] == "tool_finished" and "/app" in one["text"]]
    assert ran["text"].startswith("0\n/app\n") and "\nstudio\n" in ran["text"]
    assert "PySide6" not in ran["text"]
