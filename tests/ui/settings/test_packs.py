"""Settings, Packs: what one brings is seen first; installed, updated, switched, removed (X-2)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.manifest import read_manifest
from studio.extensions.packs.origins import Origin
from studio.extensions.packs.overview import overview
from studio.ui import translation
from studio.ui.settings.pages.pack_offer import OfferView, PackContents
from studio.ui.settings.pages.pack_rows import ChangeView
from studio.ui.settings.pages.packs import PacksPage
from studio.ui.settings.pages.servers import ServersPage
from studio.ui.settings.rows import IconTile
from studio.ui.settings.servers.server_view import ABOUT
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Tag
from studio.ui.widgets.breakable import BreakableLabel, ElidedLabel
from support.pack_files import OURS, write_pack
from support.pack_home import PACKS
from support.uv_to_fetch import uv_to_fetch
from support.waiting import until
from support.window import alone, at_window, in_focus, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_x2_a_pack_is_seen_installed_updated_and_removed(tmp_path: Path) -> None:
    source = write_pack(tmp_path / "market" / "office")
    listed = {"plugins": [{"name": "office", "source": "./office"},
                          {"name": "other", "source": "./other"}]}  # fmt: skip
    (tmp_path / "market" / "marketplace.json").write_text(json.dumps(listed))
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        page.origin.setText(str(tmp_path / "nowhere"))
        page.look.click()
        await until(lambda: "no folder, no zip file" in page.notice.text())
        page.origin.setText(str(tmp_path / "market"))
        page.look.click()
        await until(page._names.isVisible)  # it has several
        page._run(page._look(str(tmp_path / "market"), "office"))
        await until(lambda: page.offered is not None)
        assert page.offered is not None
        assert "PreToolUse Bash: echo checked" in page.offered.text.text
        await until(lambda: in_focus(page.offered.leave))
        QTest.keyClick(
            page.offered.leave, Qt.Key.Key_Escape
        )  # leaves the question, not the settings
        await until(lambda: not list((packs.folder / ".staged").iterdir()))
        assert [one.id for one in packs.list()] == ["kanzlei"] and dialog.isVisible()

        page.origin.setText(str(source))
        page.look.click()
        await until(lambda: page.offered is not None)
        page.offered.agree.click()
        await until(lambda: "office" in page.rows)
        assert "servers and hooks are off" in page.notice.text()
        row = page.rows["office"]
        assert packs.get("office").runs and row.toggle.isChecked() and row.contents is None
        assert row._state() == "Works"
        row.open.click()
        assert row.contents is not None and {*row.contents.parts} == {
            "skills", "commands", "agents", "workflows", "mcp", "hooks", "tools"
        }  # fmt: skip
        shown = {one.text() for one in row.contents.findChildren(ElidedLabel)}
        assert {"1 agent", "Tools"} <= shown, "a file of Python may hold many tools, or none"
        row.contents.parts["agents"].click()
        await until(lambda: packs.get("office").off == {"agents"})
        await until(lambda: page.rows["office"] is not row)
        assert page.rows["office"].contents is not None, "it is still open"
        page.rows["office"].toggle.click()
        await until(lambda: not packs.get("office").on and not page.rows["office"].pack.on)

        page.rows["office"].update_button.click()
        await until(lambda: "is as it was" in page.notice.text())
        (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n")
        page.rows["office"].update_button.click()
        await until(lambda: page.rows["office"].change is not None)
        change = page.rows["office"].change
        assert change is not None and change.title.text() == "1.0.0 is there"
        assert not change.difference.lines, "texts alone are others"
        assert page.rows["office"].status.isHidden(), "the row says what there is to know"
        await until(lambda: in_focus(change.leave))
        change.all.click()
        await until(lambda: page.offered is not None)
        assert (
            page.offered.text.text.startswith("What changes") and "+Obey." in page.offered.text.text
        )
        page.offered.agree.click()
        digest = packs.get("office").digest
        await until(lambda: packs.get("office").digest != digest)
        await until(lambda: page.rows["office"].pack.digest != digest)
        assert packs.get("office").off == {"agents"} and page.rows["office"].change is None

        skill = packs.get("office").manifest.folder / "skills/deed/SKILL.md"
        skill.write_text("changed by somebody")
        page.refresh()
        await until(lambda: page.rows["office"].pack.approved != page.rows["office"].pack.digest)
        page.rows["office"].toggle.click()  # it is looked at first
        await until(lambda: page.offered is not None)
        assert not page.rows["office"].toggle.isChecked()
        shown = page.offered.contents
        assert shown is not None and not any(one.isEnabled() for one in shown.parts.values())
        page.offered.agree.click()
        await until(lambda: packs.get("office").runs and page.rows["office"].toggle.isChecked())

        person.window.preferences.open("mcp")
        servers = dialog.pages["mcp"]
        assert isinstance(servers, ServersPage)
        servers.show_one("files", ABOUT)

        def packs_named() -> list[str]:
            return [one.text() for one in servers.one.findChildren(BreakableLabel)]

        await until(lambda: "office" in packs_named())
        buttons = [one.text() for one in servers.one.findChildren(Button)]
        assert "Remove…" not in buttons  # it goes with its pack
        person.window.preferences.open("packs")

        home = packs.get("office").home
        (home / "data").mkdir(parents=True, exist_ok=True)
        (home / "data" / "kept").write_text("kept")
        page.rows["office"].remove.click()
        assert page.asked is not None and page.asked.data.isVisible()
        page.asked.agree.click()
        await until(lambda: "What it keeps is still in" in page.notice.text())
        assert (home / "data" / "kept").exists() and [one.id for one in packs.list()] == ["kanzlei"]


@on_window_loop
async def test_x2_parts_are_switched_before_a_pack_is_installed(tmp_path: Path) -> None:
    """X-2: what it brings, wants and what is left out stand in rows; an update keeps the choice."""
    ours = {"wants": {"hosts": ["example.com"], "keychain": ["TOKEN"]}, "later": 1}
    source = write_pack(tmp_path / "office", ours=ours)
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        await until(lambda: "kanzlei" in page.rows)
        page.origin.setText(str(source))
        page.look.click()
        await until(lambda: page.offered is not None)
        titles = {one.text() for one in page._list.findChildren(QLabel)}
        assert "Comes with Agent Studio" in titles and "Installed" not in titles
        assert page.offered is not None
        card = page.offered.contents
        assert card is not None and all(one.isChecked() for one in card.parts.values())
        shown = {one.text() for one in card.findChildren(ElidedLabel)}
        assert {"1 skill", "deed", "/review-deed", "Servers", "1 table"} <= shown
        assert {"Host example.com", "Key TOKEN of the keychain"} <= shown
        assert any("later" in one.text() for one in card.left)
        assert {*card.parts} == {
            "skills", "commands", "agents", "workflows", "mcp", "hooks", "tools"
        }  # fmt: skip
        card.parts["hooks"].click()
        card.parts["tools"].click()
        card.parts["commands"].click()
        page.offered.agree.click()
        await until(lambda: "office" in page.rows)
        assert packs.get("office").off == {"commands", "hooks", "tools"}
        assert "Installed" in {one.text() for one in page._list.findChildren(QLabel)}

        async def updated() -> PackContents:
            """Look for an update, and show all of it."""
            page.rows["office"].update_button.click()
            await until(lambda: page.rows["office"].change is not None)
            change = page.rows["office"].change
            assert change is not None
            change.all.click()
            assert page.offered is not None and page.offered.contents is not None
            return page.offered.contents

        (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n")
        shown = await updated()
        assert {name for name, one in shown.parts.items() if not one.isChecked()} == {
            "commands", "hooks", "tools"
        }  # fmt: skip
        shown.parts["tools"].click()
        shown.parts["mcp"].click()
        digest = packs.get("office").digest
        await asyncio.to_thread(packs.switch_part, "office", "commands", True)  # in the terminal
        await asyncio.to_thread(packs.switch_part, "office", "agents", False)
        page.offered.agree.click()
        await until(lambda: page.rows["office"].pack.digest != digest)
        off = {"agents", "hooks", "mcp"}
        assert packs.get("office").off == off, "what was switched meanwhile stays so"
        await until(page.looking.isHidden)
        assert page.notice.text() == "", "no server or hook of it can be switched on now"
        (source / OURS / "hooks.json").unlink()
        await until(lambda: page.rows["office"].change is None)
        assert "hooks" not in (await updated()).parts
        page.offered.agree.click()
        await until(lambda: "hooks" not in packs.get("office").manifest.parts())
        assert packs.get("office").off == off, "one that comes again is still off"


def _lines(widget: QWidget) -> set[str]:
    return {one.text() for one in widget.findChildren(ElidedLabel)}


def _icons(widget: QWidget) -> list[str]:
    return [one._icon for one in widget.findChildren(IconTile)]


@on_window_loop
async def test_x2_a_pack_is_looked_at_in_the_place_of_the_list(tmp_path: Path) -> None:
    """X-2: Escape and Alt+Left lead back to what led there, and nothing is lost."""
    source = write_pack(tmp_path / "office", ours={"title": "The office", "icon": "feather"})
    other = write_pack(tmp_path / "other", name="other")
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        staged = packs.folder / ".staged"
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        await until(lambda: "kanzlei" in page.rows)
        assert _icons(page.rows["kanzlei"]) == ["scale"]

        async def looked_at(control: QWidget, key: Qt.Key = Qt.Key.Key_Space) -> OfferView:
            control.setFocus(Qt.FocusReason.TabFocusReason)
            QTest.keyClick(control, key)
            await until(lambda: page.offered is not None and page.looking.isHidden())
            view = page.offered
            assert view is not None and view.isVisible() and in_focus(view.leave)
            assert page.all.isHidden() and not page.add.isVisible() and not page.line.isVisible()
            return view

        in_program = "Runs inside the program with your rights."
        page.rows["kanzlei"].open.click()
        assert in_program in _lines(page.rows["kanzlei"])
        view = await looked_at(page.rows["kanzlei"].look)
        assert in_program in _lines(view)
        QTest.keyClick(view.leave, Qt.Key.Key_Escape)

        page.add.click()
        page.origin.setText(str(source))
        view = await looked_at(page.origin, Qt.Key.Key_Return)
        assert in_program not in _lines(view)
        assert view.title.text() == "The office" and _icons(view) == ["feather"]
        assert {"1.0.0"} <= {one.accessibleName() for one in view.findChildren(Tag)}
        assert f"folder {source}" in _lines(view)
        await page._look(str(other), "")  # as one that took its time
        assert page.offered is view and len(list(staged.iterdir())) == 1
        assert "is not shown, as another pack was open" in page.notice.text()
        QTest.keyClick(view.leave, Qt.Key.Key_Escape)
        assert dialog.isVisible() and page.all.isVisible() and page.add.isVisible()
        assert in_focus(page.origin) and page.origin.text() == str(source)
        await until(lambda: not list(staged.iterdir()))
        await until(page.looking.isHidden)
        view = await looked_at(page.look)
        ready = QApplication.doubleClickInterval()
        try:
            QApplication.setDoubleClickInterval(3_600_000)
            QTest.mouseClick(view.agree, Qt.MouseButton.LeftButton)
            QTest.mouseDClick(view.agree, Qt.MouseButton.LeftButton)
            assert page.offered is view, "what stood there before was meant"
            QApplication.setDoubleClickInterval(0)
            QTest.mousePress(view.agree, Qt.MouseButton.LeftButton)
            assert view.agree.isDown()
            QTest.mouseRelease(view.agree, Qt.MouseButton.LeftButton, pos=QPoint(-9, -9))
        finally:
            QApplication.setDoubleClickInterval(ready)
        QTest.keyClick(view.agree, Qt.Key.Key_Space)
        assert in_focus(page.add) and page.adding.isHidden() and not page.origin.text()
        await until(lambda: "office" in page.rows)

        row = page.rows["office"]
        row.open.click()
        view = await looked_at(row.look)
        assert not view.agree.isVisible() and view.question.isHidden()
        QTest.keyClick(view.text.edit, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
        assert page.offered is None
        await page._load()
        assert page.rows["office"] is row and in_focus(row.look), "a look makes no row anew"

        (source / "skills/deed/SKILL.md").write_text("---\ndescription: New\n---\nObey.\n")
        page.rows["office"].update_button.click()
        await until(lambda: page.rows["office"].change is not None)
        change = page.rows["office"].change
        assert change is not None
        view = await looked_at(change.all)
        assert view.text.mapTo(view, QPoint()).y() < view.contents.mapTo(view, QPoint()).y()
        QTest.keyClick(view.leave, Qt.Key.Key_Escape)
        assert in_focus(change.all) and page.rows["office"].change is change
        assert len(list(staged.iterdir())) == 1, "the update can still be taken"
        view = await looked_at(change.all)
        QTest.keyClick(view.agree, Qt.Key.Key_Space)
        await until(lambda: page.rows["office"].change is None)
        await until(lambda: in_focus(page.rows["office"].toggle))

        (source / "skills/deed/SKILL.md").write_text("---\ndescription: Newer\n---\nObey.\n")
        page.add.click()
        page.origin.setText(str(source))
        view = await looked_at(page.look)
        assert view.agree.text() == "Update"
        QTest.keyClick(view.leave, Qt.Key.Key_Escape)
        await until(lambda: not list(staged.iterdir()))
        assert page.rows["office"].change is None, "it was typed, and is in no row"


@on_window_loop
async def test_x2_an_update_says_first_what_it_may_newly_do(tmp_path: Path) -> None:
    """X-2: in the pack's row; it is taken, or the person stays with what they have."""
    source = write_pack(tmp_path / "office")
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        packs.add(packs.look(str(source)))
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        await until(lambda: "office" in page.rows)
        assert page.adding.isHidden()
        page.add.click()
        await until(lambda: in_focus(page.origin))
        more = {"wants": {"hosts": ["example.com", "uploads.example.com"]}}
        write_pack(source, ours={"title": "The office", **more}, version="1.1.0")
        (source / "skills/deed/sample.txt").write_text("another")
        (source / OURS / "tools/count.py").write_text("def count() -> int:\n    return 2\n")
        (source / "bin/server").unlink()

        async def looked_at() -> ChangeView:
            page.rows["office"].update_button.click()
            await until(lambda: page.rows["office"].change is not None)
            assert page.rows["office"].change is not None
            return page.rows["office"].change

        change = await looked_at()
        assert change.title.text() == "1.1.0 changes what it may do"
        assert [(one.kind, one.text) for one in change.difference.lines] == [
            ("add", "Host uploads.example.com"),
            ("add", f"Code {OURS}/tools/count.py, changed"),
            ("del", "Code bin/server"),
        ]
        assert change.leave.text() == "Stay on 1.0.0"
        assert "1 other file changed." in {one.text() for one in change.findChildren(QLabel)}
        change.leave.click()
        await until(lambda: page.rows["office"].change is None)
        assert packs.get("office").manifest.version == "1.0.0"
        assert not list((packs.folder / ".staged").iterdir())
        (await looked_at()).agree.click()
        await until(lambda: page.rows["office"].pack.manifest.version == "1.1.0")
        assert page.rows["office"].change is None
        (source / "skills/deed/sample.txt").write_text("a third")
        await looked_at()
        page.rows["office"].remove.click()
        assert page.asked is not None
        page.asked.agree.click()
        await until(lambda: "office" not in page.rows)
        assert not list((packs.folder / ".staged").iterdir()), "nothing of the update is left"


