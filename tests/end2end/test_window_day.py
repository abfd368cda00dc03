"""A person's day at the window: first run, many chats, settings, trouble, the keyboard alone."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLineEdit, QWidget

from studio.domain.blocks import FailureBlock, RetryBlock, TextBlock, ToolBlock
from studio.simulator import Call, Table, Text, Turn, When, html, stall, status
from studio.storage.config.settings import SettingsFile
from studio.storage.migrations import LATEST
from studio.ui.app.key_sheet import KeySheet
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.pages.drafts.page import DraftsPage
from studio.ui.pages.first_run import FirstRun
from studio.ui.pages.search.page import SearchPage
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.transcript.items.approval_item import ApprovalItem
from studio.ui.transcript.items.question_item import QuestionItem
from studio.ui.transcript.items.turn_items import FailureItem
from support.engine_home import KEY
from support.model_calls import read
from support.waiting import HANG, until
from support.window import (
    ALT,
    CTRL,
    SHIFT,
    Key,
    Person,
    alone,
    at_window,
    message,
    on_window_loop,
    popup,
    row_of,
)

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
COMPATIBLE = "openai-compatible"


def first_run(person: Person) -> FirstRun:
    page = person.window.pages.currentWidget()
    assert isinstance(page, FirstRun)
    return page


# The keyboard alone


async def tab_to(person: Person, name: str) -> None:
    """Press Tab until what is so named has the keyboard, as a person does who sees its ring."""
    for _ in range(120):
        focus = person.focused()
        assert focus is not None
        if name in focus.accessibleName():
            return
        QTest.keyClick(focus, Key.Key_Tab)
        await asyncio.sleep(0)
    raise AssertionError(f"Tab does not come to {name}")


async def active(window: QWidget) -> None:
    """What a window manager does when another window or a menu is gone."""
    window.activateWindow()
    await until(window.isActiveWindow)


async def keep_pressing(person: Person, key: Qt.Key, until_so: Callable[[], object]) -> None:
    """A card is deaf for a moment after it has appeared."""

    def pressed() -> object:
        if not until_so():
            person.press(key)
        return until_so()

    await until(pressed)


@on_window_loop
async def test_u1_a_whole_day_without_a_mouse(tmp_path: Path) -> None:
    """First run, chat, card, draft, agents, palette, settings, search, quit."""
    async with at_window(tmp_path, COMPATIBLE, [], first_run=True) as person:
        window, pages = person.window, person.window.pages
        person.press(Key.Key_1)
        await until(lambda: person.composer.text == "What is in this folder?")
        await until(person.composer.editor.hasFocus)
        person.press(Key.Key_Return)
        await person.done()

        person.say("Run `ls`")
        await until(lambda: person.composer.state == "waiting" and person.view.hasFocus())
        await keep_pressing(person, Key.Key_Return, lambda: person.composer.state != "waiting")
        await person.done(2)
        assert person.blocks(ToolBlock)[-1].state == "done", "allowed by Enter"
        person.say("Write a note")
        await person.done(3)
        note = Path(person.session.info.folder) / "notes.md"

        person.press(Key.Key_4, CTRL)
        drafts = pages.currentWidget()
        assert isinstance(drafts, DraftsPage) and not note.exists()
        await until(drafts.detail.buttons["approve"].isVisible)
        person.press(Key.Key_A)
        await until(note.exists)
        person.press(Key.Key_1, CTRL)
        await until(lambda: pages.shows_chat and person.focused() is person.composer.editor)

        person.press(Key.Key_2, CTRL)
        agents = pages.currentWidget()
        assert isinstance(agents, AgentsPage)
        await until(lambda: agents.document is not None)
        await tab_to(person, "New agent")
        person.press(Key.Key_Space)
        await until(popup)
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        made = person.engine.paths.agents / "new-agent.md"
        await until(lambda: agents.document is not None and agents.document.path == made)
        await active(window)
        await until(lambda: person.focused() is agents.properties.name)
        person.type("Poet")
        person.press(Key.Key_Tab)
        await until(lambda: "name: Poet\n" in agents.editor.text())
        person.press(Key.Key_S, CTRL)
        await until(lambda: "name: Poet\n" in made.read_text())
        person.press(Key.Key_1, CTRL)
        await until(lambda: pages.shows_chat)

        person.press(Key.Key_K, CTRL)
        await until(lambda: window._palette and window._palette.isVisible())
        person.type("appear")
        await until(lambda: "Appearance" in (person.focused().accessibleDescription()))
        person.press(Key.Key_Return)
        dialog = await until(lambda: window.preferences.dialog)
        await active(dialog)
        assert dialog.page == "appearance"
        await tab_to(person, "Light")
        person.press(Key.Key_Right)
        await until(lambda: window.theme.dark)
        person.press(Key.Key_Escape)
        await until(lambda: not dialog.isVisible())
        await active(window)

        person.press(Key.Key_F, CTRL | SHIFT)
        await until(lambda: isinstance(pages.currentWidget(), SearchPage))
        person.type("notes.md")
        search = pages.currentWidget()
        assert isinstance(search, SearchPage)
        await until(lambda: search.found.lines)
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        await until(lambda: pages.shows_chat and person.view.finder.find is not None)

        person.press(Key.Key_Q, CTRL)
        await until(person.program.closed.done)


# The first run


@on_window_loop
async def test_first_run_one_key_starts_the_demo(tmp_path: Path) -> None:
    """No key, no network: key 1, Enter, and an agent works, labelled as simulated."""
    async with at_window(tmp_path, COMPATIBLE, [], first_run=True) as person:
        page = first_run(person)
        await until(lambda: page._start.ollama.accessibleName().count("Not running"))
        person.press(Key.Key_1)
        await until(lambda: person.composer.text == "What is in this folder?")
        await until(person.composer.editor.hasFocus)
        await until(lambda: "demo" in person.composer.model.text().lower())
        person.press(Key.Key_Return)
        await person.done()
        assert person.window.chat.header.demo.isVisible()
        assert person.says("Simulated")
        calls = person.blocks(ToolBlock)
        assert {call.state for call in calls} == {"done"}, "it reads and lists, and nothing fails"
        assert [call.name for call in calls] == ["list", "read", "read"]
        assert person.session.info.provider == "simulator" and not person.asked
    async with at_window(tmp_path, COMPATIBLE, [], first_run=True) as person:
        assert person.window.pages.currentWidget() is person.window.chat  # asked only once


@on_window_loop
async def test_p4_a_key_in_the_environment_after_the_demo_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New chats go on with the demo no longer, and the window says so once."""

    def demo(settings: SettingsFile) -> None:
        settings.values.default_provider = "simulator"

    async with at_window(tmp_path, "anthropic", [], key="", setup=demo) as person:
        await until(lambda: "demo" in person.composer.model.text().lower())
        assert not person.window.banner.text
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    async with at_window(tmp_path, "anthropic", [], key="", setup=demo) as person:
        assert person.window.banner.text == "New chats use Anthropic now."
        await until(lambda: person.window.chat.model.options.provider == "anthropic")

    async with at_window(tmp_path, "anthropic", [], key="", setup=demo) as person:
        assert not person.window.banner.text, "the demo was chosen beside this key"
        await until(lambda: "demo" in person.composer.model.text().lower())


