"""The examples of docs/hooks.md are used as a reader would use them (K-8, K-9)."""

from __future__ import annotations

import re
from pathlib import Path

from studio.domain.events import AwaitingPermission, ToolFinished
from studio.domain.hooks import HOOK_EVENTS
from studio.domain.permissions import Rule
from studio.extensions.hooks.finder import HookFinder
from studio.simulator import Call, RequestView, Text, Turn
from support.engine_home import EngineHome, engine_home, say

PAGE = (Path(__file__).parents[2] / "docs" / "hooks.md").read_text()
EXAMPLE = re.compile(r"`([^`\n]+\.(?:json|sh))`:\n\n```(?:json|sh)\n(.*?)^```", re.S | re.M)


async def test_k8_the_examples_of_the_page_work(tmp_path: Path) -> None:
    """K-8, K-9: each is found without a mistake, approved, and does what the page says."""
    examples = dict(EXAMPLE.findall(PAGE))
    assert len(examples) == 4
    calls = [
        Call("write", {"path": ".env", "content": "A"}),
        Call("run", {"command": "git push"}),
        Call("run", {"command": "touch passed"}),
    ]
    box: list[EngineHome] = []

    def script(view: RequestView) -> Turn:
        made = len(box[0].asked) - 1
        return Turn(calls[made]) if made < len(calls) else Turn(Text("Done."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        box.append(home)
        for name, text in examples.items():
            path = (home.folder if name.startswith(".") else home.engine.paths.config) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        await home.engine.rules.trust(home.folder)
        found, _ = await home.engine.services.hooks(home.folder)
        assert len(found.found) == 3 and not found.findings
        assert all(one.state == "new" and not one.reason for one in found.found)
        for one in found.found:
            HookFinder(home.engine.paths).switch(one, True)
        session = await home.session()
        events = await say(session, rules=(Rule.parse("run"),), answer="deny")
        results = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.is_error for one in results] == [True, True, False]
        assert "Nobody writes .env but people." in results[0].text
        (asked,) = [one for one in events if isinstance(one, AwaitingPermission)]
        assert "It publishes." in asked.question.why
        assert len(home.asked) == 4
        (home.folder / "passed").unlink()
        await say(session)
        assert len(home.asked) == 7, "sent back twice"


def test_k8_the_page_names_every_event() -> None:
    assert not [one for one in HOOK_EVENTS if f"`{one}`" not in PAGE]