@on_window_loop
async def test_x2_the_text_of_a_pack_is_in_the_persons_language(tmp_path: Path) -> None:
    """X-2: the studio's own lines; those of the pack stay as they are."""
    origin = Origin("folder", str(tmp_path))
    pack = read_manifest(write_pack(tmp_path / "pack"))
    text = overview(pack, origin, "0" * 64)
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    translation.use("de", app)
    try:
        view = OfferView(theme := Theme(), pack, origin, text, PackContents(theme, pack))
        shown = view.text.text
    finally:
        translation.use("en", app)
    assert "Hooks, Befehle, die bei Ereignissen laufen" in shown
    assert "Aus: folder" in shown and "PreToolUse Bash: echo checked" in shown
    own = [line for line in text.splitlines() if line[:1] not in ("", " ")]
    left = [line for line in own if line in shown.splitlines()]
    assert left == ["The office 1.0.0 (office)", "Workflows: 1"]


@on_window_loop
async def test_x3_the_page_offers_uv_to_a_pack_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    async with uv_to_fetch(monkeypatch), at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        packs.add(packs.look(str(PACKS / "notes")))
        person.window.preferences.open("packs")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["packs"]
        assert isinstance(page, PacksPage)
        await until(lambda: page.uv is not None and page.uv.isVisible())
        assert page.uv is not None
        assert not (await person.engine.services.servers.refresh()).by_name
        page.uv.click()
        await until(lambda: page.uv is None)
        assert (await person.engine.services.servers.refresh()).by_name
        assert not any("need uv" in one for one in person.engine.toolbox.problems)
