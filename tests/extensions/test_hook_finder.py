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


def test_k9_hooks_guard_while_what_was_approved_cannot_be_read(tmp_path: Path) -> None:
    """K-9: they count as changed, which refuses what they guard, until each is said again."""
    finder, hook = hook_of(tmp_path, tmp_path, "exit 2")
    finder.switch(hook, True)
    approved = tmp_path / "approved_hooks.json"
    for broken in (b"{", b"\xff\xfe", b"[" * 100_000):
        approved.write_bytes(broken)
        found = finder.in_folder(tmp_path)
        assert [one.state for one in found.found] == ["changed"]
        assert found.counting("PreToolUse")
        assert "approved cannot be read" in found.notices[0]
    finder.switch(found.found[0], False)
    found = finder.in_folder(tmp_path)
    assert [one.state for one in found.found] == ["off"] and not found.notices
    hooks = [{"hooks": [{"type": "command", "command": "exit 1"}]}]
    finder.own.write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
    assert finder.in_folder(tmp_path).found[0].state == "changed", "it may have been approved"
