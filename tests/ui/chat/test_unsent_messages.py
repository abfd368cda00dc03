"""At the window: what is written belongs to its chat, and outlives the program."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.agent.engine import Engine
from studio.simulator import Text, Turn
from studio.ui.app.main_window import MainWindow
from studio.ui.chat.model.open_chat import Change
from support.sample_files import picture
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"


async def begin(person: Person, title: str) -> None:
    person.window.new_chat()
    person.composer.setFocus()
    person.say(title)
    await until(lambda: person.window.chat.session and title in person.chats())
    await person.done()


async def go_to(person: Person, title: str) -> None:
    await person.open_chat(title)
    await until(lambda: person.window.chat.session and person.session.info.title == title)
    person.composer.setFocus()


def stored(person: Person) -> dict[str, int]:
    """The unsent texts on disk with their carets, as ``kill -9`` would leave them."""
    with closing(sqlite3.connect(person.engine.paths.database)) as db:
        return dict(db.execute("SELECT text, caret FROM unsent").fetchall())


@on_window_loop
async def test_text_and_files_stay_with_their_chat(tmp_path: Path) -> None:
    (tmp_path / "sun.png").write_bytes(picture())
    script = [Turn(Text(f"{number}.")) for number in range(4)]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await begin(person, "One")
        await begin(person, "Two")
        files = person.window.chat.model.attachments
        person.type("for Two")
        person.composer.attachments.add_paths([str(tmp_path / "sun.png")])
        await until(lambda: files.blocks)

        await go_to(person, "One")
        assert person.composer.text == "" and not files.items
        person.press(Key.Key_Z, CTRL)
        assert person.composer.text == "", "Undo brings back another chat's text"
        person.say("for One")
        await person.done(2)
        assert person.exchanges[-1].path.endswith("/completions")
        assert "for Two" not in person.asked[-1] and "image_url" not in person.asked[-1]

        await go_to(person, "Two")
        assert person.composer.text == "for Two"
        assert [item.name for item in files.items] == ["sun.png"]
        person.press(Key.Key_Return)
        await person.done(2)
        assert "for Two" in person.asked[-1] and "image_url" in person.asked[-1]
        assert not person.simulator.violations
        await until(lambda: stored(person) == {})


@on_window_loop
async def test_what_is_written_outlives_the_program(tmp_path: Path) -> None:
    (tmp_path / "sun.png").write_bytes(picture())
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Yes."))]) as person:
        await begin(person, "One")
        person.type("half a thought")
        for _ in range(3):
            person.press(Key.Key_Left)
        person.composer.attachments.add_paths([str(tmp_path / "sun.png")])
        files = person.window.chat.model.attachments
        await until(lambda: stored(person) == {"half a thought": 11} and files.blocks)
        person.window.new_chat()
        person.composer.setFocus()
        person.type("an idea")
    async with at_window(tmp_path, COMPATIBLE, []) as person:
        files = person.window.chat.model.attachments
        person.window.new_chat()
        await until(lambda: person.composer.text == "an idea")
        assert not files.items
        await go_to(person, "One")
        await until(lambda: person.composer.text == "half a thought" and files.blocks)
        assert person.composer.editor.textCursor().position() == 11
        assert [(item.name, item.state) for item in files.items] == [("sun.png", "ready")]
        await person.engine.sessions.delete(person.session.info.id)
        await until(lambda: stored(person) == {"an idea": 7})


@on_window_loop
async def test_a_picture_that_is_still_read_when_the_program_ends_is_kept(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, []) as person:
        window = person.window

        def encode() -> bytes:
            while window.isVisible():
                time.sleep(0.001)
            return picture()

        person.type("look")
        window.chat.model.attachments.paste(encode)
    async with at_window(tmp_path, COMPATIBLE, []) as person:
        person.window.new_chat()
        await until(lambda: person.window.chat.model.attachments.blocks)
        assert person.composer.text == "look"


@on_window_loop
async def test_who_goes_on_at_once_sends_to_the_chat_that_was_on_screen(tmp_path: Path) -> None:
    script = [Turn(Text(f"{number}.")) for number in range(4)]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await begin(person, "One")
        await begin(person, "Two")
        two = person.session
        person.say("for Two")
        await go_to(person, "One")  # before the message is on its way
        await until(lambda: not two.running and len(person.exchanges) == 3)
        assert "Two'" in person.asked[-1] and "for Two" in person.asked[-1]
        assert "One'" not in person.asked[-1]
        assert person.composer.state == "idle" and person.composer.text == ""

        person.window.new_chat()
        person.composer.setFocus()
        person.say("for a new one")
        await go_to(person, "One")
        person.window.new_chat()
        await until(
            lambda: person.composer.text == "for a new one" or "for a new one" in person.chats()
        )


@on_window_loop
async def test_what_is_typed_while_it_is_stored_is_stored_too(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, []) as person:
        person.composer.setFocus()
        store, message = person.engine.store.unsent, person.window.chat.model.input
        put = store.put_text

        async def slow(*arguments: object) -> None:
            await put(*arguments)  # type: ignore[arg-type]
            if message.text == "half":
                person.type(" a thought")  # the save that stored “half” is still under way

        store.put_text = slow  # type: ignore[method-assign]
        person.type("half")
        await until(lambda: stored(person) == {"half a thought": 14})


@on_window_loop
async def test_a_message_sent_as_soon_as_the_engine_is_there_goes_to_its_model(
    tmp_path: Path,
) -> None:
    """Sent before the new chat had looked up its provider, it failed in a chat not on screen."""

    async def prepare(engine: Engine) -> None:
        windows = QApplication.topLevelWidgets()
        window = next(one for one in windows if isinstance(one, MainWindow) and not one.engine)
        model = window.chat.model

        def send(_: Change) -> None:
            model.input.set_text("At once")
            asyncio.get_running_loop().call_soon(model.submit)

        model.subscribe(send, "engine")

    script = [Turn(Text("Here."))]
    async with at_window(tmp_path, "ollama", script, prepare=prepare) as person:
        await person.done()
        assert person.session.info.provider == "ollama"
        assert person.says("Here.") and len(person.exchanges) == 1


@on_window_loop
async def test_an_edit_gives_back_what_was_being_written(tmp_path: Path) -> None:
    """Cancelled or sent, in the new version; and it is what is on disk meanwhile."""
    (tmp_path / "sun.png").write_bytes(picture())
    script = [Turn(Text(f"{number}.")) for number in range(3)]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await begin(person, "One")
        message, files = person.window.chat.model.input, person.window.chat.model.attachments
        recovery, old = person.window.chat.model.recovery, person.session
        turn = old.transcript.turn_id
        person.type("half a thought")
        person.press(Key.Key_Left)
        person.composer.attachments.add_paths([str(tmp_path / "sun.png")])
        await until(lambda: files.blocks)

        def is_back() -> bool:
            names = [item.name for item in files.items]
            at = person.composer.editor.textCursor().position()
            return (person.composer.text, at, names) == ("half a thought", 13, ["sun.png"])

        recovery.edit(turn)
        assert person.composer.text == "One" and not files.items and message.editing
        await until(lambda: stored(person) == {"half a thought": 13})
        person.window.new_chat()
        await go_to(person, "One")
        assert person.composer.text == "One" and message.editing
        message.clear()
        assert is_back() and not message.editing

        recovery.edit(turn)
        person.composer.editor.selectAll()
        person.press(Key.Key_Delete)
        assert is_back() and not message.editing

        recovery.edit(turn)
        person.composer.editor.selectAll()
        person.say("Uno")
        await until(lambda: person.session is not old)
        await person.done()
        assert "Uno" in person.asked[-1] and "image_url" not in person.asked[-1]
        assert is_back()

        info, turn = person.session.info, person.session.transcript.turn_id
        old = person.session
        recovery.answer_again(turn, info.provider, info.model)
        await until(lambda: person.session is not old)
        await person.done()
        assert is_back()
        await until(lambda: stored(person) == {"half a thought": 13})


@on_window_loop
async def test_a_new_version_comes_not_in_place_of_another_chat(tmp_path: Path) -> None:
    script = [Turn(Text(f"{number}.")) for number in range(4)]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        await begin(person, "One")
        model, one = person.window.chat.model, person.session
        model.recovery.edit(one.transcript.turn_id)
        person.type(" more")
        person.press(Key.Key_Return)
        person.window.new_chat()  # before the other version is made
        await until(lambda: len(person.exchanges) == 2 and not model.runner.running)
        assert "One more" in person.asked[-1] and person.window.chat.session is None
        one = await person.engine.sessions.open(one.info.id)
        model.open(one)
        model.recovery.answer_again(one.transcript.turn_id, one.info.provider, one.info.model)
        person.window.new_chat()
        await until(lambda: len(person.exchanges) == 3 and not model.runner.running)
        assert person.window.chat.session is None and person.composer.state == "idle"


@on_window_loop
async def test_enter_before_the_program_is_loaded_sends_when_it_is(tmp_path: Path) -> None:
    """What an earlier run left unsent was not seen with it: then the person looks first."""

    async def type_early(engine: Engine) -> None:
        window = next(w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow))
        assert window.engine is None
        QTest.keyClicks(window.chat.composer.editor, "Early")
        QTest.keyClick(window.chat.composer.editor, Key.Key_Return)
        assert "everything is loaded" in window.chat.composer.send.accessibleName()

    async with at_window(
        tmp_path, COMPATIBLE, [Turn(Text("Good morning."))], prepare=type_early
    ) as person:
        await person.done()
        assert "Early" in person.asked[0] and not person.composer.text
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        person.composer.setFocus()
        person.type("Half ")
        await until(lambda: "Half " in stored(person))
    async with at_window(tmp_path, COMPATIBLE, [], prepare=type_early) as person:
        await until(lambda: person.composer.text == "Half Early")
        assert person.window.chat.session is None
        assert "everything is loaded" not in person.composer.send.accessibleName()
