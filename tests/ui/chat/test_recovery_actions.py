"""At the window, where a chat cannot simply go on: waits, silence, edits, branches, damage."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMenu

from studio.domain.blocks import RetryBlock, TextBlock, UserBlock
from studio.simulator import Text, Turn, stall, status
from studio.ui.chat.option_menus import model_items
from studio.ui.transcript.items.turn_items import EndItem, FailureItem, RetryItem
from studio.ui.widgets.choice import fill_menu
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"


def texts(person: Person) -> list[str]:
    return [block.text for block in person.blocks() if isinstance(block, UserBlock | TextBlock)]


@on_window_loop
async def test_a_wait_can_be_skipped_stopped_and_switched(tmp_path: Path) -> None:
    """L-12: the server's wait is counted down; try now, stop, and another model."""

    def busy(times: int) -> Turn:
        return Turn(Text("At last."), faults=[status(429, times=times, retry_after=60)])

    def setup(file: object) -> None:
        file.values.own_models[COMPATIBLE] = ["other-model"]  # type: ignore[attr-defined]

    script = [busy(1), busy(2)]
    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        person.say("One")
        await person.click_hit(RetryItem, "try_now")
        await person.done()
        assert texts(person) == ["One", "At last."]
        person.say("Two")
        await until(lambda: len(person.blocks(RetryBlock)) == 2)
        await person.click_hit(RetryItem, "stop")
        await person.done(2)
        assert person.says("Stopped before trying again.")
        person.say("Three")
        await until(lambda: len(person.blocks(RetryBlock)) == 3)
        before = person.blocks(RetryBlock)[-1]
        await until(lambda: person.item(RetryItem) and person.item(RetryItem).animated)
        person.window.new_chat()  # the wait goes on while another chat is on screen
        await until(lambda: person.window.chat.session is None)
        await person.open_chat("One")
        await until(lambda: person.item(RetryItem) and person.item(RetryItem).animated)
        await person.choose(person.composer.model, "other-model")
        await until(lambda: person.session.info.model == "other-model")
        await person.done(4)
        assert before.state == "stopped" and texts(person)[-1] == "At last."
        assert person.exchanges[-1].json["model"] == "other-model"


