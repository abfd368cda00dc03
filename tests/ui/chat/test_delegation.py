"""Agents that work for a chat: their rows, the tree beside it and the graph (W-32, W-62)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from studio.domain.blocks import NoticeBlock, ToolBlock
from studio.simulator import Call, RequestView, Turn
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.ui.transcript import model
from studio.ui.transcript.items.tool_item import ToolsItem
from support.delegation_home import agent, cast, delegate, results, save, says
from support.desktop_bus import bus, desktop
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="D-Bus is of Linux"),
]
__all__ = ["alone", "bus"]

LEAD = agent("Lead", "agents: [Middle, Helper]\npermissions: {allow: [delegate]}")
MIDDLE = agent("Middle", "agents: [Helper]\nicon: telescope\nhue: plum")
HELPER = agent("Helper", "icon: flask-conical\nhue: green")
ASK = Turn(Call("ask", {"question": "Which suite?"}))


def helper(view: RequestView) -> Turn:
    if results(view):
        return says("All pass.")
    return ASK if "slow" in view.last_user else says("Quick.")


def led(settings: SettingsFile) -> None:
    settings.values.default_agent = "Lead"


def rows(person: Person) -> list[str]:
    """What the rows of delegation say at their right."""
    return [
        model.row_status(block, None)
        for block in person.blocks(ToolBlock)
        if block.name == "delegate"
    ]


@on_window_loop
async def test_w32_w38_w62_agents_at_work_in_rows_tree_and_graph(tmp_path: Path, bus: str) -> None:
    """PRE-37, W-22, W-39: from their beginning, through a question, to an end after the turn."""
    first = Turn(delegate("Middle", "Read both"), delegate("Helper", "slow", background=True))
    script = cast(
        Lead=[first, says("Both round up.")],
        Middle=[Turn(delegate("Helper", "Count")), says("Read.")],
        Helper=[helper],
    )
    save(Paths.below(tmp_path / "studio").agents, LEAD, MIDDLE, HELPER)
    async with (
        desktop() as seen,
        at_window(tmp_path, "anthropic", script, setup=led) as person,
    ):
        chat = person.window.chat
        assert chat.header.which.isHidden()
        person.say("Go")
        await person.done()
        assert rows(person)[1] == "In the background"
        item = person.item(ToolsItem)
        assert item.name.startswith("Middle, Read both, done")

        # Who works for whom, with what it cost, beside the chat and as a graph.
        children = person.engine.delegation.of(person.session.info.id)
        child = next(one for one in children if one.background)
        await until(lambda: child.session.info.state == "waiting", "the question")
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: person.window.inspector)
        await until(lambda: not chat.header.which.isHidden(), "the switch to the graph")

        def tree() -> list[tuple[str, int, str]]:
            chat.agents._timer.start(0)
            facts = inspector.agents.facts[1:]
            return [(fact.left, fact.depth, fact.state) for fact in facts]

        of_middle = [("Middle", 1, "done"), ("Helper", 2, "done")]
        asks = [("Helper", 1, "needs_you")]  # either may begin first
        await until(
            lambda: (
                tree()[:1] == [("Lead", 0, "done")]
                and tree()[1:] in ([*of_middle, *asks], [*asks, *of_middle])
            ),
            "the tree of agents",
        )
        tokens = sum(one.used.usage.total for one in chat.agents.members)
        spent = await person.engine.usage_costs.of_tree(person.session.info.id)
        assert tokens == sum(one.usage.total for one in spent.values()) > 0
        person.press(Key.Key_G, CTRL)
        graph = chat.graph
        assert graph.isVisible() and not chat.view.isVisible()
        titles = sorted(node.title for node in graph.graph.nodes)
        assert titles == ["Helper", "Helper", "Lead", "Middle"]
        assert len(graph.graph.edges) == 3 and person.focused() is graph.view
        graph.choose(child.session.info.id)
        person.press(Key.Key_Return)
        await until(lambda: person.session.info.id == child.session.info.id, "its chat")
        assert chat.view.isVisible() and not graph.isVisible()
        await until(lambda: chat.header.origin.text() == "Works for Go")
        parent = child.session.info.caller
        assert parent is not None

        # It ends when nobody looks at the chat: the desktop is told, and its row says so.
        person.window.new_chat()
        await until(lambda: chat.session is None)
        assert chat.header.which.isHidden()
        call = child.session.transcript.last_calls[-1]
        child.session.answer_question(call.call_id, "all of it")
        await until(lambda: "Helper is done, for Go" in seen.shown.values(), "the notification")
        await person.open_chat("Go")
        await until(lambda: rows(person)[1:] == ["Done"], "the row")
        assert person.blocks(NoticeBlock)[-1].text == "Helper, in the background, is done."
        await until(lambda: not seen.shown)


@on_window_loop
async def test_w62_the_graph_gives_way_to_what_is_wanted_of_the_chat(tmp_path: Path) -> None:
    """W-22: a search, its next hit and a question are seen, not reached behind the graph."""
    script = cast(
        Lead=[Turn(delegate("Helper", "look")), ASK],
        Helper=[helper],
    )
    save(Paths.below(tmp_path / "studio").agents, LEAD, HELPER)
    async with at_window(tmp_path, "anthropic", script, setup=led) as person:
        chat = person.window.chat
        person.say("Go")
        await until(lambda: person.view.canvas.waiting(), "the question")
        await until(lambda: chat.agents.members, "those who work for it")

        def show_graph() -> None:
            person.press(Key.Key_G, CTRL)
            assert chat.graph.isVisible() and not chat.view.isVisible()

        def shows_chat() -> bool:
            return chat.view.isVisible() and not chat.graph.isVisible()

        show_graph()
        person.press(Key.Key_F, CTRL)
        assert shows_chat() and person.focused() is chat.find_strip.field
        person.type("Which")
        show_graph()
        person.press(Key.Key_F3)
        assert shows_chat()
        show_graph()
        person.press(Key.Key_J, CTRL)
        assert shows_chat() and chat.view.isAncestorOf(person.focused())
