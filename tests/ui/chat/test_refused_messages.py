"""At the window: a message that a hook refuses comes back to the composer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.extensions.hooks.finder import HookFinder
from studio.simulator import Text, Turn
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
REFUSES = "grep -q password && { echo 'no secrets here' >&2; exit 2; }; exit 0"


async def refuse_passwords(person: Person) -> None:
    """Approve a hook that refuses messages with a password."""
    entry = {"hooks": [{"type": "command", "command": REFUSES}]}
    hooks = person.engine.paths.config / "hooks.json"
    hooks.write_text(json.dumps({"hooks": {"UserPromptSubmit": [entry]}}))
    finder = HookFinder(person.engine.paths)
    for one in (await person.engine.services.hooks(person.folder))[0].found:
        finder.switch(one, True)


@on_window_loop
async def test_a_refused_message_comes_back_to_be_changed(tmp_path: Path) -> None:
    """G-2, K-8: in a new chat and in one that has begun."""
    async with at_window(tmp_path, "anthropic", lambda view: Turn(Text("Yes."))) as person:
        await refuse_passwords(person)
        for turn in (1, 2):
            person.say("My password is x")
            await until(lambda: "no secrets here" in person.window.banner.text)
            await until(lambda: person.composer.state == "idle")
            assert person.composer.text == "My password is x" and not person.asked[turn - 1 :]
            await until(lambda: person.view.canvas_viewport.outgoing is None)
            person.window.banner.hide()
            person.composer.set_text("")
            person.say("Hello")
            await person.done(turn)