@on_window_loop
async def test_first_run_with_a_key(tmp_path: Path) -> None:
    """P-4: a wrong key says so; a right one is tried, kept, and its models are there."""
    script = [Turn(Text("Hello from here."))]
    async with at_window(tmp_path, "anthropic", script, first_run=True, key="") as person:
        page = first_run(person)._page
        person.press(Key.Key_2)
        assert page.field.hasFocus()
        person.type("bad-key-0123456789")
        assert page.provider.isVisible() and not page.add.isEnabled()
        await person.choose(page.provider, "Anthropic")
        assert page.add.isEnabled() and page.field.hasFocus()
        person.press(Key.Key_Return)
        await until(lambda: page.error.isVisible() and page.error.text())
        assert "key" in page.error.text() and "bad-key" not in page.error.text()
        page.field.selectAll()
        person.type("sk-ant-0123456789abcdef")
        assert not page.error.isVisible() and not page.provider.isVisible()
        person.press(Key.Key_Return)
        await until(page.session.isVisible)  # there is no keychain here
        person.click(page.session)
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)
        await until(lambda: "Choose" not in person.composer.model.text())
        await until(person.composer.editor.hasFocus)
        person.say("Hello")
        await person.done()
        assert person.says("Hello from here.")
        assert person.session.info.provider == "anthropic"
        for file in (tmp_path / "studio").rglob("*"):
            assert not file.is_file() or b"0123456789abcdef" not in file.read_bytes()


