"""The chat beside a page of a pack: which one it is, when it is there, and who has the keyboard."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from studio.extensions.packs.brought import brought_packs
from studio.extensions.packs.installed import InstalledPacks
from studio.simulator import Text, Turn
from studio.ui.app.actions import Action
from support.languages import language
from support.pack_home import PACKS
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

TOPICS = "pack:notes/topics"
RIVERS, LAKES = "notes:topic/rivers", "notes:topic/lakes"


async def with_notes(person: Person, place: Path) -> None:
    """The pack of the tests, whose page Topics shows what chats are about."""
    if not place.exists():
        shutil.copytree(PACKS, place)
    packs = person.engine.services.get(InstalledPacks)
    packs.brought = lambda: brought_packs(place)
    packs.switch("notes", on=True)
    await until(lambda: TOPICS in person.window.sidebar._rows)
    home = person.engine.services.packs.homes["notes"]
    home.records.write("INSERT OR REPLACE INTO note VALUES ('rivers', 'They flow.', 'a')")
    person.window.activateWindow()
    await until(person.window.isActiveWindow)


def in_chat(person: Person) -> bool:
    focused = person.focused()
    return focused is not None and person.window.chat.isAncestorOf(focused)


async def topic(person: Person, name: str) -> QWidget:
    person.window.pages.show_page(TOPICS, name)
    await until(lambda: person.window.pages.currentWidget().shown is not None)  # type: ignore[attr-defined]
    return person.window.pages.currentWidget().shown  # type: ignore[attr-defined]


@on_window_loop
async def test_kz47_the_newest_chat_about_what_a_page_shows_stands_beside_it(
    tmp_path: Path,
) -> None:
    """KZ-47, KZ-48: else a new one; it takes the keyboard only when the person wants that."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("They flow."))] * 2) as person:
        window, chat = person.window, person.window.chat
        options = chat.model.options
        await with_notes(person, tmp_path / "packs")
        page = await topic(person, "")
        assert not window.shows_chat, "the page has no subject"
        page = await topic(person, "rivers")
        await until(lambda: window.beside.shown and options.subject == RIVERS)
        assert window.pages.shown == TOPICS and not window.pages.shows_chat
        assert chat.isVisible() and chat.session is None and chat.header.isVisible()
        assert chat.width() == 420 and page.width() > 700
        assert not window.sides.inspector_fits_page and chat.header.inspector.isHidden()
        assert not in_chat(person), "the page keeps the keyboard"

        window.menu_actions.by_action[Action.WRITE_MESSAGE].trigger()
        assert window.beside.shown
        person.say("What do rivers do?")
        await person.done()
        session = person.session
        assert session.info.subject == RIVERS and window.beside.shown
        person.press(Qt.Key.Key_Escape)
        assert not in_chat(person), "Escape leads back to the page"

        await topic(person, "lakes")
        await until(lambda: options.subject == LAKES)
        assert chat.session is None
        await topic(person, "rivers")
        await until(lambda: chat.session is session)
        assert not in_chat(person)

        chat.header.alone.click()
        await until(lambda: window.pages.shows_chat)
        assert not window.beside.shown and not chat.header.inspector.isHidden()
        assert person.focused() is chat.composer.editor and chat.session is session
        window.new_chat()
        await until(lambda: options.subject == "")
        await topic(person, "rivers")
        await until(lambda: chat.session is session and window.beside.shown)


@on_window_loop
async def test_kz48_a_chat_whose_source_led_to_a_page_stays_beside_it(tmp_path: Path) -> None:
    """KZ-48: whatever it is about, until the person goes to the page by themselves."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("They flow."))]) as person:
        window, chat = person.window, person.window.chat
        await with_notes(person, tmp_path / "packs")
        person.say("What do rivers do?")
        await person.done()
        session = person.session
        chat.source_wanted.emit(RIVERS)
        await until(lambda: window.beside.shown)
        assert window.pages.shown == "pack:notes/list", "which has no subject"
        assert chat.session is session
        window.pages.show_source(TOPICS, "rivers")
        page = window.pages.currentWidget()
        await until(lambda: page.subject == RIVERS)  # type: ignore[attr-defined]
        assert chat.session is session and window.beside.shown
        await topic(person, "rivers")
        await until(lambda: chat.model.options.subject == RIVERS)
        assert chat.session is None and window.beside.shown
        window.sidebar._rows["pack:notes/list"].click()
        assert not window.shows_chat


@on_window_loop
async def test_kz48_no_other_chat_comes_beside_a_page_that_is_back(tmp_path: Path) -> None:
    """KZ-47, KZ-48: neither one that was on its way, nor one about nothing after a deletion."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("They flow."))]) as person:
        window, chat = person.window, person.window.chat
        options = chat.model.options
        await with_notes(person, tmp_path / "packs")
        await topic(person, "rivers")
        await until(lambda: options.subject == RIVERS)
        chat.composer.setFocus()
        await options.found()
        person.say("What do rivers do?")
        await person.done()
        session = person.session
        window.pages.show_page(TOPICS, "lakes")
        window.pages.show_page(TOPICS, "rivers")  # before the chat about lakes was found
        await window._tasks.settled()
        assert options.subject == RIVERS and chat.session is session
        window.chats.delete([session.info.id])
        await until(lambda: chat.session is None)
        assert window.beside.shown and options.subject == RIVERS


@on_window_loop
async def test_kz47_a_small_window_has_a_button_that_leads_to_the_chat(tmp_path: Path) -> None:
    """KZ-47: width and whether it is wanted are kept; in large German text nothing is cut."""
    with language("de"):
        async with at_window(tmp_path, "anthropic", []) as person:
            window, chat = person.window, person.window.chat
            await with_notes(person, tmp_path / "packs")
            page = await topic(person, "rivers")
            await until(lambda: window.beside.shown)
            window.beside.setSizes([window.beside.width() - 500, 500])
            window.beside.splitterMoved.emit(0, 1)
            window.resize(1000, 700)
            await until(lambda: not window.beside.shown)
            assert not page.chat.isHidden()  # type: ignore[attr-defined]
            page.chat.click()  # type: ignore[attr-defined]
            await until(lambda: window.pages.shows_chat)
            assert chat.model.options.subject == RIVERS
            window.resize(1440, 900)
            await topic(person, "rivers")
            await until(lambda: window.beside.shown and chat.width() == 500)
            assert page.chat.isHidden()  # type: ignore[attr-defined]
            window.theme.set("dark", scale=1.6)
            await until(lambda: not window.beside.shown)
            window.resize(1920, 900)
            await until(lambda: window.beside.shown)
            header = chat.header
            parts = (header.title, header.subject, header.alone, header.close_chat)
            await until(lambda: header.title.width() > 0)
            ink = chat.heading.palette().color(QPalette.ColorRole.WindowText)
            assert ink == window.theme.color("text1"), "that of the theme, which changed meanwhile"
            for one in parts:
                assert header.rect().contains(one.geometry()), one
            window.theme.set(scale=1.0)
            header.close_chat.click()
            await until(lambda: not window.beside.shown)
            assert not page.chat.isHidden()  # type: ignore[attr-defined]
        async with at_window(tmp_path, "anthropic", []) as person:
            window = person.window
            await with_notes(person, tmp_path / "packs")
            page = await topic(person, "rivers")
            await until(lambda: not page.chat.isHidden())  # type: ignore[attr-defined]
            assert not window.beside.shown
            page.chat.click()  # type: ignore[attr-defined]
            await until(lambda: window.beside.shown)
            assert person.focused() is window.chat.composer.editor
            assert window.chat.width() == 500
