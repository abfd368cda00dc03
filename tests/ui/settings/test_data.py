"""The Data page: where data lies, export, import with a preview, deletion; and About."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.domain.messages import Text as Words
from studio.simulator import Text, Turn, stall
from studio.storage.paths import Paths
from studio.ui.settings.bars import Part, ShareBar
from studio.ui.settings.chats_dialog import ChatsDialog
from studio.ui.settings.pages.about import AboutPage
from studio.ui.settings.pages.data import DataPage, PlaceCard, sizes
from studio.ui.theme import Theme
from studio.ui.widgets.text_dialog import TextDialog
from support.engine_home import KEY
from support.pixels import pixels
from support.waiting import FOREVER, until
from support.window import Person, alone, at_window, message, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


async def page_of(person: Person) -> DataPage:
    person.window.preferences.open("data")
    dialog = person.window.preferences.dialog
    assert dialog is not None
    page = dialog.pages["data"]
    assert isinstance(page, DataPage)
    await until(lambda: page.place.whole.text(), "sizes are shown")
    return page


async def done(page: DataPage) -> str:
    """Wait for the end of the work; returns what is said then."""
    await until(lambda: page._work is None and not page.work.isVisible(), "the work ends")
    return page.said.text()


async def choose(page: DataPage, path: Path) -> None:
    """Choose a file in the dialog that is open."""
    chooser = page._chooser
    assert chooser is not None
    chooser.fileSelected.emit(str(path))
    chooser.reject()


async def chats(person: Person) -> list[str]:
    return [info.title for info in await person.engine.sessions.list()]


def test_a_legend_has_room_for_its_amounts(alone: QApplication) -> None:
    """Digits are painted as wide as each other, which is wider than those of a text."""
    theme = Theme()
    for scale in (1.0, 1.6):
        theme.set(scale=scale)
        bar, parts = ShareBar(theme), [Part("Chats", "1,111.1 MB", 3), Part("Undo", "111 kB", 1)]
        bar.show_parts(parts)
        digits = QFontMetrics(theme.font("small", True))
        for part, place in zip(parts, bar._places(900), strict=True):
            words = theme.metrics("small").horizontalAdvance(part.name + " ")
            words += theme.px(7) + theme.px(6) + digits.horizontalAdvance(part.detail)
            assert words <= place.width()
        bar.deleteLater()
    theme.deleteLater()


@on_window_loop
async def test_chats_go_out_are_deleted_and_come_back(tmp_path: Path) -> None:
    place = tmp_path / "out" / "all.zip"
    place.parent.mkdir()
    script = [Turn(Text("It is **blue**.")), Turn(Text("Four."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say(f"What colour is {KEY}?")
        await person.done()
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        person.composer.setFocus()
        person.say("Two and two")
        await person.done()
        titles = [title.replace(KEY, "[key]") for title in await chats(person)]
        assert len(titles) == 2
        page = await page_of(person)
        assert "in 2 chats" in page.place.whole.text()
        assert "Chats" in page.place.bar.accessibleName()
        whole = sum(sizes(person.engine.paths).values())
        assert whole >= person.engine.paths.database.stat().st_size

        page.export_all.click()
        page._chooser.fileSelected.emit(str(place))  # type: ignore[union-attr]
        page._cancel()
        assert await done(page) == "Exporting: stopped."
        assert list(place.parent.iterdir()) == [], "nothing half is left"
        page.export_all.click()
        await choose(page, place)
        assert "2 chats are in" in await done(page)
        with zipfile.ZipFile(place) as archive:
            names = archive.namelist()
            everything = b"".join(map(archive.read, names)).decode()
            told = json.loads(archive.read("conversations.json"))
        assert len(told["conversations"]) == 2 and "settings.json" in names
        assert sum(name.startswith("chats/") for name in names) == 2
        assert "It is **blue**." in everything and KEY not in everything

        page.export_some.click()
        dialog = next(one for one in QApplication.topLevelWidgets() if isinstance(one, ChatsDialog))
        assert not dialog.use.isEnabled()
        dialog.field.setText("two and")
        dialog.all.click()
        assert len(dialog.ticked) == 1
        dialog.use.click()
        await choose(page, place.with_name("one.md"))
        assert "1 chat is in" in await done(page)
        words = place.with_name("one.md").read_text(encoding="utf-8")
        assert "Four." in words and "blue" not in words

        # What was deleted in the list comes back from here, as long as the person wants.
        assert not page.restore.isEnabled() and page.kept.text() == "30 days"
        first = person.window.sidebar.chats.ids()[0]
        person.window.sidebar.delete.emit([first])
        await until(lambda: len(person.chats()) == 1)
        page.refresh()
        await until(page.restore.isEnabled)
        assert page.bin_line.text() == "1 chat"
        page.restore.click()
        dialog = await until(
            lambda: next(
                (one for one in QApplication.topLevelWidgets() if isinstance(one, ChatsDialog)),
                None,
            )
        )
        # The box is the theme's in every theme, and the whole row ticks it.
        row = dialog.list.visualRect(dialog.list.model().index(0, 0))
        accent = person.window.theme.color("accent").rgba()
        assert accent not in pixels(dialog.list.viewport().grab(row).toImage())
        at_end = QPoint(row.right() - 20, row.center().y())
        QTest.mouseClick(
            dialog.list.viewport(),
            Qt.MouseButton.LeftButton,
            Qt.KeyboardModifier.NoModifier,
            at_end,
        )
        assert dialog.ticked and accent in pixels(dialog.list.viewport().grab(row).toImage())
        QTest.keyClick(dialog.list, Qt.Key.Key_Space)
        assert not dialog.ticked
        dialog.all.click()
        assert dialog.use.text() == "Bring 1 chat back"
        dialog.use.click()
        assert await done(page) == "1 chat is back."
        await until(lambda: first in person.window.sidebar.chats.ids())
        page._keep_for("0")
        await person.engine.sessions.put_in_bin([first])
        await person.engine.sessions.take_from_bin([first])
        await person.engine.purge_bin()
        assert len(await chats(person)) == 2, "what was brought back is not purged"

        assert not page.delete_old.isEnabled() and page.old_line.text() == "0 chats"
        page.delete_all.click()
        box = await until(message)
        assert box.text() == "Delete 2 chats?" and box.defaultButton().text() == "Cancel"
        box.reject()
        assert len(await chats(person)) == 2
        page.delete_all.click()
        box = await until(message)
        next(one for one in box.buttons() if one.text() == "Delete").click()
        assert await done(page) == "2 chats were deleted."
        assert await chats(person) == [] and person.window.chat.session is None
        await until(lambda: person.chats() == [], "the sidebar is empty")
        assert person.engine.settings.values.default_provider == "anthropic"

        page.look_into(str(place.with_name("one.md")))
        assert "one.md cannot be imported: it is not JSON" in await done(page)
        page.look_into(str(place))
        await done(page)
        assert page.preview.facts.text() == "2 are new · Nothing is stored yet."
        page.preview.show_list.click()
        assert sorted(page.preview.titles.stringList()) == sorted(titles)
        assert await chats(person) == [], "a preview stores nothing"
        assert page.preview.take.text() == "Import 2 chats"
        page.preview.take.click()
        assert await done(page) == "2 chats were imported."
        assert sorted(await chats(person)) == sorted(titles)
        page.look_into(str(place))
        await done(page)
        assert "2 are here already" in page.preview.facts.text()
        assert not page.preview.take.isEnabled()

        # Of another program's chats it says what the file does not have.
        said = {"sender": "human", "text": "Green?", "files": [{"file_name": "leaf.png"}]}
        foreign = place.with_name("conversations.json")
        foreign.write_text(json.dumps([{"name": "Tea", "chat_messages": [said]}]))
        page.look_into(str(foreign))
        await done(page)
        assert page.preview.titles.stringList() == ["Tea — 1 part is missing"]
        page.preview.take.click()
        assert await done(page) == "1 chat was imported."
        assert "Tea" in await chats(person)


@on_window_loop
async def test_a_turn_that_begins_while_the_person_is_asked_keeps_its_chat(tmp_path: Path) -> None:
    """Behind the page or in the chat that is shown."""
    slow = Turn(Text("Half of it."), faults=[stall(FOREVER)])
    async with at_window(tmp_path, "anthropic", [Turn(Text("Four.")), slow]) as person:
        person.say("Two and two")
        await person.done()
        page = await page_of(person)
        await until(page.delete_all.isEnabled)
        page.delete_all.click()
        box = await until(message)
        session = person.session
        person.window.runner.start(session, [Words("Go on")])
        await until(lambda: person.says("Half of it."), "the turn runs")
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        next(one for one in box.buttons() if one.text() == "Delete").click()
        assert await done(page) == "0 chats were deleted."
        assert session.running and len(await chats(person)) == 1
        session.stop()
        await until(lambda: not session.running)


@on_window_loop
async def test_about_has_versions_licences_and_a_report_without_secrets(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        logs = person.window.engine.paths.logs
        logs.mkdir(parents=True, exist_ok=True)
        (logs / "crash.txt").write_text("ValueError: in a place")
        person.window._show_about()
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["about"]
        assert isinstance(page, AboutPage) and page.isVisible()

        def shown() -> list[TextDialog]:
            return [one for one in dialog.findChildren(TextDialog) if one.isVisible()]

        assert not hasattr(page, "crash"), "files are looked at in a thread"
        await until(lambda: hasattr(page, "crash"))
        page.crash.click()
        assert not shown()
        (crash,) = await until(shown)
        assert crash.text.toPlainText() == "ValueError: in a place"
        crash.reject()
        page.copy.click()
        assert page.copy.text() == "Copy"
        await until(lambda: page.copy.text() == "Copied")
        told = QGuiApplication.clipboard().text()
        assert "Agent Studio: 0." in told and "Qt: 6." in told and "anthropic" in told
        assert KEY not in told and str(tmp_path) not in told and "127.0.0.1" not in told
        for file, words in (
            ("fonts/LICENSE-OFL", "Inter Project"),
            ("icons/LICENSE-lucide", "ISC"),
            ("licences/LICENSE-LGPL-3.0", "GNU LESSER GENERAL PUBLIC LICENSE"),
            ("licences/LICENSE-GPL-3.0", "GNU GENERAL PUBLIC LICENSE"),
        ):
            page.licences[file].click()
            assert not shown()
            (licence,) = await until(shown)
            assert words in licence.text.toPlainText()
            assert (
                licence.text.textInteractionFlags() & Qt.TextInteractionFlag.TextSelectableByMouse
            )
            licence.reject()


@pytest.mark.parametrize("scale", [1.0, 1.6])
def test_where_data_lies_stands_beside_how_much_it_is(
    qapp: QApplication, tmp_path: Path, scale: float
) -> None:
    """In one line, with its middle left out where there is no room for it (U-1)."""
    theme = Theme("light", scale)
    card = PlaceCard(theme, Paths.below(tmp_path / "a-folder-with-a-long-name"))
    card.show_sizes({"chats": 1_200_000_000}, 412)
    for wide in (1600, 640):
        card.resize(theme.px(wide) if scale == 1 else wide, card.sizeHint().height())
        card.show()
        words, path, button = (one.geometry() for one in (card.whole, card.path, card.open))
        assert abs(path.center().y() - button.center().y()) <= 1
        assert words.right() < path.left() and path.right() < button.left()
        assert words.width() >= card.whole.sizeHint().width(), "all of it is read"
        assert path.width() >= theme.px(60)
