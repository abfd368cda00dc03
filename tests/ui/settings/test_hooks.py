"""Settings, Hooks: what each runs is seen before its switch approves it (K-8, K-9)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from studio.ui.settings.pages.hooks import HooksPage
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_k9_a_hook_is_seen_tried_approved_and_asked_about_again(tmp_path: Path) -> None:
    """K-8, K-9: taken over from Claude Code; a changed script takes its switch back."""

    def script(view: object) -> Turn:
        return Turn(Text("Fine."))

    async with at_window(tmp_path, "anthropic", script) as person:
        check = tmp_path / "check.sh"
        check.write_text("echo 'not today' >&2; exit 2\n")
        command = f"sh {check} {'x' * 3000}"  # all of it is seen, and the switch beside it
        hooks = [{"type": "command", "command": command}, {"type": "prompt", "prompt": "Fine?"}]
        settings = person.engine.paths.home / ".claude" / "settings.json"
        settings.parent.mkdir()
        groups = [{"matcher": "Bash", "hooks": hooks}]
        settings.write_text(json.dumps({"hooks": {"PreToolUse": groups}}))
        person.window.preferences.open("hooks")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["hooks"]
        assert isinstance(page, HooksPage)
        await until(lambda: "no hooks yet" in page.sum.text())
        page.take.click()
        await until(lambda: page.switches)
        assert "2 hooks taken over" in page.taken.text()
        ((name, toggle),) = page.switches.items()
        assert not toggle.isChecked()
        line = page.lines[name]
        words = line.text().replace("\u200b", "")
        assert "Before a call: Bash" in words and "check.sh" in words
        page.tries[name].click()
        await until(lambda: "it refuses" in page.lines[name].text())
        assert "not today" in page.lines[name].text()
        widget = page.widget()
        assert widget is not None and widget.width() <= page.viewport().width()
        page.switches[name].click()
        await until(lambda: "1 hook on" in page.sum.text())
        (hook,) = (await person.engine.services.hooks(person.folder))[0].counting("PreToolUse")
        assert hook.state == "on"
        check.write_text("exit 0\n")
        page.refresh()
        await until(lambda: name in page.lines and "Changed since" in page.lines[name].text())
        assert not page.switches[name].isChecked()
        page.switches[name].click()
        await until(lambda: "1 hook on" in page.sum.text())
