"""The toy of docs/extending/command.md, built by following the page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from support.extending import copy_with, steps


def test_the_toy_command_needs_its_module_and_two_lines(tmp_path: Path) -> None:
    copy = copy_with("command.md", tmp_path)
    assert [step.kind for step in steps("command.md")] == ["Write", "Add", "Add"]

    def engine(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "studio", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(copy), "AGENT_STUDIO_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "list the folders of saved sessions" in engine("--help")
    assert "--agent AGENT" in engine("folders", "--help")
    assert engine("completion", "bash", "--", "fold").startswith("folders\t")
    assert "Coder" in engine("completion", "bash", "--", "folders", "--agent", "Co")
    assert json.loads(engine("folders", "--json")) == []
    engine("run", "--provider", "simulator", "--quiet", "Hello")
    assert engine("folders").splitlines() == [str(tmp_path)]
    assert engine("folders", "--agent", "Nobody") == ""