@on_window_loop
async def test_first_run_with_ollama_and_the_built_in_link(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Local."))], first_run=True) as person:
        page = first_run(person)
        await until(lambda: "Found" in page._start.ollama.accessibleName())
        person.press(Key.Key_3)
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)
        await until(person.composer.editor.hasFocus)
        person.say("Hello")
        await person.done()
        assert person.says("Local.") and person.session.info.provider == "ollama"
    home = tmp_path / "second"
    home.mkdir()
    async with at_window(home, COMPATIBLE, [], first_run=True) as person:
        person.click(first_run(person)._start.builtin)
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)
        assert person.window.settings.values.default_provider == "builtin"
        await until(lambda: "Choose" not in person.composer.model.text())


# Many chats


@on_window_loop
async def test_one_chat_runs_while_another_is_on_screen(tmp_path: Path) -> None:
    """S-1: rows say running, needs you, unread; Ctrl+J goes to what waits."""
    ask = Turn(Call("run", {"command": "while [ ! -e go ]; do sleep 0.02; done; echo background"}))
    script = Table(
        (
            (When(result="background"), Turn(Text("Done at the back."))),
            (When(says="slow"), ask),
            (When(says="endless"), Turn(Text("on and on " * 9), faults=[stall(at=5)])),
            (When(), Turn(Text("Quick answer."))),
        )
    )
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("endless")
        await until(lambda: person.status("endless") == "running")
        person.press(Key.Key_N, CTRL)
        assert person.composer.editor.placeholder == "Ask, or describe a task"
        await until(lambda: person.window.chat.session is None)
        person.say("slow")
        await until(lambda: person.status("slow") == "waiting")
        person.press(Key.Key_N, CTRL)
        await until(lambda: person.window.chat.session is None)
        await until(person.composer.editor.hasFocus)
        person.say("quick")
        await person.done()
        assert person.says("Quick answer.") and person.status("endless") == "running"
        await until(lambda: person.status("quick") == "age")
        person.press(Key.Key_J, CTRL)
        await until(lambda: person.session.info.title == "slow")
        await until(lambda: person.view.hasFocus() and person.item(ApprovalItem))
        item = await until(lambda: person.item(ApprovalItem))
        person.view.context.now = lambda: (item.shown_at or 1e12) + 1
        await until(lambda: item.shown_at is not None)
        person.press(Key.Key_Return)
        await person.open_chat("quick")
        await until(lambda: person.session.info.title == "quick")
        (person.folder / "go").touch()
        await until(lambda: person.status("slow") == "unread")
        await person.open_chat("slow")
        await until(lambda: person.status("slow") == "age")
        assert person.says("Done at the back.")
        await person.open_chat("endless")
        await until(lambda: person.session.info.title == "endless")
        assert person.composer.state == "running" and person.blocks(TextBlock)[0].live
        person.press(Key.Key_Escape)
        await person.done()
        assert len(person.chats()) == 3 and not person.simulator.violations
        await person.open_chat("quick")
        person.window.new_chat()  # at once: the chat that is still being read does not come back
        await until(lambda: not person.window._tasks)
        assert person.window.chat.session is None


