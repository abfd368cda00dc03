"""What the transcript shows in the real window: tables, the wait for words, calls, outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from studio.simulator import Call, Text, Turn, stall
from studio.ui.transcript.items.approval_item import ApprovalItem
from studio.ui.transcript.items.tool_item import ToolsItem
from studio.ui.transcript.text.table_leaf import TableLeaf
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
TABLE = """
| Word | Meaning and **bold** | File |
| --- | ---: | --- |
| one | This is **bold** and then a good many plain words, enough for several lines | `__init__.py` |
| unbelievably | *Slanted* words and `code_in_between` | `files/__init__.py` |
"""


def table(person: Person) -> TableLeaf | None:
    leaves = (leaf for item in person.view.canvas.items if item.laid for leaf in item.leaves)
    return next((leaf for leaf in leaves if isinstance(leaf, TableLeaf)), None)


@pytest.mark.parametrize("size", [(1440, 900), (930, 640)])
@on_window_loop
async def test_no_word_of_a_table_is_broken(tmp_path: Path, size: tuple[int, int]) -> None:
    async with at_window(tmp_path, "anthropic", [Turn(Text(TABLE))], size=size) as person:
        person.say("Show it")
        await person.done()
        found = await until(lambda: table(person))
        pieces: list[str] = []
        for (_, _, cells), row in zip(found._rows, found.block.rows, strict=True):
            for words, (text, _) in zip(cells, row, strict=True):
                lines = [words.layout.lineAt(n) for n in range(words.layout.lineCount())]
                pieces += [text[at.textStart() :][: at.textLength()] for at in lines[:-1]]
        assert pieces and all(piece[-1] in " /" for piece in pieces), pieces
        assert found._edges[-1] <= person.view.canvas_viewport.context.width + 0.5


@on_window_loop
async def test_something_moves_until_the_first_word(tmp_path: Path) -> None:
    """The pixels below the message change while the model says nothing, and seconds count."""
    script = [Turn(Text("Yes."), faults=[stall(at=0)])]
    async with at_window(tmp_path, "anthropic", script) as person:
        viewport = person.view.canvas_viewport

        def below() -> QImage:
            return person.view.viewport().grab(viewport.work_line.toAlignedRect()).toImage()

        person.say("Why?")
        await until(lambda: person.exchanges and viewport.working_since is not None)
        first = below()
        await until(lambda: below() != first, what="the mark of work moves")
        now = viewport.context.now()
        person.view.context.now = lambda: now + 7.0
        second = below()
        person.view.context.now = lambda: now + 8.0
        assert below() != second, "seconds count"
        person.press(Key.Key_Escape)
        await person.done()


@on_window_loop
async def test_a_command_that_never_ran_is_not_said_to_have(tmp_path: Path) -> None:
    script = [Turn(Call("run", {"command": "touch no"})), Turn(Text("Then not."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Do it")
        await answer(person, Key.Key_D)
        name = person.item(ToolsItem).name
        assert name.startswith("Run touch no") and "denied" in name.lower() and "Ran" not in name
        assert not (person.folder / "no").exists()


@on_window_loop
async def test_an_output_shows_its_end_and_then_all_of_it(tmp_path: Path) -> None:
    script = [Turn(Call("run", {"command": "seq 300"})), Turn(Text("Done."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Count")
        await answer(person, Key.Key_Return)
        await person.click_hit(ToolsItem, "toggle")
        item = await until(lambda: person.hit(ToolsItem, "show_all") and person.item(ToolsItem))
        assert "\n300" in said(item) and "\n100\n" not in said(item)
        await person.click_hit(ToolsItem, "show_all")
        await until(lambda: "\n100\n" in said(person.item(ToolsItem)))


def said(item: ToolsItem | None) -> str:
    return "\n".join(leaf.block.text for leaf in item.leaves) if item is not None else ""


async def answer(person: Person, key: Key) -> None:
    """Press a key on the card, which is deaf for a moment after it has appeared."""
    card = await until(
        lambda: (found := person.item(ApprovalItem)) and found.shown_at is not None and found
    )
    await until(lambda: person.view.hasFocus() and person.view.focus.item is card)
    now = person.view.context.now()
    person.view.context.now = lambda: now + 10.0
    person.press(key)
    await person.done()
