"""At the window: after an answer an agent's handoffs give the chat to the next one (W-1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from support.delegation_home import agent, save
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

HANDOFFS = """handoffs:
  - {label: Build it, agent: Builder, prompt: Do the plan above., send: true, model: MODEL}
  - {label: Look again, agent: Critic, prompt: Look at the plan.}
  - {label: Nobody, agent: Nobody}""".replace("MODEL", "anthropic/maker/other-model")


def shown(person: Person) -> list[str]:
    strip = person.window.chat.handoffs
    return [one.text() for one in strip.buttons if one.isVisible()]


@on_window_loop
async def test_w1_a_handoff_gives_the_chat_to_the_next_agent(tmp_path: Path) -> None:
    """Offered after an answer, to agents that are there, while nothing is written."""
    place = Paths.below(tmp_path / "studio").agents
    save(place, agent("Planner", HANDOFFS))
    save(place, agent("Builder", "user-invocable: false"))
    save(place, agent("Critic"))

    def planner(settings: SettingsFile) -> None:
        settings.values.default_agent = "Planner"
        settings.values.own_models["anthropic"] = ["maker/other-model"]

    script = [
        Turn(Text("A plan.")),
        Turn(Text("Built.")),
        Turn(Text("Planned anew.")),
        Turn(Text("Looked.")),
    ]
    async with at_window(tmp_path, "anthropic", script, setup=planner) as person:
        chat = person.window.chat
        assert not chat.handoffs.isVisible()
        person.say("Plan it")
        assert not shown(person), "the agent works"
        await until(lambda: shown(person) == ["Build it", "Look again"], "the handoffs")
        assert chat.handoffs.geometry().bottom() < person.composer.y()
        assert "Builder" in chat.handoffs.buttons[0].accessibleDescription()
        person.type("Wait")
        assert not shown(person), "the person has something to say"
        chat.model.input.set_text("")
        person.click(chat.handoffs.buttons[0])
        await until(lambda: len(person.asked) == 2 and person.composer.state == "idle", "its end")
        assert "Do the plan above." in person.asked[1]
        assert "'maker/other-model'" in person.asked[1] and "You are Builder" in person.asked[1]
        assert person.session.info.agent == "Builder" and not shown(person)
        offered = [one.name for one in chat.model.options.offered_agents]
        assert "Builder" in offered, "the agent of the chat"
        chat.model.options.choose_agent("Planner")
        await until(lambda: len(shown(person)) == 2, "the handoffs of Planner")
        assert "Builder" not in [one.name for one in chat.model.options.offered_agents]
        person.click(chat.handoffs.buttons[1])
        assert person.composer.editor.toPlainText() == "Look at the plan."
        assert len(person.asked) == 2 and chat.model.options.agent == "Critic", "it is not sent"
        assert person.focused() is person.composer.editor