@on_window_loop
async def test_search_rename_and_delete(tmp_path: Path) -> None:
    """S-2, S-3: words that only a tool's output holds are found."""
    script = [Turn(read("notes.txt")), Turn(Text("Read it.")), Turn(Text("Other."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        (person.folder / "notes.txt").write_text("first line\nthe zebrafish sleeps\n")
        person.say("Read my notes")
        await person.done()
        person.press(Key.Key_N, CTRL)
        await until(lambda: person.window.chat.session is None)
        person.say("Something else")
        await person.done()
        await until(lambda: len(person.chats()) == 2)
        sidebar = person.window.sidebar
        sidebar.field.setFocus()
        person.type("zebrafish")
        await until(lambda: person.chats() == ["Read my notes"])
        hit = await until(lambda: sidebar.chats.chats.rows[0].hit)
        assert "zebrafish" in hit.line
        await person.open_chat("Read my notes")
        await until(lambda: person.session.info.title == "Read my notes")
        sidebar.field.setFocus()
        sidebar.field.selectAll()
        person.press(Key.Key_Delete)
        await until(lambda: len(person.chats()) == 2)

        person.press(Key.Key_F2)
        editor = await until(lambda: sidebar.chats.findChild(QLineEdit))
        QTest.keyClicks(editor, "Fish")
        QTest.keyClick(editor, Key.Key_Return)
        await until(lambda: "Fish" in person.chats())
        await until(lambda: person.window.chat.header.title.accessibleName() == "Fish")

        sidebar.chats.setFocus()
        sidebar.chats.setCurrentIndex(row_of(sidebar.chats, "Fish"))
        person.press(Key.Key_Delete)
        await until(lambda: person.chats() == ["Something else"])
        await until(lambda: person.window.chat.session is None)
        assert await person.engine.sessions.search("zebrafish") == []
        person.press(Key.Key_Z, CTRL)
        await until(lambda: "Fish" in person.chats())


@on_window_loop
async def test_agent_model_mode_and_folder_by_mouse(tmp_path: Path) -> None:
    script = [Turn(Text("Looked."))]
    other = tmp_path / "other"
    other.mkdir()

    def setup(file: object) -> None:
        file.values.use_folder(str(other))  # type: ignore[attr-defined]
        file.values.use_folder(str(tmp_path / "work"))  # type: ignore[attr-defined]

    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        composer = person.composer
        listing = person.engine.catalogue.listing
        await until(lambda: listing(COMPATIBLE).state == "ready")
        await person.choose(composer.agent, "Researcher")
        model = next(m for m in listing(COMPATIBLE).models if m.source == "fetched")
        await person.choose(composer.model, model.title)
        await person.choose(composer.mode, "Plan")
        await person.choose(composer.folder, str(other))
        assert composer.agent.text() == "Researcher" and composer.mode.text() == "Plan"
        composer.setFocus()
        person.say("Look around")
        await person.done()
        info = person.session.info
        assert (info.agent, info.model, info.permission_mode) == ("Researcher", model.id, "plan")
        assert info.folder == str(other) and model.id in person.asked[0]
        assert "'run'" not in person.asked[0] and "'write'" not in person.asked[0]
        await person.choose(composer.mode, "Ask first")
        await until(lambda: person.session.info.permission_mode == "ask")
        values = person.window.settings.values  # that of new chats stays
        assert values.default_model[COMPATIBLE] == "sim-model"
        person.window.new_chat()
        await until(lambda: person.window.chat.model.options.model_id == "sim-model")


# Trouble


@on_window_loop
async def test_a_wrong_key_leads_to_the_settings(tmp_path: Path) -> None:
    """P-4: the card says so without the key, and names its end and the address; Replace key opens Providers at its provider."""
    key = "bad-0123456789-secret"
    async with at_window(tmp_path, "anthropic", [], key=key) as person:
        person.say("Hello")
        await person.done()
        card = person.blocks(FailureBlock)[0]
        assert card.fault == "bad_key" and "secret" not in card.title + card.detail
        shown = "\n".join(leaf.text for leaf in person.item(FailureItem).leaves)
        assert f"ending in {key[-4:]} does not work at 127.0.0.1" in shown
        await person.click_hit(FailureItem, "replace_key")
        dialog = await until(lambda: person.window.preferences.dialog)
        await until(dialog.isVisible)
        section = dialog.pages["providers"].sections["anthropic"]
        assert section.is_open and section.isVisible()
        dialog.close()
        person.window.activateWindow()
        await person.click_hit(FailureItem, "use_another_provider")
        picker = person.window.chat.menus.picker
        assert picker is not None and picker.isVisible()
        assert any("Demo" in str(row) for row in picker.models.rows), "other providers are offered"
        picker.close()


@on_window_loop
async def test_no_network_then_try_again(tmp_path: Path) -> None:
    """What was typed is answered once the network is back."""
    script = [Turn(Text("Back."))]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        urls = person.window.settings.values.base_urls
        right, urls[COMPATIBLE] = urls[COMPATIBLE], "http://127.0.0.1:9"
        person.say("Remember this")
        await person.done()
        assert person.blocks(FailureBlock)[0].fault == "network"
        urls[COMPATIBLE] = right
        await person.click_hit(FailureItem, "try_again")
        await person.done(2)
        assert person.says("Back.") and person.asked[0].count("Remember this") == 1


@on_window_loop
async def test_unknown_model_html_and_overload(tmp_path: Path) -> None:
    script = [
        Turn(faults=[html()]),
        Turn(faults=[status(529)]),
        Turn(Text("At last.")),
    ]

    def setup(file: object) -> None:
        file.values.default_model[COMPATIBLE] = "missing-model"  # type: ignore[attr-defined]
        file.values.own_models[COMPATIBLE] = ["sim-model"]  # type: ignore[attr-defined]

    async with at_window(tmp_path, COMPATIBLE, script, setup=setup) as person:
        # P-3: kept though unlisted
        await until(lambda: person.composer.model.text() == "missing-model")
        person.say("Hello")
        await person.done()
        assert person.blocks(FailureBlock)[-1].fault == "not_found"
        assert "missing-model" in person.blocks(FailureBlock)[-1].title
        await person.choose(person.composer.model, "sim-model")
        await person.click_hit(FailureItem, "try_again")
        await person.done(2)
        failed = person.blocks(FailureBlock)[-1]
        assert "<" not in failed.title and person.composer.state == "idle"
        await person.click_hit(FailureItem, "try_again")
        await person.done(3)  # L-12: what may pass by itself is tried again by itself
        assert [block.state for block in person.blocks(RetryBlock)] == ["resumed"]
        assert person.says("Tried again after")
        assert person.says("At last.") and not person.simulator.violations


@on_window_loop
async def test_a_folder_that_vanished(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("One.")), Turn(Text("Two."))]) as person:
        person.say("Hello")
        await person.done()
        shutil.rmtree(person.folder)
        person.say("And now?")
        await person.done(2)
        failed = person.blocks(FailureBlock)[-1]
        assert failed.fault == "no_folder" and str(person.folder) in failed.title
        other = tmp_path / "other"
        other.mkdir()
        await person.click_hit(FailureItem, "choose_folder")
        await until(lambda: person.window.findChild(QFileDialog))
        dialog = person.window.findChild(QFileDialog)
        dialog.selectFile(str(other))
        dialog.accept()
        await until(lambda: person.session.info.folder == str(other))
        await person.click_hit(FailureItem, "try_again")
        await person.done(3)
        assert person.says("Two.")


@on_window_loop
async def test_a_broken_agent_file_is_named_in_the_banner(tmp_path: Path) -> None:
    broken = tmp_path / "work" / ".agents" / "agents"
    broken.mkdir(parents=True)
    (broken / "bad.md").write_text("---\nname: [\n---\nPrompt\n")
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Fine."))]) as person:
        banner = person.window.banner
        await until(lambda: "bad.md" in banner.text)
        assert "line" in banner.text
        person.say("Hello")  # everything else works
        await person.done()
        assert person.says("Fine.")


@on_window_loop
async def test_a_damaged_database_is_kept_and_told(tmp_path: Path) -> None:
    home = tmp_path / "studio"
    home.mkdir()
    (home / "studio.db").write_bytes(b"SQLite format 3\0" + b"rubbish" * 2000)
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("New."))]) as person:
        await until(lambda: "kept" in person.window.banner.text)
        kept = [
            file
            for file in home.glob("studio.db*")
            if file.is_file() and b"rubbish" in file.read_bytes()[:200]
        ]
        assert len(kept) == 1 and kept[0].name in person.window.banner.text
        person.say("Hello")
        await person.done()
        assert person.says("New.")


