"""Addresses of things of packs are chips and links in the transcript (KZ-8)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from studio.extensions.packs.brought import brought_packs
from studio.extensions.packs.installed import InstalledPacks
from studio.simulator import Call, Text, Turn
from studio.ui.app.links import SourceLink, read_link
from studio.ui.pages.pack_page import DeclaredPage
from studio.ui.transcript.items.tool_item import ToolsItem
from support.pack_home import PACKS
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

RIVERS = "notes:topic/rivers"


@on_window_loop
async def test_kz8_a_source_is_a_chip_that_opens_its_page(tmp_path: Path) -> None:
    """KZ-8: with its title; one that leads nowhere any more is struck through."""
    shutil.copytree(PACKS, tmp_path / "packs")
    script = [
        Turn(Call("find_note", {"topic": "rivers"})),
        Turn(Text(f"They flow, says [the note]({RIVERS}), and [another](notes:topic/none).")),
        Turn(Text("Good.")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        window, chat = person.window, person.window.chat
        packs = person.engine.services.get(InstalledPacks)
        packs.brought = lambda: brought_packs(tmp_path / "packs")
        packs.switch("notes", on=True)
        await until(lambda: "pack:notes/list" in window.sidebar._rows)
        home = person.engine.services.packs.homes["notes"]
        home.records.write("INSERT INTO note VALUES ('rivers', 'They flow.', 'a')")
        chat.model.input.send_text("What do rivers do?")
        sources = chat.view.context.sources
        titles = {RIVERS: "Note about rivers", "notes:topic/none": ""}
        await until(lambda: sources == titles)
        assert chat.view.context.style.dead_links == {"notes:topic/none"}

        def chips() -> list[str]:
            items = [one for one in chat.view.canvas.items if isinstance(one, ToolsItem)]
            return [hit.text for one in items for hit in one.hits if hit.action == "open_link"]

        await until(lambda: chips() == ["Note about rivers"])
        (item,) = [one for one in chat.view.canvas.items if isinstance(one, ToolsItem)]
        (hit,) = [one for one in item.hits if one.action == "open_link"]
        chat.view.item_actions.do(item, hit)
        await until(lambda: isinstance(window.pages.currentWidget(), DeclaredPage))
        page = window.pages.currentWidget()
        assert isinstance(page, DeclaredPage)
        await until(lambda: page.chosen == "rivers")  # the record that the source is
        window.pages.show_chat()
        home.records.write("DELETE FROM note")
        chat.model.input.send_text("And now?")
        await until(lambda: sources[RIVERS] == "")  # it is looked up again after a turn
        await until(lambda: chips() == [])
        window._later(window.links.open_source(RIVERS))
        await until(lambda: "leads nowhere" in window.banner.text)


def test_kz8_a_link_of_the_terminal_is_read_strictly() -> None:
    assert read_link("agent-studio://source?at=notes%3Atopic%2Frivers") == SourceLink(RIVERS)
    for wrong in ("https%3A%2F%2Fa.b", "rivers", "notes:a b", "file:x", "notes:x&at=notes:y", ""):
        assert read_link(f"agent-studio://source?at={wrong}") is None
