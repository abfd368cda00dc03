"""The toy of docs/extending/command.md, built by following the page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending" / "command.md").read_text("utf-8")
MODULE = "studio/cli/commands/folders.py"
REGISTRY = "studio/cli/commands/__init__.py"


def block(after: str) -> str:
    """The first block of Python that follows these words on the page."""
    found = re.search(r"```python\n(.*?)```", PAGE[PAGE.index(after) :], re.S)
    assert found is not None
    return found[1]


def test_the_toy_command_needs_its_module_and_one_line(tmp_path: Path) -> None:
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "studio", tmp_path / "studio", ignore=skipped)
    (tmp_path / "resources").symlink_to(ROOT / "resources")
    (tmp_path / MODULE).write_text(block(f"`{MODULE}`"))
    registry = tmp_path / REGISTRY
    begin = "COMMANDS = {\n"
    text = registry.read_text("utf-8")
    registry.write_text(text.replace(begin, begin + block("## The line"), 1))

    def engine(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "studio", *words],
            cwd=tmp_path,
            env=os.environ
            | {"PYTHONPATH": str(tmp_path), "AGENT_STUDIO_HOME": str(tmp_path / "home")},
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