@on_window_loop
async def test_a_newer_database_is_explained_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "studio"
    home.mkdir()
    with closing(sqlite3.connect(home / "studio.db")) as db, db:
        db.execute(f"PRAGMA user_version = {LATEST + 1}")
        db.execute("CREATE TABLE t (x)")
    db.close()
    before = (home / "studio.db").read_bytes()
    async with at_window(tmp_path, COMPATIBLE, [], ready=False) as person:
        box = await until(message)
        assert "newer" in box.text() and "Nothing was changed" in box.informativeText()
        person.press(Key.Key_Escape) if box.isActiveWindow() else box.reject()
        await asyncio.wait_for(asyncio.shield(person.program.closed), HANG)
        assert not person.window.isVisible()
    assert (home / "studio.db").read_bytes() == before


# Settings


@on_window_loop
async def test_settings_beside_the_window(tmp_path: Path) -> None:
    """P-2, P-3: a key that is typed brings its models, without being kept yet."""
    async with at_window(tmp_path, "anthropic", [], key="", debounce=0.02) as person:
        window = person.window
        person.press(Key.Key_Comma, CTRL)
        dialog = await until(lambda: window.preferences.dialog)
        assert isinstance(dialog, SettingsDialog) and not dialog.isModal()
        await until(dialog.isVisible)
        row = dialog.list.visualRect(dialog.list.model().index(1, 0)).center()
        QTest.mouseClick(dialog.list.viewport(), Qt.MouseButton.LeftButton, pos=row)
        section = dialog.pages["providers"].sections["anthropic"]
        person.click(section.head)
        assert section.key is not None
        entry = section.key.entry
        await until(entry.isVisible)
        built_in = section.models.shown.rowCount()
        requests = len(person.simulator.requests)
        entry.setFocus()
        QTest.keyClicks(entry, KEY)
        listing = person.engine.catalogue.listing
        await until(lambda: listing("anthropic").state == "ready")
        asked = [r for r in person.simulator.requests[requests:] if r.path.endswith("/models")]
        assert 1 <= len(asked) < len(KEY)  # not once for each letter
        assert section.models.shown.rowCount() > built_in
        fetched = [m for m in section.models.shown.models if m.source == "fetched"]
        listed = [m for m in section.models.shown.models if m.source != "yours"]
        assert fetched and listed[: len(fetched)] == fetched
        QTest.keyClick(entry, Key.Key_Return)
        await until(section.key.session.isVisible)
        person.click(section.key.session)
        await until(lambda: "anthropic" in person.engine.connected)
        assert KEY not in section.key.shown.text() and KEY[-4:] in section.key.shown.text()
        window.activateWindow()  # the window goes on working beside it
        await until(window.isActiveWindow)
        person.composer.setFocus()
        person.type("still here")
        assert person.composer.text == "still here"


