"""Pages by widgets of packs in the program: sidebar, palette, errors in their place (KZ-9)."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from studio.domain.errors import StorageError
from studio.extensions.packs.brought import brought_packs
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import _SourceLoader
from studio.extensions.packs.origins import Brought, Origin
from studio.ui.pages.pack_page import DeclaredPage
from studio.ui.pages.widget_page import WidgetPage
from studio.ui.settings.pages.packs import PacksPage
from studio.ui.sidebar.sidebar import PackName
from studio.ui.widgets import Button
from support.languages import language
from support.pack_home import PACKS
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

TOPICS = "pack:notes/topics"


def ship_notes(person: Person, place: Path) -> InstalledPacks:
    """The pack of the tests as one that ships with the program, which is off until the person
    switches it on."""
    if not place.exists():
        shutil.copytree(PACKS, place)
    packs = person.engine.services.get(InstalledPacks)
    packs.brought = lambda: brought_packs(place)
    return packs


@on_window_loop
async def test_kz9_a_page_is_loaded_when_it_is_opened_and_goes_with_its_pack(
    tmp_path: Path,
) -> None:
    """KZ-9, KZ-10: beside a declared page, under the pack's name, and in the palette."""
    async with at_window(tmp_path, "anthropic", []) as person:
        window, packs = person.window, ship_notes(person, tmp_path / "packs")
        sidebar = window.sidebar
        assert TOPICS not in sidebar._rows
        packs.switch("notes", on=True)
        await until(lambda: TOPICS in sidebar._rows)
        assert "pack:notes/list" in sidebar._rows
        assert [one.accessibleName() for one in sidebar.findChildren(PackName)] == ["Notes"]
        assert "studio_pack_notes.pages.topics" not in sys.modules, "it was not opened yet"
        sidebar._rows[TOPICS].click()
        page = window.pages.currentWidget()
        assert isinstance(page, WidgetPage)
        await until(lambda: page.shown is not None)
        shown = page.shown
        assert shown is not None
        await until(lambda: shown.topics.text() == "None yet")  # type: ignore[attr-defined]
        shown.home.records.write("INSERT INTO note VALUES ('rivers', 'They flow.', 'a')")
        window.show_palette()
        entries = {one.title: one for one in window._entries._entries["actions"]}
        assert {"Topics", "Rivers", "All notes"} <= entries.keys()
        entries["Rivers"].run()
        await until(lambda: shown.topics.text() == "rivers")  # type: ignore[attr-defined]
        shown.ask()  # type: ignore[attr-defined]
        assert window.chat.model.options.subject == "notes:topic/rivers"
        assert window.pages.shows_chat
        sidebar._rows["pack:notes/list"].click()
        assert isinstance(window.pages.currentWidget(), DeclaredPage)
        sidebar._rows[TOPICS].click()
        packs.switch("notes", on=False)
        await until(lambda: TOPICS not in sidebar._rows)
        await until(lambda: window.pages.shows_chat)
        assert not sidebar._pack_names
        assert len(packs._listeners) == 1
    assert not packs._listeners, "a window that is closed hears of nothing"


@on_window_loop
async def test_kz9_what_a_button_attempts_is_told_and_leaves_the_button_on(tmp_path: Path) -> None:
    """KZ-9: what it raises goes to the card that asked, in the person's language."""
    with language("de"):
        async with at_window(tmp_path, "anthropic", []) as person:
            ship_notes(person, tmp_path / "packs").switch("notes", on=True)
            await until(lambda: TOPICS in person.window.sidebar._rows)
            person.window.sidebar._rows[TOPICS].click()
            page = person.window.pages.currentWidget()
            assert isinstance(page, WidgetPage)
            shown = await until(lambda: page.shown)
            button, came = Button(person.window.theme, "Go"), list[tuple[object, str]]()

            def full() -> None:
                raise StorageError("The file cannot be written.")

            for work in (full, lambda: 7):
                shown.attempt(work, lambda *found: came.append(found), button)
                assert not button.isEnabled()
                await until(button.isEnabled)
            assert came == [(None, "Die Datei kann nicht geschrieben werden."), (7, "")]
            assert page.problem is None


