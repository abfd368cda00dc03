"""What the model keeps of a long chat, in the window: summaries, pins, the inspector (L-10)."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit

from studio.agent.prompts import SUMMARY_SYSTEM
from studio.domain.blocks import SummaryBlock
from studio.simulator import Call, RequestView, Text, Turn, stall
from studio.ui.inspector.run_page import RunFacts, RunPage
from studio.ui.theme import Theme
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.items.summary_item import SummaryItem
from studio.ui.transcript.items.user_item import UserItem
from studio.ui.widgets import Button
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SUMMARY = "They looked at how the client waits, and chose a clock that never steps back."
LONG = "It waits as long as the server asks, and rounds the seconds down. " * 30


def model(view: RequestView) -> Turn:
    if SUMMARY_SYSTEM[:60] in view.system:
        return Turn(Text(SUMMARY), faults=[stall(0, 0.01)])
    if "Read" in view.last_user and not view.results:
        return Turn(Call("read", {"path": "a.txt"}))
    return Turn(Text(LONG))


def picture(person: Person, name: str) -> None:
    """For a look at it, where somebody wants one."""
    if folder := os.environ.get("AGENT_STUDIO_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        for theme in ("dark", "light"):
            person.window.theme.set(theme)  # type: ignore[arg-type]
            QApplication.processEvents()
            person.window.grab().save(f"{folder}/{name}-{theme}-1440.png")


def summary(person: Person) -> SummaryBlock:
    return person.blocks(SummaryBlock)[-1]


@on_window_loop
async def test_a_chat_is_summed_up_looked_at_edited_and_undone(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("A line of a file.\n" * 300)
    seen = asyncio.Event()
    async with at_window(tmp_path, "anthropic", model) as person:
        person.simulator.sleep = lambda _: seen.wait()  # the summary comes when it is looked for
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: person.window.inspector)
        page = inspector.run
        for number, words in enumerate(["How does it wait?", "Read a.txt", "And then?"], 1):
            person.composer.setFocus()
            person.say(words)
            await person.done(number)
        await until(lambda: [name for name, _ in page._facts.parts][-1:] == ["files"])
        facts = page._facts
        assert sum(count for _, count in facts.parts) == facts.used > 2_000
        await until(lambda: page.summarise.isVisible() and page.summarise.isEnabled())
        assert 0 < page.summarise.y() < page.height() - page.summarise.height()

        view = person.view
        person.item(UserItem)
        view.focus.item = next(i for i in view.canvas.items if isinstance(i, UserItem))
        view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: person.blocks()[0].pinned)
        assert next(i for i in view.canvas.items if isinstance(i, UserItem)).name.startswith("Pin")
        await until(lambda: page._facts.pins == 1)

        person.click(page.summarise)
        await until(lambda: page._facts.summing == "does")
        assert not page.summarise.isEnabled()
        seen.set()
        await until(lambda: person.blocks(SummaryBlock))
        await until(lambda: page._facts.parts[-1][0] == "summary" and page._facts.summing == "can")
        item = await until(lambda: person.item(SummaryItem))
        assert item.name.startswith("Earlier messages were summed up for the model, ")
        assert "→" in item.name
        await person.click_hit(SummaryItem, "toggle")
        await until(lambda: SUMMARY[:30] in "".join(leaf.block.text for leaf in item.leaves))
        picture(person, "19-summary")

        await person.click_hit(SummaryItem, "edit_summary")
        dialog = await until(lambda: next(iter(person.window.findChildren(QDialog)), None))
        editor = dialog.findChild(QPlainTextEdit)
        assert editor is not None and editor.toPlainText() == SUMMARY
        editor.setPlainText("In my own words.")
        keep = next(b for b in dialog.findChildren(Button) if b.text() == "Keep")
        person.click(keep)
        await until(lambda: summary(person).text == "In my own words.")

        await person.click_hit(SummaryItem, "undo_summary")
        await until(lambda: summary(person).state == "undone")
        await until(lambda: person.says("gets the whole conversation again"))
        item = await until(lambda: person.item(SummaryItem))
        assert "undone" in item.name
        assert [hit.action for hit in item.hits] == ["toggle"]
        await until(lambda: all(name != "summary" for name, _ in page._facts.parts))
        person.window.activateWindow()


@on_window_loop
async def test_an_answer_is_pinned_and_unpinned_by_key(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", model) as person:
        person.say("How does it wait?")
        await person.done()
        await until(lambda: person.item(TextItem))
        person.view.focus.item = person.item(TextItem)
        person.view.setFocus()
        person.press(Key.Key_P)
        await until(lambda: person.blocks()[-1].pinned)
        assert person.item(TextItem).name.startswith("Pinned. It waits")
        person.press(Key.Key_P)
        await until(lambda: not person.blocks()[-1].pinned)


def test_the_button_has_its_place_below_the_parts() -> None:
    theme = Theme("light")
    page = RunPage(theme)
    parts = (("instructions", 900), ("tools", 2_000))
    page.set(RunFacts(used=2_900, window=8_000, parts=parts))
    low, button = page.sizeHint().height(), page.summarise
    assert button.isHidden()
    page.set(RunFacts(used=2_900, window=8_000, parts=parts, summing="can", pins=2))
    assert not button.isHidden() and button.isEnabled()
    grown = theme.px(21) + theme.px(10) + button.height()
    assert page.sizeHint().height() == low + grown
    theme.set(scale=1.6)
    assert button.size() == button.sizeHint()  # else its words are cut
    theme.set(scale=1.0)
    page.set(RunFacts(used=2_900, parts=parts, summing="does", seen=[("private files", "a")]))
    assert button.text() == "Summing up…" and not button.isEnabled()
    page.deleteLater()
    theme.deleteLater()