@on_window_loop
async def test_theme_and_text_size_change_at_once(tmp_path: Path) -> None:
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("# Title\n\nWords."))]) as person:
        window, look = person.window, person.window.theme
        person.say("Hello")
        await person.done()
        person.press(Key.Key_Comma, CTRL)
        dialog = await until(lambda: window.preferences.dialog)
        await until(dialog.isVisible)
        ground = window.chat.view.viewport().grab().toImage().pixelColor(5, 300)
        assert ground == look.color("surface") and not look.dark
        dialog.open_page("appearance")
        dialog.pages["appearance"].themes.chosen.emit(2)
        assert look.dark
        ground = window.chat.view.viewport().grab().toImage().pixelColor(5, 300)
        assert ground == look.color("surface")
        before = person.composer.height()
        await person.choose(dialog.pages["appearance"].size_combo, "140%")
        assert look.scale == 1.4
        await until(lambda: person.composer.height() > before)
        window.activateWindow()
        await until(window.isActiveWindow)
        person.press(Key.Key_0, CTRL)
        assert look.scale == 1.0
        person.press(Key.Key_Plus, CTRL)
        assert look.scale == 1.1
        await until(lambda: '"text_size": 110' in (tmp_path / "studio/settings.json").read_text())
        assert '"theme": "dark"' in (tmp_path / "studio/settings.json").read_text()


# The keyboard alone


