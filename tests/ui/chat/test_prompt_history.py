"""At the composer: Ctrl with arrows goes through earlier messages and loses nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from studio.domain.messages import Text as Words
from studio.simulator import Text, Turn
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def stored(person: Person) -> list[str]:
    """The unsent texts on disk."""
    with closing(sqlite3.connect(person.engine.paths.database)) as db:
        return [text for (text,) in db.execute("SELECT text FROM unsent")]


@on_window_loop
async def test_earlier_messages_come_back_and_so_does_what_was_being_written(
    tmp_path: Path,
) -> None:
    """First of this chat, then of others; not those of programs, nor of deleted chats."""
    script = [Turn(Text(f"{number}.")) for number in range(8)]
    async with at_window(tmp_path, "anthropic", script) as person:
        composer = person.composer

        async def walk(key: Key, text: str) -> None:
            person.press(key, CTRL)
            await until(lambda: composer.text == text, f"{text!r}, not {composer.text!r}")

        person.press(Key.Key_Up, CTRL)
        await until(lambda: not person.window.chat.model.prompts._reading)
        assert composer.text == ""  # there is nothing yet
        client = await person.engine.sessions.create(
            folder=str(person.folder), agent="Coder", provider="anthropic", model="sim-model",
            origin="server",
        )  # fmt: skip
        async for _ in client.turn([Words("by a program")]):
            pass
        for number, texts in enumerate((["deleted"], ["first", "second"], ["third", "ends @s"])):
            if number:
                person.window.new_chat()
                await until(lambda: person.window.chat.session is None)
                composer.setFocus()
            for turn, text in enumerate(texts):
                composer.set_text(text)
                person.press(Key.Key_Return)
                await person.done(turn + 1)
            if not number:
                await person.engine.sessions.delete(person.session.info.id)

        person.type("half a thought")
        person.press(Key.Key_Left)
        await walk(Key.Key_Up, "ends @s")
        assert person.window.completion is None  # nobody typed that
        for text in ("third", "second", "first"):
            await walk(Key.Key_Up, text)
        person.press(Key.Key_Up, CTRL)
        await until(lambda: not person.window.chat.model.prompts._reading)
        assert composer.text == "first"  # there is nothing before it
        person.type("!")
        await until(lambda: stored(person) == ["half a thought"])  # also if it is killed now
        await walk(Key.Key_Down, "second")
        await walk(Key.Key_Up, "first!")
        for text in ("second", "third", "ends @s", "half a thought"):
            await walk(Key.Key_Down, text)
        assert composer.editor.textCursor().position() == len("half a though")
        person.press(Key.Key_Down, CTRL)
        assert composer.text == "half a thought"

        await walk(Key.Key_Up, "ends @s")
        await walk(Key.Key_Up, "third")
        person.press(Key.Key_Return)
        await person.done(3)
        assert "third" in person.asked[-1] and composer.text == "half a thought"
        composer.set_text("")
        person.press(Key.Key_Up)  # without Ctrl: the last message is edited
        await until(lambda: composer.text == "third" and person.window.chat.model.input.editing)

        composer.set_text("")
        (person.folder / "a.txt").write_text("words")
        composer.attachments.add_paths([str(person.folder / "a.txt")])
        person.press(Key.Key_Up)  # it would take the place of the file
        assert composer.text == ""
        assert [item.name for item in person.window.chat.model.attachments.items] == ["a.txt"]


@on_window_loop
async def test_files_that_are_named_stay_attached_when_an_earlier_message_is_sent(
    tmp_path: Path,
) -> None:
    script = [Turn(Text(f"{number}.")) for number in range(3)]
    async with at_window(tmp_path, "anthropic", script) as person:
        composer, files = person.composer, person.window.chat.model.attachments
        (person.folder / "a.txt").write_text("words")
        person.say("first")
        await person.done()
        composer.mention("a.txt")
        await until(lambda: files.blocks)
        person.press(Key.Key_Up, CTRL)
        await until(lambda: composer.text == "first" and not files.items)
        person.press(Key.Key_Return)
        await person.done(2)
        assert composer.text == "@a.txt "
        await until(lambda: files.blocks)
        assert [item.name for item in files.items] == ["a.txt"]