@on_window_loop
async def test_silence_is_said_and_can_be_ended(tmp_path: Path) -> None:
    """L-12: an idle stream is noticed and visible; the request can be made again at once."""
    script = [Turn(Text("Half of it"), faults=[stall(at=-2)]), Turn(Text("All of it."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.engine.services.retry_policy = replace(
            person.engine.services.retry_policy, silence=0.2
        )
        person.say("One")
        strip = person.window.chat.strip
        await until(lambda: strip.isVisible() and person.says("Half"))
        assert re.fullmatch(r"Nothing from OpenAI-compatible for \d+:\d\d", strip.text)
        assert person.view.geometry().bottom() < strip.y()
        person.window.resize(1000, 640)
        person.window.theme.set(scale=1.6)  # there is no room beside the buttons
        await until(lambda: strip._clock.width() >= strip._clock.sizeHint().width())
        assert strip._clock.geometry().bottom() < person.strip_button("Try now").y()
        person.click(person.strip_button("Try now"))
        await person.done()
        assert not strip.isVisible() and person.says("All of it.")


@on_window_loop
async def test_what_was_said_last_is_edited_into_a_version(tmp_path: Path) -> None:
    """Up in the empty composer edits; what goes out is a new version, the old one stays."""
    script = [Turn(Text("Answer one.")), Turn(Text("Answer two.")), Turn(Text("Answer three."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        chat = person.window.chat
        person.say("First")
        await person.done()
        person.say("Second")
        await person.done(2)
        old = person.session
        person.press(Key.Key_Up)
        assert person.composer.text == "Second" and "old version" in chat.strip.text
        person.click(person.strip_button("Cancel"))
        assert person.composer.text == "" and not chat.strip.isVisible()
        person.press(Key.Key_Up)
        person.type(" thoughts")
        person.press(Key.Key_Return)
        await until(lambda: person.session is not old)
        await person.done(2)
        assert texts(person) == ["First", "Answer one.", "Second thoughts", "Answer three."]
        assert old.transcript.blocks[-1] == TextBlock("Answer two.", live=False)
        assert "Answer two." not in person.asked[-1] and person.chats() == ["First"]


@on_window_loop
async def test_a_branch_keeps_what_was_said_and_answered(tmp_path: Path) -> None:
    script = [Turn(Text("Answer one.")), Turn(Text("Answer two.")), Turn(Text("Another."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("First")
        await person.done()
        person.say("Second")
        await person.done(2)
        old = person.session
        person.view.setFocus()
        person.view.canvas_viewport.focus_on(0)
        person.press(Key.Key_B)
        await until(lambda: person.session is not old)
        assert texts(person) == ["First", "Answer one."]
        await until(person.composer.editor.hasFocus)
        person.say("Instead")
        await person.done(2)
        assert texts(person)[-1] == "Another."
        await until(lambda: len(person.chats()) == 2)
        header = person.window.chat.header
        await until(header.origin.isVisible)
        assert header.origin.text() == "Branched from First"
        person.click(header.origin)
        await until(lambda: person.session is old)
        await until(lambda: not header.origin.isVisible())


@on_window_loop
async def test_an_empty_chat_has_no_figures(tmp_path: Path) -> None:
    """The inspector says nothing of the chat that was on screen before."""
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Fine."))]) as person:
        person.press(Key.Key_I, CTRL)
        inspector = person.window.inspector
        assert inspector is not None
        person.say("Hello")
        await person.done()
        await until(lambda: "Done" in inspector.run.accessibleName())
        await until(lambda: inspector.requests._rows and inspector.history._items)
        person.window.new_chat()
        assert "Not started" in inspector.run.accessibleName()
        assert not inspector.requests._rows and not inspector.history._items
        assert inspector.history.label.text() == "Nothing was sent yet"


@on_window_loop
async def test_the_output_limit_can_be_passed(tmp_path: Path) -> None:
    """L-7."""
    script = [Turn(Text("Half"), stop="max_tokens"), Turn(Text("the rest."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("Go")
        await person.done()
        await person.click_hit(EndItem, "continue")
        await person.done(2)
        assert texts(person)[-1] == "the rest."


@on_window_loop
async def test_the_limits_of_an_hour_and_a_month_lead_to_their_settings(tmp_path: Path) -> None:
    """L-14."""

    def setup(file: object) -> None:
        file.values.requests_per_hour = 1  # type: ignore[attr-defined]

    script = [Turn(Text("Hi."))]
    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        person.say("One")
        await person.done()
        assert person.window.chat.model.recovery.limit_setting == ""
        person.say("Two")
        await person.done(2)
        assert person.window.chat.model.recovery.limit_setting == "requests_per_hour"
        person.engine.settings.values.requests_per_hour = 0
        person.engine.settings.values.month_tokens = 1
        person.window.chat.model.options.choose_turn_mode("background")  # nobody is asked
        person.say("Three")
        await person.done(3)
        assert person.window.chat.model.recovery.limit_setting == "month_tokens"
        await person.click_hit(EndItem, "settings")
        dialog = person.window.preferences.dialog
        assert dialog is not None and dialog.isVisible()


@on_window_loop
async def test_a_full_chat_is_compacted_and_goes_on(tmp_path: Path) -> None:
    script = [Turn(Text("Half"), stop="context_exceeded"), Turn(Text("There is room."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        await person.done()
        await person.click_hit(FailureItem, "compact")
        await person.done(2)
        assert texts(person)[-1] == "There is room."


@on_window_loop
async def test_a_full_chat_goes_on_in_a_new_one(tmp_path: Path) -> None:
    script = [Turn(Text("Half"), stop="context_exceeded"), Turn(Text("There is room."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        await person.done()
        old = person.session
        await person.click_hit(FailureItem, "new_chat_from_here")
        await until(lambda: person.session is not old)
        await until(lambda: person.says("shortened to save room"))
        assert [hit.text for hit in person.item(FailureItem).hits] == ["Continue"]
        assert person.says("This chat was full.")
        await until(person.composer.editor.hasFocus)
        person.say("On")
        await person.done(2)
        assert texts(person) == ["Go", "Half", "On", "There is room."]


@on_window_loop
async def test_a_damaged_chat_is_read_only_and_goes_on_elsewhere(tmp_path: Path) -> None:
    """H-5: what cannot be repaired opens read-only, says why, and goes on in a new session."""
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Fine."))]) as person:
        person.say("Hello")
        await person.done()
    file = next((tmp_path / "studio").rglob("studio.db"))
    with closing(sqlite3.connect(file)) as db, db:
        last = db.execute("SELECT max(seq) FROM transcript").fetchone()[0]
        db.execute("UPDATE transcript SET body = 'torn' WHERE seq = ?", (last - 2,))
    db.close()
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Again."))]) as person:
        await person.open_chat("Hello")
        strip = person.window.chat.strip
        await until(strip.isVisible)
        old, damage = person.session, person.session.damage
        assert damage and damage.rstrip(".") in strip.text
        composer = person.composer
        assert not composer.editor.isEnabled() and not composer.send.isEnabled()
        assert composer.editor.placeholder == "This chat can only be read"
        person.click(person.strip_button("Continue in a new chat"))
        await until(lambda: person.session is not old)
        assert not strip.isVisible() and composer.editor.isEnabled()
        await until(composer.editor.hasFocus)
        person.say("Go on")
        await person.done(2)
        assert texts(person)[-1] == "Again."


@on_window_loop
async def test_many_models_of_other_providers_have_menus_of_their_own(tmp_path: Path) -> None:
    """P-3: the chosen provider's come first, then the others."""
    async with at_window(tmp_path, COMPATIBLE, []) as person:
        own = person.engine.settings.values.own_models
        own["anthropic"], own[COMPATIBLE] = ["one", "two"], ["mine"]

        def menu() -> QMenu:
            made = QMenu(person.window)
            items = model_items(person.engine, ("anthropic", COMPATIBLE), f"{COMPATIBLE}/mine")
            fill_menu(made, person.window.theme, items, picked.append)
            return made

        picked: list[str] = []
        lines = [action.text() for action in menu().actions()]
        assert lines.index("mine") < lines.index("one")
        own["anthropic"] = [f"model-{n}" for n in range(12)]
        made = menu()
        lines = [action.text() for action in made.actions()]
        assert lines.index("mine") < lines.index("Anthropic") and "model-3" not in lines
        within = made.actions()[lines.index("Anthropic")].menu()
        assert isinstance(within, QMenu)
        next(action for action in within.actions() if action.text() == "model-3").trigger()
        assert picked == ["anthropic/model-3"]