@on_window_loop
async def test_kz9_a_page_that_does_not_ship_is_compiled_in_a_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-9: to compile it takes longer than the window may be still."""
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = ship_notes(person, tmp_path / "packs")
        found = [Brought(Origin("distribution", "notes 1.0"), tmp_path / "packs" / "notes")]
        packs.brought = lambda: found
        packs.approve("notes", packs.get("notes").digest)
        await person.engine.refresh_tools()
        await until(lambda: TOPICS in person.window.sidebar._rows)
        monkeypatch.setattr(_SourceLoader, "source_to_code", None)
        person.window.sidebar._rows[TOPICS].click()
        page = person.window.pages.currentWidget()
        assert isinstance(page, WidgetPage)
        await until(lambda: page.shown or page.problem)
        assert page.shown is not None


@pytest.mark.qt_no_exception_capture
@on_window_loop
async def test_kz9_what_a_page_raises_is_shown_in_its_place(tmp_path: Path) -> None:
    """KZ-9: while it is loaded, made, opened, at work and painted; and it can be tried again."""
    head = "from studio.packs.ui import Page\nclass TopicsPage(Page):\n"
    faults = {
        "raise RuntimeError('while loading')": "while loading",
        f"{head}    def __init__(self, studio):\n        raise RuntimeError('made')": "made",
        f"{head}    def open(self, *target):\n        raise RuntimeError('opened')": "opened",
        f"{head}    def open(self, *target):\n        self.run(self.load())\n"
        "    async def load(self):\n        raise RuntimeError('at work')": "at work",
        f"{head}    def paint(self, painter, rect):\n        raise RuntimeError('drawn')": "drawn",
        f"{head}    def open(self, *target):\n"
        "        from PySide6.QtCore import QTimer\n        QTimer.singleShot(0, self.late)\n"
        "    def late(self):\n        raise RuntimeError('called by Qt')": "called by Qt",
        "class TopicsPage: pass": "no Page of studio.packs.ui",
    }
    async with at_window(tmp_path, "anthropic", []) as person:
        window, packs = person.window, ship_notes(person, tmp_path / "packs")
        file = tmp_path / "packs" / "notes" / "org.agent-studio" / "pages" / "topics.py"
        good = file.read_text("utf-8")
        file.write_text(next(iter(faults)))
        packs.switch("notes", on=True)
        await until(lambda: TOPICS in window.sidebar._rows)
        window.sidebar._rows[TOPICS].click()
        for code, words in [*faults.items()]:
            file.write_text(code)
            packs._read.clear()  # files of packs that ship are read once
            packs.switch("notes", on=True)

            def told(words: str = words) -> bool:
                page = window.pages.currentWidget()
                problem = page.problem if isinstance(page, WidgetPage) else None
                return problem is not None and words in problem.words.text()

            await until(told)
        file.write_text(good)
        packs._read.clear()
        packs.switch("notes", on=True)

        def shown() -> bool:
            page = window.pages.currentWidget()
            return isinstance(page, WidgetPage) and page.shown is not None

        await until(shown)


@on_window_loop
async def test_kz9_a_pack_that_the_terminal_removes_takes_its_pages_away(tmp_path: Path) -> None:
    """KZ-9: another program changes what is on."""
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = ship_notes(person, tmp_path / "packs")
        packs.switch("notes", on=True)
        await until(lambda: TOPICS in person.window.sidebar._rows)
        other = InstalledPacks(packs.folder, packs.brought)
        other.switch("notes", on=False)
        await until(lambda: TOPICS not in person.window.sidebar._rows)
        other.switch("notes", on=True)
        await until(lambda: TOPICS in person.window.sidebar._rows)


@on_window_loop
async def test_kz9_the_settings_of_a_pack_are_a_form(tmp_path: Path) -> None:
    """KZ-9: drawn from its dataclass, checked, and read by its code."""
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = ship_notes(person, tmp_path / "packs")
        packs.switch("notes", on=True)
        await until(lambda: TOPICS in person.window.sidebar._rows)
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        await until(lambda: "notes" in page.rows)
        page.rows["notes"].settings.click()
        await until(lambda: page.set is not None)
        card = page.set
        assert card is not None
        line = card.form.rows["most"].line
        assert line is not None and line.text() == "20"
        line.setText("many")
        card.agree.click()
        assert not card.form.rows["most"].problem.isHidden()
        line.setText("3")
        card.agree.click()
        file = packs.folder / "notes" / "settings.json"
        await until(file.exists)
        assert json.loads(file.read_text()) == {"most": 3}
        page.rows["notes"].settings.click()
        await until(lambda: page.set is not None and page.set is not card)
        assert page.set is not None
        line = page.set.form.rows["most"].line
        assert line is not None
        assert line.text() == "3"
