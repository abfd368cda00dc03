"""Where hooks are known, by what they run (K-9)."""

from __future__ import annotations

import json
from pathlib import Path

from studio.domain.hooks import Hook
from studio.extensions.hooks.finder import HookFinder
from studio.storage.paths import Paths


def hook_of(home: Path, folder: Path, command: str) -> tuple[HookFinder, Hook]:
    paths = Paths.below(home)
    finder = HookFinder(paths)
    finder.own.parent.mkdir(parents=True, exist_ok=True)
    hooks = [{"hooks": [{"type": "command", "command": command}]}]
    finder.own.write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
    return finder, finder.in_folder(folder).found[0]


def test_k9_a_hook_approved_in_the_home_folder_holds_in_every_folder(tmp_path: Path) -> None:
    """K-9: where a terminal stood does not matter, unless the hook names files of the folder."""
    home, folder = tmp_path / "home", tmp_path / "work"
    script = home / ".claude" / "guard.sh"
    script.parent.mkdir(parents=True)
    for place in (home, folder):
        place.mkdir(exist_ok=True)
        (place / "own.sh").write_text("exit 0")
    script.write_text("exit 2")
    for command in (f"sh {script}", "sh ~/.claude/guard.sh", 'sh "$HOME/.claude/guard.sh"'):
        finder, hook = hook_of(tmp_path / "home", tmp_path / "home", command)
        finder.switch(hook, True)
        assert finder.in_folder(folder).found[0].state == "on", command
    for command in ("sh own.sh", 'sh "$CLAUDE_PROJECT_DIR/own.sh"', "sh ./own.sh"):
        finder, hook = hook_of(tmp_path / "home", tmp_path / "home", command)
        finder.switch(hook, True)
        assert finder.in_folder(folder).found[0].state == "new", command