@on_window_loop
async def test_a_whole_conversation_by_keyboard(tmp_path: Path) -> None:
    """U-1: every part can be reached and used without a mouse."""
    script = [
        Turn(Call("ask", {"question": "Which one?", "choices": ["Red", "Blue"]})),
        Turn(Call("write", {"path": "n.txt", "content": "blue\n"})),
        Turn(Text("Drafted.")),
        Turn(Text("Next.")),
    ]
    async with at_window(tmp_path, COMPATIBLE, script) as person:
        window, view, now = person.window, person.view, [50.0]
        view.context.now = lambda: now[0]
        person.type("Choose")
        person.press(Key.Key_Return, SHIFT)
        person.type("a colour")
        person.press(Key.Key_Return)
        await until(lambda: person.composer.state == "waiting")
        await until(lambda: person.item(QuestionItem))
        await until(lambda: getattr(view.focus.item, "shown_at", None) is not None)
        assert view.hasFocus()
        now[0] += 2
        person.press(Key.Key_2)
        await person.done()
        assert "Blue" in person.asked[1] and "Choose\\na colour" in person.asked[0]
        assert person.composer.editor.hasFocus()
        person.press(Key.Key_J, CTRL)  # the draft waits
        await until(view.hasFocus)
        person.press(Key.Key_Return, CTRL)
        await until((person.folder / "n.txt").exists)
        person.press(Key.Key_Escape)
        assert person.composer.editor.hasFocus()
        person.press(Key.Key_Up)  # what was said last
        assert person.composer.text == "Choose\na colour"
        person.composer.set_text("")
        person.say("And now")
        await person.done(2)

        order = []
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: window.inspector)
        assert inspector.isVisible()
        for _ in range(4):
            person.press(Key.Key_F6)
            order.append(person.focused())
        assert window.sidebar.field in order and view in order
        assert any(w is not None and (w is inspector or inspector.isAncestorOf(w)) for w in order)
        person.press(Key.Key_F6, SHIFT)
        person.press(Key.Key_I, CTRL)
        assert not inspector.isVisible()
        person.press(Key.Key_L, CTRL)
        assert person.composer.editor.hasFocus()
        person.press(Key.Key_B, CTRL)
        assert not window.sidebar.isVisible()
        person.press(Key.Key_B, CTRL)
        assert window.sidebar.isVisible()
        person.press(Key.Key_4, CTRL)
        assert window.pages.currentWidget() is not window.chat
        person.press(Key.Key_1, CTRL)
        assert window.pages.currentWidget() is window.chat

        await until(person.chats)
        person.press(Key.Key_N, CTRL)
        await until(lambda: window.chat.session is None)
        person.type("not sent")
        person.press(Key.Key_Down, ALT)
        await until(lambda: window.chat.session is not None)
        person.press(Key.Key_Slash, CTRL)
        sheet = await until(lambda: window.findChild(KeySheet))
        assert ("New chat", "Ctrl+N") in sheet.lines
        sheet.close()
        assert not person.simulator.violations


@on_window_loop
async def test_sides_lie_over_the_page_in_a_small_window(tmp_path: Path) -> None:
    """The inspector below 1200 pixels, the sidebar below 960; large again, all is as before."""
    async with at_window(tmp_path, COMPATIBLE, [Turn(Text("Here."))]) as person:
        window, sides = person.window, person.window.sides
        person.say("Hello")
        await person.done()
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: window.inspector)
        await until(lambda: inspector.width() == 320 and window.sidebar.width() == 252)
        page = window.chat.width()
        assert sides.inspector_shown and abs(page - (1440 - 320 - 252)) <= 2
        window.resize(1100, 700)
        await until(lambda: not sides.inspector_shown)
        assert window.sidebar.width() == 232 and sides.sidebar_shown
        small = window.chat.width()
        person.press(Key.Key_I, CTRL)
        assert sides.inspector_shown and window.chat.width() == small
        assert inspector.geometry().right() == sides.width() - 1
        assert window.chat.header.inspector.isChecked()
        window.resize(920, 700)
        await until(lambda: not sides.sidebar_shown)
        narrow = window.chat.width()
        assert 860 <= narrow < 918, "beside the button that shows the sidebar"
        person.press(Key.Key_B, CTRL)
        assert sides.sidebar_shown and window.chat.width() == narrow
        await person.open_chat("Hello")
        await until(lambda: not sides.sidebar_shown)  # chosen: out of the way
        person.press(Key.Key_B, CTRL)
        assert sides.sidebar_shown
        window.resize(1440, 900)
        await until(lambda: sides.inspector_shown and sides.sidebar_shown)
        await until(lambda: abs(window.chat.width() - page) <= 1)
        assert window.sidebar.width() == 252
