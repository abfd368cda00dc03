"""Spelling: which words are looked at, which are marked, and what the menu offers for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QContextMenuEvent, QImage, QTextCharFormat
from PySide6.QtWidgets import QApplication, QMenu

from studio.domain.errors import StorageError
from studio.ui.chat.model.enchant import Enchant
from studio.ui.chat.model.spelling import Spelling, Word, pick_languages, words_in
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop, popup

__all__ = ["alone"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Give me wrds, don’t (please) **stop**.", "Give me wrds don’t please stop"),
        ("The `teh wrd` and ``a`b`` in src/teh.py or C:\\teh", "The and in or"),
        ("https://teh.example/wrd www.teh.de me@teh.de e.g. teh.wrd", ""),
        ("@teh\\ wrd and /cmd", "wrd and"),
        ("HTML camelCase snake_case v2 --flag x", ""),
        ("a well-known teh\n```\nteh wrd\n``` \nafter\n~~~~\nteh\n```\nwrd\n~~~~\nend",
         "well known teh after end"),
        ("日本語 Привет über", "日本語 Привет über"),
    ],
)  # fmt: skip
def test_only_prose_is_looked_at(text: str, words: str) -> None:
    found = list(words_in(text))
    assert " ".join(word.text for word in found) == words
    for start, length, word in found:
        assert text[start : start + length] == word


def test_places_are_counted_as_qt_counts_them() -> None:
    assert list(words_in("😀 teh\n😀 wrd")) == [Word(3, 3, "teh"), Word(10, 3, "wrd")]


@pytest.mark.parametrize("hostile", ["`" * 20_000, "` " * 9_000, "a'" * 9_000, "```\n" * 9_000])
def test_no_text_takes_long(hostile: str) -> None:
    assert len(list(words_in(hostile))) <= 1


def test_dictionaries_are_those_of_the_person() -> None:
    there = ["de_AT", "de_DE", "en_GB", "en_US", "fr_FR"]
    assert pick_languages("automatic", ["de_DE", "en_AU", "it_IT"], there) == ["de_DE", "en_GB"]
    assert pick_languages("fr_FR", ["de_DE"], there) == ["fr_FR"]
    assert pick_languages("off", ["de_DE"], there) == pick_languages("xx", ["de_DE"], there) == []


@pytest.fixture
def dictionary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A dictionary of eight words, for English in this country."""
    try:
        Enchant()
    except OSError:
        pytest.skip("libenchant-2 is needed (Debian: libenchant-2-2)")
    folder = tmp_path / "enchant" / "hunspell"
    folder.mkdir(parents=True)
    (folder / "en_US.aff").write_text("SET UTF-8\nTRY abcdefghijklmnopqrstuvwxyz\n")
    words = ("the", "word", "is", "wrong", "here", "and", "of", "read")
    (folder / "en_US.dic").write_text("\n".join((str(len(words)), *words, "")))
    monkeypatch.setenv("ENCHANT_CONFIG_DIR", str(folder.parent))
    yield


def test_words_of_one_s_own_are_known_to_all_windows(dictionary: None, tmp_path: Path) -> None:
    one, other = Spelling(tmp_path / "a" / "own.txt"), Spelling(tmp_path / "a" / "own.txt")
    text = "The teh Wrd и слово"

    def misspelt(spelling: Spelling, setting: str = "automatic") -> list[str]:
        return [word.text for word in spelling.misspelt(text, setting, ["en_US", "C"])]

    assert misspelt(one) == misspelt(other) == ["teh", "Wrd"], "no dictionary judges Russian"
    assert "the" in one.suggestions("teh", "automatic", ["en_US"])
    one.add("wrd")
    assert misspelt(one) == misspelt(other) == ["teh"]
    one.add("xyq’s")  # as phones and word processors write it
    assert not one.misspelt("xyq’s Xyq's", "automatic", ["en_US"])
    assert misspelt(one, "off") == misspelt(one, "xx_XX") == []
    assert "en_US" in one.languages()
    (tmp_path / "a" / "own.txt").unlink()
    assert misspelt(one) == ["teh", "Wrd"]
    (tmp_path / "a" / "own.txt").mkdir()  # what cannot be read is in nobody's way
    assert misspelt(one) == ["teh", "Wrd"]
    with pytest.raises(StorageError, match=r"own\.txt cannot be written"):
        one.add("wrd")


def marked(person: Person) -> list[str]:
    """The words with a wave."""
    wave = QTextCharFormat.UnderlineStyle.WaveUnderline
    return [
        mark.cursor.selectedText()
        for mark in person.composer.editor.extraSelections()
        if mark.format.underlineStyle() == wave
    ]


def red(person: Person) -> int:
    """How many pixels of the editor are reddish, as those of waves are."""
    image = person.composer.editor.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = set(memoryview(image.constBits()).cast("I"))
    return sum((pixel >> 16 & 255) > (pixel & 255) + 40 for pixel in pixels)


async def menu_at(person: Person, word: str) -> QMenu:
    editor = person.composer.editor
    cursor = editor.document().find(word)
    assert not cursor.isNull()
    place = editor.cursorRect(cursor).center() - QPoint(4, 0)
    mouse = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(
        editor.viewport(),
        QContextMenuEvent(mouse, place, editor.viewport().mapToGlobal(place)),
    )
    return await until(popup, "the menu")


@on_window_loop
async def test_misspelt_words_get_a_wave_and_other_words(
    alone: object, dictionary: None, tmp_path: Path
) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        editor = person.composer.editor
        assert editor.spell_check is None, "nothing is begun before something is typed"
        plain = red(person)
        person.type("teh word is `wrng` hre")
        await until(lambda: marked(person) == ["teh"], "not the word that is being typed")
        assert red(person) > plain
        person.press(Key.Key_Left)
        await until(lambda: marked(person) == ["teh", "hre"])

        menu = await menu_at(person, "teh")
        words = [line.text() for line in menu.actions()]
        assert "the" in words and words.index("the") < words.index("Add to dictionary")
        next(line for line in menu.actions() if line.text() == "the").trigger()
        menu.close()
        assert person.composer.text == "the word is `wrng` hre"
        editor.undo()
        await until(lambda: marked(person) == ["teh", "hre"])
        menu = await menu_at(person, "hre")
        next(line for line in menu.actions() if line.text() == "Add to dictionary").trigger()
        menu.close()
        await until(lambda: marked(person) == ["teh"])
        assert (tmp_path / "studio" / "dictionary.txt").read_text() == "hre\n"
        menu = await menu_at(person, "word")
        assert "Add to dictionary" not in [line.text() for line in menu.actions()]
        menu.close()

        person.window.preferences.open("general")
        dialog = await until(lambda: person.window.preferences.dialog)
        combo = dialog.pages["general"]._spelling
        await until(lambda: "en_US" in [item.key for item in combo._items])
        for key, face in (("en_US", "American English (United States)"), ("off", "Off")):
            await person.choose(combo, face)
            assert person.engine.settings.values.spelling == key and combo.text() == face
            dialog.pages["general"].refresh()
            assert combo.text() == face
        await until(lambda: marked(person) == [])
        assert person.engine.settings.values.spelling == "off"
